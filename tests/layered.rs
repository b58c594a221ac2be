//! Layered rings against two plain rings, one in the other; golden vectors; and what readers see while both layers change.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use common::model::{ModelNode, Rule, View};
use common::walks::distinct;
use common::{Rng, batches, env_number};
use ringway::layout::Layout;
use ringway::publish::{Epoch, Locked, Publish};
use ringway::scheme::{MatchRule, Scheme};
use ringway::{
    DeltaError, Layered, LayeredDelta, LayeredError, LayeredWriter, Limits, Member, Native, NodeSpec, Pins, Point,
    Region, Ring, State, Table,
};

/// The finalizer of MurmurHash3 for 32 bits, written out again.
fn fmix32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ x >> 16
}

fn names<T, S: Scheme, L: Layout<S::Point>>(member: Option<Member<'_, T, S, L>>) -> Option<(String, String)> {
    member.map(|member| (member.region.id().to_string(), member.node.id().to_string()))
}

/// A layered ring as two layers of lists.
#[derive(Clone, Default)]
struct Model {
    regions: Vec<ModelNode>,
    rings: BTreeMap<String, Vec<ModelNode>>,
}

fn native() -> Native {
    Native::new().with_points_per_weight(8)
}

impl Model {
    fn views(&self) -> (View<u32>, BTreeMap<String, View<u32>>) {
        let rings = self.rings.iter().map(|(id, nodes)| (id.clone(), View::new(&native(), nodes)));
        (View::new(&native(), &self.regions), rings.collect())
    }
}

/// All places of a key, by the definition: each region's first, then each one's second, and so on.
fn places(outer: &View<u32>, rings: &BTreeMap<String, View<u32>>, x: u32) -> Vec<(String, String)> {
    let rule = MatchRule::AtOrAfter;
    let orders: Vec<(String, Vec<&str>)> = distinct(outer, rule, x)
        .into_iter()
        .map(|region| (region.to_owned(), distinct(&rings[region], rule, fmix32(x))))
        .collect();
    let most = orders.iter().map(|(_, order)| order.len()).max().unwrap_or(0);
    let round =
        |n: usize| orders.iter().filter_map(move |(region, order)| Some((region.clone(), order.get(n)?.to_string())));
    (0..most).flat_map(round).collect()
}

type Outer = Table<Region<u32, Native>, Native>;

fn check(table: &Outer, model: &Model, rng: &mut Rng) {
    table.validate_layers().unwrap_or_else(|error| panic!("{error}"));
    let (outer, rings) = model.views();
    for _ in 0..30 {
        let key = rng.number(100_000).to_string();
        let key = key.as_bytes();
        let places = places(&outer, &rings, native().key(key));
        assert_eq!(names(table.member(key)), places.first().cloned());
        for k in [0, 1, 2, 3, places.len(), places.len() + 2] {
            let mut out = vec![None; k];
            let found = table.member_replicas(key, &mut out);
            assert_eq!(out[..found].iter().map(|&member| names(member).unwrap()).collect::<Vec<_>>(), places[..found]);
            assert!(found == k.min(places.len()) && out[found..].iter().all(Option::is_none));
        }
        // By states: the first region that isn't down in which a node isn't.
        let up = |region: &str, node: &str| {
            let region = table.node(region).unwrap();
            region.health() != State::Down && region.payload().table().node(node).unwrap().health() != State::Down
        };
        let order = distinct(&outer, MatchRule::AtOrAfter, native().key(key));
        let open = order.iter().find_map(|&region| {
            let inner = distinct(&rings[region], MatchRule::AtOrAfter, fmix32(native().key(key)));
            inner.into_iter().find(|node| up(region, node)).map(|node| (region.to_owned(), node.to_owned()))
        });
        assert_eq!(names(table.route_member(key)), open);
    }
}

