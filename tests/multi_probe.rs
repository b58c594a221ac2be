//! Keys of several probes against plain loops: each probe looks at every point, nodes that don't count are taken out, and the
//! nearest of what is left wins.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use common::Rng;
use common::schemes::{Weak, hash8};
use common::walks::spread;
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::{
    AnyScheme, Assignment, KeyTag, MatchRule, MultiProbe, OutOfService, Probes, ProbesError, Scheme, SchemeOptions,
    Tagged, Xxh3,
};
use ringway::{
    Bound, Delta, Native, Node, NodeId, NodeInfo, NodeSpec, Pins, Plan, Point, Ring, SchemeError, State, Table,
};

/// A scheme whose probes the tests can work out by themselves.
trait Rule: Scheme {
    fn all_probes(&self, key: &[u8]) -> Vec<Self::Point>;
}

/// The documented derivation, written out a second time.
fn derived(hash: u64, k: u32) -> Vec<u32> {
    let probe = |i: u32| {
        let mut z = hash.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(u64::from(i)));
        if i > 0 {
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
        }
        (z >> 32) as u32
    };
    (0..k).map(probe).collect()
}

impl Rule for MultiProbe {
    fn all_probes(&self, key: &[u8]) -> Vec<u32> {
        derived(seahash::hash(key), self.probes().count())
    }
}

impl Rule for MultiProbe<ringway::scheme::XxHash3> {
    fn all_probes(&self, key: &[u8]) -> Vec<u32> {
        derived(twox_hash::XxHash3_64::oneshot(key), self.probes().count())
    }
}

/// A scheme of 256 places for points and probes alike, so that nearly all distances tie.
#[derive(Clone, Debug)]
struct Tied<P> {
    weak: Weak<P>,
    probes: Probes,
    points: Option<u32>,
}

impl<P: Point> Scheme for Tied<P> {
    type Point = P;
    type Seed = u32;

    fn id(&self) -> &str {
        "tied"
    }
    fn order_free(&self) -> bool {
        true
    }
    fn match_rule(&self) -> MatchRule {
        self.weak.rule
    }
    fn out_of_service(&self) -> OutOfService {
        OutOfService::StepOn { points: self.points }
    }
    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        self.weak.placement_bytes(node, out);
    }
    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<u32>>) -> Result<(), SchemeError> {
        self.weak.assign(nodes, out)
    }
    fn points(&self, id: &NodeId, seed: &u32, labels: Range<u32>, out: &mut Vec<P>) {
        self.weak.points(id, seed, labels, out);
    }
    fn key_point(&self, key: &[u8]) -> P {
        self.weak.key_point(key)
    }
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> P {
        self.weak.key_point_of_parts(parts)
    }
    fn probes(&self) -> Probes {
        self.probes
    }
    fn key_hash(&self, key: &[u8]) -> u64 {
        key.iter().fold(7, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
    }
    fn key_hash_of_parts(&self, parts: &[&[u8]]) -> u64 {
        self.key_hash(&parts.concat())
    }
    fn probe(&self, hash: u64, number: u32) -> P {
        (self.weak.place)(hash8([&hash.to_le_bytes()[..], &number.to_le_bytes()]))
    }
}

impl<P: Point> Rule for Tied<P> {
    fn all_probes(&self, key: &[u8]) -> Vec<P> {
        let shift = if self.weak.rule == MatchRule::After { P::ONE } else { P::MIN };
        (0..self.probes.count()).map(|i| self.probe(self.key_hash(key), i).clockwise(shift)).collect()
    }
}

fn tied<P>(k: u32, place: fn(u8) -> P, rule: MatchRule, points: Option<u32>) -> Tied<P> {
    Tied { weak: Weak { name: "tied", place, rule }, probes: Probes::new(k).unwrap(), points }
}

