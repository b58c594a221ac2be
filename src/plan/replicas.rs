//! What a change moves of all replicas: the arcs on which the first k nodes of keys change.
//!
//! As a plan of owners this walks the boundaries of two tables at once, but counter-clockwise, since the list of nodes then
//! changes by one move from each point to the next (`table/preferences.rs`).

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use super::{KeyMapsDiffer, ReplicaShare, lies_on, one_key_map, share_of};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{NodeId, Slot};
use crate::point::{Point, Share, index, position};
use crate::table::Table;

/// Which keys have other replicas in a new table than in an old one: other nodes among their first k, or the same in
/// another order.
///
/// The lists are those of [`Table::replicas_at`], or of [`Table::zone_replicas_at`]; pins and states of nodes don't count.
/// What a change costs is the nodes that *join* the list of a key, since each has to be given the key's data. For k = 1 it
/// is the [`Plan`](crate::Plan).
///
/// ```
/// use ringway::{Delta, Limits, NodeSpec, ReplicaPlan, Ring};
/// let old = Ring::builder().nodes(["a", "b", "c", "d"].map(NodeSpec::new)).build_table()?;
/// let Ok(Some(next)) = old.apply(Delta::new().remove("d"), &Limits::DEFAULT) else { panic!() };
/// let plan = ReplicaPlan::between(&old, &next.table, 3)?;
/// // Three of four nodes had each key, so d had three quarters of all; now each key is everywhere.
/// assert!((plan.moved().circles() - 0.75).abs() < 0.03);
/// assert_eq!(plan.moved(), plan.minimum());
/// for arc in plan.arcs() {
///     let left: Vec<_> = arc.left().map(|id| id.as_str()).collect();
///     assert_eq!((left, arc.joined().count()), (vec!["d"], 1));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ReplicaPlan<P: Point = u32> {
    /// The nodes of both tables, in the order of their ids; elsewhere they are places in it.
    nodes: Vec<NodeId>,
    arcs: Vec<Changed<P>>,
    /// The lists of all arcs, one behind the other.
    lists: Vec<u32>,
    flows: Vec<ReplicaFlow>,
    counts: [usize; 2],
    moved: ReplicaShare,
    minimum: ReplicaShare,
    reordered: Share,
}

/// An arc whose lists differ.
#[derive(Debug, Clone)]
struct Changed<P> {
    from: P,
    to: P,
    old: Range<usize>,
    new: Range<usize>,
}

/// Why replicas of two tables can't be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplicaPlanError {
    /// A key may have different points in the two tables.
    KeyMapsDiffer(KeyMapsDiffer),
    /// The number of replicas isn't from 1 to the limit.
    Replicas {
        /// How many were asked for.
        replicas: usize,
        /// The most that are taken.
        limit: usize,
    },
}

impl fmt::Display for ReplicaPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyMapsDiffer(error) => error.fmt(f),
            Self::Replicas { replicas, limit } => {
                write!(f, "{replicas} replicas can't be planned for; give a number from 1 to {limit}")
            }
        }
    }
}

impl std::error::Error for ReplicaPlanError {}

impl<P: Point> ReplicaPlan<P> {
    /// The most replicas.
    pub const MAX_REPLICAS: usize = 64;

