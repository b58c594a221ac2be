//! `ringway plan`: what a change of cluster files moves, before it is made.

mod beyond;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use ringway::scheme::{AnyScheme, Scheme};
use ringway::{NodeId, NodeSpec, Plan, Point, Ring, Share, Table};
use serde_json::json;

use crate::Failure;
use crate::input::load_whole_cluster;
use beyond::Beyond;

/// Say which keys move when one cluster becomes another
///
/// Compares the rings of two cluster files and prints the part of the circle that changes hands, the least that must move
/// for the new shares, and how much goes from which node to which. Exact: the rings are compared, not a sample of keys.
///
/// What decides beyond the ring isn't in these figures, but listed where the files differ in it: pins, and states of nodes
/// whose points stay where they are whatever the state. A pinned key goes where its pin says, though its arc moves, and what
/// a node that is down owns goes on to the next.
///
/// json: {"schema":"ringway-plan/1","circle":"4294967296","moved":"…","minimum":"…","moves":[{"from":"a","to":"b",
/// "points":"…"},…],"pins":[{"prefix":"…","old":null,"new":"a"},…],"states":[{"node":"a","old":"up","new":"down"},…]}; counts
/// of places of the circle as decimal texts, which no reader rounds; null for a ring without points, and for a pin or node
/// that one file lacks. A pin has one of "key", "prefix", "key_hex" and "prefix_hex", as in a cluster file.
///
/// Exit codes: 0 if nothing moves, 2 if something does or pins or states differ, 1 on error, 64 for wrong usage.
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
    let (old_file, old) = load_whole_cluster(Some(&args.old))?;
    let (new_file, new) = load_whole_cluster(Some(&args.new))?;
    let pins = beyond::pins(old.pins(), new.pins());
    let (old_scheme, old_nodes) = old.into_parts();
    let (new_scheme, new_nodes) = new.into_parts();
    let old = (old_file, old_nodes);
    let new = (new_file, new_nodes);
    match (old_scheme, new_scheme) {
        (AnyScheme::U32(a), AnyScheme::U32(b)) => compare(a, b, old, new, pins, args.json),
        (AnyScheme::U64(a), AnyScheme::U64(b)) => compare(a, b, old, new, pins, args.json),
        (AnyScheme::U128(a), AnyScheme::U128(b)) => compare(a, b, old, new, pins, args.json),
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
    pins: Vec<beyond::PinChange>,
    json: bool,
) -> Result<bool, Failure>
where
    S: Scheme,
    R: Scheme<Point = S::Point>,
{
    let beyond = Beyond { pins, states: beyond::states(&new_scheme, &old_nodes, &new_nodes) };
    let old = table(old_scheme, old_nodes, &old_file)?;
    let new = table(new_scheme, new_nodes, &new_file)?;
    let plan = Plan::between(&old, &new).map_err(|error| Failure::File {
        file: new_file,
        line: None,
        reason: error.to_string(),
    })?;
    let text = if json { as_json(&plan, &beyond) } else { as_text(&plan, &beyond) };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::writing)?;
    Ok(!plan.is_empty() || !beyond.is_empty())
}

fn table<S: Scheme>(scheme: S, nodes: Vec<NodeSpec>, file: &str) -> Result<Table<(), S>, Failure> {
    let built = Ring::builder().scheme(scheme).nodes(nodes).build_table();
    built.map_err(|error| Failure::Ring { file: file.to_owned(), error })
}

fn as_json<P: Point>(plan: &Plan<P>, beyond: &Beyond) -> String {
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
        "pins": beyond.pins_as_json(),
        "states": beyond.states_as_json(),
    });
    format!("{object}\n")
}

/// A share of the circle in percent. A share that isn't 0 never shows as 0.
fn percent(share: Share) -> String {
    let percent = share.fraction() * 100.0;
    if percent > 0.0 && percent < 0.0001 { "<0.0001 %".to_owned() } else { format!("{percent:.4} %") }
}

fn as_text<P: Point>(plan: &Plan<P>, beyond: &Beyond) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a String takes all");
        text.push('\n');
    };
    line(format_args!("moved    {:>10}  {} of {} places", percent(plan.moved()), plan.moved(), Share::whole(P::BITS)));
    line(format_args!("minimum  {:>10}  {} places", percent(plan.minimum()), plan.minimum()));
    line(format_args!("arcs     {:>10}", plan.arcs().len()));
    if plan.is_empty() {
        if beyond.is_empty() {
            line(format_args!("nothing moves"));
        }
        text.push_str(&beyond.as_text());
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
    text.push_str(&beyond.as_text());
    text
}
