//! The line layout: one cache line answers a lookup. The default.
//!
//! The circle is cut into equal parts, the *buckets*, about six points in each, since points are hashes and so lie
//! evenly. A bucket is one line of 64 bytes with all that a lookup needs:
//! ```text
//!                 bucket b-1        bucket b                          bucket b+1
//! points             A               B      C           D               E
//! circle     ···|────x───────────|───x──────x───────────x────────────|──x─────···
//! its line                        fingerprints  17 60 b3 -  -  … -
//!                                 owners         B  C  D  E  -  … -
//! ```
//! x·n / 2^32 is the bucket (the whole number) and the place inside it (the fraction), whose first 15 bits are the
//! *fingerprint*. The number of fingerprints in the line that are below the key's is the place of the owner; if all are,
//! that place holds the owner of the next point after the bucket, be it in the next bucket, far behind empty ones, or at
//! the start of the circle. So a lookup takes a multiplication, one load that may miss, a comparison of 15 fingerprints
//! at once, and a load from the same line. No second line, no branch for wrapping, no stored count.
//!
//! Exact for any points: where the line can't decide, because the bucket has more points than fit or because a
//! fingerprint ties with the key's, a binary search *inside the bucket* does, over the sorted array. Hostile points that
//! all lie in one bucket cost about what a binary search over all of them costs.
//!
//! Buckets by multiplication, not by the top bits of x: the number of buckets then goes in steps of an eighth instead of
//! doubling, so lines take 11 to 12 bytes a point instead of 8 to 16, and hardly a bucket is overfull. And the bound of the unchecked
//! access is the product's own arithmetic. A multiplication takes one cycle more than a shift.
//!
//! Sources: bucketing by leading bits is the radix table of learned-index work (Kipf et al., "SOSD: a benchmark for
//! learned indexes", 2019, RBS); fingerprints compared a line at a time are those of hash tables (Abseil's Swiss tables,
//! 2017). Storing the owner after the bucket as a terminator is ours.
//!
//! Invariants
//! - L1: there are `buckets(P)` lines, a function of the number of points alone, so that a patched layout and a built one
//!   have the same.
//! - L2: `starts[b]` is the number of points in the buckets before b; it has one entry more than there are buckets, P.
//! - L3: line b is made of the points `starts[b]..starts[b + 1]` and the owner of rank `starts[b + 1]`, or of rank 0 where
//!   that is P, as `kernel/line.rs` says (K1–K3).
//! - L4: `outside` is the number of points in overfull buckets.

mod rows;

use std::collections::TryReserveError;

use rows::{Rows, buckets, patch};

use super::array::Owners;
use super::kernel::line::{Bucket, Buckets, NarrowBucket, WideBucket};
use super::{Edit, Layout, PointArray, copy, kernel};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// One 64-byte line a bucket of about six points; the fastest layout at every size.
///
/// Memory with the canonical arrays, `u32` points: 17.3 to 18.8 bytes a point; with more than 65,534 slots, where a line
/// holds about four, 25 to 27.
///
/// # Complexity
/// A lookup reads one line. If its bucket has more than 15 points (10 with 32-bit owners), or a fingerprint equals the
/// key's, O(log of the points in the bucket) on top; for hashed points that is one lookup in 1,500.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<P: Point> {
    lines: Lines,
    starts: Box<[u32]>,
    /// L4.
    outside: u32,
    points: PointArray<P>,
}

/// As wide as the array's owners are (A3).
#[derive(Debug, Clone, PartialEq)]
enum Lines {
    Narrow(Buckets<NarrowBucket>),
    Wide(Buckets<WideBucket>),
}

/// How many points a bucket holds at most on average.
///
/// ns per lookup of 1,000,000 points, independent / batch, as ratios to one random load from 6 bytes a point, with 6, 7
/// and 8: 1.46 / 1.32, 1.72 / 1.50, 1.92 / 1.64; dependent lookups, and 16,000 points, don't tell them apart (Xeon,
/// Sapphire Rapids, 2026-11-30, `cargo bench --bench reach`, one run each). The more points on average, the more
/// lookups meet an overfull bucket, a mispredicted branch and three more lines: 0.06, 0.24 and 0.8 %. Memory: 18.3, 16.0
/// and 14.9 bytes a point.
const NARROW_MEAN: usize = 6;

/// The same with 32-bit owners.
const WIDE_MEAN: usize = 4;

/// With fewer lines, which the nearest cache holds or nearly so, a batch asks for none beforehand.
///
/// ns per lookup in batches of 1,024, asking and not: 1,000 points 2.18, 1.84; 16,000 (2,700 lines) 2.28, 2.24; 100,000: 5.0, 6.6
/// (Xeon, Sapphire Rapids, 2026-11-30, interleaved, in a loop of its own).
const ASK_FROM: u32 = 1024;

