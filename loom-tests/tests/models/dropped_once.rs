//! P5: each version is dropped once, and none is left, with the last holder on whatever thread.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn dropped_once() {
    check("dropped_once", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        drop(source);

        loom::explore();
        let readers = thread::spawn(move || {
            let first = reader.snapshot();
            let second = reader.snapshot();
            drop(reader);
            assert!(first.read() <= second.read());
            drop(first);
            second.read();
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        let last = writer.snapshot();
        drop(writer);
        readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(last.read(), 2);
        drop(last);
        let mut dropped = ledger.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [0, 1, 2], "each version once");
    });
}
