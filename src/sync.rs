//! The one import of atomics, `Arc`, locks and fences.
//!
//! Everything that takes part in the publication protocol comes through here, so that the loom models in `loom-tests/`
//! run the code that ships: with `--cfg ringway_loom` these names are loom's, otherwise std's. The cfg has a name of its
//! own so that a user's `--cfg loom` doesn't flip our atomics.

// Both lists name the same things whether or not each has a user yet: a file that needs one must not have to think of
// the other list.
#[cfg(not(ringway_loom))]
#[allow(unused_imports)]
pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(ringway_loom)]
#[allow(unused_imports)]
pub(crate) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
};

// loom's locks hand out std's `LockResult`, so this one serves both.
#[allow(unused_imports)]
pub(crate) use std::sync::PoisonError;
