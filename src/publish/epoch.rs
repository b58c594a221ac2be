//! Publishing through epoch reclamation: the default, and the one file of this layer with unsafe code.
//!
//! A lookup must cost nothing while nothing changes, so a [`Reader`] keeps a count (an `Arc`) of the value it saw last
//! and only compares addresses: one relaxed load, one compare. Counting itself as a holder of a *new* value is the one
//! step that another scheme has to protect, since between loading the address and raising the count behind it the writer
//! may publish, let go of the old value and free it. A `crossbeam_epoch` pin protects these few instructions:
//!
//! ```text
//!  reader, refresh                           writer, publish
//!  pin                                       swap the address of the next value in          (Release)
//!    load the address       (Acquire)        keep one count of the old value in `retired`
//!    raise the count                         defer dropping the other: it runs when all who
//!  unpin                                     are pinned now have unpinned
//!  let go of the value before                drop retired values of which no other count is left
//! ```
//!
//! An old value has two counts when it is retired: the one that the shared address owned and the writer's own. The
//! first is what a reader relies on that has loaded the address but not raised the count; it lives through the grace
//! period. The second makes the writer the one who frees: whoever runs the deferred drop, which may be any participant
//! of the collector, lowers the count but never to zero.
//!
//! Epoch reclamation is Fraser's (*Practical lock-freedom*, 2004), as `crossbeam-epoch` has it. Ours differs from its
//! plain use in what is protected: pinning per lookup costs 5–10 ns, makes readers free nearly all values (25,764 of
//! 25,765 measured) and lets one stopped reader keep all garbage. Pinning per refresh costs 16 ns once per publish and
//! reader, readers free nothing, and a sleeping reader keeps one value. (AMD EPYC Zen 5, 2 vCPU, rustc 1.95, 2026-11-30.)
//!
//! # Invariants
//! - **I1** `Shared::current` is an address from `Arc::into_raw` and owns one count of the value behind it. Only the
//!   writer stores to it; there is one.
//! - **I2** The count that `current` gave up is dropped by a closure that the collector runs after every participant
//!   pinned at the swap has unpinned, or, when the collector itself goes, after all participants are gone.
//! - **I3** A published `Arc` is freshly made by `publish`. No value is ever published twice, so no two publishes share an
//!   address while anybody holds a count of the first, and equal addresses mean equal values.
//! - **I4** `deferred - finished` counts the closures of I2 that have not run to their end. While it is not 0, somebody
//!   other than the writer has to hold a second count of each value in `retired` or `orphans`.
//! - **I5** A participant gives its registration up, or back to `Shared::spare`, before its count of `Shared` goes; and
//!   `spare` goes before the collector.
//! - **I6** No pin spans anything but this file's own few lines and the collector's upkeep: see `Pinner`.
//!
//! # After the writer
//! The writer's `retired` counts can't simply go with it: a closure that hasn't run would then hold the last one, and the
//! value's `Drop` would run wherever the closure does, under a reader's pin. So the writer first helps its last grace
//! periods to end; if some don't, a reader being stopped inside a refresh, it leaves its counts to `Shared::orphans`.
//! Each participant that goes looks there for values that nobody else holds and drops them, unpinned; what is left goes
//! with `Shared`, after the collector. Rejected: to wait for the reader (publishing never waits), and to keep all orphans
//! until the end (a process that drops a ring beside a long-lived reader would keep `retired_limit` tables for nothing).

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::ptr;

use crossbeam_epoch::{Collector, Guard, LocalHandle};
use crossbeam_utils::CachePadded;

use super::{Backpressure, Counts, Publish, Read, Value, Write};
use crate::sync::{Arc, AtomicPtr, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};

/// Flushes in a row that may end no grace period before the writer stops helping.
///
/// A bag sealed in epoch e runs in e + 2 and each flush moves the epoch by at most one. Two are enough when nobody is
/// pinned; the third makes up for one that met a participant in the middle of unregistering.
const IDLE_FLUSHES: usize = 3;

