//! A table's pins: what keys are looked up by before the ring is.

use super::Table;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{NodeId, Slot};
use crate::pins::{PinIndex, Pins};

/// Pins with the slots of their nodes.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) pins: Pins,
    index: PinIndex<Slot>,
}

impl Pinned {
    /// `None` for no pins, so that a lookup needn't look. O(n log N) for n pins.
    pub(super) fn new(pins: &Pins, slot: impl Fn(&NodeId) -> Option<Slot>) -> Option<Box<Self>> {
        (!pins.is_empty()).then(|| Box::new(Self { pins: pins.clone(), index: PinIndex::new(pins, slot) }))
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Returns the pins.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        static NONE: Pins = Pins::NONE;
        self.pinned.as_ref().map_or(&NONE, |pinned| &pinned.pins)
    }

    /// The slot that a key is pinned to, unless that pin sleeps.
    #[inline(always)]
    pub(super) fn pinned_slot_of(&self, key: &[u8]) -> Option<Slot> {
        match &self.pinned {
            None => None,
            Some(pinned) => find_one(pinned, key),
        }
    }

    /// The slot that a key in parts is pinned to, unless that pin sleeps.
    #[inline(always)]
    pub(super) fn pinned_slot(&self, parts: &[&[u8]]) -> Option<Slot> {
        match &self.pinned {
            None => None,
            Some(pinned) => find(pinned, parts),
        }
    }
}

/// Out of line with the list of one part, which is made on the stack; and cold, so that what follows it stays out of the
/// way of rings without pins.
#[cold]
#[inline(never)]
fn find_one(pinned: &Pinned, key: &[u8]) -> Option<Slot> {
    pinned.index.find(&[key])
}

#[cold]
#[inline(never)]
fn find(pinned: &Pinned, parts: &[&[u8]]) -> Option<Slot> {
    pinned.index.find(parts)
}
