//! What is wanted of each node beyond what is published.

use std::collections::BTreeMap;

use super::unknown;
use crate::delta::{Change, Delta, Field};
use crate::error::{DeltaError, shown};
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{NodeSpec, State};
use crate::pins::Pins;
use crate::table::Table;

/// What is wanted of one node.
#[derive(Clone)]
pub(super) enum Net<T> {
    /// It isn't there.
    Add(NodeSpec<T>),
    /// It is there, and left and came back.
    Replace(NodeSpec<T>),
    /// It is there.
    Set(Vec<Field<T>>),
    /// It is there.
    Remove,
}

impl<T: Clone> Net<T> {
    /// The change as entries of a batch.
    pub(super) fn changes(&self, id: &str) -> Vec<Change<T>> {
        let set = |field: Field<T>| Change::Set { id: id.to_owned(), field };
        match self {
            Self::Add(spec) => vec![Change::Add(spec.clone())],
            Self::Replace(spec) => fields(spec.clone()).into_iter().map(set).collect(),
            Self::Set(fields) => fields.iter().cloned().map(set).collect(),
            Self::Remove => vec![Change::Remove { id: id.to_owned() }],
        }
    }

    /// The same with `points` active points, which is on the way there.
    pub(super) fn part(&self, points: u32) -> Self {
        let points = Some(points);
        match self {
            Self::Add(spec) => Self::Add(spec.clone().with_active_points(points)),
            Self::Replace(spec) => Self::Replace(spec.clone().with_active_points(points)),
            Self::Set(fields) => {
                let mut fields = fields.clone();
                put(&mut fields, Field::ActivePoints(points));
                Self::Set(fields)
            }
            Self::Remove => Self::Set(vec![Field::ActivePoints(points)]),
        }
    }

    /// What is left to do after a part was done, of a node that had `active` set before.
    pub(super) fn rest(&self, active: Option<u32>) -> Self {
        match self {
            Self::Add(spec) | Self::Replace(spec) => Self::Set(vec![Field::ActivePoints(spec.info.active_points)]),
            Self::Set(fields) => {
                let set = fields.iter().find(|field| matches!(field, Field::ActivePoints(_)));
                Self::Set(vec![set.cloned().unwrap_or(Field::ActivePoints(active))])
            }
            Self::Remove => Self::Remove,
        }
    }

    /// The live state that a node gets that came back.
    pub(super) fn revived(&self) -> Option<State> {
        if let Self::Replace(spec) = self { Some(spec.info.state) } else { None }
    }
}

fn fields<T>(NodeSpec { info, payload }: NodeSpec<T>) -> Vec<Field<T>> {
    vec![
        Field::Weight(info.weight),
        Field::ActivePoints(info.active_points),
        Field::Address(info.address),
        Field::Zone(info.zone),
        Field::Attributes(info.attributes),
        Field::State(info.state),
        Field::Payload(payload),
    ]
}

/// Puts a field in the place of the same one.
fn put<T>(fields: &mut Vec<Field<T>>, field: Field<T>) {
    fields.retain(|other| other.bit() != field.bit());
    fields.push(field);
}

fn set<T>(spec: &mut NodeSpec<T>, field: Field<T>) {
    match field {
        Field::Weight(weight) => spec.info.weight = weight,
        Field::ActivePoints(points) => spec.info.active_points = points,
        Field::Address(address) => spec.info.address = address,
        Field::Zone(zone) => spec.info.zone = zone,
        Field::Attributes(attributes) => spec.info.attributes = attributes,
        Field::State(state) => spec.info.state = state,
        Field::Payload(payload) => spec.payload = payload,
    }
}

/// What is wanted of all nodes.
#[derive(Clone)]
pub(super) struct Pending<T> {
    nodes: BTreeMap<String, Net<T>>,
    /// The list of all nodes as wanted, for schemes that read its order.
    order: Option<Vec<String>>,
    pins: Option<Pins>,
}

