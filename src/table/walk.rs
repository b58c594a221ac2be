//! The walk on from a key's owner: distinct nodes in ring order. Replicas, zones, retries and routing are all this walk,
//! with other conditions.
//!
//! A walk has numbered steps. Step 0 is the node that the key is pinned to, if it is; steps 1 to P are the ring's points,
//! clockwise from the owner's on. [`Table::find`] is the one search along it, and its bound is that of everything above.
//!
//! ```text
//! step     0      1      2      3    …    P
//!        (pin)  owner   next   next     the point before the owner's
//! ```
//!
//! Dynamo (DeCandia et al. 2007) calls the first so many distinct nodes a key's preference list. Zones are met one node per
//! zone first, as Cassandra's NetworkTopologyStrategy and Grafana dskit's ring do; here a level of labels at a time, and
//! bounded: dskit's walk looked at every token once a zone was gone.

use super::Table;
use super::filling::Filling;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Node, Slot, State};
use crate::point::{index, position};

/// Where a walk begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// What the key is pinned to.
    first: Option<Slot>,
    /// The rank of the owner's point; 0 where there are several probes.
    rank: usize,
    /// The key's hash, where there are several probes.
    hash: Option<u64>,
}

impl Start {
    /// Whether the key is pinned to a node that is in the ring.
    pub(crate) fn is_pinned(self) -> bool {
        self.first.is_some()
    }

    /// The node that the key is pinned to.
    pub(crate) fn pinned(self) -> Option<Slot> {
        self.first
    }

    /// Whether the walk is one of several probes, of a table with such a scheme.
    #[inline(always)]
    pub(super) fn is_probed(self) -> bool {
        self.hash.is_some()
    }

