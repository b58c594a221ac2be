//! The lines of the line layout: how 64 bytes hold a bucket, and how a fingerprint is ranked in them. Part of the unsafe
//! ledger.
//!
//! ```text
//! byte     0                              32                             64
//! narrow   16 owners of 16 bits           16 fingerprints of 15 bits
//! wide     11 owners of 32 bits                     10 fingerprints
//! ```
//! Fingerprints stand at the end of both, so that one comparison of the last 32 bytes serves both: in a wide line the
//! six lanes of owners before them are compared along, and shifted out. Of 15 bits, since the sixteenth is needed: SSE2
//! compares signed numbers only, and the portable twin keeps a guard there. With 16 bits, stored with the top one
//! flipped, a lookup took two instructions more.
//!
//! Invariants
//! - K1: fingerprints don't go down from one to the next, and unused ones are [`UNUSED`], so that they are below none. A
//!   narrow line's last one is unused always; soundness rests on that one, and on nothing else in a line.
//! - K2: in a bucket of n points `owner(n)` is the owner of the next point after the bucket; owners behind that are `MARK`.
//! - K3: a bucket of more than `POINTS` points, and that of an empty ring, is `OVERFULL`: no fingerprints, all owners
//!   `MARK`. Whatever is asked, its answer is `MARK`.

use std::fmt::Debug;

use super::prefetch;
use crate::point::{Point, index, position};
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
use crate::point::{low_u32, low_u64};

/// The largest fingerprint, also that of places without a point.
const UNUSED: u16 = 0x7FFF;

/// One line: the fingerprints and owners of one bucket's points.
pub(crate) trait Bucket: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// A slot's number as it is stored.
    type Owner: Copy + PartialEq + Into<u32>;
    /// How many points fit.
    const POINTS: usize;
    /// Means: search the sorted array. As a number it may also be a true owner, which then is found by that search.
    const MARK: Self::Owner;
    /// The line of a bucket whose points don't fit (K3).
    const OVERFULL: Self;

    /// The line of points with these fingerprints and owners, at most [`POINTS`](Self::POINTS); `after` is the owner of
    /// the next point after them.
    fn new(prints: impl Iterator<Item = u16>, owners: &[Self::Owner], after: Self::Owner) -> Self;

    /// Replaces what `new` was given as `after`, for a bucket of `points` points.
    fn set_after(&mut self, points: usize, after: Self::Owner);

    /// The number of fingerprints below `print`, in `0..=POINTS`.
    fn rank(&self, print: u16) -> usize;

    /// The owner of the point at `rank`. Ranks that [`rank`](Self::rank) gives are allowed.
    fn owner(&self, rank: usize) -> Self::Owner;

    /// Whether the fingerprint at `rank`, which `rank(print)` gave, equals `print`, so that it doesn't decide. True also
    /// for some unused ones if `print` is [`UNUSED`].
    fn is_tie(&self, rank: usize, print: u16) -> bool;
}

/// Up to 15 points of slots below 65,534.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct NarrowBucket {
    owners: [u16; 16],
    prints: [u16; 16],
}

/// Up to 10 points of any slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct WideBucket {
    owners: [u32; 11],
    prints: [u16; 10],
}

const _: () = assert!(size_of::<NarrowBucket>() == 64 && size_of::<WideBucket>() == 64);

impl Bucket for NarrowBucket {
    type Owner = u16;
    const POINTS: usize = 15;
    const MARK: u16 = u16::MAX;
    const OVERFULL: Self = Self { owners: [u16::MAX; 16], prints: [UNUSED; 16] };

    fn new(prints: impl Iterator<Item = u16>, owners: &[u16], after: u16) -> Self {
        let mut line = Self::OVERFULL;
        line.owners[..owners.len()].copy_from_slice(owners);
        line.owners[owners.len()] = after;
        line.prints[..Self::POINTS].iter_mut().zip(prints).for_each(|(to, print)| *to = print);
        line
    }

    fn set_after(&mut self, points: usize, after: u16) {
        self.owners[points] = after;
    }

    #[inline(always)]
    fn rank(&self, print: u16) -> usize {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let rank = sse2_rank::<0, _>(self, print);
            debug_assert!(rank < 16);
            // SAFETY: the last fingerprint is 0x7FFF in every line (K1: the field is private to this file, `OVERFULL` sets it,
            // and `new` spares it), and no 16-bit number is above that in signed order. So the last lane is never below.
            unsafe { std::hint::assert_unchecked(rank < 16) };
            rank
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        {
            swar_rank(&self.prints, print) & 15
        }
    }

    #[inline(always)]
    fn owner(&self, rank: usize) -> u16 {
        self.owners[rank]
    }

    #[inline(always)]
    fn is_tie(&self, rank: usize, print: u16) -> bool {
        self.prints[rank] == print
    }
}

