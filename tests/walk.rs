//! Replicas, zones, retries and routing against plain loops over the sequence of points, for every kind of scheme and
//! layout, across commits and changes of live states.
//!
//! `RINGWAY_MODEL_ROUNDS` sets the number of commits per configuration.

mod common;

use std::collections::BTreeMap;

use common::model::{ModelNode, Rule, View};
use common::schemes::{Listed, Weak};
use common::{Rng, env_number};
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::MatchRule;
use ringway::{Change, Delta, Field, Limits, Native, Node, Point, Ring, State, Table, Writer};

fn native() -> Native {
    Native::new().with_points_per_weight(16)
}

fn weak<P>(name: &'static str, place: fn(u8) -> P) -> Weak<P> {
    Weak { name, place, rule: MatchRule::AtOrAfter }
}

#[test]
fn native_auto() {
    run::<_, Auto<u32>>(native(), 0x3A1C_0001);
}

#[test]
fn native_line() {
    run::<_, Line<u32>>(native(), 0x3A1C_0002);
}

#[test]
fn native_bucket() {
    run::<_, Bucket<u32>>(native(), 0x3A1C_0003);
}

#[test]
fn native_stree() {
    run::<_, STree<u32>>(native(), 0x3A1C_0004);
}

#[test]
fn native_direct() {
    run::<_, Direct<u32>>(native(), 0x3A1C_0005);
}

#[test]
fn weak_spread_over_the_circle() {
    run::<_, Eytzinger<u32>>(weak("weak", |hash| u32::from(hash) << 24), 0x3A1C_0006);
}

#[test]
fn weak_with_one_point_for_all() {
    run::<_, Sorted<u32>>(weak("weak-one", |_| 1 << 31), 0x3A1C_0007);
}

#[test]
fn weak_u64_with_one_head() {
    let place = |hash: u8| 0xABCD_0123 << 32 | u64::from(hash & 0xF0) << 24 | u64::from(hash & 0x0F);
    run::<_, Auto<u64>>(weak("weak-64", place), 0x3A1C_0008);
}

#[test]
fn weak_u128_with_the_ends_of_the_circle() {
    let place = |hash: u8| if hash.is_multiple_of(2) { 0 } else { u128::MAX };
    run::<_, Line<u128>>(weak("weak-ends", place), 0x3A1C_0009);
}

#[test]
fn list_order_where_points_depend_on_other_nodes() {
    run::<_, Auto<u32>>(Listed { weak: weak("list", |hash| u32::from(hash) << 24), group: 2 }, 0x3A1C_000A);
}

#[test]
fn list_order_u128() {
    let place = |hash: u8| u128::from(hash) << 60;
    run::<_, Sorted<u128>>(Listed { weak: weak("list-128", place), group: 1 }, 0x3A1C_000B);
}

#[test]
fn the_point_after() {
    let rule = MatchRule::After;
    run::<_, Auto<u32>>(Weak { rule, ..weak("after", |hash| u32::from(hash) << 24) }, 0x3A1C_000C);
}

#[test]
fn the_nearest_point() {
    let rule = MatchRule::Nearest;
    run::<_, Auto<u32>>(Weak { rule, ..weak("near", |hash| u32::from(hash) << 24) }, 0x3A1C_000D);
    run::<_, Line<u64>>(Weak { rule, ..weak("near-64", |hash| u64::MAX - u64::from(hash & 7)) }, 0x3A1C_000E);
}

fn run<S: Rule, L: Layout<S::Point>>(scheme: S, seed: u64) {
    let rounds = env_number("RINGWAY_MODEL_ROUNDS", 40);
    for (bounded, seed) in [(false, seed), (true, seed ^ 0xFFFF_0000)] {
        let builder = Ring::builder().scheme(scheme.clone()).layout::<L>().bounded_walks(bounded);
        let (writer, handle) = builder.build().expect("an empty ring is fine");
        let mut world = World {
            scheme: scheme.clone(),
            writer,
            nodes: Vec::new(),
            states: BTreeMap::new(),
            rng: Rng::new(seed),
            seen: BTreeMap::new(),
        };
        let mut reader = handle.reader();
        for _ in 0..rounds {
            world.commit();
            world.flip();
            world.check();
            world.check_ends_agree(&mut reader);
        }
        println!("{:?}", world.seen);
        if rounds >= 40 {
            for what in ["none open", "passed by", "all up", "second of a zone"] {
                assert!(world.seen.contains_key(what), "nothing was \"{what}\"");
            }
        }
    }
}

