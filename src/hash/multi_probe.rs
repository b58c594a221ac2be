//! Multi-probe: a key is looked up at several points, and the nearest successor of them owns it. The placement is frozen;
//! `tests/golden/multiprobe` holds vectors computed by an independent program.
//!
//! Appleton and O'Reilly, "Multi-probe consistent hashing" (2015), there with one point a node and k = 21 for a spread of
//! 1.05. Here on a ring with many points a node, where two or three probes are enough: k probes make shares as even as
//! 2k − 1 times the points do, without the memory and without longer commits; what they cost is lookups.
//!
//! Why the probes are a strong mix of (hash, number): with fixed rotations of one point each probe meets the same gaps as
//! all other keys' do, and the ring is one of k times the points, with a spread to match.

use std::fmt;
use std::ops::Range;

use super::any::{Named, POINTS_PER_WEIGHT};
use super::options::{OptionError, OptionValue, SchemeOptions};
use super::{Assignment, LabelHash, Labelled, Native, OutOfService, Scheme, SeaHash};
use crate::error::SchemeError;
use crate::node::{NodeId, NodeInfo};
use crate::point::{Point, high_u32, low_u64};

/// How many points of the circle a key is looked up at: 1 to [`MAX`](Self::MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probes(u8);

impl Probes {
    /// One: a plain ring.
    pub const ONE: Self = Self(1);

    /// The most probes. The spread hardly falls any more long before: see [`expected_spread`](crate::expected_spread).
    pub const MAX: u32 = 32;

    /// Creates a number of probes.
    ///
    /// # Errors
    /// [`ProbesError`] for 0 and above [`MAX`](Self::MAX).
    pub const fn new(count: u32) -> Result<Self, ProbesError> {
        let [low, ..] = count.to_le_bytes();
        if count == 0 || count > Self::MAX { Err(ProbesError { count }) } else { Ok(Self(low)) }
    }

    /// Returns the number.
    #[inline]
    #[must_use]
    pub const fn count(self) -> u32 {
        // `u32::from` isn't `const`.
        u32::from_le_bytes([self.0, 0, 0, 0])
    }

    /// Whether it is one.
    #[inline(always)]
    #[must_use]
    pub const fn is_one(self) -> bool {
        self.0 == 1
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self::ONE
    }
}

impl TryFrom<u32> for Probes {
    type Error = ProbesError;

    fn try_from(count: u32) -> Result<Self, ProbesError> {
        Self::new(count)
    }
}

/// A number of probes that isn't one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbesError {
    count: u32,
}

impl fmt::Display for ProbesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} probes are out of range; give 1 to {}", self.count, Probes::MAX)
    }
}

impl std::error::Error for ProbesError {}

/// The native scheme with several probes a key (multi-probe consistent hashing).
///
/// Nodes have the points that they have without it. A key is looked up at k points that are derived from its hash, and
/// belongs to the nearest of the k successors: the one with the smallest distance clockwise from its probe, and of equal
/// distances the first in the total order of points. Shares are as even as with 2k − 1 times the points: in the median,
/// 100 equal nodes of 160 points have a spread of 1.20, 1.11, 1.08 and 1.06 with 1, 2, 3 and 5 probes (`docs/balance.md`).
/// A lookup costs about k searches, whose loads are in flight together.
///
/// All promises of the plain ring hold. A node that comes takes keys and moves no other; if a node goes or is down, its
/// keys go where they would belong without it, and the others stay. *Ring order from a key* means here: points by their
/// distance to the nearest probe. So replica i is the owner on the ring without the i − 1 before it.
///
/// The placement, frozen: with h the 64-bit hash of the key, probe 0 is the top half of h, and probe i the top half of
/// m(h + i · 0x9E3779B97F4A7C15), where m is the finaliser of SplitMix64 (Steele, Lea and Flood 2014; its constants are
/// Stafford's variant 13). With one probe it is [`Labelled`] to the letter, fingerprints and all.
///
/// Places of the circle are asked for as they are: [`Table::owner_at`](crate::Table::owner_at) and everything else that
/// takes a point goes clockwise from that one point, which is what a single probe would find, and not a key's answer.
///
/// ```
/// use ringway::scheme::{MultiProbe, Native, Probes};
/// use ringway::{Balance, NodeSpec, Ring};
/// let nodes = (0..100).map(|n| NodeSpec::new(format!("cache-{n}")));
/// let native = Native::new().with_points_per_weight(160);
/// let plain = Ring::builder().scheme(native).nodes(nodes.clone()).build_table()?;
/// let probed = Ring::builder().scheme(MultiProbe::new(native, Probes::new(3)?)).nodes(nodes).build_table()?;
/// assert!(probed.owner(b"user:123456").is_some());
/// assert!(Balance::of(&plain).spread() > Some(1.14) && Balance::of(&probed).spread() < Some(1.14));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MultiProbe<H = SeaHash> {
    scheme: Labelled<H>,
    probes: Probes,
}

