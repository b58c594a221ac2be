//! What is fuzzed: each target takes bytes, makes choices of them, and compares ringway with a plain model.
//!
//! The models are those of ringway's own tests (`tests/common`); a target is one more source of choices for them. libFuzzer
//! drives the targets in `fuzz/`; `tests/replay.rs` here replays seeds, past crashes and random bytes on any toolchain.
//!
//! A target panics if ringway is wrong, and may panic for nothing else.
//!
//! Without debug assertions the crate is empty: nobody fuzzes without them, and whoever starts the tool with `--release` needn't
//! wait for all these rings to be optimized.

#![cfg(debug_assertions)]

#[allow(clippy::all)]
#[path = "../../../tests/common/mod.rs"]
mod common;

mod bounded;
mod cluster_file;
mod concurrent;
mod deltas;
mod layouts;
mod plan;
mod replicas;
mod schemes;
mod snapshot;

pub use bounded::bounded;
pub use cluster_file::cluster_file;
pub use concurrent::concurrent;
pub use deltas::deltas;
pub use layouts::layouts;
pub use plan::plan;
pub use replicas::replicas;
pub use schemes::schemes;
pub use snapshot::snapshot;

/// A function that is fuzzed.
pub type Target = fn(&[u8]);

/// All targets by name, which is also that of their folders of seeds and crashes.
pub const TARGETS: [(&str, Target); 9] = [
    ("bounded", bounded),
    ("cluster_file", cluster_file),
    ("concurrent", concurrent),
    ("deltas", deltas),
    ("layouts", layouts),
    ("plan", plan),
    ("replicas", replicas),
    ("schemes", schemes),
    ("snapshot", snapshot),
];

use common::schemes::Weak;
use ringway::scheme::MatchRule;

/// A scheme whose points are one of 256, so that most collide: over the whole circle, at its bottom, and at its ends.
fn weak_u32(choice: usize, rule: MatchRule) -> Weak<u32> {
    let (name, place): (_, fn(u8) -> u32) = match choice % 3 {
        0 => ("weak", |hash| u32::from(hash) << 24),
        1 => ("weak-low", u32::from),
        _ => (
            "weak-ends",
            |hash| if hash.is_multiple_of(2) { u32::from(hash / 2) } else { u32::MAX - u32::from(hash / 2) },
        ),
    };
    Weak { name, place, rule }
}

/// The same on 64 bits; the heads of all are equal, or there are four.
fn weak_u64(choice: usize, rule: MatchRule) -> Weak<u64> {
    let (name, place): (_, fn(u8) -> u64) = match choice % 2 {
        0 => ("weak-64", |hash| 0xABCD_0123 << 32 | u64::from(hash & 0xF0) << 24 | u64::from(hash & 0x0F)),
        _ => ("weak-64-heads", |hash| u64::from(hash & 3) << 62 | u64::from(hash >> 2)),
    };
    Weak { name, place, rule }
}

/// The same on 128 bits.
fn weak_u128(choice: usize, rule: MatchRule) -> Weak<u128> {
    let (name, place): (_, fn(u8) -> u128) = match choice % 2 {
        0 => ("weak-128", |hash| u128::MAX << 96 | u128::from(hash >> 6) << 88 | u128::from(hash & 0x3F) << 40),
        _ => (
            "weak-128-ends",
            |hash| if hash.is_multiple_of(2) { u128::from(hash) } else { u128::MAX - u128::from(hash) },
        ),
    };
    Weak { name, place, rule }
}

const RULES: [MatchRule; 3] = [MatchRule::AtOrAfter, MatchRule::After, MatchRule::Nearest];