/// How many lines ahead a batch asks for. With 32 the same within the noise; without, a batch is a loop of independent
/// lookups, up to a quarter slower from 100,000 points on.
const AHEAD: usize = 16;

impl<P: Point> Layout<P> for Line<P> {
    const NAME: &'static str = "line";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        let (lines, starts, outside) = match points.owners() {
            Owners::Narrow(owners) => {
                let rows = Rows::count(&points, owners, buckets(points.len(), NARROW_MEAN))?;
                let outside = rows.outside(NarrowBucket::POINTS);
                (Lines::Narrow(rows.lines()?), rows.starts, outside)
            }
            Owners::Wide(owners) => {
                let rows = Rows::count(&points, owners, buckets(points.len(), WIDE_MEAN))?;
                let outside = rows.outside(WideBucket::POINTS);
                (Lines::Wide(rows.lines()?), rows.starts, outside)
            }
        };
        Ok(Self { lines, starts, outside, points })
    }

    fn try_patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        if !self.has_lines_for(&points) {
            return Self::try_build(points);
        }
        let lines = match &self.lines {
            Lines::Narrow(lines) => Lines::Narrow(Buckets::new(copy(lines.lines())?)),
            Lines::Wide(lines) => Lines::Wide(Buckets::new(copy(lines.lines())?)),
        };
        let starts = copy(&self.starts)?.into_boxed_slice();
        Self::patched(lines, starts, self.outside, points, &[*edit])
    }

    /// In place: with 160 points added to 160,000, copying the lines takes ten times as long as making the touched ones.
    fn try_recycle<E: From<TryReserveError>>(
        &self,
        spare: Self,
        edits: &[Edit<'_, P>],
        merge: impl FnOnce(PointArray<P>) -> Result<PointArray<P>, E>,
    ) -> Result<Self, E> {
        let points = merge(spare.points)?;
        let spare = Self { points: PointArray::empty(), ..spare };
        if spare.has_lines_for(&points) {
            return Ok(Self::patched(spare.lines, spare.starts, spare.outside, points, edits)?);
        }
        match edits.last() {
            Some(edit) => Ok(self.try_patch(points, edit)?),
            None => Ok(Self::try_build(points)?),
        }
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
        let found = match &self.lines {
            Lines::Narrow(lines) => look(lines, x).map(|(bucket, rank, _)| (bucket, rank)),
            Lines::Wide(lines) => look(lines, x).map(|(bucket, rank, _)| (bucket, rank)),
        };
        match found {
            Some((bucket, rank)) => index(self.starts[index(bucket)]) + rank,
            None => self.search_rank(x),
        }
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        let found = match &self.lines {
            Lines::Narrow(lines) => look(lines, x).map(|(_, _, owner)| u32::from(owner)),
            Lines::Wide(lines) => look(lines, x).map(|(_, _, owner)| owner),
        };
        match found {
            Some(owner) => Some(Slot::new(owner)),
            None if self.points.is_empty() => None,
            None => Some(self.search_owner(x)),
        }
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        match &self.lines {
            Lines::Narrow(lines) => self.batch(lines, xs, out),
            Lines::Wide(lines) => self.batch(lines, xs, out),
        }
    }

    fn index_bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + 64 * (self.starts.len() - 1)
    }
}

/// What the line of `x` says: its bucket, the number of the bucket's points below `x`, and the owner. `None` if the
/// bucket is overfull, or `x` ties with a fingerprint; of 15 bits, that is one lookup in 5,000. A key with the largest
/// fingerprint ties with unused ones, too: rare, and the search is right.
#[inline(always)]
fn look<P: Point, B: Bucket>(lines: &Buckets<B>, x: P) -> Option<(u32, usize, B::Owner)> {
    let (bucket, line, print) = lines.find(x);
    let rank = line.rank(print);
    let owner = line.owner(rank);
    if line.is_tie(rank, print) || owner == B::MARK { None } else { Some((bucket, rank, owner)) }
}

/// The owner where fingerprints are whole points, so that a tie is no doubt: the first of several equal ones counts, as
/// `rank` counts those below, and an unused one stands where the bucket ends. `None` if the bucket is overfull, or
/// fingerprints are only a part of a point.
#[inline(always)]
fn look_at_tie<P: Point, B: Bucket>(lines: &Buckets<B>, x: P) -> Option<B::Owner> {
    // See `Point::part`: below, two points of a bucket can have one fingerprint.
    if P::WIDE || lines.count() < 1 << 17 {
        return None;
    }
    let (_, line, print) = lines.find(x);
    let owner = line.owner(line.rank(print));
    (owner != B::MARK).then_some(owner)
}