/// Closures that one flush runs: crossbeam-epoch takes so many bags at a time, and each of ours has a bag of its own.
const BAGS_PER_FLUSH: usize = 8;

/// Registrations that are kept for the next participant.
///
/// To unregister puts a bag into the collector's queue, empty or not, and whoever flushes works through those first. So
/// without a pool some thousand short snapshots beside a stalled reader would leave the writer at its limit long after
/// the reader has moved on. Few, since each may keep up to 64 of the collector's records of 2 KiB until it is used again.
const SPARE_PINNERS: usize = 8;

/// Publishes through epoch reclamation.
#[derive(Clone, Copy, Debug)]
pub enum Epoch {}

impl Publish for Epoch {
    type Writer<V: Value> = Writer<V>;
    type Source<V: Value> = Source<V>;
    type Reader<V: Value> = Reader<V>;

    const NAME: &'static str = "epoch";

    fn start<V: Value>(first: V, retired_limit: usize) -> (Writer<V>, Source<V>) {
        assert!(retired_limit >= 1, "retired_limit is 0: raise it to at least 1");
        let current = Arc::new(first);
        let shared = Arc::new(Shared {
            current: CachePadded::new(AtomicPtr::new(Arc::into_raw(Arc::clone(&current)).cast_mut())),
            spare: Mutex::new(Vec::with_capacity(SPARE_PINNERS)),
            collector: Collector::new(),
            orphans: Mutex::new(Vec::new()),
        });
        let writer = Writer {
            current,
            retired: VecDeque::new(),
            deferred: 0,
            finished: Arc::new(AtomicUsize::new(0)),
            limit: retired_limit,
            participant: Participant::register(&shared),
        };
        (writer, Source { shared })
    }
}

/// What writer, sources and readers have in common. Fields are dropped in this order, which matters: see `Drop`.
struct Shared<V: Value> {
    /// Where the published value is (I1). On a line of its own, as every lookup of every thread reads it.
    current: CachePadded<AtomicPtr<V>>,
    /// Registrations between two users, at most [`SPARE_PINNERS`]. Before `collector`: I5.
    spare: Mutex<Vec<Pinner>>,
    /// Ours alone: the process-wide collector would have our pins run other libraries' garbage and their stalls stop us.
    collector: Collector,
    /// Values in their grace period when the writer went, each with the count that was the writer's.
    orphans: Mutex<Vec<Arc<V>>>,
}

impl<V: Value> Drop for Shared<V> {
    /// Drops the published value if no snapshot holds it; then the spare registrations and the collector go and run the
    /// closures that are left, which only lower counts, as `orphans` still has one of each of their values (I4); then
    /// the orphans go. Values are dropped first and last, when nobody is pinned.
    fn drop(&mut self) {
        // Relaxed: `&mut self`. The last count of `Shared` brought everything with it that was done through the others.
        let published = self.current.load(Ordering::Relaxed);
        // SAFETY: I1: `current` owns a count of `published`, which the start or the last publish gave it, and which this
        // takes over: nobody can load `current` any more.
        drop(unsafe { Arc::from_raw(published) });
    }
}

/// A registration with the collector whose pins can't get out of hand (I6).
///
/// A pin is only ever a borrow that a closure gets. So it ends with the closure, even by panic; it can't be forgotten,
/// kept, or bound to `_` and thereby ended at once. (The one exception, [`Stall`], is not `Send`, as its guard isn't.)
struct Pinner(LocalHandle);

// SAFETY: a `LocalHandle` is not `Send` because of its pointer to a record of the collector's that its thread changes
// without synchronization through the handle and its guards. Here each access goes through `&mut Pinner`: there is one
// handle per record, nobody clones it, and no guard outlives a call of `pinned`, which ends before the `Pinner` can move.
// So whatever hands the `Pinner` to another thread also orders all these accesses. Other threads reach the record through
// the collector's list, but only its atomics. Nothing in it belongs to a thread: closures waiting in its bag had to be
// `Send` to get there (`Guard::defer`). Rests on crossbeam-epoch 0.9's internals and has no type parameter to bound.
unsafe impl Send for Pinner {}

