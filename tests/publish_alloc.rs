//! What the ends of a publisher ask of the allocator, counted per thread; cited by `ringway::publish`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;

use ringway::publish::{Epoch, Publish, Read, Source, Write};

/// Frees of blocks at least this large are counted apart: only values have such.
const TABLE_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Calls {
    allocations: u64,
    frees: u64,
    table_frees: u64,
}

thread_local!(static CALLS: Cell<Calls> = const { Cell::new(Calls { allocations: 0, frees: 0, table_frees: 0 }) });

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
        count(|calls| calls.allocations += 1);
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(|calls| {
            calls.frees += 1;
            calls.table_frees += u64::from(layout.size() >= TABLE_BYTES);
        });
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System` through `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocator calls that `f` makes on this thread.
fn calls<R>(f: impl FnOnce() -> R) -> (R, Calls) {
    let before = CALLS.get();
    let result = f();
    let after = CALLS.get();
    let calls = Calls {
        allocations: after.allocations - before.allocations,
        frees: after.frees - before.frees,
        table_frees: after.table_frees - before.table_frees,
    };
    (result, calls)
}

fn table(version: u8) -> Box<[u8]> {
    vec![version; TABLE_BYTES].into()
}

#[test]
fn the_counter_counts() {
    let (_, made) = calls(|| drop(table(0)));
    assert_eq!(made, Calls { allocations: 1, frees: 1, table_frees: 1 });
}

#[test]
fn a_hit_calls_no_allocator() {
    let (mut writer, source) = Epoch::start(table(0), 4);
    let mut reader = source.reader();
    reader.current();
    let (sum, made) = calls(|| (0..1_000_000).map(|i| u64::from(reader.current()[i % TABLE_BYTES])).sum::<u64>());
    assert_eq!((sum, made), (0, Calls::default()));
    writer.publish(table(1)).unwrap();
    reader.current();
    let (sum, made) = calls(|| (0..1_000_000).map(|_| u64::from(reader.snapshot()[0])).sum::<u64>());
    assert_eq!((sum, made), (1_000_000, Calls::default()));
}

#[test]
fn a_refresh_frees_no_value() {
    let (mut writer, source) = Epoch::start(table(0), 64);
    let (ask, asked) = mpsc::sync_channel::<u8>(1);
    let (answer, answered) = mpsc::sync_channel::<()>(1);
    let stalls = source.clone();
    let reader = thread::spawn(move || {
        let mut reader = source.reader();
        let (mut total, mut most) = (Calls::default(), 0);
        for version in asked {
            // Parking makes each lookup a refresh; in every 128th the collector works on this thread.
            for _ in 0..512 {
                reader.park();
                let (seen, made) = calls(|| reader.current()[0]);
                assert_eq!(seen, version);
                total.frees += made.frees;
                total.table_frees += made.table_frees;
                most = most.max(made.allocations + made.frees);
            }
            answer.send(()).unwrap();
        }
        (total, most)
    });
    for round in 0..200_u8 {
        // Leaves the end of these grace periods to the reader, together with the collector's own garbage.
        let stall = stalls.stall();
        for version in [round.wrapping_sub(1); 8].into_iter().chain([round]) {
            writer.publish(table(version)).unwrap();
        }
        drop(stall);
        ask.send(round).unwrap();
        answered.recv().unwrap();
    }
    drop(ask);
    let (total, most) = reader.join().unwrap();
    println!("{total:?}, at most {most} calls in a refresh");
    assert_eq!(total.table_frees, 0);
    assert!(total.frees > 0, "the reader did none of the collector's work: nothing was tested");
    // A pin collects at most 8 bags of at most 64 functions, each of which frees one of the collector's records.
    assert!(most <= 8 * 64, "{most} allocator calls in a refresh");
}

#[test]
fn a_publish_allocates_the_value_and_one_bag() {
    const PUBLISHES: u64 = 1_000;
    let (mut writer, source) = Epoch::start(0_u64, 4);
    let mut reader = source.reader();
    for version in 1..100 {
        reader.current();
        writer.publish(version).unwrap();
    }
    let (_, made) = calls(|| {
        for version in 0..PUBLISHES {
            writer.publish(version).unwrap();
        }
    });
    println!("{made:?} in {PUBLISHES} publishes");
    // The `Arc`, the queue node of the bag with our closure, and one more for every 64 of these nodes' own drops. A third
    // per publish would mean that the closure has outgrown the bag's inline words.
    let expected = 2 * PUBLISHES..=2 * PUBLISHES + PUBLISHES / 32;
    assert!(expected.contains(&made.allocations), "{made:?}");
    assert!(expected.contains(&made.frees), "{made:?}");
}
