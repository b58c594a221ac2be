//! Batches of changes, those that fail among them: the table, its fingerprints and owners, and that no other key moves,
//! against a model that knows no history.

use ringway::Native;
use ringway::layout::{Auto, Bucket, Eytzinger, Line, STree, Sorted};

use crate::common::schemes::Listed;
use crate::common::{Rng, history};
use crate::{RULES, weak_u32, weak_u64, weak_u128};

const ROUNDS: u64 = 24;

/// Fuzzes [`Writer::commit`](ringway::Writer::commit) and [`replace_all`](ringway::Writer::replace_all).
pub fn deltas(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    let (choice, rule) = (rng.below(3), RULES[rng.below(3)]);
    let listed = |group| Listed { weak: weak_u32(choice, rule), group };
    let _ = match rng.below(9) {
        0 => history::run::<_, Auto<u32>>(Native::new().with_points_per_weight(16), rng, ROUNDS),
        1 => history::run::<_, Line<u32>>(weak_u32(choice, rule), rng, ROUNDS),
        2 => history::run::<_, STree<u32>>(weak_u32(choice, rule), rng, ROUNDS),
        3 => history::run::<_, Bucket<u32>>(weak_u32(choice, rule), rng, ROUNDS),
        4 => history::run::<_, Auto<u64>>(weak_u64(choice, rule), rng, ROUNDS),
        5 => history::run::<_, Sorted<u128>>(weak_u128(choice, rule), rng, ROUNDS),
        6 => history::run::<_, Line<u128>>(weak_u128(choice, rule), rng, ROUNDS),
        7 => history::run::<_, Eytzinger<u32>>(listed(1), rng, ROUNDS),
        _ => history::run::<_, Auto<u32>>(listed(3), rng, ROUNDS),
    };
}
