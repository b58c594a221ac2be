//! Dumped tables: restored they are the same, damaged they are refused, made up they are a table or an error.

mod common;

use std::collections::BTreeMap;

use common::model::{ModelNode, Rule};
use common::schemes::{Listed, Weak};
use common::{Rng, batches};
use ringway::layout::{Auto, Layout, Sorted};
use ringway::scheme::{AnyScheme, Keyed, MatchRule, Scheme, SchemeOptions, Secret};
use ringway::{Delta, DeltaError, Limits, Native, NodeSpec, Pins, Point, RestoreError, Ring, State, Table};

fn write(payload: &u32, out: &mut Vec<u8>) {
    out.extend(payload.to_le_bytes());
}

fn read(bytes: &[u8]) -> Result<u32, String> {
    bytes.try_into().map(u32::from_le_bytes).map_err(|_| format!("{} bytes, not 4", bytes.len()))
}

fn restore<S: Scheme, L: Layout<S::Point>>(scheme: &S, bytes: &[u8]) -> Result<Table<u32, S, L>, RestoreError> {
    Ring::builder().scheme(scheme.clone()).layout::<L>().restore_table(bytes, read)
}

/// All that one can see of a table.
type Seen<P> = (Vec<ModelNode>, Vec<(P, String)>, String, String, Vec<(Vec<u8>, String)>);

fn seen<S: Scheme, L: Layout<S::Point>>(table: &Table<u32, S, L>) -> Seen<S::Point> {
    let pins = table.pins();
    (
        table.nodes().map(ModelNode::of).collect(),
        table.points().map(|(point, node)| (point, node.id().to_string())).collect(),
        table.placement_fingerprint().to_string(),
        table.spec_fingerprint().to_string(),
        pins.keys().chain(pins.prefixes()).map(|(key, node)| (key.to_vec(), node.to_string())).collect(),
    )
}

