//! Plans: the arcs, applied to what the old table answers, give what the new one does, at every place of a small circle; of
//! owners, and of replicas with zones and without.

use crate::RULES;
use crate::common::{Rng, plans};

const ROUNDS: u64 = 8;

/// Fuzzes [`Plan::between`](ringway::Plan::between) and [`ReplicaPlan`](ringway::ReplicaPlan).
pub fn plan(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    for _ in 0..ROUNDS {
        let (rule, low) = (RULES[rng.below(3)], rng.below(2) == 0);
        let (k, zones) = (1 + rng.below(4), rng.below(2) == 0);
        plans::small_circle(&mut rng, rule, low);
        plans::small_circle_of_replicas(&mut rng, rule, k, zones);
        if rng.is_spent() {
            return;
        }
    }
}
