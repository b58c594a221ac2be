//! The schemes by hashed labels once more, in the plainest way, to hold the library's answers against.
//!
//! Written from the documentation of the schemes and not from their code, and it uses nothing of `ringway`: a label is
//! `LE32(length of id) ‖ id ‖ LE32(number)`, its point the top half of its hash, and a key belongs to the first point in
//! the order (point, id bytes, number) that isn't below the key's. The hashes are those of other crates than `ringway`'s.

use std::collections::BTreeSet;

/// A hash of bytes to 64 bits.
pub type Hash = fn(&[u8]) -> u64;

/// The hash of the native scheme.
#[must_use]
pub fn sea_hash(bytes: &[u8]) -> u64 {
    seahash::hash(bytes)
}

/// The hash of the scheme "xxh3".
#[must_use]
pub fn xxh3(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

/// All points of a ring, in order.
#[derive(Debug)]
pub struct NaiveRing<'n> {
    hash: Hash,
    points: BTreeSet<(u32, &'n str, u32)>,
}

impl<'n> NaiveRing<'n> {
    /// Places nodes, given by id and number of active points.
    #[must_use]
    pub fn new(hash: Hash, nodes: impl IntoIterator<Item = (&'n str, u32)>) -> Self {
        let labelled =
            nodes.into_iter().flat_map(|(id, active_points)| (0..active_points).map(move |number| (id, number)));
        // Collecting sorts once, which for millions of points is far quicker than inserting them one by one.
        Self { points: labelled.map(|(id, number)| (point(hash, &label(id, number)), id, number)).collect(), hash }
    }

    /// The id of the node that owns a key.
    #[must_use]
    pub fn owner(&self, key: &[u8]) -> Option<&'n str> {
        // No id sorts before the empty one.
        let successor = self.points.range((point(self.hash, key), "", 0)..).next();
        successor.or_else(|| self.points.first()).map(|&(_, id, _)| id)
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

fn label(id: &str, number: u32) -> Vec<u8> {
    let length = u32::try_from(id.len()).expect("an id has at most 1,024 bytes");
    [&length.to_le_bytes(), id.as_bytes(), &number.to_le_bytes()].concat()
}

fn point(hash: Hash, bytes: &[u8]) -> u32 {
    u32::try_from(hash(bytes) >> 32).expect("half of 64 bits is left")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The files come from an independent program, and hold keys on, before and after points and at both ends of the
    /// circle.
    #[test]
    fn answers_are_those_of_the_golden_files() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let native = ["collisions", "no-points", "one-point", "three-equal", "unusual-names", "weighted"];
        let native = native.map(|case| (format!("native/{case}"), sea_hash as Hash));
        for (case, hash) in native.into_iter().chain([("xxh3/weighted".to_owned(), xxh3 as Hash)]) {
            let cluster = fs::read(golden.join(&case).join("cluster.json")).unwrap();
            let cluster: serde_json::Value = serde_json::from_slice(&cluster).unwrap();
            let number = |value: &serde_json::Value| value.as_u64().map(|number| u32::try_from(number).unwrap());
            let per_weight = number(&cluster["points_per_weight"]).unwrap();
            let nodes = cluster["nodes"].as_array().unwrap().iter().map(|node| {
                let points = number(&node["active_points"]);
                let points = points.unwrap_or_else(|| per_weight * number(&node["weight"]).unwrap());
                (node["id"].as_str().unwrap(), points)
            });
            let ring = NaiveRing::new(hash, nodes);
            let owners = fs::read_to_string(golden.join(&case).join("owners.tsv")).unwrap();
            for line in owners.split_terminator('\n') {
                let (key, owner) = line.split_once('\t').unwrap();
                assert_eq!(ring.owner(key.as_bytes()).unwrap_or_default(), owner, "{case}: {key:?}");
            }
        }
    }
}
