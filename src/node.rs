//! Nodes: what a user describes ([`NodeSpec`]), what a table keeps ([`Node`]), and the slots that stand for them. Rank 1.
//!
//! Invariants
//! - N1: a [`NodeInfo`] has passed [`NodeInfo::check`]: its id isn't empty and all texts are within [`Limits`].
//! - N2: a `NodeInfo` never changes; a changed node is a new `NodeInfo` in the same slot.
//! - N3: the payload is stored apart from the info, so that either can be replaced without touching (or cloning) the other.

mod limits;
mod live;
mod state;

pub use limits::Limits;
pub use live::Permit;
pub(crate) use live::{Census, NodeState, Turnover};
pub(crate) use state::Traffic;
pub use state::{ParseStateError, State};

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{NodeError, shown};
use crate::point::index;

/// A node's stable name: shared, cheap to clone, ordered and compared by its bytes.
///
/// With the native scheme the id alone decides where a node's points lie, so a node that comes back with another
/// address keeps its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// Creates an id, for asking a scheme about it.
    ///
    /// # Errors
    /// [`NodeError::EmptyId`], [`NodeError::IdTooLong`].
    pub fn new(id: &str) -> Result<Self, NodeError> {
        check_id(id)?;
        Ok(Self(Arc::from(id)))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id's UTF-8 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Borrow<str> for NodeId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for NodeId {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for NodeId {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A node's place in a table's node array: small, stable for the node's life, reused after its removal.
///
/// Slots mean something only within one table. What outlives a table holds a [`Node`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Slot(u32);

impl Slot {
    /// Creates a slot from its number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the slot's number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the slot's number as an index.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        index(self.0)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}", self.0)
    }
}

/// A description of a node, as the user gives it; checked when it enters a ring.
///
/// ```
/// use ringway::NodeSpec;
/// let spec = NodeSpec::new("cache-a1").with_weight(2).with_zone(["eu", "eu-1"]).with_address("10.0.0.1:11211");
/// assert_eq!(spec.id(), "cache-a1");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NodeSpec<T = ()> {
    pub(crate) info: NodeInfo,
    pub(crate) payload: T,
}

impl NodeSpec<()> {
    /// Creates a description with weight 1 and nothing else.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        let id = NodeId(Arc::from(id.into()));
        let info = NodeInfo {
            id,
            weight: 1,
            active_points: None,
            address: None,
            zone: Vec::new(),
            attributes: BTreeMap::new(),
            state: State::Up,
        };
        Self { info, payload: () }
    }
}

impl<T> NodeSpec<T> {
    /// Sets the weight: 0 makes a member without points (where the scheme allows it).
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.info.weight = weight;
        self
    }

    /// Sets the number of active points, overriding weight × points per weight; `None` follows the weight again.
    ///
    /// A node's points are a prefix of its endless sequence, so one point more or less moves keys to or from this node
    /// alone. Finer than weight, for slow starts and drains.
    #[must_use]
    pub fn with_active_points(mut self, points: impl Into<Option<u32>>) -> Self {
        self.info.active_points = points.into();
        self
    }

    /// Sets the address. The native scheme doesn't place by it.
    #[must_use]
    pub fn with_address(mut self, address: impl Into<String>) -> Self {
        self.info.address = Some(address.into());
        self
    }

    /// Sets the failure domain: labels from the outermost in, such as region, zone, rack.
    #[must_use]
    pub fn with_zone<L: Into<String>>(mut self, labels: impl IntoIterator<Item = L>) -> Self {
        self.info.zone = labels.into_iter().map(Into::into).collect();
        self
    }

    /// Sets one attribute. Schemes may read attributes; the native one reads none.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.info.attributes.insert(name.into(), value.into());
        self
    }

    /// Sets the configured state; [`State::Up`] if it isn't called.
    #[must_use]
    pub fn with_state(mut self, state: State) -> Self {
        self.info.state = state;
        self
    }

    /// Sets the payload: what the user's program wants to find with the node, such as a connection pool.
    #[must_use]
    pub fn with_payload<U>(self, payload: U) -> NodeSpec<U> {
        NodeSpec { info: self.info, payload }
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.info.id.as_str()
    }

    /// Returns all but the payload.
    #[must_use]
    pub fn info(&self) -> &NodeInfo {
        &self.info
    }

    /// Returns the payload.
    #[must_use]
    pub fn payload(&self) -> &T {
        &self.payload
    }
}

