//! What routing policies cost over a plain lookup of the owner.
//!
//! Variants interleaved round by round in one run, medians, so that a noisy machine hits all alike; ratios are what is
//! quoted. Each variant is handed its table anew for each query, as in a program that does something between two. Prints a
//! table; `--test` checks answers in a few rounds.
//!
//! `cargo bench --bench policy`

mod common;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::{QUERIES, is_test, nodes, pin};
use ringway::{Bound, HotKeys, Layered, Native, Node, NodeSpec, Ring, State, Table};

const PASSES: usize = 16;

type Variant<'a> = (String, Box<dyn FnMut() -> u64 + 'a>);

/// Runs the variants in turn, and prints the median of each and its ratio to the first.
fn report(name: &str, rounds: usize, variants: &mut [Variant<'_>]) {
    let mut times = vec![Vec::with_capacity(rounds); variants.len()];
    for _ in 0..rounds {
        for ((_, run), times) in variants.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..PASSES {
                black_box(run());
            }
            times.push(start.elapsed().as_nanos() as f64 / (PASSES * QUERIES) as f64);
        }
    }
    println!("{name}");
    let mut first = None;
    for ((variant, _), times) in variants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!("  {variant:<44} {median:>8.2} ns  × {:>6.2}", median / *first.get_or_insert(median));
    }
}

fn number(node: Option<&Node>) -> u64 {
    node.map_or(0, |node| std::ptr::from_ref(node).addr() as u64)
}

fn replicas<const K: usize>(table: &Table, x: u32) -> u64 {
    let mut out = [None; K];
    table.replicas_at(x, &mut out);
    out.iter().fold(0, |sum, &node| sum ^ number(node))
}

fn zones(table: &Table, x: u32) -> u64 {
    let mut out = [None; 3];
    table.zone_replicas_at(x, &mut out);
    out.iter().fold(0, |sum, &node| sum ^ number(node))
}

fn zoned(count: usize, zones: usize) -> impl Iterator<Item = NodeSpec> {
    nodes(count).enumerate().map(move |(n, node)| node.with_zone([format!("zone-{}", n % zones)]))
}

/// Reader's times while all nodes are up, while ten are down and nothing happens, and while ten are down and nodes flap, by a
/// thread that sets a live state a thousand times a second, in turns. No table is built for it.
fn flaps(points: &[u32]) {
    const ALL_UP: usize = 0;
    const DOWN: usize = 1;
    const FLAPPING: usize = 2;
    let (windows, millis) = if is_test() { (1, 20) } else { (20, 100) };
    let (writer, handle) = Ring::builder().points_per_weight(160).nodes(nodes(2_000)).build().expect("plain");
    let (mode, done, flips) = (AtomicUsize::new(ALL_UP), AtomicBool::new(false), AtomicU64::new(0));
    let all: Vec<Node> = writer.table().nodes().cloned().collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A thread starts on the core of the one that made it, where it would be in the reader's way.
            if let Some(&core) = core_affinity::get_core_ids().as_deref().and_then(<[_]>::first) {
                core_affinity::set_for_current(core);
            }
            let mut last = ALL_UP;
            for n in (0..).map(|n: usize| n * 7 % 2_000) {
                if done.load(Relaxed) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
                let now = mode.load(Relaxed);
                if now != last {
                    for (place, node) in all.iter().enumerate() {
                        let down = now != ALL_UP && place % 7 == 0 && place < 70;
                        node.set_health(if down { State::Down } else { State::Up });
                    }
                }
                if now == FLAPPING {
                    // Down and up again, so that ten nodes are down at any time.
                    all[n].set_health(State::Down);
                    all[(n + 2_000 - 70) % 2_000].set_health(State::Up);
                    flips.fetch_add(2, Relaxed);
                }
                last = now;
            }
        });
        let mut reader = handle.reader();
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for window in 0..3 * windows {
            mode.store(window % 3, Relaxed);
            std::thread::sleep(Duration::from_millis(5));
            let end = Instant::now() + Duration::from_millis(millis);
            while Instant::now() < end {
                for chunk in points.chunks(16) {
                    let start = Instant::now();
                    black_box(chunk.iter().fold(0, |sum, &x| sum ^ number(reader.route_at(x))));
                    times[window % 3].push(start.elapsed().as_nanos() as f64 / 16.0);
                }
            }
        }
        done.store(true, Relaxed);
        println!("320,000 points, 2,000 nodes, a reader's ns per route_at over 16, with {} flips", flips.load(Relaxed));
        let names = [(ALL_UP, "all up"), (DOWN, "ten down"), (FLAPPING, "ten down, 1,000 to 2,000 flips a second")];
        for (mode, name) in names {
            let times = &mut times[mode];
            times.sort_by(f64::total_cmp);
            let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1000];
            println!("  {name:<44} p50 {:>7.1}  p99 {:>7.1}  p99.9 {:>7.1}", at(500), at(990), at(999));
        }
        assert_eq!((handle.version(), writer.counts().live), (1, 1), "no table was built");
    });
}

