//! Which node joins, leaves or changes weight next: chosen by a seed alone, so that a run can be had again.
//!
//! Invariants
//! - M1: the number of nodes stays within a quarter of what it was at the start (and above 0, if it was).
//! - M2: a ring with points keeps some.
//! - M3: `nodes` is the list of the ring's nodes after all changes that were planned, kept without asking the ring.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ringway::{Delta, NodeSpec};

use super::random::Random;

/// What a planned change does to its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has more points than before, or is new.
    Grows,
    /// It has fewer points than before, or is gone.
    Shrinks,
    /// It has as many as before.
    Keeps,
}

/// One change, as a delta of one node.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) delta: Delta,
    pub(super) id: String,
    pub(super) kind: Kind,
}

/// The list of nodes, and the source of changes to it.
#[derive(Debug)]
pub(super) struct Changes {
    points_per_weight: u32,
    nodes: BTreeMap<String, NodeSpec>,
    /// Nodes of the cluster that have left, and may come back.
    away: Vec<NodeSpec>,
    band: RangeInclusive<usize>,
    max_weight: u32,
    new_nodes: u64,
    random: Random,
}

impl Changes {
    pub(super) fn new(points_per_weight: u32, nodes: &[NodeSpec], seed: u64) -> Self {
        let quarter = (nodes.len() / 4).max(1);
        let heaviest = nodes.iter().map(|node| node.info().weight()).max().unwrap_or(1);
        Self {
            points_per_weight,
            nodes: nodes.iter().map(|node| (node.id().to_owned(), node.clone())).collect(),
            away: Vec::new(),
            band: nodes.len().saturating_sub(quarter).max(1)..=nodes.len() + quarter,
            // At least two weights to choose from.
            max_weight: heaviest.max(2),
            new_nodes: 0,
            random: Random::new(seed),
        }
    }

    /// Each node's id and number of active points, by the documentation of the schemes.
    pub(super) fn active_points(&self) -> impl Iterator<Item = (&str, u32)> {
        self.nodes.iter().map(|(id, node)| (&**id, self.points_of(node)))
    }

    /// Chooses the next change and counts it as made.
    pub(super) fn plan(&mut self) -> Planned {
        let count = self.nodes.len();
        let choice = self.random.below(4);
        let wants_remove = count > *self.band.end() || choice == 0 && count > *self.band.start();
        if count < *self.band.start() || choice == 1 && count < *self.band.end() {
            return self.join();
        }
        let place = self.random.below(count);
        let node = self.nodes.values().nth(place).expect("the place is below the count").clone();
        let others: u64 = self.active_points().filter(|(id, _)| *id != node.id()).map(|(_, n)| u64::from(n)).sum();
        // The last node with points stays, with points (M2).
        if wants_remove && others > 0 { self.leave(node) } else { self.reweight(node, others > 0) }
    }

    fn join(&mut self) -> Planned {
        // By turns one that was here before, whose points are known, and one that never was.
        let node = match self.away.len() {
            away if away > 0 && self.random.below(2) == 0 => self.away.swap_remove(self.random.below(away)),
            _ => loop {
                self.new_nodes += 1;
                let id = format!("live-{}", self.new_nodes);
                if !self.nodes.contains_key(&id) && self.away.iter().all(|node| node.id() != id) {
                    break NodeSpec::new(id).with_weight(1 + self.random.below_u32(self.max_weight));
                }
            },
        };
        let kind = if self.points_of(&node) > 0 { Kind::Grows } else { Kind::Keeps };
        self.nodes.insert(node.id().to_owned(), node.clone());
        Planned { id: node.id().to_owned(), delta: Delta::new().add(node), kind }
    }

    fn leave(&mut self, node: NodeSpec) -> Planned {
        let kind = if self.points_of(&node) > 0 { Kind::Shrinks } else { Kind::Keeps };
        let id = node.id().to_owned();
        self.nodes.remove(&id);
        if !id.starts_with("live-") {
            self.away.push(node);
        }
        Planned { delta: Delta::new().remove(&*id), id, kind }
    }

