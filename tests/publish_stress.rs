//! Everything at once for `RINGWAY_STRESS_SECONDS` (3 by default), on every publisher.
//!
//! After the age histograms of RCU torture tests: readers hold what they looked up for a while and read it again and
//! again, which finds a value that is freed, torn or replaced under them; and what a lookup returns is never older than
//! what had been published when it began.

mod tally;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringway::publish::{Publish, Read, Source, Write};
use tally::{Tally, Tracked};

for_every_publisher!(everything_at_once);

fn seconds() -> f64 {
    match std::env::var("RINGWAY_STRESS_SECONDS") {
        Ok(text) => text.parse().expect("RINGWAY_STRESS_SECONDS is a number of seconds"),
        Err(_) => 3.0,
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ x >> 31) % end
    }
}

fn read_for_a_while<S: Source<Tracked, Reader: Read<Tracked>>>(
    source: &S,
    published: &AtomicU64,
    stop: &AtomicBool,
    seed: u64,
) -> u64 {
    let mut random = Random(seed);
    let mut reader = source.reader();
    let mut snapshots = Vec::new();
    let (mut floor, mut lookups) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        lookups += 1;
        let at_least = floor.max(published.load(Ordering::Acquire));
        let value = reader.current();
        floor = value.read(1);
        assert!(floor >= at_least, "seed {seed}: version {floor}, though {at_least} was published");
        match random.below(1_000) {
            0 => reader = source.reader(),
            1 => reader.park(),
            2..10 => snapshots.push(reader.snapshot()),
            10 => snapshots.push(source.snapshot()),
            11 => snapshots.clear(),
            12 => thread::yield_now(),
            13..20 => (0..1_000).for_each(|_| assert_eq!(value.read(1), floor)),
            _ => {}
        }
        for snapshot in &snapshots {
            snapshot.read(1);
        }
    }
    lookups
}

fn everything_at_once<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let (published, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut version, mut refused) = (0, 0);
    let lookups: u64 = thread::scope(|scope| {
        let (source, published, stop) = (&source, &published, &stop);
        let readers: Vec<_> =
            (1..=3).map(|seed| scope.spawn(move || read_for_a_while(source, published, stop, seed))).collect();
        let end = Instant::now() + Duration::from_secs_f64(seconds());
        while Instant::now() < end {
            match writer.publish(tally.value(version + 1)) {
                Ok(()) => version += 1,
                Err((value, _)) => {
                    refused += 1;
                    tally.unmake(value);
                    thread::yield_now();
                }
            }
            published.store(version, Ordering::Release);
            let counts = writer.counts();
            assert!(counts.in_grace <= 64 && counts.live == counts.retired + 1, "{counts:?}");
        }
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    writer.reclaim();
    assert_eq!((tally.live(), writer.counts().live), (1, 1));
    assert_eq!(tally.droppers(), [thread::current().id()].into(), "a reader dropped a value");
    drop((writer, source));
    assert_eq!(tally.live(), 0);
    println!("{}: {version} publishes, {refused} refused, {lookups} lookups", P::NAME);
}
