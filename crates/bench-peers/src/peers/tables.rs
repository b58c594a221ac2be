//! Peers that aren't rings: a table that nodes fill in turn, and a formula. Both can be faster than a ring, and both give up
//! something that a ring has.

use std::ptr;

use jumphash::JumpHasher;
use maglev::{ConsistentHasher, Maglev};

use super::{Peer, added};
use crate::input::{self, Node};

/// maglev: one array, indexed by the key's SipHash modulo its length, a prime. Changes fill it anew, and move some keys
/// between nodes that didn't change. Nodes have no weights.
pub struct MaglevTable(Maglev<String>);

fn names(nodes: &[Node]) -> impl Iterator<Item = String> {
    nodes.iter().map(|node| node.name.clone())
}

impl Peer for MaglevTable {
    // 100 entries a node, its default.
    fn build(nodes: &[Node], _: u32) -> Self {
        Self(Maglev::new(names(nodes)))
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.0.get(key).map_or(0, |node| ptr::from_ref(node).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        input::index_of_name(self.0.get(key).expect("the table has nodes"))
    }

    // The length stays, as its documentation asks.
    fn add(&mut self, nodes: &[Node], _: u32) {
        self.0 = Maglev::with_capacity(names(nodes), self.0.capacity());
    }

    fn remove(&mut self, nodes: &[Node], _: &Node, points: u32) {
        Peer::add(self, nodes, points);
    }
}

/// jumphash: arithmetic on the key's SipHash-1-3 and the number of nodes. Nodes have no names and no weights, and only the
/// last can go.
pub struct Jump {
    hasher: JumpHasher,
    count: u32,
}

impl Peer for Jump {
    fn build(nodes: &[Node], _: u32) -> Self {
        Self { hasher: JumpHasher::new_with_keys(0, 0), count: added(nodes).index + 1 }
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.hasher.slot(&key, self.count) as usize
    }

    fn owner(&mut self, key: &str) -> u32 {
        self.hasher.slot(&key, self.count)
    }

    fn add(&mut self, nodes: &[Node], _: u32) {
        self.count = added(nodes).index + 1;
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        self.count = gone.index;
    }
}