impl Pinner {
    #[inline]
    fn pinned<R>(&mut self, f: impl FnOnce(&Guard) -> R) -> R {
        #[cfg(ringway_loom)]
        let _noted = super::watch::enter(); // first, since a pin may run closures
        let guard = self.0.pin();
        f(&guard)
    }
}

/// Somebody who may pin: a [`Pinner`] together with the shared state whose collector it is registered with.
struct Participant<V: Value> {
    /// `None` only while it is dropped.
    pinner: Option<Pinner>,
    shared: Arc<Shared<V>>,
}

impl<V: Value> Participant<V> {
    fn register(shared: &Arc<Shared<V>>) -> Self {
        let spare = lock(&shared.spare).pop();
        let pinner = spare.unwrap_or_else(|| Pinner(shared.collector.register()));
        Self { pinner: Some(pinner), shared: Arc::clone(shared) }
    }

    #[inline]
    fn pinned<R>(&mut self, f: impl FnOnce(&Guard, &Shared<V>) -> R) -> R {
        match &mut self.pinner {
            Some(pinner) => pinner.pinned(|pin| f(pin, &self.shared)),
            None => unreachable!("only dropping a participant takes its pinner"),
        }
    }

    fn flush(&mut self) {
        self.pinned(|pin, _| pin.flush());
    }

    /// Becomes a holder of the published value.
    fn take(&mut self) -> Arc<V> {
        self.pinned(|_pin, shared| {
            // Acquire: sees the value that the address leads to as it was when published; pairs with
            // `Writer::publish`, Release; without it the first read through the result races with the value's making.
            let published = shared.current.load(Ordering::Acquire);
            // SAFETY: the address came from `Arc::into_raw` and `current` owned a count of it when it was loaded (I1).
            // The writer may have retired it since, but then gave that count to a closure (I2) that can't run before
            // this pin ends: the load returned the older address, so this pin's SeqCst fence comes before the one by
            // which the writer sealed the closure's bag, and the bag's epoch is not before this pin's.
            unsafe { Arc::increment_strong_count(published) };
            // SAFETY: takes over the count that was just made.
            unsafe { Arc::from_raw(published) }
        })
    }
}

impl<V: Value> Drop for Participant<V> {
    /// Drops the orphans that nobody else holds, after handing on or ending the registration.
    fn drop(&mut self) {
        let mut orphans = mem::take(&mut *lock(&self.shared.orphans));
        if !orphans.is_empty() {
            for _ in 0..IDLE_FLUSHES + orphans.len() / BAGS_PER_FLUSH {
                self.flush();
            }
        }
        let unheld: Vec<_> = orphans.extract_if(.., |value| Arc::strong_count(value) == 1).collect();
        if !orphans.is_empty() {
            lock(&self.shared.orphans).append(&mut orphans);
        }
        let mut spare = lock(&self.shared.spare);
        if spare.len() < SPARE_PINNERS {
            spare.extend(self.pinner.take());
        }
        drop(spare);
        self.pinner = None;
        drop(unheld); // user code, and neither pinned nor locked
    }
}

/// No user code runs under any of these locks, so there is no panic that could have left half a change behind one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The writing end of [`Epoch`].
///
/// `Send`, so that it can move to the thread that applies changes, and not `Sync`:
/// ```
/// fn send<T: Send>() {}
/// send::<ringway::publish::epoch::Writer<u8>>();
/// ```
/// ```compile_fail,E0277
/// fn sync<T: Sync>() {}
/// sync::<ringway::publish::epoch::Writer<u8>>();
/// ```
pub struct Writer<V: Value> {
    /// The writer's own count of the published value, beside the one of `Shared::current`.
    current: Arc<V>,
    /// Retired values, oldest first, each with the count that was `current` here.
    retired: VecDeque<Arc<V>>,
    /// Closures handed to the collector so far, wrapping.
    deferred: usize,
    /// Closures that have run to their end, wrapping. Not in `Shared`: closures hold a count of it, and one of `Shared`
    /// inside the collector inside `Shared` would be a cycle.
    ///
    /// A number, and not the highest sequence number that has run: the collector hands bags out in order, but two
    /// participants that took one each may run the later first. A maximum would then be right about grace periods
    /// (bags expire in order) and wrong about who still holds a count, which I4 needs.
    finished: Arc<AtomicUsize>,
    limit: usize,
    participant: Participant<V>,
}

