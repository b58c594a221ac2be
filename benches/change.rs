//! What it costs to know what a change moves: plans of owners and of three replicas, beside the plainest way to them.
//!
//! Variants interleaved round by round in one run, medians, so that a noisy machine hits all alike. One node more of 160
//! points; and the same where one node has most points, so that a walk from one of them to the next node is long.
//!
//! A plan of 3 replicas takes about twice the time of a plan of owners; 126 times less than walks where a node of 16,000
//! has all but ten points (2.8 ms and 347 ms), and 0.6 of their time where nodes are alike (Xeon, Sapphire Rapids, 2026-12-01).
//!
//! `cargo bench --bench change`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{is_test, nodes, pin};
use ringway::{Delta, Limits, NodeSpec, Plan, ReplicaPlan, Ring, Table};

type Variant<'a> = (&'static str, Box<dyn FnMut() -> u64 + 'a>);

/// How many places have another list, by a walk from each boundary of either table.
fn walked(tables: [&Table; 2]) -> u64 {
    let mut ends: Vec<u32> = tables.into_iter().flat_map(|table| table.points().map(|(point, _)| point)).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut before = *ends.last().expect("there are points");
    let mut changed = 0;
    for end in ends {
        let lists = tables.map(|table| {
            let mut out = [None; 3];
            table.replicas_at(end, &mut out);
            out.map(|node| node.map(|node| node.id().as_str()))
        });
        let places = u64::from(end.wrapping_sub(std::mem::replace(&mut before, end)));
        changed += if lists[0] == lists[1] { 0 } else { places };
    }
    changed
}

fn listed(plan: &ReplicaPlan) -> u64 {
    plan.arcs().map(|arc| u64::try_from(arc.share().points()).expect("32 bits")).sum()
}

fn measure(name: &str, old: &Table, rounds: usize) {
    let delta = Delta::new().add(NodeSpec::new("new").with_zone(["zone-1"]).with_active_points(160));
    let Ok(Some(applied)) = old.apply(delta, &Limits::DEFAULT) else { panic!("a new id") };
    let new = &applied.table;
    let plan = ReplicaPlan::between(old, new, 3).expect("one key map");
    assert_eq!(listed(&plan), walked([old, new]));
    assert_eq!(plan.moved(), plan.minimum());
    let one = |table| Plan::between(old, table).expect("one key map").arcs().len() as u64;
    let mut variants: [Variant<'_>; 5] = [
        ("Plan::between", Box::new(|| one(new))),
        ("Plan::between, nothing moves", Box::new(|| one(old))),
        ("ReplicaPlan::between, k = 3", Box::new(|| listed(&ReplicaPlan::between(old, new, 3).expect("one key map")))),
        (
            "ReplicaPlan::between_zones, k = 3",
            Box::new(|| listed(&ReplicaPlan::between_zones(old, new, 3).expect("one key map"))),
        ),
        ("a walk from each boundary, k = 3", Box::new(|| walked([old, new]))),
    ];
    let mut times = vec![Vec::new(); variants.len()];
    for _ in 0..rounds {
        for ((_, run), times) in variants.iter_mut().zip(&mut times) {
            let start = Instant::now();
            black_box(run());
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    println!("{name}, {} points", old.len());
    for ((variant, _), times) in variants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!("  {variant:<36} {median:>10.0} µs  {:>7.1} ns a point", median * 1e3 / old.len() as f64);
    }
}

fn main() {
    pin();
    let rounds = if is_test() { 1 } else { 15 };
    let sizes: &[usize] = if is_test() { &[100] } else { &[100, 1_000] };
    for &count in sizes {
        let zoned = nodes(count).enumerate().map(|(n, node)| node.with_zone([format!("zone-{}", n % 3)]));
        let even = Ring::builder().points_per_weight(160).nodes(zoned).build_table().expect("a plain ring");
        measure("nodes of 160 points", &even, rounds);
    }
    let points = if is_test() { 2_000 } else { 16_000 };
    let heavy = NodeSpec::new("heavy").with_active_points(points - 10);
    let light = (0..10).map(|n| NodeSpec::new(format!("light-{n}")).with_active_points(1));
    let skewed = Ring::builder().node(heavy).nodes(light).build_table().expect("a plain ring");
    measure("one node of nearly all, ten of one point", &skewed, rounds.min(5));
}
