//! The guarantees of `ringway::Ring` that one test each can show, on every publisher; `src/ring/mod.rs` cites them.

mod common;

use std::any::Any;
use std::cell::Cell;
use std::collections::TryReserveError;
use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

use common::book::{Book, Booked, Entry};
use common::schemes::Spied;
use common::stall::{Stallable, take_stall};
use ringway::layout::{Auto, Edit, Layout, PointArray, Sorted};
use ringway::publish::{Counts, Publish};
use ringway::{CommitError, Delta, DeltaError, Handle, Native, Node, NodeSpec, Ring, Slot, Writer};

for_every_publisher!(
    a_refused_commit_changes_nothing,
    a_panicking_scheme_changes_nothing,
    a_panicking_layout_changes_nothing,
    a_scheme_that_is_not_pure_is_refused,
    a_payload_that_panics_in_drop_leaves_the_ring_usable,
    idle_readers_refuse_no_commit,
    every_order_of_dropping_leaves_nothing,
    threads_that_end_or_panic_leave_nothing,
    a_node_outlives_its_table,
    readers_go_on_without_the_writer,
    a_ring_without_points_owns_nothing,
);

type Watched<P> = (Writer<u32, Spied<Native>, Auto<u32>, P>, Handle<u32, Spied<Native>, Auto<u32>, P>, Spied<Native>);

fn spec(id: &str) -> NodeSpec<u32> {
    NodeSpec::new(id).with_payload(0)
}

fn watched<P: Publish>(ids: &[&str]) -> Watched<P> {
    let scheme = Spied::new(Native::new().with_points_per_weight(8));
    let builder = Ring::builder().scheme(scheme.clone()).publisher::<P>();
    let (writer, handle) = builder.nodes(ids.iter().copied().map(spec)).build().expect("the nodes are valid");
    (writer, handle, scheme)
}

fn a_refused_commit_changes_nothing<P: Publish>() {
    let (mut writer, handle, scheme) = watched::<P>(&["a", "b", "c"]);
    let mut reader = handle.reader();
    let address: *const _ = reader.table();
    let prints = (writer.table().placement_fingerprint(), writer.table().spec_fingerprint());
    let hashed = scheme.spy().hashed.len();
    let batches = [
        (Delta::new().add(spec("d")).add(spec("a")), "node \"a\" is there already; change it or use another id"),
        (Delta::new().remove("c").remove("x"), "node \"x\" is not in the ring; name one that is"),
        (
            Delta::new().set_weight("a", 2).set_weight("b", 70_000),
            "node \"b\": weight 70000 is above the limit of 65535",
        ),
        (
            Delta::new().set_active_points("b", 1 << 25),
            "the nodes up to \"b\" have 33554440 points together, above the limit of",
        ),
        (Delta::new().add(spec("d")).remove("d"), "node \"d\" is added, removed or changed by more than one entry"),
        (Delta::new().with_order(["a", "b"]), "the list order doesn't name node \"c\" exactly once"),
    ];
    for (delta, message) in batches {
        let error = writer.commit(delta.clone()).expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(std::error::Error::source(&error).is_none(), "the message has it all");
        assert!(matches!(&error, CommitError::Invalid { delta: back, .. } if *back == delta), "{error:?}");
        assert_eq!(error.into_delta(), delta);
        assert!(std::ptr::eq(address, reader.table()) && std::ptr::eq(address, writer.table()));
        assert_eq!((writer.version(), reader.version(), handle.version()), (1, 1, 1));
        assert_eq!(prints, (writer.table().placement_fingerprint(), writer.table().spec_fingerprint()));
    }
    assert_eq!(scheme.spy().hashed.len(), hashed, "nothing was hashed");
    for nothing in [Delta::new(), Delta::new().set_weight("a", 1).set_zone("b", Vec::<String>::new())] {
        let report = writer.commit(nothing).expect("valid");
        assert!(!report.published && report.version == 1);
        assert!(std::ptr::eq(address, reader.table()));
    }
    let report = writer.commit(Delta::new().add(spec("d"))).expect("the writer goes on");
    assert_eq!((report.version, report.points, reader.version()), (2, 32, 2));
}

