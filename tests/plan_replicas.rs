//! Plans of replicas against the plainest reading: ask both tables for every key there is.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::Rng;
use common::model::ModelNode;
use common::plans::{RULES, some_nodes, table};
use common::schemes::Weak;
use ringway::scheme::{MultiProbe, Native, Probes, Scheme, Xxh3};
use ringway::{Delta, DryRunError, Node, NodeSpec, Plan, Point, ReplicaPlan, ReplicaPlanError, Ring, Share, Table};

type List = Vec<String>;

fn list<S: Scheme>(table: &Table<u32, S>, point: S::Point, replicas: usize, zones: bool) -> List {
    let mut out = vec![None; replicas];
    let found = if zones { table.zone_replicas_at(point, &mut out) } else { table.replicas_at(point, &mut out) };
    out[..found].iter().map(|node: &Option<&Node<u32>>| node.unwrap().id().to_string()).collect()
}

fn plan<S: Scheme>(old: &Table<u32, S>, new: &Table<u32, S>, replicas: usize, zones: bool) -> ReplicaPlan<S::Point> {
    let plan = if zones { ReplicaPlan::between_zones } else { ReplicaPlan::between };
    plan(old, new, replicas).unwrap()
}

/// The circle cut so that each piece has one list in either table: `first..=last`. All points lie below 256, or as near to
/// the top; under the nearest rule one more boundary lies in the middle of the rest.
fn pieces(tables: [&Table<u32, Weak<u32>>; 2], low: bool) -> Vec<(u32, u32)> {
    let (start, end) = if low { (257u64, 1u64 << 32) } else { (0, (1 << 32) - 257) };
    let far = |table: &Table<u32, Weak<u32>>| {
        let points: Vec<u32> = table.points().map(|(point, _)| point).collect();
        let (first, last) = (points.first().copied()?, points.last().copied()?);
        let gap = first.wrapping_sub(last);
        Some(u64::from(last.wrapping_add(if gap == 0 { 1 << 31 } else { gap / 2 })) + 1)
    };
    let mut cuts: Vec<u64> = tables.into_iter().filter_map(far).filter(|cut| (start..end).contains(cut)).collect();
    cuts.extend([start, end]);
    cuts.extend(if low { 0..257 } else { end..1 << 32 });
    cuts.push(1 << 32);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|cut| (u32::try_from(cut[0]).unwrap(), u32::try_from(cut[1] - 1).unwrap())).collect()
}

/// What a plan must say, from every piece of the circle.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    /// From, to and the lists.
    arcs: Vec<(u32, u32, List, List)>,
    flows: BTreeMap<String, (u128, u128)>,
    moved: u128,
    reordered: u128,
}

fn expected(tables: [&Table<u32, Weak<u32>>; 2], low: bool, replicas: usize, zones: bool) -> Expected {
    let mut expected = Expected::default();
    for (first, last) in pieces(tables, low) {
        let [old, new] = tables.map(|table| list(table, last, replicas, zones));
        assert_eq!([&old, &new], tables.map(|table| list(table, first, replicas, zones)).each_ref(), "one piece");
        if old == new {
            continue;
        }
        let places = u128::from(last - first) + 1;
        let sets = [&old, &new].map(|list| list.iter().cloned().collect::<BTreeSet<_>>());
        let (joined, left) = (sets[1].difference(&sets[0]), sets[0].difference(&sets[1]));
        expected.moved += joined.clone().count().max(left.clone().count()) as u128 * places;
        expected.reordered += if sets[0] == sets[1] { places } else { 0 };
        joined.for_each(|id| expected.flows.entry(id.clone()).or_default().0 += places);
        left.for_each(|id| expected.flows.entry(id.clone()).or_default().1 += places);
        match expected.arcs.last_mut() {
            Some(arc) if arc.1 == first.wrapping_sub(1) && (&arc.2, &arc.3) == (&old, &new) && first > 0 => {
                arc.1 = last
            }
            _ => expected.arcs.push((first.wrapping_sub(1), last, old, new)),
        }
    }
    // The piece that begins at 0 goes on from the one that ends at the top. It comes first, also if it isn't cut at 0.
    if let [first, .., last] = &mut expected.arcs[..]
        && (last.1, first.0) == (u32::MAX, u32::MAX)
        && (&last.2, &last.3) == (&first.2, &first.3)
    {
        first.0 = last.0;
        expected.arcs.pop();
    }
    settled(expected)
}

/// A whole circle begins and ends anywhere.
fn settled(mut expected: Expected) -> Expected {
    for arc in expected.arcs.iter_mut().filter(|arc| arc.0 == arc.1) {
        (arc.0, arc.1) = (u32::MAX, u32::MAX);
    }
    expected
}

