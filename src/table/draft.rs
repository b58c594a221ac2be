//! The checked first half of a change: everything of the next table that can fail, computed by reference, so that a
//! refused or panicking change leaves the delta and the table as they were.
//!
//! The steps, each of which looks at everything that the next one takes for granted:
//! 1. the delta in itself, then each change against the table: which slots, which new node descriptions;
//! 2. the list of nodes after the change, in the order that counts, and its length;
//! 3. the scheme's assignment to that list, and the total of points: nothing is hashed before that is within the limit;
//! 4. the points of nodes whose seed or number changed: only those are hashed;
//! 5. the merge, and the layout of what it gives.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::boundary::{Apart, nearest};
use super::merge::{MergeError, Placed, merge, reorder_ties, sort};
use super::probes::check_probes;
use super::recycle::{Changed, Recycler};
use super::{Member, Table, tie_ranks};
use crate::delta::{Change, Delta, Field};
use crate::error::{DeltaError, shown};
use crate::hash::{Assignment, Digest, Digester, MatchRule, Scheme, node_spec_digest};
use crate::layout::{Layout, PointArray};
use crate::node::{Limits, NodeInfo, Slot};
use crate::point::{index, position};

/// The next table, but for its nodes' payloads.
pub(super) struct Draft<S: Scheme, L> {
    pub(super) touched: Touched,
    pub(super) members: Box<[Option<Member<S::Seed>>]>,
    pub(super) by_id: Box<[Slot]>,
    pub(super) list: Option<Box<[Slot]>>,
    pub(super) layout: L,
    pub(super) apart: Option<Box<Apart<S::Point>>>,
    /// Whether equal points changed their order, which `changed` doesn't tell.
    pub(super) reordered: bool,
    pub(super) changed: Changed<S::Point>,
}

/// A node's tie rank and assignment.
type Ranked<S> = (u32, Assignment<<S as Scheme>::Seed>);

/// What the changes of a delta do to slots.
pub(super) struct Touched {
    /// The slot of each change, in the order of the delta's changes.
    pub(super) slots: Vec<Slot>,
    nodes: Vec<(Slot, TouchedNode)>,
    /// By slot, the place in `nodes`, or [`UNTOUCHED`]. An array, since every slot of the table is asked for several times
    /// in a commit: a hash map took a sixth of the instructions of a commit to 1,000 nodes.
    places: Vec<u32>,
}

const UNTOUCHED: u32 = u32::MAX;

pub(super) struct TouchedNode {
    pub(super) info: Arc<NodeInfo>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Added,
    Removed,
    /// Description or payload really differ.
    Changed,
    /// Every field was set to what it was.
    Same,
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Computes what `delta` makes of this table; `None` if it changes nothing.
    pub(super) fn draft(
        &self,
        delta: &Delta<T>,
        limits: &Limits,
        recycler: &mut Recycler<S::Point, L>,
    ) -> Result<Option<Draft<S, L>>, DeltaError> {
        self.draft_of(delta, limits, recycler, None)
    }

