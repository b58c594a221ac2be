//! The unsafe part of the layouts: unchecked reads inside searches, and prefetches. Part of the unsafe ledger.
//!
//! Each function is safe to call with any arguments: the bound of every unchecked read follows from the loop's own
//! arithmetic, never from a caller's promise.

use std::hint::select_unpredictable;

/// Returns the number of elements of `sorted` that are below `x`.
///
/// A binary search whose steps are conditional moves, not branches: on random queries every branch would be a coin toss
/// (Khuong and Morin, "Array layouts for comparison-based searching", 2017, section 3). Both places that the next step
/// may look at are prefetched, which pays once the array is larger than the cache and costs little below.
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
        prefetch(sorted, base + len / 2);
        prefetch(sorted, base + half + len / 2);
        let probe = base + half - 1;
        debug_assert!(probe < sorted.len());
        // SAFETY: `base + len <= sorted.len()` holds at the start and is kept by the loop (of the `len` elements from
        // `base` on, the step keeps a part), and 1 <= half <= len / 2 (before the subtraction), so probe < base + len.
        let value = unsafe { *sorted.get_unchecked(probe) };
        base += select_unpredictable(value < x, half, 0);
    }
    debug_assert!(base < sorted.len());
    // SAFETY: base + 1 <= sorted.len(), the loop's invariant with len == 1.
    let last = unsafe { *sorted.get_unchecked(base) };
    base + usize::from(last < x)
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
            }
        }
    }
}
