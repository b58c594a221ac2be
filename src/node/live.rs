//! What changes about a node without a new table: its health, and how many requests it has in flight. Rank 1.
//!
//! Outside the walk from key to owner; routing reads it after the walk. A node's words stand in an `Arc` of their own
//! ([`NodeState`]), which every table that holds the node shares. So they survive commits, no second pointer can
//! disagree with the table, and a node that is removed and added again starts anew. All nodes of a ring share one
//! [`Census`], from which a lookup learns in one load that every node is up.
//!
//! Invariants
//! - L1: what a node counts for in the census changes under the census's lock alone: there, sums rise before the node's
//!   words are stored and fall after. So no lookup that comes after a change finds a sum that is too low: it may look at
//!   nodes that need no look, and never passes over one that does.
//! - L2: a table that was enrolled knows the number of its enrolment, its *turn*. The census's word holds the turn of the
//!   ring's newest table, so a table that was replaced, or was never published, doesn't take sums of other nodes for its
//!   own.
//! - L3: the ring's in-flight sum is at least that of its members' counts: it rises before a node's count and falls after.

use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::State;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering::Relaxed, PoisonError};

/// What the nodes of one ring are together. Shared by its tables and its nodes.
///
/// All accesses are relaxed. Changes are ordered by the lock, and a lookup that comes after a change sees it by coherence of
/// the one word it reads; nothing else is read through these words.
#[derive(Default)]
pub(crate) struct Census {
    /// turn << 32 | members that aren't up. Read by each routed lookup, so on a line of its own with the sums.
    common: CachePadded<Common>,
    in_flight: CachePadded<AtomicU64>,
    setters: Mutex<()>,
}

#[derive(Default)]
struct Common {
    word: AtomicU64,
    sums: [AtomicU64; SUMS],
}

/// Members with points that take old traffic (up, draining) and new traffic (up), and the weights of those and of all.
const OPEN: usize = 0;
const FRESH: usize = 1;
const WEIGHT: usize = 2;
const OPEN_WEIGHT: usize = 3;
const FRESH_WEIGHT: usize = 4;
const SUMS: usize = 5;

const TURN: u64 = 1 << 32;

/// What a node counts for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Role {
    /// Whether the published ring has the node.
    pub(crate) member: bool,
    /// Whether it has points there.
    pub(crate) placed: bool,
    pub(crate) weight: u32,
    pub(crate) health: State,
}

impl Role {
    /// Whether the node has a part of what the ring shares out by weight.
    pub(crate) fn has_share(self) -> bool {
        self.member && self.placed && self.weight > 0
    }

    fn counts(self) -> (u64, [u64; SUMS]) {
        let mut sums = [0; SUMS];
        if self.member && self.placed {
            let weight = u64::from(self.weight);
            let (open, fresh) = (u64::from(self.health != State::Down), u64::from(self.health == State::Up));
            sums = [open, fresh, weight, open * weight, fresh * weight];
        }
        (u64::from(self.member && self.health != State::Up), sums)
    }
}

/// A change to what a node counts for, made when the table that brings it is enrolled.
#[derive(Debug)]
pub(crate) struct Turnover {
    pub(crate) state: Arc<NodeState>,
    pub(crate) member: bool,
    pub(crate) placed: bool,
    pub(crate) weight: u32,
    /// The live state to set, where the configured one changed.
    pub(crate) health: Option<State>,
}

impl Turnover {
    /// The change back to what the node counts for now.
    pub(crate) fn back(&self) -> Self {
        let Role { member, placed, weight, health } = self.state.role();
        Self { state: Arc::clone(&self.state), member, placed, weight, health: Some(health) }
    }
}

impl Census {
    /// The word of a table that trusts no sum.
    pub(crate) const NEVER: u64 = u64::MAX;

    fn lock(&self) -> MutexGuard<'_, ()> {
        // The lock guards no data that a panic could leave half done: the code under it doesn't panic.
        self.setters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next table the ring's newest: brings its nodes in, takes those out that left. Returns the word that
    /// says of that table that all its nodes are up. Called before the table is published, so that no lookup sees it with
    /// the sums of the one before (L2).
    pub(crate) fn enrol(&self, changes: &[Turnover]) -> u64 {
        let _lock = self.lock();
        let turn = self.common.word.load(Relaxed) >> 32;
        // The last turn is never trusted, so that turns needn't wrap.
        if turn < u64::from(u32::MAX) {
            self.common.word.fetch_add(TURN, Relaxed);
        }
        for change in changes {
            change.state.turn_over(change);
        }
        if turn + 1 < u64::from(u32::MAX) { (turn + 1) << 32 } else { Self::NEVER }
    }

    /// Whether the table that was given `word` is the newest, with all nodes up.
    #[inline(always)]
    pub(crate) fn is_all_up(&self, word: u64) -> bool {
        self.common.word.load(Relaxed) == word
    }

    /// Whether the table that was given `word` is the newest, so that the sums are those of its nodes.
    pub(crate) fn is_newest(&self, word: u64) -> bool {
        word != Self::NEVER && self.common.word.load(Relaxed) >> 32 == word >> 32
    }

    /// How many members with points take traffic: any, or new traffic only.
    pub(crate) fn takers(&self, new: bool) -> u64 {
        self.common.sums[if new { FRESH } else { OPEN }].load(Relaxed)
    }

    /// The weight of the members with points that take traffic: any, or new traffic only.
    pub(crate) fn takers_weight(&self, new: bool) -> u64 {
        self.common.sums[if new { FRESH_WEIGHT } else { OPEN_WEIGHT }].load(Relaxed)
    }

