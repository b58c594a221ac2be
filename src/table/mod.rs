//! The table: an immutable, searchable ring. Rank 4.
//!
//! The walk from key to owner, whole: [`Table::owner`] hashes the key to a point (`hash/`), asks the layout for the slot
//! of the point's successor (`layout/`), and takes the node in that slot. Every other way to look up a key (readers,
//! batches, replicas, routing) goes through the same steps.
//!
//! Invariants; [`Table::validate`] checks them all from scratch
//! - T1: points are in the order (point, tie rank of the node), and each node has exactly the points its scheme assigned.
//! - T2: `nodes` and `members` have one length; a slot is live where `members` is `Some`. Every point's slot is live.
//! - T3: in a vacant slot stands a clone of some live node, so that a slot's node can be returned without a test; no
//!   point leads there. The last slot is live; with no live node there are no slots at all.
//! - T4: `by_id` holds the live slots in the order of their ids' bytes; `list` holds the same slots in list order, and is
//!   kept only for schemes that read it.
//! - T6: the layout is built over the points; under the nearest rule over their boundaries, and `apart` holds the points.
//! - T5: the fingerprints are those of the nodes and the scheme.
//! - T7: `placed` counts the nodes with points; `zones` and `ranks`, where kept, are those of the nodes and points.

mod apply;
mod boundary;
mod check;
mod draft;
mod dump;
mod filling;
mod merge;
mod pinned;
mod preferences;
mod probes;
mod ranks;
mod recycle;
mod restore;
mod shares;
mod successors;
mod walk;
mod zones;

pub use apply::Applied;
pub(crate) use apply::{Drafted, Enrolled};
pub use check::TableError;
pub(crate) use recycle::Recycler;
pub use restore::RestoreError;
pub(crate) use shares::{Sum, gap_shares};
pub use successors::Successors;
pub(crate) use walk::Start;

use std::fmt;
use std::sync::Arc;

use self::boundary::Apart;
use self::pinned::Pinned;
use self::ranks::Ranks;
use self::walk::at_most;
use self::zones::Zones;
use crate::delta::{Change, Delta};
use crate::error::DeltaError;
use crate::hash::{Digest, Digester, Fingerprint, MatchRule, Native, Scheme};
use crate::layout::{Auto, Layout, PointArray};
use crate::node::{Census, Limits, Node, NodeSpec, Slot};
use crate::pins::Pins;
use crate::point::{Point, index, position};

/// An immutable ring: nodes, their points, and the layout they are searched by.
///
/// It can be built and used on its own ([`RingBuilder::build_table`](crate::RingBuilder::build_table)), by programs whose
/// nodes don't change, or is reached through a [`Reader`](crate::Reader) or [`Snapshot`](crate::Snapshot).
///
/// ```
/// use ringway::{NodeSpec, Ring};
/// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
/// let owner = table.owner(b"user:123456").expect("the ring isn't empty");
/// assert!(["a", "b", "c"].contains(&owner.id().as_str()));
/// # Ok::<(), ringway::DeltaError>(())
/// ```
pub struct Table<T = (), S: Scheme = Native, L: Layout<S::Point> = Auto<<S as Scheme>::Point>> {
    layout: L,
    /// The points, if the layout is built over other boundaries.
    apart: Option<Box<Apart<S::Point>>>,
    nodes: Box<[Node<T>]>,
    scheme: S,
    members: Box<[Option<Member<S::Seed>>]>,
    by_id: Box<[Slot]>,
    list: Option<Box<[Slot]>>,
    version: u64,
    placement: Fingerprint,
    spec: Fingerprint,
    placed: usize,
    zones: Option<Arc<Zones>>,
    ranks: Option<Ranks>,
    pinned: Option<Box<Pinned>>,
    options: Options,
    census: Arc<Census>,
    /// What the census's word is while this is the ring's newest table and all its nodes are up.
    all_up: u64,
}

/// What a ring is built with beside its nodes and scheme, handed on from table to table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Whether to keep [`Ranks`].
    pub(crate) bounded_walks: bool,
    /// Below how many percent of the weight up health is ignored.
    pub(crate) panic_percent: u8,
}

