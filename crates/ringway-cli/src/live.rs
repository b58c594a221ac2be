//! `ringway live`: lookups at full speed while the ring changes, and a check of what they answered.
//!
//! Reader threads look keys up through the library's public API, as a proxy would. The main thread is the writer: it
//! commits changes at a steady rate and prints a line a second. When the time is up, answers that the readers noted are
//! recomputed by `naive` from the node lists that the writer noted.
//!
//! What is noted is bounded, whatever the flags are: see `Bounds`.

mod change;
mod check;
mod moved;
mod random;
mod reader;
mod report;
mod soak;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::value_parser;
use core_affinity::CoreId;
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::{AnyScheme, AnyU32, Scheme};
use ringway::{CommitError, NodeSpec, Ring, RingBuilder, Writer};

use crate::naive::{self, Hash};
use crate::{Failure, Keys, Layouts, load_cluster};
use change::{Changes, Planned};
use check::{History, Outcome};
use moved::Moved;
use reader::{ReaderTally, Shared};
use report::{Report, Second};

/// Run a ring under load while it changes, and check its answers
///
/// Reader threads, each pinned to a core, look keys up as fast as they can, each through a reader of its own. Meanwhile
/// nodes join, leave and change weight, one a commit, so many commits a second. With no flags this runs on an embedded
/// cluster of 12 nodes and 20,000 embedded keys.
///
/// Prints a line a second: lookups a second of all threads together; percentiles of the time of a single lookup, taken
/// of every 1,024th one (reading the clock included: nothing is subtracted); commits; the ring's version; its points.
///
/// At the end: each node's share of the circle against its fair share, which goes by weight, or by active points where
/// a node sets them; how many keys moved in all commits together against how many had to, that is, came to a node that
/// joined or grew or left one that went or shrank; and the verdict. It is good if
/// - every noted answer is the answer of the version it came from, recomputed from that version's list of nodes by a
///   second, naive implementation of the scheme,
/// - no reader saw the version go back,
/// - no key moved that didn't have to.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Cluster file, TOML or JSON [default: an embedded one]
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// File of keys, one a line [default: embedded ones]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Reader threads [default: cores less one, at least 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Commits a second; 0 leaves the ring as it is
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(..=100_000))]
    changes_per_second: u32,
    /// How long to run
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// How the ring's points lie in memory; answers are the same with all
    #[arg(long, value_enum, default_value_t = Layouts::Auto)]
    layout: Layouts,
    /// Print JSON, one object a line: one for each second, and at last one with the rest
    #[arg(long)]
    json: bool,
    /// Seed of the choice of changes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Soak instead: rings of random shape one after the other, under random changes, with every promise checked
    ///
    /// Layout, publisher, nodes, points, readers, batches, refused batches, states, snapshots: all from --seed. Readers check
    /// that no version goes back or is older than one whose commit has returned, that no payload was freed, and answers
    /// against a scan; the writer checks tables against a naive ring. The number of live tables, of payloads, and the memory
    /// of the process have ceilings. Prints a line a ring; of the other flags --seconds, --seed and --json count.
    #[arg(long)]
    soak: bool,
    /// Falsify one noted answer, or the version that a soak expects, to see the check fail
    #[arg(long, hide = true)]
    break_check: bool,
}

/// Runs the command.
///
/// # Errors
/// A [`Failure`] about the cluster, the keys or the output, or [`Failure::Check`].
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.soak {
        return soak::run(args);
    }
    let (file, scheme, nodes) = load_cluster(args.cluster.as_deref())?;
    let keys = Keys::load(args.keys.as_deref())?;
    let keys = &keys.lines();
    let (points_per_weight, hash) = match &scheme {
        AnyScheme::U32(tagged) if tagged.tag().is_none() => match tagged.scheme() {
            AnyU32::Native(scheme) => Some((scheme.points_per_weight(), naive::sea_hash as Hash)),
            AnyU32::Xxh3(scheme) => Some((scheme.points_per_weight(), naive::xxh3 as Hash)),
            _ => None,
        },
        _ => None,
    }
    .ok_or_else(|| {
        let reason = "live holds every answer against a naive ring of its own, which knows the schemes native and xxh3 \
                      without a key tag or several probes; for others see verify";
        Failure::File { file: file.clone(), line: None, reason: reason.to_owned() }
    })?;
    let changes = Changes::new(points_per_weight, &nodes, args.seed);
    let live = Drive { args, file, keys, changes, hash, report: Report::new(args.json) };
    match scheme {
        AnyScheme::U32(tagged) => match tagged.into_scheme() {
            AnyU32::Native(scheme) => run_scheme(scheme, nodes, live),
            AnyU32::Xxh3(scheme) => run_scheme(scheme, nodes, live),
            _ => unreachable!("refused above"),
        },
        _ => unreachable!("refused above"),
    }
}

