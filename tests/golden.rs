//! Placement by hashed labels against `tests/golden`, which other programs wrote; every layout gives it.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, str};

use ringway::layout::Layout;
use ringway::scheme::{Keyed, LabelHash, Scheme, SeaHash, Secret, XxHash3, Xxh3};
use ringway::{Delta, Native, NodeSpec, Ring, RingBuilder, Table};
use serde_json::Value;
use sha2::{Digest, Sha256};

for_every_layout!(
    every_case_is_reproduced,
    every_xxh3_case_is_reproduced,
    every_keyed_case_is_reproduced,
    every_move_is_reproduced,
    the_first_id_of_a_tie_owns_it
);

type Shares = BTreeMap<String, u64>;

/// The folder of the scheme of that name.
fn folder(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(id)
}

fn root() -> PathBuf {
    folder(Native::ID)
}

/// The keyed scheme with the secret of its golden data.
fn keyed() -> Keyed {
    Keyed::new(Secret::from_file(folder(Keyed::ID).join("secret.hex")).expect("the secret is there"))
}

/// The folders in `parent` that hold `file`, of which there must be `count`: a walk that finds nothing checks nothing.
fn folders_with(parent: &Path, file: &str, count: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).expect("the golden folder is there");
    let mut found: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.join(file).exists()).collect();
    found.sort();
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// The rows of a file of `N` columns, split at LF and TAB alone.
fn rows<const N: usize>(path: &Path) -> Vec<[String; N]> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.strip_suffix('\n').expect("the last line ends").split('\n');
    let row = |line: &str| {
        let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        columns.try_into().unwrap_or_else(|columns| panic!("{}: {columns:?}", path.display()))
    };
    lines.map(row).collect()
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

fn small(value: &Value) -> u32 {
    number(value).try_into().expect("a u32")
}

fn node(value: &Value) -> NodeSpec {
    let mut spec = NodeSpec::new(text(&value["id"])).with_weight(small(&value["weight"]));
    for (member, value) in value.as_object().expect("a node") {
        spec = match member.as_str() {
            "id" | "weight" => spec,
            "active_points" => spec.with_active_points(small(value)),
            "address" => spec.with_address(text(value)),
            "state" => spec.with_state(value.as_str().expect("text").parse().expect("a state")),
            "zone" => spec.with_zone(value.as_array().expect("labels").iter().map(text)),
            "attributes" => value
                .as_object()
                .expect("attributes")
                .iter()
                .fold(spec, |spec, (name, value)| spec.with_attribute(name, text(value))),
            _ => panic!("the test doesn't know the member {member}"),
        };
    }
    spec
}

fn cluster(path: &Path) -> (u32, Vec<NodeSpec>) {
    cluster_of(Native::ID, path)
}

fn cluster_of(id: &str, path: &Path) -> (u32, Vec<NodeSpec>) {
    let cluster = json(path);
    assert_eq!(cluster["scheme"], id);
    let nodes = cluster["nodes"].as_array().expect("nodes").iter().map(node).collect();
    (small(&cluster["points_per_weight"]), nodes)
}

fn builder<L: Layout<u32>>((points_per_weight, nodes): (u32, Vec<NodeSpec>)) -> RingBuilder<(), Native, L> {
    Ring::builder().points_per_weight(points_per_weight).layout::<L>().nodes(nodes)
}

fn id<'t, L: Layout<u32>>(table: &'t Table<(), Native, L>, key: &str) -> &'t str {
    table.owner(key.as_bytes()).map_or("", |node| node.id().as_str())
}

