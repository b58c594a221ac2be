//! The publisher through arc-swap, as it ships, on a mock cell: arc-swap itself can't run under loom (see `arc-swap/`).
//! P2 to P7, as far as they are ringway's to keep.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use ringway::publish::{ArcSwap, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn lookups_beside_publishes() {
    check("arc_swap::lookups_beside_publishes", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = ArcSwap::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        let returned = Arc::new(AtomicUsize::new(0));

        loom::explore();
        let readers = thread::spawn({
            let returned = Arc::clone(&returned);
            move || {
                let snapshot = reader.snapshot();
                let taken = snapshot.read();
                // Acquire: pairs with the store below, Release; the edge that P2 asks for.
                let floor = returned.load(Ordering::Acquire).max(taken);
                let seen = reader.current().read();
                assert!(seen >= floor, "version {floor} was returned or seen, then version {seen} looked up");
                assert_eq!(snapshot.read(), taken);
                reader
            }
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
            returned.store(number, Ordering::Release);
        }
        let mut reader = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        assert_eq!(reader.current().read(), 2, "join is an edge");
        writer.reclaim();
        assert_eq!((ledger.live(), writer.counts().live), (1, 1));
        drop((writer, source, reader));
        assert_eq!(ledger.live(), 0);
    });
}

#[test]
fn the_writer_goes() {
    check("arc_swap::the_writer_goes", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = ArcSwap::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        drop(source);

        loom::explore();
        let readers = thread::spawn(move || {
            let first = reader.current().read();
            reader.park();
            let second = reader.current().read();
            assert!(first <= second, "a version went back: {first}, then {second}");
            reader
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        drop(writer);
        let mut reader = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(reader.current().read(), 2, "the last version stays published");
        drop(reader);
        let mut dropped = ledger.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [0, 1, 2], "each version once");
    });
}