fn run_scheme<S: Scheme<Point = u32>>(scheme: S, nodes: Vec<NodeSpec>, live: Drive<'_>) -> Result<(), Failure> {
    let builder = Ring::builder().scheme(scheme).nodes(nodes);
    match live.args.layout {
        Layouts::Auto => live.run(builder.layout::<Auto<u32>>()),
        Layouts::Line => live.run(builder.layout::<Line<u32>>()),
        Layouts::Sorted => live.run(builder.layout::<Sorted<u32>>()),
        Layouts::Eytzinger => live.run(builder.layout::<Eytzinger<u32>>()),
        Layouts::Stree => live.run(builder.layout::<STree<u32>>()),
        Layouts::Bucket => live.run(builder.layout::<Bucket<u32>>()),
        Layouts::Direct => live.run(builder.layout::<Direct<u32>>()),
    }
}

/// How much is noted for the check.
///
/// All versions are noted at first. When they become too many, every second one is dropped and from then on not noted,
/// and so on: those that are left are spread over the whole run, however fast it really went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    /// How many versions are noted at most.
    versions: usize,
    /// How many answers of one version each reader notes, of the first that are timed.
    answers_per_version: usize,
}

impl Bounds {
    /// Naive points that may be placed for the check, all versions together: some 10 s.
    const POINTS: usize = 1 << 25;
    const VERSIONS: usize = 1024;
    /// Answers that may be noted, all readers together: 32 bytes each.
    const ANSWERS: usize = 1 << 21;

    /// The bounds for a run with so many `readers`, of rings of about `size` points and nodes.
    fn new(readers: usize, size: usize) -> Self {
        let versions = (Self::POINTS / size.max(1)).clamp(2, Self::VERSIONS);
        Self { versions, answers_per_version: (Self::ANSWERS / (readers.max(1) * versions)).max(1) }
    }
}

/// Whether a version is noted while one in `step` is.
fn is_noted(version: u64, step: u64) -> bool {
    version % step == 1 % step
}

/// The main thread's part, and what it keeps.
struct Drive<'a> {
    args: &'a Args,
    file: String,
    keys: &'a [&'a [u8]],
    changes: Changes,
    /// The scheme's hash, for the check.
    hash: Hash,
    report: Report,
}

impl Drive<'_> {
    fn run<S, L>(mut self, builder: RingBuilder<(), S, L>) -> Result<(), Failure>
    where
        S: Scheme<Point = u32>,
        L: Layout<u32>,
    {
        let failed = |error| Failure::Ring { file: self.file.clone(), error };
        let (mut writer, handle) = builder.build().map_err(failed)?;
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let readers = self.args.threads.map_or_else(|| cores.len().saturating_sub(1).max(1), usize::from);
        let table = writer.table();
        let bounds = Bounds::new(readers, table.len() + table.node_count());

        self.report.head(self.args, &self.file, readers, self.keys.len(), table)?;
        let mut history = History::new(bounds);
        history.note(writer.version(), &self.changes);
        let mut moved = Moved::new(self.keys, table);

        let shared = Shared::new(self.keys, bounds, readers);
        let (drove, mut tallies) = thread::scope(|scope| {
            // Stops the readers however driving ends, or the scope would wait for them for ever.
            let stop = StopOnDrop(&shared.stop);
            let threads: Vec<_> = (0..readers)
                .map(|number| {
                    let (reader, shared, core) = (handle.reader(), &shared, core_of(&cores, number));
                    scope.spawn(move || reader::read(reader, shared, number, core))
                })
                .collect();
            let drove = self.drive(&mut writer, &shared, &mut history, &mut moved);
            drop(stop);
            let tallies: Vec<ReaderTally> =
                threads.into_iter().map(|thread| thread.join().expect("a reader doesn't panic")).collect();
            (drove, tallies)
        });
        drove?;
        if self.args.break_check {
            falsify(&mut tallies);
        }
        let outcome = check::check(&history, self.hash, self.keys, &tallies);
        self.report.summary(writer.table(), &moved, &outcome, &tallies)?;
        verdict(&outcome, &moved)
    }

    /// Commits and prints until the time is up.
    fn drive<S: Scheme<Point = u32>, L: Layout<u32>>(
        &mut self,
        writer: &mut Writer<(), S, L>,
        shared: &Shared<'_>,
        history: &mut History,
        moved: &mut Moved<'_>,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let interval = (self.args.changes_per_second > 0)
            .then(|| Duration::from_nanos(1_000_000_000 / u64::from(self.args.changes_per_second)));
        let mut next_change = interval.map(|interval| start + interval);
        let mut pending: Option<Planned> = None;
        let (mut seconds, mut commits, mut last) = (0, 0, start);
        loop {
            let now = Instant::now();
            let next_line = start + Duration::from_secs(u64::from(seconds) + 1);
            if now >= next_line {
                seconds += 1;
                let (lookups, times) = shared.take_second();
                let elapsed = now.duration_since(last);
                last = now;
                let (version, points) = (writer.version(), writer.table().len());
                let second = Second { second: seconds, elapsed, lookups, times, commits, version, points };
                self.report.second(&second)?;
                if seconds == self.args.seconds {
                    return Ok(());
                }
                continue;
            }
            if let (Some(due), Some(interval)) = (next_change, interval)
                && now >= due
            {
                // Late changes are made up for in a burst of a tenth of a second at most.
                next_change = Some((due + interval).max(now.checked_sub(Duration::from_millis(100)).unwrap_or(now)));
                let mut planned = pending.take().unwrap_or_else(|| self.changes.plan());
                match writer.commit(planned.delta) {
                    Ok(_) => {
                        commits += 1;
                        history.note(writer.version(), &self.changes);
                        shared.set_step(history.step());
                        moved.note(&planned.id, planned.kind, writer.table());
                    }
                    Err(CommitError::Invalid { error, .. }) => {
                        let reason = format!("live's own change of node \"{}\" was refused: {error}", planned.id);
                        return Err(Failure::File { file: self.file.clone(), line: None, reason });
                    }
                    // A reader was stopped in the middle of taking a table. The change is tried again when the next is
                    // due.
                    Err(refused) => {
                        planned.delta = refused.into_delta();
                        pending = Some(planned);
                    }
                }
                continue;
            }
            let wake = next_change.map_or(next_line, |due| due.min(next_line));
            thread::sleep(wake.saturating_duration_since(now));
        }
    }
}

