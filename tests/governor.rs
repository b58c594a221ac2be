//! The governor against what it was asked for: the last state arrives, and no window moves more than it may.

mod common;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use common::batches;
use common::model::{ModelNode, Rule, View};
use common::schemes::{Listed, Weak};
use common::{Rng, env_number};
use ringway::layout::Auto;
use ringway::scheme::MatchRule;
use ringway::{CommitError, Delta, DeltaError, Governor, Native, NodeSpec, Pace, PaceError, Pins, Plan, Ring, State};

const SECOND: Duration = Duration::from_secs(1);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn pace(interval: u64, window: u64, share: f64) -> Pace {
    Pace::new(seconds(interval), seconds(window), share).unwrap()
}

#[test]
fn random_changes_arrive_within_the_pace() {
    let weak = |rule| Weak { name: "weak", place: |hash: u8| u32::from(hash) << 24, rule };
    for round in 0..env_number("RINGWAY_MODEL_ROUNDS", 6) {
        run(&Native::new().with_points_per_weight(12), 0x60_0001 + round);
        run(&weak(MatchRule::AtOrAfter), 0x60_1001 + round);
        run(&weak(MatchRule::Nearest), 0x60_2001 + round);
        run(&Listed { weak: weak(MatchRule::AtOrAfter), group: 1 }, 0x60_3001 + round);
    }
}

fn run<S: Rule>(scheme: &S, seed: u64) {
    let mut rng = Rng::new(seed);
    let limit = [0.02, 0.1, 0.3, 1.0][rng.below(4)];
    let (interval, window) = (rng.below(3) as u64, 1 + rng.below(20) as u64);
    let builder = Ring::builder().scheme(scheme.clone()).layout::<Auto<S::Point>>().limits(batches::limits());
    let (writer, _) = builder.build().unwrap();
    let mut governor = Governor::new(writer, pace(interval, window, limit));
    let mut nodes: Vec<ModelNode> = Vec::new();
    let mut now = Instant::now();
    // Every commit that counts, with its time, and what it moved, found anew.
    let mut commits: VecDeque<(Instant, f64, bool)> = VecDeque::new();
    let mut idle = 0;
    let mut ticks = |governor: &mut Governor<u32, S, Auto<S::Point>>, now: Instant| {
        let (before, due) = (governor.writer().snapshot(), governor.next_due(now));
        let pending = governor.pending();
        assert_eq!(due.is_none(), pending == 0);
        let tick = governor.tick(now);
        assert_eq!((tick.backpressure, tick.pending), (None, governor.pending()));
        if due.is_none_or(|due| due > now) {
            assert_eq!((&tick.commit, &tick.exempt), (&None, &None), "nothing is due");
        }
        let after = governor.writer();
        after.table().validate().unwrap();
        assert_eq!(before.version() == after.version(), tick.commit.is_none() && tick.exempt.is_none());
        if let Some(report) = &tick.commit {
            assert_eq!(report.version, after.version());
            if tick.exempt.is_none() {
                let moved = Plan::between(&before, after.table()).unwrap().moved().fraction();
                assert!((tick.moved - moved).abs() < 1e-12, "{} and {moved}", tick.moved);
            }
            if let Some(&(last, ..)) = commits.back() {
                assert!(now.duration_since(last) >= seconds(interval));
            }
            commits.push_back((now, tick.moved, tick.oversize));
            let recent = || commits.iter().filter(|(at, ..)| now.duration_since(*at) < seconds(window));
            let sum: f64 = recent().map(|(_, moved, _)| moved).sum();
            if tick.oversize {
                assert!(tick.moved > limit);
                assert_eq!(recent().filter(|(_, moved, _)| *moved > 0.0).count(), 1, "alone in its window");
            } else if !recent().any(|(_, _, oversize)| *oversize) {
                assert!(sum <= limit + 1e-9, "{sum} in a window, not {limit}");
            } else {
                assert_eq!(tick.moved, 0.0, "after one that was too large");
            }
            idle = 0;
        } else {
            idle += 1;
        }
        idle
    };
    for _ in 0..25 {
        if rng.percent(70) {
            if rng.percent(20) {
                let list = batches::full_list(&mut rng, &nodes);
                governor.submit_all(list.nodes.iter().map(ModelNode::spec)).expect("the list is valid");
                nodes = list.nodes;
            } else {
                let batch = batches::valid::<S>(&mut rng, &nodes);
                governor.submit(batch.delta).expect("the batch is valid");
                nodes = batch.nodes;
            }
        }
        if rng.percent(20) {
            let (version, pending) = (governor.writer().version(), governor.pending());
            let (delta, error) = batches::refused(&mut rng, scheme, &nodes);
            let refused = governor.submit(delta.clone()).expect_err("the batch has a fault");
            // Where two things are wrong with the ring as it is, another one may be named first.
            let CommitError::Invalid { error: found, delta: back } = refused else { panic!("{refused:?}") };
            assert_eq!(back, delta);
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&error), "{found:?}, not {error:?}");
            assert_eq!((governor.writer().version(), governor.pending()), (version, pending));
        }
        now += Duration::from_millis(rng.below(4000) as u64);
        ticks(&mut governor, now);
    }
    // Nobody submits any more: the last state arrives.
    let mut rounds = 0;
    while let Some(due) = governor.next_due(now) {
        now = due.max(now);
        let idle = ticks(&mut governor, now);
        rounds += 1;
        // Nothing may fit before several commits have left the window, one after the other: at most one a second in 20.
        assert!(idle <= 24, "a tick that was due commits nothing, again and again: {governor:?}");
        assert!(rounds < 20_000, "{governor:?}");
    }
    let view = View::new(scheme, &nodes);
    let table = governor.writer().table();
    view.check(scheme, table, &mut rng);
    let specs = nodes.iter().map(ModelNode::spec);
    let scratch = Ring::builder().scheme(scheme.clone()).nodes(specs).build_table().unwrap();
    assert_eq!(table.placement_fingerprint(), scratch.placement_fingerprint(), "no history decides");
    assert_eq!(table.spec_fingerprint(), scratch.spec_fingerprint());
}

