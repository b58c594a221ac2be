//! Bugs that others had, each as a test of the kind of fault, named after the report: project, number, what went wrong
//! there. The code is ours; what is tested is that the same fault would show here.
//!
//! Longer than 500 lines: 18 reports, each over every publisher by the same helpers.

mod tally;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, Weak, mpsc};
use std::thread;

use ringway::publish::{Backpressure, Counts, Epoch, Publish, Read, Source, Write};
use ringway::{Delta, NodeSpec, Ring};
use tally::{Tally, Tracked, rounds};

for_every_publisher!(
    crossbeam_238_garbage_tagged_too_old,
    crossbeam_422_a_guard_outlives_its_thread_local,
    crossbeam_566_garbage_grows_without_end,
    crossbeam_epoch_82_dropped_twice,
    crossbeam_epoch_83_pinning_while_a_thread_ends,
    arc_swap_8_a_suspended_reader_stops_the_writer,
    arc_swap_198_more_holds_than_slots,
    arc_swap_204_a_writer_misses_a_reader,
    arc_swap_210_an_address_used_again,
    left_right_103_the_writer_waits_for_a_reader,
    left_right_159_a_reader_made_while_the_writer_works,
    basedrop_10_a_count_raised_from_zero,
    haphazard_6_a_counter_that_only_grows,
    moka_383_values_outlive_everything,
    seata_go_1080_a_lookup_during_a_rebuild,
    pulsar_25644_arrays_of_two_versions,
    liburcu_48bf2f7_the_end_comes_before_the_threads,
);

fn publish(writer: &mut impl Write<Tracked>, tally: &Tally, version: u64) {
    let mut value = tally.value(version);
    while let Err((back, _)) = writer.publish(value) {
        value = back; // a reader is just being scheduled out inside a refresh
        thread::yield_now();
    }
}

/// crossbeam#105: the epoch moved on although a pin was held, since a pin inside it counted as a new one.
#[test]
fn crossbeam_105_the_epoch_passes_a_pin() {
    const PUBLISHES: usize = rounds(1_000) as usize;
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), PUBLISHES);
    let stall = source.stall();
    let mut readers = [source.reader(), source.reader()];
    for version in 1..=PUBLISHES as u64 {
        publish(&mut writer, &tally, version);
        // Pins of the same thread, beside the one that is held.
        for reader in &mut readers {
            assert_eq!(reader.current().read(1), version);
            reader.park();
        }
        assert_eq!(tally.live(), 1 + version, "a value went in its grace period");
    }
    drop(stall);
    assert_eq!((writer.reclaim(), tally.live()), (PUBLISHES, 1));
}

/// crossbeam#238: garbage was sealed with an epoch read too early, and freed while a reader could still see it.
fn crossbeam_238_garbage_tagged_too_old<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut reader = source.reader();
                // Each lookup pins and moves the epoch on, so that bags are sealed while it changes.
                while !stop.load(Ordering::Relaxed) {
                    let value = reader.snapshot();
                    reader.park();
                    (0..5).for_each(|_| drop(source.snapshot()));
                    value.read(1);
                }
            });
        }
        for version in 1..=rounds(5_000) {
            publish(&mut writer, &tally, version);
        }
        stop.store(true, Ordering::Relaxed);
    });
    writer.reclaim();
    assert_eq!(tally.live(), 1);
}

/// crossbeam#422: a guard in a thread-local outlived the thread's handle, and unpinned freed memory.
fn crossbeam_422_a_guard_outlives_its_thread_local<P: Publish>() {
    type Slot = RefCell<Vec<Box<dyn Any>>>;
    thread_local!(static FIRST: Slot = const { RefCell::new(Vec::new()) });
    thread_local!(static SECOND: Slot = const { RefCell::new(Vec::new()) });
    for swapped in [false, true] {
        let tally = Tally::new(1);
        let (mut writer, source) = P::start(tally.value(0), 4);
        let ring = source.clone();
        let (one, other) = if swapped { (&SECOND, &FIRST) } else { (&FIRST, &SECOND) };
        let ended = thread::spawn(move || {
            let mut reader = ring.reader();
            let snapshot = reader.snapshot();
            one.with_borrow_mut(|slot| slot.push(Box::new(reader)));
            other.with_borrow_mut(|slot| slot.extend([Box::new(snapshot) as Box<dyn Any>, Box::new(ring)]));
        });
        ended.join().unwrap();
        publish(&mut writer, &tally, 1);
        drop(source);
        assert_eq!((writer.reclaim(), tally.live()), (0, 1), "the publish reclaimed what the thread had held");
    }
}

