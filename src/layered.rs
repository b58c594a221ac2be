//! The control plane's end of a layered ring. Rank 7.
//!
//! A batch may change regions and their members. Inner tables are made first, then the outer one that holds them, and that is
//! published: readers see all of it or nothing. A region that isn't named keeps its table; both versions share it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::delta::{Change, Delta, Field};
use crate::error::{DeltaError, shown};
use crate::hash::{Native, Scheme};
use crate::layout::{Auto, Layout};
use crate::node::{Limits, NodeSpec, State};
use crate::pins::Pins;
use crate::publish::{Epoch, Publish};
use crate::region::Region;
use crate::ring::{CommitError, CommitReport, Handle, Ring, RingBuilder, Writer};
use crate::table::{Drafted, Enrolled, Table};

/// A ring of regions whose members are rings; see [`Layered::builder`].
#[derive(Debug, Clone, Copy)]
pub enum Layered {}

impl Layered {
    /// Begins a layered ring of the native scheme, without regions. Lookups in it: [`Table::member`].
    #[must_use]
    pub fn builder<T>() -> LayeredBuilder<T> {
        let ring = Ring::builder();
        LayeredBuilder {
            ring,
            scheme: Native::new(),
            delta: LayeredDelta::new(),
            limits: Limits::DEFAULT,
            by_members: false,
        }
    }
}

/// The configuration of a layered ring.
pub struct LayeredBuilder<T = (), S: Scheme = Native, L: Layout<S::Point> = Auto<<S as Scheme>::Point>, P = Epoch> {
    ring: RingBuilder<Region<T, S, L>, S, L, P>,
    scheme: S,
    delta: LayeredDelta<T>,
    limits: Limits,
    by_members: bool,
}

impl<T, S: Scheme, L: Layout<S::Point>, P> LayeredBuilder<T, S, L, P> {
    /// Sets the scheme of both layers, and with it the layout to [`Auto`]. Of a scheme with several probes, only the first
    /// layer has them.
    #[must_use]
    pub fn scheme<S2: Scheme>(self, scheme: S2) -> LayeredBuilder<T, S2, Auto<S2::Point>, Epoch> {
        let Self { ring: _, scheme: _, delta, limits, by_members } = self;
        LayeredBuilder { ring: Ring::builder().scheme(scheme.clone()), scheme, delta, limits, by_members }
    }

    /// Sets the layout of both layers, and with it the publisher to the default.
    #[must_use]
    pub fn layout<L2: Layout<S::Point>>(self) -> LayeredBuilder<T, S, L2, Epoch> {
        let Self { ring: _, scheme, delta, limits, by_members } = self;
        LayeredBuilder { ring: Ring::builder().scheme(scheme.clone()).layout(), scheme, delta, limits, by_members }
    }

    /// Sets the publisher.
    #[must_use]
    pub fn publisher<P2: Publish>(self) -> LayeredBuilder<T, S, L, P2> {
        let Self { ring, scheme, delta, limits, by_members } = self;
        LayeredBuilder { ring: ring.publisher(), scheme, delta, limits, by_members }
    }

    /// Adds a region with its nodes. Its description's weight is the region's, unless regions
    /// [weigh by members](Self::weigh_by_members).
    #[must_use]
    pub fn region(mut self, region: NodeSpec, nodes: impl IntoIterator<Item = NodeSpec<T>>) -> Self {
        self.delta = self.delta.add_region(region, nodes);
        self
    }

    /// Sets how large each ring may become, the outer one and each inner one.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Makes each region's weight the sum of its nodes' weights, whatever is set for it: a node that joins a region then
    /// draws keys from the other regions too. Otherwise regions have the weights they are given.
    #[must_use]
    pub fn weigh_by_members(self, by_members: bool) -> Self {
        Self { by_members, ..self }
    }

    /// Builds all rings and publishes them: as version 1 without regions, and what was configured as version 2.
    ///
    /// # Errors
    /// As [`LayeredWriter::commit`] of a batch that adds the regions.
    #[expect(clippy::type_complexity, reason = "the two ends of one ring")]
    pub fn build(self) -> Result<(LayeredWriter<T, S, L, P>, Handle<Region<T, S, L>, S, L, P>), LayeredError<T>>
    where
        T: Send + Sync + 'static,
        P: Publish,
    {
        let Self { ring, scheme: _, delta, limits, by_members } = self;
        let built = ring.limits(limits).build();
        let (writer, handle) = match built {
            Ok(ends) => ends,
            Err(error) => return Err(LayeredError::Invalid { region: None, error, delta: Box::new(delta) }),
        };
        let mut writer = LayeredWriter { writer, by_members };
        writer.commit(delta)?;
        Ok((writer, handle))
    }
}