    /// The hash that the probes come from.
    pub(super) fn hash(self) -> u64 {
        self.hash.unwrap_or_default()
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Fills `out` with the first distinct nodes clockwise from `key`, the owner first, and returns how many there are:
    /// the length of `out`, or fewer if the ring has fewer nodes with points. The rest of `out` is left alone.
    ///
    /// Pure: a function of the table and the key alone. Live states don't count; see
    /// [`healthy_replicas`](Self::healthy_replicas).
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let mut replicas = [None; 2];
    /// assert_eq!(table.replicas(b"user:123456", &mut replicas), 2);
    /// assert_eq!(replicas[0].map(|node| node.id()), table.owner(b"user:123456").map(|node| node.id()));
    ///
    /// let mut more = [None; 5];
    /// assert_eq!(table.replicas(b"user:123456", &mut more), 3, "there are no more nodes");
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// A lookup, then a step for each point passed: about k for k of many nodes of similar weight, P at most. If it took
    /// more than N + 64 to the next replica, and the ring was built with
    /// [`bounded_walks`](crate::RingBuilder::bounded_walks), each node is asked for its next point instead: O(k N log P) at
    /// most. Each step compares with the nodes found. No lock, no allocation, no shared write.
    #[inline]
    pub fn replicas<'t>(&'t self, key: &[u8], out: &mut [Option<&'t Node<T>>]) -> usize {
        self.fill_all(self.start(key), out)
    }

    /// As [`replicas`](Self::replicas), from a point.
    #[inline]
    pub fn replicas_at<'t>(&'t self, point: S::Point, out: &mut [Option<&'t Node<T>>]) -> usize {
        self.fill_all(self.start_at(point), out)
    }

    /// Fills `out` with the first distinct nodes clockwise from `key` that aren't [`State::Down`]; otherwise as
    /// [`replicas`](Self::replicas).
    ///
    /// A node that is down is replaced by the next one; all others keep their order, and it has its place again once it is
    /// back. In panic ([`panic_threshold`](crate::RingBuilder::panic_threshold)) states don't count, as with
    /// [`route`](Self::route).
    pub fn healthy_replicas<'t>(&'t self, key: &[u8], out: &mut [Option<&'t Node<T>>]) -> usize {
        self.healthy_replicas_from(self.start(key), out)
    }

    /// As [`healthy_replicas`](Self::healthy_replicas), from a point.
    pub fn healthy_replicas_at<'t>(&'t self, point: S::Point, out: &mut [Option<&'t Node<T>>]) -> usize {
        self.healthy_replicas_from(self.start_at(point), out)
    }

    fn healthy_replicas_from<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>]) -> usize {
        if self.is_in_panic() {
            return self.fill_all(start, out);
        }
        let takers = self.available(start, self.takers(false));
        let room = out.len().min(takers);
        self.fill(start, &mut out[..room], |slot| self.is_open(slot))
    }

    /// Fills `out` with nodes clockwise from `key`, spread over failure domains: first one node of each zone not met yet, in
    /// ring order, then the nodes passed over, in ring order. With nested labels (region, zone, rack) this goes from the
    /// outermost level in: one node of each region, then one of each zone of which none was taken, and so on. A node without
    /// a label at a level is a zone of its own there. Returns how many nodes there are; the rest of `out` is left alone.
    ///
    /// Pure, and the first one is the owner. If a zone is lost, of the replicas that a key had only the one in that zone
    /// moves, as long as it had at most one in each.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// let nodes = ["a1", "a2", "a3", "b1"].map(|id| NodeSpec::new(id).with_zone([&id[..1]]));
    /// let table = Ring::builder().nodes(nodes).build_table()?;
    /// let mut replicas = [None; 3];
    /// assert_eq!(table.zone_replicas(b"user:123456", &mut replicas), 3);
    /// let zones = replicas.map(|node| node.map(|node| node.info().zone()[0].as_str()));
    /// assert_ne!(zones[0], zones[1], "one of each zone first");
    /// assert_eq!(zones[2], Some("a"), "zone b has no second node");
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// That of [`replicas`](Self::replicas) for each level of labels. A level ends once all its zones were met, which is
    /// known from the table, so a zone that is gone costs nothing.
    pub fn zone_replicas<'t>(&'t self, key: &[u8], out: &mut [Option<&'t Node<T>>]) -> usize {
        self.fill_zones(self.start(key), out, |_| true)
    }

    /// As [`zone_replicas`](Self::zone_replicas), from a point.
    pub fn zone_replicas_at<'t>(&'t self, point: S::Point, out: &mut [Option<&'t Node<T>>]) -> usize {
        self.fill_zones(self.start_at(point), out, |_| true)
    }

    /// As [`zone_replicas`](Self::zone_replicas), without nodes that are [`State::Down`]; with them in panic, where states
    /// don't count.
    ///
    /// # Complexity
    /// That of [`zone_replicas`](Self::zone_replicas); where zones are wholly down, N + 64 points and each node's state are
    /// looked at before a level ends.
    pub fn healthy_zone_replicas<'t>(&'t self, key: &[u8], out: &mut [Option<&'t Node<T>>]) -> usize {
        self.healthy_zone_replicas_from(self.start(key), out)
    }

    /// As [`healthy_zone_replicas`](Self::healthy_zone_replicas), from a point.
    pub fn healthy_zone_replicas_at<'t>(&'t self, point: S::Point, out: &mut [Option<&'t Node<T>>]) -> usize {
        self.healthy_zone_replicas_from(self.start_at(point), out)
    }

    fn healthy_zone_replicas_from<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>]) -> usize {
        if self.is_in_panic() {
            return self.fill_zones(start, out, |_| true);
        }
        let takers = self.available(start, self.takers(false));
        let room = out.len().min(takers);
        self.fill_zones(start, &mut out[..room], |slot| self.is_open(slot))
    }

    /// The begin of a key's walk.
    #[inline]
    pub(crate) fn start(&self, key: &[u8]) -> Start {
        let first = self.pinned_slot_of(key);
        if self.scheme.probes().is_one() {
            return Start { first, ..self.start_at(self.scheme.key_point(key)) };
        }
        Start { first, rank: 0, hash: Some(self.scheme.key_hash(key)) }
    }

    /// The begin of a point's walk.
    #[inline]
    pub(crate) fn start_at(&self, point: S::Point) -> Start {
        Start { first: None, rank: self.rank_at(point).unwrap_or(0), hash: None }
    }

    /// The first step from `from` on whose slot is accepted, and that slot. `accept` is asked for a slot any number of
    /// times, so it must say the same each time, as far as that lies with it.
    ///
    /// Bounded as [`replicas`](Self::replicas) says: if N + 64 steps were in vain, all nodes are asked once; if none is
    /// accepted the walk ends there and not after P steps.
    #[inline]
    pub(crate) fn find(&self, start: Start, from: usize, accept: impl Fn(Slot) -> bool) -> Option<(usize, Slot)> {
        if from == 0
            && let Some(first) = start.first
            && accept(first)
        {
            return Some((0, first));
        }
        if self.is_probed(start) {
            return self.find_probed(start, from, &accept);
        }
        let (from, last) = (from.max(1), self.patience(from));
        if let Some(found) = self.scan(start, from, last, &accept) {
            return Some(found);
        }
        if last == self.len() { None } else { self.find_far(start, last + 1, &accept) }
    }

    /// The last step to try before all nodes are asked.
    #[inline]
    fn patience(&self, from: usize) -> usize {
        self.len().min(from.saturating_add(self.nodes.len() + PATIENCE))
    }

    /// The first of the steps from..=last, both from 1 to P, at whose slot `stop` says so.
    #[inline(always)]
    fn scan(
        &self,
        start: Start,
        from: usize,
        last: usize,
        mut stop: impl FnMut(Slot) -> bool,
    ) -> Option<(usize, Slot)> {
        if from > last {
            return None;
        }
        // One range of ranks, or two, if the steps go past the top of the circle.
        let points = self.points_array();
        let (rank, steps) = (self.rank_of(start, from), last - from + 1);
        let below_top = steps.min(points.len() - rank);
        if let Some((found, slot)) = points.find_slot(rank..rank + below_top, &mut stop) {
            return Some((from + (found - rank), slot));
        }
        if below_top == steps {
            return None;
        }
        let (found, slot) = points.find_slot(0..steps - below_top, &mut stop)?;
        Some((from + below_top + found, slot))
    }

    /// As [`find`](Self::find) from the begin, but with a look at points of so many different values only.
    pub(crate) fn find_within(&self, start: Start, values: u32, accept: impl Fn(Slot) -> bool) -> Option<Slot> {
        if let Some(first) = start.first
            && accept(first)
        {
            return Some(first);
        }
        if self.is_probed(start) {
            return self.find_probed_within(start, values, &accept);
        }
        self.rank_within(start.rank, values, &accept).map(|rank| self.points_array().slot(rank))
    }

    /// The rank of the first accepted point from `first` on, with a look at points of so many different values only.
    pub(super) fn rank_within(&self, first: usize, values: u32, accept: &impl Fn(Slot) -> bool) -> Option<usize> {
        let points = self.points_array();
        let (mut looked_at, mut before) = (0, None);
        for rank in (first..points.len()).chain(0..first.min(points.len())) {
            let point = points.point(rank);
            if before != Some(point) {
                if looked_at == values {
                    return None;
                }
                looked_at += 1;
                before = Some(point);
            }
            if accept(points.slot(rank)) {
                return Some(rank);
            }
        }
        None
    }

    /// The rank of a step, from 1 on.
    #[inline]
    fn rank_of(&self, start: Start, step: usize) -> usize {
        let rank = start.rank + (step - 1);
        if rank >= self.len() { rank.saturating_sub(self.len()) } else { rank }
    }

    #[cold]
    #[inline(never)]
    fn find_far(&self, start: Start, from: usize, accept: &dyn Fn(Slot) -> bool) -> Option<(usize, Slot)> {
        let (points, rank) = (self.points_array(), self.rank_of(start, from));
        let mut accepted = self.placed_slots().filter(|&slot| accept(slot));
        let Some(ranks) = &self.ranks else {
            accepted.next()?;
            // There is one, so this ends; and if its state changes meanwhile, with the last step.
            return (from..=points.len())
                .map(|step| (step, points.slot(self.rank_of(start, step))))
                .find(|s| accept(s.1));
        };
        let step = |slot| {
            let next = ranks.next(slot, rank)?;
            let ahead = if next >= rank { next - rank } else { next + points.len() - rank };
            (from + ahead <= points.len()).then_some((from + ahead, slot))
        };
        accepted.filter_map(step).min()
    }

    /// The slots of nodes with points.
    pub(super) fn placed_slots(&self) -> impl Iterator<Item = Slot> {
        (0..)
            .zip(&self.members[..])
            .filter(|(_, m)| m.as_ref().is_some_and(|m| m.points > 0))
            .map(|(n, _)| Slot::new(n))
    }

    #[inline]
    pub(super) fn is_placed(&self, slot: Slot) -> bool {
        self.members[slot.index()].as_ref().is_some_and(|member| member.points > 0)
    }

    /// How many distinct nodes a walk meets, given how many nodes with points it may.
    pub(super) fn available(&self, start: Start, placed: usize) -> usize {
        placed + usize::from(start.first.is_some_and(|slot| !self.is_placed(slot)))
    }

    #[inline]
    fn is_open(&self, slot: Slot) -> bool {
        self.nodes[slot.index()].health() != State::Down
    }

    #[inline]
    fn fill<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>], accept: impl Fn(Slot) -> bool) -> usize {
        let room = out.len().min(self.available(start, self.placed));
        self.fill_level(start, &mut out[..room], 0, Slot::number, accept)
    }

    /// As [`fill`](Self::fill) with all nodes, by a look at the next points as they lie, which nearly always are of
    /// different nodes: without a branch for each. Three replicas of 100 nodes took 12.5 ns instead of 16.5, of which the
    /// owner takes 3.5 (Xeon, Sapphire Rapids, 2026-11-30, `cargo bench --bench policy`).
    #[inline]
    fn fill_all<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>]) -> usize {
        let filled = match out.len() {
            _ if start.first.is_some() || self.is_probed(start) => false,
            1 => self.fill_next::<1>(start, out),
            2 => self.fill_next::<2>(start, out),
            3 => self.fill_next::<3>(start, out),
            4 => self.fill_next::<4>(start, out),
            5 => self.fill_next::<5>(start, out),
            _ => false,
        };
        if filled { out.len() } else { self.fill_any(start, out) }
    }

    #[inline(never)]
    fn fill_any<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>]) -> usize {
        self.fill(start, out, |_| true)
    }

    /// Fills `out` with the nodes of the next `K` points, if all are different.
    #[inline(always)]
    fn fill_next<'t, const K: usize>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>]) -> bool {
        let Some(slots) = self.points_array().slots::<K>(start.rank) else { return false };
        let mut equal = false;
        for (place, slot) in slots.iter().enumerate() {
            for other in &slots[..place] {
                equal |= slot == other;
            }
        }
        if equal {
            return false;
        }
        for (out, slot) in out.iter_mut().zip(slots) {
            *out = Some(&self.nodes[slot.index()]);
        }
        true
    }

    fn fill_zones<'t>(&'t self, start: Start, out: &mut [Option<&'t Node<T>>], accept: impl Fn(Slot) -> bool) -> usize {
        // Without labels each node is a zone of its own.
        let Some(zones) = &self.zones else { return self.fill(start, out, accept) };
        let room = out.len().min(self.available(start, self.placed));
        let mut found = 0;
        for level in 0..zones.depth() {
            let zone = |slot| zones.of(slot, level);
            // A level ends with its last zone that has points. A pin may lead to a node without any: it takes the place of
            // its zone's others if there are some, and else is one more than are counted.
            let is_counted = |slot| self.is_placed(slot) || zones.has_points(zone(slot));
            let chosen = || out[..found].iter().flatten().map(|node| self.slot_of_entry(node));
            let counted = || chosen().filter(|&slot| is_counted(slot)).map(zone);
            let used =
                counted().enumerate().filter(|(place, zone)| !counted().take(*place).any(|z| z == *zone)).count();
            let extra = usize::from(found == 0 && start.first.is_some_and(|slot| !is_counted(slot)));
            let end = room.min(found + extra + zones.distinct(level).saturating_sub(used));
            found = self.fill_level(start, &mut out[..end], found, zone, &accept);
        }
        self.fill_level(start, &mut out[..room], found, Slot::number, &accept)
    }

    /// Goes on to fill `out`, which has `found` nodes, with nodes whose `key` is that of no node in it. Returns how many
    /// there are then.
    #[inline(always)]
    fn fill_level<'t>(
        &'t self,
        start: Start,
        out: &mut [Option<&'t Node<T>>],
        found: usize,
        key: impl Fn(Slot) -> u32,
        accept: impl Fn(Slot) -> bool,
    ) -> usize {
        let mut filling = Filling::new(out, key, accept);
        for place in 0..found {
            let slot = filling.out[place].map_or_else(Slot::default, |node| self.slot_of_entry(node));
            filling.note(slot);
        }
        if filling.is_full() {
            return filling.found;
        }
        if let Some(first) = start.first {
            filling.offer(self, first);
        }
        if let Some(mut walk) = self.probing(start) {
            while !filling.is_full()
                && let Some((_, slot)) = walk.find(self, |slot| filling.fits(self, slot))
            {
                filling.offer(self, slot);
            }
            return filling.found;
        }
        let mut step = 1;
        while !filling.is_full() && step <= self.len() {
            let (before, last) = (filling.found, self.patience(step));
            if self.scan(start, step, last, |slot| filling.offer(self, slot)).is_some() {
                break;
            }
            step = last + 1;
            // A window in vain: whoever is left is far, or nobody.
            if filling.found == before {
                let Some((far, slot)) = self.find_far(start, step, &|slot| filling.fits(self, slot)) else { break };
                filling.offer(self, slot);
                step = far + 1;
            }
        }
        filling.found
    }

    /// The slot of an entry of this table's array of nodes.
    pub(super) fn slot_of_entry(&self, node: &Node<T>) -> Slot {
        let bytes = std::ptr::from_ref(node).addr() - self.nodes.as_ptr().addr();
        let place = bytes / size_of::<Node<T>>();
        debug_assert!(std::ptr::eq(&self.nodes[place], node), "a node of another table");
        Slot::new(position(place))
    }
}

/// How many steps a walk takes in vain, beside one for each node, before it asks all nodes.
pub(super) const PATIENCE: usize = 64;

/// How many of something that can't be more than there are nodes.
pub(super) fn at_most(count: u64) -> usize {
    index(u32::try_from(count).unwrap_or(u32::MAX))
}
