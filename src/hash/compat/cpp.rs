//! The rings of the usual C++ tutorials: a `std::map` from 32-bit hashes to names.

use std::ops::Range;

use super::numbered::numbered;
use super::{active_bytes, last_first, murmur64};
use crate::error::SchemeError;
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, MatchRule, Scheme};
use crate::node::{NodeId, NodeInfo};
use crate::point::low_u32;

/// The hand-written C++ ring with `std::hash` and `upper_bound`, `"cpp-map-upper"`.
///
/// Point i of a node, i = 0, 1, 2, …, is the hash of `id#i`: libstdc++'s `std::hash<std::string>` on 64-bit targets (the
/// 64-bit MurmurHash2 with seed 0xc70f6907), of which the low 32 bits count. A key's point is the same hash of it, and it
/// belongs to the first point *after* that. A node has 100 points, if not set otherwise.
///
/// A node that stands later in the list takes over an equal point. When such a node leaves, the point is its former owner's
/// again, as in a ring that is built anew; a program that erases the point with the node loses it for both.
///
/// These rings know no weights, and none is read: a node of weight 0 has its points, too. Active points, if set, stand in
/// for the number of points.
///
/// Source: libstdc++, `libsupc++/hash_bytes.cc`; the program is the tutorials' `std::map<uint32_t, std::string>`.
///
/// ```
/// use ringway::scheme::CppMapUpper;
/// use ringway::{NodeSpec, Ring};
/// let scheme = CppMapUpper::new().with_points_per_node(40);
/// let table = Ring::builder().scheme(scheme).nodes(["Server-A", "Server-B"].map(NodeSpec::new)).build_table()?;
/// assert_eq!(table.len(), 80);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CppMapUpper {
    points_per_node: u32,
}

/// The hand-written C++ ring with `std::hash` and `lower_bound`, `"cpp-map-lower"`: as [`CppMapUpper`], but a key belongs
/// to the first point *at* or after its own.
///
/// ```
/// use ringway::scheme::CppMapLower;
/// use ringway::{NodeSpec, Ring};
/// let table = Ring::builder().scheme(CppMapLower::new()).nodes(["server1", "server2"].map(NodeSpec::new)).build_table()?;
/// assert_eq!(table.len(), 200);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CppMapLower {
    points_per_node: u32,
}

/// The hand-written C++ ring with a loop after MurmurHash2, `"cpp-murmur-lower"`.
///
/// Point i of a node is the hash of `id_i`: from 0, for each byte `h ^= byte; h *= 0x5bd1e995; h ^= h >> 15` in 32 bits.
/// Keys hash alike, and belong to the first point at or after their own. A node has 16 points, if not set otherwise. Ties
/// and weights as [`CppMapUpper`].
///
/// ```
/// use ringway::scheme::CppMurmurLower;
/// use ringway::{NodeSpec, Ring};
/// let nodes = ["server1", "server2"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(CppMurmurLower::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 32);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CppMurmurLower {
    points_per_node: u32,
}

const POINTS_PER_NODE: &str = "points_per_node";

fn std_hash(bytes: &[u8]) -> u32 {
    low_u32(murmur64::hash(bytes))
}

fn std_hash_of_parts(parts: &[&[u8]]) -> u32 {
    low_u32(murmur64::hash_of_parts(parts))
}

fn loop_hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, loop_step)
}

fn loop_hash_of_parts(parts: &[&[u8]]) -> u32 {
    parts.iter().copied().flatten().fold(0, loop_step)
}

fn loop_step(hash: u32, byte: &u8) -> u32 {
    let hash = (hash ^ u32::from(*byte)).wrapping_mul(0x5BD1_E995);
    hash ^ (hash >> 15)
}

macro_rules! scheme {
    ($type:ty, $id:literal, $points:literal, $rule:ident, $mark:literal, $hash:path, $hash_of_parts:path) => {
        impl $type {
            /// The scheme's name.
            pub const ID: &'static str = $id;

            /// Points of each node, if not set otherwise.
            pub const DEFAULT_POINTS_PER_NODE: u32 = $points;

            /// Creates the scheme with the default number of points.
            #[must_use]
            pub const fn new() -> Self {
                Self { points_per_node: Self::DEFAULT_POINTS_PER_NODE }
            }

            /// Sets the points of each node.
            #[must_use]
            pub const fn with_points_per_node(self, points_per_node: u32) -> Self {
                Self { points_per_node }
            }

            /// Returns the points of each node.
            #[must_use]
            pub const fn points_per_node(&self) -> u32 {
                self.points_per_node
            }
        }

        impl Default for $type {
            fn default() -> Self {
                Self::new()
            }
        }

        impl Scheme for $type {
            type Point = u32;
            type Seed = ();

            fn id(&self) -> &str {
                Self::ID
            }

            /// The order decides who owns equal points.
            fn order_free(&self) -> bool {
                false
            }

            #[inline]
            fn match_rule(&self) -> MatchRule {
                MatchRule::$rule
            }

            fn option_bytes(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.points_per_node.to_le_bytes());
            }

            fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
                active_bytes(node, out);
            }

            fn key_map(&self) -> Vec<u8> {
                concat!("cpp ", stringify!($hash)).into()
            }

            fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
                out.extend(last_first(nodes).map(|(tie, node)| {
                    let points = node.active_points().unwrap_or(self.points_per_node).into();
                    Assignment { seed: (), points, tie }
                }));
                Ok(())
            }

            fn points(&self, id: &NodeId, (): &(), numbers: Range<u32>, out: &mut Vec<u32>) {
                numbered(&[id.as_bytes(), $mark].concat(), numbers, |label| out.push($hash(label)));
            }

            #[inline]
            fn key_point(&self, key: &[u8]) -> u32 {
                $hash(key)
            }

            #[inline]
            fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
                $hash_of_parts(parts)
            }
        }

        impl Named for $type {
            const NAME: &'static str = Self::ID;

            fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
                let points = options.take_integer(POINTS_PER_NODE, u32::MAX)?;
                Ok(points.map_or_else(Self::new, |points| Self::new().with_points_per_node(points)))
            }

            fn options(&self) -> Vec<(&'static str, OptionValue)> {
                vec![(POINTS_PER_NODE, self.points_per_node.into())]
            }
        }
    };
}

scheme!(CppMapUpper, "cpp-map-upper", 100, After, b"#", std_hash, std_hash_of_parts);
scheme!(CppMapLower, "cpp-map-lower", 100, AtOrAfter, b"#", std_hash, std_hash_of_parts);
scheme!(CppMurmurLower, "cpp-murmur-lower", 16, AtOrAfter, b"_", loop_hash, loop_hash_of_parts);
