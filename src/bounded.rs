//! Consistent hashing with bounded loads: no node has more than so many times its fair share of what is in flight. Rank 5.
//!
//! Behind the walk from key to owner: a key goes to the first node in ring order that has room. So while loads are even it
//! goes where [`route`](Table::route) says, and what is too much for a node goes to the next ones and not to one of them.
//!
//! Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (SODA 2018, arXiv 2017): capacity ⌈c·m/n⌉ for
//! m balls in n bins, first bin clockwise that has room. With weights: ⌈c · m · w / W⌉, as HAProxy (`hash-balance-factor`)
//! and Envoy (`hash_balance_factor`) do; m counts the request itself, so that an idle ring has room. Unlike HAProxy, which
//! counts what a server has queued, and like Envoy, what counts is what is in flight: permits that are held. Unlike both,
//! W is the weight of the nodes that take traffic *now*, not of all; else, with half of them down, the others would be full
//! at half of what is in flight, and nobody would have room.
//!
//! Admission and the bound are one step: a compare-and-swap on the node's count. Two counts that are compared and then
//! raised let more in than the bound as soon as two threads meet.
//!
//! Why a node with room is found for every c ≥ 1: the capacities of the nodes that take traffic add up to at least c · m ≥ m,
//! and without this request less than m is in flight. Others may take the room between the look and the step; then it looks
//! again, with fresh sums. Each such loss is somebody else's gain, so all together go on; one request gives up after
//! [`LOOKS`] looks.

use std::fmt;

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Node, Permit, Slot, Traffic};
use crate::table::{Start, Table};

/// How far above its fair share of the requests in flight a node may go: the c of bounded loads.
///
/// ```
/// use ringway::{Bound, NodeSpec, Ring};
/// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
/// let bound = Bound::percent(125)?;
///
/// // Thirty requests for one hot key: each is in flight while its permit is held.
/// let admitted: Vec<_> = (0..30).map(|_| table.admit(b"hot", bound)).collect::<Result<_, _>>()?;
/// assert!(!admitted[0].displaced(), "to the owner, as long as it has room");
/// // ⌈1.25 · 30 / 3⌉ = 13
/// assert!(table.nodes().all(|node| node.in_flight() <= 13));
/// drop(admitted);
/// assert!(table.nodes().all(|node| node.in_flight() == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    percent: u32,
}

impl Bound {
    /// The least bound, in percent: with less, not all that is in flight would have room.
    pub const MIN_PERCENT: u32 = 100;

    /// Creates a bound of so many percent of the fair share: 125 is c = 1.25. The lower, the more even are loads and the
    /// more keys go elsewhere than to their owner.
    ///
    /// # Errors
    /// [`BoundError`] below [`MIN_PERCENT`](Self::MIN_PERCENT).
    pub const fn percent(percent: u32) -> Result<Self, BoundError> {
        if percent < Self::MIN_PERCENT { Err(BoundError { percent }) } else { Ok(Self { percent }) }
    }

    /// Returns how many requests a node of weight `weight` may have of `in_flight` in flight, among nodes of total weight
    /// `total`: ⌈c · in_flight · weight / total⌉; 0 if `total` is.
    #[must_use]
    pub fn capacity(self, in_flight: u64, weight: u32, total: u64) -> u64 {
        // 32 + 64 + 32 bits.
        let scaled = u128::from(self.percent) * u128::from(in_flight) * u128::from(weight);
        let whole = u128::from(total) * 100;
        if whole == 0 { 0 } else { u64::try_from(scaled.div_ceil(whole)).unwrap_or(u64::MAX) }
    }
}

/// A bound below the fair share was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundError {
    percent: u32,
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, limit) = (self.percent, Bound::MIN_PERCENT);
        write!(f, "a bound of {percent} % is below the fair share; give {limit} % or more, such as 125")
    }
}

impl std::error::Error for BoundError {}

/// A request that was let in: its node, and the permit that counts it there.
#[derive(Debug)]
pub struct Admission<'t, T = ()> {
    node: &'t Node<T>,
    permit: Permit,
    displaced: bool,
}

impl<'t, T> Admission<'t, T> {
    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> &'t Node<T> {
        self.node
    }

    /// Whether the key's first node that takes traffic was full, so that this is another. Count these to know what share a
    /// bound displaces.
    #[must_use]
    pub fn displaced(&self) -> bool {
        self.displaced
    }

    /// Takes the permit out, to keep it for as long as the request takes; the table isn't needed for that.
    #[must_use = "the request ends when the permit is dropped"]
    pub fn into_permit(self) -> Permit {
        self.permit
    }
}

