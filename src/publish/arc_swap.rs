//! Publishing through the crate `arc-swap`: the second publisher, for who already trusts that one.
//!
//! A reader is an [`arc_swap::Cache`]: a hit is one relaxed load and a compare, as in [`Epoch`](super::Epoch), and a
//! refresh is `load_full`, which announces the address it is about to count in a *debt* slot of its thread's; a writer that
//! takes the value away pays all debts for it, so that a count is there for each reader before it lets go. So there is no
//! grace period, and nothing is ever refused: when `swap` returns, whoever has the old value has counted it.
//!
//! What arc-swap leaves to its user is *who frees*. Its `Cache` drops the older value in the lookup that finds a newer
//! one, and if that was the last count, the reader frees (273 and 187 of some 1,200 tables in two runs, measured as below).
//! So the writer here keeps a count of every retired value, as the others do (P6).
//!
//! Why it isn't the default: it can't run under loom, so what holds it up are its own tests, ours, Miri and
//! ThreadSanitizer (`ci/sanitizers.sh`); its orderings had to be strengthened in 1.9.0 and 1.9.1, and until 1.9.5 a load
//! could return a value of another instance whose address had been used again. Hence `arc-swap = "1.9.5"` at least.
//!
//! Measured (AMD EPYC Zen 5, 2 vCPU, rustc 1.95, 2026-11-30): a hit costs what a plain reference does, a refresh 20 ns
//! where the other's takes 16. `load` per lookup, without a cache, costs 11 ns.
//!
//! # Invariants
//! - **I1** `Writer::retired` has a count of every retired value that wasn't reclaimed, so no other count is the last while
//!   the writer lives.
//! - **I2** A reader's two counts are of one value between any two calls.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem;

use arc_swap::{ArcSwap as Slot, Cache};

use super::{Backpressure, Counts, Publish, Read, Value, Write};
use crate::sync::Arc;

/// Publishes through the crate `arc-swap`.
#[derive(Clone, Copy, Debug)]
pub enum ArcSwap {}

impl Publish for ArcSwap {
    type Writer<V: Value> = Writer<V>;
    type Source<V: Value> = Source<V>;
    type Reader<V: Value> = Reader<V>;

    const NAME: &'static str = "arc-swap";

    fn start<V: Value>(first: V, retired_limit: usize) -> (Writer<V>, Source<V>) {
        assert!(retired_limit >= 1, "retired_limit is 0: raise it to at least 1");
        let current = Arc::new(first);
        let slot = Arc::new(Slot::new(Arc::clone(&current)));
        let writer = Writer { current, retired: VecDeque::new(), slot: Arc::clone(&slot), unshared: PhantomData };
        (writer, Source { slot })
    }
}

/// The writing end of [`ArcSwap`].
pub struct Writer<V> {
    current: Arc<V>,
    /// Retired values, each with the writer's count of it.
    retired: VecDeque<Arc<V>>,
    slot: Arc<Slot<V>>,
    /// Not `Sync`, as P12 has it for all publishers.
    unshared: PhantomData<Cell<()>>,
}

impl<V: Value> Write<V> for Writer<V> {
    fn ready(&mut self) -> Result<(), Backpressure> {
        Ok(())
    }

    fn publish(&mut self, value: V) -> Result<(), (V, Backpressure)> {
        self.publish_with(value, drop)
    }

    fn publish_with(&mut self, value: V, f: impl FnMut(V)) -> Result<(), (V, Backpressure)> {
        // All that may fail comes before the swap, so that a value is either not published or retires its predecessor.
        self.retired.reserve(1);
        let next = Arc::new(value);
        // Pays the debts of readers in the middle of a refresh, and doesn't wait for them.
        let published = self.slot.swap(Arc::clone(&next));
        let kept = mem::replace(&mut self.current, next);
        debug_assert!(Arc::ptr_eq(&published, &kept), "the writer's own count is of the published value");
        self.retired.push_back(kept);
        drop(published); // not the last count: `retired` has another (I1)
        self.reclaim_with(f);
        Ok(())
    }

    fn current(&self) -> &V {
        &self.current
    }

    fn snapshot(&self) -> Arc<V> {
        Arc::clone(&self.current)
    }

    fn reclaim(&mut self) -> usize {
        self.reclaim_with(drop)
    }

    fn reclaim_with(&mut self, f: impl FnMut(V)) -> usize {
        super::reclaim_unheld(&mut self.retired, f)
    }

    fn counts(&self) -> Counts {
        Counts { live: 1 + self.retired.len(), retired: self.retired.len(), in_grace: 0 }
    }
}

impl<V: Value> fmt::Debug for Writer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// The shared end of [`ArcSwap`].
pub struct Source<V> {
    slot: Arc<Slot<V>>,
}

impl<V> Clone for Source<V> {
    fn clone(&self) -> Self {
        Self { slot: Arc::clone(&self.slot) }
    }
}

impl<V: Value> super::Source<V> for Source<V> {
    type Reader = Reader<V>;

    fn reader(&self) -> Reader<V> {
        Reader { cached: None, slot: Arc::clone(&self.slot), unshared: PhantomData }
    }

    /// Costs some 20 ns here, and no registration.
    fn snapshot(&self) -> Arc<V> {
        self.slot.load_full()
    }
}

impl<V> fmt::Debug for Source<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// The reading end of [`ArcSwap`].
pub struct Reader<V> {
    /// `None` before the first lookup and while parked.
    cached: Option<Cached<V>>,
    slot: Arc<Slot<V>>,
    /// Not `Sync`, as P12 has it for all publishers.
    unshared: PhantomData<Cell<()>>,
}

/// What a reader holds, twice over: arc-swap's cache can't be looked into without being brought up to date (I2).
struct Cached<V> {
    cache: Cache<Arc<Slot<V>>, Arc<V>>,
    held: Arc<V>,
}

impl<V> Reader<V> {
    #[cold]
    #[inline(never)]
    fn start(slot: &Arc<Slot<V>>) -> Cached<V> {
        let mut cache = Cache::new(Arc::clone(slot));
        let held = Arc::clone(cache.load());
        Cached { cache, held }
    }

    #[inline(always)]
    fn newest(&mut self) -> &Arc<V> {
        let cached = self.cached.get_or_insert_with(|| Self::start(&self.slot));
        let published = cached.cache.load();
        if !Arc::ptr_eq(published, &cached.held) {
            // Lets go of the older value here: without the writer this may be the last count (P7).
            cached.held = Arc::clone(published);
        }
        &cached.held
    }
}

impl<V: Value> Read<V> for Reader<V> {
    #[inline(always)]
    fn current(&mut self) -> &V {
        self.newest()
    }

    #[inline]
    fn snapshot(&mut self) -> Arc<V> {
        Arc::clone(self.newest())
    }

    fn park(&mut self) {
        self.cached = None;
    }

    fn held(&self) -> Option<&V> {
        self.cached.as_ref().map(|cached| &*cached.held)
    }
}

impl<V> fmt::Debug for Reader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("parked", &self.cached.is_none()).finish_non_exhaustive()
    }
}