/// The owner if only nodes for which `counts` were in the ring; each probe sees its first `values` places at most.
fn nearest<'a, P: Point>(
    sequence: &'a [(P, String)],
    probes: &[P],
    values: usize,
    counts: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let mut best: Option<((P, usize), &str)> = None;
    for &probe in probes {
        let mut last = Some(P::MAX);
        if values < usize::MAX {
            let mut places: Vec<P> = sequence.iter().map(|(point, _)| point.steps_from(probe)).collect();
            places.sort_unstable();
            places.dedup();
            last = places.get(values.min(places.len()).wrapping_sub(1)).copied();
        }
        let Some(last) = last else { continue };
        for (rank, (point, id)) in sequence.iter().enumerate() {
            let distance = point.steps_from(probe);
            if distance <= last && counts(id) && best.is_none_or(|(seen, _)| (distance, rank) < seen) {
                best = Some(((distance, rank), id));
            }
        }
    }
    best.map(|(_, id)| id)
}

/// All nodes in a key's order: each the owner without those before it.
fn order<'a, P: Point>(sequence: &'a [(P, String)], probes: &[P]) -> Vec<&'a str> {
    let mut order: Vec<&str> = Vec::new();
    while let Some(next) = nearest(sequence, probes, usize::MAX, |id| !order.contains(&id)) {
        order.push(next);
    }
    order
}

fn sequence<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>) -> Vec<(S::Point, String)> {
    table.points().map(|(point, node)| (point, node.id().to_string())).collect()
}

fn id<T>(node: Option<&Node<T>>) -> Option<&str> {
    node.map(|node| node.id().as_str())
}