/// Every way to ask for a key's owner gives `owner`.
fn check_owner<S: Scheme<Point = u32>, L: Layout<u32>>(table: &Table<(), S, L>, key: &str, owner: &str) {
    let (bytes, found) = (key.as_bytes(), |node: Option<&ringway::Node>| {
        assert_eq!(node.map_or("", |node| node.id().as_str()), owner, "key {key:?}");
    });
    found(table.owner(bytes));
    found(table.owner_at(table.scheme().key_point(bytes)));
    for cut in [0, bytes.len() / 3, bytes.len() / 2, bytes.len()] {
        let (head, tail) = bytes.split_at(cut);
        found(table.owner_of_parts(&[head, b"", tail]));
    }
    found(table.owner_of_parts(&bytes.chunks(1).collect::<Vec<_>>()));
}

fn check_owners<S: Scheme<Point = u32>, L: Layout<u32>>(table: &Table<(), S, L>, rows: &[(String, String)]) {
    rows.iter().for_each(|(key, owner)| check_owner(table, key, owner));
    let (keys, owners): (Vec<&str>, Vec<&str>) = rows.iter().map(|(key, owner)| (key.as_str(), owner.as_str())).unzip();
    let mut found = vec![None; keys.len()];
    assert_eq!(table.owner_batch(&keys, &mut found), keys.len());
    assert_eq!(found.iter().map(|node| node.map_or("", |node| node.id().as_str())).collect::<Vec<_>>(), owners);
    let points: Vec<u32> = keys.iter().map(|key| table.scheme().key_point(key.as_bytes())).collect();
    let mut at = vec![None; keys.len()];
    assert_eq!(table.owner_at_batch(&points, &mut at), keys.len());
    assert_eq!(at.iter().map(|node| node.map_or("", |node| node.id().as_str())).collect::<Vec<_>>(), owners);
}

fn shares<S: Scheme<Point = u32>, L: Layout<u32>>(table: &Table<(), S, L>) -> Shares {
    let shares = table.shares();
    let places = |share: ringway::Share| u64::try_from(share.points()).expect("at most 2^32");
    shares.into_iter().map(|(node, share)| (node.id().as_str().to_owned(), places(share))).collect()
}

fn every_case_is_reproduced<L: Layout<u32>>() {
    reproduce_cases::<_, L>(11, |points| Native::new().with_points_per_weight(points));
}

fn every_xxh3_case_is_reproduced<L: Layout<u32>>() {
    reproduce_cases::<_, L>(1, |points| Xxh3::new().with_points_per_weight(points));
}

fn every_keyed_case_is_reproduced<L: Layout<u32>>() {
    reproduce_cases::<_, L>(1, |points| keyed().with_points_per_weight(points));
}

/// Replays the cases of a scheme, which is made of its points per weight.
fn reproduce_cases<S: Scheme<Point = u32>, L: Layout<u32>>(count: usize, scheme: impl Fn(u32) -> S) {
    let id = scheme(0).id().to_owned();
    for case in folders_with(&folder(&id), "cluster.json", count) {
        println!("{}", case.display());
        let expected = json(&case.join("expected.json"));
        let owners: Vec<_> = rows(&case.join("owners.tsv")).into_iter().map(|[key, owner]| (key, owner)).collect();
        let (points_per_weight, nodes) = cluster_of(&id, &case.join("cluster.json"));
        let scheme = scheme(points_per_weight);
        let reversed: Vec<_> = nodes.iter().rev().cloned().collect();
        for nodes in [nodes, reversed] {
            let ring = Ring::builder().scheme(scheme.clone()).layout::<L>().nodes(nodes);
            let table = ring.build_table().expect("the case is valid");
            check_case(&table, &expected);
            check_owners(&table, &owners);
            table.validate().expect("a valid table");
        }
    }
}

