//! Rings of other crates, each used by the cheapest way its interface has.

use std::fmt;
use std::ptr;

use consistent_hash::{DefaultHash, StaticHashRing};

use super::{Peer, added};
use crate::input::{self, Node};

/// A node where a crate wants a type with a name: a number that is shown as `node-<number>`.
#[derive(Clone)]
struct Named(u32);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node-{}", self.0)
    }
}

/// hashring: a sorted vector by SipHash-2-4. Virtual nodes are its user's matter.
pub struct HashRing(hashring::HashRing<VirtualNode>);

#[derive(Hash)]
struct VirtualNode {
    node: u32,
    number: u32,
}

fn virtual_nodes(node: &Node, points: u32) -> impl Iterator<Item = VirtualNode> + use<> {
    let node = node.index;
    (0..points).map(move |number| VirtualNode { node, number })
}

impl Peer for HashRing {
    fn build(nodes: &[Node], points: u32) -> Self {
        let mut ring = hashring::HashRing::new();
        ring.batch_add(nodes.iter().flat_map(|node| virtual_nodes(node, points)).collect());
        Self(ring)
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.0.get(&key).map_or(0, |node| ptr::from_ref(node).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        self.0.get(&key).expect("the ring has nodes").node
    }

    fn add(&mut self, nodes: &[Node], points: u32) {
        self.0.batch_add(virtual_nodes(added(nodes), points).collect());
    }

    fn remove(&mut self, _: &[Node], gone: &Node, points: u32) {
        for node in virtual_nodes(gone, points) {
            self.0.remove(&node).expect("the node is there");
        }
    }
}

/// conhash: a `BTreeMap` by MD5, with a vector per hash.
pub struct ConHash(conhash::ConsistentHash<Named>);

impl conhash::Node for Named {
    fn name(&self) -> String {
        self.to_string()
    }
}

impl Peer for ConHash {
    fn build(nodes: &[Node], points: u32) -> Self {
        let mut ring = conhash::ConsistentHash::new();
        for node in nodes {
            ring.add(&Named(node.index), points as usize);
        }
        Self(ring)
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.0.get(key.as_bytes()).map_or(0, |node| ptr::from_ref(node).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        self.0.get(key.as_bytes()).expect("the ring has nodes").0
    }

    fn add(&mut self, nodes: &[Node], points: u32) {
        self.0.add(&Named(added(nodes).index), points as usize);
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        self.0.remove(&Named(gone.index));
    }
}

/// consistent_hash: a sorted vector by SipHash-1-3; a lookup begins a list of candidates. Changes rebuild it.
pub struct ConsistentHash(StaticHashRing<'static, u32, (), DefaultHash>);

impl ConsistentHash {
    #[inline]
    fn first(&self, key: &str) -> Option<&consistent_hash::Node<u32, ()>> {
        self.0.calc_candidates(&key).next()
    }
}

impl Peer for ConsistentHash {
    fn build(nodes: &[Node], points: u32) -> Self {
        let nodes = nodes.iter().map(|node| consistent_hash::Node::new(node.index).quantity(points as usize));
        Self(StaticHashRing::new(DefaultHash, nodes))
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.first(key).map_or(0, |node| ptr::from_ref(node).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        self.first(key).expect("the ring has nodes").key
    }

    fn add(&mut self, nodes: &[Node], points: u32) {
        *self = Self::build(nodes, points);
    }

    fn remove(&mut self, nodes: &[Node], _: &Node, points: u32) {
        *self = Self::build(nodes, points);
    }
}

/// hash_ring: a sorted vector by XXH64 that a lookup clones and scans, and a hash map from points to nodes. It asks for keys
/// by value.
pub struct HashRingLinear(hash_ring::HashRing<Named>);

impl Peer for HashRingLinear {
    fn build(nodes: &[Node], points: u32) -> Self {
        let nodes = nodes.iter().map(|node| Named(node.index)).collect();
        Self(hash_ring::HashRing::new(nodes, points as isize))
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.0.get_node(key.to_owned()).map_or(0, |node| ptr::from_ref(node).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        self.0.get_node(key.to_owned()).expect("the ring has nodes").0
    }

    fn add(&mut self, nodes: &[Node], _: u32) {
        self.0.add_node(&Named(added(nodes).index));
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        self.0.remove_node(&Named(gone.index));
    }
}

/// mpchash: one point a node in a concurrent skip list by XXH3; a lookup probes 23 places and takes the nearest.
pub struct Mpc(mpchash::HashRing<String>);

impl Peer for Mpc {
    fn build(nodes: &[Node], _: u32) -> Self {
        let ring = mpchash::HashRing::new();
        for node in nodes {
            ring.add(node.name.clone());
        }
        Self(ring)
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.0.node(&key).map_or(0, |token| ptr::from_ref(token.node()).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        input::index_of_name(self.0.node(&key).expect("the ring has nodes").node())
    }

    fn add(&mut self, nodes: &[Node], _: u32) {
        self.0.add(added(nodes).name.clone());
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        self.0.remove(&gone.name);
    }
}
