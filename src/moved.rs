//! How much moves where keys have several probes, in closed form. Rank 6.
//!
//! Beside the walk from key to owner. No arc of the circle belongs to a node then, so there is no plan of arcs; but how
//! many keys move follows from the gaps all the same.
//!
//! Take the points of both rings together, and the nearest of them to a key. If both rings have it, it is the nearest in
//! both, and the key stays. If one ring alone has it, the key moves, unless the other ring gives it to a point of the same
//! node: one that has points in both, and more in one of them. With a for the distance to the points that such a node gains,
//! c for that to its old ones, b for that to all else in the old ring, and n for that to what others gain, these are the keys
//! with a < c < b and a < n. Without n they are those with c < b less those with c < a, b: shares of its old points on two
//! rings. With n, the keys with a < c < b are more, and those with a < c < b, n are fewer.

use std::collections::{BTreeMap, BTreeSet};

use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::plan::KeyMapsDiffer;
use crate::point::Point;
use crate::table::{Sum, Table, gap_shares};

/// The share of keys that a change moves, in closed form: what [`Plan::between`](crate::Plan::between) can't tell of keys
/// with several probes ([`MultiProbe`](crate::scheme::MultiProbe)).
///
/// It is a probability, over keys whose probes are independent and fall anywhere. Nodes are the same if their ids are. Pins
/// and states don't count. It knows no arcs, and not from whom to whom: for that there is
/// [`Plan::sampled`](crate::Plan::sampled).
///
/// ```
/// use ringway::scheme::{MultiProbe, Native, Probes};
/// use ringway::{MovedShare, NodeSpec, Ring};
/// let scheme = MultiProbe::new(Native::new(), Probes::new(3)?);
/// let ring = |ids: &[&str]| Ring::builder().scheme(scheme).nodes(ids.iter().copied().map(NodeSpec::new)).build_table();
/// let moved = MovedShare::between(&ring(&["a", "b", "c"])?, &ring(&["a", "b", "c", "d"])?)?;
/// assert!(moved.is_exact() && (moved.at_most() - 0.25).abs() < 0.02);
/// // What a node that joins takes is all that moves.
/// assert!((moved.at_most() - moved.minimum()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedShare {
    at_least: f64,
    at_most: f64,
    minimum: f64,
}

impl MovedShare {
    /// Compares two tables.
    ///
    /// # Errors
    /// [`KeyMapsDiffer`] if a key may have different points in the two.
    ///
    /// # Complexity
    /// O(P log P), and as much again for each node that has points in both tables and not the same ones.
    pub fn between<P, T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> Result<Self, KeyMapsDiffer>
    where
        P: Point,
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        if old.scheme().key_map() != new.scheme().key_map() {
            let name = |id: &str| id.to_owned();
            return Err(KeyMapsDiffer { old: name(old.scheme().id()), new: name(new.scheme().id()) });
        }
        let union = Union::of(old, new, old.scheme().probes().count());
        let (mut at_most, mut at_least) = (Sum::default(), Sum::default());
        for sum in [&mut at_most, &mut at_least] {
            sum.add(union.share(|_| true, |point| point.on[OLD] != point.on[NEW]));
        }
        // From old to new nodes gain points, and from new to old.
        for (from, to) in [(OLD, NEW), (NEW, OLD)] {
            let (before, after) = (|point: &Placed<P>| point.on[from], |point: &Placed<P>| point.on[to]);
            let gain: BTreeSet<&NodeId> =
                union.points.iter().filter(|p| after(p) && !before(p)).map(|point| point.node).collect();
            for node in &gain {
                let own = |point: &Placed<P>| point.node == *node;
                let has_points = union.points.iter().any(|point| own(point) && before(point));
                if !has_points {
                    continue;
                }
                // The nearest of all is one of its new points, the nearest of the old ring one of its old ones. Where the new
                // points of others may lie nearer as well, the first of these is too much and the second too little.
                let held = |point: &Placed<P>| own(point) && before(point);
                let gained = |point: &Placed<P>| own(point) && !before(point) && after(point);
                let most = union.share(before, held) - union.share(|p| before(p) || gained(p), held);
                let least = union.share(|point| !gained(point), held) - union.share(|_| true, held);
                at_least.add(-most);
                at_most.add(-least);
            }
        }
        let at_most = at_most.total().clamp(0.0, 1.0);
        Ok(Self { at_least: at_least.total().clamp(0.0, at_most), at_most, minimum: minimum(old, new) })
    }

    /// Returns the share of keys that moves at least, from 0 to 1, with an error of at most 10^-12.
    #[must_use]
    pub fn at_least(&self) -> f64 {
        self.at_least
    }

    /// Returns the share of keys that moves at most; that which moves, if it is [exact](Self::is_exact).
    #[must_use]
    pub fn at_most(&self) -> f64 {
        self.at_most
    }

    /// Whether both bounds are one. So it is if nodes come and go as a whole, and if one alone gains points and one alone loses
    /// some; not if a node that stays gains points while others gain some or come, or loses some while others do or go. The
    /// bounds then differ by about the product of the three shares: of the node's new points, its old ones, and the others'.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.at_least >= self.at_most
    }

    /// Returns what must move however points are placed, if each node is to have the share of keys that it has in the new
    /// table: what nodes gain, added up.
    #[must_use]
    pub fn minimum(&self) -> f64 {
        self.minimum
    }
}

