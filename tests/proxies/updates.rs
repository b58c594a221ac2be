//! Changes one by one give the table that building from scratch gives, also where nodes depend on each other.

use std::collections::BTreeMap;

use ringway::scheme::{
    CppMapUpper, CppMurmurLower, EnvoyHash, EnvoyRingHash, Groupcache, GrpcRingHash, HaproxyChash, Hashring, Keyed,
    Scheme, Secret,
};
use ringway::{Delta, Limits, NodeSpec, State, Table};

use crate::common::{Rng, env_number};

/// A node with everything at random that a scheme of these may read; names of which labels overlap, and few addresses, so
/// that points collide.
fn node(rng: &mut Rng, number: usize) -> NodeSpec {
    let id = *rng.pick(&["peer", "1peer", "11peer", "10.0.0.1:80", "[::1]:80", "näme", "s"]);
    let id = if rng.percent(50) { format!("{id}{number}") } else { format!("{number}{id}") };
    let mut node = NodeSpec::new(id).with_weight(rng.number(6)).with_address(format!("10.0.0.{}:80", rng.number(9)));
    if rng.percent(20) {
        node = node.with_active_points(rng.number(70));
    }
    if rng.percent(20) {
        node = node.with_state(*rng.pick(&State::ALL));
    }
    if rng.percent(30) {
        // Equal points by ids that are equal modulo 2^20; never one id twice.
        let id = 1 + (number as u32) % 4 + ((number as u32) << 20);
        node = node.with_attribute("id", id.to_string());
    }
    if rng.percent(50) {
        node = node.with_attribute("hash_key", *rng.pick(&["id", "id32", "addr", "addr-port"]));
    }
    if rng.percent(30) {
        node = node.with_attribute("hostname", format!("h{}", rng.number(5)));
    }
    node
}

fn random_delta(rng: &mut Rng, nodes: &mut Vec<NodeSpec>, next: &mut usize) -> Delta<()> {
    let mut delta = Delta::new();
    let mut touched = Vec::new();
    for _ in 0..rng.below(4) {
        let choice = rng.below(nodes.len().max(1));
        let fresh = nodes.get(choice).is_some_and(|node| !touched.contains(&node.id().to_owned()));
        match rng.below(6) {
            0 | 1 => {
                *next += 1;
                let node = node(rng, *next);
                touched.push(node.id().to_owned());
                delta = delta.add(node.clone());
                nodes.push(node);
            }
            2 if fresh => {
                let node = nodes.remove(choice);
                touched.push(node.id().to_owned());
                delta = delta.remove(node.id());
            }
            3 if fresh => {
                let weight = rng.number(9);
                touched.push(nodes[choice].id().to_owned());
                delta = delta.set_weight(nodes[choice].id(), weight);
                nodes[choice] = nodes[choice].clone().with_weight(weight);
            }
            4 if fresh => {
                let state = *rng.pick(&State::ALL);
                touched.push(nodes[choice].id().to_owned());
                delta = delta.set_state(nodes[choice].id(), state);
                nodes[choice] = nodes[choice].clone().with_state(state);
            }
            5 if fresh => {
                let points = rng.percent(50).then(|| rng.number(40));
                touched.push(nodes[choice].id().to_owned());
                delta = delta.set_active_points(nodes[choice].id(), points);
                nodes[choice] = nodes[choice].clone().with_active_points(points);
            }
            _ => {}
        }
    }
    if rng.percent(15) {
        rng.shuffle(nodes);
        delta = delta.with_order(nodes.iter().map(|node| node.id().to_owned()));
    }
    delta
}

type Sequence<P> = Vec<(P, String)>;

fn sequence<S: Scheme>(table: &Table<(), S>) -> Sequence<S::Point> {
    table.points().map(|(point, node)| (point, node.id().to_string())).collect()
}

fn run<S: Scheme>(scheme: S, seed: u64) {
    let mut rng = Rng::new(seed);
    let limits = Limits::DEFAULT;
    let mut table: Table<(), S> = Table::empty(scheme.clone());
    let (mut nodes, mut next) = (Vec::new(), 0);
    let (mut ties, mut changed) = (0, 0);
    for _ in 0..env_number("RINGWAY_PROXY_ROUNDS", 120) {
        let delta = random_delta(&mut rng, &mut nodes, &mut next);
        if let Some(applied) = table.apply(delta, &limits).expect("the change is valid") {
            table = applied.table;
            changed += 1;
        }
        table.validate().unwrap_or_else(|error| panic!("{error}"));
        let mut listed = nodes.clone();
        if scheme.order_free() {
            rng.shuffle(&mut listed);
        }
        let scratch: Table<(), S> = Table::build(scheme.clone(), listed, &limits).expect("the nodes are valid");
        let points = sequence(&table);
        ties += points.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        assert_eq!(points, sequence(&scratch));
        assert_eq!(table.placement_fingerprint(), scratch.placement_fingerprint());
        assert_eq!(table.spec_fingerprint(), scratch.spec_fingerprint());
        for _ in 0..20 {
            let key = rng.next().to_le_bytes();
            let owner = |table: &Table<(), S>| table.owner(&key).map(|node| node.id().to_string());
            assert_eq!(owner(&table), owner(&scratch));
        }
    }
    println!("{}: {changed} changes, {ties} ties", scheme.id());
    assert!(changed > 50, "the changes change something");
}

