//! What all peers are given: the same nodes, the same keys.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Points of each node, for peers whose nodes have points.
pub const POINTS: u32 = 160;

/// Keys there are.
pub const KEYS: usize = 1_000_000;

/// Bytes of a key: "user:" and six digits.
const KEY_BYTES: usize = 11;

/// One node, in each form that a peer asks for.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its number: 0, 1, … in the order of the list.
    pub index: u32,
    /// "node-17".
    pub name: String,
    /// Different for each node, for peers that know nodes by address.
    pub address: SocketAddr,
}

/// The node with this number.
pub fn node(index: u32) -> Node {
    let [_, a, b, c] = index.to_be_bytes();
    Node {
        index,
        name: format!("node-{index}"),
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, a, b, c)), 11211),
    }
}

/// The first `count` nodes.
pub fn nodes(count: u32) -> Vec<Node> {
    (0..count).map(node).collect()
}

/// The number in a node's name.
///
/// # Panics
/// If it isn't a name by [`node`].
pub fn index_of_name(name: &str) -> u32 {
    name.strip_prefix("node-").and_then(|number| number.parse().ok()).expect("names are node-<number>")
}

/// `count` seeded keys, one after the other in memory, so that reading them costs all peers the same little.
pub fn keys(count: usize) -> Vec<&'static str> {
    let mut text = String::with_capacity(count * KEY_BYTES);
    for number in Numbers(3).take(count) {
        text.push_str(&format!("user:{:06}", number % 1_000_000));
    }
    // Leaked: they live as long as the program, and no peer has to be generic over their life.
    let text: &'static str = text.leak();
    (0..count).map(|n| &text[n * KEY_BYTES..][..KEY_BYTES]).collect()
}

/// A stream of well-spread numbers (SplitMix64, Steele, Lea and Flood 2014).
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(x ^ (x >> 31))
    }
}