/// A point of one ring or of both.
struct Placed<'t, P> {
    at: P,
    node: &'t NodeId,
    /// Whether it is on each ring.
    on: [bool; 2],
}

const OLD: usize = 0;
const NEW: usize = 1;

/// The points of two rings, in ring order.
struct Union<'t, P> {
    points: Vec<Placed<'t, P>>,
    probes: u32,
}

impl<'t, P: Point> Union<'t, P> {
    fn of<T, U, S, R, L, M>(old: &'t Table<T, S, L>, new: &'t Table<U, R, M>, probes: u32) -> Self
    where
        S: Scheme<Point = P>,
        R: Scheme<Point = P>,
        L: Layout<P>,
        M: Layout<P>,
    {
        // The n-th of a node's equal points is the same in both.
        let mut known: BTreeMap<(P, &NodeId, u32), [bool; 2]> = BTreeMap::new();
        let mut enter = |points: &mut dyn Iterator<Item = (P, &'t NodeId)>, ring: usize| {
            let (mut equal, mut before) = (BTreeMap::new(), None);
            for (at, node) in points {
                if before.replace(at) != Some(at) {
                    equal.clear();
                }
                let number = equal.entry(node).or_insert(0);
                known.entry((at, node, *number)).or_default()[ring] = true;
                *number += 1;
            }
        };
        enter(&mut old.points().map(|(at, node)| (at, node.id())), OLD);
        enter(&mut new.points().map(|(at, node)| (at, node.id())), NEW);
        let points = known.into_iter().map(|((at, node, _), on)| Placed { at, node, on }).collect();
        Self { points, probes }
    }

    /// The share of keys that some points get on a ring of some points.
    fn share(&self, ring: impl Fn(&Placed<P>) -> bool, of: impl Fn(&Placed<P>) -> bool) -> f64 {
        let on_ring = || self.points.iter().filter(|point| ring(point));
        let places: Vec<P> = on_ring().map(|point| point.at).collect();
        let mut sum = Sum::default();
        for (_, share) in on_ring().zip(gap_shares(&places, self.probes)).filter(|(point, _)| of(point)) {
            sum.add(share);
        }
        sum.total()
    }
}

fn minimum<T, U, S, R, L, M>(old: &Table<T, S, L>, new: &Table<U, R, M>) -> f64
where
    S: Scheme,
    R: Scheme<Point = S::Point>,
    L: Layout<S::Point>,
    M: Layout<S::Point>,
{
    if new.is_empty() {
        // All keys go to nobody.
        return if old.is_empty() { 0.0 } else { 1.0 };
    }
    let before: BTreeMap<&NodeId, f64> = old.key_shares().into_iter().map(|(node, share)| (node.id(), share)).collect();
    let mut sum = Sum::default();
    for (node, share) in new.key_shares() {
        sum.add((share - before.get(node.id()).copied().unwrap_or(0.0)).max(0.0));
    }
    sum.total()
}
