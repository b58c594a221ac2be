//! What a change moves: the arcs that change hands between two tables, exactly. Rank 5.
//!
//! Outside the walk from key to owner: it walks the boundaries of two tables at once, in ring order. Between two
//! neighbouring boundaries of either table every key has one old and one new owner, so a plan is exact and needs no keys.

mod pins;
mod replicas;
mod sampled;
mod share;

pub use pins::MovedPin;
pub use replicas::{ReplicaArc, ReplicaFlow, ReplicaPlan, ReplicaPlanError, ReplicaWeights};
pub use sampled::{MovedEstimate, SampledFlow, SampledPlan};
pub use share::ReplicaShare;

use std::collections::BTreeMap;
use std::fmt;

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::point::{Point, Share};
use crate::table::Table;

/// Which keys move between two tables, from whom to whom.
///
/// Nodes are the same if their ids are. An owner is `None` where a table has no points.
///
/// Rings are compared: the points and who owns them. [Pins](crate::Pins) decide where keys go before the ring does: a key
/// whose pin changes moves without an arc, and a pinned key stays though its arc moves. So [`pins`](Self::pins) that lead
/// elsewhere are listed, and aren't in the shares. States of nodes aren't part of a plan.
///
/// What replicas move is a [`ReplicaPlan`]'s to say. Tables that map keys in different ways have no arcs in common; for those
/// there is [`sampled`](Self::sampled).
///
/// ```
/// use ringway::{Delta, Limits, NodeSpec, Plan, Ring};
/// let old = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
/// let Ok(Some(next)) = old.apply(Delta::new().add(NodeSpec::new("d")), &Limits::DEFAULT) else { panic!() };
/// let plan = Plan::between(&old, &next.table)?;
/// // A node that joins takes its share and moves nothing else.
/// assert_eq!(plan.moved(), plan.minimum());
/// assert!(plan.arcs().iter().all(|arc| arc.new_owner().is_some_and(|id| id.as_str() == "d")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<P: Point = u32> {
    arcs: Vec<MovedArc<P>>,
    flows: Vec<Flow>,
    moved: Share,
    minimum: Share,
    pins: Vec<MovedPin>,
}

/// An arc of the circle whose keys change hands: the places `(from, to]`, clockwise.
///
/// If `from` and `to` are equal it is the whole circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedArc<P: Point = u32> {
    from: P,
    to: P,
    old: Option<NodeId>,
    new: Option<NodeId>,
}

impl<P: Point> MovedArc<P> {
    /// Returns the last place before the arc.
    #[must_use]
    pub fn from(&self) -> P {
        self.from
    }

    /// Returns the last place of the arc.
    #[must_use]
    pub fn to(&self) -> P {
        self.to
    }

    /// Returns the owner before the change.
    #[must_use]
    pub fn old_owner(&self) -> Option<&NodeId> {
        self.old.as_ref()
    }

    /// Returns the owner after the change.
    #[must_use]
    pub fn new_owner(&self) -> Option<&NodeId> {
        self.new.as_ref()
    }

    /// Returns how much of the circle it is.
    #[must_use]
    pub fn share(&self) -> Share {
        share_of(self.from, self.to)
    }

    /// Whether a key with this point lies on the arc.
    #[must_use]
    pub fn contains(&self, point: P) -> bool {
        lies_on(self.from, self.to, point)
    }
}

/// How much moves from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    from: Option<NodeId>,
    to: Option<NodeId>,
    share: Share,
}

impl Flow {
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

    /// Returns how much of the circle it is.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share
    }
}

/// Two tables map keys to points in different ways, so that no arc of one means anything in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMapsDiffer {
    /// The scheme of the old table.
    pub old: String,
    /// The scheme of the new table.
    pub new: String,
}

impl fmt::Display for KeyMapsDiffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.old == self.new {
            let text = "belong to the nearest of several points each, so no arc says where they go; take the moved share, or compare the owners of a sample of keys (Plan::sampled)";
            return write!(f, "keys of the scheme \"{}\" {text}", self.old);
        }
        write!(
            f,
            "schemes \"{}\" and \"{}\" map keys to points in different ways, or with different options; a plan needs one \
             key map, so compare the owners of a sample of keys (Plan::sampled)",
            self.old, self.new
        )
    }
}

impl std::error::Error for KeyMapsDiffer {}