impl<T: Clone> Pending<T> {
    pub(super) fn new() -> Self {
        Self { nodes: BTreeMap::new(), order: None, pins: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nodes, and one each for the order and the pins where nothing else would tell.
    pub(super) fn len(&self) -> usize {
        let beside = usize::from(self.nodes.is_empty() && self.order.is_some()) + usize::from(self.pins.is_some());
        self.nodes.len() + beside
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> + Clone {
        self.nodes.keys().map(String::as_str)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Net<T>> {
        self.nodes.get(id)
    }

    pub(super) fn removals(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|(_, net)| matches!(net, Net::Remove)).map(|(id, _)| id.as_str())
    }

    /// Adds a batch, that has no contradiction in itself, to what is wanted of `table`.
    pub(super) fn fold<S: Scheme, L: Layout<S::Point>>(
        &mut self,
        delta: Delta<T>,
        table: &Table<T, S, L>,
    ) -> Result<(), DeltaError> {
        let ordered = !table.scheme().order_free();
        if ordered && self.order.is_none() {
            self.order = Some(table.nodes().map(|node| node.id().to_string()).collect());
        }
        let (order, pins) = (delta.order().map(<[String]>::to_vec), delta.pins().cloned());
        for change in delta.into_changes() {
            let id = change.id().to_owned();
            let (is_there, net) = (table.node(&id).is_some(), self.nodes.remove(&id));
            let next = match (change, net) {
                (Change::Add(spec), None) if !is_there => Some(Net::Add(spec)),
                (Change::Add(spec), Some(Net::Remove)) => Some(Net::Replace(spec)),
                (Change::Add(_), _) => return Err(DeltaError::DuplicateId { id: shown(&id) }),
                (Change::Remove { .. }, Some(Net::Add(_))) => None,
                (Change::Remove { .. }, Some(Net::Replace(_) | Net::Set(_))) => Some(Net::Remove),
                (Change::Remove { .. }, None) if is_there => Some(Net::Remove),
                (Change::Set { field, .. }, Some(Net::Add(mut spec))) => {
                    set(&mut spec, field);
                    Some(Net::Add(spec))
                }
                (Change::Set { field, .. }, Some(Net::Replace(mut spec))) => {
                    set(&mut spec, field);
                    Some(Net::Replace(spec))
                }
                (Change::Set { field, .. }, Some(Net::Set(mut fields))) => {
                    put(&mut fields, field);
                    Some(Net::Set(fields))
                }
                (Change::Set { field, .. }, None) if is_there => Some(Net::Set(vec![field])),
                (Change::Remove { .. } | Change::Set { .. }, _) => return Err(unknown(&id)),
            };
            if let Some(list) = &mut self.order {
                // A node that comes stands at the end, be it back or new.
                if matches!(next, Some(Net::Add(_) | Net::Replace(_))) && !list.contains(&id) {
                    list.push(id.clone());
                } else if matches!(next, None | Some(Net::Remove)) {
                    list.retain(|other| *other != id);
                }
            }
            if let Some(next) = next {
                self.nodes.insert(id, next);
            }
        }
        if order.is_some() {
            self.order = order;
        }
        if pins.is_some() {
            self.pins = pins;
        }
        Ok(())
    }

    /// The batch for some of the nodes. If that is all of them, the order and the pins go with it.
    pub(super) fn delta<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Delta<T> {
        let (mut delta, mut count) = (Delta::new(), 0);
        for id in ids {
            if let Some(net) = self.nodes.get(id) {
                net.changes(id).into_iter().for_each(|change| delta.push(change));
                count += 1;
            }
        }
        if count < self.nodes.len() {
            return delta;
        }
        if let Some(order) = &self.order {
            delta = delta.with_order(order.iter().cloned());
        }
        match &self.pins {
            Some(pins) => delta.with_pins(pins.clone()),
            None => delta,
        }
    }

    /// The order was checked, and decides nothing.
    pub(super) fn forget_order(&mut self) {
        self.order = None;
    }

    /// This node is as wanted.
    pub(super) fn done(&mut self, id: &str) {
        self.nodes.remove(id);
    }

    /// This is left of it.
    pub(super) fn leave(&mut self, id: &str, net: Net<T>) {
        self.nodes.insert(id.to_owned(), net);
    }

    /// All is as wanted.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}
