//! HAProxy's hash functions of keys and the "avalanche" that spreads them; all read unsigned bytes.
//!
//! Source: HAProxy, `src/hash.c` (`hash_sdbm`, `hash_djb2`, `hash_wt6`, `hash_crc32`) and `include/haproxy/tools.h`
//! (`full_hash`, `__full_hash`; the shuffle is Bob Jenkins's integer hash of 4 bytes).

use crc32fast::Hasher;

/// A function of HAProxy's directive `hash-type consistent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HaproxyHash {
    /// `sdbm`: `h = x + (h << 6) + (h << 16) - h`. HAProxy's default.
    #[default]
    Sdbm,
    /// `djb2`: `h = h * 33 + x` from 5381.
    Djb2,
    /// `wt6`, by Willy Tarreau.
    Wt6,
    /// `crc32`: the CRC-32 of IEEE 802.3 and zlib.
    Crc32,
}

impl HaproxyHash {
    /// All of them, by their names in HAProxy's configuration.
    pub(super) const NAMED: &[(&str, Self)] =
        &[("sdbm", Self::Sdbm), ("djb2", Self::Djb2), ("wt6", Self::Wt6), ("crc32", Self::Crc32)];

    pub(super) fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, function)| *function == self).map_or("", |&(name, _)| name)
    }

    /// The byte that stands for it in the placement fingerprint.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Sdbm => 0,
            Self::Djb2 => 1,
            Self::Wt6 => 2,
            Self::Crc32 => 3,
        }
    }

    /// The hash of the parts joined; all of these functions read byte after byte.
    #[inline]
    pub(super) fn hash<'k>(self, parts: impl Iterator<Item = &'k [u8]>) -> u32 {
        match self {
            Self::Sdbm => fold(parts, 0, |h, x| x.wrapping_add(h << 6).wrapping_add(h << 16).wrapping_sub(h)),
            Self::Djb2 => fold(parts, 5381, |h, x| h.wrapping_mul(33).wrapping_add(x)),
            Self::Wt6 => wt6(parts),
            Self::Crc32 => {
                let mut hasher = Hasher::new();
                parts.for_each(|part| hasher.update(part));
                hasher.finalize()
            }
        }
    }
}

#[inline]
fn fold<'k>(parts: impl Iterator<Item = &'k [u8]>, start: u32, step: impl Fn(u32, u32) -> u32) -> u32 {
    parts.fold(start, |h, part| part.iter().fold(h, |h, &x| step(h, x.into())))
}

fn wt6<'k>(parts: impl Iterator<Item = &'k [u8]>) -> u32 {
    let (mut h0, mut h1) = (0xA53C_965A_u32, 0x5CA6_953A_u32);
    let (mut s0, mut s1) = (6, 18);
    for &x in parts.flatten() {
        let x = u32::from(x);
        h0 = !(h0 ^ x);
        h1 = !h1.wrapping_add(x);
        // Both turn and change places.
        (h0, h1) = (h1.rotate_left(s0), h0.rotate_left(s1));
        let turns = ((h0 >> 16) ^ h1) & 0xFFFF;
        (s0, s1) = (turns & 31, turns >> 11);
    }
    h0 ^ h1
}

/// The "avalanche", by which HAProxy also spreads a server's points.
#[inline]
pub(super) fn full_hash(a: u32) -> u32 {
    let a = a.wrapping_add(0x7ED5_5D16).wrapping_add(a << 12);
    let a = (a ^ 0xC761_C23C) ^ (a >> 19);
    let a = a.wrapping_add(0x1656_67B1).wrapping_add(a << 5);
    let a = a.wrapping_add(0xD3A2_646C) ^ (a << 9);
    let a = a.wrapping_add(0xFD70_46C5).wrapping_add(a << 3);
    let a = (a ^ 0xB55A_4F09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}
