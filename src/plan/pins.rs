//! Pins that lead elsewhere: what a change moves though no arc changes hands.

use std::collections::BTreeMap;

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::table::Table;

/// A pin that leads to different nodes in two tables.
///
/// A pin that sleeps, since its node isn't there, leads nowhere, as one that isn't there: so a pin is listed too if its node
/// comes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedPin {
    bytes: Vec<u8>,
    prefix: bool,
    old: Option<NodeId>,
    new: Option<NodeId>,
}

impl MovedPin {
    /// Returns the key that is pinned, or what the keys begin with.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether all keys are meant that begin so, and not the key alone.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// Returns the node before the change; `None` if the pin led nowhere.
    #[must_use]
    pub fn old_node(&self) -> Option<&NodeId> {
        self.old.as_ref()
    }

    /// Returns the node after the change; `None` if the pin leads nowhere.
    #[must_use]
    pub fn new_node(&self) -> Option<&NodeId> {
        self.new.as_ref()
    }
}

/// The pins that differ. O(n log n) for n pins.
pub(super) fn between<T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> Vec<MovedPin>
where
    S: Scheme,
    R: Scheme,
    L: Layout<S::Point>,
    M: Layout<R::Point>,
{
    let mut pins: BTreeMap<(bool, &[u8]), [Option<&NodeId>; 2]> = BTreeMap::new();
    // Both kinds, with the ids of the table itself, so that one that sleeps has none.
    let mut take = |place: usize, prefix, bytes, node| pins.entry((prefix, bytes)).or_default()[place] = node;
    for (prefix, (bytes, node)) in both(old.pins().keys(), old.pins().prefixes()) {
        take(0, prefix, bytes, old.node(node.as_str()).map(|node| node.id()));
    }
    for (prefix, (bytes, node)) in both(new.pins().keys(), new.pins().prefixes()) {
        take(1, prefix, bytes, new.node(node.as_str()).map(|node| node.id()));
    }
    let differ = pins.into_iter().filter(|(_, [old, new])| old != new);
    let moved = |((prefix, bytes), [old, new]): ((bool, &[u8]), [Option<&NodeId>; 2])| MovedPin {
        bytes: bytes.to_vec(),
        prefix,
        old: old.cloned(),
        new: new.cloned(),
    };
    differ.map(moved).collect()
}

fn both<I>(keys: impl Iterator<Item = I>, prefixes: impl Iterator<Item = I>) -> impl Iterator<Item = (bool, I)> {
    keys.map(|pin| (false, pin)).chain(prefixes.map(|pin| (true, pin)))
}
