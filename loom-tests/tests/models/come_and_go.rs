//! P3, P5, P6: participants that register and unregister beside publishes.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn a_snapshot_beside_publishes() {
    check("come_and_go::a_snapshot_beside_publishes", Preemptions { ci: 2, long: 3 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);

        loom::explore();
        let snapshots = thread::spawn({
            let source = source.clone();
            move || {
                let snapshot = source.snapshot();
                snapshot.read();
                snapshot
            }
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        let snapshot = snapshots.join().unwrap();
        loom::stop_exploring();

        snapshot.read();
        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a participant dropped a version");
        drop((writer, source, snapshot));
        assert_eq!(ledger.live(), 0);
    });
}

#[test]
fn a_reader_goes_beside_publishes() {
    check("come_and_go::a_reader_goes_beside_publishes", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let readers = thread::spawn(move || {
            reader.current().read();
            drop(reader);
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        writer.reclaim();
        assert_eq!(ledger.live(), 1);
        drop((writer, source));
        assert_eq!(ledger.live(), 0);
    });
}

#[test]
fn the_reader_goes_as_the_writer_does() {
    check("come_and_go::the_reader_goes_as_the_writer_does", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        drop(source);

        loom::explore();
        let readers = thread::spawn(move || {
            reader.current().read();
            drop(reader);
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        drop(writer);
        readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.live(), 0, "with the last handle, whichever thread had it");
    });
}
