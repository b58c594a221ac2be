//! Random changes against a plain model: whatever the history, the table is the one that its nodes give from scratch.
//!
//! `RINGWAY_MODEL_ROUNDS` sets the number of changes per configuration, `RINGWAY_MODEL_SEED` gives other changes.

mod common;

use common::model::Rule;
use common::schemes::{Listed, Weak};
use common::{Rng, env_number, history};
use ringway::Native;
use ringway::layout::{Auto, Eytzinger, Layout, Sorted};
use ringway::scheme::MatchRule;

fn native() -> Native {
    Native::new().with_points_per_weight(16)
}

fn weak<P>(name: &'static str, place: fn(u8) -> P) -> Weak<P> {
    Weak { name, place, rule: MatchRule::AtOrAfter }
}

/// The heads of all points are equal, the tails differ in their last bits and in their first.
fn one_head_u64(hash: u8) -> u64 {
    0xABCD_0123 << 32 | u64::from(hash & 0xF0) << 24 | u64::from(hash & 0x0F)
}

fn one_head_u128(hash: u8) -> u128 {
    u128::MAX << 96 | u128::from(hash >> 6) << 88 | u128::from(hash >> 3 & 7) << 40 | u128::from(hash & 7)
}

#[test]
fn native_sorted() {
    run::<_, Sorted<u32>>(native(), 0x5EED_0001);
}

#[test]
fn native_eytzinger() {
    run::<_, Eytzinger<u32>>(native(), 0x5EED_0002);
}

#[test]
fn weak_spread_over_the_circle() {
    run::<_, Eytzinger<u32>>(weak("weak", |hash| u32::from(hash) << 24), 0x5EED_0003);
}

#[test]
fn weak_at_the_bottom_of_the_circle() {
    run::<_, Sorted<u32>>(weak("weak-low", u32::from), 0x5EED_0004);
}

#[test]
fn weak_u64_with_one_head() {
    run::<_, Eytzinger<u64>>(weak("weak-64", one_head_u64), 0x5EED_0005);
}

#[test]
fn weak_u128_with_one_head() {
    run::<_, Sorted<u128>>(weak("weak-128", one_head_u128), 0x5EED_0006);
}

#[test]
fn weak_with_one_point_for_all() {
    run::<_, Sorted<u32>>(weak("weak-one", |_| 1 << 31), 0x5EED_000B);
}

#[test]
fn weak_u128_with_the_ends_of_the_circle() {
    run::<_, Eytzinger<u128>>(weak("weak-ends", |hash| if hash % 2 == 0 { 0 } else { u128::MAX }), 0x5EED_000C);
}

#[test]
fn weak_by_the_point_after() {
    let rule = MatchRule::After;
    run::<_, Auto<u32>>(Weak { rule, ..weak("after", |hash| u32::from(hash) << 24) }, 0x5EED_000D);
    run::<_, Auto<u64>>(Weak { rule, ..weak("after-64", one_head_u64) }, 0x5EED_000E);
    run::<_, Sorted<u128>>(Weak { rule, ..weak("after-128", one_head_u128) }, 0x5EED_000F);
    run::<_, Auto<u32>>(Weak { rule, ..weak("after-one", |_| u32::MAX) }, 0x5EED_0010);
}

#[test]
fn weak_by_the_nearest_point() {
    let rule = MatchRule::Nearest;
    run::<_, Auto<u32>>(Weak { rule, ..weak("near", |hash| u32::from(hash) << 24) }, 0x5EED_0011);
    run::<_, Eytzinger<u32>>(Weak { rule, ..weak("near-low", u32::from) }, 0x5EED_0012);
    run::<_, Auto<u64>>(Weak { rule, ..weak("near-64", one_head_u64) }, 0x5EED_0013);
    run::<_, Sorted<u128>>(Weak { rule, ..weak("near-128", one_head_u128) }, 0x5EED_0014);
    run::<_, Auto<u32>>(Weak { rule, ..weak("near-one", |_| u32::MAX) }, 0x5EED_0015);
    run::<_, Auto<u32>>(Weak { rule, ..weak("near-two", |hash| u32::MAX - u32::from(hash & 1)) }, 0x5EED_0016);
    let ends = |hash| if hash % 2 == 0 { 0 } else { u128::MAX };
    run::<_, Auto<u128>>(Weak { rule, ..weak("near-ends", ends) }, 0x5EED_0017);
    let list = Listed { weak: Weak { rule, ..weak("near-list", |hash| u32::from(hash) << 24) }, group: 2 };
    run::<_, Auto<u32>>(list, 0x5EED_0018);
}

#[test]
fn list_order_where_the_last_wins() {
    run::<_, Auto<u32>>(Listed { weak: weak("list", |hash| u32::from(hash) << 24), group: 1 }, 0x5EED_0007);
}

#[test]
fn list_order_with_equal_ties() {
    run::<_, Eytzinger<u32>>(Listed { weak: weak("list-groups", u32::from), group: 3 }, 0x5EED_0008);
}

#[test]
fn list_order_u64_with_one_head() {
    run::<_, Sorted<u64>>(Listed { weak: weak("list-64", one_head_u64), group: 1 }, 0x5EED_0009);
}

#[test]
fn list_order_u128_with_one_head() {
    run::<_, Eytzinger<u128>>(Listed { weak: weak("list-128", one_head_u128), group: 2 }, 0x5EED_000A);
}

fn run<S: Rule, L: Layout<S::Point>>(scheme: S, seed: u64) {
    let rounds = env_number("RINGWAY_MODEL_ROUNDS", 100);
    let order_free = scheme.order_free();
    let seen = history::run::<S, L>(scheme, Rng::new(seed ^ env_number("RINGWAY_MODEL_SEED", 0)), rounds);
    println!("{seen:?}");
    if rounds >= 100 {
        for what in ["published", "unchanged", "refused", "list", "list unchanged", "moved keys"] {
            assert!(seen.contains_key(what), "no change was of the kind \"{what}\"");
        }
        assert_eq!(seen.contains_key("only the order"), !order_free);
    }
}