    /// Compares the first `replicas` nodes of all keys in two tables.
    ///
    /// # Errors
    /// [`ReplicaPlanError::Replicas`] if the number isn't from 1 to [`MAX_REPLICAS`](Self::MAX_REPLICAS),
    /// [`ReplicaPlanError::KeyMapsDiffer`] as [`Plan::between`](crate::Plan::between).
    ///
    /// # Complexity
    /// O(P k + N log N) time for k replicas, whatever the weights, and O(P k²) on arcs that change; memory follows the arcs that
    /// change, times k, and the nodes.
    pub fn between<T, U, S, R, L, M>(
        old: &Table<T, S, L>,
        new: &Table<U, R, M>,
        replicas: usize,
    ) -> Result<Self, ReplicaPlanError>
    where
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        Self::compare(old, new, replicas, false)
    }

    /// As [`between`](Self::between), with replicas spread over zones as [`Table::zone_replicas`] does. With l levels of
    /// labels it takes O(P k (l + k)).
    ///
    /// # Errors
    /// As [`between`](Self::between).
    pub fn between_zones<T, U, S, R, L, M>(
        old: &Table<T, S, L>,
        new: &Table<U, R, M>,
        replicas: usize,
    ) -> Result<Self, ReplicaPlanError>
    where
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        Self::compare(old, new, replicas, true)
    }

    fn compare<T, U, S, R, L, M>(
        old: &Table<T, S, L>,
        new: &Table<U, R, M>,
        replicas: usize,
        zones: bool,
    ) -> Result<Self, ReplicaPlanError>
    where
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        if !(1..=Self::MAX_REPLICAS).contains(&replicas) {
            return Err(ReplicaPlanError::Replicas { replicas, limit: Self::MAX_REPLICAS });
        }
        one_key_map(old, new).map_err(ReplicaPlanError::KeyMapsDiffer)?;
        let mut nodes: Vec<NodeId> = ids(old).chain(ids(new)).cloned().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let (olds, news) = (numbers(old, &nodes), numbers(new, &nodes));
        let mut changes = Changes::new(nodes);
        let (mut a, mut b) = (old.preferences(replicas, zones), new.preferences(replicas, zones));
        let counts = [a.list().len(), b.list().len()];
        let top = a.boundary().max(b.boundary());
        let mut next = top;
        while let (Some(to), Some(top)) = (next, top) {
            if a.boundary() == Some(to) {
                a.pass();
            }
            if b.boundary() == Some(to) {
                b.pass();
            }
            next = a.boundary().max(b.boundary());
            let list = |slots: &[Slot], numbers: &[u32], out: &mut Vec<u32>| {
                out.clear();
                out.extend(slots.iter().map(|slot| numbers[slot.index()]));
            };
            list(a.list(), &olds, &mut changes.old);
            list(b.list(), &news, &mut changes.new);
            changes.take(next.unwrap_or(top), to);
        }
        Ok(changes.finish(counts))
    }

    /// Returns the arcs on which the list of nodes changes, in ring order; the one across the top of the circle, if there is
    /// one, comes first. Neighbouring arcs with the same lists are one.
    pub fn arcs(&self) -> impl ExactSizeIterator<Item = ReplicaArc<'_, P>> {
        self.arcs.iter().map(|arc| self.view(arc))
    }

    fn view<'p>(&'p self, arc: &Changed<P>) -> ReplicaArc<'p, P> {
        let list = |range: &Range<usize>| &self.lists[range.clone()];
        ReplicaArc { from: arc.from, to: arc.to, old: list(&arc.old), new: list(&arc.new), nodes: &self.nodes }
    }

    /// Returns the arc on which a key with this point lies, if its list changes.
    ///
    /// # Complexity
    /// O(log A) for A arcs.
    #[must_use]
    pub fn arc_of(&self, point: P) -> Option<ReplicaArc<'_, P>> {
        let place = self.arcs.partition_point(|arc| arc.to < point);
        // The arc across the top ends first, and reaches to the places after all others' ends.
        let on = |arc: &&Changed<P>| lies_on(arc.from, arc.to, point);
        let found = self.arcs.get(place).filter(on).or_else(|| self.arcs.first().filter(on));
        found.map(|arc| self.view(arc))
    }

    /// Returns how much each node gains and loses, in the order of ids; only nodes that do.
    #[must_use]
    pub fn flows(&self) -> &[ReplicaFlow] {
        &self.flows
    }

    /// Returns how many replicas each key has in the old and in the new table: as many as were asked for, or fewer if there
    /// are fewer nodes with points.
    #[must_use]
    pub fn replicas(&self) -> (usize, usize) {
        let [old, new] = self.counts;
        (old, new)
    }

    /// Returns how many replicas change hands. That is what joins, all nodes added up; and if keys have fewer replicas than
    /// before, those that go to nobody.
    #[must_use]
    pub fn moved(&self) -> ReplicaShare {
        self.moved
    }

    /// Returns [`moved`](Self::moved) as a fraction of all replicas, those of the table that has more.
    #[must_use]
    pub fn moved_fraction(&self) -> f64 {
        let all = self.counts[0].max(self.counts[1]);
        if all == 0 { 0.0 } else { self.moved.circles() / f64::from(position(all)) }
    }

    /// Returns how many replicas must change hands, however points are placed, if each node is to have as many as it has in
    /// the new table: what nodes gain on balance, added up.
    #[must_use]
    pub fn minimum(&self) -> ReplicaShare {
        self.minimum
    }

    /// Returns the part of the circle whose keys have the same nodes in another order: another owner, perhaps, but no data
    /// to move.
    #[must_use]
    pub fn reordered(&self) -> Share {
        self.reordered
    }

    /// Whether no list changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arcs.is_empty()
    }

    /// Weighs the plan by a sample of keys: their points, and how much each counts, such as the size of its value.
    pub fn weigh(&self, sample: impl IntoIterator<Item = (P, u64)>) -> ReplicaWeights {
        let mut nodes = vec![(0u128, 0u128); self.nodes.len()];
        let mut weights = ReplicaWeights { total: 0, moved: 0, nodes: Vec::new() };
        let all = self.counts[0].max(self.counts[1]);
        for (point, weight) in sample {
            let weight = u128::from(weight);
            let add = |sum: &mut u128| *sum = sum.saturating_add(weight);
            (0..all).for_each(|_| add(&mut weights.total));
            let Some(arc) = self.arc_of(point) else { continue };
            let (mut joined, mut left) = (0, 0);
            for number in not_in(arc.new, arc.old) {
                add(&mut nodes[index(number)].0);
                joined += 1;
            }
            for number in not_in(arc.old, arc.new) {
                add(&mut nodes[index(number)].1);
                left += 1;
            }
            (0..joined.max(left)).for_each(|_| add(&mut weights.moved));
        }
        let some = self.nodes.iter().zip(nodes).filter(|(_, sums)| *sums != (0, 0));
        weights.nodes = some.map(|(id, (joined, left))| (id.clone(), joined, left)).collect();
        weights
    }
}

