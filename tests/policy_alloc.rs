//! What routing asks of the allocator: nothing, whatever the nodes' states are.

mod common;
mod counting;

use std::hint::black_box;

use common::Rng;
use counting::{Calls, calls};
use ringway::{Bound, NodeSpec, Pins, Ring, State};

#[test]
fn no_allocator_call_while_routing() {
    for bounded in [false, true] {
        let nodes =
            (0..100).map(|n| NodeSpec::new(format!("n{n}")).with_zone([format!("r{}", n % 2), format!("z{}", n % 6)]));
        let pins = Pins::new().with_prefix("pinned", "n7").unwrap().with_key("pinned", "n8").unwrap();
        let builder = Ring::builder().points_per_weight(50).nodes(nodes).pins(pins).bounded_walks(bounded);
        let (_writer, handle) = builder.build().unwrap();
        let mut reader = handle.reader();
        let mut rng = Rng::new(3);
        for down in [0, 1, 50, 99, 100] {
            for (n, node) in reader.table().nodes().enumerate() {
                node.set_health(if n < down { State::Down } else { State::Up });
            }
            let keys: Vec<String> = (0..100).map(|n| format!("{}{}", ["key", "pinned"][n % 2], rng.next())).collect();
            let bound = Bound::percent(125).unwrap();
            let (found, made) = calls(|| {
                let mut found = 0;
                for key in keys.iter().map(|key| black_box(key.as_bytes())) {
                    let table = reader.table();
                    found += usize::from(table.route(key).is_some()) + usize::from(table.route_new(key).is_some());
                    found += usize::from(table.route_excluding(key, |node| node.id() == "n7").is_some());
                    found += usize::from(table.spread(key, 5, 7).is_some());
                    found += usize::from(table.spread_least(key, 5, 7).is_some());
                    let admitted = [table.admit(key, bound), table.admit_new(key, bound)];
                    found += admitted.iter().flatten().count();
                    let mut out = [None; 20];
                    found += table.replicas(key, &mut out) + table.healthy_replicas(key, &mut out);
                    found += table.zone_replicas(key, &mut out) + table.healthy_zone_replicas(key, &mut out);
                    found += table.successors(key).take(24).count();
                }
                found
            });
            assert_eq!(made, Calls::default(), "{down} of 100 down");
            // Seven single answers; twice 20 replicas, twice as many as are up; 24 successors.
            let up = 100 - down;
            let single = if up > 0 { 7 } else { 0 };
            // With one node up, n99, it isn't excluded.
            assert_eq!(found, 100 * (single + 2 * 20 + 2 * up.min(20) + 24), "{down} of 100 down");
            let ((), made) = calls(|| {
                for node in reader.table().nodes() {
                    black_box(node.set_health(State::Up));
                }
            });
            assert_eq!(made, Calls::default());
        }
    }
}
