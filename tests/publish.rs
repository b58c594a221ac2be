//! The promises of `ringway::publish`, on every publisher; the names are cited there.

mod tally;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use ringway::publish::{Backpressure, Counts, Epoch, Locked, Publish, Read, Source, Value, Write};
use tally::{Tally, Tracked, rounds};

for_every_publisher!(
    a_lookup_gives_what_is_published,
    a_new_or_parked_reader_holds_nothing,
    versions_never_go_back,
    publishers_do_not_mix,
    a_publish_is_visible_through_join,
    a_publish_is_visible_through_a_flag,
    a_snapshot_outlives_65537_publishes,
    readers_never_drop_a_value,
    idle_readers_refuse_no_publish,
    nine_readers_and_nine_snapshots_stay_put,
    reclaimed_values_can_be_recycled,
    a_panicking_drop_loses_no_other_value,
    a_reader_moves_between_threads,
    readers_come_and_go_during_publishes,
    a_value_may_look_up_while_it_is_dropped,
);

fn publish(writer: &mut impl Write<Tracked>, tally: &Tally, version: u64) {
    if let Err((_, refused)) = writer.publish(tally.value(version)) {
        panic!("version {version}: {refused}");
    }
}

fn a_lookup_gives_what_is_published<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut reader = source.reader();
    for version in 1..rounds(100) {
        assert_eq!(reader.current().read(1), version - 1);
        assert_eq!(writer.ready(), Ok(()));
        publish(&mut writer, &tally, version);
        let seen = [writer.current().read(1), writer.snapshot().read(1), source.snapshot().read(1)];
        assert_eq!(seen, [version; 3]);
        if version % 3 != 0 {
            assert_eq!(reader.held().map(|value| value.read(1)), Some(version - 1));
            assert_eq!(reader.snapshot().read(1), version);
        }
        assert_eq!(reader.current().read(1), version);
        writer.reclaim();
        assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
        assert_eq!(tally.live(), 1);
    }
}

fn a_new_or_parked_reader_holds_nothing<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut reader = source.reader();
    for version in 1..10 {
        assert!(reader.held().is_none());
        publish(&mut writer, &tally, version);
        assert_eq!(tally.live(), 1, "a reader without a lookup kept version {}", version - 1);
        reader.current();
        assert!(reader.held().is_some());
        reader.park();
    }
}

fn versions_never_go_back<P: Publish>() {
    const LAST: u64 = rounds(20_000);
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    thread::scope(|scope| {
        for reader in 0..3 {
            let source = source.clone();
            scope.spawn(move || {
                let mut reader_end = source.reader();
                let mut floor = 0;
                while floor < LAST {
                    // One reader looks up, one takes snapshots of its own, one asks the source.
                    let version = match reader {
                        0 => reader_end.current().read(1),
                        1 => reader_end.snapshot().read(1),
                        _ => source.snapshot().read(1),
                    };
                    assert!(version >= floor, "version {version} after version {floor}");
                    floor = version;
                }
            });
        }
        for version in 1..=LAST {
            while writer.ready().is_err() {
                thread::yield_now();
            }
            publish(&mut writer, &tally, version);
        }
    });
}

fn publishers_do_not_mix<P: Publish>() {
    const RINGS: u64 = 8;
    const LAST: u64 = rounds(2_000);
    let tallies: Vec<_> = (0..RINGS).map(Tally::new).collect();
    let (mut writers, sources): (Vec<_>, Vec<_>) = tallies.iter().map(|tally| P::start(tally.value(0), 64)).unzip();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut readers: Vec<_> = sources.iter().map(Source::reader).collect();
                let mut floors = [0; RINGS as usize];
                while floors.iter().any(|floor| *floor < LAST) {
                    for (ring, (reader, floor)) in readers.iter_mut().zip(&mut floors).enumerate() {
                        let version = reader.current().read(ring as u64);
                        assert!(version >= *floor, "ring {ring}: version {version} after version {floor}");
                        *floor = version;
                    }
                }
            });
        }
        // All values are of one size: what one publisher frees, the next allocates.
        for version in 1..=LAST {
            for (writer, tally) in writers.iter_mut().zip(&tallies) {
                while writer.ready().is_err() {
                    thread::yield_now();
                }
                publish(writer, tally, version);
            }
        }
    });
    drop((writers, sources));
    assert!(tallies.iter().all(|tally| tally.live() == 0));
}

