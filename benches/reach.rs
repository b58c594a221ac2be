//! How far the layouts are from the hardware's limit, and from what everybody ships.
//!
//! The *floor* is one random load from 6 bytes a point, what a sorted array of 32-bit points with 16-bit owners takes: no
//! search of that many bytes can be faster. Floor, `partition_point` and layouts are interleaved round by round in one
//! run, on fresh queries each round; medians and ratios. *Dependent*: each query needs the answer before. *Independent*:
//! one call after the other. *Batch*: 1,024 a call. Then the same on hostile points, half of the queries random and half
//! at the points. Answers are compared in every round.
//!
//! `cargo bench --bench reach`, with `-- 16000 1000000` for some sizes only.

mod common;

use common::search::{FRESH, Search, medians};
use common::{Floor, Numbers, Pace, PartitionPoint, is_test, pin, points};
use ringway::Slot;
use ringway::layout::{Auto, Eytzinger, Layout, Line, PointArray, Sorted};

fn print(name: &str, [dependent, independent, batch]: [f64; 3], against: [f64; 3]) {
    let ratios = [dependent / against[0], independent / against[1], batch / against[2]];
    println!(
        "{name:<34} {dependent:>9.2} {independent:>9.2} {batch:>9.2}   {:>6.2} {:>6.2} {:>6.2}",
        ratios[0], ratios[1], ratios[2]
    );
}

fn per_point(bytes: usize, len: usize) -> f64 {
    bytes as f64 / len as f64
}

fn random_points(len: usize, rounds: usize) {
    let floor = Floor::new(len);
    let naive = PartitionPoint::build(points(len));
    let sorted = Sorted::build(points(len));
    let eytzinger = Eytzinger::build(points(len));
    let line = Line::build(points(len));
    let searches: [&dyn Search; 5] = [&floor, &naive, &sorted, &eytzinger, &line];
    let queries = if is_test() { 1 << 10 } else { FRESH };
    let fresh = |seed: u64| Numbers(seed << 32 | 7).map(|x| (x >> 32) as u32).take(queries).collect();
    let medians = medians(&searches, rounds, queries, fresh);
    let bytes = |layout: usize| per_point(layout + sorted.points().bytes(), len);
    println!("\n{len} points: ns dependent, independent, batch; ratios to the floor");
    print("floor", medians[0], medians[0]);
    print("partition_point", medians[1], medians[0]);
    print(&format!("sorted ({:.1} bytes a point)", bytes(0)), medians[2], medians[0]);
    print(&format!("Eytzinger ({:.1})", bytes(eytzinger.index_bytes())), medians[3], medians[0]);
    print(&format!("line ({:.1})", bytes(line.index_bytes())), medians[4], medians[0]);
    let faster: Vec<f64> = medians[1].iter().zip(medians[4]).map(|(naive, line)| naive / line).collect();
    println!("line against partition_point: {:.1} x, {:.1} x, {:.1} x", faster[0], faster[1], faster[2]);
}

fn hostile_points(len: usize, rounds: usize) {
    let random = |seed| Numbers(seed).map(|x| (x >> 32) as u32);
    let len32 = u32::try_from(len).expect("few");
    let exponential = |x: u32| {
        let unit = (f64::from(x) + 1.0) / 4_294_967_296.0;
        (-unit.ln() * f64::from(1 << 27)) as u32
    };
    let sets: [(&str, Vec<u32>); 6] = [
        ("all in one bucket", random(5).map(|x| 0x8000_0000 | (x >> 20)).take(len).collect()),
        ("all equal", vec![0x8765_4321; len]),
        (
            "half in 1/65,536",
            random(5).zip(0..len32).map(|(x, n)| if n % 2 == 0 { x } else { 0x1234_0000 | (x >> 16) }).collect(),
        ),
        ("all in 1/256", random(5).map(|x| 0x8000_0000 | (x >> 8)).take(len).collect()),
        ("exponential", random(5).map(exponential).take(len).collect()),
        ("consecutive", (0..len32).map(|n| 0x4000_0000 + n).collect()),
    ];
    println!("\n{len} hostile points: ns dependent, independent, batch; ratios to partition_point");
    for (name, set) in sets {
        let slots = (0u32..).map(|n| Slot::new(n / 160 % 65_000));
        let array = PointArray::from_unsorted(set.iter().copied().zip(slots).collect());
        let naive = PartitionPoint::build(array.clone());
        let line = Line::build(array.clone());
        let auto = Auto::build(array);
        let queries = if is_test() { 1 << 10 } else { FRESH };
        let fresh = |seed: u64| {
            let any = Numbers(seed << 32 | 9);
            any.take(queries)
                .map(|x: u64| if x.is_multiple_of(2) { (x >> 32) as u32 } else { set[(x >> 32) as usize % len] })
                .collect()
        };
        // The floor's place is taken by `partition_point`, too: what it is compared with.
        let searches: [&dyn Search; 4] = [&naive, &naive, &line, &auto];
        let medians = medians(&searches, rounds, queries, fresh);
        print(&format!("{name}, line"), medians[2], medians[1]);
        print(&format!("{name}, auto"), medians[3], medians[1]);
    }
}

fn main() {
    pin();
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let all: &[usize] = &[1_000, 16_000, 100_000, 1_000_000, 16_000_000];
    let sizes = if is_test() {
        &all[..3]
    } else if asked.is_empty() {
        all
    } else {
        &asked
    };
    let rounds = Pace::of_arguments().rounds(201);
    for &len in sizes {
        random_points(len, rounds);
    }
    for &len in sizes.iter().filter(|len| [16_000, 1_000_000].contains(*len)) {
        hostile_points(len, rounds);
    }
}
