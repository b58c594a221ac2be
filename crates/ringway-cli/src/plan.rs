//! `ringway plan`: what a change of cluster files moves, before it is made.

mod beyond;
mod replicas;
mod sample;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ringway::scheme::{AnyScheme, Scheme};
use ringway::{
    KeyMapsDiffer, NodeId, NodeSpec, Pins, Plan, Point, ReplicaPlan, ReplicaPlanError, Ring, SampledPlan, Share, Table,
};
use serde_json::{Value, json};

use crate::input::load_whole_cluster;
use crate::{Failure, Keys};
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
/// --replicas K compares the first K nodes of each key too: what joins and what leaves each node. "Moved" is what joins, in
/// circles: 1 is one replica of every key. With --distinct-zones they are spread over zones as those of route are.
///
/// --sample FILE looks keys up in both rings, pins among them, one a line. Where the clusters map keys to points in different
/// ways (other schemes, widths, tags or secrets), no plan can be exact: then the sample is all there is, with the bounds in
/// which the part that moves of all keys lies with 95 % confidence, if these are a random sample of them; and an estimate
/// from shares alone, as if where a key lies in one ring said nothing of where it lies in the other. So too where keys have
/// several probes, but without that estimate ("estimate":null).
///
/// json: {"schema":"ringway-plan/1","circle":"4294967296","moved":"…","minimum":"…","moves":[{"from":"a","to":"b",
/// "points":"…"},…],"pins":[{"prefix":"…","old":null,"new":"a"},…],"states":[{"node":"a","old":"up","new":"down"},…]}; counts
/// of places of the circle as decimal texts, which no reader rounds; null for a ring without points, and for a pin or node
/// that one file lacks. A pin has one of "key", "prefix", "key_hex" and "prefix_hex", as in a cluster file. With --replicas also
/// "replicas":{"k":3,"old":3,"new":3,"moved":"…","minimum":"…","reordered":"…","nodes":[{"node":"a","joined":"…",
/// "left":"…"},…]}: counts of places, where one counts as often as replicas of it move; "old" and "new" are fewer than k where
/// there are fewer nodes; "reordered" are places whose keys have the same nodes in another order. With --sample also
/// "sample":{"keys":10000,"moved":2403,"fraction":0.2403,"standard_error":…,"interval":[…,…],"moves":[{"from":"a","to":"b",
/// "keys":12},…]}. For different key maps {"schema":"ringway-plan-sample/1","sample":{…},"estimate":0.75,"pins":[…],
/// "states":[…]} instead.
///
/// Exit codes: 0 if nothing moves (no key of the sample, where that is all there is), 2 if something does or pins or states
/// differ, 1 on error, 64 for wrong usage.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Cluster file as it is, TOML or JSON
    old: PathBuf,
    /// Cluster file as it is to be
    new: PathBuf,
    /// Compare the first K distinct nodes of each key too
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=64))]
    replicas: Option<u16>,
    /// Replicas: first one node of each zone, then the others
    #[arg(long, requires = "replicas")]
    distinct_zones: bool,
    /// File of keys, one a line, to look up in both rings
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A cluster file that was read.
struct Side<S> {
    file: String,
    scheme: S,
    pins: Pins,
    nodes: Vec<NodeSpec>,
}

impl<S> Side<S> {
    fn with<R>(self, scheme: R) -> Side<R> {
        Side { file: self.file, scheme, pins: self.pins, nodes: self.nodes }
    }
}

impl<S: Scheme> Side<S> {
    fn table(self) -> Result<Table<(), S>, Failure> {
        let built = Ring::builder().scheme(self.scheme).nodes(self.nodes).pins(self.pins).build_table();
        built.map_err(|error| Failure::Ring { file: self.file, error })
    }
}

fn load(path: &Path) -> Result<Side<AnyScheme>, Failure> {
    let (file, cluster) = load_whole_cluster(Some(path))?;
    let pins = cluster.pins().clone();
    let (scheme, nodes) = cluster.into_parts();
    Ok(Side { file, scheme, pins, nodes })
}

