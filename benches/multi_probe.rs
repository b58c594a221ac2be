//! Multi-probe: how even a ring is against what a lookup costs. For each number of probes the spread of the ring that is
//! asked, and ns per key: lookups that depend on each other, independent ones, batches, and routes past a node that is down;
//! beside the plain ring with 2k − 1 times the points, which is about as even, and with its bytes.
//!
//! Rings interleaved round by round in one run, medians. `--test` checks answers in a few rounds.
//!
//! `cargo bench --bench multi_probe`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{QUERIES, is_test, pin};
use ringway::scheme::{MultiProbe, Native, Probes, Scheme};
use ringway::{Balance, Node, NodeSpec, Ring, State, Table};

const BATCH: usize = 256;

fn number<T>(node: Option<&Node<T>>) -> usize {
    node.map_or(0, |node| std::ptr::from_ref(node).addr())
}

/// What one ring's round takes, in ns per key.
trait Asked {
    fn round(&mut self, keys: &[[u8; 11]]) -> [f64; 4];
    fn name(&self) -> String;
    fn times(&mut self) -> &mut [Vec<f64>; 4];
}

struct Case<S: Scheme> {
    table: Table<(), S>,
    /// The same ring, a node of which is down.
    hurt: Table<(), S>,
    name: String,
    times: [Vec<f64>; 4],
}

fn timed(keys: usize, run: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_nanos() as f64 / keys as f64
}

impl<S: Scheme<Point = u32>> Asked for Case<S> {
    fn round(&mut self, keys: &[[u8; 11]]) -> [f64; 4] {
        let (table, hurt) = (black_box(&self.table), black_box(&self.hurt));
        let dependent = timed(keys.len(), || {
            let mut last = 0;
            for &(mut key) in keys {
                // Not known before the last answer is, and changes nothing: addresses have a low bit of 0.
                key[0] ^= (last & 1) as u8;
                last = number(table.owner(&key));
            }
            last
        });
        let independent = timed(keys.len(), || keys.iter().fold(0, |sum, key| sum ^ number(table.owner(key))));
        let batch = timed(keys.len(), || {
            let (mut out, mut sum) = ([None; BATCH], 0);
            for keys in keys.chunks(BATCH) {
                let found = table.owner_batch(keys, &mut out);
                sum ^= out[..found].iter().fold(0, |sum, &node| sum ^ number(node));
            }
            sum
        });
        let routed = timed(keys.len(), || keys.iter().fold(0, |sum, key| sum ^ number(hurt.route(key))));
        [dependent, independent, batch, routed]
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn times(&mut self) -> &mut [Vec<f64>; 4] {
        &mut self.times
    }
}

fn case<S: Scheme<Point = u32>>(scheme: S, nodes: usize, name: &str) -> Box<dyn Asked> {
    let build = || {
        let nodes = (0..nodes).map(|n| NodeSpec::new(format!("node-{n}")));
        Ring::builder().scheme(scheme.clone()).nodes(nodes).build_table().expect("plain nodes")
    };
    let (table, hurt) = (build(), build());
    hurt.node("node-7").expect("there").set_health(State::Down);
    let spread = Balance::of(&table).spread().expect("has points");
    let name = format!("{name:<34} spread {spread:.3} {:>7} KiB", table.bytes() >> 10);
    Box::new(Case { table, hurt, name, times: Default::default() })
}

fn probed(points: u32, probes: u32, nodes: usize) -> Box<dyn Asked> {
    let scheme = MultiProbe::new(Native::new().with_points_per_weight(points), Probes::new(probes).expect("few"));
    case(scheme, nodes, &format!("{points} points, {probes} probes"))
}

fn check() {
    let scheme = MultiProbe::new(Native::new(), Probes::new(3).expect("few"));
    let nodes = (0..50).map(|n| NodeSpec::new(format!("node-{n}")));
    let table: Table<(), _> = Ring::builder().scheme(scheme).nodes(nodes).build_table().expect("plain nodes");
    let points: Vec<(u32, &Node)> = table.points().collect();
    let keys: Vec<String> = (0..500).map(|n| format!("key:{n}")).collect();
    let mut batch = vec![None; keys.len()];
    table.owner_batch(&keys, &mut batch);
    for (key, batched) in keys.iter().zip(batch) {
        let hash = scheme.key_hash(key.as_bytes());
        let seen = |i| {
            let probe = scheme.probe(hash, i);
            points.iter().enumerate().map(move |(rank, (point, _))| (point.wrapping_sub(probe), rank))
        };
        let (_, rank) = (0..3).flat_map(seen).min().expect("has points");
        assert_eq!(number(table.owner(key.as_bytes())), number(Some(points[rank].1)));
        assert_eq!(number(batched), number(Some(points[rank].1)));
    }
}

fn main() {
    pin();
    check();
    let rounds = if is_test() { 2 } else { 101 };
    println!("ns per key of 11 bytes, median of {rounds} interleaved rounds of {QUERIES} fresh keys");
    println!("{:<66} {:>9} {:>11} {:>7} {:>7}", "", "dependent", "independent", "batch", "routed");
    for nodes in if is_test() { vec![20] } else { vec![100, 1000] } {
        println!("{nodes} nodes");
        let plain = |points| case(Native::new().with_points_per_weight(points), nodes, &format!("{points} points"));
        let mut cases =
            vec![plain(160), probed(160, 1, nodes), probed(160, 2, nodes), plain(3 * 160), probed(160, 3, nodes)];
        cases.extend([plain(5 * 160), probed(160, 5, nodes), plain(9 * 160), plain(512), probed(512, 2, nodes)]);
        cases.extend([probed(512, 3, nodes), probed(512, 5, nodes)]);
        for round in 0..rounds {
            let keys: Vec<[u8; 11]> = common::Numbers(round)
                .zip(common::Numbers(!round))
                .take(QUERIES)
                .map(|(a, b)| {
                    let mut key = [0; 11];
                    key[..8].copy_from_slice(&a.to_le_bytes());
                    key[8..].copy_from_slice(&b.to_le_bytes()[..3]);
                    key
                })
                .collect();
            for case in &mut cases {
                let took = case.round(&keys);
                case.times().iter_mut().zip(took).for_each(|(times, took)| times.push(took));
            }
        }
        for case in &mut cases {
            let medians = case.times().each_mut().map(|times| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            });
            let [dependent, independent, batch, routed] = medians;
            println!("  {:<64} {dependent:>9.1} {independent:>11.1} {batch:>7.1} {routed:>7.1}", case.name());
        }
    }
}
