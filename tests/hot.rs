//! Hot keys: spreading, against replicas; the sketch, against exact counts; pins, against a look at all of them.

mod common;

use std::collections::BTreeMap;

use common::Rng;
use ringway::layout::Auto;
use ringway::{Delta, DeltaError, HotKeys, Native, NodeSpec, Permit, Pins, Ring, State, Table};

fn table(nodes: u32) -> Table {
    let nodes = (0..nodes).map(|n| NodeSpec::new(format!("n{n}")));
    Ring::builder().points_per_weight(40).nodes(nodes).build_table().unwrap()
}

#[test]
fn a_key_is_spread_evenly_over_its_first_healthy_nodes() {
    let (table, mut rng) = (table(9), Rng::new(5));
    for round in 0..30 {
        for node in table.nodes() {
            node.set_health(State::ALL[if rng.percent(70) { rng.below(2) } else { 2 }]);
        }
        let key = format!("key{round}");
        for k in [0, 1, 2, 3, 5, 9, 12, usize::MAX] {
            let mut out = [None; 9];
            let most = table.healthy_replicas(key.as_bytes(), &mut out[..k.min(9)]);
            let healthy: Vec<&str> = out[..most].iter().flatten().map(|node| node.id().as_str()).collect();
            let mut hits: BTreeMap<&str, u32> = BTreeMap::new();
            for part in 0..2520u64 {
                // 2520 is a multiple of every number up to 9, so that even parts are exactly even.
                let random = (part << 32).div_ceil(2520) << 32;
                let node = table.spread(key.as_bytes(), k, random).map(|node| node.id().as_str());
                if let Some(id) = node {
                    *hits.entry(id).or_default() += 1;
                }
                assert_eq!(node.is_none(), healthy.is_empty());
                let least =
                    table.spread_least(key.as_bytes(), k, random | (part * 1_700_000)).map(|node| node.id().as_str());
                assert!(least.is_none_or(|id| healthy.contains(&id)) && least.is_none() == healthy.is_empty());
            }
            assert_eq!(hits.len(), healthy.len());
            assert!(hits.iter().all(|(id, &n)| healthy.contains(id) && n == 2520 / most as u32), "{hits:?}");
        }
        let one = table.spread(key.as_bytes(), 1, rng.next()).map(|node| node.id());
        assert_eq!(one, table.route(key.as_bytes()).map(|node| node.id()));
    }
}

/// Of two taken at random the less loaded: far more even than one at random.
#[test]
fn the_less_loaded_of_two_evens_out() {
    let (table, mut rng) = (table(8), Rng::new(6));
    let mut worst = |least: bool| {
        let permits: Vec<Permit> = (0..8000)
            .map(|_| {
                let random = rng.next();
                let node = if least { table.spread_least(b"hot", 8, random) } else { table.spread(b"hot", 8, random) };
                node.unwrap().enter()
            })
            .collect();
        let loads: Vec<u64> = table.nodes().map(|node| node.in_flight()).collect();
        assert_eq!(loads.iter().sum::<u64>(), permits.len() as u64);
        loads.into_iter().max().unwrap()
    };
    let (random, least) = (worst(false), worst(true));
    println!("the most loaded of 8 with 8,000: {random} at random, {least} as the less loaded of two");
    assert!(least <= 1005 && random > least);
    // Nobody else is asked: with 2 nodes it is the less loaded of the key's first two.
    let mut first = [None; 2];
    table.replicas(b"hot", &mut first);
    let busy = first[0].unwrap().enter();
    assert!((0..100).all(|n| table.spread_least(b"hot", 2, n << 57).unwrap().id() == first[1].unwrap().id()));
    drop(busy);
}