impl Bucket for WideBucket {
    type Owner = u32;
    const POINTS: usize = 10;
    const MARK: u32 = u32::MAX;
    const OVERFULL: Self = Self { owners: [u32::MAX; 11], prints: [UNUSED; 10] };

    fn new(prints: impl Iterator<Item = u16>, owners: &[u32], after: u32) -> Self {
        let mut line = Self::OVERFULL;
        line.owners[..owners.len()].copy_from_slice(owners);
        line.owners[owners.len()] = after;
        line.prints.iter_mut().zip(prints).for_each(|(to, print)| *to = print);
        line
    }

    fn set_after(&mut self, points: usize, after: u32) {
        self.owners[points] = after;
    }

    #[inline(always)]
    fn rank(&self, print: u16) -> usize {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        return sse2_rank::<6, _>(self, print);
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        return swar_rank(&self.prints, print);
    }

    #[inline(always)]
    fn owner(&self, rank: usize) -> u32 {
        self.owners[rank]
    }

    #[inline(always)]
    fn is_tie(&self, rank: usize, print: u16) -> bool {
        self.prints.get(rank) == Some(&print)
    }
}

/// The lines of a ring, one per bucket; at least one, and fewer than 2^32, which is what makes [`find`](Self::find)
/// sound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Buckets<B>(Box<[B]>);

impl<B: Bucket> Buckets<B> {
    /// # Panics
    /// If there are no lines, or 2^32 or more.
    pub(crate) fn new(lines: Vec<B>) -> Self {
        assert!(!lines.is_empty() && u32::try_from(lines.len()).is_ok(), "{} lines for the circle", lines.len());
        Self(lines.into_boxed_slice())
    }

    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        position(self.0.len())
    }

    pub(crate) fn lines(&self) -> &[B] {
        &self.0
    }

    pub(crate) fn lines_mut(&mut self) -> &mut [B] {
        &mut self.0
    }

    /// The bucket that `x` falls into, its line, and the fingerprint of `x` in it.
    #[inline(always)]
    pub(crate) fn find<P: Point>(&self, x: P) -> (u32, &B, u16) {
        let (bucket, print) = x.part(self.count());
        debug_assert!(index(bucket) < self.0.len());
        // SAFETY: `Point::part(n)` is below n by its arithmetic, ⌊x·n / 2^w⌋ with x < 2^w, unless n is 0; `new` upholds
        // that it isn't, and that `count` loses nothing.
        let line = unsafe { self.0.get_unchecked(index(bucket)) };
        (bucket, line, print)
    }

    /// Asks for the line that `x` will need.
    #[inline(always)]
    pub(crate) fn prefetch<P: Point>(&self, x: P) {
        prefetch(&self.0, index(x.part(self.count()).0));
    }
}

/// The number of fingerprints below `print` in the last `16 - SKIP` lanes of 16 bits of a line.
///
/// Fingerprints don't go down, so those below are the first ones, and their number is the place of the first that isn't.
/// The place of a bit is found without `popcnt`, which plain x86-64 doesn't have.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn sse2_rank<const SKIP: u32, B: Bucket>(line: &B, print: u16) -> usize {
    use core::arch::x86_64::{__m128i, _mm_load_si128};

    const { assert!(size_of::<B>() == 64 && align_of::<B>() == 64) };
    let quarters = std::ptr::from_ref(line).cast::<__m128i>();
    // SAFETY: a line has 64 bytes, aligned to 64 (asserted above), all of them initialised: both kinds fill them without
    // padding (asserted beside them).
    let low = unsafe { _mm_load_si128(quarters.wrapping_add(2)) };
    // SAFETY: as above.
    let high = unsafe { _mm_load_si128(quarters.wrapping_add(3)) };
    // SAFETY: SSE2 is part of x86-64.
    let below = unsafe { lanes_below(print.cast_signed(), low, high) } & 0xFFFF;
    index((!(below >> SKIP)).trailing_zeros())
}

/// One bit a lane, set where the lane is below `print`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "sse2")]
#[inline]
fn lanes_below(print: i16, low: core::arch::x86_64::__m128i, high: core::arch::x86_64::__m128i) -> u32 {
    use core::arch::x86_64::{_mm_cmpgt_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16};

    let print = _mm_set1_epi16(print);
    _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(print, low), _mm_cmpgt_epi16(print, high))).cast_unsigned()
}

