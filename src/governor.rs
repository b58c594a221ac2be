//! How fast a ring may change: a governor before the writer. Rank 7.
//!
//! Batches are folded into one pending change of each node, so what waits is bounded by the ring and not by how often it was
//! asked to change, and what comes out depends on what is wanted and not on the way there. Ticks commit as much of it as the
//! pace allows. Time comes from the caller; there is no clock and no thread in here.
//!
//! Invariants
//! - V1: pending changes, made all at once, are a valid batch for the published table.
//! - V2: with pending changes and nothing moved in the last window, a tick commits something that brings the ring nearer to
//!   what is wanted; so the wanted state arrives.

mod fit;
mod pending;

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use crate::delta::Delta;
use crate::error::{DeltaError, shown};
use crate::hash::{Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{NodeSpec, State};
use crate::publish::{Epoch, Publish};
use crate::ring::{CommitError, CommitReport, Writer};
use pending::Pending;

/// How fast a ring may change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    interval: Duration,
    window: Duration,
    share: f64,
}

impl Pace {
    /// At least `interval` between two commits, and in any stretch of time as long as `window` at most `share` of all keys
    /// moved. Times above 2^32 seconds, 136 years, count as that.
    ///
    /// # Errors
    /// [`PaceError`] if `share` isn't above 0 and up to 1.
    pub fn new(interval: Duration, window: Duration, share: f64) -> Result<Self, PaceError> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(PaceError { share });
        }
        Ok(Self { interval: interval.min(LONGEST), window: window.min(LONGEST), share })
    }

    /// Returns the least time between two commits.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the window.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Returns the largest part of all keys that may move in a window.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }
}

/// So that a sum of times doesn't overflow.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// The time so long after another.
fn after(at: Instant, time: Duration) -> Instant {
    // An instant at the end of what the system can say has none after it.
    at.checked_add(time).unwrap_or(at)
}

/// A share that no pace can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaceError {
    /// What was given.
    pub share: f64,
}

impl fmt::Display for PaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a window's share of {} isn't above 0 and up to 1; give one such as 0.1", self.share)
    }
}

impl std::error::Error for PaceError {}

/// Stands before a [`Writer`] and limits how often, and how far, its ring changes.
///
/// [`submit`](Self::submit) takes batches at any rate and publishes nothing; [`tick`](Self::tick), called with the time now
/// and then, commits what the [`Pace`] allows.
/// - What is submitted is coalesced: a node that comes and goes before a tick was never there, and a thousand changes of one
///   weight are one.
/// - What moves more keys than the window has left is held back. Of several nodes' changes those that fit are made, in the
///   order of their ids; of the next one a part, by active points, where the scheme places nodes independently.
/// - A change that doesn't fit into an empty window, and has no smaller part, is made alone in one, and the tick says so.
/// - Removing a node that is [`Down`](State::Down) is exempt: its keys have moved already. It waits for nothing and counts
///   for nothing.
/// - The last state always arrives, in finitely many ticks whose times pass the window.
///
/// ```
/// use std::time::{Duration, Instant};
/// use ringway::{Delta, Governor, NodeSpec, Pace, Ring};
/// let (writer, _) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
/// // At most a tenth of all keys a minute, at most a commit a second.
/// let pace = Pace::new(Duration::from_secs(1), Duration::from_secs(60), 0.1)?;
/// let mut governor = Governor::new(writer, pace);
/// governor.submit(Delta::new().add(NodeSpec::new("d")))?;
/// let mut now = Instant::now();
/// let first = governor.tick(now);
/// assert!(first.moved <= 0.1 && first.pending == 1, "a part of d's points");
/// while let Some(due) = governor.next_due(now) {
///     now = due; // A program sleeps until then, or looks in now and then.
///     governor.tick(now);
/// }
/// assert_eq!(governor.writer().table().points_of("d"), Some(512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Governor<T = (), S = Native, L = Auto<<S as Scheme>::Point>, P = Epoch>
where
    T: Clone + Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    writer: Writer<T, S, L, P>,
    pace: Pace,
    pending: Pending<T>,
    /// When how much was moved, oldest first.
    spent: VecDeque<(Instant, f64)>,
    last: Option<Instant>,
    /// Nothing more fits before.
    blocked: Option<Instant>,
}