impl<V: Value> Writer<V> {
    fn in_grace(&self) -> usize {
        // Acquire: what the closures did is done; pairs with the closure in `publish`, Release (each increment continues
        // the release sequences of those before); without it the writer could go and leave a closure to drop the
        // last count under a reader's pin, though it counted as finished. (No model shows that: loom keeps the counts of
        // an `Arc` in one order.)
        self.deferred.wrapping_sub(self.finished.load(Ordering::Acquire))
    }

    /// Helps grace periods to end, until none is left or no more can.
    fn advance(&mut self) {
        let mut waiting = self.in_grace();
        let mut idle = 0;
        while waiting != 0 && idle < IDLE_FLUSHES {
            self.participant.flush();
            let left = self.in_grace();
            idle = if left < waiting { 0 } else { idle + 1 };
            waiting = left;
        }
    }
}

impl<V: Value> Write<V> for Writer<V> {
    fn ready(&mut self) -> Result<(), Backpressure> {
        self.advance();
        let (in_grace, limit) = (self.in_grace(), self.limit);
        if in_grace < limit { Ok(()) } else { Err(Backpressure { in_grace, limit }) }
    }

    fn publish(&mut self, value: V) -> Result<(), (V, Backpressure)> {
        self.publish_with(value, drop)
    }

    fn publish_with(&mut self, value: V, f: impl FnMut(V)) -> Result<(), (V, Backpressure)> {
        if let Err(refused) = self.ready() {
            return Err((value, refused));
        }
        // All that may fail comes before the swap, so that a value is either not published or retires its predecessor.
        self.retired.reserve(1);
        let next = Arc::new(value);
        let address = Arc::into_raw(Arc::clone(&next)).cast_mut();
        // Release: publishes the value behind `address`; pairs with `Participant::take`, Acquire; without it readers race
        // with the making of the value (`loom::cached_lookup`). Not Acquire too: the address that comes back was put
        // there by this same writer. The store-load edge against `take` is the fence of the flush below.
        let retired = self.participant.shared.current.swap(address, Ordering::Release);
        // SAFETY: I1: `current` owned a count of what it pointed at, and no longer points at it.
        let shared_count = unsafe { Arc::from_raw(retired) };
        let kept = mem::replace(&mut self.current, next);
        debug_assert!(Arc::ptr_eq(&shared_count, &kept), "the writer's own count is of the published value");
        self.retired.push_back(kept);
        self.deferred = self.deferred.wrapping_add(1);
        let finished = Arc::clone(&self.finished);
        self.participant.pinned(|pin, _| {
            // Two words, which the collector's bag takes inline: no allocation per publish but the bag's own.
            pin.defer(move || {
                drop(shared_count);
                // Release: that drop is done; pairs with `Writer::in_grace`, Acquire, which says what it is for.
                finished.fetch_add(1, Ordering::Release);
            });
            pin.flush();
        });
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
        self.advance();
        super::reclaim_unheld(&mut self.retired, f)
    }

    fn counts(&self) -> Counts {
        Counts { live: 1 + self.retired.len(), retired: self.retired.len(), in_grace: self.in_grace() }
    }
}

impl<V: Value> Drop for Writer<V> {
    /// Leaves the values of which a closure may still hold a count to the other participants (P7); see the top.
    fn drop(&mut self) {
        self.advance();
        if self.in_grace() != 0 {
            lock(&self.participant.shared.orphans).extend(self.retired.drain(..));
        }
        // Otherwise the counts in `retired` go with it, and a value with its last holder.
    }
}

impl<V: Value> fmt::Debug for Writer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("counts", &self.counts()).field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The shared end of [`Epoch`].
pub struct Source<V: Value> {
    shared: Arc<Shared<V>>,
}

