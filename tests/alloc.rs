//! What the ends of a ring ask of the allocator, counted per thread.

mod common;
mod counting;

use std::hint::black_box;

use common::Rng;
use counting::{Calls, calls};
use ringway::layout::{self, Auto, Eytzinger, Sorted};
use ringway::publish::{Locked, Publish};
use ringway::{Delta, Limits, Native, NodeSpec, Ring};

for_every_layout!(no_allocator_call_on_an_unchanged_table);

fn no_allocator_call_on_an_unchanged_table<L: layout::Layout<u32>>() {
    unchanged::<L, ringway::publish::Epoch>();
}

#[test]
fn no_allocator_call_on_an_unchanged_table_under_a_lock() {
    unchanged::<Auto<u32>, Locked>();
}

#[cfg(feature = "arc-swap")]
#[test]
fn no_allocator_call_on_an_unchanged_table_through_arc_swap() {
    unchanged::<Auto<u32>, ringway::publish::ArcSwap>();
}

fn unchanged<L: layout::Layout<u32>, P: Publish>() {
    let nodes = (0..50).map(|n| NodeSpec::new(format!("node{n}")));
    let builder = Ring::builder().layout::<L>().publisher::<P>().nodes(nodes);
    let (mut writer, handle) = builder.build().expect("the nodes are valid");
    let mut reader = handle.reader();
    let mut rng = Rng::new(1);
    let keys: Vec<String> = (0..300).map(|_| format!("key:{}", rng.next())).collect();
    let points: Vec<u32> = (0..300).map(|_| rng.next() as u32).collect();
    for round in 1..4 {
        // The first lookup after a commit takes the table, which isn't what is counted here.
        assert_eq!(reader.version(), round);
        let (found, made) = calls(|| {
            let mut found = 0;
            for (key, &point) in keys.iter().zip(&points) {
                found += usize::from(reader.owner(black_box(key.as_bytes())).is_some());
                found += usize::from(reader.owner_of_parts(black_box(&[&key.as_bytes()[..3], b"x"])).is_some());
                found += usize::from(reader.owner_at(black_box(point)).is_some());
                found += usize::from(reader.table().owner(key.as_bytes()).is_some());
            }
            found
        });
        assert_eq!((found, made), (4 * keys.len(), Calls::default()));

        let mut out = vec![None; keys.len()];
        let (written, made) = calls(|| reader.owner_batch(&keys, &mut out));
        assert_eq!((written, made), (keys.len(), Calls::default()));
        assert!(out.iter().all(Option::is_some));
        let mut out = vec![None; points.len()];
        let (written, made) = calls(|| reader.owner_at_batch(&points, &mut out));
        assert_eq!((written, made), (points.len(), Calls::default()));
        assert!(out.iter().all(Option::is_some));

        let (_, made) = calls(|| (black_box(reader.snapshot()), handle.version()));
        assert_eq!(made, Calls::default(), "a snapshot of a reader is a count");
        let (node, made) = calls(|| reader.owner(b"key").cloned());
        assert_eq!((node.is_some(), made), (true, Calls::default()), "so is a node that is kept");
        let refused = writer.commit(Delta::new().remove("nobody"));
        assert!(refused.is_err());
        let (_, made) = calls(|| reader.owner(b"key").is_some());
        assert_eq!(made, Calls::default(), "a refused commit leaves the table unchanged");
        writer.commit(Delta::new().set_weight("node7", 1 + round as u32)).expect("valid");
    }
}

/// The reader's part of a commit: it may let the collector keep its books, but no table is freed by it.
#[test]
fn taking_a_new_table_frees_little() {
    let nodes = (0..50).map(|n| NodeSpec::new(format!("node{n}")));
    let (mut writer, handle) = Ring::builder().nodes(nodes).build().expect("the nodes are valid");
    let mut reader = handle.reader();
    assert_eq!(reader.version(), 1);
    for round in 1..200 {
        writer.commit(Delta::new().set_weight("node7", 1 + round % 2)).expect("valid");
        let (_, made) = calls(|| reader.version());
        assert!(made.allocations <= 4 && made.frees <= 4 && made.bytes < 10_000, "{made:?}");
    }
}

#[test]
fn a_refused_batch_takes_no_memory_for_points() {
    let limits = Limits::default().with_points(u32::MAX);
    let (mut writer, _) = Ring::builder().points_per_weight(u32::MAX).limits(limits).build().expect("empty is fine");
    let delta = (0..10).map(|n| NodeSpec::new(format!("n{n}")).with_weight(65_535)).fold(Delta::new(), Delta::add);
    let (refused, made) = calls(|| writer.commit(delta));
    assert!(refused.is_err());
    assert!(made.bytes < 100_000, "{made:?}");
}

#[test]
fn tables_searched_on_their_own_call_no_allocator() {
    let nodes = || (0..50).map(|n| NodeSpec::new(format!("node{n}")));
    let sorted = Ring::builder().layout::<Sorted<u32>>().nodes(nodes()).build_table().expect("valid");
    let tree =
        Ring::builder().scheme(Native::new()).layout::<Eytzinger<u32>>().nodes(nodes()).build_table().expect("valid");
    let keys: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    let (mut a, mut b) = (vec![None; keys.len()], vec![None; keys.len()]);
    let (_, made) = calls(|| (sorted.owner_batch(&keys, &mut a), tree.owner_batch(&keys, &mut b)));
    assert_eq!(made, Calls::default());
    let (_, made) = calls(|| keys.iter().filter(|key| sorted.owner(key.as_bytes()).is_none()).count());
    assert_eq!(made, Calls::default());
    assert!(a.iter().zip(&b).all(|(a, b)| a.map(|n| n.id().as_str()) == b.map(|n| n.id().as_str())));
}
