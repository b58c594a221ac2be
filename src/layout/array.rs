//! The canonical form of a ring's points: sorted arrays of heads, tails and owners.
//!
//! Every layout is built from one of these and keeps it: walks, shares, plans and merges read it, and it is what a
//! layout falls back to.
//!
//! Invariants
//! - A1: points never go down from one rank to the next; equal points stand in their total order, first one first.
//! - A2: heads, tails and owners have one length, below 2^32.
//! - A3: owners are 16 bits wide exactly as long as all slots are below [`NARROW_SLOTS`], so that equal sequences make
//!   equal arrays only together with equal slots; checked when a slot is pushed, never wrapped.

use std::collections::TryReserveError;
use std::ops::Range;

use super::{kernel, room};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// Slots below this number fit 16-bit owners. The two largest values are left to layouts as marks.
pub(crate) const NARROW_SLOTS: u32 = 65_534;

/// Sorted points with their owners, searchable by binary search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointArray<P: Point> {
    heads: Vec<u32>,
    tails: Vec<P::Tail>,
    owners: Owners,
}

/// Owners of consecutive ranks, as narrow as the slots allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owners {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Owners {
    #[inline(always)]
    pub(crate) fn at(&self, rank: usize) -> Slot {
        match self {
            Self::Narrow(owners) => Slot::new(u32::from(owners[rank])),
            Self::Wide(owners) => Slot::new(owners[rank]),
        }
    }

    /// The same owners in another order; `order(i)` is the old position of the new position `i`.
    pub(crate) fn permuted(&self, order: &[u32]) -> Result<Self, TryReserveError> {
        fn permuted<O: Copy>(owners: &[O], order: &[u32]) -> Result<Vec<O>, TryReserveError> {
            let mut new = room(order.len())?;
            new.extend(order.iter().map(|&old| owners[index(old)]));
            Ok(new)
        }
        Ok(match self {
            Self::Narrow(owners) => Self::Narrow(permuted(owners, order)?),
            Self::Wide(owners) => Self::Wide(permuted(owners, order)?),
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(owners) => size_of_val(&owners[..]),
            Self::Wide(owners) => size_of_val(&owners[..]),
        }
    }
}

impl<P: Point> PointArray<P> {
    /// Returns an array of no points.
    #[must_use]
    pub fn empty() -> Self {
        Self { heads: Vec::new(), tails: Vec::new(), owners: Owners::Narrow(Vec::new()) }
    }

    /// Sorts `points` (stably: equal points keep the order given) and builds the array.
    ///
    /// # Panics
    /// If there are 2^32 points or more.
    ///
    /// # Complexity
    /// O(P log P).
    #[must_use]
    pub fn from_unsorted(mut points: Vec<(P, Slot)>) -> Self {
        assert!(u32::try_from(points.len()).is_ok(), "{} points are more than a u32 can rank", points.len());
        points.sort_by_key(|&(point, _)| point);
        let filled = PointArrayBuilder::with_capacity(points.len()).and_then(|mut array| {
            points.into_iter().for_each(|(point, slot)| array.push(point, slot));
            array.finish()
        });
        filled.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the number of points.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether there are no points.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Returns the point at `rank`.
    ///
    /// # Panics
    /// If `rank` isn't below [`len`](Self::len).
    #[inline]
    #[must_use]
    pub fn point(&self, rank: usize) -> P {
        P::join(self.heads[rank], self.tails[rank])
    }

    /// Returns the owner of the point at `rank`.
    ///
    /// # Panics
    /// If `rank` isn't below [`len`](Self::len).
    #[inline(always)]
    #[must_use]
    pub fn slot(&self, rank: usize) -> Slot {
        self.owners.at(rank)
    }

    /// The first of `ranks`, in order, whose owner `accept` takes, and that owner. Faster than a loop of
    /// [`slot`](Self::slot): how wide the owners are is asked once.
    #[inline(always)]
    pub(crate) fn find_slot(&self, ranks: Range<usize>, mut accept: impl FnMut(Slot) -> bool) -> Option<(usize, Slot)> {
        let mut slots = |slot: u32| Some(Slot::new(slot)).filter(|&slot| accept(slot));
        let first = ranks.start;
        let found = |(place, slot)| (first + place, slot);
        match &self.owners {
            Owners::Narrow(owners) => {
                let mut owners = owners[ranks].iter().enumerate();
                owners.find_map(|(place, &slot)| Some((place, slots(u32::from(slot))?))).map(found)
            }
            Owners::Wide(owners) => {
                let mut owners = owners[ranks].iter().enumerate();
                owners.find_map(|(place, &slot)| Some((place, slots(slot)?))).map(found)
            }
        }
    }

    /// The owners of `K` ranks from `rank` on; `None` if there are fewer up to the end.
    #[inline(always)]
    pub(crate) fn slots<const K: usize>(&self, rank: usize) -> Option<[Slot; K]> {
        match &self.owners {
            Owners::Narrow(owners) => {
                let owners: [u16; K] = owners.get(rank..)?.first_chunk().copied()?;
                Some(owners.map(|slot| Slot::new(u32::from(slot))))
            }
            Owners::Wide(owners) => {
                let owners: [u32; K] = owners.get(rank..)?.first_chunk().copied()?;
                Some(owners.map(Slot::new))
            }
        }
    }

    /// Returns points and owners in rank order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (P, Slot)> + '_ {
        (0..self.len()).map(|rank| (self.point(rank), self.slot(rank)))
    }