    /// As [`draft`](Self::draft); if `known` points are given they are taken for those of all nodes together, each with its
    /// node's place in the order that counts, and no label is hashed.
    pub(super) fn draft_of(
        &self,
        delta: &Delta<T>,
        limits: &Limits,
        recycler: &mut Recycler<S::Point, L>,
        known: Option<&[(S::Point, u32)]>,
    ) -> Result<Option<Draft<S, L>>, DeltaError> {
        if delta.len() > index(limits.changes()) {
            return Err(DeltaError::TooManyChanges { changes: delta.len(), limit: index(limits.changes()) });
        }
        let touched = self.touch(delta, limits)?;
        let by_id = self.next_by_id(&touched);
        let limit = index(limits.nodes());
        if by_id.len() > limit {
            return Err(DeltaError::TooManyNodes { nodes: by_id.len(), limit });
        }
        let list = self.next_list(delta, &touched, &by_id)?;
        let canonical = list.as_deref().unwrap_or(&by_id);

        // What is restored may have pins that sleep.
        if let Some(pins) = delta.pins().filter(|_| known.is_none()) {
            let ids: HashSet<&[u8]> =
                by_id.iter().map(|&slot| self.info_after(slot, &touched).id().as_bytes()).collect();
            if let Some(id) = pins.nodes().find(|id| !ids.contains(id.as_bytes())) {
                return Err(DeltaError::PinnedToNobody { id: shown(id.as_str()) });
            }
        }
        let same_pins = delta.pins().is_none_or(|pins| pins == self.pins());

        let assigned = self.assign(canonical, &touched, limits)?;
        let same_rest = list == self.list && same_pins;
        let members = self.next_members(canonical, &touched, assigned);
        let changes = Changes::find(self, &members);
        if same_rest && changes.is_empty() && touched.nodes.iter().all(|(_, node)| node.kind == Kind::Same) {
            return Ok(None);
        }

        let (removed, added) = match known {
            None => self.hash_changes(&changes, &members, &touched)?,
            Some(known) => (Vec::new(), self.place_known(known, canonical, &members)?),
        };
        let new_rank = |slot: Slot| members[slot.index()].as_ref().map_or(u32::MAX, |member| member.rank);
        let next_len = self.len().saturating_sub(removed.len()) + added.len();
        let failed = |error| match error {
            MergeError::OutOfMemory => DeltaError::OutOfMemory { points: next_len },
            MergeError::Missing(slot) => self.not_pure(Some(self.nodes[slot.index()].info())),
        };
        let changed = Changed::of(&removed, &added).map_err(|error| failed(error.into()))?;
        let reordered = self.survivors_reordered(canonical, &members);
        let merge = |used| {
            let points = self.points_array();
            // A layout of boundaries has other ranks than the points.
            let rank = |point| if self.apart.is_some() { points.rank(point) } else { self.layout.rank(point) };
            merge(points, rank, (&removed, &added), new_rank, used)
        };
        let (layout, apart) = self.next_layout(merge, new_rank, reordered, &changed, recycler).map_err(failed)?;
        Ok(Some(Draft { touched, members, by_id, list, layout, apart, reordered, changed }))
    }

    /// Step 5: the merged points and their layout, which is over their boundaries if there are points apart.
    #[expect(clippy::type_complexity, reason = "two parts of a table, named there")]
    fn next_layout(
        &self,
        merge: impl FnOnce(PointArray<S::Point>) -> Result<PointArray<S::Point>, MergeError>,
        new_rank: impl Fn(Slot) -> u32,
        reordered: bool,
        changed: &Changed<S::Point>,
        recycler: &mut Recycler<S::Point, L>,
    ) -> Result<(L, Option<Box<Apart<S::Point>>>), MergeError> {
        // Built anew, as there is nothing to patch by: the edit doesn't say which equal points changed places, nor that a
        // point that comes or goes moves its neighbour's boundary.
        let ordered = |points| if reordered { reorder_ties(&points, new_rank) } else { Ok(points) };
        let layout = match self.scheme.match_rule() {
            MatchRule::Nearest => {
                let (boundaries, apart) = nearest(ordered(merge(PointArray::empty())?)?)?;
                return Ok((L::try_build(boundaries)?, Some(Box::new(apart))));
            }
            MatchRule::AtOrAfter | MatchRule::After if reordered => {
                L::try_build(ordered(merge(PointArray::empty())?)?)?
            }
            MatchRule::AtOrAfter | MatchRule::After => match recycler.take(self.version) {
                Some((spare, mut edits)) => {
                    edits.push(changed.edit());
                    self.layout.try_recycle(spare, &edits, merge)?
                }
                None => self.layout.try_patch(merge(PointArray::empty())?, &changed.edit())?,
            },
        };
        Ok((layout, None))
    }

    /// Step 1: resolves each change to a slot and the node's next description.
    fn touch(&self, delta: &Delta<T>, limits: &Limits) -> Result<Touched, DeltaError> {
        delta.check()?;
        // A slot that this delta empties isn't filled again by it: within one edit a slot means one node.
        let mut vacant = (0..).zip(&self.members[..]).filter(|(_, member)| member.is_none()).map(|(number, _)| number);
        let places = vec![UNTOUCHED; self.members.len()];
        let mut touched = Touched { slots: Vec::with_capacity(delta.len()), nodes: Vec::new(), places };
        for change in delta.changes() {
            let id = change.id();
            let known = self.slot_of(id);
            let slot = match (change, known) {
                (Change::Add(_), Some(_)) => return Err(DeltaError::DuplicateId { id: shown(id) }),
                (Change::Add(spec), None) => {
                    let slot = Slot::new(vacant.next().unwrap_or(position(touched.places.len())));
                    touched.insert(slot, TouchedNode { info: Arc::new(spec.info.clone()), kind: Kind::Added });
                    slot
                }
                (_, None) => return Err(DeltaError::UnknownId { id: shown(id) }),
                (Change::Remove { .. }, Some(slot)) => {
                    let info = Arc::clone(self.nodes[slot.index()].shared_info());
                    touched.insert(slot, TouchedNode { info, kind: Kind::Removed });
                    slot
                }
                (Change::Set { field, .. }, Some(slot)) => {
                    let old = self.nodes[slot.index()].shared_info();
                    let unchanged = || TouchedNode { info: Arc::new(NodeInfo::clone(old)), kind: Kind::Same };
                    let node = touched.get_or_insert_with(slot, unchanged);
                    // Not shared yet, so this never clones.
                    set_field(Arc::make_mut(&mut node.info), field);
                    if matches!(field, Field::Payload(_)) {
                        node.kind = Kind::Changed;
                    }
                    slot
                }
            };
            touched.slots.push(slot);
        }
        for (slot, node) in &mut touched.nodes {
            if node.kind != Kind::Removed {
                node.info.check(limits)?;
            }
            if node.kind == Kind::Same && node.info != *self.nodes[slot.index()].shared_info() {
                node.kind = Kind::Changed;
            }
        }
        Ok(touched)
    }

