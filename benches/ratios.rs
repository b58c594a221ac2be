//! Ratios that are quoted: variants interleaved round by round in one run, medians, so that a noisy machine hits both
//! alike. Prints a table; `--test` checks answers in a few rounds.
//!
//! `cargo bench --bench ratios`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{QUERIES, is_test, keys, nodes, pin};
use ringway::{Handle, Node, Ring, Table, Writer};

const PASSES: usize = 16;

fn ring(count: usize) -> (Table, (Writer, Handle)) {
    let build = || Ring::builder().points_per_weight(160).nodes(nodes(count));
    (build().build_table().expect("a plain ring"), build().build().expect("a plain ring"))
}

/// One way to look up all queries; returns a checksum of the owners' numbers.
type Variant<'a> = (&'a str, Box<dyn FnMut() -> u64 + 'a>);

fn number(node: Option<&Node>, first: usize) -> u64 {
    // The place of the node in its table's array: the same in tables built alike, and found without reading the node.
    node.map_or(0, |node| (std::ptr::from_ref(node).addr() - first) as u64)
}

fn medians(variants: &mut [Variant<'_>], rounds: usize) -> Vec<f64> {
    let mut times = vec![Vec::with_capacity(rounds); variants.len()];
    let mut sums = vec![None; variants.len()];
    for _ in 0..rounds {
        for ((_, run), (times, sum)) in variants.iter_mut().zip(times.iter_mut().zip(&mut sums)) {
            let start = Instant::now();
            let mut last = 0;
            for _ in 0..PASSES {
                last = black_box(run());
            }
            times.push(start.elapsed().as_nanos() as f64 / (PASSES * QUERIES) as f64);
            assert_eq!(*sum.get_or_insert(last), last, "a variant changed its answer");
        }
    }
    assert!(sums.windows(2).all(|pair| pair[0] == pair[1]), "variants disagree: {sums:?}");
    times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
        .collect()
}

fn main() {
    pin();
    let rounds = if is_test() { 3 } else { 301 };
    let points = common::queries();
    let keys = keys();
    println!("ns per lookup, median of {rounds} interleaved rounds of {} lookups", PASSES * QUERIES);
    println!("{:<34} {:>9} {:>9} {:>9}", "", "static", "Reader", "ratio");
    for count in [100, 1_000] {
        let (table, (_writer, handle)) = ring(count);
        let first = table.points().map(|(_, node)| std::ptr::from_ref(node).addr()).min().expect("points");
        let mut readers: Vec<_> = (0..3).map(|_| handle.reader()).collect();
        let [one, two, three] = &mut readers[..] else { unreachable!("three were made") };
        let own = one.table().points().map(|(_, node)| std::ptr::from_ref(node).addr()).min().expect("points");
        let report = |name: &str, mut variants: [Variant<'_>; 2]| {
            let medians = medians(&mut variants, rounds);
            let (plain, read) = (medians[0], medians[1]);
            println!(
                "{:<34} {plain:>9.2} {read:>9.2} {:>9.3}",
                format!("{} points, {name}", count * 160),
                read / plain
            );
        };
        report(
            "points, independent",
            [
                ("static", Box::new(|| points.iter().fold(0, |sum, &x| sum ^ number(table.owner_at(x), first)))),
                ("reader", Box::new(|| points.iter().fold(0, |sum, &x| sum ^ number(one.owner_at(x), own)))),
            ],
        );
        let chain = |x: u32, last: u64| x ^ (last >> 4) as u32;
        report(
            "points, dependent",
            [
                (
                    "static",
                    Box::new(|| points.iter().fold(0, |last, &x| number(table.owner_at(chain(x, last)), first))),
                ),
                ("reader", Box::new(|| points.iter().fold(0, |last, &x| number(two.owner_at(chain(x, last)), own)))),
            ],
        );
        report(
            "string keys, independent",
            [
                ("static", Box::new(|| keys.iter().fold(0, |sum, k| sum ^ number(table.owner(k.as_bytes()), first)))),
                ("reader", Box::new(|| keys.iter().fold(0, |sum, k| sum ^ number(three.owner(k.as_bytes()), own)))),
            ],
        );
    }
}
