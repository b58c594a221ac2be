//! Measures how evenly rings spread keys, and prints the tables of `docs/balance.md`: the spread of 200 sets of names in the
//! median and in the mean, and what `expected_spread` says of the mean.
//!
//! `cargo run --release --example spread [SETS]`; some minutes for 200 sets.

use ringway::scheme::{MultiProbe, Native, Probes};
use ringway::{Balance, DeltaError, NodeSpec, Ring, expected_spread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sets = std::env::args().nth(1).map_or(Ok(200), |sets| sets.parse())?;
    let nodes = [10, 100, 1000];
    println!("Spread of {sets} sets of names: the median, and in brackets the mean and the expected mean.\n");
    println!("| points per node | 10 nodes | 100 nodes | 1,000 nodes |\n|---|---|---|---|");
    for points in [1, 2, 4, 8, 16, 32, 64, 128, 160, 256, 512, 1024] {
        print!("| {points}");
        for nodes in nodes {
            print_one(nodes, points, Probes::ONE, sets)?;
        }
        println!(" |");
    }
    println!("\n| nodes | points per node | 1 probe | 2 probes | 3 probes | 5 probes |\n|---|---|---|---|---|---|");
    for nodes in nodes {
        for points in [1, 16, 64, 160, 512] {
            print!("| {nodes} | {points}");
            for probes in [1, 2, 3, 5] {
                print_one(nodes, points, Probes::new(probes)?, sets)?;
            }
            println!(" |");
        }
    }
    Ok(())
}

/// Median and mean of so many sets of names, and the expected mean.
fn print_one(nodes: u32, points: u32, probes: Probes, sets: u32) -> Result<(), DeltaError> {
    let scheme = MultiProbe::new(Native::new().with_points_per_weight(points), probes);
    let spread = |set: u32| {
        let nodes = (0..nodes).map(|node| NodeSpec::new(format!("set-{set}/node-{node}")));
        let table = Ring::builder().scheme(scheme).nodes(nodes).build_table()?;
        Ok::<_, DeltaError>(Balance::of(&table).spread().unwrap_or(f64::NAN))
    };
    let mut spreads: Vec<f64> = (0..sets).map(spread).collect::<Result<_, DeltaError>>()?;
    spreads.sort_by(f64::total_cmp);
    let median = f64::midpoint(spreads[(spreads.len() - 1) / 2], spreads[spreads.len() / 2]);
    let mean = spreads.iter().sum::<f64>() / f64::from(sets);
    let expected = expected_spread(nodes, points, probes).unwrap_or(f64::NAN);
    print!(" | {median:.3} ({mean:.3}, {expected:.3})");
    Ok(())
}