#[test]
fn the_sketch_keeps_its_bounds() {
    for (seed, counters, keys) in [(1, 1, 3), (2, 10, 9), (3, 10, 11), (4, 50, 3000), (5, 200, 1000)] {
        let mut rng = Rng::new(seed);
        let (mut parts, mut exact) =
            ([HotKeys::new(counters).unwrap(), HotKeys::new(counters).unwrap()], BTreeMap::new());
        let mut halves = [BTreeMap::new(), BTreeMap::new()];
        for n in 0..20_000 {
            // Skewed: the lower of three.
            let key = (0..3).map(|_| rng.below(keys)).min().unwrap().to_string();
            let half = n % 2;
            parts[half].feed(&key);
            *exact.entry(key.clone()).or_insert(0u64) += 1;
            *halves[half].entry(key).or_insert(0u64) += 1;
        }
        let check = |sketch: &HotKeys, exact: &BTreeMap<String, u64>| {
            let n: u64 = exact.values().sum();
            assert_eq!(sketch.fed(), n);
            let top = sketch.top(usize::MAX);
            assert!(top.is_sorted_by(|a, b| (b.count(), a.key()) < (a.count(), b.key())), "{top:?}");
            assert_eq!(sketch.top(3), top[..top.len().min(3)]);
            for hot in &top {
                let truth = exact.get(str::from_utf8(hot.key()).unwrap()).copied().unwrap_or(0);
                assert!(hot.count() >= truth && hot.count() - hot.error() <= truth, "{hot:?}, not {truth}");
                assert!(hot.count() - truth <= n / u64::from(counters), "{hot:?}, not {truth} of {n}");
            }
            for (key, &count) in exact {
                let counted = top.iter().any(|hot| hot.key() == key.as_bytes());
                assert!(counted || count <= n / u64::from(counters), "{key} came {count} times of {n}");
            }
            assert!(top.len() <= counters as usize);
        };
        check(&parts[0], &halves[0]);
        let [mut merged, other] = parts;
        merged.merge(&other);
        check(&merged, &exact);
        // It goes on as one that wasn't merged.
        for _ in 0..5000 {
            merged.feed("new");
            *exact.entry("new".to_owned()).or_insert(0) += 1;
        }
        check(&merged, &exact);
        merged.clear();
        assert_eq!((merged.fed(), merged.top(1)), (0, vec![]));
    }
    assert_eq!(
        HotKeys::new(0).unwrap_err().to_string(),
        "0 counters are out of range; give a number from 1 to 1048576"
    );
    let mut sketch = HotKeys::new(2).unwrap();
    sketch.feed(vec![b'x'; 1025]);
    sketch.feed_times(vec![b'x'; 1024], 7);
    assert_eq!((sketch.skipped(), sketch.fed(), sketch.top(9)[0].count()), (1, 7, 7));
}

#[test]
fn pins_come_first_everywhere() {
    let nodes = || (0..6).map(|n| NodeSpec::new(format!("n{n}")).with_zone([["x", "y"][n % 2]]));
    let pins = Pins::new().with_prefix("t:", "n3").unwrap().with_key("t:1", "n5").unwrap();
    let (mut writer, handle) = Ring::builder().nodes(nodes()).pins(pins.clone()).build().unwrap();
    let plain = Ring::builder().nodes(nodes()).build_table().unwrap();
    let mut reader = handle.reader();
    let id = |node: Option<&ringway::Node>| node.map(|node| node.id().to_string());
    for (key, pin) in [("t:1", Some("n5")), ("t:2", Some("n3")), ("t:", Some("n3")), ("t", None), ("u:1", None)] {
        let key = key.as_bytes();
        let mut order: Vec<String> = plain.successors(key).map(|node| node.id().to_string()).collect();
        if let Some(pin) = pin {
            order.retain(|id| id != pin);
            order.insert(0, pin.to_owned());
        }
        assert_eq!(id(reader.owner(key)).as_deref(), Some(&*order[0]));
        assert_eq!(id(reader.owner_of_parts(&[&key[..1], &key[1..]])).as_deref(), Some(&*order[0]));
        assert_eq!(id(reader.route(key)).as_deref(), Some(&*order[0]));
        let mut out = [None; 2];
        assert_eq!(reader.owner_batch(&["other".as_bytes(), key], &mut out), 2);
        assert_eq!((id(out[0]), id(out[1])), (id(plain.owner(b"other")), Some(order[0].clone())));
        for k in 1..=7 {
            let mut out = vec![None; k];
            let found = reader.replicas(key, &mut out);
            let found: Vec<_> = out[..found].iter().map(|node| id(*node).unwrap()).collect();
            assert_eq!(found, order[..k.min(6)], "{k} of {}", key.escape_ascii());
        }
        let mut out = [None; 2];
        reader.zone_replicas(key, &mut out);
        let zone = |n: usize| plain.node(&order[n]).unwrap().info().zone().to_vec();
        let second = (1..6).find(|&n| zone(n) != zone(0)).unwrap();
        assert_eq!(out.map(|node| id(node).unwrap()), [order[0].clone(), order[second].clone()]);
        // Down, the pinned node is passed by like any other.
        let first = reader.table().node(&order[0]).unwrap().clone();
        first.set_health(State::Down);
        assert_eq!(id(reader.route(key)).as_deref(), Some(&*order[1]));
        assert_eq!(id(reader.owner(key)).as_deref(), Some(&*order[0]), "pure");
        first.set_health(State::Up);
        // A point has no key.
        let x = ringway::scheme::Scheme::key_point(&Native::new(), key);
        assert_eq!(id(reader.owner_at(x)), id(plain.owner(key)));
    }

    // A pin sleeps while its node is away.
    writer.commit(Delta::new().remove("n5")).unwrap();
    assert_eq!(id(reader.owner(b"t:1")).as_deref(), Some("n3"), "the prefix is pinned too");
    writer.table().validate().unwrap();
    writer.commit(Delta::new().add(NodeSpec::new("n5").with_weight(0))).unwrap();
    assert_eq!(id(reader.owner(b"t:1")).as_deref(), Some("n5"), "even without points");
    let mut out = [None; 7];
    let table = reader.table();
    assert_eq!((table.replicas(b"t:1", &mut out), table.zone_replicas(b"t:1", &mut out)), (6, 6));
    assert_eq!(table.successors(b"t:1").count(), 6);
    assert_eq!(table.successors(b"t:2").count(), 5);

    // Published with the ring, all or nothing; the same pins again are no change.
    let version = writer.version();
    assert!(!writer.commit(Delta::new().with_pins(pins.clone())).unwrap().published);
    let stranger = Pins::new().with_key("k", "nobody").unwrap();
    let error = writer.commit(Delta::new().set_weight("n1", 2).with_pins(stranger)).unwrap_err();
    assert_eq!(error.to_string(), "a pin names node \"nobody\", which is not in the ring; add it or leave the pin out");
    assert_eq!(writer.version(), version);
    let before = writer.table().placement_fingerprint();
    writer.commit(Delta::new().with_pins(Pins::new())).unwrap();
    assert_ne!(writer.table().placement_fingerprint(), before, "pins decide where keys go");
    assert_eq!(id(reader.owner(b"t:2")), id(plain.owner(b"t:2")));
    assert!(writer.table().pins().is_empty());
}

