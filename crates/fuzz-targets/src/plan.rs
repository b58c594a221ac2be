//! Plans: the arcs, applied to what the old table answers, give what the new one does, at every place of a small circle.

use crate::RULES;
use crate::common::{Rng, plans};

const ROUNDS: u64 = 8;

/// Fuzzes [`Plan::between`](ringway::Plan::between).
pub fn plan(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    for _ in 0..ROUNDS {
        let (rule, low) = (RULES[rng.below(3)], rng.below(2) == 0);
        plans::small_circle(&mut rng, rule, low);
        if rng.is_spent() {
            return;
        }
    }
}
