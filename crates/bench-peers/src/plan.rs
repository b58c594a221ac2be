//! How much is measured.

use std::time::Duration;

use crate::input;

/// Rounds and sizes of a run. Peers are measured in turn within each round; what is quoted are medians over the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Numbers of nodes.
    pub sizes: &'static [u32],
    /// Rounds of lookups, of each kind.
    pub rounds: usize,
    /// Lookups in a pass, of which a round has two: one to warm up, one that is timed.
    pub lookups: usize,
    /// How long a pass may take. Slower peers get fewer lookups.
    pub pass: Duration,
    /// Rounds of builds, and of adding and removing a node.
    pub changes: usize,
    /// How long all rounds of builds or of changes may take for one peer. Slower peers get fewer rounds, but one at least.
    pub change_budget: Duration,
    /// Keys whose owners are compared.
    pub keys: usize,
    /// How long finding those owners may take, once. Slower peers get fewer keys.
    pub owners_budget: Duration,
}

impl Plan {
    /// All there is.
    pub const FULL: Self = Self {
        sizes: &[10, 100, 1_000],
        rounds: 21,
        lookups: 1 << 17,
        pass: Duration::from_millis(20),
        changes: 15,
        change_budget: Duration::from_secs(2),
        keys: input::KEYS,
        owners_budget: Duration::from_secs(4),
    };

    /// A first impression.
    pub const QUICK: Self = Self {
        rounds: 7,
        lookups: 1 << 15,
        pass: Duration::from_millis(5),
        changes: 5,
        change_budget: Duration::from_millis(300),
        keys: 200_000,
        owners_budget: Duration::from_secs(1),
        ..Self::FULL
    };

    /// Enough to check answers; the figures mean nothing.
    pub const TEST: Self = Self {
        sizes: &[10, 100],
        rounds: 2,
        lookups: 1 << 10,
        pass: Duration::from_millis(1),
        changes: 1,
        change_budget: Duration::ZERO,
        keys: 20_000,
        owners_budget: Duration::from_secs(1),
    };

    /// How many of at most `most` things fit into `budget` if one takes `each`; at least `least`.
    pub fn fit(budget: Duration, each: Duration, least: usize, most: usize) -> usize {
        let fits = budget.as_nanos() / each.as_nanos().max(1);
        usize::try_from(fits).unwrap_or(most).clamp(least, most)
    }
}
