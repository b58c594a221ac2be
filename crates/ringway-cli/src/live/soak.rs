//! `ringway live --soak`: rings of random shape, one after the other, with every promise checked while they change.
//!
//! Each ring has a seed of its own, printed with it, so a ring that failed can be had again: `--soak --seed` with that.

mod look;
mod shape;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::publish::{Epoch, Locked, Publish};
use ringway::scheme::Native;
use ringway::{CommitError, Delta, Limits, NodeSpec, Ring, State, Table, Writer};
use serde_json::json;

use self::look::look;
use self::shape::{Of, Shape};
use super::random::Random;
use super::report::{print, say};
use super::{Args, StopOnDrop};
use crate::Failure;
use crate::naive::{self, NaiveRing};

/// How long one ring lives at most.
const RING: Duration = Duration::from_secs(5);
/// The most points of a ring; with the tables below it takes some 200 MiB.
const POINTS: u32 = 200_000;
const READERS: usize = 4;
/// Snapshots that a reader keeps at most.
const KEPT: usize = 4;
/// Tables in their grace period that a ring allows at most.
const RETIRED: usize = 16;
/// What the process may take at most: the most tables that may live, their payloads, and as much again for the allocator.
const MEMORY: u64 = 512 << 20;

/// Runs rings until the time is up.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(args.seconds.into());
    let (mut rings, mut total) = (0u64, Tally::default());
    while rings == 0 || Instant::now() < end {
        let seed = args.seed.wrapping_add(rings);
        let shape = Shape { broken: args.break_check, ..Shape::of(&mut Random::new(seed)) };
        let left = end.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(50), RING);
        let tally = ring(&shape, seed, left).map_err(|fault| {
            Failure::Check(format!("{fault}; the same ring again: --soak --seed {seed} --seconds 5 ({shape:?})"))
        })?;
        let memory = resident();
        report(args.json, seed, &shape, &tally, memory)?;
        if let Some(memory) = memory.filter(|&memory| memory > MEMORY) {
            let reason = format!("the process takes {} MiB, the ceiling is {} MiB", memory >> 20, MEMORY >> 20);
            return Err(Failure::Check(format!("{reason}; --seed {seed}")));
        }
        total.add(&tally);
        rings += 1;
    }
    let Tally { commits, refused, lookups, scans, most_live } = total;
    if args.json {
        return print(&json!({
            "kind": "verdict", "rings": rings, "commits": commits, "refused": refused, "lookups": lookups,
            "scans": scans, "most_live": most_live, "violations": 0,
        }));
    }
    say(&format!(
        "\n{rings} rings, {commits} commits, {refused} batches refused, {lookups} lookups, {scans} of them against a scan; \
         at most {most_live} tables lived at once: 0 violations"
    ))
}

fn report(json: bool, seed: u64, shape: &Shape, tally: &Tally, memory: Option<u64>) -> Result<(), Failure> {
    let Shape { layout, locked, nodes, points_per_weight, readers, broken: _ } = shape;
    let Tally { commits, refused, lookups, scans, most_live } = tally;
    let publisher = if *locked { "locked" } else { "epoch" };
    if json {
        return print(&json!({
            "kind": "ring", "seed": seed, "layout": format!("{layout:?}"), "publisher": publisher, "nodes": nodes,
            "points_per_weight": points_per_weight, "readers": readers, "commits": commits, "refused": refused,
            "lookups": lookups, "scans": scans, "most_live": most_live, "memory": memory,
        }));
    }
    let memory = memory.map_or(String::new(), |memory| format!("; {} MiB", memory >> 20));
    say(&format!(
        "seed {seed}: {layout:?}, {publisher}, {nodes} nodes x {points_per_weight}, {readers} readers: {commits} commits, \
         {refused} refused, {lookups} lookups, {scans} scans, {most_live} tables at most{memory}"
    ))
}

/// The memory of the process that is resident, in bytes, where the system tells.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    pages.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(4096)
}

/// How often each thing happened.
#[derive(Debug, Default)]
struct Tally {
    commits: u64,
    refused: u64,
    lookups: u64,
    scans: u64,
    most_live: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.refused += other.refused;
        self.lookups += other.lookups;
        self.scans += other.scans;
        self.most_live = self.most_live.max(other.most_live);
    }
}

/// What was seen that must not be.
type Fault = String;

