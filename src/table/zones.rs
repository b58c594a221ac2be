//! Failure domains as numbers, so that a walk compares no texts and knows when it has met them all.
//!
//! Labels go from the outermost in: region, zone, rack. A node's zone at level l is its first l + 1 labels; a node that
//! has fewer is a zone of its own there. Nodes without points have zones too, since a pin may lead to one; a level ends
//! with the last zone that has points, so only those are counted.
//!
//! Invariants; [`Zones::check`] compares them with the labels
//! - Z1: `of[slot · depth + level]` of two nodes is equal exactly if their zones at that level are. Of a vacant slot it is
//!   its own.
//! - Z2: `distinct[level]` is how many zones nodes with points have at that level.
//!
//! Kept from table to table, since hashing the labels of all nodes at each commit would cost as much as the commit: only
//! nodes that come, go or change are looked at. What the numbers are depends on history; Z1 and Z2 don't.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Member;
use crate::node::{NodeInfo, Slot};
use crate::point::{index, position};

/// The zones of a table's slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Zones {
    depth: usize,
    of: Vec<u32>,
    distinct: Vec<usize>,
    /// The number of each zone, by that of the zone around it and its own label.
    numbers: HashMap<(u32, Box<str>), u32>,
    /// By number.
    nodes: Vec<Count>,
    /// How many numbers are of zones that have nodes.
    in_use: usize,
}

/// How many nodes are in a zone.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: u32,
    placed: u32,
}

/// A zone of its own: this bit and the slot. There are fewer slots and numbers than 2^31.
const OWN: u32 = 1 << 31;
/// Around the outermost zones.
const NOWHERE: u32 = u32::MAX;

