//! The unsafe part of the layouts: unchecked reads inside searches, prefetches, and advice about pages. Part of the unsafe ledger, as all of this folder.
//!
//! Each function is safe to call with any arguments: the bound of every unchecked read follows from the loop's own
//! arithmetic, never from a caller's promise.

pub(crate) mod line;
pub(crate) mod pages;
pub(crate) mod s_tree;

use std::hint::select_unpredictable;

/// Returns the number of elements of `sorted` that are below `x`.
///
/// A binary search whose steps are conditional moves, not branches: on random queries every branch would be a coin toss
/// (Khuong and Morin, "Array layouts for comparison-based searching", 2017, section 3). Not prefetching: asking for both
/// places that the next step may look at, as they do, gained nothing at 1e3 to 1.6e7 points on a Xeon (Sapphire Rapids,
/// 2026-11-30) and cost 5 to 10 % of the throughput from 1e6 on.
///
/// For an array that isn't sorted the result is some number in `0..=sorted.len()`.
#[inline(always)]
pub(crate) fn lower_bound(sorted: &[u32], x: u32) -> usize {
    let mut base = 0;
    let mut len = sorted.len();
    if len == 0 {
        return 0;
    }
    while len > 1 {
        let half = len / 2;
        len -= half;
        base = step(sorted, base, half, x);
    }
    last_step(sorted, base, x)
}

/// One step of a branchless search: `base + half` if the element there is below `x`, else `base`.
///
/// The sum is at hand before the element is, so a step is a load, a compare and a conditional move. (Adding a
/// conditional 0 or `half` to `base` instead was slower by 10 to 15 %.)
#[inline(always)]
fn step(sorted: &[u32], base: usize, half: usize, x: u32) -> usize {
    let middle = base + half;
    debug_assert!(middle < sorted.len());
    // SAFETY: `base + len <= sorted.len()` holds at the start of each search and is kept by its loop (of the `len`
    // elements from `base` on, a step keeps a part); the callers in this file pass 1 <= half < len.
    let value = unsafe { *sorted.get_unchecked(middle) };
    select_unpredictable(value < x, middle, base)
}

/// The end of a search that has one element left.
#[inline(always)]
fn last_step(sorted: &[u32], base: usize, x: u32) -> usize {
    debug_assert!(base < sorted.len());
    // SAFETY: as in `step`, with len == 1: base + 1 <= sorted.len().
    let value = unsafe { *sorted.get_unchecked(base) };
    base + usize::from(value < x)
}

/// Descends an Eytzinger array and returns the 1-based tree position of the first element that isn't below `x`, or 0 if
/// all are below.
///
/// `tree[0]` is padding, `tree[1]` the root, and the children of `k` are `2k` and `2k + 1`. The descent ends below a
/// leaf; the last turn to the left is the answer, and it is read off the path, which the position's bits are: shift out
/// the trailing ones (turns to the right) and the one zero before them.
///
/// Sixteen 4-byte elements make one 64-byte line, and the 16 descendants of `k` four levels down are neighbours (`16k ..
/// 16k + 16`), so one prefetch fetches all that the fifth next step can need (Khuong and Morin 2017, section 4).
#[inline(always)]
pub(crate) fn eytzinger_lower_bound(tree: &[u32], x: u32) -> usize {
    let mut k = 1;
    while k < tree.len() {
        prefetch(tree, 16 * k);
        debug_assert!(k < tree.len());
        // SAFETY: the loop's condition.
        let value = unsafe { *tree.get_unchecked(k) };
        k = 2 * k + usize::from(value < x);
    }
    k >> (k.trailing_ones() + 1)
}

/// How many searches a batch has under way at a time.
///
/// Enough loads to hide each other behind, few enough that their places stay in registers and the first-level cache. Other
/// numbers were not measured.
pub(crate) const LANES: usize = 16;

/// [`lower_bound`] of each of `xs`, level by level, so that the memory loads of all of them are in flight together.
///
/// Every search of one array takes the same steps, so one loop serves all: only the place differs.
#[inline(always)]
pub(crate) fn lower_bounds(sorted: &[u32], xs: &[u32; LANES]) -> [usize; LANES] {
    let mut bases = [0; LANES];
    let mut len = sorted.len();
    if len == 0 {
        return bases;
    }
    // No prefetches: the loads of the other lanes are what this one's latency is spent on.
    while len > 1 {
        let half = len / 2;
        len -= half;
        for (base, &x) in bases.iter_mut().zip(xs) {
            *base = step(sorted, *base, half, x);
        }
    }
    for (base, &x) in bases.iter_mut().zip(xs) {
        *base = last_step(sorted, *base, x);
    }
    bases
}

/// [`eytzinger_lower_bound`] of each of `xs`, level by level.
#[inline(always)]
pub(crate) fn eytzinger_lower_bounds(tree: &[u32], xs: &[u32; LANES]) -> [usize; LANES] {
    let mut places = [1; LANES];
    // A tree of n elements (tree.len() is n + 1) has floor(log2(n + 1)) full levels and perhaps a part of one more.
    let full_levels = tree.len().checked_ilog2().unwrap_or(0);
    for _ in 0..full_levels {
        for (k, &x) in places.iter_mut().zip(xs) {
            debug_assert!(*k < tree.len());
            // SAFETY: before the i-th step (from 0) k < 2^(i + 1), and i + 1 <= floor(log2(tree.len())).
            let value = unsafe { *tree.get_unchecked(*k) };
            *k = 2 * *k + usize::from(value < x);
        }
    }
    for (k, &x) in places.iter_mut().zip(xs) {
        if let Some(&value) = tree.get(*k) {
            *k = 2 * *k + usize::from(value < x);
        }
        *k >>= k.trailing_ones() + 1;
    }
    places
}

/// Asks for the cache line of `slice[index]`. Any index is allowed; beyond the end it is a hint for nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    let place = slice.as_ptr().wrapping_add(index);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: a prefetch doesn't access memory as far as the program can tell, and never faults, whatever the
        // address; SSE is part of x86-64.
        unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bound_of_any_slice_stays_inside() {
        for len in 0..70u32 {
            let unsorted: Vec<u32> = (0..len).map(|n| n.wrapping_mul(2_654_435_761)).collect();
            let mut sorted = unsorted.clone();
            sorted.sort_unstable();
            for x in sorted.iter().flat_map(|&p| [p.wrapping_sub(1), p, p.wrapping_add(1)]).chain([0, u32::MAX]) {
                assert_eq!(lower_bound(&sorted, x), sorted.iter().filter(|&&p| p < x).count());
                assert!(lower_bound(&unsorted, x) <= unsorted.len());
                assert!(eytzinger_lower_bound(&unsorted, x) <= unsorted.len());
                let xs = std::array::from_fn(|lane| x.wrapping_add(lane as u32 * 0x1000_0001));
                assert_eq!(lower_bounds(&sorted, &xs), xs.map(|x| lower_bound(&sorted, x)));
                assert_eq!(lower_bounds(&unsorted, &xs), xs.map(|x| lower_bound(&unsorted, x)));
                let found = eytzinger_lower_bounds(&unsorted, &xs);
                assert_eq!(found, xs.map(|x| eytzinger_lower_bound(&unsorted, x)));
            }
        }
    }
}
