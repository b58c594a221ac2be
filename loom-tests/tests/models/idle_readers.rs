//! P9: nine readers sleep on nine versions and refuse no publish, though the limit is 1; each keeps its version alive
//! until it parks, and the writer then reclaims it.

use loom::thread;
use ringway::publish::{Counts, Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn idle_readers() {
    check("idle_readers", Preemptions { ci: 3, long: 4 }, || {
        const IDLE: usize = 9;
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 1);
        let mut readers: Vec<_> = (0..IDLE).map(|_| source.reader()).collect();
        for (version, reader) in readers.iter_mut().enumerate() {
            assert_eq!(reader.current().read(), version);
            assert!(writer.publish(ledger.version(version + 1)).is_ok());
        }
        assert_eq!(writer.counts(), Counts { live: 10, retired: 9, in_grace: 0 });

        loom::explore();
        let sleepers = thread::spawn(move || {
            // Two wake up to read what they have and let it go; neither pins, so neither can hold up a publish.
            for (version, reader) in readers.iter_mut().enumerate().take(2) {
                assert_eq!(reader.held().expect("a reader holds what it saw").read(), version);
                reader.park();
            }
            readers
        });
        for number in IDLE + 1..=IDLE + 2 {
            assert!(writer.publish(ledger.version(number)).is_ok(), "an idle reader refused version {number}");
            assert_eq!(writer.counts().in_grace, 0, "an idle reader held up a grace period");
        }
        let mut readers = sleepers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        writer.reclaim();
        assert_eq!(writer.counts(), Counts { live: 8, retired: 7, in_grace: 0 });
        assert_eq!(ledger.live(), 8);
        for (version, reader) in readers.iter_mut().enumerate().skip(2) {
            assert_eq!(reader.held().expect("a reader holds what it saw").read(), version);
            reader.park();
            assert_eq!(writer.reclaim(), 1);
        }
        drop((readers, writer, source));
        assert_eq!(ledger.live(), 0);
    });
}