/// Runs the command; returns whether something moves.
///
/// # Errors
/// A [`Failure`] about a cluster, the pair of them, the sample, or the output.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let (old, new) = (load(&args.old)?, load(&args.new)?);
    let keys = args.sample.as_deref().map(|path| Keys::load(Some(path))).transpose()?;
    let (text, moves) = match (old.scheme.clone(), new.scheme.clone()) {
        (AnyScheme::U32(a), AnyScheme::U32(b)) => compare(old.with(a), new.with(b), args, keys.as_ref()),
        (AnyScheme::U64(a), AnyScheme::U64(b)) => compare(old.with(a), new.with(b), args, keys.as_ref()),
        (AnyScheme::U128(a), AnyScheme::U128(b)) => compare(old.with(a), new.with(b), args, keys.as_ref()),
        (AnyScheme::U32(a), _) => across(old.with(a), new, args, keys.as_ref()),
        (AnyScheme::U64(a), _) => across(old.with(a), new, args, keys.as_ref()),
        (AnyScheme::U128(a), _) => across(old.with(a), new, args, keys.as_ref()),
        (a, _) => Err(Failure::UnknownScheme { file: old.file, scheme: a.name() }),
    }?;
    io::stdout().write_all(text.as_bytes()).map_err(Failure::writing)?;
    Ok(moves)
}

/// Two circles of different widths: by a sample of keys, if there is one.
fn across<S: Scheme>(
    old: Side<S>,
    new: Side<AnyScheme>,
    args: &Args,
    keys: Option<&Keys>,
) -> Result<(String, bool), Failure> {
    let reason = format!(
        "scheme \"{}\" has a circle of another width than \"{}\" of {}; a plan needs one key map",
        new.scheme.name(),
        old.scheme.id(),
        old.file
    );
    match new.scheme.clone() {
        AnyScheme::U32(b) => sampled(old, new.with(b), reason, args, keys),
        AnyScheme::U64(b) => sampled(old, new.with(b), reason, args, keys),
        AnyScheme::U128(b) => sampled(old, new.with(b), reason, args, keys),
        b => Err(Failure::UnknownScheme { file: new.file, scheme: b.name() }),
    }
}

/// Two key maps: by a sample of keys, if there is one, else that's an error, for `reason`.
fn sampled<S: Scheme, R: Scheme>(
    old: Side<S>,
    new: Side<R>,
    reason: String,
    args: &Args,
    keys: Option<&Keys>,
) -> Result<(String, bool), Failure> {
    let refused = |reason| Failure::File { file: new.file.clone(), line: None, reason };
    let Some(keys) = keys else { return Err(refused(format!("{reason}, or --sample FILE"))) };
    if args.replicas.is_some() {
        return Err(refused(format!("{reason}; --replicas can't do without")));
    }
    // With several probes keys of one map are far from independent.
    let independent = old.scheme.key_map() != new.scheme.key_map();
    let beyond = Beyond::between(&old, &new);
    let (old, new) = (old.table()?, new.table()?);
    let sample = sample::of(&old, &new, keys);
    let estimate = independent.then(|| Plan::estimated(&old, &new).moved_fraction());
    let moves = sample.moved_keys() > 0 || !beyond.is_empty();
    if args.json {
        let object = json!({
            "schema": "ringway-plan-sample/1",
            "sample": sample::as_json(&sample),
            "estimate": estimate,
            "pins": beyond.pins_as_json(),
            "states": beyond.states_as_json(),
        });
        return Ok((format!("{object}\n"), moves));
    }
    let mut text = String::from("no arc says where keys go: a sample, and nothing exact\n");
    text += &sample::as_text(&sample);
    if let Some(estimate) = estimate {
        let percent = estimate * 100.0;
        writeln!(text, "estimate {percent:>8.4} %  from shares, as if the key maps were independent of each other")
            .expect("a String takes all");
    }
    text += &sample::flows_as_text(&sample);
    text += &beyond.as_text();
    Ok((text, moves))
}

fn compare<S, R>(old: Side<S>, new: Side<R>, args: &Args, keys: Option<&Keys>) -> Result<(String, bool), Failure>
where
    S: Scheme,
    R: Scheme<Point = S::Point>,
{
    let (same, probes) = (old.scheme.key_map() == new.scheme.key_map(), old.scheme.probes().count());
    if !same || probes > 1 {
        let name = |scheme: &str| if same { format!("{scheme}, {probes} probes") } else { scheme.to_owned() };
        let error = KeyMapsDiffer { old: name(old.scheme.id()), new: name(new.scheme.id()) };
        return sampled(old, new, error.to_string(), args, keys);
    }
    let (beyond, file) = (Beyond::between(&old, &new), new.file.clone());
    let refused =
        |error: &dyn std::error::Error| Failure::File { file: file.clone(), line: None, reason: error.to_string() };
    let (old, new) = (old.table()?, new.table()?);
    let plan = Plan::between(&old, &new).map_err(|error| refused(&error))?;
    let replicas = args.replicas.map(|count| {
        let between = if args.distinct_zones { ReplicaPlan::between_zones } else { ReplicaPlan::between };
        between(&old, &new, usize::from(count)).map(|plan| (count, plan))
    });
    let replicas = replicas.transpose().map_err(|error: ReplicaPlanError| refused(&error))?;
    let sample = keys.map(|keys| sample::of(&old, &new, keys));
    let whole = Whole { plan, replicas, sample, beyond };
    let text = if args.json { whole.as_json() } else { whole.as_text() };
    Ok((text, whole.moves()))
}

