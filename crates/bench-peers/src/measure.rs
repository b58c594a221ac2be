//! The measurements of all peers at one number of nodes.
//!
//! Times are the thread's processor time: the machine may be shared, and nothing here waits. Reading that clock takes some
//! 0.3 µs, so that shorter times are shown as less than a microsecond.

use std::hint::black_box;
use std::mem;
use std::time::Duration;

use cpu_time::ThreadTime;
use serde::Serialize;

use crate::counting;
use crate::input::{self, Node, POINTS};
use crate::peers::{self, Contestant, Entry, Kind};
use crate::plan::Plan;

/// Lookups of the pass that finds out how slow a peer is, and fewest of any pass.
const LEAST_LOOKUPS: usize = 256;

/// Above this a build or a change isn't run once before to warm up.
const SLOW_CHANGE: Duration = Duration::from_millis(50);

/// One row of results.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    pub peer: &'static str,
    pub version: &'static str,
    pub kind: Kind,
    pub nodes: u32,
    /// Independent lookups, hashing included.
    pub lookup_ns: f64,
    /// Lookups of which each waits for the one before it.
    pub dependent_ns: f64,
    pub lookups_per_pass: usize,
    pub build_ns: f64,
    pub build_rounds: usize,
    pub add_ns: f64,
    pub remove_ns: f64,
    pub change_rounds: usize,
    /// In use after the build, as asked of the allocator.
    pub bytes: usize,
    /// Most in use while it was built.
    pub peak_bytes: usize,
    pub quality: Quality,
}

/// What a peer does to keys.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Quality {
    /// Keys that were looked at.
    pub keys: usize,
    /// Keys of the node with most over the fair share.
    pub spread: f64,
    /// Keys that changed owner when one node was added.
    pub moved: usize,
    /// Those of them that went to the new node: the fewest that could have moved.
    pub gained: usize,
    /// Keys that went from one old node to another.
    pub collateral: usize,
}

impl Quality {
    /// Moved keys over the optimum.
    pub fn over_optimum(&self) -> f64 {
        self.moved as f64 / self.gained as f64
    }
}

/// A peer while it is measured.
struct Turn {
    entry: Entry,
    peer: Box<dyn Contestant>,
    /// Of the first keys, right after it was built: traces that later changes leave show as keys that moved.
    owners: Vec<u32>,
    bytes: usize,
    peak_bytes: usize,
    lookups: usize,
    independent: Vec<Duration>,
    dependent: Vec<Duration>,
    first_build: Duration,
    builds: Vec<Duration>,
    adds: Vec<Duration>,
    removes: Vec<Duration>,
}

/// Measures all `entries` with `count` nodes.
///
/// # Panics
/// If a peer contradicts itself, or loses a key.
pub fn measure(entries: &[Entry], count: u32, keys: &[&str], plan: &Plan) -> Vec<Figures> {
    let nodes = Nodes::new(count);
    let mut turns: Vec<Turn> = entries.iter().map(|entry| Turn::new(*entry, &nodes, keys, plan)).collect();
    for round in 0..plan.rounds {
        in_turn(&mut turns, round, |turn| turn.look_up(round, keys));
    }
    for round in 0..plan.changes {
        in_turn(&mut turns, round, |turn| turn.build_again(round, &nodes, plan));
    }
    for round in 0..plan.changes {
        in_turn(&mut turns, round, |turn| turn.change(round, &nodes, keys, plan));
    }
    turns.into_iter().map(|turn| turn.finish(&nodes, keys)).collect()
}

/// Another peer is first in each round: nobody always comes after the one that leaves memory or caches worst.
fn in_turn(turns: &mut [Turn], round: usize, mut f: impl FnMut(&mut Turn)) {
    let (first, rest) = turns.split_at_mut(round % turns.len().max(1));
    rest.iter_mut().chain(first).for_each(&mut f);
}

/// The nodes before and after one is added.
struct Nodes {
    before: Vec<Node>,
    after: Vec<Node>,
    new: Node,
}

impl Nodes {
    fn new(count: u32) -> Self {
        Self { before: input::nodes(count), after: input::nodes(count + 1), new: input::node(count) }
    }
}

fn timed<R>(f: impl FnOnce() -> R) -> (R, Duration) {
    let start = ThreadTime::now();
    let result = f();
    (result, start.elapsed())
}

impl Turn {
    fn new(entry: Entry, nodes: &Nodes, keys: &[&str], plan: &Plan) -> Self {
        let before = counting::live() + peers::foreign_bytes();
        let build = || timed(|| (entry.build)(&nodes.before, POINTS));
        let (((mut peer, first_build), peak), foreign_peak) = peers::foreign_peak_of(|| counting::peak_of(build));
        let bytes = counting::live() + peers::foreign_bytes() - before;
        let some = &keys[..LEAST_LOOKUPS];
        let sum = peer.independent(some);
        let (again, took) = timed(|| peer.independent(some));
        assert_eq!(sum, again, "{}: the same keys gave different answers", entry.name);
        let last = peer.dependent(some, black_box(0));
        assert_eq!(last, peer.independent(&some[some.len() - 1..]), "{}: kinds of lookups disagree", entry.name);
        let lookup = took / u32::try_from(some.len()).expect("a few");
        let few = Plan::fit(plan.owners_budget, lookup, LEAST_LOOKUPS, plan.keys);
        let owners = peer.owners(&keys[..few]);
        Self {
            entry,
            peer,
            owners,
            bytes,
            // A peer uses one of the two allocators, but for a few bytes.
            peak_bytes: peak + foreign_peak,
            lookups: Plan::fit(plan.pass, lookup, LEAST_LOOKUPS, plan.lookups),
            independent: Vec::new(),
            dependent: Vec::new(),
            first_build,
            builds: Vec::new(),
            adds: Vec::new(),
            removes: Vec::new(),
        }
    }

