//! How a ring's lines are made, and made anew where points changed: building and patching the line layout.

use std::collections::TryReserveError;

use super::{Bucket, Buckets};
use crate::layout::{Edit, PointArray, room};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// The number of buckets for `points` points (L1): at least one, at most `mean` points in each on average, rounded up to
/// a number with four significant bits, so that it stays the same over most commits.
pub(super) fn buckets(points: usize, mean: usize) -> u32 {
    let least = points.div_ceil(mean).max(1);
    position(least.next_multiple_of(1 << least.ilog2().saturating_sub(3)))
}

/// What lines are made from.
pub(super) struct Rows<'a, P: Point, O> {
    points: &'a PointArray<P>,
    owners: &'a [O],
    pub(super) starts: Box<[u32]>,
}

impl<'a, P: Point, O: Copy> Rows<'a, P, O> {
    /// Counts the points of each bucket.
    pub(super) fn count(points: &'a PointArray<P>, owners: &'a [O], buckets: u32) -> Result<Self, TryReserveError> {
        let mut starts = room(index(buckets) + 1)?;
        for rank in 0..points.len() {
            let bucket = points.point(rank).part(buckets).0;
            // This point's bucket, and the empty ones before it, start here, if no point before has said so.
            while starts.len() <= index(bucket) {
                starts.push(position(rank));
            }
        }
        starts.resize(index(buckets) + 1, position(points.len()));
        Ok(Self { points, owners, starts: starts.into_boxed_slice() })
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

    pub(super) fn lines<B: Bucket<Owner = O>>(&self) -> Result<Buckets<B>, TryReserveError> {
        let mut lines = room(self.starts.len() - 1)?;
        lines.extend((0..self.starts.len() - 1).map(|bucket| self.line::<B>(bucket)));
        Ok(Buckets::new(lines))
    }

    /// How many points lie in buckets of more than `most` (L4).
    pub(super) fn outside(&self, most: usize) -> u32 {
        self.starts.windows(2).map(|pair| outside(pair[1] - pair[0], position(most))).sum()
    }
}

/// All the points of a bucket, if they are more than `most`.
fn outside(points: u32, most: u32) -> u32 {
    if points > most { points } else { 0 }
}

/// Makes the lines anew whose points `edits` changed, and sets the owner *after* anew in those before them; returns the
/// starts, and what L4 says. `starts` and `outside` are those of the points before the edits, which lead to `points`, one
/// after the other. There must be points left.
///
/// One descending sweep. A line's owner after it depends on nothing but the first point of the buckets behind it, so
/// below each changed bucket the lines of empty buckets and the first line that isn't empty are set right; a changed one
/// ends that walk, as it is made anew itself. So no line is walked over twice, however many buckets were emptied.
pub(super) fn patch<P: Point, B: Bucket>(
    lines: &mut Buckets<B>,
    starts: Box<[u32]>,
    outside_before: u32,
    points: &PointArray<P>,
    owners: &[B::Owner],
    edits: &[Edit<'_, P>],
) -> Result<(Box<[u32]>, u32), TryReserveError> {
    let count = lines.count();
    let bucket_of = |&(point, _): &(P, Slot)| point.part(count).0;
    // Buckets that gain (+1) or lose (-1, as a wrapped number) a point, in order. Each list is a run, and the stable sort
    // merges runs.
    let mut changes: Vec<(u32, u32)> = room(edits.iter().map(|edit| edit.removed.len() + edit.added.len()).sum())?;
    for edit in edits {
        changes.extend(edit.removed.iter().map(|point| (bucket_of(point), u32::MAX)));
        changes.extend(edit.added.iter().map(|point| (bucket_of(point), 1)));
    }
    changes.sort_by_key(|&(bucket, _)| bucket);
    let mut rows = Rows { points, owners, starts };
    let outside = if changes.len() < rows.starts.len() / DENSE {
        outside_before.wrapping_add(shift_starts(&mut rows.starts, &changes, position(B::POINTS)))
    } else {
        shift_all_starts(&mut rows.starts, &changes)?;
        rows.outside(B::POINTS)
    };

    let lines = lines.lines_mut();
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
    Ok((rows.starts, outside))
}

/// Up to one changed point in so many buckets, starts are moved in runs between them.
const DENSE: usize = 16;

/// Moves the starts behind each of the `changes`, one by one: what [`shift_starts`] does, for many changes, whose short
/// runs would be mispredicted branches.
fn shift_all_starts(starts: &mut [u32], changes: &[(u32, u32)]) -> Result<(), TryReserveError> {
    let mut moved = room(starts.len())?;
    moved.resize(starts.len(), 0u32);
    for &(bucket, change) in changes {
        let moved = &mut moved[index(bucket) + 1];
        *moved = moved.wrapping_add(change);
    }
    let mut shift = 0u32;
    for (start, moved) in starts.iter_mut().zip(moved) {
        shift = shift.wrapping_add(moved);
        *start = start.wrapping_add(shift);
    }
    Ok(())
}

/// Moves the starts behind each of the `changes`, and returns by how much they change the number of points in buckets of
/// more than `most`; both as wrapped numbers.
fn shift_starts(starts: &mut [u32], changes: &[(u32, u32)], most: u32) -> u32 {
    let (mut shift, mut outside_change) = (0u32, 0u32);
    let mut done = 0;
    for same in changes.chunk_by(|a, b| a.0 == b.0) {
        let bucket = index(same[0].0);
        let before = starts[bucket + 1] - starts[bucket];
        starts[done..=bucket].iter_mut().for_each(|start| *start = start.wrapping_add(shift));
        done = bucket + 1;
        let change = same.iter().fold(0u32, |sum, &(_, change)| sum.wrapping_add(change));
        shift = shift.wrapping_add(change);
        let gone = outside(before, most);
        outside_change = outside_change.wrapping_add(outside(before.wrapping_add(change), most)).wrapping_sub(gone);
    }
    starts[done..].iter_mut().for_each(|start| *start = start.wrapping_add(shift));
    outside_change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, Line};

    /// Numbers as good as random (Marsaglia, "Xorshift RNGs", 2003).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
        fn below(&mut self, n: u64) -> u64 {
            (self.next() >> 11) % n
        }
    }

