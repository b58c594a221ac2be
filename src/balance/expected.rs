//! The spread to expect of so many nodes and points, before there is a ring.
//!
//! On a ring of many points gaps are as good as independent and exponential. With lengths in units of the mean gap, a gap
//! of length g has g times the fair share of a point with one probe, and k/(k−1) · (1 − e^(−(k−1)g)) with k; or, since e^(−g)
//! is a number u anywhere from 0 to 1, −ln u and k/(k−1) · (1 − uᵏ⁻¹). Both have the mean 1, and the variance 1/(2k − 1): hence "k
//! probes act like 2k − 1 times the points". A node's share is the mean of m of these, and the spread the largest of N such
//! means over the mean of all. As the latter is 1 but for what the largest itself adds, the expected spread is the expected
//! largest; with one probe exactly, since then the quotient and the sum are independent (Lukacs 1955).
//!
//! The expected largest is ∫ (1 − Fᴺ) dx, and the tail 1 − F of a mean is taken by the saddlepoint formula of Lugannani and
//! Rice (1980), which is good to about a percent of the tail even for m = 1.

use crate::hash::Probes;

/// Returns the expected spread (largest share over fair share) of `nodes` equal nodes of `points` points each, with so many
/// probes a key: the mean over sets of names. `None` for no nodes or no points.
///
/// What it's for: to choose the number of points on purpose. The spread that a ring has is
/// [`Balance::spread`](crate::Balance::spread). The error is at most 3 % of what the result is above 1, for all numbers that
/// `docs/balance.md` measures: 10 to 1,000 nodes of 1 to 1,024 points, 1 to 5 probes. The median is lower by 2 to 6 % of that.
///
/// ```
/// use ringway::expected_spread;
/// use ringway::scheme::Probes;
/// // The native default, 512 points, at a hundred nodes; and what three probes make of it.
/// let spread = |points, probes| expected_spread(100, points, Probes::new(probes).unwrap()).unwrap();
/// assert_eq!(format!("{:.2}", spread(512, 1)), "1.11");
/// assert_eq!(format!("{:.2}", spread(512, 3)), "1.05");
/// // How many points are enough?
/// let enough = (0..).map(|n| 1 << n).find(|points| spread(*points, 1) < 1.06);
/// assert_eq!(enough, Some(2048));
/// ```
///
/// # Complexity
/// O(1): some 100,000 exponentials.
#[must_use]
pub fn expected_spread(nodes: u32, points: u32, probes: Probes) -> Option<f64> {
    if nodes == 0 || points == 0 {
        return None;
    }
    if nodes == 1 {
        return Some(1.0);
    }
    let (nodes, points) = (f64::from(nodes), f64::from(points));
    let share = PointShare::new(probes);
    // The integral over x = mean(tilt), with tilt = scale · sinh(y): the trapezoidal rule over all y, as what is integrated is
    // smooth and falls on both sides. A tilt of `scale` is about one standard deviation of the mean.
    let scale = (2.0 * f64::from(probes.count()) - 1.0).sqrt() * points.sqrt() / points;
    let (mut sum, step) = (0.0, 1.0 / 16.0);
    for n in -WIDTH..=WIDTH {
        // Not at 0, where the formula is 0 by 0.
        let y = (f64::from(n) + 0.5) * step;
        let Some(tilted) = share.tilted(scale * y.sinh()) else { continue };
        let below_all = (nodes * (-tilted.tail(points)).ln_1p()).exp();
        sum += (1.0 - below_all) * tilted.slope * scale * y.cosh() * step;
    }
    Some(sum.max(1.0))
}

/// How many steps the integral over tilts has on each side.
const WIDTH: i32 = 16 * 42;

/// The share of one point, in units of the fair one, as a function of a number from 0 to 1 that is as likely anywhere.
struct PointShare {
    /// Weights and values, for integrals over that number: none for one probe, where these are known.
    values: Vec<(f64, f64)>,
    most: f64,
}

impl PointShare {
    fn new(probes: Probes) -> Self {
        if probes.is_one() {
            return Self { values: Vec::new(), most: f64::INFINITY };
        }
        let power = f64::from(probes.count()) - 1.0;
        let most = 1.0 + 1.0 / power;
        // Takahasi and Mori 1974 ("double exponential"): many steps near both ends, where the weights are if t is large.
        let value = |n: i32| {
            let s = f64::from(n) / 24.0;
            let turn = std::f64::consts::FRAC_PI_2 * s.sinh();
            let (from_0, from_1) = (1.0 / (1.0 + (-2.0 * turn).exp()), 1.0 / (1.0 + (2.0 * turn).exp()));
            let logarithm = if from_0 < 0.5 { from_0.ln() } else { (-from_1).ln_1p() };
            let weight = std::f64::consts::PI * s.cosh() * from_0 * from_1 / 24.0;
            (weight, -most * (power * logarithm).exp_m1())
        };
        Self { values: (-96..=96).map(value).collect(), most }
    }