fn a_publish_is_visible_through_join<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let mut reader = source.reader();
    for version in 1..rounds(200) {
        reader.current();
        writer = thread::scope(|scope| {
            let tally = &tally;
            let publisher = scope.spawn(move || {
                publish(&mut writer, tally, version);
                writer
            });
            publisher.join().unwrap()
        });
        assert_eq!(reader.current().read(1), version);
    }
}

fn a_publish_is_visible_through_a_flag<P: Publish>() {
    const LAST: u64 = rounds(20_000);
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let returned = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut reader = source.reader();
            loop {
                let floor = returned.load(Ordering::Acquire);
                let version = reader.current().read(1);
                assert!(version >= floor, "publish of {floor} had returned, the lookup saw {version}");
                if floor == LAST {
                    break;
                }
            }
        });
        for version in 1..=LAST {
            while writer.ready().is_err() {
                thread::yield_now();
            }
            publish(&mut writer, &tally, version);
            returned.store(version, Ordering::Release);
        }
    });
}

fn a_snapshot_outlives_65537_publishes<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 2);
    let (by_source, by_reader, by_writer) = (source.snapshot(), source.reader().snapshot(), writer.snapshot());
    let mut idle = source.reader();
    idle.current();
    for version in 1..=rounds(65_537) {
        publish(&mut writer, &tally, version);
    }
    let held = [by_source.read(1), by_reader.read(1), by_writer.read(1), idle.held().unwrap().read(1)];
    assert_eq!(held, [0; 4]);
    assert_eq!(tally.live(), 2);
    drop((by_source, by_reader, by_writer));
    idle.park();
    assert_eq!(tally.live(), 2, "dropping a snapshot dropped the value, beside a writer that lives");
    assert_eq!(writer.reclaim(), 1);
    assert_eq!(tally.live(), 1);
}

fn readers_never_drop_a_value<P: Publish>() {
    const LAST: u64 = rounds(5_000);
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let returned = AtomicU64::new(0);
    thread::scope(|scope| {
        for step in [1, 2, 7] {
            let (source, returned) = (source.clone(), &returned);
            scope.spawn(move || {
                let mut reader = source.reader();
                let mut lookups = 0;
                while returned.load(Ordering::Acquire) < LAST {
                    reader.current();
                    lookups += 1;
                    match lookups % (step * 97) {
                        0 => reader = source.reader(),
                        1 => reader.park(),
                        2 => drop(reader.snapshot()),
                        3 => drop(source.snapshot()),
                        _ => {}
                    }
                }
            });
        }
        for version in 1..=LAST {
            while writer.ready().is_err() {
                thread::yield_now();
            }
            publish(&mut writer, &tally, version);
            returned.store(version, Ordering::Release);
        }
    });
    writer.reclaim();
    assert_eq!(tally.live(), 1);
    assert_eq!(tally.droppers(), [thread::current().id()].into());
}

fn idle_readers_refuse_no_publish<P: Publish>() {
    const READERS: u64 = 64;
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut readers: Vec<_> = (0..READERS).map(|_| source.reader()).collect();
    for (reader, version) in readers.iter_mut().zip(1..) {
        publish(&mut writer, &tally, version);
        assert_eq!(reader.current().read(1), version);
    }
    publish(&mut writer, &tally, READERS + 1);
    assert_eq!(writer.ready(), Ok(()));
    assert_eq!(writer.counts(), Counts { live: 65, retired: 64, in_grace: 0 });
    assert_eq!(tally.live(), 65);

    for version in READERS + 2..READERS + 2 + rounds(900) {
        publish(&mut writer, &tally, version);
        assert_eq!(tally.live(), 65, "only what readers hold may wait");
    }
    for (left, (reader, version)) in readers.iter_mut().zip(1..).enumerate().map(|(parked, pair)| (63 - parked, pair)) {
        assert_eq!(reader.held().unwrap().read(1), version);
        reader.park();
        assert_eq!(writer.reclaim(), 1);
        assert_eq!(writer.counts(), Counts { live: 1 + left, retired: left, in_grace: 0 });
    }
}