#[test]
fn a_ring_without_points_has_pins_alone() {
    let pins = Pins::new().with_prefix("", "off").unwrap();
    let builder = Ring::builder().layout::<Auto<u32>>().node(NodeSpec::new("off").with_weight(0)).pins(pins);
    let table = builder.build_table().unwrap();
    assert!(table.is_empty() && table.owner(b"k").is_some() && table.owner_at(7).is_none());
    let mut out = [None; 3];
    assert_eq!((table.replicas(b"k", &mut out), table.healthy_zone_replicas(b"k", &mut out)), (1, 1));
    assert!(table.route(b"k").is_some() && table.spread(b"k", 3, 1).is_some());
    table.node("off").unwrap().set_health(State::Down);
    assert!(table.route(b"k").is_none() && table.spread(b"k", 3, 1).is_none());
    assert_eq!(table.healthy_replicas(b"k", &mut out), 0);
    assert!(matches!(
        Ring::builder().node(NodeSpec::new("a")).pins(Pins::new().with_key("k", "b").unwrap()).build_table(),
        Err(DeltaError::PinnedToNobody { id }) if id == "b"
    ));
}

/// The expected values are Python's hashlib over the encoding as `Fingerprint` documents it: for nodes a and b of 512
/// points, without pins and with key k at a, key FF 00 at b and prefix p: at b.
#[test]
fn the_fingerprint_of_pins_is_as_written() {
    let nodes = || ["a", "b"].map(NodeSpec::new);
    let plain = Ring::builder().nodes(nodes()).build_table().unwrap();
    assert_eq!(plain.placement_fingerprint().to_string(), "e349861845fdc553eb9ad233aaf181dc");
    let pins =
        Pins::new().with_prefix("p:", "b").unwrap().with_key([0xFF, 0], "b").unwrap().with_key("k", "a").unwrap();
    let pinned = Ring::builder().nodes(nodes()).pins(pins).build_table().unwrap();
    assert_eq!(pinned.placement_fingerprint().to_string(), "9fb89b3aae240e23585c984db962f383");
    assert_ne!(pinned.spec_fingerprint(), plain.spec_fingerprint());
}
