//! groupcache's `consistenthash`.

use std::io::Write;
use std::ops::Range;

use super::{active_bytes, chain, last_first};
use crate::error::SchemeError;
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, Scheme};
use crate::node::{NodeId, NodeInfo};

/// The ring of groupcache, in Go, `"groupcache"`.
///
/// A peer has as many points as there are *replicas* (50, if not set otherwise). Point i is the CRC-32 of the decimal i
/// *followed by* the node's id: so `1peer` and `11peer` share points. Of equal points the peer that stands last in the
/// list owns it. A key's point is its CRC-32, and it belongs to the first point at or after that.
///
/// groupcache knows no weights, and none is read here: a peer of weight 0 has its points, too. Active points, if set,
/// stand in for the replicas.
///
/// Source: golang/groupcache, `consistenthash/consistenthash.go` (`Add`, `Get`); the default is that of `http.go`.
///
/// ```
/// use ringway::scheme::Groupcache;
/// use ringway::{NodeSpec, Ring};
/// let peers = ["http://10.0.0.1:8080", "http://10.0.0.2:8080"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(Groupcache::new()).nodes(peers).build_table()?;
/// assert_eq!(table.len(), 100);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groupcache {
    replicas: u32,
}

impl Groupcache {
    /// The scheme's name.
    pub const ID: &'static str = "groupcache";

    /// Points of each node, if not set otherwise.
    pub const DEFAULT_REPLICAS: u32 = 50;

    /// Creates the scheme with 50 points for each node.
    #[must_use]
    pub const fn new() -> Self {
        Self { replicas: Self::DEFAULT_REPLICAS }
    }

    /// Sets the points of each node.
    #[must_use]
    pub const fn with_replicas(self, replicas: u32) -> Self {
        Self { replicas }
    }

    /// Returns the points of each node.
    #[must_use]
    pub const fn replicas(&self) -> u32 {
        self.replicas
    }
}

impl Default for Groupcache {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheme for Groupcache {
    type Point = u32;
    type Seed = ();

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.replicas.to_le_bytes());
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        active_bytes(node, out);
    }

    fn key_map(&self) -> Vec<u8> {
        chain::KEY_MAP.to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        out.extend(last_first(nodes).map(|(tie, node)| {
            let points = node.active_points().unwrap_or(self.replicas).into();
            Assignment { seed: (), points, tie }
        }));
        Ok(())
    }

    fn points(&self, id: &NodeId, (): &(), numbers: Range<u32>, out: &mut Vec<u32>) {
        let mut label = Vec::new();
        out.extend(numbers.map(|number| {
            label.clear();
            write!(label, "{number}").expect("a vector takes all that is written to it");
            label.extend_from_slice(id.as_bytes());
            chain::key_point(&label)
        }));
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        chain::key_point(key)
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        chain::key_point_of_parts(parts)
    }
}

const REPLICAS: &str = "replicas";

impl Named for Groupcache {
    const NAME: &'static str = Self::ID;

    /// Takes `replicas`, and `hash`, which can only be `crc32`.
    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        options.take_one_of("hash", &[("crc32", ())])?;
        let replicas = options.take_integer(REPLICAS, u32::MAX)?;
        Ok(replicas.map_or_else(Self::new, |replicas| Self::new().with_replicas(replicas)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(REPLICAS, self.replicas.into())]
    }
}