impl<T> fmt::Debug for NodeSpec<T> {
    /// Leaves the payload out: it may be large, secret, or have no `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeSpec").field("info", &self.info).finish_non_exhaustive()
    }
}

/// All that is known of a node but its payload: what schemes read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    pub(crate) id: NodeId,
    pub(crate) weight: u32,
    pub(crate) active_points: Option<u32>,
    pub(crate) address: Option<String>,
    pub(crate) zone: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) state: State,
}

impl NodeInfo {
    /// Returns the stable id.
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.id
    }

    /// Returns the weight.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the number of active points that was set for this node, if one was; how many a node has in a table is
    /// [`Table::points_of`](crate::Table::points_of).
    #[must_use]
    pub fn active_points(&self) -> Option<u32> {
        self.active_points
    }

    /// Returns the address, if there is one.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Returns the failure-domain labels, outermost first; empty if none were given.
    #[must_use]
    pub fn zone(&self) -> &[String] {
        &self.zone
    }

    /// Returns one attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Returns all attributes, in the order of their names' bytes.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the configured state.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Checks everything that can be checked without other nodes (N1).
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), NodeError> {
        let id = self.id.as_str();
        check_id(id)?;
        if self.weight > limits.weight {
            return Err(NodeError::WeightTooLarge { id: shown(id), weight: self.weight, limit: limits.weight });
        }
        let text = |field, text: &str| {
            if text.len() <= Limits::MAX_TEXT_BYTES {
                return Ok(());
            }
            let (bytes, limit) = (text.len(), Limits::MAX_TEXT_BYTES);
            Err(NodeError::TextTooLong { id: shown(id), field, bytes, limit })
        };
        let many = |what, count, limit| {
            if count <= limit { Ok(()) } else { Err(NodeError::TooMany { id: shown(id), what, count, limit }) }
        };
        many("zone labels", self.zone.len(), Limits::MAX_ZONE_LABELS)?;
        many("attributes", self.attributes.len(), Limits::MAX_ATTRIBUTES)?;
        self.address.iter().try_for_each(|address| text("address", address))?;
        self.zone.iter().try_for_each(|label| text("zone", label))?;
        self.attributes.iter().try_for_each(|(name, value)| {
            text("attribute name", name)?;
            text("attribute value", value)
        })
    }
}

/// Checks an id alone.
pub(crate) fn check_id(id: &str) -> Result<(), NodeError> {
    if id.is_empty() {
        return Err(NodeError::EmptyId);
    }
    if id.len() > Limits::MAX_ID_BYTES {
        return Err(NodeError::IdTooLong { id: shown(id), bytes: id.len(), limit: Limits::MAX_ID_BYTES });
    }
    Ok(())
}

/// A node of a table: a handle of three words, cheap to clone, good for as long as it is held.
///
/// A lookup returns `&Node` without loading the node. Cloned, it is independent of the table it came from: it can be
/// kept across an `.await`, and goes on showing the node as it was in that table. Its live words (health, requests in
/// flight) are the node's own, not the table's: every handle of a node reads and sets the same ones, whichever table it
/// came from.
pub struct Node<T = ()> {
    info: Arc<NodeInfo>,
    payload: Arc<T>,
    state: Arc<NodeState>,
}

impl<T> Node<T> {
    pub(crate) fn new(info: Arc<NodeInfo>, payload: Arc<T>, state: Arc<NodeState>) -> Self {
        Self { info, payload, state }
    }

    pub(crate) fn state(&self) -> &Arc<NodeState> {
        &self.state
    }

    pub(crate) fn shared_payload(&self) -> &Arc<T> {
        &self.payload
    }

    pub(crate) fn shared_info(&self) -> &Arc<NodeInfo> {
        &self.info
    }

