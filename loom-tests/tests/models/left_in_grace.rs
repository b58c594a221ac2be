//! P5, P7: the writer goes while a reader is stopped in its refresh, and leaves versions in their grace period. The
//! participants that go later drop them, each once.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

#[test]
fn left_in_grace() {
    check("left_in_grace", Preemptions { ci: 2, long: 3 }, || {
        let ledger = Ledger::default();
        let (mut writer, source) = Epoch::start(ledger.version(0), 4);
        let mut reader = source.reader();
        assert_eq!(reader.current().read(), 0);
        // Not made anew below, so that it is the stall's pin alone that holds up the grace periods.
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
        reader.current().read();
        writers.join().unwrap();
        loom::stop_exploring();

        assert_eq!(reader.current().read(), 2, "the last version stays published");
        drop(stall);
        assert_eq!(ledger.live(), 1, "what the writer left went with the first participant that went");
        drop(reader);
        let mut dropped = ledger.dropped();
        dropped.sort_unstable();
        assert_eq!(dropped, [0, 1, 2], "each version once");
    });
}