impl<V: Value> Source<V> {
    /// Stands in for a reader that is stopped inside a refresh until the result is dropped; for tests.
    #[doc(hidden)]
    pub fn stall(&self) -> Stall<V> {
        let participant = Participant::register(&self.shared);
        let guard = participant.pinner.as_ref().map(|pinner| pinner.0.pin());
        Stall { guard, _participant: participant }
    }
}

impl<V: Value> super::Source<V> for Source<V> {
    type Reader = Reader<V>;

    /// Takes a lock for a moment, and if no reader has left its registration behind, allocates a record of some 2 KiB and
    /// links it into the collector's list (about 700 ns).
    fn reader(&self) -> Reader<V> {
        Reader { cached: None, participant: Participant::register(&self.shared) }
    }

    /// Is a participant for the length of the call, which costs as much as `reader` does.
    fn snapshot(&self) -> Arc<V> {
        Participant::register(&self.shared).take()
    }
}

impl<V: Value> Clone for Source<V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<V: Value> fmt::Debug for Source<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// The reading end of [`Epoch`].
///
/// `Send`, so that it can be made where the ring is and move to the thread that uses it, and not `Sync`:
/// ```
/// fn send<T: Send>() {}
/// send::<ringway::publish::epoch::Reader<u8>>();
/// ```
/// ```compile_fail,E0277
/// fn sync<T: Sync>() {}
/// sync::<ringway::publish::epoch::Reader<u8>>();
/// ```
/// Make readers after a `fork`, not before: the child's copy of another thread's reader would never unpin.
pub struct Reader<V: Value> {
    /// A count of the value seen last; `None` before the first lookup and while parked.
    cached: Option<Arc<V>>,
    participant: Participant<V>,
}

impl<V: Value> Reader<V> {
    #[cold]
    #[inline(never)]
    fn refresh(&mut self) -> &V {
        let published = self.participant.take();
        // Lets go of the older value here, after the pin: without the writer it may be the last count (P7, P8).
        self.cached.insert(published)
    }
}

impl<V: Value> Read<V> for Reader<V> {
    #[inline(always)]
    fn current(&mut self) -> &V {
        // Relaxed: if the address is the cached one, nothing is read through it that `cached` didn't already lead to: it
        // can't be another value at an old address, as `cached` keeps this one in use (I3). If it is not, `refresh`
        // loads it again. Coherence alone gives P2 and P3: a load that the swap happens-before can't return the older
        // address, nor can one that follows a load of the newer.
        let published = self.participant.shared.current.load(Ordering::Relaxed);
        // Null for nothing, which is never published. In this form (not as a match with a guard) a hit compiles to two
        // predicted branches and no call, eight instructions in all; the `unreachable!` is behind both.
        let held = self.cached.as_ref().map_or(ptr::null(), Arc::as_ptr);
        if !ptr::eq(held, published) {
            return self.refresh();
        }
        match &self.cached {
            Some(cached) => cached,
            None => unreachable!("a hit compared the cached value's address"),
        }
    }

    #[inline]
    fn snapshot(&mut self) -> Arc<V> {
        self.current();
        match &self.cached {
            Some(cached) => Arc::clone(cached),
            None => unreachable!("a lookup leaves its value in the cache"),
        }
    }

    fn park(&mut self) {
        self.cached = None;
    }

    fn held(&self) -> Option<&V> {
        self.cached.as_deref()
    }
}

impl<V: Value> fmt::Debug for Reader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("parked", &self.cached.is_none()).finish_non_exhaustive()
    }
}

/// See [`Source::stall`].
#[doc(hidden)]
pub struct Stall<V: Value> {
    // Before the participant that it pins.
    guard: Option<Guard>,
    _participant: Participant<V>,
}

impl<V: Value> Stall<V> {
    /// Leaves the refresh, as a reader does that goes on living.
    #[doc(hidden)]
    pub fn resume(&mut self) {
        self.guard = None;
    }
}

impl<V: Value> fmt::Debug for Stall<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stall").field("pinned", &self.guard.is_some()).finish_non_exhaustive()
    }
}
