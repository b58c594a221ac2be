//! What a commit does when memory for points or index can't be had: each large allocation is refused once.

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

use ringway::layout::{Auto, Bucket, Eytzinger, Layout, Line, STree, Sorted};
use ringway::{CommitError, Delta, DeltaError, Limits, Native, NodeSpec, Ring, Table};

/// Blocks from here on may be refused: in these tests, points and indexes.
const LARGE_BYTES: usize = 1 << 17;

thread_local! {
    /// How many large blocks this thread still gets; one is refused then.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Refuses one large block.
struct Miser;

// SAFETY: hands everything on to `System` unchanged, or gives null, which an allocator may do.
unsafe impl GlobalAlloc for Miser {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        let left = if memory.size() < LARGE_BYTES { None } else { LEFT.try_with(Cell::get).ok().flatten() };
        if let Some(left) = left {
            LEFT.set(left.checked_sub(1));
            if left == 0 {
                return std::ptr::null_mut();
            }
        }
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, block: *mut u8, memory: Memory) {
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System` through `alloc`.
        unsafe { System.dealloc(block, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Miser = Miser;

/// Runs `f` with the large block after `granted` others refused; whether it came to that, and what `f` gave.
fn refusing<R>(granted: u64, f: impl FnOnce() -> R) -> (bool, R) {
    LEFT.set(Some(granted));
    let result = f();
    (LEFT.take().is_none(), result)
}

/// Refuses each large block of a build, and of a commit that finds no memory to work in.
fn every_large_block_may_be_refused<L: Layout<u32>>(at_least: u64) {
    let nodes = || (0..300).map(|n| NodeSpec::new(format!("n{n}")));
    let build = || Table::<(), Native, L>::build(Native::new(), nodes(), &Limits::DEFAULT);
    let mut granted = 0;
    loop {
        match refusing(granted, build) {
            (true, Err(DeltaError::OutOfMemory { points })) => assert_eq!(points, 300 * 512),
            (true, Ok(table)) => assert_eq!(table.len(), 300 * 512, "what can be done without"),
            (false, Ok(table)) => break assert_eq!(table.len(), 300 * 512),
            (refused, other) => panic!("{}: {granted} granted, refused {refused}: {other:?}", L::NAME),
        }
        granted += 1;
    }
    assert!(granted >= at_least, "{}: a build asked for {granted} large blocks only", L::NAME);

    let (mut writer, handle) = Ring::builder().layout::<L>().nodes(nodes()).build().expect("memory enough");
    let mut reader = handle.reader();
    let mut granted = 0;
    loop {
        writer.reclaim();
        let delta = Delta::new().add(NodeSpec::new("new"));
        match refusing(granted, || writer.commit(delta)) {
            (true, Err(CommitError::Invalid { error: DeltaError::OutOfMemory { .. }, delta })) => {
                assert_eq!(delta.len(), 1, "the batch comes back");
                assert_eq!((writer.version(), reader.table().len()), (1, 300 * 512));
            }
            (false, Ok(report)) => break assert_eq!(report.points, 301 * 512),
            (refused, other) => panic!("{}: {granted} granted, refused {refused}: {other:?}", L::NAME),
        }
        granted += 1;
    }
    assert!(granted >= at_least, "{}: a commit asked for {granted} large blocks only", L::NAME);
    writer.table().validate().expect("the table is whole");
}

#[test]
fn no_memory_for_points() {
    every_large_block_may_be_refused::<Sorted<u32>>(2);
}

#[test]
fn no_memory_for_an_index() {
    every_large_block_may_be_refused::<Line<u32>>(3);
    every_large_block_may_be_refused::<Auto<u32>>(3);
    every_large_block_may_be_refused::<Eytzinger<u32>>(5);
    every_large_block_may_be_refused::<Bucket<u32>>(3);
    every_large_block_may_be_refused::<STree<u32>>(2);
}
