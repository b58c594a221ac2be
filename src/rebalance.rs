//! Weights that follow measured loads, in small steps. Rank 6.
//!
//! A proportional controller with a dead band: each node's points are multiplied by a factor, which goes down while the node's
//! load, smoothed over windows, is above its fair share, and up while it is below. What makes such a loop oscillate is
//! answering noise, or answering twice what was answered already. Against the first stand the smoothing, the dead band and a
//! gain well below 1; against the second, the smoothed load is moved along with the node's points. (The same means as in Slicer: Adya et al., "Slicer:
//! auto-sharding for datacenter applications", 2016, whose rebalancing has a budget of key churn as the governor here.)
//!
//! Nothing here measures, waits or commits.

use std::collections::BTreeMap;
use std::fmt;

use crate::delta::Delta;
use crate::error::{DeltaError, shown};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Limits, NodeId};
use crate::point::{float, ratio, rounded};
use crate::table::Table;

/// How strongly a [`Rebalancer`] answers; see its fields for what is usual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RebalanceOptions {
    /// What part of a deviation is answered in one step: above 0, up to 1. Below a half it doesn't overshoot. 0.2 by default.
    pub gain: f64,
    /// What part of the newest window counts in the smoothed load: above 0, up to 1, where 1 doesn't smooth. 0.2 by default.
    pub smoothing: f64,
    /// A smoothed load this near to the fair share is left alone: 0.05 is five per cent, the default. From 0, below 1.
    pub dead_band: f64,
    /// The most that a node's points change in one step, as a part of what they are: above 0, up to 1. 0.1 by default.
    pub max_step: f64,
    /// The least that a node keeps of the points of its weight: above 0, up to 1. 0.5 by default.
    pub least: f64,
    /// The most that it gets of them: from 1, up to 16. 2 by default.
    pub most: f64,
}

impl Default for RebalanceOptions {
    fn default() -> Self {
        Self { gain: 0.2, smoothing: 0.2, dead_band: 0.05, max_step: 0.1, least: 0.5, most: 2.0 }
    }
}

impl RebalanceOptions {
    fn check(&self) -> Result<(), RebalanceError> {
        let Self { gain, smoothing, dead_band, max_step, least, most } = *self;
        let part = |value: f64| value > 0.0 && value <= 1.0;
        let refused = |option, value, range| Err(RebalanceError::Option { option, value, range });
        match () {
            () if !part(gain) => refused("gain", gain, "above 0, up to 1"),
            () if !part(smoothing) => refused("smoothing", smoothing, "above 0, up to 1"),
            () if !(0.0..1.0).contains(&dead_band) => refused("dead_band", dead_band, "from 0, below 1"),
            () if !part(max_step) => refused("max_step", max_step, "above 0, up to 1"),
            () if !part(least) => refused("least", least, "above 0, up to 1"),
            () if !(1.0..=16.0).contains(&most) => refused("most", most, "from 1, up to 16"),
            () => Ok(()),
        }
    }
}

/// Proposes changes of nodes' active points from the loads that were measured.
///
/// The loads of one window, in any unit (requests, bytes, milliseconds of work), are given to [`propose`](Self::propose), which
/// gives a batch for the writer, or better for a [`Governor`](crate::Governor), which limits what moves. Fair is what goes by
/// weight. All nodes' active points belong to the rebalancer then: what somebody else sets there is taken as what it set
/// itself.
///
/// It evens out what points can: uneven shares, and the luck of which keys are asked for more. A single key that is hotter than
/// a node's fair share stays whole wherever it is; see [`Table::spread`].
///
/// ```
/// use ringway::{Limits, NodeSpec, Rebalancer, RebalanceOptions, Ring};
/// let (mut writer, _) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
/// let mut rebalancer = Rebalancer::new(RebalanceOptions::default())?;
/// // In the last window a had half of the load.
/// let proposal = rebalancer.propose(writer.table(), [("a", 500), ("b", 250), ("c", 250)], &Limits::DEFAULT)?;
/// assert!(proposal.delta.len() == 3 && proposal.worst > 1.4);
/// writer.commit(proposal.delta)?;
/// assert!(writer.table().points_of("a") < Some(512) && writer.table().points_of("b") > Some(512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rebalancer {
    options: RebalanceOptions,
    /// Load over fair share, smoothed, with the points that the node had in the newest window.
    smoothed: BTreeMap<NodeId, (f64, u32)>,
}