fn ids<'t, T: 't>(nodes: impl IntoIterator<Item = &'t Node<T>>) -> Vec<&'t str> {
    nodes.into_iter().map(|node| node.id().as_str()).collect()
}

/// Compares everything that takes a key, on rings of random nodes and live states.
fn check<S: Rule, L: Layout<S::Point>>(scheme: &S, bounded: bool, seed: u64) -> BTreeMap<&'static str, u32> {
    let mut rng = Rng::new(seed);
    let mut seen = BTreeMap::new();
    for round in 0..12 {
        let count = [0, 1, 2, 5, 9, 14][round % 6];
        let heavy = rng.percent(30);
        let nodes: Vec<NodeSpec> = (0..count)
            .map(|n| {
                let weight = if heavy && n == 0 { 30 } else { rng.number(4) };
                let zone = rng.percent(80).then(|| format!("z{}", rng.number(3)));
                NodeSpec::new(format!("n{n}")).with_weight(weight).with_zone(zone)
            })
            .collect();
        let pins = Pins::new();
        let pins = if count > 2 { pins.with_prefix("pinned:", "n1").unwrap() } else { pins };
        let builder =
            Ring::builder().scheme(scheme.clone()).layout::<L>().bounded_walks(bounded).nodes(nodes).pins(pins);
        let (writer, handle) = builder.build().unwrap();
        let mut reader = handle.reader();
        let snapshot = writer.snapshot();
        let table: &Table<(), S, L> = &snapshot;
        // (An empty ring with bounded walks fails the check of T7.)
        if count > 0 {
            table.validate().unwrap();
        }
        for node in table.nodes() {
            node.set_health(State::ALL[if rng.percent(50) { 0 } else { rng.below(3) }]);
        }
        let sequence = sequence(table);
        let zones: BTreeMap<&str, &[String]> = table.nodes().map(|n| (n.id().as_str(), n.info().zone())).collect();
        let keys: Vec<String> =
            (0..12).map(|n| format!("{}{n}:{}", if n % 4 == 3 { "pinned:" } else { "key:" }, rng.next())).collect();
        let mut batch = vec![None; keys.len()];
        table.owner_batch(&keys, &mut batch);
        for (key, batched) in keys.iter().zip(batch) {
            let pinned = (count > 2 && key.starts_with("pinned:")).then_some("n1");
            let probes = scheme.all_probes(key.as_bytes());
            let mut all = order(&sequence, &probes);
            if let Some(pinned) = pinned {
                all.retain(|id| *id != pinned);
                all.insert(0, pinned);
            }
            let key = key.as_bytes();
            assert_eq!(id(table.owner(key)), all.first().copied());
            assert_eq!(id(reader.owner(key)), all.first().copied());
            assert_eq!(id(batched), all.first().copied());
            assert_eq!(id(table.owner_of_parts(&[&key[..3], b"", &key[3..]])), all.first().copied());
            assert_eq!(ids(table.successors(key)), all, "{scheme:?}");

            let health = |id: &str| table.node(id).unwrap().health();
            let open: Vec<&str> = all.iter().copied().filter(|id| health(id) != State::Down).collect();
            let expected_zones = (spread(&all, &zones), spread(&open, &zones));
            for k in 0..=all.len() + 1 {
                let fill = |fill: &dyn Fn(&mut [Option<_>]) -> usize| {
                    let mut out = vec![None; k];
                    let found = fill(&mut out);
                    assert_eq!(out.iter().flatten().count(), found);
                    ids(out.into_iter().flatten()).into_iter().map(str::to_owned).collect::<Vec<_>>()
                };
                let first = |of: &[&str]| of.iter().take(k).map(|id| (*id).to_owned()).collect::<Vec<_>>();
                assert_eq!(fill(&|out| table.replicas(key, out)), first(&all));
                assert_eq!(fill(&|out| table.healthy_replicas(key, out)), first(&open));
                assert_eq!(fill(&|out| table.zone_replicas(key, out)), first(&expected_zones.0));
                assert_eq!(fill(&|out| table.healthy_zone_replicas(key, out)), first(&expected_zones.1));
                let among = open.iter().take(k.min(4)).copied().collect::<Vec<_>>();
                let random = rng.next();
                assert_eq!(id(table.spread(key, k.min(4), random)).is_some(), !among.is_empty());
                assert!(id(table.spread(key, k.min(4), random)).is_none_or(|id| among.contains(&id)));
                assert!(id(table.spread_least(key, k.min(4), random)).is_none_or(|id| among.contains(&id)));
            }

            let limit = match scheme.out_of_service() {
                OutOfService::StepOn { points: Some(points) } => usize::try_from(points).unwrap(),
                _ => usize::MAX,
            };
            let route = |takes: &dyn Fn(&str) -> bool| {
                let first = pinned.filter(|id| takes(id));
                first.or_else(|| nearest(&sequence, &probes, limit, takes)).map(str::to_owned)
            };
            let tried: Vec<&str> = all.iter().copied().filter(|_| rng.percent(50)).collect();
            let routed = route(&|id| health(id) != State::Down);
            assert_eq!(id(table.route(key)), routed.as_deref(), "{scheme:?}");
            assert_eq!(id(table.route_new(key)), route(&|id| health(id) == State::Up).as_deref());
            let rest = route(&|id| health(id) != State::Down && !tried.contains(&id));
            assert_eq!(id(table.route_excluding(key, |n| tried.contains(&n.id().as_str()))), rest.as_deref());
            // Room at nobody but those who have less than the bound: all are filled up one by one, in the key's order.
            let mut held = Vec::new();
            for _ in 0..open.len() {
                let Ok(admitted) = table.admit(key, Bound::percent(100).unwrap()) else { break };
                held.push(admitted);
            }
            if let Some(first) = held.first() {
                let takers = |id: &&&str| table.node(id).unwrap().info().weight() > 0 || pinned == Some(**id);
                assert_eq!(Some(first.node().id().as_str()), open.iter().find(takers).copied());
                assert!(!first.displaced());
            }
            drop(held);
            let happened = [
                ("passed by", all.first() != open.first()),
                ("another route", routed.as_deref() != open.first().copied()),
                ("second of a zone", expected_zones.0 != all),
                ("plain walk is wrong", {
                    let plain = id(table.owner_at(scheme.key_point(key)));
                    pinned.is_none() && plain != all.first().copied()
                }),
            ];
            happened
                .iter()
                .filter(|(_, happened)| *happened)
                .for_each(|(what, _)| *seen.entry(*what).or_insert(0) += 1);
        }
    }
    println!("{scheme:?}: {seen:?}");
    seen
}

fn native(k: u32) -> MultiProbe {
    MultiProbe::new(Native::new().with_points_per_weight(16), Probes::new(k).unwrap())
}

