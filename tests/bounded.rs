//! Bounded load against a plain model of it, under skewed keys, and with many threads at once.

mod common;

use std::collections::BTreeMap;
use std::sync::Barrier;

use common::Rng;
use common::model::{ModelNode, Rule, View};
use common::schemes::Weak;
use ringway::layout::Auto;
use ringway::scheme::MatchRule;
use ringway::{AdmitError, Bound, Change, Delta, Field, Native, NodeSpec, Permit, Pins, Point, Ring, State};

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

/// Admissions, ends of requests, changes of state and commits, one after the other, against the definition: the first
/// node in ring order that takes traffic and has fewer than ⌈c · (in flight + 1) · w / W⌉. A pinned key's node comes
/// first, and without a share of the ring it has room always.
fn run<S: Rule>(scheme: S, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut nodes: Vec<ModelNode> = Vec::new();
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let mut held: Vec<(String, Permit)> = Vec::new();
    // Requests at nodes that were removed, and maybe added again, count for nobody.
    let mut apart: Vec<Permit> = Vec::new();
    let (mut writer, handle) = Ring::builder().scheme(scheme.clone()).layout::<Auto<S::Point>>().build().unwrap();
    let mut reader = handle.reader();
    let mut pins: BTreeMap<&str, String> = BTreeMap::new();
    let (mut displaced, mut admitted, mut none, mut beside) = (0, 0, 0, 0);
    for step in 0..6000 {
        match rng.below(40) {
            0 => {
                let id = format!("n{}", rng.below(8));
                let delta = match nodes.iter().position(|node| node.id == id) {
                    None => {
                        let mut node = ModelNode { weight: rng.number(5), ..ModelNode::new(&id) };
                        node.state = State::ALL[rng.below(4) % 3];
                        node.active_points = rng.percent(25).then(|| [0, 7][rng.below(2)]);
                        states.insert(id, node.state);
                        nodes.push(node.clone());
                        Delta::new().add(node.spec())
                    }
                    Some(place) if rng.percent(50) => {
                        nodes.remove(place);
                        let (gone, stay) = held.into_iter().partition(|(node, _)| *node == id);
                        held = stay;
                        apart.extend(Vec::into_iter(gone).map(|(_, permit)| permit));
                        let mut delta = Delta::new();
                        delta.push(Change::Remove { id });
                        delta
                    }
                    Some(place) => {
                        nodes[place].weight = rng.number(5);
                        let mut delta = Delta::new();
                        delta.push(Change::Set { id, field: Field::Weight(nodes[place].weight) });
                        delta
                    }
                };
                writer.commit(delta).expect("valid");
            }
            1 | 2 => {
                if let Some(node) = nodes.get(rng.below(nodes.len().max(1))) {
                    let state = State::ALL[rng.below(3)];
                    writer.table().node(&node.id).unwrap().set_health(state);
                    states.insert(node.id.clone(), state);
                }
            }
            3 if !nodes.is_empty() => {
                pins.clear();
                for prefix in &["p", "q", "r"][..rng.below(4)] {
                    pins.insert(prefix, rng.pick(&nodes).id.clone());
                }
                let all = pins.iter().try_fold(Pins::new(), |all, (prefix, id)| all.with_prefix(prefix, id));
                writer.commit(Delta::new().with_pins(all.expect("few and short"))).expect("valid");
            }
            4..18 if !held.is_empty() => drop(held.swap_remove(rng.below(held.len()))),
            18 if !apart.is_empty() => drop(apart.swap_remove(rng.below(apart.len()))),
            _ => {
                let view = View::new(&scheme, &nodes);
                // By a point of the ring's, or a key, which may be pinned.
                let key = rng.percent(50).then(|| format!("{}{}", ["p", "q", "r", "s"][rng.below(4)], rng.below(500)));
                let x = match &key {
                    None => S::Point::MIN.clockwise(*rng.pick(&view.probes(&mut Rng::new(step), 3))),
                    Some(key) => scheme.key(key.as_bytes()),
                };
                let pinned = key.as_ref().and_then(|key| pins.get(&key[..1])).filter(|id| view.parts.contains_key(*id));
                let start = view.sequence.iter().position(|(point, _)| *point >= x).unwrap_or(0);
                let order = view.sequence[start..].iter().chain(&view.sequence[..start]).map(|(_, id)| id.as_str());
                let order = pinned.map(|id| id.as_str()).into_iter().chain(order);
                let new = key.is_some() && rng.percent(50);
                let takes = |id: &str| states[id] == State::Up || !new && states[id] == State::Draining;
                let weight = |id: &str| nodes.iter().find(|node| node.id == id).unwrap().weight;
                let placed = |id: &str| view.parts[id].count > 0;
                let total: u32 = nodes.iter().map(|n| &*n.id).filter(|id| takes(id) && placed(id)).map(weight).sum();
                let percent = [100, 101, 125, 200][rng.below(4)];
                let load = |id: &str| held.iter().filter(|(node, _)| node == id).count();
                let has_share = |id: &str| placed(id) && weight(id) > 0;
                let without_share = |id: &str| pinned.is_some_and(|pinned| pinned == id) && !has_share(id);
                // load + 1 <= ⌈q⌉ means load < q.
                let has_room = |id: &str| {
                    without_share(id)
                        || (load(id) as u64) * 100 * u64::from(total)
                            < u64::from(percent * weight(id)) * (held.len() as u64 + 1)
                };
                let first = order.clone().find(|id| takes(id) && (has_share(id) || without_share(id)));
                let expected = order.clone().find(|id| takes(id) && has_room(id));
                beside += usize::from(expected.is_some_and(without_share));
                let table = reader.table();
                assert_eq!(table.in_flight(), held.len() as u64);
                let found = match &key {
                    Some(key) if new => table.admit_new(key.as_bytes(), bound(percent)),
                    Some(key) => table.admit(key.as_bytes(), bound(percent)),
                    None => table.admit_at(x, bound(percent)),
                };
                match (found, expected) {
                    (Ok(found), Some(id)) => {
                        assert_eq!(found.node().id().as_str(), id, "step {step}");
                        assert_eq!(found.displaced(), first != Some(id));
                        displaced += usize::from(found.displaced());
                        admitted += 1;
                        held.push((id.to_owned(), found.into_permit()));
                    }
                    (Err(error), None) => {
                        assert_eq!((error, total), (AdmitError::NoneTakes, 0));
                        none += 1;
                    }
                    (found, expected) => panic!("step {step}: {found:?}, not {expected:?} of {nodes:?}"),
                }
            }
        }
        for node in writer.table().nodes() {
            let load = held.iter().filter(|(id, _)| node.id() == &**id).count() as u64;
            assert_eq!(node.in_flight(), load, "{node:?} at step {step}");
        }
    }
    println!(
        "{admitted} admitted, {displaced} displaced, {none} times no node, {beside} at pinned nodes without a share"
    );
    assert!(admitted > 1000 && displaced > 100 && none > 10 && beside > 50);
    drop(held);
    drop(apart);
    assert_eq!(writer.table().in_flight(), 0);
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