impl<P: Point> Line<P> {
    /// Whether more than half of the points lie in buckets that don't hold them.
    pub(crate) fn is_crowded(&self) -> bool {
        index(self.outside) > self.points.len() / 2
    }

    /// Whether `points` take as many lines as there are, of the same kind. Never if there are none.
    fn has_lines_for(&self, points: &PointArray<P>) -> bool {
        let needed = match (&self.lines, points.owners()) {
            (Lines::Narrow(_), Owners::Narrow(_)) => buckets(points.len(), NARROW_MEAN),
            (Lines::Wide(_), Owners::Wide(_)) => buckets(points.len(), WIDE_MEAN),
            _ => return false,
        };
        !points.is_empty() && index(needed) == self.starts.len() - 1
    }

    /// The layout of `points`, to which `edits` lead from the points whose lines are given. They must have lines enough.
    fn patched(
        mut lines: Lines,
        starts: Box<[u32]>,
        outside: u32,
        points: PointArray<P>,
        edits: &[Edit<'_, P>],
    ) -> Result<Self, TryReserveError> {
        let (starts, outside) = match (&mut lines, points.owners()) {
            (Lines::Narrow(lines), Owners::Narrow(owners)) => patch(lines, starts, outside, &points, owners, edits)?,
            (Lines::Wide(lines), Owners::Wide(owners)) => patch(lines, starts, outside, &points, owners, edits)?,
            _ => unreachable!("`has_lines_for` said they are of one kind"),
        };
        Ok(Self { lines, starts, outside, points })
    }

    /// The rank of `x` by search inside its bucket (L2).
    #[inline(always)]
    fn search(&self, x: P) -> usize {
        let bucket = index(x.part(position(self.starts.len() - 1)).0);
        let (start, end) = (index(self.starts[bucket]), index(self.starts[bucket + 1]));
        let rank = start + kernel::lower_bound(&self.points.heads()[start..end], x.head());
        self.points.settle_tail(rank, x)
    }

    #[cold]
    #[inline(never)]
    fn search_rank(&self, x: P) -> usize {
        self.search(x)
    }

    /// The owner for `x`, whose line couldn't tell. There must be points.
    #[cold]
    #[inline(never)]
    fn search_owner(&self, x: P) -> Slot {
        let at_tie = match &self.lines {
            Lines::Narrow(lines) => look_at_tie(lines, x).map(u32::from),
            Lines::Wide(lines) => look_at_tie(lines, x),
        };
        if let Some(owner) = at_tie {
            return Slot::new(owner);
        }
        let rank = self.search(x);
        self.points.slot(if rank == self.points.len() { 0 } else { rank })
    }

    #[inline(always)]
    fn batch<B: Bucket>(&self, lines: &Buckets<B>, xs: &[P], out: &mut [Slot]) -> usize {
        if self.points.is_empty() {
            return 0;
        }
        let len = xs.len().min(out.len());
        let (xs, out) = (&xs[..len], &mut out[..len]);
        let owner = |x| match look(lines, x) {
            Some((_, _, owner)) => Slot::new(owner.into()),
            None => self.search_owner(x),
        };
        if lines.count() < ASK_FROM {
            xs.iter().zip(out).for_each(|(&x, out)| *out = owner(x));
            return len;
        }
        for (i, (&x, out)) in xs.iter().zip(out).enumerate() {
            if let Some(&later) = xs.get(i + AHEAD) {
                lines.prefetch(later);
            }
            *out = owner(x);
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array<P: Point>(points: &[(P, u32)]) -> PointArray<P> {
        PointArray::from_unsorted(points.iter().map(|&(point, slot)| (point, Slot::new(slot))).collect())
    }

    /// Every answer of the layout for `x` is that of a scan.
    fn agrees<P: Point>(line: &Line<P>, x: P) {
        let rank = line.points.iter().position(|(point, _)| point >= x).unwrap_or(line.points.len());
        let owner = line.points.iter().nth(rank).or(line.points.iter().next()).map(|(_, slot)| slot);
        assert_eq!((line.rank(x), line.owner(x)), (rank, owner), "{x:x?}");
        let mut slot = [Slot::new(123_456)];
        assert_eq!(line.owner_batch(&[x], &mut slot) == 1, owner.is_some());
        assert!(owner.is_none_or(|owner| owner == slot[0]), "{x:x?} in a batch");
    }

    fn agrees_around<P: Point>(line: &Line<P>) {
        for (point, _) in line.points.iter() {
            let before = P::MAX.clockwise(point);
            for x in [before, point, point.clockwise(P::ONE)] {
                agrees(line, x);
            }
        }
        agrees(line, P::MIN);
        agrees(line, P::MAX);
    }

    /// Of six points or fewer, the one bucket is the whole circle, and a fingerprint a point's top 15 bits.
    #[test]
    fn the_largest_fingerprint_is_told_from_unused_ones() {
        let top = 0xFFFE_0000u32;
        for points in
            [&[(top, 1)][..], &[(top + 5, 1), (top + 9, 2)], &[(3, 0), (top - 1, 1), (u32::MAX, 2)], &[(3, 7)]]
        {
            let line = Line::build(array(points));
            assert_eq!(line.starts.len(), 2);
            agrees_around(&line);
            (0..20).map(|n| top + n).chain([u32::MAX - 1]).for_each(|x| agrees(&line, x));
        }
    }

    #[test]
    fn ties_are_decided_by_the_rest_of_the_point() {
        let same_print = [(0x1234_0000u32, 1), (0x1234_0007, 2), (0x1234_0007, 3), (0x1234_0100, 4), (0x1235_FFFF, 5)];
        let line = Line::build(array(&same_print));
        agrees_around(&line);
        let wide: Vec<(u64, u32)> = same_print.iter().map(|&(head, slot)| (u64::from(head) << 8, slot)).collect();
        agrees_around(&Line::build(array(&wide)));
        // Heads tie as well, and only the last bits decide.
        let widest: Vec<(u128, u32)> =
            same_print.iter().map(|&(low, slot)| (77 << 96 | u128::from(low), slot)).collect();
        agrees_around(&Line::build(array(&widest)));
    }

    /// As many points as a line holds, one more, and many, in one bucket of many and in the only one.
    #[test]
    fn a_full_line_and_an_overfull_one() {
        for (first_slot, fits) in [(0, 15), (65_600, 10)] {
            for crowd in [fits - 1, fits, fits + 1, 100] {
                for alone in [false, true] {
                    let step = if crowd == 100 { 1 << 10 } else { 1 << 18 };
                    let mut points: Vec<(u32, u32)> =
                        (0..crowd).map(|n| (0x4000_0001 + n * step, first_slot + n)).collect();
                    if !alone {
                        points
                            .extend((1..60u32).map(|n| (n << 26, first_slot + 500 + n)).filter(|p| p.0 != 0x4000_0000));
                    }
                    agrees_around(&Line::build(array(&points)));
                }
            }
        }
    }

    #[test]
    fn an_empty_run_leads_to_the_next_point() {
        // Some sixty buckets, of which all points lie in the first, one in the middle, and the last; then without the ends.
        let mut points: Vec<(u32, u32)> = (0..340).map(|n| (n, n)).collect();
        points.extend([(0x8000_0000, 1000), (u32::MAX - 3, 1001)]);
        for points in [&points[..], &points[..341], &points[1..], &points[300..341]] {
            let line = Line::build(array(points));
            (0..200u32).for_each(|n| agrees(&line, n << 24));
            agrees_around(&line);
        }
    }

    /// From 2^17 buckets on, fingerprints of `u32` points are whole points, so that ties, too, are answered by the line
    /// alone; below that, neighbours share a fingerprint.
    #[test]
    fn whole_points_as_fingerprints() {
        for (len, whole) in [(600_000u32, false), (920_000, true)] {
            let spread = |n: u32| n.wrapping_mul(2_654_435_761);
            let mut points: Vec<(u32, Slot)> = (0..len).map(|n| (spread(n), Slot::new(n % 60_000))).collect();
            points.extend((0..len / 16).map(|n| (spread(16 * n) ^ 1, Slot::new(60_000 + n % 1_000))));
            points.extend([(u32::MAX, Slot::new(60_001)), (0, Slot::new(60_002)), (0, Slot::new(60_003))]);
            let line = Line::build(PointArray::from_unsorted(points));
            let Lines::Narrow(lines) = &line.lines else { unreachable!("few slots") };
            assert_eq!(lines.count() >= 1 << 17, whole);
            let mut told = 0;
            for rank in (0..line.points.len()).step_by(97).chain([0, 1, 2, line.points.len() - 1]) {
                let point = line.points.point(rank);
                for x in [point.wrapping_sub(1), point, point.wrapping_add(1)] {
                    let expected = line.points.rank(x);
                    assert_eq!(line.rank(x), expected, "{x:#x}");
                    let owner = line.points.slot(expected % line.points.len());
                    assert_eq!(line.owner(x), Some(owner), "{x:#x}");
                    if let Some(at_tie) = look_at_tie(lines, x) {
                        assert_eq!(Slot::new(u32::from(at_tie)), owner, "{x:#x}");
                        told += 1;
                    }
                }
            }
            assert_eq!(told > 28_000, whole, "{told}");
        }
    }
}
