//! What a walk fills: nodes that differ in a key, such as their slot or their zone.

use super::Table;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::{Node, Slot};
use crate::point::{high_u32, low_u32};

/// Nodes that are being chosen into a caller's buffer, no two with one key.
pub(super) struct Filling<'o, 't, T, K, A> {
    pub(super) out: &'o mut [Option<&'t Node<T>>],
    pub(super) found: usize,
    /// The keys of the first nodes; those of later ones are asked for anew. Who takes so many replicas?
    keys: [u32; KEPT],
    /// The last four keys, two in a word. In words, since reading four from the list at once, right after one was written,
    /// waits for the write: 60 % of the time of eight replicas.
    last: [u64; 2],
    key: K,
    accept: A,
}

impl<'o, 't, T, K: Fn(Slot) -> u32, A: Fn(Slot) -> bool> Filling<'o, 't, T, K, A> {
    #[inline(always)]
    pub(super) fn new(out: &'o mut [Option<&'t Node<T>>], key: K, accept: A) -> Self {
        Self { out, found: 0, keys: [0; KEPT], last: [u64::MAX; 2], key, accept }
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.found == self.out.len()
    }

    #[inline(always)]
    pub(super) fn note(&mut self, slot: Slot) {
        let key = (self.key)(slot);
        if let Some(kept) = self.keys.get_mut(self.found) {
            *kept = key;
        }
        let [new, old] = self.last;
        self.last = [new << 32 | u64::from(key), old << 32 | new >> 32];
        self.found += 1;
    }

    #[inline(always)]
    pub(super) fn fits<S: Scheme, L: Layout<S::Point>>(&self, table: &'t Table<T, S, L>, slot: Slot) -> bool {
        let own = (self.key)(slot);
        let [new, old] = self.last;
        let last = (low_u32(new) == own) | (high_u32(new) == own) | (low_u32(old) == own) | (high_u32(old) == own);
        let met = last || self.found > 4 && self.met_before(table, own);
        !met && (self.accept)(slot)
    }

    #[inline(never)]
    fn met_before<S: Scheme, L: Layout<S::Point>>(&self, table: &'t Table<T, S, L>, own: u32) -> bool {
        match self.keys.get(..self.found) {
            Some(keys) => keys.contains(&own),
            None => self.out[..self.found].iter().flatten().any(|node| (self.key)(table.slot_of_entry(node)) == own),
        }
    }

    /// Takes the slot's node if it fits and there is room; says whether there is no more room then.
    #[inline(always)]
    pub(super) fn offer<S: Scheme, L: Layout<S::Point>>(&mut self, table: &'t Table<T, S, L>, slot: Slot) -> bool {
        if !self.is_full() && self.fits(table, slot) {
            self.out[self.found] = Some(&table.nodes[slot.index()]);
            self.note(slot);
        }
        self.is_full()
    }
}

/// How many keys of chosen nodes are kept.
const KEPT: usize = 16;
