//! A mock of the crate arc-swap, as far as `ringway::publish::arc_swap` uses it.
//!
//! arc-swap itself can't run under loom: its atomics and its `Arc`s are std's, and its debt slots live in thread-locals of
//! the process. So the models of that publisher run the code that ships on top of this cell, which does in the plainest
//! way what arc-swap's documentation promises: `swap` and `load_full` are atomic, each `load_full` returns a count that no
//! `swap` can take away, and a `Cache` asks for no more than the address as long as that stays the same. What this shows
//! is that ringway's part is right if arc-swap's is; for the latter, see `ci/sanitizers.sh`.

use std::mem;
use std::ops::Deref;

use loom::sync::atomic::{AtomicPtr, Ordering};
use loom::sync::{Arc, Mutex};

pub struct ArcSwap<T> {
    /// The address of `value`'s, for the cache's relaxed look.
    address: AtomicPtr<T>,
    value: Mutex<Arc<T>>,
}

impl<T> ArcSwap<T> {
    pub fn new(value: Arc<T>) -> Self {
        Self { address: AtomicPtr::new(Arc::as_ptr(&value).cast_mut()), value: Mutex::new(value) }
    }

    pub fn swap(&self, new: Arc<T>) -> Arc<T> {
        let mut value = self.value.lock().unwrap();
        // Relaxed: nobody follows the address; what it leads to comes through the lock.
        self.address.store(Arc::as_ptr(&new).cast_mut(), Ordering::Relaxed);
        mem::replace(&mut *value, new)
    }

    pub fn load_full(&self) -> Arc<T> {
        Arc::clone(&self.value.lock().unwrap())
    }
}

pub struct Cache<A, T> {
    cell: A,
    cached: T,
}

impl<A: Deref<Target = ArcSwap<V>>, V> Cache<A, Arc<V>> {
    pub fn new(cell: A) -> Self {
        let cached = cell.load_full();
        Self { cell, cached }
    }

    pub fn load(&mut self) -> &Arc<V> {
        if self.cell.address.load(Ordering::Relaxed).cast_const() != Arc::as_ptr(&self.cached) {
            self.cached = self.cell.load_full();
        }
        &self.cached
    }
}
