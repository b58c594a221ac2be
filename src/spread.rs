//! Hot keys over several nodes: a key that one node can't serve alone goes to one of its first so many. Rank 5.
//!
//! The nodes are the key's replicas that are in service, so a key that was spread over k nodes finds, with another k, most
//! of them again. Which keys are hot is the caller's to know; [`HotKeys`](crate::HotKeys) counts them.
//!
//! Of two taken at random, the one with less in flight: "the power of two choices" (Mitzenmacher 2001). The most loaded of
//! k nodes then is far closer to the others than with one choice, and unlike the least loaded of all it draws no herd.

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Node, Slot, Traffic};
use crate::point::{high_u32, index, low_u32, position};
use crate::table::{Start, Table};

/// The most nodes that a key is spread over. A larger number is taken as this one.
pub(crate) const MOST: usize = 64;

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// The most nodes that [`spread`](Self::spread) spreads a key over.
    pub const MAX_SPREAD: usize = MOST;

    /// Returns one of the first `k` nodes in ring order from `key` that are up or draining, by the caller's random number:
    /// each is as likely as the others. Fewer if there are fewer; `None` if there is none, or `k` is 0. `k` is at most
    /// [`MAX_SPREAD`](Self::MAX_SPREAD).
    ///
    /// With `k` = 1 it is [`route`](Self::route). The same `random` gives the same node, so a client that keeps its number
    /// stays where it is.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// let table = Ring::builder().nodes(["a", "b", "c", "d"].map(NodeSpec::new)).build_table()?;
    /// let mut replicas = [None; 3];
    /// table.replicas(b"hot", &mut replicas);
    /// for random in [0, u64::MAX / 2, u64::MAX] {
    ///     let node = table.spread(b"hot", 3, random).expect("all nodes are up");
    ///     assert!(replicas.iter().flatten().any(|replica| replica.id() == node.id()));
    /// }
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`healthy_replicas`](Self::healthy_replicas). No lock, no allocation, no shared write.
    #[must_use]
    pub fn spread(&self, key: &[u8], k: usize, random: u64) -> Option<&Node<T>> {
        self.spread_from(self.start(key), k, random)
    }

    /// As [`spread`](Self::spread), from a point.
    #[must_use]
    pub fn spread_at(&self, point: S::Point, k: usize, random: u64) -> Option<&Node<T>> {
        self.spread_from(self.start_at(point), k, random)
    }

    /// Takes two of the first `k` nodes in ring order from `key` that are up or draining, by the caller's random number, and
    /// returns the one with less in flight for its weight; the earlier in ring order if they have the same. Otherwise as
    /// [`spread`](Self::spread).
    ///
    /// What is in flight are permits: count the request with [`Node::enter`].
    #[must_use]
    pub fn spread_least(&self, key: &[u8], k: usize, random: u64) -> Option<&Node<T>> {
        self.spread_least_from(self.start(key), k, random)
    }

    /// As [`spread_least`](Self::spread_least), from a point.
    #[must_use]
    pub fn spread_least_at(&self, point: S::Point, k: usize, random: u64) -> Option<&Node<T>> {
        self.spread_least_from(self.start_at(point), k, random)
    }

    fn spread_from(&self, start: Start, k: usize, random: u64) -> Option<&Node<T>> {
        let (slots, count) = self.first_takers(start, k);
        let place = scaled(high_u32(random), position(count));
        slots[..count].get(index(place)).map(|&slot| self.node_in(slot))
    }

    fn spread_least_from(&self, start: Start, k: usize, random: u64) -> Option<&Node<T>> {
        let (slots, count) = self.first_takers(start, k);
        let places = position(count);
        let one = scaled(high_u32(random), places);
        // Another than the first: one of the rest, numbered without it.
        let other = scaled(low_u32(random), places.saturating_sub(1));
        let other = if other >= one { other + 1 } else { other };
        let node = |place: u32| slots[..count].get(index(place)).map(|&slot| self.node_in(slot));
        let (first, second) = (node(one.min(other)), node(one.max(other)));
        match (first, second) {
            (Some(first), Some(second)) if is_less_loaded(second, first) => Some(second),
            (first, _) => first,
        }
    }

    /// The slots of the first `k` nodes that take any traffic, and how many there are.
    fn first_takers(&self, start: Start, k: usize) -> ([Slot; MOST], usize) {
        let mut slots = [Slot::default(); MOST];
        let panic = self.is_in_panic();
        let takers = if panic { usize::MAX } else { self.takers(false).saturating_add(usize::from(start.is_pinned())) };
        let (mut count, mut step) = (0, 0);
        while count < k.min(MOST).min(takers) {
            let chosen = &slots[..count];
            let takes = |slot| !chosen.contains(&slot) && (panic || Traffic::Any.goes_to(self.node_in(slot).health()));
            let Some((at, slot)) = self.find(start, step, takes) else { break };
            slots[count] = slot;
            count += 1;
            step = at + 1;
        }
        (slots, count)
    }
}

/// A random number scaled to `0..n`, or 0. Lemire 2019, without the step that would make it exact: 2^32 is far above n.
fn scaled(random: u32, n: u32) -> u32 {
    high_u32(u64::from(random) * u64::from(n))
}

/// Whether `a` has less in flight for its weight than `b`. Of weight 0 counts as of weight 1.
fn is_less_loaded<T>(a: &Node<T>, b: &Node<T>) -> bool {
    let weight = |node: &Node<T>| u128::from(node.info().weight().max(1));
    u128::from(a.in_flight()) * weight(b) < u128::from(b.in_flight()) * weight(a)
}
