//! The peers, as data: [`PEERS`]. What each must be able to do is [`Peer`]; the measurements drive it through
//! [`Contestant`], which has the loops, so that lookups are compiled into them.

mod cpp;
mod crates;
mod ketama;
mod lfchring;
mod ringway;
mod tables;

use ::ringway::Native;
use ::ringway::layout::Auto;
use ::ringway::scheme::Xxh3;
use serde::Serialize;

use self::cpp::{MapRing, VectorRing};
pub use self::cpp::{foreign_bytes, foreign_peak_of};
use self::crates::{ConHash, ConsistentHash, HashRing, HashRingLinear, Mpc};
use self::ketama::{Ketama, V1, V2};
use self::lfchring::LockFree;
use self::ringway::Ringway;
use self::tables::{Jump, MaglevTable};
use crate::input::Node;

/// All rows, in the order of the table. The first is what the others are compared with.
///
/// A scheme or a layout of ringway more is one line more.
pub const PEERS: &[Entry] = &[
    entry::<Ringway<Native, Auto<u32>, false>>("ringway", "path", Kind::Ring),
    entry::<Ringway<Native, Auto<u32>, true>>("ringway, payload read", "path", Kind::Ring),
    entry::<Ringway<Xxh3, Auto<u32>, false>>("ringway, xxh3", "path", Kind::Ring),
    entry::<Ketama<V1>>("pingora-ketama v1", "0.9.1", Kind::Ring),
    entry::<Ketama<V2>>("pingora-ketama v2", "0.9.1", Kind::Ring),
    entry::<HashRing>("hashring", "0.3.6", Kind::Ring),
    entry::<ConHash>("conhash", "0.5.1", Kind::Ring),
    entry::<ConsistentHash>("consistent_hash", "0.1.4", Kind::Ring),
    entry::<HashRingLinear>("hash_ring", "0.2.0", Kind::Ring),
    entry::<LockFree>("lfchring", "0.1.3", Kind::Ring),
    entry::<VectorRing>("C++ sorted vector", "here", Kind::Ring),
    entry::<MapRing>("C++ std::map", "here", Kind::Ring),
    entry::<Mpc>("mpchash", "2.0.10", Kind::Probing),
    entry::<MaglevTable>("maglev", "0.2.1", Kind::Table),
    entry::<Jump>("jumphash", "0.1.9", Kind::Formula),
];

/// A peer under test.
pub trait Peer: Sized {
    /// Builds it from nothing, with `points` points a node if its nodes have points.
    fn build(nodes: &[Node], points: u32) -> Self;

    /// Looks `key` up as a user does, and returns what that gives as a number (an address, if it is a reference), which
    /// nothing reads any further.
    fn find(&mut self, key: &str) -> usize;

    /// Looks `key` up and returns the owner's number: [`Node::index`].
    fn owner(&mut self, key: &str) -> u32;

    /// Adds the last of `nodes`, which is the list of nodes after the change.
    fn add(&mut self, nodes: &[Node], points: u32);

    /// Removes `gone`, which came last; `nodes` is the list of nodes after the change.
    fn remove(&mut self, nodes: &[Node], gone: &Node, points: u32);
}

/// What a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// Nodes have points on a circle.
    Ring,
    /// Nodes have one point each, keys are hashed many times.
    Probing,
    /// A table filled by the nodes in turn; no points.
    Table,
    /// Arithmetic on the number of nodes; no points, no names.
    Formula,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// As printed.
    pub name: &'static str,
    /// Of the crate.
    pub version: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Builds it.
    pub build: fn(&[Node], u32) -> Box<dyn Contestant>,
}

const fn entry<P: Peer + 'static>(name: &'static str, version: &'static str, kind: Kind) -> Entry {
    Entry { name, version, kind, build: |nodes, points| Box::new(P::build(nodes, points)) }
}

/// A peer with the loops around it.
pub trait Contestant {
    /// Looks all keys up, none waiting for another; returns a checksum.
    fn independent(&mut self, keys: &[&str]) -> usize;

    /// Looks all keys up, where each key is known only with the answer before it; returns a checksum. `zero` is 0, which
    /// the compiler must not know.
    ///
    /// The place of the next key is computed from the last answer (times zero, so that all peers look up the same keys in the
    /// same order): the processor can't begin a lookup before the last one has ended.
    fn dependent(&mut self, keys: &[&str], zero: usize) -> usize;

    /// Returns the owners' numbers.
    fn owners(&mut self, keys: &[&str]) -> Vec<u32>;

    /// As [`Peer::add`].
    fn add(&mut self, nodes: &[Node], points: u32);

    /// As [`Peer::remove`].
    fn remove(&mut self, nodes: &[Node], gone: &Node, points: u32);
}

impl<P: Peer> Contestant for P {
    fn independent(&mut self, keys: &[&str]) -> usize {
        keys.iter().fold(0, |sum, key| sum ^ self.find(key))
    }

    fn dependent(&mut self, keys: &[&str], zero: usize) -> usize {
        (0..keys.len()).fold(0, |last, n| self.find(keys[n + (last & zero)]))
    }

    fn owners(&mut self, keys: &[&str]) -> Vec<u32> {
        keys.iter().map(|key| self.owner(key)).collect()
    }

    fn add(&mut self, nodes: &[Node], points: u32) {
        Peer::add(self, nodes, points);
    }

    fn remove(&mut self, nodes: &[Node], gone: &Node, points: u32) {
        Peer::remove(self, nodes, gone, points);
    }
}

/// The last of the nodes: the one that was added.
fn added(nodes: &[Node]) -> &Node {
    nodes.last().expect("the list holds the node that was added")
}
