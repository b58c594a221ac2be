//! The line layout: one cache line answers a lookup. The default.
//!
//! The circle is cut into equal parts, the *buckets*, about seven points in each, since points are hashes and so lie
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
//! doubling, so memory stays between 10.4 and 9.1 bytes a point instead of 16 and 8, and fewer buckets are overfull. And
//! the bound of the unchecked access is the product's own arithmetic. What it costs is in `docs/benchmarks.md`.
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

use super::array::Owners;
use super::kernel::line::{Bucket, Buckets, NarrowBucket, WideBucket};
use super::{Edit, Layout, PointArray, kernel};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// One 64-byte line a bucket of about seven points; the fastest layout at every size.
///
/// Memory with the canonical arrays, `u32` points: 15.7 to 17.1 bytes a point; with more than 65,534 slots, where a line
/// holds about four, 25 to 27.
///
/// # Complexity
/// A lookup reads one line. If its bucket has more than 15 points (10 with 32-bit owners), or a fingerprint equals the
/// key's, O(log of the points in the bucket) on top; for hashed points that is one lookup in 500.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<P: Point> {
    lines: Lines,
    starts: Box<[u32]>,
    points: PointArray<P>,
}

/// As wide as the array's owners are (A3).
#[derive(Debug, Clone, PartialEq)]
enum Lines {
    Narrow(Buckets<NarrowBucket>),
    Wide(Buckets<WideBucket>),
}

/// How many points a bucket holds at most on average.
const NARROW_MEAN: usize = 7;

/// The same with 32-bit owners.
const WIDE_MEAN: usize = 4;

/// How many lines ahead a batch asks for.
const AHEAD: usize = 16;

impl<P: Point> Layout<P> for Line<P> {
    const NAME: &'static str = "line";

    fn build(points: PointArray<P>) -> Self {
        let (lines, starts) = match points.owners() {
            Owners::Narrow(owners) => {
                let rows = Rows::count(&points, owners, buckets(points.len(), NARROW_MEAN));
                (Lines::Narrow(rows.lines()), rows.starts)
            }
            Owners::Wide(owners) => {
                let rows = Rows::count(&points, owners, buckets(points.len(), WIDE_MEAN));
                (Lines::Wide(rows.lines()), rows.starts)
            }
        };
        Self { lines, starts, points }
    }

    fn patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Self {
        if points.is_empty() {
            return Self::build(points);
        }
        let (lines, starts) = match (&self.lines, points.owners()) {
            (Lines::Narrow(old), Owners::Narrow(owners)) if old.count() == buckets(points.len(), NARROW_MEAN) => {
                let (lines, starts) = patched(old, &self.starts, &points, owners, edit);
                (Lines::Narrow(lines), starts)
            }
            (Lines::Wide(old), Owners::Wide(owners)) if old.count() == buckets(points.len(), WIDE_MEAN) => {
                let (lines, starts) = patched(old, &self.starts, &points, owners, edit);
                (Lines::Wide(lines), starts)
            }
            _ => return Self::build(points),
        };
        Self { lines, starts, points }
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
        for (i, (&x, out)) in xs.iter().zip(out).enumerate() {
            if let Some(&later) = xs.get(i + AHEAD) {
                lines.prefetch(later);
            }
            *out = match look(lines, x) {
                Some((_, _, owner)) => Slot::new(owner.into()),
                None => self.search_owner(x),
            };
        }
        len
    }
}

/// The number of buckets for `points` points (L1): at least one, at most `mean` points in each on average, rounded up to
/// a number with four significant bits, so that it stays the same over most commits.
fn buckets(points: usize, mean: usize) -> u32 {
    let least = points.div_ceil(mean).max(1);
    position(least.next_multiple_of(1 << least.ilog2().saturating_sub(3)))
}

/// What lines are made from.
struct Rows<'a, P: Point, O> {
    points: &'a PointArray<P>,
    owners: &'a [O],
    starts: Box<[u32]>,
}