/// What is done with a key beside a lookup: bounded load, a hot key's spreading and counting, two layers.
fn beside(rounds: usize) {
    let keys = common::keys();
    let table: Table = Ring::builder().points_per_weight(160).nodes(nodes(100)).build_table().expect("plain");
    let again = || black_box(&table);
    let bound = Bound::percent(125).expect("above 100");
    let admit = |key: &str| number(again().admit(key.as_bytes(), bound).ok().map(|admission| admission.node()));
    let mut hot = HotKeys::new(1_000).expect("few");
    let (layered, _) = (0..10)
        .fold(Layered::builder::<()>().scheme(Native::new().with_points_per_weight(160)), |builder, region| {
            let members = (0..10).map(|n| NodeSpec::new(format!("member-{region}-{n}")));
            builder.region(NodeSpec::new(format!("region-{region}")), members)
        })
        .build()
        .expect("plain");
    let layered = layered.table();
    let member = |key: &str| number(black_box(layered).member(key.as_bytes()).map(|member| member.node));
    report(
        "16,000 points, 100 nodes, independent keys",
        rounds,
        &mut [
            ("owner".into(), Box::new(|| keys.iter().fold(0, |s, key| s ^ number(again().owner(key.as_bytes()))))),
            ("admit at 125 %, and the permit's drop".into(), Box::new(|| keys.iter().fold(0, |s, key| s ^ admit(key)))),
            (
                "spread, k = 3".into(),
                Box::new(|| keys.iter().fold(0, |s, key| s ^ number(again().spread(key.as_bytes(), 3, s)))),
            ),
            (
                "spread_least, k = 3".into(),
                Box::new(|| keys.iter().fold(0, |s, key| s ^ number(again().spread_least(key.as_bytes(), 3, s)))),
            ),
            (
                "layered: member, 10 regions of 10 nodes".into(),
                Box::new(|| keys.iter().fold(0, |s, key| s ^ member(key))),
            ),
            (
                "HotKeys::feed, 1,000 counters".into(),
                Box::new(|| {
                    keys.iter().for_each(|key| hot.feed(key));
                    hot.fed()
                }),
            ),
        ],
    );
}

fn main() {
    pin();
    let rounds = if is_test() { 2 } else { 151 };
    let points = common::queries();
    println!("ns per query, median of {rounds} interleaved rounds of {} queries", PASSES * QUERIES);
    for count in [100, 1_000] {
        let table: Table = Ring::builder().points_per_weight(160).nodes(zoned(count, 3)).build_table().expect("plain");
        let again = || black_box(&table);
        // The answers: the owner first, all distinct, all zones.
        for &x in &points {
            let mut out = [None; 3];
            assert_eq!(table.replicas_at(x, &mut out), 3);
            assert_eq!(number(out[0]), number(table.owner_at(x)));
            assert!(number(out[0]) != number(out[1]) && number(out[1]) != number(out[2]));
            assert_eq!(number(table.route_at(x)), number(table.owner_at(x)));
            table.zone_replicas_at(x, &mut out);
            let zone = |n: usize| &out[n].expect("three").info().zone()[0];
            assert!(zone(0) != zone(1) && zone(1) != zone(2) && zone(0) != zone(2));
        }
        report(
            &format!("{} points, {count} nodes, independent queries", table.len()),
            rounds,
            &mut [
                ("owner_at".into(), Box::new(|| points.iter().fold(0, |s, &x| s ^ number(again().owner_at(x))))),
                (
                    "route_at, all up".into(),
                    Box::new(|| points.iter().fold(0, |s, &x| s ^ number(again().route_at(x)))),
                ),
                (
                    "replicas_at, k = 1".into(),
                    Box::new(|| points.iter().fold(0, |s, &x| s ^ replicas::<1>(again(), x))),
                ),
                (
                    "replicas_at, k = 3".into(),
                    Box::new(|| points.iter().fold(0, |s, &x| s ^ replicas::<3>(again(), x))),
                ),
                (
                    "replicas_at, k = 8".into(),
                    Box::new(|| points.iter().fold(0, |s, &x| s ^ replicas::<8>(again(), x))),
                ),
                (
                    "zone_replicas_at, k = 3 of 3 zones".into(),
                    Box::new(|| points.iter().fold(0, |s, &x| s ^ zones(again(), x))),
                ),
            ],
        );
        let keys = common::keys();
        let three = |key: &str| {
            let mut out = [None; 3];
            again().replicas(key.as_bytes(), &mut out);
            out.iter().fold(0, |sum, &node| sum ^ number(node))
        };
        report(
            &format!("{} points, {count} nodes, independent keys", table.len()),
            rounds,
            &mut [
                ("owner".into(), Box::new(|| keys.iter().fold(0, |s, key| s ^ number(again().owner(key.as_bytes()))))),
                (
                    "route, all up".into(),
                    Box::new(|| keys.iter().fold(0, |s, key| s ^ number(again().route(key.as_bytes())))),
                ),
                ("replicas, k = 3".into(), Box::new(|| keys.iter().fold(0, |s, key| s ^ three(key)))),
            ],
        );
        let chain = |x: u32, last: u64| x ^ (last >> 4) as u32;
        report(
            &format!("{} points, {count} nodes, dependent queries", table.len()),
            rounds,
            &mut [
                (
                    "owner_at".into(),
                    Box::new(|| points.iter().fold(0, |last, &x| number(again().owner_at(chain(x, last))))),
                ),
                (
                    "route_at, all up".into(),
                    Box::new(|| points.iter().fold(0, |last, &x| number(again().route_at(chain(x, last))))),
                ),
                (
                    "replicas_at, k = 3".into(),
                    Box::new(|| points.iter().fold(0, |last, &x| replicas::<3>(again(), chain(x, last)))),
                ),
            ],
        );
        for (name, down) in
            [("one node down", 1), ("half of the nodes down", count / 2), ("all but one down", count - 1)]
        {
            for (n, node) in table.nodes().enumerate() {
                node.set_health(if n < down { State::Down } else { State::Up });
            }
            report(
                &format!("{} points, {count} nodes, {name}", table.len()),
                rounds.div_ceil(10),
                &mut [
                    ("owner_at".into(), Box::new(|| points.iter().fold(0, |s, &x| s ^ number(again().owner_at(x))))),
                    ("route_at".into(), Box::new(|| points.iter().fold(0, |s, &x| s ^ number(again().route_at(x))))),
                ],
            );
        }
    }
    beside(rounds);
    flaps(&points);
}