fn found(plan: &ReplicaPlan) -> Expected {
    let ids = |ids: &mut dyn Iterator<Item = &ringway::NodeId>| ids.map(ToString::to_string).collect::<List>();
    let arcs =
        plan.arcs().map(|arc| (arc.from(), arc.to(), ids(&mut arc.old_nodes()), ids(&mut arc.new_nodes()))).collect();
    let flow = |flow: &ringway::ReplicaFlow| (flow.node().to_string(), (flow.joined().points(), flow.left().points()));
    settled(Expected {
        arcs,
        flows: plan.flows().iter().map(flow).collect(),
        moved: plan.moved().to_string().parse().unwrap(),
        reordered: plan.reordered().points(),
    })
}

fn zoned_nodes(rng: &mut Rng) -> Vec<ModelNode> {
    let mut nodes = some_nodes(rng);
    for node in &mut nodes {
        let labels = rng.below(4);
        node.zone = (0..labels).map(|level| format!("z{level}-{}", rng.below(2))).collect();
    }
    nodes
}

#[test]
fn every_key_has_the_replicas_that_are_planned() {
    let mut rng = Rng::new(0x5E7);
    let mut zones_count = 0;
    for round in 0..120 {
        let (rule, low, zones) = (RULES[round % 3], round % 2 == 0, round % 5 < 2);
        let place = if low { |hash| u32::from(hash) } else { |hash| u32::MAX - u32::from(hash) };
        let scheme = Weak { name: "weak", place, rule };
        let (before, after) = (zoned_nodes(&mut rng), zoned_nodes(&mut rng));
        let (old, new) = (table(&scheme, &before), table(&scheme, &after));
        for replicas in [1, 2, 3, 5, 8] {
            let plan = plan(&old, &new, replicas, zones);
            let expected = expected([&old, &new], low, replicas, zones);
            assert_eq!(found(&plan), expected, "{rule:?} k = {replicas} zones {zones} low {low}");
            assert!(plan.minimum() <= plan.moved());
            assert_eq!(plan.is_empty(), expected.arcs.is_empty());
            zones_count += usize::from(zones && !plan.is_empty());
            // The arc of each key.
            for (first, last) in pieces([&old, &new], low).into_iter().step_by(7) {
                for point in [first, last] {
                    let lists = [&old, &new].map(|table| list(table, point, replicas, zones));
                    let arc = plan.arc_of(point).map(|arc| {
                        assert!(arc.contains(point));
                        let ids =
                            |ids: &mut dyn Iterator<Item = &ringway::NodeId>| ids.map(ToString::to_string).collect();
                        [ids(&mut arc.old_nodes()), ids(&mut arc.new_nodes())]
                    });
                    assert_eq!(arc, (lists[0] != lists[1]).then_some(lists));
                }
            }
        }
    }
    assert!(zones_count > 100);
}

#[test]
fn one_replica_is_the_plan_of_owners() {
    let mut rng = Rng::new(0x5E8);
    for round in 0..200 {
        let rule = RULES[round % 3];
        let ends = |hash: u8| if hash.is_multiple_of(2) { u128::from(hash) } else { u128::MAX - u128::from(hash) };
        let scheme = Weak { name: "weak", place: ends, rule };
        let (old, new) = (table(&scheme, &some_nodes(&mut rng)), table(&scheme, &some_nodes(&mut rng)));
        let (one, plan) = (plan(&old, &new, 1, false), Plan::between(&old, &new).unwrap());
        assert!(one.arcs().map(|arc| (arc.from(), arc.to())).eq(plan.arcs().iter().map(|arc| (arc.from(), arc.to()))));
        for (one, arc) in one.arcs().zip(plan.arcs()) {
            assert_eq!((one.old_nodes().next(), one.new_nodes().next()), (arc.old_owner(), arc.new_owner()));
            assert_eq!(one.share(), arc.share());
        }
        assert_eq!(one.moved().to_string(), plan.moved().to_string());
        assert_eq!(one.minimum().to_string(), plan.minimum().to_string());
        assert_eq!(one.reordered().points(), 0);
    }
}

/// On circles of all widths, near the places where points are: lists, and sums of all nodes.
#[test]
fn wide_circles_balance() {
    let mut rng = Rng::new(0x5E9);
    for round in 0..60 {
        let rule = RULES[round % 3];
        let ends = |hash: u8| if hash.is_multiple_of(2) { u128::from(hash) } else { u128::MAX - u128::from(hash) };
        balance(&Weak { name: "weak", place: ends, rule }, &mut rng);
        let ends = |hash: u8| if hash.is_multiple_of(2) { u64::from(hash) } else { u64::MAX - u64::from(hash) };
        balance(&Weak { name: "weak", place: ends, rule }, &mut rng);
    }
}

