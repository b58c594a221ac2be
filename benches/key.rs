//! Hash and lookup: string keys through a [`Reader`](ringway::Reader), for each scheme by hashed labels.
//!
//! Lengths of keys from 4 to 300 bytes, and a mix of 5 to 40 bytes, which no branch predictor knows beforehand.
//! *throughput*: one call after the other, the processor may overlap them. *latency*: which key is next depends on the
//! answer before. The ring is small, 100 nodes × 160 points, so that it stays in the cache and the hash is a part of
//! the time that can be seen. *hash* is the hash alone, *lookup* hash and lookup. All are interleaved round by round, so
//! that a noisy machine hits them alike. Answers are checked first, against a search through all points; `--test` does
//! little more.
//!
//! `cargo bench --bench key`

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Numbers, Pace, nodes, pin};
use ringway::scheme::{Native, Scheme, Xxh3};
use ringway::{Node, Reader, Ring, Writer};

/// Lengths of keys, each a sweep of its own. `None`: 5 to 40 bytes, mixed.
const LENGTHS: [Option<usize>; 9] =
    [Some(4), Some(8), Some(11), Some(16), Some(22), Some(32), Some(64), Some(300), None];

/// Keys per pass. 1,024 of up to 64 bytes stay in the first two levels of the cache.
const KEYS: usize = 1024;

/// Random keys, one after the other in memory, so that they begin at any alignment.
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn new(length: Option<usize>) -> Self {
        let mut numbers = Numbers(11);
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..KEYS {
            let length = length.unwrap_or_else(|| 5 + (numbers.next().expect("endless") % 36) as usize);
            bytes.extend(numbers.by_ref().take(length).map(|x| b'a' + (x % 26) as u8));
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    fn slices(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]).collect()
    }
}

fn check<S: Scheme<Point = u32>>(scheme: &S, reader: &mut Reader<(), S>, keys: &[&[u8]]) {
    let points: Vec<(u32, String)> =
        reader.table().points().map(|(point, node)| (point, node.id().to_string())).collect();
    for key in keys {
        let x = scheme.key_point(key);
        let naive = points.iter().find(|(point, _)| *point >= x).or(points.first()).expect("there are points");
        assert_eq!(reader.owner(key).map(|node| node.id().as_str()), Some(&*naive.1), "{} {key:?}", scheme.id());
    }
}

/// Asks for all keys in turn, and returns something of all answers.
fn throughput(keys: &[&[u8]], mut answer: impl FnMut(&[u8]) -> usize) -> usize {
    keys.iter().fold(0, |sum, key| sum ^ answer(key))
}

/// Asks for one key after the other, either of two neighbours as the last answer has it.
fn latency(keys: &[&[u8]], mut answer: impl FnMut(&[u8]) -> usize) -> usize {
    (0..keys.len()).fold(0, |last, place| answer(keys[(place ^ (last & 1)) % KEYS]))
}

/// Times a pass over the keys, in ns a key.
fn time(pass: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    black_box(pass());
    start.elapsed().as_nanos() as f64 / KEYS as f64
}

/// Times a way to answer in both shapes, and keeps the times.
fn round(keys: &[&[u8]], times: &mut [Vec<f64>; 2], mut answer: impl FnMut(&[u8]) -> usize) {
    times[0].push(time(|| throughput(black_box(keys), &mut answer)));
    times[1].push(time(|| latency(black_box(keys), &mut answer)));
}

/// A scheme with its ring, and the times of the hash alone and of the lookup.
struct Subject<S: Scheme<Point = u32>> {
    scheme: S,
    _writer: Writer<(), S>,
    reader: Reader<(), S>,
    hash: [Vec<f64>; 2],
    lookup: [Vec<f64>; 2],
}

impl<S: Scheme<Point = u32>> Subject<S> {
    fn new(scheme: S) -> Self {
        let nodes = nodes(100).map(|node| node.with_active_points(160));
        let (writer, handle) = Ring::builder().scheme(scheme.clone()).nodes(nodes).build().expect("a plain ring");
        Self { scheme, _writer: writer, reader: handle.reader(), hash: [vec![], vec![]], lookup: [vec![], vec![]] }
    }

    fn round(&mut self, keys: &[&[u8]]) {
        round(keys, &mut self.hash, |key| self.scheme.key_point(key) as usize);
        // Where the node lies: something of the answer, had without reading the node.
        let place = |node: Option<&Node>| node.map_or(0, |node| std::ptr::from_ref(node).addr() / size_of::<Node>());
        round(keys, &mut self.lookup, |key| place(self.reader.owner(key)));
    }

    /// The medians, as "throughput / latency" of hash and of lookup; forgets the times.
    fn medians(&mut self) -> [String; 2] {
        [&mut self.hash, &mut self.lookup].map(|shapes| {
            let [throughput, latency] = shapes.each_mut().map(|times| {
                times.sort_by(f64::total_cmp);
                let median = times[times.len() / 2];
                times.clear();
                median
            });
            format!("{throughput:.1} / {latency:.1}")
        })
    }
}

fn main() {
    pin();
    let rounds = Pace::of_arguments().rounds(501);
    let (mut native, mut xxh3) = (Subject::new(Native::new()), Subject::new(Xxh3::new()));
    println!("key: ns per key, throughput / latency, median of {rounds} interleaved rounds of {KEYS} keys");
    println!("{:<6} {:>16} {:>16} {:>16} {:>16}", "bytes", "native hash", "native lookup", "xxh3 hash", "xxh3 lookup");
    for length in LENGTHS {
        let keys = Keys::new(length);
        let keys = keys.slices();
        check(&native.scheme, &mut native.reader, &keys);
        check(&xxh3.scheme, &mut xxh3.reader, &keys);
        for _ in 0..rounds {
            native.round(&keys);
            xxh3.round(&keys);
        }
        let name = length.map_or("5-40".to_owned(), |length| length.to_string());
        let ([a, b], [c, d]) = (native.medians(), xxh3.medians());
        println!("{name:<6} {a:>16} {b:>16} {c:>16} {d:>16}");
    }
}
