//! From figures to what a person reads: a table per number of nodes, the ratios that are quoted, and where peers win.

use std::fmt::Write;

use crate::input::POINTS;
use crate::measure::Figures;
use crate::peers::{Kind, PEERS};
use crate::plan::Plan;
use crate::table::Table;

/// How text looks: on a terminal, or as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Text,
    Markdown,
}

/// A peer isn't said to win by less than this: it would be noise.
const WINS_FROM: f64 = 1.05;

/// Below this no spread is shown.
const LEAST_KEYS_PER_NODE: f64 = 200.0;

/// A figure of which less is better.
type Measure = (&'static str, fn(&Figures) -> f64);

const MEASURES: [Measure; 7] = [
    ("independent lookup", |f| f.lookup_ns),
    ("dependent lookup", |f| f.dependent_ns),
    ("build", |f| f.build_ns),
    ("add", |f| at_least_a_microsecond(f.add_ns)),
    ("remove", |f| at_least_a_microsecond(f.remove_ns)),
    ("bytes", |f| f.bytes as f64),
    ("spread", |f| f.quality.spread),
];

/// All of it. `sizes` holds the figures of each number of nodes.
pub fn report(sizes: &[Vec<Figures>], plan: &Plan, style: Style) -> String {
    let mut text = String::new();
    for figures in sizes {
        let Some(first) = figures.first() else { continue };
        let title = format!("{} nodes × {POINTS} points", first.nodes);
        heading(&mut text, style, &title);
        push_table(&mut text, style, &main_table(figures, plan));
    }
    text.push('\n');
    text.push_str(LEGEND);
    if let Some(table) = ratios(sizes) {
        heading(&mut text, style, "Times over ringway's (changes under a microsecond count as one)");
        push_table(&mut text, style, &table);
        heading(&mut text, style, "Where peers win");
        for figures in sizes {
            push_wins(&mut text, figures);
        }
    }
    text
}

const LEGEND: &str = "\
lookup: ns per lookup, hashing included, no lookup waiting for another; dependent: each waits for the one before it.
add, remove: one node. bytes/node: in use after the build; peak: most while it was built, over that. spread: keys of the
fullest node over the fair share. moved: keys that changed owner when a node was added, over those it got; collateral: per
million keys, those that went from one old node to another.
";

fn heading(text: &mut String, style: Style, title: &str) {
    match style {
        Style::Text => writeln!(text, "\n{title}"),
        Style::Markdown => writeln!(text, "\n### {title}\n"),
    }
    .expect("writing to a string");
}

fn push_table(text: &mut String, style: Style, table: &Table) {
    match style {
        Style::Text => text.push_str(&table.to_text()),
        Style::Markdown => text.push_str(&table.to_markdown()),
    }
}

fn main_table(figures: &[Figures], plan: &Plan) -> Table {
    let mut table = Table::new(&[
        "peer",
        "lookup",
        "dependent",
        "build",
        "add",
        "remove",
        "bytes/node",
        "peak",
        "spread",
        "moved",
        "collateral",
        "remarks",
    ]);
    for f in figures {
        let q = &f.quality;
        table.row(vec![
            f.peer.to_owned(),
            format!("{:.1}", f.lookup_ns),
            format!("{:.1}", f.dependent_ns),
            time(f.build_ns),
            time(f.add_ns),
            time(f.remove_ns),
            format!("{:.0}", f.bytes as f64 / f64::from(f.nodes)),
            format!("× {:.1}", f.peak_bytes as f64 / f.bytes.max(1) as f64),
            spread(f),
            format!("× {:.2}", q.over_optimum()),
            format!("{:.0}", q.collateral as f64 * 1e6 / q.keys as f64),
            remarks(f, plan),
        ]);
    }
    table
}

/// With few keys a node, the spread would be that of the keys.
fn spread(f: &Figures) -> String {
    let per_node = f.quality.keys as f64 / f64::from(f.nodes);
    if per_node < LEAST_KEYS_PER_NODE { "?".to_owned() } else { format!("{:.2}", f.quality.spread) }
}

fn remarks(f: &Figures, plan: &Plan) -> String {
    let mut remarks: Vec<String> = Vec::new();
    match f.kind {
        Kind::Ring => {}
        Kind::Probing => remarks.push("one point a node".into()),
        Kind::Table => remarks.push("not a ring: a table".into()),
        Kind::Formula => remarks.push("not a ring: a formula; only the last node can go".into()),
    }
    if f.lookups_per_pass < plan.lookups {
        remarks.push(format!("{} lookups a pass", f.lookups_per_pass));
    }
    if f.build_rounds < plan.changes {
        remarks.push(format!("builds: {}", f.build_rounds));
    }
    if f.change_rounds < plan.changes {
        remarks.push(format!("changes: {}", f.change_rounds));
    }
    if f.quality.keys < plan.keys {
        remarks.push(format!("owners of {} keys", f.quality.keys));
    }
    remarks.join("; ")
}

/// Every peer's times over ringway's, at all sizes; nothing if ringway wasn't measured.
fn ratios(sizes: &[Vec<Figures>]) -> Option<Table> {
    let mut table = Table::new(&["peer", "nodes", "lookup", "dependent", "build", "add", "remove"]);
    for figures in sizes {
        let ours = figures.iter().find(|f| f.peer == PEERS[0].name)?;
        for f in figures.iter().filter(|f| f.peer != ours.peer) {
            let mut cells = vec![f.peer.to_owned(), f.nodes.to_string()];
            cells.extend(MEASURES[..5].iter().map(|(_, of)| format!("{:.2}", of(f) / of(ours))));
            table.row(cells);
        }
    }
    Some(table)
}

fn push_wins(text: &mut String, figures: &[Figures]) {
    let Some((ours, peers)) = figures.split_first() else { return };
    for (measure, of) in MEASURES {
        let mut wins: Vec<(f64, &Figures)> =
            peers.iter().filter(|f| !f.peer.starts_with("ringway")).map(|f| (of(ours) / of(f).max(1e-9), f)).collect();
        wins.retain(|(by, _)| *by >= WINS_FROM);
        wins.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = wins.iter().map(|(by, f)| win(*by, f)).collect();
        let names = if names.is_empty() { "no peer".to_owned() } else { names.join(", ") };
        writeln!(text, "- {} nodes, {measure}: {names}", ours.nodes).expect("writing to a string");
    }
}

fn win(by: f64, f: &Figures) -> String {
    let what = match f.kind {
        Kind::Ring => "",
        Kind::Probing => ", one point a node",
        Kind::Table => ", a table",
        Kind::Formula => ", a formula",
    };
    let by = if by < 1000.0 { format!("{by:.2}") } else { "1000 and more".to_owned() };
    format!("{} (× {by}{what})", f.peer)
}

fn at_least_a_microsecond(ns: f64) -> f64 {
    ns.max(1000.0)
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => "< 1 µs".to_owned(),
        ns if ns < 1e4 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} µs", ns / 1e3),
        ns if ns < 1e7 => format!("{:.2} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}
