//! Random changes against a plain model: whatever the history, the table is the one that its nodes give from scratch.

use std::collections::{BTreeMap, BTreeSet};

use ringway::layout::Layout;
use ringway::scheme::Scheme;
use ringway::{CommitError, CommitReport, Delta, DeltaError, Handle, Reader, Ring, Table, Writer};

use super::Rng;
use super::batches::{self, Valid};
use super::model::{self, ModelNode, Part, Rule, View};
use super::schemes::Spied;

type Sequence<P> = Vec<(P, String)>;

/// A table as far as anybody outside can tell.
type Seen<P> = (u64, String, String, Sequence<P>, Vec<ModelNode>);

struct World<S: Rule, L: Layout<S::Point>> {
    scheme: Spied<S>,
    writer: Writer<u32, Spied<S>, L>,
    handle: Handle<u32, Spied<S>, L>,
    reader: Reader<u32, Spied<S>, L>,
    nodes: Vec<ModelNode>,
    view: View<S::Point>,
    rng: Rng,
    /// What each fingerprint stood for, of both kinds.
    prints: BTreeMap<String, String>,
    /// How often each thing happened, so that a run that tries nothing fails.
    seen: BTreeMap<&'static str, u64>,
}

/// Makes `rounds` changes, or as many as the choices last for, and says how often each thing happened.
pub fn run<S: Rule, L: Layout<S::Point>>(scheme: S, rng: Rng, rounds: u64) -> BTreeMap<&'static str, u64> {
    let scheme = Spied::new(scheme);
    let builder = Ring::builder().scheme(scheme.clone()).layout::<L>().limits(batches::limits());
    let (writer, handle) = builder.build().expect("an empty ring is fine");
    let reader = handle.reader();
    let view = View::new(&scheme, &[]);
    let (nodes, prints, seen) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut world = World { scheme, writer, handle, reader, nodes, view, rng, prints, seen };
    world.check_table();
    for _ in 0..rounds {
        if world.rng.is_spent() {
            break;
        }
        world.step();
    }
    world.seen
}

impl<S: Rule, L: Layout<S::Point>> World<S, L> {
    fn note(&mut self, what: &'static str) {
        *self.seen.entry(what).or_insert(0) += 1;
    }

    fn seen_now(&self) -> Seen<S::Point> {
        let table = self.writer.table();
        (
            table.version(),
            table.placement_fingerprint().to_string(),
            table.spec_fingerprint().to_string(),
            sequence(table),
            table.nodes().map(ModelNode::of).collect(),
        )
    }

    fn step(&mut self) {
        match self.rng.below(10) {
            0..6 => {
                let batch = batches::valid::<S>(&mut self.rng, &self.nodes);
                self.dry_run(&batch);
                self.scheme.spy().hashed.clear();
                let report = self.writer.commit(batch.delta.clone()).expect("the batch is valid");
                self.changed(batch, &report);
            }
            6..8 => {
                let batch = batches::full_list(&mut self.rng, &self.nodes);
                self.scheme.spy().hashed.clear();
                let specs: Vec<_> = batch.nodes.iter().map(ModelNode::spec).collect();
                let report = self.writer.replace_all(specs).expect("the list is valid");
                self.note(if report.published { "list" } else { "list unchanged" });
                self.changed(batch, &report);
            }
            _ => self.refusal(),
        }
        self.check_table();
    }

    /// `apply` on the published table says beforehand what a commit will do, and does nothing.
    fn dry_run(&mut self, batch: &Valid) {
        let before = self.seen_now();
        let table = self.writer.snapshot();
        let applied = table.apply(batch.delta.clone(), self.writer.limits()).expect("the batch is valid");
        if let Some(applied) = applied {
            assert_eq!(applied.table.version(), before.0 + 1);
            assert_eq!(sequence(&applied.table), View::new(&self.scheme, &batch.nodes).sequence);
            applied.table.validate().expect("a valid table");
        }
        assert_eq!(self.seen_now(), before);
    }

    fn refusal(&mut self) {
        let before = self.seen_now();
        let address: *const _ = self.writer.table();
        let twice = self.rng.percent(10).then(|| self.nodes.first().cloned()).flatten();
        if let Some(node) = twice {
            let list = self.nodes.iter().chain([&node]).map(ModelNode::spec).collect::<Vec<_>>();
            let error = self.writer.replace_all(list).expect_err("the list names an id twice");
            assert_eq!(
                error,
                CommitError::Invalid { error: DeltaError::DuplicateId { id: node.id }, delta: Delta::new() }
            );
        } else {
            let (delta, error) = batches::refused(&mut self.rng, &self.scheme, &self.nodes);
            self.scheme.spy().hashed.clear();
            let refused = self.writer.commit(delta.clone()).expect_err("the batch has a fault");
            assert_eq!(refused, CommitError::Invalid { error, delta });
            assert_eq!(self.scheme.spy().hashed, [], "nothing is hashed for a batch that is refused");
        }
        assert!(std::ptr::eq(address, self.writer.table()), "the very same table");
        assert_eq!(self.seen_now(), before);
        self.note("refused");
    }