fn ring(count: u32) -> Governor {
    let nodes = (0..count).map(|n| NodeSpec::new(format!("n{n}")));
    let (writer, _) = Ring::builder().points_per_weight(100).nodes(nodes).build().unwrap();
    Governor::new(writer, pace(1, 60, 0.1))
}

#[test]
fn changes_that_take_each_other_back_come_to_nothing() {
    let mut governor = ring(4);
    governor.submit(Delta::new().add(NodeSpec::new("x")).set_weight("n1", 7)).unwrap();
    assert_eq!(governor.pending(), 2);
    governor.submit(Delta::new().remove("x")).unwrap();
    for weight in [3, 9, 1] {
        governor.submit(Delta::new().set_weight("n1", weight)).unwrap();
    }
    let now = Instant::now();
    assert_eq!((governor.pending(), governor.next_due(now)), (0, None), "x was never there, n1 is what it was");
    governor.submit(Delta::new().remove("n2")).unwrap();
    governor.submit(Delta::new().add(NodeSpec::new("n2"))).unwrap();
    let tick = governor.tick(now);
    assert_eq!((tick.moved, tick.pending), (0.0, 0));
}

/// A node that was down, left and came back is up, though it was the same node all along for the ring.
#[test]
fn a_node_that_comes_back_has_the_state_it_comes_with() {
    let mut governor = ring(4);
    governor.writer().table().node("n2").unwrap().set_health(State::Down);
    let permit = governor.writer().table().node("n2").unwrap().enter();
    governor.submit(Delta::new().remove("n2")).unwrap();
    governor.submit(Delta::new().add(NodeSpec::new("n2").with_weight(1).with_address("10.0.0.9:80"))).unwrap();
    governor.tick(Instant::now());
    let node = governor.writer().table().node("n2").unwrap();
    assert_eq!((node.health(), node.info().address(), node.in_flight()), (State::Up, Some("10.0.0.9:80"), 1));
    drop(permit);
}

