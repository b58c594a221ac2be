//! SeaHash on the key path: bytes → 64 bits. Pure arithmetic in safe Rust, inlined into the lookup.
//!
//! The function is SeaHash (Ticki, 2016), as the crate `seahash` 4 computes it; the text below follows its reference
//! description, and the crate is the oracle of the tests. The data is cut into little-endian words of 8 bytes, the last
//! one filled up with zeros, and word i is mixed into lane i mod 4:
//!
//! ```text
//! words   0  1  2  3 | 4  5  6  7 | 8 …         lane = diffuse(lane ^ word)
//! lanes   a  b  c  d | a  b  c  d | a …         hash = diffuse(a ^ b ^ c ^ d ^ length in bytes)
//! ```
//! The end doesn't ask which lane is which, so "the next lane" may be whatever is called `a`, with the names moved on
//! after each word. That makes the words after the last whole block a loop of no more than three rounds, where the crate
//! has a table of nine cases.
//!
//! Invariants
//! - H1: the hash is a function of the bytes alone. Words are read by `from_le_bytes`, so neither alignment nor the
//!   processor's byte order counts.
//! - H2: parts hash as the parts joined.

use crate::point::len_u64;

const SEEDS: Lanes =
    Lanes { a: 0x16F1_1FE8_9B0D_677C, b: 0xB480_A793_D8E6_C86C, c: 0x6FE2_E5AA_F078_EBC9, d: 0x14F9_94A4_C525_9381 };

/// The hash of some bytes.
#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut lanes = SEEDS;
    let mut rest = bytes;
    while let Some((block, more)) = rest.split_first_chunk::<32>() {
        let ([a, b, c, d], _) = block.as_chunks::<8>() else { unreachable!("32 bytes are four words") };
        lanes.a = diffuse(lanes.a ^ u64::from_le_bytes(*a));
        lanes.b = diffuse(lanes.b ^ u64::from_le_bytes(*b));
        lanes.c = diffuse(lanes.c ^ u64::from_le_bytes(*c));
        lanes.d = diffuse(lanes.d ^ u64::from_le_bytes(*d));
        rest = more;
    }
    while let Some((word, more)) = rest.split_first_chunk::<8>() {
        lanes.push(u64::from_le_bytes(*word));
        rest = more;
    }
    if !rest.is_empty() {
        lanes.push(short_word(bytes, rest));
    }
    lanes.finish(bytes.len())
}

/// The hash of parts, as if they were joined (H2).
#[inline]
pub(super) fn hash_of_parts(parts: &[&[u8]]) -> u64 {
    let mut stream = Stream::new();
    for part in parts {
        stream.write(part);
    }
    stream.finish()
}

/// The hash of what was written so far; a copy of it hashes many endings of one beginning.
///
/// Part ends and words don't meet, so each word is made of what the last part left and the beginning of the next:
///
/// ```text
/// parts      u s e r :|1 2 3 4 5 6 7 8 9
/// pending    u s e r :                        5 bytes, in the low end of a word
/// read                 1 2 3 4 5 6 7 8        shifted up by 5 bytes: "123" fills the word, "45678" is pending
/// ```
#[derive(Clone, Copy)]
pub(super) struct Stream {
    lanes: Lanes,
    /// The bytes that fill no word yet, in the low bits, and zeros above.
    pending: u64,
    /// How many they are, 0 to 7.
    held: usize,
    total: usize,
}

impl Stream {
    #[inline]
    pub(super) fn new() -> Self {
        Self { lanes: SEEDS, pending: 0, held: 0, total: 0 }
    }

    #[inline]
    pub(super) fn write(&mut self, part: &[u8]) {
        // One slice may be given again and again, so the sum may be longer than memory: it wraps, as the crate's does.
        self.total = self.total.wrapping_add(part.len());
        let mut rest = part;
        while let Some((word, more)) = rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            self.lanes.push(self.pending | word << (8 * self.held));
            self.pending = above(word, self.held);
            rest = more;
        }
        if !rest.is_empty() {
            let word = short_word(part, rest);
            let (joined, before) = (self.pending | word << (8 * self.held), self.held);
            self.held += rest.len();
            self.pending = joined;
            if self.held >= 8 {
                self.held -= 8;
                self.lanes.push(joined);
                self.pending = above(word, before);
            }
        }
    }

    #[inline]
    pub(super) fn finish(mut self) -> u64 {
        if self.held > 0 {
            self.lanes.push(self.pending);
        }
        self.lanes.finish(self.total)
    }
}

/// What a word shifted up by `held` bytes, 0 to 7, loses at the top; in two steps, since a shift by 64 isn't one.
#[inline(always)]
fn above(word: u64, held: usize) -> u64 {
    (word >> 1) >> (63 - 8 * held)
}

