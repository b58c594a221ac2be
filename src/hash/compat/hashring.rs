//! The crate hashring.

use std::hash::Hasher;
use std::ops::Range;

use siphasher::sip::SipHasher24;

use super::active_points;
use super::numbered::numbered;
use crate::error::SchemeError;
use crate::hash::any::{Named, POINTS_PER_WEIGHT};
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, Scheme};
use crate::node::{NodeId, NodeInfo};

/// The ring of the Rust crate `hashring`, `"hashring"`, over strings and with its default hasher.
///
/// A point is the whole of SipHash-2-4 with the key 0 over a string and the byte 0xff, as Rust hashes strings. A key's
/// point is the same of the key, and it belongs to the first point at or after that.
///
/// Created by [`new`](Self::new), a node is one string in the ring, its id, and so has one point whatever its weight. With
/// [`with_points_per_weight`](Self::with_points_per_weight) it has so many points for each unit of weight, the strings
/// `id-0`, `id-1` and so on, as programs that want more points make them.
///
/// Active points, if set, stand in for the number of points; where a node has one string, further ones are `id-1`,
/// `id-2` and so on. Who owns equal points of 64 bits isn't defined there; here it is the smaller node id, as in the
/// native scheme.
///
/// Source: crate `hashring` 0.3.6, `src/lib.rs` (`HashRing::add`, `HashRing::get`, `DefaultHashBuilder`).
///
/// ```
/// use ringway::scheme::Hashring;
/// use ringway::{NodeSpec, Ring};
/// let nodes = || ["node-a", "node-b"].map(NodeSpec::new);
/// assert_eq!(Ring::builder().scheme(Hashring::new()).nodes(nodes()).build_table()?.len(), 2);
/// let scheme = Hashring::new().with_points_per_weight(100);
/// assert_eq!(Ring::builder().scheme(scheme).nodes(nodes()).build_table()?.len(), 200);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hashring {
    points_per_weight: Option<u32>,
}

impl Hashring {
    /// The scheme's name.
    pub const ID: &'static str = "hashring";

    /// Creates the scheme with one point for each node.
    #[must_use]
    pub const fn new() -> Self {
        Self { points_per_weight: None }
    }

    /// Sets the points for each unit of weight.
    #[must_use]
    pub const fn with_points_per_weight(self, points_per_weight: u32) -> Self {
        Self { points_per_weight: Some(points_per_weight) }
    }

    /// Returns the points for each unit of weight; `None` if each node has one.
    #[must_use]
    pub const fn points_per_weight(&self) -> Option<u32> {
        self.points_per_weight
    }

    fn count(&self, node: &NodeInfo) -> u64 {
        match self.points_per_weight {
            Some(points) => active_points(node, points),
            None => node.active_points().unwrap_or(1).into(),
        }
    }
}

impl Scheme for Hashring {
    type Point = u64;
    type Seed = ();

    fn id(&self) -> &str {
        Self::ID
    }

    fn order_free(&self) -> bool {
        true
    }

    /// Whether the first string of a node is its id alone.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.points_per_weight.is_none()));
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count(node).to_le_bytes());
    }

    fn key_map(&self) -> Vec<u8> {
        b"siphash-2-4 ff".to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        out.extend((0..).zip(nodes).map(|(tie, node)| Assignment { seed: (), points: self.count(node), tie }));
        Ok(())
    }

    fn points(&self, id: &NodeId, (): &(), mut numbers: Range<u32>, out: &mut Vec<u64>) {
        if self.points_per_weight.is_none() && numbers.start == 0 && !numbers.is_empty() {
            out.push(hash(&[id.as_bytes()]));
            numbers.start = 1;
        }
        numbered(&[id.as_bytes(), b"-"].concat(), numbers, |label| out.push(hash(&[label])));
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u64 {
        hash(&[key])
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u64 {
        hash(parts)
    }
}

#[inline]
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.write(&[0xFF]);
    hasher.finish()
}

impl Named for Hashring {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        Ok(Self { points_per_weight: options.take_integer(POINTS_PER_WEIGHT, u32::MAX)? })
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        self.points_per_weight.map(|points| (POINTS_PER_WEIGHT, points.into())).into_iter().collect()
    }
}
