//! Layouts side by side in one run, on random points and on hostile ones.
//!
//! Every round asks each layout the same fresh random queries in turn, so that a noisy machine hits all alike; printed
//! are lower quartiles in ns per lookup, *dependent / independent / batch* (1,024 a call), and the bytes a point beyond
//! the canonical arrays. Half of the queries for hostile points are drawn near points. Answers are checked first, against
//! the canonical array's. `--test` checks only.
//!
//! `cargo bench --bench interleaved [-- points…]`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Numbers, Pace, is_test, pin};
use ringway::Slot;
use ringway::layout::{Bucket, Direct, Eytzinger, Layout, PointArray, STree, Sorted};

const QUERIES: usize = 1 << 13;

/// Runs all queries in one shape and returns a checksum.
type Shape<'a> = Box<dyn FnMut(&[u32]) -> u32 + 'a>;

struct Rival<'a> {
    name: &'static str,
    shapes: [Shape<'a>; 3],
    bytes: f64,
}

fn rival<'a, L: Layout<u32>>(layout: &'a L, asked: &[u32]) -> Rival<'a> {
    let points = layout.points();
    let mut slots = vec![Slot::default(); asked.len()];
    assert_eq!(layout.owner_batch(asked, &mut slots), asked.len());
    for (&x, &slot) in asked.iter().zip(&slots) {
        let rank = points.rank(x);
        assert_eq!(layout.rank(x), rank, "{}: rank of {x}", L::NAME);
        assert_eq!(Some(slot), layout.owner(x), "{}: {x} in a batch", L::NAME);
        assert_eq!(slot, points.slot(rank % points.len()), "{}: owner of {x}", L::NAME);
    }
    let number = |x: u32| layout.owner(x).map_or(0, Slot::number);
    let mut slots = vec![Slot::default(); 1024];
    Rival {
        name: L::NAME,
        shapes: [
            Box::new(move |xs| xs.iter().fold(0, |last, &x| number(x ^ last))),
            Box::new(move |xs| xs.iter().fold(0, |sum, &x| sum ^ number(x))),
            Box::new(move |xs| {
                xs.chunks(1024).fold(0, |sum, xs| {
                    let written = layout.owner_batch(xs, &mut slots);
                    sum ^ slots[written - 1].number()
                })
            }),
        ],
        bytes: layout.index_bytes() as f64 / points.len() as f64,
    }
}

/// What is used where nothing is done; its batches are one lookup after the other.
fn partition_point<'a>(sorted: &'a [u32], owners: &'a [u16]) -> Rival<'a> {
    let owner = |x: u32| {
        let rank = sorted.partition_point(|&point| point < x);
        u32::from(owners[if rank == owners.len() { 0 } else { rank }])
    };
    let independent = move || -> Shape<'a> { Box::new(move |xs| xs.iter().fold(0, |sum, &x| sum ^ owner(x))) };
    let dependent = Box::new(move |xs: &[u32]| xs.iter().fold(0, |last, &x| owner(x ^ last)));
    Rival { name: "partition_point", shapes: [dependent, independent(), independent()], bytes: 0.0 }
}

fn compare(title: &str, points: &PointArray<u32>, hostile: bool) {
    let queries = |seed: u64| -> Vec<u32> {
        let near = |x: u64| points.point(x as usize % points.len()).wrapping_add((x >> 58) as u32 % 16).wrapping_sub(8);
        let query = |x: u64| if hostile && x.is_multiple_of(2) { near(x >> 1) } else { (x >> 32) as u32 };
        Numbers(seed).map(query).take(QUERIES).collect()
    };
    let asked = queries(7);
    let sorted: Vec<u32> = points.iter().map(|(point, _)| point).collect();
    let owners: Vec<u16> =
        points.iter().map(|(_, slot)| u16::try_from(slot.number()).expect("slots fit 16 bits")).collect();
    let layouts = (
        Sorted::build(points.clone()),
        Eytzinger::build(points.clone()),
        STree::build(points.clone()),
        Bucket::build(points.clone()),
        Direct::build(points.clone()),
    );
    let mut rivals = [
        partition_point(&sorted, &owners),
        rival(&layouts.0, &asked),
        rival(&layouts.1, &asked),
        rival(&layouts.2, &asked),
        rival(&layouts.3, &asked),
        rival(&layouts.4, &asked),
    ];
    if is_test() {
        return;
    }
    let rounds = Pace::of_arguments().rounds(if points.len() > 2_000_000 { 41 } else { 101 }) as u64;
    let mut times = vec![[const { Vec::new() }; 3]; rivals.len()];
    for round in 0..rounds {
        for shape in 0..3 {
            let queries = queries(1000 + 3 * round + shape as u64);
            for (rival, times) in rivals.iter_mut().zip(&mut times) {
                let start = Instant::now();
                black_box(rival.shapes[shape](&queries));
                times[shape].push(start.elapsed().as_nanos() as f64 / QUERIES as f64);
            }
        }
    }
    println!("{title}, {} points", points.len());
    for (rival, times) in rivals.iter().zip(&mut times) {
        let quartile = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 4]
        };
        let [dependent, independent, batch] = times.each_mut().map(quartile);
        println!("  {:<16}{dependent:>8.1} /{independent:>7.1} /{batch:>7.1}{:>8.2}", rival.name, rival.bytes);
    }
}

fn main() {
    pin();
    let mut sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if is_test() { vec![1, 7, 1_000] } else { vec![1_000, 16_000, 100_000, 1_000_000, 16_000_000] };
    }
    let set = |size: usize, at: fn(u32, u32) -> u32| {
        // Not as many nodes as take 32-bit owners.
        let slots = (0u32..).map(|n| Slot::new(n / 160 % 60_000));
        let random = Numbers(1).map(|x| (x >> 32) as u32);
        PointArray::from_unsorted(random.zip(0u32..).map(|(x, n)| at(x, n)).zip(slots).take(size).collect())
    };
    for &size in &sizes {
        compare("random", &set(size, |x, _| x), false);
    }
    for size in sizes.into_iter().filter(|&size| (1_000..2_000_000).contains(&size)) {
        compare("all in 1/2^18", &set(size, |x, _| (77 << 14) | (x >> 18)), true);
        compare("all equal", &set(size, |_, _| 1 << 30), true);
        compare("consecutive", &set(size, |_, n| (1 << 30) + n), true);
        compare("half in 1/65,536", &set(size, |x, n| if n % 2 == 0 { x } else { (77 << 16) | (x >> 16) }), true);
    }
}
