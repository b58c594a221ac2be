//! A ring of rings: regions, each with a ring of its own, looked up in one walk. Rank 5.
//!
//! A region is a node of an outer table whose payload holds an inner table, so readers, snapshots and publication are those of
//! any ring: one pointer leads to the outer table and through it to all inner ones.
//!
//! Both walks start from one hash of the key, and must not start from the same point: all keys that come to a region lie on
//! that region's arcs, so in a ring asked by the same point a member whose points lie elsewhere would get nothing. Each inner
//! walk starts from the point put through a mixing bijection, which scatters the region's arcs over the circle.

use std::fmt;

use crate::hash::{Digester, Fingerprint, Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{Node, State};
use crate::point::Point;
use crate::table::{Table, TableError};

/// A region's ring: the payload of a node of an outer ring.
///
/// A `Table<Region<T>>` is a layered table; made by a [`LayeredWriter`](crate::LayeredWriter), read like any other.
pub struct Region<T = (), S: Scheme = Native, L: Layout<S::Point> = Auto<<S as Scheme>::Point>> {
    table: Table<T, S, L>,
}

impl<T, S: Scheme, L: Layout<S::Point>> Region<T, S, L> {
    /// Makes a region of a table, whose scheme must map keys as the outer one's does.
    #[must_use]
    pub fn new(table: Table<T, S, L>) -> Self {
        Self { table }
    }

    /// Returns the region's ring. Asked by itself it starts from a key's own point, which is not where a layered lookup does:
    /// [`Table::member`].
    #[must_use]
    pub fn table(&self) -> &Table<T, S, L> {
        &self.table
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> fmt::Debug for Region<T, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.table).finish()
    }
}

/// A node, and the region that it is in.
pub struct Member<'t, T, S: Scheme, L: Layout<S::Point>> {
    /// The region, as the outer ring's node.
    pub region: &'t Node<Region<T, S, L>>,
    /// The node, of the region's ring.
    pub node: &'t Node<T>,
}

impl<T, S: Scheme, L: Layout<S::Point>> Clone for Member<'_, T, S, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Copy for Member<'_, T, S, L> {}

impl<T, S: Scheme, L: Layout<S::Point>> fmt::Debug for Member<'_, T, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.region.id(), self.node.id())
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> PartialEq for Member<'_, T, S, L> {
    /// By the ids of both.
    fn eq(&self, other: &Self) -> bool {
        (self.region.id(), self.node.id()) == (other.region.id(), other.node.id())
    }
}