/// A plan of replicas weighed by a sample of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaWeights {
    /// The weight of all replicas of the sample's keys.
    pub total: u128,
    /// The weight of those that change hands.
    pub moved: u128,
    /// Each node with the weight of what joins it and of what leaves it, in the order of ids.
    pub nodes: Vec<(NodeId, u128, u128)>,
}

/// An arc of the circle whose keys have other replicas: the places `(from, to]`, clockwise.
///
/// If `from` and `to` are equal it is the whole circle.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaArc<'p, P: Point = u32> {
    from: P,
    to: P,
    old: &'p [u32],
    new: &'p [u32],
    nodes: &'p [NodeId],
}

impl<'p, P: Point> ReplicaArc<'p, P> {
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

    /// Returns the nodes before the change, the owner first.
    pub fn old_nodes(&self) -> impl ExactSizeIterator<Item = &'p NodeId> + use<'p, P> {
        let nodes = self.nodes;
        self.old.iter().map(move |&number| &nodes[index(number)])
    }

    /// Returns the nodes after the change, the owner first.
    pub fn new_nodes(&self) -> impl ExactSizeIterator<Item = &'p NodeId> + use<'p, P> {
        let nodes = self.nodes;
        self.new.iter().map(move |&number| &nodes[index(number)])
    }

    /// Returns the nodes that have the keys after the change and hadn't before; none if only the order changes.
    pub fn joined(&self) -> impl Iterator<Item = &'p NodeId> + use<'p, P> {
        let nodes = self.nodes;
        not_in(self.new, self.old).map(move |number| &nodes[index(number)])
    }

    /// Returns the nodes that had the keys before the change and don't after.
    pub fn left(&self) -> impl Iterator<Item = &'p NodeId> + use<'p, P> {
        let nodes = self.nodes;
        not_in(self.old, self.new).map(move |number| &nodes[index(number)])
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

/// How much a node gains and loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaFlow {
    node: NodeId,
    joined: Share,
    left: Share,
}

impl ReplicaFlow {
    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// Returns the part of the circle whose keys it has after the change and hadn't before.
    #[must_use]
    pub fn joined(&self) -> Share {
        self.joined
    }

