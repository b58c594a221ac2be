//! Readers and a writer at full speed: versions, visibility, answers, and who drops what.
//!
//! `RINGWAY_STRESS_SECONDS` sets how long each test runs: 3 if not set, 60 before a release.

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use common::book::{Book, Booked, Entry};
use common::{Rng, env_number};
use ringway::layout::Auto;
use ringway::publish::{Epoch, Locked, Publish};
use ringway::{CommitError, Delta, Handle, Native, NodeSpec, Ring, Writer};

#[test]
fn stress() {
    run::<Epoch>(2);
}

/// The same on the publisher that is simple enough to be believed.
#[test]
fn stress_under_a_lock() {
    run::<Locked>(1);
}

#[cfg(feature = "arc-swap")]
#[test]
fn stress_through_arc_swap() {
    run::<ringway::publish::ArcSwap>(3);
}

const NODES: usize = 12;
const MOST_POINTS: usize = 24;
const KEYS: usize = 256;

type Payload = (Entry, u64);
type Scheme = Booked<Native>;

/// How many points each node has in one version; 0 means that it isn't there.
type Counts = [u8; NODES];

/// Every version's nodes, from version 1 on. A version is entered before it is published.
struct History {
    versions: Mutex<Vec<Counts>>,
    /// `points[node][label]`, by the label rule as this test reads it.
    points: Vec<Vec<u32>>,
}

impl History {
    fn new() -> Self {
        let point = |node: usize, label: usize| {
            let id = id(node);
            let mut bytes = u32::try_from(id.len()).unwrap().to_le_bytes().to_vec();
            bytes.extend(id.as_bytes());
            bytes.extend(u32::try_from(label).unwrap().to_le_bytes());
            (seahash::hash(&bytes) >> 32) as u32
        };
        let points = (0..NODES).map(|node| (0..MOST_POINTS).map(|label| point(node, label)).collect());
        Self { versions: Mutex::new(Vec::new()), points: points.collect() }
    }

    fn enter(&self, counts: Counts) {
        self.versions.lock().unwrap().push(counts);
    }

    fn of(&self, version: u64) -> Counts {
        self.versions.lock().unwrap()[usize::try_from(version).unwrap() - 1]
    }

    /// The owner by a walk over all points: the nearest clockwise; of equal ones the smallest id, which here is the
    /// smallest number.
    fn owner(&self, version: u64, key: &[u8]) -> Option<usize> {
        let counts = self.of(version);
        let key = (seahash::hash(key) >> 32) as u32;
        let points = self.points.iter().zip(counts).enumerate();
        let points = points.flat_map(|(node, (points, count))| points[..count.into()].iter().map(move |p| (p, node)));
        points.map(|(point, node)| (point.wrapping_sub(key), node)).min().map(|(_, node)| node)
    }
}

/// Two digits, so that ids sort as their numbers do.
fn id(node: usize) -> String {
    format!("node{node:02}")
}

/// A random change of the model, and the delta for it.
fn change(rng: &mut Rng, counts: &mut Counts, payloads: &Book, version: u64) -> Delta<Payload> {
    let mut delta = Delta::new();
    let mut nodes: Vec<usize> = (0..NODES).collect();
    rng.shuffle(&mut nodes);
    for &node in &nodes[..1 + rng.below(3)] {
        let count = u8::try_from(1 + rng.below(MOST_POINTS)).unwrap();
        if counts[node] == 0 {
            let spec = NodeSpec::new(id(node)).with_active_points(u32::from(count));
            delta = delta.add(spec.with_payload((payloads.entry(), version)));
            counts[node] = count;
        } else if rng.percent(40) {
            delta = delta.remove(id(node));
            counts[node] = 0;
        } else {
            delta =
                delta.set_active_points(id(node), u32::from(count)).set_payload(id(node), (payloads.entry(), version));
            counts[node] = count;
        }
    }
    delta
}

/// Sets the flag when it goes, so that a panicking thread ends the others too.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run<P: Publish>(seed: u64) {
    // One after the other: a test's own threads are as many as it is meant for.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = env_number("RINGWAY_STRESS_SECONDS", 3);
    let (tables, payloads, history) = (Book::new(), Book::new(), History::new());
    let scheme = Booked::new(Native::new(), &tables);
    let builder = Ring::builder().scheme(scheme).layout::<Auto<u32>>().publisher::<P>();
    let (writer, handle) = builder.build().expect("an empty ring is fine");
    history.enter([0; NODES]);

    let (stop, gone) = (AtomicBool::new(false), AtomicBool::new(false));
    let droppers = thread::scope(|scope| {
        let mut tells = Vec::new();
        for number in 0..2 {
            let (tell, told) = mpsc::sync_channel(4);
            tells.push(tell);
            let (handle, history, stop, gone) = (handle.clone(), &history, &stop, &gone);
            scope.spawn(move || read(handle, history, &told, stop, gone, seed << 8 | number));
        }
        let (history, payloads, tables, stop) = (&history, &payloads, &tables, &stop);
        let writing = scope.spawn(move || {
            let end = Instant::now() + Duration::from_secs(seconds);
            write(writer, history, payloads, tables, &tells, end, stop, seed)
        });
        let writer_thread = writing.thread().id();
        let droppers = writing.join();
        gone.store(true, Ordering::Release);
        let mut droppers = droppers.expect("the writer doesn't panic");
        assert!(droppers.remove(&writer_thread));
        // This thread built the ring, and dropped the empty table that building starts from.
        droppers.remove(&thread::current().id());
        droppers
    });
    assert_eq!(droppers, HashSet::new(), "while the writer lived, its thread alone dropped tables and payloads");
    assert!(tables.live() == 1, "the handle keeps the last table: {}", tables.live());
    println!("{} tables, {} payloads", tables.made(), payloads.made());
    drop(handle);
    assert_eq!((tables.live(), payloads.live()), (0, 0));
    assert!(tables.made() > 100, "{} tables in {seconds} s", tables.made());
}