#[test]
fn native_points_go_by_the_nearest_probe() {
    let mut seen = BTreeMap::new();
    for (n, k) in [2, 3, 5, Probes::MAX].into_iter().enumerate() {
        for (what, times) in check::<_, Auto<u32>>(&native(k), n % 2 == 0, 0x6D1_0000 + u64::from(k)) {
            *seen.entry(what).or_insert(0) += times;
        }
    }
    for what in ["passed by", "second of a zone", "plain walk is wrong"] {
        assert!(seen.get(what).is_some_and(|times| *times > 25), "{what}: {seen:?}");
    }
    check::<_, Line<u32>>(&native(3), true, 0x6D1_1001);
    check::<_, Sorted<u32>>(&native(3), false, 0x6D1_1002);
    check::<_, Eytzinger<u32>>(&native(2), true, 0x6D1_1003);
    check::<_, STree<u32>>(&native(2), false, 0x6D1_1004);
    check::<_, Bucket<u32>>(&native(4), true, 0x6D1_1005);
    check::<_, Direct<u32>>(&native(3), false, 0x6D1_1006);
    let xxh3 = Xxh3::new().with_points_per_weight(16);
    check::<_, Auto<u32>>(&MultiProbe::new(xxh3, Probes::new(3).unwrap()), true, 0x6D1_1007);
}

#[test]
fn ties_go_by_the_total_order() {
    for bounded in [false, true] {
        for rule in [MatchRule::AtOrAfter, MatchRule::After] {
            check::<_, Auto<u32>>(&tied(3, |hash| u32::from(hash) << 24, rule, None), bounded, 0x6D1_2001);
            check::<_, Sorted<u32>>(&tied(5, |hash| u32::from(hash / 16), rule, None), bounded, 0x6D1_2002);
            check::<_, Line<u32>>(&tied(2, |_| u32::MAX, rule, None), bounded, 0x6D1_2003);
            check::<_, Auto<u64>>(&tied(3, u64::from, rule, None), bounded, 0x6D1_2004);
            check::<_, Sorted<u128>>(&tied(4, |hash| u128::from(hash) << 120, rule, None), bounded, 0x6D1_2005);
        }
    }
}

#[test]
fn a_limit_of_points_holds_for_each_probe() {
    let mut seen = 0;
    for limit in [1, 2, 5] {
        let scheme = tied(3, |hash| u32::from(hash) << 24, MatchRule::AtOrAfter, Some(limit));
        seen += check::<_, Auto<u32>>(&scheme, true, 0x6D1_3000 + u64::from(limit)).get("another route").unwrap_or(&0);
    }
    assert!(seen > 4, "the limit showed {seen} times");
}

/// A replica's place is the owner's on a ring that really is without the ones before it.
#[test]
fn a_replica_is_the_owner_without_those_before_it() {
    let names: Vec<String> = (0..12).map(|n| format!("node-{n}")).collect();
    let ring = |without: &BTreeSet<&str>| {
        let nodes = names.iter().filter(|name| !without.contains(name.as_str())).map(NodeSpec::new);
        Ring::builder().scheme(native(3)).nodes(nodes).build_table().unwrap()
    };
    let table = ring(&BTreeSet::new());
    let mut by_plain_walk = 0;
    for n in 0..60 {
        let key = format!("user:{n}");
        let mut replicas = [None; 5];
        assert_eq!(table.replicas(key.as_bytes(), &mut replicas), 5);
        let mut without = BTreeSet::new();
        for replica in replicas.iter().flatten() {
            assert_eq!(id(ring(&without).owner(key.as_bytes())), Some(replica.id().as_str()));
            without.insert(replica.id().as_str());
        }
        // On from the owner's point: what a walk of the winning probe alone would find.
        let probes = table.scheme().all_probes(key.as_bytes());
        let points = sequence(&table);
        let winner = probes
            .iter()
            .min_by_key(|&&probe| points.iter().map(|(point, _)| point.wrapping_sub(probe)).min())
            .expect("three probes");
        let mut plain = [None; 2];
        table.replicas_at(*winner, &mut plain);
        assert_eq!(id(plain[0]), id(replicas[0]));
        by_plain_walk += u32::from(id(plain[1]) != id(replicas[1]));
    }
    assert!(by_plain_walk > 15, "a walk from the owner's point was wrong for only {by_plain_walk} of 60 keys");
}