impl Zones {
    /// The zones of nodes of which some changed. `info` gives the labels of a slot of the new table; `touched` says
    /// whether they may be others than before.
    pub(super) fn next<'a, S>(
        before: Option<&Arc<Self>>,
        old: &[Option<Member<S>>],
        new: &[Option<Member<S>>],
        touched: impl Fn(Slot) -> bool,
        info: impl Fn(Slot) -> &'a NodeInfo,
    ) -> Option<Arc<Self>> {
        // `None` for a vacant slot, else whether the node has points.
        let placed = |members: &[Option<Member<S>>], slot: usize| {
            members.get(slot).and_then(Option::as_ref).map(|member: &Member<S>| member.points > 0)
        };
        let changed = |slot: usize| {
            let (was, is) = (placed(old, slot), placed(new, slot));
            was != is || is.is_some() && touched(Slot::new(position(slot)))
        };
        let changed: Vec<usize> = (0..old.len().max(new.len())).filter(|&slot| changed(slot)).collect();
        let labels = |slot: usize| info(Slot::new(position(slot))).zone();
        let deepest = changed.iter().filter(|&&slot| placed(new, slot).is_some()).map(|&slot| labels(slot).len()).max();
        if changed.is_empty() || before.is_none() && deepest.unwrap_or(0) == 0 {
            return before.cloned();
        }
        let mut zones = before.map_or_else(Self::default, |zones| Self::clone(zones));
        // Numbers that nobody uses any more are swept now and then, or churn would pile them up.
        let piled = zones.nodes.len() > 64 + 4 * zones.in_use;
        if deepest.is_some_and(|deepest| deepest > zones.depth) || piled {
            let all = (0..new.len()).filter_map(|slot| Some((slot, placed(new, slot)?)));
            let depth = all.clone().map(|(slot, _)| labels(slot).len()).max().unwrap_or(0);
            let mut zones = Self { depth, distinct: vec![0; depth], ..Self::default() };
            zones.resize(new.len());
            all.for_each(|(slot, placed)| zones.enter(slot, labels(slot), placed));
            return (depth > 0).then(|| Arc::new(zones));
        }
        for &slot in &changed {
            if let Some(placed) = placed(old, slot) {
                zones.leave(slot, placed);
            }
        }
        zones.resize(new.len());
        for &slot in &changed {
            if let Some(placed) = placed(new, slot) {
                zones.enter(slot, labels(slot), placed);
            }
        }
        Some(Arc::new(zones))
    }

    fn resize(&mut self, slots: usize) {
        self.of.truncate(self.depth * slots);
        let known = self.of.len().checked_div(self.depth).unwrap_or(0);
        let new = (known..slots).flat_map(|slot| std::iter::repeat_n(Self::own(Slot::new(position(slot))), self.depth));
        self.of.extend(new);
    }

    fn enter(&mut self, slot: usize, labels: &[String], placed: bool) {
        let mut around = NOWHERE;
        for level in 0..self.depth {
            let zone = match labels.get(level) {
                None => Self::own(Slot::new(position(slot))),
                Some(label) => {
                    let next = position(self.nodes.len());
                    match self.numbers.entry((around, label.as_str().into())) {
                        Entry::Occupied(number) => *number.get(),
                        Entry::Vacant(free) => {
                            self.nodes.push(Count::default());
                            *free.insert(next)
                        }
                    }
                }
            };
            around = zone;
            self.of[slot * self.depth + level] = zone;
            let first = match self.nodes.get_mut(index(zone)) {
                Some(count) => {
                    self.in_use += usize::from(count.all == 0);
                    count.all += 1;
                    count.placed += u32::from(placed);
                    placed && count.placed == 1
                }
                None => placed,
            };
            self.distinct[level] += usize::from(first);
        }
    }

    fn leave(&mut self, slot: usize, placed: bool) {
        for level in 0..self.depth {
            let zone = self.of[slot * self.depth + level];
            let last = match self.nodes.get_mut(index(zone)) {
                Some(count) => {
                    count.all -= 1;
                    count.placed -= u32::from(placed);
                    self.in_use -= usize::from(count.all == 0);
                    placed && count.placed == 0
                }
                None => placed,
            };
            self.distinct[level] -= usize::from(last);
            self.of[slot * self.depth + level] = Self::own(Slot::new(position(slot)));
        }
    }

    /// A zone that only this slot is in.
    pub(super) fn own(slot: Slot) -> u32 {
        OWN | slot.number()
    }

    /// How many levels of labels there are.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// How many zones with points a level has.
    pub(super) fn distinct(&self, level: usize) -> usize {
        self.distinct[level]
    }

    /// Whether a zone that isn't some slot's own has nodes with points.
    pub(super) fn has_points(&self, zone: u32) -> bool {
        self.nodes.get(index(zone)).is_some_and(|count| count.placed > 0)
    }

    /// The zone of a slot at a level.
    #[inline(always)]
    pub(super) fn of(&self, slot: Slot, level: usize) -> u32 {
        self.of.get(slot.index() * self.depth + level).copied().unwrap_or(Self::own(slot))
    }

    /// Z1 and Z2 against the labels of the live slots, each with whether it has points.
    pub(super) fn check(&self, live: &[(Slot, &NodeInfo, bool)]) -> Result<(), String> {
        let labels = live.iter().map(|(_, info, _)| info.zone().len()).max().unwrap_or(0);
        if labels > self.depth {
            return Err(format!("a node has {labels} zone labels, {} levels are known", self.depth));
        }
        for level in 0..self.depth {
            let mut numbers: HashMap<(&[String], Option<Slot>), u32> = HashMap::new();
            let mut zones: HashMap<u32, (&[String], Option<Slot>)> = HashMap::new();
            let mut with_points = HashSet::new();
            for &(slot, info, placed) in live {
                let zone = match info.zone().get(..=level) {
                    Some(labels) => (labels, None),
                    None => (info.zone(), Some(slot)),
                };
                let number = self.of(slot, level);
                if *numbers.entry(zone).or_insert(number) != number || *zones.entry(number).or_insert(zone) != zone {
                    return Err(format!("the zone of node \"{}\" at level {level} is numbered wrong", info.id()));
                }
                if placed {
                    with_points.insert(number);
                }
            }
            let (known, found) = (self.distinct[level], with_points.len());
            if found != known {
                return Err(format!("{found} zones with points at level {level}, not {known}"));
            }
            if let Some(zone) =
                numbers.values().find(|&&zone| zone < OWN && self.has_points(zone) != with_points.contains(&zone))
            {
                return Err(format!("the nodes of zone {zone} at level {level} are counted wrong"));
            }
        }
        Ok(())
    }
}
