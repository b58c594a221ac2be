//! Every scheme by name, with any options, nodes and keys: a table that is valid and the same from any order and history
//! as the scheme promises, or an error.

use std::fmt::Debug;

use ringway::scheme::{AnyScheme, OptionValue, Scheme, SchemeOptions};
use ringway::{Delta, Limits, NodeSpec, Ring, State, Table};

use crate::common::Rng;

/// Names of options that schemes take; `secret_file` and `secret_env` would make the target depend on where it runs.
const OPTIONS: [&str; 25] = [
    "points_per_weight",
    "key_tag",
    "hash_tag",
    "secret",
    "points_per_node",
    "hash_function",
    "use_hostname_for_hashing",
    "minimum_ring_size",
    "maximum_ring_size",
    "minRingSize",
    "maxRingSize",
    "ringSizeCap",
    "vnodes",
    "replicas",
    "point_multiple",
    "replicas_per_weight",
    "hash",
    "avalanche",
    "header",
    "hash-type",
    "balance",
    "namespace",
    "key_hash",
    "format",
    "probes",
];

const VALUES: [&str; 14] = [
    "crc32",
    "md5",
    "sdbm",
    "djb2",
    "wt6",
    "fnv1a_64",
    "one_at_a_time",
    "ketama",
    "murmur",
    "hsieh",
    "consistent",
    "{}",
    "MURMUR_HASH_2",
    "00112233445566778899aabbccddeeff",
];

const ATTRIBUTES: [&str; 8] = ["host", "hostname", "port", "id", "guid", "hash_key", "name", "x"];

/// Fuzzes all [`AnyScheme`]s.
pub fn schemes(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    let names: Vec<_> = AnyScheme::names().collect();
    let name = *rng.pick(&names);
    let mut options = SchemeOptions::new();
    for _ in 0..rng.below(4) {
        let option = if rng.below(8) == 0 { text(&mut rng) } else { (*rng.pick(&OPTIONS)).to_owned() };
        options.insert(option, value(&mut rng));
    }
    let Ok(Some(scheme)) = AnyScheme::named(name, &mut options) else { return };
    let mut nodes: Vec<NodeSpec> = (0..rng.below(7)).map(|_| node(&mut rng)).collect();
    // Twice the same id is an error of its own, so mostly they differ.
    if rng.below(8) > 0 {
        nodes.sort_by(|a, b| a.id().cmp(b.id()));
        nodes.dedup_by(|a, b| a.id() == b.id());
        rng.shuffle(&mut nodes);
    }
    let keys: Vec<Vec<u8>> = (0..4).map(|_| bytes(&mut rng)).collect();
    match scheme {
        AnyScheme::U32(scheme) => check(&scheme, &nodes, &keys, &mut rng),
        AnyScheme::U64(scheme) => check(&scheme, &nodes, &keys, &mut rng),
        AnyScheme::U128(scheme) => check(&scheme, &nodes, &keys, &mut rng),
        other => panic!("{other:?} isn't fuzzed"),
    }
}

