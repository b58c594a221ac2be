//! Bounded load against a plain model of it, under skewed keys, and with many threads at once.

mod common;

use std::sync::Barrier;

use common::model::Rule;
use common::schemes::Weak;
use common::{Rng, loads};
use ringway::scheme::MatchRule;
use ringway::{Bound, Delta, Native, NodeSpec, Permit, Ring, State};

fn bound(percent: u32) -> Bound {
    Bound::percent(percent).expect("100 or more")
}

#[test]
fn a_bound_below_the_fair_share_is_refused() {
    assert_eq!(Bound::percent(100), Ok(bound(100)));
    let error = Bound::percent(99).unwrap_err();
    assert_eq!(error.to_string(), "a bound of 99 % is below the fair share; give 100 % or more, such as 125");
}

#[test]
fn capacities_round_up() {
    // ⌈1.25 · 10 · 1 / 3⌉ = ⌈4.17⌉, ⌈1 · 9 · 1 / 3⌉ = 3, ⌈1.01 · 9 / 3⌉ = ⌈3.03⌉
    assert_eq!([bound(125).capacity(10, 1, 3), bound(100).capacity(9, 1, 3), bound(101).capacity(9, 1, 3)], [5, 3, 4]);
    assert_eq!(bound(u32::MAX).capacity(u64::MAX, u32::MAX, 1), u64::MAX);
    assert_eq!(bound(100).capacity(1, 1, u64::MAX), 1);
    assert_eq!((bound(125).capacity(10, 1, 0), bound(125).capacity(10, 0, 3)), (0, 0));
}

#[test]
fn native_ring() {
    run(Native::new().with_points_per_weight(8), 0xB0D_0001);
}

#[test]
fn wide_points_that_collide() {
    let place = |hash: u8| u64::from(hash / 3) << 40;
    run(Weak { name: "weak-64", place, rule: MatchRule::AtOrAfter }, 0xB0D_0002);
}

fn run<S: Rule>(scheme: S, seed: u64) {
    let counts = loads::run(&scheme, Rng::new(seed), 6000);
    println!("{counts:?}");
    assert!(counts.admitted > 1000 && counts.displaced > 100 && counts.none > 10 && counts.beside > 50);
}

/// Zipf keys: the most loaded node stays below c times its fair share, which without the bound it doesn't.
#[test]
fn zipf_keys_stay_below_the_bound() {
    const NODES: u64 = 20;
    const HELD: usize = 4000;
    let nodes = (0..NODES).map(|n| NodeSpec::new(format!("n{n}")).with_weight(1 + n as u32 % 3));
    let table = Ring::builder().points_per_weight(100).nodes(nodes).build_table().unwrap();
    let total: u32 = table.nodes().map(|node| node.info().weight()).sum();
    // Key k comes with weight 1 / k.
    let weights: Vec<f64> = (1..=10_000).map(|k| 1.0 / f64::from(k)).collect();
    let sum: f64 = weights.iter().sum();
    let mut rng = Rng::new(0x21F);
    let mut key = || {
        let mut at = rng.next() as f64 / 2f64.powi(64) * sum;
        weights
            .iter()
            .position(|weight| {
                at -= weight;
                at < 0.0
            })
            .unwrap_or(0)
            .to_string()
    };
    let worst = |permits: usize| {
        let shares = table.nodes().map(|node| {
            let fair = permits as f64 * f64::from(node.info().weight()) / f64::from(total);
            node.in_flight() as f64 / fair
        });
        shares.fold(0.0, f64::max)
    };
    let unbounded: Vec<Permit> = (0..HELD).map(|_| table.route(key().as_bytes()).unwrap().enter()).collect();
    let without = worst(HELD);
    drop(unbounded);
    for percent in [100, 110, 125, 150, 200] {
        let mut permits = std::collections::VecDeque::new();
        let mut displaced = 0;
        for _ in 0..3 * HELD {
            let admission = table.admit(key().as_bytes(), bound(percent)).unwrap();
            displaced += usize::from(admission.displaced());
            let (id, load) = (admission.node().id().clone(), admission.node().in_flight());
            let weight = admission.node().info().weight();
            permits.push_back(admission.into_permit());
            let capacity =
                (u64::from(percent) * permits.len() as u64 * u64::from(weight)).div_ceil(100 * u64::from(total));
            assert!(load <= capacity, "{id}: {load} of {capacity}");
            if permits.len() > HELD {
                permits.pop_front();
            }
        }
        println!(
            "{percent} %: the most loaded has {:.2} of its share ({without:.2} without a bound), {:.1} % displaced",
            worst(HELD),
            displaced as f64 * 100.0 / (3 * HELD) as f64
        );
        assert!(without > 2.0, "the keys aren't skewed");
    }
    assert_eq!(table.in_flight(), 0);
}