/// All that is compared of two clusters with one key map.
struct Whole<P: Point> {
    plan: Plan<P>,
    /// With how many were asked for.
    replicas: Option<(u16, ReplicaPlan<P>)>,
    sample: Option<SampledPlan>,
    beyond: Beyond,
}

impl<P: Point> Whole<P> {
    fn moves(&self) -> bool {
        let replicas = self.replicas.as_ref().is_some_and(|(_, plan)| !plan.is_empty());
        !self.plan.is_empty() || replicas || !self.beyond.is_empty()
    }

    fn as_json(&self) -> String {
        let Self { plan, replicas, sample, beyond } = self;
        let flow = |flow: &ringway::Flow| json!({"from": flow.from().map(NodeId::as_str), "to": flow.to().map(NodeId::as_str), "points": flow.share().to_string()});
        let mut object = json!({
            "schema": "ringway-plan/1",
            "circle": Share::whole(P::BITS).to_string(),
            "moved": plan.moved().to_string(),
            "minimum": plan.minimum().to_string(),
            "moves": plan.flows().iter().map(flow).collect::<Vec<_>>(),
            "pins": beyond.pins_as_json(),
            "states": beyond.states_as_json(),
        });
        let mut add = |name: &str, value: Option<Value>| {
            if let (Some(value), Some(object)) = (value, object.as_object_mut()) {
                object.insert(name.to_owned(), value);
            }
        };
        add("replicas", replicas.as_ref().map(|(count, plan)| replicas::as_json(*count, plan)));
        add("sample", sample.as_ref().map(sample::as_json));
        format!("{object}\n")
    }

    fn as_text(&self) -> String {
        let Self { plan, replicas, sample, beyond } = self;
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            text.write_fmt(line).expect("a String takes all");
            text.push('\n');
        };
        let whole = Share::whole(P::BITS);
        line(format_args!("moved    {:>10}  {} of {whole} places", percent(plan.moved()), plan.moved()));
        line(format_args!("minimum  {:>10}  {} places", percent(plan.minimum()), plan.minimum()));
        line(format_args!("arcs     {:>10}", plan.arcs().len()));
        if let Some(sample) = sample {
            text += &sample::as_text(sample);
        }
        if let Some((count, plan)) = replicas {
            text += &replicas::as_text(*count, plan);
        }
        if plan.is_empty() {
            text += if self.moves() { "" } else { "nothing moves\n" };
        } else {
            let row = |flow: &ringway::Flow| [shown(flow.from()), shown(flow.to()), percent(flow.share())];
            text += &columns(["from", "to", "of all"], &plan.flows().iter().map(row).collect::<Vec<_>>());
        }
        if let Some((_, plan)) = replicas {
            text += &replicas::flows_as_text(plan);
        }
        if let Some(sample) = sample {
            text += &sample::flows_as_text(sample);
        }
        text + &beyond.as_text()
    }
}

/// A share of the circle in percent. A share that isn't 0 never shows as 0.
fn percent(share: Share) -> String {
    let percent = share.fraction() * 100.0;
    if percent > 0.0 && percent < 0.0001 { "<0.0001 %".to_owned() } else { format!("{percent:.4} %") }
}

/// An id as text. It may hold anything; a terminal or a log mustn't be steered by it.
fn shown(id: Option<&NodeId>) -> String {
    id.map_or("(nobody)".to_owned(), |id| id.as_str().escape_debug().to_string())
}

/// A table with a line of heads, after an empty line: texts at the left, the last column at the right.
fn columns(heads: [&str; 3], rows: &[[String; 3]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let mut text = format!("\n{:<first$}  {:<second$}  {:>10}\n", heads[0], heads[1], heads[2]);
    for [one, two, three] in rows {
        writeln!(text, "{one:<first$}  {two:<second$}  {three:>10}").expect("a String takes all");
    }
    text
}
