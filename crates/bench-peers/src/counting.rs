//! An allocator that counts the bytes in use, and the most there were. Bytes as asked for, without the allocator's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts and passes on to [`System`].
#[derive(Debug)]
pub struct Counting;

// Relaxed: figures, which order nothing. A load and a store, not `fetch_add`: there is one thread, and a locked
// instruction would charge peers that allocate in a lookup for our counting.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes in use.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Runs `f` and returns by how many bytes what is in use grew at most on the way.
pub fn peak_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = live();
    PEAK.store(before, Ordering::Relaxed);
    let result = f();
    (result, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

fn grown(bytes: usize) {
    let live = live().wrapping_add(bytes);
    LIVE.store(live, Ordering::Relaxed);
    if live > PEAK.load(Ordering::Relaxed) {
        PEAK.store(live, Ordering::Relaxed);
    }
}

fn shrunk(bytes: usize) {
    LIVE.store(live().wrapping_sub(bytes), Ordering::Relaxed);
}

// SAFETY: all calls go to `System` with the arguments they came with; counting doesn't allocate or unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        shrunk(layout.size());
        // SAFETY: `ptr` came from `System` with this layout, as all blocks of this allocator do.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        shrunk(layout.size());
        grown(new_size);
        // SAFETY: `ptr` came from `System` with this layout, and the caller answers for `new_size`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}