    #[test]
    fn the_number_of_buckets_goes_in_eighths() {
        assert_eq!([0, 1, 7, 8, 14, 15].map(|points| buckets(points, 7)), [1, 1, 1, 2, 2, 3]);
        assert_eq!([7 * 16, 7 * 16 + 1, 7 * 18, 7 * 18 + 1].map(|points| buckets(points, 7)), [16, 18, 18, 20]);
        for points in (1..3_000).chain([99_999, 1_000_000, 16_000_000]) {
            let buckets = index(buckets(points, 7));
            assert!(
                points <= 7 * buckets && (buckets < 16 || points * 9 > 7 * 8 * (buckets - 1)),
                "{points}: {buckets}"
            );
        }
        assert_eq!(buckets(index(u32::MAX), 4), 1 << 30);
    }

    type Removed<P> = Vec<(P, Slot)>;
    type Added<P> = Vec<(P, Slot)>;

    /// Random edits, and between them ranges emptied and filled; the patched layout equals the built one in every byte.
    fn patches_are_builds<P: Point>(random: &mut Random, place: impl Fn(u64) -> P, first_slot: u32) {
        let mut points: Vec<(P, Slot)> = Vec::new();
        let (mut line, mut same_size) = (Line::build(PointArray::empty()), 0);
        let mut older: Option<(Line<P>, Removed<P>, Added<P>)> = None;
        for round in 0..400u32 {
            let from = place(random.next());
            let to = from.max(place(random.next()));
            let gone = |random: &mut Random, point: P| match round % 5 {
                0 | 1 => random.below(100) < 3,
                2 => (from..to).contains(&point) && random.below(100) < 90,
                3 => (from..=to).contains(&point) && round % 20 == 3,
                _ => false,
            };
            let (removed, mut next): (Vec<_>, Vec<_>) = points.iter().partition(|(point, _)| gone(random, *point));
            let added = if round % 50 == 49 { 0 } else { random.below([4, 30, 60, 300][index(round % 4)]) };
            let twice = points.get(7).map(|point| point.0);
            let fresh = |n: u32, random: &mut Random| match twice {
                Some(point) if n == 1 => point,
                _ => place(random.next()),
            };
            let mut added: Vec<(P, Slot)> = (0..added)
                .map(|n| (fresh(n as u32, random), Slot::new(first_slot + random.below(30_000) as u32)))
                .collect();
            added.sort_unstable();
            next.extend(&added);
            next.sort_unstable();
            if round % 100 == 99 {
                next.truncate(0);
                line = Line::build(PointArray::empty());
                (points, older) = (next, None);
                continue;
            }
            let array = PointArray::from_unsorted(next.clone());
            let before = line.lines_count();
            let edit = Edit { removed: &removed, added: &added };
            let patched = line.patch(array.clone(), &edit);
            same_size += u32::from(patched.lines_count() == before);
            let built = Line::build(array.clone());
            assert!(patched == built, "round {round}: {} points", next.len());
            if let Some((older, removed, added)) = older.take() {
                let edits = [Edit { removed: &removed, added: &added }, edit];
                let recycled = line.try_recycle::<TryReserveError>(older, &edits, |_| Ok(array));
                assert!(recycled.expect("memory") == built, "round {round}: {} points, recycled", next.len());
            }
            older = Some((line, removed, added));
            (line, points) = (patched, next);
        }
        assert!(same_size > 100, "only {same_size} were patched");
    }

    #[test]
    fn patched_is_built_byte_for_byte() {
        let mut random = Random(11);
        patches_are_builds(&mut random, |x| (x >> 32) as u32, 0);
        patches_are_builds(&mut random, |x| (x >> 32) as u32, 70_000);
        patches_are_builds(&mut random, |x| x, 0);
        patches_are_builds(&mut random, |x| u128::from(x) << 64 | u128::from(x), 40_000);
        // Clusters with wide gaps, and overfull buckets.
        patches_are_builds(&mut random, |x| ((x >> 32) as u32) & 0xF000_FFFF, 0);
        patches_are_builds(&mut random, |x| ((x >> 32) as u32) & 0x8000_00FF, 0);
    }

    impl<P: Point> Line<P> {
        fn lines_count(&self) -> usize {
            self.starts.len() - 1
        }
    }
}
