//! P4: a snapshot that a reader took stays what it was, while the reader goes on and the writer publishes; it keeps one
//! version alive and not more.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn held_snapshot() {
    check("held_snapshot", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let readers = thread::spawn(move || {
            let snapshot = reader.snapshot();
            let taken = snapshot.read();
            let seen = reader.current().read();
            assert!(seen >= taken, "a version went back: {taken}, then {seen}");
            assert_eq!(snapshot.read(), taken);
            (reader, snapshot, taken)
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        let (mut reader, snapshot, taken) = readers.join().unwrap();
        loom::stop_exploring();

        // Published over and over, with the reader following: the snapshot is alone with its version.
        for number in 3..=4 {
            assert!(writer.publish(ledger.version(number)).is_ok());
            assert_eq!(reader.current().read(), number);
            writer.reclaim();
            assert_eq!(snapshot.read(), taken);
            assert_eq!((ledger.live(), writer.counts().in_grace), (2, 0), "the snapshot's and the published one");
        }
        drop(snapshot);
        assert_eq!(ledger.live(), 2, "a snapshot is a holder and no owner: the writer drops");
        assert_eq!(writer.reclaim(), 1);
        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        drop((writer, source, reader));
        assert_eq!(ledger.live(), 0);
    });
}
