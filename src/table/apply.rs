//! The second half of a change: the next table from a draft and the delta's payloads. Nothing here can fail.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::{Draft, Kind, Touched};
use super::pinned::Pinned;
use super::ranks::Ranks;
use super::recycle::{Changed, Recycler};
use super::zones::Zones;
use super::{Member, Table, fingerprints};
use crate::delta::{Change, Delta, Field};
use crate::error::{DeltaError, shown};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Census, Limits, Node, NodeId, NodeSpec, NodeState, Slot, Turnover};
use crate::point::position;

/// The table that a delta made, and what the delta did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Applied<T, S: Scheme, L: Layout<S::Point>> {
    /// The next table, with the version after this one's.
    pub table: Table<T, S, L>,
    /// Nodes that came, in the order of their ids' bytes.
    pub added: Vec<NodeId>,
    /// Nodes that went, likewise.
    pub removed: Vec<NodeId>,
    /// Nodes whose description or payload changed, likewise.
    pub changed: Vec<NodeId>,
    /// How many points came.
    pub points_added: usize,
    /// How many points went.
    pub points_removed: usize,
    /// The same points, for the next table's recycling; `None` if others changed their order.
    pub(crate) points_changed: Option<Changed<S::Point>>,
    turnover: Vec<Turnover>,
}

/// The half of a change that can fail, done.
pub(crate) struct Drafted<S: Scheme, L>(Draft<S, L>);

/// What a table changed in its ring's live sums.
pub(crate) struct Enrolled {
    census: Arc<Census>,
    before: Vec<Turnover>,
}

