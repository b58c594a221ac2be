//! The hash functions of memcached's world: libhashkit's and twemproxy's, with what sets them apart from the functions
//! they are named after.
//!
//! Several of the C functions read their bytes as `char`, which is signed on x86: a byte from 0x80 on counts as itself
//! with 24 one bits before it. The systems' answers on x86 are what is reproduced, on every platform.
//!
//! MD5 and CRC-32 are crates. The rest is here, since no crate has the signed forms or the seeds that depend on the length.

use std::fmt;
use std::iter;

use super::md5;
use crate::point::{len_u64, low_u32};

/// A hash function of libmemcached or twemproxy, on 32 bits.
///
/// Sources: libmemcached 1.1, `src/libhashkit/*.cc`; twemproxy 0.5, `src/hashkit/*.c`. Where both have a function, they
/// agree in it.
///
/// ```
/// use ringway::scheme::MemcacheHash;
/// assert_eq!(MemcacheHash::Crc32a.hash(b"123456789"), 0xCBF4_3926);
/// assert_eq!(MemcacheHash::OneAtATime.hash(b"a"), 0xCA2E_9442);
/// assert_eq!(MemcacheHash::Fnv1a32.hash_of_parts(&[b"foo", b"bar"]), 0xBF9C_F968);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemcacheHash {
    /// Jenkins' one-at-a-time hash, of signed bytes.
    OneAtATime,
    /// The first word of the MD5 digest, least significant byte first.
    Md5,
    /// The CRC-16 of polynomial 0x1021 in an accumulator of 32 bits: what leaves the lower half stays in the upper.
    Crc16,
    /// The CRC-32, of which 15 bits are used: those from bit 16 on.
    Crc32,
    /// The whole CRC-32.
    Crc32a,
    /// FNV-1 on 32 bits, of signed bytes.
    Fnv1_32,
    /// FNV-1a on 32 bits, of signed bytes.
    Fnv1a32,
    /// The lower half of FNV-1 on 64 bits, of signed bytes.
    Fnv1_64,
    /// The lower half of FNV-1a on 64 bits, of signed bytes.
    Fnv1a64,
    /// Hsieh's SuperFastHash from 0, not from the length; of three bytes left over the last is signed.
    Hsieh,
    /// MurmurHash2 on 32 bits, whose seed is 0xDEADBEEF times the length.
    Murmur,
    /// MurmurHash3 on 32 bits (x86), with the same seed.
    Murmur3,
    /// Jenkins' lookup3, `hashlittle` with the initial value 13.
    Jenkins,
}

impl MemcacheHash {
    /// The name of the map from keys to points by this function.
    pub(super) fn key_map(self) -> Vec<u8> {
        [b"memcache ", self.name().as_bytes(), b"\0"].concat()
    }

    /// All functions.
    pub const ALL: [Self; 13] = [
        Self::OneAtATime,
        Self::Md5,
        Self::Crc16,
        Self::Crc32,
        Self::Crc32a,
        Self::Fnv1_32,
        Self::Fnv1a32,
        Self::Fnv1_64,
        Self::Fnv1a64,
        Self::Hsieh,
        Self::Murmur,
        Self::Murmur3,
        Self::Jenkins,
    ];