/// What a table knows of a live slot beside the node.
#[derive(Debug, Clone)]
struct Member<S> {
    seed: S,
    points: u32,
    rank: u32,
    placement: Digest,
    spec: Digest,
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Creates a table without nodes, of version 0.
    #[must_use]
    pub fn empty(scheme: S) -> Self {
        let (placement, spec) = fingerprints(&scheme, std::iter::empty(), &Pins::NONE);
        let list = (!scheme.order_free()).then(Box::default);
        Self {
            layout: L::build(PointArray::empty()),
            apart: (scheme.match_rule() == MatchRule::Nearest).then(|| Box::new(Apart::empty())),
            nodes: Box::default(),
            scheme,
            members: Box::default(),
            by_id: Box::default(),
            list,
            version: 0,
            placement,
            spec,
            placed: 0,
            zones: None,
            ranks: None,
            pinned: None,
            options: Options::default(),
            census: Arc::default(),
            all_up: Census::NEVER,
        }
    }

    /// Builds a table of `nodes`, of version 0. The order in which they are given counts only for schemes that read it.
    ///
    /// # Errors
    /// As [`apply`](Self::apply) of a delta that adds them.
    ///
    /// # Complexity
    /// O(P log P).
    pub fn build(scheme: S, nodes: impl IntoIterator<Item = NodeSpec<T>>, limits: &Limits) -> Result<Self, DeltaError> {
        let mut delta = Delta::new();
        delta.extend(nodes.into_iter().map(Change::Add));
        Self::build_with(scheme, Options::default(), delta, limits)
    }

    pub(crate) fn empty_with(scheme: S, options: Options) -> Self {
        let empty = Self::empty(scheme);
        let ranks = options.bounded_walks.then(|| Ranks::new(empty.layout.points(), &empty.members));
        Self { options, ranks, ..empty }
    }

    /// Builds a table by a delta to an empty one.
    pub(crate) fn build_with(
        scheme: S,
        options: Options,
        delta: Delta<T>,
        limits: &Limits,
    ) -> Result<Self, DeltaError> {
        let empty = Self::empty_with(scheme, options);
        match empty.apply(delta, limits) {
            Ok(Some(applied)) => Ok(Self { version: 0, ..applied.enrolled() }),
            Ok(None) => Ok(empty),
            Err((error, _)) => Err(error),
        }
    }

    /// Returns the node that owns `key`: the one that it is pinned to, if it is ([`Pins`]), else that of its point. `None` if
    /// it isn't pinned and the ring has no points.
    ///
    /// Pure: a function of the table and the key alone.
    ///
    /// # Complexity
    /// The hash of the key, then the layout's search: O(log P) or better. No lock, no allocation, no shared write.
    #[inline]
    #[must_use]
    pub fn owner(&self, key: &[u8]) -> Option<&Node<T>> {
        if let Some(slot) = self.pinned_slot_of(key) {
            return Some(&self.nodes[slot.index()]);
        }
        if self.scheme.probes().is_one() {
            self.owner_at(self.scheme.key_point(key))
        } else {
            self.owner_by_probes(self.scheme.key_hash(key))
        }
    }

    /// As [`owner`](Self::owner), with the key's point, for one hash.
    #[inline]
    pub(crate) fn owner_and_point(&self, key: &[u8]) -> (Option<&Node<T>>, S::Point) {
        let point = self.scheme.key_point(key);
        let owner = if let Some(slot) = self.pinned_slot_of(key) {
            Some(&self.nodes[slot.index()])
        } else if self.scheme.probes().is_one() {
            self.owner_at(point)
        } else {
            self.owner_by_probes(self.scheme.key_hash(key))
        };
        (owner, point)
    }

    /// Returns the node that owns the key that `parts` make when joined, without joining them. As
    /// [`owner`](Self::owner), pins among it.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// # let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let joined = table.owner(b"user:42").map(|node| node.id());
    /// assert_eq!(table.owner_of_parts(&[b"user", b":", b"42"]).map(|node| node.id()), joined);
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn owner_of_parts(&self, parts: &[&[u8]]) -> Option<&Node<T>> {
        if let Some(slot) = self.pinned_slot(parts) {
            return Some(&self.nodes[slot.index()]);
        }
        if self.scheme.probes().is_one() {
            self.owner_at(self.scheme.key_point_of_parts(parts))
        } else {
            self.owner_by_probes(self.scheme.key_hash_of_parts(parts))
        }
    }

    /// Returns the node that owns `point`, for keys that are hashed already; `None` if the ring has no points. A point has
    /// no key, so no pin counts, and of a scheme with several [probes](Scheme::probes) it is one, not a key's answer.
    #[inline]
    #[must_use]
    pub fn owner_at(&self, point: S::Point) -> Option<&Node<T>> {
        self.layout.owner(self.asked(point)).map(|slot| &self.nodes[slot.index()])
    }

