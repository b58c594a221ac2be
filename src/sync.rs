//! The one import of atomics, `Arc` and fences.
//!
//! Everything that takes part in the publication protocol comes through here, so that the loom models in `loom-tests/`
//! run the code that ships: with `--cfg ringway_loom` these names are loom's, otherwise std's. The cfg has a name of its
//! own so that a user's `--cfg loom` doesn't flip our atomics.

#[cfg(not(ringway_loom))]
pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, Ordering},
};

#[cfg(ringway_loom)]
pub(crate) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU64, Ordering},
};