/// The most entries of what was moved when; then two become one, at the later time.
const SPENT: usize = 1024;

/// What a [`Governor::tick`] did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tick {
    /// The commit that removed nodes that are down, if there was one.
    pub exempt: Option<CommitReport>,
    /// The commit, if there was one.
    pub commit: Option<CommitReport>,
    /// The part of all keys that the commit moved.
    pub moved: f64,
    /// Whether that is more than a window allows, the change having no smaller part.
    pub oversize: bool,
    /// How many nodes have changes that are held back, with the list's order and the pins counted as one each.
    pub pending: usize,
    /// If a reader that is stopped inside a refresh kept the ring from changing: how many replaced tables wait, and how many
    /// may.
    pub backpressure: Option<(usize, usize)>,
}

impl<T, S, L, P> Governor<T, S, L, P>
where
    T: Clone + Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    /// Puts a governor before a writer. Nothing has moved in the first window.
    #[must_use]
    pub fn new(writer: Writer<T, S, L, P>, pace: Pace) -> Self {
        Self { writer, pace, pending: Pending::new(), spent: VecDeque::new(), last: None, blocked: None }
    }

    /// Takes a batch, for the ring as it will be with all that was submitted before.
    ///
    /// A node that is removed and added again, while it is in the ring, is changed in place: its live state is set as
    /// configured, its requests in flight go on.
    ///
    /// # Errors
    /// [`CommitError::Invalid`] with the batch, as [`Writer::commit`] would have given it. What was pending stays.
    ///
    /// # Complexity
    /// O(P + N + n) for n pending nodes: the whole is checked as a dry run.
    pub fn submit(&mut self, delta: Delta<T>) -> Result<(), CommitError<T>> {
        let table = self.writer.table();
        let mut next = self.pending.clone();
        let checked = delta.check().and_then(|()| next.fold(delta.clone(), table)).and_then(|()| {
            let whole = next.delta(next.ids());
            table.apply(whole, self.writer.limits()).map_err(|(error, _)| error)
        });
        match checked {
            Ok(Some(_)) => {
                if table.scheme().order_free() {
                    next.forget_order();
                }
                self.pending = next;
            }
            // V1: it all comes to nothing.
            Ok(None) => self.pending = Pending::new(),
            Err(error) => return Err(CommitError::Invalid { error, delta }),
        }
        self.blocked = None;
        Ok(())
    }

    /// Takes the list of nodes that the ring shall have, such as service discovery hands over; see
    /// [`Writer::replace_all`].
    ///
    /// # Errors
    /// As [`submit`](Self::submit); if the list names an id twice, with an empty batch.
    pub fn submit_all(&mut self, nodes: impl IntoIterator<Item = NodeSpec<T>>) -> Result<(), CommitError<T>>
    where
        T: PartialEq,
    {
        let table = self.writer.table();
        let whole = self.pending.delta(self.pending.ids());
        let wanted = match table.apply(whole, self.writer.limits()) {
            Ok(Some(applied)) => applied.table.delta_to(nodes, T::eq),
            Ok(None) => table.delta_to(nodes, T::eq),
            Err((error, _)) => Err(error),
        };
        match wanted {
            Ok(delta) => self.submit(delta),
            Err(error) => Err(CommitError::Invalid { error, delta: Delta::new() }),
        }
    }

    /// Commits what may be committed at the time `now`. Times that go back count as the latest so far.
    ///
    /// # Panics
    /// As [`Writer::commit`]; what was pending is pending still.
    ///
    /// # Complexity
    /// O((P + N) log (n · p)) for n pending nodes of up to p points, and O(1) while nothing may be committed.
    pub fn tick(&mut self, now: Instant) -> Tick {
        let now = self.last.map_or(now, |last| now.max(last));
        let mut tick = Tick {
            exempt: None,
            commit: None,
            moved: 0.0,
            oversize: false,
            pending: self.pending.len(),
            backpressure: None,
        };
        self.remove_down(&mut tick);
        if !self.pending.is_empty() && tick.backpressure.is_none() && self.earliest().is_none_or(|at| at <= now) {
            self.commit_some(now, &mut tick);
        }
        tick.pending = self.pending.len();
        tick
    }

    /// Returns when to tick next; `None` while nothing is pending. Before that time a tick commits nothing, unless a node
    /// that is to be removed goes down.
    #[must_use]
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        if self.pending.is_empty() {
            None
        } else if !self.down().is_empty() {
            Some(now)
        } else {
            Some(self.earliest().map_or(now, |at| at.max(now)))
        }
    }

    /// Returns how many nodes have changes that are held back, with the list's order and the pins counted as one each.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the pace.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Sets the pace, for what comes next.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        self.blocked = None;
    }

    /// Returns the writer.
    #[must_use]
    pub fn writer(&self) -> &Writer<T, S, L, P> {
        &self.writer
    }

    /// Returns the writer; what is pending is lost.
    #[must_use]
    pub fn into_writer(self) -> Writer<T, S, L, P> {
        self.writer
    }

    /// Before this time nothing may be committed.
    fn earliest(&self) -> Option<Instant> {
        let interval = self.last.map(|last| after(last, self.pace.interval));
        interval.into_iter().chain(self.blocked).max()
    }

    /// Pending removals of nodes that are down.
    fn down(&self) -> Vec<String> {
        let is_down = |id: &&str| self.writer.table().node(id).is_some_and(|node| node.health() == State::Down);
        self.pending.removals().filter(is_down).map(str::to_owned).collect()
    }

    fn remove_down(&mut self, tick: &mut Tick) {
        let down = self.down();
        if down.is_empty() {
            return;
        }
        let delta = self.pending.delta(down.iter().map(String::as_str));
        match self.writer.commit(delta) {
            Ok(report) => {
                down.iter().for_each(|id| self.pending.done(id));
                self.blocked = None;
                tick.exempt = Some(report);
            }
            Err(CommitError::Backpressure { waiting, limit, .. }) => tick.backpressure = Some((waiting, limit)),
            // A part of a valid whole that isn't valid alone: it goes with the rest.
            Err(CommitError::Invalid { .. }) => {}
        }
    }

    /// What the window has left at this time.
    fn left(&mut self, now: Instant) -> f64 {
        while self.spent.front().is_some_and(|&(at, _)| now.duration_since(at) >= self.pace.window) {
            self.spent.pop_front();
        }
        self.pace.share - self.spent.iter().map(|(_, moved)| moved).sum::<f64>()
    }

    fn commit_some(&mut self, now: Instant, tick: &mut Tick) {
        let left = self.left(now);
        let empty = self.spent.is_empty();
        let Some(part) = fit::find(self.writer.table(), self.writer.limits(), &self.pending, left, empty) else {
            self.blocked = self.spent.front().map(|&(at, _)| after(at, self.pace.window));
            return;
        };
        let delta = part.delta(&self.pending);
        match self.writer.commit(delta) {
            Ok(report) => {
                for (id, state) in part.settle(&mut self.pending) {
                    if let Some(node) = self.writer.table().node(&id) {
                        node.set_health(state);
                    }
                }
                if part.moved > 0.0 {
                    self.spend(now, part.moved);
                }
                if report.published {
                    self.last = Some(now);
                }
                (tick.moved, tick.oversize) = (part.moved, part.moved > self.pace.share);
                tick.commit = report.published.then_some(report);
            }
            Err(CommitError::Backpressure { waiting, limit, .. }) => tick.backpressure = Some((waiting, limit)),
            Err(CommitError::Invalid { error, .. }) => unreachable!("the dry run took it: {error}"),
        }
    }

    fn spend(&mut self, now: Instant, moved: f64) {
        if self.spent.len() == SPENT
            && let Some((_, oldest)) = self.spent.pop_front()
            && let Some((_, next)) = self.spent.front_mut()
        {
            *next += oldest;
        }
        self.spent.push_back((now, moved));
    }
}

impl<T, S, L, P> fmt::Debug for Governor<T, S, L, P>
where
    T: Clone + Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Governor")
            .field("pace", &self.pace)
            .field("pending", &self.pending.len())
            .field("writer", &self.writer)
            .finish_non_exhaustive()
    }
}

fn unknown(id: &str) -> DeltaError {
    DeltaError::UnknownId { id: shown(id) }
}