/// The core that a reader is pinned to. The first is left to the writer while there are others.
fn core_of(cores: &[CoreId], number: usize) -> Option<CoreId> {
    match cores {
        [] => None,
        [only] => Some(*only),
        [_, others @ ..] => Some(others[number % others.len()]),
    }
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        // Relaxed: nothing is read on the strength of it; what the readers leave behind is taken by joining them.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Gives the first noted answer another owner.
fn falsify(tallies: &mut [ReaderTally]) {
    if let Some(answer) = tallies.iter_mut().find_map(|tally| tally.answers.first_mut()) {
        answer.owner = match answer.owner {
            Some(_) => None,
            None => Ring::builder()
                .node(ringway::NodeSpec::new("falsified"))
                .build_table()
                .ok()
                .and_then(|table| table.nodes().next().map(|node| node.id().clone())),
        };
    }
}

fn verdict(outcome: &Outcome, moved: &Moved<'_>) -> Result<(), Failure> {
    if let Some(wrong) = &outcome.first_wrong {
        return Err(Failure::Check(format!(
            "{} of {} answers are wrong, such as {wrong}",
            outcome.wrong, outcome.answers
        )));
    }
    if outcome.answers == 0 {
        return Err(Failure::Check("no answer was noted; run longer".to_owned()));
    }
    if outcome.went_back > 0 {
        return Err(Failure::Check(format!("a reader saw the version go back {} times", outcome.went_back)));
    }
    if moved.collateral() > 0 {
        return Err(Failure::Check(format!("{} keys moved that didn't have to", moved.collateral())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_bounded_whatever_the_flags() {
        for readers in [1, 3, 1024] {
            for size in [0, 16_908, 1 << 20, 1 << 24] {
                let Bounds { versions, answers_per_version } = Bounds::new(readers, size);
                assert!((2..=1024).contains(&versions) && answers_per_version >= 1);
                assert!(size * versions <= 1 << 25, "{size} points, {versions} versions");
                assert!(answers_per_version * readers * versions <= 1 << 21, "{readers} readers, {versions} versions");
            }
        }
    }

    #[test]
    fn each_core_but_the_first_takes_a_reader() {
        let cores: Vec<_> = (0..3).map(|id| CoreId { id }).collect();
        let of = |number| core_of(&cores, number).map(|core| core.id);
        assert_eq!([of(0), of(1), of(2)], [Some(1), Some(2), Some(1)]);
        assert_eq!(core_of(&cores[..1], 5).map(|core| core.id), Some(0));
        assert_eq!(core_of(&[], 0).map(|core| core.id), None);
    }
}
