//! What a change costs: one node more and less, commit to commit, and a build from nothing.

mod common;

use common::nodes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringway::layout::{Auto, Eytzinger, Layout, Sorted};
use ringway::{Delta, NodeSpec, Ring};

fn bench_updates<L: Layout<u32>>(c: &mut Criterion) {
    common::pin();
    for count in [100, 1_000] {
        let mut group = c.benchmark_group(format!("update/{}_nodes_of_160", count));
        group.sample_size(20);
        let (mut writer, _handle) =
            Ring::builder().layout::<L>().points_per_weight(160).nodes(nodes(count)).build().expect("a plain ring");
        group.bench_function(BenchmarkId::new("add_and_remove_one", L::NAME), |b| {
            b.iter(|| {
                let added = writer.commit(Delta::new().add(NodeSpec::new("new"))).expect("a new id");
                assert_eq!(added.points_added, 160);
                let removed = writer.commit(Delta::new().remove("new")).expect("just added");
                assert_eq!(removed.points_removed, 160);
            });
        });
        group.bench_function(BenchmarkId::new("add_and_remove_100_in_one_batch", L::NAME), |b| {
            let ids: Vec<String> = (0..100).map(|n| format!("new-{n}")).collect();
            b.iter(|| {
                let add = ids.iter().fold(Delta::new(), |delta, id| delta.add(NodeSpec::new(id)));
                assert_eq!(writer.commit(add).expect("new ids").points_added, 16_000);
                let remove = ids.iter().fold(Delta::new(), |delta, id| delta.remove(id));
                assert_eq!(writer.commit(remove).expect("just added").points_removed, 16_000);
            });
        });
        group.bench_function(BenchmarkId::new("build", L::NAME), |b| {
            b.iter(|| {
                let builder = Ring::builder().layout::<L>().points_per_weight(160).nodes(nodes(count));
                assert_eq!(builder.build_table().expect("a plain ring").len(), count * 160);
            });
        });
        let bytes = writer.table().dump(|(), _| ());
        println!("{} points are {} bytes dumped", writer.table().len(), bytes.len());
        group.bench_function(BenchmarkId::new("restore", L::NAME), |b| {
            b.iter(|| {
                let builder = Ring::builder().layout::<L>().points_per_weight(160);
                assert_eq!(builder.restore_table(&bytes, |_| Ok(())).expect("as dumped").len(), count * 160);
            });
        });
        group.finish();
    }
}

fn updates(c: &mut Criterion) {
    bench_updates::<Sorted<u32>>(c);
    bench_updates::<Eytzinger<u32>>(c);
    bench_updates::<Auto<u32>>(c);
}

criterion_group! {
    name = benches;
    config = common::criterion();
    targets = updates
}
criterion_main!(benches);