    /// Looks up `keys[i]` into `out[i]` for each i below the shorter of the two lengths, and returns that length; the rest
    /// of `out` is left alone. If the ring has no points, each of them whose key isn't pinned
    /// becomes `None`.
    ///
    /// Equal to [`owner`](Self::owner) one by one, with the lookups' memory loads overlapped where the layout gains by it.
    /// No allocation. `out` borrows from the table; in a loop that goes on to newer tables,
    /// [`for_each_owner`](Self::for_each_owner) needs no such buffer.
    pub fn owner_batch<'t, K: AsRef<[u8]>>(&'t self, keys: &[K], out: &mut [Option<&'t Node<T>>]) -> usize {
        let len = keys.len().min(out.len());
        self.for_each_owner(&keys[..len], |i, owner| out[i] = owner);
        len
    }

    /// Looks up `points[i]` into `out[i]`; otherwise as [`owner_batch`](Self::owner_batch).
    pub fn owner_at_batch<'t>(&'t self, points: &[S::Point], out: &mut [Option<&'t Node<T>>]) -> usize {
        let len = points.len().min(out.len());
        let mut slots = [Slot::default(); BATCH];
        let mut asked = [S::Point::MIN; BATCH];
        for (points, out) in points[..len].chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            for (asked, &point) in asked.iter_mut().zip(points) {
                *asked = self.asked(point);
            }
            let mut owners = self.owners_of(&asked[..points.len()], &mut slots);
            out[..points.len()].fill_with(|| owners.next().flatten());
        }
        len
    }

    /// Looks up all of `keys`, as [`owner_batch`](Self::owner_batch) does, and calls `each` with the number of each key
    /// and its owner, in order.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// # let (_writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
    /// let mut reader = handle.reader();
    /// let mut addressed: Vec<(usize, String)> = Vec::new();
    /// for keys in [["x", "y", "z"], ["u", "v", "w"]] {
    ///     // Each turn sees the newest table; what is kept of it is the caller's to say.
    ///     reader.table().for_each_owner(&keys, |i, owner| {
    ///         addressed.push((i, owner.map_or_else(String::new, |node| node.id().to_string())));
    ///     });
    /// }
    /// assert_eq!(addressed.len(), 6);
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    pub fn for_each_owner<'t, K: AsRef<[u8]>>(&'t self, keys: &[K], mut each: impl FnMut(usize, Option<&'t Node<T>>)) {
        if !self.scheme.probes().is_one() {
            return self.for_each_owner_by_probes(keys, each);
        }
        let mut points = [S::Point::MIN; BATCH];
        let mut slots = [Slot::default(); BATCH];
        let mut number = 0;
        for keys in keys.chunks(BATCH) {
            for (point, key) in points.iter_mut().zip(keys) {
                *point = self.asked(self.scheme.key_point(key.as_ref()));
            }
            for (owner, key) in self.owners_of(&points[..keys.len()], &mut slots).zip(keys) {
                let pinned = self.pinned_slot_of(key.as_ref()).map(|slot| &self.nodes[slot.index()]);
                each(number, pinned.or(owner));
                number += 1;
            }
        }
    }

    /// The owners of at most `BATCH` places that the layout is asked for, each `None` if there are no points.
    fn owners_of<'s>(
        &self,
        points: &[S::Point],
        slots: &'s mut [Slot; BATCH],
    ) -> impl Iterator<Item = Option<&Node<T>>> + use<'_, 's, T, S, L> {
        let found = self.layout.owner_batch(points, slots);
        // All or nothing were found; nothing means an empty ring.
        let missing = points.len() - found;
        let owners = slots[..found].iter().map(|slot| Some(&self.nodes[slot.index()]));
        owners.chain(std::iter::repeat_n(None, missing))
    }

    /// Returns the number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points_array().len()
    }

    /// Whether there are no points, so that every lookup but of a pinned key gives `None`. There may be nodes, all of
    /// weight 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points_array().is_empty()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.by_id.len()
    }

    /// Returns the nodes: in the order of their ids' bytes, or in list order for schemes that read it.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node<T>> {
        self.canonical().iter().map(|slot| &self.nodes[slot.index()])
    }

    /// Returns a node by its id.
    ///
    /// # Complexity
    /// O(log N).
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Node<T>> {
        self.slot_of(id).map(|slot| &self.nodes[slot.index()])
    }

    /// Returns how many points a node has; `None` if the id isn't in the table.
    #[must_use]
    pub fn points_of(&self, id: &str) -> Option<u32> {
        self.slot_of(id).and_then(|slot| self.members[slot.index()].as_ref()).map(|member| member.points)
    }

    /// Returns all points with their nodes, in ring order from the smallest point; equal points in their total order,
    /// owner first. Nothing for a ring without points.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (S::Point, &Node<T>)> {
        self.points_array().iter().map(|(point, slot)| (point, &self.nodes[slot.index()]))
    }

    /// Returns the version: 0 for a table built on its own, else the number of tables its ring has published up to it.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the fingerprint of all that decides where a key goes. Equal ones mean equal answers, on every machine.
    #[must_use]
    pub fn placement_fingerprint(&self) -> Fingerprint {
        self.placement
    }

    /// Returns the fingerprint of all that is configured: placement, weights, addresses, zones, attributes. Payloads and
    /// live states don't count.
    #[must_use]
    pub fn spec_fingerprint(&self) -> Fingerprint {
        self.spec
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Returns the layout. Under [`MatchRule::Nearest`] its points are the boundaries between the table's
    /// [`points`](Self::points).
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// Returns the memory of points and indexes, in bytes; nodes aren't counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let apart = self.apart.as_ref().map_or(0, |apart| apart.points.bytes());
        let ranks = self.ranks.as_ref().map_or(0, Ranks::bytes);
        self.layout.points().bytes() + self.layout.index_bytes() + apart + ranks
    }

    pub(crate) fn set_version(&mut self, version: u64) {
        self.version = version;
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    /// Whether this is the ring's newest table and each of its nodes is up. One load.
    #[inline(always)]
    pub(crate) fn is_all_up(&self) -> bool {
        self.census.is_all_up(self.all_up)
    }

    /// How many nodes with points take traffic, or more: what isn't the newest table can't tell.
    pub(crate) fn takers(&self, new: bool) -> usize {
        if self.census.is_newest(self.all_up) { at_most(self.census.takers(new)) } else { self.placed }
    }

    #[inline(always)]
    pub(crate) fn node_in(&self, slot: Slot) -> &Node<T> {
        &self.nodes[slot.index()]
    }

    /// Live slots in the order that counts for the scheme.
    fn canonical(&self) -> &[Slot] {
        self.list.as_deref().unwrap_or(&self.by_id)
    }

    fn slot_of(&self, id: &str) -> Option<Slot> {
        let found = self.by_id.binary_search_by(|slot| self.nodes[slot.index()].id().as_str().cmp(id));
        found.ok().map(|place| self.by_id[place])
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> fmt::Debug for Table<T, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("version", &self.version)
            .field("scheme", &self.scheme)
            .field("nodes", &self.node_count())
            .field("points", &self.len())
            .field("placement", &self.placement)
            .finish_non_exhaustive()
    }
}