    /// The share if it is weighed by e^(t · share), where t is the tilt; with one probe 1 − e^(−tilt), as it must be below 1.
    /// `None` where that is too large to be reckoned with, and nothing is left of the tail.
    fn tilted(&self, tilt: f64) -> Option<Tilted> {
        if self.values.is_empty() {
            let mean = tilt.exp();
            let tilted = Tilted { t: -(-tilt).exp_m1(), log_weight: tilt, mean, variance: mean * mean, slope: mean };
            return (mean < 1e9).then_some(tilted);
        }
        let t = tilt;
        let highest = if t > 0.0 { self.most } else { 0.0 };
        let (mut whole, mut first, mut second) = (0.0, 0.0, 0.0);
        for &(weight, value) in &self.values {
            let off = value - highest;
            let weight = weight * (t * off).exp();
            (whole, first, second) = (whole + weight, first + weight * off, second + weight * off * off);
        }
        let (off, log_weight) = (first / whole, t * highest + whole.ln());
        let variance = second / whole - off * off;
        Some(Tilted { t, log_weight, mean: highest + off, variance, slope: variance })
    }
}

/// The logarithm of the mean of e^(t · share), and its first two derivatives: mean and variance of the share weighed so.
struct Tilted {
    t: f64,
    log_weight: f64,
    mean: f64,
    variance: f64,
    /// How fast the mean grows with the tilt.
    slope: f64,
}

impl Tilted {
    /// How likely the mean of so many shares is above `self.mean`.
    fn tail(&self, points: f64) -> f64 {
        let root = (2.0 * points * (self.t * self.mean - self.log_weight)).max(0.0).sqrt();
        let (w, u) = (root.copysign(self.t), self.t * (points * self.variance).sqrt());
        if root < 1e-4 {
            return 0.5;
        }
        let tail = normal_tail(w) + normal_density(w) * (1.0 / u - 1.0 / w);
        // Below what can be told from all.
        if tail.is_nan() { 0.0 } else { tail.clamp(0.0, 1.0 - f64::EPSILON) }
    }
}

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// How likely a normal number is above `x`: by the series of its integral up to x, or beyond where that would cancel by
/// Laplace's continued fraction.
fn normal_tail(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - normal_tail(-x);
    }
    if x > 4.0 {
        return normal_density(x) / (1..60).rev().fold(x, |fraction, n| x + f64::from(n) / fraction);
    }
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term > 1e-17 * sum {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    0.5 - normal_density(x) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tails_are_those_of_tables() {
        let known = [(0.0, 0.5), (1.0, 0.158_655_253_931_457), (3.0, 1.349_898_031_630_09e-3)];
        let far = [(4.0, 3.167_124_183_311_99e-5), (6.0, 9.865_876_450_376_98e-10), (-1.0, 0.841_344_746_068_543)];
        for (x, tail) in known.into_iter().chain(far) {
            assert!((normal_tail(x) / tail - 1.0).abs() < 1e-9, "{x}: {}", normal_tail(x));
        }
    }

    /// The variance of one point's share is 1 / (2k − 1), its mean 1.
    #[test]
    fn k_probes_are_2k_less_1_times_the_points() {
        for probes in [1, 2, 3, 5, 32] {
            let share = PointShare::new(Probes::new(probes).unwrap()).tilted(1e-12).unwrap();
            assert!((share.mean - 1.0).abs() < 1e-9, "{probes}: {}", share.mean);
            let times = share.variance * f64::from(2 * probes - 1);
            assert!((times - 1.0).abs() < 1e-9, "{probes}: {times}");
        }
    }

    /// One point a node: the largest of N random gaps is expected to be H(N) times the fair one (Whitworth 1897).
    #[test]
    fn one_point_is_the_largest_of_random_gaps() {
        for nodes in [2_u32, 3, 5, 10, 100, 1000, 100_000] {
            let expected: f64 = (1..=nodes).map(|n| 1.0 / f64::from(n)).sum();
            let spread = expected_spread(nodes, 1, Probes::ONE).unwrap();
            assert!((spread / expected - 1.0).abs() < 0.01, "{nodes}: {spread}, not {expected}");
        }
    }

    /// Two probes and one point: the largest of N numbers anywhere from 0 to 2 is expected at 2N / (N + 1), without the
    /// division by their mean.
    #[test]
    fn two_probes_make_shares_even_from_0_to_2() {
        for nodes in [10_u32, 100, 1000] {
            let expected = 2.0 * f64::from(nodes) / f64::from(nodes + 1);
            let spread = expected_spread(nodes, 1, Probes::new(2).unwrap()).unwrap();
            assert!((spread / expected - 1.0).abs() < 0.01, "{nodes}: {spread}, not {expected}");
        }
    }

    #[test]
    fn ends() {
        assert_eq!(expected_spread(0, 5, Probes::ONE), None);
        assert_eq!(expected_spread(5, 0, Probes::ONE), None);
        assert_eq!(expected_spread(1, 5, Probes::ONE), Some(1.0));
        let most = Probes::new(Probes::MAX).unwrap();
        for (nodes, points) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (2, 1), (2, u32::MAX)] {
            for probes in [Probes::ONE, Probes::new(2).unwrap(), most] {
                let spread = expected_spread(nodes, points, probes).unwrap();
                let highest = if probes.is_one() { 23.5 } else { 2.01 };
                assert!((1.0..highest).contains(&spread), "{nodes} × {points}, {probes:?}: {spread}");
            }
        }
    }
}
