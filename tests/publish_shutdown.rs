//! Who drops what when the ends of a publisher go, in any order and by any exit; cited by `ringway::publish`.

mod tally;

use std::panic;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use ringway::publish::{Counts, Epoch, Publish, Read, Source, Write};
use tally::{Tally, Tracked, rounds};

for_every_publisher!(
    every_order_of_dropping_leaves_nothing,
    the_last_holder_drops_after_the_writer,
    the_writer_goes_while_readers_run,
    a_panicking_reader_stops_nobody,
    a_reader_in_a_thread_local_goes_with_its_thread,
);

fn publish(writer: &mut impl Write<Tracked>, tally: &Tally, version: u64) {
    if let Err((_, refused)) = writer.publish(tally.value(version)) {
        panic!("version {version}: {refused}");
    }
}

/// All orders of `0..N`, by Heap's algorithm (1963).
fn permutations<const N: usize>() -> Vec<[usize; N]> {
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    let mut all = vec![order];
    let (mut counters, mut i) = ([0; N], 1);
    while i < N {
        if counters[i] < i {
            order.swap(i, if i % 2 == 0 { 0 } else { counters[i] });
            all.push(order);
            counters[i] += 1;
            i = 1;
        } else {
            counters[i] = 0;
            i += 1;
        }
    }
    all
}

fn every_order_of_dropping_leaves_nothing<P: Publish>() {
    let orders = permutations::<7>();
    assert_eq!(orders.len(), 5_040);
    // Under Miri a sample of them.
    for order in orders.into_iter().step_by(5_040 / rounds(5_040) as usize) {
        let tally = Tally::new(1);
        let (mut writer, source) = P::start(tally.value(0), 4);
        let (mut reader, mut idle, new) = (source.reader(), source.reader(), source.reader());
        idle.current();
        let old = source.snapshot();
        for version in 1..=3 {
            publish(&mut writer, &tally, version);
            reader.current();
        }
        let newest = reader.snapshot();
        assert_eq!(tally.live(), 3, "version 0, which two hold, 2, which awaits a reclaim, and 3");

        let (mut writer, mut source) = (Some(writer), Some(source));
        let (mut reader, mut idle, mut new) = (Some(reader), Some(idle), Some(new));
        let (mut old, mut newest) = (Some(old), Some(newest));
        for part in order {
            match part {
                0 => drop(writer.take()),
                1 => drop(source.take()),
                2 => drop(reader.take()),
                3 => drop(idle.take()),
                4 => drop(new.take()),
                5 => drop(old.take()),
                _ => drop(newest.take()),
            }
            if let Some(reader) = &mut reader {
                assert_eq!(reader.current().read(1), 3, "{order:?} after {part}");
            }
            assert!(idle.as_ref().is_none_or(|idle| idle.held().unwrap().read(1) == 0));
            assert!(old.as_ref().is_none_or(|old| old.read(1) == 0));
            assert!(newest.as_ref().is_none_or(|newest| newest.read(1) == 3));
        }
        assert_eq!(tally.live(), 0, "{order:?}");
    }
}

fn the_last_holder_drops_after_the_writer<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 4);
    let mut readers = [source.reader(), source.reader(), source.reader()];
    let mut snapshots = Vec::new();
    for (reader, version) in readers.iter_mut().zip(1..) {
        reader.current();
        publish(&mut writer, &tally, version);
        snapshots.push(source.snapshot());
    }
    drop(writer);
    assert_eq!(tally.live(), 4, "versions 0, 1 and 2 of the readers and 3, the published one");
    let [refreshing, parking, going] = &mut readers;
    assert_eq!(refreshing.current().read(1), 3);
    assert!(tally.is_dropped(0), "by the refresh");
    drop(snapshots.remove(0));
    parking.park();
    assert!(tally.is_dropped(1), "by the park");
    assert_eq!(going.held().unwrap().read(1), 2);
    drop(readers);
    assert!(!tally.is_dropped(2), "a snapshot holds it");
    drop(snapshots.remove(0));
    assert!(tally.is_dropped(2), "by the snapshot");
    drop(source);
    assert_eq!(snapshots[0].read(1), 3);
    drop(snapshots);
    assert_eq!(tally.live(), 0);
}

