//! How much moves between nodes that a change doesn't touch, with schemes in which nodes depend on each other. The figures
//! stand in `docs/compat.md`: `cargo test --release --test collateral -- --nocapture` prints them.

use ringway::layout::Layout;
use ringway::scheme::{
    Conhash, CppMapUpper, CppMurmurLower, EnvoyRingHash, Groupcache, GrpcRingHash, HaproxyChash, HashRing, Hashring,
    Keyed, Libketama, Libmemcached, LibmemcachedPoints, MatchRule, Native, Scheme, Secret, TwemproxyKetama,
    UhashringDefault, UhashringKetama,
};
use ringway::{Delta, Limits, NodeSpec, Point, Table};

/// The part of the circle that changes hands, and of it what neither leaves nor reaches `touched`. Exact but for the sum.
///
/// By arcs between the boundaries of both tables. All places of an arc have one owner, which is asked for where the arc ends
/// or, under the rule "after", where it begins.
fn moved<S: Scheme>(before: &Table<(), S>, after: &Table<(), S>, touched: &str) -> (f64, f64) {
    let boundaries =
        |table: &Table<(), S>| -> Vec<S::Point> { table.layout().points().iter().map(|(at, _)| at).collect() };
    let mut ends: Vec<S::Point> = [boundaries(before), boundaries(after)].concat();
    ends.sort();
    ends.dedup();
    let (mut all, mut collateral) = (0.0, 0.0);
    for (place, &end) in ends.iter().enumerate() {
        let start = ends[(place + ends.len() - 1) % ends.len()];
        let share = end.steps_from(start).to_u128() as f64 / (S::Point::BITS as f64).exp2();
        let asked = if before.scheme().match_rule() == MatchRule::After { start } else { end };
        let [from, to] = [before, after].map(|table| table.owner_at(asked).expect("there are points").id());
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
fn means<S: Scheme>(scheme: &S, nodes: usize, weight: fn(usize) -> u32, change: Change) -> [(f64, f64); 2] {
    let limits = Limits::default();
    let id = |place: usize| format!("10.0.0.{place}:11212:1");
    let specs = (0..nodes).map(|place| change(place, NodeSpec::new(id(place)).with_weight(weight(place))));
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

/// Gives the node in each place what else its scheme reads.
type Change = fn(usize, NodeSpec) -> NodeSpec;

/// Prints a line of the table, and returns the largest collateral share in it.
fn line<S: Scheme>(scheme: &S, name: &str) -> f64 {
    line_of(scheme, name, |_, node| node)
}

fn line_of<S: Scheme>(scheme: &S, name: &str, change: Change) -> f64 {
    let mixed = |place| [1, 2, 3, 5, 10][place % 5];
    let mut text = format!("| {name} |");
    let mut most: f64 = 0.0;
    for (nodes, weight) in [(10, (|_| 1) as fn(usize) -> u32), (10, mixed), (50, mixed)] {
        let [leaves, grows] = means(scheme, nodes, weight, change);
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
        line_of(&HaproxyChash::new(), "haproxy-chash, ids given", |place, node| {
            node.with_attribute("id", (place + 1).to_string())
        }),
        line_of(&HaproxyChash::new(), "haproxy-chash, by address", |place, node| {
            node.with_address(format!("10.0.0.{place}:80")).with_attribute("hash_key", "addr-port")
        }),
        line(&Groupcache::new(), "groupcache"),
        line(&Hashring::new().with_points_per_weight(160), "hashring, 160 for each weight"),
        line(&CppMapUpper::new(), "cpp-map-upper, cpp-map-lower"),
        line(&CppMurmurLower::new(), "cpp-murmur-lower"),
        line(&Keyed::new(Secret::new([9; 16])).with_points_per_weight(160), "keyed, 160 points"),
    ] {
        assert_eq!(independent, 0.0);
    }
    for dependent in [
        line(&Libketama::new(), "libketama"),
        line(&Libmemcached::new().with_points(LibmemcachedPoints::Md5x4), "libmemcached, md5x4"),
        line(&TwemproxyKetama::new(), "twemproxy-ketama"),
        line(&UhashringKetama::new(), "uhashring-ketama"),
        line(&HashRing::new(), "hash_ring"),
        line(&EnvoyRingHash::new(), "envoy-ring-hash"),
        line(&GrpcRingHash::new(), "grpc-ring-hash"),
    ] {
        assert!(dependent > 0.0 && dependent < 10.0, "{dependent} %");
    }
    // Servers take the numbers of those before them: on the average half of them.
    let renumbered = line(&HaproxyChash::new(), "haproxy-chash, automatic ids");
    assert!(renumbered > 20.0, "{renumbered} %");
}
