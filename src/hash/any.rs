//! One of all schemes, picked by name at run time.
//!
//! A type for each width of the circle, each an enum: a lookup pays a predicted branch, and a program that takes its
//! scheme from a file compiles three kinds of tables and not twenty.

use std::ops::Range;

use super::compat::{
    Conhash, CppMapLower, CppMapUpper, CppMurmurLower, EnvoyRingHash, Groupcache, GrpcRingHash, HaproxyChash, HashRing,
    Hashring, Label, Libketama, Libmemcached, NginxChash, PingoraV1, PingoraV2, RestyChash, TwemproxyKetama,
    UhashringDefault, UhashringKetama,
};
use super::multi_probe::take_probes;
use super::options::{OptionError, OptionValue, SchemeOptions};
use super::tag::{KeyTag, Tagged};
use super::{
    Assignment, Keyed, LabelHash, Labelled, MatchRule, MultiProbe, Native, OutOfService, Probes, Scheme, Xxh3,
};
use crate::error::SchemeError;
use crate::node::{NodeId, NodeInfo};

/// A scheme that can be named in a file: made from options, and gives them back.
pub(super) trait Named: Scheme + PartialEq + Sized {
    /// Its name.
    const NAME: &'static str;

    /// Takes its options out of `options`.
    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError>;

    /// Its options, but for those at their defaults.
    fn options(&self) -> Vec<(&'static str, OptionValue)>;
}

/// The option of schemes by [`Labelled`], which cluster files have as a field of their own.
pub(crate) const POINTS_PER_WEIGHT: &str = "points_per_weight";

impl<H: LabelHash> Named for Labelled<H> {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let points = options.take_integer(POINTS_PER_WEIGHT, u32::MAX)?;
        Ok(points.map_or_else(Self::new, |points| Self::new().with_points_per_weight(points)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![(POINTS_PER_WEIGHT, self.points_per_weight().into())]
    }
}

/// A seed as bytes, so that one table type serves schemes with seeds of several types.
trait Bytes {
    fn into_label(self) -> Label;
    fn of(label: &Label) -> &Self;
}

impl Bytes for () {
    fn into_label(self) -> Label {
        Label::default()
    }
    fn of(_: &Label) -> &Self {
        &()
    }
}

impl Bytes for Label {
    fn into_label(self) -> Label {
        self
    }
    fn of(label: &Label) -> &Self {
        label
    }
}

macro_rules! any {
    ($(#[$doc:meta])* $any:ident, $width:ident, $point:ty: $($variant:ident),* $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $any {
            $(
                #[doc = concat!("[`", stringify!($variant), "`].")]
                $variant($variant),
            )*
        }

        $(
            impl From<$variant> for $any {
                fn from(scheme: $variant) -> Self {
                    Self::$variant(scheme)
                }
            }

            impl From<$variant> for AnyScheme {
                fn from(scheme: $variant) -> Self {
                    $any::$variant(scheme).into()
                }
            }
        )*

        impl From<$any> for AnyScheme {
            fn from(scheme: $any) -> Self {
                Self::$width(Tagged::new(scheme, None))
            }
        }

        impl $any {
            const NAMES: &[&'static str] = &[$(<$variant as Named>::NAME),*];

            fn named(name: &str, options: &mut SchemeOptions) -> Option<Result<Self, OptionError>> {
                $(
                    if name == <$variant as Named>::NAME {
                        return Some(<$variant as Named>::from_options(options).map(Self::$variant));
                    }
                )*
                None
            }

            fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => <$variant as Named>::NAME),* }
            }

            fn options(&self) -> Vec<(&'static str, OptionValue)> {
                match self { $(Self::$variant(scheme) => scheme.options()),* }
            }
        }

        impl Scheme for $any {
            type Point = $point;
            type Seed = Label;

            fn id(&self) -> &str {
                match self { $(Self::$variant(scheme) => scheme.id()),* }
            }

            fn order_free(&self) -> bool {
                match self { $(Self::$variant(scheme) => scheme.order_free()),* }
            }

            #[inline]
            fn match_rule(&self) -> MatchRule {
                match self { $(Self::$variant(scheme) => scheme.match_rule()),* }
            }

            fn out_of_service(&self) -> OutOfService {
                match self { $(Self::$variant(scheme) => scheme.out_of_service()),* }
            }

            fn option_bytes(&self, out: &mut Vec<u8>) {
                match self { $(Self::$variant(scheme) => scheme.option_bytes(out)),* }
            }

            fn key_map(&self) -> Vec<u8> {
                match self { $(Self::$variant(scheme) => scheme.key_map()),* }
            }

            fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
                match self { $(Self::$variant(scheme) => scheme.placement_bytes(node, out)),* }
            }

            fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
                match self { $(Self::$variant(scheme) => assign(scheme, nodes, out)),* }
            }

            fn points(&self, id: &NodeId, seed: &Label, labels: Range<u32>, out: &mut Vec<$point>) {
                match self { $(Self::$variant(scheme) => scheme.points(id, Bytes::of(seed), labels, out)),* }
            }

            #[inline]
            fn key_point(&self, key: &[u8]) -> $point {
                match self { $(Self::$variant(scheme) => scheme.key_point(key)),* }
            }

            #[inline]
            fn key_point_of_parts(&self, parts: &[&[u8]]) -> $point {
                match self { $(Self::$variant(scheme) => scheme.key_point_of_parts(parts)),* }
            }

            #[inline]
            fn probes(&self) -> Probes {
                match self { $(Self::$variant(scheme) => scheme.probes()),* }
            }

            #[inline]
            fn key_hash(&self, key: &[u8]) -> u64 {
                match self { $(Self::$variant(scheme) => scheme.key_hash(key)),* }
            }

