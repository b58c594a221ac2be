//! lfchring: a sorted vector behind an epoch-protected pointer, copied for each change. Beside ringway it is the one peer
//! that can be read while it changes. It takes a key's digest, and leaves hashing the key to its user.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use lfchring::Hasher;

use super::{Peer, added};
use crate::input::{self, Node};

pub struct LockFree(lfchring::HashRing<str, Sip>);

/// Its default hash, which it keeps to itself: the standard library's, SipHash-1-3.
#[derive(Default)]
struct Sip;

impl Hasher for Sip {
    fn digest(&mut self, bytes: &[u8]) -> Vec<u8> {
        sip(bytes).to_vec()
    }
}

fn sip(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_ne_bytes()
}

impl LockFree {
    // `virtual_node_for_key` would clone the point's name besides.
    #[inline]
    fn owners(&self, key: &str) -> Vec<Arc<str>> {
        self.0.nodes_for_key(&&sip(key.as_bytes())[..]).expect("the ring has nodes")
    }
}

fn shared(node: &Node) -> Arc<str> {
    Arc::from(node.name.as_str())
}

impl Peer for LockFree {
    fn build(nodes: &[Node], points: u32) -> Self {
        let points = u16::try_from(points).expect("it counts points by u16");
        let nodes: Vec<Arc<str>> = nodes.iter().map(shared).collect();
        Self(lfchring::HashRing::with_hasher_and_nodes(Sip, points, 1, &nodes).expect("no two points are equal"))
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.owners(key).first().map_or(0, |name| name.as_ptr().addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        input::index_of_name(&self.owners(key)[0])
    }

    fn add(&mut self, nodes: &[Node], _: u32) {
        self.0.insert(&[shared(added(nodes))]).expect("the node is new");
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        self.0.remove(&[shared(gone)]).expect("the node is there");
    }
}
