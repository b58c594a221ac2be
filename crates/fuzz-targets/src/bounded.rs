//! Bounded load: admissions, ends of requests, changes of state and commits, one after the other, against the definition.

use ringway::Native;
use ringway::scheme::MatchRule;

use crate::common::{Rng, loads};
use crate::{weak_u32, weak_u64};

/// At most this many steps, each of which builds the model anew.
const STEPS: u64 = 400;

/// Fuzzes [`Table::admit`](ringway::Table::admit) and its permits.
pub fn bounded(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    let rule = MatchRule::AtOrAfter;
    let _ = match rng.below(4) {
        0 => loads::run(&Native::new().with_points_per_weight(4), rng, STEPS),
        1 => loads::run(&weak_u64(rng.below(2), rule), rng, STEPS),
        _ => loads::run(&weak_u32(rng.below(3), rule), rng, STEPS),
    };
}