fn ring(shape: &Shape, seed: u64, time: Duration) -> Result<Tally, Fault> {
    match shape.layout {
        // The second publisher with one layout: each pair is a ring to compile.
        Of::Auto if shape.locked => drive::<Auto<u32>, Locked>(shape, seed, time),
        Of::Auto => drive::<Auto<u32>, Epoch>(shape, seed, time),
        Of::Line => drive::<Line<u32>, Epoch>(shape, seed, time),
        Of::Sorted => drive::<Sorted<u32>, Epoch>(shape, seed, time),
        Of::Eytzinger => drive::<Eytzinger<u32>, Epoch>(shape, seed, time),
        Of::STree => drive::<STree<u32>, Epoch>(shape, seed, time),
        Of::Bucket => drive::<Bucket<u32>, Epoch>(shape, seed, time),
        Of::Direct => drive::<Direct<u32>, Epoch>(shape, seed, time),
    }
}

/// A payload that tells whether it was freed, and counts its kind.
#[derive(Debug)]
struct Canary {
    words: [u64; 4],
    live: Arc<AtomicUsize>,
}

const SUM: u64 = 0x5EED_CA4A_4100_0001;

impl Canary {
    fn new(random: &mut Random, live: &Arc<AtomicUsize>) -> Self {
        // Relaxed: a count, compared when all threads have been joined.
        live.fetch_add(1, Ordering::Relaxed);
        let [a, b, c] = [0; 3].map(|_: u64| random.next());
        Self { words: [a, b, c, SUM.wrapping_sub(a).wrapping_sub(b).wrapping_sub(c)], live: Arc::clone(live) }
    }

    fn sings(&self) -> bool {
        self.words.iter().fold(0u64, |sum, &word| sum.wrapping_add(word)) == SUM
    }
}

/// By what they hold: a list's payloads are all new.
impl PartialEq for Canary {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.words = [0xDEAD; 4];
        std::hint::black_box(&mut self.words);
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

type Spec = NodeSpec<Canary>;

/// What the threads of a ring share.
struct Shared {
    stop: AtomicBool,
    /// The last version whose commit has returned.
    returned: AtomicU64,
    fault: Mutex<Option<Fault>>,
}

impl Shared {
    fn blame(&self, fault: Fault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn drive<L: Layout<u32>, P: Publish>(shape: &Shape, seed: u64, time: Duration) -> Result<Tally, Fault> {
    let mut random = Random::new(seed ^ 0x50A4);
    let canaries = Arc::new(AtomicUsize::new(0));
    let mut model: BTreeMap<String, u32> = (0..shape.nodes).map(|n| (format!("node-{n}"), 1)).collect();
    let specs: Vec<Spec> =
        model.keys().map(|id| NodeSpec::new(id.as_str()).with_payload(Canary::new(&mut random, &canaries))).collect();
    let builder = Ring::builder().scheme(Native::new().with_points_per_weight(shape.points_per_weight));
    let builder = builder.layout::<L>().publisher::<P>().retired_limit(RETIRED).nodes(specs);
    let (mut writer, handle) = builder.build().map_err(|error| format!("the ring was refused: {error}"))?;
    let returned = if shape.broken { u64::MAX } else { writer.version() };
    let shared = Shared { stop: AtomicBool::new(false), returned: AtomicU64::new(returned), fault: Mutex::new(None) };
    let mut tally = Tally::default();
    let driven = thread::scope(|scope| {
        let stop = StopOnDrop(&shared.stop);
        let readers: Vec<_> = (0..shape.readers)
            .map(|number| {
                let (handle, shared) = (handle.clone(), &shared);
                let random = Random::new(seed ^ 0xBEAD ^ (u64::try_from(number).unwrap_or(0) << 32));
                scope.spawn(move || look::<L, P>(&handle, shared, random))
            })
            .collect();
        let begun = Instant::now();
        let mut pen = Pen { shape, model: &mut model, canaries: &canaries, random, tally: &mut tally };
        let mut driven = Ok(());
        while driven.is_ok() && begun.elapsed() < time && !shared.stop.load(Ordering::Relaxed) {
            driven = pen.step(&mut writer, &shared);
        }
        drop(stop);
        for reader in readers {
            match reader.join() {
                Ok((lookups, scans)) => {
                    tally.lookups += lookups;
                    tally.scans += scans;
                }
                Err(_) => shared.blame("a reader panicked".to_owned()),
            }
        }
        driven
    });
    driven?;
    if let Some(fault) = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(fault);
    }
    // With all readers gone, nothing but what is published may be left; then nothing at all.
    drop(handle);
    writer.reclaim();
    if writer.counts().live != 1 {
        return Err(format!("without readers {} tables live", writer.counts().live));
    }
    if canaries.load(Ordering::Relaxed) != model.len() {
        return Err(format!("{} payloads live in a ring of {} nodes", canaries.load(Ordering::Relaxed), model.len()));
    }
    drop(writer);
    match canaries.load(Ordering::Relaxed) {
        0 => Ok(tally),
        left => Err(format!("{left} payloads are left without a ring")),
    }
}

/// The writer's part.
struct Pen<'a> {
    shape: &'a Shape,
    /// The weight of each node.
    model: &'a mut BTreeMap<String, u32>,
    canaries: &'a Arc<AtomicUsize>,
    random: Random,
    tally: &'a mut Tally,
}

impl Pen<'_> {
    fn canary(&mut self) -> Canary {
        Canary::new(&mut self.random, self.canaries)
    }