fn balance<P: Point>(scheme: &Weak<P>, rng: &mut Rng) {
    let (old, new) = (table(scheme, &some_nodes(rng)), table(scheme, &some_nodes(rng)));
    for replicas in [2, 3, 7] {
        let plan = plan(&old, &new, replicas, false);
        let up = std::iter::successors(Some(P::MIN), |point| Some(point.clockwise(P::ONE)));
        let down = std::iter::successors(Some(P::MAX), |point| Some(point.clockwise(P::MAX)));
        let points: Vec<P> = up.take(257).chain(down.take(257)).collect();
        for point in points {
            let lists = [&old, &new].map(|table| list(table, point, replicas, false));
            let ids = |ids: &mut dyn Iterator<Item = &ringway::NodeId>| ids.map(ToString::to_string).collect();
            let arc = plan.arc_of(point).map(|arc| [ids(&mut arc.old_nodes()), ids(&mut arc.new_nodes())]);
            assert_eq!(arc, (lists[0] != lists[1]).then_some(lists));
        }
        // Every key has as many replicas as the table gives, so what joins and what leaves differ by whole circles.
        let (before, after) = plan.replicas();
        let sum = |part: fn(&ringway::ReplicaFlow) -> Share| {
            // Modulo 2^128, so that a circle of that size can be counted.
            plan.flows().iter().fold(0u128, |sum, flow| sum.wrapping_add(part(flow).points()))
        };
        let circle = |count: usize| 1u128.checked_shl(P::BITS).unwrap_or(0).wrapping_mul(count as u128);
        let (joined, left) = (sum(|flow| flow.joined()), sum(|flow| flow.left()));
        assert_eq!(circle(before).wrapping_add(joined).wrapping_sub(left), circle(after));
        let mut by_arcs = 0u128;
        for arc in plan.arcs() {
            let many = arc.joined().count().max(arc.left().count());
            by_arcs = by_arcs.wrapping_add(arc.share().points().wrapping_mul(many as u128));
        }
        let moved = plan.moved();
        assert_eq!(moved.rest().points().wrapping_add(circle(moved.wholes() as usize)), by_arcs);
        assert!(plan.minimum() <= moved && moved.circles() <= 7.0);
    }
}

/// A node that joins takes what it then has, and each key that gets it gives up one other.
#[test]
fn a_node_that_joins_moves_the_minimum() {
    let nodes: Vec<ModelNode> = (0..10).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let (less, more) = (table(&Native::new(), &nodes[..9]), table(&Native::new(), &nodes));
    for (old, new, joins) in [(&less, &more, true), (&more, &less, false)] {
        let plan = plan(old, new, 3, false);
        assert_eq!((plan.moved(), plan.replicas(), plan.reordered().points()), (plan.minimum(), (3, 3), 0));
        assert!((plan.moved().circles() - 0.3).abs() < 0.03, "3 · 1/10, {}", plan.moved().circles());
        assert!((plan.moved_fraction() - plan.moved().circles() / 3.0).abs() < 1e-12);
        for arc in plan.arcs() {
            let (one, other) = if joins {
                (arc.joined().next(), arc.left().count())
            } else {
                (arc.left().next(), arc.joined().count())
            };
            assert_eq!((one.map(|id| id.as_str()), other), (Some("node-9"), 1));
        }
    }
}