            #[inline]
            fn key_hash_of_parts(&self, parts: &[&[u8]]) -> u64 {
                match self { $(Self::$variant(scheme) => scheme.key_hash_of_parts(parts)),* }
            }

            #[inline]
            fn probe(&self, hash: u64, number: u32) -> $point {
                match self { $(Self::$variant(scheme) => scheme.probe(hash, number)),* }
            }
        }
    };
}

fn assign<S: Scheme>(scheme: &S, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError>
where
    S::Seed: Bytes,
{
    let mut assigned = Vec::with_capacity(nodes.len());
    scheme.assign(nodes, &mut assigned)?;
    out.extend(assigned.into_iter().map(|Assignment { seed, points, tie }| Assignment {
        seed: seed.into_label(),
        points,
        tie,
    }));
    Ok(())
}

any! {
    /// One of the schemes on a circle of 2^32 places.
    AnyU32, U32, u32:
    Native, Xxh3, Keyed, NginxChash, PingoraV1, PingoraV2, RestyChash, Libketama, Libmemcached, TwemproxyKetama, UhashringKetama,
    HashRing, HaproxyChash, Groupcache, CppMapUpper, CppMapLower, CppMurmurLower, MultiProbe,
}

any! {
    /// One of the schemes on a circle of 2^64 places.
    AnyU64, U64, u64: EnvoyRingHash, GrpcRingHash, Hashring,
}

any! {
    /// One of the schemes on a circle of 2^128 places.
    AnyU128, U128, u128: UhashringDefault, Conhash,
}

/// One of all schemes, picked by name: what a cluster file or a recorded cluster places by.
///
/// ```
/// use ringway::scheme::{AnyScheme, SchemeOptions};
/// let scheme = AnyScheme::named("pingora-v2", &mut SchemeOptions::new().with("point_multiple", 40u32))?;
/// let Some(AnyScheme::U32(scheme)) = scheme else { panic!("pingora's ring is 32 bits wide") };
/// # let nodes = [ringway::NodeSpec::new("10.0.0.1:80")];
/// let table = ringway::Ring::builder().scheme(scheme).nodes(nodes).build_table()?;
/// assert_eq!(table.len(), 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnyScheme {
    /// On a circle of 2^32 places.
    U32(Tagged<AnyU32>),
    /// On a circle of 2^64 places.
    U64(Tagged<AnyU64>),
    /// On a circle of 2^128 places.
    U128(Tagged<AnyU128>),
}

/// The option of every scheme: the marks of the key's tag.
pub(crate) const KEY_TAG: &str = "key_tag";
/// The same, as twemproxy's configuration names it.
const HASH_TAG: &str = "hash_tag";

impl AnyScheme {
    /// Returns the scheme of that name, which takes its options out of `options`; `None` if there is no such scheme.
    ///
    /// Every scheme takes `key_tag`, a text of two bytes; see [`KeyTag`]. Options that are left are unknown to the scheme.
    ///
    /// # Errors
    /// If an option has a value that the scheme doesn't take.
    pub fn named(name: &str, options: &mut SchemeOptions) -> Result<Option<Self>, OptionError> {
        let (option, marks) = match options.take_text(KEY_TAG)? {
            None if name == TwemproxyKetama::ID => (HASH_TAG, options.take_text(HASH_TAG)?),
            marks => (KEY_TAG, marks),
        };
        let wrong = |error: super::ParseKeyTagError| OptionError { name: option, reason: error.to_string() };
        let tag = marks.map(|marks| marks.parse::<KeyTag>().map_err(wrong)).transpose()?;
        if name == Native::ID
            && let Some(probes) = take_probes(options)?
        {
            let scheme = MultiProbe::new(Native::from_options(options)?, probes);
            return Ok(Some(Self::U32(Tagged::new(scheme.into(), tag))));
        }
        if let Some(scheme) = AnyU32::named(name, options) {
            return Ok(Some(Self::U32(Tagged::new(scheme?, tag))));
        }
        if let Some(scheme) = AnyU64::named(name, options) {
            return Ok(Some(Self::U64(Tagged::new(scheme?, tag))));
        }
        if let Some(scheme) = AnyU128::named(name, options) {
            return Ok(Some(Self::U128(Tagged::new(scheme?, tag))));
        }
        Ok(None)
    }

    /// Returns the names of all schemes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        // Two of them are one to a file: the native scheme and its form with several probes.
        let narrow = AnyU32::NAMES.iter().enumerate().filter(|&(place, name)| !AnyU32::NAMES[..place].contains(name));
        narrow.map(|(_, name)| name).chain(AnyU64::NAMES).chain(AnyU128::NAMES).copied()
    }

    /// Returns the scheme's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::U32(scheme) => scheme.scheme().name(),
            Self::U64(scheme) => scheme.scheme().name(),
            Self::U128(scheme) => scheme.scheme().name(),
        }
    }

    /// Returns the options that make this scheme.
    #[must_use]
    pub fn options(&self) -> SchemeOptions {
        let (options, tag) = match self {
            Self::U32(scheme) => (scheme.scheme().options(), scheme.tag()),
            Self::U64(scheme) => (scheme.scheme().options(), scheme.tag()),
            Self::U128(scheme) => (scheme.scheme().options(), scheme.tag()),
        };
        let mut all = SchemeOptions::new();
        for (name, value) in options {
            all.insert(name.to_owned(), value);
        }
        if let Some(marks) = tag.map(KeyTag::marks) {
            // Marks that aren't ASCII have no text; no file can have named them.
            all.insert(KEY_TAG.to_owned(), String::from_utf8_lossy(&marks).as_ref().into());
        }
        all
    }
}