    fn reweight(&mut self, node: NodeSpec, may_go_to_0: bool) -> Planned {
        let before = self.points_of(&node);
        let id = node.id().to_owned();
        let weight = node.info().weight();
        // 0 now and then: a member without points.
        let weight = if may_go_to_0 && weight > 0 && self.random.below(8) == 0 { 0 } else { self.other_weight(weight) };
        let (delta, node) = match node.info().active_points() {
            // The weight of such a node decides nothing.
            Some(set) => {
                let points = weight.saturating_mul(self.points_per_weight).max(u32::from(!may_go_to_0));
                let points = if points == set { set + 1 } else { points };
                (Delta::new().set_active_points(&*id, points), node.with_active_points(points))
            }
            None => (Delta::new().set_weight(&*id, weight), node.with_weight(weight)),
        };
        let after = self.points_of(&node);
        self.nodes.insert(id.clone(), node);
        let kind = match after.cmp(&before) {
            std::cmp::Ordering::Greater => Kind::Grows,
            std::cmp::Ordering::Less => Kind::Shrinks,
            std::cmp::Ordering::Equal => Kind::Keeps,
        };
        Planned { delta, id, kind }
    }

    /// A weight from 1 to the largest, but not `weight`.
    fn other_weight(&mut self, weight: u32) -> u32 {
        let other = 1 + self.random.below_u32(self.max_weight - 1);
        if other >= weight && weight > 0 { other + 1 } else { other }
    }

    fn points_of(&self, node: &NodeSpec) -> u32 {
        let info = node.info();
        info.active_points().unwrap_or_else(|| info.weight().saturating_mul(self.points_per_weight))
    }
}

#[cfg(test)]
mod tests {
    use ringway::Ring;
    use ringway::scheme::Native;

    use super::*;

    fn clusters() -> Vec<(Native, Vec<NodeSpec>)> {
        let sample = ringway::cluster::Cluster::parse_toml("sample", str::from_utf8(crate::SAMPLE_CLUSTER).unwrap());
        let (scheme, nodes) = sample.unwrap().into_parts();
        let native = Native::new();
        assert_eq!(scheme, native.into());
        let few = native.with_points_per_weight(3);
        vec![
            (native, nodes),
            (few, Vec::new()),
            (few, vec![NodeSpec::new("one")]),
            (few, vec![NodeSpec::new("live-1").with_weight(0), NodeSpec::new("set").with_active_points(7)]),
            (few.with_points_per_weight(0), vec![NodeSpec::new("a"), NodeSpec::new("b").with_active_points(1)]),
        ]
    }

    #[test]
    fn changes_commit_keep_the_band_and_never_empty_the_ring() {
        for (native, nodes) in clusters() {
            let mut changes = Changes::new(native.points_per_weight(), &nodes, 7);
            let (mut writer, _) = Ring::builder().scheme(native).nodes(nodes.clone()).build().unwrap();
            let mut had_points = !writer.table().is_empty();
            for step in 0..500 {
                let before = writer.table().len();
                let planned = changes.plan();
                let report = writer.commit(planned.delta).unwrap();
                assert!(report.published, "step {step}: a change that changes nothing");
                assert_eq!(planned.kind == Kind::Grows, report.points > before, "step {step}");
                assert_eq!(planned.kind == Kind::Shrinks, report.points < before, "step {step}");
                let table = writer.table();
                assert_eq!(table.node_count(), changes.nodes.len());
                let by_us: Vec<_> = changes.active_points().collect();
                let by_ring: Vec<_> =
                    table.nodes().map(|n| (n.id().as_str(), table.points_of(n.id().as_str()).unwrap())).collect();
                assert_eq!(by_us, by_ring, "step {step}");
                if !nodes.is_empty() {
                    assert!(changes.band.contains(&table.node_count()), "step {step}: {}", table.node_count());
                }
                assert!(!(had_points && table.is_empty()), "step {step}: the ring was emptied");
                had_points |= !table.is_empty();
            }
        }
    }

    #[test]
    fn a_seed_means_one_sequence() {
        let (native, nodes) = clusters().remove(0);
        let sequence = |seed| {
            let mut changes = Changes::new(native.points_per_weight(), &nodes, seed);
            (0..50).map(|_| changes.plan().delta).collect::<Vec<_>>()
        };
        assert_eq!(sequence(1), sequence(1));
        assert_ne!(sequence(1), sequence(2));
    }
}