fn a_panicking_scheme_changes_nothing<P: Publish>() {
    let (mut writer, handle, scheme) = watched::<P>(&["a", "b", "c"]);
    let mut reader = handle.reader();
    let address: *const _ = reader.table();
    for in_assign in [true, false] {
        scheme.spy().panic_in_assign = in_assign;
        scheme.spy().panic_at = Some("d".to_owned());
        let delta = Delta::new().remove("a").add(spec("d")).set_weight("b", 3);
        panic::catch_unwind(AssertUnwindSafe(|| writer.commit(delta))).expect_err("the scheme was told to panic");
        assert!(std::ptr::eq(address, reader.table()) && std::ptr::eq(address, writer.table()));
        assert_eq!((writer.version(), reader.version(), handle.version()), (1, 1, 1));
        assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
    }
    let report = writer.commit(Delta::new().add(spec("e"))).expect("another node is fine");
    assert_eq!((report.version, reader.version()), (2, 2));
    scheme.spy().panic_at = None;
    let report = writer.commit(Delta::new().add(spec("d"))).expect("and so is this one now");
    assert_eq!((report.version, report.points), (3, 40));
    reader.table().validate().expect("a valid table");
}

fn a_scheme_that_is_not_pure_is_refused<P: Publish>() {
    let (mut writer, _, scheme) = watched::<P>(&["a", "b", "c"]);
    let not_pure = |id: Option<&str>| DeltaError::SchemeNotPure { scheme: "native".into(), id: id.map(str::to_owned) };
    let mut refused = |delta: Delta<u32>, error| {
        assert_eq!(writer.commit(delta.clone()).expect_err("not pure"), CommitError::Invalid { error, delta });
        assert_eq!(writer.version(), 1);
        writer.table().validate()
    };
    scheme.spy().shift = 1;
    assert!(refused(Delta::new().remove("b"), not_pure(Some("b"))).is_err(), "`validate` sees it too");
    scheme.spy().shift = 0;
    scheme.spy().withhold = true;
    assert!(refused(Delta::new().remove("b"), not_pure(Some("b"))).is_err());
    scheme.spy().withhold = false;
    scheme.spy().forget_one = true;
    assert!(refused(Delta::new().remove("b"), not_pure(None)).is_err());
    scheme.spy().forget_one = false;
    writer.table().validate().expect("nothing is wrong with the table");
    writer.commit(Delta::new().remove("b")).expect("the scheme is itself again");
}

/// A payload that is in a book, and may panic when it goes.
#[derive(Debug)]
struct Load {
    _entry: Entry,
    explode: bool,
}

impl Drop for Load {
    fn drop(&mut self) {
        assert!(!self.explode || thread::panicking(), "told to panic in drop");
    }
}

type Booking<P> = (Writer<Load, Booked<Native>, Auto<u32>, P>, Handle<Load, Booked<Native>, Auto<u32>, P>);

fn load(id: &str, payloads: &Book, explode: bool) -> NodeSpec<Load> {
    NodeSpec::new(id).with_payload(Load { _entry: payloads.entry(), explode })
}

fn booked<P: Publish>(tables: &Book, payloads: &Book, retired_limit: usize) -> Booking<P> {
    let scheme = Booked::new(Native::new().with_points_per_weight(8), tables);
    let builder = Ring::builder().scheme(scheme).publisher::<P>().retired_limit(retired_limit);
    let nodes = ["a", "b", "c"].map(|id| load(id, payloads, false));
    builder.nodes(nodes).build().expect("the nodes are valid")
}

