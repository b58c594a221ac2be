//! The data plane's ends: handles, readers, snapshots.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::versions::Versions;
use crate::error::WaitError;
use crate::hash::{Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::Node;
use crate::publish::{Epoch, Publish, Read, Source};
use crate::sync::Arc;
use crate::table::Table;

/// The end of a ring that everybody shares: `Send + Sync + Clone`. Makes readers.
pub struct Handle<T = (), S = Native, L = Auto<<S as Scheme>::Point>, P = Epoch>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    source: P::Source<Table<T, S, L>>,
    versions: Arc<Versions>,
}

impl<T, S, L, P> Handle<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    pub(super) fn new(source: P::Source<Table<T, S, L>>, versions: Arc<Versions>) -> Self {
        Self { source, versions }
    }

    /// Makes a reader: one for each thread that looks keys up, made once and kept. It may be made on any thread and
    /// moved.
    ///
    /// Allocates and registers; after a fork, make new ones.
    #[must_use]
    pub fn reader(&self) -> Reader<T, S, L, P> {
        Reader { inner: self.source.reader() }
    }

    /// Returns the table that is published now, owned.
    ///
    /// The guard for who keeps no reader, such as an async task of one request: it may be held across `.await`s and move
    /// between threads, and its table stays alive and the same. Takes some 35 times as long as a lookup through a reader
    /// (140 ns; a microsecond if more than eight are being taken at once) and writes to words that all threads share; who
    /// asks often keeps a reader.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T, S, L> {
        Snapshot::new(self.source.snapshot())
    }

    /// Returns the version that was published last. A lookup by the same thread after this sees that version or a later
    /// one.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.versions.current()
    }

    /// Waits until `version` or a later one is published, and returns the version that is. A lookup by the same thread
    /// after this sees it or a later one.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] if that takes longer than `timeout`, [`WaitError::WriterGone`] if it can't happen any
    /// more.
    pub fn wait_for(&self, version: u64, timeout: Duration) -> Result<u64, WaitError> {
        self.versions.wait_for(version, timeout)
    }
}

impl<T, S, L, P> Clone for Handle<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn clone(&self) -> Self {
        Self { source: self.source.clone(), versions: Arc::clone(&self.versions) }
    }
}

impl<T, S, L, P> fmt::Debug for Handle<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// One thread's end of a ring: looks keys up. `Send`, not `Sync`.
///
/// Every lookup asks first whether a newer table is published (one load, one compare) and then answers from it, as
/// [`Table`] does. Lookups take `&mut self`, because taking a newer table lets go of the older one: a returned `&Node`
/// ends with the next call, unless it is cloned. To ask many things of one table, use [`table`](Self::table).
pub struct Reader<T = (), S = Native, L = Auto<<S as Scheme>::Point>, P = Epoch>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    inner: P::Reader<Table<T, S, L>>,
}

impl<T, S, L, P> Reader<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    /// Returns the table that is published now, held until the reader's next call: several answers from it belong
    /// together.
    #[inline]
    pub fn table(&mut self) -> &Table<T, S, L> {
        self.inner.current()
    }

    /// Returns the node that owns `key`; `None` if the ring has no points and the key isn't pinned. See
    /// [`Table::owner`].
    ///
    /// Wait-free and without an allocator call while the table is unchanged (G1).
    #[inline]
    pub fn owner(&mut self, key: &[u8]) -> Option<&Node<T>> {
        self.table().owner(key)
    }

    /// Returns the node that owns the key that `parts` make when joined. See [`Table::owner_of_parts`].
    #[inline]
    pub fn owner_of_parts(&mut self, parts: &[&[u8]]) -> Option<&Node<T>> {
        self.table().owner_of_parts(parts)
    }

    /// Returns the node that owns `point`. See [`Table::owner_at`].
    #[inline]
    pub fn owner_at(&mut self, point: S::Point) -> Option<&Node<T>> {
        self.table().owner_at(point)
    }

    /// Looks up several keys in one table. See [`Table::owner_batch`].
    ///
    /// ```
    /// # use ringway::{NodeSpec, Ring};
    /// # let (_writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
    /// let mut reader = handle.reader();
    /// let mut owners = [None; 3];
    /// assert_eq!(reader.owner_batch(&["x", "y", "z"], &mut owners), 3);
    /// assert!(owners.iter().all(Option::is_some));
    /// # Ok::<(), ringway::DeltaError>(())
    /// ```
    pub fn owner_batch<'r, K: AsRef<[u8]>>(&'r mut self, keys: &[K], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().owner_batch(keys, out)
    }

    /// Looks up several points in one table. See [`Table::owner_at_batch`].
    pub fn owner_at_batch<'r>(&'r mut self, points: &[S::Point], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().owner_at_batch(points, out)
    }

    /// Returns the table that is published now, owned.
    pub fn snapshot(&mut self) -> Snapshot<T, S, L> {
        Snapshot::new(self.inner.snapshot())
    }

    /// Returns the version that is published now.
    pub fn version(&mut self) -> u64 {
        self.table().version()
    }

    /// Lets go of the table, for a thread that is about to idle: an idle reader that isn't parked keeps one old table
    /// alive. The next lookup takes the newest.
    pub fn park(&mut self) {
        self.inner.park();
    }
}

impl<T, S, L, P> fmt::Debug for Reader<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("held", &self.inner.held()).finish_non_exhaustive()
    }
}

/// A table that is kept alive: owned, `Send + Sync`, cheap to clone, good for as long as it is held.
pub struct Snapshot<T = (), S: Scheme = Native, L: Layout<S::Point> = Auto<<S as Scheme>::Point>>(Arc<Table<T, S, L>>);

impl<T, S: Scheme, L: Layout<S::Point>> Snapshot<T, S, L> {
    pub(super) fn new(table: Arc<Table<T, S, L>>) -> Self {
        Self(table)
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Deref for Snapshot<T, S, L> {
    type Target = Table<T, S, L>;

    fn deref(&self) -> &Table<T, S, L> {
        &self.0
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> Clone for Snapshot<T, S, L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, S: Scheme, L: Layout<S::Point>> fmt::Debug for Snapshot<T, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&*self.0).finish()
    }
}
