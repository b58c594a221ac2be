//! From a configuration to a writer and a handle.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use super::reader::Handle;
use super::versions::Versions;
use super::writer::Writer;
use crate::delta::{Change, Delta};
use crate::error::DeltaError;
use crate::hash::{LabelHash, Labelled, Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{Limits, NodeSpec};
use crate::pins::Pins;
use crate::publish::{Epoch, Publish};
use crate::sync::Arc;
use crate::table::{Options, RestoreError, Table};

/// A ring of nodes with payloads `T`, placed by scheme `S`, searched by layout `L`, published by `P`.
///
/// There are no values of this type: it names a ring and starts the building of one. See [`Ring::builder`].
pub struct Ring<T = (), S = Native, L = Auto<u32>, P = Epoch> {
    never: Infallible,
    marker: PhantomData<(T, S, L, P)>,
}

impl<T, S, L, P> fmt::Debug for Ring<T, S, L, P> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.never {}
    }
}

impl<T> Ring<T> {
    /// Starts a ring with the native scheme and the layout [`Auto`] picks.
    ///
    /// ```
    /// use ringway::{Delta, NodeSpec, Ring};
    ///
    /// let (mut writer, handle) = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build()?;
    ///
    /// let mut reader = handle.reader(); // one per thread
    /// let before = reader.owner(b"user:123456").expect("the ring isn't empty").id().clone();
    ///
    /// let report = writer.commit(Delta::new().add(NodeSpec::new("d")))?;
    /// assert_eq!(report.version, 2);
    /// let after = reader.owner(b"user:123456").expect("the ring isn't empty").id();
    /// assert!(*after == before || *after == "d", "a key moves only to the node that joined");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn builder() -> RingBuilder<T> {
        RingBuilder {
            scheme: Native::new(),
            nodes: Vec::new(),
            limits: Limits::DEFAULT,
            retired_limit: RingBuilder::<T>::DEFAULT_RETIRED_LIMIT,
            options: Options::default(),
            pins: Pins::new(),
            marker: PhantomData,
        }
    }
}

/// The configuration of a ring; see [`Ring::builder`].
pub struct RingBuilder<T = (), S = Native, L = Auto<u32>, P = Epoch> {
    scheme: S,
    nodes: Vec<NodeSpec<T>>,
    limits: Limits,
    retired_limit: usize,
    options: Options,
    pins: Pins,
    marker: PhantomData<fn() -> (L, P)>,
}

impl<T, H: LabelHash, L, P> RingBuilder<T, Labelled<H>, L, P> {
    /// Sets the points per unit of weight of the scheme, native or another by hashed labels; 512 if not set.
    #[must_use]
    pub fn points_per_weight(mut self, points: u32) -> Self {
        self.scheme = self.scheme.with_points_per_weight(points);
        self
    }
}

impl<T, S, L, P> RingBuilder<T, S, L, P> {
    /// How many replaced tables may wait for the end of their grace period before a commit is refused, if not set
    /// otherwise. One is the rule; more take a reader that was stopped inside a refresh.
    pub const DEFAULT_RETIRED_LIMIT: usize = 16;

    /// Sets the scheme, and with it the layout to [`Auto`] for the scheme's width.
    #[must_use]
    pub fn scheme<S2: Scheme>(self, scheme: S2) -> RingBuilder<T, S2, Auto<S2::Point>, P> {
        let Self { scheme: _, nodes, limits, retired_limit, options, pins, marker: _ } = self;
        RingBuilder { scheme, nodes, limits, retired_limit, options, pins, marker: PhantomData }
    }

    /// Sets the layout, as in `.layout::<Eytzinger<u32>>()`. It changes speed and memory, never an answer.
    #[must_use]
    pub fn layout<L2>(self) -> RingBuilder<T, S, L2, P>
    where
        S: Scheme,
        L2: Layout<S::Point>,
    {
        let Self { scheme, nodes, limits, retired_limit, options, pins, marker: _ } = self;
        RingBuilder { scheme, nodes, limits, retired_limit, options, pins, marker: PhantomData }
    }

    /// Sets the publisher, as in `.publisher::<Locked>()`. What differs between them is stated at [`crate::publish`].
    #[must_use]
    pub fn publisher<P2: Publish>(self) -> RingBuilder<T, S, L, P2> {
        let Self { scheme, nodes, limits, retired_limit, options, pins, marker: _ } = self;
        RingBuilder { scheme, nodes, limits, retired_limit, options, pins, marker: PhantomData }
    }

    /// Sets how large the ring may become.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many replaced tables may wait for the end of their grace period before a commit is refused with
    /// [`CommitError::Backpressure`](crate::CommitError::Backpressure); 0 becomes 1.
    #[must_use]
    pub fn retired_limit(mut self, tables: usize) -> Self {
        self.retired_limit = tables.max(1);
        self
    }

    /// Keeps each node's points in order, so that walks (replicas, retries, routing past nodes that are down) are bounded
    /// whatever the weights: O(N log P) to the next node, where it is otherwise P points in the worst case, such as a node
    /// with one point among a million. Costs 4 bytes a point and O(P) a commit. It changes no answer.
    #[must_use]
    pub fn bounded_walks(mut self, bounded: bool) -> Self {
        self.options.bounded_walks = bounded;
        self
    }

