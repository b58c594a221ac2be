//! A batch of changes to a ring's nodes. Rank 3.
//!
//! A delta is a *set* of changes, not a script: the order in which they were put in means nothing (but for nodes added
//! to a scheme that reads list order, which are appended in the order given). So an id may be added, or removed, or have
//! each of its fields changed once; any other combination is refused. It is checked as a whole, against the limits and
//! the table it is applied to, before anything is built.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::error::{DeltaError, shown};
use crate::node::{NodeSpec, State, check_id};
use crate::pins::Pins;

/// A batch of changes to a ring's nodes.
///
/// ```
/// use ringway::{Delta, NodeSpec};
/// let delta = Delta::new().add(NodeSpec::new("d")).remove("a").set_weight("b", 3);
/// assert_eq!(delta.len(), 3);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Delta<T = ()> {
    changes: Vec<Change<T>>,
    order: Option<Vec<String>>,
    /// Boxed, since errors carry deltas.
    pins: Option<Box<Pins>>,
}

/// One change of a [`Delta`].
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[non_exhaustive]
pub enum Change<T> {
    /// Adds a node.
    Add(NodeSpec<T>),
    /// Removes a node.
    Remove {
        /// Its id.
        id: String,
    },
    /// Changes a field of a node.
    Set {
        /// Its id.
        id: String,
        /// The field's new value.
        field: Field<T>,
    },
}

/// The new value of a node's field.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Field<T> {
    /// The weight.
    Weight(u32),
    /// The number of active points; `None` follows the weight.
    ActivePoints(Option<u32>),
    /// The address.
    Address(Option<String>),
    /// The failure-domain labels, outermost first.
    Zone(Vec<String>),
    /// All attributes.
    Attributes(BTreeMap<String, String>),
    /// The configured state.
    State(State),
    /// The payload.
    Payload(T),
}

// By hand, since payloads are left out: they may be large, secret, or have no `Debug`, and an error that holds a delta
// must be one for every payload.
impl<T> fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delta")
            .field("changes", &self.changes)
            .field("order", &self.order)
            .field("pins", &self.pins)
            .finish()
    }
}

impl<T> fmt::Debug for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(spec) => f.debug_tuple("Add").field(spec).finish(),
            Self::Remove { id } => f.debug_struct("Remove").field("id", id).finish(),
            Self::Set { id, field } => f.debug_struct("Set").field("id", id).field("field", field).finish(),
        }
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weight(weight) => f.debug_tuple("Weight").field(weight).finish(),
            Self::ActivePoints(points) => f.debug_tuple("ActivePoints").field(points).finish(),
            Self::Address(address) => f.debug_tuple("Address").field(address).finish(),
            Self::Zone(zone) => f.debug_tuple("Zone").field(zone).finish(),
            Self::Attributes(attributes) => f.debug_tuple("Attributes").field(attributes).finish(),
            Self::State(state) => f.debug_tuple("State").field(state).finish(),
            Self::Payload(_) => f.write_str("Payload(..)"),
        }
    }
}

impl<T> Field<T> {
    fn name(&self) -> &'static str {
        match self {
            Self::Weight(_) => "weight",
            Self::ActivePoints(_) => "active points",
            Self::Address(_) => "address",
            Self::Zone(_) => "zone",
            Self::Attributes(_) => "attributes",
            Self::State(_) => "state",
            Self::Payload(_) => "payload",
        }
    }

    /// One bit per field, for finding a field that is changed twice.
    pub(crate) fn bit(&self) -> u16 {
        match self {
            Self::Weight(_) => 1,
            Self::ActivePoints(_) => 2,
            Self::Address(_) => 4,
            Self::Zone(_) => 8,
            Self::Attributes(_) => 16,
            Self::State(_) => 32,
            Self::Payload(_) => 64,
        }
    }
}

impl<T> Change<T> {
    /// Returns the id of the node that is changed.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Add(spec) => spec.id(),
            Self::Remove { id } | Self::Set { id, .. } => id,
        }
    }
}

impl<T> Delta<T> {
    /// Creates a batch of no changes.
    #[must_use]
    pub fn new() -> Self {
        Self { changes: Vec::new(), order: None, pins: None }
    }

    /// Adds a node.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adding a node isn't addition, and `add` is the field's word")]
    pub fn add(self, spec: NodeSpec<T>) -> Self {
        self.with(Change::Add(spec))
    }

    /// Removes a node.
    #[must_use]
    pub fn remove(self, id: impl Into<String>) -> Self {
        self.with(Change::Remove { id: id.into() })
    }

    /// Changes a node's weight. A node whose active points are set keeps that number.
    #[must_use]
    pub fn set_weight(self, id: impl Into<String>, weight: u32) -> Self {
        self.set(id, Field::Weight(weight))
    }

    /// Sets a node's number of active points; `None` follows the weight again.
    #[must_use]
    pub fn set_active_points(self, id: impl Into<String>, points: impl Into<Option<u32>>) -> Self {
        self.set(id, Field::ActivePoints(points.into()))
    }

    /// Changes or (`None`) takes away a node's address.
    #[must_use]
    pub fn set_address(self, id: impl Into<String>, address: Option<String>) -> Self {
        self.set(id, Field::Address(address))
    }

    /// Changes a node's failure-domain labels.
    #[must_use]
    pub fn set_zone<L: Into<String>>(self, id: impl Into<String>, labels: impl IntoIterator<Item = L>) -> Self {
        self.set(id, Field::Zone(labels.into_iter().map(Into::into).collect()))
    }

