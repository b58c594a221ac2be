//! A table's invariants, checked from scratch: for tests, fuzzers and the careful.

use std::fmt;

use super::boundary::nearest;
use super::{Table, fingerprints};
use crate::hash::{MatchRule, Scheme};
use crate::layout::Layout;
use crate::node::{NodeInfo, Slot};
use crate::point::{Point, Share, index};

/// An invariant of a table doesn't hold: a bug in ringway, or a scheme that isn't a pure function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    invariant: &'static str,
    detail: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table invariant {} is broken: {}", self.invariant, self.detail)
    }
}

impl std::error::Error for TableError {}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Checks every invariant of the table against what its scheme and nodes give from scratch, and the layout's
    /// answers against the canonical arrays.
    ///
    /// # Errors
    /// The first invariant that doesn't hold.
    ///
    /// # Complexity
    /// O(P log P): every label is hashed again. Not for hot paths.
    pub fn validate(&self) -> Result<(), TableError> {
        let check = |invariant, holds: bool, detail: &dyn Fn() -> String| {
            if holds { Ok(()) } else { Err(TableError { invariant, detail: detail() }) }
        };
        let lengths = || format!("{} nodes, {} members", self.nodes.len(), self.members.len());
        check("T2", self.nodes.len() == self.members.len(), &lengths)?;
        let live = |slot: &Slot| self.members.get(slot.index()).is_some_and(Option::is_some);
        let count = self.members.iter().flatten().count();
        check("T3", self.members.last().is_none_or(Option::is_some), &|| "the last slot is vacant".into())?;
        for (node, member) in self.nodes.iter().zip(&self.members) {
            check(
                "T3",
                member.is_some() || self.by_id.iter().any(|s| self.nodes[s.index()].id() == node.id()),
                &|| format!("a vacant slot holds {node:?}, which is not live"),
            )?;
        }
        let ids: Vec<&[u8]> = self.by_id.iter().map(|slot| self.nodes[slot.index()].id().as_bytes()).collect();
        check("T4", ids.is_sorted_by(|a, b| a < b), &|| "ids are not in order, or doubled".into())?;
        check("T4", self.by_id.iter().all(live) && ids.len() == count, &|| "ids and members differ".into())?;
        check("T4", self.list.is_none() == self.scheme.order_free(), &|| {
            "list order is kept where it isn't read".into()
        })?;
        if let Some(list) = &self.list {
            let sorted = |slots: &[Slot]| {
                let mut slots = slots.to_vec();
                slots.sort_unstable();
                slots
            };
            check("T4", sorted(list) == sorted(&self.by_id), &|| "list and ids name other slots".into())?;
        }

        let infos: Vec<&NodeInfo> = self.nodes().map(|node| node.info()).collect();
        let mut assigned = Vec::new();
        let refused = |error: &dyn fmt::Display| TableError { invariant: "T1", detail: error.to_string() };
        self.scheme.assign(&infos, &mut assigned).map_err(|error| refused(&error))?;
        let mut expected = Vec::new();
        let mut hashed = Vec::new();
        for (place, (&slot, assignment)) in self.canonical().iter().zip(&assigned).enumerate() {
            let info = self.nodes[slot.index()].info();
            let Some(member) = &self.members[slot.index()] else { continue };
            check("T1", u64::from(member.points) == assignment.points && member.seed == assignment.seed, &|| {
                format!("node \"{}\" is kept as {member:?}, its scheme says {assignment:?}", info.id())
            })?;
            hashed.clear();
            self.scheme.points(info.id(), &member.seed, 0..member.points, &mut hashed);
            expected.extend(hashed.iter().map(|&point| (point, assignment.tie, place, slot)));
            check("T5", self.digests(info) == (member.placement, member.spec), &|| {
                format!("the digests of node \"{}\" are stale", info.id())
            })?;
        }
        expected.sort_unstable();
        check("T1", expected.len() == self.len(), &|| format!("{} points, not {}", self.len(), expected.len()))?;
        for (rank, (&(point, .., slot), found)) in expected.iter().zip(self.points_array().iter()).enumerate() {
            check("T1", found == (point, slot), &|| format!("rank {rank} holds {found:?}, not {point:?} of {slot:?}"))?;
        }
        let apart = self.scheme.match_rule() == MatchRule::Nearest;
        check("T6", self.apart.is_some() == apart, &|| "points are kept apart where they need not be".into())?;
        if let Some(apart) = &self.apart {
            let (boundaries, _) = nearest(apart.points.clone()).map_err(|error| refused(&error))?;
            check("T6", boundaries == *self.layout.points(), &|| "the layout's boundaries are not the points'".into())?;
        }
        let members: Vec<_> = self.canonical().iter().filter_map(|slot| self.members[slot.index()].as_ref()).collect();
        let prints = fingerprints(&self.scheme, members.iter().copied(), self.pins());
        check("T5", prints == (self.placement, self.spec), &|| format!("fingerprints should be {prints:?}"))?;

        let placed = || self.placed_slots().map(|slot| (slot, self.nodes[slot.index()].info()));
        check("T7", placed().count() == self.placed, &|| {
            format!("{} nodes with points, not {}", placed().count(), self.placed)
        })?;
        if let Some(zones) = &self.zones {
            let live = self.by_id.iter().map(|&slot| (slot, self.nodes[slot.index()].info(), self.is_placed(slot)));
            zones.check(&live.collect::<Vec<_>>()).map_err(|detail| TableError { invariant: "T7", detail })?;
        } else {
            check("T7", self.nodes().all(|node| node.info().zone().is_empty()), &|| "zone labels aren't known".into())?;
        }
        check("T7", self.ranks.is_some() == self.options.bounded_walks, &|| {
            "ranks are kept where not asked for".into()
        })?;
        if let Some(ranks) = &self.ranks {
            for slot in self.placed_slots() {
                let own: Vec<usize> = ranks.of(slot).iter().map(|&rank| index(rank)).collect();
                let scan = (0..self.len()).filter(|&rank| self.points_array().slot(rank) == slot);
                check("T7", scan.eq(own), &|| format!("the ranks of {slot:?} are not those of its points"))?;
            }
        }

        let sum = self.shares_by_slot().into_iter().try_fold(Share::new(0, S::Point::BITS), Share::checked_add);
        let whole = if self.is_empty() { Share::new(0, S::Point::BITS) } else { Share::whole(S::Point::BITS) };
        check("shares", sum == Some(whole), &|| format!("shares add up to {sum:?}"))?;
        self.check_layout()
    }

    /// The layout's answers at every point, just below, and just above it, against the sorted arrays.
    fn check_layout(&self) -> Result<(), TableError> {
        let points = self.layout.points();
        let mut rank = 0;
        while rank < points.len() {
            let point = points.point(rank);
            let end = points.run_of(point, rank).end;
            let asked = [(point, rank), (point.clockwise(S::Point::ONE), end)];
            rank = end;
            for (x, rank) in asked {
                if x == S::Point::MIN && rank == points.len() {
                    continue; // Stepped over the top: the successor of 0 is rank 0, which this loop doesn't know.
                }
                let owner = points.slot(if rank == points.len() { 0 } else { rank });
                let (found_rank, found) = (self.layout.rank(x), self.layout.owner(x));
                if found_rank != rank || found != Some(owner) {
                    let detail = format!(
                        "{} finds rank {found_rank} and {found:?} for {x:?}, not {rank} and {owner:?}",
                        L::NAME
                    );
                    return Err(TableError { invariant: "layout", detail });
                }
            }
        }
        Ok(())
    }
}
