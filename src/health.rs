//! Routing by health: the owner if it takes traffic, else the next node in ring order that does. Rank 5.
//!
//! Behind the walk from key to owner: a table says in which order a key's nodes come, the nodes' live states say which of
//! them takes it. States are set through a node ([`Node::set_health`]) by whoever probes, on any thread, and no table is built
//! for it: marking a thousand nodes a second costs readers a look at the states and the writer nothing. So a storm of
//! flapping nodes can't become a storm of rebuilds, nor can an update that was held back leave a stale ring.
//!
//! While all nodes are up, which one load tells, routing is the owner's lookup. Reading the owner's state instead took 1.22
//! times as long as the lookup alone: it is one more line of memory for each node.
//!
//! The same order of nodes as on the ring with the node removed (Karger et al. 1997), so that a key of a node that is down
//! goes where it would go without the node, and returns with it.

use crate::hash::{OutOfService, Scheme};
use crate::layout::Layout;
use crate::node::{Node, Traffic};
use crate::table::{Start, Table};

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Returns the first node in ring order from `key` that is up or draining; `None` if there is none, as in a ring
    /// without points for a key that isn't pinned.
    ///
    /// As [`owner`](Self::owner) while all nodes are up. A node that is down is passed by, and its keys spread over the
    /// others as if it had been removed; once it is back, all is as before. In panic
    /// ([`panic_threshold`](crate::RingBuilder::panic_threshold)) it is the owner whatever its state.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring, State};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let owner = table.owner(b"user:123456").expect("the ring isn't empty");
    /// owner.set_health(State::Draining);
    /// assert_eq!(table.route(b"user:123456").map(|node| node.id()), Some(owner.id()), "takes what it has");
    /// assert_ne!(table.route_new(b"user:123456").map(|node| node.id()), Some(owner.id()), "and nothing new");
    ///
    /// for node in table.nodes() {
    ///     node.set_health(State::Down);
    /// }
    /// assert!(table.route(b"user:123456").is_none(), "none is left");
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// A lookup and one load while all nodes are up. Else a look at the state of each point's node until one takes it:
    /// 1/u steps for a part u of the points on nodes that do. O(1) if none does. After N + 64 steps in vain as
    /// [`replicas`](Self::replicas). No lock, no allocation, no shared write.
    ///
    /// A scheme may say how many points are looked at ([`OutOfService`](crate::scheme::OutOfService)); beyond, it is `None`.
    #[inline]
    #[must_use]
    pub fn route(&self, key: &[u8]) -> Option<&Node<T>> {
        if self.is_all_up() { self.owner(key) } else { self.route_past(key, Traffic::Any) }
    }

    /// As [`route`](Self::route), from a point.
    #[inline]
    #[must_use]
    pub fn route_at(&self, point: S::Point) -> Option<&Node<T>> {
        if self.is_all_up() { self.owner_at(point) } else { self.route_past_at(point, Traffic::Any) }
    }

    /// Returns the first node in ring order from `key` that is up: where new work goes, which draining nodes don't take.
    /// Otherwise as [`route`](Self::route).
    #[inline]
    #[must_use]
    pub fn route_new(&self, key: &[u8]) -> Option<&Node<T>> {
        if self.is_all_up() { self.owner(key) } else { self.route_past(key, Traffic::New) }
    }

    /// As [`route_new`](Self::route_new), from a point.
    #[inline]
    #[must_use]
    pub fn route_new_at(&self, point: S::Point) -> Option<&Node<T>> {
        if self.is_all_up() { self.owner_at(point) } else { self.route_past_at(point, Traffic::New) }
    }

    /// Returns the first node in ring order from `key` that is up or draining and isn't excluded: for a retry, which must
    /// not go where the attempts before it went. `None` if there is none.
    ///
    /// In panic, states don't count; exclusions always do.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let mut tried = Vec::new();
    /// while let Some(node) = table.route_excluding(b"user:123456", |node| tried.contains(node.id())) {
    ///     tried.push(node.id().clone()); // … and it failed
    /// }
    /// assert_eq!(tried.len(), 3, "each once, then none");
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// As [`route`](Self::route), with a call of `excluded` for each node looked at.
    #[must_use]
    pub fn route_excluding(&self, key: &[u8], excluded: impl Fn(&Node<T>) -> bool) -> Option<&Node<T>> {
        self.route_but(self.start(key), Traffic::Any, excluded)
    }

    /// As [`route_excluding`](Self::route_excluding), from a point.
    #[must_use]
    pub fn route_excluding_at(&self, point: S::Point, excluded: impl Fn(&Node<T>) -> bool) -> Option<&Node<T>> {
        self.route_but(self.start_at(point), Traffic::Any, excluded)
    }

    /// Routes `keys[i]` into `out[i]` for each i below the shorter of the two lengths, and returns that length; the rest of
    /// `out` is left alone. As [`route`](Self::route) one by one, with the memory loads overlapped while all nodes are up.
    pub fn route_batch<'t, K: AsRef<[u8]>>(&'t self, keys: &[K], out: &mut [Option<&'t Node<T>>]) -> usize {
        if self.is_all_up() {
            return self.owner_batch(keys, out);
        }
        out.iter_mut().zip(keys).map(|(out, key)| *out = self.route(key.as_ref())).count()
    }

    /// Whether health is ignored now: less of the weight is up than the panic threshold asks for. The states of the
    /// published ring's nodes count, whatever table is asked.
    #[must_use]
    pub fn is_in_panic(&self) -> bool {
        let percent = u64::from(self.options().panic_percent);
        let (up, all) = (self.census().takers_weight(true), self.census().weight());
        // Weights are 32 bits, and there are fewer than 2^24 nodes.
        percent > 0 && up * 100 < all * percent
    }

    // Out of line, with the rank's search: the walk's beginning, inlined beside the lookup, cost that a tenth and more.
    #[inline(never)]
    fn route_past(&self, key: &[u8], traffic: Traffic) -> Option<&Node<T>> {
        self.route_from(self.start(key), traffic)
    }

    #[inline(never)]
    fn route_past_at(&self, point: S::Point, traffic: Traffic) -> Option<&Node<T>> {
        self.route_from(self.start_at(point), traffic)
    }

    #[cold]
    #[inline(never)]
    fn route_from(&self, start: Start, traffic: Traffic) -> Option<&Node<T>> {
        self.route_but(start, traffic, |_| false)
    }

    fn route_but(&self, start: Start, traffic: Traffic, excluded: impl Fn(&Node<T>) -> bool) -> Option<&Node<T>> {
        let panic = self.is_in_panic();
        if !panic && !start.is_pinned() && self.takers(traffic == Traffic::New) == 0 {
            return None;
        }
        let takes = |slot| {
            let node = self.node_in(slot);
            (panic || traffic.goes_to(node.health())) && !excluded(node)
        };
        let slot = match self.scheme().out_of_service() {
            OutOfService::StepOn { points: Some(points) } => self.find_within(start, points, takes),
            OutOfService::StepOn { points: None } | OutOfService::Rebuild => {
                self.find(start, 0, takes).map(|found| found.1)
            }
        };
        slot.map(|slot| self.node_in(slot))
    }
}
