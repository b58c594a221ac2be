//! P3, P4, P6: across publishes, a reader sees whole versions that never go back, and drops none.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn cached_lookup() {
    check("cached_lookup", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

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
        let mut reader = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        let held = reader.held().map(|version| version.read());
        assert_eq!(reader.current().read(), 2, "join is an edge");
        writer.reclaim();
        assert_eq!(writer.counts().in_grace, 0);
        assert_eq!(ledger.live(), 1, "the reader held {held:?} and let it go");
        drop((writer, source, reader));
        assert_eq!(ledger.live(), 0);
    });
}
