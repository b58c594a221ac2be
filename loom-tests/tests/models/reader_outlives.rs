//! P5, P7: the writer and all sources go while a reader works; the reader goes on with the last version, and a snapshot
//! of it outlives the reader too.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn reader_outlives() {
    check("reader_outlives", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let readers = thread::spawn(move || {
            let snapshot = reader.snapshot();
            let taken = snapshot.read();
            drop(reader); // with whatever of the ring is left to it
            assert_eq!(snapshot.read(), taken);
            (snapshot, taken)
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        drop(writer);
        drop(source);
        let (snapshot, taken) = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(snapshot.read(), taken);
        assert_eq!(ledger.live(), 1, "the ring is gone, the snapshot is not");
        drop(snapshot);
        assert_eq!(ledger.live(), 0);
    });
}
