//! What a soak's rings are like.

use super::{POINTS, READERS};
use crate::live::random::Random;

#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Auto,
    Line,
    Sorted,
    Eytzinger,
    STree,
    Bucket,
    Direct,
}

/// What a ring is like.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) layout: Of,
    pub(super) locked: bool,
    pub(super) nodes: u32,
    pub(super) points_per_weight: u32,
    pub(super) readers: usize,
    /// Make readers expect a version that never comes, to see them find the fault.
    pub(super) broken: bool,
}

impl Shape {
    pub(super) fn of(random: &mut Random) -> Self {
        let layouts = [Of::Auto, Of::Line, Of::Sorted, Of::Eytzinger, Of::STree, Of::Bucket, Of::Direct];
        let layout = layouts[random.below(layouts.len())];
        // A direct table is for small rings.
        let most = if matches!(layout, Of::Direct) { 40 } else { 400 };
        let nodes = 1 + random.below_u32(most);
        // Weights go up to 4, and a half of the nodes may come on top.
        let points_per_weight = 1 + random.below_u32((POINTS / (6 * nodes)).clamp(1, 600));
        Self {
            layout,
            locked: random.below(4) == 0,
            nodes,
            points_per_weight,
            readers: 1 + random.below(READERS),
            broken: false,
        }
    }
}