fn check<S: Scheme + Debug>(scheme: &S, nodes: &[NodeSpec], keys: &[Vec<u8>], rng: &mut Rng) {
    let limits = Limits::DEFAULT.with_points(20_000).with_nodes(100);
    let build = |nodes: &[NodeSpec]| -> Result<Table<(), S>, _> {
        Ring::builder().scheme(scheme.clone()).limits(limits).nodes(nodes.iter().cloned()).build_table()
    };
    let table = match build(nodes) {
        Ok(table) => table,
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.len() < 4096 && !shown.contains(char::is_control), "{shown:?}");
            return;
        }
    };
    table.validate().unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
    for key in keys {
        let point = scheme.key_point(key);
        let (head, tail) = key.split_at(rng.below(key.len() + 1));
        assert_eq!(scheme.key_point_of_parts(&[head, b"", tail]), point, "{scheme:?}: {key:?} in parts");
        let owner = table.owner(key).map(|node| node.id());
        // Of several probes one point is one.
        if scheme.probes().is_one() {
            assert_eq!(owner, table.owner_at(point).map(|node| node.id()), "{scheme:?}: {key:?}");
        }
        let mut replicas = [None; 2];
        table.replicas(key, &mut replicas);
        assert_eq!(replicas[0].map(|node| node.id()), owner, "{scheme:?}: {key:?}");
        assert_eq!(owner.is_none(), table.is_empty());
    }
    same(scheme, &table, &build(nodes).expect("as before"), "built twice");
    if scheme.order_free() {
        let mut other = nodes.to_vec();
        rng.shuffle(&mut other);
        same(scheme, &table, &build(&other).expect("as before"), "in another order");
    }
    // One node less, and then one more, by deltas; a scheme in which all depend on all may refuse what is left.
    if !nodes.is_empty() {
        let gone = rng.below(nodes.len());
        let mut rest = nodes.to_vec();
        let node = rest.remove(gone);
        let (left, scratch) = (table.apply(Delta::new().remove(node.id()), &limits), build(&rest));
        let (left, scratch) = match (left, scratch) {
            (Ok(left), Ok(scratch)) => (left.expect("a node less").table, scratch),
            (Err(_), Err(_)) => return,
            (left, scratch) => panic!("{scheme:?}: {left:?} by a delta, {scratch:?} from scratch"),
        };
        same(scheme, &left, &scratch, "a node less");
        rest.push(node.clone());
        let (back, scratch) = (left.apply(Delta::new().add(node), &limits), build(&rest));
        match (back, scratch) {
            (Ok(back), Ok(scratch)) => same(scheme, &back.expect("a node more").table, &scratch, "a node more"),
            (Err(_), Err(_)) => {}
            (back, scratch) => panic!("{scheme:?}: {back:?} by a delta, {scratch:?} from scratch"),
        }
    }
}

fn same<S: Scheme + Debug>(scheme: &S, a: &Table<(), S>, b: &Table<(), S>, what: &str) {
    let sequence = |table: &Table<(), S>| -> Vec<_> {
        table.points().map(|(point, node)| (point, node.id().to_string())).collect()
    };
    assert_eq!(sequence(a), sequence(b), "{scheme:?}: {what}");
    assert_eq!(a.placement_fingerprint(), b.placement_fingerprint(), "{scheme:?}: {what}");
    assert_eq!(a.spec_fingerprint(), b.spec_fingerprint(), "{scheme:?}: {what}");
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    let len = [0, 1, 3, 8, 24, 40, 200, 600][rng.below(8)];
    rng.take(len)
}

fn text(rng: &mut Rng) -> String {
    String::from_utf8_lossy(&bytes(rng)).into_owned()
}

fn value(rng: &mut Rng) -> OptionValue {
    match rng.below(5) {
        0 => OptionValue::Bool(rng.below(2) == 1),
        1 => OptionValue::Integer(u64::from(rng.number(70))),
        2 => OptionValue::Integer(rng.next()),
        3 => OptionValue::Text((*rng.pick(&VALUES)).to_owned()),
        _ => OptionValue::Text(text(rng)),
    }
}

fn node(rng: &mut Rng) -> NodeSpec {
    let id = match rng.below(4) {
        0 => text(rng),
        1 => format!("10.0.0.{}:{}", rng.number(4), rng.number(70_000)),
        2 => format!("node{}", rng.number(8)),
        _ => format!("unix:/{}", text(rng)),
    };
    let mut spec = NodeSpec::new(id).with_state(State::ALL[rng.below(3)]);
    match rng.below(4) {
        0 => spec = spec.with_weight(rng.number(u32::MAX)),
        1 => spec = spec.with_weight(rng.number(1000)),
        _ => spec = spec.with_weight(rng.number(4)),
    }
    if rng.below(4) == 0 {
        spec = spec.with_active_points(rng.number(300));
    }
    if rng.below(3) == 0 {
        spec = spec.with_address(text(rng));
    }
    for _ in 0..rng.below(4) {
        let value = match rng.below(3) {
            0 => text(rng),
            1 => rng.number(u32::MAX).to_string(),
            _ => ["addr", "addr-port", "guid", "id", "id32", "10.1.2.3", "11211", "node1"][rng.below(8)].to_owned(),
        };
        spec = spec.with_attribute(*rng.pick(&ATTRIBUTES), value);
    }
    spec
}
