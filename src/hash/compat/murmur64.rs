//! MurmurHash2 with 64 bits of output, the variant "64A" for 64-bit processors, with the seed of libstdc++.
//!
//! Source: Austin Appleby, `MurmurHash2.cpp` of SMHasher (`MurmurHash64A`); libstdc++, `libsupc++/hash_bytes.cc`
//! (`_Hash_bytes`), which is `std::hash<std::string>`; Envoy, `source/common/common/hash.cc` (`murmurHash2`). Blocks and
//! tail are read least significant byte first.

use crate::point::len_u64;

/// The seed of `std::hash`, and of Envoy.
const SEED: u64 = 0xC70F_6907;
const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;

/// Returns the hash of some bytes.
#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let (blocks, tail) = bytes.as_chunks();
    let hash = blocks.iter().fold(begin(bytes.len()), |hash, block| mix(hash, u64::from_le_bytes(*block)));
    finish(hash, tail)
}

/// Returns the hash of the parts joined. The length is known beforehand, so nothing needs to be kept but 8 bytes.
pub(super) fn hash_of_parts(parts: &[&[u8]]) -> u64 {
    let mut hash = begin(parts.iter().map(|part| part.len()).sum());
    let (mut block, mut filled) = ([0; 8], 0);
    for &byte in parts.iter().copied().flatten() {
        block[filled] = byte;
        filled += 1;
        if filled == block.len() {
            hash = mix(hash, u64::from_le_bytes(block));
            filled = 0;
        }
    }
    finish(hash, &block[..filled])
}

fn begin(len: usize) -> u64 {
    SEED ^ len_u64(len).wrapping_mul(MULTIPLIER)
}

fn mix(hash: u64, block: u64) -> u64 {
    let block = block.wrapping_mul(MULTIPLIER);
    let block = (block ^ (block >> 47)).wrapping_mul(MULTIPLIER);
    (hash ^ block).wrapping_mul(MULTIPLIER)
}

fn finish(mut hash: u64, tail: &[u8]) -> u64 {
    if !tail.is_empty() {
        let mut block = [0; 8];
        block[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(block)).wrapping_mul(MULTIPLIER);
    }
    let hash = (hash ^ (hash >> 47)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 47)
}
