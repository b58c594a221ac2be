//! What is too large is refused with its value and the limit, before memory is taken; what is just small enough works.

mod common;

use std::collections::BTreeMap;
use std::ops::Range;

use common::schemes::Spied;
use ringway::layout::{Eytzinger, Layout, Sorted};
use ringway::scheme::{Assignment, Scheme};
use ringway::{
    CommitError, Delta, DeltaError, Limits, Native, NodeError, NodeId, NodeInfo, NodeSpec, Ring, SchemeError, Table,
};

fn specs(ids: Range<u32>) -> impl Iterator<Item = NodeSpec> {
    ids.map(|n| NodeSpec::new(format!("n{n}")))
}

#[test]
fn nodes_above_the_limit_are_refused() {
    let limits = Limits::default().with_nodes(5);
    let builder = || Ring::builder().points_per_weight(4).limits(limits);
    let refused = DeltaError::TooManyNodes { nodes: 6, limit: 5 };
    assert_eq!(builder().nodes(specs(0..6)).build_table().unwrap_err(), refused);
    assert_eq!(builder().nodes(specs(0..6)).build().unwrap_err(), refused);
    assert_eq!(refused.to_string(), "6 nodes are above the limit of 5; raise the limit or split the ring");
    let (mut writer, _) = builder().nodes(specs(0..5)).build().expect("as many as the limit");
    let one_more = Delta::new().add(NodeSpec::new("m"));
    assert_eq!(writer.commit(one_more.clone()), Err(CommitError::Invalid { error: refused, delta: one_more.clone() }));
    writer.commit(one_more.remove("n3")).expect("one for one");
    assert_eq!(Limits::default().with_nodes(u32::MAX).nodes(), 1 << 24);
    assert_eq!(Limits::default().with_points(u32::MAX).points(), 1 << 31);
}

#[test]
fn changes_above_the_limit_are_refused() {
    let limits = Limits::default().with_changes(3);
    let (mut writer, _) =
        Ring::builder().points_per_weight(4).limits(limits).nodes(specs(0..3)).build().expect("three");
    let four = specs(10..14).fold(Delta::new(), Delta::add);
    let error = DeltaError::TooManyChanges { changes: 4, limit: 3 };
    assert_eq!(writer.commit(four.clone()), Err(CommitError::Invalid { error: error.clone(), delta: four }));
    assert_eq!(error.to_string(), "4 changes in one batch are above the limit of 3; split the batch");
    assert_eq!(writer.version(), 1);
    let three = (0..3).fold(Delta::new(), |delta, n| delta.set_weight(format!("n{n}"), 2));
    assert_eq!(writer.commit(three).map(|report| report.points), Ok(24));
    // A list of nodes is a batch too.
    writer.replace_all(specs(20..22)).expect_err("two come, three go");
    assert_eq!(Ring::builder().limits(limits).nodes(specs(0..4)).build_table().unwrap_err(), error);
    assert_eq!(Limits::DEFAULT.changes(), 1 << 24);
}

#[test]
fn weights_above_the_limit_are_refused() {
    let build = |weight, limits: Limits| {
        let builder = Ring::builder().points_per_weight(1).limits(limits);
        builder.node(NodeSpec::new("a").with_weight(weight)).build_table().map(|table| table.len())
    };
    let refused = |weight, limit| Err(DeltaError::Node(NodeError::WeightTooLarge { id: "a".into(), weight, limit }));
    assert_eq!(build(65_535, Limits::default()), Ok(65_535));
    assert_eq!(build(65_536, Limits::default()), refused(65_536, 65_535));
    assert_eq!(build(u32::MAX, Limits::default()), refused(u32::MAX, 65_535));
    assert_eq!(build(70_000, Limits::default().with_weight(70_000)), Ok(70_000));
    assert_eq!(build(1, Limits::default().with_weight(0)), refused(1, 0));
}

#[test]
fn points_above_the_limit_are_refused_before_any_is_made() {
    let build = |weight, points_per_weight, limits: Limits| {
        let scheme = Spied::new(Native::new().with_points_per_weight(points_per_weight));
        let nodes = [NodeSpec::new("a"), NodeSpec::new("b").with_weight(weight)];
        let built = Ring::builder().scheme(scheme.clone()).limits(limits).nodes(nodes).build_table();
        let hashed = scheme.spy().hashed.len();
        built.map(|table| table.len()).map_err(|error| (error, hashed))
    };
    let refused = |points, limit| Err((DeltaError::TooManyPoints { id: "b".into(), points, limit }, 0));
    let limits = Limits::default().with_points(4000);
    assert_eq!(build(3, 1000, limits), Ok(4000));
    assert_eq!(build(4, 1000, limits), refused(5000, 4000));
    assert_eq!(build(65_535, 512, Limits::default()), refused(65_536 * 512, 1 << 24));
    let most = u64::from(u32::MAX);
    let huge = Limits::default().with_points(u32::MAX).with_weight(u32::MAX);
    let (error, hashed) = build(65_535, u32::MAX, huge).unwrap_err();
    // The first node alone is already too large.
    assert_eq!((error, hashed), (DeltaError::TooManyPoints { id: "a".into(), points: most, limit: 1 << 31 }, 0));

    let alone = |spec: NodeSpec| Ring::builder().points_per_weight(u32::MAX).limits(huge).node(spec).build_table();
    let error = alone(NodeSpec::new("a").with_weight(65_535)).unwrap_err();
    assert_eq!(error, DeltaError::TooManyPoints { id: "a".into(), points: 65_535 * most, limit: 1 << 31 });
    let error = alone(NodeSpec::new("a").with_weight(u32::MAX)).unwrap_err();
    assert_eq!(error, DeltaError::TooManyPoints { id: "a".into(), points: most * most, limit: 1 << 31 });
    let error = alone(NodeSpec::new("a").with_active_points(u32::MAX)).unwrap_err();
    assert_eq!(error, DeltaError::TooManyPoints { id: "a".into(), points: most, limit: 1 << 31 });
}