impl<H: LabelHash> MultiProbe<H> {
    /// Creates the scheme: the nodes' points are those of `scheme`.
    #[must_use]
    pub const fn new(scheme: Labelled<H>, probes: Probes) -> Self {
        Self { scheme, probes }
    }

    /// Returns the scheme that places nodes.
    #[must_use]
    pub const fn scheme(&self) -> &Labelled<H> {
        &self.scheme
    }
}

impl<H: LabelHash> fmt::Debug for MultiProbe<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiProbe").field("scheme", &self.scheme).field("probes", &self.probes.count()).finish()
    }
}

impl<H: LabelHash> Scheme for MultiProbe<H> {
    type Point = u32;
    type Seed = ();

    fn id(&self) -> &str {
        self.scheme.id()
    }

    #[inline]
    fn order_free(&self) -> bool {
        self.scheme.order_free()
    }

    fn out_of_service(&self) -> OutOfService {
        self.scheme.out_of_service()
    }

    /// `"probes" ‖ LE32(k)` for k probes; nothing for one.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        if !self.probes.is_one() {
            out.extend_from_slice(b"probes");
            out.extend_from_slice(&self.probes.count().to_le_bytes());
        }
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        self.scheme.placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        self.scheme.assign(nodes, out)
    }

    fn points(&self, id: &NodeId, seed: &(), labels: Range<u32>, out: &mut Vec<u32>) {
        self.scheme.points(id, seed, labels, out);
    }

    /// The first probe.
    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        self.scheme.key_point(key)
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        self.scheme.key_point_of_parts(parts)
    }

    #[inline]
    fn probes(&self) -> Probes {
        self.probes
    }

    #[inline]
    fn key_hash(&self, key: &[u8]) -> u64 {
        H::hash(key)
    }

    #[inline]
    fn key_hash_of_parts(&self, parts: &[&[u8]]) -> u64 {
        H::hash_of_parts(parts)
    }

    #[inline]
    fn probe(&self, hash: u64, number: u32) -> u32 {
        high_u32(if number == 0 { hash } else { mixed(hash, number) })
    }
}

/// A point as 64 bits; of wider ones, both halves XORed.
#[inline]
pub(super) fn folded<P: Point>(point: P) -> u64 {
    low_u64(point.to_u128() ^ point.to_u128() >> 64)
}

/// The number-th output of SplitMix64 with the seed `hash`.
#[inline]
pub(super) fn mixed(hash: u64, number: u32) -> u64 {
    let mut x = hash.wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// The option of the native scheme.
pub(super) const PROBES: &str = "probes";

/// Takes the option out; `None` if it isn't there or is 1, which is the plain scheme.
pub(super) fn take_probes(options: &mut SchemeOptions) -> Result<Option<Probes>, OptionError> {
    let Some(count) = options.take_integer(PROBES, u32::MAX)? else { return Ok(None) };
    match Probes::new(count) {
        Ok(probes) => Ok((!probes.is_one()).then_some(probes)),
        Err(error) => Err(OptionError { name: PROBES, reason: error.to_string() }),
    }
}

impl Named for MultiProbe {
    const NAME: &'static str = Native::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let probes = take_probes(options)?.unwrap_or_default();
        Ok(Self::new(Native::from_options(options)?, probes))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let probes = (!self.probes.is_one()).then(|| (PROBES, self.probes.count().into()));
        [(POINTS_PER_WEIGHT, self.scheme.points_per_weight().into())].into_iter().chain(probes).collect()
    }
}