/// Refuses two tables in which a key may have different points.
fn one_key_map<T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> Result<(), KeyMapsDiffer>
where
    S: Scheme,
    R: Scheme<Point = S::Point>,
    L: Layout<S::Point>,
    M: Layout<S::Point>,
{
    let probes = old.scheme().probes().count();
    if old.scheme().key_map() == new.scheme().key_map() {
        if probes == 1 {
            return Ok(());
        }
        let name = format!("{}, {probes} probes", old.scheme().id());
        return Err(KeyMapsDiffer { old: name.clone(), new: name });
    }
    Err(KeyMapsDiffer { old: old.scheme().id().to_owned(), new: new.scheme().id().to_owned() })
}

/// A boundary of one of two tables, and who owns what ends there.
type Ends<'t> = (Option<&'t NodeId>, Option<&'t NodeId>);

impl<P: Point> Plan<P> {
    /// Compares two tables.
    ///
    /// # Errors
    /// [`KeyMapsDiffer`] if a key may have different points in the two, or has several
    /// [probes](Scheme::probes), so that no arc says where it goes; see [`MovedShare`](crate::MovedShare).
    ///
    /// # Complexity
    /// O(P + N log N) time; memory follows the arcs that move.
    pub fn between<T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> Result<Self, KeyMapsDiffer>
    where
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        one_key_map(old, new)?;
        let mut moves = Moves { arcs: Vec::new(), flows: BTreeMap::new() };
        walk(old, new, |from, to, ends| moves.take(from, to, ends));
        moves.join_ends();
        let minimum = minimum(old, new);
        let none = Share::new(0, P::BITS);
        let moved = moves.flows.values().fold(none, |sum, &share| sum + share);
        let flows = moves.flows.into_iter().map(|((from, to), share)| Flow { from, to, share }).collect();
        Ok(Self { arcs: moves.arcs, flows, moved, minimum, pins: pins::between(old, new) })
    }

    /// Returns the arcs that change hands, in ring order; the one across the top of the circle, if there is one, comes
    /// first. Neighbouring arcs with the same owners are one.
    #[must_use]
    pub fn arcs(&self) -> &[MovedArc<P>] {
        &self.arcs
    }

    /// Returns how much moves for each pair of nodes, in the order of their ids. All together are [`moved`](Self::moved).
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns the part of the circle whose keys change hands.
    #[must_use]
    pub fn moved(&self) -> Share {
        self.moved
    }

    /// Returns the part of the circle that must move, however points are placed, if each node is to have the share that it
    /// has in the new table: what nodes gain, added up.
    #[must_use]
    pub fn minimum(&self) -> Share {
        self.minimum
    }

    /// Returns the pins that lead elsewhere, which no arc shows: those of whole keys first, each kind in the order of its
    /// bytes. [`MovedPin`] says which.
    #[must_use]
    pub fn pins(&self) -> &[MovedPin] {
        &self.pins
    }

    /// Whether no arc moves. [`pins`](Self::pins) may lead elsewhere still.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arcs.is_empty()
    }

    /// Returns the arc on which a key with this point moves; `None` if it stays.
    ///
    /// # Complexity
    /// O(log A) for A arcs.
    #[must_use]
    pub fn arc_of(&self, point: P) -> Option<&MovedArc<P>> {
        let place = self.arcs.partition_point(|arc| arc.to < point);
        // The arc across the top ends first, and reaches to the places after all others' ends.
        let candidate = self.arcs.get(place).filter(|arc| arc.contains(point));
        candidate.or_else(|| self.arcs.first().filter(|arc| arc.contains(point)))
    }

    /// Weighs the plan by a sample of keys: their points, and how much each counts, such as the size of its value.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Plan, Ring};
    /// # use ringway::scheme::Scheme;
    /// # let old = Ring::builder().nodes(["a", "b"].map(NodeSpec::new)).build_table()?;
    /// # let new = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let plan = Plan::between(&old, &new)?;
    /// let sample = (0..1000).map(|n| (old.scheme().key_point(format!("user:{n}").as_bytes()), 4096));
    /// let weights = plan.weigh(sample);
    /// assert_eq!(weights.total, 4_096_000);
    /// assert!(weights.moved > 1_000_000 && weights.moved < 2_000_000, "about a third");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weigh(&self, sample: impl IntoIterator<Item = (P, u64)>) -> Weights {
        let mut flows: BTreeMap<(Option<&NodeId>, Option<&NodeId>), u128> = BTreeMap::new();
        let mut weights = Weights { total: 0, moved: 0, flows: Vec::new() };
        for (point, weight) in sample {
            let weight = u128::from(weight);
            // 2^64 keys of the greatest weight are needed to come to the end of this.
            weights.total = weights.total.saturating_add(weight);
            if let Some(arc) = self.arc_of(point) {
                weights.moved = weights.moved.saturating_add(weight);
                let flow = flows.entry((arc.old_owner(), arc.new_owner())).or_default();
                *flow = flow.saturating_add(weight);
            }
        }
        weights.flows = flows.into_iter().map(|((from, to), weight)| (from.cloned(), to.cloned(), weight)).collect();
        weights
    }
}

