//! OpenResty's `resty.chash`.

use std::ops::Range;

use super::{Label, active_points, chain, placement_bytes};
use crate::error::SchemeError;
use crate::hash::{Assignment, Scheme};
use crate::node::{NodeId, NodeInfo};

/// OpenResty's consistent hash, `"resty-chash"`: `resty.chash` of lua-resty-balancer.
///
/// A node's attribute `id`, or else its id, is the label; the chain of CRC-32 values over it makes 160 points for each
/// unit of weight. With the label `host NUL port` the points are nginx's. A key's point is its CRC-32, and it belongs to
/// the first point at or after that. Equal points are left undefined there; here the smaller node id owns them, as in the
/// native scheme.
///
/// Source: lua-resty-balancer, `chash.c` and `lib/resty/chash.lua`.
///
/// ```
/// use ringway::scheme::RestyChash;
/// use ringway::{NodeSpec, Ring};
/// let node = NodeSpec::new("cache-1").with_attribute("id", "10.0.0.1\08080");
/// let table = Ring::builder().scheme(RestyChash::new()).nodes([node]).build_table()?;
/// assert_eq!(table.len(), 160);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RestyChash(());

impl RestyChash {
    /// The scheme's name.
    pub const ID: &'static str = "resty-chash";

    /// Creates the scheme; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Scheme for RestyChash {
    type Point = u32;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    fn order_free(&self) -> bool {
        true
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, &[node.attribute("id")], out);
    }

    fn key_map(&self) -> Vec<u8> {
        chain::KEY_MAP.to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        out.extend((0..).zip(nodes).map(|(tie, node)| {
            let label = node.attribute("id").unwrap_or(node.id().as_str());
            Assignment {
                seed: Label::new(label.as_bytes()),
                points: active_points(node, chain::POINTS_PER_WEIGHT),
                tie,
            }
        }));
        Ok(())
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        chain::points(label.as_bytes(), numbers, out);
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
