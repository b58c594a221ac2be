//! What reading through a [`Reader`](ringway::Reader) costs over the same table without a publisher.
//!
//! Three ways to the same table: *loop*, a plain reference whose fields the compiler loads once for the whole loop of
//! lookups, as no program that does anything between two lookups can; *call*, the same reference handed to each lookup
//! anew; and *Reader*. Ratios that are quoted: variants interleaved round by round in one run, medians, so that a noisy machine hits both
//! alike. Prints a table; `--test` checks answers in a few rounds.
//!
//! `cargo bench --bench ratios`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Pace, QUERIES, keys, nodes, pin};
use ringway::{Node, Ring, Table};

const PASSES: usize = 16;

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
    let rounds = Pace::of_arguments().rounds(301);
    let points = common::queries();
    let keys = keys();
    println!("ns per lookup, median of {rounds} interleaved rounds of {} lookups", PASSES * QUERIES);
    println!("{:<40} {:>7} {:>7} {:>7} {:>12} {:>12}", "", "loop", "call", "Reader", "Reader/loop", "Reader/call");
    for count in [100, 1_000] {
        let ring = Ring::builder().points_per_weight(160).nodes(nodes(count));
        let (_writer, handle) = ring.build().expect("a plain ring");
        // The very table that the readers find, so that both read the same memory.
        let table = handle.snapshot();
        let first = table.points().map(|(_, node)| std::ptr::from_ref(node).addr()).min().expect("points");
        let mut readers: Vec<_> = (0..3).map(|_| handle.reader()).collect();
        let [one, two, three] = &mut readers[..] else { unreachable!("three were made") };
        let report = |name: &str, mut variants: [Variant<'_>; 3]| {
            let medians = medians(&mut variants, rounds);
            let (hoisted, call, read) = (medians[0], medians[1], medians[2]);
            let name = format!("{} points, {name}", count * 160);
            let (to_loop, to_call) = (read / hoisted, read / call);
            println!("{name:<40} {hoisted:>7.2} {call:>7.2} {read:>7.2} {to_loop:>12.3} {to_call:>12.3}");
        };
        let again = || black_box(&*table);
        report(
            "points, independent",
            [
                ("loop", Box::new(|| points.iter().fold(0, |sum, &x| sum ^ number(table.owner_at(x), first)))),
                ("call", Box::new(|| points.iter().fold(0, |sum, &x| sum ^ number(again().owner_at(x), first)))),
                ("reader", Box::new(|| points.iter().fold(0, |sum, &x| sum ^ number(one.owner_at(x), first)))),
            ],
        );
        let chain = |x: u32, last: u64| x ^ (last >> 4) as u32;
        let chained = |table: &Table, x, last| number(table.owner_at(chain(x, last)), first);
        report(
            "points, dependent",
            [
                ("loop", Box::new(|| points.iter().fold(0, |last, &x| chained(&table, x, last)))),
                ("call", Box::new(|| points.iter().fold(0, |last, &x| chained(again(), x, last)))),
                ("reader", Box::new(|| points.iter().fold(0, |last, &x| number(two.owner_at(chain(x, last)), first)))),
            ],
        );
        let owned = |table: &Table, key: &str| number(table.owner(key.as_bytes()), first);
        report(
            "string keys, independent",
            [
                ("loop", Box::new(|| keys.iter().fold(0, |sum, key| sum ^ owned(&table, key)))),
                ("call", Box::new(|| keys.iter().fold(0, |sum, key| sum ^ owned(again(), key)))),
                ("reader", Box::new(|| keys.iter().fold(0, |sum, k| sum ^ number(three.owner(k.as_bytes()), first)))),
            ],
        );
    }
}
