//! The reader threads: lookups at full speed, some of which are timed and noted.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use core_affinity::CoreId;
use hdrhistogram::Histogram;
use ringway::layout::Layout;
use ringway::scheme::Scheme;
use ringway::{NodeId, Reader};

use super::{Bounds, is_noted};

/// One lookup in so many is timed by itself.
pub(super) const TIMED_EVERY: u64 = 1024;
/// Times are handed to the main thread so many at once.
const TIMES_BATCH: usize = 64;

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared<'k> {
    keys: &'k [&'k [u8]],
    bounds: Bounds,
    /// One version in so many is noted.
    step: AtomicU64,
    pub(super) stop: AtomicBool,
    seconds: Vec<Lane>,
}

/// One reader's outlet to the main thread, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Lane {
    lookups: AtomicU64,
    times: Mutex<Histogram<u64>>,
}

/// What a reader leaves when it ends.
#[derive(Debug, Default)]
pub(super) struct ReaderTally {
    pub(super) answers: Vec<Answer>,
    /// Timed lookups in versions that are noted, that weren't noted themselves for want of room.
    pub(super) not_noted: u64,
    pub(super) lookups: u64,
    /// How often a timed lookup saw an older version than the one before.
    pub(super) went_back: u64,
    pub(super) pinned: bool,
}

/// An answer, with all that is needed to check it.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) key: usize,
    pub(super) version: u64,
    pub(super) owner: Option<NodeId>,
}

impl<'k> Shared<'k> {
    pub(super) fn new(keys: &'k [&'k [u8]], bounds: Bounds, readers: usize) -> Self {
        let lane = || Lane { lookups: AtomicU64::new(0), times: Mutex::new(times()) };
        let seconds = (0..readers).map(|_| lane()).collect();
        Self { keys, bounds, step: AtomicU64::new(1), stop: AtomicBool::new(false), seconds }
    }

    pub(super) fn set_step(&self, step: u64) {
        // Relaxed: a reader that learns of it late notes answers that the check leaves out.
        self.step.store(step, Ordering::Relaxed);
    }

    /// Takes what all readers did since the last call.
    pub(super) fn take_second(&self) -> (u64, Histogram<u64>) {
        let mut sum = times();
        let mut lookups = 0;
        for lane in &self.seconds {
            // Relaxed: a count, on which nothing else depends.
            lookups += lane.lookups.swap(0, Ordering::Relaxed);
            let mut times = lane.times.lock().unwrap_or_else(PoisonError::into_inner);
            sum.add(&*times).expect("all of them have the same form");
            times.reset();
        }
        (lookups, sum)
    }
}

/// A histogram of nanoseconds: 1 ns to 10 s, longer ones count as 10 s; three digits.
fn times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("the bounds are in order")
}

/// Looks keys up until told to stop.
pub(super) fn read<S: Scheme<Point = u32>, L: Layout<u32>>(
    mut reader: Reader<(), S, L>,
    shared: &Shared<'_>,
    number: usize,
    core: Option<CoreId>,
) -> ReaderTally {
    let mut tally = ReaderTally { pinned: core.is_some_and(core_affinity::set_for_current), ..Default::default() };
    let (keys, lane) = (shared.keys, &shared.seconds[number]);
    // The readers are spread over the keys.
    let mut key = number * keys.len() / shared.seconds.len();
    let mut batch = [0; TIMES_BATCH];
    let (mut timed, mut last_version, mut noted, mut step) = (0, 0, 0, 1);
    // Relaxed: see StopOnDrop.
    while !shared.stop.load(Ordering::Relaxed) {
        for _ in 1..TIMED_EVERY {
            black_box(reader.owner(keys[key]));
            key = if key + 1 == keys.len() { 0 } else { key + 1 };
        }
        let start = Instant::now();
        let table = reader.table();
        let owner = black_box(table.owner(keys[key]));
        let time = start.elapsed();

        let version = table.version();
        if version != last_version {
            tally.went_back += u64::from(version < last_version);
            (last_version, noted) = (version, 0);
        }
        // Relaxed: see set_step.
        let new_step = shared.step.load(Ordering::Relaxed);
        if new_step != step {
            step = new_step;
            tally.answers.retain(|answer| is_noted(answer.version, step));
        }
        if is_noted(version, step) {
            if noted < shared.bounds.answers_per_version {
                noted += 1;
                tally.answers.push(Answer { key, version, owner: owner.map(|node| node.id().clone()) });
            } else {
                tally.not_noted += 1;
            }
        }
        key = if key + 1 == keys.len() { 0 } else { key + 1 };
        batch[timed] = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        timed += 1;
        if timed == TIMES_BATCH {
            timed = 0;
            let mut times = lane.times.lock().unwrap_or_else(PoisonError::into_inner);
            batch.iter().for_each(|&time| times.saturating_record(time));
        }
        tally.lookups += TIMED_EVERY;
        // Relaxed: see take_second.
        lane.lookups.fetch_add(TIMED_EVERY, Ordering::Relaxed);
    }
    tally
}