/// Why a request wasn't let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmitError {
    /// No node with points and weight takes traffic, nor does the one that the key is pinned to.
    NoneTakes,
    /// Each time the nodes were looked at, all were full: others took what had come free, so many times in a row. Or the
    /// table is an old one, and those that have room now aren't in it.
    NoRoom {
        /// How often they were looked at.
        looks: u32,
    },
}

impl fmt::Display for AdmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneTakes => write!(f, "no node takes traffic; bring one up"),
            Self::NoRoom { looks } => write!(f, "all nodes were full in {looks} looks; try again, by the newest table"),
        }
    }
}

impl std::error::Error for AdmitError {}

/// How often a request looks for room before it gives up.
const LOOKS: u32 = 32;

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Lets a request in at the first node in ring order from `key` that is up or draining and has room under `bound`, and
    /// counts it there until its permit is dropped.
    ///
    /// At admission the node has at most [`Bound::capacity`] of the requests in flight at all nodes of the ring, this one
    /// among them, by its weight and that of the nodes that take traffic. Weights are those of the published ring; nodes of
    /// weight 0 or without points have no share of the ring, and take nothing here but the keys that are pinned to them:
    /// those without a bound, as there is no share to measure them by. What they have in flight is in the sum. Counts survive commits; what is in flight at a node that is removed leaves the total.
    /// The scheme's limit of points to look at doesn't apply. In panic, states don't count.
    ///
    /// # Errors
    /// [`AdmitError`].
    ///
    /// # Complexity
    /// As [`route`](Self::route), where full nodes are passed by as nodes that are down are. No lock, no allocation; two
    /// shared counters are written, the ring's and the node's, and the node's reference count. Lock-free.
    pub fn admit(&self, key: &[u8], bound: Bound) -> Result<Admission<'_, T>, AdmitError> {
        self.admit_from(self.start(key), Traffic::Any, bound)
    }

    /// As [`admit`](Self::admit), from a point.
    ///
    /// # Errors
    /// [`AdmitError`].
    pub fn admit_at(&self, point: S::Point, bound: Bound) -> Result<Admission<'_, T>, AdmitError> {
        self.admit_from(self.start_at(point), Traffic::Any, bound)
    }

    /// As [`admit`](Self::admit), for new work: draining nodes take none, and their weight doesn't count.
    ///
    /// # Errors
    /// [`AdmitError`].
    pub fn admit_new(&self, key: &[u8], bound: Bound) -> Result<Admission<'_, T>, AdmitError> {
        self.admit_from(self.start(key), Traffic::New, bound)
    }

    /// Returns how many requests are in flight at all nodes of the ring: permits that are held.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.census().in_flight()
    }

    fn admit_from(&self, start: Start, traffic: Traffic, bound: Bound) -> Result<Admission<'_, T>, AdmitError> {
        let census = self.census();
        // Counted first, so that the sum is never less than what the nodes have (L3 of `node/live.rs`).
        census.reserve();
        for _ in 0..LOOKS {
            let panic = self.is_in_panic();
            let total = if panic { census.weight() } else { census.takers_weight(traffic == Traffic::New) };
            // Who has no share of the ring takes what is pinned to it, without a bound: a pin says where a key goes whatever
            // the ring says, and counting the key as displaced would send it where `route` never does.
            let beside = start.pinned().filter(|&slot| {
                let role = self.node_in(slot).state().role();
                role.member && !role.has_share() && (panic || traffic.goes_to(role.health))
            });
            if total == 0 && beside.is_none() {
                census.unreserve();
                return Err(AdmitError::NoneTakes);
            }
            let in_flight = census.in_flight();
            let capacity = |slot: Slot| {
                let role = self.node_in(slot).state().role();
                let takes = role.member && role.placed && (panic || traffic.goes_to(role.health));
                if beside == Some(slot) && !role.has_share() && role.member {
                    return if panic || traffic.goes_to(role.health) { u64::MAX } else { 0 };
                }
                if takes { bound.capacity(in_flight, role.weight, total) } else { 0 }
            };
            let has_room = |slot: Slot| self.node_in(slot).in_flight() < capacity(slot);
            let Some((_, slot)) = self.find(start, 0, has_room) else { continue };
            let node = self.node_in(slot);
            if node.state().admit(capacity(slot)) {
                let first = self.find(start, 0, |slot| capacity(slot) > 0);
                let displaced = first.is_some_and(|(_, first)| first != slot);
                return Ok(Admission { node, permit: Permit::admitted(node.state()), displaced });
            }
        }
        census.unreserve();
        Err(AdmitError::NoRoom { looks: LOOKS })
    }
}