/// What a [`Rebalancer`] proposes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal<T = ()> {
    /// The changes of active points; empty if all loads are near enough to fair.
    pub delta: Delta<T>,
    /// The largest smoothed load over its fair share, of the nodes that have one; 1 if none has.
    pub worst: f64,
}

impl Rebalancer {
    /// Creates one that has seen no loads yet.
    ///
    /// # Errors
    /// [`RebalanceError::Option`] if one is out of its range.
    pub fn new(options: RebalanceOptions) -> Result<Self, RebalanceError> {
        options.check()?;
        Ok(Self { options, smoothed: BTreeMap::new() })
    }

    /// Takes the loads of a window, and proposes how active points should change.
    ///
    /// Nodes that aren't named had no load. Those without points or weight are left alone, and their load doesn't count. If
    /// nobody had any load, nothing is learned and nothing proposed. A node's first window counts whole.
    ///
    /// # Errors
    /// [`RebalanceError::UnknownNode`] and [`NamedTwice`](RebalanceError::NamedTwice), and what was learned stays;
    /// [`RebalanceError::Refused`] if the table doesn't take what its weights say.
    ///
    /// # Complexity
    /// O(P + N log N): a dry run tells how many points each weight means.
    pub fn propose<'i, T, S: Scheme, L: Layout<S::Point>>(
        &mut self,
        table: &Table<T, S, L>,
        loads: impl IntoIterator<Item = (&'i str, u64)>,
        limits: &Limits,
    ) -> Result<Proposal<T>, RebalanceError> {
        let mut given: BTreeMap<&str, u64> = BTreeMap::new();
        for (id, load) in loads {
            if table.node(id).is_none() {
                return Err(RebalanceError::UnknownNode { id: shown(id) });
            }
            if given.insert(id, load).is_some() {
                return Err(RebalanceError::NamedTwice { id: shown(id) });
            }
        }
        let base = base_points(table, limits)?;
        let nodes: Vec<Measured<'_>> = table
            .nodes()
            .filter_map(|node| {
                let id = node.id();
                let (base, points) = (*base.get(id)?, table.points_of(id.as_str()).unwrap_or_default());
                let weight = node.info().weight();
                let load = given.get(id.as_str()).copied().unwrap_or_default();
                (base > 0 && points > 0 && weight > 0).then_some(Measured { id, base, points, weight, load })
            })
            .collect();
        self.smoothed.retain(|id, _| table.node(id.as_str()).is_some());

        let all: u128 = nodes.iter().map(|node| u128::from(node.load)).sum();
        if all == 0 {
            return Ok(Proposal { delta: Delta::new(), worst: self.worst(&nodes) });
        }
        let all = float(all);
        let weights: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
        for node in &nodes {
            let fair = all * ratio(u64::from(node.weight), weights);
            let relative = float(node.load.into()) / fair;
            let (smoothed, points) = self.smoothed.entry(node.id.clone()).or_insert((relative, node.points));
            // What was answered since is expected in the windows to come: it isn't answered again for being in the old ones.
            *smoothed *= f64::from(node.points) / f64::from(*points);
            *smoothed += self.options.smoothing * (relative - *smoothed);
            *points = node.points;
        }
        Ok(Proposal { delta: self.changes(&nodes), worst: self.worst(&nodes) })
    }

    /// Forgets the loads that were seen, as after a change that makes them say nothing of the future.
    pub fn forget(&mut self) {
        self.smoothed.clear();
    }

