//! Each layout × 1e3 … 1e6 points × dependent, independent and batched lookups of random points.
//!
//! *latency*: each query depends on the answer before. *throughput*: one call after the other, the processor may overlap
//! them. *batch*: slice in, slice out, 1,024 a call. `partition_point`, what is used where nothing is done, is measured
//! in the same groups. Answers are checked against it first.

mod common;

use std::hint::black_box;

use common::{QUERIES, SIZES, pin, points, queries};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringway::Slot;
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, PointArray, STree, Sorted};

/// What everybody ships: a binary search over a sorted vector, then the owner.
#[derive(Debug)]
struct PartitionPoint {
    points: PointArray<u32>,
    sorted: Vec<u32>,
    owners: Vec<u16>,
}

impl Layout<u32> for PartitionPoint {
    const NAME: &'static str = "partition_point";

    fn build(points: PointArray<u32>) -> Self {
        let sorted = points.iter().map(|(point, _)| point).collect();
        let owners = points.iter().map(|(_, slot)| u16::try_from(slot.number()).expect("few nodes")).collect();
        Self { points, sorted, owners }
    }

    fn patch(&self, points: PointArray<u32>, _: &ringway::layout::Edit<'_, u32>) -> Self {
        Self::build(points)
    }

    fn points(&self) -> &PointArray<u32> {
        &self.points
    }

    #[inline(always)]
    fn rank(&self, x: u32) -> usize {
        self.sorted.partition_point(|&point| point < x)
    }

    #[inline(always)]
    fn owner(&self, x: u32) -> Option<Slot> {
        let rank = self.rank(x);
        let rank = if rank == self.owners.len() { 0 } else { rank };
        self.owners.get(rank).map(|&owner| Slot::new(u32::from(owner)))
    }

    fn index_bytes(&self) -> usize {
        self.sorted.len() * 4 + self.owners.len() * 2
    }
}

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

fn layouts(c: &mut Criterion) {
    pin();
    for shape in ["latency", "throughput", "batch"] {
        let mut group = c.benchmark_group(format!("layout/{shape}"));
        group.throughput(Throughput::Elements(QUERIES as u64));
        for len in SIZES {
            bench_layout::<PartitionPoint>(&mut group, shape, len);
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
