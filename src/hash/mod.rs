//! Schemes: how nodes become points and a key becomes a point. Rank 2.
//!
//! On the walk from key to owner this is the first step, *key bytes → point*; on the write side it is *changed node →
//! its points*. A scheme is what two programs must share to agree on where a key lives, so everything here is a promise:
//! explicit little-endian bytes, no dependence on platform, thread or history.

mod any;
mod compat;
mod fingerprint;
mod keyed;
mod labelled;
mod multi_probe;
mod native;
mod options;
mod seahash;
mod tag;
mod xxh3;

#[cfg(feature = "cluster-file")]
pub(crate) use any::POINTS_PER_WEIGHT;
pub use any::{AnyScheme, AnyU32, AnyU64, AnyU128};
pub use compat::{
    Conhash, CppMapLower, CppMapUpper, CppMurmurLower, EnvoyHash, EnvoyRingHash, Groupcache, GrpcRingHash,
    HaproxyChash, HaproxyHash, HashRing, Hashring, Label, Libketama, Libmemcached, LibmemcachedFormat,
    LibmemcachedPoints, MemcacheHash, NginxChash, PingoraV1, PingoraV2, RestyChash, TwemproxyKetama, UhashringDefault,
    UhashringKetama,
};
pub(crate) use fingerprint::{Digest, Digester, node_spec_digest};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use keyed::{Keyed, Secret, SecretError};
pub use labelled::{LabelHash, Labelled};
pub use multi_probe::{MultiProbe, Probes, ProbesError};
pub use native::{Native, SeaHash};
pub use options::{OptionError, OptionValue, SchemeOptions};
pub use tag::{KeyTag, ParseKeyTagError, Tagged};
pub use xxh3::{XxHash3, Xxh3};

use std::fmt;
use std::ops::Range;

use crate::error::SchemeError;
use crate::node::{NodeId, NodeInfo};
use crate::point::{Point, high_u32};

