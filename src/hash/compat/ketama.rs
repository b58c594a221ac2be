//! What the ketama family has in common: counts that depend on all nodes, and nodes that are left out while they are down.
//!
//! The systems give each server points in proportion to its part of the total weight, so one server more or another
//! weight changes all counts, and with them a few points of each other server (docs/compat.md has the measured share).

use super::{Label, placement_bytes};
use crate::error::{SchemeError, shown};
use crate::hash::Assignment;
use crate::node::{NodeInfo, State};
use crate::point::{len_u64, narrow_f32, nearest_f32, position, whole_u64};

/// Whether the ring is built with this node.
pub(super) fn is_live(node: &NodeInfo) -> bool {
    node.state() != State::Down
}

/// Appends the placement bytes of a node of a scheme that leaves nodes out that are down.
pub(super) fn placement_bytes_with_state(node: &NodeInfo, read: &[Option<&str>], out: &mut Vec<u8>) {
    placement_bytes(node, read, out);
    out.push(u8::from(is_live(node)));
}

/// The text that labels begin with where the system knows a server by one name: the attribute `name`, or else the id.
pub(super) fn name(node: &NodeInfo) -> &str {
    node.attribute("name").unwrap_or(node.id().as_str())
}

/// The nodes that a ring is built with, as the counts see them.
#[derive(Clone, Copy)]
pub(super) struct Live {
    /// How many.
    pub(super) nodes: u64,
    /// Their weight together.
    pub(super) weight: u64,
}

impl Live {
    /// Counts the nodes that aren't down; `weight` says what each weighs.
    pub(super) fn of(nodes: &[&NodeInfo], weight: impl Fn(&NodeInfo) -> u32) -> Self {
        let live = nodes.iter().filter(|node| is_live(node));
        // At most 2^32 nodes of less than 2^32 each: the sum fits.
        let weight = live.clone().map(|node| u64::from(weight(node))).sum();
        Self { nodes: len_u64(live.count()), weight }
    }

    /// The digests of a server, four points each, as libmemcached and twemproxy compute them.
    ///
    /// Every operation rounds to an `f32`, and what is lost counts: 25 equal servers get 39 digests each and not 40.
    /// twemproxy adds the last term as a `double`; that differs only in results far below 1, which is nothing either way.
    pub(super) fn digests(self, weight: u32) -> u64 {
        let part = nearest_f32(u64::from(weight)) / nearest_f32(self.weight);
        whole_u64((part * 160.0 / 4.0 * nearest_f32(self.nodes) + 1e-10).floor())
    }

    /// The digests of a server as the first ketama computes them: the part of the weight is an `f32`, the rest `f64`.
    pub(super) fn digests_of_libketama(self, weight: u32) -> u64 {
        let part = nearest_f32(u64::from(weight)) / nearest_f32(self.weight);
        whole_u64(narrow_f32(f64::from(part) * 40.0 * f64::from(nearest_f32(self.nodes))).floor())
    }

    /// The digests of a server as the Python packages compute them, in whole numbers of any size.
    pub(super) fn digests_in_integers(self, per_node: u32, weight: u32) -> u64 {
        let product = u128::from(per_node) * u128::from(self.nodes) * u128::from(weight);
        product.checked_div(u128::from(self.weight)).map_or(0, |digests| digests.try_into().unwrap_or(u64::MAX))
    }
}

/// Gives each node its label and its points: none if it is down, else the active points set for it, else `points` of it.
///
/// Active points set for a node change nothing of the others': their counts follow the weights.
pub(super) fn assign(
    nodes: &[&NodeInfo],
    tie_of_place: impl Fn(u32) -> u32,
    label: impl Fn(&NodeInfo) -> Result<Label, SchemeError>,
    points: impl Fn(&NodeInfo) -> Result<u64, SchemeError>,
    out: &mut Vec<Assignment<Label>>,
) -> Result<(), SchemeError> {
    for (place, node) in (0..).zip(nodes) {
        let points = match node.active_points() {
            _ if !is_live(node) => 0,
            Some(points) => u64::from(points),
            None => points(node)?,
        };
        out.push(Assignment { seed: label(node)?, points, tie: tie_of_place(place) });
    }
    Ok(())
}

/// Tie ranks with which the server that stands later in the list takes an equal point over.
pub(super) fn last_wins(nodes: &[&NodeInfo]) -> impl Fn(u32) -> u32 {
    let nodes = position(nodes.len());
    move |place| nodes - place
}

/// Reads an attribute that is a whole number up to `limit`.
pub(super) fn number(node: &NodeInfo, attribute: &str, limit: u32) -> Result<Option<u32>, SchemeError> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && number <= limit => Ok(Some(number)),
        _ => Err(SchemeError {
            id: Some(shown(node.id().as_str())),
            reason: format!("{attribute} \"{}\" is not an integer from 0 to {limit}; give one", shown(text)),
        }),
    }
}
