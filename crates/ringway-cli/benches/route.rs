//! `route` from memory to a sink: what the tool's own work costs, without the system's.
//!
//! `cargo bench -p ringway-cli --bench route`; `-- --test` checks the answers alone. For a figure of one core, run it
//! under `taskset -c 1`. From a file, with the system's share:
//! `taskset -c 1 sh -c 'time ringway route --cluster cluster.toml --keys keys.txt > /dev/null'`.

use std::hint::black_box;
use std::io;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ringway::layout::{Eytzinger, Layout, Sorted};
use ringway::scheme::{Native, Scheme, Xxh3};
use ringway::{NodeSpec, Ring};
use ringway_cli::naive::{Hash, NaiveRing, sea_hash, xxh3};
use ringway_cli::route::{Format, route};
use ringway_cli::{SAMPLE_KEYS, load_cluster};

/// 20,000 keys each: 8.7 MB, more than the caches next to a core hold.
const REPEATS: usize = 20;

fn benches(c: &mut Criterion) {
    layout::<_, Sorted<u32>>(c, Native::new(), sea_hash);
    layout::<_, Sorted<u32>>(c, Xxh3::new(), xxh3);
    layout::<_, Eytzinger<u32>>(c, Native::new(), sea_hash);
}

fn layout<S: Scheme<Point = u32>, L: Layout<u32>>(c: &mut Criterion, scheme: S, hash: Hash) {
    let (_, _, nodes) = load_cluster(None).expect("the embedded cluster is sound");
    let points = |node: &NodeSpec| node.info().weight() * Native::DEFAULT_POINTS_PER_WEIGHT;
    let naive = NaiveRing::new(hash, nodes.iter().map(|node| (node.id(), points(node))));
    let name = format!("{}/{}", scheme.id(), L::NAME);
    let table = Ring::builder().scheme(scheme).nodes(nodes.iter().cloned()).layout::<L>().build_table();
    let table = table.expect("the embedded cluster is small");

    let mut expected = Vec::new();
    for key in SAMPLE_KEYS.split_inclusive(|&byte| byte == b'\n').map(|line| &line[..line.len() - 1]) {
        let owner = naive.owner(key).expect("the ring has points");
        expected.extend_from_slice(&[key, b"\t", owner.as_bytes(), b"\n"].concat());
    }
    let mut answers = Vec::new();
    route(&table, Format::Tsv, SAMPLE_KEYS, &mut answers).expect("memory can be read and written");
    assert!(answers == expected, "{name}: the answers aren't those of the naive ring");

    let keys = SAMPLE_KEYS.repeat(REPEATS);
    let lines = u64::try_from(20_000 * REPEATS).expect("400,000");
    let mut group = c.benchmark_group("route");
    group.throughput(Throughput::Elements(lines)).sample_size(20);
    for (form, format) in [("tsv", Format::Tsv), ("json", Format::Json)] {
        group.bench_function(format!("{name}/{form}"), |b| {
            b.iter(|| {
                let routed = route(&table, format, black_box(&keys[..]), io::sink()).expect("as above");
                assert_eq!(routed, lines);
            });
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