fn a_payload_that_panics_in_drop_leaves_the_ring_usable<P: Publish>() {
    for reader_holds in [false, true] {
        let (tables, payloads) = (Book::new(), Book::new());
        let (mut writer, handle) = booked::<P>(&tables, &payloads, 1);
        let mut reader = handle.reader();
        writer.commit(Delta::new().add(load("bomb", &payloads, true))).expect("valid");
        if reader_holds {
            assert_eq!(reader.version(), 2);
        }
        let mut commit =
            |delta| panic::catch_unwind(AssertUnwindSafe(|| writer.commit(delta).map(|report| report.version)));
        let dropped = if reader_holds {
            // The old table is held, so it goes only with the next commit, before that builds and publishes.
            assert_eq!(commit(Delta::new().remove("bomb")).expect("held").expect("valid"), 3);
            assert_eq!(reader.version(), 3);
            commit(Delta::new().add(load("d", &payloads, false)))
        } else {
            commit(Delta::new().remove("bomb"))
        };
        dropped.expect_err("the payload panics inside the commit");
        // Whenever the payload goes, the batch isn't lost to it.
        let version = if reader_holds { 4 } else { 3 };
        assert_eq!(writer.version(), version);
        assert_eq!((handle.version(), reader.version(), handle.snapshot().version()), (version, version, version));
        assert!(reader.table().node("bomb").is_none());
        reader.table().validate().expect("a valid table");
        assert_eq!(handle.wait_for(version, Duration::ZERO), Ok(version));

        let report = writer.commit(Delta::new().add(load("e", &payloads, false))).expect("the ring goes on");
        assert_eq!((report.version, reader.version()), (version + 1, version + 1));
        writer.reclaim();
        assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
        assert_eq!(tables.live(), 1);
        drop((writer, reader, handle));
        assert_eq!((tables.live(), payloads.live()), (0, 0));
    }
}

thread_local!(static BREAK: Cell<bool> = const { Cell::new(false) });

/// The sorted array, until it is told to panic.
#[derive(Debug)]
struct Fragile(Sorted<u32>);

impl Layout<u32> for Fragile {
    const NAME: &'static str = "fragile";

    fn try_build(points: PointArray<u32>) -> Result<Self, TryReserveError> {
        assert!(!BREAK.get(), "told to panic");
        Ok(Self(Sorted::try_build(points)?))
    }

    fn try_patch(&self, points: PointArray<u32>, _: &Edit<'_, u32>) -> Result<Self, TryReserveError> {
        Self::try_build(points)
    }

    fn into_points(self) -> PointArray<u32> {
        self.0.into_points()
    }

    fn points(&self) -> &PointArray<u32> {
        self.0.points()
    }

    fn rank(&self, x: u32) -> usize {
        self.0.rank(x)
    }

    fn owner(&self, x: u32) -> Option<Slot> {
        self.0.owner(x)
    }

    fn index_bytes(&self) -> usize {
        0
    }
}

/// The layout is the last thing that is built: what was made before it goes again, and so does the batch.
fn a_panicking_layout_changes_nothing<P: Publish>() {
    let (tables, payloads) = (Book::new(), Book::new());
    let builder = Ring::builder().scheme(Booked::new(Native::new(), &tables)).layout::<Fragile>().publisher::<P>();
    let (mut writer, handle) = builder.node(load("a", &payloads, false)).build().expect("valid");
    let mut reader = handle.reader();
    let address: *const _ = reader.table();
    let delta = || Delta::new().add(load("b", &payloads, false)).set_weight("a", 2);
    BREAK.set(true);
    panic::catch_unwind(AssertUnwindSafe(|| writer.commit(delta()))).expect_err("the layout was told to panic");
    BREAK.set(false);
    assert!(std::ptr::eq(address, reader.table()) && std::ptr::eq(address, writer.table()));
    assert_eq!((handle.version(), tables.live(), payloads.live()), (1, 1, 1));
    let report = writer.commit(delta()).expect("the layout is itself again");
    assert_eq!((report.version, reader.version(), payloads.live()), (2, 2, 2));
    reader.table().validate().expect("a valid table");
}