/// A plan weighed by a sample of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// The weight of all keys of the sample.
    pub total: u128,
    /// The weight of those that move.
    pub moved: u128,
    /// From whom, to whom and how much, in the order of ids.
    pub flows: Vec<(Option<NodeId>, Option<NodeId>, u128)>,
}

/// What the walk gathers.
struct Moves<P: Point> {
    arcs: Vec<MovedArc<P>>,
    flows: BTreeMap<(Option<NodeId>, Option<NodeId>), Share>,
}

impl<P: Point> Moves<P> {
    fn take(&mut self, from: P, to: P, (old, new): Ends<'_>) {
        if old == new {
            return;
        }
        match self.arcs.last_mut() {
            Some(last) if last.to == from && last.old_owner() == old && last.new_owner() == new => last.to = to,
            _ => self.arcs.push(MovedArc { from, to, old: old.cloned(), new: new.cloned() }),
        }
        let share = share_of(from, to);
        let flow = self.flows.entry((old.cloned(), new.cloned())).or_insert(Share::new(0, P::BITS));
        *flow = *flow + share;
    }

    /// The arc across the top goes on from the last one, if that reaches there with the same owners.
    fn join_ends(&mut self) {
        if let [first, .., last] = &mut self.arcs[..]
            && last.to == first.from
            && (last.old_owner(), last.new_owner()) == (first.old_owner(), first.new_owner())
        {
            first.from = last.from;
            self.arcs.pop();
        }
    }
}

/// How much of the circle an arc is; equal ends are the whole of it.
fn share_of<P: Point>(from: P, to: P) -> Share {
    if from == to { Share::whole(P::BITS) } else { Share::arc(from, to) }
}

/// Whether a point lies on an arc.
fn lies_on<P: Point>(from: P, to: P, point: P) -> bool {
    from == to || point.clockwise(P::MAX).steps_from(from) < to.steps_from(from)
}

/// Calls `each` for every arc between two neighbouring boundaries of either table, in ring order from the one across the
/// top of the circle, with both owners.
fn walk<T, U, S, R, L, M, P: Point>(old: &Table<T, S, L>, new: &Table<U, R, M>, mut each: impl FnMut(P, P, Ends<'_>))
where
    S: Scheme<Point = P>,
    R: Scheme<Point = P>,
    L: Layout<P>,
    M: Layout<P>,
{
    let (mut olds, mut news) = (old.boundaries().peekable(), new.boundaries().peekable());
    let (first_old, first_new) = (olds.peek().map(|(_, id)| *id), news.peek().map(|(_, id)| *id));
    let Some(top) = old.last_boundary().max(new.last_boundary()) else { return };
    let mut from = top;
    loop {
        // Whoever has no boundary left is owned by the first, around the top.
        let at = |next: Option<&(P, _)>| next.map(|&(boundary, _)| boundary);
        let to = match (at(olds.peek()), at(news.peek())) {
            (None, None) => return,
            (Some(one), None) | (None, Some(one)) => one,
            (Some(a), Some(b)) => a.min(b),
        };
        let owner_old = olds.peek().map(|(_, id)| *id).or(first_old);
        let owner_new = news.peek().map(|(_, id)| *id).or(first_new);
        each(from, to, (owner_old, owner_new));
        olds.next_if(|&(boundary, _)| boundary == to);
        news.next_if(|&(boundary, _)| boundary == to);
        from = to;
    }
}

/// What nodes gain, added up.
fn minimum<T, U, S, R, L, M, P: Point>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> Share
where
    S: Scheme<Point = P>,
    R: Scheme<Point = P>,
    L: Layout<P>,
    M: Layout<P>,
{
    let none = Share::new(0, P::BITS);
    if new.is_empty() {
        // All keys go to nobody.
        return if old.is_empty() { none } else { Share::whole(P::BITS) };
    }
    let before: BTreeMap<&NodeId, Share> = old.shares().into_iter().map(|(node, share)| (node.id(), share)).collect();
    let gain = |(node, share): (&crate::node::Node<U>, Share)| {
        share.saturating_sub(before.get(node.id()).copied().unwrap_or(none))
    };
    new.shares().into_iter().map(gain).fold(none, |sum, gain| sum + gain)
}
