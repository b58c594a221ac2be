//! Random lives of readers, snapshots and tables: exactly those tables live that somebody can still see.

mod common;

use std::any::Any;
use std::collections::BTreeSet;

use common::Rng;
use common::book::{Book, Booked, Entry};
use common::stall::{Stallable, take_stall};
use ringway::layout::Auto;
use ringway::publish::{Locked, Publish};
use ringway::{CommitError, Delta, Native, NodeSpec, Reader, Ring, Snapshot};

type Scheme = Booked<Native>;

/// A reader, and the version it holds as far as the test knows.
struct Held<P: Publish> {
    reader: Reader<Entry, Scheme, Auto<u32>, P>,
    version: Option<u64>,
}

#[test]
fn random_lives_under_a_lock() {
    for seed in 0..20 {
        live::<Locked>(seed, || None);
    }
}

#[cfg(feature = "arc-swap")]
#[test]
fn random_lives_through_arc_swap() {
    for seed in 200..220 {
        live::<ringway::publish::ArcSwap>(seed, || None);
    }
}

#[test]
fn random_lives_with_stopped_readers() {
    for seed in 100..120 {
        live::<Stallable>(seed, || Some(take_stall()));
    }
}

fn live<P: Publish>(seed: u64, hook: impl Fn() -> Option<common::stall::Hook>) {
    const LIMIT: usize = 4;
    let mut rng = Rng::new(seed);
    let (tables, payloads) = (Book::new(), Book::new());
    let scheme = Booked::new(Native::new().with_points_per_weight(2), &tables);
    let node = NodeSpec::new("a").with_payload(payloads.entry());
    let builder = Ring::builder().scheme(scheme).publisher::<P>().retired_limit(LIMIT).node(node);
    let (mut writer, handle) = builder.build().expect("the node is valid");
    let stall = hook();
    let mut readers: Vec<Held<P>> = Vec::new();
    let mut snapshots: Vec<Snapshot<Entry, Scheme, Auto<u32>>> = Vec::new();
    let mut stopped: Option<Box<dyn Any>> = None;
    // Commits since the reader was stopped.
    let mut waiting = 0;
    for _ in 0..300 {
        let version = writer.version();
        match rng.below(12) {
            0 if readers.len() < 8 => readers.push(Held { reader: handle.reader(), version: None }),
            1 if !readers.is_empty() => drop(readers.swap_remove(rng.below(readers.len()))),
            2 if snapshots.len() < 8 => snapshots.push(handle.snapshot()),
            3 if !snapshots.is_empty() => drop(snapshots.swap_remove(rng.below(snapshots.len()))),
            4 => {
                let snapshot = if rng.percent(50) { Some(writer.snapshot()) } else { snapshots.first().cloned() };
                snapshots.extend(snapshot);
                snapshots.truncate(8);
            }
            5..8 if !readers.is_empty() => {
                let place = rng.below(readers.len());
                let held = &mut readers[place];
                match rng.below(4) {
                    0 => {
                        held.reader.park();
                        held.version = None;
                        continue;
                    }
                    1 => snapshots.push(held.reader.snapshot()),
                    2 => assert_eq!(held.reader.version(), version),
                    _ => assert!(held.reader.owner(b"key").is_some()),
                }
                held.version = Some(version);
                snapshots.truncate(8);
            }
            8 => match (&stall, stopped.take()) {
                (Some(stall), None) => {
                    // What went before is out of its grace period, so that the count starts at 0.
                    writer.reclaim();
                    stopped = Some(stall());
                    waiting = 0;
                }
                (_, stopped) => drop(stopped),
            },
            _ => {
                let delta = Delta::new().set_payload("a", payloads.entry());
                match writer.commit(delta) {
                    Ok(report) => {
                        assert_eq!(report.version, version + 1);
                        assert!(stopped.is_none() || waiting < LIMIT);
                        waiting += 1;
                    }
                    Err(CommitError::Backpressure { waiting: found, limit: LIMIT, .. }) => {
                        assert!(stopped.is_some() && waiting == LIMIT && found == LIMIT, "{waiting} wait");
                        assert_eq!(writer.version(), version);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
        let seen: BTreeSet<u64> = (readers.iter().filter_map(|held| held.version))
            .chain(snapshots.iter().map(|snapshot| snapshot.version()))
            .chain([writer.version()])
            .collect();
        writer.reclaim();
        if stopped.is_none() {
            assert_eq!(tables.live(), seen.len(), "{seen:?}");
            assert_eq!(payloads.live(), seen.len());
        } else {
            let live = tables.live();
            assert!((seen.len()..=seen.len() + waiting).contains(&live), "{live} live, {seen:?} seen, {waiting} wait");
        }
        let counts = writer.counts();
        assert_eq!((counts.live, counts.retired), (tables.live(), tables.live() - 1));
    }
    // The rest goes in a random order.
    let mut rest: Vec<Box<dyn Any>> = vec![Box::new(writer), Box::new(handle), Box::new(stopped), Box::new(stall)];
    rest.extend(readers.into_iter().map(|held| Box::new(held.reader) as Box<dyn Any>));
    rest.extend(snapshots.into_iter().map(|snapshot| Box::new(snapshot) as Box<dyn Any>));
    rng.shuffle(&mut rest);
    drop(rest);
    assert_eq!((tables.live(), payloads.live()), (0, 0));
}
