//! Failure domains as numbers, so that a walk compares no texts and knows when it has met them all.
//!
//! Labels go from the outermost in: region, zone, rack. A node's zone at level l is its first l + 1 labels; a node that
//! has fewer is a zone of its own there. Only nodes with points count, since no walk meets others.
//!
//! Invariants; [`Zones::check`] compares them with the labels
//! - Z1: `of[slot · depth + level]` of two nodes with points is equal exactly if their zones at that level are.
//!   Of a slot without points it is its own.
//! - Z2: `distinct[level]` is how many zones nodes with points have at that level.
//!
//! Kept from table to table, since hashing the labels of all nodes at each commit would cost as much as the commit: only
//! nodes that come, go or change are looked at. What the numbers are depends on history; Z1 and Z2 don't.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
    /// By number: how many nodes with points are in it.
    nodes: Vec<u32>,
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
        let placed = |members: &[Option<Member<S>>], slot: usize| {
            members.get(slot).and_then(Option::as_ref).is_some_and(|member: &Member<S>| member.points > 0)
        };
        let changed = |slot: usize| {
            let (was, is) = (placed(old, slot), placed(new, slot));
            was != is || is && touched(Slot::new(position(slot)))
        };
        let changed: Vec<usize> = (0..old.len().max(new.len())).filter(|&slot| changed(slot)).collect();
        let labels = |slot: usize| info(Slot::new(position(slot))).zone();
        let deepest = changed.iter().filter(|&&slot| placed(new, slot)).map(|&slot| labels(slot).len()).max();
        if changed.is_empty() || before.is_none() && deepest.unwrap_or(0) == 0 {
            return before.cloned();
        }
        let mut zones = before.map_or_else(Self::default, |zones| Self::clone(zones));
        // Numbers that nobody uses any more are swept now and then, or churn would pile them up.
        let piled = zones.nodes.len() > 64 + 4 * zones.distinct.iter().sum::<usize>();
        if deepest.is_some_and(|deepest| deepest > zones.depth) || piled {
            let all = (0..new.len()).filter(|&slot| placed(new, slot));
            let depth = all.clone().map(|slot| labels(slot).len()).max().unwrap_or(0);
            let mut zones = Self { depth, distinct: vec![0; depth], ..Self::default() };
            zones.resize(new.len());
            all.for_each(|slot| zones.enter(slot, labels(slot)));
            return (depth > 0).then(|| Arc::new(zones));
        }
        for &slot in changed.iter().filter(|&&slot| placed(old, slot)) {
            zones.leave(slot);
        }
        zones.resize(new.len());
        for &slot in changed.iter().filter(|&&slot| placed(new, slot)) {
            zones.enter(slot, labels(slot));
        }
        Some(Arc::new(zones))
    }

    fn resize(&mut self, slots: usize) {
        self.of.truncate(self.depth * slots);
        let known = self.of.len().checked_div(self.depth).unwrap_or(0);
        let new = (known..slots).flat_map(|slot| std::iter::repeat_n(Self::own(Slot::new(position(slot))), self.depth));
        self.of.extend(new);
    }

    fn enter(&mut self, slot: usize, labels: &[String]) {
        let mut around = NOWHERE;
        for level in 0..self.depth {
            let zone = match labels.get(level) {
                None => Self::own(Slot::new(position(slot))),
                Some(label) => {
                    let next = position(self.nodes.len());
                    match self.numbers.entry((around, label.as_str().into())) {
                        Entry::Occupied(number) => *number.get(),
                        Entry::Vacant(free) => {
                            self.nodes.push(0);
                            *free.insert(next)
                        }
                    }
                }
            };
            around = zone;
            self.of[slot * self.depth + level] = zone;
            let first = match self.nodes.get_mut(index(zone)) {
                Some(nodes) => {
                    *nodes += 1;
                    *nodes == 1
                }
                None => true,
            };
            self.distinct[level] += usize::from(first);
        }
    }

    fn leave(&mut self, slot: usize) {
        for level in 0..self.depth {
            let zone = self.of[slot * self.depth + level];
            let last = match self.nodes.get_mut(index(zone)) {
                Some(nodes) => {
                    *nodes -= 1;
                    *nodes == 0
                }
                None => true,
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

    /// How many zones a level has.
    pub(super) fn distinct(&self, level: usize) -> usize {
        self.distinct[level]
    }

    /// The zone of a slot at a level; of one without points, its own.
    #[inline(always)]
    pub(super) fn of(&self, slot: Slot, level: usize) -> u32 {
        self.of.get(slot.index() * self.depth + level).copied().unwrap_or(Self::own(slot))
    }

    /// Z1 and Z2 against the labels of the slots with points.
    pub(super) fn check<'a>(&self, placed: impl Iterator<Item = (Slot, &'a NodeInfo)> + Clone) -> Result<(), String> {
        let labels = placed.clone().map(|(_, info)| info.zone().len()).max().unwrap_or(0);
        if labels > self.depth {
            return Err(format!("a node has {labels} zone labels, {} levels are known", self.depth));
        }
        for level in 0..self.depth {
            let mut numbers: HashMap<(&[String], Option<Slot>), u32> = HashMap::new();
            let mut zones: HashMap<u32, (&[String], Option<Slot>)> = HashMap::new();
            for (slot, info) in placed.clone() {
                let zone = match info.zone().get(..=level) {
                    Some(labels) => (labels, None),
                    None => (info.zone(), Some(slot)),
                };
                let number = self.of(slot, level);
                if *numbers.entry(zone).or_insert(number) != number || *zones.entry(number).or_insert(zone) != zone {
                    return Err(format!("the zone of node \"{}\" at level {level} is numbered wrong", info.id()));
                }
            }
            if numbers.len() != self.distinct[level] {
                return Err(format!("{} zones at level {level}, not {}", numbers.len(), self.distinct[level]));
            }
        }
        Ok(())
    }
}
