//! How many keys a change moves that needn't move: from a node that stays to another that stays.

use ringway::scheme::{
    CppMapLower, EnvoyRingHash, Groupcache, GrpcRingHash, HaproxyChash, Hashring, Keyed, Scheme, Secret,
};
use ringway::{Limits, NodeSpec, State, Table};

use crate::common::Rng;

/// The fractions of keys that go from the changed nodes or to them, and of those that go elsewhere.
fn moved<S: Scheme>(scheme: S, before: Vec<NodeSpec>, after: Vec<NodeSpec>, changed: &[&str]) -> (f64, f64) {
    const KEYS: u32 = 200_000;
    let limits = Limits::DEFAULT;
    let old: Table<(), S> = Table::build(scheme.clone(), before, &limits).expect("valid");
    let new: Table<(), S> = Table::build(scheme, after, &limits).expect("valid");
    let mut rng = Rng::new(0x5EED_0201);
    let (mut due, mut collateral) = (0, 0);
    for _ in 0..KEYS {
        let key = rng.next().to_le_bytes();
        let (from, to) = (old.owner(&key).expect("points").id(), new.owner(&key).expect("points").id());
        if from != to {
            let is_due = changed.contains(&from.as_str()) || changed.contains(&to.as_str());
            *(if is_due { &mut due } else { &mut collateral }) += 1;
        }
    }
    (f64::from(due) / f64::from(KEYS), f64::from(collateral) / f64::from(KEYS))
}

/// Ten equal nodes: without the third; one more at the end; the third with double weight.
fn table_row<S: Scheme>(name: &str, scheme: S, node: impl Fn(usize) -> NodeSpec) -> [f64; 3] {
    let ten = || (1..=10).map(&node).collect::<Vec<_>>();
    let third = node(3).id().to_owned();
    let without: Vec<_> = ten().into_iter().filter(|node| node.id() != third).collect();
    let down: Vec<_> =
        ten().into_iter().map(|node| if node.id() == third { node.with_state(State::Down) } else { node }).collect();
    let more: Vec<_> = (1..=11).map(&node).collect();
    let heavier: Vec<_> =
        ten().into_iter().map(|node| if node.id() == third { node.with_weight(2) } else { node }).collect();
    let eleventh = node(11).id().to_owned();
    let leaves = moved(scheme.clone(), ten(), without, &[&third]);
    let falls = moved(scheme.clone(), ten(), down, &[&third]);
    let joins = moved(scheme.clone(), ten(), more, &[&eleventh]);
    let grows = moved(scheme, ten(), heavier, &[&third]);
    println!(
        "| {name} | {:.1} + {:.1} % | {:.1} + {:.1} % | {:.1} + {:.1} % | {:.1} + {:.1} % |",
        leaves.0 * 100.0,
        leaves.1 * 100.0,
        falls.0 * 100.0,
        falls.1 * 100.0,
        joins.0 * 100.0,
        joins.1 * 100.0,
        grows.0 * 100.0,
        grows.1 * 100.0
    );
    [leaves.1, joins.1, grows.1]
}

fn host(number: usize) -> NodeSpec {
    NodeSpec::new(format!("10.0.0.{number}:80"))
}

/// The table of `docs/compat.md`, printed with `--nocapture`.
#[test]
fn nodes_move_each_others_keys_only_where_the_docs_say_so() {
    let none = [0.0; 3];
    println!("| scheme | one of ten leaves | is down | an eleventh joins | one doubles its weight |");
    let with_id = |number: usize| host(number).with_attribute("id", number.to_string());
    assert_eq!(table_row("haproxy-chash, ids given", HaproxyChash::new(), with_id), none);
    let by_address = |number: usize| host(number).with_attribute("hash_key", "addr-port");
    assert_eq!(table_row("haproxy-chash by address", HaproxyChash::new(), by_address), none);
    let automatic = table_row("haproxy-chash, automatic ids", HaproxyChash::new(), host);
    // Seven of ten servers take the number of the one before.
    assert!(automatic[0] > 0.5 && automatic[1..] == none[1..], "{automatic:?}");
    let envoy = table_row("envoy-ring-hash, 1,024 points", EnvoyRingHash::new(), host);
    assert!((0.01..0.2).contains(&envoy[0]), "{envoy:?}");
    let grpc = table_row("grpc-ring-hash, 1,024 points", GrpcRingHash::new(), host);
    assert_eq!(grpc, envoy, "the same arithmetic");
    let small = EnvoyRingHash::new().with_ring_size(50, 50).expect("in range");
    let small = table_row("envoy-ring-hash, 50 points", small, host);
    assert!(small[0] > 0.0, "{small:?}");
    assert_eq!(table_row("groupcache", Groupcache::new(), host), none);
    assert_eq!(table_row("hashring, 100 for each weight", Hashring::new().with_points_per_weight(100), host), none);
    assert_eq!(table_row("cpp-map-lower", CppMapLower::new(), host), none);
    assert_eq!(table_row("keyed", Keyed::new(Secret::new([9; 16])), host), none);
}
