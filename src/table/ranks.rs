//! The ranks of each node's points, in order: what makes walks bounded whatever the weights. Optional, 4 bytes a point.
//!
//! A walk goes point by point, and so takes long where what it looks for has few points among many. With this it can
//! instead ask each node for its next point and take the nearest: O(N log P), however the points are spread.

use super::Member;
use crate::layout::PointArray;
use crate::node::Slot;
use crate::point::{Point, index, position};

/// For each slot, the ranks of its points in ascending order.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    /// Where each slot's ranks begin, and the end of the last.
    starts: Box<[u32]>,
    ranks: Box<[u32]>,
}

impl Ranks {
    /// O(P + N): each point is put behind the last one of its node.
    pub(super) fn new<P: Point, S>(points: &PointArray<P>, members: &[Option<Member<S>>]) -> Self {
        let mut starts = Vec::with_capacity(members.len() + 1);
        let mut next: u32 = 0;
        for member in members {
            starts.push(next);
            next += member.as_ref().map_or(0, |member| member.points);
        }
        starts.push(next);
        let mut ends = starts.clone();
        let mut ranks = vec![0; points.len()];
        for rank in 0..points.len() {
            let end = &mut ends[points.slot(rank).index()];
            ranks[index(*end)] = position(rank);
            *end += 1;
        }
        Self { starts: starts.into(), ranks: ranks.into() }
    }

    /// A slot's ranks.
    pub(super) fn of(&self, slot: Slot) -> &[u32] {
        &self.ranks[index(self.starts[slot.index()])..index(self.starts[slot.index() + 1])]
    }

    /// The smallest of a slot's ranks that is at least `rank`, or else its smallest: its next point clockwise.
    pub(super) fn next(&self, slot: Slot, rank: usize) -> Option<usize> {
        let ranks = self.of(slot);
        let place = ranks.partition_point(|&other| index(other) < rank);
        ranks.get(place).or(ranks.first()).map(|&rank| index(rank))
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.ranks[..])
    }
}
