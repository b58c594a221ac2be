//! The bucket index: where in the sorted array the points of each equal part of the circle begin.
//!
//! ```text
//! x            0101 1100 …        top bits: bucket 5
//! starts       0 2 5 5 9 12 14 …  bucket 5 is ranks 12..14
//! heads        … | h12 h13 | h14 h15 h16 h17 h18 h19 | …
//!                  └── eight heads from 12 on, compared at once ──┘
//! ```
//! Points are hashes, so equal parts of the circle hold about equal numbers of them: 2 to 4 here. Heads after the bucket
//! are above x, so comparing more than the bucket has changes nothing, and its end needn't be known. Heads and owners are
//! fetched side by side: two steps of memory instead of three.
//!
//! A bucket with more than eight points below x is searched to its end by bisection (without that bound a scan takes 7.7
//! µs with a million points in one bucket).
//!
//! Source: the radix table of SOSD's RBS (Marcus et al., "Benchmarking learned indexes", 2020), with a compare in place of
//! its search.
//!
//! Invariants
//! - B1: `starts[b]` is the number of points in buckets below b; there is one more than buckets, which holds P.
//! - B2: the number of buckets follows from P alone, so a patched index is the same as a built one.

use std::collections::TryReserveError;

use super::array::Owners;
use super::kernel::s_tree::lower_bound_in_8;
use super::{Edit, Layout, PointArray, kernel, room};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// Points a bucket at most on average, and half of it at least, since the number of buckets is a power of two.
///
/// By bytes of index a point and ns dependent / independent with 16,000 and with 16,000,000 points: at most 1 (and a compare of 4 heads) 4.1, 19.0 /
/// 3.0, 536 / 74; 2 (of 4) 2.0, 19.1 / 3.9, 489 / 69; **4 (of 8) 1.0, 20.7 / 3.5, 466 / 71**; 8 (of 16) 0.5, 20.0 / 4.1, 479 / 83
/// (Xeon, Sapphire Rapids, 2026-11-30, interleaved, lower quartiles of 81).
const PER_BUCKET: usize = 4;

/// Heads compared at once.
const WINDOW: usize = 8;

/// How many searches a batch has under way at a time.
const LANES: usize = 32;

/// With fewer points a batch is a loop of single lookups: all is in the nearest caches, and the processor overlaps them
/// better by itself. ns, loop against stages: 16,000 points 3.5 against 4.4; 100,000: 10.1 against 7.4 (as above).
const STAGES_FROM: usize = 1 << 15;

/// Bucket index over the sorted array; 7 to 8 bytes a point together with the canonical arrays.
///
/// # Complexity
/// A lookup takes O(1) steps if the points are spread evenly, as hashes are, and O(log P) whatever they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket<P: Point> {
    points: PointArray<P>,
    starts: Vec<u32>,
    /// A head shifted right by this is its bucket's number.
    shift: u32,
}

impl<P: Point> Layout<P> for Bucket<P> {
    const NAME: &'static str = "bucket";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        let shift = shift(points.len());
        let len = starts_len(shift);
        let mut starts = room(len)?;
        for (rank, &head) in points.heads().iter().enumerate() {
            let bucket = index(head >> shift);
            if starts.len() <= bucket {
                starts.resize(bucket + 1, position(rank));
            }
        }
        starts.resize(len, position(points.len()));
        Ok(Self { points, starts, shift })
    }

    fn try_patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        if shift(points.len()) != self.shift {
            return Self::try_build(points);
        }
        // A changed point moves the starts of all buckets after its own, by one up or down. 160 points in 160,000: 38 µs, a
        // build 667.
        let bucket = |&(point, _): &(P, Slot)| index(point.head() >> self.shift);
        let (mut added, mut removed) =
            (edit.added.iter().map(bucket).peekable(), edit.removed.iter().map(bucket).peekable());
        let mut starts = room(self.starts.len())?;
        let mut moved = 0u32;
        loop {
            let next = match (added.peek(), removed.peek()) {
                (Some(&a), Some(&r)) => a.min(r),
                (Some(&only), None) | (None, Some(&only)) => only,
                (None, None) => break,
            };
            starts.extend(self.starts[starts.len()..=next].iter().map(|start| start.wrapping_add(moved)));
            while added.next_if_eq(&next).is_some() {
                moved = moved.wrapping_add(1);
            }
            while removed.next_if_eq(&next).is_some() {
                moved = moved.wrapping_sub(1);
            }
        }
        starts.extend(self.starts[starts.len()..].iter().map(|start| start.wrapping_add(moved)));
        debug_assert_eq!(starts.last().copied(), Some(position(points.len())), "B1: the edit leads to these points");
        Ok(Self { points, starts, shift: self.shift })
    }

    fn into_points(self) -> PointArray<P> {
        self.points
    }

    #[inline(always)]
    fn points(&self) -> &PointArray<P> {
        &self.points
    }

    #[inline(always)]
    fn rank(&self, x: P) -> usize {
        self.rank_from(self.start(x), x)
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        if self.points.is_empty() {
            return None;
        }
        let start = self.start(x);
        self.prefetch_owner(start);
        Some(self.owner_of_rank(self.rank_from(start, x)))
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        if self.points.is_empty() {
            return 0;
        }
        if self.points.len() < STAGES_FROM {
            for (&x, out) in xs.iter().zip(&mut *out) {
                *out = self.owner_of_rank(self.rank_from(self.start(x), x));
            }
            return xs.len().min(out.len());
        }
        for (xs, out) in xs.chunks(LANES).zip(out.chunks_mut(LANES)) {
            for x in xs {
                kernel::prefetch(&self.starts, index(x.head() >> self.shift));
            }
            let mut starts = [0; LANES];
            for (start, &x) in starts.iter_mut().zip(xs) {
                *start = self.start(x);
                kernel::prefetch(self.points.heads(), *start);
                kernel::prefetch(self.points.heads(), *start + WINDOW - 1);
                self.prefetch_owner(*start);
            }
            for ((&start, &x), out) in starts.iter().zip(xs).zip(out) {
                *out = self.owner_of_rank(self.rank_from(start, x));
            }
        }
        xs.len().min(out.len())
    }

    fn index_bytes(&self) -> usize {
        size_of_val(&self.starts[..])
    }
}