    /// Returns the memory of the arrays, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.heads[..]) + size_of_val(&self.tails[..]) + self.owners.bytes()
    }

    /// Returns the number of points below `x`: the rank of the first point `>= x`, or [`len`](Self::len).
    ///
    /// # Complexity
    /// O(log P), without a branch that depends on the data.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self, x: P) -> usize {
        self.settle_tail(kernel::lower_bound(&self.heads, x.head()), x)
    }

    /// Goes from the first rank whose head is `>=` that of `x` to the first rank whose whole point is. Costs one compare
    /// unless heads tie, which for hashed points happens with probability P/2^32.
    #[inline(always)]
    pub(crate) fn settle_tail(&self, rank: usize, x: P) -> usize {
        if P::WIDE && rank < self.heads.len() && self.heads[rank] == x.head() {
            self.settle_ties(rank, x)
        } else {
            rank
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_ties(&self, first: usize, x: P) -> usize {
        // Bounded for hostile points as well: all heads may be equal.
        let end = first + self.heads[first..].partition_point(|&head| head == x.head());
        first + self.tails[first..end].partition_point(|&tail| tail < x.tail())
    }

    /// The ranks that hold exactly `x`, searched from rank `from` on. Gallops: O(log of the distance).
    pub(crate) fn run_of(&self, x: P, from: usize) -> Range<usize> {
        self.run_at(self.gallop(from, |point| point < x), x)
    }

    /// The ranks that hold exactly `x`, which is the point of rank `start` or isn't there.
    #[inline]
    pub(crate) fn run_at(&self, start: usize, x: P) -> Range<usize> {
        if start < self.len() && self.point(start) == x {
            start..self.gallop(start, |point| point == x)
        } else {
            start..start
        }
    }

    /// The first rank at or after `from` whose point fails `before`, which must hold for a prefix.
    fn gallop(&self, from: usize, before: impl Fn(P) -> bool) -> usize {
        let (mut low, mut step) = (from, 1);
        while low + step <= self.len() && before(self.point(low + step - 1)) {
            low += step;
            step *= 2;
        }
        let mut high = self.len().min(low + step);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.point(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(crate) fn heads(&self) -> &[u32] {
        &self.heads
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.owners
    }
}

/// Fills a [`PointArray`] in rank order, taking all memory beforehand but that for wider owners, should one be wide.
#[derive(Debug)]
pub(crate) struct PointArrayBuilder<P: Point> {
    array: PointArray<P>,
    /// Why wider owners couldn't be had; owners aren't kept from then on.
    failed: Option<TryReserveError>,
}

impl<P: Point> PointArrayBuilder<P> {
    pub(crate) fn with_capacity(points: usize) -> Result<Self, TryReserveError> {
        let (heads, tails, owners) = (room(points)?, room(points)?, Owners::Narrow(room(points)?));
        Ok(Self { array: PointArray { heads, tails, owners }, failed: None })
    }

    /// For points that follow `old`, in the memory of `used` if that has room enough and not twice as much as is needed;
    /// otherwise in new memory with a thirty-second of slack, so that it needn't be left for each point more.
    pub(crate) fn within(used: PointArray<P>, points: usize, old: &PointArray<P>) -> Result<Self, TryReserveError> {
        let owners = match (used.owners, &old.owners) {
            (Owners::Narrow(used), Owners::Narrow(_)) => Owners::Narrow(emptied(used, points)?),
            (Owners::Wide(_), Owners::Narrow(_)) => Owners::Narrow(emptied(Vec::new(), points)?),
            (Owners::Wide(used), Owners::Wide(_)) => Owners::Wide(emptied(used, points)?),
            (Owners::Narrow(_), Owners::Wide(_)) => Owners::Wide(emptied(Vec::new(), points)?),
        };
        let (heads, tails) = (emptied(used.heads, points)?, emptied(used.tails, points)?);
        Ok(Self { array: PointArray { heads, tails, owners }, failed: None })
    }

    /// Appends one point, which must not be below the last one (A1).
    #[inline]
    pub(crate) fn push(&mut self, point: P, slot: Slot) {
        debug_assert!(self.array.is_empty() || self.array.point(self.array.len() - 1) <= point);
        self.array.heads.push(point.head());
        self.array.tails.push(point.tail());
        match &mut self.array.owners {
            Owners::Narrow(owners) => match u16::try_from(slot.number()) {
                Ok(narrow) if slot.number() < NARROW_SLOTS => owners.push(narrow),
                _ => {
                    self.widen();
                    self.push_owner_wide(slot);
                }
            },
            Owners::Wide(owners) => owners.push(slot.number()),
        }
    }

    /// Appends the ranks `range` of `from`, as they are.
    pub(crate) fn extend_from(&mut self, from: &PointArray<P>, range: Range<usize>) {
        self.array.heads.extend_from_slice(&from.heads[range.clone()]);
        self.array.tails.extend_from_slice(&from.tails[range.clone()]);
        match (&mut self.array.owners, &from.owners) {
            (Owners::Narrow(to), Owners::Narrow(from)) => to.extend_from_slice(&from[range]),
            (Owners::Wide(to), Owners::Wide(from)) => to.extend_from_slice(&from[range]),
            (Owners::Wide(to), Owners::Narrow(from)) => to.extend(from[range].iter().map(|&slot| u32::from(slot))),
            (Owners::Narrow(_), Owners::Wide(from)) => {
                // Rare: a ring that had more than 65,534 slots; `finish` narrows again if it may.
                self.widen();
                for &slot in &from[range] {
                    self.push_owner_wide(Slot::new(slot));
                }
            }
        }
    }

    #[cold]
    fn widen(&mut self) {
        if let Owners::Narrow(owners) = &self.array.owners {
            match room(owners.capacity()) {
                Ok(mut wide) => {
                    wide.extend(owners.iter().map(|&slot| u32::from(slot)));
                    self.array.owners = Owners::Wide(wide);
                }
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn push_owner_wide(&mut self, slot: Slot) {
        if let Owners::Wide(owners) = &mut self.array.owners {
            owners.push(slot.number());
        }
    }

    pub(crate) fn finish(mut self) -> Result<PointArray<P>, TryReserveError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        // A3: as narrow as the slots allow, whatever they were before.
        if let Owners::Wide(owners) = &self.array.owners
            && owners.iter().all(|&slot| slot < NARROW_SLOTS)
        {
            let mut narrow = room(owners.len())?;
            narrow.extend(owners.iter().filter_map(|&slot| u16::try_from(slot).ok()));
            self.array.owners = Owners::Narrow(narrow);
        }
        debug_assert!(u32::try_from(self.array.len()).is_ok(), "A2");
        Ok(self.array)
    }
}

/// `used` or another vector, without elements, with room for `len`.
fn emptied<E>(mut used: Vec<E>, len: usize) -> Result<Vec<E>, TryReserveError> {
    used.clear();
    if (len..=2 * len).contains(&used.capacity()) || size_of::<E>() == 0 {
        return Ok(used);
    }
    drop(used);
    room(len + len / 32)
}

/// The order of an implicit search tree of `len` places as positions in rank order.
pub(crate) fn ranks(len: usize, order: impl Iterator<Item = usize>) -> Result<Vec<u32>, TryReserveError> {
    let mut ranks = room(len)?;
    ranks.extend(order.map(position));
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_widen_and_narrow_with_the_largest_slot() {
        let build = |slots: &[u32]| {
            let points = slots.iter().zip(0u32..).map(|(&slot, point)| (point, Slot::new(slot))).collect();
            PointArray::<u32>::from_unsorted(points)
        };
        let narrow = build(&[0, 5, 65_533]);
        assert!(matches!(narrow.owners, Owners::Narrow(_)));
        let wide = build(&[0, 65_534, 5, 70_000]);
        assert!(matches!(wide.owners, Owners::Wide(_)));
        assert_eq!((0..4).map(|rank| wide.slot(rank).number()).collect::<Vec<_>>(), [0, 65_534, 5, 70_000]);

        // Narrow, then a wide range, then narrow again: all three copies.
        let mut mixed = PointArrayBuilder::with_capacity(5).unwrap();
        mixed.extend_from(&narrow, 0..1);
        mixed.extend_from(&wide, 1..3);
        mixed.extend_from(&build(&[1, 2, 3, 4]), 3..4);
        let mixed = mixed.finish().unwrap();
        assert_eq!(
            mixed.iter().collect::<Vec<_>>(),
            [(0, 0), (1, 65_534), (2, 5), (3, 4)].map(|(p, s)| (p, Slot::new(s)))
        );

        let mut back = PointArrayBuilder::with_capacity(2).unwrap();
        back.extend_from(&wide, 2..3);
        assert!(matches!(back.finish().unwrap().owners, Owners::Narrow(_)));
    }

    #[test]
    fn runs_are_found_from_any_start() {
        let points = [3u32, 3, 3, 7, 9, 9, 20].map(|point| (point, Slot::new(0))).to_vec();
        let array = PointArray::from_unsorted(points.clone());
        for x in 0..25 {
            let naive = points.iter().filter(|p| p.0 < x).count()..points.iter().filter(|p| p.0 <= x).count();
            for from in 0..=naive.start {
                assert_eq!(array.run_of(x, from), naive, "x {x} from {from}");
            }
        }
    }
}
