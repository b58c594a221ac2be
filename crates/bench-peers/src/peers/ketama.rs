//! pingora-ketama: nginx's ring. An array of points, sorted, searched by `binary_search`; crc32. Changes rebuild it.

use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::ptr;

use pingora_ketama::{Bucket, Continuum, DEFAULT_POINT_MULTIPLE, Version};

use super::Peer;
use crate::input::Node;

/// A version of its ring.
pub trait Generation {
    fn version(points: u32) -> Version;
}

/// nginx's ring to the letter: 160 points a node, 8 bytes each.
pub struct V1;

/// Points in 6 bytes, any number of them, sorted by radix.
pub struct V2;

impl Generation for V1 {
    fn version(points: u32) -> Version {
        assert_eq!(points, DEFAULT_POINT_MULTIPLE, "v1 can't have another number of points");
        Version::V1
    }
}

impl Generation for V2 {
    fn version(points: u32) -> Version {
        Version::V2 { point_multiple: points }
    }
}

pub struct Ketama<G> {
    ring: Continuum,
    generation: PhantomData<G>,
}

impl<G: Generation> Ketama<G> {
    // As pingora's load balancer looks keys up. It gives a reference; `Continuum::node` copies the address.
    #[inline]
    fn address(&self, key: &str) -> Option<&SocketAddr> {
        self.ring.node_iter(key.as_bytes()).next()
    }
}

impl<G: Generation> Peer for Ketama<G> {
    fn build(nodes: &[Node], points: u32) -> Self {
        let buckets: Vec<Bucket> = nodes.iter().map(|node| Bucket::new(node.address, 1)).collect();
        Self { ring: Continuum::new_with_version(&buckets, G::version(points)), generation: PhantomData }
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        self.address(key).map_or(0, |address| ptr::from_ref(address).addr())
    }

    fn owner(&mut self, key: &str) -> u32 {
        match self.address(key).expect("the ring has nodes").ip() {
            IpAddr::V4(ip) => u32::from(ip) & 0xFF_FFFF,
            IpAddr::V6(ip) => unreachable!("no node was given the address {ip}"),
        }
    }

    fn add(&mut self, nodes: &[Node], points: u32) {
        *self = Self::build(nodes, points);
    }

    fn remove(&mut self, nodes: &[Node], _: &Node, points: u32) {
        *self = Self::build(nodes, points);
    }
}
