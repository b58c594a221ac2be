//! Replicas, zones, states, retries and pins, for any k, against loops over the sequence of points.

use ringway::Native;
use ringway::layout::{Auto, Line, Sorted};

use crate::common::schemes::Listed;
use crate::common::{Rng, walks};
use crate::{RULES, weak_u32, weak_u64, weak_u128};

const ROUNDS: u64 = 16;

/// Fuzzes the walks of a table: `replicas`, `zone_replicas`, `route` and theirs.
pub fn replicas(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    let (bounded, panic) = (rng.below(2) == 1, [0, 0, 30, 100][rng.below(4)]);
    let (choice, rule) = (rng.below(3), RULES[rng.below(3)]);
    let _ = match rng.below(5) {
        0 => walks::run::<_, Auto<u32>>(&Native::new().with_points_per_weight(8), bounded, panic, rng, ROUNDS),
        1 => walks::run::<_, Line<u32>>(&weak_u32(choice, rule), bounded, panic, rng, ROUNDS),
        2 => walks::run::<_, Auto<u64>>(&weak_u64(choice, rule), bounded, panic, rng, ROUNDS),
        3 => walks::run::<_, Sorted<u128>>(&weak_u128(choice, rule), bounded, panic, rng, ROUNDS),
        _ => {
            let listed = Listed { weak: weak_u32(choice, rule), group: 2 };
            walks::run::<_, Auto<u32>>(&listed, bounded, panic, rng, ROUNDS)
        }
    };
}
