//! Plans against the plainest reading: ask both tables for every key there is.

use std::collections::BTreeMap;

use ringway::scheme::{MatchRule, Scheme};
use ringway::{Node, Plan, Point, ReplicaPlan, Ring, Share, Table};

use super::Rng;
use super::model::ModelNode;
use super::schemes::Weak;

pub const RULES: [MatchRule; 3] = [MatchRule::AtOrAfter, MatchRule::After, MatchRule::Nearest];

pub fn table<S: Scheme>(scheme: &S, nodes: &[ModelNode]) -> Table<u32, S> {
    let specs = nodes.iter().map(ModelNode::spec);
    Ring::builder().scheme(scheme.clone()).nodes(specs).build_table().expect("few nodes")
}

pub fn some_nodes(rng: &mut Rng) -> Vec<ModelNode> {
    let node = |n: usize, rng: &mut Rng| ModelNode {
        active_points: Some(rng.number(8)),
        ..ModelNode::new(format!("node{n}"))
    };
    let kept: Vec<usize> = (0..6).filter(|_| rng.percent(60)).collect();
    kept.into_iter().map(|n| node(n, rng)).collect()
}

pub type Owners = (Option<String>, Option<String>);

pub fn owners<S: Scheme>(old: &Table<u32, S>, new: &Table<u32, S>, point: S::Point) -> Owners {
    let id = |node: Option<&Node<u32>>| node.map(|node| node.id().to_string());
    (id(old.owner_at(point)), id(new.owner_at(point)))
}

pub fn planned<P: Point>(plan: &Plan<P>, point: P) -> Option<Owners> {
    let ids = |arc: &ringway::MovedArc<P>| {
        (arc.old_owner().map(ToString::to_string), arc.new_owner().map(ToString::to_string))
    };
    plan.arc_of(point).map(ids)
}

/// Everything of the plan that must add up, with the shares of the tables.
pub fn check_sums<S: Scheme>(old: &Table<u32, S>, new: &Table<u32, S>, plan: &Plan<S::Point>) {
    let none = Share::new(0, S::Point::BITS);
    let sum = |shares: &mut dyn Iterator<Item = Share>| shares.fold(none, |sum, share| sum + share);
    assert_eq!(sum(&mut plan.arcs().iter().map(|arc| arc.share())), plan.moved());
    assert_eq!(sum(&mut plan.flows().iter().map(|flow| flow.share())), plan.moved());
    assert!(plan.minimum() <= plan.moved());
    let mut gained: BTreeMap<String, (u128, u128)> = BTreeMap::new();
    for flow in plan.flows() {
        assert_ne!(flow.from(), flow.to());
        // Modulo 2^128, so that a circle of that size can be counted.
        if let Some(id) = flow.from() {
            let lost = &mut gained.entry(id.to_string()).or_default().0;
            *lost = lost.wrapping_add(flow.share().points());
        }
        if let Some(id) = flow.to() {
            let won = &mut gained.entry(id.to_string()).or_default().1;
            *won = won.wrapping_add(flow.share().points());
        }
    }
    let share = |table: &Table<u32, S>, id: &str| {
        let shares = table.shares();
        let found = shares.iter().find(|(node, _)| node.id().as_str() == id);
        found.map_or(0, |(_, share)| share.points())
    };
    let ids = old.nodes().chain(new.nodes()).map(|node| node.id().to_string());
    for id in ids.collect::<std::collections::BTreeSet<_>>() {
        let (lost, won) = gained.get(&id).copied().unwrap_or_default();
        assert_eq!(share(old, &id).wrapping_sub(lost).wrapping_add(won), share(new, &id), "{id}");
    }
    for pair in plan.arcs().windows(2) {
        let same = (pair[0].old_owner(), pair[0].new_owner()) == (pair[1].old_owner(), pair[1].new_owner());
        assert!(pair[0].to() != pair[1].from() || !same, "two arcs that are one: {pair:?}");
    }
}