    /// Step 2: the slots after the change, by id.
    fn next_by_id(&self, touched: &Touched) -> Box<[Slot]> {
        let mut added: Vec<(&[u8], Slot)> =
            touched.of_kind(Kind::Added).map(|(slot, node)| (node.info.id().as_bytes(), slot)).collect();
        added.sort_unstable();
        let mut by_id = Vec::with_capacity(self.by_id.len() + added.len());
        let mut copied = 0;
        for (id, slot) in added {
            // Few are added to many, so searching for their places beats comparing along.
            let rest = &self.by_id[copied..];
            let place = copied + rest.partition_point(|slot| self.nodes[slot.index()].id().as_bytes() < id);
            by_id.extend_from_slice(&self.by_id[copied..place]);
            by_id.push(slot);
            copied = place;
        }
        by_id.extend_from_slice(&self.by_id[copied..]);
        by_id.retain(|&slot| touched.stays(slot));
        by_id.into()
    }

    /// Step 2: the slots after the change, in list order; `None` if the scheme doesn't read it.
    fn next_list(
        &self,
        delta: &Delta<T>,
        touched: &Touched,
        by_id: &[Slot],
    ) -> Result<Option<Box<[Slot]>>, DeltaError> {
        let ordered = match delta.order() {
            None => None,
            Some(order) => Some(self.resolve_order(order, touched, by_id)?),
        };
        let Some(list) = &self.list else { return Ok(None) };
        if ordered.is_some() {
            return Ok(ordered);
        }
        let stays = list.iter().copied().filter(|&slot| touched.stays(slot));
        let comes = delta.changes().iter().zip(&touched.slots).filter(|(change, _)| matches!(change, Change::Add(_)));
        Ok(Some(stays.chain(comes.map(|(_, &slot)| slot)).collect()))
    }

    fn resolve_order(&self, order: &[String], touched: &Touched, by_id: &[Slot]) -> Result<Box<[Slot]>, DeltaError> {
        let mut open: HashMap<&str, Slot> =
            by_id.iter().map(|&slot| (self.info_after(slot, touched).id().as_str(), slot)).collect();
        let list = order
            .iter()
            .map(|id| open.remove(id.as_str()).ok_or_else(|| DeltaError::OrderMismatch { id: shown(id) }))
            .collect::<Result<_, _>>()?;
        match open.keys().min() {
            Some(missing) => Err(DeltaError::OrderMismatch { id: shown(missing) }),
            None => Ok(list),
        }
    }

    fn info_after<'a>(&'a self, slot: Slot, touched: &'a Touched) -> &'a NodeInfo {
        match touched.get(slot) {
            Some(node) => &node.info,
            None => self.nodes[slot.index()].info(),
        }
    }

    /// Step 3: asks the scheme, and checks the total before any point is computed.
    fn assign(&self, canonical: &[Slot], touched: &Touched, limits: &Limits) -> Result<Vec<Ranked<S>>, DeltaError> {
        let infos: Vec<&NodeInfo> = canonical.iter().map(|&slot| self.info_after(slot, touched)).collect();
        let mut assigned = Vec::with_capacity(infos.len());
        check_probes(&self.scheme)?;
        self.scheme.assign(&infos, &mut assigned)?;
        if assigned.len() != infos.len() {
            return Err(self.not_pure(None));
        }
        let limit = u64::from(limits.points());
        let mut total: u64 = 0;
        for (info, assignment) in infos.iter().zip(&assigned) {
            total = total.saturating_add(assignment.points);
            if total > limit {
                return Err(DeltaError::TooManyPoints { id: shown(info.id().as_str()), points: total, limit });
            }
        }
        let ties: Vec<u32> = assigned.iter().map(|assignment| assignment.tie).collect();
        Ok(tie_ranks(&ties).into_iter().zip(assigned).collect())
    }

