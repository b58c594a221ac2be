//! Nodes whose load isn't what their weight says, evened out in a simulation: keys by Zipf's law, loads measured with noise,
//! a rebalancer, and a governor that lets a fiftieth of all keys move a minute.
//!
//! ```sh
//! cargo run --release --example rebalance
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use ringway::{Governor, NodeSpec, Pace, RebalanceOptions, Rebalancer, Ring, Table};

/// Each node's part of the load of 20,000 keys, of which key n is asked for as 1 / (n + 50) of the time.
fn loads(table: &Table) -> BTreeMap<String, f64> {
    let mut loads = BTreeMap::new();
    for n in 0..20_000u32 {
        if let Some(node) = table.owner(format!("key:{n}").as_bytes()) {
            *loads.entry(node.id().to_string()).or_insert(0.0) += 1.0 / f64::from(n + 50);
        }
    }
    loads
}

fn main() -> Result<(), Box<dyn Error>> {
    let nodes = (0..10).map(|n| NodeSpec::new(format!("cache-{n}")));
    let (writer, _handle) = Ring::builder().points_per_weight(160).nodes(nodes).build()?;
    let pace = Pace::new(Duration::from_secs(10), Duration::from_secs(60), 0.02)?;
    let mut governor = Governor::new(writer, pace);
    let mut rebalancer = Rebalancer::new(RebalanceOptions::default())?;
    let start = Instant::now();
    let mut random = 1u64;
    println!("minute  worst load / fair  moved so far");
    let mut moved = 0.0;
    for window in 0..=180u64 {
        let table = governor.writer().table();
        let loads = loads(table);
        if window % 18 == 0 {
            let (sum, worst) = loads.values().fold((0.0, 0.0f64), |(sum, worst), &load| (sum + load, worst.max(load)));
            println!("{:>6}  {:>17.3}  {:>10.1} %", window / 6, worst / (sum / 10.0), 100.0 * moved);
        }
        // What a window of ten seconds measures is up to 10 % off.
        let measured: Vec<(&str, u64)> = loads
            .iter()
            .map(|(id, load)| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let off = 0.9 + 0.2 * (random >> 40) as f64 / (1u64 << 24) as f64;
                (id.as_str(), (load * off * 1e6) as u64)
            })
            .collect();
        let proposal = rebalancer.propose(table, measured, governor.writer().limits())?;
        governor.submit(proposal.delta)?;
        moved += governor.tick(start + Duration::from_secs(10 * window)).moved;
    }
    Ok(())
}