    /// Returns the name that the systems' configurations use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneAtATime => "one_at_a_time",
            Self::Md5 => "md5",
            Self::Crc16 => "crc16",
            Self::Crc32 => "crc32",
            Self::Crc32a => "crc32a",
            Self::Fnv1_32 => "fnv1_32",
            Self::Fnv1a32 => "fnv1a_32",
            Self::Fnv1_64 => "fnv1_64",
            Self::Fnv1a64 => "fnv1a_64",
            Self::Hsieh => "hsieh",
            Self::Murmur => "murmur",
            Self::Murmur3 => "murmur3",
            Self::Jenkins => "jenkins",
        }
    }

    /// Returns the hash of some bytes.
    #[inline]
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Hsieh => hsieh(bytes),
            Self::Murmur => murmur2(bytes),
            Self::Murmur3 => murmur3(bytes),
            Self::Jenkins => jenkins(bytes),
            _ => self.hash_streamed(iter::once(bytes)),
        }
    }

    /// Returns the hash of the parts joined.
    ///
    /// Allocates only with [`Hsieh`](Self::Hsieh), [`Murmur`](Self::Murmur), [`Murmur3`](Self::Murmur3) and
    /// [`Jenkins`](Self::Jenkins), which can't be streamed, and only for more than 512 bytes.
    #[must_use]
    pub fn hash_of_parts(self, parts: &[&[u8]]) -> u32 {
        self.hash_of(parts.iter().copied())
    }

    /// The same, of parts that needn't lie in a slice.
    #[inline]
    pub(super) fn hash_of<'a>(self, parts: impl Iterator<Item = &'a [u8]> + Clone) -> u32 {
        match self {
            Self::Hsieh | Self::Murmur | Self::Murmur3 | Self::Jenkins => super::joined(parts, |key| self.hash(key)),
            _ => self.hash_streamed(parts),
        }
    }

    #[inline]
    fn hash_streamed<'a>(self, parts: impl Iterator<Item = &'a [u8]>) -> u32 {
        match self {
            Self::Md5 => md5::word(&md5::digest_of(parts), 0),
            Self::Crc32 => (crc32(parts) >> 16) & 0x7FFF,
            Self::Crc32a => crc32(parts),
            _ => {
                let bytes = parts.flatten().copied();
                match self {
                    Self::OneAtATime => one_at_a_time(bytes),
                    Self::Crc16 => crc16(bytes),
                    Self::Fnv1_32 => fnv1(FNV_32, bytes),
                    Self::Fnv1a32 => fnv1a(FNV_32, bytes),
                    Self::Fnv1_64 => fnv1(FNV_64, bytes),
                    Self::Fnv1a64 => fnv1a(FNV_64, bytes),
                    _ => unreachable!("`hash` and `hash_of` keep these to themselves"),
                }
            }
        }
    }
}

impl fmt::Display for MemcacheHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn crc32<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// A signed byte on 32 bits.
fn signed(byte: u8) -> u32 {
    i32::from(byte.cast_signed()).cast_unsigned()
}

/// `one_at_a_time` of both systems; the function is Bob Jenkins' (Dr. Dobb's Journal, 1997).
fn one_at_a_time(bytes: impl Iterator<Item = u8>) -> u32 {
    let mut hash = bytes.fold(0u32, |hash, byte| {
        let hash = hash.wrapping_add(signed(byte));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ (hash >> 6)
    });
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Where an FNV starts, and its prime.
///
/// Of the 64-bit pair only the lower halves are kept: the lower half of a product depends on no more, and the systems
/// return no more.
type Fnv = (u32, u32);
const FNV_32: Fnv = (0x811C_9DC5, 0x0100_0193);
const FNV_64: Fnv = (0x8422_2325, 0x0000_01B3);

fn fnv1((start, prime): Fnv, bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(start, |hash, byte| hash.wrapping_mul(prime) ^ signed(byte))
}

fn fnv1a((start, prime): Fnv, bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(start, |hash, byte| (hash ^ signed(byte)).wrapping_mul(prime))
}

/// twemproxy's `hash_crc16`: the accumulator is never cut to 16 bits.
fn crc16(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0u32, |hash, byte| {
        let [_, high, _, _] = hash.to_le_bytes();
        (hash << 8) ^ u32::from(CRC16[usize::from(high ^ byte)])
    })
}

/// What each byte adds to a CRC of polynomial x^16 + x^12 + x^5 + 1, most significant bit first.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    // The same number twice: `usize::from` isn't const.
    let (mut place, mut byte) = (0, 0u16);
    while place < table.len() {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 15 == 1 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[place] = crc;
        (place, byte) = (place + 1, byte + 1);
    }
    table
};

