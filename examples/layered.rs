//! A ring of regions whose members are rings: one lookup walks both, one batch changes both.
//!
//! ```sh
//! cargo run --release --example layered
//! ```

use std::error::Error;

use ringway::{Layered, LayeredDelta, NodeSpec, State};

fn main() -> Result<(), Box<dyn Error>> {
    let nodes =
        |region: &str, count: u32| (0..count).map(|n| NodeSpec::new(format!("{region}-{n}"))).collect::<Vec<_>>();
    let (mut writer, handle) = Layered::builder()
        .region(NodeSpec::new("eu").with_weight(2), nodes("eu", 4))
        .region(NodeSpec::new("us").with_weight(3), nodes("us", 6))
        .build()?;
    let mut reader = handle.reader(); // one per thread, as of any ring

    let show = |what: &str, member: Option<String>| println!("{what:<28} {}", member.as_deref().unwrap_or("nobody"));
    let key = b"user:123456";
    show("owner", reader.table().member(key).map(|member| format!("{member:?}")));

    let mut places = [None; 3];
    let found = reader.table().member_replicas(key, &mut places);
    show("one in each region, then more", Some(format!("{:?}", places[..found].iter().flatten().collect::<Vec<_>>())));

    // A region is marked, or all its nodes are: either way its keys go to the next one, and no table is built.
    let region = reader.table().member(key).map(|member| member.region.clone()).ok_or("nobody")?;
    region.set_health(State::Down);
    show("with that region down", reader.table().route_member(key).map(|member| format!("{member:?}")));
    region.set_health(State::Up);

    // Both layers in one batch: readers see all of it, or nothing yet.
    let delta =
        LayeredDelta::new().add_region(NodeSpec::new("ap"), nodes("ap", 3)).change("eu", |eu| eu.remove("eu-0"));
    let report = writer.commit(delta)?;
    show("after the change", reader.table().member(key).map(|member| format!("{member:?}")));
    println!("version {}, fingerprint {}", report.version, reader.table().layered_fingerprint());
    Ok(())
}
