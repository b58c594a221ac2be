//! Key tags: keys that share the text between two marks belong to one node.

use std::ops::Range;

use super::{Assignment, MatchRule, OutOfService, Probes, Scheme};
use crate::error::SchemeError;
use crate::node::{NodeId, NodeInfo};

/// The two bytes between which a key's tag stands, such as `{` and `}`.
///
/// If a key has the first mark, and a second one after it with at least one byte between them, only the bytes between the
/// first mark and the second mark that follows it are hashed. Otherwise the whole key is. So `{user:7}:name` and
/// `{user:7}:mail` belong to one node. The rule is twemproxy's (`hash_tag`), and Redis Cluster's where both marks differ.
///
/// ```
/// use ringway::scheme::KeyTag;
/// let tag = KeyTag::new(b'{', b'}');
/// assert_eq!(tag.of(b"a{b}c"), b"b");
/// assert_eq!(tag.of(b"a{}{b}"), b"a{}{b}", "the first pair is empty");
/// assert_eq!("$$".parse(), Ok(KeyTag::new(b'$', b'$')));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyTag {
    open: u8,
    close: u8,
}

impl KeyTag {
    /// Creates a tag from its marks; they may be the same.
    #[must_use]
    pub const fn new(open: u8, close: u8) -> Self {
        Self { open, close }
    }

    /// Returns both marks.
    #[must_use]
    pub const fn marks(self) -> [u8; 2] {
        [self.open, self.close]
    }

    /// Returns the part of the key that is hashed.
    #[inline]
    #[must_use]
    pub fn of(self, key: &[u8]) -> &[u8] {
        let Some(open) = key.iter().position(|&byte| byte == self.open) else { return key };
        let rest = &key[open + 1..];
        match rest.iter().position(|&byte| byte == self.close) {
            None | Some(0) => key,
            Some(close) => &rest[..close],
        }
    }

    /// Where the part that is hashed begins and ends in the joined parts.
    fn range(self, parts: &[&[u8]]) -> Option<Range<usize>> {
        let mut bytes = parts.iter().copied().flatten().copied();
        let start = bytes.position(|byte| byte == self.open)? + 1;
        let len = bytes.position(|byte| byte == self.close)?;
        (len > 0).then_some(start..start + len)
    }
}

impl std::str::FromStr for KeyTag {
    type Err = ParseKeyTagError;

    /// Reads two ASCII characters.
    fn from_str(text: &str) -> Result<Self, ParseKeyTagError> {
        match *text.as_bytes() {
            [open, close] => Ok(Self { open, close }),
            _ => Err(ParseKeyTagError { bytes: text.len() }),
        }
    }
}

/// A text is not a key tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseKeyTagError {
    bytes: usize,
}

impl std::fmt::Display for ParseKeyTagError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a key tag is 2 bytes, such as {{}}; this text has {}", self.bytes)
    }
}

impl std::error::Error for ParseKeyTagError {}

/// A scheme with a [`KeyTag`]: places nodes as the scheme within, and hashes the tag of a key where there is one.
///
/// A lookup allocates only for a key in parts whose tag lies in more than one of them.
///
/// ```
/// use ringway::scheme::{KeyTag, Native, Tagged};
/// use ringway::{NodeSpec, Ring};
/// let scheme = Tagged::new(Native::new(), KeyTag::new(b'{', b'}'));
/// let table = Ring::builder().scheme(scheme).nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
/// let owner = |key: &str| table.owner(key.as_bytes()).map(|node| node.id());
/// assert_eq!(owner("{user:7}:name"), owner("mail of {user:7}"));
/// assert_eq!(owner("{user:7}:name"), owner("user:7"));
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<S> {
    scheme: S,
    tag: Option<KeyTag>,
}

impl<S> Tagged<S> {
    /// Creates the scheme; with the tag `None` it is the scheme within, and has its fingerprints.
    #[must_use]
    pub fn new(scheme: S, tag: impl Into<Option<KeyTag>>) -> Self {
        Self { scheme, tag: tag.into() }
    }

    /// Returns the scheme within.
    #[must_use]
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Takes the scheme within out.
    #[must_use]
    pub fn into_scheme(self) -> S {
        self.scheme
    }

    /// Returns the tag.
    #[must_use]
    pub fn tag(&self) -> Option<KeyTag> {
        self.tag
    }
}

impl<S: Scheme> Scheme for Tagged<S> {
    type Point = S::Point;
    type Seed = S::Seed;

    fn id(&self) -> &str {
        self.scheme.id()
    }

    fn order_free(&self) -> bool {
        self.scheme.order_free()
    }