impl Enrolled {
    /// Makes the sums what they were: the table isn't published after all. The one that is takes none of them for its own
    /// until the next commit, which costs time and no answer.
    pub(crate) fn revoke(&self) {
        self.census.enrol(&self.before);
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Applied<T, S, L> {
    /// The table, made the newest of its ring: from now on it is what live states count for. Until then a table is a dry
    /// run, and changes nobody's state. Called right before the table is published.
    pub(crate) fn enrolled(mut self) -> Table<T, S, L> {
        self.enrol();
        self.table
    }

    /// As [`enrolled`](Self::enrolled), in place.
    pub(crate) fn enrol(&mut self) {
        self.table.all_up = self.table.census.enrol(&self.turnover);
        self.turnover.clear();
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Makes the table that `delta` turns this one into; `None` if the delta changes nothing. This table stays as it is;
    /// both share the nodes that don't change.
    ///
    /// The result is the table that building from its nodes gives: the same points with the same nodes in the same
    /// order, the same fingerprints, whatever the history. A [`Writer`](crate::Writer) publishes tables made this way;
    /// used directly it is a dry run, which sets no live state: nodes that stay have the state they have, nodes that come
    /// have the configured one, and count for nothing in the ring.
    ///
    /// # Errors
    /// Hands the delta back with the reason: see [`DeltaError`]. Everything is checked before anything is built.
    ///
    /// # Complexity
    /// O(P + N + k log k) for k changed points. Points of nodes that don't change are copied, never hashed or sorted.
    #[expect(clippy::type_complexity, reason = "a table or nothing, or the delta back with the reason")]
    pub fn apply(&self, delta: Delta<T>, limits: &Limits) -> Result<Option<Applied<T, S, L>>, (DeltaError, Delta<T>)> {
        self.apply_within(delta, limits, &mut Recycler::new())
    }

    /// As [`apply`](Self::apply), in the memory of a table that was replaced, if `recycler` has one.
    #[expect(clippy::type_complexity, reason = "as above")]
    pub(crate) fn apply_within(
        &self,
        delta: Delta<T>,
        limits: &Limits,
        recycler: &mut Recycler<S::Point, L>,
    ) -> Result<Option<Applied<T, S, L>>, (DeltaError, Delta<T>)> {
        match self.draft(&delta, limits, recycler) {
            Ok(Some(draft)) => Ok(Some(self.finish(draft, delta))),
            Ok(None) => Ok(None),
            Err(error) => Err((error, delta)),
        }
    }

    /// As [`apply`](Self::apply) to an empty table, of nodes whose points are known.
    pub(super) fn apply_known(
        &self,
        delta: Delta<T>,
        limits: &Limits,
        known: &[(S::Point, u32)],
    ) -> Result<Option<Applied<T, S, L>>, DeltaError> {
        debug_assert!(self.members.is_empty(), "no node has points that go");
        let draft = self.draft_of(&delta, limits, &mut Recycler::new(), Some(known))?;
        Ok(draft.map(|draft| self.finish(draft, delta)))
    }

    /// Checks a batch and does what can fail of it, by reference; `None` if it changes nothing.
    pub(crate) fn drafted(&self, delta: &Delta<T>, limits: &Limits) -> Result<Option<Drafted<S, L>>, DeltaError> {
        Ok(self.draft(delta, limits, &mut Recycler::new())?.map(Drafted))
    }

    /// Makes the table of a batch that was [`drafted`](Self::drafted), the newest of its ring, with what undoes that.
    pub(crate) fn finished(&self, Drafted(draft): Drafted<S, L>, delta: Delta<T>) -> (Self, Enrolled) {
        let applied = self.finish(draft, delta);
        let before = applied.turnover.iter().map(Turnover::back).collect();
        let enrolled = Enrolled { census: Arc::clone(&self.census), before };
        (applied.enrolled(), enrolled)
    }

    fn finish(&self, draft: Draft<S, L>, delta: Delta<T>) -> Applied<T, S, L> {
        let Draft { touched, members, by_id, list, layout, apart, reordered, changed } = draft;

        let pins = delta.pins().cloned();
        let mut payloads: HashMap<Slot, Arc<T>> = HashMap::with_capacity(touched.slots.len());
        for (change, &slot) in delta.into_changes().into_iter().zip(&touched.slots) {
            if let Change::Add(NodeSpec { payload, .. }) | Change::Set { field: Field::Payload(payload), .. } = change {
                payloads.insert(slot, Arc::new(payload));
            }
        }
        let states: HashMap<Slot, Arc<NodeState>> = touched
            .of_kind(Kind::Added)
            .map(|(slot, node)| (slot, Arc::new(NodeState::new(&self.census, node.info.state()))))
            .collect();
        let node_at = |slot: Slot| match touched.get(slot) {
            None => self.nodes[slot.index()].clone(),
            Some(node) => {
                let payload = payloads.get(&slot).unwrap_or_else(|| self.nodes[slot.index()].shared_payload());
                let state = match states.get(&slot) {
                    Some(state) => state,
                    None => self.nodes[slot.index()].state(),
                };
                Node::new(Arc::clone(&node.info), Arc::clone(payload), Arc::clone(state))
            }
        };
        let turnover = self.turnover(&touched, &members, &states);
        let labels = |slot: Slot| match touched.get(slot) {
            None => self.nodes[slot.index()].info(),
            Some(node) => &*node.info,
        };
        // A node that only changed in another field is looked at for nothing.
        let relabelled = |slot: Slot| touched.get(slot).is_some_and(|node| node.kind != Kind::Same);
        let zones = Zones::next(self.zones.as_ref(), &self.members, &members, relabelled, labels);
        let points = apart.as_ref().map_or_else(|| layout.points(), |apart| &apart.points);
        let ranks = self.options.bounded_walks.then(|| Ranks::new(points, &members));
        let pinned = Pinned::new(pins.as_ref().unwrap_or(self.pins()), |id| {
            let place = by_id.binary_search_by(|&slot| labels(slot).id().cmp(id));
            place.ok().map(|place| by_id[place])
        });
        // T3: a vacant slot holds a clone of some live node, never one that was removed.
        let filler = by_id.first().map(|&slot| node_at(slot));
        let nodes = (0..)
            .zip(&members[..])
            .filter_map(
                |(number, member)| if member.is_some() { Some(node_at(Slot::new(number))) } else { filler.clone() },
            )
            .collect();

        let ids = |kind| {
            let mut ids: Vec<NodeId> = touched.of_kind(kind).map(|(_, node)| node.info.id().clone()).collect();
            ids.sort_unstable();
            ids
        };
        let live = list.as_deref().unwrap_or(&by_id).iter();
        let live: Vec<_> = live.filter_map(|slot| members[slot.index()].as_ref()).collect();
        let placed = live.iter().filter(|member| member.points > 0).count();
        let (placement, spec) = fingerprints(&self.scheme, live.iter().copied(), pins.as_ref().unwrap_or(self.pins()));
        Applied {
            added: ids(Kind::Added),
            removed: ids(Kind::Removed),
            changed: ids(Kind::Changed),
            points_added: changed.added.len(),
            points_removed: changed.removed.len(),
            points_changed: (!reordered && apart.is_none()).then_some(changed),
            table: Self {
                layout,
                apart,
                nodes,
                scheme: self.scheme.clone(),
                members,
                by_id,
                list,
                version: self.version + 1,
                placement,
                spec,
                placed,
                zones,
                ranks,
                pinned,
                options: self.options,
                census: Arc::clone(&self.census),
                all_up: Census::NEVER,
            },
            turnover,
        }
    }

    /// What enrolling the next table will change in the census.
    fn turnover(
        &self,
        touched: &Touched,
        members: &[Option<Member<S::Seed>>],
        states: &HashMap<Slot, Arc<NodeState>>,
    ) -> Vec<Turnover> {
        let placed = |member: Option<&Member<S::Seed>>| member.is_some_and(|member| member.points > 0);
        let turn = |number| {
            let slot = Slot::new(number);
            let old = self.members.get(slot.index()).and_then(Option::as_ref);
            let new = members.get(slot.index()).and_then(Option::as_ref);
            let node = touched.get(slot).filter(|node| node.kind != Kind::Same);
            // Schemes may give points to nodes that no change names, or take them.
            if node.is_none() && placed(old) == placed(new) {
                return None;
            }
            let before = self.nodes.get(slot.index()).filter(|_| old.is_some());
            let info = node.map_or_else(|| before.map(Node::info), |node| Some(&*node.info))?;
            let state = states.get(&slot).or(before.map(Node::state))?;
            Some(Turnover {
                state: Arc::clone(state),
                member: new.is_some(),
                placed: placed(new),
                weight: info.weight(),
                health: before.filter(|before| before.info().state() != info.state()).map(|_| info.state()),
            })
        };
        (0..position(self.members.len().max(members.len()))).filter_map(turn).collect()
    }

    /// Turns a full list of nodes, such as service discovery hands over, into the delta that leads from this table to
    /// exactly that list. `same_payload` says whether an old and a new payload are the same.
    ///
    /// # Errors
    /// [`DeltaError::DuplicateId`] if the list names an id twice. Everything else is checked when the delta is applied.
    pub fn delta_to(
        &self,
        nodes: impl IntoIterator<Item = NodeSpec<T>>,
        mut same_payload: impl FnMut(&T, &T) -> bool,
    ) -> Result<Delta<T>, DeltaError> {
        let mut delta = Delta::new();
        let mut listed: HashMap<NodeId, ()> = HashMap::new();
        let mut order = Vec::new();
        let order_free = self.scheme.order_free();
        for spec in nodes {
            let id = spec.info.id.clone();
            if listed.insert(id.clone(), ()).is_some() {
                return Err(DeltaError::DuplicateId { id: shown(id.as_str()) });
            }
            if !order_free {
                order.push(id.as_str().to_owned());
            }
            let Some(old) = self.node(id.as_str()) else {
                delta.push(Change::Add(spec));
                continue;
            };
            let NodeSpec { info, payload } = spec;
            let mut set = |field| delta.push(Change::Set { id: id.as_str().to_owned(), field });
            if info.weight != old.info().weight {
                set(Field::Weight(info.weight));
            }
            if info.active_points != old.info().active_points {
                set(Field::ActivePoints(info.active_points));
            }
            if info.address != old.info().address {
                set(Field::Address(info.address));
            }
            if info.zone != old.info().zone {
                set(Field::Zone(info.zone));
            }
            if info.attributes != old.info().attributes {
                set(Field::Attributes(info.attributes));
            }
            if info.state != old.info().state {
                set(Field::State(info.state));
            }
            if !same_payload(old.payload(), &payload) {
                set(Field::Payload(payload));
            }
        }
        let gone = self.nodes().map(Node::id).filter(|id| !listed.contains_key(id.as_str()));
        delta.extend(gone.map(|id| Change::Remove { id: id.as_str().to_owned() }).collect::<Vec<_>>());
        Ok(if order_free { delta } else { delta.with_order(order) })
    }
}
