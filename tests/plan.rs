//! Plans against the plainest reading: ask both tables for every key there is.

mod common;

use std::collections::BTreeMap;

use common::Rng;
use common::model::ModelNode;
use common::plans::{self, Owners, RULES, check_sums, owners, planned, some_nodes, table};
use common::schemes::Weak;
use ringway::scheme::{AnyScheme, Conhash, KeyTag, Native, Scheme, SchemeOptions, Tagged, Xxh3};
use ringway::{CommitError, Delta, DryRunError, Limits, NodeSpec, Pins, Plan, Ring, State};

#[test]
fn every_key_moves_as_planned() {
    let mut rng = Rng::new(0x9A4);
    for round in 0..600 {
        plans::small_circle(&mut rng, RULES[round % 3], round % 2 == 0);
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

/// Against counting by hand, with other schemes and other widths of the circle.
#[test]
fn a_sample_of_other_key_maps_is_counted() {
    let nodes: Vec<ModelNode> = (0..5).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let (old, new) = (table(&Native::new(), &nodes[1..]), table(&Conhash::new(), &nodes[..4]));
    let keys: Vec<(String, u64)> = (0..5000).map(|n| (format!("key-{n}"), n % 17)).collect();
    let id = |node: Option<&ringway::Node<u32>>| node.map(|node| node.id().to_string());
    let mut expected: BTreeMap<Owners, (u64, u128)> = BTreeMap::new();
    let (mut total, mut moved) = (0u128, 0u128);
    for (key, size) in &keys {
        let owners = (id(old.owner(key.as_bytes())), id(new.owner(key.as_bytes())));
        total += u128::from(*size);
        if owners.0 != owners.1 {
            moved += u128::from(*size);
            let flow = expected.entry(owners).or_default();
            *flow = (flow.0 + 1, flow.1 + u128::from(*size));
        }
    }
    let sample = Plan::sampled(&old, &new, keys.iter().map(|(key, size)| (key, *size)));
    assert_eq!((sample.keys(), sample.total(), sample.moved()), (5000, total, moved));
    assert_eq!(sample.moved_keys(), expected.values().map(|(keys, _)| keys).sum::<u64>());
    let ids = |id: Option<&ringway::NodeId>| id.map(ToString::to_string);
    let flows = sample.flows().iter().map(|flow| ((ids(flow.from()), ids(flow.to())), (flow.keys(), flow.weight())));
    assert!(flows.eq(expected), "in the order of ids");
    // The sum of all squares, one by one.
    let fraction = moved as f64 / total as f64;
    assert!((sample.moved_fraction() - fraction).abs() < 1e-12);
    let square = |(key, size): &(String, u64)| {
        let moves = if id(old.owner(key.as_bytes())) == id(new.owner(key.as_bytes())) { 0.0 } else { 1.0 };
        (*size as f64 * (moves - fraction)).powi(2)
    };
    let error = keys.iter().map(square).sum::<f64>().sqrt() / total as f64;
    assert!((sample.standard_error() - error).abs() < 1e-12);
}

/// Wilson's interval from a table: 10 of 100 are 5.52 % to 17.44 %, 0 of 20 up to 16.11 %, 20 of 20 from 83.89 % on.
#[test]
fn a_sample_says_how_sure_it_is() {
    let nodes: Vec<ModelNode> = (0..4).map(|n| ModelNode::new(format!("node-{n}"))).collect();
    let (old, new) = (table(&Native::new(), &nodes), table(&Xxh3::new(), &nodes));
    let keys: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    let moves = |key: &&String| old.owner(key.as_bytes()).map(|n| n.id()) != new.owner(key.as_bytes()).map(|n| n.id());
    let (moving, staying): (Vec<_>, Vec<_>) = keys.iter().partition(moves);
    let sample = |moved: usize, stayed: usize, weight: u64| {
        Plan::sampled(&old, &new, moving[..moved].iter().chain(&staying[..stayed]).map(|key| (key, weight)))
    };
    let near = |a: f64, b: f64| (a - b).abs() < 5e-5;
    for weight in [1, 4096] {
        for ((moved, stayed), (low, high)) in
            [((10, 90), (0.0552, 0.1744)), ((0, 20), (0.0, 0.1611)), ((20, 0), (0.8389, 1.0))]
        {
            let found = sample(moved, stayed, weight).confidence_interval();
            assert!(near(found.0, low) && near(found.1, high), "{moved} of {}: {found:?}", moved + stayed);
        }
        assert!(near(sample(10, 90, weight).standard_error(), 0.03), "√(0.1 · 0.9 / 100)");
        assert_eq!(sample(20, 0, weight).standard_error(), 0.0);
    }
    for nothing in [sample(0, 0, 1), sample(3, 3, 0)] {
        assert_eq!((nothing.moved_fraction(), nothing.standard_error()), (0.0, 0.0));
        assert_eq!(nothing.confidence_interval(), (0.0, 1.0));
    }
    // The largest weights there are.
    let most = sample(10, 10, u64::MAX);
    assert_eq!((most.total(), most.moved()), (20 * u128::from(u64::MAX), 10 * u128::from(u64::MAX)));
    assert!(near(most.moved_fraction(), 0.5) && near(most.standard_error(), 0.1118));
}

/// The estimate is the double sum over pairs of different nodes, and close to the truth if key maps are independent.
#[test]
fn the_estimate_is_the_sum_over_pairs() {
    let weighted = |weights: &[u32]| -> Vec<ModelNode> {
        let node = |(n, weight): (usize, &u32)| ModelNode { weight: *weight, ..ModelNode::new(format!("node-{n}")) };
        weights.iter().enumerate().map(node).collect()
    };
    let (old, new) =
        (table(&Native::new(), &weighted(&[1, 2, 3, 4])), table(&Conhash::new(), &weighted(&[4, 1, 1, 1, 5])));
    let mut pairs = 0.0;
    for (a, share) in old.shares() {
        for (b, other) in new.shares() {
            pairs += if a.id() == b.id() { 0.0 } else { share.fraction() * other.fraction() };
        }
    }
    let estimate = Plan::estimated(&old, &new).moved_fraction();
    assert!((estimate - pairs).abs() < 1e-12, "{estimate} {pairs}");
    let sample = Plan::sampled(&old, &new, (0..20_000).map(|n| (n.to_string(), 1)));
    assert!((sample.moved_fraction() - estimate).abs() < 4.0 * sample.standard_error());
    let none = table(&Native::new(), &[]);
    assert_eq!(Plan::estimated(&none, &new).moved_fraction(), 1.0);
    assert_eq!(Plan::estimated(&new, &none).moved_fraction(), 1.0);
    assert_eq!(Plan::estimated(&none, &none).moved_fraction(), 0.0);
}

#[test]
fn pins_that_lead_elsewhere_are_listed() {
    let pins = Pins::new().with_key("k", "a").and_then(|pins| pins.with_prefix("p:", "b"));
    let pins = pins.and_then(|pins| pins.with_prefix("q:", "c")).unwrap();
    let (mut writer, _handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).pins(pins).build().unwrap();
    let next = Pins::new().with_key("k", "b").and_then(|pins| pins.with_prefix("p:", "b"));
    let next = next.and_then(|pins| pins.with_key("p:", "c")).unwrap();
    let listed = |plan: &Plan| {
        let pin = |pin: &ringway::MovedPin| {
            let id = |id: Option<&ringway::NodeId>| id.map_or("-".to_owned(), ToString::to_string);
            let kind = if pin.is_prefix() { "prefix" } else { "key" };
            format!("{kind} {} {} {}", pin.bytes().escape_ascii(), id(pin.old_node()), id(pin.new_node()))
        };
        plan.pins().iter().map(pin).collect::<Vec<_>>()
    };
    let delta = Delta::new().with_pins(next.clone());
    let plan = writer.plan(&delta).unwrap();
    assert_eq!(listed(&plan), ["key k a b", "key p: - c", "prefix q: c -"]);
    assert!(plan.is_empty() && plan.moved().points() == 0, "no arc moves");
    writer.commit(delta).unwrap();
    // A pin sleeps once its node is gone, and wakes up again.
    let plan = writer.plan(&Delta::new().remove("b")).unwrap();
    assert_eq!(listed(&plan), ["key k b -", "prefix p: b -"]);
    writer.commit(Delta::new().remove("b")).unwrap();
    assert_eq!(listed(&writer.plan(&Delta::new().add(NodeSpec::new("b"))).unwrap()), ["key k - b", "prefix p: - b"]);
    assert!(listed(&writer.plan(&Delta::new().set_weight("a", 2)).unwrap()).is_empty());
}

/// A dry run says what the commit then does, and leaves all as it was.
#[test]
fn a_dry_run_is_what_the_commit_does() {
    let limits = Limits::DEFAULT.with_nodes(4);
    let nodes = (0..4).map(|n| NodeSpec::new(format!("n{n}")).with_payload(n.to_string()));
    let (mut writer, handle) = Ring::builder().limits(limits).nodes(nodes).build().unwrap();
    let mut reader = handle.reader();
    let deltas = [
        Delta::new().remove("n1").add(NodeSpec::new("n9").with_payload("9".to_owned())),
        Delta::new().set_weight("n0", 3),
        Delta::new().set_payload("n0", "x".to_owned()),
        Delta::new().set_state("n2", State::Down),
        Delta::new(),
        Delta::new().set_weight("n0", 3),
    ];
    for delta in deltas {
        let (before, version, live) =
            (writer.snapshot(), writer.version(), reader.table().node("n2").unwrap().health());
        let kept = delta.clone();
        let plan = writer.plan(&delta).unwrap();
        assert_eq!((writer.version(), reader.version()), (version, version));
        assert_eq!((before.node("n2").unwrap().health(), &kept), (live, &delta));
        assert_eq!(Plan::between(&before, writer.table()).unwrap().moved().points(), 0);
        writer.commit(delta).unwrap();
        assert_eq!(Plan::between(&before, writer.table()).unwrap(), plan);
    }
    for delta in [
        Delta::new().add(NodeSpec::new("fifth").with_payload(String::new())),
        Delta::new().remove("nobody"),
        Delta::new().set_weight("n0", u32::MAX),
        Delta::new().remove("n0").set_weight("n0", 1),
    ] {
        let DryRunError::Invalid(error) = writer.plan(&delta).unwrap_err() else { panic!("{delta:?}") };
        assert!(matches!(writer.commit(delta), Err(CommitError::Invalid { error: refused, .. }) if refused == error));
    }
}
