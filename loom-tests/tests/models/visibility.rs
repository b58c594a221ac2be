//! P2: a publish whose return happens-before a lookup is seen by it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn through_join() {
    check("visibility::through_join", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);

        loom::explore();
        let writers = thread::spawn({
            let ledger = ledger.clone();
            move || {
                for number in 1..=2 {
                    assert!(writer.publish(ledger.version(number)).is_ok());
                }
                writer
            }
        });
        let early = reader.current().read();
        assert!(early <= 2);
        let mut writer = writers.join().unwrap();
        assert_eq!(reader.current().read(), 2, "join is an edge");
        loom::stop_exploring();

        assert!(writer.publish(ledger.version(3)).is_ok());
        assert_eq!(ledger.live(), 2, "a publish reclaims all that nobody holds: version 2 is held, 3 published");
        drop((reader, source, writer));
        assert_eq!(ledger.live(), 0);
    });
}

#[test]
fn through_flag() {
    check("visibility::through_flag", Preemptions { ci: 3, long: 4 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        let returned = Arc::new(AtomicUsize::new(0));

        loom::explore();
        let readers = thread::spawn({
            let returned = Arc::clone(&returned);
            move || {
                // Acquire: pairs with the writer's store, Release; this is the edge that P2 asks for.
                let floor = returned.load(Ordering::Acquire);
                let seen = reader.current().read();
                assert!(seen >= floor, "version {floor} was returned, then version {seen} looked up");
                reader
            }
        });
        for number in 1..=2 {
            assert!(writer.publish(ledger.version(number)).is_ok());
            returned.store(number, Ordering::Release);
        }
        let reader = readers.join().unwrap();
        loom::stop_exploring();

        drop((reader, source, writer));
        assert_eq!(ledger.live(), 0);
    });
}
