//! What users of other rings complained about in changes, as tests: the kind of fault, named with where it was reported.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::Rng;
use common::schemes::Weak;
use ringway::scheme::{CppMapUpper, Groupcache, GrpcRingHash, Libketama, MatchRule, Scheme, TwemproxyKetama};
use ringway::{
    Balance, CommitError, Delta, DeltaError, DryRunError, Limits, Native, NodeError, NodeSpec, Pins, Plan, Point, Ring,
    State, Table,
};

fn node(id: impl Into<String>, weight: u32) -> NodeSpec {
    NodeSpec::new(id.into()).with_weight(weight)
}

fn table<S: Scheme>(scheme: S, nodes: impl IntoIterator<Item = NodeSpec>) -> Table<(), S> {
    Ring::builder().scheme(scheme).nodes(nodes).build_table().unwrap()
}

fn native(nodes: impl IntoIterator<Item = NodeSpec>) -> Table {
    table(Native::new(), nodes)
}

fn after<S: Scheme>(table: &Table<(), S>, delta: Delta<()>) -> Table<(), S> {
    table.apply(delta, &Limits::DEFAULT).map_err(|(error, _)| error).unwrap().expect("it changes something").table
}

/// How much goes from a node that the change doesn't touch to another such node, as a fraction of the circle.
fn collateral<P: Point>(plan: &Plan<P>, touched: &[&str]) -> f64 {
    let is_touched = |id: Option<&ringway::NodeId>| id.is_none_or(|id| touched.contains(&id.as_str()));
    let flows = plan.flows().iter().filter(|flow| !is_touched(flow.from()) && !is_touched(flow.to()));
    flows.map(|flow| flow.share().fraction()).sum()
}

/// envoy#22558: a host is removed, and keys move between two that stay. RJ/ketama#13, memcached#873: with weights, the
/// number of points of each server depends on all servers. Here nothing moves but to or from the nodes that change; where a
/// drop-in scheme has the fault, the plan shows it before it happens.
#[test]
fn keys_of_untouched_nodes_stay() {
    let nodes = || (0..10u32).map(|n| node(format!("n{n}"), 1 + n % 3));
    let changes = |n: u32| {
        let id = format!("n{n}");
        [
            Delta::new().remove(&*id),
            Delta::new().set_weight(&*id, 7),
            Delta::new().set_weight(&*id, 0),
            Delta::new().set_active_points(&*id, 100),
        ]
    };
    let old = native(nodes());
    for n in 0..10 {
        for delta in changes(n) {
            let plan = Plan::between(&old, &after(&old, delta)).unwrap();
            assert_eq!(collateral(&plan, &[&format!("n{n}")]), 0.0);
            assert_eq!((plan.moved(), plan.is_empty()), (plan.minimum(), false));
        }
    }
    // Two at once, and one that joins.
    let plan = Plan::between(&old, &after(&old, Delta::new().remove("n1").add(node("new", 2)))).unwrap();
    assert_eq!(collateral(&plan, &["n1", "new"]), 0.0);

    let old = table(Libketama::new(), nodes());
    let new = after(&old, Delta::new().remove("n8"));
    let plan = Plan::between(&old, &new).unwrap();
    let found = collateral(&plan, &["n8"]);
    println!("libketama: {:.1} % of all keys move between nodes that stay", found * 100.0);
    assert!(found > 0.01 && plan.minimum() < plan.moved());
}

/// The weak scheme has 256 places, so that most points of a dozen nodes collide.
fn weak() -> Weak<u32> {
    Weak { name: "weak", place: u32::from, rule: MatchRule::AtOrAfter }
}

