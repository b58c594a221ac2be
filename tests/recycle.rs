//! Commits made in the memory of replaced tables: right, and without asking for large memory.

mod common;
mod counting;

use std::collections::BTreeMap;

use common::Rng;
use counting::calls;
use ringway::layout::{Auto, Bucket, Layout, Line, Sorted};
use ringway::publish::{Epoch, Locked, Publish};
use ringway::{CommitError, Delta, NodeSpec, Ring, Writer};

/// Random commits, of which some change no point, some are refused, and some are large, while readers follow, lag or
/// hold on to a table. Each table is the one that is built from its nodes.
fn any_history_gives_the_table_that_is_built<L: Layout<u32>, P: Publish>(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut nodes: BTreeMap<String, u32> = (0..40).map(|n| (format!("n{n}"), 1)).collect();
    let spec = |(id, &weight): (&String, &u32)| NodeSpec::new(id).with_weight(weight);
    let builder = || Ring::builder().layout::<L>().publisher::<P>().points_per_weight(40);
    let (mut writer, handle) = builder().nodes(nodes.iter().map(spec)).build().expect("valid");
    let mut readers: Vec<_> = (0..2).map(|_| handle.reader()).collect();
    let mut held = Vec::new();
    for round in 0..80u32 {
        let known = nodes.keys().nth(rng.below(nodes.len())).expect("never empty").clone();
        let mut delta = Delta::new();
        match rng.below(10) {
            0 => delta = delta.remove("nobody"),
            1 => delta = delta.set_address(&known, Some(format!("10.0.0.{round}"))),
            2 if nodes.len() > 20 => {
                nodes.remove(&known);
                delta = delta.remove(&known);
            }
            3 => {
                for n in 0..15 {
                    nodes.insert(format!("batch{round}-{n}"), 1);
                    delta = delta.add(NodeSpec::new(format!("batch{round}-{n}")));
                }
            }
            4 if nodes.len() > 60 => {
                for id in nodes.keys().take(15).cloned().collect::<Vec<_>>() {
                    nodes.remove(&id);
                    delta = delta.remove(&id);
                }
            }
            5..=7 => {
                let weight = rng.number(3) + 1;
                nodes.insert(known.clone(), weight);
                delta = delta.set_weight(&known, weight);
            }
            _ => {
                nodes.insert(format!("new{round}"), 1);
                delta = delta.add(NodeSpec::new(format!("new{round}")));
            }
        }
        match writer.commit(delta) {
            Ok(report) => assert_eq!(report.version, writer.version()),
            Err(CommitError::Invalid { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        for reader in &mut readers {
            if rng.percent(70) {
                assert!(reader.owner(b"any").is_some());
            }
        }
        match rng.below(8) {
            0 => held.push((writer.snapshot(), writer.table().placement_fingerprint(), writer.table().len())),
            1 if !held.is_empty() => drop(held.swap_remove(0)),
            2 => assert!(writer.reclaim() < 4),
            _ => {}
        }
        writer.table().validate().unwrap_or_else(|error| panic!("round {round}: {error}"));
        let built = builder().nodes(nodes.iter().map(spec)).build_table().expect("valid");
        assert_eq!(writer.table().placement_fingerprint(), built.placement_fingerprint(), "round {round}");
        assert!(
            writer
                .table()
                .points()
                .map(|(point, node)| (point, node.id()))
                .eq(built.points().map(|(p, n)| (p, n.id()))),
            "round {round}"
        );
        for (snapshot, placement, len) in &held {
            assert_eq!((snapshot.placement_fingerprint(), snapshot.len()), (*placement, *len), "a held table changed");
        }
    }
    held.iter().for_each(|(snapshot, ..)| snapshot.validate().expect("a held table changed"));
}

#[test]
fn any_history_of_lines() {
    any_history_gives_the_table_that_is_built::<Line<u32>, Epoch>(1);
    any_history_gives_the_table_that_is_built::<Auto<u32>, Epoch>(2);
    any_history_gives_the_table_that_is_built::<Auto<u32>, Locked>(3);
}

#[test]
fn any_history_of_sorted_points_and_of_buckets() {
    any_history_gives_the_table_that_is_built::<Sorted<u32>, Epoch>(4);
    any_history_gives_the_table_that_is_built::<Bucket<u32>, Locked>(5);
}

/// What a commit of one node asks of the allocator, in bytes, after some to warm up.
fn bytes_of_a_commit<L: Layout<u32>>(look: impl Fn() -> bool) -> (usize, u64) {
    let nodes = (0..200).map(|n| NodeSpec::new(format!("n{n}")));
    let (mut writer, handle): (Writer<_, _, L>, _) = Ring::builder().layout().nodes(nodes).build().expect("valid");
    let mut reader = handle.reader();
    reader.owner(b"any");
    let mut most = 0;
    for round in 0..12 {
        let delta = Delta::new().set_weight("n7", 1 + (round + 1) % 2);
        let (report, made) = calls(|| writer.commit(delta).expect("valid"));
        assert_eq!(report.points_added + report.points_removed, 512);
        if look() {
            reader.owner(b"any");
        }
        if round > 4 {
            most = most.max(made.bytes);
        }
    }
    (writer.table().bytes(), most)
}

#[test]
fn a_commit_asks_for_no_table_if_readers_follow() {
    let (table, asked) = bytes_of_a_commit::<Auto<u32>>(|| true);
    println!("{asked} bytes a commit, {table} a table");
    assert!(asked < table as u64 / 10, "{asked} bytes, the table has {table}");
    let (table, asked) = bytes_of_a_commit::<Sorted<u32>>(|| true);
    assert!(asked < table as u64 / 4, "{asked} bytes, the table has {table}");
}

#[test]
fn reclaiming_gives_the_spare_memory_back() {
    let nodes = (0..200).map(|n| NodeSpec::new(format!("n{n}")));
    let (mut writer, _handle) = Ring::builder().nodes(nodes).build().expect("valid");
    writer.commit(Delta::new().set_weight("n7", 2)).expect("valid");
    let (tables, made) = calls(|| writer.reclaim());
    assert_eq!(tables, 0, "the commit took the table apart");
    assert!(made.large_frees >= 2, "{made:?}");
    let (_, made) = calls(|| writer.reclaim());
    assert_eq!(made.large_frees, 0);
}