fn nine_readers_and_nine_snapshots_stay_put<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut readers: Vec<_> = (0..9).map(|_| source.reader()).collect();
    let mut held = Vec::new();
    for version in 1..=100 {
        held = readers.iter_mut().map(Read::snapshot).collect();
        publish(&mut writer, &tally, version);
        for (reader, snapshot) in readers.iter().zip(&held) {
            assert_eq!((reader.held().unwrap().read(1), snapshot.read(1)), (version - 1, version - 1));
        }
        assert_eq!(tally.live(), 2);
    }
    drop((writer, source, readers));
    assert!(held.iter().all(|snapshot| snapshot.read(1) == 99));
    assert_eq!(tally.live(), 1);
}

fn reclaimed_values_can_be_recycled<P: Publish>() {
    let (mut writer, source) = P::start(vec![0], 4);
    let mut reader = source.reader();
    reader.current();
    for version in 1..=3 {
        let mut snapshots = [source.snapshot()].to_vec();
        writer.publish(vec![version]).unwrap();
        snapshots.clear();
    }
    reader.park();
    let mut recycled = Vec::new();
    assert_eq!(writer.reclaim_with(|value| recycled.push(value)), 2);
    assert_eq!(recycled, [vec![0], vec![2]], "version 1 went with the publish of 3, 2 was held during it");
    assert_eq!(writer.reclaim(), 0);
}

/// Panics when it is dropped, if it is told to.
struct Grenade(Option<Tracked>, bool);

impl Drop for Grenade {
    fn drop(&mut self) {
        drop(self.0.take());
        assert!(!self.1, "as told");
    }
}

fn a_panicking_drop_loses_no_other_value<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(Grenade(Some(tally.value(0)), false), 4);
    let mut snapshots = vec![source.snapshot()];
    for version in 1..=4 {
        writer.publish(Grenade(Some(tally.value(version)), version == 2)).ok().unwrap();
        snapshots.push(source.snapshot());
    }
    snapshots.pop();
    snapshots.clear();
    let quiet = panic::catch_unwind(AssertUnwindSafe(|| writer.reclaim()));
    assert!(quiet.is_err());
    writer.publish(Grenade(Some(tally.value(5)), false)).ok().unwrap();
    assert_eq!(source.reader().current().0.as_ref().unwrap().read(1), 5);
    assert_eq!((tally.live(), writer.counts().live), (1, 1));
}

fn a_reader_moves_between_threads<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut reader = source.reader();
    for version in 1..rounds(200) {
        // Each end is used by a thread that has never seen it.
        (writer, reader) = thread::scope(|scope| {
            let tally = &tally;
            let publisher = scope.spawn(move || {
                publish(&mut writer, tally, version);
                writer
            });
            let looker = scope.spawn(move || {
                reader.current().read(1);
                reader
            });
            (publisher.join().unwrap(), looker.join().unwrap())
        });
        assert_eq!(reader.current().read(1), version);
    }
    writer.reclaim();
    assert_eq!(tally.live(), 1);
}

fn readers_come_and_go_during_publishes<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let held = source.snapshot();
                while !stop.load(Ordering::Relaxed) {
                    let mut reader = source.clone().reader();
                    assert!(reader.current().read(1) >= held.read(1));
                }
            });
        }
        // The writer's own thread holds a snapshot and a reader of its own all the while.
        let held = source.snapshot();
        let mut reader = source.reader();
        for version in 1..=rounds(5_000) {
            while writer.ready().is_err() {
                thread::yield_now();
            }
            publish(&mut writer, &tally, version);
            assert_eq!(reader.current().read(1), version);
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(held.read(1), 0);
    });
}

