//! Each layout × 1e3 … 1e6 points × dependent, independent and batched lookups of random points.
//!
//! *latency*: each query depends on the answer before. *throughput*: one call after the other, the processor may overlap
//! them. *batch*: slice in, slice out, 1,024 a call. `partition_point`, what is used where nothing is done, is measured
//! in the same groups, and so is the *floor*, one random load from 6 bytes a point. Answers are checked against
//! `partition_point` first.

mod common;

use std::hint::black_box;

use common::{Floor, PartitionPoint, QUERIES, SIZES, pin, points, queries};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringway::Slot;
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};

fn bench_layout<L: Layout<u32>>(group: &mut BenchmarkGroup<'_, WallTime>, shape: &str, len: usize) {
    let layout = L::build(points(len));
    let queries = queries();
    let naive = PartitionPoint::build(points(len));
    let mut slots = vec![Slot::default(); QUERIES];
    assert_eq!(layout.owner_batch(&queries, &mut slots), QUERIES);
    for (&x, &slot) in queries.iter().zip(&slots) {
        assert_eq!(layout.owner(x), naive.owner(x), "{} at {x}", L::NAME);
        assert_eq!(Some(slot), naive.owner(x), "{} batch at {x}", L::NAME);
    }
    group.bench_function(BenchmarkId::new(L::NAME, len), |b| match shape {
        "latency" => b.iter(|| {
            let mut last = 0;
            for &x in &queries {
                last = layout.owner(x ^ last).map_or(0, Slot::number);
            }
            last
        }),
        "throughput" => b.iter(|| {
            let mut sum = 0;
            for &x in &queries {
                sum ^= layout.owner(x).map_or(0, Slot::number);
            }
            sum
        }),
        _ => b.iter(|| {
            for (queries, slots) in queries.chunks(1024).zip(slots.chunks_mut(1024)) {
                layout.owner_batch(black_box(queries), slots);
            }
            slots[0]
        }),
    });
}

fn bench_floor(group: &mut BenchmarkGroup<'_, WallTime>, shape: &str, len: usize) {
    let floor = Floor::new(len);
    let queries = queries();
    let mut slots = vec![Slot::default(); QUERIES];
    group.bench_function(BenchmarkId::new("floor", len), |b| match shape {
        "latency" => b.iter(|| queries.iter().fold(0, |last, &x| floor.at(x ^ last))),
        "throughput" => b.iter(|| queries.iter().fold(0, |sum, &x| sum ^ floor.at(x))),
        _ => b.iter(|| {
            black_box(&queries).iter().zip(&mut slots).for_each(|(&x, slot)| *slot = Slot::new(floor.at(x)));
            slots[0]
        }),
    });
}

fn layouts(c: &mut Criterion) {
    pin();
    for shape in ["latency", "throughput", "batch"] {
        let mut group = c.benchmark_group(format!("layout/{shape}"));
        group.throughput(Throughput::Elements(QUERIES as u64));
        for len in SIZES {
            bench_floor(&mut group, shape, len);
            bench_layout::<PartitionPoint>(&mut group, shape, len);
            bench_layout::<Line<u32>>(&mut group, shape, len);
            bench_layout::<Sorted<u32>>(&mut group, shape, len);
            bench_layout::<Eytzinger<u32>>(&mut group, shape, len);
            bench_layout::<STree<u32>>(&mut group, shape, len);
            bench_layout::<Bucket<u32>>(&mut group, shape, len);
            bench_layout::<Direct<u32>>(&mut group, shape, len);
            bench_layout::<Auto<u32>>(&mut group, shape, len);
        }
        group.finish();
    }
}

criterion_group!(benches, layouts);
criterion_main!(benches);
