//! Layouts against a naive scan.

use ringway::layout::Layout;
use ringway::{Point, Slot};

use super::Rng;

/// A width, with the conversion that the tests need.
pub trait Width: Point {
    /// The number's lowest bits.
    fn low(number: u128) -> Self;
    fn random(rng: &mut Rng) -> Self {
        Self::low(rng.wide())
    }
    fn minus(self, n: Self) -> Self {
        Self::low(self.to_u128().wrapping_sub(n.to_u128()))
    }
    /// The place whose top 32 bits are `head`.
    fn at(head: u32, tail: u128) -> Self {
        let bits = Self::BITS - 32;
        let tail = if bits == 0 { 0 } else { tail & ((1 << bits) - 1) };
        Self::low(u128::from(head) << bits | tail)
    }
}

impl Width for u32 {
    fn low(number: u128) -> Self {
        number as Self
    }
}

impl Width for u64 {
    fn low(number: u128) -> Self {
        number as Self
    }
}

impl Width for u128 {
    fn low(number: u128) -> Self {
        number
    }
}

/// Points with slots that say in which order they were put in, so that a wrong choice among equals shows.
pub fn numbered<P>(points: impl IntoIterator<Item = P>, first_slot: u32) -> Vec<(P, Slot)> {
    points.into_iter().zip(first_slot..).map(|(point, slot)| (point, Slot::new(slot))).collect()
}

/// Every point, its neighbours, the ends, and `random` places.
pub fn questions<P: Width>(points: &[(P, Slot)], rng: &mut Rng, random: usize) -> Vec<P> {
    let near = points.iter().flat_map(|&(p, _)| [p.minus(P::ONE), p, p.clockwise(P::ONE)]);
    let ends = [P::MIN, P::ONE, P::MAX, P::MAX.minus(P::ONE), P::at(1 << 31, 0)];
    let mut asked: Vec<P> = near.chain(ends).collect();
    asked.extend((0..random).map(|_| P::random(rng)));
    asked
}

/// The layout of `points` answers all of `asked` as a scan from the smallest point does.
pub fn check<P: Width, L: Layout<P>>(layout: &L, points: &[(P, Slot)], asked: &[P]) {
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|&(point, _)| point); // stable, as the array's own order of equals is
    let canonical = layout.points();
    assert_eq!((canonical.len(), canonical.is_empty()), (sorted.len(), sorted.is_empty()));
    assert!(canonical.iter().eq(sorted.iter().copied()), "{}: the canonical arrays differ", L::NAME);

    let scan = |x: P| sorted.iter().position(|&(point, _)| point >= x);
    let owner = |found: Option<usize>| sorted.get(found.unwrap_or(0)).map(|&(_, slot)| slot);
    for &x in asked {
        let found = scan(x);
        let rank = found.unwrap_or(sorted.len());
        assert_eq!(layout.rank(x), rank, "{}: rank of {x:?} among {} points", L::NAME, sorted.len());
        assert_eq!(canonical.rank(x), rank, "{}: rank of {x:?} in the canonical arrays", L::NAME);
        assert_eq!(layout.owner(x), owner(found), "{}: owner of {x:?} among {} points", L::NAME, sorted.len());
    }
    let mut slots = vec![Slot::new(u32::MAX); asked.len()];
    let written = layout.owner_batch(asked, &mut slots);
    assert_eq!(written, if sorted.is_empty() { 0 } else { asked.len() });
    for (&x, &slot) in asked[..written].iter().zip(&slots) {
        assert_eq!(Some(slot), owner(scan(x)), "{}: owner of {x:?} in a batch", L::NAME);
    }
}