fn check_case<S: Scheme<Point = u32>, L: Layout<u32>>(table: &Table<(), S, L>, expected: &Value) {
    assert_eq!(table.len() as u64, number(&expected["points"]));
    assert_eq!(table.points().len(), table.len());
    let distinct: BTreeSet<u32> = table.points().map(|(point, _)| point).collect();
    assert_eq!(distinct.len() as u64, number(&expected["distinct_points"]));

    let mut hash = Sha256::new();
    for (point, node) in table.points() {
        hash.update(point.to_le_bytes());
        hash.update(u32::try_from(node.id().as_bytes().len()).unwrap().to_le_bytes());
        hash.update(node.id().as_bytes());
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, text(&expected["sequence_sha256"]));
    assert_eq!(table.placement_fingerprint().to_string(), text(&expected["placement_fingerprint"]));
    assert_eq!(table.spec_fingerprint().to_string(), text(&expected["spec_fingerprint"]));

    let sequence: Vec<(u64, String)> = table.points().map(|(p, node)| (p.into(), node.id().to_string())).collect();
    let listed = |list: &Value| -> Vec<(u64, String)> {
        list.as_array().expect("points").iter().map(|pair| (number(&pair[0]), text(&pair[1]))).collect()
    };
    let (first, last) = (listed(&expected["first"]), listed(&expected["last"]));
    assert_eq!(first.len(), sequence.len().min(64));
    assert!(sequence.starts_with(&first));
    assert!(sequence.ends_with(&last));

    let expected_shares = expected["shares"].as_array().expect("shares");
    let found: Vec<(String, u64)> = shares(table).into_iter().collect();
    let listed: Vec<_> = expected_shares.iter().map(|pair| (text(&pair[0]), number(&pair[1]))).collect();
    assert_eq!(found, listed);
    assert_eq!(found.iter().map(|(_, places)| places).sum::<u64>(), number(&expected["share_sum"]));
    let ids: Vec<_> = table.nodes().map(|node| node.id().to_string()).collect();
    assert_eq!(ids, listed.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), "nodes come in the order of ids");
}

/// The delta from one list of nodes to another, found by this test's own comparison.
fn difference(before: &[NodeSpec], after: &[NodeSpec]) -> Delta {
    let by_id = |nodes: &[NodeSpec]| -> BTreeMap<String, NodeSpec> {
        nodes.iter().map(|node| (node.id().to_owned(), node.clone())).collect()
    };
    let (old, new) = (by_id(before), by_id(after));
    let mut delta = Delta::new();
    for (id, node) in &new {
        let Some(was) = old.get(id) else {
            delta = delta.add(node.clone());
            continue;
        };
        let (was, is) = (was.info(), node.info());
        if was.weight() != is.weight() {
            delta = delta.set_weight(id, is.weight());
        }
        if was.active_points() != is.active_points() {
            delta = delta.set_active_points(id, is.active_points());
        }
        assert_eq!((was.address(), was.zone()), (is.address(), is.zone()), "the moves change nothing else");
    }
    old.keys().filter(|id| !new.contains_key(*id)).fold(delta, |delta, id| delta.remove(id))
}

/// Places by (owner before, owner after), walked over the ends of both tables' arcs.
fn flows<L: Layout<u32>>(
    before: &Table<(), Native, L>,
    after: &Table<(), Native, L>,
) -> BTreeMap<(String, String), u64> {
    let ends: BTreeSet<u32> = before.points().chain(after.points()).map(|(point, _)| point).collect();
    let mut last = *ends.last().expect("both have points");
    let mut flows = BTreeMap::new();
    for end in ends {
        let owner = |table: &Table<(), Native, L>| table.owner_at(end).expect("there are points").id().to_string();
        *flows.entry((owner(before), owner(after))).or_insert(0) += u64::from(end.wrapping_sub(last));
        last = end;
    }
    assert_eq!(flows.values().sum::<u64>(), 1 << 32);
    flows.retain(|(from, to), _| from != to);
    flows
}

