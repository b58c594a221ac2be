//! Slow start and drain: a node's change in steps, by the prefix of its points that is active. Rank 6.
//!
//! A node's points are a prefix of an endless sequence, so one point more or less moves keys to or from that node alone, and
//! a longer prefix holds all that a shorter one held: over the steps of a ramp keys move to the node (or from it) and never
//! back. Nothing here knows the time: whoever commits the steps decides when.

use std::fmt;

use crate::delta::Delta;
use crate::error::{DeltaError, shown};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Limits, NodeId, NodeSpec};
use crate::plan::{KeyMapsDiffer, Plan};
use crate::point::{Point, index, position};
use crate::table::Table;

/// By what a [`Ramp`] is cut into steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RampBy {
    /// So many steps of as many points each, up to one: `1..=`[`Ramp::MAX_STEPS`]. Fewer if there are fewer points.
    Steps(u32),
    /// Steps that move at most this part of all keys: above 0, up to 1. A step is one point at least; where that one alone
    /// moves more, the step does.
    Share(f64),
}

/// A node's slow start, change or drain in steps, each with the batch to commit and its exact [`Plan`].
///
/// The steps set active points and nothing else: a node that is down or draining stays so, configured and live, however far
/// its ramp is.
///
/// ```
/// use ringway::{Limits, NodeSpec, Ramp, RampBy, Ring};
/// let (mut writer, _) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
/// // The newcomer takes a quarter of all keys in the end, but never more than a tenth at once.
/// let ramp = Ramp::join(writer.table(), NodeSpec::new("d"), RampBy::Share(0.1), &Limits::DEFAULT)?;
/// assert!(ramp.steps().iter().all(|step| step.plan().moved().fraction() <= 0.1));
/// for step in ramp {
///     // Here a program waits, and looks how the newcomer does.
///     writer.commit(step.into_delta())?;
/// }
/// assert_eq!(writer.table().points_of("d"), Some(512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramp<T = (), P: Point = u32> {
    steps: Vec<RampStep<T, P>>,
}

/// One step of a [`Ramp`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RampStep<T = (), P: Point = u32> {
    delta: Delta<T>,
    plan: Plan<P>,
    points: u32,
}

impl<T, P: Point> RampStep<T, P> {
    /// Returns the batch that makes the step, on the table that the step before made.
    #[must_use]
    pub fn delta(&self) -> &Delta<T> {
        &self.delta
    }

    /// Returns the batch.
    #[must_use]
    pub fn into_delta(self) -> Delta<T> {
        self.delta
    }

    /// Returns which keys the step moves.
    #[must_use]
    pub fn plan(&self) -> &Plan<P> {
        &self.plan
    }

    /// Returns how many points of the node are active after the step.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.points
    }
}

impl<T, P: Point> Ramp<T, P> {
    /// The most steps that a ramp may have.
    pub const MAX_STEPS: u32 = 10_000;

    /// Plans the slow start of a node that isn't in the table. The first step adds it, the last one leaves it as `spec` says.
    ///
    /// # Errors
    /// [`RampError`].
    ///
    /// # Complexity
    /// O(P) for each step of [`RampBy::Steps`], O(P log p) for each of [`RampBy::Share`], where p are the node's points.
    pub fn join<S, L>(table: &Table<T, S, L>, spec: NodeSpec<T>, by: RampBy, limits: &Limits) -> Result<Self, RampError>
    where
        T: Clone,
        S: Scheme<Point = P>,
        L: Layout<P>,
    {
        let by = Cut::new(by)?;
        let id = spec.id().to_owned();
        let (whole, none) = (Delta::new().add(spec.clone()), Delta::new().add(spec.clone().with_active_points(0)));
        let Some(whole) = refused(table.apply(whole, limits))? else { return Ok(Self { steps: Vec::new() }) };
        let Some(none) = refused(table.apply(none, limits))? else { return Ok(Self { steps: Vec::new() }) };
        let to = whole.table.points_of(&id).unwrap_or_default();
        let active = spec.info().active_points();
        let finish = || Delta::new().set_active_points(id.as_str(), active);
        let mut steps = Walk { base: &none.table, id: &id, limits, by }.steps(0, to, finish)?;
        let (last, delta) = (steps.len() <= 1, Delta::new());
        match steps.first_mut() {
            Some(first) => {
                let spec = if last { spec } else { spec.with_active_points(first.points) };
                first.delta = delta.add(spec);
            }
            // It never has points: a step that moves nothing.
            None => {
                let plan = Plan::between(table, &none.table)?;
                steps.push(RampStep { delta: delta.add(spec), plan, points: 0 });
            }
        }
        Ok(Self { steps })
    }

