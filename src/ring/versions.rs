//! The number of the published version, for those who wait for it. Never on the path of a lookup.
//!
//! Invariants
//! - V1: `current` is stored after the table of that version was published, so whoever reads a version here finds that
//!   table or a later one.
//! - V2: it never goes down; there is one writer.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::error::WaitError;
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};

pub(super) struct Versions {
    current: AtomicU64,
    writer_gone: Mutex<bool>,
    changed: Condvar,
}

impl Versions {
    /// The version of a ring's first table.
    pub(super) const FIRST: u64 = 1;

    pub(super) fn new() -> Self {
        Self { current: AtomicU64::new(Self::FIRST), writer_gone: Mutex::new(false), changed: Condvar::new() }
    }

    pub(super) fn current(&self) -> u64 {
        // Acquire: with the version comes the table; pairs with Versions::announce, Release; without it a thread could
        // learn of version n here and still look up in n - 1.
        self.current.load(Ordering::Acquire)
    }

    /// Makes a published version known.
    pub(super) fn announce(&self, version: u64) {
        // Release: publishes "the table of this version is out"; pairs with Versions::current, Acquire.
        self.current.store(version, Ordering::Release);
        // Taken so that a waiter is either before its check or inside the wait, and can't miss the call. Waiters hold the
        // lock for a few instructions; lookups never touch it.
        drop(self.writer_gone.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Tells waiters that no further version will come.
    pub(super) fn close(&self) {
        *self.writer_gone.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(super) fn wait_for(&self, wanted: u64, timeout: Duration) -> Result<u64, WaitError> {
        // A timeout too large for the clock is no timeout within anybody's lifetime.
        let deadline = Instant::now().checked_add(timeout);
        let mut writer_gone = self.writer_gone.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let current = self.current();
            if current >= wanted {
                return Ok(current);
            }
            if *writer_gone {
                return Err(WaitError::WriterGone { wanted, current });
            }
            let left = match deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return Err(WaitError::TimedOut { wanted, current });
            }
            writer_gone = self.changed.wait_timeout(writer_gone, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
