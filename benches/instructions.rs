//! Instructions per lookup: what `ci/instructions.sh` counts under callgrind, as wall time in CI is noise.
//!
//! Each case is a loop of [`CALLS`] lookups, run in [`measured`], which callgrind counts alone and writes down on each
//! return. So one process measures all cases, and their names, printed in order, belong to its dumps in order. The
//! figures are the same in every run of one binary; another compiler makes other code.
//!
//! A layout is a line in `main`. Without callgrind this checks the answers only, as `cargo bench -- --test` does.

mod common;

use std::hint::black_box;

use common::{Numbers, points, queries};
use ringway::Slot;
use ringway::layout::{Auto, Bucket, Eytzinger, Layout, Line, PointArray, STree, Sorted};
use ringway::scheme::{Native, Scheme, Xxh3};

/// Lookups of a case; `ci/instructions.sh` reads it from the first line that this prints.
const CALLS: usize = common::QUERIES;

/// A ring that fits the first cache, the usual one, and one beyond what `Auto` has one layout for.
const SIZES: [usize; 3] = [300, 16_000, 1_000_000];

/// Bytes of a key: one word's half, about a user's name, about a session's, beyond the short forms of both hashes.
const KEY_LENGTHS: [usize; 4] = [4, 11, 32, 300];

fn main() {
    println!("calls\t{CALLS}");
    for len in SIZES {
        // Sorted once: under callgrind that takes seconds.
        let points = points(len);
        owner::<Line<u32>>(&points);
        owner::<Sorted<u32>>(&points);
        owner::<Eytzinger<u32>>(&points);
        owner::<STree<u32>>(&points);
        owner::<Bucket<u32>>(&points);
        owner::<Auto<u32>>(&points);
    }
    key_point(Native::new(), seahash::hash);
    key_point(Xxh3::new(), twox_hash::XxHash3_64::oneshot);
}

/// Runs a case. Never inlined, and not generic, so that it has one name and one place for callgrind to watch.
#[inline(never)]
fn measured(case: &mut dyn FnMut()) {
    case();
    // Keeps the call from becoming a jump, after which callgrind would see no return from here.
    black_box(());
}

fn count(name: &str, mut case: impl FnMut()) {
    println!("case\t{name}");
    measured(&mut case);
}

fn owner<L: Layout<u32>>(points: &PointArray<u32>) {
    let layout = L::build(points.clone());
    let queries = queries();
    assert_eq!(queries.len(), CALLS);
    let mut sum = 0;
    count(&format!("owner/{}/{}", L::NAME, points.len()), || {
        for &x in black_box(&queries) {
            sum ^= layout.owner(x).map_or(0, Slot::number);
        }
    });
    let sorted: Vec<(u32, Slot)> = points.iter().collect();
    let naive = |x: u32| sorted[sorted.partition_point(|&(point, _)| point < x) % sorted.len()].1;
    assert_eq!(
        sum,
        queries.iter().fold(0, |sum, &x| sum ^ naive(x).number()),
        "{} of {} points",
        L::NAME,
        sorted.len()
    );
}

fn key_point<S: Scheme<Point = u32>>(scheme: S, oracle: fn(&[u8]) -> u64) {
    for length in KEY_LENGTHS {
        let bytes: Vec<u8> = Numbers(4).map(|x| x.to_le_bytes()[0]).take(CALLS + length).collect();
        let keys: Vec<&[u8]> = bytes.windows(length).take(CALLS).collect();
        let mut sum = 0;
        count(&format!("key_point/{}/{length}", scheme.id()), || {
            for key in black_box(&keys) {
                sum ^= scheme.key_point(key);
            }
        });
        assert_eq!(
            u64::from(sum),
            keys.iter().fold(0, |sum, key| sum ^ (oracle(key) >> 32)),
            "{} {length}",
            scheme.id()
        );
    }
}
