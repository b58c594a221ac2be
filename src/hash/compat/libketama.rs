//! The first ketama: Last.fm's library.

use std::iter;
use std::ops::Range;

use super::ketama::{self, Live};
use super::{Label, MemcacheHash, md5};
use crate::error::SchemeError;
use crate::hash::{Assignment, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo};

/// Last.fm's ketama, `"libketama"`: the C library that gave the family its name.
///
/// A node's attribute `name`, or else its id, is the server's text from the list, such as `10.0.0.1:11211`. Its digests
/// are the MD5 of `name-0`, `name-1`, …, four points each. It has ⌊weight / total weight × 40 × servers⌋ of them, in the
/// library's mix of 32- and 64-bit arithmetic. Of equal points the server that stands first owns it. A key's point is the
/// first word of its MD5, and it belongs to the first point at or after that.
///
/// The library knows no server out of service but one that is taken off the list, and the ring is then another: a node
/// that is [`Down`](crate::State::Down) has no points and no part in the counts. Active points set for a node replace its
/// count alone. When a node comes or goes, a few keys move between others.
///
/// Source: ketama, `libketama/ketama.c`, functions `ketama_create_continuum` and `ketama_get_server`.
///
/// ```
/// use ringway::scheme::Libketama;
/// use ringway::{NodeSpec, Ring};
/// let servers = ["10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(Libketama::new()).nodes(servers).build_table()?;
/// assert_eq!(table.len(), 480);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Libketama(());

impl Libketama {
    /// The scheme's name.
    pub const ID: &'static str = "libketama";

    /// Creates the scheme; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl Scheme for Libketama {
    type Point = u32;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::Rebuild
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        ketama::placement_bytes_with_state(node, &[node.attribute("name")], out);
    }

    fn key_map(&self) -> Vec<u8> {
        MemcacheHash::Md5.key_map()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let live = Live::of(nodes, NodeInfo::weight);
        let label = |node: &NodeInfo| Ok(Label::new(format!("{}-", ketama::name(node)).as_bytes()));
        let points = |node: &NodeInfo| Ok(live.digests_of_libketama(node.weight()).saturating_mul(4));
        ketama::assign(nodes, |place| place, label, points, out)
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        md5::word_points(label.as_bytes(), 4, numbers, out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        md5::first_word(iter::once(key))
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        md5::first_word(parts.iter().copied())
    }
}
