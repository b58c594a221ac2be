//! `ringway plan`: what a change of cluster files moves, before it is made.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use ringway::scheme::{AnyScheme, Scheme};
use ringway::{NodeId, NodeSpec, Plan, Point, Ring, Share, Table};
use serde_json::json;

use crate::{Failure, load_cluster};

/// Say which keys move when one cluster becomes another
///
/// Compares the rings of two cluster files and prints the part of all keys that changes hands, the least that must move for
/// the new shares, and how much goes from which node to which. Exact: the rings are compared, not a sample of keys.
///
/// json: {"schema":"ringway-plan/1","circle":"4294967296","moved":"…","minimum":"…","moves":[{"from":"a","to":"b",
/// "points":"…"},…]}; counts of places of the circle as decimal texts, which no reader rounds; null for a ring without points.
///
/// Exit codes: 0 if nothing moves, 2 if something does, 1 on error, 64 for wrong usage.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Cluster file as it is, TOML or JSON
    old: PathBuf,
    /// Cluster file as it is to be
    new: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command; returns whether something moves.
///
/// # Errors
/// A [`Failure`] about a cluster, the pair of them, or the output.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let (old_file, old_scheme, old_nodes) = load_cluster(Some(&args.old))?;
    let (new_file, new_scheme, new_nodes) = load_cluster(Some(&args.new))?;
    let old = (old_file, old_nodes);
    let new = (new_file, new_nodes);
    match (old_scheme, new_scheme) {
        (AnyScheme::U32(a), AnyScheme::U32(b)) => compare(a, b, old, new, args.json),
        (AnyScheme::U64(a), AnyScheme::U64(b)) => compare(a, b, old, new, args.json),
        (AnyScheme::U128(a), AnyScheme::U128(b)) => compare(a, b, old, new, args.json),
        (a, b) => {
            let reason = format!(
                "scheme \"{}\" has a circle of another width than \"{}\" of {}; a plan needs one key map",
                b.name(),
                a.name(),
                old.0
            );
            Err(Failure::File { file: new.0, line: None, reason })
        }
    }
}

fn compare<S, R>(
    old_scheme: S,
    new_scheme: R,
    (old_file, old_nodes): (String, Vec<NodeSpec>),
    (new_file, new_nodes): (String, Vec<NodeSpec>),
    json: bool,
) -> Result<bool, Failure>
where
    S: Scheme,
    R: Scheme<Point = S::Point>,
{
    let old = table(old_scheme, old_nodes, &old_file)?;
    let new = table(new_scheme, new_nodes, &new_file)?;
    let plan = Plan::between(&old, &new).map_err(|error| Failure::File {
        file: new_file,
        line: None,
        reason: error.to_string(),
    })?;
    let text = if json { as_json(&plan) } else { as_text(&plan) };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::writing)?;
    Ok(!plan.is_empty())
}

fn table<S: Scheme>(scheme: S, nodes: Vec<NodeSpec>, file: &str) -> Result<Table<(), S>, Failure> {
    let built = Ring::builder().scheme(scheme).nodes(nodes).build_table();
    built.map_err(|error| Failure::Ring { file: file.to_owned(), error })
}

fn as_json<P: Point>(plan: &Plan<P>) -> String {
    fn id(id: Option<&NodeId>) -> Option<&str> {
        id.map(NodeId::as_str)
    }
    let flow = |flow: &ringway::Flow| json!({"from": id(flow.from()), "to": id(flow.to()), "points": flow.share().to_string()});
    let object = json!({
        "schema": "ringway-plan/1",
        "circle": Share::whole(P::BITS).to_string(),
        "moved": plan.moved().to_string(),
        "minimum": plan.minimum().to_string(),
        "moves": plan.flows().iter().map(flow).collect::<Vec<_>>(),
    });
    format!("{object}\n")
}

/// A share of the circle in percent. A share that isn't 0 never shows as 0.
fn percent(share: Share) -> String {
    let percent = share.fraction() * 100.0;
    if percent > 0.0 && percent < 0.0001 { "<0.0001 %".to_owned() } else { format!("{percent:.4} %") }
}

fn as_text<P: Point>(plan: &Plan<P>) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a String takes all");
        text.push('\n');
    };
    line(format_args!("moved    {:>10}  {} of {} places", percent(plan.moved()), plan.moved(), Share::whole(P::BITS)));
    line(format_args!("minimum  {:>10}  {} places", percent(plan.minimum()), plan.minimum()));
    line(format_args!("arcs     {:>10}", plan.arcs().len()));
    if plan.is_empty() {
        line(format_args!("nothing moves"));
        return text;
    }
    // Ids may hold anything; a terminal or a log mustn't be steered by them.
    let id = |id: Option<&NodeId>| id.map_or("(nobody)".to_owned(), |id| id.as_str().escape_debug().to_string());
    let rows: Vec<[String; 3]> =
        plan.flows().iter().map(|flow| [id(flow.from()), id(flow.to()), percent(flow.share())]).collect();
    let width = |column: usize, head: &str| {
        rows.iter().map(|row| row[column].chars().count()).chain([head.len()]).max().unwrap_or_default()
    };
    let (from, to) = (width(0, "from"), width(1, "to"));
    line(format_args!("\n{:<from$}  {:<to$}  {:>10}", "from", "to", "of all"));
    for [old, new, share] in &rows {
        line(format_args!("{old:<from$}  {new:<to$}  {share:>10}"));
    }
    text
}
