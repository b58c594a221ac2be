//! The control plane's end: commits deltas.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::reader::Snapshot;
use super::versions::Versions;
use crate::delta::Delta;
use crate::error::DeltaError;
use crate::hash::{Fingerprint, Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{Limits, NodeId, NodeSpec};
use crate::plan::{KeyMapsDiffer, Plan};
use crate::publish::{Counts, Epoch, Publish, Write};
use crate::sync::Arc;
use crate::table::{Applied, Recycler, Table};

/// The one end of a ring that changes it. `Send`, not `Sync`, not `Clone`.
///
/// Dropping it leaves the last table published; readers go on with that.
pub struct Writer<T = (), S = Native, L = Auto<<S as Scheme>::Point>, P = Epoch>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    inner: P::Writer<Table<T, S, L>>,
    recycler: Recycler<S::Point, L>,
    versions: Arc<Versions>,
    limits: Limits,
}

impl<T, S, L, P> Writer<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    pub(super) fn new(inner: P::Writer<Table<T, S, L>>, versions: Arc<Versions>, limits: Limits) -> Self {
        Self { inner, recycler: Recycler::new(), versions, limits }
    }

    /// Applies a batch of changes and publishes the resulting table as the next version.
    ///
    /// All or nothing. Readers see the new table with their next lookup; none waits, and none is waited for. An empty
    /// batch, and one that changes nothing, publish nothing: the report then has `published: false` and the version that
    /// is out. Tables that nobody holds any more are dropped here.
    ///
    /// # Errors
    /// [`CommitError::Invalid`] if the batch is refused, [`CommitError::Backpressure`] if a reader is stopped inside a
    /// refresh (checked before anything is built). Both hand the batch back, and the published table stays.
    ///
    /// # Panics
    /// If the scheme or the layout panics, so does this, and nothing has changed. If the drop of a payload of a table that
    /// isn't needed any more panics, so does this, but only after the batch was committed or refused (and if it was
    /// refused, it is lost). A payload's drop runs inside this call, so it must not wait for the writer.
    ///
    /// # Complexity
    /// That of [`Table::apply`]: O(P + N + k log k) for k changed points. The table before the one that is replaced, if
    /// nobody holds it any more, is where the next one is made: no index is copied then, and no memory asked for.
    pub fn commit(&mut self, delta: Delta<T>) -> Result<CommitReport, CommitError<T>> {
        // Before the next table is built, so that no more tables live at once than must. A payload's drop may panic, which
        // must not get between the batch and its commit.
        let Self { inner, recycler, .. } = self;
        let reclaimed = catch_unwind(AssertUnwindSafe(|| inner.reclaim_with(|table| recycler.keep(table))));
        let result = self.commit_unreclaimed(delta);
        if let Err(panic) = reclaimed {
            // A refused batch is lost to the panic. Its payloads' drops mustn't panic on top of it, which would abort.
            drop(catch_unwind(AssertUnwindSafe(|| drop(result))));
            resume_unwind(panic);
        }
        result
    }

    /// Whether a commit wouldn't be refused for replaced tables that wait: else how many do, and may.
    pub(crate) fn ready(&mut self) -> Result<(), (usize, usize)> {
        self.inner.reclaim();
        self.inner.ready().map_err(|full| (full.in_grace, full.limit))
    }

    fn commit_unreclaimed(&mut self, delta: Delta<T>) -> Result<CommitReport, CommitError<T>> {
        if let Err(full) = self.inner.ready() {
            return Err(CommitError::Backpressure { waiting: full.in_grace, limit: full.limit, delta });
        }
        let current = self.inner.current();
        let applied = match current.apply_within(delta, &self.limits, &mut self.recycler) {
            Ok(Some(mut applied)) => {
                // Before it is published: a reader that finds it finds the live states it counts on.
                applied.enrol();
                applied
            }
            Ok(None) => return Ok(CommitReport::unchanged(current)),
            Err((error, delta)) => return Err(CommitError::Invalid { error, delta }),
        };
        let Applied { table, added, removed, changed, points_added, points_removed, points_changed, .. } = applied;
        let report = CommitReport {
            version: table.version(),
            published: true,
            added,
            removed,
            changed,
            points: table.len(),
            points_added,
            points_removed,
            placement: table.placement_fingerprint(),
            spec: table.spec_fingerprint(),
        };
        // Publishing drops old tables too; the new one is out by then, so its version must be known whatever they do.
        let Self { inner, recycler, .. } = self;
        let published = catch_unwind(AssertUnwindSafe(|| inner.publish_with(table, |old| recycler.keep(old)).is_ok()));
        let version = self.inner.current().version();
        self.versions.announce(version);
        if version == report.version {
            self.recycler.published(version, report.points, points_changed);
        }
        match published {
            Ok(true) => Ok(report),
            Ok(false) => unreachable!("`ready` said Ok and only a publish can change that"),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Brings the ring to exactly the given list of nodes, such as service discovery hands over: what isn't in it is
    /// removed, what is new is added, what differs is changed. An equal list publishes nothing. An empty list removes all
    /// nodes: check it first if your discovery can fail that way.
    ///
    /// # Errors
    /// As [`commit`](Self::commit), with the delta that was made of the list. If the list names an id twice, that is
    /// [`DeltaError::DuplicateId`], no delta is made, and the list is lost.
    ///
    /// For payloads without `PartialEq`, make the delta with [`Table::delta_to`] of [`table`](Self::table) and commit it.
    pub fn replace_all(&mut self, nodes: impl IntoIterator<Item = NodeSpec<T>>) -> Result<CommitReport, CommitError<T>>
    where
        T: PartialEq,
    {
        match self.table().delta_to(nodes, T::eq) {
            Ok(delta) => self.commit(delta),
            Err(error) => Err(CommitError::Invalid { error, delta: Delta::new() }),
        }
    }

    /// Says what a batch of changes would move: a dry run of [`commit`](Self::commit). Nothing is published, no node's state
    /// is set, and the batch stays the caller's.
    ///
    /// For a [`ReplicaPlan`](crate::ReplicaPlan), or to look keys up in the next table, make that by [`Table::apply`] of
    /// [`table`](Self::table), with [`limits`](Self::limits); so too if payloads can't be cloned.
    ///
    /// ```
    /// # use ringway::{Delta, NodeSpec, Ring};
    /// let (mut writer, _handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
    /// let delta = Delta::new().add(NodeSpec::new("d"));
    /// if writer.plan(&delta)?.moved().fraction() < 0.3 {
    ///     writer.commit(delta)?;
    /// }
    /// assert_eq!(writer.version(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DryRunError::Invalid`] with the error for which a commit would refuse the batch, [`DryRunError::KeyMapsDiffer`] as
    /// [`Plan::between`] if the scheme has several probes. Whether a commit would meet
    /// [`Backpressure`](CommitError::Backpressure) can't be known before.
    ///
    /// # Complexity
    /// That of [`Table::apply`] and [`Plan::between`]; the next table is built in memory of its own, and dropped.
    pub fn plan(&self, delta: &Delta<T>) -> Result<Plan<S::Point>, DryRunError>
    where
        T: Clone,
    {
        let current = self.table();
        let applied = current.apply(delta.clone(), &self.limits).map_err(|(error, _)| DryRunError::Invalid(error))?;
        let plan = match &applied {
            Some(applied) => Plan::between(current, &applied.table),
            None => Plan::between(current, current),
        };
        plan.map_err(DryRunError::KeyMapsDiffer)
    }

    /// Returns the table that is published now.
    #[must_use]
    pub fn table(&self) -> &Table<T, S, L> {
        self.inner.current()
    }

    /// Returns the table that is published now, owned.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T, S, L> {
        Snapshot::new(self.inner.snapshot())
    }

    /// Returns the version that is published now.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.table().version()
    }

    /// Returns how large the ring may become.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Drops replaced tables that nobody holds any more, and returns how many. Every commit does this too, but keeps the
    /// points and the index of one for the next commit to work in; these go as well. For writers that commit seldom.
    pub fn reclaim(&mut self) -> usize {
        self.recycler.release();
        self.inner.reclaim()
    }

    /// Returns how many tables live: the published one, and replaced ones that are still held or in their grace period.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.counts()
    }
}

