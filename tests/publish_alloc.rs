//! What the ends of a publisher ask of the allocator, counted per thread; cited by `ringway::publish`.

mod counting;

use std::sync::mpsc;
use std::thread;

use counting::{Calls, LARGE_BYTES, calls};
use ringway::publish::{Epoch, Publish, Read, Source, Write};

fn table(version: u8) -> Box<[u8]> {
    vec![version; LARGE_BYTES].into()
}

#[test]
fn a_hit_calls_no_allocator() {
    let (mut writer, source) = Epoch::start(table(0), 4);
    let mut reader = source.reader();
    reader.current();
    let (sum, made) = calls(|| (0..1_000_000).map(|i| u64::from(reader.current()[i % LARGE_BYTES])).sum::<u64>());
    assert_eq!((sum, made), (0, Calls::default()));
    writer.publish(table(1)).unwrap();
    reader.current();
    let (sum, made) = calls(|| (0..1_000_000).map(|_| u64::from(reader.snapshot()[0])).sum::<u64>());
    assert_eq!((sum, made), (1_000_000, Calls::default()));
}

#[test]
fn a_refresh_frees_no_value() {
    let (mut writer, source) = Epoch::start(table(0), 64);
    let (ask, asked) = mpsc::sync_channel::<u8>(1);
    let (answer, answered) = mpsc::sync_channel::<()>(1);
    let stalls = source.clone();
    let reader = thread::spawn(move || {
        let mut reader = source.reader();
        let (mut total, mut most) = (Calls::default(), 0);
        for version in asked {
            // Parking makes each lookup a refresh; in every 128th the collector works on this thread.
            for _ in 0..512 {
                reader.park();
                let (seen, made) = calls(|| reader.current()[0]);
                assert_eq!(seen, version);
                total.frees += made.frees;
                total.large_frees += made.large_frees;
                most = most.max(made.allocations + made.frees);
            }
            answer.send(()).unwrap();
        }
        (total, most)
    });
    for round in 0..200_u8 {
        // Leaves the end of these grace periods to the reader, together with the collector's own garbage.
        let stall = stalls.stall();
        for version in [round.wrapping_sub(1); 8].into_iter().chain([round]) {
            writer.publish(table(version)).unwrap();
        }
        drop(stall);
        ask.send(round).unwrap();
        answered.recv().unwrap();
    }
    drop(ask);
    let (total, most) = reader.join().unwrap();
    println!("{total:?}, at most {most} calls in a refresh");
    assert_eq!(total.large_frees, 0);
    assert!(total.frees > 0, "the reader did none of the collector's work: nothing was tested");
    // A pin collects at most 8 bags of at most 64 functions, each of which frees one of the collector's records.
    assert!(most <= 8 * 64, "{most} allocator calls in a refresh");
}

/// P11: what isn't a constant number of steps is one refresh in 128, counted per registration from its first.
#[test]
fn one_refresh_in_128_does_upkeep() {
    const REFRESHES: usize = 40 * 128;
    let (mut writer, source) = Epoch::start(0_u64, 4);
    let mut reader = source.reader();
    let mut upkeep = Vec::new();
    for number in 0..REFRESHES {
        // Readers that go leave registrations and bags behind: there is always something to work off.
        let mut going: Vec<_> = (0..16).map(|_| source.reader()).collect();
        going.iter_mut().for_each(|reader| _ = reader.current());
        drop(going);
        writer.publish(number as u64).unwrap();
        let (seen, made) = calls(|| *reader.current());
        assert_eq!(seen, number as u64);
        if made != Calls::default() {
            upkeep.push(number);
        }
    }
    println!("allocator calls in refreshes {upkeep:?}");
    assert!(!upkeep.is_empty(), "no refresh did upkeep: nothing was tested");
    assert!(upkeep.iter().all(|number| number % 128 == 0), "upkeep out of turn: {upkeep:?}");
}

#[test]
fn a_publish_allocates_the_value_and_one_bag() {
    const PUBLISHES: u64 = 1_000;
    let (mut writer, source) = Epoch::start(0_u64, 4);
    let mut reader = source.reader();
    for version in 1..100 {
        reader.current();
        writer.publish(version).unwrap();
    }
    let (_, made) = calls(|| {
        for version in 0..PUBLISHES {
            writer.publish(version).unwrap();
        }
    });
    println!("{made:?} in {PUBLISHES} publishes");
    // The `Arc`, the queue node of the bag with our closure, and one more for every 64 of these nodes' own drops. A third
    // per publish would mean that the closure has outgrown the bag's inline words.
    let expected = 2 * PUBLISHES..=2 * PUBLISHES + PUBLISHES / 32;
    assert!(expected.contains(&made.allocations), "{made:?}");
    assert!(expected.contains(&made.frees), "{made:?}");
}