impl<'a, P: Point, O: Copy> Rows<'a, P, O> {
    /// Counts the points of each bucket.
    fn count(points: &'a PointArray<P>, owners: &'a [O], buckets: u32) -> Self {
        let mut starts = Vec::with_capacity(index(buckets) + 1);
        for rank in 0..points.len() {
            let bucket = points.point(rank).part(buckets).0;
            // This point's bucket, and the empty ones before it, start here, if no point before has said so.
            while starts.len() <= index(bucket) {
                starts.push(position(rank));
            }
        }
        starts.resize(index(buckets) + 1, position(points.len()));
        Self { points, owners, starts: starts.into_boxed_slice() }
    }

    fn buckets(&self) -> u32 {
        position(self.starts.len() - 1)
    }

    fn points_of(&self, bucket: usize) -> std::ops::Range<usize> {
        index(self.starts[bucket])..index(self.starts[bucket + 1])
    }

    /// The owner of the next point at or after `rank`. There must be points.
    fn owner_from(&self, rank: usize) -> O {
        self.owners[if rank == self.owners.len() { 0 } else { rank }]
    }

    /// The line of `bucket` (L3).
    fn line<B: Bucket<Owner = O>>(&self, bucket: usize) -> B {
        let ranks = self.points_of(bucket);
        if ranks.len() > B::POINTS || self.owners.is_empty() {
            return B::OVERFULL;
        }
        let after = self.owner_from(ranks.end);
        let prints = ranks.clone().map(|rank| self.points.point(rank).part(self.buckets()).1);
        B::new(prints, &self.owners[ranks], after)
    }

    fn lines<B: Bucket<Owner = O>>(&self) -> Buckets<B> {
        Buckets::new((0..self.starts.len() - 1).map(|bucket| self.line(bucket)).collect())
    }
}

/// A copy of `old` with the lines made anew whose points `edit` changed, and the owner *after* set anew in those before
/// them. There must be points left.
///
/// One descending sweep. A line's owner after it depends on nothing but the first point of the buckets behind it, so
/// below each changed bucket the lines of empty buckets and the first line that isn't empty are set right; a changed one
/// ends that walk, as it is made anew itself. So no line is walked over twice, however many buckets were emptied.
fn patched<P: Point, B: Bucket>(
    old: &Buckets<B>,
    old_starts: &[u32],
    points: &PointArray<P>,
    owners: &[B::Owner],
    edit: &Edit<'_, P>,
) -> (Buckets<B>, Box<[u32]>) {
    let bucket_of = |&(point, _): &(P, Slot)| point.part(old.count()).0;
    // Buckets that gain (+1) or lose (-1, as a wrapped number) a point, in order. Two runs, which the stable sort merges.
    let removed = edit.removed.iter().map(|point| (bucket_of(point), u32::MAX));
    let mut changes: Vec<(u32, u32)> = removed.chain(edit.added.iter().map(|point| (bucket_of(point), 1))).collect();
    changes.sort_by_key(|&(bucket, _)| bucket);

    let mut starts = Vec::with_capacity(old_starts.len());
    let mut shift = 0u32;
    for &(bucket, change) in &changes {
        let same = &old_starts[starts.len().min(index(bucket) + 1)..=index(bucket)];
        starts.extend(same.iter().map(|start| start.wrapping_add(shift)));
        shift = shift.wrapping_add(change);
    }
    starts.extend(old_starts[starts.len()..].iter().map(|start| start.wrapping_add(shift)));
    let rows = Rows { points, owners, starts: starts.into_boxed_slice() };

    let mut new = old.clone();
    let lines = new.lines_mut();
    // The start of the circle follows its end, so lines before the end are always looked at.
    let mut below = lines.len();
    let mut changed = changes.iter().rev().map(|&(bucket, _)| index(bucket)).peekable();
    loop {
        let next = changed.next();
        let after = rows.owner_from(index(rows.starts[below]));
        while below > next.map_or(0, |next| next + 1) {
            below -= 1;
            let count = rows.points_of(below).len();
            if count <= B::POINTS {
                lines[below].set_after(count, after);
            }
            if count > 0 {
                break;
            }
        }
        let Some(next) = next else { break };
        lines[next] = rows.line(next);
        below = next;
        while changed.next_if_eq(&next).is_some() {}
    }
    (new, rows.starts)
}
