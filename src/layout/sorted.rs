//! The sorted array searched as it is: the reference layout, and the smallest.

use std::collections::TryReserveError;

use super::{Edit, Layout, PointArray, kernel, owner_lanes};
use crate::node::Slot;
use crate::point::Point;

/// Branchless binary search over the canonical arrays; no index, 6 bytes a point (`u32`, 16-bit owners).
///
/// # Complexity
/// A lookup takes ceil(log2 P) dependent steps, each at the latency of the cache level it falls in.
#[derive(Debug, Clone)]
pub struct Sorted<P: Point> {
    points: PointArray<P>,
}

impl<P: Point> Layout<P> for Sorted<P> {
    const NAME: &'static str = "sorted";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        Ok(Self { points })
    }

    fn try_patch(&self, points: PointArray<P>, _edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        Self::try_build(points)
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
        self.points.rank(x)
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        let len = self.points.len();
        if len == 0 {
            return None;
        }
        let rank = self.rank(x);
        Some(self.points.slot(if rank == len { 0 } else { rank }))
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        let len = self.points.len();
        if len == 0 {
            return 0;
        }
        owner_lanes(
            xs,
            out,
            |heads| kernel::lower_bounds(self.points.heads(), heads),
            |rank, x| {
                let rank = self.points.settle_tail(rank, x);
                self.points.slot(if rank == len { 0 } else { rank })
            },
        )
    }

    fn index_bytes(&self) -> usize {
        0
    }
}