#[test]
fn a_change_moves_keys_only_to_or_from_its_node() {
    let scheme = native(3);
    let (mut writer, _handle) =
        Ring::builder().scheme(scheme).nodes((0..20).map(|n| NodeSpec::new(format!("n{n}")))).build().unwrap();
    let keys: Vec<String> = (0..20_000).map(|n| format!("key:{n}")).collect();
    let owners = |table: &Table<(), MultiProbe>| -> Vec<String> {
        keys.iter().map(|key| id(table.owner(key.as_bytes())).unwrap().to_owned()).collect()
    };
    let deltas = [
        ("new", Delta::new().add(NodeSpec::new("new"))),
        ("n3", Delta::new().set_weight("n3", 2)),
        ("n5", Delta::new().set_active_points("n5", 7)),
        ("n5", Delta::new().set_active_points("n5", None)),
        ("n3", Delta::new().set_weight("n3", 1)),
        ("n9", Delta::new().remove("n9")),
    ];
    for (node, delta) in deltas {
        let before = owners(writer.table());
        writer.commit(delta).unwrap();
        let after = owners(writer.table());
        let moved: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
        assert!(moved.len() > 400, "{node}: {}", moved.len());
        let to = moved.iter().filter(|(_, new)| *new == node).count();
        let from = moved.iter().filter(|(old, _)| *old == node).count();
        assert!((to, from) == (moved.len(), 0) || (to, from) == (0, moved.len()), "{node}: {to} to, {from} from");
    }
}

#[test]
fn one_probe_is_the_native_scheme() {
    let nodes = || (0..10).map(|n| NodeSpec::new(format!("n{n}")).with_weight(n % 3));
    let plain = Ring::builder().nodes(nodes()).build_table().unwrap();
    let probed = |k| {
        let scheme = MultiProbe::new(Native::new(), Probes::new(k).unwrap());
        Ring::builder().scheme(scheme).nodes(nodes()).build_table().unwrap()
    };
    let one = probed(1);
    assert_eq!(one.placement_fingerprint(), plain.placement_fingerprint());
    assert_eq!(one.spec_fingerprint(), plain.spec_fingerprint());
    assert_eq!(one.scheme().key_map(), plain.scheme().key_map());
    for n in 0..1000 {
        let key = format!("key:{n}");
        assert_eq!(id(one.owner(key.as_bytes())), id(plain.owner(key.as_bytes())));
    }
    assert!(Plan::between(&plain, &one).unwrap().is_empty());

    let mut fingerprints: Vec<_> = (1..=Probes::MAX).map(|k| probed(k).placement_fingerprint()).collect();
    fingerprints.sort();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 32, "the number of probes counts");
    assert!(Plan::between(&one, &probed(2)).is_err());
    assert!(Plan::between(&probed(2), &probed(3)).is_err());
    let error = Plan::between(&probed(3), &probed(3)).expect_err("arcs say nothing of such keys").to_string();
    assert!(error.contains("probes"), "{error}");
}

#[test]
fn the_number_of_probes_is_checked() {
    assert_eq!(Probes::new(Probes::MAX).map(Probes::count), Ok(32));
    for count in [0, Probes::MAX + 1, 256, 257, u32::MAX] {
        let error: ProbesError = Probes::new(count).unwrap_err();
        assert_eq!(error.to_string(), format!("{count} probes are out of range; give 1 to 32"));
        let error = AnyScheme::named("native", &mut SchemeOptions::new().with("probes", count)).unwrap_err();
        assert_eq!(error.to_string(), format!("probes: {count} probes are out of range; give 1 to 32"));
    }
    let nearest = tied(2, |hash| u32::from(hash) << 24, MatchRule::Nearest, None);
    let refused = Ring::builder().scheme(nearest).node(NodeSpec::new("a")).build_table().unwrap_err();
    assert_eq!(refused.to_string(), "2 probes go by the next point; take one, or another match rule");
}