    fn any(&mut self) -> Option<String> {
        let place = self.random.below(self.model.len());
        self.model.keys().nth(place).cloned()
    }

    fn step<L: Layout<u32>, P: Publish>(
        &mut self,
        writer: &mut Writer<Canary, Native, L, P>,
        shared: &Shared,
    ) -> Result<(), Fault> {
        match self.random.below(20) {
            0..10 => {
                let mut next = self.model.clone();
                let delta = self.batch(&mut next);
                self.commit(writer, shared, next, |writer| {
                    writer.commit(delta).map_err(CommitError::into_delta).map(drop)
                })?;
            }
            10 => {
                let (next, list) = self.list();
                self.commit(writer, shared, next, |writer| {
                    writer.replace_all(list).map_err(CommitError::into_delta).map(drop)
                })?;
            }
            11..14 => self.refuse(writer)?,
            14..17 => {
                let (id, state) = (self.any(), State::ALL[self.random.below(3)]);
                if let Some(node) = id.and_then(|id| writer.table().node(&id)) {
                    node.set_health(state);
                }
            }
            17 => {
                writer.reclaim();
            }
            18 => thread::sleep(Duration::from_micros(self.random.below_u32(2000).into())),
            _ => self.verify(writer.table())?,
        }
        let counts = writer.counts();
        self.tally.most_live = self.tally.most_live.max(counts.live);
        // Published, one held and one being taken by each reader, what each keeps, and those in their grace period.
        let most = 1 + self.shape.readers * (2 + KEPT) + RETIRED;
        if counts.live > most {
            return Err(format!("{} tables live, the ceiling is {most}: {counts:?}", counts.live));
        }
        Ok(())
    }

    /// Commits what makes `next` of the model, again and again while a reader is stopped inside a refresh.
    fn commit<L: Layout<u32>, P: Publish>(
        &mut self,
        writer: &mut Writer<Canary, Native, L, P>,
        shared: &Shared,
        next: BTreeMap<String, u32>,
        commit: impl FnOnce(&mut Writer<Canary, Native, L, P>) -> Result<(), Delta<Canary>>,
    ) -> Result<(), Fault> {
        let mut rest = commit(writer).err();
        for _ in 0..10_000 {
            let Some(delta) = rest.take() else { break };
            thread::sleep(Duration::from_millis(1));
            match writer.commit(delta) {
                Ok(_) => {}
                Err(CommitError::Invalid { error, .. }) => return Err(format!("a valid batch was refused: {error}")),
                Err(refused) => rest = Some(refused.into_delta()),
            }
        }
        if rest.is_some() {
            return Err("a batch was handed back for ten seconds".to_owned());
        }
        *self.model = next;
        self.tally.commits += 1;
        // Release: whoever reads this version must be able to see the table.
        shared.returned.fetch_max(writer.version(), Ordering::Release);
        Ok(())
    }

    fn batch(&mut self, next: &mut BTreeMap<String, u32>) -> Delta<Canary> {
        let mut delta = Delta::new();
        let most = usize::try_from(self.shape.nodes).unwrap_or(usize::MAX);
        let size = [1, 1, 4, 30][self.random.below(4)];
        for _ in 0..=self.random.below(size) {
            let id = match self.random.below(3) {
                0 => Some(format!("node-{}", self.random.below_u32(2 * self.shape.nodes))),
                _ => self.any(),
            };
            let Some(id) = id.filter(|id| delta.changes().iter().all(|change| change.id() != id)) else { continue };
            let weight = self.random.below_u32(5);
            delta = match next.get(&id) {
                None if next.len() < most + most / 2 + 1 => {
                    next.insert(id.clone(), weight);
                    delta.add(NodeSpec::new(id).with_weight(weight).with_payload(self.canary()))
                }
                None => delta,
                Some(_) => match self.random.below(3) {
                    0 if next.len() > 1 => {
                        next.remove(&id);
                        delta.remove(id)
                    }
                    1 => delta.set_payload(id, self.canary()),
                    _ => {
                        next.insert(id.clone(), weight);
                        delta.set_weight(id, weight)
                    }
                },
            };
        }
        delta
    }

