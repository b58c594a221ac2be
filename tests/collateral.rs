//! How much moves between nodes that a change doesn't touch, with schemes in which nodes depend on each other. The figures
//! stand in `docs/compat.md`: `cargo test --release --test collateral -- --nocapture` prints them.

use ringway::scheme::{
    Conhash, HashRing, Libketama, Libmemcached, LibmemcachedPoints, Native, Scheme, TwemproxyKetama, UhashringDefault,
    UhashringKetama,
};
use ringway::{Delta, Limits, NodeSpec, Point, Table};

/// The part of the circle that changes hands, and of it what neither leaves nor reaches `touched`. Exact but for the sum.
///
/// By arcs that end at points, so it holds for the rules "at or after" and "after", which differ by a turn of one place.
fn moved<S: Scheme>(before: &Table<(), S>, after: &Table<(), S>, touched: &str) -> (f64, f64) {
    let points = |table: &Table<(), S>| -> Vec<(S::Point, String)> {
        let mut points: Vec<_> = table.points().map(|(point, node)| (point, node.id().to_string())).collect();
        points.dedup_by(|next, first| next.0 == first.0);
        points
    };
    let (before, after) = (points(before), points(after));
    let owner = |points: &[(S::Point, String)], place: S::Point| {
        let next = points.partition_point(|&(point, _)| point < place);
        points[next % points.len()].1.clone()
    };
    let mut ends: Vec<S::Point> = before.iter().chain(&after).map(|&(point, _)| point).collect();
    ends.sort();
    ends.dedup();
    let (mut all, mut collateral) = (0.0, 0.0);
    for (place, &end) in ends.iter().enumerate() {
        let start = ends[(place + ends.len() - 1) % ends.len()];
        let share = end.steps_from(start).to_u128() as f64 / (S::Point::BITS as f64).exp2();
        let (from, to) = (owner(&before, end), owner(&after, end));
        if from != to {
            all += share;
            if from != touched && to != touched {
                collateral += share;
            }
        }
    }
    (all, collateral)
}

/// The mean over each node of a cluster: it leaves (as much moves when it joins), or its weight goes up by one. In per
/// cent: what moves, and what of the whole moves between others.
fn means<S: Scheme>(scheme: &S, nodes: usize, weight: fn(usize) -> u32) -> [(f64, f64); 2] {
    let limits = Limits::default();
    let id = |place: usize| format!("10.0.0.{place}:11212:1");
    let specs = (0..nodes).map(|place| NodeSpec::new(id(place)).with_weight(weight(place)));
    let table: Table<(), S> = Table::build(scheme.clone(), specs, &limits).unwrap();
    let mut sums = [(0.0, 0.0); 2];
    for place in 0..nodes {
        let leaves = Delta::new().remove(id(place));
        let grows = Delta::new().set_weight(id(place), weight(place) + 1);
        for (sum, delta) in sums.iter_mut().zip([leaves, grows]) {
            let Some(applied) = table.apply(delta, &limits).map_err(|(error, _)| error).unwrap() else { continue };
            let (all, collateral) = moved(&table, &applied.table, &id(place));
            *sum = (sum.0 + all * 100.0 / nodes as f64, sum.1 + collateral * 100.0 / nodes as f64);
        }
    }
    sums
}

/// Prints a line of the table, and returns the largest collateral share in it.
fn line<S: Scheme>(scheme: &S, name: &str) -> f64 {
    let mixed = |place| [1, 2, 3, 5, 10][place % 5];
    let mut text = format!("| {name} |");
    let mut most: f64 = 0.0;
    for (nodes, weight) in [(10, (|_| 1) as fn(usize) -> u32), (10, mixed), (50, mixed)] {
        let [leaves, grows] = means(scheme, nodes, weight);
        for (all, collateral) in [leaves, grows] {
            text += &format!(" {collateral:.2} of {all:.1} |");
            most = most.max(collateral);
        }
    }
    println!("{text}");
    most
}

#[test]
fn nodes_that_a_change_does_not_touch() {
    println!(
        "| scheme | 10 equal: leaves | weight + 1 | 10 mixed: leaves | weight + 1 | 50 mixed: leaves | weight + 1 |"
    );
    for independent in [
        line(&Native::new().with_points_per_weight(160), "native, 160 points"),
        line(&Libmemcached::new().with_points(LibmemcachedPoints::Hash100), "libmemcached, hash100"),
        line(&UhashringDefault::new(), "uhashring-default"),
        line(&Conhash::new(), "conhash"),
    ] {
        assert_eq!(independent, 0.0);
    }
    for dependent in [
        line(&Libketama::new(), "libketama"),
        line(&Libmemcached::new().with_points(LibmemcachedPoints::Md5x4), "libmemcached, md5x4"),
        line(&TwemproxyKetama::new(), "twemproxy-ketama"),
        line(&UhashringKetama::new(), "uhashring-ketama"),
        line(&HashRing::new(), "hash_ring"),
    ] {
        assert!(dependent > 0.0 && dependent < 10.0, "{dependent} %");
    }
}
