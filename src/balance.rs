//! How evenly a table spreads keys. Rank 5.

mod expected;

pub use expected::expected_spread;

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::point::{Point, Share, ratio};
use crate::table::Table;

/// How evenly a table spreads keys over its nodes, from exact shares.
///
/// A node's *fair share* is its weight over the weight of all. What is measured against it is the share of the circle that
/// its points own, which is what it gets of well-hashed keys; with several probes a key, the share of keys that it gets
/// in closed form ([`Table::key_shares`]). [Pins](crate::Pins) and states of nodes aren't counted.
///
/// ```
/// use ringway::{Balance, NodeSpec, Ring};
/// let nodes = [NodeSpec::new("a"), NodeSpec::new("b").with_weight(2)];
/// let balance = Balance::of(&Ring::builder().nodes(nodes).build_table()?);
/// assert!((balance.nodes()[1].share().fraction() - 2.0 / 3.0).abs() < 0.1);
/// assert!(balance.spread().is_some_and(|spread| (1.0..1.2).contains(&spread)));
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    nodes: Vec<NodeBalance>,
    spread: Option<f64>,
    deviation: Option<f64>,
}

/// One node's part of a [`Balance`].
#[derive(Debug, Clone, PartialEq)]
pub struct NodeBalance {
    id: NodeId,
    weight: u32,
    points: u32,
    share: Share,
    to_fair: Option<f64>,
}

impl NodeBalance {
    /// Returns the node's id.
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.id
    }

    /// Returns the weight.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the number of points.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.points
    }

    /// Returns the exact share of the circle; with several probes a key, that of the keys, to the next place
    /// ([`Table::shares`]).
    #[must_use]
    pub fn share(&self) -> Share {
        self.share
    }

    /// Returns the share over the fair share; `None` for a node of weight 0, or in a ring without points.
    #[must_use]
    pub fn to_fair(&self) -> Option<f64> {
        self.to_fair
    }
}

impl Balance {
    /// Measures a table.
    ///
    /// # Complexity
    /// O(P + N log N).
    #[must_use]
    pub fn of<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>) -> Self {
        let total: u64 = table.nodes().map(|node| u64::from(node.info().weight())).sum();
        let empty = table.is_empty();
        let node = |((node, share), (_, part)): ((&crate::node::Node<T>, Share), (_, f64))| {
            let weight = node.info().weight();
            // share / (weight / total), with one rounding for each operation.
            let to_fair = (weight > 0 && !empty).then(|| part * ratio(total, u64::from(weight)));
            let points = table.points_of(node.id().as_str()).unwrap_or_default();
            NodeBalance { id: node.id().clone(), weight, points, share, to_fair }
        };
        let nodes: Vec<NodeBalance> = table.shares().into_iter().zip(table.key_shares()).map(node).collect();
        let ratios: Vec<f64> = nodes.iter().filter_map(NodeBalance::to_fair).collect();
        let spread = ratios.iter().copied().reduce(f64::max);
        let deviation = (!ratios.is_empty()).then(|| {
            let squares: f64 = ratios.iter().map(|ratio| (ratio - 1.0) * (ratio - 1.0)).sum();
            (squares * ratio(1, crate::point::len_u64(ratios.len()))).sqrt()
        });
        Self { nodes, spread, deviation }
    }

    /// Returns the nodes, in the order of [`Table::nodes`].
    #[must_use]
    pub fn nodes(&self) -> &[NodeBalance] {
        &self.nodes
    }

    /// Returns the largest share over its fair share, at least 1 up to rounding where no node of weight 0 has points;
    /// `None` if no node has both weight and share.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        self.spread
    }

    /// Returns the standard deviation of shares over fair shares from 1; `None` as for [`spread`](Self::spread).
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        self.deviation
    }

    /// Returns the exact share of each zone, by its outermost `depth` labels and in their order. A node without a label is
    /// a zone of its own, and isn't listed.
    #[must_use]
    pub fn zones<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>, depth: usize) -> Vec<(Vec<String>, Share)> {
        let mut zones = std::collections::BTreeMap::new();
        for (node, share) in table.shares() {
            let zone = node.info().zone();
            let labels = &zone[..depth.min(zone.len())];
            if !labels.is_empty() {
                let sum = zones.entry(labels.to_vec()).or_insert(Share::new(0, S::Point::BITS));
                *sum = *sum + share;
            }
        }
        zones.into_iter().collect()
    }
}
