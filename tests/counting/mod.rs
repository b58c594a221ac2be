//! An allocator that counts its calls, per thread: for test binaries of their own, as it is the global one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Blocks at least this large are counted apart: in these tests only tables and other published values have such.
pub const LARGE_BYTES: usize = 1 << 16;

/// How often the allocator was called, for how much.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    pub allocations: u64,
    pub bytes: u64,
    pub frees: u64,
    pub large_frees: u64,
}

thread_local!(static CALLS: Cell<Calls> = const { Cell::new(Calls { allocations: 0, bytes: 0, frees: 0, large_frees: 0 }) });

fn count(f: impl FnOnce(&mut Calls)) {
    // A thread that is going has no more cell, and nothing here is counted then.
    let _ = CALLS.try_with(|calls| {
        let mut now = calls.get();
        f(&mut now);
        calls.set(now);
    });
}

struct Counting;

// SAFETY: hands everything on to `System` unchanged; counting allocates nothing, as the cell is const and has no `Drop`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|calls| {
            calls.allocations += 1;
            calls.bytes += layout.size() as u64;
        });
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(|calls| {
            calls.frees += 1;
            calls.large_frees += u64::from(layout.size() >= LARGE_BYTES);
        });
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System` through `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `f`, and says which allocator calls it made on this thread.
pub fn calls<R>(f: impl FnOnce() -> R) -> (R, Calls) {
    let before = CALLS.get();
    let result = f();
    let after = CALLS.get();
    let calls = Calls {
        allocations: after.allocations - before.allocations,
        bytes: after.bytes - before.bytes,
        frees: after.frees - before.frees,
        large_frees: after.large_frees - before.large_frees,
    };
    (result, calls)
}

#[test]
fn the_counter_counts() {
    let (_, made) = calls(|| drop(std::hint::black_box(vec![0u8; 1000])));
    assert_eq!(made, Calls { allocations: 1, bytes: 1000, frees: 1, large_frees: 0 });
    let (_, made) = calls(|| drop(std::hint::black_box(vec![0u8; LARGE_BYTES])));
    assert_eq!(made, Calls { allocations: 1, bytes: LARGE_BYTES as u64, frees: 1, large_frees: 1 });
    let (_, made) = calls(|| std::hint::black_box(1 + 1));
    assert_eq!(made, Calls::default());
}
