//! Values that keep account of themselves, for the tests of publication.
#![allow(dead_code, unreachable_pub)] // Each test binary uses its part.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

/// How often a test does something: `full` times, or under Miri, which takes a thousand times as long for a step but tries
/// more interleavings, a part of it.
pub const fn rounds(full: u64) -> u64 {
    if !cfg!(miri) {
        full
    } else if full < 2_000 {
        full.div_ceil(20)
    } else {
        full.div_ceil(500)
    }
}

/// One publisher's values: how many were made, and who dropped which.
#[derive(Clone, Debug)]
pub struct Tally {
    ring: u64,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    made: u64,
    dropped: HashSet<u64>,
    droppers: HashSet<ThreadId>,
}

impl Tally {
    /// A tally for the publisher with this id, which its values carry.
    pub fn new(ring: u64) -> Self {
        Self { ring, book: Arc::default() }
    }

    /// Makes version `version`, once.
    pub fn value(&self, version: u64) -> Tracked {
        self.book.lock().unwrap().made += 1;
        Tracked { ring: self.ring, version, seal: seal(self.ring, version), tally: self.clone() }
    }

    /// Takes back a value that was never published, so that its version may be made again.
    pub fn unmake(&self, value: Tracked) {
        let version = value.version;
        drop(value);
        let mut book = self.book.lock().unwrap();
        book.made -= 1;
        book.dropped.remove(&version);
    }

    /// Values made and not dropped.
    pub fn live(&self) -> u64 {
        let book = self.book.lock().unwrap();
        book.made - book.dropped.len() as u64
    }

    /// Whether this version was dropped.
    pub fn is_dropped(&self, version: u64) -> bool {
        self.book.lock().unwrap().dropped.contains(&version)
    }

    /// The threads that dropped a value.
    pub fn droppers(&self) -> HashSet<ThreadId> {
        self.book.lock().unwrap().droppers.clone()
    }
}

/// A value that knows its publisher and version, and notices being torn, overwritten or dropped twice.
#[derive(Debug)]
pub struct Tracked {
    ring: u64,
    version: u64,
    seal: u64,
    tally: Tally,
}

const DROPPED: u64 = 0xDEAD_DEAD_DEAD_DEAD;

fn seal(ring: u64, version: u64) -> u64 {
    (ring << 48 ^ version).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Tracked {
    /// The version, after checking that the value is whole and of publisher `ring`.
    pub fn read(&self, ring: u64) -> u64 {
        assert_eq!(self.seal, seal(self.ring, self.version), "torn or dropped: {self:?}");
        assert_eq!(self.ring, ring, "a value of another publisher");
        self.version
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        assert_eq!(self.seal, seal(self.ring, self.version), "dropped twice");
        self.seal = DROPPED;
        let mut book = self.tally.book.lock().unwrap();
        assert!(book.dropped.insert(self.version), "version {} was dropped twice", self.version);
        book.droppers.insert(thread::current().id());
    }
}

/// Instantiates each generic test for every publisher.
#[macro_export]
macro_rules! for_every_publisher {
    ($($test:ident),* $(,)?) => {
        mod epoch {
            $(#[test] fn $test() { super::$test::<ringway::publish::Epoch>() })*
        }
        #[cfg(feature = "arc-swap")]
        mod arc_swap {
            $(#[test] fn $test() { super::$test::<ringway::publish::ArcSwap>() })*
        }
        mod locked {
            $(#[test] fn $test() { super::$test::<ringway::publish::Locked>() })*
        }
    };
}
