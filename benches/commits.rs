//! What a commit costs, layouts side by side: one node of 160 points more and less, and 100 of them in one batch.
//!
//! Each round commits the same delta to a ring of each layout in turn, so that a noisy machine hits all alike; printed
//! are lower quartiles in µs per commit, adding and removing, and the ratio of 100 nodes to one. Nobody reads the rings, so old
//! tables are reclaimed at the next commit, as they are beside readers that look something up between commits.
//!
//! `cargo bench --bench commits`, with `-- 160000` for some sizes only.

mod common;

use std::time::Instant;

use common::{is_test, nodes, pin};
use ringway::layout::{Auto, Layout, Line, Sorted};
use ringway::{Delta, Limits, NodeSpec, Ring, Writer};

/// Commits one delta and says how long that took, in µs.
type Commit<'a> = Box<dyn FnMut(Delta) -> f64 + 'a>;

fn ring<L: Layout<u32>>(points: usize) -> (&'static str, Commit<'static>) {
    let limits = Limits::default().with_points(1 << 25);
    let mut writer: Writer<(), _, L> = Ring::builder()
        .layout::<L>()
        .points_per_weight(160)
        .limits(limits)
        .nodes(nodes(points / 160))
        .build()
        .expect("a plain ring")
        .0;
    let commit = move |delta| {
        let start = Instant::now();
        let report = writer.commit(delta).expect("a plain delta");
        let took = start.elapsed().as_secs_f64() * 1e6;
        assert!(report.published);
        took
    };
    (L::NAME, Box::new(commit))
}

fn measure(points: usize, rounds: usize) {
    let mut rings = [ring::<Sorted<u32>>(points), ring::<Line<u32>>(points), ring::<Auto<u32>>(points)];
    let mut times = [const { [const { Vec::new() }; 4] }; 3];
    // Not in turn: where a batch of 100 changes the number of lines, the commit after it can't use the spare's.
    for (place, count) in [(0, 1), (2, 100)] {
        for round in 0..rounds {
            let ids: Vec<String> = (0..count).map(|n| format!("new-{round}-{n}")).collect();
            for (ring, times) in rings.iter_mut().zip(&mut times) {
                let add = ids.iter().fold(Delta::new(), |delta, id| delta.add(NodeSpec::new(id)));
                let remove = ids.iter().fold(Delta::new(), |delta, id| delta.remove(id));
                times[place].push((ring.1)(add));
                times[place + 1].push((ring.1)(remove));
            }
        }
    }
    let quartile = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 4]
    };
    println!("\n{points} points: µs, one node added, removed; 100 added, removed; 100 to one");
    for (ring, times) in rings.iter().zip(&mut times) {
        let [add, remove, add_many, remove_many] = times.each_mut().map(quartile);
        println!(
            "{:<10}{add:>9.1}{remove:>9.1}{add_many:>10.1}{remove_many:>9.1}{:>8.1}{:>6.1}",
            ring.0,
            add_many / add,
            remove_many / remove
        );
    }
}

fn main() {
    pin();
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes: &[usize] = if is_test() {
        &[16_000]
    } else if asked.is_empty() {
        &[16_000, 160_000, 1_000_000, 16_000_000]
    } else {
        &asked
    };
    for &points in sizes {
        let rounds = if is_test() {
            2
        } else if points > 2_000_000 {
            11
        } else {
            201
        };
        measure(points, rounds);
    }
}