    fn next_members(
        &self,
        canonical: &[Slot],
        touched: &Touched,
        assigned: Vec<Ranked<S>>,
    ) -> Box<[Option<Member<S::Seed>>]> {
        let mut members: Vec<Option<Member<S::Seed>>> = Vec::new();
        members.resize_with(touched.places.len(), || None);
        for (&slot, (rank, Assignment { seed, points, tie: _ })) in canonical.iter().zip(assigned) {
            let old = self.members.get(slot.index()).and_then(Option::as_ref);
            let (placement, spec) = match (old, touched.get(slot)) {
                (Some(old), None) => (old.placement, old.spec),
                (Some(old), Some(node)) if node.kind == Kind::Same => (old.placement, old.spec),
                (_, Some(node)) => self.digests(&node.info),
                (None, None) => unreachable!("a slot is in the new order because it was live or is touched"),
            };
            // Within the limit of points, which is a u32.
            let points = u32::try_from(points).unwrap_or(u32::MAX);
            members[slot.index()] = Some(Member { seed, points, rank, placement, spec });
        }
        // So that a ring that was large once doesn't pay for it for ever.
        let last_live = members.iter().rposition(Option::is_some);
        members.truncate(last_live.map_or(0, |last| last + 1));
        members.into()
    }

    pub(super) fn digests(&self, info: &NodeInfo) -> (Digest, Digest) {
        let mut counts = Vec::new();
        self.scheme.placement_bytes(info, &mut counts);
        let placement = Digester::placement_node().text(info.id().as_bytes()).text(&counts).digest();
        (placement, node_spec_digest(info))
    }

    /// Step 4: the points that go and come, each list in (point, rank) order.
    #[expect(clippy::type_complexity, reason = "two lists of one kind; a name would say less")]
    fn hash_changes(
        &self,
        changes: &Changes,
        members: &[Option<Member<S::Seed>>],
        touched: &Touched,
    ) -> Result<(Vec<Placed<S::Point>>, Vec<Placed<S::Point>>), DeltaError> {
        let list = |ranges: &[Labels], members: &[Option<Member<S::Seed>>], old: bool| {
            let total: usize = ranges.iter().map(|labels| index(labels.to - labels.from)).sum();
            let mut placed = Vec::new();
            let mut hashed = Vec::new();
            let memory = DeltaError::OutOfMemory { points: total };
            placed.try_reserve_exact(total).map_err(|_| memory.clone())?;
            for &Labels { slot, from, to } in ranges {
                let Some(member) = &members[slot.index()] else { continue };
                let info = if old { self.nodes[slot.index()].info() } else { self.info_after(slot, touched) };
                hashed.clear();
                hashed.try_reserve(index(to - from)).map_err(|_| memory.clone())?;
                self.scheme.points(info.id(), &member.seed, from..to, &mut hashed);
                if hashed.len() != index(to - from) {
                    return Err(self.not_pure(Some(info)));
                }
                placed.extend(hashed.iter().map(|&point| Placed { point, rank: member.rank, slot }));
            }
            sort(&mut placed);
            Ok(placed)
        };
        Ok((list(&changes.removed, &self.members, true)?, list(&changes.added, members, false)?))
    }

    /// Step 4, of points that are known: as many for each node as its scheme says, in (point, rank) order.
    fn place_known(
        &self,
        known: &[(S::Point, u32)],
        canonical: &[Slot],
        members: &[Option<Member<S::Seed>>],
    ) -> Result<Vec<Placed<S::Point>>, DeltaError> {
        let mut placed = Vec::new();
        placed.try_reserve_exact(known.len()).map_err(|_| DeltaError::OutOfMemory { points: known.len() })?;
        let mut left: Vec<u32> = members.iter().map(|member| member.as_ref().map_or(0, |m| m.points)).collect();
        for &(point, place) in known {
            let slot = canonical.get(index(place)).copied();
            let Some((slot, member)) = slot.and_then(|slot| Some((slot, members[slot.index()].as_ref()?))) else {
                return Err(self.not_pure(None));
            };
            let count = &mut left[slot.index()];
            *count = count.checked_sub(1).ok_or_else(|| self.not_pure(None))?;
            placed.push(Placed { point, rank: member.rank, slot });
        }
        let in_order = placed.is_sorted_by_key(|placed| (placed.point, placed.rank));
        if in_order && left.iter().all(|&count| count == 0) { Ok(placed) } else { Err(self.not_pure(None)) }
    }

