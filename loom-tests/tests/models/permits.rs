//! Requests come and go while their node leaves the ring and others join: the ring's sum and the nodes' counts stay true,
//! and no change elsewhere hides a node that is down.

use loom::thread;
use ringway::{Bound, Delta, Limits, NodeSpec, Ring, State};
use ringway_loom_tests::{Preemptions, check};

#[test]
fn a_request_ends_while_its_node_leaves() {
    check("permits, 1 request, 1 removal", Preemptions { ci: 3, long: 4 }, || {
        let (mut writer, handle) =
            Ring::builder().points_per_weight(1).nodes(["a", "b"].map(NodeSpec::new)).build().expect("valid");
        let a = writer.table().node("a").expect("there").clone();
        let early = a.enter();
        loom::explore();
        let requests = thread::spawn(move || {
            drop(early);
            a.enter()
        });
        writer.commit(Delta::new().remove("a")).expect("valid");
        let late = requests.join().unwrap();
        loom::stop_exploring();
        assert_eq!(
            (late.in_flight(), writer.table().in_flight()),
            (1, 0),
            "what is at a node that left counts for nobody"
        );
        drop(late);
        assert_eq!(writer.table().in_flight(), 0);
        drop(handle);
    });
}

#[test]
fn a_node_that_is_down_stays_seen_while_another_flaps() {
    check("permits, 1 lookup, 2 flips", Preemptions { ci: 3, long: 4 }, || {
        let ring = Ring::builder().points_per_weight(1).nodes(["a", "b", "c"].map(NodeSpec::new));
        let table = std::sync::Arc::new(ring.limits(Limits::DEFAULT).build_table().expect("valid"));
        let owner = table.owner_at(0).expect("there are points").clone();
        let other = table.nodes().find(|node| node.id() != owner.id()).expect("three").clone();
        owner.set_health(State::Down);
        loom::explore();
        let flaps = thread::spawn(move || {
            other.set_health(State::Down);
            other.set_health(State::Up);
        });
        let routed = table.route_at(0).expect("one is up all the time");
        assert_ne!(routed.id(), owner.id());
        flaps.join().unwrap();
        loom::stop_exploring();
    });
}

#[test]
fn two_requests_for_one_place() {
    check("permits, 2 admissions", Preemptions { ci: 3, long: 4 }, || {
        let ring = Ring::builder().points_per_weight(1).nodes(["a", "b"].map(NodeSpec::new));
        let table = std::sync::Arc::new(ring.build_table().expect("valid"));
        let bound = Bound::percent(100).expect("100 is the least");
        loom::explore();
        let asked = std::sync::Arc::clone(&table);
        let one = thread::spawn(move || asked.admit_at(0, bound).map(|admission| admission.into_permit()));
        let two = table.admit_at(0, bound).map(|admission| admission.into_permit());
        let one = one.join().unwrap();
        loom::stop_exploring();
        // Two in flight of two nodes: one each.
        assert!(one.is_ok() && two.is_ok());
        assert_eq!(table.nodes().map(|node| node.in_flight()).collect::<Vec<_>>(), [1, 1]);
        drop((one, two));
        assert_eq!(table.in_flight(), 0);
    });
}
