//! What users of other rings complained about, as tests: the kind of fault, named with where it was reported.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use common::Rng;
use common::schemes::Spied;
use ringway::layout::Auto;
use ringway::{Bound, Delta, Native, Node, NodeSpec, Ring, State, Table};

fn table(nodes: usize, points: u32) -> Table {
    let nodes = (0..nodes).map(|n| NodeSpec::new(format!("n{n}")));
    Ring::builder().points_per_weight(points).nodes(nodes).build_table().unwrap()
}

fn id(node: Option<&Node>) -> &str {
    node.expect("a node takes it").id().as_str()
}

fn set(node: &Node, up: bool) {
    node.set_health(if up { State::Up } else { State::Down });
}

/// envoy#2874: a storm of health changes rebuilds the ring over and over. envoy#45055, #45212: what is coalesced to avoid
/// that leaves a stale ring. Here 2,000 nodes flap 20,000 times while a reader routes; no table is built, and each change
/// is seen by the next lookup.
#[test]
fn a_storm_of_flaps_builds_no_table_and_is_seen_at_once() {
    let scheme = Spied::new(Native::new().with_points_per_weight(20));
    let nodes = (0..2000).map(|n| NodeSpec::new(format!("n{n}")));
    let (mut writer, handle) =
        Ring::builder().scheme(scheme.clone()).layout::<Auto<u32>>().nodes(nodes).build().unwrap();
    let (assigned, version) = (scheme.spy().assigned, writer.version());
    let (done, routed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (handle, done, routed) = (&handle, &done, &routed);
        scope.spawn(move || {
            let mut reader = handle.reader();
            while !done.load(Relaxed) {
                let key = routed.fetch_add(1, Relaxed).to_string();
                assert!(reader.route(key.as_bytes()).is_some());
                assert_eq!(reader.version(), version);
            }
        });
        let (mut reader, mut rng) = (handle.reader(), Rng::new(2874));
        let mut up = vec![true; 2000];
        for flip in 0..20_000 {
            let n = rng.below(2000);
            up[n] = !up[n];
            set(writer.table().node(&format!("n{n}")).unwrap(), up[n]);
            let key = flip.to_string();
            let seen = reader.route(key.as_bytes()).unwrap().id().as_str()[1..].parse::<usize>().unwrap();
            assert!(up[seen], "a node that went down is still routed to");
        }
        for n in 0..2000 {
            set(writer.table().node(&format!("n{n}")).unwrap(), true);
        }
        for key in 0..1000 {
            let key = key.to_string();
            assert_eq!(
                id(reader.table().route(key.as_bytes())),
                id(writer.table().owner(key.as_bytes())),
                "the old map"
            );
        }
        done.store(true, Relaxed);
    });
    assert!(routed.into_inner() > 0);
    assert_eq!((scheme.spy().assigned, writer.version(), writer.counts().live), (assigned, version, 1));
    assert_eq!(writer.reclaim(), 0);
}

/// envoy#10559: a retry is sent to the host that just failed.
#[test]
fn a_retry_never_goes_where_an_attempt_went() {
    let table = table(5, 40);
    set(table.node("n3").unwrap(), false);
    for key in 0..200 {
        let (key, mut tried) = (key.to_string(), BTreeSet::new());
        while let Some(node) = table.route_excluding(key.as_bytes(), |node| tried.contains(node.id())) {
            assert!(tried.insert(node.id().clone()), "{key}: {node:?} twice");
        }
        assert_eq!(tried.len(), 4);
        let all: BTreeSet<_> = table.successors(key.as_bytes()).map(|node| node.id()).collect();
        assert_eq!(all.len(), 5);
    }
}