    /// Whether nodes of both tables changed their relative order of ties.
    fn survivors_reordered(&self, canonical: &[Slot], members: &[Option<Member<S::Seed>>]) -> bool {
        let rank = |members: &[Option<Member<S::Seed>>], slot: Slot| {
            members.get(slot.index()).and_then(Option::as_ref).map(|member| member.rank)
        };
        let mut both: Vec<(u32, u32)> =
            canonical.iter().filter_map(|&slot| rank(&self.members, slot).zip(rank(members, slot))).collect();
        if !both.is_sorted() {
            both.sort_unstable();
        }
        !both.is_sorted_by_key(|&(_, new)| new)
    }

    fn not_pure(&self, info: Option<&NodeInfo>) -> DeltaError {
        let id = info.map(|info| shown(info.id().as_str()));
        DeltaError::SchemeNotPure { scheme: self.scheme.id().to_owned(), id }
    }
}

impl Touched {
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&TouchedNode> {
        let place = *self.places.get(slot.index())?;
        self.nodes.get(index(place)).map(|(_, node)| node)
    }

    fn insert(&mut self, slot: Slot, node: TouchedNode) -> &mut TouchedNode {
        if self.places.len() <= slot.index() {
            self.places.resize(slot.index() + 1, UNTOUCHED);
        }
        let place = self.nodes.len();
        self.places[slot.index()] = position(place);
        self.nodes.push((slot, node));
        &mut self.nodes[place].1
    }

    fn get_or_insert_with(&mut self, slot: Slot, make: impl FnOnce() -> TouchedNode) -> &mut TouchedNode {
        match self.places.get(slot.index()) {
            Some(&place) if place != UNTOUCHED => &mut self.nodes[index(place)].1,
            _ => self.insert(slot, make()),
        }
    }

    fn stays(&self, slot: Slot) -> bool {
        self.get(slot).is_none_or(|node| node.kind != Kind::Removed)
    }

    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (Slot, &TouchedNode)> {
        self.nodes.iter().filter(move |(_, node)| node.kind == kind).map(|(slot, node)| (*slot, node))
    }
}

fn set_field<T>(info: &mut NodeInfo, field: &Field<T>) {
    match field {
        Field::Weight(weight) => info.weight = *weight,
        Field::ActivePoints(points) => info.active_points = *points,
        Field::Address(address) => info.address.clone_from(address),
        Field::Zone(zone) => info.zone.clone_from(zone),
        Field::Attributes(attributes) => info.attributes.clone_from(attributes),
        Field::State(state) => info.state = *state,
        Field::Payload(_) => {}
    }
}

/// Numbers `from..to` of a slot's sequence of points.
struct Labels {
    slot: Slot,
    from: u32,
    to: u32,
}

/// Which points of which slots go and come.
struct Changes {
    removed: Vec<Labels>,
    added: Vec<Labels>,
}

impl Changes {
    fn find<T, S: Scheme, L: Layout<S::Point>>(old: &Table<T, S, L>, members: &[Option<Member<S::Seed>>]) -> Self {
        let mut changes = Self { removed: Vec::new(), added: Vec::new() };
        for number in 0..old.members.len().max(members.len()) {
            let slot = Slot::new(position(number));
            let before = old.members.get(number).and_then(Option::as_ref);
            let after = members.get(number).and_then(Option::as_ref);
            let had = before.map_or(0, |member| member.points);
            let has = after.map_or(0, |member| member.points);
            match (before, after) {
                // The same sequence: only its end moves. (A slot isn't handed on within a change, so it's the same node.)
                (Some(before), Some(after)) if before.seed == after.seed => {
                    changes.push(slot, has..had, had..has);
                }
                _ => changes.push(slot, 0..had, 0..has),
            }
        }
        changes
    }

    fn push(&mut self, slot: Slot, gone: std::ops::Range<u32>, new: std::ops::Range<u32>) {
        for (list, range) in [(&mut self.removed, gone), (&mut self.added, new)] {
            if !range.is_empty() {
                list.push(Labels { slot, from: range.start, to: range.end });
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}
