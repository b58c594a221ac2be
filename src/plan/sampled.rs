//! What moves between tables that map keys to points in different ways: of a sample of keys, and by an estimate without
//! keys. Neither is exact, and both say so by their types.

use std::collections::{BTreeMap, HashMap};

use super::Plan;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::point::float;
use crate::table::Table;

impl Plan {
    /// Looks a sample of keys up in two tables of any schemes and widths; each key comes with how much it counts, such as the
    /// size of its value. Owners are those of [`Table::owner`]: pins count, states of nodes don't.
    ///
    /// For tables of one key map [`between`](Self::between) is exact, and needs no keys.
    ///
    /// ```
    /// use ringway::scheme::Xxh3;
    /// use ringway::{NodeSpec, Plan, Ring};
    /// let nodes = || ["a", "b", "c", "d"].map(NodeSpec::new);
    /// let old = Ring::builder().nodes(nodes()).build_table()?;
    /// let new = Ring::builder().scheme(Xxh3::new()).nodes(nodes()).build_table()?;
    /// assert!(Plan::between(&old, &new).is_err(), "no key has the point that it had");
    ///
    /// let sample = Plan::sampled(&old, &new, (0..2000).map(|n| (format!("user:{n}"), 1)));
    /// let (low, high) = sample.confidence_interval();
    /// assert!(low < sample.moved_fraction() && sample.moved_fraction() < high);
    /// // Three of four keys, as if each were dealt anew.
    /// assert!((sample.moved_fraction() - Plan::estimated(&old, &new).moved_fraction()).abs() < 0.05);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Complexity
    /// Two lookups a key; memory follows the pairs of nodes between which keys move.
    pub fn sampled<T, U, S, R, L, M, K>(
        old: &Table<T, S, L>,
        new: &Table<U, R, M>,
        sample: impl IntoIterator<Item = (K, u64)>,
    ) -> SampledPlan
    where
        S: Scheme,
        R: Scheme,
        L: Layout<S::Point>,
        M: Layout<R::Point>,
        K: AsRef<[u8]>,
    {
        let mut flows: HashMap<(Option<&NodeId>, Option<&NodeId>), Sums> = HashMap::new();
        let (mut all, mut moved) = (Sums::default(), Sums::default());
        for (key, weight) in sample {
            let owners = (old.owner(key.as_ref()).map(|n| n.id()), new.owner(key.as_ref()).map(|n| n.id()));
            all.take(weight);
            if owners.0 != owners.1 {
                moved.take(weight);
                flows.entry(owners).or_default().take(weight);
            }
        }
        let flow = |((from, to), sums): ((Option<&NodeId>, Option<&NodeId>), Sums)| SampledFlow {
            from: from.cloned(),
            to: to.cloned(),
            keys: sums.keys,
            weight: sums.weight,
        };
        let flows: BTreeMap<_, _> = flows.into_iter().collect();
        SampledPlan { all, moved, flows: flows.into_iter().map(flow).collect() }
    }

    /// Estimates what moves between two tables of any schemes and widths from the nodes' [shares](Table::key_shares) alone, as if where a
    /// key lies in one said nothing of where it lies in the other: all but Σ aᵢ bᵢ of the keys, if aᵢ and bᵢ are node i's
    /// shares of the two.
    ///
    /// An estimate, and right only if the two key maps are independent of each other. For tables of one key map it is far
    /// too large; [`between`](Self::between) is exact there.
    ///
    /// # Complexity
    /// O(P + N log N).
    #[must_use]
    pub fn estimated<T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> MovedEstimate
    where
        S: Scheme,
        R: Scheme,
        L: Layout<S::Point>,
        M: Layout<R::Point>,
    {
        let before: HashMap<&NodeId, f64> =
            old.key_shares().into_iter().map(|(node, share)| (node.id(), share)).collect();
        let stays = |node: &NodeId, share: f64| before.get(node).map_or(0.0, |before| before * share);
        let stayed = match (old.is_empty(), new.is_empty()) {
            (true, true) => 1.0,
            _ => new.key_shares().into_iter().map(|(node, share)| stays(node.id(), share)).sum::<f64>(),
        };
        MovedEstimate { moved: (1.0 - stayed).clamp(0.0, 1.0) }
    }
}

