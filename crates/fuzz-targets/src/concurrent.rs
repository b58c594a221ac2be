//! A schedule of steps on real threads: two readers and the writer take one step each at once, then wait for each other.
//!
//! Within a round anything may come first, so a reader may see the version before the writer's step or the one after it,
//! and nothing else; and what it sees must be all of that version.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use ringway::layout::Auto;
use ringway::publish::{ArcSwap, Epoch, Locked, Publish};
use ringway::scheme::MatchRule;
use ringway::{Handle, Reader, Ring, Snapshot, Table, Writer};

use crate::common::Rng;
use crate::common::batches;
use crate::common::model::{ModelNode, View};
use crate::common::schemes::Weak;
use crate::weak_u32;

const ROUNDS: usize = 24;
const READERS: usize = 2;

type Seen = Table<u32, Weak<u32>, Auto<u32>>;

/// Fuzzes [`Reader`]s, [`Snapshot`]s and the [`Writer`] of one ring, with each publisher.
pub fn concurrent(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    match rng.below(4) {
        0 => run::<Locked>(rng),
        1 => run::<ArcSwap>(rng),
        _ => run::<Epoch>(rng),
    }
}

/// What a reader does in a round.
#[derive(Clone, Copy)]
enum Step {
    Ask(u32),
    Keep,
    LetGo,
    Park,
    Anew,
    Rest,
}

/// What the writer does.
enum Deed {
    Commit(Box<batches::Valid>),
    Refused,
    Reclaim,
    Rest,
}

fn run<P: Publish>(mut rng: Rng) {
    let scheme = weak_u32(rng.below(3), MatchRule::AtOrAfter);
    // All is decided beforehand: threads take no choices.
    let (mut nodes, mut deeds, mut schedule) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    while deeds.len() < ROUNDS && !rng.is_spent() {
        deeds.push(match rng.below(5) {
            0..3 => {
                let valid = batches::valid::<Weak<u32>>(&mut rng, &nodes);
                nodes.clone_from(&valid.nodes);
                Deed::Commit(Box::new(valid))
            }
            3 => [Deed::Refused, Deed::Reclaim].into_iter().nth(rng.below(2)).expect("one of two"),
            _ => Deed::Rest,
        });
        for steps in &mut schedule {
            steps.push(match rng.below(8) {
                0..3 => Step::Ask(rng.number(u32::MAX)),
                3 => Step::Keep,
                4 => Step::LetGo,
                5 => Step::Park,
                6 => Step::Anew,
                _ => Step::Rest,
            });
        }
    }
    let builder = Ring::builder().scheme(scheme.clone()).layout::<Auto<u32>>().limits(batches::limits());
    let (writer, handle) = builder.publisher::<P>().build().expect("an empty ring is fine");
    let world = World {
        scheme,
        models: Mutex::new(BTreeMap::from([(writer.version(), Vec::new())])),
        span: Mutex::new((writer.version(), writer.version())),
        barrier: Barrier::new(READERS + 1),
        failure: Mutex::new(None),
    };
    let rounds = deeds.len();
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for steps in &schedule {
            let (world, handle) = (&world, handle.clone());
            readers.push(scope.spawn(move || {
                let mut eyes = Eyes { reader: handle.reader(), handle, kept: Vec::new(), last: 0 };
                for &step in steps {
                    world.barrier.wait();
                    world.guard(|| eyes.take(world, step));
                    world.barrier.wait();
                }
            }));
        }
        let mut writer = writer;
        for deed in deeds {
            world.guard(|| world.announce(&writer, &deed));
            world.barrier.wait();
            world.guard(|| world.write(&mut writer, deed));
            world.barrier.wait();
            world.guard(|| world.settle(&writer));
        }
        // The scope waits for what threads do, not for their ends, and what a thread takes for its own at its end would be a
        // leak to whoever looks for leaks now.
        for reader in readers {
            world.guard(|| reader.join().unwrap_or_else(|payload| resume_unwind(payload)));
        }
    });
    if let Some(failure) = world.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        eprintln!("in one of {rounds} rounds");
        resume_unwind(failure);
    }
}

