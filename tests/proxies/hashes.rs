//! Known answers of the hashes, and Envoy's own positions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ringway::scheme::{
    CppMapLower, CppMapUpper, CppMurmurLower, EnvoyHash, EnvoyRingHash, GrpcRingHash, HaproxyChash, HaproxyHash,
    Hashring, Scheme,
};
use ringway::{NodeSpec, Ring};

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| ((n * 167 + n / 256 + 0xC1) % 256) as u8).collect()
}

/// The scheme's key points of every length, whole and in parts.
fn check<S: Scheme>(scheme: &S, rows: &BTreeMap<String, Vec<(usize, String)>>, name: &str)
where
    S::Point: std::fmt::LowerHex,
{
    let rows = &rows[name];
    assert!(rows.len() > 65, "{name}");
    for (length, expected) in rows {
        let (key, digits) = (pattern(*length), expected.len());
        assert_eq!(format!("{:0digits$x}", scheme.key_point(&key)), *expected, "{name} of {length} bytes");
        for step in [1, 3, 7, 8, 9, 31, 32, 64] {
            let parts: Vec<&[u8]> = key.chunks(step).flat_map(|part| [part, &[]]).collect();
            let point = scheme.key_point_of_parts(&parts);
            assert_eq!(format!("{point:0digits$x}"), *expected, "{name} of {length} bytes in parts of {step}");
        }
    }
}

#[test]
fn keys_of_every_length_have_their_known_hashes() {
    let text = fs::read_to_string(golden("proxies/hashes.tsv")).expect("the golden data is there");
    let mut rows: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let (length, hash) = (columns[1].parse().expect("a length"), columns[2].to_owned());
        rows.entry(columns[0].to_owned()).or_default().push((length, hash));
    }
    for (hash, name) in [
        (HaproxyHash::Sdbm, "sdbm"),
        (HaproxyHash::Djb2, "djb2"),
        (HaproxyHash::Wt6, "wt6"),
        (HaproxyHash::Crc32, "crc32"),
    ] {
        check(&HaproxyChash::new().with_hash(hash, false), &rows, name);
        check(&HaproxyChash::new().with_hash(hash, true), &rows, &format!("{name} avalanche"));
    }
    check(&CppMapUpper::new(), &rows, "std::hash");
    check(&CppMapLower::new(), &rows, "std::hash");
    check(&CppMurmurLower::new(), &rows, "c++ loop");
    check(&EnvoyRingHash::new(), &rows, "xxh64");
    check(&EnvoyRingHash::new().with_hash(EnvoyHash::Murmur2), &rows, "xxh64");
    check(&GrpcRingHash::new(), &rows, "xxh64");
    check(&Hashring::new(), &rows, "rust str");
    assert_eq!(rows.len(), 12, "each hash of the file is checked");
}

#[test]
fn header_values_in_parts_are_cut_as_whole_ones() {
    let (plain, header) = (HaproxyChash::new(), HaproxyChash::new().with_header(true));
    for (key, value) in [
        ("", ""),
        ("abc", "abc"),
        ("abc, def", "abc"),
        ("  abc\t , def", "abc"),
        ("\"a,b\" c ,d", "\"a,b\" c"),
        ("\"a\\\",b", "\"a\\\",b"),
        (",x", ""),
        ("ключ,x", "ключ"),
        ("   ", ""),
    ] {
        let expected = plain.key_point(value.as_bytes());
        assert_eq!(header.key_point(key.as_bytes()), expected, "{key:?}");
        for step in 1..=key.len().max(1) {
            let parts: Vec<&[u8]> = key.as_bytes().chunks(step).flat_map(|part| [&[], part]).collect();
            assert_eq!(header.key_point_of_parts(&parts), expected, "{key:?} in parts of {step}");
        }
        if key != value {
            assert_ne!(plain.key_point(key.as_bytes()), expected, "{key:?} is hashed whole where it is no header's");
        }
    }
}

/// The rings and lookups that Envoy's unit tests state.
#[test]
fn envoys_own_positions_come_out() {
    let text = fs::read_to_string(golden("interop/envoy/upstream-ring-positions.json")).expect("the file is there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let pairs = |value: &serde_json::Value| -> Vec<(String, String)> {
        let pair = |pair: &serde_json::Value| {
            (pair[0].as_str().expect("text").to_owned(), pair[1].as_str().expect("text").to_owned())
        };
        value.as_array().expect("a list").iter().map(pair).collect()
    };
    let rings = json["rings"].as_array().expect("rings");
    assert_eq!(rings.len(), 2);
    for ring in rings {
        let hash = match ring["hash_function"].as_str() {
            Some("XX_HASH") => EnvoyHash::Xxh64,
            Some("MURMUR_HASH_2") => EnvoyHash::Murmur2,
            other => panic!("{other:?}"),
        };
        let positions = pairs(&ring["positions"]);
        let mut hosts: Vec<&String> = positions.iter().map(|(host, _)| host).collect();
        hosts.sort();
        hosts.dedup();
        let scheme = EnvoyRingHash::new().with_hash(hash).with_ring_size(12, 8 << 20).expect("in range");
        let nodes = hosts.into_iter().map(|host| NodeSpec::new(host.as_str()));
        let table = Ring::builder().scheme(scheme).nodes(nodes).build_table().expect("valid");
        let found: Vec<_> = table.points().map(|(point, node)| (node.id().to_string(), point.to_string())).collect();
        assert_eq!(found, positions);
        for (point, host) in pairs(&ring["lookups"]) {
            let owner = table.owner_at(point.parse().expect("a point")).expect("there are points");
            assert_eq!(owner.id(), &*host, "{point}");
        }
    }
}
