//! Things that keep account of themselves.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use ringway::scheme::{Assignment, MatchRule, Scheme};
use ringway::{NodeId, NodeInfo, SchemeError};

/// Who lives, and which threads dropped how many.
#[derive(Clone, Debug, Default)]
pub struct Book(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    made: u64,
    live: HashSet<u64>,
    droppers: HashMap<ThreadId, u64>,
}

impl Book {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn entry(&self) -> Entry {
        let mut entries = self.0.lock().unwrap();
        entries.made += 1;
        let number = entries.made;
        entries.live.insert(number);
        Entry { number, book: self.clone() }
    }

    pub fn made(&self) -> u64 {
        self.0.lock().unwrap().made
    }

    pub fn live(&self) -> usize {
        self.0.lock().unwrap().live.len()
    }

    /// How many each thread dropped.
    pub fn droppers(&self) -> HashMap<ThreadId, u64> {
        self.0.lock().unwrap().droppers.clone()
    }
}

/// One line of a book, struck out when it is dropped; twice is an error.
#[derive(Debug)]
pub struct Entry {
    number: u64,
    book: Book,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut entries = self.book.0.lock().unwrap();
        assert!(entries.live.remove(&self.number), "dropped twice");
        *entries.droppers.entry(thread::current().id()).or_insert(0) += 1;
    }
}

/// Places like `inner`. Each table owns one clone of its scheme, so the entries that live are the tables that live, and
/// the one that the test itself keeps.
#[derive(Debug)]
pub struct Booked<S> {
    inner: S,
    entry: Entry,
}

impl<S> Booked<S> {
    pub fn new(inner: S, book: &Book) -> Self {
        Self { inner, entry: book.entry() }
    }
}

impl<S: Clone> Clone for Booked<S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), &self.entry.book)
    }
}

impl<S: Scheme> Scheme for Booked<S> {
    type Point = S::Point;
    type Seed = S::Seed;

    fn id(&self) -> &str {
        self.inner.id()
    }

    fn order_free(&self) -> bool {
        self.inner.order_free()
    }

    fn match_rule(&self) -> MatchRule {
        self.inner.match_rule()
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        self.inner.option_bytes(out);
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        self.inner.placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<S::Seed>>) -> Result<(), SchemeError> {
        self.inner.assign(nodes, out)
    }

    fn points(&self, id: &NodeId, seed: &S::Seed, labels: Range<u32>, out: &mut Vec<S::Point>) {
        self.inner.points(id, seed, labels, out);
    }

    fn key_point(&self, key: &[u8]) -> S::Point {
        self.inner.key_point(key)
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> S::Point {
        self.inner.key_point_of_parts(parts)
    }
}
