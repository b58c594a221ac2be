//! The Python packages uhashring and hash_ring.

use std::iter;
use std::ops::Range;

use super::ketama::{self, Live};
use super::{Label, MemcacheHash, active_points, md5, placement_bytes};
use crate::error::SchemeError;
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, MatchRule, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo};

/// uhashring's ketama ring, `"uhashring-ketama"`: `HashRing(hash_fn="ketama")` of the Python package.
///
/// A node's attribute `name`, or else its id, is the node's name. Its digests are the MD5 of `name-0`, `name-1`, …, of
/// which the first words are points. It has ⌊vnodes × nodes × weight / total weight⌋ of them, in whole numbers. A later node
/// takes an equal point over. A key's point is the first word of its MD5, and it belongs to the first point *after* that.
///
/// Options, in files by their names: `vnodes`, digests of a node of average weight, 40 if not set (a node's attribute of
/// that name overrides it for the node); `replicas`, points of a digest, at most 4 and that if not set.
///
/// The package takes a node out of service by removing it: a node that is [`Down`](crate::State::Down) has no points and
/// no part in the counts. Active points set for a node replace its count alone. When a node comes or goes, a few keys move
/// between others.
///
/// Source: uhashring 2.5, `uhashring/ring_ketama.py`, class `KetamaRing`, and `ring.py`, `HashRing._get_pos`.
///
/// ```
/// use ringway::scheme::UhashringKetama;
/// use ringway::{NodeSpec, Ring};
/// let nodes = ["node1", "node2", "node3"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(UhashringKetama::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 480);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UhashringKetama {
    vnodes: u32,
    replicas: u32,
}

impl UhashringKetama {
    /// The scheme's name.
    pub const ID: &'static str = "uhashring-ketama";

    /// The most points that a digest has.
    pub const MAX_REPLICAS: u32 = 4;

    /// Creates the scheme with the package's defaults: 40 digests of a node of average weight, four points each.
    #[must_use]
    pub const fn new() -> Self {
        Self { vnodes: 40, replicas: Self::MAX_REPLICAS }
    }

    /// Sets the digests of a node of average weight.
    #[must_use]
    pub const fn with_vnodes(self, vnodes: u32) -> Self {
        Self { vnodes, ..self }
    }

    /// Sets the points of a digest; more than [`MAX_REPLICAS`](Self::MAX_REPLICAS) are taken as that many.
    #[must_use]
    pub const fn with_replicas(self, replicas: u32) -> Self {
        let replicas = if replicas > Self::MAX_REPLICAS { Self::MAX_REPLICAS } else { replicas };
        Self { replicas, ..self }
    }
}

impl Default for UhashringKetama {
    fn default() -> Self {
        Self::new()
    }
}

/// The Python package hash_ring, `"hash_ring"`: as [`UhashringKetama`] with its defaults, but for three points of a digest
/// and not four.
///
/// Source: hash_ring 1.3.1, `hash_ring/ring.py`, class `HashRing`.
///
/// ```
/// use ringway::scheme::HashRing;
/// use ringway::{NodeSpec, Ring};
/// let nodes = ["192.168.0.246:11212", "192.168.0.247:11212"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(HashRing::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 240);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HashRing(());

impl HashRing {
    /// The scheme's name.
    pub const ID: &'static str = "hash_ring";

    /// Creates the scheme; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

/// uhashring's default ring, `"uhashring-default"`: `HashRing()` of the Python package, on a circle of 2^128 places.
///
/// A node's attribute `name`, or else its id, is the node's name. It has `vnodes` points for each unit of weight, each the
/// MD5 of `name-0`, `name-1`, …, whole and as a number with the most significant byte first. A key's point is its MD5
/// likewise, and it belongs to the first point *after* that. (A later node takes an equal point over, which takes a
/// collision of MD5.)
///
/// One option, in files by its name: `vnodes`, 160 if not set; a node's attribute of that name overrides it for the node.
///
/// Nodes are independent: one that comes or goes moves only its own keys.
///
/// Source: uhashring 2.5, `uhashring/ring_meta.py`, class `MetaRing`, and `ring.py`, `HashRing._get_pos`.
///
/// ```
/// use ringway::scheme::UhashringDefault;
/// use ringway::{NodeSpec, Ring};
/// let nodes = ["node1", "node2", "node3"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(UhashringDefault::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 480);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UhashringDefault {
    vnodes: u32,
}

