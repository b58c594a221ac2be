//! Pins: keys, and beginnings of keys, that belong to a node whatever the ring says. Rank 2.
//!
//! On the walk from key to owner they come before everything else: a pinned key isn't hashed. They are part of a table,
//! come with a delta, are published with it, and are in the placement fingerprint, since they decide where a key goes.
//!
//! All pins lie in two sorted lists. A key's own pin is found by bisection. For prefixes: whatever lies in order between a
//! prefix of the key and the key begins with that prefix; so the longest prefix of a key is the last entry that isn't above
//! the key, or a prefix of that entry, and each entry knows its longest prefix.
//!
//! Invariants
//! - Q1: both lists are in the order of their bytes, without equal ones; `around` of a prefix is the place of its longest
//!   proper prefix in the list.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::{PinError, cut};
use crate::node::NodeId;
use crate::point::{index, position};

/// Keys and prefixes of keys with the nodes they are pinned to.
///
/// The pin of a whole key comes before those of its prefixes, a longer prefix before a shorter one. A pin whose node leaves
/// the ring sleeps: its keys go where they would go without it, until the node is back.
///
/// A node without points (of weight 0, say) takes the keys that are pinned to it and no others: it is their owner, the first
/// of their replicas, and counts for its zone there. Where loads are bounded it takes them without a bound, as it has no
/// share of the ring ([`Table::admit`](crate::Table::admit)).
///
/// ```
/// use ringway::{Delta, NodeSpec, Pins, Ring};
/// let pins = Pins::new().with_prefix("tenant-7:", "big")?.with_key("tenant-7:probe", "b")?;
/// let (mut writer, handle) = Ring::builder().nodes(["a", "b", "big"].map(NodeSpec::new)).pins(pins).build()?;
/// let mut reader = handle.reader();
/// assert_eq!(reader.owner(b"tenant-7:anything").map(|node| node.id().as_str()), Some("big"));
/// assert_eq!(reader.owner(b"tenant-7:probe").map(|node| node.id().as_str()), Some("b"));
///
/// writer.commit(Delta::new().with_pins(Pins::new()))?; // all pins at once, as the ring's next version
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Pins {
    keys: BTreeMap<Arc<[u8]>, NodeId>,
    prefixes: BTreeMap<Arc<[u8]>, NodeId>,
}

impl Pins {
    /// The most pins.
    pub const MAX_PINS: usize = 1 << 16;
    /// The longest pinned key or prefix, in bytes.
    pub const MAX_BYTES: usize = 1024;

    pub(crate) const NONE: Self = Self { keys: BTreeMap::new(), prefixes: BTreeMap::new() };

    /// Creates a set of no pins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Pins a key to a node.
    ///
    /// # Errors
    /// [`PinError`]: the key is too long or pinned already, the id is malformed, or there are too many pins. That the node
    /// is in the ring is checked when the pins are committed.
    pub fn with_key(mut self, key: impl AsRef<[u8]>, node: &str) -> Result<Self, PinError> {
        self.check(&self.keys, key.as_ref())?;
        self.keys.insert(key.as_ref().into(), NodeId::new(node)?);
        Ok(self)
    }

    /// Pins all keys that begin so to a node; an empty prefix pins all.
    ///
    /// # Errors
    /// As [`with_key`](Self::with_key).
    pub fn with_prefix(mut self, prefix: impl AsRef<[u8]>, node: &str) -> Result<Self, PinError> {
        self.check(&self.prefixes, prefix.as_ref())?;
        self.prefixes.insert(prefix.as_ref().into(), NodeId::new(node)?);
        Ok(self)
    }

    fn check(&self, list: &BTreeMap<Arc<[u8]>, NodeId>, bytes: &[u8]) -> Result<(), PinError> {
        let shown = || cut(&bytes.escape_ascii().to_string());
        if bytes.len() > Self::MAX_BYTES {
            let shown = cut(&bytes[..Self::MAX_BYTES].escape_ascii().to_string());
            return Err(PinError::TooLong { key: shown, bytes: bytes.len(), limit: Self::MAX_BYTES });
        }
        if list.contains_key(bytes) {
            return Err(PinError::Twice { key: shown() });
        }
        if self.len() >= Self::MAX_PINS {
            return Err(PinError::TooMany { pins: self.len() + 1, limit: Self::MAX_PINS });
        }
        Ok(())
    }

    /// Returns the pinned keys with their nodes, in the order of their bytes.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = (&[u8], &NodeId)> {
        self.keys.iter().map(|(key, node)| (&**key, node))
    }

    /// Returns the pinned prefixes with their nodes, in the order of their bytes.
    pub fn prefixes(&self) -> impl ExactSizeIterator<Item = (&[u8], &NodeId)> {
        self.prefixes.iter().map(|(prefix, node)| (&**prefix, node))
    }

    /// Returns the number of pins.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len() + self.prefixes.len()
    }

    /// Whether there are no pins.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.prefixes.is_empty()
    }

    /// The nodes that keys and prefixes are pinned to; one may come several times.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &NodeId> {
        self.keys.values().chain(self.prefixes.values())
    }
}

impl fmt::Debug for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins").field("keys", &self.keys.len()).field("prefixes", &self.prefixes.len()).finish()
    }
}