#[test]
fn random_changes_of_both_layers() {
    for seed in 0..4 {
        let mut rng = Rng::new(0x1A7E_0001 + seed);
        let builder = Layered::builder::<u32>().scheme(native()).limits(batches::limits());
        let (mut writer, handle) = builder.build().unwrap();
        let mut reader = handle.reader();
        let mut model = Model::default();
        for _ in 0..env_number("RINGWAY_MODEL_ROUNDS", 40) {
            let before = (model.clone(), handle.snapshot());
            let mut delta = LayeredDelta::new();
            let mut touched = Vec::new();
            for id in ["eu", "us", "ap", "sa"] {
                let place = model.regions.iter().position(|region| region.id == id);
                match (place, rng.below(6)) {
                    (None, 0..3) => {
                        let region = ModelNode { weight: 1 + rng.number(3), ..ModelNode::new(id) };
                        let nodes = batches::valid::<Native>(&mut rng, &[]).nodes;
                        let spec = NodeSpec::new(id).with_weight(region.weight);
                        delta = delta.add_region(spec, nodes.iter().map(ModelNode::spec));
                        model.regions.push(region);
                        model.rings.insert(id.into(), nodes);
                        touched.push(id);
                    }
                    (Some(place), 0) => {
                        delta = delta.remove_region(id);
                        model.regions.remove(place);
                        model.rings.remove(id);
                        touched.push(id);
                    }
                    (Some(place), 1) => {
                        model.regions[place].weight = rng.number(4);
                        delta = delta.set_region_weight(id, model.regions[place].weight);
                        touched.push(id);
                    }
                    (Some(_), 2..5) => {
                        let batch = batches::valid::<Native>(&mut rng, &model.rings[id]);
                        model.rings.insert(id.into(), batch.nodes);
                        let changes = batch.delta;
                        delta = delta.change(id, |ring| {
                            changes.into_changes().into_iter().fold(ring, |mut ring, change| {
                                ring.push(change);
                                ring
                            })
                        });
                    }
                    _ => {}
                }
            }
            writer.commit(delta).unwrap_or_else(|error| panic!("{error}"));
            check(reader.table(), &model, &mut rng);
            // Keys change region to or from those that changed only; in regions that didn't change nothing moves.
            for _ in 0..40 {
                let key = rng.next().to_le_bytes();
                let (old, new) = (names(before.1.member(&key)), names(reader.table().member(&key)));
                let (Some(old), Some(new)) = (old, new) else { continue };
                if old.0 != new.0 {
                    let idle = |node: &ModelNode| node.active_points.map_or(node.weight == 0, |points| points == 0);
                    let emptied =
                        |model: &Model, id: &String| model.rings.get(id).is_none_or(|nodes| nodes.iter().all(idle));
                    let named = touched.contains(&&*old.0) || touched.contains(&&*new.0);
                    let empty = emptied(&before.0, &new.0) || emptied(&model, &old.0);
                    assert!(named || empty, "from {old:?} to {new:?}, though {touched:?} changed");
                } else if old.1 != new.1 {
                    assert_ne!(before.0.rings[&old.0], model.rings[&old.0], "within {}", old.0);
                }
            }
            // Some nodes and regions go down, or all come back.
            let all_up = rng.percent(30);
            for region in writer.table().nodes() {
                region.set_health(if all_up || rng.percent(80) { State::Up } else { State::Down });
                for node in region.payload().table().nodes() {
                    node.set_health(if all_up || rng.percent(60) { State::Up } else { State::Down });
                }
            }
            check(reader.table(), &model, &mut rng);
            // From scratch it is the same.
            let regions =
                model.regions.iter().map(|region| (NodeSpec::new(&*region.id).with_weight(region.weight), &region.id));
            let builder = Layered::builder::<u32>().scheme(native()).limits(batches::limits());
            let scratch = regions
                .fold(builder, |builder, (spec, id)| builder.region(spec, model.rings[id].iter().map(ModelNode::spec)));
            let (scratch, _) = scratch.build().unwrap();
            assert_eq!(scratch.table().layered_fingerprint(), writer.table().layered_fingerprint());
        }
        writer.reclaim();
        assert!(writer.counts().live <= 2);
    }
}

#[test]
fn golden_members() {
    let nodes = |prefix: &str, ids: std::ops::Range<u32>| {
        ids.map(|n| NodeSpec::new(format!("{prefix}-{n}"))).collect::<Vec<_>>()
    };
    let (writer, _) = Layered::builder()
        .region(NodeSpec::new("eu").with_weight(2), nodes("eu", 1..4))
        .region(NodeSpec::new("us").with_weight(3), nodes("us", 0..5))
        .region(NodeSpec::new("empty"), [])
        .region(NodeSpec::new("ap"), nodes("ap", 1..2))
        .build()
        .unwrap();
    let mut lines = include_str!("golden/layered/members.tsv").lines();
    assert_eq!(lines.next(), Some(writer.table().layered_fingerprint().to_string().as_str()));
    let mut count = 0;
    for line in lines {
        let (key, member) = line.split_once('\t').unwrap();
        let found = names(writer.table().member(key.as_bytes())).unwrap();
        assert_eq!(format!("{}\t{}", found.0, found.1), member, "{key}");
        count += 1;
    }
    assert_eq!(count, 300);
}

#[test]
fn golden_points() {
    for line in include_str!("golden/layered/points.tsv").lines().skip(1) {
        let row: Vec<u128> = line.split('\t').map(|number| number.parse().unwrap()).collect();
        let mixed = match row[0] {
            32 => u32::from_u128(row[1]).unwrap().mixed().to_u128(),
            64 => u64::from_u128(row[1]).unwrap().mixed().to_u128(),
            _ => row[1].mixed(),
        };
        assert_eq!(mixed, row[2], "{line}");
    }
}

