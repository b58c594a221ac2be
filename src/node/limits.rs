//! How large a ring may become. Rank 1.

/// How large a ring may become; what goes beyond is refused before memory is taken.
///
/// The defaults hold a ring of 16 million points, which is 32,768 nodes of weight 1 with the native scheme's 512 points
/// each: more nodes take fewer points per weight, or a higher limit. Raising is allowed up to the `MAX_` constants. The
/// limits of a ring are fixed when it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub(super) nodes: u32,
    pub(super) weight: u32,
    pub(super) points: u32,
    pub(super) changes: u32,
}

impl Limits {
    /// The longest node id, in bytes.
    pub const MAX_ID_BYTES: usize = 1024;
    /// The longest address, zone label, attribute name or attribute value, in bytes.
    pub const MAX_TEXT_BYTES: usize = 4096;
    /// The most zone labels of one node.
    pub const MAX_ZONE_LABELS: usize = 16;
    /// The most attributes of one node.
    pub const MAX_ATTRIBUTES: usize = 64;
    /// The most nodes a limit can be set to.
    pub const MAX_NODES: u32 = 1 << 24;
    /// The most points a limit can be set to. Ranks are kept as `u32`.
    pub const MAX_POINTS: u32 = 1 << 31;

    /// The default: 1,048,576 nodes, weight 65,535, 16,777,216 points, 16,777,216 changes a batch.
    pub const DEFAULT: Self = Self { nodes: 1 << 20, weight: 65_535, points: 1 << 24, changes: 1 << 24 };

    /// Sets the most nodes, at most [`MAX_NODES`](Self::MAX_NODES) (larger values become that).
    #[must_use]
    pub fn with_nodes(self, nodes: u32) -> Self {
        Self { nodes: nodes.min(Self::MAX_NODES), ..self }
    }

    /// Sets the largest weight of one node.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// Sets the most points in total, at most [`MAX_POINTS`](Self::MAX_POINTS) (larger values become that).
    #[must_use]
    pub fn with_points(self, points: u32) -> Self {
        Self { points: points.min(Self::MAX_POINTS), ..self }
    }

    /// Sets the most changes in one batch. The default is enough for each field of all nodes that the default allows; what
    /// a batch's check takes of memory follows its changes, some 100 bytes each.
    #[must_use]
    pub fn with_changes(self, changes: u32) -> Self {
        Self { changes, ..self }
    }

    /// Returns the most nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns the largest weight of one node.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the most points in total.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.points
    }

    /// Returns the most changes in one batch.
    #[must_use]
    pub fn changes(&self) -> u32 {
        self.changes
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
