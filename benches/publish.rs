//! What publication costs a lookup: the same table and points, reached in different ways, alone.
//!
//! `static` is a plain reference, the floor. `reader` is ringway's [`Reader`](ringway::Reader), `reader_arc_swap` the same
//! with the second publisher (feature `arc-swap`). The others are what is commonly used in its place. `benches/ratios.rs` measures the first two interleaved, for a figure to quote.

mod common;

use std::hint::black_box;
use std::sync::{Arc, RwLock, atomic::AtomicPtr};

use arc_swap::{ArcSwap, Cache};
use common::{QUERIES, nodes, pin, queries};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ringway::{NodeSpec, Ring, Table};

fn table(count: usize) -> Table {
    Ring::builder().points_per_weight(160).nodes(nodes(count)).build_table().expect("a plain ring")
}

fn address(table: &Table, x: u32) -> usize {
    table.owner_at(x).map_or(0, |node| std::ptr::from_ref(node).addr())
}

fn publish(c: &mut Criterion) {
    pin();
    let queries = queries();
    let mut group = c.benchmark_group("publish/throughput");
    group.throughput(Throughput::Elements(QUERIES as u64));
    let mut run = |name: &str, lookup: &mut dyn FnMut() -> usize| {
        group.bench_function(name, |b| b.iter(&mut *lookup));
    };
    let plain = table(100);
    run("static", &mut || black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&plain, x)));

    let (_writer, handle) = Ring::builder().points_per_weight(160).nodes(nodes(100)).build().expect("a plain ring");
    let mut reader = handle.reader();
    run("reader", &mut || {
        black_box(&queries)
            .iter()
            .fold(0, |sum, &x| sum ^ reader.owner_at(x).map_or(0, |node| std::ptr::from_ref(node).addr()))
    });

    #[cfg(feature = "arc-swap")]
    let ring = Ring::builder().publisher::<ringway::publish::ArcSwap>().points_per_weight(160).nodes(nodes(100));
    #[cfg(feature = "arc-swap")]
    let (_second_writer, second_handle) = ring.build().expect("a plain ring");
    #[cfg(feature = "arc-swap")]
    let mut second = second_handle.reader();
    #[cfg(feature = "arc-swap")]
    run("reader_arc_swap", &mut || {
        black_box(&queries)
            .iter()
            .fold(0, |sum, &x| sum ^ second.owner_at(x).map_or(0, |node| std::ptr::from_ref(node).addr()))
    });

    // What a task can do that keeps no reader: an owned table for one lookup.
    let owned = handle.clone();
    run("handle_snapshot", &mut || black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&owned.snapshot(), x)));
    #[cfg(feature = "arc-swap")]
    run("handle_snapshot_arc_swap", &mut || {
        black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&second_handle.snapshot(), x))
    });
    let mut kept = handle.reader();
    run("reader_snapshot", &mut || black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&kept.snapshot(), x)));

    let swap = ArcSwap::from_pointee(table(100));
    run("arc_swap_load", &mut || black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&swap.load(), x)));
    let mut cache = Cache::new(&swap);
    run("arc_swap_cache", &mut || black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(cache.load(), x)));

    let lock = RwLock::new(Arc::new(table(100)));
    run("rwlock_read", &mut || {
        black_box(&queries).iter().fold(0, |sum, &x| sum ^ address(&lock.read().expect("not poisoned"), x))
    });

    let pinned = crossbeam_epoch::Atomic::new(table(100));
    run("crossbeam_pin", &mut || {
        black_box(&queries).iter().fold(0, |sum, &x| {
            let guard = crossbeam_epoch::pin();
            let shared = pinned.load(std::sync::atomic::Ordering::Acquire, &guard);
            // SAFETY: nothing else touches `pinned`, and its table lives until the end of this function.
            sum ^ unsafe { shared.as_ref() }.map_or(0, |table| address(table, x))
        })
    });
    // SAFETY: no other thread knows `pinned`.
    drop(unsafe { pinned.into_owned() });

    let leaked = AtomicPtr::new(Box::into_raw(Box::new(table(100))));
    run("atomic_ptr_unreclaimed", &mut || {
        black_box(&queries).iter().fold(0, |sum, &x| {
            let table = leaked.load(std::sync::atomic::Ordering::Acquire);
            // SAFETY: the table is freed only below.
            sum ^ address(unsafe { &*table }, x)
        })
    });
    // SAFETY: it came from `Box::into_raw` above and nobody uses it any more.
    drop(unsafe { Box::from_raw(leaked.into_inner()) });
    group.finish();

    // Once per commit and reader.
    let mut group = c.benchmark_group("publish/refresh");
    let (mut writer, handle) = Ring::builder().node(NodeSpec::new("a")).points_per_weight(1).build().expect("a ring");
    let mut reader = handle.reader();
    let mut weight = 1;
    group.bench_function("commit_and_one_lookup", |b| {
        b.iter(|| {
            weight = 3 - weight;
            writer.commit(ringway::Delta::new().set_weight("a", weight)).expect("a weight of 1 or 2");
            assert_eq!(reader.version(), writer.version());
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = publish
}
criterion_main!(benches);
