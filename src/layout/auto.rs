//! The layout that looks at the points and picks a layout, once, when a table is built.

use super::{Edit, Layout, Line, PointArray, Sorted};
use crate::node::Slot;
use crate::point::Point;

/// Picks the layout by the points: [`Line`], or [`Sorted`] if more than half of them lie so close together that lines
/// can't hold them.
///
/// Hashed points are spread evenly, so theirs is [`Line`] at any number: the measurements in `docs/benchmarks.md` have it
/// ahead from 16 points to 16 million, and on a par below. Points that a stranger chose may be crowded; a lookup among
/// them then costs what a binary search costs, and no line that can't answer is fetched before it. Who needs less memory
/// than 18 bytes a point names [`Sorted`], which takes 6.
///
/// The choice is made when a table is built, never per lookup; a lookup costs one predicted branch more than the layout
/// itself.
#[derive(Debug, Clone)]
pub enum Auto<P: Point> {
    /// The sorted array.
    Sorted(Sorted<P>),
    /// One cache line a bucket.
    Line(Line<P>),
}

impl<P: Point> From<Line<P>> for Auto<P> {
    fn from(line: Line<P>) -> Self {
        if line.is_crowded() { Self::Sorted(Sorted::build(line.into_points())) } else { Self::Line(line) }
    }
}

impl<P: Point> Layout<P> for Auto<P> {
    const NAME: &'static str = "auto";

    fn build(points: PointArray<P>) -> Self {
        Line::build(points).into()
    }

    fn patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Self {
        match self {
            Self::Line(old) => old.patch(points, edit).into(),
            // Lines have to be laid out to see whether the crowd has gone.
            Self::Sorted(_) => Self::build(points),
        }
    }

    #[inline(always)]
    fn points(&self) -> &PointArray<P> {
        match self {
            Self::Sorted(layout) => layout.points(),
            Self::Line(layout) => layout.points(),
        }
    }

    #[inline(always)]
    fn rank(&self, x: P) -> usize {
        match self {
            Self::Sorted(layout) => layout.rank(x),
            Self::Line(layout) => layout.rank(x),
        }
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        match self {
            Self::Sorted(layout) => layout.owner(x),
            Self::Line(layout) => layout.owner(x),
        }
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        match self {
            Self::Sorted(layout) => layout.owner_batch(xs, out),
            Self::Line(layout) => layout.owner_batch(xs, out),
        }
    }

    fn index_bytes(&self) -> usize {
        match self {
            Self::Sorted(layout) => layout.index_bytes(),
            Self::Line(layout) => layout.index_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_line(auto: &Auto<u32>) -> bool {
        matches!(auto, Auto::Line(_))
    }

    #[test]
    fn crowded_points_are_left_sorted_and_come_back() {
        let slot = Slot::new(3);
        let even: Vec<(u32, Slot)> = (0..1000).map(|n| (n << 22, slot)).collect();
        let crowd: Vec<(u32, Slot)> = (0..1001).map(|n| (0x8000_0001 + n, slot)).collect();
        let both = PointArray::from_unsorted(even.iter().chain(&crowd).copied().collect());

        let first = Auto::build(PointArray::from_unsorted(even.clone()));
        assert!(is_line(&first));
        let second = first.patch(both.clone(), &Edit { removed: &[], added: &crowd });
        assert!(!is_line(&second) && !is_line(&Auto::build(both)));
        assert_eq!(second.index_bytes(), 0);
        let third = second.patch(PointArray::from_unsorted(even), &Edit { removed: &crowd, added: &[] });
        assert!(is_line(&third));
        assert!(is_line(&Auto::build(PointArray::empty())));
    }
}
