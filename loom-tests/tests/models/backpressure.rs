//! P10: whatever a reader in its refresh does, publishes are taken or handed back, the limit holds, and all recovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn backpressure() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refusals);
    check("backpressure", Preemptions { ci: 3, long: 4 }, move || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 1);
        let mut reader = source.reader();
        reader.current();
        reader.park();

        loom::explore();
        let readers = thread::spawn(move || {
            reader.current().read();
            reader
        });
        let mut published = 0;
        for number in 1..=3 {
            match writer.publish(ledger.version(number)) {
                Ok(()) => published = number,
                Err((refused, full)) => {
                    counted.fetch_add(1, Relaxed);
                    assert_eq!((refused.read(), full.in_grace, full.limit), (number, 1, 1));
                    assert_eq!(writer.current().read(), published, "a refused publish changes nothing");
                }
            }
            assert!(writer.counts().in_grace <= 1);
        }
        let mut reader = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        assert_eq!(reader.current().read(), published);
        assert_eq!(writer.ready(), Ok(()));
        writer.reclaim();
        assert_eq!((ledger.live(), writer.counts().in_grace), (1, 0));
        drop((writer, source, reader));
        assert_eq!(ledger.live(), 0);
    });
    assert_ne!(refusals.load(Relaxed), 0, "no interleaving met the limit: nothing was tested");
}
