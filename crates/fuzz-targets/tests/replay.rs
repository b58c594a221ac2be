//! Seeds, past crashes and random bytes through every target, on any toolchain.
//!
//! `RINGWAY_REPLAY_ROUNDS` sets how many random inputs each target gets.

#![cfg(debug_assertions)] // as the targets

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ringway_fuzz_targets::{TARGETS, Target};

fn replay(name: &str, target: Target, input: &[u8], what: &str) {
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
        panic!("target {name} fails on {what}");
    }
}

fn target(name: &str) -> Target {
    TARGETS.iter().find(|(other, _)| *other == name).expect("a target of this name").1
}

fn run(name: &str) {
    let target = target(name);
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for kind in ["seeds", "crashes"] {
        let folder = fuzz.join(kind).join(name);
        // There may be no crashes yet; seeds there are of every target.
        let Ok(files) = fs::read_dir(&folder) else {
            assert_eq!(kind, "crashes", "no folder {}", folder.display());
            continue;
        };
        let mut files: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
        files.sort();
        assert!(!files.is_empty(), "nothing in {}", folder.display());
        for file in files {
            replay(name, target, &fs::read(&file).expect("a readable file"), &file.display().to_string());
        }
    }
    let rounds = std::env::var("RINGWAY_REPLAY_ROUNDS").map_or(60, |text| text.parse().expect("a number"));
    for seed in 0..rounds {
        replay(name, target, &random(seed), &format!("the random input {seed}"));
    }
}

/// Bytes of an xorshift generator (Marsaglia, "Xorshift RNGs", 2003), from none to 600.
fn random(seed: u64) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let len = next() % 600;
    (0..len).map(|_| next().to_le_bytes()[3]).collect()
}

macro_rules! replays {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_target_is_replayed() {
            let names = [$(stringify!($name)),*];
            assert_eq!(TARGETS.map(|(name, _)| name), names);
        }
    };
}

replays!(bounded, cluster_file, concurrent, deltas, layouts, plan, replicas, schemes, snapshot);