    /// Returns the part of the circle whose keys it had before the change and hasn't after.
    #[must_use]
    pub fn left(&self) -> Share {
        self.left
    }
}

fn ids<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>) -> impl Iterator<Item = &NodeId> {
    table.live_slots().iter().map(|&slot| table.node_in(slot).id())
}

/// The place of each slot's node in the list of all.
fn numbers<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>, nodes: &[NodeId]) -> Vec<u32> {
    let mut numbers = vec![0; table.slot_count()];
    for &slot in table.live_slots() {
        let place = nodes.partition_point(|id| id < table.node_in(slot).id());
        numbers[slot.index()] = position(place);
    }
    numbers
}

fn not_in<'l>(list: &'l [u32], other: &'l [u32]) -> impl Iterator<Item = u32> + use<'l> {
    list.iter().copied().filter(move |number| !other.contains(number))
}

/// What the walk gathers, arcs in counter-clockwise order.
struct Changes<P> {
    arcs: Vec<Changed<P>>,
    lists: Vec<u32>,
    reordered: Share,
    /// What joins and leaves each node.
    sums: Vec<(Share, Share)>,
    nodes: Vec<NodeId>,
    old: Vec<u32>,
    new: Vec<u32>,
}

impl<P: Point> Changes<P> {
    fn new(nodes: Vec<NodeId>) -> Self {
        let none = Share::new(0, P::BITS);
        let sums = vec![(none, none); nodes.len()];
        Self { arcs: Vec::new(), lists: Vec::new(), reordered: none, sums, nodes, old: Vec::new(), new: Vec::new() }
    }

    /// Takes the arc with the lists `old` and `new`.
    fn take(&mut self, from: P, to: P) {
        let Self { arcs, lists, reordered, sums, old, new, .. } = self;
        if old == new {
            return;
        }
        let (share, mut same) = (share_of(from, to), true);
        for number in not_in(new, old) {
            let joined = &mut sums[index(number)].0;
            (*joined, same) = (*joined + share, false);
        }
        for number in not_in(old, new) {
            let left = &mut sums[index(number)].1;
            (*left, same) = (*left + share, false);
        }
        if same {
            *reordered = *reordered + share;
        }
        match arcs.last_mut() {
            Some(last) if last.from == to && lists[last.old.clone()] == *old && lists[last.new.clone()] == *new => {
                last.from = from;
            }
            _ => {
                let start = lists.len();
                lists.extend_from_slice(old);
                let middle = lists.len();
                lists.extend_from_slice(new);
                arcs.push(Changed { from, to, old: start..middle, new: middle..lists.len() });
            }
        }
    }

    fn finish(self, counts: [usize; 2]) -> ReplicaPlan<P> {
        let Self { mut arcs, lists, reordered, sums, nodes, .. } = self;
        arcs.reverse();
        // The arc across the top goes on from the last one, if that reaches there with the same lists.
        if let [first, .., last] = &mut arcs[..]
            && last.to == first.from
            && lists[last.old.clone()] == lists[first.old.clone()]
            && lists[last.new.clone()] == lists[first.new.clone()]
        {
            first.from = last.from;
            arcs.pop();
        }
        let (mut moved, mut minimum) = (ReplicaShare::none(P::BITS), ReplicaShare::none(P::BITS));
        let mut flows = Vec::new();
        let none = Share::new(0, P::BITS);
        for (node, &(joined, left)) in nodes.iter().zip(&sums) {
            moved.add(joined);
            minimum.add(joined.saturating_sub(left));
            if (joined, left) != (none, none) {
                flows.push(ReplicaFlow { node: node.clone(), joined, left });
            }
        }
        // What keys have fewer of goes to nobody.
        if counts[0].cmp(&counts[1]) == Ordering::Greater {
            let fewer = position(counts[0] - counts[1]);
            moved.add_wholes(fewer);
            minimum.add_wholes(fewer);
        }
        ReplicaPlan { nodes, arcs, lists, flows, counts, moved, minimum, reordered }
    }
}