/// Threads that only let in: what is in flight grows only, so each node's load is below its capacity of the final sum.
#[test]
fn the_bound_holds_with_many_threads() {
    const THREADS: usize = 4;
    const EACH: usize = 3000;
    for percent in [100, 125] {
        let nodes = (0..7).map(|n| NodeSpec::new(format!("n{n}")).with_weight(1 + n % 3));
        let table = Ring::builder().points_per_weight(20).nodes(nodes).build_table().unwrap();
        let total: u32 = table.nodes().map(|node| node.info().weight()).sum();
        let barrier = Barrier::new(THREADS);
        let admitted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (table, barrier) = (&table, &barrier);
                    scope.spawn(move || {
                        let mut rng = Rng::new(thread as u64);
                        barrier.wait();
                        let all = (0..EACH).filter_map(|_| {
                            // Nine of ten for one key. An admission that lost all its looks isn't in.
                            let key = if rng.percent(90) { 0 } else { rng.below(100) };
                            table.admit(key.to_string().as_bytes(), bound(percent)).ok().map(|a| a.into_permit())
                        });
                        all.collect::<Vec<Permit>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<Permit>>()
        });
        let in_flight = admitted.len() as u64;
        assert!(admitted.len() > THREADS * EACH / 2, "{in_flight}");
        assert_eq!(table.in_flight(), in_flight);
        assert_eq!(table.nodes().map(|node| node.in_flight()).sum::<u64>(), in_flight);
        // A look reserves before it admits: at most one for each other thread is in the sum and not at a node.
        let most = in_flight + THREADS as u64 - 1;
        for node in table.nodes() {
            let weight = u64::from(node.info().weight());
            let capacity = (u64::from(percent) * most * weight).div_ceil(100 * u64::from(total));
            assert!(node.in_flight() <= capacity, "{node:?}: {} of {capacity}", node.in_flight());
        }
        drop(admitted);
        assert_eq!((table.in_flight(), table.nodes().map(|node| node.in_flight()).max()), (0, Some(0)));
    }
}

/// Requests come and go in threads while states flip and nodes come and go: at the end nothing is left over.
#[test]
fn counts_are_exact_after_any_storm() {
    let nodes = (0..6).map(|n| NodeSpec::new(format!("n{n}")));
    let (mut writer, handle) = Ring::builder().points_per_weight(20).nodes(nodes).build().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (handle, done) = (&handle, &done);
            scope.spawn(move || {
                let (mut reader, mut rng) = (handle.reader(), Rng::new(thread));
                let mut held = Vec::new();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let key = rng.below(50).to_string();
                    if rng.percent(55) {
                        let admitted = reader.table().admit(key.as_bytes(), bound(125));
                        held.extend(admitted.map(|admission| admission.into_permit()));
                    } else if !held.is_empty() {
                        held.swap_remove(rng.below(held.len()));
                    }
                    if held.len() > 40 {
                        held.clear();
                    }
                }
            });
        }
        let mut rng = Rng::new(77);
        for round in 0..300 {
            let id = format!("n{}", rng.below(6));
            let delta = match writer.table().node(&id) {
                Some(node) if rng.percent(50) => {
                    node.set_health(State::ALL[rng.below(3)]);
                    Delta::new().set_weight(&*id, 1 + round % 3)
                }
                Some(_) => Delta::new().remove(&*id),
                None => Delta::new().add(NodeSpec::new(&*id)),
            };
            writer.commit(delta).expect("valid");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(writer.table().in_flight(), 0);
    assert!(writer.table().nodes().all(|node| node.in_flight() == 0));
}
