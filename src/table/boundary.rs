//! Match rules as boundaries: what the layout is asked, and what it is built over.
//!
//! Layouts know "the first boundary at or clockwise of x". A key under the rule `>` asks for the place after its own. A
//! key under the *nearest* rule belongs to point p from the middle of the gap before p to the middle of the gap after it:
//! so the boundaries are those middles, each with the owner of the point before it, and in the same order as the points
//! but for one turn: the middle after the last point may lie past the top of the circle, and then comes first.

use std::collections::TryReserveError;

use super::Table;
use crate::hash::{MatchRule, Scheme};
use crate::layout::{Layout, PointArray, PointArrayBuilder};
use crate::node::NodeId;
use crate::point::Point;

/// Points that lie apart from the boundaries that the layout is built over.
#[derive(Debug)]
pub(super) struct Apart<P: Point> {
    pub(super) points: PointArray<P>,
    /// Whether the last point's boundary is the first one.
    turned: bool,
}

impl<P: Point> Apart<P> {
    pub(super) fn empty() -> Self {
        Self { points: PointArray::empty(), turned: false }
    }
}

/// The boundaries of `points` under the nearest rule: of each point the last place that is nearer to it than to the next,
/// or as near.
///
/// Of equal points, all but the last end where they lie, and own what comes before. Where all are equal, that place
/// itself is the last one's, and the last one's boundary lies opposite; so does that of a point alone.
pub(super) fn nearest<P: Point>(points: PointArray<P>) -> Result<(PointArray<P>, Apart<P>), TryReserveError> {
    let mut boundaries = PointArrayBuilder::with_capacity(points.len())?;
    let Some(last) = points.len().checked_sub(1) else { return Ok((boundaries.finish()?, Apart::empty())) };
    let (first, top) = (points.point(0), points.point(last));
    let all_equal = first == top;
    let end = if all_equal { top.clockwise(P::HALF) } else { halfway(top, first) };
    let lowest = if all_equal { top.clockwise(P::MAX) } else { first };
    let turned = last > 0 && end < lowest;
    if turned {
        boundaries.push(end, points.slot(last));
    }
    let nexts = points.iter().skip(1).map(|(next, _)| next);
    for ((point, slot), next) in points.iter().zip(nexts) {
        boundaries.push(if all_equal { lowest } else { halfway(point, next) }, slot);
    }
    if !turned {
        boundaries.push(end, points.slot(last));
    }
    Ok((boundaries.finish()?, Apart { points, turned }))
}

/// The place in the middle of the arc, or the last before the middle.
fn halfway<P: Point>(from: P, to: P) -> P {
    from.clockwise(to.steps_from(from).half())
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// The place that the layout is asked for instead of a key's point.
    #[inline(always)]
    pub(super) fn asked(&self, point: S::Point) -> S::Point {
        match self.scheme.match_rule() {
            MatchRule::AtOrAfter | MatchRule::Nearest => point,
            MatchRule::After => point.clockwise(S::Point::ONE),
        }
    }

    /// The points in their total order: the layout's own, unless that is built over other boundaries.
    #[inline]
    pub(super) fn points_array(&self) -> &PointArray<S::Point> {
        self.apart.as_ref().map_or_else(|| self.layout.points(), |apart| &apart.points)
    }

    /// The last place that each stretch of keys of one owner ends at, in the order of the circle from 0, with the owner. Of
    /// equal points only the owner's is given.
    pub(crate) fn boundaries(&self) -> impl Iterator<Item = (S::Point, &NodeId)> {
        let points = self.layout.points();
        let (back, first_kept) = self.turn();
        let wraps = first_kept > 0;
        let ranks = (first_kept..points.len()).chain(wraps.then_some(0));
        let mut before = None;
        ranks.filter_map(move |rank| {
            let boundary = points.point(rank).clockwise(back);
            (before.replace(boundary) != Some(boundary)).then(|| (boundary, self.nodes[points.slot(rank).index()].id()))
        })
    }

    /// How far the end of a stretch of keys lies clockwise of the layout's point, and the rank of the first point in the
    /// order of the stretches: the ranks below it come last.
    pub(super) fn turn(&self) -> (S::Point, usize) {
        let points = self.layout.points();
        match self.scheme.match_rule() {
            MatchRule::AtOrAfter | MatchRule::Nearest => (S::Point::MIN, 0),
            // Keys before a point are its own, those on it aren't. Going one back from 0 leads to the top: that boundary
            // then is the last.
            MatchRule::After if !points.is_empty() && points.point(0) == S::Point::MIN => {
                (S::Point::MAX, points.run_of(S::Point::MIN, 0).end)
            }
            MatchRule::After => (S::Point::MAX, 0),
        }
    }

    /// The last of [`boundaries`](Self::boundaries).
    pub(crate) fn last_boundary(&self) -> Option<S::Point> {
        // The order of the circle is the order of numbers.
        self.boundaries().map(|(boundary, _)| boundary).last()
    }

    /// The rank of the point that a key with this point belongs to; `None` if there are no points.
    #[inline]
    pub(super) fn rank_at(&self, point: S::Point) -> Option<usize> {
        let last = self.len().checked_sub(1)?;
        let found = self.layout.rank(self.asked(point));
        let rank = if found > last { 0 } else { found };
        let turned = self.apart.as_ref().is_some_and(|apart| apart.turned);
        Some(match (turned, rank) {
            (false, rank) => rank,
            (true, 0) => last,
            (true, rank) => rank - 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Slot;

    /// The rule in words: of the last point before the key and the first at or after it, the one that is nearer.
    fn naive(points: &[(u32, Slot)], key: u32) -> Slot {
        let after = points.iter().position(|&(point, _)| point >= key).unwrap_or(0);
        let before = (after + points.len() - 1) % points.len();
        let back = key.wrapping_sub(points[before].0);
        let on = points[after].0.wrapping_sub(key);
        points[if back <= on { before } else { after }].1
    }

    #[test]
    fn boundaries_find_the_nearest_point() {
        let cases: [&[u32]; 11] = [
            &[7],
            &[0, 0, 0],
            &[u32::MAX; 3],
            &[7, 7],
            &[0, u32::MAX],
            &[5, 5, 5, 6, 8, 11, 11, 100],
            &[u32::MAX - 9, u32::MAX - 9, u32::MAX],
            &[u32::MAX - 1, u32::MAX],
            &[0, 1, 2, 3],
            &[1 << 31, (1 << 31) + 1, u32::MAX - 2],
            &[3, 1 << 31],
        ];
        for case in cases {
            let points: Vec<(u32, Slot)> = (0..).zip(case).map(|(slot, &point)| (point, Slot::new(slot))).collect();
            let (boundaries, apart) = nearest(PointArray::from_unsorted(points.clone())).unwrap();
            assert!(apart.points.iter().eq(points.iter().copied()));
            assert!(boundaries.iter().map(|(point, _)| point).is_sorted(), "{case:?}");
            let near = |x: u32| (0..40).map(move |step| x.wrapping_sub(20).wrapping_add(step));
            let middles = case.iter().flat_map(|&a| case.iter().map(move |&b| a.wrapping_add(b.wrapping_sub(a) / 2)));
            let opposite = case.iter().map(|&point| point.wrapping_add(1 << 31));
            for key in case.iter().copied().chain(middles).chain(opposite).chain([0, u32::MAX]).flat_map(near) {
                let rank = boundaries.rank(key);
                let owner = boundaries.slot(if rank == boundaries.len() { 0 } else { rank });
                assert_eq!(owner, naive(&points, key), "{case:?} key {key}");
            }
        }
    }
}