/// Asks for as many points as a `u64` can say, for each node but the first.
#[derive(Clone, Debug)]
struct Greedy;

impl Scheme for Greedy {
    type Point = u64;
    type Seed = ();

    fn id(&self) -> &str {
        "greedy"
    }

    fn order_free(&self) -> bool {
        true
    }

    fn placement_bytes(&self, _: &NodeInfo, _: &mut Vec<u8>) {}

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        let points = |place| if place == 0 { 1 } else { u64::MAX };
        out.extend((0..).zip(nodes).map(|(tie, _)| Assignment { seed: (), points: points(tie), tie }));
        Ok(())
    }

    fn points(&self, _: &NodeId, (): &(), labels: Range<u32>, out: &mut Vec<u64>) {
        out.extend(labels.map(u64::from));
    }

    fn key_point(&self, _: &[u8]) -> u64 {
        0
    }

    fn key_point_of_parts(&self, _: &[&[u8]]) -> u64 {
        0
    }
}

#[test]
fn a_sum_of_points_beyond_u64_is_refused() {
    let build = |nodes| Ring::builder().scheme(Greedy).nodes(specs(0..nodes)).build_table();
    assert_eq!(build(1).map(|table| table.len()), Ok(1));
    for nodes in [2, 3] {
        let refused = DeltaError::TooManyPoints { id: "n1".into(), points: u64::MAX, limit: 1 << 24 };
        assert_eq!(build(nodes).unwrap_err(), refused);
    }
}

/// The native label rule as this test reads it.
fn native_point(id: &str, label: u32) -> u32 {
    let mut bytes = u32::try_from(id.len()).expect("short").to_le_bytes().to_vec();
    bytes.extend(id.as_bytes());
    bytes.extend(label.to_le_bytes());
    (seahash::hash(&bytes) >> 32) as u32
}

/// Places of two points per node, owned by the smallest id.
fn naive(ids: impl Iterator<Item = u32>) -> BTreeMap<u32, String> {
    let mut owners: BTreeMap<u32, String> = BTreeMap::new();
    for id in ids.map(|n| format!("n{n}")) {
        for label in 0..2 {
            let owner = owners.entry(native_point(&id, label)).or_insert_with(|| id.clone());
            if id < *owner {
                owner.clone_from(&id);
            }
        }
    }
    owners
}

fn check<L: Layout<u32>>(table: &Table<(), Native, L>, owners: &BTreeMap<u32, String>) {
    for key in (0..3_000).map(|n| format!("key:{n}")) {
        let point = (seahash::hash(key.as_bytes()) >> 32) as u32;
        let expected = owners.range(point..).next().or(owners.first_key_value()).map(|(_, id)| id.as_str());
        assert_eq!(table.owner(key.as_bytes()).map(|node| node.id().as_str()), expected, "{key}");
    }
    for (&point, id) in owners.iter().step_by(7) {
        assert_eq!(table.owner_at(point).map(|node| node.id().as_str()), Some(id.as_str()));
    }
}

/// More nodes than 16-bit owners can tell apart: wide owners come, stay while they are needed, and go.
fn seventy_thousand_nodes_route_right<L: Layout<u32>>() {
    const NODES: u32 = 70_000;
    let builder = Ring::builder().points_per_weight(2).layout::<L>();
    let (mut writer, _) = builder.nodes(specs(0..65_530)).build().expect("below the limits");
    let narrow = writer.table().bytes();
    writer.commit(specs(65_530..NODES).fold(Delta::new(), Delta::add)).expect("below the limits");
    assert_eq!(writer.table().len(), 140_000);
    assert!(writer.table().bytes() > narrow + 2 * 131_060, "owners are 32 bits wide");
    check(writer.table(), &naive(0..NODES));
    writer.table().validate().expect("a valid table");

    // All but a few go, of which one has a slot that needs 32 bits; then that one goes too, and slots are filled again.
    let most = (100..NODES - 1).map(|n| format!("n{n}")).fold(Delta::new(), Delta::remove);
    writer.commit(most).expect("they are there");
    check(writer.table(), &naive((0..100).chain([NODES - 1])));
    let last = Delta::new().remove(format!("n{}", NODES - 1));
    writer.commit(specs(200..300).fold(last, Delta::add)).expect("they are new");
    check(writer.table(), &naive((0..100).chain(200..300)));
    let builder = Ring::builder().points_per_weight(2).layout::<L>().nodes(specs(0..100)).nodes(specs(200..300));
    assert_eq!(writer.table().bytes(), builder.build_table().expect("valid").bytes(), "narrow again");
    writer.table().validate().expect("a valid table");
}

#[test]
fn seventy_thousand_nodes_route_right_sorted() {
    seventy_thousand_nodes_route_right::<Sorted<u32>>();
}

#[test]
fn seventy_thousand_nodes_route_right_eytzinger() {
    seventy_thousand_nodes_route_right::<Eytzinger<u32>>();
}