    /// Most of the nodes, in any order, with new payloads.
    fn list(&mut self) -> (BTreeMap<String, u32>, Vec<Spec>) {
        let mut next = self.model.clone();
        let gone = self.any();
        if let Some(gone) = gone.filter(|_| next.len() > 1) {
            next.remove(&gone);
        }
        let specs = next.iter().map(|(id, &weight)| (id.clone(), weight)).collect::<Vec<_>>();
        let list =
            specs.into_iter().map(|(id, weight)| NodeSpec::new(id).with_weight(weight).with_payload(self.canary()));
        (next, list.collect())
    }

    /// A batch with a fault, which must change nothing.
    fn refuse<L: Layout<u32>, P: Publish>(&mut self, writer: &mut Writer<Canary, Native, L, P>) -> Result<(), Fault> {
        let before = (writer.version(), writer.table().spec_fingerprint());
        let fault = match (self.random.below(4), self.any()) {
            (0, Some(id)) => Delta::new().add(NodeSpec::new(id).with_payload(self.canary())),
            (1, Some(id)) => Delta::new().set_weight(id, Limits::DEFAULT.weight() + 1),
            (2, Some(id)) => Delta::new().remove(id.clone()).remove(id),
            _ => Delta::new().remove("stranger"),
        };
        match writer.commit(fault) {
            Err(CommitError::Invalid { .. } | CommitError::Backpressure { .. }) => {}
            other => return Err(format!("a batch with a fault gave {other:?}")),
        }
        self.tally.refused += 1;
        let after = (writer.version(), writer.table().spec_fingerprint());
        if before == after { Ok(()) } else { Err("a refused batch changed the ring".to_owned()) }
    }

    /// The table against a naive ring of the model's nodes.
    fn verify<L: Layout<u32>>(&mut self, table: &Table<Canary, Native, L>) -> Result<(), Fault> {
        table.validate().map_err(|error| error.to_string())?;
        let points = |weight: u32| weight * self.shape.points_per_weight;
        let naive = NaiveRing::new(naive::sea_hash, self.model.iter().map(|(id, &weight)| (&**id, points(weight))));
        if naive.len() != table.len() {
            return Err(format!("{} points, not {}", table.len(), naive.len()));
        }
        for _ in 0..200 {
            let key = self.random.next().to_le_bytes();
            let found = table.owner(&key).map(|node| node.id().as_str());
            if found != naive.owner(&key) {
                return Err(format!("key {key:?} belongs to {found:?}, not to {:?}", naive.owner(&key)));
            }
        }
        let specs = self.model.iter().map(|(id, &weight)| NodeSpec::new(id.as_str()).with_weight(weight));
        let scheme = Native::new().with_points_per_weight(self.shape.points_per_weight);
        let scratch: Table<(), Native, L> = Ring::builder()
            .scheme(scheme)
            .layout::<L>()
            .nodes(specs)
            .build_table()
            .map_err(|error| error.to_string())?;
        let same = table.placement_fingerprint() == scratch.placement_fingerprint();
        if same { Ok(()) } else { Err("another fingerprint than from scratch".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::look::{policies, scan};
    use super::*;

    #[test]
    fn rings_of_every_shape_live_without_a_fault() {
        let layouts = [Of::Auto, Of::Line, Of::Sorted, Of::Eytzinger, Of::STree, Of::Bucket, Of::Direct];
        for (layout, locked) in layouts.into_iter().map(|layout| (layout, false)).chain([(Of::Auto, true)]) {
            let shape = Shape { layout, locked, nodes: 9, points_per_weight: 20, readers: 2, broken: false };
            let tally =
                ring(&shape, 7, Duration::from_millis(200)).unwrap_or_else(|fault| panic!("{shape:?}: {fault}"));
            assert!(tally.lookups > 0 && tally.most_live > 0, "{tally:?}");
        }
    }

    #[test]
    fn a_scan_finds_what_is_wrong() {
        let node = || NodeSpec::new("a").with_payload(Canary::new(&mut Random::new(1), &Arc::default()));
        let table: Table<Canary> = Ring::builder().points_per_weight(1).node(node()).build_table().unwrap();
        assert_eq!((scan(&table, b"key"), policies(&table, b"key")), (Ok(()), Ok(())));
        let mut canary = Canary::new(&mut Random::new(1), &Arc::default());
        assert!(canary.sings());
        canary.words[2] ^= 1;
        assert!(!canary.sings());
    }

    #[test]
    fn rings_are_small_enough_for_the_ceiling() {
        for seed in 0..2000 {
            let Shape { nodes, points_per_weight, .. } = Shape::of(&mut Random::new(seed));
            // Half as many nodes again, of weight 4.
            assert!((nodes + nodes / 2 + 1) * 4 * points_per_weight <= POINTS + 4 * points_per_weight, "seed {seed}");
        }
    }
}