#[test]
fn haproxy() {
    run(HaproxyChash::new(), 0x5EED_0101);
}

#[test]
fn envoy() {
    run(EnvoyRingHash::new().with_ring_size(64, 300).expect("in range"), 0x5EED_0102);
    run(EnvoyRingHash::new().with_ring_size(10, 20).expect("in range").with_hash(EnvoyHash::Murmur2), 0x5EED_0103);
    run(EnvoyRingHash::new().with_ring_size(64, 300).expect("in range").with_hostname(true), 0x5EED_0104);
}

#[test]
fn grpc() {
    run(GrpcRingHash::new().with_ring_size(64, 300).expect("in range").with_cap(100), 0x5EED_0105);
}

#[test]
fn groupcache() {
    run(Groupcache::new().with_replicas(20), 0x5EED_0106);
}

#[test]
fn hashring() {
    run(Hashring::new(), 0x5EED_0107);
    run(Hashring::new().with_points_per_weight(9), 0x5EED_0108);
}

#[test]
fn cpp() {
    run(CppMapUpper::new(), 0x5EED_0109);
    run(CppMurmurLower::new(), 0x5EED_010A);
}

#[test]
fn keyed() {
    run(Keyed::new(Secret::new([7; 16])).with_points_per_weight(16), 0x5EED_010B);
}

/// Envoy's and gRPC's loop as their sources have it: a point at a time.
fn points_one_by_one(weights: &[u32], min: u32, max: u32) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let shares: Vec<f64> = weights.iter().map(|&weight| f64::from(weight) / sum as f64).collect();
    let least = shares.iter().fold(1.0, |least, &share| if share < least { share } else { least });
    let wanted = (least * f64::from(min)).ceil() / least;
    let scale = if f64::from(max) < wanted { f64::from(max) } else { wanted };
    let (mut current, mut target) = (0.0, 0.0);
    let points = shares.iter().map(|share| {
        target += scale * share;
        let mut points = 0;
        while current < target {
            points += 1;
            current += 1.0;
        }
        points
    });
    points.collect()
}

#[test]
fn ring_sizes_come_out_as_counted_one_by_one() {
    let mut rng = Rng::new(0x5EED_010C);
    let mut full = 0;
    for _ in 0..300 {
        let nodes = 1 + rng.below(40);
        let largest = *rng.pick(&[1, 2, 10, 97, 1000, 65_535]);
        let weights: Vec<u32> = (0..nodes).map(|_| 1 + rng.number(largest)).collect();
        let min = rng.number(600);
        let slack = *rng.pick(&[10, 300, 3000]);
        let max = min + rng.number(slack);
        let specs =
            || weights.iter().enumerate().map(|(n, &weight)| NodeSpec::new(format!("n{n}")).with_weight(weight));
        let expected = points_one_by_one(&weights, min, max);
        let limits = Limits::DEFAULT.with_weight(u32::MAX);
        let scheme = EnvoyRingHash::new().with_ring_size(min, max).expect("in range");
        let table: Table<(), _> = Table::build(scheme, specs(), &limits).expect("valid");
        let found: Vec<u32> = (0..nodes).map(|n| table.points_of(&format!("n{n}")).expect("there")).collect();
        assert_eq!(found, expected, "{weights:?} {min} {max}");
        full += usize::from(table.len() == max as usize);

        let cap = rng.number(1000);
        let scheme = GrpcRingHash::new().with_ring_size(min.max(1), max.max(1)).expect("in range").with_cap(cap);
        let expected = points_one_by_one(&weights, min.max(1).min(cap), max.max(1).min(cap));
        let table: Table<(), _> = Table::build(scheme, specs(), &limits).expect("valid");
        let found: Vec<u32> = (0..nodes).map(|n| table.points_of(&format!("n{n}")).expect("there")).collect();
        assert_eq!(found, expected, "{weights:?} {min} {max} {cap}");
    }
    assert!(full > 20, "only {full} rings reached their largest size");
}

#[test]
fn weight_0_counts_as_each_system_counts_it() {
    fn points<S: Scheme>(scheme: S) -> BTreeMap<String, u32> {
        let nodes = [NodeSpec::new("a").with_weight(0), NodeSpec::new("b"), NodeSpec::new("c").with_state(State::Down)];
        let table: Table<(), S> = Table::build(scheme, nodes, &Limits::DEFAULT).expect("valid");
        table.nodes().map(|node| (node.id().to_string(), table.points_of(node.id().as_str()).expect("there"))).collect()
    }
    let of = |a, b, c| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b), ("c".to_owned(), c)]);
    assert_eq!(points(HaproxyChash::new()), of(0, 16, 0));
    assert_eq!(points(EnvoyRingHash::new()), of(512, 512, 0));
    assert_eq!(points(GrpcRingHash::new()), of(342, 342, 342));
    assert_eq!(points(Groupcache::new()), of(50, 50, 50));
    assert_eq!(points(Hashring::new()), of(1, 1, 1));
    assert_eq!(points(Hashring::new().with_points_per_weight(10)), of(0, 10, 10));
    assert_eq!(points(CppMapUpper::new()), of(100, 100, 100));
}
