//! Replicas, zones, retries and routing against plain loops over the sequence of points, across commits and changes of live
//! states.

use std::collections::BTreeMap;

use ringway::layout::Layout;
use ringway::scheme::MatchRule;
use ringway::{Change, Delta, Field, Node, Pins, Point, Ring, State, Table, Writer};

use super::Rng;
use super::model::{ModelNode, Rule, View};

/// Makes `rounds` commits, or as many as the choices last for, and says how often each thing happened.
pub fn run<S: Rule, L: Layout<S::Point>>(
    scheme: &S,
    bounded: bool,
    panic: u8,
    rng: Rng,
    rounds: u64,
) -> BTreeMap<&'static str, u64> {
    let builder = Ring::builder().scheme(scheme.clone()).layout::<L>().bounded_walks(bounded);
    let (writer, handle) = builder.panic_threshold(panic).build().expect("an empty ring is fine");
    let (nodes, states, pins, seen) = (Vec::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut world = World { scheme: scheme.clone(), writer, nodes, states, pins, panic, rng, seen };
    let mut reader = handle.reader();
    for _ in 0..rounds {
        if world.rng.is_spent() {
            break;
        }
        world.commit();
        world.flip();
        world.check();
        world.check_pinned();
        world.check_ends_agree(&mut reader);
    }
    world.seen
}

struct World<S: Rule, L: Layout<S::Point>> {
    scheme: S,
    writer: Writer<u32, S, L>,
    nodes: Vec<ModelNode>,
    /// Live states, by id.
    states: BTreeMap<String, State>,
    /// Prefixes with the ids they are pinned to.
    pins: BTreeMap<String, String>,
    panic: u8,
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
        if self.rng.percent(50) && !self.nodes.is_empty() {
            let view = View::new(&self.scheme, &self.nodes);
            let mut beside: Vec<&str> = self.nodes.iter().map(|node| &*node.id).collect();
            beside.retain(|id| view.parts[*id].count == 0);
            self.pins.clear();
            for n in 0..self.rng.below(4) {
                let any = self.rng.pick(&self.nodes).id.clone();
                let id = if beside.is_empty() || self.rng.percent(40) { any } else { (*self.rng.pick(&beside)).into() };
                self.pins.insert(format!("p{n}:"), id);
            }
            let pins = self.pins.iter().try_fold(Pins::new(), |pins, (prefix, id)| pins.with_prefix(prefix, id));
            delta = delta.with_pins(pins.expect("few and short"));
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
        let rule = self.scheme.match_rule();
        let mut probes = view.probes(&mut self.rng, 6);
        self.rng.shuffle(&mut probes);
        probes.truncate(8);
        for x in probes {
            let order = distinct(&view, rule, x);
            assert_eq!(id(table.owner_at(x)), order.first().copied());
            assert_eq!(ids(table.successors_at(x)), order, "at {x:?}");
            assert_eq!(table.successors_at(x).len(), order.len());
            let tried: Vec<&str> = order.iter().copied().filter(|_| self.rng.percent(50)).collect();
            let expected = self.expected(&view, &order);
            assert_eq!(id(table.route_at(x)), expected.open.first().copied(), "at {x:?}");
            assert_eq!(id(table.route_new_at(x)), expected.fresh.first().copied(), "at {x:?}");
            let rest = expected.open.iter().copied().find(|id| !tried.contains(id));
            let found = table.route_excluding_at(x, |node| tried.contains(&node.id().as_str()));
            assert_eq!(id(found), rest, "at {x:?} without {tried:?}");
            for k in 0..=order.len() + 2 {
                expected.compare(k, "replicas", &order, |out| table.replicas_at(x, out));
                expected.compare(k, "healthy", &expected.open, |out| table.healthy_replicas_at(x, out));
                expected.compare(k, "zones", &expected.zones, |out| table.zone_replicas_at(x, out));
                expected
                    .compare(k, "healthy zones", &expected.open_zones, |out| table.healthy_zone_replicas_at(x, out));
            }
            let (none, passed) =
                (!order.is_empty() && expected.open.is_empty(), order.first() != expected.open.first());
            let all_up = !order.is_empty() && order.iter().all(|id| self.states[*id] == State::Up);
            let happened = [
                ("none open", none),
                ("passed by", passed && !none),
                ("all up", all_up),
                ("second of a zone", expected.zones != order),
                ("panic", expected.panic),
            ];
            for (what, _) in happened.into_iter().filter(|(_, happened)| *happened) {
                *self.seen.entry(what).or_insert(0) += 1;
            }
        }
    }

