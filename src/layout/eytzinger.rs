//! The Eytzinger layout: the sorted array in the breadth-first order of its search tree.
//!
//! ```text
//! rank order      10 20 30 40 50 60 70          tree          40
//! tree order   -  40 20 60 10 30 50 70                   20        60
//! position     0   1  2  3  4  5  6  7                 10  30    50  70
//! ```
//! The first steps of every search share a few lines that stay in the cache, and four levels down lie in one line that
//! can be fetched ahead. Source: Khuong and Morin, "Array layouts for comparison-based searching", 2017; ours keeps
//! owners in tree order beside the points, and finds the rank by arithmetic instead of a stored permutation.
//!
//! Invariants
//! - E1: `tree[k]` for k in 1..=P is the head of rank `rank_of(k)`; `tree[0]` is 0 and never compared.
//! - E2: `owners.at(k)` is the owner of rank `rank_of(k)`; position 0 holds the owner of rank 0, which is the answer
//!   when every point is below the key, so that wrapping needs no branch.

use std::collections::TryReserveError;

use super::array::{Owners, ranks};
use super::{Edit, Layout, PointArray, kernel, owner_lanes, room};
use crate::node::Slot;
use crate::point::Point;

/// Branchless descent with prefetch; 12 bytes a point together with the canonical arrays.
///
/// # Complexity
/// A lookup takes floor(log2 P) + 1 dependent steps, of which four are in flight at any time.
#[derive(Debug, Clone)]
pub struct Eytzinger<P: Point> {
    points: PointArray<P>,
    tree: Vec<u32>,
    owners: Owners,
}

impl<P: Point> Layout<P> for Eytzinger<P> {
    const NAME: &'static str = "eytzinger";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        let len = points.len();
        if len == 0 {
            return Ok(Self { points, tree: Vec::new(), owners: Owners::Narrow(Vec::new()) });
        }
        let order = ranks(len + 1, std::iter::once(0).chain((1..=len).map(|k| rank_of(k, len))))?;
        let mut tree = room(len + 1)?;
        tree.push(0);
        tree.extend(order[1..].iter().map(|&rank| points.heads()[crate::point::index(rank)]));
        let owners = points.owners().permuted(&order)?;
        Ok(Self { points, tree, owners })
    }

    fn try_patch(&self, points: PointArray<P>, _edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        // One point more shifts nearly every position of the tree, so there is nothing to keep.
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
        let k = kernel::eytzinger_lower_bound(&self.tree, x.head());
        let rank = if k == 0 { self.points.len() } else { rank_of(k, self.points.len()) };
        self.points.settle_tail(rank, x)
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        if self.points.is_empty() {
            return None;
        }
        Some(self.owner_of_place(kernel::eytzinger_lower_bound(&self.tree, x.head()), x))
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        if self.points.is_empty() {
            return 0;
        }
        let search = |heads: &_| kernel::eytzinger_lower_bounds(&self.tree, heads);
        owner_lanes(xs, out, search, |k, x| self.owner_of_place(k, x))
    }

    fn index_bytes(&self) -> usize {
        size_of_val(&self.tree[..]) + self.owners.bytes()
    }
}

impl<P: Point> Eytzinger<P> {
    /// The owner for `x`, whose head was found at place `k` (0: above all). There must be points.
    #[inline(always)]
    fn owner_of_place(&self, k: usize, x: P) -> Slot {
        if P::WIDE && k != 0 && self.tree[k] == x.head() {
            // Heads tie: the tails decide, and only the canonical arrays have them.
            let len = self.points.len();
            let rank = self.points.settle_tail(rank_of(k, len), x);
            return self.points.slot(if rank == len { 0 } else { rank });
        }
        self.owners.at(k)
    }
}

/// The rank of tree position `k` (1-based) in a tree of `len` elements.
///
/// In a full tree of h levels, position k on level d (the root's is 0) has the rank (2(k − 2^d) + 1)·2^(h−1−d) − 1. Ours
/// lacks the last part of the lowest level, whose elements have the even ranks; those missing below the rank are taken
/// off.
#[inline(always)]
fn rank_of(k: usize, len: usize) -> usize {
    let height = len.ilog2() + 1;
    let depth = k.ilog2();
    let full = ((2 * (k - (1 << depth)) + 1) << (height - 1 - depth)) - 1;
    let lowest = len - ((1 << (height - 1)) - 1);
    full - full.div_ceil(2).saturating_sub(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In-order traversal by recursion: what `rank_of` must agree with.
    fn traverse(k: usize, len: usize, next: &mut usize, out: &mut [usize]) {
        if k <= len {
            traverse(2 * k, len, next, out);
            out[k] = *next;
            *next += 1;
            traverse(2 * k + 1, len, next, out);
        }
    }

    #[test]
    fn ranks_agree_with_an_in_order_traversal() {
        for len in (1..200).chain([255, 256, 257, 1000, 4095, 4096, 4097]) {
            let mut expected = vec![0; len + 1];
            traverse(1, len, &mut 0, &mut expected);
            for (k, &rank) in expected.iter().enumerate().skip(1) {
                assert_eq!(rank_of(k, len), rank, "position {k} of {len}");
            }
        }
    }
}