/// The number of `prints` below `print`: [`sse2_rank`] in safe Rust, eight lanes in a word.
///
/// `(1 << 15 | p) - print` keeps its top bit exactly if `p >= print`, and never borrows from the next lane. Words of 128
/// bits, since LLVM turns the same on 64 bits into slow vector code where it may use AVX (measured by a probe on Zen 5:
/// 11 ns instead of 7). Source of the guard bit: Fredman and Willard, "Surpassing the information theoretic bound with
/// fusion trees", 1993.
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
#[inline(always)]
fn swar_rank<const N: usize>(prints: &[u16; N], print: u16) -> usize {
    const EVERY_LANE: u128 = 0x0001_0001_0001_0001_0001_0001_0001_0001;
    const GUARDS: u128 = EVERY_LANE << 15;

    let print = u128::from(print) * EVERY_LANE;
    let mut kept = 0;
    let (words, rest) = prints.as_chunks::<8>();
    let mut last = [UNUSED; 8];
    last[..rest.len()].copy_from_slice(rest);
    for lanes in words.iter().chain((!rest.is_empty()).then_some(&last)) {
        let word = lanes.iter().rev().fold(0u128, |word, &lane| (word << 16) | u128::from(lane));
        kept += (((word | GUARDS) - print) & GUARDS) >> 15;
    }
    // Each of the eight lanes counts those at least `print`, 2 at most; the product's top lane is the sum of all, 16 at
    // most.
    let not_below = kept.wrapping_mul(EVERY_LANE) >> 112;
    N.next_multiple_of(8) - index(low_u32(low_u64(not_below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with these fingerprints, whose owners are 100, 101, …
    fn line<B: Bucket>(prints: &[u16], owner: impl Fn(u16) -> B::Owner) -> B {
        let owners: Vec<_> = (100..).take(prints.len() + 1).map(owner).collect();
        let (&after, owners) = owners.split_last().expect("one at least");
        B::new(prints.iter().copied(), owners, after)
    }

    fn sets(points: usize) -> Vec<Vec<u16>> {
        let corners = [0, 1, 2, 255, 256, 0x3FFF, 0x4000, 0x7F00, 0x7FFE, 0x7FFF];
        let mut sets: Vec<Vec<u16>> = corners.iter().flat_map(|&c| (0..=points).map(move |n| vec![c; n])).collect();
        for seed in 0..2_000u32 {
            let number = |n: u32| (seed * 100 + n + 1).wrapping_mul(2_654_435_761) >> 9;
            let length = number(99) as usize % (points + 1);
            let print = |n: u32| {
                let any = number(n) as u16 & 0x7FFF;
                if seed % 3 == 0 { corners[usize::from(any) % corners.len()] } else { any }
            };
            let mut set: Vec<u16> = (0..).map(print).take(length).collect();
            set.sort_unstable();
            sets.push(set);
        }
        sets
    }

    fn ranks_are_counts<B: Bucket>(owner: impl Fn(u16) -> B::Owner + Copy, swar: impl Fn(&B, u16) -> usize) {
        for set in sets(B::POINTS) {
            let line = line::<B>(&set, owner);
            let near = set.iter().flat_map(|&p| [p.saturating_sub(1), p, (p + 1).min(0x7FFF)]);
            for print in near.chain([0, 1, 0x4000, 0x7FFE, 0x7FFF]) {
                let count = set.iter().filter(|&&p| p < print).count();
                assert_eq!(line.rank(print), count, "{print:#x} in {set:x?}");
                assert_eq!(swar(&line, print), count, "{print:#x} in {set:x?}, portable");
                assert!(line.owner(count) == owner(100 + count as u16));
                let tie = set.get(count).is_some_and(|&p| p == print);
                if print != UNUSED || tie {
                    assert_eq!(line.is_tie(count, print), tie, "{print:#x} in {set:x?}");
                }
                assert!(B::OVERFULL.owner(B::OVERFULL.rank(print)) == B::MARK);
                assert_eq!(swar(&B::OVERFULL, print), B::OVERFULL.rank(print));
            }
        }
    }

    #[test]
    fn ranks_are_counts_and_the_portable_twin_agrees() {
        ranks_are_counts::<NarrowBucket>(|n| n, |line, print| swar_rank(&line.prints, print));
        ranks_are_counts::<WideBucket>(|n| u32::from(n) << 16 | 0xFFFF, |line, print| swar_rank(&line.prints, print));
    }

    /// Soundness doesn't rest on the order of fingerprints, nor on their 15 bits.
    #[test]
    fn any_line_ranks_inside_itself() {
        for seed in 0..10_000u32 {
            let print = |n: usize| ((seed * 64 + n as u32).wrapping_mul(2_654_435_761) >> 16) as u16;
            let narrow = NarrowBucket::new((0..20).map(print), &[7; 15], 7);
            let wide = WideBucket { owners: [0x8123_8123; 11], prints: std::array::from_fn(print) };
            let asked = if cfg!(all(target_arch = "x86_64", not(miri))) { 0xFFFF } else { 0x7FFF };
            for asked in [0, print(70), 0x7FFF, 0x8000, 0xFFFF].map(|print| print & asked) {
                assert_eq!(narrow.owner(narrow.rank(asked)), 7);
                assert_eq!(wide.owner(wide.rank(asked)), 0x8123_8123);
            }
        }
    }

    #[test]
    #[should_panic(expected = "0 lines")]
    fn a_circle_has_a_line() {
        Buckets::<NarrowBucket>::new(Vec::new());
    }
}
