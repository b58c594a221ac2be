//! Sixteen sorted keys against one, all at a time: a step of the [S tree](super::super::STree), and the last step of it
//! and of a [bucket](super::super::Bucket).
//!
//! SSE2, which every x86-64 has, compares four keys an instruction, but as signed numbers. Flipping the top bit of both
//! sides makes the signed order the unsigned one: 0 becomes the smallest, 2^32 − 1 the largest. Nodes keep their keys
//! flipped; windows on the sorted array flip as they load.
//!
//! ```text
//! keys        10 20 30 40 | 50 60 70 80 | ...      x = 55
//! key < x     -1 -1 -1 -1 | -1  0  0  0 | ...      four compares of 32-bit lanes
//! packed      FF FF FF FF   FF 00 00 00   ...      three packs, to one byte a key
//! mask        1111 1000 ...  (bit 0 first)         as many trailing ones as keys are below x: 5
//! ```
//! Source: Slotin, "Static B-trees" (Algorithmica, 2022); Groot Koerkamp, "Static search trees" (2024). Elsewhere, and
//! under Miri, a loop without branches counts, and gives the same on sorted keys; tests hold the two together.

use crate::point::index;

/// Keys of a node: sixteen of four bytes fill a cache line.
pub(crate) const KEYS: usize = 16;

/// A head with its top bit flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u32);

impl Key {
    /// The key of `head`.
    #[inline(always)]
    pub(crate) fn new(head: u32) -> Self {
        Self(head ^ (1 << 31))
    }
}

/// Sorted keys in a cache line of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Node([u32; KEYS]);

impl Node {
    /// A node of the first sixteen of `heads`, which must go up; missing ones are the largest head, which is below none.
    pub(crate) fn new(heads: impl IntoIterator<Item = u32>) -> Self {
        let mut keys = [Key::new(u32::MAX).0; KEYS];
        for (key, head) in keys.iter_mut().zip(heads) {
            *key = Key::new(head).0;
        }
        Self(keys)
    }

    /// Returns the number of keys below `x`.
    #[inline(always)]
    pub(crate) fn below(&self, x: Key) -> usize {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: SSE2 is part of x86-64.
        return unsafe { sse2::below_16(self.0.as_chunks().0, x, 0) };
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        return below(&self.0, x, 0);
    }
}

/// [`lower_bound`](super::lower_bound) of an `x` whose rank is known to be in `start..=start + 16`.
///
/// Otherwise, or if the array isn't sorted, the result is some number in `0..=sorted.len()`.
#[inline(always)]
pub(crate) fn lower_bound_in_16(sorted: &[u32], start: usize, x: u32) -> usize {
    let Some((base, keys)) = window::<KEYS, false>(sorted, start) else { return super::lower_bound(sorted, x) };
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64.
    return base + unsafe { sse2::below_16(keys.as_chunks().0, Key::new(x), 1 << 31) };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return base + below(keys, Key::new(x), 1 << 31);
}

/// [`lower_bound_in_16`] for eight: a rank in `start..=start + 8`.
#[inline(always)]
pub(crate) fn lower_bound_in_8(sorted: &[u32], start: usize, x: u32) -> usize {
    let Some((base, keys)) = window::<8, true>(sorted, start) else { return super::lower_bound(sorted, x) };
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64.
    return base + unsafe { sse2::below_8(keys.as_chunks().0, Key::new(x), 1 << 31) };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return base + below(keys, Key::new(x), 1 << 31);
}

/// The `W` elements from `start` on, or the last `W`, with their place; `None` if there are fewer altogether.
///
/// Moving the window back changes no answer: the elements that come in stand before `start`, so they are below x. It is a
/// conditional move, or a branch if it is `SELDOM` done: predicted, it doesn't stand between the load that found `start`
/// and the window's. But where many queries go beyond the last point it is mispredicted, which a tree that promises not to
/// depend on the points can't have.
#[inline(always)]
fn window<const W: usize, const SELDOM: bool>(sorted: &[u32], start: usize) -> Option<(usize, &[u32; W])> {
    let last = sorted.len().checked_sub(W)?;
    let base = if SELDOM && start > last { moved_back(last) } else { start.min(last) };
    debug_assert!(base + W <= sorted.len());
    // SAFETY: base <= last == sorted.len() - W by the lines above, and the difference didn't wrap.
    let keys = unsafe { sorted.get_unchecked(base..base + W) };
    Some((base, keys.first_chunk()?))
}

/// Keeps the compiler from making it a conditional move.
#[cold]
#[inline(never)]
fn moved_back(last: usize) -> usize {
    last
}

