//! P5, P7: the writer goes while a reader looks up; the reader keeps the last version, and nothing is left at the end.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn writer_first() {
    check("writer_first", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        drop(source);

        loom::explore();
        let readers = thread::spawn(move || {
            let first = reader.current().read();
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
        assert_eq!(ledger.live(), 0);
    });
}
