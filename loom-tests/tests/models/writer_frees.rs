//! P6: while the writer lives, it alone drops versions, whatever readers and snapshots do: look up, keep, park, go.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn writer_frees() {
    check("writer_frees", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let readers = thread::spawn(move || {
            let kept = reader.snapshot();
            reader.park();
            kept.read();
            drop(kept); // often the last holder, never the last owner
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
        assert_eq!((ledger.live(), writer.counts().live), (1, 1), "nobody holds an old version any more");
        drop((writer, source));
        assert_eq!(ledger.live(), 0);
    });
}
