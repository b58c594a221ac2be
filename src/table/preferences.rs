//! The preference lists of all keys: the walk of [`replicas`](Table::replicas), for the whole circle at once.
//!
//! From point to point counter-clockwise a list changes by one move: the point's node comes to its front, from wherever it
//! was in the list, or else the last one falls out. (It is the stack of an LRU cache; Mattson and others, "Evaluation
//! techniques for storage hierarchies", 1970.) So all lists cost O(P k), however skewed the weights are, where a walk from
//! each point may pass nearly all of the others.
//!
//! Zones need such a stack for each level of labels, with the first node met of each zone. Each has as many entries as the
//! list at most: of k zones in ring order those chosen before use up no more than there are nodes chosen.

use super::Table;
use super::zones::Zones;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::Slot;
use crate::point::Point;

/// A place on the circle that goes around counter-clockwise, with the nodes that keys there have.
#[derive(Debug)]
pub(crate) struct Preferences<'t, T, S: Scheme, L: Layout<S::Point>> {
    table: &'t Table<T, S, L>,
    zones: Option<&'t Zones>,
    /// How far a boundary lies clockwise of the layout's point.
    back: S::Point,
    /// The rank of the first boundary in the order of the circle.
    first: usize,
    /// How many boundaries weren't passed yet.
    left: usize,
    replicas: usize,
    /// For each level of labels, and then for nodes: the last ones met, with the first node of each.
    levels: Vec<Vec<(u32, Slot)>>,
    list: Vec<Slot>,
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// The lists of so many nodes, of [`zone_replicas`](Self::zone_replicas) if `distinct_zones`.
    pub(crate) fn preferences(&self, replicas: usize, distinct_zones: bool) -> Preferences<'_, T, S, L> {
        let points = self.layout.points();
        let (back, first) = self.turn();
        let zones = self.zones.as_deref().filter(|_| distinct_zones);
        let depth = zones.map_or(0, Zones::depth);
        let mut levels = vec![Vec::new(); depth + 1];
        // Before the last boundary, seen clockwise, lies the walk from the first on.
        let all = |level| zones.filter(|_| level < depth).map_or(self.placed, |zones| zones.distinct(level));
        let mut full = 0;
        for step in 0..points.len() {
            let slot = points.slot((first + step) % points.len());
            for (level, stack) in levels.iter_mut().enumerate() {
                let (key, limit) = (key_of(zones, level, slot), replicas.min(all(level)));
                if stack.len() < limit && stack.iter().all(|&(met, _)| met != key) {
                    stack.push((key, slot));
                    full += usize::from(stack.len() == limit);
                }
            }
            if full == levels.len() {
                break;
            }
        }
        let mut walk =
            Preferences { table: self, zones, back, first, left: points.len(), replicas, levels, list: Vec::new() };
        walk.fill();
        walk
    }

    /// The slots that hold a node.
    pub(crate) fn live_slots(&self) -> &[Slot] {
        &self.by_id
    }

    /// How many slots there are.
    pub(crate) fn slot_count(&self) -> usize {
        self.nodes.len()
    }
}

/// What a list may have one of at a level.
fn key_of(zones: Option<&Zones>, level: usize, slot: Slot) -> u32 {
    match zones {
        Some(zones) if level < zones.depth() => zones.of(slot, level),
        _ => slot.number(),
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Preferences<'_, T, S, L> {
    /// The next boundary: the last place whose keys have the nodes that [`pass`](Self::pass) will find.
    pub(crate) fn boundary(&self) -> Option<S::Point> {
        Some(self.table.layout.points().point(self.rank(self.left.checked_sub(1)?)).clockwise(self.back))
    }

    fn rank(&self, place: usize) -> usize {
        (self.first + place) % self.table.layout.points().len()
    }

    /// Goes past the next boundary, with all points that lie there.
    pub(crate) fn pass(&mut self) {
        let boundary = self.boundary();
        while self.left > 0 && self.boundary() == boundary {
            let slot = self.table.layout.points().slot(self.rank(self.left - 1));
            for (level, stack) in self.levels.iter_mut().enumerate() {
                let key = key_of(self.zones, level, slot);
                let met = stack.iter().position(|&(met, _)| met == key);
                let Some(place) = met.or_else(|| stack.len().checked_sub(1)) else { continue };
                stack[..=place].rotate_right(1);
                stack[0] = (key, slot);
            }
            self.left -= 1;
        }
        self.fill();
    }

    /// The nodes of keys between the boundary that was passed and the next one; before one was, those of keys above the
    /// highest.
    pub(crate) fn list(&self) -> &[Slot] {
        &self.list
    }

    fn fill(&mut self) {
        let (list, zones) = (&mut self.list, self.zones);
        list.clear();
        if let [stack] = &self.levels[..] {
            list.extend(stack.iter().map(|&(_, slot)| slot));
            return;
        }
        for (level, stack) in self.levels.iter().enumerate() {
            for &(key, slot) in stack {
                if list.len() < self.replicas && list.iter().all(|&taken| key_of(zones, level, taken) != key) {
                    list.push(slot);
                }
            }
        }
    }
}