/// envoy#20703: the table depends on the order in which hosts are listed. grpc-go#6927: a client that was there through all
/// updates has another ring than one that starts anew. ringpop-go#196: of two equal points the one that was added first wins.
#[test]
fn neither_order_nor_history_decides() {
    let mut rng = Rng::new(6927);
    for _ in 0..40 {
        let mut nodes: Vec<(String, u32)> = (0..12).map(|n| (format!("n{n}"), 1 + rng.number(3))).collect();
        let list = |nodes: &[(String, u32)]| nodes.iter().map(|(id, weight)| node(&**id, *weight)).collect::<Vec<_>>();
        let fresh = table(weak(), list(&nodes));
        let collisions = fresh.len() - fresh.points().map(|(point, _)| point).collect::<BTreeSet<_>>().len();
        assert!(collisions > 50, "{collisions}");
        rng.shuffle(&mut nodes);
        let shuffled = table(weak(), list(&nodes));

        // One by one, each with a wrong weight first, and with others that come and go.
        let (mut writer, _handle) =
            Ring::builder().scheme(weak()).layout::<ringway::layout::Auto<u32>>().build().unwrap();
        for (id, weight) in &nodes {
            let passing = format!("x{}", rng.below(4));
            let here = writer.table().node(&passing).is_some();
            let delta = if here { Delta::new().remove(passing) } else { Delta::new().add(node(passing, 2)) };
            writer.commit(delta.add(node(&**id, 1 + rng.number(5)))).unwrap();
            writer.commit(Delta::new().set_weight(&**id, *weight)).unwrap();
        }
        writer.replace_all(list(&nodes)).unwrap();
        for other in [&shuffled, writer.table()] {
            assert!(Plan::between(&fresh, other).unwrap().is_empty());
            let points = |table: &Table<(), Weak<u32>>| {
                table.points().map(|(point, node)| (point, node.id().to_string())).collect::<Vec<_>>()
            };
            assert_eq!(points(&fresh), points(other));
            assert_eq!(fresh.placement_fingerprint(), other.placement_fingerprint());
        }
    }
}

/// go-zero#5595: a node is removed, and where its points collided with others' theirs are gone too.
#[test]
fn removal_leaves_a_neighbour_its_collided_points() {
    let all = table(weak(), (0..12).map(|n| node(format!("n{n}"), 2)));
    for n in 0..12 {
        let gone = format!("n{n}");
        let rest = after(&all, Delta::new().remove(&*gone));
        let of_others = |table: &Table<(), Weak<u32>>| {
            let others = table.points().filter(|(_, node)| *node.id() != *gone);
            others.map(|(point, node)| (point, node.id().to_string())).collect::<Vec<_>>()
        };
        assert_eq!((rest.len(), of_others(&all)), (all.len() - 32, of_others(&rest)));
        let plan = Plan::between(&all, &rest).unwrap();
        assert_eq!((collateral(&plan, &[&gone]), plan.moved()), (0.0, plan.minimum()));
        // What had lost to it is the owner now, and loses again once it is back.
        let back = after(&rest, Delta::new().add(node(&*gone, 2)));
        assert!(Plan::between(&all, &back).unwrap().is_empty());
    }
}

