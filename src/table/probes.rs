//! Keys that are looked up at several points (multi-probe): the owner, and the walk on from it.
//!
//! Of each probe the walk goes clockwise as a plain one does; together they go by distance, the nearest point of any probe
//! first, and of equal distances the first in the total order of points. So the first point on it that a condition takes
//! is what each probe walking to its own first such point, and the nearest of these winning, would find; and the k-th
//! distinct node is the owner on the ring without the k − 1 before it.
//!
//! ```text
//! probe 0   ──·────────x───x──      distances 3, 7, …      the walk: probe 1 at 1, probe 0 at 3, probe 1 at 4, …
//! probe 1   ·x──x─────────x───      distances 1, 4, …
//! ```
//!
//! A step of such a walk is told by the rank of its point, as the nearest probe says how far it had come by then.

use super::Table;
use super::walk::{PATIENCE, Start};
use crate::error::SchemeError;
use crate::hash::{MatchRule, Probes, Scheme};
use crate::layout::{Layout, PointArray};
use crate::node::{Node, Slot};
use crate::point::{Point, index, position};

/// The most probes, as a length.
const MAX: usize = index(Probes::MAX);

/// How many probes of a batch are in flight.
const FLIGHT: usize = 64;

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// The place that the layout is asked for, for a probe of the key with this hash.
    #[inline(always)]
    fn probe(&self, hash: u64, number: u32) -> S::Point {
        self.asked(self.scheme.probe(hash, number))
    }

    /// The rank of the point at or after a place that the layout is asked for. `len` is the number of points, not 0.
    #[inline(always)]
    fn wrapped_rank(&self, asked: S::Point, len: usize) -> u32 {
        let rank = self.layout.rank(asked);
        position(if rank < len { rank } else { 0 })
    }

    /// The owner of the key with this hash. In three loops of steps that don't wait for each other, so that the loads of
    /// all probes are in flight together: ranks, then points, then the nearest.
    #[inline(never)]
    pub(super) fn owner_by_probes(&self, hash: u64) -> Option<&Node<T>> {
        let mut asked = [S::Point::MIN; MAX];
        let mut ranks = [0; MAX];
        let count = index(self.scheme.probes().count()).min(MAX);
        let (asked, ranks) = (&mut asked[..count], &mut ranks[..count]);
        let points = self.layout.points();
        if points.is_empty() {
            return None;
        }
        for ((number, asked), rank) in (0..).zip(&mut *asked).zip(&mut *ranks) {
            *asked = self.probe(hash, number);
            *rank = self.wrapped_rank(*asked, points.len());
        }
        Some(&self.nodes[nearest_slot(points, asked, ranks)?.index()])
    }

    /// As [`for_each_owner`](Self::for_each_owner), where keys have several probes: the probes of as many keys as may be are
    /// in flight together.
    pub(super) fn for_each_owner_by_probes<'t, K: AsRef<[u8]>>(
        &'t self,
        keys: &[K],
        mut each: impl FnMut(usize, Option<&'t Node<T>>),
    ) {
        let mut asked = [S::Point::MIN; FLIGHT];
        let mut ranks = [0; FLIGHT];
        let count = index(self.scheme.probes().count()).min(MAX);
        let points = self.layout.points();
        let mut number = 0;
        for keys in keys.chunks(FLIGHT / count) {
            for (key, asked) in keys.iter().zip(asked.chunks_mut(count)) {
                let hash = self.scheme.key_hash(key.as_ref());
                for (number, asked) in (0..).zip(asked) {
                    *asked = self.probe(hash, number);
                }
            }
            if !points.is_empty() {
                for (asked, rank) in asked[..keys.len() * count].iter().zip(&mut ranks) {
                    *rank = self.wrapped_rank(*asked, points.len());
                }
            }
            for ((key, asked), ranks) in keys.iter().zip(asked.chunks(count)).zip(ranks.chunks(count)) {
                let pinned = self.pinned_slot_of(key.as_ref());
                let slot = pinned.or_else(|| nearest_slot(points, asked, ranks));
                each(number, slot.map(|slot| &self.nodes[slot.index()]));
                number += 1;
            }
        }
    }

    /// The walk of a key with several probes; `None` for walks that begin at one point.
    #[inline(always)]
    pub(super) fn probing(&self, start: Start) -> Option<Probing<S::Point>> {
        self.is_probed(start).then(|| self.probing_from(start, None))
    }

    /// Whether the walk is one of several probes.
    #[inline(always)]
    pub(super) fn is_probed(&self, start: Start) -> bool {
        !self.scheme.probes().is_one() && start.is_probed()
    }

    /// The walk from the begin, or from the step to the point of rank `reached` on.
    #[inline(never)]
    fn probing_from(&self, start: Start, reached: Option<usize>) -> Probing<S::Point> {
        let points = self.layout.points();
        let mut walk = Probing { heads: [Head::default(); MAX], count: 0 };
        if points.is_empty() {
            return walk;
        }
        let count = index(self.scheme.probes().count()).min(MAX);
        for (number, head) in (0..).zip(&mut walk.heads[..count]) {
            let asked = self.probe(start.hash(), number);
            let rank = self.wrapped_rank(asked, points.len());
            let distance = points.point(index(rank)).steps_from(asked);
            *head = Head { distance, rank, asked, left: position(points.len()) };
        }
        walk.count = count;
        if let Some(reached) = reached.filter(|&rank| rank < points.len()) {
            let point = points.point(reached);
            let passed = walk.heads().iter().map(|head| point.steps_from(head.asked)).min();
            for head in &mut walk.heads[..count] {
                head.skip(points, passed.unwrap_or_default(), |place| self.wrapped_rank(place, points.len()));
            }
        }
        walk
    }

    /// [`find`](Self::find) for a walk of several probes, behind the pin. A step to rank r has the number r + 1, and the next
    /// search goes on from r + 2.
    #[inline(never)]
    pub(super) fn find_probed(
        &self,
        start: Start,
        from: usize,
        accept: &impl Fn(Slot) -> bool,
    ) -> Option<(usize, Slot)> {
        let mut walk = self.probing_from(start, from.checked_sub(2));
        walk.find(self, accept).map(|(rank, slot)| (rank + 1, slot))
    }

    /// Of each probe the first accepted point among those of so many different values, and of these the nearest.
    #[inline(never)]
    pub(super) fn find_probed_within(&self, start: Start, values: u32, accept: &impl Fn(Slot) -> bool) -> Option<Slot> {
        let walk = self.probing_from(start, None);
        let points = self.layout.points();
        let first = |head: &Head<S::Point>| {
            let rank = self.rank_within(index(head.rank), values, accept)?;
            Some((points.point(rank).steps_from(head.asked), rank))
        };
        walk.heads().iter().filter_map(first).min().map(|(_, rank)| points.slot(rank))
    }
}