    /// The weight of all members with points.
    pub(crate) fn weight(&self) -> u64 {
        self.common.sums[WEIGHT].load(Relaxed)
    }

    /// Requests in flight at all members.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    /// Counts one request more, whose node isn't known yet; returns how many there are with it.
    pub(crate) fn reserve(&self) -> u64 {
        self.in_flight.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn unreserve(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Census").field("takers", &self.takers(false)).finish_non_exhaustive()
    }
}

/// The words of one node.
pub(crate) struct NodeState {
    vital: CachePadded<Vital>,
    /// Requests in flight; with [`APART`] if they aren't in the ring's sum.
    load: CachePadded<AtomicU64>,
    census: Arc<Census>,
}

struct Vital {
    /// [`State::code`].
    health: AtomicU64,
    /// weight << 2 | placed << 1 | member.
    role: AtomicU64,
}

/// The node isn't in the published ring: it left, or hasn't come yet.
const APART: u64 = 1 << 63;

impl NodeState {
    /// The state of a node that isn't a member yet.
    pub(crate) fn new(census: &Arc<Census>, health: State) -> Self {
        let vital = Vital { health: AtomicU64::new(u64::from(health.code())), role: AtomicU64::new(0) };
        let census = Arc::clone(census);
        Self { vital: CachePadded::new(vital), load: CachePadded::new(AtomicU64::new(APART)), census }
    }

    #[inline(always)]
    pub(crate) fn health(&self) -> State {
        State::of_code(self.vital.health.load(Relaxed))
    }

    pub(crate) fn set_health(&self, health: State) -> State {
        let _lock = self.census.lock();
        let old = self.role();
        self.change(old, Role { health, ..old });
        old.health
    }

    pub(crate) fn role(&self) -> Role {
        let word = self.vital.role.load(Relaxed);
        let weight = u32::try_from(word >> 2).unwrap_or(u32::MAX);
        Role { member: word & 1 != 0, placed: word & 2 != 0, weight, health: self.health() }
    }

    /// Under the census's lock.
    fn turn_over(&self, to: &Turnover) {
        let old = self.role();
        let health = to.health.unwrap_or(old.health);
        if to.member && !old.member {
            let count = self.load.load(Relaxed) & !APART;
            // Whoever counts between these two steps does so apart, and is missed by both: undone below.
            self.census.in_flight.fetch_add(count, Relaxed);
            let was = self.load.fetch_and(!APART, Relaxed) & !APART;
            self.census.in_flight.fetch_add(was.wrapping_sub(count), Relaxed);
        }
        self.change(old, Role { member: to.member, placed: to.placed, weight: to.weight, health });
        if !to.member && old.member {
            let count = self.load.fetch_or(APART, Relaxed) & !APART;
            self.census.in_flight.fetch_sub(count, Relaxed);
        }
    }

    /// Under the census's lock (L1).
    fn change(&self, old: Role, new: Role) {
        let ((old_away, old_sums), (new_away, new_sums)) = (old.counts(), new.counts());
        let common = &self.census.common;
        common.word.fetch_add(new_away.saturating_sub(old_away), Relaxed);
        for (sum, (old, new)) in common.sums.iter().zip(old_sums.into_iter().zip(new_sums)) {
            sum.fetch_add(new.saturating_sub(old), Relaxed);
        }
        let role = u64::from(new.weight) << 2 | u64::from(new.placed) << 1 | u64::from(new.member);
        self.vital.role.store(role, Relaxed);
        self.vital.health.store(u64::from(new.health.code()), Relaxed);
        common.word.fetch_sub(old_away.saturating_sub(new_away), Relaxed);
        for (sum, (old, new)) in common.sums.iter().zip(old_sums.into_iter().zip(new_sums)) {
            sum.fetch_sub(old.saturating_sub(new), Relaxed);
        }
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.load.load(Relaxed) & !APART
    }

    /// Counts one request more if there are fewer than `capacity`. The ring's sum has it already
    /// ([`Census::reserve`]).
    pub(crate) fn admit(&self, capacity: u64) -> bool {
        let mut now = self.load.load(Relaxed);
        loop {
            if now & !APART >= capacity {
                return false;
            }
            match self.load.compare_exchange_weak(now, now + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        if now & APART != 0 {
            self.census.unreserve();
        }
        true
    }

    fn enter(&self) {
        // Rises first (L3).
        self.census.reserve();
        if self.load.fetch_add(1, Relaxed) & APART != 0 {
            self.census.unreserve();
        }
    }

    fn leave(&self) {
        if self.load.fetch_sub(1, Relaxed) & APART == 0 {
            self.census.unreserve();
        }
    }
}

impl fmt::Debug for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeState").field("role", &self.role()).field("in_flight", &self.in_flight()).finish()
    }
}

/// One request in flight at a node, until it is dropped.
///
/// It holds the node's live state and nothing of a table: it may be sent to another thread, kept across an `.await`, and
/// outlive the node's place in the ring, the table and the ring. Dropping it takes the request off the node's count,
/// wait-free.
pub struct Permit(Arc<NodeState>);

impl Permit {
    /// Counts a request.
    pub(crate) fn enter(state: &Arc<NodeState>) -> Self {
        state.enter();
        Self(Arc::clone(state))
    }

    /// A request that was counted by [`NodeState::admit`].
    pub(crate) fn admitted(state: &Arc<NodeState>) -> Self {
        Self(Arc::clone(state))
    }

    /// Returns how many requests the node has in flight now, this one among them.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.0.in_flight()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("in_flight", &self.in_flight()).finish()
    }
}