/// A placement scheme: everything that decides which node a key belongs to.
///
/// A scheme has three parts.
/// - [`assign`](Self::assign) looks at the whole list of nodes and gives each a *seed*, a number of points, and a rank
///   for ties. It may let nodes depend on each other; those for which seed and number stay the same keep their points,
///   and are never hashed again.
/// - [`points`](Self::points) is an endless sequence of points per node, a function of the node's id and seed alone; a
///   node's points are the first so many of it.
/// - [`key_point`](Self::key_point) maps a key's bytes to a point.
///
/// All of them must be pure functions. If points that are to go aren't where the scheme now says they are, the commit is
/// refused ([`DeltaError::SchemeNotPure`](crate::DeltaError::SchemeNotPure)) and the table stays as it was; other impure
/// schemes place keys in ways that two programs won't agree on, and only [`Table::validate`](crate::Table::validate)
/// finds them.
///
/// # Examples
/// A scheme of one's own, here with CRC-like toy hashing:
/// ```
/// use ringway::scheme::{Assignment, Scheme};
/// use ringway::{NodeId, NodeInfo, NodeSpec, Ring, SchemeError};
///
/// #[derive(Clone, Debug)]
/// struct Toy;
///
/// fn toy(bytes: impl IntoIterator<Item = u8>) -> u32 {
///     bytes.into_iter().fold(7, |h: u32, b| (h ^ u32::from(b)).wrapping_mul(0x9E37_79B1).rotate_left(13))
/// }
///
/// impl Scheme for Toy {
///     type Point = u32;
///     type Seed = ();
///     fn id(&self) -> &str { "toy" }
///     fn order_free(&self) -> bool { true }
///     fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) { out.extend(node.weight().to_le_bytes()) }
///     fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
///         out.extend((0..).zip(nodes).map(|(tie, node)| Assignment { seed: (), points: u64::from(node.weight()) * 100, tie }));
///         Ok(())
///     }
///     fn points(&self, id: &NodeId, (): &(), labels: std::ops::Range<u32>, out: &mut Vec<u32>) {
///         out.extend(labels.map(|label| toy(id.as_bytes().iter().copied().chain(label.to_le_bytes()))));
///     }
///     fn key_point(&self, key: &[u8]) -> u32 { toy(key.iter().copied()) }
///     fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 { toy(parts.iter().copied().flatten().copied()) }
/// }
///
/// let table = Ring::builder().scheme(Toy).nodes([NodeSpec::new("a"), NodeSpec::new("b")]).build_table()?;
/// assert_eq!(table.len(), 200);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
pub trait Scheme: Clone + fmt::Debug + Send + Sync + 'static {
    /// The width of the circle.
    type Point: Point;
    /// What a node's sequence of points depends on beside its id. Equal seeds and ids mean equal sequences.
    type Seed: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// Returns the scheme's name; part of the placement fingerprint.
    fn id(&self) -> &str;

    /// Whether placement is independent of the order in which nodes are listed. If so, nodes are given to
    /// [`assign`](Self::assign) in the order of their ids' bytes; else in list order. Fixed for the life of a scheme.
    fn order_free(&self) -> bool;

    /// Returns which point a key belongs to. Fixed for the life of a scheme.
    ///
    /// Inline it: a lookup asks, and where it is a constant that costs nothing.
    #[inline]
    fn match_rule(&self) -> MatchRule {
        MatchRule::AtOrAfter
    }

    /// Returns what happens to a node that is out of service.
    fn out_of_service(&self) -> OutOfService {
        OutOfService::StepOn { points: None }
    }

    /// Appends the options that placement depends on, in a fixed encoding that shows its own end; part of the placement
    /// fingerprint. A secret must go in as a one-way function of it.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Returns what names the map from keys to points: two schemes with equal ones map every key to the same point.
    ///
    /// The default is the scheme's id with its option bytes, which is safe. Schemes that share a hash, or have options
    /// that don't concern keys, may say more. A secret must go in as a one-way function of it.
    fn key_map(&self) -> Vec<u8> {
        let mut name = self.id().as_bytes().to_vec();
        name.push(0);
        self.option_bytes(&mut name);
        name
    }

    /// Appends what placement reads of `node` beside its id, in a fixed encoding; part of the placement fingerprint.
    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>);

    /// Assigns points to nodes: appends one [`Assignment`] for each of `nodes`, in their order, to `out`, which is
    /// empty.
    ///
    /// # Errors
    /// If the scheme can't place these nodes, for instance because an attribute it needs is missing.
    ///
    /// # Complexity
    /// Called once per commit that changes a node, so it should be O(N) and cheap.
    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Self::Seed>>) -> Result<(), SchemeError>;

    /// Appends the points with the numbers `labels` of a node's sequence to `out`, in the order of their numbers.
    fn points(&self, id: &NodeId, seed: &Self::Seed, labels: Range<u32>, out: &mut Vec<Self::Point>);

    /// Maps a key to its point.
    fn key_point(&self, key: &[u8]) -> Self::Point;

    /// Maps a key that lies in several slices to its point: the same as [`key_point`](Self::key_point) of the slices
    /// joined, without joining them.
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> Self::Point;

    /// Returns how many points a key is looked up at; the nearest successor of them owns it ([`MultiProbe`]). Fixed for the
    /// life of a scheme. More than one can't be had with [`MatchRule::Nearest`]: nodes are refused then.
    ///
    /// Inline it, as [`match_rule`](Self::match_rule). Where it is one, what follows is never asked. Where it may be more,
    /// the number must be in [`option_bytes`](Self::option_bytes), and a scheme around another must pass on all four.
    #[inline]
    fn probes(&self) -> Probes {
        Probes::ONE
    }

    /// Returns the hash of a key that its probes are derived from. The default is made of the key's point.
    #[inline]
    fn key_hash(&self, key: &[u8]) -> u64 {
        multi_probe::folded(self.key_point(key))
    }

    /// As [`key_hash`](Self::key_hash), of the key that the parts make when joined.
    #[inline]
    fn key_hash_of_parts(&self, parts: &[&[u8]]) -> u64 {
        multi_probe::folded(self.key_point_of_parts(parts))
    }

    /// Returns probe `number`, from 0 on, of a key with this hash. Probes must be as good as independent of each other. The
    /// default mixes both, and gives one of 2^32 places.
    #[inline]
    fn probe(&self, hash: u64, number: u32) -> Self::Point {
        let head = high_u32(multi_probe::mixed(hash, number.wrapping_add(1)));
        Self::Point::join(head, <Self::Point as Point>::Tail::default())
    }
}

/// What [`Scheme::assign`] gives a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment<S> {
    /// What the node's sequence of points depends on beside its id.
    pub seed: S,
    /// How many points of the sequence are active. `u64`, so that a product of weights can't overflow before it is
    /// checked against the limit.
    pub points: u64,
    /// The node's place among nodes with an equal point: the smallest owns it. If two nodes have the same, the one that
    /// stands first in the list given to `assign` does.
    pub tie: u32,
}

/// Which of a ring's points a key belongs to.
///
/// Layouts know only the first of these: tables turn the others into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MatchRule {
    /// The first point at or clockwise of the key's: `point >= key`, wrapping. What most systems do.
    #[default]
    AtOrAfter,
    /// The first point clockwise of the key's: `point > key`, wrapping.
    ///
    /// Asked as [`AtOrAfter`](Self::AtOrAfter) of the place after the key's.
    After,
    /// The nearest point. Halfway between two it is the one before; of equal points, the first if the key comes before
    /// them or meets them, the last if it comes after.
    ///
    /// A table of such a scheme is searched by the last places that are nearest to each point; it keeps its points apart
    /// from these, which costs 6 bytes a point or more.
    Nearest,
}

/// What happens to the keys of a node that is out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutOfService {
    /// The ring is built without it: a node that is configured [`Down`](crate::State::Down) gets no points, which may move
    /// the points of others where they depend on it.
    Rebuild,
    /// It keeps its points, and its keys go on clockwise to the first point whose node is in service.
    StepOn {
        /// How many points, of different value, are looked at before a key counts as without owner; `None` for all.
        points: Option<u32>,
    },
}
