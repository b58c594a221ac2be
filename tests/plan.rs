//! Plans against the plainest reading: ask both tables for every key there is.

mod common;

use std::collections::BTreeMap;

use common::Rng;
use common::model::ModelNode;
use common::schemes::Weak;
use ringway::scheme::{AnyScheme, KeyTag, MatchRule, Native, Scheme, SchemeOptions, Tagged, Xxh3};
use ringway::{Node, Plan, Point, Ring, Share, Table};

const RULES: [MatchRule; 3] = [MatchRule::AtOrAfter, MatchRule::After, MatchRule::Nearest];

fn table<S: Scheme>(scheme: &S, nodes: &[ModelNode]) -> Table<u32, S> {
    let specs = nodes.iter().map(ModelNode::spec);
    Ring::builder().scheme(scheme.clone()).nodes(specs).build_table().expect("few nodes")
}

fn some_nodes(rng: &mut Rng) -> Vec<ModelNode> {
    let node = |n: usize, rng: &mut Rng| ModelNode {
        active_points: Some(rng.number(8)),
        ..ModelNode::new(format!("node{n}"))
    };
    let kept: Vec<usize> = (0..6).filter(|_| rng.percent(60)).collect();
    kept.into_iter().map(|n| node(n, rng)).collect()
}

type Owners = (Option<String>, Option<String>);

fn owners<S: Scheme>(old: &Table<u32, S>, new: &Table<u32, S>, point: S::Point) -> Owners {
    let id = |node: Option<&Node<u32>>| node.map(|node| node.id().to_string());
    (id(old.owner_at(point)), id(new.owner_at(point)))
}

fn planned<P: Point>(plan: &Plan<P>, point: P) -> Option<Owners> {
    let ids = |arc: &ringway::MovedArc<P>| {
        (arc.old_owner().map(ToString::to_string), arc.new_owner().map(ToString::to_string))
    };
    plan.arc_of(point).map(ids)
}