#[test]
fn fewer_nodes_than_replicas_are_counted_as_nobodys() {
    let node = |id: &str| ModelNode::new(id);
    let (two, three) =
        (table(&Native::new(), &[node("a"), node("b")]), table(&Native::new(), &[node("a"), node("b"), node("c")]));
    let none = table(&Native::new(), &[]);
    let shrunk = plan(&three, &two, 3, false);
    assert_eq!((shrunk.replicas(), shrunk.moved().wholes(), shrunk.moved().rest().points()), ((3, 2), 1, 0));
    assert_eq!(shrunk.minimum(), shrunk.moved());
    assert!((shrunk.moved_fraction() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(plan(&two, &three, 3, false).moved().to_string(), (1u64 << 32).to_string());
    assert_eq!(plan(&none, &three, 2, false).moved().wholes(), 2);
    assert_eq!(plan(&three, &none, 2, false).moved().wholes(), 2);
    assert!(plan(&none, &none, 2, false).is_empty());
    // Whoever has all keys keeps them; only the order changes.
    let heavy = table(&Native::new(), &[ModelNode { weight: 3, ..node("a") }, node("b")]);
    let turned = plan(&two, &heavy, 2, false);
    assert_eq!((turned.moved().wholes(), turned.moved().rest().points()), (0, 0));
    assert!(turned.reordered() > Share::new(0, 32) && !turned.is_empty() && turned.flows().is_empty());
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let nodes = || ["a", "b"].map(NodeSpec::new);
    let old = Ring::builder().nodes(nodes()).build_table().unwrap();
    let other = Ring::builder().scheme(Xxh3::new()).nodes(nodes()).build_table().unwrap();
    for replicas in [0, 65, usize::MAX] {
        let refused = ReplicaPlan::between(&old, &old, replicas).unwrap_err();
        assert_eq!(refused, ReplicaPlanError::Replicas { replicas, limit: 64 });
        assert!(refused.to_string().contains("64") && refused.to_string().contains(&replicas.to_string()));
    }
    let refused = ReplicaPlan::between_zones(&old, &other, 2).unwrap_err();
    assert!(matches!(&refused, ReplicaPlanError::KeyMapsDiffer(error) if error.new == "xxh3"), "{refused}");
    assert!(ReplicaPlan::between(&old, &old, 64).unwrap().is_empty());
    // No arc says where a key goes that has several points.
    let scheme = MultiProbe::new(Native::new(), Probes::new(3).unwrap());
    let builder = Ring::builder().scheme(scheme).layout::<ringway::layout::Auto<u32>>();
    let (writer, _handle) = builder.nodes(nodes()).build().unwrap();
    let refused = ReplicaPlan::between(writer.table(), writer.table(), 2);
    assert!(matches!(refused, Err(ReplicaPlanError::KeyMapsDiffer(_))), "{refused:?}");
    let refused = writer.plan(&Delta::new().remove("a"));
    assert!(matches!(refused, Err(DryRunError::KeyMapsDiffer(_))), "{refused:?}");
    assert!(Plan::sampled(writer.table(), writer.table(), [("key", 1)]).flows().is_empty());
}

/// A node of a weight a thousand times that of another: from most points on, the walk to the second node passes thousands.
/// Time follows the points all the same, so this ends soon.
#[test]
fn skewed_weights_take_no_longer() {
    let nodes = |last: &str| {
        [ModelNode { weight: 400, ..ModelNode::new("heavy") }, ModelNode::new("light"), ModelNode::new(last)]
    };
    let scheme = Native::new();
    let (old, new) = (table(&scheme, &nodes("x")), table(&scheme, &nodes("y")));
    let plan = plan(&old, &new, 3, false);
    let only: Vec<_> = plan
        .flows()
        .iter()
        .map(|flow| (flow.node().as_str(), flow.joined().is_whole(), flow.left().is_whole()))
        .collect();
    assert_eq!(only, [("x", false, true), ("y", true, false)]);
    assert_eq!(plan.moved().wholes(), 1);
}

#[test]
fn a_sample_is_weighed_by_replicas() {
    let scheme = Native::new();
    let nodes: Vec<ModelNode> = (0..6).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let (old, new) = (table(&scheme, &nodes[1..]), table(&scheme, &nodes[..4]));
    let plan = plan(&old, &new, 3, false);
    let keys: Vec<(u32, u64)> = (0..4000).map(|n| (scheme.key_point(format!("key-{n}").as_bytes()), n % 13)).collect();
    let (mut sums, mut moved) = (BTreeMap::<String, (u128, u128)>::new(), 0u128);
    for &(point, size) in keys.iter().filter(|(_, size)| *size > 0) {
        let [before, after] =
            [&old, &new].map(|table| list(table, point, 3, false).into_iter().collect::<BTreeSet<_>>());
        after.difference(&before).for_each(|id| sums.entry(id.clone()).or_default().0 += u128::from(size));
        before.difference(&after).for_each(|id| sums.entry(id.clone()).or_default().1 += u128::from(size));
        moved += after.difference(&before).count() as u128 * u128::from(size);
    }
    let weights = plan.weigh(keys.iter().copied());
    assert_eq!(weights.total, 3 * keys.iter().map(|(_, size)| u128::from(*size)).sum::<u128>());
    assert_eq!(weights.moved, moved);
    let found: BTreeMap<_, _> =
        weights.nodes.iter().map(|(id, joined, left)| (id.to_string(), (*joined, *left))).collect();
    assert_eq!(found, sums);
}
