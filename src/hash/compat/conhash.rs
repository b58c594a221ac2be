//! The crate conhash.

use std::iter;
use std::ops::Range;

use super::{Label, active_points, ketama, md5, placement_bytes};
use crate::error::SchemeError;
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, Scheme};
use crate::node::{NodeId, NodeInfo};

/// The ring of the crate conhash, `"conhash"`, on a circle of 2^128 places.
///
/// A node's attribute `name`, or else its id, is the node's name. It has `replicas_per_weight` points for each unit of
/// weight, each the MD5 of `name:0`, `name:1`, …, compared as bytes. A key's point is its MD5 likewise, and it belongs to the
/// first point at or after that. (A later node takes an equal point over, which takes a collision of MD5.)
///
/// One option, in files by its name: `replicas_per_weight`, 20 if not set. (The crate has neither weights nor a default:
/// its `add` takes the number of a node's points.)
///
/// Nodes are independent: one that comes or goes moves only its own keys.
///
/// Source: conhash 0.5, `src/conhash.rs`, type `ConsistentHash`.
///
/// ```
/// use ringway::scheme::Conhash;
/// use ringway::{NodeSpec, Ring};
/// let nodes = ["localhost:12345", "localhost:12346"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(Conhash::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 40);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conhash {
    replicas_per_weight: u32,
}

impl Conhash {
    /// The scheme's name.
    pub const ID: &'static str = "conhash";

    /// Creates the scheme with 20 points for each unit of weight.
    #[must_use]
    pub const fn new() -> Self {
        Self { replicas_per_weight: 20 }
    }

    /// Sets the points for each unit of weight.
    #[must_use]
    pub const fn with_replicas_per_weight(self, replicas_per_weight: u32) -> Self {
        Self { replicas_per_weight }
    }
}

impl Default for Conhash {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheme for Conhash {
    type Point = u128;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    // No option bytes: the replicas decide nothing that the number of points doesn't.

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        out.extend_from_slice(&active_points(node, self.replicas_per_weight).to_le_bytes());
        placement_bytes(node, &[node.attribute("name")], out);
    }

    fn key_map(&self) -> Vec<u8> {
        b"md5 128".to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let tie = ketama::last_wins(nodes);
        out.extend((0..).zip(nodes).map(|(place, node)| Assignment {
            seed: Label::new(format!("{}:", ketama::name(node)).as_bytes()),
            points: active_points(node, self.replicas_per_weight),
            tie: tie(place),
        }));
        Ok(())
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u128>) {
        md5::number_points(label.as_bytes(), numbers, out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u128 {
        md5::number(iter::once(key))
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u128 {
        md5::number(parts.iter().copied())
    }
}

const REPLICAS_PER_WEIGHT: &str = "replicas_per_weight";

impl Named for Conhash {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let replicas = options.take_integer(REPLICAS_PER_WEIGHT, u32::MAX)?;
        Ok(replicas.map_or_else(Self::new, |replicas| Self::new().with_replicas_per_weight(replicas)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(REPLICAS_PER_WEIGHT, self.replicas_per_weight.into())]
    }
}
