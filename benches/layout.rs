//! Each layout × 300 … 1.6e7 points × dependent, independent and batched lookups of random points.
//!
//! *latency*: each query depends on the answer before. *throughput*: one call after the other, the processor may overlap
//! them. *batch*: slice in, slice out, 1,024 a call. `partition_point`, what is used where nothing is done, is measured
//! in the same groups, and so is the *floor*, one random load from 6 bytes a point. Answers are checked against
//! `partition_point` first.

mod common;

use std::hint::black_box;

use common::{Floor, PartitionPoint, QUERIES, SIZES, is_test, pin, points, queries};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringway::Slot;
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, PointArray, STree, Sorted};

/// The three shapes of asking, as closures over what is asked.
fn bench<L: Layout<u32>>(group: &mut BenchmarkGroup<'_, WallTime>, array: &PointArray<u32>, naive: &PartitionPoint) {
    let layout = L::build(array.clone());
    let queries = queries();
    let mut slots = vec![Slot::default(); QUERIES];
    assert_eq!(layout.owner_batch(&queries, &mut slots), QUERIES);
    for (&x, &slot) in queries.iter().zip(&slots) {
        assert_eq!(layout.owner(x), naive.owner(x), "{} at {x}", L::NAME);
        assert_eq!(Some(slot), naive.owner(x), "{} batch at {x}", L::NAME);
    }
    group.bench_function(BenchmarkId::new(L::NAME, "latency"), |b| {
        b.iter(|| queries.iter().fold(0, |last, &x| layout.owner(x ^ last).map_or(0, Slot::number)));
    });
    group.bench_function(BenchmarkId::new(L::NAME, "throughput"), |b| {
        b.iter(|| queries.iter().fold(0, |sum, &x| sum ^ layout.owner(x).map_or(0, Slot::number)));
    });
    group.bench_function(BenchmarkId::new(L::NAME, "batch"), |b| {
        b.iter(|| {
            for (queries, slots) in queries.chunks(1024).zip(slots.chunks_mut(1024)) {
                layout.owner_batch(black_box(queries), slots);
            }
            slots[0]
        });
    });
}

fn bench_floor(group: &mut BenchmarkGroup<'_, WallTime>, len: usize) {
    let floor = Floor::new(len);
    let queries = queries();
    let mut slots = vec![Slot::default(); QUERIES];
    group.bench_function(BenchmarkId::new("floor", "latency"), |b| {
        b.iter(|| queries.iter().fold(0, |last, &x| floor.at(x ^ last)));
    });
    group.bench_function(BenchmarkId::new("floor", "throughput"), |b| {
        b.iter(|| queries.iter().fold(0, |sum, &x| sum ^ floor.at(x)));
    });
    group.bench_function(BenchmarkId::new("floor", "batch"), |b| {
        b.iter(|| {
            black_box(&queries).iter().zip(&mut slots).for_each(|(&x, slot)| *slot = Slot::new(floor.at(x)));
            slots[0]
        });
    });
}

fn layouts(c: &mut Criterion) {
    pin();
    // 16 million points take 8 s to sort, which a test of answers needn't.
    let sizes = if is_test() { &SIZES[..4] } else { &SIZES };
    for &len in sizes {
        let array = points(len);
        let naive = PartitionPoint::build(array.clone());
        let mut group = c.benchmark_group(format!("layout/{len}"));
        group.throughput(Throughput::Elements(QUERIES as u64));
        bench_floor(&mut group, len);
        bench::<PartitionPoint>(&mut group, &array, &naive);
        bench::<Line<u32>>(&mut group, &array, &naive);
        bench::<Sorted<u32>>(&mut group, &array, &naive);
        bench::<Eytzinger<u32>>(&mut group, &array, &naive);
        bench::<STree<u32>>(&mut group, &array, &naive);
        bench::<Bucket<u32>>(&mut group, &array, &naive);
        bench::<Direct<u32>>(&mut group, &array, &naive);
        bench::<Auto<u32>>(&mut group, &array, &naive);
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = layouts
}
criterion_main!(benches);
