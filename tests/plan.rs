//! Plans against the plainest reading: ask both tables for every key there is.

mod common;

use std::collections::BTreeMap;

use common::Rng;
use common::model::ModelNode;
use common::plans::{self, Owners, RULES, check_sums, owners, planned, some_nodes, table};
use common::schemes::Weak;
use ringway::Plan;
use ringway::scheme::{AnyScheme, KeyTag, Native, Scheme, SchemeOptions, Tagged, Xxh3};

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