/// crossbeam#566: nobody flushed, and garbage grew until memory was out.
fn crossbeam_566_garbage_grows_without_end<P: Publish>() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let live = Arc::new(AtomicUsize::new(0));
    let value = || {
        live.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&live))
    };
    let (mut writer, source) = P::start(value(), 4);
    let (mut active, mut idle) = (source.reader(), source.reader());
    idle.current();
    for version in 0..rounds(200_000) {
        writer.publish(value()).ok().unwrap();
        if version % 16 == 0 {
            active.current();
        }
        // Published, and what two readers hold.
        let now = live.load(Ordering::Relaxed);
        assert!(now <= 3, "{now} values live after {version} publishes, {:?}", writer.counts());
    }
}

/// crossbeam-epoch#82 (RUSTSEC-2018-0009): what lay in a queue was dropped with it and by its last reader.
fn crossbeam_epoch_82_dropped_twice<P: Publish>() {
    for readers in 0..rounds(40) {
        let tally = Tally::new(1); // panics at a second drop of a version
        let (mut writer, source) = P::start(tally.value(0), 64);
        let mut held = Vec::new();
        for version in 1..=40 {
            if version <= readers {
                held.push(source.snapshot());
            }
            publish(&mut writer, &tally, version);
        }
        drop((writer, source));
        held.drain(..).for_each(drop);
        assert_eq!(tally.live(), 0);
    }
}

/// crossbeam-epoch#83: pinning in the destructor of a thread-local, or while unwinding, panicked.
fn crossbeam_epoch_83_pinning_while_a_thread_ends<P: Publish>() {
    struct AtEnd(Box<dyn FnMut()>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    thread_local!(static SLOT: RefCell<Option<AtEnd>> = const { RefCell::new(None) });
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    for (version, unwinds) in [(1, false), (2, true), (3, false), (4, true)] {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let ring = source.clone();
        let ending = thread::spawn(move || {
            // Never pinned before, so that the first time is at the end.
            let at_end = AtEnd(Box::new(move || {
                tell.send((ring.reader().current().read(1), ring.snapshot().read(1))).unwrap();
            }));
            wait.recv().unwrap();
            if unwinds {
                let _at_end = at_end;
                panic::resume_unwind(Box::new(()));
            }
            SLOT.set(Some(at_end));
        });
        publish(&mut writer, &tally, version);
        go.send(()).unwrap();
        assert_eq!(ending.join().is_err(), unwinds);
        assert_eq!(told.recv(), Ok((version, version)));
    }
}

/// arc-swap#8: a reader suspended in a load starved all writers.
fn arc_swap_8_a_suspended_reader_stops_the_writer<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 4);
    let mut reader = source.reader();
    let (stopped, go) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let value = reader.current();
            stopped.wait();
            go.wait();
            assert_eq!(value.read(1), 0);
        });
        stopped.wait();
        for version in 1..=rounds(1_000) {
            writer.publish(tally.value(version)).expect("a reader with a value in its hands is in nobody's way");
        }
        go.wait();
    });
}

/// arc-swap#8, in the few instructions where a reader of `Epoch` is in the way: the writer is told, and never waits.
#[test]
fn arc_swap_8_a_reader_suspended_in_a_refresh() {
    let tally = Tally::new(1);
    let (mut writer, source) = Epoch::start(tally.value(0), 4);
    let stall = source.stall();
    for version in 1..=4 {
        assert!(writer.publish(tally.value(version)).is_ok());
    }
    for version in 5..100 {
        let (value, refused) = writer.publish(tally.value(version)).unwrap_err();
        assert_eq!((value.read(1), refused), (version, Backpressure { in_grace: 4, limit: 4 }));
    }
    drop(stall);
    assert!(writer.publish(tally.value(100)).is_ok());
}

/// arc-swap#198: with all eight slots of a thread taken, the ninth load took another way, which had a gap.
fn arc_swap_198_more_holds_than_slots<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut readers: Vec<_> = (0..20).map(|_| source.reader()).collect();
            while !stop.load(Ordering::Relaxed) {
                let values: Vec<&Tracked> = readers.iter_mut().map(Read::current).collect();
                let snapshots: Vec<_> = (0..20).map(|_| source.snapshot()).collect();
                let versions: Vec<u64> = values.iter().map(|value| value.read(1)).collect();
                assert!(versions.is_sorted(), "{versions:?}");
                assert!(snapshots.iter().all(|snapshot| snapshot.read(1) >= versions[19]));
            }
        });
        for version in 1..=rounds(5_000) {
            publish(&mut writer, &tally, version);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// arc-swap#204: without one more fence the writer could miss a reader that had just announced itself, and free.
fn arc_swap_204_a_writer_misses_a_reader<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let turns = rounds(2_000);
    // Both start together each time, so that announcing and taking away meet; the value goes at once if nobody has it.
    let start = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut reader = source.reader();
            for turn in 0..turns {
                start.wait();
                let value = reader.snapshot();
                assert!([turn, turn + 1].contains(&value.read(1)));
                reader.park();
                value.read(1);
                drop(value);
                start.wait();
            }
        });
        for turn in 0..turns {
            start.wait();
            publish(&mut writer, &tally, turn + 1);
            writer.reclaim();
            start.wait();
        }
    });
    writer.reclaim();
    assert_eq!(tally.live(), 1);
}

