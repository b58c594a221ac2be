//! How much of what is pending may be committed now, by dry runs.

use super::pending::Pending;
use crate::delta::Delta;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::moved::MovedShare;
use crate::node::{Limits, State};
use crate::plan::Plan;
use crate::ramp::is_of_node;
use crate::table::Table;

/// A part of what is pending.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    /// Nodes that come to what is wanted of them, in the order of their ids.
    whole: Vec<String>,
    /// A node that comes nearer to it, with so many points; and the active points that were set for it.
    partial: Option<(String, u32, Option<u32>)>,
    /// The order and the pins go with it.
    all: bool,
    /// What of all keys moves.
    pub(super) moved: f64,
}

impl Part {
    pub(super) fn delta<T: Clone>(&self, pending: &Pending<T>) -> Delta<T> {
        let mut delta = pending.delta(self.whole.iter().map(String::as_str));
        if let Some((id, points, _)) = &self.partial
            && let Some(net) = pending.get(id)
        {
            net.part(*points).changes(id).into_iter().for_each(|change| delta.push(change));
        }
        delta
    }

    /// Takes it off what is pending, once it was committed. Returns nodes that came back, with their states.
    pub(super) fn settle<T: Clone>(&self, pending: &mut Pending<T>) -> Vec<(String, State)> {
        let touched = self.whole.iter().chain(self.partial.as_ref().map(|(id, ..)| id));
        let revived = touched.filter_map(|id| Some((id.clone(), pending.get(id)?.revived()?))).collect();
        if self.all {
            pending.clear();
            return revived;
        }
        self.whole.iter().for_each(|id| pending.done(id));
        if let Some((id, _, active)) = &self.partial
            && let Some(net) = pending.get(id)
        {
            let rest = net.rest(*active);
            pending.leave(id, rest);
        }
        revived
    }
}

/// The part of all keys that a change moves; of keys with several probes, the most that it can be.
fn moved<T, S: Scheme, L: Layout<S::Point>>(old: &Table<T, S, L>, new: &Table<T, S, L>) -> f64 {
    match Plan::between(old, new) {
        Ok(plan) => plan.moved().fraction(),
        Err(_) => MovedShare::between(old, new).map_or(1.0, |moved| moved.at_most()),
    }
}

struct Search<'a, T: Clone, S: Scheme, L: Layout<S::Point>> {
    table: &'a Table<T, S, L>,
    limits: &'a Limits,
    pending: &'a Pending<T>,
    left: f64,
}

/// What may be committed while `left` of all keys may move; something in any case if the window is empty. `None` if nothing.
pub(super) fn find<T: Clone, S: Scheme, L: Layout<S::Point>>(
    table: &Table<T, S, L>,
    limits: &Limits,
    pending: &Pending<T>,
    left: f64,
    empty: bool,
) -> Option<Part> {
    let search = Search { table, limits, pending, left };
    let ids: Vec<&str> = pending.ids().collect();
    let all = search.part(&ids, None);
    if let Some(all) = all.filter(|all| search.fits(all)) {
        return Some(all);
    }
    // Of a longer list more moves; where it isn't so, what is found was tried still.
    let (mut low, mut high) = (0, ids.len());
    let mut found = None;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match search.part(&ids[..middle], None).filter(|part| search.fits(part)) {
            Some(part) => (low, found) = (middle, Some(part)),
            None => high = middle,
        }
    }
    let next = ids.get(low).copied();
    if let Some(part) = next.and_then(|id| search.partial(&ids[..low], id, false)) {
        return Some(part);
    }
    if found.is_some() || !empty {
        return found;
    }
    // An empty window, and nothing fits: the least part of the next node, else all of it, else all there is.
    let alone = next.and_then(|id| search.partial(&[], id, true).or_else(|| search.part(&[id], None)));
    alone.filter(|part| part.moved > 0.0 || part.whole.len() == 1).or_else(|| search.part(&ids, None))
}

impl<T: Clone, S: Scheme, L: Layout<S::Point>> Search<'_, T, S, L> {
    fn fits(&self, part: &Part) -> bool {
        // A sum of shares may be off by its last bits.
        part.moved <= self.left + 1e-12
    }

    /// What these nodes' changes move, with a part of one more node's; `None` if they aren't valid alone.
    fn part(&self, whole: &[&str], partial: Option<(&str, u32)>) -> Option<Part> {
        let active = |id: &str| self.table.node(id).and_then(|node| node.info().active_points());
        let mut part = Part {
            whole: whole.iter().map(|&id| id.to_owned()).collect(),
            partial: partial.map(|(id, points)| (id.to_owned(), points, active(id))),
            all: partial.is_none() && whole.len() == self.pending.ids().count(),
            moved: 0.0,
        };
        if let Some(applied) = self.table.apply(part.delta(self.pending), self.limits).ok()? {
            part.moved = moved(self.table, &applied.table);
        }
        Some(part)
    }

    /// These nodes' changes and as much of this one's as fits, at least a point; or with `least` a point, whether it fits or
    /// not. `None` if the node has no points to divide, or other nodes' keys would move with them.
    fn partial(&self, whole: &[&str], id: &str, least: bool) -> Option<Part> {
        let net = self.pending.get(id)?;
        let from = self.table.points_of(id).unwrap_or_default();
        let mut delta = Delta::new();
        net.changes(id).into_iter().for_each(|change| delta.push(change));
        let wanted = self.table.apply(delta, self.limits).ok()??.table;
        let to = wanted.points_of(id).unwrap_or_default();
        let distance = from.abs_diff(to);
        let is_apart = Plan::between(self.table, &wanted).is_ok_and(|plan| is_of_node(&plan, id));
        if distance < 2 || !is_apart || !self.is_divisible(id, from, to) {
            return None;
        }
        let towards = |points: u32| if to < from { from - points } else { from + points };
        if least {
            return self.part(whole, Some((id, towards(1))));
        }
        let (mut low, mut high, mut found) = (0, distance, None);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.part(whole, Some((id, towards(middle)))).filter(|part| self.fits(part)) {
                Some(part) => (low, found) = (middle, Some(part)),
                None => high = middle,
            }
        }
        found
    }

    /// Whether a point less or more of this node moves keys from it or to it alone.
    fn is_divisible(&self, id: &str, from: u32, to: u32) -> bool {
        let Some(net) = self.pending.get(id) else { return false };
        let points = if to < from { from - 1 } else { from + 1 };
        let mut delta = Delta::new();
        net.part(points).changes(id).into_iter().for_each(|change| delta.push(change));
        let Ok(Some(applied)) = self.table.apply(delta, self.limits) else { return false };
        let Ok(plan) = Plan::between(self.table, &applied.table) else { return false };
        applied.table.points_of(id) == Some(points) && is_of_node(&plan, id)
    }
}
