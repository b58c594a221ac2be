//! The lazy form of the walk: distinct nodes, one at a time, for retries.

use std::fmt;
use std::iter::FusedIterator;

use super::Table;
use super::walk::Start;
use crate::hash::{Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{Node, Slot};

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Returns the distinct nodes clockwise from `key`, the owner first, each once, until all nodes with points were
    /// returned: what a retry goes through. It skips nothing by itself; a filter does.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring, State};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// // A retry takes the next node that is up: never the same one again.
    /// let mut attempts = table.successors(b"user:123456").filter(|node| node.health() != State::Down);
    /// let (first, second) = (attempts.next(), attempts.next());
    /// assert_ne!(first.map(|node| node.id()), second.map(|node| node.id()));
    /// assert_eq!(attempts.count(), 1);
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// Lazy: each item costs as in [`replicas`](Self::replicas), with one comparison a step however many were returned. No
    /// allocation up to 24 nodes; one bit a node beyond.
    #[must_use]
    pub fn successors(&self, key: &[u8]) -> Successors<'_, T, S, L> {
        Successors::new(self, self.start(key))
    }

    /// As [`successors`](Self::successors), from a point.
    #[must_use]
    pub fn successors_at(&self, point: S::Point) -> Successors<'_, T, S, L> {
        Successors::new(self, self.start_at(point))
    }
}

/// Distinct nodes in ring order; see [`Table::successors`].
pub struct Successors<'t, T = (), S: Scheme = Native, L: Layout<S::Point> = Auto<<S as Scheme>::Point>> {
    table: &'t Table<T, S, L>,
    start: Start,
    step: usize,
    left: usize,
    seen: Seen,
}

impl<'t, T, S: Scheme, L: Layout<S::Point>> Successors<'t, T, S, L> {
    fn new(table: &'t Table<T, S, L>, start: Start) -> Self {
        Self { table, start, step: 0, left: table.available(start, table.placed), seen: Seen::default() }
    }
}

impl<'t, T, S: Scheme, L: Layout<S::Point>> Iterator for Successors<'t, T, S, L> {
    type Item = &'t Node<T>;

    fn next(&mut self) -> Option<&'t Node<T>> {
        self.left = self.left.checked_sub(1)?;
        let (step, slot) = self.table.find(self.start, self.step, |slot| !self.seen.holds(slot))?;
        self.seen.insert(slot, self.table.nodes.len());
        self.step = step + 1;
        Some(&self.table.nodes[slot.index()])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> ExactSizeIterator for Successors<'_, T, S, L> {}
impl<T, S: Scheme, L: Layout<S::Point>> FusedIterator for Successors<'_, T, S, L> {}

impl<T, S: Scheme, L: Layout<S::Point>> fmt::Debug for Successors<'_, T, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Successors").field("step", &self.step).field("left", &self.left).finish_non_exhaustive()
    }
}

/// A set of slots: a short list, then bits.
#[derive(Default)]
struct Seen {
    few: [Slot; FEW],
    count: usize,
    bits: Vec<u64>,
}

/// How many slots a list holds. Searching 24 of them takes about as long as a miss of the first cache.
const FEW: usize = 24;

impl Seen {
    #[inline]
    fn holds(&self, slot: Slot) -> bool {
        match self.bits.get(slot.index() / 64) {
            Some(word) => word & 1 << (slot.number() % 64) != 0,
            None => self.few[..self.count.min(FEW)].contains(&slot),
        }
    }

    fn insert(&mut self, slot: Slot, slots: usize) {
        if self.count < FEW {
            self.few[self.count] = slot;
        } else {
            if self.bits.is_empty() {
                self.bits = vec![0; slots.div_ceil(64)];
                for slot in self.few {
                    self.bits[slot.index() / 64] |= 1 << (slot.number() % 64);
                }
            }
            self.bits[slot.index() / 64] |= 1 << (slot.number() % 64);
        }
        self.count += 1;
    }
}
