//! P3, P4, P6 with two readers, whose refreshes and pins meet each other as well as the writer's.

use loom::thread;
use ringway::publish::{Epoch, Publish, Read, Source, Write};
use ringway_loom_tests::{Ledger, Preemptions, check};

fn two_readers(lookups: usize) {
    let ledger = Ledger::default();
    let (mut writer, source) = Epoch::start(ledger.version(0), 4);
    let readers = [source.reader(), source.reader()].map(|mut reader| {
        assert_eq!(reader.current().read(), 0);
        reader
    });

    loom::explore();
    let readers = readers.map(|mut reader| {
        thread::spawn(move || {
            let mut floor = 0;
            for _ in 0..lookups {
                let seen = reader.current().read();
                assert!(seen >= floor, "a version went back: {floor}, then {seen}");
                floor = seen;
            }
            reader
        })
    });
    for number in 1..=2 {
        assert!(writer.publish(ledger.version(number)).is_ok());
    }
    let readers = readers.map(|reader| reader.join().unwrap());
    loom::stop_exploring();

    assert_eq!(ledger.dropped_elsewhere(thread::current().id()), [], "a reader dropped a version");
    drop((readers, writer, source));
    assert_eq!(ledger.live(), 0);
}

/// The most expensive model of all, and the one with two readers that is explored at two preemptions.
#[test]
fn one_lookup_each() {
    check("two_readers::one_lookup_each", Preemptions { ci: 2, long: 3 }, || two_readers(1));
}

#[test]
fn two_lookups_each() {
    check("two_readers::two_lookups_each", Preemptions { ci: 1, long: 2 }, || two_readers(2));
}