#[test]
fn a_down_node_goes_at_once_and_for_nothing() {
    let mut governor = ring(5);
    let start = Instant::now();
    governor.submit(Delta::new().add(NodeSpec::new("x"))).unwrap();
    let first = governor.tick(start);
    assert!(first.moved > 0.09 && first.moved <= 0.1 && first.pending == 1 && !first.oversize, "{first:?}");
    governor.submit(Delta::new().remove("n1").remove("n2")).unwrap();
    // What is left of the window may be a point of n1's or two.
    let mut now = start;
    while governor.next_due(now) != Some(start + seconds(60)) {
        now = governor.next_due(now).unwrap();
        let held = governor.tick(now);
        assert!((held.moved < 0.01, held.exempt, held.pending) == (true, None, 3) && now < start + seconds(9));
    }
    governor.writer().table().node("n2").unwrap().set_health(State::Down);
    assert_eq!(governor.next_due(now), Some(now), "now there is something to do");
    let tick = governor.tick(now);
    let removed: Vec<_> = tick.exempt.as_ref().unwrap().removed.iter().map(ToString::to_string).collect();
    assert_eq!((removed, tick.pending), (vec!["n2".into()], 2));
    assert!(tick.moved < 0.01, "{}", tick.moved);
    // What is exempt doesn't count: the window is what it was.
    let later = governor.tick(start + seconds(60));
    assert!(later.moved > 0.08 && later.moved <= 0.1, "{later:?}");
}

#[test]
fn what_cannot_be_divided_is_made_alone_and_reported() {
    let scheme = ringway::scheme::EnvoyRingHash::new();
    let nodes = (0..5).map(|n| NodeSpec::new(format!("10.0.0.{n}:80")));
    let (writer, _) = Ring::builder().scheme(scheme).nodes(nodes).build().unwrap();
    let mut governor = Governor::new(writer, pace(0, 60, 0.01));
    let mut now = Instant::now();
    governor.submit(Delta::new().remove("10.0.0.3:80").set_zone("10.0.0.1:80", ["z"])).unwrap();
    let tick = governor.tick(now);
    assert!(!tick.oversize && tick.moved == 0.0 && tick.pending == 1, "a zone moves nothing: {tick:?}");
    let tick = governor.tick(now);
    assert!(tick.oversize && tick.moved > 0.15 && tick.pending == 0, "{tick:?}");
    governor.submit(Delta::new().remove("10.0.0.4:80")).unwrap();
    assert_eq!(governor.tick(now + seconds(59)).commit, None, "the window is overdrawn");
    now = governor.next_due(now + seconds(59)).unwrap();
    assert!(governor.tick(now).oversize);
}

#[test]
fn pins_wait_for_their_nodes() {
    let mut governor = ring(3);
    let pins = Pins::new().with_key("vip", "x").unwrap();
    governor.submit(Delta::new().add(NodeSpec::new("x")).with_pins(pins)).unwrap();
    let mut now = Instant::now();
    governor.tick(now);
    assert!(governor.writer().table().pins().is_empty(), "x has a part of its points only");
    while let Some(due) = governor.next_due(now) {
        now = due;
        governor.tick(now);
    }
    assert_eq!(governor.writer().table().owner(b"vip").unwrap().id(), "x");
}