struct World<S: Rule, L: Layout<S::Point>> {
    scheme: S,
    writer: Writer<u32, S, L>,
    nodes: Vec<ModelNode>,
    /// Live states, by id.
    states: BTreeMap<String, State>,
    rng: Rng,
    seen: BTreeMap<&'static str, u64>,
}

impl<S: Rule, L: Layout<S::Point>> World<S, L> {
    fn random_node(&mut self, id: &str) -> ModelNode {
        let rng = &mut self.rng;
        let mut node = ModelNode::new(id);
        node.weight = rng.number(4);
        node.active_points = rng.percent(20).then(|| [0, 1, 2, 60][rng.below(4)]);
        let (depth, names) = (rng.below(4), 1 + rng.number(3));
        node.zone = (0..depth).map(|_| format!("z{}", rng.number(names))).collect();
        node.state = if rng.percent(85) { State::Up } else { State::ALL[rng.below(3)] };
        node
    }

    /// A batch of nodes that come, go and change.
    fn commit(&mut self) {
        let mut delta = Delta::new();
        for _ in 0..1 + self.rng.below(5) {
            let id = format!("n{}", self.rng.number(14));
            if delta.changes().iter().any(|change: &Change<u32>| change.id() == id) {
                continue;
            }
            let next = self.random_node(&id);
            let Some(place) = self.nodes.iter().position(|node| node.id == id) else {
                delta.push(Change::Add(next.spec()));
                self.states.insert(id, next.state);
                self.nodes.push(next);
                continue;
            };
            match self.rng.below(4) {
                0 => {
                    delta.push(Change::Remove { id: id.clone() });
                    self.nodes.remove(place);
                    self.states.remove(&id);
                }
                1 => {
                    delta.push(Change::Set { id: id.clone(), field: Field::State(next.state) });
                    // Only a configured state that changes sets the live one.
                    if self.nodes[place].state != next.state {
                        self.states.insert(id, next.state);
                    }
                    self.nodes[place].state = next.state;
                }
                2 => {
                    delta.push(Change::Set { id, field: Field::Zone(next.zone.clone()) });
                    self.nodes[place].zone = next.zone;
                }
                _ => {
                    delta.push(Change::Set { id, field: Field::Weight(next.weight) });
                    self.nodes[place].weight = next.weight;
                }
            }
        }
        self.writer.commit(delta).expect("the batch is valid");
        self.writer.table().validate().unwrap_or_else(|error| panic!("{error}"));
    }

    /// Some live states change; now and then all of them.
    fn flip(&mut self) {
        let all = self.rng.percent(35).then(|| State::ALL[self.rng.below(3)]);
        let chance = [10, 40, 90][self.rng.below(3)];
        for id in self.nodes.iter().map(|node| node.id.clone()).collect::<Vec<_>>() {
            if all.is_some() || self.rng.percent(chance) {
                let state = all.unwrap_or(State::ALL[self.rng.below(3)]);
                let was = self.writer.table().node(&id).unwrap().set_health(state);
                assert_eq!(Some(was), self.states.insert(id, state));
            }
        }
    }