    /// Replaces all attributes of a node.
    #[must_use]
    pub fn set_attributes(self, id: impl Into<String>, attributes: BTreeMap<String, String>) -> Self {
        self.set(id, Field::Attributes(attributes))
    }

    /// Changes a node's configured state.
    #[must_use]
    pub fn set_state(self, id: impl Into<String>, state: State) -> Self {
        self.set(id, Field::State(state))
    }

    /// Replaces a node's payload. Counts as a change whatever the payload is, since payloads can't be compared.
    #[must_use]
    pub fn set_payload(self, id: impl Into<String>, payload: T) -> Self {
        self.set(id, Field::Payload(payload))
    }

    /// Changes one field of a node.
    #[must_use]
    pub fn set(self, id: impl Into<String>, field: Field<T>) -> Self {
        self.with(Change::Set { id: id.into(), field })
    }

    /// Appends one change, for batches that are built in a loop.
    pub fn push(&mut self, change: Change<T>) {
        self.changes.push(change);
    }

    fn with(mut self, change: Change<T>) -> Self {
        self.push(change);
        self
    }

    /// Sets the list order of all nodes after the batch, for schemes that read it. Order-free schemes only check it.
    #[must_use]
    pub fn with_order<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.order = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the pins after the batch, all at once. Without it they stay as they are.
    ///
    /// Their nodes must be in the ring after the batch; a node that leaves later takes no pin with it, see [`Pins`].
    #[must_use]
    pub fn with_pins(mut self, pins: Pins) -> Self {
        self.pins = Some(Box::new(pins));
        self
    }

    /// Returns the pins, if they were set.
    #[must_use]
    pub fn pins(&self) -> Option<&Pins> {
        self.pins.as_deref()
    }

    /// Returns the changes, in the order in which they were put in.
    #[must_use]
    pub fn changes(&self) -> &[Change<T>] {
        &self.changes
    }

    /// Returns the list order, if one was set.
    #[must_use]
    pub fn order(&self) -> Option<&[String]> {
        self.order.as_deref()
    }

    /// Takes the batch apart.
    #[must_use]
    pub fn into_changes(self) -> Vec<Change<T>> {
        self.changes
    }

    /// Returns the number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are no changes. An order alone isn't empty, nor are pins.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.order.is_none() && self.pins.is_none()
    }

    /// Checks what can be checked without a table: ids are well-formed, and no two changes contradict each other.
    ///
    /// # Errors
    /// [`DeltaError::Node`], [`DeltaError::DuplicateId`], [`DeltaError::Conflict`], [`DeltaError::ChangedTwice`].
    ///
    /// # Complexity
    /// O(k) for k changes.
    pub fn check(&self) -> Result<(), DeltaError> {
        const ADDED: u16 = 1 << 14;
        const REMOVED: u16 = 1 << 15;
        let mut seen: HashMap<&str, u16> = HashMap::with_capacity(self.changes.len());
        for change in &self.changes {
            let id = change.id();
            check_id(id)?;
            let seen = seen.entry(id).or_insert(0);
            let bit = match change {
                Change::Add(_) => ADDED,
                Change::Remove { .. } => REMOVED,
                Change::Set { field, .. } => field.bit(),
            };
            match change {
                Change::Add(_) if *seen & ADDED != 0 => return Err(DeltaError::DuplicateId { id: shown(id) }),
                Change::Set { field, .. } if *seen & bit != 0 => {
                    return Err(DeltaError::ChangedTwice { id: shown(id), field: field.name() });
                }
                Change::Add(_) | Change::Remove { .. } if *seen != 0 => {
                    return Err(DeltaError::Conflict { id: shown(id) });
                }
                Change::Set { .. } if *seen & (ADDED | REMOVED) != 0 => {
                    return Err(DeltaError::Conflict { id: shown(id) });
                }
                _ => *seen |= bit,
            }
        }
        Ok(())
    }
}

impl<T> Default for Delta<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Extend<Change<T>> for Delta<T> {
    fn extend<I: IntoIterator<Item = Change<T>>>(&mut self, changes: I) {
        self.changes.extend(changes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_found_in_either_order() {
        let add = || Change::Add(NodeSpec::new("a"));
        let remove = || Change::<()>::Remove { id: "a".into() };
        let weight = |weight| Change::Set { id: "a".into(), field: Field::Weight(weight) };
        let check = |changes: [Change<()>; 2]| {
            let mut delta = Delta::new();
            delta.extend(changes);
            delta.check()
        };
        let conflict = Err(DeltaError::Conflict { id: "a".into() });
        assert_eq!(check([add(), remove()]), conflict);
        assert_eq!(check([remove(), add()]), conflict);
        assert_eq!(check([remove(), remove()]), conflict);
        assert_eq!(check([weight(1), remove()]), conflict);
        assert_eq!(check([remove(), weight(1)]), conflict);
        assert_eq!(check([add(), weight(1)]), conflict);
        assert_eq!(check([weight(1), add()]), conflict);
        assert_eq!(check([add(), add()]), Err(DeltaError::DuplicateId { id: "a".into() }));
        let twice = Err(DeltaError::ChangedTwice { id: "a".into(), field: "weight" });
        assert_eq!(check([weight(1), weight(2)]), twice);
        let points = Change::Set { id: "a".into(), field: Field::ActivePoints(None) };
        assert_eq!(check([weight(1), points]), Ok(()));
        assert_eq!(check([add(), Change::Remove { id: "b".into() }]), Ok(()));
    }
}