    /// Sets the panic threshold: while nodes of less than this many percent of the total weight are up, routing ignores
    /// health (as do healthy replicas, spreading and bounded loads), since the few that are left would be overrun. 0, as if not set, never ignores it; more than 100 is 100.
    ///
    /// As Envoy's panic threshold, which counts hosts. Only nodes with points count.
    #[must_use]
    pub fn panic_threshold(mut self, percent: u8) -> Self {
        self.options.panic_percent = percent.min(100);
        self
    }

    /// Sets the pins. Their nodes must be in the ring.
    #[must_use]
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = pins;
        self
    }

    /// Adds a node.
    #[must_use]
    pub fn node(mut self, spec: NodeSpec<T>) -> Self {
        self.nodes.push(spec);
        self
    }

    /// Adds nodes.
    #[must_use]
    pub fn nodes(mut self, specs: impl IntoIterator<Item = NodeSpec<T>>) -> Self {
        self.nodes.extend(specs);
        self
    }
}

impl<T, S: Scheme, L: Layout<S::Point>, P> RingBuilder<T, S, L, P> {
    /// Builds a table alone, for programs whose nodes don't change: no publisher, no reader, plain `&Table`.
    ///
    /// # Errors
    /// As [`Table::apply`] of a delta that adds the nodes.
    pub fn build_table(self) -> Result<Table<T, S, L>, DeltaError> {
        let mut delta = Delta::new().with_pins(self.pins);
        delta.extend(self.nodes.into_iter().map(Change::Add));
        Table::build_with(self.scheme, self.options, delta, &self.limits)
    }

    /// Reads a table alone from what [`Table::dump`] wrote. `payload` makes a node's payload of its bytes, or says why not.
    ///
    /// Bytes that were damaged are refused. The checksum keeps nobody from making up a dump: where it may come from somebody
    /// else, [`Table::validate`] hashes all labels again, and finds points that aren't the scheme's.
    ///
    /// # Errors
    /// [`RestoreError`].
    ///
    /// # Complexity
    /// O(P + N log N); no label is hashed and nothing is sorted. Memory follows what is really there, whatever is written.
    pub fn restore_table(
        self,
        bytes: &[u8],
        payload: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Result<Table<T, S, L>, RestoreError> {
        if !self.nodes.is_empty() || !self.pins.is_empty() {
            return Err(RestoreError::nodes_given(self.nodes.len()));
        }
        Table::restored(self.scheme, self.options, &self.limits, bytes, payload)
    }

    /// As [`build`](Self::build), from what [`Table::dump`] wrote instead of nodes; see
    /// [`restore_table`](Self::restore_table). The table is published as version 1, whatever version was dumped.
    ///
    /// ```
    /// use ringway::{Delta, NodeSpec, Ring, Writer};
    /// let table = Ring::builder().node(NodeSpec::new("a").with_payload(80u16)).build_table()?;
    /// let bytes = table.dump(|port, out| out.extend(port.to_le_bytes()));
    ///
    /// let port = |bytes: &[u8]| bytes.try_into().map(u16::from_le_bytes).map_err(|_| "a port has two bytes".to_owned());
    /// let (mut writer, handle) = Ring::builder().restore(&bytes, port)?;
    /// assert_eq!(handle.reader().owner(b"key").map(|node| *node.payload()), Some(80));
    /// writer.commit(Delta::new().add(NodeSpec::new("b").with_payload(81)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RestoreError`].
    #[expect(clippy::type_complexity, reason = "the two ends of one ring")]
    pub fn restore(
        self,
        bytes: &[u8],
        payload: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Result<(Writer<T, S, L, P>, Handle<T, S, L, P>), RestoreError>
    where
        T: Send + Sync + 'static,
        P: Publish,
    {
        let (limits, retired_limit) = (self.limits, self.retired_limit);
        Ok(Self::publish(self.restore_table(bytes, payload)?, limits, retired_limit))
    }

    /// Builds the first table and publishes it as version 1.
    ///
    /// No nodes are fine: lookups give `None` until some are added.
    ///
    /// # Errors
    /// As [`Table::apply`] of a delta that adds the nodes.
    #[expect(clippy::type_complexity, reason = "the two ends of one ring")]
    pub fn build(self) -> Result<(Writer<T, S, L, P>, Handle<T, S, L, P>), DeltaError>
    where
        T: Send + Sync + 'static,
        P: Publish,
    {
        let (limits, retired_limit) = (self.limits, self.retired_limit);
        Ok(Self::publish(self.build_table()?, limits, retired_limit))
    }

    #[expect(clippy::type_complexity, reason = "the two ends of one ring")]
    fn publish(
        mut table: Table<T, S, L>,
        limits: Limits,
        retired_limit: usize,
    ) -> (Writer<T, S, L, P>, Handle<T, S, L, P>)
    where
        T: Send + Sync + 'static,
        P: Publish,
    {
        table.set_version(Versions::FIRST);
        let (writer, source) = P::start(table, retired_limit.max(1));
        let versions = Arc::new(Versions::new());
        let handle = Handle::new(source, Arc::clone(&versions));
        (Writer::new(writer, versions, limits), handle)
    }
}

impl<T, S: fmt::Debug, L, P> fmt::Debug for RingBuilder<T, S, L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingBuilder")
            .field("scheme", &self.scheme)
            .field("nodes", &self.nodes.len())
            .field("limits", &self.limits)
            .field("retired_limit", &self.retired_limit)
            .finish_non_exhaustive()
    }
}