struct World {
    scheme: Weak<u32>,
    /// The nodes of each version.
    models: Mutex<BTreeMap<u64, Vec<ModelNode>>>,
    /// The versions that may be seen in this round.
    span: Mutex<(u64, u64)>,
    barrier: Barrier,
    /// The first panic: a thread that ended by one would leave the others at the barrier.
    failure: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

impl World {
    fn guard(&self, step: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(step)) {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    }

    /// Notes what the writer is about to publish.
    fn announce<P: Publish>(&self, writer: &Writer<u32, Weak<u32>, Auto<u32>, P>, deed: &Deed) {
        let version = writer.version();
        let next = match deed {
            Deed::Commit(batch) => {
                self.models.lock().expect("no panic inside").insert(version + 1, batch.nodes.clone());
                version + 1
            }
            _ => version,
        };
        *self.span.lock().expect("no panic inside") = (version, next);
    }

    fn write<P: Publish>(&self, writer: &mut Writer<u32, Weak<u32>, Auto<u32>, P>, deed: Deed) {
        let version = writer.version();
        match deed {
            Deed::Commit(batch) => {
                let report = writer.commit(batch.delta).expect("valid, and no reader is stopped inside a refresh");
                assert_eq!(report.version, version + u64::from(report.published));
            }
            Deed::Refused => {
                writer.commit(ringway::Delta::new().remove("stranger")).expect_err("nobody of that name");
                assert_eq!(writer.version(), version);
            }
            Deed::Reclaim => {
                writer.reclaim();
            }
            Deed::Rest => {}
        }
        // The version that readers hold, the one before, and what each of them keeps.
        assert!(writer.counts().live <= 2 + READERS * (ROUNDS + 2), "{:?}", writer.counts());
    }

    fn settle<P: Publish>(&self, writer: &Writer<u32, Weak<u32>, Auto<u32>, P>) {
        let mut models = self.models.lock().expect("no panic inside");
        // A batch that changed nothing published nothing.
        models.retain(|&version, _| version <= writer.version());
    }

    fn check(&self, table: &Seen, x: u32) {
        let nodes = self.models.lock().expect("no panic inside").get(&table.version()).cloned();
        let nodes = nodes.unwrap_or_else(|| panic!("version {} was never published", table.version()));
        let view = View::new(&self.scheme, &nodes);
        assert_eq!(table.len(), view.sequence.len(), "points of version {}", table.version());
        assert_eq!(table.owner_at(x).map(|node| node.id().as_str()), view.owner(x), "at {x} in {}", table.version());
        let found: Vec<_> = table.nodes().map(ModelNode::of).collect();
        assert_eq!(found, view.nodes, "nodes of version {}", table.version());
    }
}

type Kept = Snapshot<u32, Weak<u32>, Auto<u32>>;

struct Eyes<P: Publish> {
    reader: Reader<u32, Weak<u32>, Auto<u32>, P>,
    handle: Handle<u32, Weak<u32>, Auto<u32>, P>,
    kept: Vec<(u64, Kept)>,
    last: u64,
}

impl<P: Publish> Eyes<P> {
    fn take(&mut self, world: &World, step: Step) {
        let (from, to) = *world.span.lock().expect("no panic inside");
        match step {
            Step::Ask(x) => {
                let table = self.reader.table();
                let version = table.version();
                assert!((from..=to).contains(&version), "version {version}, not {from} to {to}");
                assert!(version >= self.last, "back from version {} to {version}", self.last);
                world.check(table, x);
                self.last = version;
            }
            Step::Keep => {
                let snapshot = self.handle.snapshot();
                assert!((from..=to).contains(&snapshot.version()));
                self.kept.push((snapshot.version(), snapshot));
            }
            Step::LetGo => {
                for (version, snapshot) in self.kept.drain(..) {
                    assert_eq!(snapshot.version(), version);
                    snapshot.validate().unwrap_or_else(|error| panic!("{error}"));
                    world.check(&snapshot, u32::MAX / 3);
                }
            }
            Step::Park => self.reader.park(),
            Step::Anew => self.reader = self.handle.reader(),
            Step::Rest => {}
        }
    }
}
