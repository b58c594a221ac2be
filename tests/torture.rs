//! Everything at once on every publisher, for `RINGWAY_STRESS_SECONDS` each: 3 if not set, 60 in CI, an hour before a
//! release. `RINGWAY_SEED` sets the seed, which is printed.
//!
//! After the torture tests of RCU in Linux (Paul McKenney; `kernel/rcu/rcutorture.c`) and liburcu, and their histogram of
//! ages. There the age is how many grace periods ago a value was taken away; here, where a reader has no critical section
//! that would have to end, it is how many publishes a lookup is behind: the writer announces version v before it publishes
//! it, so who reads "v" and then looks up knows that the publish of v - 1 has returned. Age 0 is v or later, age 1 is
//! v - 1, and anything above is a broken promise (P2): those buckets must be empty.
//!
//! Several rings live side by side, each writer publishes as fast as it can, and rings die and are followed by others with
//! values of the same size, so that what one frees another allocates. Writers, readers and snapshots wander between
//! threads. Threads end with readers in their hands or in thread-local slots, panic in the middle of a read, sleep, and
//! stop inside a refresh. Each value knows its ring and version, is full of numbers that follow from them, and is
//! overwritten when it is dropped; whoever holds one reads it again and again.

mod common;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use common::{Rng, env_number};
use ringway::publish::{Epoch, Locked, Publish, Read, Source, Write};

const RINGS: usize = 3;
const LOOKERS: usize = 3;
const RETIRED_LIMIT: usize = 8;
/// Most snapshots of a thread, and most readers and snapshots on their way to another.
const MOST: usize = 16;

#[test]
fn epoch() {
    torture::<Epoch>();
}

#[test]
fn locked() {
    torture::<Locked>();
}

#[cfg(feature = "arc-swap")]
#[test]
fn arc_swap() {
    torture::<ringway::publish::ArcSwap>();
}

/// A publisher that may be able to stop a reader inside a refresh.
trait Torture: Publish {
    fn stall(_: &Self::Source<Specimen>) -> Option<Box<dyn Any>> {
        None
    }
}

impl Torture for Epoch {
    fn stall(source: &Self::Source<Specimen>) -> Option<Box<dyn Any>> {
        Some(Box::new(source.stall()))
    }
}

impl Torture for Locked {}

#[cfg(feature = "arc-swap")]
impl Torture for ringway::publish::ArcSwap {}

/// What is published.
struct Specimen {
    ring: u64,
    version: u64,
    words: [u64; 13],
    ledger: Arc<Ledger>,
}

/// What a ring's values and readers know of it.
#[derive(Default)]
struct Ledger {
    /// The version that is about to be published or has been.
    begun: AtomicU64,
    /// Set before the writer goes.
    writer_gone: AtomicBool,
    live: AtomicI64,
    /// Values that another thread than the writer's dropped while the writer lived.
    strays: AtomicU64,
}