fn every_move_is_reproduced<L: Layout<u32>>() {
    for case in folders_with(&root().join("moves"), "before.json", 5) {
        println!("{}", case.display());
        let expected = json(&case.join("expected.json"));
        let (before, after) = (cluster(&case.join("before.json")), cluster(&case.join("after.json")));
        let rows = rows::<3>(&case.join("owners.tsv"));
        let delta = difference(&before.1, &after.1);
        let scratch = builder::<L>(after.clone()).build_table().expect("valid");
        for by_delta in [true, false] {
            let (mut writer, handle) = builder::<L>(before.clone()).build().expect("valid");
            let mut reader = handle.reader();
            let old = writer.snapshot();
            assert_eq!(old.placement_fingerprint().to_string(), text(&expected["placement_before"]));
            let report =
                if by_delta { writer.commit(delta.clone()) } else { writer.replace_all(after.1.iter().cloned()) };
            let report = report.expect("the move is valid");
            assert!(report.published && report.version == 2);
            assert_eq!(report.placement.to_string(), text(&expected["placement_after"]));
            let new = reader.table();
            new.validate().expect("a valid table");
            assert_eq!(new.spec_fingerprint(), scratch.spec_fingerprint());
            let sequence = |table: &Table<(), Native, L>| -> Vec<(u32, String)> {
                table.points().map(|(point, node)| (point, node.id().to_string())).collect()
            };
            assert_eq!(sequence(new), sequence(&scratch));

            let flows = flows(&old, new);
            assert_eq!(flows.values().sum::<u64>(), number(&expected["moved"]));
            let listed = expected["flows"].as_array().expect("flows").iter();
            let listed = listed.map(|flow| ((text(&flow[0]), text(&flow[1])), number(&flow[2])));
            assert_eq!(flows, listed.collect());
            let (had, has) = (shares(&old), shares(new));
            let gained = has.iter().map(|(id, places)| places.saturating_sub(had.get(id).copied().unwrap_or(0)));
            assert_eq!(gained.sum::<u64>(), number(&expected["minimum"]));
            let column = |n: usize| rows.iter().map(|row| (row[0].clone(), row[n].clone())).collect::<Vec<_>>();
            check_owners(&old, &column(1));
            check_owners(new, &column(2));
        }
    }
}

fn the_first_id_of_a_tie_owns_it<L: Layout<u32>>() {
    let case = root().join("collisions");
    let table = builder::<L>(cluster(&case.join("cluster.json"))).build_table().expect("valid");
    for [point, key, winner, loser] in rows(&case.join("ties.tsv")) {
        let point = u32::from_str_radix(&point, 16).expect("a point");
        let there: Vec<_> =
            table.points().filter(|&(p, _)| p == point).map(|(_, node)| node.id().to_string()).collect();
        assert_eq!(there, [winner.clone(), loser.clone()]);
        assert_eq!(Native::new().key_point(key.as_bytes()), point);
        assert_eq!(table.owner_at(point).map(|node| node.id().to_string()), Some(winner.clone()));
        assert_eq!(id(&table, &key), winner);
    }
}