impl UhashringDefault {
    /// The scheme's name.
    pub const ID: &'static str = "uhashring-default";

    /// Creates the scheme with 160 points for each unit of weight.
    #[must_use]
    pub const fn new() -> Self {
        Self { vnodes: 160 }
    }

    /// Sets the points for each unit of weight.
    #[must_use]
    pub const fn with_vnodes(self, vnodes: u32) -> Self {
        Self { vnodes }
    }
}

impl Default for UhashringDefault {
    fn default() -> Self {
        Self::new()
    }
}

const VNODES: &str = "vnodes";
const REPLICAS: &str = "replicas";

fn vnodes(node: &NodeInfo, default: u32) -> Result<u32, SchemeError> {
    Ok(ketama::number(node, VNODES, u32::MAX)?.unwrap_or(default))
}

fn label(node: &NodeInfo) -> Result<Label, SchemeError> {
    Ok(Label::new(format!("{}-", ketama::name(node)).as_bytes()))
}

macro_rules! by_words {
    ($type:ty, $settings:expr, $attributes:expr, $vnodes:expr) => {
        impl Scheme for $type {
            type Point = u32;
            type Seed = Label;

            fn id(&self) -> &str {
                Self::ID
            }

            /// The order decides who owns equal points.
            fn order_free(&self) -> bool {
                false
            }

            fn match_rule(&self) -> MatchRule {
                MatchRule::After
            }

            fn out_of_service(&self) -> OutOfService {
                OutOfService::Rebuild
            }

            fn option_bytes(&self, out: &mut Vec<u8>) {
                out.extend($settings(self).into_iter().flat_map(u32::to_le_bytes));
            }

            fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
                let read = $attributes.map(|attribute| node.attribute(attribute));
                ketama::placement_bytes_with_state(node, &read, out);
            }

            fn key_map(&self) -> Vec<u8> {
                MemcacheHash::Md5.key_map()
            }

            fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
                let [per_node, per_digest] = $settings(self);
                let live = Live::of(nodes, NodeInfo::weight);
                let points = |node: &NodeInfo| {
                    let digests = live.digests_in_integers($vnodes(node, per_node)?, node.weight());
                    Ok(digests.saturating_mul(per_digest.into()))
                };
                ketama::assign(nodes, ketama::last_wins(nodes), label, points, out)
            }

            fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
                let [_, per_digest] = $settings(self);
                md5::word_points(label.as_bytes(), per_digest, numbers, out);
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
    };
}

by_words!(UhashringKetama, |scheme: &UhashringKetama| [scheme.vnodes, scheme.replicas], ["name", VNODES], vnodes);
by_words!(HashRing, |_: &HashRing| [40, 3], ["name"], |_, per_node| Ok::<u32, SchemeError>(per_node));

impl Scheme for UhashringDefault {
    type Point = u128;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    fn match_rule(&self) -> MatchRule {
        MatchRule::After
    }

    // No option bytes: vnodes decides nothing that the number of points doesn't.

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        // A node whose vnodes aren't a number is refused before this is asked for.
        let points = vnodes(node, self.vnodes).map_or(0, |vnodes| active_points(node, vnodes));
        out.extend_from_slice(&points.to_le_bytes());
        placement_bytes(node, &[node.attribute("name")], out);
    }

    fn key_map(&self) -> Vec<u8> {
        b"md5 128".to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let tie = ketama::last_wins(nodes);
        for (place, node) in (0..).zip(nodes) {
            let points = active_points(node, vnodes(node, self.vnodes)?);
            out.push(Assignment { seed: label(node)?, points, tie: tie(place) });
        }
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

impl Named for UhashringKetama {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let mut scheme = Self::new();
        if let Some(vnodes) = options.take_integer(VNODES, u32::MAX)? {
            scheme = scheme.with_vnodes(vnodes);
        }
        if let Some(replicas) = options.take_integer(REPLICAS, Self::MAX_REPLICAS)? {
            scheme = scheme.with_replicas(replicas);
        }
        Ok(scheme)
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(VNODES, self.vnodes.into()), (REPLICAS, self.replicas.into())]
    }
}

impl Named for UhashringDefault {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let vnodes = options.take_integer(VNODES, u32::MAX)?;
        Ok(vnodes.map_or_else(Self::new, |vnodes| Self::new().with_vnodes(vnodes)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(VNODES, self.vnodes.into())]
    }
}