/// arc-swap#210: a freed value's address was used again by another instance, whose value a load then returned.
fn arc_swap_210_an_address_used_again<P: Publish>() {
    const RINGS: usize = 6;
    let tallies: [Tally; RINGS] = std::array::from_fn(|ring| Tally::new(ring as u64));
    let (mut writers, sources): (Vec<_>, Vec<_>) = tallies.iter().map(|tally| P::start(tally.value(0), 64)).unzip();
    let mut readers: Vec<_> = sources.iter().map(Source::reader).collect();
    let mut seen: HashMap<*const Tracked, usize> = HashMap::new();
    let mut crossed = 0;
    for version in 1..rounds(3_000) {
        for ring in 0..RINGS {
            // What ring frees, the next one takes; each second reader is a version behind and asks for it by address.
            publish(&mut writers[ring], &tallies[ring], version);
            let address: *const Tracked = writers[ring].current();
            crossed += u64::from(seen.insert(address, ring).is_some_and(|before| before != ring));
            if (version + ring as u64).is_multiple_of(2) {
                assert_eq!(readers[ring].current().read(ring as u64), version);
            } else {
                readers[ring].park();
            }
        }
    }
    println!("{}: {crossed} times a value lay where another ring's had lain", P::NAME);
}

/// left-right#103: the writer spun for ever on a reader that never left.
fn left_right_103_the_writer_waits_for_a_reader<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 1);
    let mut reader = source.reader();
    // On one thread, where waiting for the reader could never end.
    let value = reader.current();
    for version in 1..=rounds(1_000) {
        writer.publish(tally.value(version)).ok().unwrap();
    }
    assert_eq!((value.read(1), writer.counts()), (0, Counts { live: 2, retired: 1, in_grace: 0 }));
    // For ever, but in a place where no leak checker takes it for forgotten.
    static FOR_EVER: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    FOR_EVER.lock().unwrap().push(Box::new(reader));
    for version in rounds(1_000) + 1..rounds(1_000) + 10 {
        writer.publish(tally.value(version)).ok().unwrap();
    }
    assert_eq!(tally.live(), 2);
}

/// left-right#159: making a reader while the writer waited for others locked both up.
fn left_right_159_a_reader_made_while_the_writer_works<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let mut reader = source.reader();
    for version in 1..rounds(100) {
        // In the middle of a read, on the reader's own thread and on another.
        let before = reader.current();
        let seen = [source.reader().current().read(1), source.snapshot().read(1)];
        thread::scope(|scope| {
            let made = scope.spawn(|| source.reader().current().read(1));
            publish(&mut writer, &tally, version);
            assert!(made.join().unwrap() + 1 >= version);
        });
        assert_eq!((before.read(1), seen), (version - 1, [version - 1; 2]));
        assert_eq!(source.reader().current().read(1), version);
    }
}

/// basedrop#10: `get` raised a count that `replace` had just taken to zero, and the value was freed twice.
fn basedrop_10_a_count_raised_from_zero<P: Publish>() {
    let tally = Tally::new(1); // panics at a second drop
    let (mut writer, source) = P::start(tally.value(0), 2);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let clone = Arc::clone(&source.snapshot());
                    clone.read(1);
                }
            });
        }
        for version in 1..=rounds(5_000) {
            publish(&mut writer, &tally, version);
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop((writer, source));
    assert_eq!(tally.live(), 0);
}

/// haphazard#6: reclaiming didn't lower the counter of what was retired, and the end tripped over it.
fn haphazard_6_a_counter_that_only_grows<P: Publish>() {
    let tally = Tally::new(1);
    let (mut writer, source) = P::start(tally.value(0), 64);
    let mut held = Vec::new();
    let mut version = 0;
    for turn in 0..rounds(600) {
        match turn % 6 {
            0 | 1 => held.push(source.snapshot()),
            2 => held.truncate(held.len() / 2),
            3 => drop(writer.reclaim_with(drop)),
            _ => {
                version += 1;
                publish(&mut writer, &tally, version);
            }
        }
        // What is held and not published, once each; what was let go since the last reclaim still counts until the next.
        writer.reclaim();
        let mut old: Vec<u64> = held.iter().map(|value| value.read(1)).filter(|held| *held != version).collect();
        old.dedup();
        let expected = Counts { live: 1 + old.len(), retired: old.len(), in_grace: 0 };
        assert_eq!((writer.counts(), tally.live()), (expected, expected.live as u64));
    }
}