fn idle_readers_refuse_no_commit<P: Publish>() {
    const READERS: usize = 64;
    let (tables, payloads) = (Book::new(), Book::new());
    let (mut writer, handle) = booked::<P>(&tables, &payloads, 1);
    let mut readers = Vec::new();
    for version in 1..=READERS as u64 {
        let mut reader = handle.reader();
        assert_eq!(reader.version(), version);
        readers.push(reader);
        writer.commit(Delta::new().set_weight("a", 1 + version as u32)).expect("idle readers refuse nothing");
    }
    writer.reclaim();
    assert_eq!(writer.counts(), Counts { live: READERS + 1, retired: READERS, in_grace: 0 });
    assert_eq!(tables.live(), READERS + 1);
    for (place, reader) in readers.iter_mut().enumerate() {
        if place % 2 == 0 {
            reader.park()
        } else {
            assert_eq!(reader.version(), READERS as u64 + 1)
        }
        assert_eq!(writer.reclaim(), 1, "what reader {place} held is free, and only that");
        assert_eq!(tables.live(), READERS - place);
    }
    assert_eq!(tables.droppers().len(), 1);
    assert_eq!(payloads.live(), 3);
}

#[test]
fn a_stalled_reader_hands_the_delta_back() {
    let scheme = Spied::new(Native::new());
    let builder = Ring::builder().scheme(scheme.clone()).publisher::<Stallable>().retired_limit(3);
    let (mut writer, handle) = builder.node(spec("a")).build().expect("valid");
    let (mut reader, stall) = (handle.reader(), take_stall());
    for round in 0..3 {
        let stopped = stall();
        let version = writer.version();
        for step in 1..=3 {
            let report = writer.commit(Delta::new().set_payload("a", step)).expect("below the limit");
            assert_eq!(report.version, version + u64::from(step));
        }
        let asked = scheme.spy().assigned;
        for _ in 0..3 {
            let delta = Delta::new().add(spec(&format!("b{round}")));
            let refused = writer.commit(delta.clone()).expect_err("the limit is reached");
            assert_eq!(refused, CommitError::Backpressure { waiting: 3, limit: 3, delta: delta.clone() });
            assert!(refused.to_string().contains("the limit is 3"), "{refused}");
            assert_eq!(refused.into_delta(), delta);
        }
        assert_eq!(scheme.spy().assigned, asked, "nothing was built");
        assert_eq!(writer.reclaim(), 0);
        assert_eq!(writer.counts(), Counts { live: 4, retired: 3, in_grace: 3 });
        let seen = (writer.version(), handle.version(), reader.version(), handle.snapshot().version());
        assert_eq!(seen, (version + 3, version + 3, version + 3, version + 3), "other readers go on");

        drop(stopped);
        let report = writer.commit(Delta::new().add(spec(&format!("b{round}")))).expect("the reader has moved on");
        assert_eq!((report.version, reader.version()), (version + 4, version + 4));
        writer.reclaim();
        assert_eq!(writer.counts(), Counts { live: 1, retired: 0, in_grace: 0 });
    }
}

/// Calls `f` with every order of `items` things.
fn orders(items: usize, f: &mut impl FnMut(&[usize])) {
    fn go(rest: &mut Vec<usize>, order: &mut Vec<usize>, f: &mut impl FnMut(&[usize])) {
        if rest.is_empty() {
            f(order);
        }
        for place in 0..rest.len() {
            order.push(rest.remove(place));
            go(rest, order, f);
            rest.insert(place, order.pop().expect("pushed above"));
        }
    }
    go(&mut (0..items).collect(), &mut Vec::new(), f);
}

