//! The shortest useful program: a ring, a lookup, a change, and what the change moved.
//!
//! `cargo run --example quickstart`

use ringway::{Delta, NodeSpec, Ring};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut writer, handle) = Ring::builder()
        .node(NodeSpec::new("cache-a").with_weight(2).with_address("10.0.0.1:11211"))
        .node(NodeSpec::new("cache-b").with_address("10.0.0.2:11211"))
        .node(NodeSpec::new("cache-c").with_address("10.0.0.3:11211"))
        .build()?;

    let mut reader = handle.reader();
    let owner = reader.owner(b"user:123456").expect("the ring has nodes");
    println!("user:123456 belongs to {} at {}", owner.id(), owner.info().address().unwrap_or("?"));

    for (node, share) in reader.table().shares() {
        println!("{:<8} owns {share:>10} of 4294967296 places, {:.1} %", node.id(), share.fraction() * 100.0);
    }

    // A snapshot stays as it is, so before and after can be compared.
    let before = handle.snapshot();
    let report = writer.commit(Delta::new().add(NodeSpec::new("cache-d").with_address("10.0.0.4:11211")))?;
    println!("version {}: {:?} joined with {} points", report.version, report.added, report.points_added);

    let keys: Vec<String> = (0..100_000).map(|n| format!("user:{n}")).collect();
    let after = reader.table();
    let moved = keys
        .iter()
        .filter(|key| before.owner(key.as_bytes()).unwrap().id() != after.owner(key.as_bytes()).unwrap().id());
    let share = after.shares().into_iter().find(|(node, _)| *node.id() == "cache-d").expect("it joined").1;
    println!("{} of 100,000 keys moved; cache-d's share is {:.1} %", moved.count(), share.fraction() * 100.0);

    // A wrong change is refused with a reason, and nothing happens.
    let refused = writer.commit(Delta::new().remove("cache-x")).unwrap_err();
    println!("refused: {refused}");
    assert_eq!(writer.version(), 2);
    Ok(())
}