#[test]
fn paces_and_batches_that_make_no_sense_are_refused() {
    for share in [0.0, -1.0, 1.01, f64::INFINITY] {
        assert_eq!(Pace::new(SECOND, SECOND, share), Err(PaceError { share }));
    }
    let error = Pace::new(SECOND, SECOND, f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "a window's share of NaN isn't above 0 and up to 1; give one such as 0.1");
    let mut governor = ring(3);
    governor.submit(Delta::new().add(NodeSpec::new("x"))).unwrap();
    for (delta, error) in [
        (Delta::new().add(NodeSpec::new("x")), DeltaError::DuplicateId { id: "x".into() }),
        (Delta::new().add(NodeSpec::new("n1")), DeltaError::DuplicateId { id: "n1".into() }),
        (Delta::new().remove("y"), DeltaError::UnknownId { id: "y".into() }),
        (Delta::new().remove("n1").remove("n1"), DeltaError::Conflict { id: "n1".into() }),
    ] {
        assert_eq!(governor.submit(delta.clone()), Err(CommitError::Invalid { error, delta }));
    }
    let twice = [NodeSpec::new("a"), NodeSpec::new("a")];
    let error = DeltaError::DuplicateId { id: "a".into() };
    assert_eq!(governor.submit_all(twice), Err(CommitError::Invalid { error, delta: Delta::new() }));
    assert_eq!(governor.pending(), 1);
    // What was submitted decides what can be removed.
    governor.submit(Delta::new().remove("n1")).unwrap();
    let error = DeltaError::UnknownId { id: "n1".into() };
    let again = Delta::new().set_weight("n1", 2);
    assert_eq!(governor.submit(again.clone()), Err(CommitError::Invalid { error, delta: again }));
}

/// Keys with several probes have no arcs, but a bound of what moves; a node that joins comes whole, as it can't be divided by
/// arcs, and alone.
#[test]
fn keys_with_several_probes_are_governed_too() {
    let scheme = ringway::scheme::MultiProbe::new(Native::new(), ringway::scheme::Probes::new(3).unwrap());
    let nodes = (0..40).map(|n| NodeSpec::new(format!("n{n}")));
    let (writer, _) = Ring::builder().scheme(scheme).nodes(nodes).build().unwrap();
    let mut governor = Governor::new(writer, pace(0, 60, 0.06));
    let now = Instant::now();
    governor.submit(Delta::new().add(NodeSpec::new("x")).add(NodeSpec::new("y")).add(NodeSpec::new("z"))).unwrap();
    let tick = governor.tick(now);
    assert!(tick.moved > 0.04 && tick.moved <= 0.06 && tick.pending == 1, "two of three fit: {tick:?}");
    assert_eq!((governor.tick(now).commit, governor.next_due(now)), (None, Some(now + seconds(60))));
    assert_eq!(governor.tick(now + seconds(60)).pending, 0);
}

/// Times that go back, windows of no length, and an interval of none.
#[test]
fn odd_times_do_no_harm() {
    let nodes = (0..3).map(|n| NodeSpec::new(format!("n{n}")));
    let (writer, _) = Ring::builder().points_per_weight(50).nodes(nodes).build().unwrap();
    let mut governor = Governor::new(writer, pace(0, 0, 0.05));
    let now = Instant::now() + seconds(1000);
    governor.submit(Delta::new().add(NodeSpec::new("x"))).unwrap();
    let mut ticks = 0;
    while governor.pending() > 0 {
        governor.tick(if ticks % 2 == 0 { now } else { now - seconds(500) });
        ticks += 1;
        assert!(ticks < 20);
    }
    assert!(ticks >= 5, "a quarter of all keys, a twentieth at once");

    // For ever is 136 years.
    governor.set_pace(Pace::new(Duration::MAX, Duration::MAX, 0.05).unwrap());
    assert_eq!(governor.pace().interval(), seconds(1 << 32));
    governor.submit(Delta::new().add(NodeSpec::new("y"))).unwrap();
    assert!(governor.next_due(now).unwrap() >= now + seconds(1 << 31));
    assert_eq!(governor.tick(now + seconds(1 << 31)).commit, None);
    assert!(governor.tick(now + seconds(1 << 33)).commit.is_some());
    assert_eq!(governor.into_writer().table().points_of("x"), Some(50));
}
