//! Lookups through both layers take no memory.

mod counting;

use ringway::{Layered, NodeSpec};

#[test]
fn no_allocator_call_on_an_unchanged_layered_table() {
    let nodes = |region: &str| (0..4).map(|n| NodeSpec::new(format!("{region}-{n}"))).collect::<Vec<_>>();
    let builder = Layered::builder().region(NodeSpec::new("eu"), nodes("eu")).region(NodeSpec::new("us"), nodes("us"));
    let (_writer, handle) = builder.region(NodeSpec::new("none"), []).build().unwrap();
    let mut reader = handle.reader();
    assert!(reader.table().member(b"first").is_some());
    let ((), calls) = counting::calls(|| {
        for n in 0..1000u32 {
            let key = n.to_le_bytes();
            let table = reader.table();
            assert_eq!(table.member(&key), table.route_member(&key));
            let mut places = [None; 5];
            assert_eq!(table.member_replicas(&key, &mut places), 5);
            assert_eq!(places[0], table.member(&key));
        }
    });
    assert_eq!((calls.allocations, calls.frees), (0, 0));
}