/// How many lookups [`Table::owner_batch`] has in flight; the points and slots of one batch are 768 bytes of stack.
const BATCH: usize = 64;

/// Both fingerprints of members in canonical order. Pins are in both, and where there are none nothing is.
fn fingerprints<'a, S: Scheme>(
    scheme: &S,
    members: impl ExactSizeIterator<Item = &'a Member<S::Seed>> + Clone,
    pins: &Pins,
) -> (Fingerprint, Fingerprint) {
    let mut options = Vec::new();
    scheme.option_bytes(&mut options);
    // Gathered first: one update of many blocks is twice as fast as one for each 16 bytes.
    let gathered = |digest: fn(&Member<S::Seed>) -> &Digest| {
        let mut bytes = Vec::with_capacity(members.len() * size_of::<Digest>());
        members.clone().for_each(|member| bytes.extend_from_slice(digest(member)));
        bytes
    };
    let mut placement = Digester::placement();
    placement.text(scheme.id().as_bytes()).text(&options).count(members.len());
    placement.bytes(&gathered(|member| &member.placement));
    if !pins.is_empty() {
        placement.count(pins.keys().len()).count(pins.prefixes().len());
        for (bytes, node) in pins.keys().chain(pins.prefixes()) {
            placement.text(bytes).text(node.as_bytes());
        }
    }
    let placement = placement.fingerprint();
    let mut spec = Digester::spec();
    spec.bytes(&placement.to_bytes()).count(members.len());
    (placement, spec.bytes(&gathered(|member| &member.spec)).fingerprint())
}

/// The tie ranks of nodes with the given ties, in canonical order: their order by (tie, place).
fn tie_ranks(ties: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..position(ties.len())).collect();
    // Schemes that number ties as they go are the rule; for them this is one comparison a node.
    if !ties.is_sorted() {
        order.sort_by_key(|&place| ties[index(place)]);
    }
    let mut ranks = vec![0; ties.len()];
    for (rank, &place) in (0..).zip(&order) {
        ranks[index(place)] = rank;
    }
    ranks
}