/// Where the walk through an inner ring starts for a key whose walk through the outer one starts at `point`.
///
/// A bijection of the circle, fixed for ever. On 32 bits it is MurmurHash3's finalizer `fmix32`, on 64 its `fmix64` (Appleby,
/// public domain); on 128 three Feistel rounds of `fmix64` on the halves: `lo ^= fmix64(hi); hi ^= fmix64(lo); lo ^=
/// fmix64(hi)`. `tests/golden/layered` has vectors from an independent program.
#[inline]
#[must_use]
pub(crate) fn inner_point<P: Point>(point: P) -> P {
    point.mixed()
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<Region<T, S, L>, S, L> {
    /// Returns the node that owns `key`: the region is the first one clockwise whose ring has points, the node the owner in
    /// that ring. `None` if no region's ring has points.
    ///
    /// Pure. A region that comes, goes or changes weight moves keys to or from it alone; a change inside a region moves keys
    /// within it alone. A key or prefix may be pinned to a region in the outer ring; pins of inner rings aren't asked.
    ///
    /// ```
    /// use ringway::{Layered, LayeredDelta, NodeSpec};
    /// let (mut writer, handle) = Layered::builder()
    ///     .region(NodeSpec::new("eu"), ["eu-1", "eu-2"].map(NodeSpec::new))
    ///     .region(NodeSpec::new("us"), ["us-1", "us-2", "us-3"].map(NodeSpec::new))
    ///     .build()?;
    /// let mut reader = handle.reader();
    /// let member = reader.table().member(b"user:123456").expect("both rings have points");
    /// assert!(member.node.id().as_str().starts_with(member.region.id().as_str()));
    /// // Both layers in one batch, published as one version.
    /// writer.commit(LayeredDelta::new().change("eu", |eu| eu.add(NodeSpec::new("eu-3"))).remove_region("us"))?;
    /// assert_eq!(reader.table().member(b"user:123456").map(|member| member.region.id().to_string()), Some("eu".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Complexity
    /// One hash of the key and two searches; one region more for each that is empty. No lock, no allocation, no shared write.
    #[inline]
    #[must_use]
    pub fn member(&self, key: &[u8]) -> Option<Member<'_, T, S, L>> {
        let (region, point) = self.owner_and_point(key);
        let (region, point) = (region?, inner_point(point));
        match region.payload().table.owner_at(point) {
            Some(node) => Some(Member { region, node }),
            None => self.next_member(key, |inner| inner.owner_at(point)),
        }
    }

    /// Returns the node that takes `key` now: in the first region clockwise, of those that take traffic, in which a node does.
    /// `None` if no node of any such region does.
    ///
    /// A region takes traffic unless it is [`Down`](State::Down), with [`route`](Table::route)'s panic threshold of the
    /// outer ring; in it nodes do as in [`Table::route`] of its ring. So a region whose nodes are all down is passed by though
    /// nobody marked it.
    ///
    /// # Complexity
    /// As [`member`](Self::member) while all are up; else as [`Table::route`] in each region that is passed.
    #[must_use]
    pub fn route_member(&self, key: &[u8]) -> Option<Member<'_, T, S, L>> {
        self.routed(key, |inner, point| inner.route_at(point), false)
    }

    /// As [`route_member`](Self::route_member), for new work: only regions and nodes that are [`Up`](State::Up).
    #[must_use]
    pub fn route_new_member(&self, key: &[u8]) -> Option<Member<'_, T, S, L>> {
        self.routed(key, |inner, point| inner.route_new_at(point), true)
    }

    fn routed<'t>(
        &'t self,
        key: &[u8],
        route: impl Fn(&'t Table<T, S, L>, S::Point) -> Option<&'t Node<T>>,
        new: bool,
    ) -> Option<Member<'t, T, S, L>> {
        let point = inner_point(self.scheme().key_point(key));
        let first = if new { self.route_new(key) } else { self.route(key) }?;
        if let Some(node) = route(&first.payload().table, point) {
            return Some(Member { region: first, node });
        }
        let panic = self.is_in_panic();
        let takes = |region: &Node<Region<T, S, L>>| match region.health() {
            State::Up => true,
            State::Draining => !new || panic,
            State::Down => panic,
        };
        let mut rest = self.successors(key).filter(|region| takes(region) && region.id() != first.id());
        rest.find_map(|region| route(&region.payload().table, point).map(|node| Member { region, node }))
    }

    #[cold]
    fn next_member<'t>(
        &'t self,
        key: &[u8],
        find: impl Fn(&'t Table<T, S, L>) -> Option<&'t Node<T>>,
    ) -> Option<Member<'t, T, S, L>> {
        self.successors(key).find_map(|region| find(&region.payload().table).map(|node| Member { region, node }))
    }

    /// Writes the first `out.len()` places of `key` into `out`, and returns how many there are: the owner in each region, in
    /// the order of the outer ring; then the second node of each, and so on. So the first are in different regions, as many
    /// as there are; and the first of all is [`member`](Self::member).
    ///
    /// Pure: states don't count.
    ///
    /// # Complexity
    /// O(k (R + W)) for k places of R regions, where W is the walk to a region's k / R-th node. No allocation.
    pub fn member_replicas<'t>(&'t self, key: &[u8], out: &mut [Option<Member<'t, T, S, L>>]) -> usize {
        let point = inner_point(self.scheme().key_point(key));
        let mut found = 0;
        // The round: how many nodes of each region come before.
        for round in 0.. {
            let before = found;
            for region in self.successors(key) {
                if found == out.len() {
                    return found;
                }
                if let Some(node) = region.payload().table.successors_at(point).nth(round) {
                    out[found] = Some(Member { region, node });
                    found += 1;
                }
            }
            if found == before {
                break;
            }
        }
        found
    }

    /// Returns the fingerprint of all that decides where a key goes, in both layers: BLAKE2b, personalised
    /// `ringway.layer.1`, of the outer placement fingerprint and those of the regions' rings, in the order of
    /// [`nodes`](Table::nodes).
    ///
    /// # Complexity
    /// O(R).
    #[must_use]
    pub fn layered_fingerprint(&self) -> Fingerprint {
        let mut digester = Digester::layers();
        digester.bytes(&self.placement_fingerprint().to_bytes());
        for region in self.nodes() {
            digester.bytes(&region.payload().table.placement_fingerprint().to_bytes());
        }
        digester.fingerprint()
    }

    /// Checks every invariant of the outer table and all inner ones; see [`Table::validate`].
    ///
    /// # Errors
    /// The first invariant that doesn't hold.
    pub fn validate_layers(&self) -> Result<(), TableError> {
        self.validate()?;
        self.nodes().try_for_each(|region| region.payload().table.validate())
    }
}
