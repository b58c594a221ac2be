//! A placement scheme of one's own: an in-house ring that a program has had for years, taken over by ringway key for key.
//!
//! The ring in this example hashes by 64-bit FNV-1a. A server has `replicas` points, an attribute, hashed from
//! `name/0`, `name/1` and so on; a server whose name comes later takes over an equal point.
//!
//! ```sh
//! cargo run --release --example own_scheme
//! ```

use std::ops::Range;

use ringway::scheme::{Assignment, Scheme};
use ringway::{Delta, NodeId, NodeInfo, NodeSpec, Ring, SchemeError};

/// The scheme. What differs from ring to ring would be a field, and go into `option_bytes`.
#[derive(Debug, Clone)]
struct InHouse;

/// 64-bit FNV-1a (Fowler, Noll and Vo) goes byte by byte, so it takes a key in parts as well as one in one piece.
fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

impl InHouse {
    fn replicas(node: &NodeInfo) -> Result<u64, SchemeError> {
        let Some(text) = node.attribute("replicas") else { return Ok(100) };
        match text.parse::<u64>() {
            Ok(replicas @ 0..=10_000) => Ok(replicas),
            _ => Err(SchemeError {
                id: Some(node.id().to_string()),
                reason: format!("replicas \"{}\" is not a number from 0 to 10000", text.escape_debug()),
            }),
        }
    }
}

impl Scheme for InHouse {
    /// 64-bit points. Every layout serves all widths.
    type Point = u64;
    /// The name alone decides a server's sequence of points.
    type Seed = ();

    fn id(&self) -> &str {
        "in-house"
    }

    /// The order of the list decides nothing, so `assign` is given the nodes by name.
    fn order_free(&self) -> bool {
        true
    }

    /// All that placement reads of a node beside its name. Weights aren't read.
    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        // What can't be read is refused by `assign`, before the fingerprint counts.
        out.extend(Self::replicas(node).unwrap_or(0).to_le_bytes());
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        // The smallest tie owns an equal point, so the last name gets the smallest.
        for (tie, node) in (0..nodes.len()).rev().zip(nodes) {
            let tie = u32::try_from(tie).expect("rings have at most 2^24 nodes");
            out.push(Assignment { seed: (), points: Self::replicas(node)?, tie });
        }
        Ok(())
    }

    fn points(&self, id: &NodeId, (): &(), labels: Range<u32>, out: &mut Vec<u64>) {
        out.extend(labels.map(|label| fnv1a(format!("{id}/{label}").into_bytes())));
    }

    fn key_point(&self, key: &[u8]) -> u64 {
        fnv1a(key.iter().copied())
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u64 {
        fnv1a(parts.iter().copied().flatten().copied())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let servers = ["db-1", "db-2", "db-3"].map(NodeSpec::new);
    let (mut writer, handle) = Ring::builder().scheme(InHouse).nodes(servers).build()?;
    let mut reader = handle.reader();

    let keys: Vec<String> = (0..10_000).map(|n| format!("user:{n}")).collect();
    let owners = |reader: &mut ringway::Reader<(), InHouse>| -> Vec<String> {
        keys.iter().map(|key| reader.owner(key.as_bytes()).expect("there are points").id().to_string()).collect()
    };
    let before = owners(&mut reader);
    writer.commit(Delta::new().add(NodeSpec::new("db-4").with_attribute("replicas", "50")))?;
    let after = owners(&mut reader);

    let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
    assert!(before.iter().zip(&after).all(|(old, new)| old == new || new == "db-4"), "only the new server gains keys");
    println!("db-4 with 50 points joined three servers with 100: {moved} of {} keys moved, all to it", keys.len());

    // The table checks the scheme: every point is where it says, every node has as many as were assigned.
    writer.table().validate()?;

    let error = writer.commit(Delta::new().add(NodeSpec::new("db-5").with_attribute("replicas", "many"))).unwrap_err();
    println!("refused: {error}");
    assert_eq!(writer.table().node_count(), 4, "a refused commit changes nothing");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // From the authors' test vectors.
        for (text, hash) in
            [("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8)]
        {
            assert_eq!(InHouse.key_point(text.as_bytes()), hash, "{text:?}");
            let parts: Vec<&[u8]> = text.as_bytes().chunks(2).collect();
            assert_eq!(InHouse.key_point_of_parts(&parts), hash, "{text:?} in parts");
        }
    }

    #[test]
    fn keys_belong_to_whom_the_old_ring_gives_them() {
        let nodes = [("db-1", 100u64), ("db-2", 7), ("db-3", 0)];
        let specs = nodes.map(|(id, replicas)| NodeSpec::new(id).with_attribute("replicas", replicas.to_string()));
        let table = Ring::builder().scheme(InHouse).nodes(specs).build_table().expect("valid");
        table.validate().expect("a valid table");
        // The old ring: a map, in which a later name overwrites.
        let mut old = std::collections::BTreeMap::new();
        for (id, replicas) in nodes {
            old.extend((0..replicas).map(|n| (fnv1a(format!("{id}/{n}").into_bytes()), id)));
        }
        for n in 0..5000 {
            let key = format!("user:{n}");
            let next = old.range(fnv1a(key.bytes())..).next().or(old.iter().next());
            assert_eq!(
                table.owner(key.as_bytes()).map(|node| node.id().to_string()).as_deref(),
                next.map(|(_, id)| *id)
            );
        }
    }

    #[test]
    fn the_program_runs() {
        main().expect("the example works");
    }
}
