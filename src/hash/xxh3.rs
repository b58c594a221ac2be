//! The scheme "xxh3": the native one with XXH3 in place of SeaHash. Its placement is frozen; `tests/golden/xxh3` holds
//! vectors computed by an independent program.
//!
//! XXH3 with 64 bits of output, seed 0 and the default secret (Collet 2019; the specification is `doc/xxhash_spec.md` of
//! Cyan4973/xxHash) costs about two thirds of SeaHash for short keys and half for long ones. It is no more keyed than
//! SeaHash is.
//!
//! The crate is `xxhash-rust`. For keys of 4 to 64 bytes `twox-hash` 2 takes 5 to 30 % longer, and 300 bytes take the
//! same (1,024 random keys, throughput, medians of 101 interleaved rounds, Xeon, Sapphire Rapids, 2026-11-30); it is the
//! oracle of the tests. It is always compiled in, since a cluster file must mean the same to every build; it has no
//! dependencies.

use xxhash_rust::xxh3;

use super::labelled::{LabelHash, Labelled};

/// The placement scheme `"xxh3"`: [`Labelled`] by XXH3, for whom the hash of the key is a part of the lookup that counts.
pub type Xxh3 = Labelled<XxHash3>;

/// XXH3 with 64 bits of output, seed 0 and the default secret, the hash of [`Xxh3`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XxHash3 {}

impl LabelHash for XxHash3 {
    const SCHEME: &'static str = "xxh3";
    const TYPE: &'static str = "Xxh3";

    #[inline]
    fn hash(bytes: &[u8]) -> u64 {
        xxh3::xxh3_64(bytes)
    }

    #[inline]
    fn hash_of_parts(parts: &[&[u8]]) -> u64 {
        // XXH3 reads short inputs from both ends, so they can't be streamed without being kept; the crate's hasher sets
        // up 576 bytes for that. Joining up to 128 bytes takes three quarters of its time, and is what it comes to.
        let mut joined = [0; JOINED_BYTES];
        let mut filled = 0;
        for part in parts {
            let Some(place) = joined.get_mut(filled..).and_then(|free| free.get_mut(..part.len())) else {
                return streamed(parts);
            };
            place.copy_from_slice(part);
            filled += part.len();
        }
        Self::hash(&joined[..filled])
    }
}

/// Parts that are at most this long together are joined on the stack.
const JOINED_BYTES: usize = 128;

#[inline(never)]
fn streamed(parts: &[&[u8]]) -> u64 {
    let mut hasher = xxh3::Xxh3::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;

    use super::*;

    #[test]
    fn every_length_and_alignment_hashes_as_another_implementation_does() {
        // Past 1,024 bytes and past two stripes of it the long form takes other paths.
        let lengths = (0..=300).chain([511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4000]);
        let bytes: Vec<u8> = (0..4100usize).map(|n| (n * n / 3 + n * 167).to_le_bytes()[0]).collect();
        for length in lengths {
            for start in 0..8 {
                let key = &bytes[start..start + length];
                let expected = XxHash3_64::oneshot(key);
                assert_eq!(XxHash3::hash(key), expected, "length {length} from {start}");
                let (head, tail) = key.split_at((length * 7 + start) % (length + 1));
                assert_eq!(XxHash3::hash_of_parts(&[head, tail]), expected, "{} + {}", head.len(), tail.len());
                assert_eq!(streamed(&[head, tail]), expected, "{} + {}", head.len(), tail.len());
            }
        }
    }
}