/// pingora#1006: one backend of weight 0 in an update panics, and no update is ever taken again. grpc-go#9357: weights whose
/// sum wraps to 0 make a ring that grows until memory is gone.
#[test]
fn zero_and_overflowing_weights_end_in_a_ring_or_an_error() {
    let (mut writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build().unwrap();
    let delta = Delta::new().set_weight("a", 0).add(node("z", 0));
    let plan = writer.plan(&delta).unwrap();
    assert_eq!((collateral(&plan, &["a"]), plan.moved()), (0.0, plan.minimum()));
    writer.commit(delta).unwrap();
    let mut reader = handle.reader();
    let owners: BTreeSet<String> =
        (0..500u32).map(|n| reader.owner(&n.to_le_bytes()).unwrap().id().to_string()).collect();
    assert_eq!(owners.into_iter().collect::<Vec<_>>(), ["b", "c"]);

    let version = writer.version();
    let too_large = Delta::new().set_weight("b", u32::MAX).set_weight("c", 1);
    let expected = DeltaError::Node(NodeError::WeightTooLarge { id: "b".into(), weight: u32::MAX, limit: 65_535 });
    assert_eq!(writer.plan(&too_large).unwrap_err(), DryRunError::Invalid(expected.clone()));
    let refused = writer.commit(too_large).unwrap_err();
    assert!(matches!(&refused, CommitError::Invalid { error, .. } if *error == expected), "{refused}");
    writer.commit(Delta::new().set_weight("b", 0).set_weight("c", 0)).unwrap();
    assert!(writer.version() > version && reader.owner(b"key").is_none(), "all weights 0: nobody, and no panic");
    writer.commit(Delta::new().set_weight("a", 1)).unwrap();
    assert_eq!(reader.owner(b"key").unwrap().id().as_str(), "a");

    // Where points are shares of the sum of weights: two of 2^31 add up to 2^32, which is refused, and not wrapped.
    let limits = Limits::DEFAULT.with_weight(u32::MAX);
    let shares = |weight: u32| {
        let nodes = ["10.0.0.1:80", "10.0.0.2:80"].map(|id| node(id, weight));
        Table::<(), GrpcRingHash>::build(GrpcRingHash::new(), nodes, &limits)
    };
    let halves = shares(i32::MAX as u32).unwrap();
    assert!(halves.nodes().all(|node| halves.points_of(node.id().as_str()) == Some(512)));
    for weight in [1 << 31, u32::MAX] {
        let refused = shares(weight).unwrap_err();
        assert!(matches!(&refused, DeltaError::Scheme(_)) && refused.to_string().contains("4294967295"), "{refused}");
        // And 2^40 points are refused before memory is taken.
        let refused = Table::<(), Native>::build(Native::new(), [node("a", weight), node("b", weight)], &limits);
        assert!(matches!(refused, Err(DeltaError::TooManyPoints { .. })), "{refused:?}");
    }
}

/// groupcache#29: with three points a node, one of two gets 63 % of the keys. The balance shows it, and 512 points don't.
#[test]
fn three_points_are_too_few_and_shown_to_be() {
    let larger = |balance: &Balance| {
        let shares = balance.nodes().iter().map(|node| node.share().fraction());
        shares.fold(0.0, f64::max)
    };
    let mut rng = Rng::new(29);
    // Of names of various lengths: CRC32 places those that differ in one character alone in one pattern.
    let mut name =
        || ["10", &rng.number(256).to_string(), &rng.number(256).to_string(), &rng.number(256).to_string()].join(".");
    let pairs: Vec<[String; 2]> = (0..200).map(|_| [name(), name()]).collect();
    let nodes = |pair: &[String; 2]| pair.clone().map(|id| node(id, 1));
    let three = |pair| larger(&Balance::of(&table(Groupcache::new().with_replicas(3), nodes(pair))));
    let of_three: Vec<f64> = pairs.iter().map(three).collect();
    let of_usual: Vec<f64> = pairs.iter().map(|pair| larger(&Balance::of(&native(nodes(pair))))).collect();
    let above = |shares: &[f64], limit: f64| shares.iter().filter(|share| **share > limit).count();
    println!("above 63 %: {} of 200 with 3 points, {} with 512", above(&of_three, 0.63), above(&of_usual, 0.63));
    assert!(above(&of_three, 0.63) > 60, "the complaint is nothing unusual");
    assert_eq!(above(&of_usual, 0.56), 0);
    let balance = Balance::of(&native(nodes(&pairs[0])));
    assert!(balance.spread().is_some_and(|spread| (spread - 2.0 * larger(&balance)).abs() < 1e-9));
}

/// grpc-java#8079: weights of 1:10:100 give 104:808:9088 of 10,000 keys, where 90:901:9009 are fair.
#[test]
fn weights_of_1_to_10_to_100_are_met() {
    let mut sums = [0.0; 3];
    for set in 0..20 {
        let table = native([1, 10, 100].map(|weight| node(format!("set{set}-{weight}"), weight)));
        let balance = Balance::of(&table);
        for (node, sum) in balance.nodes().iter().zip(&mut sums) {
            let to_fair = node.to_fair().unwrap();
            // Four standard deviations, 1/√points: 512, 5,120 and 51,200 of them.
            let limit = 4.0 / f64::from(node.points()).sqrt();
            assert!((to_fair - 1.0).abs() < limit, "{} has {to_fair} of its fair share", node.id());
            *sum += to_fair / 20.0;
        }
    }
    println!("mean of share over fair share: {sums:.3?}");
    assert!(sums.iter().all(|mean| (mean - 1.0).abs() < 0.05));
}

/// torus#246: peers of weights 1024, 1024 and 5: the small one has no point, and a list of all peers never is complete.
#[test]
fn a_tiny_weight_gets_its_share() {
    for points in [1, 8] {
        let nodes = [("a", 1024), ("b", 1024), ("tiny", 5)].map(|(id, weight)| node(id, weight));
        let table = Ring::builder().points_per_weight(points).nodes(nodes).build_table().unwrap();
        assert_eq!(table.points_of("tiny"), Some(5 * points));
        assert!(Balance::of(&table).nodes()[2].share().points() > 0);
        for key in 0..200u32 {
            let mut peers = [None; 3];
            assert_eq!(table.replicas(&key.to_le_bytes(), &mut peers), 3);
        }
    }
}

/// buraksezer/consistent#17: a member's name and the number of its point are put together, so that "member" + "10" and
/// "member1" + "0" are one label.
#[test]
fn no_two_labels_are_one() {
    let ids = ["member", "member1", "member10", "member11", "1member", "11member", "m", ""].map(|id| format!("{id}:1"));
    let ids: Vec<String> = ids.into_iter().chain(["member".into(), "member1".into(), "member10".into()]).collect();
    let table = native(ids.iter().map(|id| node(&**id, 1)));
    let mut owners: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (point, node) in table.points() {
        owners.entry(point).or_default().push(node.id().as_str());
    }
    // 5,632 points of 2^32 collide by chance with a probability of 0.4 %; those of one label would all.
    assert_eq!(owners.len(), 512 * ids.len());
    assert!(ids.iter().all(|id| table.points_of(id) == Some(512)));
}

/// mcrouter#51: servers are known by their place in the list, so that removing one in the middle moves the keys of all
/// behind it.
#[test]
fn the_place_in_the_list_is_nothing() {
    let nodes = || (0..30).map(|n| node(format!("10.0.0.{n}"), 1));
    let (mut writer, _handle) = Ring::builder().nodes(nodes()).build().unwrap();
    let old = writer.snapshot();
    let mut turned: Vec<NodeSpec> = nodes().collect();
    turned.rotate_left(11);
    assert!(!writer.replace_all(turned).unwrap().published, "another order is no change");
    writer.replace_all(nodes().enumerate().filter(|(n, _)| *n != 20).map(|(_, node)| node)).unwrap();
    let plan = Plan::between(&old, writer.table()).unwrap();
    assert_eq!((collateral(&plan, &["10.0.0.20"]), plan.moved()), (0.0, plan.minimum()));
    assert!(plan.moved().fraction() < 0.05, "about 1/30");
    // Another machine in its place: what it had, and what the new one gets.
    let old = writer.snapshot();
    writer.commit(Delta::new().remove("10.0.0.3").add(node("10.0.1.3", 1))).unwrap();
    let plan = Plan::between(&old, writer.table()).unwrap();
    assert_eq!(collateral(&plan, &["10.0.0.3", "10.0.1.3"]), 0.0);
}

/// twemproxy#80: a server is ejected, and keys of healthy ones move; once it is back nothing is where it was.
#[test]
fn ejection_and_return_give_the_same_map() {
    let keys: Vec<String> = (0..2000).map(|n| format!("key-{n}")).collect();
    let nodes = (0..5).map(|n| node(format!("10.0.0.{n}:6379:1"), 1));
    // A live state: no ring is built, and only what the ejected one had moves.
    let (mut writer, handle) = Ring::builder().nodes(nodes.clone()).build().unwrap();
    let mut reader = handle.reader();
    let mut routes =
        || keys.iter().map(|key| reader.route(key.as_bytes()).unwrap().id().to_string()).collect::<Vec<_>>();
    let before = routes();
    let ejected = "10.0.0.2:6379:1";
    for _ in 0..3 {
        writer.table().node(ejected).unwrap().set_health(State::Down);
        let meanwhile = routes();
        assert!(before.iter().zip(&meanwhile).all(|(old, new)| (old == new) != (old == ejected)));
        writer.table().node(ejected).unwrap().set_health(State::Up);
        assert_eq!(routes(), before);
    }
    // Removed and added again.
    let old = writer.snapshot();
    writer.commit(Delta::new().remove(ejected)).unwrap();
    assert_eq!(collateral(&Plan::between(&old, writer.table()).unwrap(), &[ejected]), 0.0);
    writer.commit(Delta::new().add(node(ejected, 1))).unwrap();
    assert!(Plan::between(&old, writer.table()).unwrap().is_empty());
    assert_eq!((routes(), old.placement_fingerprint()), (before, writer.table().placement_fingerprint()));

    // The scheme of the system itself rebuilds; the way back leads to the same map.
    let old = table(TwemproxyKetama::new(), nodes);
    let less = after(&old, Delta::new().set_state(ejected, State::Down));
    assert_eq!((less.points_of(ejected), Plan::between(&old, &less).unwrap().is_empty()), (Some(0), false));
    let back = after(&less, Delta::new().set_state(ejected, State::Up));
    assert!(Plan::between(&old, &back).unwrap().is_empty());
    assert_eq!(old.placement_fingerprint(), back.placement_fingerprint());
}

/// ringpop-node#55: requests are refused for a checksum that differs in what doesn't decide where keys go.
#[test]
fn placement_and_description_have_fingerprints_of_their_own() {
    let old = native(["a", "b", "c"].map(|id| node(id, 1)));
    let prints = |table: &Table| (table.placement_fingerprint(), table.spec_fingerprint());
    let (placement, spec) = prints(&old);
    old.node("a").unwrap().set_health(State::Down);
    assert_eq!(prints(&old), (placement, spec), "a live state is in neither");
    for delta in [
        Delta::new().set_address("a", Some("10.0.0.1:80".into())),
        Delta::new().set_zone("a", ["eu", "eu-1"]),
        Delta::new().set_state("a", State::Draining),
    ] {
        let new = after(&old, delta);
        assert!(prints(&new).0 == placement && prints(&new).1 != spec);
        assert!(Plan::between(&old, &new).unwrap().is_empty());
    }
    for delta in [
        Delta::new().set_weight("a", 2),
        Delta::new().remove("a"),
        Delta::new().with_pins(Pins::new().with_key("k", "a").unwrap()),
    ] {
        let new = after(&old, delta);
        assert!(prints(&new).0 != placement && prints(&new).1 != spec);
        let plan = Plan::between(&old, &new).unwrap();
        assert!(!plan.is_empty() || !plan.pins().is_empty());
    }
}

/// The hand-written C++ ring of the usual tutorials says after its fourth server joins that 48.06 % of its 10,000 keys
/// migrate: it adds up the differences of the servers' counts, and so counts a key where it leaves and where it arrives.
#[test]
fn a_moved_key_is_counted_once() {
    let servers = |count: usize| ["A", "B", "C", "D"][..count].iter().map(|id| node(format!("Server-{id}"), 1));
    let [old, new] = [3, 4].map(|count| table(CppMapUpper::new(), servers(count)));
    assert_eq!(new.len(), 400);
    let keys: Vec<String> = (0..10_000).map(|n| format!("data_key_{n}")).collect();
    let owner = |table: &Table<(), CppMapUpper>, key: &str| table.owner(key.as_bytes()).unwrap().id().to_string();
    let counts = |table: &Table<(), CppMapUpper>| {
        let mut counts = BTreeMap::<String, u32>::new();
        keys.iter().for_each(|key| *counts.entry(owner(table, key)).or_default() += 1);
        counts
    };
    let (before, now) = (counts(&old), counts(&new));
    let difference = |id: &String| now[id].abs_diff(before.get(id).copied().unwrap_or(0));
    assert_eq!(now.keys().map(difference).sum::<u32>(), 4806, "the tutorial's 48.06 %");
    let tracked = keys.iter().filter(|key| owner(&old, key) != owner(&new, key)).count();
    assert_eq!(tracked, 2403, "24.03 %, key by key");

    let plan = Plan::between(&old, &new).unwrap();
    let weights = plan.weigh(keys.iter().map(|key| (old.scheme().key_point(key.as_bytes()), 1)));
    assert_eq!((weights.moved, weights.total), (2403, 10_000));
    assert!(weights.flows.iter().all(|(_, to, _)| to.as_ref().is_some_and(|id| id.as_str() == "Server-D")));
    let sample = Plan::sampled(&old, &new, keys.iter().map(|key| (key, 1)));
    assert_eq!((sample.moved_keys(), sample.keys()), (2403, 10_000));
    let (low, high) = sample.confidence_interval();
    assert!(low < plan.moved().fraction() && plan.moved().fraction() < high, "{low} {high} {:?}", plan.moved());
    assert_eq!(plan.moved(), plan.minimum());
}