thread_local! {
    /// Whether this thread has the writers.
    static WRITES: Cell<bool> = const { Cell::new(false) };
    /// Readers that go when the thread does.
    static LEFT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

impl Specimen {
    fn new(ring: u64, version: u64, ledger: &Arc<Ledger>) -> Self {
        ledger.live.fetch_add(1, Ordering::Relaxed);
        Self { ring, version, words: Self::words(ring, version), ledger: Arc::clone(ledger) }
    }

    fn words(ring: u64, version: u64) -> [u64; 13] {
        let start = (ring << 40 ^ version).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        std::array::from_fn(|i| start.rotate_left(5 * i as u32))
    }

    /// The version, after a look at all of the value.
    fn read(&self, ring: u64) -> u64 {
        let Self { version, words, .. } = black_box(self);
        assert_eq!(self.ring, ring, "a value of another ring, or none any more");
        assert_eq!(*words, Self::words(ring, *version), "ring {ring}: torn or overwritten");
        *version
    }
}

impl Drop for Specimen {
    fn drop(&mut self) {
        self.read(self.ring);
        if !self.ledger.writer_gone.load(Ordering::Acquire) && !WRITES.get() {
            self.ledger.strays.fetch_add(1, Ordering::Relaxed);
        }
        self.ledger.live.fetch_sub(1, Ordering::Relaxed);
        (self.ring, self.version, self.words) = (u64::MAX, u64::MAX, [u64::MAX; 13]);
        black_box(&mut *self); // or the compiler would see that nobody may read this
    }
}

/// What everybody finds a ring by.
struct Entry<P: Torture> {
    id: u64,
    source: P::Source<Specimen>,
    ledger: Arc<Ledger>,
}

/// A reader, and what it has seen.
struct Eye<P: Torture> {
    id: u64,
    reader: P::Reader<Specimen>,
    ledger: Arc<Ledger>,
    last: u64,
}

impl<P: Torture> Eye<P> {
    fn new(entry: &Entry<P>) -> Self {
        Self { id: entry.id, reader: entry.source.reader(), ledger: Arc::clone(&entry.ledger), last: 0 }
    }

    /// Looks up, and files the age of what it saw.
    fn look(&mut self, tallies: &mut Tallies) -> &Specimen {
        // Acquire: with "v was begun" comes "the publish of v - 1 has returned".
        let begun = self.ledger.begun.load(Ordering::Acquire);
        let value = self.reader.current();
        let version = value.read(self.id);
        assert!(version >= self.last, "ring {}: version {version} after {}", self.id, self.last);
        self.last = version;
        tallies.lookups += 1;
        let age = usize::try_from(begun.saturating_sub(version)).unwrap_or(usize::MAX);
        tallies.ages[age.min(tallies.ages.len() - 1)] += 1;
        value
    }
}

/// A writer and the value that it couldn't publish yet.
struct Pen<P: Torture> {
    id: u64,
    writer: P::Writer<Specimen>,
    pending: Option<Specimen>,
    ledger: Arc<Ledger>,
}

/// A snapshot, with the ring it must be of and the version it must stay.
type Kept = (Arc<Specimen>, u64, u64);

#[derive(Debug, Default)]
struct Tallies {
    ages: [u64; 11],
    lookups: u64,
    publishes: u64,
    refused: u64,
    /// Publishes whose value came to lie where another had lain.
    reused: u64,
    exits: u64,
    panics: u64,
    moves: u64,
    stalls: u64,
}

impl Tallies {
    fn add(&mut self, other: &Self) {
        self.ages.iter_mut().zip(other.ages).for_each(|(sum, more)| *sum += more);
        self.lookups += other.lookups;
        self.publishes += other.publishes;
        self.refused += other.refused;
        self.reused += other.reused;
        self.exits += other.exits;
        self.panics += other.panics;
        self.moves += other.moves;
        self.stalls += other.stalls;
    }
}

/// What the threads share.
struct World<P: Torture> {
    entries: Mutex<Vec<Entry<P>>>,
    /// Readers and snapshots that wait for another thread to take them.
    eyes: Mutex<Vec<Eye<P>>>,
    kept: Mutex<Vec<Kept>>,
    tallies: Mutex<Tallies>,
    ledgers: Mutex<Vec<Arc<Ledger>>>,
    stop: AtomicBool,
}

/// The payload of a panic that is part of the test.
struct Meant;

impl<P: Torture> World<P> {
    /// Starts a ring with the next id, and makes it known at `place`.
    fn found(&self, place: usize) -> Pen<P> {
        let ledger = Arc::new(Ledger::default());
        let mut ledgers = self.ledgers.lock().unwrap();
        ledgers.push(Arc::clone(&ledger));
        let id = ledgers.len() as u64;
        drop(ledgers);
        let (writer, source) = P::start(Specimen::new(id, 0, &ledger), RETIRED_LIMIT);
        let entry = Entry { id, source, ledger: Arc::clone(&ledger) };
        let mut entries = self.entries.lock().unwrap();
        entries.push(entry);
        // The last takes the place of the one that goes.
        let before = (place + 1 < entries.len()).then(|| entries.swap_remove(place));
        drop(entries);
        drop(before); // perhaps the last that knows that ring, so not under the lock
        Pen { id, writer, pending: None, ledger }
    }

    /// A writers' thread: publishes for a while and hands the writers on.
    fn write(&self, mut pens: Vec<Pen<P>>, mut rng: Rng) -> Vec<Pen<P>> {
        WRITES.set(true);
        let mut tallies = Tallies::default();
        let mut addresses: Vec<*const Specimen> = Vec::new();
        for _ in 0..20_000 + rng.below(20_000) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let place = rng.below(pens.len());
            let pen = &mut pens[place];
            match rng.below(4_000) {
                0 => {
                    // The ring's successor is there before it goes; its readers go on with what they have.
                    let next = self.found(place);
                    let old = std::mem::replace(&mut pens[place], next);
                    old.ledger.writer_gone.store(true, Ordering::Release);
                    continue;
                }
                1 => thread::sleep(Duration::from_micros(rng.below(2_000) as u64)),
                2..10 => drop(pen.writer.reclaim()),
                10..14 => assert_eq!(pen.writer.snapshot().read(pen.id), pen.writer.current().version),
                14..200 => thread::yield_now(),
                _ => {}
            }
            let version = pen.writer.current().version + 1;
            let value = pen.pending.take().unwrap_or_else(|| Specimen::new(pen.id, version, &pen.ledger));
            assert_eq!(value.read(pen.id), version);
            // Release: the publish of the version before has returned; see `Eye::look`.
            pen.ledger.begun.store(version, Ordering::Release);
            match pen.writer.publish(value) {
                Ok(()) => {
                    tallies.publishes += 1;
                    let address: *const _ = pen.writer.current();
                    tallies.reused += u64::from(addresses.contains(&address));
                    if addresses.len() < 64 {
                        addresses.push(address);
                    }
                }
                Err((value, refused)) => {
                    assert_eq!((refused.in_grace, refused.limit), (RETIRED_LIMIT, RETIRED_LIMIT));
                    tallies.refused += 1;
                    pen.pending = Some(value);
                    thread::yield_now();
                }
            }
            let counts = pen.writer.counts();
            assert!(counts.in_grace <= RETIRED_LIMIT && counts.live == counts.retired + 1, "{counts:?}");
        }
        self.tallies.lock().unwrap().add(&tallies);
        pens
    }

    /// A looker's thread, to its end by return or panic.
    fn read(&self, mut rng: Rng) {
        let mut tallies = Tallies::default();
        let meant = self.look_around(&mut rng, &mut tallies);
        self.tallies.lock().unwrap().add(&tallies);
        if meant {
            resume_unwind(Box::new(Meant));
        }
    }

    /// Looks until the thread should end; says whether by a panic.
    fn look_around(&self, rng: &mut Rng, tallies: &mut Tallies) -> bool {
        let mut eyes: Vec<Eye<P>> = Vec::new();
        let mut kept: Vec<Kept> = Vec::new();
        let mut stopped: Option<(Box<dyn Any>, usize)> = None;
        while !self.stop.load(Ordering::Relaxed) {
            if eyes.is_empty() {
                eyes.extend(self.entries.lock().unwrap().iter().map(Eye::new));
            }
            let place = rng.below(eyes.len());
            let eye = &mut eyes[place];
            let value = eye.look(tallies);
            match rng.below(5_000) {
                // Reads on while others publish.
                0..20 => {
                    let (ring, version) = (value.ring, value.version);
                    (0..rng.below(500)).for_each(|_| assert_eq!(value.read(ring), version));
                }
                20..40 => {
                    let snapshot = eye.reader.snapshot();
                    let version = snapshot.read(eye.id);
                    kept.push((snapshot, eye.id, version));
                }
                40..60 => eye.reader.park(),
                60..70 => drop(eyes.swap_remove(place)),
                70..80 => {
                    let entries = self.entries.lock().unwrap();
                    let entry = rng.pick(&entries);
                    if rng.percent(50) {
                        let snapshot = entry.source.snapshot();
                        let version = snapshot.read(entry.id);
                        kept.push((snapshot, entry.id, version));
                    } else {
                        let new = Eye::new(entry);
                        drop(entries); // going, the old one may be the last that knows its ring
                        *eye = new;
                    }
                }
                // A reader and a snapshot wander to other threads, and others come.
                80..110 => {
                    let mut pool = self.eyes.lock().unwrap();
                    let given = eyes.swap_remove(place);
                    let place = rng.below(pool.len() + 1);
                    pool.insert(place, given);
                    let taken = if pool.len() > MOST { pool.pop() } else { None };
                    drop(pool);
                    tallies.moves += u64::from(taken.is_some());
                    eyes.extend(taken);
                    let mut pool = self.kept.lock().unwrap();
                    pool.extend(kept.pop());
                    if pool.len() > MOST {
                        let place = rng.below(pool.len());
                        kept.push(pool.swap_remove(place));
                    }
                }
                110..113 => thread::sleep(Duration::from_micros(rng.below(3_000) as u64)),
                113..300 => thread::yield_now(),
                // Stops inside a refresh; other readers of the thread go on.
                300 if stopped.is_none() => {
                    let source = self.entries.lock().unwrap().get(place % RINGS).map(|entry| entry.source.clone());
                    stopped = source.and_then(|source| P::stall(&source)).map(|stall| (stall, rng.below(2_000)));
                    tallies.stalls += u64::from(stopped.is_some());
                }
                301 => {
                    tallies.exits += 1;
                    // In thread-local slots they go after all that is on the stack, and after or before slots of others.
                    LEFT.with_borrow_mut(|left| left.extend(eyes.drain(..).map(|eye| Box::new(eye) as Box<dyn Any>)));
                    return false;
                }
                302 => {
                    tallies.panics += 1;
                    return true;
                }
                _ => {}
            }
            if stopped.as_mut().is_some_and(|(_, left)| left.checked_sub(1).map(|less| *left = less).is_none()) {
                stopped = None;
            }
            if kept.len() > MOST {
                kept.swap_remove(rng.below(kept.len()));
            }
            if let Some((snapshot, id, version)) = kept.last() {
                assert_eq!(snapshot.read(*id), *version);
            }
        }
        false
    }
}

