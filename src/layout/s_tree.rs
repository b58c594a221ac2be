//! The S tree: a search tree of cache lines over the sorted array, whose cost doesn't depend on where the points lie.
//!
//! ```text
//! root        [ k0 … k15 ]                 a node: 16 keys, 17 children; key i is the largest head below child i
//!              ↓    ↓   ↘
//! nodes     [ … ] [ … ] … [ … ]            child c of node j is node 17·j + c of the next level
//!             ↓     ↓        ↓
//! leaves    0..16 16..32  …                leaf j is ranks 16·j .. 16·j + 16 of the canonical array itself
//! ```
//! A step compares a whole line at once (`kernel/s_tree.rs`), so a search takes a quarter of a binary search's steps; and
//! from the leaf's number on, heads and owners are fetched side by side, since both stand at ranks that are known.
//!
//! Sources: Slotin, "Static B-trees" (Algorithmica, 2022), whose S+ tree this is; Groot Koerkamp, "Static search trees"
//! (2024), whose keys are subtrees' maxima as well. Ours differ in that the leaves are the canonical array. A padded,
//! aligned copy of it as leaves takes 4 bytes a point more; dependent / independent / batch, ns, canonical against copy:
//! 1,000 points 27.8 / 9.4 / 7.0 against 26.4 / 8.1 / 6.5; 16,000: 39.8 / 14.6 / 8.8 against 38.9 / 12.8 / 8.3;
//! 1,000,000: 278 / 83 / 34 against 267 / 79 / 31; 16,000,000: 658 / 176 / 82 against 571 / 161 / 71 (Xeon, Sapphire
//! Rapids, 2026-11-30, interleaved, lower quartiles of 81). The copy's 5 to 15 % aren't worth two thirds more memory.
//!
//! Invariants
//! - S1: key i of a node is the last head below its child i; it is there exactly if a point follows that head. Missing
//!   keys are the largest head, which no key is above, so no search turns into a child that doesn't exist.
//! - S2: levels stand one after the other, root first, each of ceil(n / 17) nodes, n being the number of nodes (or leaves)
//!   of the level below; as many as it takes until there is one. With 16 points or fewer there is none.

use std::collections::TryReserveError;

use super::array::Owners;
use super::kernel::s_tree::{KEYS, Key, Node, lower_bound_in_16};
use super::{Edit, Layout, PointArray, kernel, room};
use crate::node::Slot;
use crate::point::{Point, index, position};

/// Children of a node.
const FANOUT: usize = KEYS + 1;

/// Levels of nodes: 2^32 points are 2^28 leaves, and 17^6 < 2^28 <= 17^7.
const LEVELS: usize = 7;

/// How many searches a batch has under way at a time.
///
/// ns per lookup in batches of 1,024, with 16, 32 and 64: 1,000 points 7.1, 7.0, 6.9; 100,000: 13.7, 12.7, 12.9;
/// 1,000,000: 43, 34, 32; 16,000,000: 91, 82, 80 (Xeon, Sapphire Rapids, 2026-11-30).
const LANES: usize = 32;

/// Sixteen-way search tree, compared by SIMD; 6.3 bytes a point together with the canonical arrays.
///
/// # Complexity
/// A lookup takes 1 + ceil(log17(P / 16)) steps, whatever the points are.
#[derive(Debug, Clone, PartialEq)]
pub struct STree<P: Point> {
    points: PointArray<P>,
    nodes: Vec<Node>,
    /// Where each level begins in `nodes`.
    firsts: [u32; LEVELS],
    depth: usize,
}

impl<P: Point> Layout<P> for STree<P> {
    const NAME: &'static str = "stree";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        let heads = points.heads();
        let mut sizes = Vec::with_capacity(LEVELS);
        let mut below = heads.len().div_ceil(KEYS);
        while below > 1 {
            below = below.div_ceil(FANOUT);
            sizes.push(below);
        }
        let depth = sizes.len();
        let mut nodes = room(sizes.iter().sum())?;
        let mut firsts = [0; LEVELS];
        // `sizes` goes from the bottom up: `level` levels of nodes are below the one of that size.
        for (first, (level, &size)) in firsts.iter_mut().zip(sizes.iter().enumerate().rev()) {
            *first = position(nodes.len());
            let child = (0..level).fold(KEYS, |points, _| points.saturating_mul(FANOUT));
            for node in 0..size {
                let ends = (1..=KEYS).map(|i| child.saturating_mul(node * FANOUT + i));
                nodes.push(Node::new(ends.map_while(|end| (end < heads.len()).then(|| heads[end - 1]))));
            }
        }
        Ok(Self { points, nodes, firsts, depth })
    }

    fn try_patch(&self, points: PointArray<P>, _edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        // One point more shifts the ends of all later leaves, and so every key after it. A build reads one head in 16: 23
        // µs for 160,000 points, less than it takes to copy their arrays (35).
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
        self.rank_in_leaf(self.leaf(x), x)
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        if self.points.is_empty() {
            return None;
        }
        let leaf = self.leaf(x);
        self.prefetch_owners(leaf);
        Some(self.owner_of_rank(self.rank_in_leaf(leaf, x)))
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        if self.points.is_empty() {
            return 0;
        }
        for (xs, out) in xs.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let (mut keys, mut places) = ([Key::new(0); LANES], [0; LANES]);
            for (key, x) in keys.iter_mut().zip(xs) {
                *key = Key::new(x.head());
            }
            for (level, &first) in self.firsts[..self.depth].iter().enumerate() {
                let nodes = &self.nodes[index(first)..];
                let next = self.firsts.get(level + 1).map_or(0, |&next| index(next));
                for (place, &key) in places.iter_mut().zip(&keys) {
                    *place = FANOUT * *place + nodes[*place].below(key);
                    if level + 1 < self.depth {
                        kernel::prefetch(&self.nodes, next + *place);
                    } else {
                        // The canonical array isn't aligned, so a leaf has a part in each of two lines.
                        kernel::prefetch(self.points.heads(), KEYS * *place);
                        kernel::prefetch(self.points.heads(), KEYS * *place + KEYS - 1);
                        self.prefetch_owners(*place);
                    }
                }
            }
            for ((&leaf, &x), out) in places.iter().zip(xs).zip(out) {
                *out = self.owner_of_rank(self.rank_in_leaf(leaf, x));
            }
        }
        xs.len().min(out.len())
    }

    fn index_bytes(&self) -> usize {
        size_of_val(&self.nodes[..])
    }
}

