//! Several probes against the vectors of `tests/golden/multiprobe`, and shares in closed form against exact fractions, sampled
//! keys, and each other.

mod common;

use std::collections::BTreeMap;

use common::Rng;
use ringway::layout::Layout;
use ringway::scheme::{MultiProbe, Probes, Scheme};
use ringway::{Balance, MovedShare, Native, NodeSpec, Plan, Ring, Share, Table};

fn golden(file: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/golden/multiprobe/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.strip_suffix('\n').expect("LF at the end").split('\n');
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn scheme(k: u32, points: u32) -> MultiProbe {
    MultiProbe::new(Native::new().with_points_per_weight(points), Probes::new(k).unwrap())
}

fn build(k: u32, points: u32, nodes: impl IntoIterator<Item = NodeSpec>) -> Table<(), MultiProbe> {
    Ring::builder().scheme(scheme(k, points)).nodes(nodes).build_table().unwrap()
}

/// The ring of `shares.tsv`, changed.
fn small(k: u32, changes: &str) -> Table<(), MultiProbe> {
    let mut weights: BTreeMap<&str, u32> = [("a", 1), ("b", 2), ("c", 1), ("d", 3), ("e", 1), ("f", 2)].into();
    for change in changes.split_whitespace() {
        let (id, weight) = change.split_once('=').unwrap();
        match weight {
            "-" => assert!(weights.remove(id).is_some()),
            weight => drop(weights.insert(id, weight.parse().unwrap())),
        }
    }
    build(k, 5, weights.into_iter().map(|(id, weight)| NodeSpec::new(id).with_weight(weight)))
}

#[test]
fn probes_and_owners_are_those_of_the_recipe() {
    let scheme = scheme(32, 8);
    for row in golden("probes.tsv") {
        let hash = scheme.key_hash(row[0].as_bytes());
        let probes: Vec<String> = (0..32).map(|i| format!("{:08x}", scheme.probe(hash, i))).collect();
        assert_eq!(probes, row[1..], "{:?}", row[0]);
        assert_eq!(scheme.key_point(row[0].as_bytes()), scheme.probe(hash, 0));
    }
    let nodes = || (0..12).zip([0, 1, 1, 2].into_iter().cycle());
    let ring = |k| build(k, 8, nodes().map(|(n, weight)| NodeSpec::new(format!("node-{n}")).with_weight(weight)));
    let tables: BTreeMap<String, _> = [1, 2, 3, 5, 21, 32].map(|k: u32| (k.to_string(), ring(k))).into();
    for row in golden("replicas.tsv") {
        let table = &tables[&row[0]];
        let mut replicas = [None; 3];
        assert_eq!(table.replicas(row[1].as_bytes(), &mut replicas), 3);
        assert_eq!(replicas.map(|node| node.unwrap().id().as_str()), row[2..], "{row:?}");
        assert_eq!(table.owner(row[1].as_bytes()).unwrap().id().as_str(), row[2]);
    }
    for row in golden("fingerprints.tsv") {
        assert_eq!(tables[&row[0]].placement_fingerprint().to_string(), row[1], "{} probes", row[0]);
    }
}

#[test]
fn shares_are_exact_to_a_billionth_of_a_thousandth() {
    let rows = golden("shares.tsv");
    assert_eq!(rows.len(), 36);
    for row in rows {
        let table = small(row[0].parse().unwrap(), "");
        let expected: f64 = row[2].parse().unwrap();
        let shares = table.key_shares();
        let (_, found) = shares.iter().find(|(node, _)| *node.id() == *row[1]).unwrap();
        assert!((found - expected).abs() <= 1e-12, "{row:?}: {found}");
        let shares = table.shares();
        let (_, share) = shares.iter().find(|(node, _)| *node.id() == *row[1]).unwrap();
        assert!((share.fraction() - expected).abs() <= 2.0 / 4_294_967_296.0, "{row:?}: {share}");
        assert!(shares.iter().fold(Share::new(0, 32), |sum, (_, share)| sum + *share).is_whole());
    }
}

#[test]
fn moved_shares_are_exact_or_hold_what_moves_between_them() {
    let inexact = ["one shrinks, one comes, one goes", "two grow", "two shrink, one grows", "one grows, one comes"];
    let mut exact = 0;
    for row in golden("moved.tsv") {
        let expected: f64 = row[2].parse().unwrap();
        let (old, new) = (small(2, ""), small(2, &row[1]));
        // Backwards the same keys move.
        for moved in [MovedShare::between(&old, &new).unwrap(), MovedShare::between(&new, &old).unwrap()] {
            let (low, high) = (moved.at_least(), moved.at_most());
            assert!(low - 1e-12 <= expected && expected <= high + 1e-12, "{row:?}: {moved:?}");
            if moved.is_exact() {
                exact += 1;
            } else {
                // More than one that gains points, or loses some, and one of them keeps others.
                assert!(inexact.contains(&&*row[0]), "{row:?}: {moved:?}");
                assert!(high - low < 0.03, "{row:?}: {moved:?}");
                println!("{}: {expected} within {moved:?}", row[0]);
            }
            assert!(moved.minimum() <= expected + 1e-12);
        }
    }
    assert_eq!(exact, 2 * 7);
}

/// With one probe they are what arcs say.
#[test]
fn with_one_probe_shares_are_those_of_the_circle() {
    let (old, new) = (small(1, ""), small(1, "b=5 f=-"));
    let plan = Plan::between(&old, &new).unwrap();
    let moved = MovedShare::between(&old, &new).unwrap();
    assert!(moved.is_exact());
    assert!((moved.at_most() - plan.moved().fraction()).abs() < 1e-12);
    assert!((moved.minimum() - plan.minimum().fraction()).abs() < 1e-12);
    for ((_, part), (_, share)) in old.key_shares().iter().zip(old.shares()) {
        assert!((part - share.fraction()).abs() < f64::EPSILON);
    }
}

/// Five standard deviations of a million keys, for each node.
#[test]
fn shares_are_what_a_million_keys_get() {
    const KEYS: u32 = 1_000_000;
    let nodes = |n: u32| (0..n).map(|n| NodeSpec::new(format!("node-{n}")).with_weight(1 + n % 3));
    for k in [2, 3] {
        let (old, new) = (build(k, 20, nodes(10)), build(k, 20, nodes(12)));
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let mut moved = 0;
        for n in 0..KEYS {
            let key = format!("key:{n}");
            let (owner, next) = (old.owner(key.as_bytes()).unwrap(), new.owner(key.as_bytes()).unwrap());
            *counts.entry(owner.id().as_str()).or_insert(0) += 1;
            moved += u32::from(owner.id() != next.id());
        }
        let near = |count: u32, share: f64| {
            let deviation = (share * (1.0 - share) / f64::from(KEYS)).sqrt();
            (f64::from(count) / f64::from(KEYS) - share).abs() < 5.0 * deviation
        };
        for (node, share) in old.key_shares() {
            assert!(near(counts[node.id().as_str()], share), "{k} probes, {node:?}: {share}, {counts:?}");
        }
        let plan = MovedShare::between(&old, &new).unwrap();
        assert!(plan.is_exact() && near(moved, plan.at_most()), "{k} probes: {plan:?}, {moved} moved");
        assert!((plan.at_most() - plan.minimum()).abs() < 1e-12, "nodes that come take no more than their share");
        let balance = Balance::of(&old);
        let widest = old.key_shares().into_iter().map(|(node, share)| share * 19.0 / f64::from(node.info().weight()));
        assert!((balance.spread().unwrap() - widest.fold(0.0, f64::max)).abs() < 1e-12);
    }
}

#[test]
fn shares_of_rings_with_hardly_a_point() {
    let none = build(3, 0, [NodeSpec::new("a")]);
    assert_eq!(none.key_shares().iter().map(|(_, share)| *share).collect::<Vec<_>>(), [0.0]);
    assert!(none.shares()[0].1.points() == 0);
    let one = build(3, 1, [NodeSpec::new("a")]);
    assert_eq!(one.key_shares()[0].1, 1.0);
    assert!(one.shares()[0].1.is_whole());
    let moved = MovedShare::between(&none, &one).unwrap();
    assert_eq!((moved.at_least(), moved.at_most(), moved.minimum()), (1.0, 1.0, 1.0));
    let moved = MovedShare::between(&one, &none).unwrap();
    assert_eq!((moved.at_least(), moved.at_most(), moved.minimum()), (1.0, 1.0, 1.0));
    let moved = MovedShare::between(&none, &none).unwrap();
    assert_eq!((moved.at_least(), moved.at_most(), moved.minimum()), (0.0, 0.0, 0.0));
    assert!(MovedShare::between(&one, &build(2, 1, [NodeSpec::new("a")])).is_err(), "another key map");
}

/// Large rings: each share against a plain sum over gaps in another order and form, and all of them against 1.
#[test]
fn no_digit_is_lost_on_a_large_ring() {
    let mut rng = Rng::new(0x5A4E_0001);
    for k in [2, 3, 8] {
        let points = 100 + rng.number(100);
        let table = build(k, points, (0..300).map(|n| NodeSpec::new(format!("node-{n}"))));
        let shares = table.key_shares();
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        let found = share_by_quarters(&table, k, "node-7");
        let (_, share) = shares.iter().find(|(node, _)| *node.id() == *"node-7").unwrap();
        assert!((found - share).abs() < 1e-12, "{found} {share}");
    }
}

/// From the longest gap down, with S as a sum and the integral by Gauss's rule of four points, which is exact for k <= 8.
fn share_by_quarters<L: Layout<u32>>(table: &Table<(), MultiProbe, L>, k: u32, id: &str) -> f64 {
    let points: Vec<_> = table.points().map(|(point, node)| (point, *node.id() == *id)).collect();
    let mut before = points.last().unwrap().0;
    let mut gaps = Vec::new();
    for (point, own) in points {
        gaps.push((point.wrapping_sub(before), own));
        before = point;
    }
    gaps.sort_unstable();
    let circle = 4_294_967_296.0;
    let nodes = [0.339981043584856, 0.861136311594053].map(|x: f64| [x, -x]).concat();
    let weights = [0.652145154862546, 0.652145154862546, 0.347854845137454, 0.347854845137454];
    let (mut places, mut own, mut longer, mut total) = (0.0, 0.0, 0.0, 0.0);
    for pair in (0..gaps.len()).rev() {
        let (high, is_own) = gaps[pair];
        let low = if pair == 0 { 0 } else { gaps[pair - 1].0 };
        longer += 1.0;
        own += f64::from(u8::from(is_own));
        // S(x) for x from low to high: what was summed up beyond high, and all longer gaps' parts from x on.
        let length = f64::from(high - low);
        for (x, weight) in nodes.iter().zip(weights) {
            let rest = places + longer * length * (1.0 - (x + 1.0) / 2.0);
            total += own * f64::from(k) * (rest / circle).powi(k as i32 - 1) * weight / 2.0 * length / circle;
        }
        places += longer * length;
    }
    total
}
