//! What the models share: how they are explored, and the values they publish.
//!
//! A model is affordable only if its setup isn't explored. So each makes its ends and pins each once before it calls
//! `loom::explore()`, does the few steps that matter, hands its ends back through `join`, calls
//! `loom::stop_exploring()` and tears down on the main thread. Models of one reader publish at least twice: with one
//! publish, coherence hides a missing pin.
#![cfg(all(ringway_loom, crossbeam_loom))]

use std::env;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use loom::cell::UnsafeCell;
use loom::thread::{self, ThreadId};

/// How many involuntary thread switches a model explores.
#[derive(Clone, Copy, Debug)]
pub struct Preemptions {
    /// In every run.
    pub ci: usize,
    /// With `run.sh --long`.
    pub long: usize,
}

/// Explores `model` and prints what that took.
///
/// `LOOM_MAX_PREEMPTIONS` overrides the bound.
pub fn check(name: &str, preemptions: Preemptions, model: impl Fn() + Send + Sync + 'static) {
    let iterations = StdArc::new(AtomicUsize::new(0));
    let counted = StdArc::clone(&iterations);
    let mut builder = loom::model::Builder::new();
    builder.expect_explicit_explore = true;
    builder.max_branches = 100_000;
    let own = if env::var_os("RINGWAY_LOOM_LONG").is_some() { preemptions.long } else { preemptions.ci };
    let bound = builder.preemption_bound.unwrap_or(own);
    builder.preemption_bound = Some(bound);
    let start = Instant::now();
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    let seconds = start.elapsed().as_secs_f64();
    println!("model {name}: preemptions {bound}, {} iterations, {seconds:.1} s", iterations.load(Relaxed));
}

/// Counts the values that live and notes who drops them. Not loom's atomics: an observer must add no interleavings.
#[derive(Clone, Default)]
pub struct Ledger {
    live: StdArc<AtomicUsize>,
    dropped: StdArc<std::sync::Mutex<Vec<(usize, ThreadId)>>>,
}

impl Ledger {
    /// Makes version `number`.
    pub fn version(&self, number: usize) -> Version {
        self.live.fetch_add(1, Relaxed);
        let version = Version { number, cell: UnsafeCell::new(0), ledger: self.clone() };
        // loom doesn't take `UnsafeCell::new` for a write; without this one a publish with `Relaxed` would pass.
        // SAFETY: nobody else has the version yet.
        version.cell.with_mut(|cell| unsafe { *cell = number });
        version
    }

    /// Values that are not dropped.
    pub fn live(&self) -> usize {
        self.live.load(Relaxed)
    }

    /// Numbers of the values dropped so far, in that order.
    pub fn dropped(&self) -> Vec<usize> {
        self.dropped.lock().unwrap().iter().map(|(number, _)| *number).collect()
    }

    /// Numbers of the values dropped so far by any thread but `thread`.
    pub fn dropped_elsewhere(&self, thread: ThreadId) -> Vec<usize> {
        let dropped = self.dropped.lock().unwrap();
        dropped.iter().filter(|(_, by)| *by != thread).map(|(number, _)| *number).collect()
    }
}

/// A published value: reading it while it is made or dropped is a race that loom reports.
pub struct Version {
    number: usize,
    cell: UnsafeCell<usize>,
    ledger: Ledger,
}

// SAFETY: only `cell` isn't `Sync`. It is written before the version is shared and when nobody shares it any more, and if
// that is not so, loom reports it: the models would be of little use if the compiler had to believe it.
unsafe impl Sync for Version {}

impl Version {
    /// Reads the version, all of it.
    pub fn read(&self) -> usize {
        // SAFETY: loom checks that no write is concurrent, which is what the models are for.
        let inner = self.cell.with(|cell| unsafe { *cell });
        assert_eq!(inner, self.number, "a torn or dropped version");
        inner
    }

    /// Overwrites the version, as who frees it might.
    pub fn poison(&self) {
        // SAFETY: as in `read`: loom checks that nobody reads or writes at the same time.
        self.cell.with_mut(|cell| unsafe { *cell = usize::MAX });
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        // A model that fails unwinds through here, and a second panic would end the process without a word.
        if std::thread::panicking() {
            return;
        }
        // P8, in every model.
        assert!(!ringway::publish::watch::is_pinned(), "version {} is dropped under a pin", self.number);
        self.poison();
        self.ledger.live.fetch_sub(1, Relaxed);
        self.ledger.dropped.lock().unwrap().push((self.number, thread::current().id()));
    }
}