/// Two lists of nodes on a small part of the circle, and every key of it.
pub fn small_circle(rng: &mut Rng, rule: MatchRule, low: bool) {
    // All points lie below 256, so that every key up to there can be asked for, and one stands for all others; or
    // likewise at the top.
    let place = if low { |hash| u32::from(hash) } else { |hash| u32::MAX - u32::from(hash) };
    let scheme = Weak { name: "weak", place, rule };
    let (before, after) = (some_nodes(rng), some_nodes(rng));
    let (old, new) = (table(&scheme, &before), table(&scheme, &after));
    let plan = Plan::between(&old, &new).unwrap();
    check_sums(&old, &new, &plan);
    // Under the nearest rule there is one more boundary, half of the way around from the last point to the first; so
    // the rest of the circle is asked for in pieces that no boundary but that one cuts.
    let mut moved = 0u128;
    let mut ask = |point: u32, places: u128| {
        let owners = owners(&old, &new, point);
        let moves = owners.0 != owners.1;
        assert_eq!(planned(&plan, point), moves.then_some(owners), "{rule:?} at {point}");
        moved += if moves { places } else { 0 };
    };
    let near = 0..=256u32;
    near.clone().for_each(|step| ask(if low { step } else { u32::MAX - step }, 1));
    let boundaries = |table: &Table<u32, Weak<u32>>| {
        let points: Vec<u32> = table.points().map(|(point, _)| point).collect();
        let (first, last) = (points.first().copied()?, points.last().copied()?);
        let gap = first.wrapping_sub(last);
        Some(last.wrapping_add(if gap == 0 { 1 << 31 } else { gap / 2 }))
    };
    // The places beyond those near, as one line of numbers.
    let (start, end) = if low { (257u64, 1u64 << 32) } else { (0, (1 << 32) - 257) };
    let mut cuts: Vec<u64> =
        [boundaries(&old), boundaries(&new)].into_iter().flatten().map(|b| u64::from(b) + 1).collect();
    cuts.retain(|cut| (start..end).contains(cut));
    cuts.extend([start, end]);
    cuts.sort_unstable();
    for piece in cuts.windows(2).filter(|piece| piece[0] < piece[1]) {
        ask(u32::try_from(piece[0]).unwrap(), u128::from(piece[1] - piece[0]));
        let last = u32::try_from(piece[1] - 1).unwrap();
        assert_eq!(owners(&old, &new, last), owners(&old, &new, u32::try_from(piece[0]).unwrap()), "one piece");
    }
    assert_eq!(plan.moved().points(), moved, "{rule:?}");
    assert_eq!(plan.is_empty(), moved == 0);
}

/// The same for the first `k` nodes of each key, or with zones those of [`Table::zone_replicas_at`].
pub fn small_circle_of_replicas(rng: &mut Rng, rule: MatchRule, k: usize, zones: bool) {
    let scheme = Weak { name: "weak", place: |hash| u32::from(hash) << 24, rule };
    let zoned = |rng: &mut Rng| {
        let mut nodes = some_nodes(rng);
        nodes
            .iter_mut()
            .for_each(|node| node.zone = (0..rng.below(3)).map(|_| format!("z{}", rng.number(2))).collect());
        nodes
    };
    let (before, after) = (zoned(rng), zoned(rng));
    let (old, new) = (table(&scheme, &before), table(&scheme, &after));
    let plan = if zones { ReplicaPlan::between_zones(&old, &new, k) } else { ReplicaPlan::between(&old, &new, k) };
    let plan = plan.unwrap();
    let nodes = |table: &Table<u32, Weak<u32>>, x: u32| -> Vec<String> {
        let mut out = vec![None; k];
        let found = if zones { table.zone_replicas_at(x, &mut out) } else { table.replicas_at(x, &mut out) };
        out[..found].iter().flatten().map(|node| node.id().to_string()).collect()
    };
    for step in 0..512u32 {
        // Each place where an answer may change, and the one before.
        for x in [step << 23, (step << 23).wrapping_sub(1), (step << 23).wrapping_add(1)] {
            let (was, is) = (nodes(&old, x), nodes(&new, x));
            let arc = plan.arc_of(x);
            assert_eq!(arc.is_some(), was != is, "{rule:?}, k {k}, at {x}: {was:?}, then {is:?}");
            let Some(arc) = arc else { continue };
            assert!(arc.old_nodes().map(ToString::to_string).eq(was.iter().cloned()), "at {x}");
            assert!(arc.new_nodes().map(ToString::to_string).eq(is.iter().cloned()), "at {x}");
        }
    }
}
