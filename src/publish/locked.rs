//! Publishing under a read-write lock: the oracle of the tests.
//!
//! Slow (a lookup takes the lock; 9 ns alone, 36–128 ns beside another reader and a writer, against nothing for
//! [`Epoch`](super::Epoch)) and not wait-free, but short enough to be checked by eye, and what it answers is what every
//! other publisher has to answer. Keeps the same promises where they make sense: the writer holds a count of every
//! retired value, so that readers drop none while it lives (P6). There is no grace period, as a reader counts itself
//! while it has the lock, so nothing is ever refused.
//!
//! # Invariants
//! - **I1** No user code runs under the lock: it is held for a clone or a swap of an `Arc` whose count can't reach zero.

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;

use super::{Backpressure, Counts, Publish, Read, Value, Write};
use crate::sync::{Arc, PoisonError, RwLock};

/// Publishes under a read-write lock.
#[derive(Clone, Copy, Debug)]
pub enum Locked {}

impl Publish for Locked {
    type Writer<V: Value> = Writer<V>;
    type Source<V: Value> = Source<V>;
    type Reader<V: Value> = Reader<V>;

    const NAME: &'static str = "locked";

    fn start<V: Value>(first: V, retired_limit: usize) -> (Writer<V>, Source<V>) {
        assert!(retired_limit >= 1, "retired_limit is 0: raise it to at least 1");
        let current = Arc::new(first);
        let shared = Arc::new(RwLock::new(Arc::clone(&current)));
        let writer = Writer { current, retired: VecDeque::new(), shared: Arc::clone(&shared), unshared: PhantomData };
        (writer, Source { shared })
    }
}

/// Clones what is published, under the lock.
fn take<V>(shared: &RwLock<Arc<V>>) -> Arc<V> {
    Arc::clone(&shared.read().unwrap_or_else(PoisonError::into_inner))
}

/// The writing end of [`Locked`].
#[derive(Debug)]
pub struct Writer<V> {
    current: Arc<V>,
    /// Retired values, each with the writer's count of it.
    retired: VecDeque<Arc<V>>,
    shared: Arc<RwLock<Arc<V>>>,
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
        let next = Arc::new(value);
        let published = {
            let mut slot = self.shared.write().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *slot, Arc::clone(&next))
        };
        let kept = mem::replace(&mut self.current, next);
        self.retired.push_back(kept);
        drop(published); // not the last count: `kept` is another
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

/// The shared end of [`Locked`].
#[derive(Debug)]
pub struct Source<V> {
    shared: Arc<RwLock<Arc<V>>>,
}

impl<V> Clone for Source<V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<V: Value> super::Source<V> for Source<V> {
    type Reader = Reader<V>;

    fn reader(&self) -> Reader<V> {
        Reader { cached: None, shared: Arc::clone(&self.shared), unshared: PhantomData }
    }

    fn snapshot(&self) -> Arc<V> {
        take(&self.shared)
    }
}

/// The reading end of [`Locked`].
#[derive(Debug)]
pub struct Reader<V> {
    cached: Option<Arc<V>>,
    shared: Arc<RwLock<Arc<V>>>,
    /// Not `Sync`, as P12 has it for all publishers.
    unshared: PhantomData<Cell<()>>,
}

impl<V: Value> Read<V> for Reader<V> {
    fn current(&mut self) -> &V {
        let published = take(&self.shared);
        // Lets go of the older value here, after the lock.
        self.cached.insert(published)
    }

    fn snapshot(&mut self) -> Arc<V> {
        Arc::clone(self.cached.insert(take(&self.shared)))
    }

    fn park(&mut self) {
        self.cached = None;
    }

    fn held(&self) -> Option<&V> {
        self.cached.as_deref()
    }
}