/// Everything of the plan that must add up, with the shares of the tables.
fn check_sums<S: Scheme>(old: &Table<u32, S>, new: &Table<u32, S>, plan: &Plan<S::Point>) {
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

#[test]
fn every_key_moves_as_planned() {
    let mut rng = Rng::new(0x9A4);
    for round in 0..600 {
        let rule = RULES[round % 3];
        // All points lie below 256, so that every key up to there can be asked for, and one stands for all others; or
        // likewise at the top.
        let low = round % 2 == 0;
        let place = if low { |hash| u32::from(hash) } else { |hash| u32::MAX - u32::from(hash) };
        let scheme = Weak { name: "weak", place, rule };
        let (before, after) = (some_nodes(&mut rng), some_nodes(&mut rng));
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
        assert_eq!(plan.moved().points(), moved, "{rule:?}, round {round}");
        assert_eq!(plan.is_empty(), moved == 0);
    }
}

#[test]
fn wide_circles_add_up() {
    let mut rng = Rng::new(0x9A5);
    for round in 0..120 {
        let rule = RULES[round % 3];
        let ends = |hash: u8| if hash.is_multiple_of(2) { u128::from(hash) } else { u128::MAX - u128::from(hash) };
        let scheme = Weak { name: "weak", place: ends, rule };
        let (old, new) = (table(&scheme, &some_nodes(&mut rng)), table(&scheme, &some_nodes(&mut rng)));
        let plan = Plan::between(&old, &new).unwrap();
        check_sums(&old, &new, &plan);
        for step in 0..300 {
            for point in [step, u128::MAX - step, u128::MAX / 2 - 150 + step] {
                let owners = owners(&old, &new, point);
                assert_eq!(planned(&plan, point), (owners.0 != owners.1).then_some(owners), "{rule:?} at {point}");
            }
        }
    }
}

#[test]
fn a_node_that_joins_or_leaves_moves_the_minimum() {
    let nodes: Vec<ModelNode> = (0..10).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let scheme = Native::new();
    let (less, more) = (table(&scheme, &nodes[..9]), table(&scheme, &nodes));
    for (old, new) in [(&less, &more), (&more, &less)] {
        let plan = Plan::between(old, new).unwrap();
        assert_eq!(plan.moved(), plan.minimum());
        let tenth = more.shares().iter().find(|(node, _)| *node.id() == "node-9").map(|&(_, share)| share);
        assert_eq!(Some(plan.moved()), tenth);
        assert_eq!(plan.flows().len(), 9);
    }
    assert!(Plan::between(&more, &more).unwrap().is_empty());
}

#[test]
fn all_or_nothing() {
    let scheme = Native::new();
    let (none, some) = (table(&scheme, &[]), table(&scheme, &[ModelNode::new("a")]));
    let plan = Plan::between(&none, &some).unwrap();
    assert!(plan.moved().is_whole() && plan.minimum().is_whole());
    assert_eq!(plan.flows().len(), 1);
    assert_eq!((plan.flows()[0].from(), plan.flows()[0].to().map(|id| id.as_str())), (None, Some("a")));
    let plan = Plan::between(&some, &none).unwrap();
    assert!(plan.moved().is_whole() && plan.minimum().is_whole());
    assert!(Plan::between(&none, &none).unwrap().is_empty());
    // One owner, many points: one arc, the whole circle.
    let plan = Plan::between(&some, &table(&scheme, &[ModelNode::new("b")])).unwrap();
    assert_eq!(plan.arcs().len(), 1);
    assert!(plan.arcs()[0].share().is_whole() && plan.moved().is_whole());
}

#[test]
fn tables_that_map_keys_otherwise_are_refused() {
    let nodes = [ModelNode::new("a"), ModelNode::new("b")];
    let native = table(&Native::new(), &nodes);
    let error = Plan::between(&native, &table(&Xxh3::new(), &nodes)).unwrap_err();
    assert_eq!((error.old.as_str(), error.new.as_str()), ("native", "xxh3"));
    let tagged = |open, close| table(&Tagged::new(Native::new(), KeyTag::new(open, close)), &nodes);
    assert!(Plan::between(&native, &tagged(b'{', b'}')).is_err());
    assert!(Plan::between(&tagged(b'<', b'>'), &tagged(b'{', b'}')).is_err());
    assert!(Plan::between(&tagged(b'{', b'}'), &tagged(b'{', b'}')).is_ok());
    // Rings of several systems have one key map.
    let named = |name: &str, options: &mut SchemeOptions| {
        let Some(AnyScheme::U32(scheme)) = AnyScheme::named(name, options).unwrap() else { panic!("{name}") };
        table(&scheme, &["10.0.0.1:80", "10.0.0.2:80"].map(ModelNode::new))
    };
    let plain = |name: &str| named(name, &mut SchemeOptions::new());
    for group in [
        &["nginx-chash", "pingora-v1", "pingora-v2", "resty-chash", "groupcache"][..],
        &["libketama", "uhashring-ketama", "hash_ring"],
        &["cpp-map-upper", "cpp-map-lower"],
    ] {
        for (a, b) in group.iter().flat_map(|a| group.iter().map(move |b| (a, b))) {
            assert!(Plan::between(&plain(a), &plain(b)).is_ok(), "{a}, {b}");
        }
    }
    for (a, b) in [("nginx-chash", "libketama"), ("cpp-map-upper", "cpp-murmur-lower"), ("libketama", "libmemcached")] {
        assert!(Plan::between(&plain(a), &plain(b)).is_err(), "{a}, {b}");
    }
    let spaced = named("libmemcached", &mut SchemeOptions::new().with("namespace", "app:"));
    assert!(Plan::between(&plain("libmemcached"), &spaced).is_err());
    let points = |points: u32| named("pingora-v2", &mut SchemeOptions::new().with("point_multiple", points));
    assert!(Plan::between(&points(40), &points(80)).is_ok());
    // Points per weight decide where nodes lie, not keys.
    assert!(Plan::between(&native, &table(&Native::new().with_points_per_weight(7), &nodes)).is_ok());
}

#[test]
fn a_sample_weighs_what_it_says() {
    let scheme = Native::new();
    let nodes: Vec<ModelNode> = (0..5).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let (old, new) = (table(&scheme, &nodes[1..]), table(&scheme, &nodes[..4]));
    let plan = Plan::between(&old, &new).unwrap();
    let mut expected: BTreeMap<Owners, u128> = BTreeMap::new();
    let keys: Vec<(String, u64)> = (0..5000).map(|n| (format!("key-{n}"), n % 17)).collect();
    for (key, size) in &keys {
        let owners = owners(&old, &new, scheme.key_point(key.as_bytes()));
        if owners.0 != owners.1 {
            *expected.entry(owners).or_default() += u128::from(*size);
        }
    }
    let weights = plan.weigh(keys.iter().map(|(key, size)| (scheme.key_point(key.as_bytes()), *size)));
    assert_eq!(weights.total, keys.iter().map(|(_, size)| u128::from(*size)).sum());
    assert_eq!(weights.moved, expected.values().sum());
    let id = |id: &Option<ringway::NodeId>| id.as_ref().map(ToString::to_string);
    let found: BTreeMap<Owners, u128> = weights.flows.iter().map(|(from, to, n)| ((id(from), id(to)), *n)).collect();
    expected.retain(|_, weight| *weight > 0);
    assert_eq!(found.into_iter().filter(|(_, weight)| *weight > 0).collect::<BTreeMap<_, _>>(), expected);
}