/// Several probes go by the next point, and no layout is asked for the nearest one.
pub(super) fn check_probes<S: Scheme>(scheme: &S) -> Result<(), SchemeError> {
    if scheme.match_rule() != MatchRule::Nearest || scheme.probes().is_one() {
        return Ok(());
    }
    let count = scheme.probes().count();
    Err(SchemeError {
        id: None,
        reason: format!("{count} probes go by the next point; take one, or another match rule"),
    })
}

/// The slot of the nearest of the points at `ranks`, each seen from its own place; `None` if there are no points.
#[inline(always)]
fn nearest_slot<P: Point>(points: &PointArray<P>, asked: &[P], ranks: &[u32]) -> Option<Slot> {
    if points.is_empty() {
        return None;
    }
    let (mut nearest, mut winner) = (None, 0);
    for (&asked, &rank) in asked.iter().zip(ranks) {
        // Together they are one number: the smaller distance, then the smaller rank.
        let seen = points.point(index(rank)).steps_from(asked).ranked(rank);
        if nearest.is_none_or(|nearest| seen < nearest) {
            (nearest, winner) = (Some(seen), rank);
        }
    }
    Some(points.slot(index(winner)))
}

/// The walk of several probes.
#[derive(Debug)]
pub(super) struct Probing<P> {
    heads: [Head<P>; MAX],
    count: usize,
}