/// moka#383: values stayed although the cache and all its users were gone.
fn moka_383_values_outlive_everything<P: Publish>() {
    for source_last in [false, true] {
        let mut payloads: Vec<Weak<u64>> = Vec::new();
        let mut value = |version: u64| {
            let payload = Arc::new(version);
            payloads.push(Arc::downgrade(&payload));
            payload
        };
        let (mut writer, source) = P::start(value(0), 64);
        let user = thread::spawn({
            let source = source.clone();
            move || {
                let mut reader = source.reader();
                (0..1_000).for_each(|_| _ = **reader.current());
                (reader.snapshot(), reader)
            }
        });
        for version in 1..=100 {
            let mut next = value(version);
            while let Err((back, _)) = writer.publish(next) {
                next = back;
                thread::yield_now();
            }
        }
        let user = user.join().unwrap();
        if source_last {
            drop((user, writer));
            drop(source);
        } else {
            drop((source, writer));
            drop(user);
        }
        assert!(payloads.iter().all(|payload| payload.upgrade().is_none()));
    }
}

/// seata-go#1080: a lookup read the ring while it was being rebuilt.
fn seata_go_1080_a_lookup_during_a_rebuild<P: Publish>() {
    const LAST: u64 = rounds(300);
    // Each version has nodes of its own.
    let name = |version: u64, node: u64| format!("{version}/{node}");
    let nodes = |version: u64| (0..4).map(move |node| NodeSpec::new(name(version, node)).with_payload(version));
    let ring = Ring::builder().publisher::<P>().points_per_weight(4);
    let (mut writer, handle) = ring.nodes(nodes(1)).build().unwrap();
    thread::scope(|scope| {
        let mut reader = handle.reader();
        scope.spawn(move || {
            let mut key = 0_u64;
            while reader.version() < LAST {
                key += 1;
                let node = reader.owner(&key.to_le_bytes()).expect("no version is empty");
                let version = *node.payload();
                assert!(node.id().as_str().starts_with(&format!("{version}/")), "{node:?}");
                assert!(reader.version() >= version);
                let table = reader.table();
                let (version, mut owners) = (table.version(), [None; 8]);
                let keys: [[u8; 8]; 8] = std::array::from_fn(|i| (key + i as u64).to_le_bytes());
                table.owner_batch(&keys, &mut owners);
                assert!(owners.iter().all(|owner| owner.is_some_and(|node| *node.payload() == version)));
            }
        });
        for version in 2..=LAST {
            let mut delta = (0..4).fold(Delta::new(), |delta, node| delta.remove(name(version - 1, node)));
            delta = nodes(version).fold(delta, Delta::add);
            while let Err(refused) = writer.commit(delta) {
                delta = refused.into_delta();
                thread::yield_now();
            }
        }
    });
}

/// pulsar#25644: arrays that belong together were published one by one, and a reader paired a long one with a short one.
fn pulsar_25644_arrays_of_two_versions<P: Publish>() {
    const LAST: u64 = rounds(300);
    // Versions grow and shrink by a factor of 64.
    let weight = |version: u64| if version.is_multiple_of(2) { 64 } else { 1 };
    let ring = Ring::builder().publisher::<P>().points_per_weight(4);
    let (mut writer, handle) = ring.node(NodeSpec::new("a")).node(NodeSpec::new("b")).build().unwrap();
    thread::scope(|scope| {
        let mut reader = handle.reader();
        scope.spawn(move || {
            while reader.version() < LAST {
                let table = reader.table();
                let points = 4 * usize::try_from(weight(table.version())).unwrap() + 4;
                assert_eq!((table.len(), table.points().count()), (points, points));
                for (point, node) in table.points() {
                    assert_eq!(table.owner_at(point).unwrap().id(), node.id());
                }
            }
        });
        for version in 2..=LAST {
            let mut delta = Delta::new().set_weight("a", weight(version));
            while let Err(refused) = writer.commit(delta) {
                delta = refused.into_delta();
                thread::yield_now();
            }
        }
    });
}

/// liburcu 48bf2f7: the library's destructor ran at exit while threads still used it.
fn liburcu_48bf2f7_the_end_comes_before_the_threads<P: Publish>() {
    for _ in 0..rounds(100) {
        let tally = Tally::new(1);
        let (mut writer, source) = P::start(tally.value(0), 64);
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (mut reader, stop) = (source.reader(), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        reader.current().read(1);
                        reader.park();
                    }
                    reader.current().read(1)
                })
            })
            .collect();
        publish(&mut writer, &tally, 1);
        publish(&mut writer, &tally, 2);
        drop((writer, source));
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 2);
        }
        assert_eq!(tally.live(), 0);
    }
}