    /// Returns the stable id.
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.info.id
    }

    /// Returns the payload.
    #[must_use]
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// Returns all but the payload: weight, address, zone, attributes, configured state.
    #[must_use]
    pub fn info(&self) -> &NodeInfo {
        &self.info
    }

    /// Returns a description of the node as it was configured, such as for another ring of some of a ring's nodes. Payloads
    /// in an `Arc` are shared by that.
    #[must_use]
    pub fn to_spec(&self) -> NodeSpec<T>
    where
        T: Clone,
    {
        NodeSpec { info: NodeInfo::clone(&self.info), payload: T::clone(&self.payload) }
    }

    /// Returns the live state.
    #[inline]
    #[must_use]
    pub fn health(&self) -> State {
        self.state.health()
    }

    /// Sets the live state, and returns what it was. No table is built or published; each lookup that comes after this
    /// sees it.
    ///
    /// It lasts until it is set again, by this or by a delta that changes the configured state, and other commits leave
    /// it. On a node that was removed from its ring it has no effect on anything but the node.
    ///
    /// Keys of a node that is marked down go on to the next node, with every scheme. A scheme that reproduces a system which
    /// rebuilds its ring without absent servers ([`OutOfService::Rebuild`](crate::scheme::OutOfService)) agrees with it only
    /// if the *configured* state says so: [`Delta::set_state`](crate::Delta::set_state).
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring, State};
    /// let (_writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
    /// let mut reader = handle.reader();
    /// let owner = reader.owner(b"user:123456").expect("the ring isn't empty").clone();
    ///
    /// // Any thread that holds the node, a prober for instance, may mark it.
    /// assert_eq!(owner.set_health(State::Down), State::Up);
    /// let other = reader.route(b"user:123456").expect("two nodes are up");
    /// assert_ne!(other.id(), owner.id());
    ///
    /// owner.set_health(State::Up);
    /// assert_eq!(reader.route(b"user:123456").map(|node| node.id()), Some(owner.id()), "the old map is back");
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// O(1), under a lock that only others who set a state of this ring take. Lookups take none.
    pub fn set_health(&self, health: State) -> State {
        self.state.set_health(health)
    }

    /// Returns how many requests are in flight here: permits that are held. They survive commits.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.state.in_flight()
    }

    /// Counts a request as in flight here until the permit is dropped, whatever the load. For a bound on the load, see
    /// [`Bound`](crate::Bound). Wait-free.
    #[must_use = "the request ends when the permit is dropped"]
    pub fn enter(&self) -> Permit {
        Permit::enter(&self.state)
    }
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Self {
        Self { info: Arc::clone(&self.info), payload: Arc::clone(&self.payload), state: Arc::clone(&self.state) }
    }
}

impl<T> fmt::Debug for Node<T> {
    /// Shows the id alone: a payload may be large or secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.info.id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_checked_against_each_limit() {
        let ok = |spec: &NodeSpec| spec.info.check(&Limits::default());
        assert_eq!(ok(&NodeSpec::new("a")), Ok(()));
        assert_eq!(ok(&NodeSpec::new("")), Err(NodeError::EmptyId));
        assert_eq!(ok(&NodeSpec::new("x".repeat(1024))), Ok(()));
        let error = ok(&NodeSpec::new("x".repeat(1025))).unwrap_err();
        assert!(matches!(error, NodeError::IdTooLong { bytes: 1025, limit: 1024, .. }), "{error:?}");
        assert_eq!(ok(&NodeSpec::new("a").with_weight(65_535)), Ok(()));
        let error = ok(&NodeSpec::new("a").with_weight(65_536)).unwrap_err();
        assert_eq!(error.to_string(), "node \"a\": weight 65536 is above the limit of 65535; scale the weights down");
        let long = "y".repeat(4097);
        for (spec, field) in [
            (NodeSpec::new("a").with_address(&long[..]), "address"),
            (NodeSpec::new("a").with_zone(["ok", &long]), "zone"),
            (NodeSpec::new("a").with_attribute(&long[..], ""), "attribute name"),
            (NodeSpec::new("a").with_attribute("k", &long[..]), "attribute value"),
        ] {
            let error = ok(&spec).unwrap_err();
            assert!(matches!(error, NodeError::TextTooLong { field: f, bytes: 4097, .. } if f == field), "{error:?}");
        }
        let error = ok(&NodeSpec::new("a").with_zone(vec!["z"; 17])).unwrap_err();
        assert!(matches!(error, NodeError::TooMany { what: "zone labels", count: 17, limit: 16, .. }), "{error:?}");
        let many = (0..65).fold(NodeSpec::new("a"), |spec, n| spec.with_attribute(n.to_string(), ""));
        let error = ok(&many).unwrap_err();
        assert!(matches!(error, NodeError::TooMany { what: "attributes", count: 65, limit: 64, .. }), "{error:?}");
    }
}
