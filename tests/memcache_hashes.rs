//! The hash functions of libmemcached and twemproxy against the golden data of an independent program.

use ringway::scheme::MemcacheHash;

const GOLDEN: &str = include_str!("golden/memcache/hashes.tsv");

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn every_function_hashes_keys_of_every_length() {
    let mut rows = GOLDEN.lines().map(|line| line.split('\t'));
    let names: Vec<&str> = rows.next().unwrap().skip(1).collect();
    assert_eq!(names, MemcacheHash::ALL.map(MemcacheHash::name), "a column for each function, in their order");
    let mut lengths = Vec::new();
    for mut row in rows {
        let key = bytes(row.next().unwrap());
        lengths.push(key.len());
        for (function, value) in MemcacheHash::ALL.into_iter().zip(row) {
            let expected = u32::from_str_radix(value, 16).unwrap();
            assert_eq!(function.hash(&key), expected, "{function} of {} bytes", key.len());
            for step in [1, 3, 7, 64, 300, 600] {
                let parts: Vec<&[u8]> = key.chunks(step).flat_map(|part| [&[], part]).collect();
                assert_eq!(function.hash_of_parts(&parts), expected, "{function} of {} bytes in {step}s", key.len());
            }
        }
    }
    assert!((0..=64).all(|length| lengths.contains(&length)));
}