/// How far one probe has come.
#[derive(Debug, Clone, Copy, Default)]
struct Head<P> {
    /// From the probe to the next point.
    distance: P,
    /// The next point.
    rank: u32,
    /// How many points it hasn't passed; at 0 there is no next one.
    left: u32,
    /// The probe, as the layout is asked for it.
    asked: P,
}

impl<P: Point> Head<P> {
    /// Goes on to the first point at this distance or more.
    fn skip(&mut self, points: &PointArray<P>, distance: P, rank_of: impl Fn(P) -> u32) {
        if distance <= self.distance {
            return;
        }
        let rank = rank_of(self.asked.clockwise(distance));
        let seen = points.point(index(rank)).steps_from(self.asked);
        if seen < distance {
            // Around the whole circle: all points are nearer.
            self.left = 0;
            return;
        }
        let steps = if rank >= self.rank { rank - self.rank } else { position(points.len()) - (self.rank - rank) };
        (self.rank, self.distance, self.left) = (rank, seen, position(points.len()) - steps);
    }

    fn step(&mut self, points: &PointArray<P>) {
        self.left -= 1;
        let next = index(self.rank) + 1;
        self.rank = position(if next < points.len() { next } else { 0 });
        self.distance = points.point(index(self.rank)).steps_from(self.asked);
    }
}

impl<P: Point> Probing<P> {
    fn heads(&self) -> &[Head<P>] {
        &self.heads[..self.count]
    }

    /// The next point, by whichever probe is nearest. A point comes once for each probe.
    fn next(&mut self, points: &PointArray<P>) -> Option<usize> {
        let heads = self.heads[..self.count].iter_mut().filter(|head| head.left > 0);
        let head = heads.min_by_key(|head| (head.distance, head.rank))?;
        let rank = head.rank;
        head.step(points);
        Some(index(rank))
    }

    /// The next point whose slot is accepted: its rank and that slot. As [`Table::find`], but that the limit of steps in
    /// vain holds for all probes together.
    pub(super) fn find<T, S: Scheme<Point = P>, L: Layout<P>>(
        &mut self,
        table: &Table<T, S, L>,
        accept: impl Fn(Slot) -> bool,
    ) -> Option<(usize, Slot)> {
        let points = table.layout.points();
        for _ in 0..table.nodes.len() + PATIENCE {
            let rank = self.next(points)?;
            let slot = points.slot(rank);
            if accept(slot) {
                return Some((rank, slot));
            }
        }
        let mut accepted = table.placed_slots().filter(|&slot| accept(slot));
        let Some(ranks) = &table.ranks else {
            accepted.next()?;
            // There is one, so this ends; and if its state changes meanwhile, with the last point.
            return std::iter::from_fn(|| self.next(points))
                .map(|rank| (rank, points.slot(rank)))
                .find(|s| accept(s.1));
        };
        // Nothing that a probe has passed was accepted, so a node's next point from there on is its nearest.
        let nearest = |slot| {
            let seen = |head: &Head<P>| {
                let rank = ranks.next(slot, index(head.rank))?;
                Some((points.point(rank).steps_from(head.asked), rank))
            };
            self.heads().iter().filter_map(seen).min().map(|(distance, rank)| (distance, rank, slot))
        };
        accepted
            .filter_map(nearest)
            .min_by_key(|&(distance, rank, _)| (distance, rank))
            .map(|(_, rank, slot)| (rank, slot))
    }
}
