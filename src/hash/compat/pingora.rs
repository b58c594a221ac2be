//! Pingora's ketama, both versions.

use std::net::SocketAddr;
use std::ops::Range;

use super::{Label, active_points, chain, placement_bytes};
use crate::error::{SchemeError, shown};
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, Scheme};
use crate::node::{NodeId, NodeInfo};
use crate::point::position;

/// Pingora's ketama in its first version, `"pingora-v1"`: nginx's points for socket addresses, 160 for each unit of
/// weight.
///
/// A node's address, or else its id, is an IP socket address: `10.0.0.1:80` or `[2001:db8::1]:80`. Its host is the
/// canonical text of the IP address, without brackets; IPv4 rings are therefore nginx's rings of `ip:port`. Keys as nginx.
///
/// Pingora leaves equal points to an unstable sort, so who owns one isn't defined there. Here it is the smaller address,
/// as in the second version, for which Pingora says so.
///
/// Source: crate `pingora-ketama` 0.5 and later, `src/lib.rs`.
///
/// ```
/// use ringway::scheme::PingoraV1;
/// use ringway::{NodeSpec, Ring};
/// let nodes = [NodeSpec::new("a").with_address("10.0.0.1:80"), NodeSpec::new("[::1]:80").with_weight(2)];
/// let table = Ring::builder().scheme(PingoraV1::new()).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 480);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PingoraV1(());

impl PingoraV1 {
    /// The scheme's name.
    pub const ID: &'static str = "pingora-v1";

    /// Creates the scheme; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

/// Pingora's ketama in its second version, `"pingora-v2"`: as [`PingoraV1`] with a free number of points, and the
/// smaller address owns equal points (IPv4 before IPv6, then by IP, then by port).
///
/// Source: crate `pingora-ketama` 0.6 and later, feature `v2`, `src/lib.rs`.
///
/// ```
/// use ringway::scheme::PingoraV2;
/// use ringway::{NodeSpec, Ring};
/// let scheme = PingoraV2::new().with_point_multiple(40);
/// let table = Ring::builder().scheme(scheme).nodes([NodeSpec::new("10.0.0.1:80")]).build_table()?;
/// assert_eq!(table.len(), 40);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PingoraV2 {
    point_multiple: u32,
}

impl PingoraV2 {
    /// The scheme's name.
    pub const ID: &'static str = "pingora-v2";

    /// Creates the scheme with 160 points for each unit of weight.
    #[must_use]
    pub const fn new() -> Self {
        Self { point_multiple: chain::POINTS_PER_WEIGHT }
    }

    /// Sets the points for each unit of weight.
    #[must_use]
    pub const fn with_point_multiple(self, point_multiple: u32) -> Self {
        Self { point_multiple }
    }

    /// Returns the points for each unit of weight.
    #[must_use]
    pub const fn point_multiple(&self) -> u32 {
        self.point_multiple
    }
}

impl Default for PingoraV2 {
    fn default() -> Self {
        Self::new()
    }
}

impl Named for PingoraV2 {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let points = options.take_integer(POINT_MULTIPLE, u32::MAX)?;
        Ok(points.map_or_else(Self::new, |points| Self::new().with_point_multiple(points)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(POINT_MULTIPLE, self.point_multiple.into())]
    }
}

const POINT_MULTIPLE: &str = "point_multiple";

/// The assignment of both versions.
fn assign(points: u32, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
    let addresses = nodes.iter().map(|node| address(node)).collect::<Result<Vec<_>, _>>()?;
    let mut by_address: Vec<(SocketAddr, usize)> = addresses.iter().copied().zip(0..).collect();
    by_address.sort_unstable();
    let mut ties = vec![0; nodes.len()];
    for (tie, (_, place)) in by_address.into_iter().enumerate() {
        ties[place] = position(tie);
    }
    out.extend(nodes.iter().zip(addresses).zip(ties).map(|((node, address), tie)| {
        let seed = Label::new(format!("{}\0{}", address.ip(), address.port()).as_bytes());
        Assignment { seed, points: active_points(node, points), tie }
    }));
    Ok(())
}

fn address(node: &NodeInfo) -> Result<SocketAddr, SchemeError> {
    let text = node.address().unwrap_or(node.id().as_str());
    text.parse().map_err(|_| SchemeError {
        id: Some(shown(node.id().as_str())),
        reason: format!(
            "\"{}\" is not an IP address with a port; give one as the address, such as 10.0.0.1:80 or [::1]:80",
            shown(text)
        ),
    })
}

macro_rules! scheme {
    ($type:ty, $points:expr) => {
        impl Scheme for $type {
            type Point = u32;
            type Seed = Label;

            fn id(&self) -> &str {
                Self::ID
            }

            /// Equal points go by address.
            fn order_free(&self) -> bool {
                true
            }

            // No option bytes: the point multiple decides nothing that the number of points doesn't.

            fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
                let points = active_points(node, $points(self));
                out.extend_from_slice(&points.to_le_bytes());
                placement_bytes(node, &[node.address()], out);
            }

            fn key_map(&self) -> Vec<u8> {
                chain::KEY_MAP.to_vec()
            }

            fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
                assign($points(self), nodes, out)
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
    };
}

scheme!(PingoraV1, |_: &PingoraV1| chain::POINTS_PER_WEIGHT);
scheme!(PingoraV2, |scheme: &PingoraV2| scheme.point_multiple);