fn a_value_may_look_up_while_it_is_dropped<P: Publish>() {
    struct Nosy<P: Publish>(u64, Option<Box<dyn FnOnce() -> u64 + Send + Sync>>, std::marker::PhantomData<P>);
    impl<P: Publish> Drop for Nosy<P> {
        fn drop(&mut self) {
            if let Some(look) = self.1.take() {
                assert!(look() > self.0);
            }
        }
    }
    let nosy = |version, look| Nosy::<P>(version, look, std::marker::PhantomData);
    let (mut writer, source) = P::start(nosy(0, None), 1);
    for version in 1..50 {
        let inner = source.clone();
        let look = move || inner.reader().current().0.max(inner.snapshot().0);
        writer.publish(nosy(version, Some(Box::new(look)))).ok().unwrap();
    }
    writer.publish(nosy(50, None)).ok().unwrap(); // the last one must not hold its own source: that is a cycle
    assert_eq!(writer.counts().live, 1);
}

#[test]
fn a_stalled_reader_is_backpressure() {
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), 3);
    let mut reader = source.reader();
    for round in 0..3 {
        let first = 10 * round + 1;
        let stall = source.stall();
        for (version, in_grace) in (first..first + 3).zip(1..) {
            publish(&mut writer, &tally, version);
            assert_eq!(writer.counts(), Counts { live: 1 + in_grace, retired: in_grace, in_grace });
        }
        let full = Backpressure { in_grace: 3, limit: 3 };
        assert_eq!(writer.ready(), Err(full));
        let (value, refused) = writer.publish(tally.value(first + 9)).unwrap_err();
        assert_eq!((value.read(1), refused), (first + 9, full));
        assert_eq!((writer.current().read(1), reader.current().read(1)), (first + 2, first + 2), "nothing changed");
        assert_eq!(tally.live(), 5);
        drop((value, stall));

        assert_eq!(writer.ready(), Ok(()));
        assert_eq!(writer.counts(), Counts { live: 4, retired: 3, in_grace: 0 }, "asking drops nothing");
        assert_eq!(tally.live(), 4);
        assert_eq!(writer.reclaim(), 3);
        assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
        assert_eq!(tally.live(), 1);
    }
    let message = Backpressure { in_grace: 3, limit: 3 }.to_string();
    assert!(message.starts_with("3 retired values wait"), "{message}");
}

#[test]
fn a_long_stall_is_made_up_for_at_once() {
    const STALLED: usize = rounds(1_000) as usize;
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), STALLED);
    let stall = source.stall();
    for version in 1..=STALLED as u64 {
        publish(&mut writer, &tally, version);
    }
    assert!(writer.ready().is_err());
    drop(stall);
    assert_eq!(writer.reclaim(), STALLED);
    assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
}

#[test]
fn snapshots_during_a_stall_delay_no_recovery() {
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), 1);
    let stall = source.stall();
    for _ in 0..rounds(5_000) {
        source.snapshot().read(1);
        source.reader().current().read(1);
    }
    publish(&mut writer, &tally, 1);
    assert!(writer.ready().is_err());
    drop(stall);
    assert_eq!(writer.ready(), Ok(()));
    assert_eq!(writer.reclaim(), 1);
    assert_eq!(tally.live(), 1);
}

#[test]
#[should_panic(expected = "retired_limit is 0")]
fn a_limit_of_zero_is_refused() {
    Epoch::start(0, 0);
}

#[test]
fn thread_bounds() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    fn ends<P: Publish, V: Value>() {
        send::<P::Writer<V>>();
        send::<P::Reader<V>>();
        send::<P::Source<V>>();
        sync::<P::Source<V>>();
    }
    ends::<Epoch, Vec<u8>>();
    ends::<Locked, Vec<u8>>();
    #[cfg(feature = "arc-swap")]
    ends::<ringway::publish::ArcSwap, Vec<u8>>();
}