/// envoy#38815: a host that is down isn't passed by. envoy#41965: with all hosts down each request burns the processor.
#[test]
fn nodes_that_are_down_are_passed_by_and_all_down_is_no_work() {
    let table = table(50, 160);
    let before: Vec<&str> = (0..500).map(|key| id(table.owner(key.to_string().as_bytes()))).collect();
    for down in 0..50 {
        set(table.node(&format!("n{down}")).unwrap(), false);
        let looked_at = AtomicU64::new(0);
        for (key, &owner) in before.iter().enumerate() {
            let key = key.to_string();
            let found = table.route_excluding(key.as_bytes(), |_| {
                looked_at.fetch_add(1, Relaxed);
                false
            });
            match found {
                Some(node) => {
                    assert!(node.health() == State::Up && (down < owner[1..].parse().unwrap() || node.id() != owner))
                }
                None => assert_eq!(down, 49),
            }
        }
        assert!(down < 49 || looked_at.into_inner() == 0, "nobody is asked if nobody is up");
    }
}

/// grafana/dskit#285: once a zone is gone each walk looks at every token. 2,000,000 points here: if a lookup looked at all,
/// 100,000 lookups would take minutes.
#[test]
fn a_zone_that_is_gone_does_not_make_walks_long() {
    for gone in [State::Up, State::Down] {
        let node = |n: usize| {
            let zone = ["a", "b", "c"][n % 3];
            let node = NodeSpec::new(format!("n{n}")).with_zone([zone]);
            // Up without points, or down with points.
            if zone == "c" { node.with_weight(u32::from(gone == State::Down)).with_state(gone) } else { node }
        };
        let ring = Ring::builder().points_per_weight(20_000).nodes((0..100).map(node));
        let table = ring.build_table().unwrap();
        let lookups = if gone == State::Up { 100_000 } else { 5_000 };
        for key in 0..lookups {
            let mut out = [None; 3];
            assert_eq!(table.healthy_zone_replicas(&u32::to_le_bytes(key), &mut out), 3);
            let zones = out.map(|node: Option<&Node>| node.unwrap().info().zone()[0].as_str());
            assert!(zones[0] != zones[1] && zones.iter().all(|zone| *zone != "c"), "{zones:?}");
        }
    }
}

/// cortex#5429: losing a zone moves more than one replica of a key.
#[test]
fn losing_a_zone_moves_one_replica_at_most() {
    for zones in [3, 4] {
        let nodes = || (0..24).map(|n| NodeSpec::new(format!("n{n}")).with_zone([format!("z{}", n % zones)]));
        let whole = Ring::builder().points_per_weight(60).nodes(nodes()).build_table().unwrap();
        for lost in 0..zones {
            let lost = format!("z{lost}");
            let rest = nodes().filter(|node| node.info().zone()[0] != lost);
            let rest = Ring::builder().points_per_weight(60).nodes(rest).build_table().unwrap();
            for key in 0..500u32 {
                let replicas = |table: &Table| -> BTreeSet<String> {
                    let mut out = [None; 3];
                    assert_eq!(table.zone_replicas(&key.to_le_bytes(), &mut out), 3);
                    out.iter().flatten().map(|node| node.id().to_string()).collect()
                };
                let (before, after) = (replicas(&whole), replicas(&rest));
                let in_lost = before.iter().filter(|id| whole.node(id).unwrap().info().zone()[0] == lost).count();
                assert!(in_lost <= 1);
                assert_eq!(before.difference(&after).count(), in_lost, "only what was in the lost zone moves");
            }
        }
    }
}

/// mcrouter#106: one hot key overloads one server.
#[test]
fn a_hot_key_is_served_by_several_nodes() {
    let (table, mut rng) = (table(20, 100), Rng::new(106));
    let mut hits: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..4000 {
        *hits.entry(id(table.spread(b"hot", 4, rng.next()))).or_default() += 1;
    }
    assert!(hits.len() == 4 && hits.values().all(|&n| n > 800), "{hits:?}");
}