/// The last 1 to 7 bytes of `all`, which are `rest`, as a word with zeros above.
///
/// One or two fixed-size reads that overlap what was read before, not a loop over bytes nor a copy of unknown length:
/// both are branches that no predictor gets right for keys of mixed lengths.
#[inline(always)]
fn short_word(all: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = all.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (64 - 8 * rest.len());
    }
    // Here `rest` is all there is. Where two reads overlap they have the same bits in the same places.
    if let (Some(low), Some(high)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let [low, high] = [low, high].map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
        return low | high << (8 * (rest.len() - 4));
    }
    // One byte is read three times into one place, two bytes twice into one of them, and three once.
    let [middle, last] = [rest.len() / 2, rest.len() - 1];
    u64::from(rest[0]) | u64::from(rest[middle]) << (8 * middle) | u64::from(rest[last]) << (8 * last)
}

/// The state; `a` is the lane of the next word.
#[derive(Clone, Copy)]
struct Lanes {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl Lanes {
    #[inline(always)]
    fn push(&mut self, word: u64) {
        let Self { a, b, c, d } = *self;
        *self = Self { a: b, b: c, c: d, d: diffuse(a ^ word) };
    }

    #[inline(always)]
    fn finish(self, length: usize) -> u64 {
        diffuse(self.a ^ self.b ^ self.c ^ self.d ^ len_u64(length))
    }
}

/// SeaHash's mixing: a bijection of 64 bits, after the output step of PCG (O'Neill 2014).
#[inline(always)]
fn diffuse(x: u64) -> u64 {
    const PRIME: u64 = 0x6EED_0E9D_A4D9_4A4F;
    let x = x.wrapping_mul(PRIME);
    (x ^ ((x >> 32) >> (x >> 60))).wrapping_mul(PRIME)
}

#[cfg(test)]
mod tests {
    use ::seahash::hash as oracle;

    use super::*;

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
        let mut state = seed;
        (0..count).map(|_| random(&mut state).to_le_bytes()[0]).collect()
    }

    /// Buffers of 512 bytes: counting up, all alike, one bit in an otherwise empty one, high bits, random.
    fn patterns() -> Vec<Vec<u8>> {
        let step = |factor: usize| (0..512).map(move |n: usize| (n * factor + 13).to_le_bytes()[0]);
        let mut patterns = vec![vec![0; 512], vec![0xFF; 512], vec![0x80; 512], step(1).collect(), step(167).collect()];
        for place in [0, 7, 8, 31, 32, 100, 299] {
            let mut lone = vec![0; 512];
            lone[place] = 1;
            patterns.push(lone);
        }
        patterns.extend((0..4).map(|seed| random_bytes(seed, 512)));
        patterns
    }

    #[test]
    fn every_length_and_alignment_hashes_as_the_crate_does() {
        for pattern in patterns() {
            // Whatever the allocator gave, eight starts in a row meet all eight alignments.
            for start in 0..8 {
                for length in 0..=300 {
                    let key = &pattern[start..start + length];
                    assert_eq!(hash(key), oracle(key), "length {length} from {start}");
                    // In two parts, cut somewhere else each time.
                    let (head, tail) = key.split_at((length * 7 + start) % (length + 1));
                    assert_eq!(hash_of_parts(&[head, tail]), oracle(key), "{} + {}", head.len(), tail.len());
                }
            }
        }
    }

    #[test]
    fn random_keys_in_random_parts_hash_as_the_crate_does() {
        let bytes = random_bytes(99, 4096);
        let mut state = 5;
        let mut below = |bound: usize| usize::try_from(random(&mut state) % bound.max(1) as u64).unwrap();
        for round in 0..20_000 {
            let start = below(2048);
            let key = &bytes[start..start + below(if round % 10 == 0 { 2048 } else { 80 })];
            assert_eq!(hash(key), oracle(key));
            let (mut parts, mut rest) = (Vec::new(), key);
            while !rest.is_empty() {
                // Parts of 0 bytes among them.
                let (part, more) = rest.split_at(below(rest.len().min(40) + 1));
                parts.push(part);
                rest = more;
            }
            assert_eq!(hash_of_parts(&parts), oracle(key), "{:?}", parts.iter().map(|p| p.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_pair_and_triple_of_short_parts_hashes_as_the_crate_does() {
        let bytes = random_bytes(7, 64);
        for first in 0..=20 {
            for second in 0..=20 {
                for third in 0..=20 {
                    let key = &bytes[..first + second + third];
                    let parts = [&key[..first], &key[first..first + second], &key[first + second..]];
                    assert_eq!(hash_of_parts(&parts), oracle(key), "{first} + {second} + {third}");
                }
            }
        }
        assert_eq!(hash_of_parts(&[]), oracle(b""));
    }

    #[test]
    fn the_vectors_of_the_documentation_hold() {
        assert_eq!(hash(b"to be or not to be"), 1_988_685_042_348_123_509);
        assert_eq!(hash_of_parts(&[b"to be", b" or ", b"", b"not to be"]), 1_988_685_042_348_123_509);
        // From the tests of the crate's own mixing.
        assert_eq!(
            [0, 1, 2, 0xDEAD_BEEF].map(diffuse),
            [0, 15_197_155_197_312_260_123, 1_571_904_453_004_118_546, 12_110_756_357_096_144_265]
        );
    }
}