/// Pins as they are looked up, with a `V` for each: a table's slot.
#[derive(Debug, Clone)]
pub(crate) struct PinIndex<V> {
    keys: Box<[Key<V>]>,
    prefixes: Box<[Prefix<V>]>,
}

type Key<V> = (Arc<[u8]>, Option<V>);

#[derive(Debug, Clone)]
struct Prefix<V> {
    bytes: Arc<[u8]>,
    value: Option<V>,
    around: Option<u32>,
}

impl<V: Copy> PinIndex<V> {
    /// The pins with the value of each node; those of nodes that have none sleep.
    pub(crate) fn new(pins: &Pins, value: impl Fn(&NodeId) -> Option<V>) -> Self {
        let keys = pins.keys.iter().map(|(key, node)| (key.clone(), value(node))).collect();
        let mut prefixes: Vec<Prefix<V>> = Vec::with_capacity(pins.prefixes.len());
        for (bytes, node) in &pins.prefixes {
            // The entry before, or a prefix of it, as for a key.
            let mut around = prefixes.len().checked_sub(1).map(position);
            while let Some(place) = around
                && !bytes.starts_with(&prefixes[index(place)].bytes)
            {
                around = prefixes[index(place)].around;
            }
            prefixes.push(Prefix { bytes: bytes.clone(), value: value(node), around });
        }
        Self { keys, prefixes: prefixes.into() }
    }

    /// The value of the pin that the joined `parts` are under, as a key.
    ///
    /// O(log n) comparisons, and one for each pinned prefix of the entry found. No allocation.
    pub(crate) fn find(&self, parts: &[&[u8]]) -> Option<V> {
        let key = self.keys.binary_search_by(|(key, _)| order(key, parts));
        if let Some(value) = key.ok().and_then(|place| self.keys[place].1) {
            return Some(value);
        }
        let above = self.prefixes.partition_point(|prefix| order(&prefix.bytes, parts) != Ordering::Greater);
        let mut place = above.checked_sub(1);
        while let Some(prefix) = place.map(|place| &self.prefixes[place]) {
            if prefix.value.is_some() && is_prefix(&prefix.bytes, parts) {
                return prefix.value;
            }
            place = prefix.around.map(index);
        }
        None
    }
}

/// The order of `whole` and the joined `parts`.
fn order(whole: &[u8], parts: &[&[u8]]) -> Ordering {
    let mut rest = whole;
    for part in parts {
        let (head, tail) = rest.split_at(rest.len().min(part.len()));
        match head.cmp(part) {
            Ordering::Equal => rest = tail,
            other => return other,
        }
    }
    if rest.is_empty() { Ordering::Equal } else { Ordering::Greater }
}

/// Whether the joined `parts` begin with `prefix`.
fn is_prefix(prefix: &[u8], parts: &[&[u8]]) -> bool {
    let mut rest = prefix;
    for part in parts {
        let both = rest.len().min(part.len());
        if rest[..both] != part[..both] {
            return false;
        }
        rest = &rest[both..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key of up to five letters of two, in every split into two parts, against a look at all pins.
    #[test]
    fn the_longest_awake_pin_counts() {
        let words = |most: usize| {
            let all = (0..=most).flat_map(|len| (0..1usize << len).map(move |bits| (len, bits)));
            all.map(|(len, bits)| (0..len).map(|n| if bits >> n & 1 == 0 { b'a' } else { b'b' }).collect::<Vec<u8>>())
        };
        for case in 0..400u64 {
            let mut random = case.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut chance = |of: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % of == 0
            };
            let mut pins = Pins::new();
            for word in words(4) {
                let node = format!("{}-{}", word.len(), chance(2));
                if chance(6) {
                    pins = pins.with_prefix(&word, &node).unwrap();
                }
                if chance(12) {
                    pins = pins.with_key(&word, &node).unwrap();
                }
            }
            let value = |node: &NodeId| node.as_str().ends_with("true").then(|| node.as_str().len());
            let index = PinIndex::new(&pins, |node| value(node).map(|_| node.as_str().as_bytes()[0]));
            for key in words(5) {
                let own = pins.keys().find(|(pin, node)| *pin == key && value(node).is_some());
                let awake = pins.prefixes().filter(|(pin, node)| key.starts_with(pin) && value(node).is_some());
                let expected = own.or(awake.max_by_key(|(pin, _)| pin.len())).map(|(_, node)| node.as_bytes()[0]);
                for cut in 0..=key.len() {
                    assert_eq!(index.find(&[&key[..cut], &[], &key[cut..]]), expected, "{pins:?} {key:?}");
                }
            }
        }
    }

    #[test]
    fn limits_are_kept() {
        let pins = Pins::new().with_key([b'k'; 1024], "a").unwrap();
        assert_eq!(
            pins.clone().with_key([b'k'; 1025], "a").unwrap_err().to_string().split(';').next(),
            Some(&*format!("the pin of \"{}…\" has 1025 bytes, the limit is 1024", "k".repeat(128)))
        );
        assert!(matches!(pins.clone().with_key([b'k'; 1024], "b"), Err(PinError::Twice { .. })));
        assert!(pins.with_prefix([b'k'; 1024], "").is_err());
        let mut full = Pins::new();
        for n in 0..Pins::MAX_PINS {
            full = full.with_key(n.to_string(), "a").unwrap();
        }
        assert!(matches!(full.with_prefix("x", "a"), Err(PinError::TooMany { pins: 65_537, limit: 65_536 })));
    }
}