impl<P: Point> Bucket<P> {
    /// Where the bucket of `x` begins.
    #[inline(always)]
    fn start(&self, x: P) -> usize {
        index(self.starts[index(x.head() >> self.shift)])
    }

    /// The rank of `x`, whose bucket begins at `start`.
    #[inline(always)]
    fn rank_from(&self, start: usize, x: P) -> usize {
        let rank = lower_bound_in_8(self.points.heads(), start, x.head());
        let rank = if rank < start + WINDOW { rank } else { self.rank_in_rest(rank, x) };
        self.points.settle_tail(rank, x)
    }

    /// The rank of the head of `x`, if all heads before `from` are below it: bisects the rest of its bucket.
    #[cold]
    #[inline(never)]
    fn rank_in_rest(&self, from: usize, x: P) -> usize {
        let end = index(self.starts[index(x.head() >> self.shift) + 1]);
        // No head after the bucket is below x, so from <= end.
        from + kernel::lower_bound(&self.points.heads()[from..end], x.head())
    }

    #[inline(always)]
    fn owner_of_rank(&self, rank: usize) -> Slot {
        if rank == self.points.len() { self.first_owner() } else { self.points.slot(rank) }
    }

    /// The owner for an x above all points: a branch that is nearly never taken if points are spread evenly, where a
    /// conditional move would have the owner's load wait. With the other such branch (in `lower_bound_in_8`) a lookup of
    /// 1,000 points takes 12.1 / 3.2 ns, without them it took 14.4 / 3.9 (two runs; as above). Hostile points pay for it
    /// with mispredictions.
    #[cold]
    #[inline(never)]
    fn first_owner(&self) -> Slot {
        self.points.slot(0)
    }

    /// Fetches an owner near `start` beside the heads.
    #[inline(always)]
    fn prefetch_owner(&self, start: usize) {
        match self.points.owners() {
            Owners::Narrow(owners) => kernel::prefetch(owners, start + PER_BUCKET / 2),
            Owners::Wide(owners) => kernel::prefetch(owners, start + PER_BUCKET / 2),
        }
    }
}

/// 32 less the number of top bits that `len` points take: 1 at least, and as many as keep [`PER_BUCKET`].
fn shift(len: usize) -> u32 {
    32 - len.div_ceil(PER_BUCKET).next_power_of_two().ilog2().max(1)
}

fn starts_len(shift: u32) -> usize {
    (1 << (32 - shift)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(points: impl IntoIterator<Item = u32>) -> Vec<(u32, Slot)> {
        points.into_iter().zip(0..).map(|(point, slot)| (point, Slot::new(slot))).collect()
    }

    #[test]
    fn buckets_hold_two_to_four_points_on_average() {
        for (len, buckets) in [(0, 2), (1, 2), (8, 2), (9, 4), (16, 4), (17, 8), (4096, 1024), (4097, 2048)] {
            assert_eq!(starts_len(shift(len)), buckets + 1, "{len} points");
        }
    }

    /// Bucket 3 of 16 has from 0 to 45 points: within the eight compared at once, just beyond, and far beyond.
    #[test]
    fn a_bucket_of_any_length_is_searched_to_its_end_and_no_further() {
        for full in 0..=45u32 {
            let others = (0..15).map(|n| (n << 28) | 5);
            let points = others.chain((0..full).map(|n| (3 << 28) | (n * 3 + 10))).collect::<Vec<_>>();
            let bucket = Bucket::build(PointArray::from_unsorted(numbered(points.iter().copied())));
            for x in points.iter().flat_map(|&p| [p - 1, p, p + 1]).chain([3 << 28, 4 << 28, (4 << 28) - 1, u32::MAX]) {
                assert_eq!(bucket.rank(x), points.iter().filter(|&&p| p < x).count(), "{x:#x} with {full}");
            }
        }
    }

    /// Copied and patched, not built: the number of buckets stays the same.
    #[test]
    fn starts_move_by_what_was_put_in_and_taken_out_before_them() {
        let old = numbered((0..40u32).map(|n| n << 26));
        let bucket = Bucket::build(PointArray::from_unsorted(old.clone()));
        let edits: [(&[usize], &[u32]); 6] = [
            (&[], &[]),
            (&[0, 1, 39], &[]),
            (&[], &[0, 7, u32::MAX]),
            (&[5, 6, 7, 8], &[9 << 26, 1, 1, 1]),
            (&[20], &[20 << 26]),
            (&[0], &[39 << 26 | 3]),
        ];
        for (removed, added) in edits {
            let removed: Vec<_> = removed.iter().map(|&rank| old[rank]).collect();
            let mut added = numbered(added.iter().copied());
            added.sort_unstable();
            let mut new: Vec<_> = old.iter().copied().filter(|point| !removed.contains(point)).collect();
            new.extend(&added);
            let points = PointArray::from_unsorted(new);
            assert_eq!(shift(points.len()), bucket.shift, "the test wants a patch");
            let patched = bucket.patch(points.clone(), &Edit { removed: &removed, added: &added });
            assert_eq!(patched, Bucket::build(points), "without {removed:?}, with {added:?}");
        }
    }
}