fn check_labels(scheme: &impl Scheme<Point = u32, Seed = ()>, hash: impl Fn(&[u8]) -> u64) {
    let rows = rows::<3>(&folder(scheme.id()).join("labels.tsv"));
    assert!(rows.len() > 400);
    let mut out_of_range = 0;
    for [id, label, point] in rows {
        let (label, point) = (label.parse::<u32>().unwrap(), u32::from_str_radix(&point, 16).unwrap());
        let mut bytes = u32::try_from(id.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend(id.as_bytes());
        bytes.extend(label.to_le_bytes());
        assert_eq!((hash(&bytes) >> 32) as u32, point, "the rule as this test reads it: {id:?} {label}");
        // A half-open range can't hold the last label; no ring can ask for it, as no node may have 2^32 points.
        let Some(end) = label.checked_add(1) else {
            out_of_range += 1;
            continue;
        };
        let spec = NodeSpec::new(&*id);
        for start in [label, label.saturating_sub(5)] {
            let mut found = Vec::new();
            scheme.points(spec.info().id(), &(), start..end, &mut found);
            assert_eq!((found.len(), found.last()), ((end - start) as usize, Some(&point)), "{id:?} {label}");
        }
    }
    assert!(out_of_range < 20, "{out_of_range}");
}

fn check_keys(scheme: &impl Scheme<Point = u32>) {
    let rows = rows::<2>(&folder(scheme.id()).join("keys.tsv"));
    assert!(rows.len() > 300);
    for [key, point] in rows {
        assert_eq!(format!("{:08x}", scheme.key_point(key.as_bytes())), point, "{key:?}");
    }
}

/// The point of a key of known hash, whole and in parts.
fn check_hash(scheme: &impl Scheme<Point = u32>, key: &[u8], hash: &str) {
    assert_eq!(format!("{:08x}", scheme.key_point(key)), hash[..8]);
    for step in [1, 3, 7, 8, 9, 16, 31, 32, 33] {
        let parts: Vec<&[u8]> = key.chunks(step).collect();
        assert_eq!(format!("{:08x}", scheme.key_point_of_parts(&parts)), hash[..8], "{key:02x?} in parts of {step}");
    }
}

#[test]
fn labels_hash_to_their_points() {
    check_labels(&Native::new(), seahash::hash);
    check_labels(&Xxh3::new(), twox_hash::XxHash3_64::oneshot);
    let secret = fs::read_to_string(folder(Keyed::ID).join("secret.hex")).expect("the secret is there");
    let key = u128::from_str_radix(secret.trim(), 16).expect("a secret").to_be_bytes();
    check_labels(&keyed(), |label| siphasher::sip::SipHasher13::new_with_key(&key).hash(label));
}

#[test]
fn keys_hash_to_their_points() {
    check_keys(&Native::new());
    check_keys(&Xxh3::new());
    check_keys(&keyed());
}

#[test]
fn keys_of_every_length_hash_as_seahash() {
    let rows = rows::<2>(&root().join("seahash.tsv"));
    assert!(rows.len() > 300);
    for [hex, hash] in rows {
        let key: Vec<u8> = hex
            .as_bytes()
            .chunks(2)
            .map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(format!("{:016x}", seahash::hash(&key)), hash);
        assert_eq!(format!("{:016x}", SeaHash::hash(&key)), hash);
        check_hash(&Native::new(), &key, &hash);
    }
}

/// Lengths and hashes of the pattern's first bytes.
fn hashes_by_length(path: &Path) -> Vec<(Vec<u8>, String)> {
    let rows = rows::<2>(path);
    assert!(rows.len() > 300);
    let pattern = |length| (0..length).map(|n| ((n * 167 + n / 256 + 13) % 256) as u8).collect();
    rows.into_iter().map(|[length, hash]| (pattern(length.parse::<usize>().expect("a length")), hash)).collect()
}

#[test]
fn keys_of_every_length_hash_as_xxh3() {
    for (key, hash) in hashes_by_length(&folder(Xxh3::ID).join("xxh3.tsv")) {
        assert_eq!(format!("{:016x}", XxHash3::hash(&key)), hash);
        check_hash(&Xxh3::new(), &key, &hash);
    }
}

#[test]
fn keys_of_every_length_hash_as_siphash() {
    let scheme = keyed();
    for (key, hash) in hashes_by_length(&folder(Keyed::ID).join("siphash.tsv")) {
        check_hash(&scheme, &key, &hash);
    }
}

#[test]
fn schemes_that_differ_in_the_hash_alone_differ_in_fingerprint() {
    let nodes = ["a", "b", "c"].map(NodeSpec::new);
    let native = Ring::builder().nodes(nodes.clone()).build_table().expect("valid");
    let xxh3 = Ring::builder().scheme(Xxh3::new()).nodes(nodes).build_table().expect("valid");
    assert_ne!(native.placement_fingerprint(), xxh3.placement_fingerprint());
    assert_ne!(native.spec_fingerprint(), xxh3.spec_fingerprint());
}