    fn check(&mut self) {
        let view = View::new(&self.scheme, &self.nodes);
        let snapshot = self.writer.snapshot();
        let table: &Table<u32, S, L> = &snapshot;
        for node in table.nodes() {
            assert_eq!(node.health(), self.states[node.id().as_str()], "{node:?}");
        }
        let zones: BTreeMap<&str, &[String]> = self.nodes.iter().map(|n| (n.id.as_str(), &n.zone[..])).collect();
        let rule = self.scheme.match_rule();
        let mut probes = view.probes(&mut self.rng, 6);
        self.rng.shuffle(&mut probes);
        probes.truncate(8);
        for x in probes {
            let order = distinct(&view, rule, x);
            let state = |id: &&str| self.states[*id];
            let open: Vec<&str> = order.iter().copied().filter(|id| state(id) != State::Down).collect();
            let fresh: Vec<&str> = order.iter().copied().filter(|id| state(id) == State::Up).collect();
            assert_eq!(ids(table.successors_at(x)), order, "at {x:?}");
            assert_eq!(table.successors_at(x).len(), order.len());
            assert_eq!(id(table.owner_at(x)), order.first().copied());
            assert_eq!(id(table.route_at(x)), open.first().copied(), "at {x:?}");
            assert_eq!(id(table.route_new_at(x)), fresh.first().copied(), "at {x:?}");
            let tried: Vec<&str> = order.iter().copied().filter(|_| self.rng.percent(50)).collect();
            let rest = open.iter().copied().find(|id| !tried.contains(id));
            let found = table.route_excluding_at(x, |node| tried.contains(&node.id().as_str()));
            assert_eq!(id(found), rest, "at {x:?} without {tried:?}");
            let (spread_all, spread_open) = (spread(&order, &zones), spread(&open, &zones));
            for k in 0..=order.len() + 2 {
                let mut out = vec![None; k];
                let found = table.replicas_at(x, &mut out);
                assert_eq!(ids(out.iter().flatten().copied()), first(&order, k), "at {x:?}");
                assert_eq!(found, k.min(order.len()));
                let mut out = vec![None; k];
                let found = table.healthy_replicas_at(x, &mut out);
                assert_eq!(ids(out[..found].iter().flatten().copied()), first(&open, k), "at {x:?}");
                let mut out = vec![None; k];
                let found = table.zone_replicas_at(x, &mut out);
                assert_eq!(ids(out[..found].iter().flatten().copied()), first(&spread_all, k), "at {x:?} of {zones:?}");
                let mut out = vec![None; k];
                let found = table.healthy_zone_replicas_at(x, &mut out);
                assert_eq!(
                    ids(out[..found].iter().flatten().copied()),
                    first(&spread_open, k),
                    "at {x:?} of {zones:?}"
                );
            }
            let (none, passed) = (!order.is_empty() && open.is_empty(), order.first() != open.first());
            let all_up = fresh.len() == order.len() && !order.is_empty();
            let second = spread_all != order;
            let happened =
                [("none open", none), ("passed by", passed && !none), ("all up", all_up), ("second of a zone", second)];
            for (what, _) in happened.into_iter().filter(|(_, happened)| *happened) {
                *self.seen.entry(what).or_insert(0) += 1;
            }
        }
    }

    /// Keys go the same ways as their points, through a reader as through its table.
    fn check_ends_agree(&mut self, reader: &mut ringway::Reader<u32, S, L>) {
        for _ in 0..4 {
            let key = format!("key:{}", self.rng.number(1000));
            let (key, x) = (key.as_bytes(), self.scheme.key(key.as_bytes()));
            let snapshot = self.writer.snapshot();
            assert_eq!(id(reader.route(key)), id(snapshot.route_at(x)));
            assert_eq!(id(reader.route_new(key)), id(snapshot.route_new_at(x)));
            assert_eq!(id(reader.route_excluding(key, |_| false)), id(snapshot.route_at(x)));
            let mut batch = [None; 2];
            assert_eq!(reader.route_batch(&[key], &mut batch), 1);
            assert_eq!((id(batch[0]), id(batch[1])), (id(snapshot.route_at(x)), None));
            let mut by_point = [None; 3];
            let k = snapshot.replicas_at(x, &mut by_point);
            let mut by_key = [None; 3];
            assert_eq!(reader.replicas(key, &mut by_key), k);
            assert_eq!(by_key.map(id), by_point.map(id));
            let mut by_point = [None; 3];
            let k = snapshot.zone_replicas_at(x, &mut by_point);
            let mut by_key = [None; 3];
            assert_eq!(reader.zone_replicas(key, &mut by_key), k);
            assert_eq!(by_key.map(id), by_point.map(id));
            assert_eq!(ids(snapshot.successors(key)), ids(snapshot.successors_at(x)));
        }
    }
}

/// The distinct nodes from a point clockwise, by a look at every point.
fn distinct<P: Point>(view: &View<P>, rule: MatchRule, x: P) -> Vec<&str> {
    let from = |x: P| view.sequence.iter().position(|(point, _)| *point >= x).unwrap_or(0);
    let start = match (rule, view.sequence.len()) {
        (_, 0) => return Vec::new(),
        (MatchRule::AtOrAfter, _) => from(x),
        (MatchRule::After, _) => view.sequence.iter().position(|(point, _)| *point > x).unwrap_or(0),
        (MatchRule::Nearest, len) => {
            let (next, previous) = (from(x), (from(x) + len - 1) % len);
            let (back, on) = (x.steps_from(view.sequence[previous].0), view.sequence[next].0.steps_from(x));
            if back <= on { previous } else { next }
        }
    };
    let mut order = Vec::new();
    for (_, id) in view.sequence[start..].iter().chain(&view.sequence[..start]) {
        if !order.contains(&id.as_str()) {
            order.push(id.as_str());
        }
    }
    order
}

