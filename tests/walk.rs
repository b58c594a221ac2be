//! Replicas, zones, retries and routing against plain loops over the sequence of points, for every kind of scheme and
//! layout, across commits and changes of live states.
//!
//! `RINGWAY_MODEL_ROUNDS` sets the number of commits per configuration.

mod common;

use std::collections::BTreeMap;

use common::model::{ModelNode, Rule, View};
use common::schemes::{Listed, Weak};
use common::walks::{self, distinct, first, ids, spread};
use common::{Rng, env_number};
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::MatchRule;
use ringway::{Limits, Native, Ring, State};

fn native() -> Native {
    Native::new().with_points_per_weight(16)
}

fn weak<P>(name: &'static str, place: fn(u8) -> P) -> Weak<P> {
    Weak { name, place, rule: MatchRule::AtOrAfter }
}

#[test]
fn native_auto() {
    run::<_, Auto<u32>>(native(), 0x3A1C_0001);
}

#[test]
fn native_line() {
    run::<_, Line<u32>>(native(), 0x3A1C_0002);
}

#[test]
fn native_bucket() {
    run::<_, Bucket<u32>>(native(), 0x3A1C_0003);
}

#[test]
fn native_stree() {
    run::<_, STree<u32>>(native(), 0x3A1C_0004);
}

#[test]
fn native_direct() {
    run::<_, Direct<u32>>(native(), 0x3A1C_0005);
}

#[test]
fn weak_spread_over_the_circle() {
    run::<_, Eytzinger<u32>>(weak("weak", |hash| u32::from(hash) << 24), 0x3A1C_0006);
}

#[test]
fn weak_with_one_point_for_all() {
    run::<_, Sorted<u32>>(weak("weak-one", |_| 1 << 31), 0x3A1C_0007);
}

#[test]
fn weak_u64_with_one_head() {
    let place = |hash: u8| 0xABCD_0123 << 32 | u64::from(hash & 0xF0) << 24 | u64::from(hash & 0x0F);
    run::<_, Auto<u64>>(weak("weak-64", place), 0x3A1C_0008);
}

#[test]
fn weak_u128_with_the_ends_of_the_circle() {
    let place = |hash: u8| if hash.is_multiple_of(2) { 0 } else { u128::MAX };
    run::<_, Line<u128>>(weak("weak-ends", place), 0x3A1C_0009);
}

#[test]
fn list_order_where_points_depend_on_other_nodes() {
    run::<_, Auto<u32>>(Listed { weak: weak("list", |hash| u32::from(hash) << 24), group: 2 }, 0x3A1C_000A);
}

#[test]
fn list_order_u128() {
    let place = |hash: u8| u128::from(hash) << 60;
    run::<_, Sorted<u128>>(Listed { weak: weak("list-128", place), group: 1 }, 0x3A1C_000B);
}

#[test]
fn the_point_after() {
    let rule = MatchRule::After;
    run::<_, Auto<u32>>(Weak { rule, ..weak("after", |hash| u32::from(hash) << 24) }, 0x3A1C_000C);
}

#[test]
fn the_nearest_point() {
    let rule = MatchRule::Nearest;
    run::<_, Auto<u32>>(Weak { rule, ..weak("near", |hash| u32::from(hash) << 24) }, 0x3A1C_000D);
    run::<_, Line<u64>>(Weak { rule, ..weak("near-64", |hash| u64::MAX - u64::from(hash & 7)) }, 0x3A1C_000E);
}

fn run<S: Rule, L: Layout<S::Point>>(scheme: S, seed: u64) {
    let rounds = env_number("RINGWAY_MODEL_ROUNDS", 40);
    for (bounded, panic, seed) in [(false, 0, seed), (true, 0, seed ^ 0xFFFF_0000), (false, 30, seed ^ 0xFF_FF00)] {
        let seen = walks::run::<S, L>(&scheme, bounded, panic, Rng::new(seed), rounds);
        println!("{seen:?}");
        if rounds >= 40 {
            let all = ["pinned beside the ring", "passed by", "all up", "second of a zone"];
            for what in all.into_iter().chain([if panic > 0 { "panic" } else { "none open" }]) {
                assert!(seen.contains_key(what), "nothing was \"{what}\"");
            }
        }
    }
}