fn every_order_of_dropping_leaves_nothing<P: Publish>() {
    let mut tried = 0;
    orders(6, &mut |order| {
        let (tables, payloads) = (Book::new(), Book::new());
        let (mut writer, handle) = booked::<P>(&tables, &payloads, 4);
        let mut old_reader = handle.reader();
        assert_eq!(old_reader.version(), 1);
        writer.commit(Delta::new().remove("a").add(load("d", &payloads, false))).expect("valid");
        let snapshot = writer.snapshot();
        writer
            .commit(Delta::new().remove("b").set_payload("c", Load { _entry: payloads.entry(), explode: false }))
            .expect("valid");
        let mut reader = handle.reader();
        assert_eq!((reader.version(), snapshot.version(), tables.live(), payloads.live()), (3, 2, 3, 5));
        let node = reader.owner(b"key").expect("there are points").clone();
        let mut ends: [Option<Box<dyn Any>>; 6] = [
            Some(Box::new(writer)),
            Some(Box::new(old_reader)),
            Some(Box::new(reader)),
            Some(Box::new(snapshot)),
            Some(Box::new(handle)),
            Some(Box::new(node)),
        ];
        order.iter().for_each(|&end| drop(ends[end].take()));
        assert_eq!((tables.live(), payloads.live()), (0, 0), "dropped in the order {order:?}");
        tried += 1;
    });
    assert_eq!(tried, 720);
}

#[test]
fn a_stopped_reader_and_every_order_of_dropping_leave_nothing() {
    orders(5, &mut |order| {
        let (tables, payloads) = (Book::new(), Book::new());
        let (mut writer, handle) = booked::<Stallable>(&tables, &payloads, 4);
        let stall = take_stall();
        let mut reader = handle.reader();
        assert_eq!(reader.version(), 1);
        let stopped = stall();
        drop(stall);
        for id in ["a", "b"] {
            writer.commit(Delta::new().remove(id)).expect("valid");
        }
        let snapshot = handle.snapshot();
        let mut ends: [Option<Box<dyn Any>>; 5] = [
            Some(Box::new(writer)),
            Some(Box::new(reader)),
            Some(stopped),
            Some(Box::new(snapshot)),
            Some(Box::new(handle)),
        ];
        order.iter().for_each(|&end| drop(ends[end].take()));
        assert_eq!((tables.live(), payloads.live()), (0, 0), "dropped in the order {order:?}");
    });
}

fn threads_that_end_or_panic_leave_nothing<P: Publish>() {
    let (tables, payloads) = (Book::new(), Book::new());
    let (mut writer, handle) = booked::<P>(&tables, &payloads, 4);
    for panics in [false, true, true] {
        let mut reader = handle.reader();
        let thread = thread::spawn(move || {
            let owner = reader.owner(b"key").expect("there are points");
            assert!(!panics, "told to panic while it holds {owner:?}");
            reader.version()
        });
        writer.commit(Delta::new().set_payload("a", Load { _entry: payloads.entry(), explode: false })).expect("valid");
        assert_eq!(thread.join().is_err(), panics);
    }
    writer.commit(Delta::new().remove("a")).expect("the writer goes on");
    writer.reclaim();
    assert_eq!((tables.live(), payloads.live()), (1, 2));
    assert_eq!(tables.droppers().keys().collect::<Vec<_>>(), [&thread::current().id()], "by the writer alone");
    drop((writer, handle));
    assert_eq!((tables.live(), payloads.live()), (0, 0));
}

fn a_node_outlives_its_table<P: Publish>() {
    let (mut writer, handle, _) = watched::<P>(&["a"]);
    let mut reader = handle.reader();
    let node = reader.owner(b"key").expect("there are points").clone();
    writer.commit(Delta::new().set_weight("a", 5).set_payload("a", 77)).expect("valid");
    let changed = reader.owner(b"key").expect("there are points").clone();
    writer.commit(Delta::new().remove("a")).expect("valid");
    assert!(reader.owner(b"key").is_none());
    writer.reclaim();
    assert_eq!(writer.counts().live, 1, "nodes keep no table alive");
    drop((writer, handle, reader));
    let seen = |node: &Node<u32>| (node.id().to_string(), node.info().weight(), *node.payload());
    assert_eq!(seen(&node), ("a".into(), 1, 0), "as it was in that table");
    assert_eq!(seen(&changed), ("a".into(), 5, 77));
}