impl<P: Point> STree<P> {
    /// The leaf that holds the first head not below that of `x`, or else the last leaf.
    #[inline(always)]
    fn leaf(&self, x: P) -> usize {
        let key = Key::new(x.head());
        let mut place = 0;
        for &first in &self.firsts[..self.depth] {
            // Checked: the branch is predicted, and no step waits for it.
            place = FANOUT * place + self.nodes[index(first) + place].below(key);
        }
        place
    }

    #[inline(always)]
    fn rank_in_leaf(&self, leaf: usize, x: P) -> usize {
        let rank = lower_bound_in_16(self.points.heads(), KEYS * leaf, x.head());
        self.points.settle_tail(rank, x)
    }

    #[inline(always)]
    fn owner_of_rank(&self, rank: usize) -> Slot {
        self.points.slot(if rank == self.points.len() { 0 } else { rank })
    }

    /// Fetches the owners of a leaf beside its heads: with 1,000,000 points 278 ns instead of 396 a lookup.
    #[inline(always)]
    fn prefetch_owners(&self, leaf: usize) {
        let (first, last) = (KEYS * leaf, KEYS * leaf + KEYS - 1);
        match self.points.owners() {
            Owners::Narrow(owners) => {
                kernel::prefetch(owners, first);
                kernel::prefetch(owners, last);
            }
            Owners::Wide(owners) => {
                kernel::prefetch(owners, first);
                kernel::prefetch(owners, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(len: usize) -> STree<u32> {
        let points = (0..position(len)).map(|n| (n * 40 + 20, Slot::new(n % 1000))).collect();
        STree::build(PointArray::from_unsorted(points))
    }

    /// Around each length at which a level is full, and where a node gets its first child too many.
    #[test]
    fn every_turn_of_trees_of_up_to_four_levels_is_right() {
        for full in [16, 16 * 17, 16 * 17 * 17, 16 * 17 * 17 * 17] {
            for len in [full - 1, full, full + 1, full + 16, full + 17, full + 16 * 17 + 1] {
                let tree = tree(len);
                let ends = (0..=len).step_by(if len > 1000 { 16 } else { 1 });
                for rank in ends.flat_map(|end| [end.saturating_sub(1), end, (end + 1).min(len)]) {
                    let x = position(rank) * 40;
                    assert_eq!(tree.rank(x), rank, "{x} of {len}");
                    assert_eq!(tree.rank(x + 20), rank, "{x} + 20 of {len}");
                }
                assert_eq!(tree.rank(u32::MAX), len);
            }
        }
    }

    /// S1. The first head of the next child would lead to right answers as well, but out of the leaf whose owners are
    /// being fetched.
    #[test]
    fn keys_are_the_last_heads_below_their_children() {
        let heads = |ranks: &[u32]| Node::new(ranks.iter().map(|rank| rank * 40 + 20));
        assert_eq!(tree(40).nodes, [heads(&[15, 31])]);
        assert_eq!(tree(48).nodes, [heads(&[15, 31])], "no point follows rank 47");
        assert_eq!(tree(273).nodes[0], heads(&[271]));
        assert_eq!(tree(273).nodes[2], heads(&[]), "one leaf, so nowhere to turn");
    }

    /// S2, with the node counts by hand.
    #[test]
    fn levels_are_as_few_as_they_can_be() {
        let shape = |len| (tree(len).depth, tree(len).nodes.len());
        assert_eq!(shape(16), (0, 0));
        assert_eq!(shape(17), (1, 1));
        assert_eq!(shape(272), (1, 1));
        assert_eq!(shape(273), (2, 1 + 2));
        assert_eq!(shape(4624), (2, 1 + 17));
        assert_eq!(shape(4625), (3, 1 + 2 + 18));
    }
}