/// All grids of nodes by zones by k, flat and nested, each with all nodes up, a zone down, and all but one node down.
#[test]
fn grids_of_nodes_and_zones() {
    let mut rng = Rng::new(0x6A1D);
    for nodes in [1usize, 2, 3, 5, 8, 13] {
        for zones in 1..=nodes.min(5) {
            for nested in [false, true] {
                let zone = |n: usize| {
                    let inner = format!("z{}", n % zones);
                    if nested { vec![format!("r{}", n % zones % 2), inner] } else { vec![inner] }
                };
                let list: Vec<ModelNode> = (0..nodes)
                    .map(|n| ModelNode { zone: zone(n), weight: 1 + n as u32 % 3, ..ModelNode::new(format!("n{n}")) })
                    .collect();
                for bounded in [false, true] {
                    let specs = list.iter().map(ModelNode::spec);
                    let builder = Ring::builder().scheme(native()).nodes(specs).bounded_walks(bounded);
                    let table = builder.build_table().expect("valid");
                    let (view, rule) = (View::new(&native(), &list), MatchRule::AtOrAfter);
                    let labels: BTreeMap<&str, &[String]> = list.iter().map(|n| (n.id.as_str(), &n.zone[..])).collect();
                    for case in 0..3 {
                        let lone = format!("n{}", rng.below(nodes));
                        for node in table.nodes() {
                            let down = match case {
                                0 => false,
                                1 => node.info().zone().last().is_some_and(|zone| zone == "z0"),
                                _ => node.id() != &*lone,
                            };
                            node.set_health(if down { State::Down } else { State::Up });
                        }
                        for x in view.probes(&mut rng, 3) {
                            let order = distinct(&view, rule, x);
                            let up = |id: &&str| table.node(id).unwrap().health() == State::Up;
                            let open: Vec<&str> = order.iter().copied().filter(up).collect();
                            let (all, healthy) = (spread(&order, &labels), spread(&open, &labels));
                            for k in 1..=nodes + 1 {
                                let mut out = vec![None; k];
                                table.zone_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&all, k));
                                let mut out = vec![None; k];
                                table.healthy_zone_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&healthy, k));
                                let mut out = vec![None; k];
                                table.healthy_replicas_at(x, &mut out);
                                assert_eq!(ids(out.into_iter().flatten()), first(&open, k));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// More distinct nodes than the short list of an iterator holds, and more points than its patience.
#[test]
fn many_nodes_of_very_different_weights() {
    let mut rng = Rng::new(0x57E9);
    for bounded in [false, true] {
        let list: Vec<ModelNode> = (0..150)
            .map(|n| ModelNode {
                active_points: Some(if n == 7 { 20_000 } else { 1 + n % 3 }),
                ..ModelNode::new(format!("n{n}"))
            })
            .collect();
        let (view, rule) = (View::new(&native(), &list), MatchRule::AtOrAfter);
        let builder = Ring::builder().scheme(native()).nodes(list.iter().map(ModelNode::spec)).bounded_walks(bounded);
        let table = builder.limits(Limits::default()).build_table().expect("valid");
        table.validate().expect("valid");
        for x in view.probes(&mut rng, 4) {
            let order = distinct(&view, rule, x);
            assert_eq!(ids(table.successors_at(x)), order);
            let mut out = vec![None; 40];
            assert_eq!(table.replicas_at(x, &mut out), 40);
            assert_eq!(ids(out.into_iter().flatten()), order[..40]);
        }
    }
}

/// An empty ring keeps the ranks of no points.
#[test]
fn a_ring_without_nodes_is_valid_with_bounded_walks_too() {
    for bounded in [false, true] {
        let table: ringway::Table = Ring::builder().bounded_walks(bounded).build_table().expect("no nodes are fine");
        table.validate().expect("valid");
        assert_eq!(table.replicas(b"key", &mut [None; 2]), 0);
    }
}
