//! The second half of a change: the next table from a draft and the delta's payloads. Nothing here can fail.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::{Draft, Kind};
use super::recycle::{Changed, Recycler};
use super::{Table, fingerprints};
use crate::delta::{Change, Delta, Field};
use crate::error::{DeltaError, shown};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Limits, Node, NodeId, NodeSpec, Slot};

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
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Makes the table that `delta` turns this one into; `None` if the delta changes nothing. This table stays as it is;
    /// both share the nodes that don't change.
    ///
    /// The result is the table that building from its nodes gives: the same points with the same nodes in the same
    /// order, the same fingerprints, whatever the history. A [`Writer`](crate::Writer) publishes tables made this way;
    /// used directly it is a dry run.
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

    fn finish(&self, draft: Draft<S, L>, delta: Delta<T>) -> Applied<T, S, L> {
        let Draft { touched, members, by_id, list, layout, apart, reordered, changed } = draft;

        let mut payloads: HashMap<Slot, Arc<T>> = HashMap::with_capacity(touched.slots.len());
        for (change, &slot) in delta.into_changes().into_iter().zip(&touched.slots) {
            if let Change::Add(NodeSpec { payload, .. }) | Change::Set { field: Field::Payload(payload), .. } = change {
                payloads.insert(slot, Arc::new(payload));
            }
        }
        let node_at = |slot: Slot| match touched.get(slot) {
            None => self.nodes[slot.index()].clone(),
            Some(node) => {
                let payload = payloads.get(&slot).unwrap_or_else(|| self.nodes[slot.index()].shared_payload());
                Node::new(Arc::clone(&node.info), Arc::clone(payload))
            }
        };
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
        let (placement, spec) = fingerprints(&self.scheme, live.iter().copied());
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
            },
        }
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