/// SuperFastHash (Paul Hsieh, 2004) as both systems have it.
fn hsieh(bytes: &[u8]) -> u32 {
    let pair = |low: u8, high: u8| u32::from(u16::from_le_bytes([low, high]));
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(0u32, |hash, &[a, b, c, d]| {
        let hash = hash.wrapping_add(pair(a, b));
        let hash = (hash << 16) ^ (pair(c, d) << 11) ^ hash;
        hash.wrapping_add(hash >> 11)
    });
    match *tail {
        [a, b, c] => {
            hash = hash.wrapping_add(pair(a, b));
            hash ^= hash << 16;
            hash ^= signed(c) << 18;
            hash = hash.wrapping_add(hash >> 11);
        }
        [a, b] => {
            hash = hash.wrapping_add(pair(a, b));
            hash ^= hash << 11;
            hash = hash.wrapping_add(hash >> 17);
        }
        [a] => {
            hash = hash.wrapping_add(u32::from(a));
            hash ^= hash << 10;
            hash = hash.wrapping_add(hash >> 1);
        }
        _ => {}
    }
    hash ^= hash << 3;
    hash = hash.wrapping_add(hash >> 5);
    hash ^= hash << 4;
    hash = hash.wrapping_add(hash >> 17);
    hash ^= hash << 25;
    hash.wrapping_add(hash >> 6)
}

/// The lower half of a length, which is all that these functions see of it.
fn length(bytes: &[u8]) -> u32 {
    low_u32(len_u64(bytes.len()))
}

/// The seed of both murmurs.
fn seed(bytes: &[u8]) -> u32 {
    length(bytes).wrapping_mul(0xDEAD_BEEF)
}

/// Up to four bytes as a number, least significant first.
fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| (number << 8) | u32::from(byte))
}

/// MurmurHash2 (Austin Appleby, 2008).
fn murmur2(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(seed(bytes) ^ length(bytes), |hash, &block| {
        let k = u32::from_le_bytes(block).wrapping_mul(M);
        hash.wrapping_mul(M) ^ (k ^ (k >> 24)).wrapping_mul(M)
    });
    if !tail.is_empty() {
        hash = (hash ^ little_endian(tail)).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// MurmurHash3, the 32-bit form for x86 (Austin Appleby, 2011).
fn murmur3(bytes: &[u8]) -> u32 {
    let scrambled = |k: u32| k.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(seed(bytes), |hash, &block| {
        let mixed = (hash ^ scrambled(u32::from_le_bytes(block))).rotate_left(13);
        mixed.wrapping_mul(5).wrapping_add(0xE654_6B64)
    });
    // Nothing left over is 0, which scrambles to 0.
    hash ^= scrambled(little_endian(tail));
    hash ^= length(bytes);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

/// lookup3's `hashlittle` (Bob Jenkins, 2006) with the initial value 13.
fn jenkins(bytes: &[u8]) -> u32 {
    let start = length(bytes).wrapping_add(0xDEAD_BEEF + 13);
    let mut state = [start; 3];
    if bytes.is_empty() {
        return start;
    }
    // The last block, full or not, is mixed otherwise than those before it.
    let (blocks, last) = bytes.split_at((bytes.len() - 1) / 12 * 12);
    let add = |state: &mut [u32; 3], block: &[u8]| {
        for (word, part) in state.iter_mut().zip(block.chunks(4)) {
            *word = word.wrapping_add(little_endian(part));
        }
    };
    for block in blocks.chunks_exact(12) {
        add(&mut state, block);
        state = lookup3_mix(state);
    }
    add(&mut state, last);
    lookup3_final(state)
}

fn lookup3_mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for (even, odd, last) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(even);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(odd);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(last);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn lookup3_final([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