/// Commits until `end`; returns the threads that dropped something so far, and then lets the writer go.
#[expect(clippy::too_many_arguments, reason = "a thread's body")]
fn write<P: Publish>(
    mut writer: Writer<Payload, Scheme, Auto<u32>, P>,
    history: &History,
    payloads: &Book,
    tables: &Book,
    tells: &[mpsc::SyncSender<u64>],
    end: Instant,
    stop: &AtomicBool,
    seed: u64,
) -> HashSet<ThreadId> {
    let _stop = StopOnDrop(stop);
    let mut rng = Rng::new(seed);
    let mut counts = [0; NODES];
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        let version = writer.version() + 1;
        let mut delta = change(&mut rng, &mut counts, payloads, version);
        history.enter(counts);
        let report = loop {
            match writer.commit(delta) {
                Ok(report) => break report,
                // On a machine with few cores a reader may well be stopped inside a refresh.
                Err(CommitError::Backpressure { delta: back, .. }) => delta = back,
                Err(error) => panic!("{error}"),
            }
            thread::yield_now();
        };
        assert!(report.published && report.version == version);
        for tell in tells {
            // A reader that doesn't listen isn't waited for.
            let _ = tell.try_send(version);
        }
        let limit = 1 + 2 * 2 + 16;
        assert!(writer.counts().live <= limit, "{:?}", writer.counts());
        // Mostly as fast as it goes, with pauses in which nothing changes. Threads give way often: where they are more
        // than processors, a reader would otherwise see one version in a time slice.
        match rng.below(100) {
            0 => thread::sleep(Duration::from_millis(2)),
            1..50 => thread::yield_now(),
            _ => {}
        }
    }
    println!("{} versions", writer.version());
    let dropped = [tables.droppers(), payloads.droppers()];
    dropped.iter().flat_map(|droppers| droppers.keys().copied()).collect()
}

fn read<P: Publish>(
    handle: Handle<Payload, Scheme, Auto<u32>, P>,
    history: &History,
    told: &mpsc::Receiver<u64>,
    stop: &AtomicBool,
    gone: &AtomicBool,
    seed: u64,
) {
    let _stop = StopOnDrop(stop);
    let mut rng = Rng::new(seed);
    let keys: Vec<String> = (0..KEYS).map(|n| format!("user:{n}")).collect();
    let mut reader = handle.reader();
    let mut kept = handle.snapshot();
    let (mut last, mut samples, mut versions) = (0, 0u64, 0u64);
    // A few rounds more after the writer has gone.
    let mut after = 3;
    while after > 0 {
        after -= u32::from(gone.load(Ordering::Acquire));
        for _ in 0..30 {
            if let Some(node) = reader.owner(rng.pick(&keys).as_bytes()) {
                assert!(node.payload().1 > 1, "a payload of some version");
            }
        }
        let mut at_least = last;
        if let Ok(version) = told.try_recv() {
            at_least = at_least.max(version);
        }
        if rng.percent(10) {
            at_least = at_least.max(handle.version());
        }
        let table = reader.table();
        let version = table.version();
        assert!(version >= at_least, "version {version} after {at_least} was known to be out");
        versions += u64::from(version != last);
        last = version;

        let asked: Vec<&String> = (0..4).map(|_| rng.pick(&keys)).collect();
        let mut owners = [None; 4];
        assert_eq!(table.owner_batch(&asked, &mut owners), 4);
        for (key, owner) in asked.into_iter().zip(owners) {
            let expected = history.owner(version, key.as_bytes()).map(id);
            assert_eq!(owner.map(|node| node.id().to_string()), expected, "{key} in version {version}");
            assert_eq!(table.owner(key.as_bytes()).map(|node| node.id().to_string()), expected);
            assert!(owner.is_none_or(|node| node.payload().1 <= version), "a payload of a later version");
            samples += 1;
        }
        match rng.below(200) {
            0 => reader.park(),
            1 => reader = handle.reader(),
            2 => {
                // An old table still gives its own version's answers.
                let key = rng.pick(&keys);
                let owner = kept.owner(key.as_bytes()).map(|node| node.id().to_string());
                assert_eq!(owner, history.owner(kept.version(), key.as_bytes()).map(id));
                kept = reader.snapshot();
            }
            3 => {
                let version = handle.version();
                kept = handle.snapshot();
                assert!(kept.version() >= version && kept.version() >= last);
            }
            4 => thread::sleep(Duration::from_millis(1)),
            5..100 => thread::yield_now(),
            _ => {}
        }
    }
    assert_eq!(handle.version(), reader.version());
    assert_eq!(history.versions.lock().unwrap().len() as u64, reader.version());
    println!("{samples} samples in {versions} versions");
    assert!(samples > 100 && versions > 10, "{samples} samples in {versions} versions");
}
