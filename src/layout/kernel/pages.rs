//! Huge pages for large memory. Part of the unsafe ledger.
//!
//! A lookup in a large ring reads one line at a random place, and what it waits for longest is often not the line but the
//! page tables, which pages of 4 KiB make too large for the caches; in a virtual machine there are two of them. Pages of
//! 2 MiB are 512 times fewer. Linux gives them to those who ask (`madvise`, where
//! `/sys/kernel/mm/transparent_hugepage/enabled` says so or `always`), and may refuse; then everything is as before.
//!
//! The line with 1,000,000 points, ns dependent / independent / batch: 727 / 37.9 / 29.1 without, 174 / 18.2 / 13.0 with
//! them; a commit of one node to 16,000,000 points 88 ms without, 40 with them (Xeon, Sapphire Rapids, virtual machine,
//! other work beside it, 2026-11-30; without and with by the C library's tunable `glibc.malloc.hugetlb`).

/// The size of a huge page, and what one begins at a multiple of.
#[cfg(all(target_os = "linux", not(miri)))]
const HUGE: usize = 2 << 20;

/// The first advice is for pages that are still to come. The second, of Linux 6.1 and later, exchanges those that memory
/// has which the allocator gives out once more; up to 32 MiB that is the rule. What has huge pages keeps them.
///
/// Asks for huge pages for the huge pages' worth of memory that `memory` has, filled or not; of less than two such pages
/// for none, as the rounding would leave little of them.
pub(crate) fn ask_for_huge<E>(memory: &mut Vec<E>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let bytes = memory.capacity() * size_of::<E>();
        if bytes < 2 * HUGE {
            return;
        }
        let start = memory.as_mut_ptr().cast::<u8>();
        let pad = start.align_offset(HUGE);
        let whole = bytes.saturating_sub(pad) / HUGE * HUGE;
        debug_assert!(whole == 0 || pad + whole <= bytes);
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_COLLAPSE] {
            // SAFETY: a range inside the vector's own allocation, by the line above. The advice changes neither what is in
            // it nor what may be done with it, and a refusal nothing at all.
            unsafe { libc::madvise(start.wrapping_add(pad).cast(), whole, advice) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes before, asks, writes after: nothing is lost, for memory from nothing to many pages and of elements of any
    /// size.
    #[test]
    fn asking_changes_no_byte() {
        for len in [0, 1, 1000, (4 << 20) / 12 - 1, (4 << 20) / 12 + 1, 1 << 20] {
            let mut memory: Vec<[u32; 3]> = Vec::with_capacity(len);
            memory.extend((0..len as u32 / 2).map(|n| [n, n + 1, n + 2]));
            ask_for_huge(&mut memory);
            memory.extend((len as u32 / 2..len as u32).map(|n| [n, n + 1, n + 2]));
            assert!((0..).zip(&memory).all(|(n, found)| *found == [n, n + 1, n + 2]));
            assert_eq!(memory.len(), len);
        }
        ask_for_huge(&mut vec![(); 1 << 40]);
    }

    /// The kernel's own list says which memory it was told about.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn the_kernel_is_asked_for_large_memory_only() {
        let flags = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
            let mut inside = false;
            for line in maps.lines() {
                let range = line.split(' ').next().and_then(|range| range.split_once('-'));
                if let Some((from, to)) = range
                    && let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
                {
                    inside = (from..to).contains(&address);
                }
                if inside && line.starts_with("VmFlags:") {
                    return Some(line.to_owned());
                }
            }
            None
        };
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            println!("this kernel has no such pages");
            return;
        }
        for (bytes, asked) in [(64 << 20, true), (1 << 20, false)] {
            let mut memory: Vec<u8> = Vec::with_capacity(bytes);
            ask_for_huge(&mut memory);
            let Some(flags) = flags(memory.as_ptr().addr() + bytes / 2) else { continue };
            assert_eq!(flags.split(' ').any(|flag| flag == "hg"), asked, "{bytes} bytes: {flags}");
        }
    }
}