fn check<S: Rule, L: Layout<S::Point>>(scheme: &S, seed: u64) {
    let mut rng = Rng::new(seed);
    let (mut writer, _) =
        Ring::builder().scheme(scheme.clone()).layout::<L>().limits(batches::limits()).build().unwrap();
    let mut nodes = Vec::new();
    for round in 0..40 {
        let batch = batches::valid::<S>(&mut rng, &nodes);
        nodes = batch.nodes;
        let mut delta = batch.delta;
        if let Some(node) = nodes.first().filter(|_| round % 3 == 0) {
            delta =
                delta.with_pins(Pins::new().with_key([0, 255], &node.id).unwrap().with_prefix("p:", &node.id).unwrap());
        }
        writer.commit(delta).unwrap();
        let bytes = writer.table().dump(write);
        let table: Table<u32, S, L> = restore(scheme, &bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(seen(&table), seen(writer.table()));
        table.validate().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((table.version(), table.dump(write)), (0, bytes), "the same bytes again, whatever the history");
        for _ in 0..20 {
            let key = rng.next().to_le_bytes();
            assert_eq!(table.owner(&key).map(|node| node.id()), writer.table().owner(&key).map(|node| node.id()));
        }
        // And it goes on as any other.
        let batch = batches::valid::<S>(&mut rng, &nodes);
        let next = |table: &Table<u32, S, L>| table.apply(batch.delta.clone(), &batches::limits()).unwrap();
        let (a, b) = (next(&table), next(writer.table()));
        assert_eq!(a.map(|applied| seen(&applied.table)), b.map(|applied| seen(&applied.table)));
    }
}

#[test]
fn what_is_restored_is_what_was_dumped() {
    check::<_, Auto<u32>>(&Native::new().with_points_per_weight(16), 0xD0_0001);
    for (number, rule) in [MatchRule::AtOrAfter, MatchRule::After, MatchRule::Nearest].into_iter().enumerate() {
        let weak = Weak { name: "weak", place: |hash: u8| u32::from(hash) << 24, rule };
        check::<_, Sorted<u32>>(&weak, 0xD0_1001 + number as u64);
        check::<_, Auto<u32>>(&Listed { weak, group: 2 }, 0xD0_2001 + number as u64);
        let ends = |hash: u8| if hash.is_multiple_of(2) { u128::from(hash) } else { u128::MAX - u128::from(hash) };
        check::<_, Auto<u128>>(&Weak { name: "wide", place: ends, rule }, 0xD0_3001 + number as u64);
    }
}

#[test]
fn every_scheme_is_restored_without_hashing() {
    let attributes = |spec: NodeSpec, n: u32| {
        let spec = spec.with_attribute("port", "80").with_attribute("id", (n + 1).to_string());
        spec.with_attribute("name", format!("node{n}"))
    };
    let nodes = || (0..5).map(move |n| attributes(NodeSpec::new(format!("10.0.0.{n}:80")), n).with_weight(1 + n % 2));
    for name in AnyScheme::names() {
        let mut options = SchemeOptions::new();
        if name == Keyed::ID {
            options = options.with("secret", "000102030405060708090a0b0c0d0e0f");
        }
        let scheme = AnyScheme::named(name, &mut options).unwrap().unwrap();
        fn same<S: Scheme>(scheme: S, nodes: impl Iterator<Item = NodeSpec>) {
            let table = Ring::builder().scheme(scheme.clone()).nodes(nodes).build_table().unwrap();
            let bytes = table.dump(|(), _| ());
            let restored = Ring::builder().scheme(scheme.clone()).restore_table(&bytes, |_| Ok(())).unwrap();
            assert!(
                restored
                    .points()
                    .map(|(p, n)| (p, n.id().clone()))
                    .eq(table.points().map(|(p, n)| (p, n.id().clone())))
            );
            assert_eq!(restored.spec_fingerprint(), table.spec_fingerprint());
            restored.validate().unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        }
        match scheme {
            AnyScheme::U32(scheme) => same(scheme, nodes()),
            AnyScheme::U64(scheme) => same(scheme, nodes()),
            AnyScheme::U128(scheme) => same(scheme, nodes()),
            other => panic!("{other:?}"),
        }
    }
    // `Spied` counts what is hashed.
    let scheme = common::schemes::Spied::new(Native::new());
    let table: Table<u32, _> =
        Ring::builder().scheme(scheme.clone()).node(NodeSpec::new("a").with_payload(1)).build_table().unwrap();
    let bytes = table.dump(write);
    scheme.spy().hashed.clear();
    let _: Table<u32, _> = restore(&scheme, &bytes).unwrap();
    assert_eq!(scheme.spy().hashed, []);
}

fn sample() -> Vec<u8> {
    let nodes = [
        NodeSpec::new("alpha").with_weight(2).with_zone(["eu", "eu-1"]).with_payload(7),
        NodeSpec::new("beta")
            .with_address("10.0.0.2:80")
            .with_active_points(3)
            .with_attribute("rack", "r1")
            .with_payload(8),
        NodeSpec::new("gamma \u{2603}").with_weight(0).with_state(State::Draining).with_payload(u32::MAX),
    ];
    let pins = Pins::new().with_key(b"vip", "beta").unwrap().with_prefix([0xFF], "gamma \u{2603}").unwrap();
    let builder = Ring::builder().scheme(Native::new().with_points_per_weight(4)).nodes(nodes).pins(pins);
    let table: Table<u32> = builder.build_table().unwrap();
    table.dump(write)
}

fn native(bytes: &[u8]) -> Result<Table<u32>, RestoreError> {
    restore(&Native::new().with_points_per_weight(4), bytes)
}

/// The file in tests/golden/dump was written by this test once, and is read by the recipe beside it, in another language.
#[test]
fn the_format_is_frozen() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/dump/sample.dump");
    if std::env::var_os("RINGWAY_WRITE_GOLDEN").is_some() {
        std::fs::write(path, sample()).unwrap();
    }
    assert_eq!(std::fs::read(path).unwrap(), sample());
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = sample();
    assert!(native(&bytes).is_ok());
    for len in 0..bytes.len() {
        assert!(native(&bytes[..len]).is_err(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let error = native(&damaged).expect_err("a bit is flipped");
            let expected = match at {
                0..8 => error == RestoreError::NoDump,
                8..12 => matches!(error, RestoreError::Format { .. }),
                _ => error == RestoreError::Damaged,
            };
            assert!(expected, "bit {bit} of byte {at}: {error}");
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(native(&longer).unwrap_err(), RestoreError::Damaged);
}

/// BLAKE2b of all but the last 16 bytes, there.
fn sign(bytes: &mut [u8]) {
    let end = bytes.len() - 16;
    let (body, checksum) = bytes.split_at_mut(end);
    let hash = blake2b_simd::Params::new().hash_length(16).personal(b"ringway.dump.1").hash(body);
    checksum.copy_from_slice(hash.as_bytes());
}

/// With a checksum that is right, what is made up is an error too, or a table that its own fingerprint stands for; and no
/// count of it takes memory.
#[test]
fn bytes_that_are_made_up_are_a_table_or_an_error() {
    let bytes = sample();
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let mut rng = Rng::new(0xD0_4001);
    let mut note = |made_up: &[u8]| match native(made_up) {
        Ok(table) => {
            assert_ne!(table.spec_fingerprint(), ringway::Fingerprint::from_bytes([0; 16]));
            *kinds.entry("a table".into()).or_default() += 1;
        }
        Err(error) => {
            assert!(error.to_string().len() < 1000);
            let name = format!("{error:?}");
            *kinds.entry(name.split([' ', '(']).next().unwrap().into()).or_default() += 1;
        }
    };
    for at in 8..bytes.len() - 16 {
        for value in [0, 1, 0x7F, 0x80, 0xFF, bytes[at] ^ 1, bytes[at].wrapping_add(1)] {
            let mut made_up = bytes.clone();
            made_up[at] = value;
            sign(&mut made_up);
            note(&made_up);
        }
        let mut made_up = bytes.clone();
        let end = (at + 4).min(made_up.len() - 16);
        made_up[at..end].fill(0xFF);
        sign(&mut made_up);
        note(&made_up);
    }
    for _ in 0..3000 {
        let mut made_up = bytes.clone();
        for _ in 0..=rng.below(4) {
            let (at, end) = (12 + rng.below(made_up.len() - 28), 12 + rng.below(made_up.len() - 28));
            match rng.below(3) {
                0 => drop(made_up.drain(at.min(end)..at.max(end).min(at.min(end) + 9))),
                1 => made_up.insert(at, rng.next().to_le_bytes()[0]),
                _ => made_up[at] = rng.next().to_le_bytes()[0],
            }
        }
        sign(&mut made_up);
        note(&made_up);
    }
    println!("{kinds:?}");
    for kind in
        ["Truncated", "Width", "Scheme", "TooManyPoints", "Wrong", "Payload", "Refused", "Points", "Fingerprint"]
    {
        assert!(kinds.contains_key(kind), "nothing was {kind}: {kinds:?}");
    }
}

#[test]
fn another_scheme_or_secret_is_refused() {
    let keyed = |secret| Keyed::new(Secret::from_hex(secret).unwrap());
    let (ours, theirs) = (keyed("000102030405060708090a0b0c0d0e0f"), keyed("100102030405060708090a0b0c0d0e0f"));
    let table: Table<u32, _> =
        Ring::builder().scheme(ours.clone()).node(NodeSpec::new("a").with_payload(1)).build_table().unwrap();
    let bytes = table.dump(write);
    assert!(restore::<_, Auto<u32>>(&ours, &bytes).is_ok());
    let secret: Vec<u8> = (0..16).collect();
    assert!(!bytes.windows(16).any(|window| window == secret), "the secret isn't in the bytes");
    let error = restore::<_, Auto<u32>>(&theirs, &bytes).unwrap_err();
    assert_eq!(error, RestoreError::Scheme { written: "keyed".into(), expected: "keyed".into() });
    let error = native(&bytes).unwrap_err();
    assert_eq!(error, RestoreError::Scheme { written: "keyed".into(), expected: "native".into() });
    let weak = Weak { name: "weak", place: u64::from, rule: MatchRule::After };
    assert_eq!(restore::<_, Auto<u64>>(&weak, &bytes).unwrap_err(), RestoreError::Width { bits: 32, expected: 64 });
}

#[test]
fn limits_and_payloads_are_held() {
    let bytes = sample();
    let with = |limits: Limits| {
        let scheme = Native::new().with_points_per_weight(4);
        Ring::builder().scheme(scheme).limits(limits).restore_table(&bytes, read).map(|table: Table<u32>| table.len())
    };
    assert_eq!(with(Limits::DEFAULT), Ok(11));
    let nodes = RestoreError::Refused(DeltaError::TooManyNodes { nodes: 3, limit: 2 });
    assert_eq!(with(Limits::DEFAULT.with_nodes(2)), Err(nodes));
    assert_eq!(with(Limits::DEFAULT.with_points(10)), Err(RestoreError::TooManyPoints { points: 11, limit: 10 }));
    assert!(matches!(with(Limits::DEFAULT.with_weight(1)), Err(RestoreError::Refused(DeltaError::Node(_)))));
    let refused: Result<Table<u32>, _> = Ring::builder()
        .scheme(Native::new().with_points_per_weight(4))
        .restore_table(&bytes, |bytes| if bytes[0] == 8 { Err("no 8".into()) } else { Ok(0) });
    assert_eq!(refused.unwrap_err().to_string(), "node \"beta\": the payload isn't taken: no 8");
    let given: Result<Table<u32>, _> =
        Ring::builder().node(NodeSpec::new("x").with_payload(0)).restore_table(&bytes, read);
    assert_eq!(given.unwrap_err(), RestoreError::NodesGiven { nodes: 1 });
}

/// A pin whose node has left sleeps; so it does in a table that is restored, until the node is back.
#[test]
fn sleeping_pins_are_kept() {
    let (mut writer, _) =
        Ring::builder().nodes(["a", "b"].map(|id| NodeSpec::new(id).with_payload(0))).build().unwrap();
    writer.commit(Delta::new().with_pins(Pins::new().with_key("vip", "b").unwrap())).unwrap();
    writer.commit(Delta::new().remove("b")).unwrap();
    let bytes = writer.table().dump(write);
    let (mut restored, handle) = Ring::builder().restore(&bytes, read).unwrap();
    assert_eq!((restored.version(), restored.table().pins().len()), (1, 1));
    assert_eq!(restored.table().placement_fingerprint(), writer.table().placement_fingerprint());
    assert_eq!(handle.reader().owner(b"vip").unwrap().id(), "a");
    restored.commit(Delta::new().add(NodeSpec::new("b").with_payload(0))).unwrap();
    assert_eq!(handle.reader().owner(b"vip").unwrap().id(), "b");
}

#[test]
fn a_ring_without_nodes_is_restored() {
    let table: Table<u32> = Ring::builder().build_table().unwrap();
    let restored: Table<u32> = restore(&Native::new(), &table.dump(write)).unwrap();
    assert!(restored.is_empty() && restored.owner(b"key").is_none());
    assert_eq!(restored.placement_fingerprint(), table.placement_fingerprint());
    assert_eq!(u32::from_u128(1 << 32), None);
}
