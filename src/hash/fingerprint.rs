//! Fingerprints: 128 bits that tell whether two rings route alike. Encoding and function are frozen, see
//! `tests/golden/native`.
//!
//! BLAKE2b (RFC 7693) with 16 bytes of output and a personalisation per use. It was chosen over faster hashes that
//! aren't collision-resistant, since equal fingerprints are taken to mean equal routing, over SHA-256, which is slow on
//! processors without instructions for it, and because most languages' standard libraries have it.
//!
//! With `str(x) = LE32(length) ‖ x` and `opt(x) = 0 | 1 ‖ x`:
//! - node placement digest, personalised `ringway.pnode.1`: `str(id) ‖ str(scheme's placement bytes)`
//! - placement, `ringway.place.1`: `str(scheme id) ‖ str(option bytes) ‖ LE64(nodes) ‖ node placement digests`, and if there
//!   are pins `LE64(pinned keys) ‖ LE64(pinned prefixes) ‖ (str(key) ‖ str(node id))… ‖ (str(prefix) ‖ str(node id))…`, each
//!   in the order of their bytes
//! - node spec digest, `ringway.snode.1`: `str(id) ‖ LE32(weight) ‖ opt(LE32(active points set)) ‖ opt(str(address)) ‖
//!   LE32(zone labels) ‖ str(label)… ‖ LE32(attributes) ‖ (str(name) ‖ str(value))… ‖ one byte: the configured
//!   state, 0 = up, 1 = draining, 2 = down`
//! - the id of a secret, `ringway.keyid.1`: the secret's 16 bytes
//! - the checksum of a dumped table, `ringway.dump.1`: all bytes before it
//! - a layered ring's placement, `ringway.layer.1`: the outer placement, then the regions' in the order of the outer nodes
//! - spec, `ringway.spec.1`: `placement ‖ LE64(nodes) ‖ node spec digests`
//!
//! Digests stand in the order of ids for order-free schemes, in list order for others. A node's digests are computed
//! when it enters or changes; a commit hashes 16 bytes for each other node.

use std::fmt;
use std::str::FromStr;

use crate::node::NodeInfo;
use crate::point::{len_u64, position};

/// 128 bits that stand for a configuration; printed as 32 hexadecimal digits.
///
/// BLAKE2b (RFC 7693) with 16 bytes of output. With `str(x) = LE32(length of x) ‖ x` and `opt(x)` = one byte 0 if absent,
/// else 1 ‖ x:
/// - *placement*, personalised `ringway.place.1`: `str(scheme id) ‖ str(option bytes) ‖ LE64(nodes)`, then for each node
///   the digest, personalised `ringway.pnode.1`, of `str(id) ‖ str(the scheme's placement bytes)`, and if there are pins
///   `LE64(pinned keys) ‖ LE64(pinned prefixes)`, then for each key, and then for each prefix, in the order of their bytes,
///   `str(it) ‖ str(its node's id)`;
/// - *spec*, `ringway.spec.1`: `placement ‖ LE64(nodes)`, then for each node the digest, `ringway.snode.1`, of `str(id) ‖
///   LE32(weight) ‖ opt(LE32(active points set)) ‖ opt(str(address)) ‖ LE32(zone labels) ‖ str(label)… ‖
///   LE32(attributes) ‖ (str(name) ‖ str(value))… ‖ the configured state in one byte: 0 up, 1 draining, 2 down`.
///
/// Nodes stand in the order of their ids' bytes, or in list order for schemes that read it. Frozen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Returns the bytes, in the order in which they are printed.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Creates a fingerprint from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    /// Reads 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseFingerprintError { bytes: text.len() });
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| ParseFingerprintError { bytes: text.len() })?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// A text is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseFingerprintError {
    bytes: usize,
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a fingerprint is 32 hexadecimal digits, this text of {} bytes is not", self.bytes)
    }
}

impl std::error::Error for ParseFingerprintError {}

/// A node's part in a fingerprint.
pub(crate) type Digest = [u8; 16];

/// Hashes encoded fields.
pub(crate) struct Digester(blake2b_simd::State);

impl Digester {
    pub(crate) fn placement_node() -> Self {
        Self::new(b"ringway.pnode.1")
    }

    pub(crate) fn placement() -> Self {
        Self::new(b"ringway.place.1")
    }

    pub(crate) fn spec() -> Self {
        Self::new(b"ringway.spec.1")
    }

    pub(crate) fn secret() -> Self {
        Self::new(b"ringway.keyid.1")
    }

    pub(crate) fn layers() -> Self {
        Self::new(b"ringway.layer.1")
    }

    pub(crate) fn dump() -> Self {
        Self::new(b"ringway.dump.1")
    }

    fn spec_node() -> Self {
        Self::new(b"ringway.snode.1")
    }

    fn new(personal: &[u8]) -> Self {
        Self(blake2b_simd::Params::new().hash_length(16).personal(personal).to_state())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.number(position(text.len())).bytes(text)
    }

    pub(crate) fn number(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.bytes(&len_u64(count).to_le_bytes())
    }

    fn optional(&mut self, present: bool) -> &mut Self {
        self.bytes(&[u8::from(present)])
    }

    pub(crate) fn digest(&self) -> Digest {
        let mut digest = [0; 16];
        digest.copy_from_slice(self.0.finalize().as_bytes());
        digest
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.digest())
    }
}

/// All that is configured for a node but its payload.
pub(crate) fn node_spec_digest(node: &NodeInfo) -> Digest {
    let mut digester = Digester::spec_node();
    digester.text(node.id().as_bytes()).number(node.weight());
    digester.optional(node.active_points().is_some());
    node.active_points().into_iter().for_each(|points| {
        digester.number(points);
    });
    digester.optional(node.address().is_some());
    node.address().into_iter().for_each(|address| {
        digester.text(address.as_bytes());
    });
    digester.number(position(node.zone().len()));
    for label in node.zone() {
        digester.text(label.as_bytes());
    }
    digester.number(position(node.attributes().count()));
    for (name, value) in node.attributes() {
        digester.text(name.as_bytes()).text(value.as_bytes());
    }
    digester.bytes(&[node.state().code()]).digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_and_reading_are_inverse() {
        let print = Fingerprint([0, 1, 2, 0xab, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
        assert_eq!(print.to_string(), "000102ab0405060708090a0b0c0d0eff");
        assert_eq!(print.to_string().parse(), Ok(print));
        for bad in ["", "0", "+00102ab0405060708090a0b0c0d0eff", "000102ab0405060708090a0b0c0d0efg"] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn blake2b_is_the_function_of_rfc_7693() {
        // RFC 7693, appendix A: BLAKE2b-512("abc") begins with ba80a53f981c4d0d.
        let hash = blake2b_simd::Params::new().hash(b"abc").to_hex();
        assert!(hash.starts_with("ba80a53f981c4d0d6a2797b69f12f6e9"), "{hash}");
    }
}