fn readers_go_on_without_the_writer<P: Publish>() {
    let (mut writer, handle, _) = watched::<P>(&["a"]);
    let (mut parked, mut old) = (handle.reader(), handle.reader());
    assert_eq!((parked.version(), old.version()), (1, 1));
    parked.park();
    writer.commit(Delta::new().add(spec("b"))).expect("valid");
    drop(writer);
    let mut new = handle.clone().reader();
    assert_eq!((parked.version(), old.version(), new.version(), handle.version()), (2, 2, 2, 2));
    let snapshot = new.snapshot();
    drop((parked, old, new, handle));
    assert_eq!(snapshot.clone().nodes().map(|node| node.id().to_string()).collect::<Vec<_>>(), ["a", "b"]);
    snapshot.validate().expect("a valid table");
}

fn a_ring_without_points_owns_nothing<P: Publish>() {
    let (mut writer, handle, _) = watched::<P>(&[]);
    let mut reader = handle.reader();
    let steps = [
        Delta::new().add(spec("zero").with_weight(0)),
        Delta::new().add(spec("some")),
        Delta::new().set_active_points("some", 0),
        Delta::new().remove("some").remove("zero"),
        Delta::new().add(spec("again")),
    ];
    let points = [0, 0, 8, 0, 0, 8];
    for (points, step) in points.into_iter().zip([Delta::new()].into_iter().chain(steps)) {
        writer.commit(step).expect("valid");
        let table = reader.table();
        assert_eq!((table.len(), table.is_empty()), (points, points == 0));
        table.validate().expect("a valid table");
        let shares: u128 = table.shares().iter().map(|(_, share)| share.points()).sum();
        assert_eq!(shares, if points == 0 { 0 } else { 1 << 32 });
        let full = Ring::builder().node(spec("x")).build_table().expect("valid");
        for len in [0, 1, 63, 64, 65, 130] {
            // Owners of another ring, all of which must be overwritten.
            let mut owners = vec![full.owner(b"key"); len];
            let keys: Vec<String> = (0..len).map(|n| n.to_string()).collect();
            assert_eq!(table.owner_batch(&keys, &mut owners), len);
            assert!(owners.iter().all(|owner| owner.is_none() == (points == 0)));
            assert!(owners.iter().flatten().all(|node| *node.id() != "x"));
            let mut owners = vec![full.owner(b"key"); len];
            assert_eq!(table.owner_at_batch(&vec![7; len], &mut owners), len);
            assert!(owners.iter().all(|owner| owner.is_none() == (points == 0)));
        }
        assert_eq!(reader.owner(b"key").is_none(), points == 0);
        assert_eq!(reader.owner(b"").is_none(), points == 0);
        assert_eq!(reader.owner_of_parts(&[]).is_none(), points == 0);
        assert_eq!(reader.owner_of_parts(&[b"k", b"ey"]).is_none(), points == 0);
        assert_eq!(reader.owner_at(0).is_none() && reader.owner_at(u32::MAX).is_none(), points == 0);
    }
    assert_eq!(writer.version(), 6);
}

/// A payload that can't be printed, compared or cloned, as a connection pool can't.
struct Pool;

#[test]
fn errors_take_every_payload_into_a_chain() {
    fn commit() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (mut writer, _handle) = Ring::builder().node(NodeSpec::new("a").with_payload(Pool)).build()?;
        writer.commit(Delta::new().add(NodeSpec::new("b").with_payload(Pool)).remove("x\u{1b}[31m\n"))?;
        Ok(())
    }
    let error = commit().expect_err("there is no such node");
    assert_eq!(error.to_string(), "node \"x\\u{1b}[31m\\n\" is not in the ring; name one that is");
    assert!(error.source().is_none() && format!("{error:?}").contains("id: \"b\""));
}