/// brpc#3502, haproxy#2893: bounded load that isn't, under skewed keys or weights, or with servers down.
#[test]
fn one_hot_key_overloads_no_node() {
    let nodes = (0..8).map(|n| NodeSpec::new(format!("n{n}")).with_weight([1, 1, 1, 40][n % 4]));
    let table = Ring::builder().points_per_weight(20).nodes(nodes).build_table().unwrap();
    for n in [0, 3] {
        set(table.node(&format!("n{n}")).unwrap(), false);
    }
    let bound = Bound::percent(125).unwrap();
    // Weights that are up: 1, 1, 1, 1, 1 and 40.
    let mut held = Vec::new();
    for in_flight in 1..=2000u64 {
        let admission = table.admit(b"hot", bound).unwrap();
        let node = admission.node();
        let capacity = (125 * in_flight * u64::from(node.info().weight())).div_ceil(100 * 45);
        assert!(node.health() == State::Up && node.in_flight() <= capacity, "{node:?} of {in_flight}");
        held.push(admission.into_permit());
    }
}

/// hashring-rs#31: one node is listed twice among a key's replicas. kong#14957: the walk skips a slot. mpchash: the first
/// replica isn't the owner. stathat/consistent#32: asking for more members than there are never ends.
#[test]
fn replicas_are_all_nodes_once_from_the_owner_on() {
    for nodes in 1..40 {
        let table = table(nodes, 3);
        for key in 0..60u32 {
            let key = key.to_le_bytes();
            let mut out = vec![None; nodes + 10];
            assert_eq!(table.replicas(&key, &mut out), nodes);
            let ids: Vec<&str> = out[..nodes].iter().map(|node| id(*node)).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), nodes, "{ids:?}");
            assert_eq!(ids[0], id(table.owner(&key)));
            assert_eq!(table.successors(&key).map(|node| node.id().as_str()).collect::<Vec<_>>(), ids);
            // Next is who owns the key without those before.
            let fewer = Ring::builder().points_per_weight(3);
            let fewer = fewer.nodes((0..nodes).map(|n| format!("n{n}")).filter(|n| n != ids[0]).map(NodeSpec::new));
            let fewer = fewer.build_table().unwrap();
            assert_eq!(ids.get(1).copied(), fewer.owner(&key).map(|node| node.id().as_str()));
        }
    }
}

/// twemproxy#563: with all servers ejected it crashes.
#[test]
fn all_nodes_ejected_is_an_answer() {
    let table = table(3, 100);
    for up in [true, false, true] {
        table.nodes().for_each(|node| set(node, up));
        assert_eq!(table.route(b"key").is_some(), up);
        assert_eq!(table.route_new(b"key").is_some(), up);
        assert_eq!(table.spread(b"key", 2, 7).is_some(), up);
        assert_eq!(table.admit(b"key", Bound::percent(100).unwrap()).is_ok(), up);
        let mut out = [None; 3];
        assert_eq!(table.healthy_replicas(b"key", &mut out), if up { 3 } else { 0 });
        assert_eq!((table.replicas(b"key", &mut out), table.owner(b"key").is_some()), (3, true));
    }
}