    /// Plans the change of a node's active points to `points`, or to those of its weight if that is `None`.
    ///
    /// # Errors
    /// [`RampError`].
    ///
    /// # Complexity
    /// As [`join`](Self::join).
    pub fn to<S, L>(
        table: &Table<T, S, L>,
        id: &str,
        points: Option<u32>,
        by: RampBy,
        limits: &Limits,
    ) -> Result<Self, RampError>
    where
        S: Scheme<Point = P>,
        L: Layout<P>,
    {
        let by = Cut::new(by)?;
        let finish = || Delta::new().set_active_points(id, points);
        let Some(whole) = refused(table.apply(finish(), limits))? else { return Ok(Self { steps: Vec::new() }) };
        let count = |table: &Table<T, S, L>| table.points_of(id).unwrap_or_default();
        let (from, to) = (count(table), count(&whole.table));
        Ok(Self { steps: Walk { base: table, id, limits, by }.steps(from, to, finish)? })
    }

    /// Plans the drain of a node. The last step removes it.
    ///
    /// # Errors
    /// [`RampError`].
    ///
    /// # Complexity
    /// As [`join`](Self::join).
    pub fn leave<S, L>(table: &Table<T, S, L>, id: &str, by: RampBy, limits: &Limits) -> Result<Self, RampError>
    where
        S: Scheme<Point = P>,
        L: Layout<P>,
    {
        let by = Cut::new(by)?;
        let Some(from) = table.points_of(id) else {
            return Err(RampError::Refused(DeltaError::UnknownId { id: shown(id) }));
        };
        Ok(Self { steps: Walk { base: table, id, limits, by }.steps(from, 0, || Delta::new().remove(id))? })
    }

    /// Returns the steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[RampStep<T, P>] {
        &self.steps
    }
}

impl<T, P: Point> IntoIterator for Ramp<T, P> {
    type Item = RampStep<T, P>;
    type IntoIter = std::vec::IntoIter<RampStep<T, P>>;

    fn into_iter(self) -> Self::IntoIter {
        self.steps.into_iter()
    }
}

/// Whether all that moves moves to or from this node.
pub(crate) fn is_of_node<P: Point>(plan: &Plan<P>, id: &str) -> bool {
    let is = |node: Option<&NodeId>| node.is_some_and(|node| node.as_str() == id);
    plan.flows().iter().all(|flow| is(flow.from()) || is(flow.to()))
}

/// A [`RampBy`] that was checked.
#[derive(Clone, Copy)]
enum Cut {
    Steps(u32),
    Share(f64),
}

impl Cut {
    fn new(by: RampBy) -> Result<Self, RampError> {
        match by {
            RampBy::Steps(steps @ 1..=10_000) => Ok(Self::Steps(steps)),
            RampBy::Steps(steps) => Err(RampError::Steps { steps, limit: Ramp::<(), u32>::MAX_STEPS }),
            RampBy::Share(share) if share > 0.0 && share <= 1.0 => Ok(Self::Share(share)),
            RampBy::Share(share) => Err(RampError::Share { share }),
        }
    }
}

struct Walk<'a, T, S: Scheme, L: Layout<S::Point>> {
    base: &'a Table<T, S, L>,
    id: &'a str,
    limits: &'a Limits,
    by: Cut,
}

/// The steps on the way, and the table after them.
type Made<T, S, L> = (Plan<<S as Scheme>::Point>, Table<T, S, L>);