/// What moves of a sample of keys: see [`Plan::sampled`].
#[derive(Debug, Clone, PartialEq)]
pub struct SampledPlan {
    all: Sums,
    moved: Sums,
    flows: Vec<SampledFlow>,
}

/// Keys that were added up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    keys: u64,
    weight: u128,
    /// The sum of the squares of weights.
    squares: f64,
}

impl Sums {
    fn take(&mut self, weight: u64) {
        self.keys += 1;
        // 2^64 keys of the greatest weight are needed to come to the end of this.
        self.weight = self.weight.saturating_add(u128::from(weight));
        self.squares += float(u128::from(weight) * u128::from(weight));
    }
}

impl SampledPlan {
    /// Returns the number of keys.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.all.keys
    }

    /// Returns the number of keys that move.
    #[must_use]
    pub fn moved_keys(&self) -> u64 {
        self.moved.keys
    }

    /// Returns the weight of all keys.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.all.weight
    }

    /// Returns the weight of those that move.
    #[must_use]
    pub fn moved(&self) -> u128 {
        self.moved.weight
    }

    /// Returns from whom, to whom and how much, in the order of ids. All together are [`moved`](Self::moved).
    #[must_use]
    pub fn flows(&self) -> &[SampledFlow] {
        &self.flows
    }

    /// Returns the part of the sample's weight that moves, from 0 to 1; 0 for a sample without weight.
    #[must_use]
    pub fn moved_fraction(&self) -> f64 {
        if self.all.weight == 0 { 0.0 } else { float(self.moved.weight) / float(self.all.weight) }
    }

    /// Returns the standard error of [`moved_fraction`](Self::moved_fraction) as an estimate for all keys of which these are
    /// a random sample: √(Σ wᵢ² (xᵢ − p)²) / Σ wᵢ, where xᵢ is 1 for a key that moves. For equal weights √(p (1 − p) / n).
    /// 0 for a sample of which all or nothing moves, whatever its size: the
    /// [`confidence_interval`](Self::confidence_interval) says more there.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        if self.all.weight == 0 {
            return 0.0;
        }
        let fraction = self.moved_fraction();
        let stay = (self.all.squares - self.moved.squares).max(0.0);
        let squares = self.moved.squares * (1.0 - fraction).powi(2) + stay * fraction.powi(2);
        squares.sqrt() / float(self.all.weight)
    }

    /// Returns the bounds between which the part that moves of all keys lies with a confidence of 95 %, if these are a random
    /// sample of them. (0, 1) for a sample without weight.
    ///
    /// Wilson's score interval (1927), which holds for small samples and fractions near 0 and 1 too, for as many keys as a
    /// sample of equal weights would need to say as much: (Σ wᵢ)² / Σ wᵢ² (Kish, "Survey sampling", 1965).
    #[must_use]
    pub fn confidence_interval(&self) -> (f64, f64) {
        if self.all.weight == 0 {
            return (0.0, 1.0);
        }
        let (fraction, z2) = (self.moved_fraction(), Z_95 * Z_95);
        let keys = float(self.all.weight).powi(2) / self.all.squares;
        let middle = fraction + z2 / (2.0 * keys);
        let width = Z_95 * (fraction * (1.0 - fraction) / keys + z2 / (4.0 * keys * keys)).sqrt();
        let bound = |x: f64| (x / (1.0 + z2 / keys)).clamp(0.0, 1.0);
        (bound(middle - width), bound(middle + width))
    }
}

/// So many standard deviations about the mean have 95 % of a normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

/// How much of a sample moves from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledFlow {
    from: Option<NodeId>,
    to: Option<NodeId>,
    keys: u64,
    weight: u128,
}

impl SampledFlow {
    /// Returns the owner before the change.
    #[must_use]
    pub fn from(&self) -> Option<&NodeId> {
        self.from.as_ref()
    }

    /// Returns the owner after the change.
    #[must_use]
    pub fn to(&self) -> Option<&NodeId> {
        self.to.as_ref()
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns their weight.
    #[must_use]
    pub fn weight(&self) -> u128 {
        self.weight
    }
}

/// An estimate of what moves, from shares alone: see [`Plan::estimated`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedEstimate {
    moved: f64,
}

impl MovedEstimate {
    /// Returns the part of all keys that is expected to move, from 0 to 1.
    #[must_use]
    pub fn moved_fraction(self) -> f64 {
        self.moved
    }
}