impl<T, S: Scheme, L: Layout<S::Point>, P> fmt::Debug for LayeredBuilder<T, S, L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredBuilder")
            .field("scheme", &self.scheme)
            .field("delta", &self.delta)
            .finish_non_exhaustive()
    }
}

/// A batch of changes to regions and their members. Like [`Delta`] a set, not a script.
#[derive(Clone, PartialEq, Eq)]
pub struct LayeredDelta<T = ()> {
    regions: Delta,
    /// What changes inside regions; of regions that are added, their nodes.
    rings: BTreeMap<String, Delta<T>>,
}

impl<T> LayeredDelta<T> {
    /// Creates a batch of no changes.
    #[must_use]
    pub fn new() -> Self {
        Self { regions: Delta::new(), rings: BTreeMap::new() }
    }

    /// Adds a region with its nodes.
    #[must_use]
    pub fn add_region(mut self, region: NodeSpec, nodes: impl IntoIterator<Item = NodeSpec<T>>) -> Self {
        let id = region.id().to_owned();
        self.regions = self.regions.add(region);
        self.change(id, |ring| nodes.into_iter().fold(ring, Delta::add))
    }

    /// Removes a region with all its nodes.
    #[must_use]
    pub fn remove_region(mut self, id: impl Into<String>) -> Self {
        self.regions = self.regions.remove(id);
        self
    }

    /// Sets a region's weight.
    #[must_use]
    pub fn set_region_weight(mut self, id: impl Into<String>, weight: u32) -> Self {
        self.regions = self.regions.set_weight(id, weight);
        self
    }

    /// Sets a region's configured state: one that is down is passed by with all its nodes.
    #[must_use]
    pub fn set_region_state(mut self, id: impl Into<String>, state: State) -> Self {
        self.regions = self.regions.set_state(id, state);
        self
    }

    /// Pins keys and prefixes to regions; replaces all pins there are.
    #[must_use]
    pub fn with_pins(mut self, pins: Pins) -> Self {
        self.regions = self.regions.with_pins(pins);
        self
    }

    /// Adds changes of the nodes inside a region to those that the batch has for it.
    #[must_use]
    pub fn change(mut self, region: impl Into<String>, change: impl FnOnce(Delta<T>) -> Delta<T>) -> Self {
        let id = region.into();
        let delta = self.rings.remove(&id).unwrap_or_default();
        self.rings.insert(id, change(delta));
        self
    }

    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty() && self.rings.values().all(Delta::is_empty)
    }
}

impl<T> Default for LayeredDelta<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for LayeredDelta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredDelta").field("regions", &self.regions).field("rings", &self.rings).finish()
    }
}

/// The one end of a layered ring that changes it. `Send`, not `Sync`, not `Clone`.
pub struct LayeredWriter<T = (), S = Native, L = Auto<<S as Scheme>::Point>, P = Epoch>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    writer: Writer<Region<T, S, L>, S, L, P>,
    by_members: bool,
}

/// An outer table.
type Outer<T, S, L> = Table<Region<T, S, L>, S, L>;

/// A batch that was checked: what becomes of each ring that it names, in the order of their ids, and of the regions.
struct Checked<S: Scheme, L> {
    drafts: Vec<Option<Drafted<S, L>>>,
    regions: Vec<Change<()>>,
}