impl<T, S: Scheme, L: Layout<S::Point>> Walk<'_, T, S, L> {
    fn steps(
        &self,
        from: u32,
        to: u32,
        finish: impl Fn() -> Delta<T>,
    ) -> Result<Vec<RampStep<T, S::Point>>, RampError> {
        let mut steps = Vec::new();
        let (mut at, mut held) = (from, None);
        loop {
            if steps.len() == index(Ramp::<(), u32>::MAX_STEPS) {
                return Err(RampError::Steps { steps: position(steps.len()) + 1, limit: Ramp::<(), u32>::MAX_STEPS });
            }
            let current = held.as_ref().unwrap_or(self.base);
            let points = self.next(current, steps.len(), (from, at, to))?;
            let delta = || if points == to { finish() } else { Delta::new().set_active_points(self.id, points) };
            let Some((plan, table)) = self.made(current, delta())? else { return Ok(steps) };
            steps.push(RampStep { delta: delta(), plan, points });
            if points == to {
                return Ok(steps);
            }
            (at, held) = (points, Some(table));
        }
    }

    /// What a batch makes of a table; `None` if it changes nothing.
    fn made(&self, current: &Table<T, S, L>, delta: Delta<T>) -> Result<Option<Made<T, S, L>>, RampError> {
        let Some(applied) = refused(current.apply(delta, self.limits))? else { return Ok(None) };
        let plan = Plan::between(current, &applied.table)?;
        if is_of_node(&plan, self.id) {
            Ok(Some((plan, applied.table)))
        } else {
            Err(RampError::NodesDepend { scheme: current.scheme().id().to_owned() })
        }
    }

    /// How many points are active after the step from `at`.
    fn next(&self, current: &Table<T, S, L>, done: usize, (from, at, to): (u32, u32, u32)) -> Result<u32, RampError> {
        let towards = |points: u32| if to < from { from - points } else { from + points };
        let (all, gone) = (from.abs_diff(to), from.abs_diff(at));
        let left = all - gone;
        match self.by {
            Cut::Steps(steps) => {
                // The ends of `steps` equal parts, of which those that are empty are left out.
                let end = |step: u64| step * u64::from(all) / u64::from(steps);
                let mut step = u64::from(position(done)) + 1;
                while end(step) <= u64::from(gone) && step < u64::from(steps) {
                    step += 1;
                }
                Ok(towards(u32::try_from(end(step)).unwrap_or(all)))
            }
            Cut::Share(share) => {
                let fits = |points: u32| -> Result<bool, RampError> {
                    let delta = Delta::new().set_active_points(self.id, towards(gone + points));
                    let made = self.made(current, delta)?;
                    Ok(made.is_none_or(|(plan, _)| plan.moved().fraction() <= share))
                };
                // More points move more; one is taken whatever it moves.
                let (mut low, mut high) = (left.min(1), left + 1);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if fits(middle)? { low = middle } else { high = middle }
                }
                Ok(towards(gone + low))
            }
        }
    }
}

fn refused<A, T>(applied: Result<A, (DeltaError, Delta<T>)>) -> Result<A, RampError> {
    applied.map_err(|(error, _)| RampError::Refused(error))
}

/// Why a [`Ramp`] can't be planned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RampError {
    /// No steps, or too many.
    Steps {
        /// How many were asked for, or came out at least.
        steps: u32,
        /// The most that a ramp may have.
        limit: u32,
    },
    /// The largest share of a step isn't above 0 and up to 1.
    Share {
        /// What was given.
        share: f64,
    },
    /// The table refuses the change.
    Refused(DeltaError),
    /// The scheme places nodes by each other, so that a part of a node's points moves keys among the others too.
    NodesDepend {
        /// The scheme.
        scheme: String,
    },
    /// No exact plan can be made of the tables.
    Plan(KeyMapsDiffer),
}

impl From<KeyMapsDiffer> for RampError {
    fn from(error: KeyMapsDiffer) -> Self {
        Self::Plan(error)
    }
}

impl fmt::Display for RampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { steps, limit } => {
                write!(
                    f,
                    "a ramp of {steps} steps or more isn't one of 1 to {limit}; take fewer, or a larger share for each"
                )
            }
            Self::Share { share } => {
                write!(f, "a step's share of {share} isn't above 0 and up to 1; give one such as 0.05")
            }
            Self::Refused(error) => error.fmt(f),
            Self::NodesDepend { scheme } => write!(
                f,
                "scheme \"{scheme}\" places nodes by each other, so a node can't come or go point by point; commit the change \
                 at once"
            ),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RampError {}