/// The portable twin: how many of `keys`, flipped by `flip`, are below `x`.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), allow(dead_code, reason = "the tests' oracle there"))]
#[inline(always)]
fn below<const W: usize>(keys: &[u32; W], x: Key, flip: u32) -> usize {
    index(keys.iter().map(|&key| u32::from((key ^ flip).cast_signed() < x.0.cast_signed())).sum())
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_cmpgt_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi32,
        _mm_xor_si128,
    };

    use super::Key;
    use crate::point::index;

    /// All ones in the lanes of those `keys` that are below `x`.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn compare(keys: &[u32; 4], x: Key, flip: u32) -> __m128i {
        // SAFETY: an unaligned load of 16 bytes, which the reference covers.
        let keys = unsafe { _mm_loadu_si128(std::ptr::from_ref(keys).cast()) };
        let flipped = if flip == 0 { keys } else { _mm_xor_si128(keys, _mm_set1_epi32(flip.cast_signed())) };
        _mm_cmpgt_epi32(_mm_set1_epi32(x.0.cast_signed()), flipped)
    }

    /// How many of 16 sorted keys are below `x`.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn below_16(keys: &[[u32; 4]], x: Key, flip: u32) -> usize {
        let [a, b, c, d] = keys else { unreachable!("sixteen keys are four times four") };
        let low = _mm_packs_epi32(compare(a, x, flip), compare(b, x, flip));
        let high = _mm_packs_epi32(compare(c, x, flip), compare(d, x, flip));
        let mask = _mm_movemask_epi8(_mm_packs_epi16(low, high)).cast_unsigned();
        index(mask.trailing_ones())
    }

    /// How many of 8 sorted keys are below `x`. One pack fewer: two bits of the mask to a key.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn below_8(keys: &[[u32; 4]], x: Key, flip: u32) -> usize {
        let [a, b] = keys else { unreachable!("eight keys are two times four") };
        let mask = _mm_movemask_epi8(_mm_packs_epi32(compare(a, x, flip), compare(b, x, flip))).cast_unsigned();
        index(mask.trailing_ones() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> impl Iterator<Item = [u32; KEYS]> {
        let spread: [u32; KEYS] = std::array::from_fn(|i| (i as u32).wrapping_mul(0x9E37_79B9) >> (i % 7));
        let around: [u32; KEYS] = std::array::from_fn(|i| (1u32 << 31).wrapping_add(i as u32).wrapping_sub(8));
        let ends: [u32; KEYS] = std::array::from_fn(|i| if i < 5 { i as u32 / 2 } else { u32::MAX - (i as u32 % 3) });
        [spread, around, ends, [0; KEYS], [u32::MAX; KEYS], [7; KEYS]].into_iter().map(|mut keys| {
            keys.sort_unstable();
            keys
        })
    }

    fn questions(keys: &[u32]) -> impl Iterator<Item = u32> {
        let near = keys.iter().flat_map(|&key| [key.wrapping_sub(1), key, key.wrapping_add(1)]);
        near.chain([0, 1, (1 << 31) - 1, 1 << 31, u32::MAX]).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn nodes_of_any_length_count_as_a_scan_does() {
        for keys in sets() {
            for len in 0..=KEYS {
                let node = Node::new(keys[..len].iter().copied());
                for x in questions(&keys) {
                    let scan = keys[..len].iter().filter(|&&key| key < x).count();
                    assert_eq!(node.below(Key::new(x)), scan, "{x} among {:?}", &keys[..len]);
                    assert_eq!(below(&node.0, Key::new(x), 0), scan, "the twin: {x} among {:?}", &keys[..len]);
                }
            }
        }
    }

    #[test]
    fn windows_count_as_a_scan_does_and_as_their_twins() {
        for keys in sets() {
            let eight = keys.first_chunk::<8>().unwrap();
            for x in questions(&keys) {
                let scan = keys.partition_point(|&key| key < x);
                assert_eq!(lower_bound_in_16(&keys, 0, x), scan);
                assert_eq!(below(&keys, Key::new(x), 1 << 31), scan);
                assert_eq!(lower_bound_in_8(&keys[..8], 0, x), scan.min(8));
                assert_eq!(below(eight, Key::new(x), 1 << 31), scan.min(8));
            }
        }
    }

    #[test]
    fn windows_find_every_rank_that_they_reach_and_stay_inside() {
        for len in 0..50usize {
            let sorted: Vec<u32> = (0..len as u32).map(|n| n * 80_000_000).collect();
            let unsorted: Vec<u32> = sorted.iter().map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
            for x in questions(&sorted) {
                let rank = sorted.partition_point(|&key| key < x);
                for start in (0..len + 40).chain([usize::MAX]) {
                    if (start..=start.saturating_add(16)).contains(&rank) {
                        assert_eq!(lower_bound_in_16(&sorted, start, x), rank, "{x} from {start} of {len}");
                    }
                    if (start..=start.saturating_add(8)).contains(&rank) {
                        assert_eq!(lower_bound_in_8(&sorted, start, x), rank, "{x} from {start} of {len}");
                    }
                    assert!(lower_bound_in_16(&unsorted, start, x) <= len);
                    assert!(lower_bound_in_8(&unsorted, start, x) <= len);
                }
            }
        }
    }
}