    #[inline]
    fn match_rule(&self) -> MatchRule {
        self.scheme.match_rule()
    }

    fn out_of_service(&self) -> OutOfService {
        self.scheme.out_of_service()
    }

    /// Those of the scheme within, and if there is a tag `"key tag" ‖ both marks` after them.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        self.scheme.option_bytes(out);
        if let Some(tag) = self.tag {
            out.extend_from_slice(b"key tag");
            out.extend_from_slice(&tag.marks());
        }
    }

    fn key_map(&self) -> Vec<u8> {
        let mut name = self.scheme.key_map();
        if let Some(tag) = self.tag {
            name.extend_from_slice(b"\0key tag");
            name.extend_from_slice(&tag.marks());
        }
        name
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        self.scheme.placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<S::Seed>>) -> Result<(), SchemeError> {
        self.scheme.assign(nodes, out)
    }

    fn points(&self, id: &NodeId, seed: &S::Seed, labels: Range<u32>, out: &mut Vec<S::Point>) {
        self.scheme.points(id, seed, labels, out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> S::Point {
        match self.tag {
            None => self.scheme.key_point(key),
            Some(tag) => self.scheme.key_point(tag.of(key)),
        }
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> S::Point {
        match self.tag {
            None => self.scheme.key_point_of_parts(parts),
            Some(tag) => tagged(tag, parts, |parts| match *parts {
                [one] => self.scheme.key_point(one),
                _ => self.scheme.key_point_of_parts(parts),
            }),
        }
    }

    #[inline]
    fn probes(&self) -> Probes {
        self.scheme.probes()
    }

    #[inline]
    fn key_hash(&self, key: &[u8]) -> u64 {
        match self.tag {
            None => self.scheme.key_hash(key),
            Some(tag) => self.scheme.key_hash(tag.of(key)),
        }
    }

    fn key_hash_of_parts(&self, parts: &[&[u8]]) -> u64 {
        match self.tag {
            None => self.scheme.key_hash_of_parts(parts),
            Some(tag) => tagged(tag, parts, |parts| self.scheme.key_hash_of_parts(parts)),
        }
    }

    #[inline]
    fn probe(&self, hash: u64, number: u32) -> S::Point {
        self.scheme.probe(hash, number)
    }
}

/// What `hash` makes of the parts that a key in parts is hashed by: those of its tag, if it has one.
fn tagged<R>(tag: KeyTag, parts: &[&[u8]], hash: impl Fn(&[&[u8]]) -> R) -> R {
    let Some(range) = tag.range(parts) else { return hash(parts) };
    let mut cut = cut_parts(parts, range);
    match (cut.next(), cut.next()) {
        (Some(one), None) => hash(&[one]),
        (first, second) => {
            let all: Vec<&[u8]> = first.into_iter().chain(second).chain(cut).collect();
            hash(&all)
        }
    }
}

/// What of the parts lies in a range of the bytes that they make when joined, without parts that are empty then.
pub(super) fn cut_parts<'k>(parts: &[&'k [u8]], Range { start, end }: Range<usize>) -> impl Iterator<Item = &'k [u8]> {
    let mut at = 0;
    parts.iter().filter_map(move |part| {
        let within = |place: usize| place.clamp(at, at + part.len()) - at;
        let cut = &part[within(start)..within(end)];
        at += part.len();
        (!cut.is_empty()).then_some(cut)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Native;

    #[test]
    fn a_key_in_parts_has_the_tag_of_the_joined_key() {
        let (tag, scheme) = (KeyTag::new(b'{', b'}'), Native::new());
        let tagged = Tagged::new(scheme, tag);
        for (key, hashed) in [
            ("", ""),
            ("plain", "plain"),
            ("{a}", "a"),
            ("x{ab}y{c}", "ab"),
            ("{}x{a}", "{}x{a}"),
            ("}{a}", "a"),
            ("{a", "{a"),
            ("{{a}}", "{a"),
            ("a}b", "a}b"),
        ] {
            assert_eq!(tag.of(key.as_bytes()), hashed.as_bytes(), "{key}");
            let point = scheme.key_point(hashed.as_bytes());
            assert_eq!(tagged.key_point(key.as_bytes()), point);
            for step in 1..=key.len().max(1) {
                let parts: Vec<&[u8]> = key.as_bytes().chunks(step).flat_map(|part| [part, &[]]).collect();
                assert_eq!(tagged.key_point_of_parts(&parts), point, "{key} in parts of {step}");
            }
        }
        assert_eq!(KeyTag::new(b'$', b'$').of(b"a$b$c$d"), b"b");
    }
}
