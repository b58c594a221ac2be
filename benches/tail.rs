//! The slow end of lookups: their times on a ring of 160,000 points while nothing changes, and while a writer commits 100
//! times a second, in turns in one run. Prints both histograms and the ratio of the 99.9th percentiles.
//!
//! Each lookup is timed by itself, so a time contains that of asking the clock, which is the same in both. One reader on
//! the last core, the writer where the system puts it. `--test` takes a few lookups and checks the answers.
//!
//! `cargo bench --bench tail`

mod common;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Numbers, is_test, nodes, pin};
use ringway::{CommitError, Delta, Ring};

const COMMITS_PER_SECOND: u32 = 100;
const NODES: usize = 1_000;

/// Times in ns, exact below 1,024, and above it the largest that began in each of 64 parts of an octave.
struct Histogram(Vec<u64>);

impl Histogram {
    fn new() -> Self {
        Self(vec![0; 1_024 + 64 * 54])
    }

    fn add(&mut self, ns: u64) {
        let place = if ns < 1_024 {
            ns
        } else {
            let octave = u64::from(ns.ilog2()) - 10;
            1_024 + 64 * octave + ((ns >> (octave + 4)) - 64)
        };
        self.0[place as usize] += 1;
    }

    /// The time that `place` stands for.
    fn ns(place: usize) -> u64 {
        match place.checked_sub(1_024) {
            None => place as u64,
            Some(above) => (64 + above as u64 % 64) << (above as u64 / 64 + 4),
        }
    }

    fn percentile(&self, share: f64) -> u64 {
        let all: u64 = self.0.iter().sum();
        let mut left = (all as f64 * share).ceil() as u64;
        for (place, &count) in self.0.iter().enumerate() {
            left = left.saturating_sub(count);
            if left == 0 {
                return Self::ns(place);
            }
        }
        unreachable!("the shares add up to the whole")
    }

    fn count(&self, from: u64, below: u64) -> u64 {
        let places = self.0.iter().enumerate();
        places.filter(|&(place, _)| (from..below).contains(&Self::ns(place))).map(|(_, count)| count).sum()
    }
}

fn main() {
    let (turns, turn) = if is_test() { (2, Duration::from_millis(30)) } else { (20, Duration::from_millis(500)) };
    let ring = Ring::builder().points_per_weight(160).nodes(nodes(NODES));
    let (mut writer, handle) = ring.build().expect("a plain ring");
    let (commits, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let [idle, busy] = thread::scope(|scope| {
        let (commits, stop) = (&commits, &stop);
        let mut reader = handle.reader();
        let reading = scope.spawn(move || {
            pin();
            let mut histograms = [Histogram::new(), Histogram::new()];
            let mut queries = Numbers(7).map(|x| (x >> 32) as u32);
            for number in 0..2 * turns {
                let with_commits = number % 2;
                commits.store(with_commits == 1, Ordering::Relaxed);
                // What the turn before left behind is not this one's.
                thread::sleep(Duration::from_millis(20));
                let start = Instant::now();
                let mut last = start;
                while last - start < turn {
                    for _ in 0..1_024 {
                        let x = queries.next().expect("endless");
                        let before = Instant::now();
                        let owner = black_box(reader.owner_at(black_box(x)));
                        last = Instant::now();
                        assert!(owner.is_some());
                        histograms[with_commits].add((last - before).as_nanos() as u64);
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
            histograms
        });
        let mut weight = 1;
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            next += Duration::from_secs(1) / COMMITS_PER_SECOND;
            thread::sleep(next.saturating_duration_since(Instant::now()));
            if commits.load(Ordering::Relaxed) {
                weight = 3 - weight;
                match writer.commit(Delta::new().set_weight("node-7", weight)) {
                    Ok(_) | Err(CommitError::Backpressure { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        reading.join().expect("the reader doesn't panic")
    });

    println!("{} versions; lookups in {turns} turns of {turn:?} each way, times with the clock's", writer.version());
    println!("{:>10} {:>14} {:>14}", "ns", "idle", "with commits");
    let mut bounds = vec![0];
    bounds.extend((4..24).map(|octave| 1_u64 << octave));
    bounds.push(u64::MAX);
    for pair in bounds.windows(2) {
        let counts = [&idle, &busy].map(|histogram| histogram.count(pair[0], pair[1]));
        if counts != [0, 0] {
            println!("{:>10} {:>14} {:>14}", format!("≥ {}", pair[0]), counts[0], counts[1]);
        }
    }
    for share in [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999] {
        let [idle, busy] = [&idle, &busy].map(|histogram| histogram.percentile(share));
        println!("p{:<9.3} {idle:>14} {busy:>14}   × {:.2}", share * 100.0, busy as f64 / idle as f64);
    }
    assert!(writer.version() > 1, "the writer came to commit");
}
