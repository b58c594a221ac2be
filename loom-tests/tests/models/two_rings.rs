//! P3, P10 of two publishers in one process: their values don't mix, and a reader stopped in a refresh of the one holds up
//! no grace period of the other, as each has a collector of its own.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn two_rings() {
    check("two_rings", Preemptions { ci: 3, long: 4 }, || {
        let ledgers = [Ledger::default(), Ledger::default()];
        let (mut writer, source) = Epoch::start(ledgers[0].version(0), 4);
        // The other ring's versions have other numbers, and its limit is what a stall would exhaust.
        let (mut other_writer, other_source) = Epoch::start(ledgers[1].version(10), 1);
        let (mut reader, mut other_reader) = (source.reader(), other_source.reader());
        assert_eq!((reader.current().read(), other_reader.current().read()), (0, 10));

        let stall = source.stall();
        loom::explore();
        let readers = thread::spawn(move || {
            let (mine, other) = (reader.current().read(), other_reader.current().read());
            assert!(mine <= 1 && (10..=11).contains(&other), "the rings mix: {mine} and {other}");
            (reader, other_reader)
        });
        assert!(writer.publish(ledgers[0].version(1)).is_ok());
        assert!(other_writer.publish(ledgers[1].version(11)).is_ok());
        let (mut reader, mut other_reader) = readers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(writer.counts().in_grace, 1, "the stalled ring waits");
        for number in 12..=14 {
            assert!(
                other_writer.publish(ledgers[1].version(number)).is_ok(),
                "the other ring's stall stopped this one"
            );
            assert_eq!((reader.current().read(), other_reader.current().read()), (1, number));
        }
        other_writer.reclaim();
        assert_eq!((other_writer.counts().in_grace, ledgers[1].live()), (0, 1));
        drop(stall);
        writer.reclaim();
        assert_eq!((writer.counts().in_grace, ledgers[0].live()), (0, 1));
        for ledger in &ledgers {
            assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
        }
        drop((writer, source, reader, other_writer, other_source, other_reader));
        assert!(ledgers.iter().all(|ledger| ledger.live() == 0));
    });
}