/// Ends the others if this thread fails.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn torture<P: Torture>() {
    let mut rng = Rng::new(env_number("RINGWAY_SEED", 1));
    let world = World::<P> {
        entries: Mutex::default(),
        eyes: Mutex::default(),
        kept: Mutex::default(),
        tallies: Mutex::default(),
        ledgers: Mutex::default(),
        stop: AtomicBool::new(false),
    };
    let pens: Vec<_> = (0..RINGS).map(|place| world.found(place)).collect();
    let end = Instant::now() + Duration::from_secs(env_number("RINGWAY_STRESS_SECONDS", 3));
    let mut pens = thread::scope(|scope| {
        let mut pens = pens;
        let (world, _stop) = (&world, StopOnPanic(&world.stop));
        let start = |mut rng: Rng| scope.spawn(move || world.read(rng.fork()));
        let settle = |ended: ScopedJoinHandle<'_, ()>| {
            if let Err(payload) = ended.join()
                && !payload.is::<Meant>()
            {
                resume_unwind(payload);
            }
        };
        let mut lookers: Vec<_> = (0..LOOKERS).map(|_| start(rng.fork())).collect();
        while Instant::now() < end {
            let shift = rng.fork();
            let writing = scope.spawn(move || world.write(pens, shift));
            while !writing.is_finished() {
                for looker in &mut lookers {
                    if looker.is_finished() {
                        settle(std::mem::replace(looker, start(rng.fork())));
                    }
                }
                if Instant::now() >= end {
                    world.stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_micros(200));
            }
            pens = writing.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
        world.stop.store(true, Ordering::Relaxed);
        lookers.into_iter().for_each(settle);
        pens
    });

    WRITES.set(true); // the writers are this thread's now
    for pen in &mut pens {
        pen.pending = None;
    }
    let World { entries, eyes, kept, tallies, ledgers, .. } = world;
    let ledgers = ledgers.into_inner().unwrap();
    drop((entries, eyes, kept));
    for pen in pens {
        let Pen { mut writer, ledger, .. } = pen;
        writer.reclaim();
        assert_eq!((writer.counts().live, ledger.live.load(Ordering::Relaxed)), (1, 1), "nobody else is left");
        ledger.writer_gone.store(true, Ordering::Release);
    }
    let tallies = tallies.into_inner().unwrap();
    println!("{}: {} rings, {tallies:?}", P::NAME, ledgers.len());
    let live: Vec<i64> = ledgers.iter().map(|ledger| ledger.live.load(Ordering::Relaxed)).collect();
    assert!(live.iter().all(|live| *live == 0), "values that were never dropped, by ring: {live:?}");
    let strays: u64 = ledgers.iter().map(|ledger| ledger.strays.load(Ordering::Relaxed)).sum();
    assert_eq!(strays, 0, "values dropped by other threads than their writer's, while it lived");
    assert_eq!(tallies.ages[2..], [0; 9], "lookups that were behind a publish that had returned");
    assert!(tallies.publishes > 100 && tallies.lookups > 1_000, "this was no torture: {tallies:?}");
}
