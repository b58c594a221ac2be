//! What a ring takes that is derived from another, by a counting allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ringway::{NodeSpec, Ring, Table};

static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: hands everything on to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps `dealloc`'s contract, and the block came from `System` through `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// mimir#16570: many rings derived from one (a shard of its nodes for each tenant) eat memory. Here 500 rings of 4 nodes of
/// 2,000: each takes what its own nodes and points take, and shares payloads with the large one.
#[test]
fn derived_rings_take_what_their_own_nodes_take() {
    let node = |n: u32| {
        let spec = NodeSpec::new(format!("ingester-{n}")).with_zone(["eu", "eu-1"]).with_address("10.0.0.1:9095");
        spec.with_payload(Arc::new([0u8; 4096]))
    };
    let whole: Table<Arc<[u8; 4096]>> =
        Ring::builder().points_per_weight(64).nodes((0..2000).map(node)).build_table().unwrap();
    let nodes: Vec<_> = whole.nodes().collect();
    let derive = |tenant: usize| -> Table<Arc<[u8; 4096]>> {
        // Nodes from all over the ring.
        let own = (0..4).map(|n| nodes[(tenant * 7 + n * 499) % 2000].to_spec());
        Ring::builder().points_per_weight(64).nodes(own).build_table().unwrap()
    };
    let before = LIVE.load(Relaxed);
    let rings: Vec<_> = (0..500).map(derive).collect();
    let each = (LIVE.load(Relaxed) - before) / rings.len();
    // Nothing is printed before the end: the harness's buffer would count. 256 points, at most 35 bytes each with their index, and 4 nodes with their texts and live words.
    assert!(each < 256 * 35 + 4 * 900 + 1024, "{each} bytes");
    for ring in &rings {
        for node in ring.nodes() {
            let theirs = whole.node(node.id().as_str()).unwrap();
            assert!(Arc::ptr_eq(node.payload(), theirs.payload()), "the payload is shared");
        }
    }
    drop(rings);
    assert_eq!(LIVE.load(Relaxed), before, "and gives all of it back");
    println!("{each} bytes a ring of 256 points");
}
