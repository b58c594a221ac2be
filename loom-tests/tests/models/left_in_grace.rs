//! P5, P7, P8: the writer goes while others are in a refresh, and leaves versions in their grace period. The participants
//! that go later drop them, each once and unpinned.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn behind_a_stall() {
    check("left_in_grace::behind_a_stall", Preemptions { ci: 2, long: 3 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        let mut stall = source.stall();
        drop(source);

        loom::explore();
        let writers = thread::spawn({
            let ledger = ledger.clone();
            move || {
                for number in 1..=2 {
                    assert!(writer.publish(ledger.version(number)).is_ok());
                }
                drop(writer);
            }
        });
        stall.resume();
        let kept = reader.snapshot();
        let taken = kept.read();
        writers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(reader.current().read(), 2, "the last version stays published");
        drop(stall);
        let live = 1 + usize::from(taken != 2);
        assert_eq!(ledger.live(), live, "what the writer left went with the first participant, but for what is held");
        assert_eq!(kept.read(), taken);
        drop(kept);
        drop(reader);
        let mut dropped = ledger.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [0, 1, 2], "each version once");
    });
}

/// A new participant runs the writer's closures in its first pin, while the writer decides what it must leave behind.
#[test]
fn beside_a_new_participant() {
    check("left_in_grace::beside_a_new_participant", Preemptions { ci: 2, long: 3 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut stall = source.stall();
        assert!(writer.publish(ledger.version(1)).is_ok());
        assert_eq!(writer.counts().in_grace, 1);
        let mut late = source.reader();
        stall.resume();

        loom::explore();
        let readers = thread::spawn(move || {
            late.current().read();
            late
        });
        drop(writer);
        let late = readers.join().unwrap();
        loom::stop_exploring();

        drop((stall, source, late));
        let mut dropped = ledger.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [0, 1], "each version once");
    });
}