impl<T, S, L, P> LayeredWriter<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    /// Applies a batch to both layers and publishes the result as the next version.
    ///
    /// All or nothing: a reader sees the tables before or those after. Regions in which nothing changes keep their tables;
    /// only those that are named are made anew.
    ///
    /// # Errors
    /// [`LayeredError::Invalid`] and [`LayeredError::Backpressure`] hand the batch back, and what is published stays.
    /// [`LayeredError::OutOfMemory`], for the outer table's last step, loses the batch.
    ///
    /// # Panics
    /// As [`Writer::commit`].
    ///
    /// # Complexity
    /// That of [`Table::apply`] for each ring that is named, and twice for the outer one.
    pub fn commit(&mut self, delta: LayeredDelta<T>) -> Result<CommitReport, LayeredError<T>> {
        let Checked { drafts, regions } = match self.check(&delta) {
            Ok(checked) => checked,
            Err((region, error)) => return Err(LayeredError::Invalid { region, error, delta: Box::new(delta) }),
        };
        if let Err((waiting, limit)) = self.writer.ready() {
            return Err(LayeredError::Backpressure { waiting, limit, delta: Box::new(delta) });
        }
        // From here on nothing is refused but for want of memory.
        let LayeredDelta { regions: given, rings } = delta;
        let table = self.writer.table();
        let (mut made, mut enrolled) = (BTreeMap::new(), Vec::new());
        for ((id, delta), draft) in rings.into_iter().zip(drafts) {
            let (node, empty) = (table.node(&id), Table::empty(table.scheme().clone()));
            let base = node.map_or(&empty, |region| region.payload().table());
            match draft {
                Some(draft) => {
                    let (ring, before) = base.finished(draft, delta);
                    enrolled.push(before);
                    made.insert(id, Region::new(ring));
                }
                None if node.is_none() => drop(made.insert(id, Region::new(empty))),
                None => {}
            }
        }
        let outer = filled(regions, &given, made);
        let committed = catch_unwind(AssertUnwindSafe(|| self.writer.commit(outer)));
        if !matches!(committed, Ok(Ok(_))) {
            // The rings that were to come count for nobody.
            enrolled.iter().for_each(Enrolled::revoke);
        }
        match committed {
            Ok(Ok(report)) => Ok(report),
            Ok(Err(CommitError::Invalid { error, .. })) => Err(LayeredError::OutOfMemory { error }),
            Ok(Err(CommitError::Backpressure { .. })) => unreachable!("it was ready, and only a commit changes that"),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Checks the whole batch, by reference.
    fn check(&self, delta: &LayeredDelta<T>) -> Result<Checked<S, L>, (Option<String>, DeltaError)> {
        let of_regions = |error| (None, error);
        delta.regions.check().map_err(of_regions)?;
        let (table, limits) = (self.writer.table(), self.writer.limits());
        let named = |id: &str, added: bool| {
            let is = |change: &Change<()>| match change {
                Change::Add(spec) => added && spec.id() == id,
                Change::Remove { id: removed } => !added && removed == id,
                Change::Set { .. } => false,
            };
            delta.regions.changes().iter().any(is)
        };
        let empty = Table::empty(table.scheme().clone());
        let (mut drafts, mut weights) = (Vec::new(), BTreeMap::new());
        for (id, ring) in &delta.rings {
            let base = match table.node(id) {
                _ if named(id, false) => return Err(of_regions(DeltaError::Conflict { id: shown(id) })),
                _ if named(id, true) => &empty,
                Some(region) => region.payload().table(),
                None => return Err(of_regions(DeltaError::UnknownId { id: shown(id) })),
            };
            drafts.push(base.drafted(ring, limits).map_err(|error| (Some(id.clone()), error))?);
            if self.by_members {
                weights.insert(id.as_str(), weight_after(base, ring));
            }
        }
        let mut regions = delta.regions.changes().to_vec();
        if self.by_members {
            regions.retain(|change| !matches!(change, Change::Set { field: Field::Weight(_), .. }));
            for change in &mut regions {
                if let Change::Add(spec) = change {
                    let weight = weights.remove(spec.id()).unwrap_or_default();
                    *spec = spec.clone().with_weight(weight);
                }
            }
            let set = |(id, weight): (&str, u32)| Change::Set { id: id.to_owned(), field: Field::Weight(weight) };
            regions.extend(weights.into_iter().map(set));
        }
        // A dry run with rings of no nodes in the place of those that will be made.
        let placeholders = delta.rings.keys().map(|id| (id.clone(), Region::new(Table::empty(table.scheme().clone()))));
        let outer = filled(regions.clone(), &delta.regions, placeholders.collect());
        table.drafted(&outer, limits).map_err(of_regions)?;
        Ok(Checked { drafts, regions })
    }

    /// Returns the outer table that is published now.
    #[must_use]
    pub fn table(&self) -> &Outer<T, S, L> {
        self.writer.table()
    }

    /// Returns the version that is published now.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.writer.version()
    }

    /// See [`Writer::reclaim`].
    pub fn reclaim(&mut self) -> usize {
        self.writer.reclaim()
    }

    /// See [`Writer::counts`].
    #[must_use]
    pub fn counts(&self) -> crate::publish::Counts {
        self.writer.counts()
    }
}

