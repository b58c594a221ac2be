//! P12: a reader works on one thread, moves to another and works there, while the writer publishes. What the collector
//! keeps for it without atomics goes along.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn moved_reader() {
    check("moved_reader", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let first = thread::spawn(move || {
            let before = reader.current().read();
            thread::spawn(move || {
                let after = reader.current().read();
                assert!(after >= before, "a version went back in the move: {before}, then {after}");
                reader
            })
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
        }
        let mut reader = first.join().unwrap().join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        assert_eq!(reader.current().read(), 2, "join is an edge");
        drop((writer, source, reader));
        assert_eq!(ledger.live(), 0);
    });
}