    fn look_up(&mut self, round: usize, keys: &[&str]) {
        // Fresh keys in each pass, so that no branch predictor learns them; passes of all peers begin at the same places.
        let mut place = round * 4;
        let mut pass = || {
            place += 1;
            let windows = keys.len() / self.lookups;
            &keys[place % windows * self.lookups..][..self.lookups]
        };
        black_box(self.peer.independent(pass()));
        let window = pass();
        self.independent.push(timed(|| black_box(self.peer.independent(window))).1);
        let zero = black_box(0);
        black_box(self.peer.dependent(pass(), zero));
        let window = pass();
        self.dependent.push(timed(|| black_box(self.peer.dependent(window, zero))).1);
    }

    fn build_again(&mut self, round: usize, nodes: &Nodes, plan: &Plan) {
        if round >= Plan::fit(plan.change_budget, self.first_build * 2, 1, plan.changes) {
            return;
        }
        let build = || (self.entry.build)(&nodes.before, POINTS);
        if self.first_build < SLOW_CHANGE {
            drop(build());
        }
        let (peer, took) = timed(build);
        drop(peer);
        self.builds.push(took);
    }

    fn change(&mut self, round: usize, nodes: &Nodes, keys: &[&str], plan: &Plan) {
        let slowest = self.adds.first().max(self.removes.first()).copied().unwrap_or_default();
        if round >= Plan::fit(plan.change_budget, slowest * 4, 1, plan.changes) {
            return;
        }
        if round > 0 && slowest < SLOW_CHANGE {
            self.add_and_remove(nodes, keys);
        }
        let (add, remove) = self.add_and_remove(nodes, keys);
        self.adds.push(add);
        self.removes.push(remove);
    }

    /// A lookup follows each change, as in life: a reader that takes the new table lets go of the old one.
    fn add_and_remove(&mut self, nodes: &Nodes, keys: &[&str]) -> (Duration, Duration) {
        let ((), add) = timed(|| self.peer.add(&nodes.after, POINTS));
        black_box(self.peer.independent(&keys[..1]));
        let ((), remove) = timed(|| self.peer.remove(&nodes.before, &nodes.new, POINTS));
        black_box(self.peer.independent(&keys[..1]));
        (add, remove)
    }

    fn finish(mut self, nodes: &Nodes, keys: &[&str]) -> Figures {
        let quality = self.quality(nodes, keys);
        let lookups = self.lookups as f64;
        Figures {
            peer: self.entry.name,
            version: self.entry.version,
            kind: self.entry.kind,
            nodes: nodes.new.index,
            lookup_ns: median_ns(&mut self.independent) / lookups,
            dependent_ns: median_ns(&mut self.dependent) / lookups,
            lookups_per_pass: self.lookups,
            build_rounds: self.builds.len(),
            build_ns: median_ns(&mut self.builds),
            change_rounds: self.adds.len(),
            add_ns: median_ns(&mut self.adds),
            remove_ns: median_ns(&mut self.removes),
            bytes: self.bytes,
            peak_bytes: self.peak_bytes,
            quality,
        }
    }

    fn quality(&mut self, nodes: &Nodes, keys: &[&str]) -> Quality {
        let (name, new) = (self.entry.name, nodes.new.index);
        let before = mem::take(&mut self.owners);
        let keys = &keys[..before.len()];
        let mut shares = vec![0_usize; nodes.before.len()];
        for &owner in &before {
            *shares.get_mut(owner as usize).unwrap_or_else(|| panic!("{name}: node {owner} isn't there")) += 1;
        }
        self.peer.add(&nodes.after, POINTS);
        let after = self.peer.owners(keys);
        self.peer.remove(&nodes.before, &nodes.new, POINTS);
        let few = &keys[..LEAST_LOOKUPS];
        assert_eq!(self.peer.owners(few), before[..few.len()], "{name}: a node that came and went left traces");
        let changed = before.iter().zip(&after).filter(|(old, new)| old != new);
        let (mut moved, mut gained) = (0, 0);
        for (_, &owner) in changed {
            assert!(owner <= new, "{name}: node {owner} isn't there");
            moved += 1;
            gained += usize::from(owner == new);
        }
        let fair = keys.len() as f64 / shares.len() as f64;
        let most = shares.into_iter().max().unwrap_or(0);
        Quality { keys: keys.len(), spread: most as f64 / fair, moved, gained, collateral: moved - gained }
    }
}

fn median_ns(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_nanos() as f64
}