/// The outer batch: changes of regions with the rings that were made for them, order and pins as given.
fn filled<T, S: Scheme, L: Layout<S::Point>>(
    regions: Vec<Change<()>>,
    given: &Delta,
    mut made: BTreeMap<String, Region<T, S, L>>,
) -> Delta<Region<T, S, L>> {
    let mut outer = Delta::new();
    for change in regions {
        match change {
            Change::Add(spec) => {
                if let Some(ring) = made.remove(spec.id()) {
                    outer.push(Change::Add(spec.with_payload(ring)));
                }
            }
            Change::Remove { id } => outer.push(Change::Remove { id }),
            Change::Set { id, field } => {
                let field = match field {
                    Field::Weight(weight) => Field::Weight(weight),
                    Field::ActivePoints(points) => Field::ActivePoints(points),
                    Field::Address(address) => Field::Address(address),
                    Field::Zone(zone) => Field::Zone(zone),
                    Field::Attributes(attributes) => Field::Attributes(attributes),
                    Field::State(state) => Field::State(state),
                    Field::Payload(()) => continue,
                };
                outer.push(Change::Set { id, field });
            }
        }
    }
    for (id, ring) in made {
        outer.push(Change::Set { id, field: Field::Payload(ring) });
    }
    if let Some(order) = given.order() {
        outer = outer.with_order(order.iter().cloned());
    }
    match given.pins() {
        Some(pins) => outer.with_pins(pins.clone()),
        None => outer,
    }
}

/// The weight of all nodes after a batch, that is valid for the table.
fn weight_after<T, S: Scheme, L: Layout<S::Point>>(table: &Table<T, S, L>, delta: &Delta<T>) -> u32 {
    let mut weights: BTreeMap<&str, u32> =
        table.nodes().map(|node| (node.id().as_str(), node.info().weight())).collect();
    for change in delta.changes() {
        match change {
            Change::Add(spec) => drop(weights.insert(spec.id(), spec.info().weight())),
            Change::Remove { id } => drop(weights.remove(id.as_str())),
            Change::Set { id, field: Field::Weight(weight) } => drop(weights.insert(id, *weight)),
            Change::Set { .. } => {}
        }
    }
    weights.into_values().fold(0, u32::saturating_add)
}

/// Why a batch for a layered ring was refused. What is published is what it was.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayeredError<T> {
    /// The batch was refused.
    Invalid {
        /// The region in whose ring, or `None` if among the regions.
        region: Option<String>,
        /// Why.
        error: DeltaError,
        /// The batch.
        delta: Box<LayeredDelta<T>>,
    },
    /// As [`CommitError::Backpressure`].
    Backpressure {
        /// How many tables wait.
        waiting: usize,
        /// How many may.
        limit: usize,
        /// The batch.
        delta: Box<LayeredDelta<T>>,
    },
    /// Memory for the outer table couldn't be had once the inner ones were made; the batch is lost.
    OutOfMemory {
        /// What the outer ring says.
        error: DeltaError,
    },
}

impl<T> fmt::Display for LayeredError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { region: Some(region), error, .. } => {
                write!(f, "region \"{}\": {error}", shown(region).escape_debug())
            }
            Self::Invalid { region: None, error, .. } => write!(f, "regions: {error}"),
            Self::Backpressure { waiting, limit, .. } => write!(
                f,
                "{waiting} replaced tables wait for a reader stopped inside a refresh, the limit is {limit}; commit again \
                 later"
            ),
            Self::OutOfMemory { error } => write!(f, "regions: {error}; the batch is lost, make it again"),
        }
    }
}

impl<T> fmt::Debug for LayeredError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { region, error, delta } => {
                f.debug_struct("Invalid").field("region", region).field("error", error).field("delta", delta).finish()
            }
            Self::Backpressure { waiting, limit, delta } => f
                .debug_struct("Backpressure")
                .field("waiting", waiting)
                .field("limit", limit)
                .field("delta", delta)
                .finish(),
            Self::OutOfMemory { error } => f.debug_struct("OutOfMemory").field("error", error).finish(),
        }
    }
}

impl<T> std::error::Error for LayeredError<T> {}

impl<T, S, L, P> fmt::Debug for LayeredWriter<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayeredWriter").field(&self.writer).finish()
    }
}