/// Why the inner walk starts elsewhere: asked by the key's own point, the nodes of a region share out its arcs alone.
#[test]
fn members_share_evenly_only_from_a_point_of_their_own() {
    // Few points in the outer ring: a region's arcs are long, and a node may have no point on them.
    let nodes = |region: u32| (0..8).map(move |n| NodeSpec::new(format!("r{region}-n{n}")));
    let builder = Layered::builder().scheme(Native::new().with_points_per_weight(64));
    let builder = (0..6)
        .fold(builder, |builder, n| builder.region(NodeSpec::new(format!("r{n}")).with_active_points(2), nodes(n)));
    let (writer, _) = builder.build().unwrap();
    let (mut mixed, mut own) = (BTreeMap::new(), BTreeMap::new());
    let mut in_region: BTreeMap<String, f64> = BTreeMap::new();
    for n in 0..60_000 {
        let key = format!("key:{n}");
        let member = writer.table().member(key.as_bytes()).unwrap();
        *in_region.entry(member.region.id().to_string()).or_default() += 1.0;
        *mixed.entry((member.region.id().to_string(), member.node.id().to_string())).or_insert(0.0) += 1.0;
        let node = member.region.payload().table().owner(key.as_bytes()).unwrap();
        *own.entry((member.region.id().to_string(), node.id().to_string())).or_insert(0.0) += 1.0;
    }
    let worst = |counts: &BTreeMap<(String, String), f64>| {
        counts.iter().map(|((region, _), count)| count / (in_region[region] / 8.0)).fold(0.0, f64::max)
    };
    println!("worst share over fair: {:.2} mixed, {:.2} by the key's own point", worst(&mixed), worst(&own));
    assert!(worst(&mixed) < 1.5, "{}", worst(&mixed));
    assert!(worst(&own) > 1.8, "the test would not see it: {}", worst(&own));
}

#[test]
fn a_refused_batch_comes_back_and_changes_nothing() {
    let (mut writer, _) = Layered::builder::<u32>()
        .limits(Limits::DEFAULT.with_nodes(3))
        .region(NodeSpec::new("eu"), [NodeSpec::new("a").with_payload(1)])
        .region(NodeSpec::new("us"), [NodeSpec::new("b").with_payload(2)])
        .build()
        .unwrap();
    let node = |id: &str| NodeSpec::new(id).with_payload(0);
    let print = writer.table().layered_fingerprint();
    let address: *const _ = writer.table();
    let new = LayeredDelta::<u32>::new;
    let cases: Vec<(LayeredDelta<u32>, Option<&str>, DeltaError)> = vec![
        (new().remove_region("x"), None, DeltaError::UnknownId { id: "x".into() }),
        (new().change("x", |ring| ring.add(node("c"))), None, DeltaError::UnknownId { id: "x".into() }),
        (new().add_region(NodeSpec::new("eu"), []), None, DeltaError::DuplicateId { id: "eu".into() }),
        (
            new().remove_region("eu").change("eu", |ring| ring.add(node("c"))),
            None,
            DeltaError::Conflict { id: "eu".into() },
        ),
        (
            new().change("us", |ring| ring.add(node("c"))).change("eu", |ring| ring.remove("b")),
            Some("eu"),
            DeltaError::UnknownId { id: "b".into() },
        ),
        (
            new().change("eu", |ring| ring.add(node("c")).add(node("d")).add(node("e"))),
            Some("eu"),
            DeltaError::TooManyNodes { nodes: 4, limit: 3 },
        ),
        (
            new()
                .add_region(NodeSpec::new("ap"), [])
                .add_region(NodeSpec::new("sa"), [node("c")])
                .change("eu", |ring| ring.remove("a")),
            None,
            DeltaError::TooManyNodes { nodes: 4, limit: 3 },
        ),
    ];
    for (delta, region, error) in cases {
        let expected =
            LayeredError::Invalid { region: region.map(str::to_owned), error, delta: Box::new(delta.clone()) };
        assert_eq!(writer.commit(delta), Err(expected));
        assert!(std::ptr::eq(address, writer.table()) && print == writer.table().layered_fingerprint());
        assert_eq!(names(writer.table().route_member(b"key")), names(writer.table().member(b"key")));
    }
    let error = writer.commit(new().change("eu", |ring| ring.remove("z"))).unwrap_err();
    assert_eq!(error.to_string(), "region \"eu\": node \"z\" is not in the ring; name one that is");
    assert!(!writer.commit(new()).unwrap().published);
}