/// First one of each outermost zone, then one of each zone inside without one, and so on, then the rest. The nodes here
/// have at most three labels.
fn spread<'a>(order: &[&'a str], zones: &BTreeMap<&str, &[String]>) -> Vec<&'a str> {
    let same_zone = |a: &str, b: &str, labels: usize| {
        a == b || zones[a].len() >= labels && zones[b].len() >= labels && zones[a][..labels] == zones[b][..labels]
    };
    let mut chosen: Vec<&str> = Vec::new();
    for labels in 1..=4 {
        for &id in order {
            if !chosen.iter().any(|other| same_zone(id, other, labels)) {
                chosen.push(id);
            }
        }
    }
    chosen
}

fn first<'a>(order: &[&'a str], k: usize) -> Vec<&'a str> {
    order.iter().copied().take(k).collect()
}

fn id(node: Option<&Node<u32>>) -> Option<&str> {
    node.map(|node| node.id().as_str())
}

fn ids<'a>(nodes: impl IntoIterator<Item = &'a Node<u32>>) -> Vec<&'a str> {
    nodes.into_iter().map(|node| node.id().as_str()).collect()
}

/// All grids of nodes by zones by k, flat and nested, each with all nodes up, a zone down, and all but one node down.
#[test]
fn grids_of_nodes_and_zones() {
    let mut rng = Rng::new(0x6A1D);
    for nodes in [1usize, 2, 3, 5, 8, 13] {
        for zones in 1..=nodes.min(5) {
            for nested in [false, true] {
                let zone = |n: usize| {
                    let inner = format!("z{}", n % zones);
                    if nested { vec![format!("r{}", n % zones % 2), inner] } else { vec![inner] }
                };
                let list: Vec<ModelNode> = (0..nodes)
                    .map(|n| ModelNode { zone: zone(n), weight: 1 + n as u32 % 3, ..ModelNode::new(format!("n{n}")) })
                    .collect();
                for bounded in [false, true] {
                    let specs = list.iter().map(ModelNode::spec);
                    let builder = Ring::builder().scheme(native()).nodes(specs).bounded_walks(bounded);
                    let table = builder.build_table().expect("valid");
                    let (view, rule) = (View::new(&native(), &list), MatchRule::AtOrAfter);
                    let labels: BTreeMap<&str, &[String]> = list.iter().map(|n| (n.id.as_str(), &n.zone[..])).collect();
                    for case in 0..3 {
                        let lone = format!("n{}", rng.below(nodes));
                        for node in table.nodes() {
                            let down = match case {
                                0 => false,
                                1 => node.info().zone().last().is_some_and(|zone| zone == "z0"),
                                _ => node.id() != &*lone,
                            };
                            node.set_health(if down { State::Down } else { State::Up });
                        }
                        for x in view.probes(&mut rng, 3) {
                            let order = distinct(&view, rule, x);
                            let up = |id: &&str| table.node(id).unwrap().health() == State::Up;
                            let open: Vec<&str> = order.iter().copied().filter(up).collect();
                            let (all, healthy) = (spread(&order, &labels), spread(&open, &labels));
                            for k in 1..=nodes + 1 {
                                let mut out = vec![None; k];
                                table.zone_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&all, k));
                                let mut out = vec![None; k];
                                table.healthy_zone_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&healthy, k));
                                let mut out = vec![None; k];
                                table.healthy_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&open, k));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// More distinct nodes than the short list of an iterator holds, and more points than its patience.
#[test]
fn many_nodes_of_very_different_weights() {
    let mut rng = Rng::new(0x57E9);
    for bounded in [false, true] {
        let list: Vec<ModelNode> = (0..150)
            .map(|n| ModelNode {
                active_points: Some(if n == 7 { 20_000 } else { 1 + n % 3 }),
                ..ModelNode::new(format!("n{n}"))
            })
            .collect();
        let (view, rule) = (View::new(&native(), &list), MatchRule::AtOrAfter);
        let builder = Ring::builder().scheme(native()).nodes(list.iter().map(ModelNode::spec)).bounded_walks(bounded);
        let table = builder.limits(Limits::default()).build_table().expect("valid");
        table.validate().expect("valid");
        for x in view.probes(&mut rng, 4) {
            let order = distinct(&view, rule, x);
            assert_eq!(ids(table.successors_at(x)), order);
            let mut out = vec![None; 40];
            assert_eq!(table.replicas_at(x, &mut out), 40);
            assert_eq!(ids(out.into_iter().flatten()), order[..40]);
        }
    }
}
