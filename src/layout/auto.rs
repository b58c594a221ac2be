//! The layout that looks at the points and picks a layout, once, when a table is built.

use std::collections::TryReserveError;

use super::{Edit, Layout, Line, PointArray, STree};
use crate::node::Slot;
use crate::point::Point;

/// Picks the layout by the points: [`Line`], or [`STree`] if more than half of them lie so close together that lines
/// can't hold them.
///
/// Hashed points are spread evenly, so theirs is [`Line`] at any number. There is no threshold of size, since nothing
/// measured earned one (Xeon, Sapphire Rapids, 2026-11-30; `cargo bench --bench choices`, `docs/benchmarks.md`):
/// - The line is ahead of a binary search in dependent lookups from 16 points on (0.7 of the time) and in independent ones
///   from 4 on (0.8); with 4 points its latency is 1.16 of a binary search's, which is 1.5 ns.
/// - [`Direct`](super::Direct) has less latency up to 4,000 points, 4.6 ns instead of 11.0 with 1,000 that the nearest
///   cache holds. But its table is four times as large, and a ring that shares the caches with other work pays for that: 64
///   rings of 1,000 points, asked in turn, take 158 ns a lookup with it and 70 with the line. Who has one ring of few
///   points and nothing else names it.
/// - From 16 points to 1,000,000 neither [`Bucket`](super::Bucket) nor [`STree`] was ahead of it, but for the tree's 10.1
///   ns instead of 10.8 with 16 points.
///
/// Points that a stranger chose may be crowded. If more than half of them lie in lines that don't hold them, a lookup goes
/// to a tree, which costs 0.6 to 0.9 of what a binary search does, and no line that can't answer is fetched before it. Half of
/// them or fewer cost little: the line alone, with half in 1/65,536 of the circle, takes 0.8 of a binary search's latency
/// and 1.1 of its throughput cost.
///
/// Who needs less memory than 18 bytes a point names [`Sorted`](super::Sorted), which takes 6.
///
/// The choice is made when a table is built, never per lookup; a lookup costs one predicted branch more than the layout
/// itself.
#[derive(Debug, Clone)]
pub enum Auto<P: Point> {
    /// The tree, whatever the points are.
    Crowd(STree<P>),
    /// One cache line a bucket.
    Line(Line<P>),
}

impl<P: Point> Auto<P> {
    fn of(line: Line<P>) -> Result<Self, TryReserveError> {
        Ok(if line.is_crowded() { Self::Crowd(STree::try_build(line.into_points())?) } else { Self::Line(line) })
    }
}

impl<P: Point> Layout<P> for Auto<P> {
    const NAME: &'static str = "auto";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        Self::of(Line::try_build(points)?)
    }

    fn try_patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        match self {
            Self::Line(old) => Self::of(old.try_patch(points, edit)?),
            // Lines have to be laid out to see whether the crowd has gone.
            Self::Crowd(_) => Self::try_build(points),
        }
    }

    fn try_recycle<E: From<TryReserveError>>(
        &self,
        spare: Self,
        edits: &[Edit<'_, P>],
        merge: impl FnOnce(PointArray<P>) -> Result<PointArray<P>, E>,
    ) -> Result<Self, E> {
        Ok(match (self, spare) {
            (Self::Line(old), Self::Line(spare)) => Self::of(old.try_recycle(spare, edits, merge)?)?,
            (_, spare) => Self::try_build(merge(spare.into_points())?)?,
        })
    }

    fn into_points(self) -> PointArray<P> {
        match self {
            Self::Crowd(layout) => layout.into_points(),
            Self::Line(layout) => layout.into_points(),
        }
    }

    #[inline(always)]
    fn points(&self) -> &PointArray<P> {
        match self {
            Self::Crowd(layout) => layout.points(),
            Self::Line(layout) => layout.points(),
        }
    }

    #[inline(always)]
    fn rank(&self, x: P) -> usize {
        match self {
            Self::Crowd(layout) => crowd_rank(layout, x),
            Self::Line(layout) => layout.rank(x),
        }
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        match self {
            Self::Crowd(layout) => crowd_owner(layout, x),
            Self::Line(layout) => layout.owner(x),
        }
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        match self {
            Self::Crowd(layout) => layout.owner_batch(xs, out),
            Self::Line(layout) => layout.owner_batch(xs, out),
        }
    }

    fn index_bytes(&self) -> usize {
        match self {
            Self::Crowd(layout) => layout.index_bytes(),
            Self::Line(layout) => layout.index_bytes(),
        }
    }
}

// Out of line, or the tree's code would make every lookup too large to be inlined: with both inlined, string keys at 100
// nodes of 160 points took 19 ns instead of 13 where the compiler gave up. (Xeon, Sapphire Rapids, other work beside it.)

#[cold]
#[inline(never)]
fn crowd_owner<P: Point>(tree: &STree<P>, x: P) -> Option<Slot> {
    tree.owner(x)
}

#[cold]
#[inline(never)]
fn crowd_rank<P: Point>(tree: &STree<P>, x: P) -> usize {
    tree.rank(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_line(auto: &Auto<u32>) -> bool {
        matches!(auto, Auto::Line(_))
    }

    #[test]
    fn crowded_points_get_a_tree_and_come_back() {
        let slot = Slot::new(3);
        let even: Vec<(u32, Slot)> = (0..1000).map(|n| (n << 22, slot)).collect();
        let crowd: Vec<(u32, Slot)> = (0..1001).map(|n| (0x8000_0001 + n, slot)).collect();
        let both = PointArray::from_unsorted(even.iter().chain(&crowd).copied().collect());

        let first = Auto::build(PointArray::from_unsorted(even.clone()));
        assert!(is_line(&first));
        let second = first.patch(both.clone(), &Edit { removed: &[], added: &crowd });
        assert!(!is_line(&second) && !is_line(&Auto::build(both)));
        assert!(second.index_bytes() < 2001, "the tree, and no lines");
        let third = second.patch(PointArray::from_unsorted(even), &Edit { removed: &crowd, added: &[] });
        assert!(is_line(&third));
        assert!(is_line(&Auto::build(PointArray::empty())));
    }
}
