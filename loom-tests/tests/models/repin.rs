//! Why readers don't stay pinned and `repin`: a litmus on crossbeam-epoch alone, with none of ringway's code.
//!
//! The idea looks good. A reader that pins once and moves its pin along with `Guard::repin` pays two loads a lookup and
//! no read-modify-write. But `repin` stores the new epoch without a fence after it, so a later load may be answered from
//! before the store. In the C11 model, then, a reader may count as pinned in the new epoch and still load the value that
//! was retired in the old one; the writer sees two epochs pass and frees it under the reader. The first model finds that
//! use after free. The second has a SeqCst fence after `repin`, and finds nothing; but the fence costs what a pin does.

use crossbeam_epoch::{Collector, LocalHandle};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread;
use ringway_loom_tests::{Ledger, Preemptions, check};

/// What is published is the index of a version. They all live to the end, and what would free one poisons it instead, so
/// that the fault that is looked for stays defined behaviour of the test.
fn stay_pinned(after_repin: fn()) {
    let ledger = Ledger::default();
    let collector = Collector::new();
    let versions = Arc::new([0, 1, 2].map(|number| ledger.version(number)));
    let current = Arc::new(AtomicUsize::new(0));
    let (reader, writer) = (Registered(collector.register()), collector.register());
    drop((reader.0.pin(), writer.pin()));

    loom::explore();
    let readers = thread::spawn({
        let (current, versions) = (Arc::clone(&current), Arc::clone(&versions));
        move || {
            let reader = reader;
            let mut pin = reader.0.pin();
            for _ in 0..2 {
                pin.repin();
                after_repin();
                versions[current.load(Ordering::Acquire)].read();
            }
            drop(pin);
            reader
        }
    });
    for number in 1..=2 {
        let retired = current.swap(number, Ordering::AcqRel);
        let versions = Arc::clone(&versions);
        let pin = writer.pin();
        pin.defer(move || versions[retired].poison());
        pin.flush();
        drop(pin);
        writer.pin().flush();
        writer.pin().flush();
    }
    let reader = readers.join().unwrap();
    loom::stop_exploring();

    drop((reader, writer, collector));
}

struct Registered(LocalHandle);

// SAFETY: moved while unpinned, and used by one thread at a time; see `Pinner` in `publish::epoch`.
unsafe impl Send for Registered {}

#[test]
#[should_panic(expected = "Causality violation")]
fn use_after_free() {
    check("repin::use_after_free", Preemptions { ci: 3, long: 4 }, || stay_pinned(|| {}));
}

#[test]
fn repaired_by_a_fence() {
    check("repin::repaired_by_a_fence", Preemptions { ci: 3, long: 4 }, || stay_pinned(|| fence(Ordering::SeqCst)));
}