#[test]
fn regions_weigh_what_their_nodes_do_if_told_so() {
    let builder = Layered::builder::<()>().weigh_by_members(true);
    let builder = builder.region(NodeSpec::new("eu").with_weight(9), ["a", "b"].map(NodeSpec::new));
    let (mut writer, _) = builder.region(NodeSpec::new("us"), [NodeSpec::new("c").with_weight(3)]).build().unwrap();
    let weights =
        |writer: &LayeredWriter| writer.table().nodes().map(|region| region.info().weight()).collect::<Vec<_>>();
    assert_eq!(weights(&writer), [2, 3]);
    let delta =
        LayeredDelta::new().change("eu", |eu| eu.set_weight("a", 4).remove("b").add(NodeSpec::new("d").with_weight(2)));
    writer.commit(delta.set_region_weight("us", 50)).unwrap();
    assert_eq!(weights(&writer), [6, 3]);
    writer.commit(LayeredDelta::new().add_region(NodeSpec::new("ap"), [])).unwrap();
    assert_eq!(weights(&writer), [0, 6, 3]);
}

#[test]
fn keys_may_be_pinned_to_regions() {
    let builder = Layered::builder::<()>().region(NodeSpec::new("eu"), [NodeSpec::new("a")]);
    let (mut writer, _) = builder.region(NodeSpec::new("us"), [NodeSpec::new("b")]).build().unwrap();
    writer.commit(LayeredDelta::new().with_pins(Pins::new().with_prefix("gdpr:", "eu").unwrap())).unwrap();
    for n in 0..50 {
        let key = format!("gdpr:{n}");
        assert_eq!(names(writer.table().member(key.as_bytes())), Some(("eu".into(), "a".into())));
        assert_eq!(names(writer.table().route_member(key.as_bytes())), Some(("eu".into(), "a".into())));
    }
}

/// Every payload of one table is of one commit, though that changed all regions.
fn one_version_at_a_time<P: Publish>() {
    let regions = ["eu", "us", "ap"];
    let builder = Layered::builder::<u64>().scheme(native()).publisher::<P>();
    let nodes =
        |region: &str| (0..4).map(|n| NodeSpec::new(format!("{region}-{n}")).with_payload(0)).collect::<Vec<_>>();
    let builder = regions.iter().fold(builder, |builder, region| builder.region(NodeSpec::new(*region), nodes(region)));
    let (mut writer, handle) = builder.build().unwrap();
    let (done, published, looks) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (handle, done, published, looks) = (handle.clone(), &done, &published, &looks);
            scope.spawn(move || {
                let (mut reader, mut rng, mut last) = (handle.reader(), Rng::new(seed), 0);
                while !done.load(Relaxed) {
                    let least = published.load(std::sync::atomic::Ordering::Acquire);
                    let table = reader.table();
                    let stamp = *table.member(&rng.next().to_le_bytes()).unwrap().node.payload();
                    assert!(stamp >= least && stamp >= last, "{stamp} after {last}, {least} was published");
                    for region in table.nodes() {
                        assert!(
                            region.payload().table().nodes().all(|node| *node.payload() == stamp),
                            "two commits in one"
                        );
                    }
                    last = stamp;
                    looks.fetch_add(1, Relaxed);
                }
            });
        }
        for stamp in 1..=300 {
            let delta = regions.iter().fold(LayeredDelta::new(), |delta, region| {
                delta.change(*region, |ring| {
                    (0..4).fold(ring, |ring, n| ring.set_payload(format!("{region}-{n}"), stamp))
                })
            });
            writer.commit(delta).unwrap();
            published.store(stamp, std::sync::atomic::Ordering::Release);
        }
        while looks.load(Relaxed) < 100 {
            std::thread::yield_now();
        }
        done.store(true, Relaxed);
    });
    drop(handle);
    writer.reclaim();
    assert_eq!(writer.counts().live, 1);
}

#[test]
fn readers_see_one_version_of_all_regions() {
    one_version_at_a_time::<Epoch>();
    one_version_at_a_time::<Locked>();
}

/// Regions that nothing happened to share their tables between versions.
#[test]
fn untouched_regions_are_shared() {
    let builder = Layered::builder::<()>().region(NodeSpec::new("eu"), [NodeSpec::new("a")]);
    let (mut writer, handle) = builder.region(NodeSpec::new("us"), [NodeSpec::new("b")]).build().unwrap();
    let old = handle.snapshot();
    writer.commit(LayeredDelta::new().change("us", |us| us.add(NodeSpec::new("c")))).unwrap();
    let ring = |table: &Table<Region, Native>, id: &str| -> *const Table { table.node(id).unwrap().payload().table() };
    assert_eq!(ring(&old, "eu"), ring(writer.table(), "eu"));
    assert_ne!(ring(&old, "us"), ring(writer.table(), "us"));
    // A dropped ring leaves nothing that a plain one would not.
    let plain: Table = Ring::builder().node(NodeSpec::new("a")).build_table().unwrap();
    assert_eq!(old.node("eu").unwrap().payload().table().placement_fingerprint(), plain.placement_fingerprint());
}