fn the_writer_goes_while_readers_run<P: Publish>() {
    for round in 0..rounds(200) {
        let tally = Tally::new(round);
        let (mut writer, source) = P::start(tally.value(0), 64);
        let start = Arc::new(Barrier::new(3));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (source, start) = (source.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    let mut reader = source.reader();
                    drop(source);
                    start.wait();
                    while reader.current().read(round) < 20 {}
                })
            })
            .collect();
        drop(source);
        start.wait();
        for version in 1..=20 {
            publish(&mut writer, &tally, version);
        }
        drop(writer);
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(tally.live(), 0);
    }
}

/// P7, P8: what the writer left in its grace period is dropped by a participant that goes, and not by one that is pinned.
#[test]
fn a_value_in_grace_outlives_the_writer() {
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), 8);
    let mut sleeper = source.reader();
    sleeper.current();
    let mut stall = source.stall();
    for version in 1..=5 {
        publish(&mut writer, &tally, version);
    }
    assert_eq!(writer.counts(), Counts { live: 6, retired: 5, in_grace: 5 });
    drop(writer);
    assert_eq!(tally.live(), 6);

    // The stopped reader moves on, and another runs the closures: it collects in its first pin and in every 128th. It
    // holds nothing itself, so what its lookups dropped would be dropped by a closure under its pin.
    stall.resume();
    let mut reader = source.reader();
    for _ in 0..rounds(1_000).max(200) {
        assert_eq!(reader.current().read(1), 5);
        reader.park();
    }
    assert_eq!(tally.live(), 6, "a lookup dropped values");
    drop(reader);
    assert_eq!(tally.live(), 2, "version 0 is held and version 5 published");
    sleeper.park();
    assert_eq!(source.snapshot().read(1), 5);
    assert!(tally.is_dropped(0), "by the participant that went first after nobody held it");
    drop((stall, source, sleeper));
    assert_eq!(tally.live(), 0);
}

#[test]
fn a_stalled_reader_may_be_the_last_to_go() {
    for (resumed, held) in [(false, false), (false, true), (true, false), (true, true)] {
        let tally = Tally::new(1);
        let (mut writer, source) = Epoch::start(tally.value(0), 100);
        let mut stall = source.stall();
        let mut snapshots = Vec::new();
        for version in 1..=100 {
            snapshots.extend(held.then(|| source.snapshot()));
            publish(&mut writer, &tally, version);
        }
        drop((writer, source));
        assert_eq!(tally.live(), 101);
        if resumed {
            stall.resume();
        }
        drop(stall);
        assert_eq!(tally.live(), if held { 100 } else { 0 });
        drop(snapshots);
        assert_eq!(tally.live(), 0);
    }
}

#[test]
fn a_reader_that_goes_frees_all_that_the_writer_left() {
    const LEFT: u64 = rounds(1_000);
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), LEFT as usize);
    let mut stall = source.stall();
    let reader = source.reader();
    for version in 1..=LEFT {
        publish(&mut writer, &tally, version);
    }
    drop(writer);
    stall.resume();
    assert_eq!(tally.live(), 1 + LEFT);
    drop(reader);
    assert_eq!(tally.live(), 1, "the published value");
    drop((stall, source));
    assert_eq!(tally.live(), 0);
}

fn a_panicking_reader_stops_nobody<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    for version in 1..20 {
        let mut reader = source.reader();
        let panicked = thread::spawn(move || {
            let version = reader.current().read(1);
            panic::resume_unwind(Box::new(version)); // no message: it is meant
        });
        let seen = panicked.join().unwrap_err();
        assert_eq!(seen.downcast_ref(), Some(&(version - 1)));
        publish(&mut writer, &tally, version);
        assert_eq!(tally.live(), 1);
    }
}

fn a_reader_in_a_thread_local_goes_with_its_thread<P: Publish>() {
    /// Looks up once more when its thread is about to be gone.
    struct AtExit(Box<dyn FnMut() -> u64>, mpsc::Sender<u64>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            self.1.send((self.0)()).unwrap();
        }
    }
    thread_local!(static SLOT: std::cell::RefCell<Option<AtExit>> = const { std::cell::RefCell::new(None) });

    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let (sender, seen) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let exiting = thread::spawn(move || {
        let mut reader = source.reader();
        reader.current();
        let look = Box::new(move || reader.current().read(1));
        SLOT.with(|slot| *slot.borrow_mut() = Some(AtExit(look, sender)));
        wait.recv().unwrap_err();
    });
    publish(&mut writer, &tally, 1);
    drop(go);
    exiting.join().unwrap();
    assert_eq!(seen.recv(), Ok(1));
    publish(&mut writer, &tally, 2);
    assert_eq!(tally.live(), 1);
}
