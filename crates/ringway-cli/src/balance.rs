//! `ringway balance`: how evenly a cluster spreads keys.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use ringway::scheme::{AnyScheme, Scheme};
use ringway::{Balance, NodeSpec, Point, Ring, Share};
use serde_json::json;

use crate::{Failure, load_cluster};

/// Show each node's exact share of the circle
///
/// For each node its weight, points, exact share of the circle, and that share over the fair one (weight over the weight of
/// all). Keys that are hashed well follow these shares; pins, and states of nodes whose points stay, aren't counted. Then
/// the spread (the largest share over its fair share), the standard deviation from the fair share, and both
/// fingerprints. Without --cluster, of the embedded sample.
///
/// json: {"schema":"ringway-balance/1","scheme":"…","circle":"4294967296","nodes":[{"id":"a","weight":1,"points":512,
/// "share":"…","fraction":0.1,"to_fair":1.02},…],"spread":…,"deviation":…,"placement":"…","spec":"…"}; shares as decimal texts
/// of places of the circle, null where a ratio has no meaning.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Cluster file, TOML or JSON
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// A [`Failure`] about the cluster or the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (file, scheme, nodes) = load_cluster(args.cluster.as_deref())?;
    let text = match scheme {
        AnyScheme::U32(scheme) => measure(scheme, nodes, file, args.json)?,
        AnyScheme::U64(scheme) => measure(scheme, nodes, file, args.json)?,
        AnyScheme::U128(scheme) => measure(scheme, nodes, file, args.json)?,
        scheme => return Err(Failure::UnknownScheme { file, scheme: scheme.name() }),
    };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::writing)
}

fn measure<S: Scheme>(scheme: S, nodes: Vec<NodeSpec>, file: String, json: bool) -> Result<String, Failure> {
    let built = Ring::builder().scheme(scheme).nodes(nodes).build_table();
    let table = built.map_err(|error| Failure::Ring { file, error })?;
    let balance = Balance::of(&table);
    let circle = Share::whole(S::Point::BITS);
    let (placement, spec) = (table.placement_fingerprint().to_string(), table.spec_fingerprint().to_string());
    if json {
        let node = |node: &ringway::NodeBalance| {
            json!({
                "id": node.id().as_str(),
                "weight": node.weight(),
                "points": node.points(),
                "share": node.share().to_string(),
                "fraction": node.share().fraction(),
                "to_fair": node.to_fair(),
            })
        };
        let object = json!({
            "schema": "ringway-balance/1",
            "scheme": table.scheme().id(),
            "circle": circle.to_string(),
            "nodes": balance.nodes().iter().map(node).collect::<Vec<_>>(),
            "spread": balance.spread(),
            "deviation": balance.deviation(),
            "placement": placement,
            "spec": spec,
        });
        return Ok(format!("{object}\n"));
    }
    // Ids may hold anything; a terminal or a log mustn't be steered by them.
    let ids: Vec<String> = balance.nodes().iter().map(|node| node.id().as_str().escape_debug().to_string()).collect();
    let width = ids.iter().map(|id| id.chars().count()).chain([4]).max().unwrap_or_default();
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a String takes all");
        text.push('\n');
    };
    let or_dash = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.4}"));
    line(format_args!("{:<width$}  {:>10}  {:>10}  {:>12}  {:>8}", "node", "weight", "points", "share", "to fair"));
    for (id, node) in ids.iter().zip(balance.nodes()) {
        let share = format!("{:.4} %", node.share().fraction() * 100.0);
        let to_fair = or_dash(node.to_fair());
        line(format_args!("{id:<width$}  {:>10}  {:>10}  {share:>12}  {to_fair:>8}", node.weight(), node.points()));
    }
    line(format_args!("\nnodes      {}", table.node_count()));
    line(format_args!("points     {}", table.len()));
    line(format_args!("spread     {}", or_dash(balance.spread())));
    line(format_args!("deviation  {}", or_dash(balance.deviation())));
    line(format_args!("placement  {placement}"));
    line(format_args!("spec       {spec}"));
    Ok(text)
}