#[test]
fn probes_are_an_option_of_the_native_scheme() {
    let named = |options: SchemeOptions| {
        let mut left = options;
        let scheme = AnyScheme::named("native", &mut left).unwrap().unwrap();
        assert!(left.is_empty());
        scheme
    };
    let scheme =
        named(SchemeOptions::new().with("probes", 3u32).with("points_per_weight", 40u32).with("key_tag", "{}"));
    let native = Native::new().with_points_per_weight(40);
    let AnyScheme::U32(inner) = &scheme else { panic!("32 bits") };
    assert_eq!(inner.scheme(), &MultiProbe::new(native, Probes::new(3).unwrap()).into());
    assert_eq!(scheme.name(), "native");
    assert_eq!(named(scheme.options()), scheme, "its options make it again");
    assert_eq!(named(SchemeOptions::new().with("probes", 1u32)), AnyScheme::from(Native::new()));
    assert_eq!(AnyScheme::names().filter(|name| *name == "native").count(), 1);
    assert!(AnyScheme::named("native", &mut SchemeOptions::new().with("probes", "3")).is_err());
    let mut left = SchemeOptions::new().with("probes", 3u32);
    AnyScheme::named("xxh3", &mut left).unwrap();
    assert!(!left.is_empty(), "no other scheme takes it");

    // Through the enum, and with a tag, a key goes where the type says.
    let nodes = || (0..10).map(|n| NodeSpec::new(format!("n{n}")));
    let any = Ring::builder().scheme(inner.clone()).nodes(nodes()).build_table().unwrap();
    let typed = Tagged::new(MultiProbe::new(native, Probes::new(3).unwrap()), KeyTag::new(b'{', b'}'));
    let typed = Ring::builder().scheme(typed).nodes(nodes()).build_table().unwrap();
    assert_eq!(any.placement_fingerprint(), typed.placement_fingerprint());
    for n in 0..500 {
        let (whole, tag) = (format!("a{{user:{n}}}b"), format!("user:{n}"));
        let owner = id(any.owner(whole.as_bytes()));
        assert_eq!(owner, id(typed.owner(tag.as_bytes())));
        assert_eq!(owner, id(typed.owner_of_parts(&[b"a{", tag.as_bytes(), b"}", b"b"])));
        assert_eq!(owner, id(typed.owner_of_parts(&[b"a{us", &tag.as_bytes()[2..], b"}b"])));
        assert_eq!(owner, order(&sequence(&any), &derived(seahash::hash(tag.as_bytes()), 3)).first().copied());
    }
}

#[cfg(feature = "cluster-file")]
#[test]
fn cluster_files_say_how_many_probes() {
    use ringway::cluster::Cluster;
    let text = "scheme = \"native\"\npoints_per_weight = 40\n\n[scheme_options]\nprobes = 3\n\n[[node]]\nid = \"a\"\n";
    let cluster = Cluster::parse_toml("cluster.toml", text).unwrap();
    let scheme = MultiProbe::new(Native::new().with_points_per_weight(40), Probes::new(3).unwrap());
    assert_eq!(cluster.scheme(), &AnyScheme::from(scheme));
    assert_eq!(Cluster::parse_toml("written", &cluster.to_toml()).unwrap(), cluster);
    assert_eq!(Cluster::parse_json("written", &cluster.to_json()).unwrap(), cluster);
    let one = Cluster::parse_toml("cluster.toml", &text.replace("probes = 3", "probes = 1")).unwrap();
    assert_eq!(one.scheme(), &AnyScheme::from(Native::new().with_points_per_weight(40)));
    let error =
        Cluster::parse_toml("cluster.toml", &text.replace("probes = 3", "probes = 33")).unwrap_err().to_string();
    assert!(error.contains("cluster.toml:5:") && error.contains("33 probes are out of range; give 1 to 32"), "{error}");
}