    /// Pinned keys: the pin's node, whether it has points or not, then the ring's order without it.
    fn check_pinned(&mut self) {
        let view = View::new(&self.scheme, &self.nodes);
        let snapshot = self.writer.snapshot();
        let table: &Table<u32, S, L> = &snapshot;
        let rule = self.scheme.match_rule();
        for (prefix, pinned) in &self.pins {
            let key = format!("{prefix}{}", self.rng.number(1000));
            let key = key.as_bytes();
            let mut order = distinct(&view, rule, self.scheme.key(key));
            // A pin whose node has left sleeps.
            if view.parts.contains_key(pinned) {
                order.retain(|id| id != pinned);
                order.insert(0, pinned);
                if view.parts[pinned].count == 0 {
                    *self.seen.entry("pinned beside the ring").or_insert(0) += 1;
                }
            }
            let expected = self.expected(&view, &order);
            assert_eq!(id(table.owner(key)), order.first().copied());
            assert_eq!(ids(table.successors(key)), order);
            assert_eq!(table.successors(key).len(), order.len());
            assert_eq!(id(table.route(key)), expected.open.first().copied());
            assert_eq!(id(table.route_new(key)), expected.fresh.first().copied());
            let found = table.route_excluding(key, |node| node.id() == &**pinned);
            assert_eq!(id(found), expected.open.iter().copied().find(|id| id != pinned));
            for k in 0..=order.len() + 2 {
                expected.compare(k, "replicas", &order, |out| table.replicas(key, out));
                expected.compare(k, "healthy", &expected.open, |out| table.healthy_replicas(key, out));
                expected.compare(k, "zones", &expected.zones, |out| table.zone_replicas(key, out));
                expected.compare(k, "healthy zones", &expected.open_zones, |out| table.healthy_zone_replicas(key, out));
            }
        }
    }

    /// What follows from a key's order of nodes.
    fn expected<'a>(&'a self, view: &View<S::Point>, order: &[&'a str]) -> Expected<'a> {
        let labels: BTreeMap<&str, &[String]> = self.nodes.iter().map(|n| (n.id.as_str(), &n.zone[..])).collect();
        let placed = || self.nodes.iter().filter(|node| view.parts[&node.id].count > 0);
        let all: u32 = placed().map(|node| node.weight).sum();
        let up: u32 = placed().filter(|node| self.states[&node.id] == State::Up).map(|node| node.weight).sum();
        let panic = up * 100 < all * u32::from(self.panic);
        let with = |takes: fn(State) -> bool| -> Vec<&str> {
            order.iter().copied().filter(|id| panic || takes(self.states[*id])).collect()
        };
        let (open, fresh) = (with(|state| state != State::Down), with(|state| state == State::Up));
        let (zones, open_zones) = (spread(order, &labels), spread(&open, &labels));
        Expected { panic, open, fresh, zones, open_zones }
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

struct Expected<'a> {
    panic: bool,
    open: Vec<&'a str>,
    fresh: Vec<&'a str>,
    zones: Vec<&'a str>,
    open_zones: Vec<&'a str>,
}

impl Expected<'_> {
    /// The first `k` of `all` against what `fill` gives, and the rest left alone.
    fn compare<'t>(
        &self,
        k: usize,
        what: &str,
        all: &[&str],
        fill: impl FnOnce(&mut [Option<&'t Node<u32>>]) -> usize,
    ) {
        let mut out = vec![None; k];
        let found = fill(&mut out);
        assert_eq!(ids(out.iter().flatten().copied()), first(all, k), "{what}, panic: {}", self.panic);
        assert_eq!((found, out[found..].iter().flatten().count()), (k.min(all.len()), 0), "{what}");
    }
}

/// The distinct nodes from a point clockwise, by a look at every point.
pub fn distinct<P: Point>(view: &View<P>, rule: MatchRule, x: P) -> Vec<&str> {
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
pub fn spread<'a>(order: &[&'a str], zones: &BTreeMap<&str, &[String]>) -> Vec<&'a str> {
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

pub fn first<'a>(order: &[&'a str], k: usize) -> Vec<&'a str> {
    order.iter().copied().take(k).collect()
}

pub fn id(node: Option<&Node<u32>>) -> Option<&str> {
    node.map(|node| node.id().as_str())
}

pub fn ids<'a>(nodes: impl IntoIterator<Item = &'a Node<u32>>) -> Vec<&'a str> {
    nodes.into_iter().map(|node| node.id().as_str()).collect()
}
