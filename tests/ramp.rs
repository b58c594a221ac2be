//! Ramps against what the same steps do to keys.

mod common;

use common::Rng;
use common::schemes::Weak;
use ringway::scheme::{EnvoyRingHash, MatchRule};
use ringway::{Delta, DeltaError, Limits, Native, NodeSpec, Plan, Ramp, RampBy, RampError, Ring, State, Table, Writer};

fn nodes(count: u32) -> impl Iterator<Item = NodeSpec> {
    (0..count).map(|n| NodeSpec::new(format!("n{n}")))
}

fn keys() -> Vec<String> {
    (0..4000).map(|n| format!("key:{n}")).collect()
}

fn owners(table: &Table) -> Vec<String> {
    keys().iter().map(|key| table.owner(key.as_bytes()).unwrap().id().to_string()).collect()
}

/// Commits every step, and sees keys go to the node, or from it, and never back.
fn follow(writer: &mut Writer, ramp: Ramp, id: &str, grows: bool) {
    let (mut before, first) = (owners(writer.table()), writer.snapshot());
    let steps = ramp.steps().len();
    let mut moved = 0u128;
    for (number, step) in ramp.into_iter().enumerate() {
        let (old, plan, points) = (writer.snapshot(), step.plan().clone(), step.points());
        writer.commit(step.into_delta()).expect("the steps follow each other");
        assert_eq!(plan, Plan::between(&old, writer.table()).unwrap(), "step {number} does what its plan says");
        if number + 1 < steps || grows {
            assert_eq!(writer.table().points_of(id), Some(points));
        }
        let after = owners(writer.table());
        for (old, new) in before.iter().zip(&after).filter(|(old, new)| old != new) {
            assert_eq!(if grows { new } else { old }, id, "from {old} to {new} in step {number}");
        }
        before = after;
        moved += plan.moved().points();
    }
    let whole = Plan::between(&first, writer.table()).unwrap();
    assert_eq!(whole.moved().points(), moved, "no key moved twice");
}

#[test]
fn a_slow_start_and_a_drain_move_keys_one_way() {
    for by in [RampBy::Steps(1), RampBy::Steps(7), RampBy::Steps(10_000), RampBy::Share(0.02), RampBy::Share(1.0)] {
        let (mut writer, _) = Ring::builder().points_per_weight(40).nodes(nodes(6)).build().unwrap();
        let spec = NodeSpec::new("new").with_weight(2).with_state(State::Draining);
        let ramp = Ramp::join(writer.table(), spec.clone(), by, writer.limits()).unwrap();
        let expected = match by {
            RampBy::Steps(steps) => Some(steps.min(80)),
            RampBy::Share(1.0) => Some(1),
            RampBy::Share(_) => None,
        };
        assert!(expected.is_none_or(|steps| ramp.steps().len() == steps as usize), "{by:?}: {}", ramp.steps().len());
        if let RampBy::Share(share) = by {
            // A quarter of the keys in steps of a fiftieth: 12 at the least, and no step much smaller than it might be.
            assert!(ramp.steps().iter().all(|step| step.plan().moved().fraction() <= share));
            assert!(share == 1.0 || (12..30).contains(&ramp.steps().len()), "{}", ramp.steps().len());
        }
        follow(&mut writer, ramp, "new", true);
        let scratch: Table = Ring::builder().points_per_weight(40).nodes(nodes(6).chain([spec])).build_table().unwrap();
        assert_eq!(writer.table().spec_fingerprint(), scratch.spec_fingerprint(), "no override is left");

        let ramp = Ramp::leave(writer.table(), "n3", by, writer.limits()).unwrap();
        follow(&mut writer, ramp, "n3", false);
        assert!(writer.table().node("n3").is_none());
    }
}

#[test]
fn the_ends_of_a_step_are_those_of_equal_parts() {
    let table = Ring::builder().points_per_weight(10).nodes(nodes(3)).build_table().unwrap();
    let points = |id: &str, to, steps| -> Vec<u32> {
        let ramp = Ramp::to(&table, id, to, RampBy::Steps(steps), &Limits::DEFAULT).unwrap();
        ramp.steps().iter().map(|step| step.points()).collect()
    };
    assert_eq!(points("n1", Some(30), 4), [15, 20, 25, 30]);
    assert_eq!(points("n1", Some(0), 3), [7, 4, 0]);
    assert_eq!(points("n1", Some(12), 9), [11, 12]);
    assert_eq!(points("n1", None, 9), [] as [u32; 0], "it has those of its weight");
    // An override that changes no point is a change of the description: one step, which moves nothing.
    assert_eq!(points("n1", Some(10), 9), [10]);
}

