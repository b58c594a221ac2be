//! Decisions of other systems, recorded from the systems themselves, and reproduced here one by one.
//!
//! `tests/golden/interop` holds a part of each recording. A folder with the whole ones is replayed too, if the environment
//! variable `RINGWAY_INTEROP` names it.

use std::fs;
use std::path::{Path, PathBuf};

use ringway::cluster::Cluster;
use ringway::layout::{Auto, Layout, Sorted};
use ringway::scheme::{AnyScheme, OutOfService, Scheme};
use ringway::{Limits, NodeSpec, Ring, State, Table};

/// A recorded case: a cluster, and the server of each key.
struct Case {
    name: String,
    cluster: Cluster,
    decisions: Vec<(Vec<u8>, String)>,
}

/// All folders below that hold a recording, in order.
fn cases(root: &Path) -> Vec<Case> {
    let mut folders = vec![root.to_owned()];
    let mut cases = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        folders.extend(entries.into_iter().filter(|path| path.is_dir()));
        let (cluster, vectors) = (folder.join("cluster.json"), folder.join("vectors.tsv"));
        if !cluster.exists() || !vectors.exists() {
            continue;
        }
        let name = folder.strip_prefix(root).unwrap().display().to_string();
        let text = fs::read_to_string(&cluster).unwrap();
        let rows = fs::read(&vectors).unwrap();
        let decisions: Vec<_> = rows
            .strip_suffix(b"\n")
            .unwrap_or(&rows)
            .split(|&byte| byte == b'\n')
            .map(|row| {
                // A key may hold a TAB, a server's name doesn't.
                let tab = row.iter().rposition(|&byte| byte == b'\t').unwrap();
                (row[..tab].to_vec(), String::from_utf8(row[tab + 1..].to_vec()).unwrap())
            })
            .collect();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        if let Some(rows) = json["vectors"].as_u64() {
            assert_eq!(rows, decisions.len() as u64, "{name}: cluster.json says how many rows there are");
        }
        cases.push(Case { cluster: Cluster::parse_recorded(&name, &text).unwrap(), name, decisions });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// How many decisions differ, and the first few of them.
fn mismatches(case: &Case) -> Vec<String> {
    let nodes = || case.cluster.nodes().iter().cloned();
    match case.cluster.scheme() {
        AnyScheme::U32(scheme) => both(scheme, nodes, case),
        AnyScheme::U64(scheme) => both(scheme, nodes, case),
        AnyScheme::U128(scheme) => both(scheme, nodes, case),
        _ => panic!("a width that this test doesn't know"),
    }
}

fn both<S: Scheme, N: Iterator<Item = NodeSpec>>(scheme: &S, nodes: impl Fn() -> N, case: &Case) -> Vec<String> {
    let mut found = with_layout::<S, Auto<S::Point>>(scheme, nodes(), case);
    found.extend(with_layout::<S, Sorted<S::Point>>(scheme, nodes(), case));
    found
}

fn with_layout<S: Scheme, L: Layout<S::Point>>(
    scheme: &S,
    nodes: impl Iterator<Item = NodeSpec>,
    case: &Case,
) -> Vec<String> {
    let limits = Limits::DEFAULT.with_weight(u32::MAX);
    let builder = Ring::builder().scheme(scheme.clone()).nodes(nodes).layout::<L>().limits(limits);
    let table = builder.build_table().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    table.validate().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let keys: Vec<&[u8]> = case.decisions.iter().map(|(key, _)| &key[..]).collect();
    let mut batch = vec![None; keys.len()];
    table.owner_batch(&keys, &mut batch);
    let mut wrong = Vec::new();
    for ((key, expected), in_batch) in case.decisions.iter().zip(batch) {
        let single = table.owner(key).map(|node| node.id().as_str());
        let middle = key.len() / 2;
        let in_parts = table.owner_of_parts(&[&key[..middle], &[], &key[middle..]]).map(|node| node.id().as_str());
        assert_eq!(single, in_batch.map(|node| node.id().as_str()), "{}: {key:?} in a batch", case.name);
        assert_eq!(single, in_parts, "{}: {key:?} in parts", case.name);
        let found = in_service(&table, key);
        if found.as_deref() != Some(expected) {
            wrong.push(format!("{:?} is {found:?}, was {expected:?}", key.escape_ascii().to_string()));
        }
    }
    wrong
}

/// The owner, or where the scheme steps on, the first node in service; by the plainest of ways.
fn in_service<S: Scheme, L: Layout<S::Point>>(table: &Table<(), S, L>, key: &[u8]) -> Option<String> {
    let owner = table.owner(key)?;
    if owner.info().state() == State::Up {
        return Some(owner.id().to_string());
    }
    let OutOfService::StepOn { points } = table.scheme().out_of_service() else {
        panic!("the scheme gives points to a node that is out of service");
    };
    // Only where every key lies at or before its point.
    let point = table.scheme().key_point(key);
    let mut distinct: Vec<_> = table.points().collect();
    distinct.dedup_by_key(|&mut (point, _)| point);
    let first = distinct.partition_point(|&(p, _)| p < point);
    let tries = points.map_or(distinct.len(), |points| points as usize);
    let walk = distinct.iter().cycle().skip(first).take(tries.min(distinct.len()));
    let found = walk.map(|&(_, node)| node).find(|node| node.info().state() == State::Up);
    found.map(|node| node.id().to_string())
}

fn replay(root: &Path, at_least: usize) {
    let cases = cases(root);
    assert!(cases.len() >= at_least, "only {} recordings below {}", cases.len(), root.display());
    let mut failed = Vec::new();
    for case in &cases {
        let wrong = mismatches(case);
        if !wrong.is_empty() {
            failed.push(format!("{}: {} of {}: {}", case.name, wrong.len(), case.decisions.len(), wrong[0]));
        }
    }
    assert!(failed.is_empty(), "{} of {} cases differ:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn every_decision_is_reproduced() {
    replay(Path::new("tests/golden/interop"), 1);
}

#[test]
fn every_decision_of_whole_recordings_is_reproduced() {
    match std::env::var_os("RINGWAY_INTEROP") {
        Some(root) => replay(Path::new(&root), 1),
        None => eprintln!("SKIPPED: RINGWAY_INTEROP names no folder with whole recordings"),
    }
}
