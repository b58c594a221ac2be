//! Lookups by one thread and by many, with and without a writer at work.
//!
//! Each thread is pinned to a core of its own and has a [`Reader`](ringway::Reader) of its own; all ask the same ring of
//! 1,000 nodes × 160 points. Where a writer is at work, it commits 100 changes a second from a thread that isn't pinned.
//! Criterion's figure is the time in which *each* thread makes as many lookups, divided by the lookups of all: it halves
//! with twice the threads if nothing is shared. Every answer's node is checked to be one of the ring.

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{nodes, queries};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringway::{Delta, Handle, NodeSpec, Ring};

/// Times `passes` of all queries by each of `threads` threads; the longest of them counts.
fn run(handle: &Handle, threads: usize, passes: u64) -> Duration {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let start = Barrier::new(threads);
    let queries = queries();
    thread::scope(|scope| {
        let spawned: Vec<_> = (0..threads)
            .map(|number| {
                let (core, start, queries) = (cores.get(number).copied(), &start, &queries);
                let mut reader = handle.reader();
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    start.wait();
                    let begun = Instant::now();
                    let mut found = 0;
                    for _ in 0..passes {
                        found += queries.iter().filter(|&&x| reader.owner_at(x).is_some()).count();
                    }
                    let took = begun.elapsed();
                    assert_eq!(found as u64, passes * queries.len() as u64);
                    took
                })
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().expect("a reader panicked")).max().unwrap_or_default()
    })
}

/// Ends the writer whatever happens, or a scope would wait for it for ever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn scaling(c: &mut Criterion) {
    let cores = core_affinity::get_core_ids().map_or(1, |cores| cores.len());
    let mut group = c.benchmark_group("scaling");
    let (mut writer, handle) =
        Ring::builder().points_per_weight(160).nodes(nodes(1_000)).build().expect("a plain ring");
    // 1, 2, 4, … and all.
    let counts = (0..).map(|power| 1usize << power).take_while(|&count| count < cores).chain([cores]);
    for threads in counts {
        group.throughput(criterion::Throughput::Elements((threads * common::QUERIES) as u64));
        group.bench_function(BenchmarkId::new("idle", threads), |b| {
            b.iter_custom(|passes| run(&handle, threads, passes));
        });
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (writer, stop) = (&mut writer, &stop);
            let _stop = StopOnDrop(stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    writer.commit(Delta::new().add(NodeSpec::new("new"))).expect("a new id");
                    thread::sleep(Duration::from_millis(10));
                    writer.commit(Delta::new().remove("new")).expect("just added");
                    thread::sleep(Duration::from_millis(10));
                }
            });
            group.bench_function(BenchmarkId::new("writer", threads), |b| {
                b.iter_custom(|passes| run(&handle, threads, passes));
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = scaling
}
criterion_main!(benches);
