//! Tables as bytes, to start from without hashing a label. The format is frozen; `tests/golden/dump` has a file and an
//! independent reader.
//!
//! Little-endian throughout, with `str(x) = LE32(length) ‖ x`, `opt(x) = 0 | 1 ‖ x`, and `var(n)` the number in groups of 7 bits
//! from the lowest, each in a byte, with the top bit set in all but the last:
//!
//! ```text
//! "ringway\0" ‖ LE32(1), the format's version ‖ LE32(32, 64 or 128), the circle's width
//! str(scheme id) ‖ str(option bytes)
//! LE32(nodes) ‖ LE32(points) ‖ LE32(pinned keys) ‖ LE32(pinned prefixes)
//! for each node, in the order that counts for the scheme:
//!     str(id) ‖ LE32(weight) ‖ opt(LE32(active points set)) ‖ opt(str(address)) ‖ LE32(zone labels) ‖ str(label)… ‖
//!     LE32(attributes) ‖ (str(name) ‖ str(value))… ‖ the configured state, 0 = up, 1 = draining, 2 = down ‖ str(payload)
//! for each pinned key, and then for each prefix, in the order of their bytes: str(it) ‖ str(node id)
//! for each point, in ring order: var(point − the point before, or the point itself) ‖ var(its node's place in the list)
//! placement fingerprint ‖ spec fingerprint ‖ checksum: BLAKE2b of all before, 16 bytes, personalised "ringway.dump.1"
//! ```
//!
//! A point takes 4 to 5 bytes where there are 160,000 of them on a circle of 2^32.

use super::Table;
use crate::hash::{Digester, Scheme};
use crate::layout::Layout;
use crate::node::NodeInfo;
use crate::point::{Point, position};

/// What a dump begins with.
pub(super) const MAGIC: [u8; 8] = *b"ringway\0";
/// The version of the format.
pub(super) const FORMAT: u32 = 1;

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Writes the table as bytes, for [`RingBuilder::restore`](crate::RingBuilder::restore): a program that starts from them
    /// hashes no label, and needs no list of nodes. `payload` appends a node's payload to what it is given.
    ///
    /// Nodes, pins, points and fingerprints are in it; layout, version, live states and what else belongs to a process aren't,
    /// nor is a secret of the scheme. The same table gives the same bytes on every machine. They are as confidential as
    /// addresses and payloads are.
    ///
    /// ```
    /// use ringway::{NodeSpec, Ring, Table};
    /// let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
    /// let bytes = table.dump(|(), _| ());
    /// let restored: Table = Ring::builder().restore_table(&bytes, |_| Ok(()))?;
    /// assert_eq!(restored.spec_fingerprint(), table.spec_fingerprint());
    /// assert_eq!(restored.owner(b"user:1").map(|node| node.id()), table.owner(b"user:1").map(|node| node.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Complexity
    /// O(P + N).
    pub fn dump(&self, mut payload: impl FnMut(&T, &mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + 5 * self.len() + 64 * self.node_count());
        out.extend(MAGIC);
        number(&mut out, FORMAT);
        number(&mut out, S::Point::BITS);
        text(&mut out, self.scheme.id().as_bytes());
        let mut options = Vec::new();
        self.scheme.option_bytes(&mut options);
        text(&mut out, &options);
        let pins = self.pins();
        let counts = [self.node_count(), self.len(), pins.keys().len(), pins.prefixes().len()];
        counts.into_iter().for_each(|count| number(&mut out, position(count)));

        let mut places = vec![0u32; self.nodes.len()];
        let mut bytes = Vec::new();
        for (place, &slot) in (0..).zip(self.canonical()) {
            places[slot.index()] = place;
            let node = &self.nodes[slot.index()];
            info(&mut out, node.info());
            bytes.clear();
            payload(node.payload(), &mut bytes);
            text(&mut out, &bytes);
        }
        for (key, node) in pins.keys().chain(pins.prefixes()) {
            text(&mut out, key);
            text(&mut out, node.as_bytes());
        }
        let mut before = S::Point::MIN;
        for (point, slot) in self.points_array().iter() {
            var(&mut out, point.steps_from(before).to_u128());
            var(&mut out, u128::from(places[slot.index()]));
            before = point;
        }
        out.extend(self.placement.to_bytes());
        out.extend(self.spec.to_bytes());
        let checksum = Digester::dump().bytes(&out).digest();
        out.extend(checksum);
        out
    }
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    number(out, position(text.len()));
    out.extend(text);
}

fn var(out: &mut Vec<u8>, mut number: u128) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return out.push(low & 0x7F);
        }
        out.push(low | 0x80);
    }
}

fn info(out: &mut Vec<u8>, node: &NodeInfo) {
    text(out, node.id().as_bytes());
    number(out, node.weight());
    out.push(u8::from(node.active_points().is_some()));
    node.active_points().into_iter().for_each(|points| number(out, points));
    out.push(u8::from(node.address().is_some()));
    node.address().into_iter().for_each(|address| text(out, address.as_bytes()));
    number(out, position(node.zone().len()));
    node.zone().iter().for_each(|label| text(out, label.as_bytes()));
    number(out, position(node.attributes().count()));
    for (name, value) in node.attributes() {
        text(out, name.as_bytes());
        text(out, value.as_bytes());
    }
    out.push(node.state().code());
}