    fn worst(&self, nodes: &[Measured<'_>]) -> f64 {
        nodes.iter().filter_map(|node| self.smoothed.get(node.id)).map(|seen| seen.0).reduce(f64::max).unwrap_or(1.0)
    }

    fn changes<T>(&self, nodes: &[Measured<'_>]) -> Delta<T> {
        let RebalanceOptions { gain, dead_band, max_step, least, most, .. } = self.options;
        let wanted: Vec<f64> = nodes
            .iter()
            .map(|node| {
                let smoothed = self.smoothed.get(node.id).map_or(1.0, |seen| seen.0);
                let answer = if (smoothed - 1.0).abs() <= dead_band { 0.0 } else { gain * (1.0 - smoothed) };
                f64::from(node.points) * (1.0 + answer.clamp(-max_step, max_step))
            })
            .collect();
        // The sum of all points stays what the weights make it: only proportions decide, and they mustn't all drift down.
        let base: u64 = nodes.iter().map(|node| u64::from(node.base)).sum();
        let sum: f64 = wanted.iter().sum();
        let scale = float(base.into()) / sum;
        // A drift of some points isn't worth a change of every node.
        let scale = if (scale - 1.0).abs() < 0.02 { 1.0 } else { scale };
        let mut delta = Delta::new();
        for (node, wanted) in nodes.iter().zip(wanted) {
            let (points, base) = (f64::from(node.points), f64::from(node.base));
            let stepped = (wanted * scale).clamp(points * (1.0 - max_step), points * (1.0 + max_step));
            let bounded = stepped.clamp(base * least, base * most).max(1.0);
            let next = u32::try_from(rounded(bounded)).unwrap_or(u32::MAX);
            if next != node.points {
                delta = delta.set_active_points(node.id.as_str(), if next == node.base { None } else { Some(next) });
            }
        }
        delta
    }
}

/// A node that takes part.
struct Measured<'t> {
    id: &'t NodeId,
    /// The points of its weight.
    base: u32,
    points: u32,
    weight: u32,
    load: u64,
}

/// How many points each node has by its weight alone.
fn base_points<T, S: Scheme, L: Layout<S::Point>>(
    table: &Table<T, S, L>,
    limits: &Limits,
) -> Result<BTreeMap<NodeId, u32>, RebalanceError> {
    let set = table.nodes().filter(|node| node.info().active_points().is_some());
    let by_weight = set.fold(Delta::new(), |delta, node| delta.set_active_points(node.id().as_str(), None));
    let counts = |table: &Table<T, S, L>| {
        table.nodes().map(|node| (node.id().clone(), table.points_of(node.id().as_str()).unwrap_or_default())).collect()
    };
    match table.apply(by_weight, limits) {
        Ok(Some(applied)) => Ok(counts(&applied.table)),
        Ok(None) => Ok(counts(table)),
        Err((error, _)) => Err(RebalanceError::Refused(error)),
    }
}

/// Why nothing could be proposed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RebalanceError {
    /// An option is out of its range.
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        value: f64,
        /// What may be.
        range: &'static str,
    },
    /// A load was given for a node that the table doesn't have.
    UnknownNode {
        /// The node.
        id: String,
    },
    /// Two loads were given for one node.
    NamedTwice {
        /// The node.
        id: String,
    },
    /// The table with the points that its weights say was refused.
    Refused(DeltaError),
}

impl fmt::Display for RebalanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { option, value, range } => {
                write!(f, "{option}: {value} is out of range; give a number {range}")
            }
            Self::UnknownNode { id } => {
                write!(f, "a load is given for node \"{id}\", which is not in the ring; leave it out")
            }
            Self::NamedTwice { id } => write!(f, "two loads are given for node \"{id}\"; add them up"),
            Self::Refused(error) => write!(f, "the nodes can't have the points of their weights: {error}"),
        }
    }
}

impl std::error::Error for RebalanceError {}