impl<T, S, L, P> Drop for Writer<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn drop(&mut self) {
        self.versions.close();
    }
}

impl<T, S, L, P> fmt::Debug for Writer<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("table", self.table()).field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitReport {
    /// The version that is published now.
    pub version: u64,
    /// Whether a new version was published; not if nothing changed.
    pub published: bool,
    /// Nodes that came, in the order of their ids' bytes.
    pub added: Vec<NodeId>,
    /// Nodes that went, likewise.
    pub removed: Vec<NodeId>,
    /// Nodes whose description or payload changed, likewise.
    pub changed: Vec<NodeId>,
    /// How many points the table has.
    pub points: usize,
    /// How many points came.
    pub points_added: usize,
    /// How many points went.
    pub points_removed: usize,
    /// Fingerprint of all that decides where a key goes.
    pub placement: Fingerprint,
    /// Fingerprint of all that is configured.
    pub spec: Fingerprint,
}

impl CommitReport {
    fn unchanged<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>) -> Self {
        Self {
            version: table.version(),
            published: false,
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            points: table.len(),
            points_added: 0,
            points_removed: 0,
            placement: table.placement_fingerprint(),
            spec: table.spec_fingerprint(),
        }
    }
}

/// Why a batch of changes has no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DryRunError {
    /// A commit would refuse the batch.
    Invalid(DeltaError),
    /// Keys have several probes, so that no arc says where they go.
    KeyMapsDiffer(KeyMapsDiffer),
}

impl fmt::Display for DryRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::KeyMapsDiffer(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DryRunError {}

/// Why a commit was refused. The published table is what it was, and the batch comes back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitError<T> {
    /// The batch was refused.
    Invalid {
        /// Why.
        error: DeltaError,
        /// The batch.
        delta: Delta<T>,
    },
    /// Replaced tables wait for a reader that is stopped in the middle of taking a table (by a debugger or the
    /// scheduler), and no more may wait. Try again later: each commit and [`Writer::reclaim`] look whether it has gone on.
    Backpressure {
        /// How many tables wait.
        waiting: usize,
        /// How many may.
        limit: usize,
        /// The batch.
        delta: Delta<T>,
    },
}

impl<T> CommitError<T> {
    /// Returns the batch that was refused.
    #[must_use]
    pub fn into_delta(self) -> Delta<T> {
        match self {
            Self::Invalid { delta, .. } | Self::Backpressure { delta, .. } => delta,
        }
    }
}

impl<T> fmt::Display for CommitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { error, .. } => error.fmt(f),
            Self::Backpressure { waiting, limit, .. } => write!(
                f,
                "{waiting} replaced tables wait for a reader stopped inside a refresh, the limit is {limit}; commit again \
                 later"
            ),
        }
    }
}

impl<T> fmt::Debug for CommitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { error, delta } => {
                f.debug_struct("Invalid").field("error", error).field("delta", delta).finish()
            }
            Self::Backpressure { waiting, limit, delta } => f
                .debug_struct("Backpressure")
                .field("waiting", waiting)
                .field("limit", limit)
                .field("delta", delta)
                .finish(),
        }
    }
}

// No `source`, as for `DeltaError`. For every payload, so that `?` works whatever the payload is.
impl<T> std::error::Error for CommitError<T> {}