    /// After a change that was taken.
    fn changed(&mut self, batch: Valid, report: &CommitReport) {
        let next = View::new(&self.scheme, &batch.nodes);
        let (before, after) = (self.view.parts.clone(), next.parts.clone());
        let publishes = !(batch.added.is_empty() && batch.removed.is_empty() && batch.changed.is_empty())
            || !self.scheme.order_free() && batch.nodes != self.nodes;
        let ids = |ids: &[ringway::NodeId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let sorted = |ids: &BTreeSet<String>| ids.iter().cloned().collect::<Vec<_>>();
        let visible = self.reader.version();
        assert_eq!(report.published, publishes);
        assert_eq!(report.version, self.expected_version() + u64::from(publishes));
        assert_eq!(ids(&report.added), sorted(&batch.added));
        assert_eq!(ids(&report.removed), sorted(&batch.removed));
        assert_eq!(ids(&report.changed), sorted(&batch.changed));
        assert_eq!(report.points, next.sequence.len());
        assert!(visible >= report.version, "the commit returned before this lookup");
        if !publishes {
            self.note("unchanged");
        } else if batch.added.is_empty() && batch.removed.is_empty() && batch.changed.is_empty() {
            self.note("only the order");
        }

        self.check_hashed(&before, &after, report);
        // A table has one fingerprint for one configuration, and different ones for different ones.
        let seen = self.prints.insert(report.placement.to_string(), self.scheme.placement(&next.nodes));
        assert!(seen.is_none_or(|seen| seen == self.scheme.placement(&next.nodes)), "two placements, one fingerprint");
        let seen = self.prints.insert(report.spec.to_string(), model::spec(&self.scheme, &next.nodes));
        assert!(seen.is_none_or(|seen| seen == model::spec(&self.scheme, &next.nodes)), "two specs, one fingerprint");
        if S::INDEPENDENT {
            let touched: BTreeSet<&String> = batch.added.iter().chain(&batch.removed).chain(&batch.changed).collect();
            let mut moved = false;
            for x in self.view.probes(&mut self.rng, 30).into_iter().chain(next.probes(&mut self.rng, 30)) {
                let found = self.reader.owner_at(x).map(|node| node.id().to_string());
                let was = self.view.owner(x).map(str::to_owned);
                if was != found {
                    moved = true;
                    let from_or_to = [&was, &found].into_iter().flatten().any(|id| touched.contains(id));
                    assert!(from_or_to, "{x:?} moved from {was:?} to {found:?}; the batch changed {touched:?}");
                }
            }
            if moved {
                self.note("moved keys");
            }
        } else {
            self.note("moved keys");
        }
        if publishes {
            self.note("published");
        }
        if publishes {
            self.nodes = batch.nodes;
        }
        self.view = next;
    }

    fn expected_version(&self) -> u64 {
        1 + self.seen.get("published").copied().unwrap_or(0)
    }

    /// Exactly the labels of points that come or go were hashed, and so many points came and went.
    fn check_hashed(&self, before: &BTreeMap<String, Part>, after: &BTreeMap<String, Part>, report: &CommitReport) {
        let (mut removed, mut added) = (0, 0);
        let mut expected = Vec::new();
        for id in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (before.get(id), after.get(id));
            let count = |part: Option<&Part>| part.map_or(0, |part| u32::try_from(part.count).unwrap());
            let kept = match (was, is) {
                (Some(was), Some(is)) if was.seed == is.seed => was.count.min(is.count).try_into().unwrap(),
                _ => 0,
            };
            for (part, sum) in [(was, &mut removed), (is, &mut added)] {
                if count(part) > kept {
                    expected.push((id.clone(), kept..count(part)));
                    *sum += (count(part) - kept) as usize;
                }
            }
        }
        let by_id = |ranges: &[(String, std::ops::Range<u32>)]| {
            let mut ranges: Vec<_> = ranges.iter().map(|(id, labels)| (id.clone(), labels.start, labels.end)).collect();
            ranges.sort_unstable();
            ranges
        };
        assert_eq!(by_id(&self.scheme.spy().hashed), by_id(&expected));
        assert_eq!((report.points_removed, report.points_added), (removed, added));
    }

    /// Writer, reader and handle show the table that the model has, which is the table built from scratch.
    fn check_table(&mut self) {
        let version = self.expected_version();
        assert_eq!(self.handle.version(), version);
        assert_eq!(self.writer.version(), version);
        assert_eq!(self.handle.snapshot().version(), version);
        let table = self.reader.table();
        assert_eq!(table.version(), version);
        assert!(std::ptr::eq(table, self.writer.table()));
        table.validate().unwrap_or_else(|error| panic!("{error}"));
        self.view.check(&self.scheme, table, &mut self.rng);

        let mut nodes = self.nodes.clone();
        if self.scheme.order_free() {
            self.rng.shuffle(&mut nodes);
        }
        let specs = nodes.iter().map(ModelNode::spec);
        let scratch = Ring::builder().scheme(self.scheme.clone()).layout::<L>().limits(batches::limits()).nodes(specs);
        let scratch: Table<u32, _, L> = scratch.build_table().expect("the nodes are valid");
        assert_eq!(sequence(table), sequence(&scratch));
        assert_eq!(table.placement_fingerprint(), scratch.placement_fingerprint());
        assert_eq!(table.spec_fingerprint(), scratch.spec_fingerprint());
        assert_eq!(table.bytes(), scratch.bytes());
        self.writer.reclaim();
        assert_eq!(self.writer.counts().live, 1, "the reader is up to date, so nobody holds an old table");
    }
}

fn sequence<S: Rule, L: Layout<S::Point>>(table: &Table<u32, S, L>) -> Sequence<S::Point> {
    table.points().map(|(point, node)| (point, node.id().to_string())).collect()
}
