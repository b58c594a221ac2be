//! Schemes that reproduce the rings of other systems, point for point.
//!
//! A file each, with the system's source cited. What they have in common is here: the seed, which is the bytes that a
//! node's labels are made of, and the encoding of what placement reads.

mod chain;
mod conhash;
mod cpp;
mod groupcache;
mod haproxy;
mod hashes;
mod hashring;
mod ketama;
mod libketama;
mod libmemcached;
mod md5;
mod murmur64;
mod nginx;
mod numbered;
mod pingora;
mod resty;
mod ring_hash;
mod twemproxy;
mod uhashring;

pub use conhash::Conhash;
pub use cpp::{CppMapLower, CppMapUpper, CppMurmurLower};
pub use groupcache::Groupcache;
pub use haproxy::{HaproxyChash, HaproxyHash};
pub use hashes::MemcacheHash;
pub use hashring::Hashring;
pub use libketama::Libketama;
pub use libmemcached::{Libmemcached, LibmemcachedFormat, LibmemcachedPoints};
pub use nginx::NginxChash;
pub use pingora::{PingoraV1, PingoraV2};
pub use resty::RestyChash;
pub use ring_hash::{EnvoyHash, EnvoyRingHash, GrpcRingHash};
pub use twemproxy::TwemproxyKetama;
pub use uhashring::{HashRing, UhashringDefault, UhashringKetama};

use std::fmt;
use std::sync::Arc;

use super::any::Named;
use super::options::{OptionError, OptionValue, SchemeOptions};
use crate::node::NodeInfo;
use crate::point::position;

/// What a node's sequence of points depends on beside its id, as bytes: usually the text that its labels begin with.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Label(Option<Arc<[u8]>>);

impl Label {
    /// Creates a label of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Label(\"{}\")", self.as_bytes().escape_ascii())
    }
}

/// The number of points that was set for a node, or else `points_per_weight` for each unit of weight.
fn active_points(node: &NodeInfo, points_per_weight: u32) -> u64 {
    match node.active_points() {
        Some(points) => u64::from(points),
        None => u64::from(node.weight()) * u64::from(points_per_weight),
    }
}

/// Appends the placement bytes of a node: weight, active points, and whatever else placement reads of it beside the id.
///
/// `LE32(weight) ‖ opt(LE32(active points set)) ‖ opt(str(text))…`, with `str` and `opt` as in the fingerprint.
fn placement_bytes(node: &NodeInfo, read: &[Option<&str>], out: &mut Vec<u8>) {
    out.extend_from_slice(&node.weight().to_le_bytes());
    active_bytes(node, out);
    for text in read {
        out.push(u8::from(text.is_some()));
        if let Some(text) = text {
            out.extend_from_slice(&position(text.len()).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Calls `hash` with the parts of a key joined, for hashes that can't be streamed: on the stack up to
/// [`JOINED_BYTES`], on the heap beyond. One part that isn't empty is taken as it is.
fn joined<'a, H>(parts: impl Iterator<Item = &'a [u8]> + Clone, hash: impl FnOnce(&[u8]) -> H) -> H {
    let mut filled = parts.clone().filter(|part| !part.is_empty());
    let first = filled.next().unwrap_or_default();
    if filled.next().is_none() {
        return hash(first);
    }
    let mut room = [0; JOINED_BYTES];
    let mut len = 0;
    for part in parts.clone() {
        let Some(place) = room.get_mut(len..).and_then(|free| free.get_mut(..part.len())) else {
            let all: Vec<u8> = parts.flatten().copied().collect();
            return hash(&all);
        };
        place.copy_from_slice(part);
        len += part.len();
    }
    hash(&room[..len])
}

/// Parts of at most this many bytes together are joined on the stack.
const JOINED_BYTES: usize = 512;

/// Appends the placement bytes of a node of which nothing is read but active points that are set.
fn active_bytes(node: &NodeInfo, out: &mut Vec<u8>) {
    out.push(u8::from(node.active_points().is_some()));
    out.extend(node.active_points().into_iter().flat_map(u32::to_le_bytes));
}

/// The nodes with their ties, where the node that stands last in the list takes over an equal point.
fn last_first<'n>(nodes: &[&'n NodeInfo]) -> impl Iterator<Item = (u32, &'n NodeInfo)> {
    let last = position(nodes.len().saturating_sub(1));
    (0..).zip(nodes).map(move |(place, node): (u32, _)| (last - place, *node))
}

/// A scheme without options, for files.
macro_rules! named_without_options {
    ($($scheme:ty),*) => {
        $(
            impl Named for $scheme {
                const NAME: &'static str = Self::ID;

                fn from_options(_: &mut SchemeOptions) -> Result<Self, OptionError> {
                    Ok(Self::new())
                }

                fn options(&self) -> Vec<(&'static str, OptionValue)> {
                    Vec::new()
                }
            }
        )*
    };
}

named_without_options!(NginxChash, PingoraV1, RestyChash, Libketama, HashRing);