/// pingora#821 and its commit c469430: health and counters are lost when the set of backends is updated.
#[test]
fn health_and_counts_survive_updates() {
    let (mut writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build().unwrap();
    let snapshot = handle.snapshot();
    let a = snapshot.node("a").unwrap();
    a.set_health(State::Down);
    let permit = snapshot.node("b").unwrap().enter();
    for round in 0..20 {
        let list =
            ["a", "b", "c", "d"].map(|id| NodeSpec::new(id).with_weight(1 + round % 3).with_address(round.to_string()));
        writer.replace_all(list).unwrap();
        let table = writer.table();
        assert_eq!(table.node("a").unwrap().health(), State::Down);
        assert_eq!((table.node("b").unwrap().in_flight(), table.in_flight()), (1, 1));
        assert!((0..200u32).all(|key| id(table.route(&key.to_le_bytes())) != "a"));
    }
    // An older table's handle sets the same state.
    a.set_health(State::Up);
    assert!((0..200u32).any(|key| id(writer.table().route(&key.to_le_bytes())) == "a"));
    a.set_health(State::Down);

    // Removed and added again it is a new node, and the old handles are of the old one.
    writer.commit(Delta::new().remove("a").remove("b")).unwrap();
    assert_eq!(writer.table().in_flight(), 0);
    assert!((0..200u32).all(|key| id(snapshot.route(&key.to_le_bytes())) != "a"), "old tables know it is down");
    writer.commit(Delta::new().add(NodeSpec::new("a")).add(NodeSpec::new("b"))).unwrap();
    let table = writer.table();
    assert_eq!((table.node("a").unwrap().health(), table.node("b").unwrap().in_flight()), (State::Up, 0));
    drop(permit);
    assert_eq!((table.node("b").unwrap().in_flight(), table.in_flight()), (0, 0));
}

/// zalando/skipper#1796: with one point per node one node gets 94 % of all requests. More points make shares even, and a
/// bound holds however few there are.
#[test]
fn few_points_overload_no_node_under_a_bound() {
    let spread = |table: &Table| {
        let most = table.shares().iter().map(|(_, share)| share.fraction()).fold(0.0, f64::max);
        most * table.node_count() as f64
    };
    let (one, usual) = (table(4, 1), table(4, 512));
    println!("the largest share is {:.2} of the fair one with 1 point, {:.2} with 512", spread(&one), spread(&usual));
    assert!(spread(&one) > 1.5 && spread(&usual) < 1.2);
    let permits: Vec<_> = (0..1000u32)
        .map(|key| one.admit(&key.to_le_bytes(), Bound::percent(110).unwrap()).unwrap().into_permit())
        .collect();
    assert!(one.nodes().all(|node| node.in_flight() <= 275), "⌈1.1 · 1000 / 4⌉");
    drop(permits);
}

/// With less of the weight up than the threshold, health is ignored rather than the few that are left overrun.
#[test]
fn in_panic_health_is_ignored() {
    let nodes = (0..10).map(|n| NodeSpec::new(format!("n{n}")).with_weight(1 + n / 5));
    let (mut writer, handle) = Ring::builder().panic_threshold(50).nodes(nodes).build().unwrap();
    let mut reader = handle.reader();
    // Weights: five of 1, five of 2. Half of 15 is 7.5.
    for (down, up, panic) in [(3, 12, false), (6, 8, false), (7, 6, true), (10, 0, true)] {
        for n in 0..10 {
            set(writer.table().node(&format!("n{n}")).unwrap(), n >= down);
        }
        let weight: u32 = writer.table().nodes().filter(|n| n.health() == State::Up).map(|n| n.info().weight()).sum();
        assert_eq!((weight, reader.table().is_in_panic()), (up, panic));
        for key in 0..200u32 {
            let (key, table) = (key.to_le_bytes(), reader.table());
            let routed = table.route(&key).unwrap();
            assert!(if panic { routed.id() == id(table.owner(&key)) } else { routed.health() == State::Up });
        }
    }
    writer.commit(Delta::new().set_weight("n0", 9)).unwrap();
    assert!(reader.table().is_in_panic(), "handed on from table to table");
}

/// With a scheme that rebuilds, a configured `Down` takes the node's points away, as the docs of `State` say; a live mark
/// leaves them, and keys step on.
#[test]
fn only_the_configured_state_rebuilds_a_ring() {
    let nodes = (0..5).map(|n| NodeSpec::new(format!("10.0.0.{n}:11211")));
    let scheme = ringway::scheme::Libketama::new();
    let builder = Ring::builder().scheme(scheme).layout::<Auto<u32>>();
    let (mut writer, _handle) = builder.nodes(nodes).build().unwrap();
    let gone = "10.0.0.2:11211";
    let points = writer.table().len();
    writer.table().node(gone).unwrap().set_health(State::Down);
    assert_eq!(writer.table().len(), points);
    let next = |table: &Table<(), _, Auto<u32>>, key: &[u8]| {
        table.successors(key).map(|node| node.id().to_string()).find(|id| id != gone)
    };
    for key in 0..500u32 {
        let (key, table) = (key.to_le_bytes(), writer.table());
        assert_eq!(table.route(&key).map(|node| node.id().to_string()), next(table, &key));
    }
    writer.commit(Delta::new().set_state(gone, State::Down)).unwrap();
    assert_eq!(writer.table().points_of(gone), Some(0));
}
