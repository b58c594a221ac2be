//! Shares of the circle, and of the keys.
//!
//! With one probe a node's share of the keys is that of the circle: the lengths of its gaps, which add up exactly.
//!
//! With k probes a key goes to the nearest point, so the longer a gap is, the less of it counts. Let S(x) be the part of
//! the circle from which the next point is x or more away: S(0) = 1, and S falls by n(x)/C for each place on, where n(x) is
//! how many gaps are longer than x, and C the circle. A probe wins at distance x if no other one is nearer, so of a gap of
//! length g keys come with probability
//!
//! ```text
//! A(g) = ∫₀ᵍ k S(x)ᵏ⁻¹ dx / C
//! ```
//!
//! (Appleton and O'Reilly 2015 give the tail of the largest; the integral is ours.) Between two neighbouring lengths of gaps
//! S is a straight line from s to t, and with dS = −n dx / C the integral over it is (sᵏ − tᵏ) / n. Written as
//! Δ/C · Σ sʲ tᵏ⁻¹⁻ʲ nothing is subtracted, so no digit is lost: S and Δ are exact whole numbers, all terms are positive, and
//! sums are compensated (Neumaier 1974).

use super::Table;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::Node;
use crate::point::{Point, Share, len_u64};

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Returns each node with its exact share of the circle, in the order of [`nodes`](Self::nodes). Unless the ring has
    /// no points, the shares add up to exactly the whole circle.
    ///
    /// With several [probes](Scheme::probes) a key, no arc of the circle belongs to a node. The shares then are those of
    /// [`key_shares`](Self::key_shares), to the next place of the circle, such that they add up to all of it.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let sum: u128 = table.shares().iter().map(|(_, share)| share.points()).sum();
    /// assert_eq!(sum, 1 << 32);
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    ///
    /// # Complexity
    /// O(P + N); with several probes O(P log P + N).
    #[must_use]
    pub fn shares(&self) -> Vec<(&Node<T>, Share)> {
        let by_slot = self.shares_by_slot();
        self.canonical().iter().map(|slot| (&self.nodes[slot.index()], by_slot[slot.index()])).collect()
    }

    /// Returns each node with its share of the keys, in the order of [`nodes`](Self::nodes): the probability that it owns
    /// a key whose probes fall anywhere on the circle, each as likely as the others and independent of them.
    ///
    /// With one probe it is the share of the circle, to the nearest `f64`. With k it is the closed form ∫ k (1 − F)^(k−1)
    /// over the node's gaps, F being how likely a point is nearer than so far, with an error of at most 10^-12. It takes
    /// the circle as a continuum; that real distances are whole numbers, so that they may be equal, happens to at most one
    /// key in 2^33 / (k² P) for P points, and then the smaller of two points has it.
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// # use ringway::scheme::{MultiProbe, Native, Probes};
    /// let scheme = MultiProbe::new(Native::new(), Probes::new(3)?);
    /// let table = Ring::builder().scheme(scheme).nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let shares = table.key_shares();
    /// assert!(shares.iter().all(|(_, share)| (share - 1.0 / 3.0).abs() < 0.02));
    /// assert!((shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Complexity
    /// As [`shares`](Self::shares).
    #[must_use]
    pub fn key_shares(&self) -> Vec<(&Node<T>, f64)> {
        let nodes = || self.canonical().iter().map(|slot| (slot.index(), &self.nodes[slot.index()]));
        if self.scheme.probes().is_one() {
            let by_slot = self.shares_by_slot();
            return nodes().map(|(slot, node)| (node, by_slot[slot].fraction())).collect();
        }
        let by_slot = self.probed_shares_by_slot();
        nodes().map(|(slot, node)| (node, by_slot[slot])).collect()
    }

    pub(super) fn shares_by_slot(&self) -> Vec<Share> {
        if !self.scheme.probes().is_one() {
            return whole_places(&self.probed_shares_by_slot(), S::Point::BITS);
        }
        // Under the rule `>` each arc lies one place back, which changes no length.
        let points = self.layout.points();
        let mut shares = vec![Share::new(0, S::Point::BITS); self.nodes.len()];
        let Some(last) = points.len().checked_sub(1) else { return shares };
        let mut before = points.point(last);
        if points.point(0) == before {
            // One point, or all equal: the first owns the whole circle, which as an arc would be empty.
            shares[points.slot(0).index()] = Share::whole(S::Point::BITS);
            return shares;
        }
        for (point, slot) in points.iter() {
            // Of equal points all but the first own an empty arc.
            let share = &mut shares[slot.index()];
            *share = *share + Share::arc(before, point);
            before = point;
        }
        shares
    }

    fn probed_shares_by_slot(&self) -> Vec<f64> {
        let points = self.layout.points();
        let mut sums = vec![Sum::default(); self.nodes.len()];
        let places: Vec<S::Point> = points.iter().map(|(point, _)| point).collect();
        let shares = gap_shares(&places, self.scheme.probes().count());
        for ((_, slot), share) in points.iter().zip(shares) {
            sums[slot.index()].add(share);
        }
        sums.into_iter().map(Sum::total).collect()
    }
}

