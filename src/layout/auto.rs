//! The layout that picks a layout by size, once, when a table is built.

use super::{Edit, Eytzinger, Layout, PointArray, Sorted};
use crate::node::Slot;
use crate::point::Point;

/// From this many points on [`Auto`] takes [`Eytzinger`].
///
/// ns per lookup of random points, dependent / independent, sorted against Eytzinger: 16,000 points 54 / 21 against 52 /
/// 19; 100,000: 89 / 36 against 76 / 41; 1,000,000: 391 / 159 against 236 / 94; 16,000,000: 1341 / 610 against 632 / 307
/// (Xeon, Sapphire Rapids, 2026-11-30, interleaved, medians of 31). Where the two are close the sorted array wins: it
/// takes half the memory, and a commit needn't lay the tree out anew.
pub(crate) const EYTZINGER_FROM: usize = 1 << 18;

/// Picks the layout by the number of points: [`Sorted`] below 2^18, [`Eytzinger`] from there on.
///
/// The choice is made when a table is built, never per lookup; a lookup costs one predicted branch more than the layout
/// itself.
#[derive(Debug, Clone)]
pub enum Auto<P: Point> {
    /// The sorted array.
    Sorted(Sorted<P>),
    /// The Eytzinger tree.
    Eytzinger(Eytzinger<P>),
}

impl<P: Point> Layout<P> for Auto<P> {
    const NAME: &'static str = "auto";

    fn build(points: PointArray<P>) -> Self {
        if points.len() < EYTZINGER_FROM {
            Self::Sorted(Sorted::build(points))
        } else {
            Self::Eytzinger(Eytzinger::build(points))
        }
    }

    fn patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Self {
        match (self, points.len() < EYTZINGER_FROM) {
            (Self::Sorted(old), true) => Self::Sorted(old.patch(points, edit)),
            (Self::Eytzinger(old), false) => Self::Eytzinger(old.patch(points, edit)),
            _ => Self::build(points),
        }
    }

    #[inline(always)]
    fn points(&self) -> &PointArray<P> {
        match self {
            Self::Sorted(layout) => layout.points(),
            Self::Eytzinger(layout) => layout.points(),
        }
    }

    #[inline(always)]
    fn rank(&self, x: P) -> usize {
        match self {
            Self::Sorted(layout) => layout.rank(x),
            Self::Eytzinger(layout) => layout.rank(x),
        }
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        match self {
            Self::Sorted(layout) => layout.owner(x),
            Self::Eytzinger(layout) => layout.owner(x),
        }
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        match self {
            Self::Sorted(layout) => layout.owner_batch(xs, out),
            Self::Eytzinger(layout) => layout.owner_batch(xs, out),
        }
    }

    fn index_bytes(&self) -> usize {
        match self {
            Self::Sorted(layout) => layout.index_bytes(),
            Self::Eytzinger(layout) => layout.index_bytes(),
        }
    }
}