#[test]
fn a_share_smaller_than_a_point_takes_one_point_at_a_time() {
    let table = Ring::builder().points_per_weight(10).nodes(nodes(2)).build_table().unwrap();
    let ramp = Ramp::join(&table, NodeSpec::new("new"), RampBy::Share(1e-9), &Limits::DEFAULT).unwrap();
    assert_eq!(ramp.steps().iter().map(|step| step.points()).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    // The largest number of points that fits, by trying them all.
    let (share, mut at) = (0.07, 0);
    let old = table.apply(Delta::new().add(NodeSpec::new("new").with_active_points(0)), &Limits::DEFAULT);
    let mut old = old.unwrap().unwrap().table;
    for step in Ramp::join(&table, NodeSpec::new("new"), RampBy::Share(share), &Limits::DEFAULT).unwrap() {
        let with = |points: u32| {
            old.apply(Delta::new().set_active_points("new", points), &Limits::DEFAULT).unwrap().unwrap().table
        };
        let fits = |points: &u32| Plan::between(&old, &with(*points)).unwrap().moved().fraction() <= share;
        let most = (at + 1..=10).filter(fits).max().unwrap_or(at + 1);
        assert_eq!(step.points(), most);
        at = most;
        old = with(most);
    }
}

#[test]
fn what_has_no_ramp_is_refused() {
    let table = Ring::builder().points_per_weight(10).nodes(nodes(3)).build_table().unwrap();
    let to = |by| Ramp::to(&table, "n1", Some(99), by, &Limits::DEFAULT).map(|ramp| ramp.steps().len());
    assert_eq!(to(RampBy::Steps(0)), Err(RampError::Steps { steps: 0, limit: 10_000 }));
    assert_eq!(to(RampBy::Steps(10_001)), Err(RampError::Steps { steps: 10_001, limit: 10_000 }));
    for share in [0.0, -0.1, 1.1, f64::INFINITY] {
        assert_eq!(to(RampBy::Share(share)), Err(RampError::Share { share }));
    }
    assert!(matches!(to(RampBy::Share(f64::NAN)), Err(RampError::Share { .. })));
    let by = RampBy::Steps(2);
    let unknown = RampError::Refused(DeltaError::UnknownId { id: "x".into() });
    assert_eq!(Ramp::to(&table, "x", None, by, &Limits::DEFAULT), Err(unknown.clone()));
    assert_eq!(Ramp::leave(&table, "x", by, &Limits::DEFAULT), Err(unknown));
    let there = RampError::Refused(DeltaError::DuplicateId { id: "n1".into() });
    assert_eq!(Ramp::join(&table, NodeSpec::new("n1"), by, &Limits::DEFAULT), Err(there));
    let few = Limits::DEFAULT.with_points(100);
    let error = Ramp::to(&table, "n1", Some(1000), by, &few).unwrap_err();
    assert!(error.to_string().contains("above the limit of 100"), "{error}");

    // A host's points follow from all hosts' weights there.
    let scheme = EnvoyRingHash::new();
    let envoy = Ring::builder().scheme(scheme).nodes(nodes(5)).build_table().unwrap();
    let error = Ramp::leave(&envoy, "n1", by, &Limits::DEFAULT).unwrap_err();
    assert_eq!(error, RampError::NodesDepend { scheme: "envoy-ring-hash".into() });
}

/// envoy#37484: slow start that takes no effect on a ring. varnish#2823: one that sends traffic to a sick backend. A node's
/// ramp starts at a small part, grows, and never makes a node take what its state forbids.
#[test]
fn a_slow_start_is_slow_and_never_revives_a_sick_node() {
    let (mut writer, handle) = Ring::builder().nodes(nodes(3)).build().unwrap();
    let mut reader = handle.reader();
    let spec = NodeSpec::new("sick").with_state(State::Down);
    let ramp = Ramp::join(writer.table(), spec, RampBy::Steps(8), writer.limits()).unwrap();
    let (mut last, mut rng) = (0.0, Rng::new(2823));
    for (number, step) in ramp.into_iter().enumerate() {
        writer.commit(step.into_delta()).unwrap();
        let table = writer.table();
        let share =
            table.shares().iter().find(|(node, _)| node.id() == "sick").map(|(_, share)| share.fraction()).unwrap();
        let fair = 0.25 * (number + 1) as f64 / 8.0;
        assert!(share > last && share < 1.5 * fair + 0.01, "step {number}: {share}");
        last = share;
        assert_eq!(table.node("sick").unwrap().health(), State::Down);
        for _ in 0..500 {
            assert_ne!(reader.route(&rng.next().to_le_bytes()).unwrap().id(), "sick");
        }
        // Found healthy for a while, then sick again: the next step leaves it so.
        let health = if number % 3 == 1 { State::Up } else { State::Down };
        table.node("sick").unwrap().set_health(health);
        if health == State::Up {
            table.node("sick").unwrap().set_health(State::Down);
        }
    }
}

#[test]
fn wide_circles_and_collisions_have_ramps_too() {
    let scheme = Weak { name: "weak", place: |hash: u8| u128::from(hash) << 120, rule: MatchRule::Nearest };
    let nodes = (0..4).map(|n| NodeSpec::new(format!("n{n}")).with_payload(n));
    let table: Table<u32, _> = Ring::builder().scheme(scheme).nodes(nodes).build_table().unwrap();
    let spec = NodeSpec::new("new").with_payload(9);
    let ramp = Ramp::join(&table, spec, RampBy::Share(0.05), &Limits::DEFAULT).unwrap();
    assert_eq!(ramp.steps().last().map(|step| step.points()), Some(16));
    let native: Table<u32, Native> = Ring::builder().node(NodeSpec::new("a").with_payload(1)).build_table().unwrap();
    let alone = Ramp::leave(&native, "a", RampBy::Steps(3), &Limits::DEFAULT).unwrap();
    assert_eq!(alone.steps().len(), 3);
    assert!(alone.steps()[2].plan().moved().is_whole(), "the last points of the ring go to nobody");
}