/// For each of some points in ring order, the share of keys that the gap before it gets if each key has `probes` probes. Of
/// equal points, the first has all.
pub(crate) fn gap_shares<P: Point>(points: &[P], probes: u32) -> Vec<f64> {
    let Some(&(mut before)) = points.last() else { return Vec::new() };
    let mut gaps: Vec<P> = Vec::with_capacity(points.len());
    for &point in points {
        gaps.push(point.steps_from(before));
        before = point;
    }
    let mut shares = vec![0.0; gaps.len()];
    let mut order: Vec<usize> = (0..gaps.len()).collect();
    order.sort_unstable_by_key(|&gap| gaps[gap]);
    if order.last().is_none_or(|&longest| gaps[longest] == P::MIN) {
        // One point, or all equal: an empty gap, which is the whole circle.
        shares[0] = 1.0;
        return shares;
    }
    let fraction = |places: u128| Share::new(places, P::BITS).fraction();
    // The whole of the widest circle is 2^128, which as a number is 0: so products and differences wrap, and S begins as 1.
    let whole = Share::whole(P::BITS).points();
    let (mut left, mut s, mut shorter, mut sum) = (whole, 1.0, 0, Sum::default());
    for (place, &gap) in order.iter().enumerate() {
        let length = gaps[gap].to_u128();
        if length > shorter {
            let longer = u128::from(len_u64(order.len() - place));
            left = left.wrapping_sub(longer.wrapping_mul(length - shorter));
            let t = fraction(left);
            sum.add(fraction(length - shorter) * sum_of_powers(s, t, probes));
            (s, shorter) = (t, length);
        }
        shares[gap] = sum.total();
    }
    shares
}

/// Σ sʲ tᵏ⁻¹⁻ʲ over j from 0 to k − 1.
fn sum_of_powers(s: f64, t: f64, k: u32) -> f64 {
    // Horner's rule in s, with the powers of t as they come.
    let (mut sum, mut power) = (0.0, 1.0);
    for _ in 0..k {
        sum = sum * s + power;
        power *= t;
    }
    sum
}

/// Shares that add up to 1, as places of a circle that add up to all of it: where each sum of the first so many lies.
fn whole_places(shares: &[f64], bits: u32) -> Vec<Share> {
    let last = shares.iter().rposition(|&share| share > 0.0);
    let (mut sum, mut before) = (Sum::default(), Share::new(0, bits));
    let places = shares.iter().enumerate().map(|(slot, &share)| {
        sum.add(share);
        let after = if Some(slot) == last { Share::whole(bits) } else { Share::nearest(sum.total(), bits) };
        let after = if share > 0.0 { after.max(before) } else { before };
        let places = after.saturating_sub(before);
        before = after;
        places
    });
    places.collect()
}

/// A sum whose rounding errors are summed up beside it (Neumaier 1974).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    sum: f64,
    rest: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.rest += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        self.sum = sum;
    }

    pub(crate) fn total(self) -> f64 {
        self.sum + self.rest
    }
}
