//! The last word of `cargo bench`: every layout in one table that a person can read, and a chart.
//!
//! For each number of points the floor (one random load from 6 bytes a point), `partition_point` and all layouts are
//! interleaved round by round on fresh random queries: ns a lookup, *dependent / independent / batch of 1,024*, medians,
//! as multiples of the floor, and bytes a point. Then *cold rings*: 1,024 rings of 16,000 points, asked in random order,
//! each lookup after the one before: what a proxy sees that does other work between lookups. Answers are compared in
//! every round.
//!
//! Writes `verdict.md` and `verdict.svg` to `target/ringway-bench`, or to the folder that follows `--out`.
//!
//! `cargo bench --bench verdict [-- [--quick] [--out FOLDER] [points…]]`

mod common;

use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use common::search::{FRESH, Search, medians};
use common::{Floor, Numbers, Pace, PartitionPoint, SIZES, pin, points};
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};

/// What one layout did at one size.
struct Row {
    name: &'static str,
    /// ns a lookup: dependent, independent, in batches.
    times: [f64; 3],
    bytes: f64,
}

fn rows(len: usize, pace: Pace) -> Vec<Row> {
    let array = points(len);
    let floor = Floor::new(len);
    let naive = PartitionPoint::build(array.clone());
    let line = Line::build(array.clone());
    let s_tree = STree::build(array.clone());
    let bucket = Bucket::build(array.clone());
    let direct = Direct::build(array.clone());
    let eytzinger = Eytzinger::build(array.clone());
    let auto = Auto::build(array.clone());
    let sorted = Sorted::build(array);
    let canonical = sorted.points().bytes();
    let subjects: [(&'static str, &dyn Search, usize); 9] = [
        ("floor", &floor, 0),
        ("partition_point", &naive, 0),
        (Line::<u32>::NAME, &line, line.index_bytes()),
        (Auto::<u32>::NAME, &auto, auto.index_bytes()),
        (STree::<u32>::NAME, &s_tree, s_tree.index_bytes()),
        (Bucket::<u32>::NAME, &bucket, bucket.index_bytes()),
        (Direct::<u32>::NAME, &direct, direct.index_bytes()),
        (Eytzinger::<u32>::NAME, &eytzinger, eytzinger.index_bytes()),
        (Sorted::<u32>::NAME, &sorted, 0),
    ];
    let searches = subjects.map(|(_, search, _)| search);
    let queries = if pace == Pace::Test { 1 << 10 } else { FRESH };
    let fresh = |seed: u64| Numbers(seed << 32 | 7).map(|x| (x >> 32) as u32).take(queries).collect();
    let rounds = pace.rounds(if len > 2_000_000 { 61 } else { 201 });
    let times = medians(&searches, rounds, queries, fresh);
    let bytes = |index: usize| (canonical + index) as f64 / len as f64;
    subjects.iter().zip(times).map(|(&(name, _, index), times)| Row { name, times, bytes: bytes(index) }).collect()
}

/// Median ns of a lookup in one of many rings, each lookup after the one before: floor, line, `partition_point`, sorted.
fn cold_rings(pace: Pace) -> [(&'static str, f64); 4] {
    const POINTS: usize = 16_000;
    let count = if pace == Pace::Test { 8 } else { 1024 };
    let array = points(POINTS);
    // Copies, each in memory of its own: the points needn't differ for that.
    let floors: Vec<Floor> = (0..count).map(|_| Floor::new(POINTS)).collect();
    let naive: Vec<_> = (0..count).map(|_| PartitionPoint::build(array.clone())).collect();
    let lines: Vec<_> = (0..count).map(|_| Line::build(array.clone())).collect();
    let sorted: Vec<_> = (0..count).map(|_| Sorted::build(array.clone())).collect();
    let mut times = [const { Vec::new() }; 4];
    for round in 0..pace.rounds(101) as u64 {
        let asked: Vec<(u32, usize)> = Numbers(round << 32 | 11)
            .map(|x| ((x >> 32) as u32, (x & 0xFFFF_FFFF) as usize % count))
            .take(FRESH)
            .collect();
        let mut time = |which: usize, ask: &mut dyn FnMut(u32, usize) -> u32| {
            let start = Instant::now();
            black_box(asked.iter().fold(0, |last, &(x, ring)| ask(x ^ last, ring)));
            times[which].push(start.elapsed().as_nanos() as f64 / asked.len() as f64);
        };
        let number = |slot: Option<ringway::Slot>| slot.map_or(0, ringway::Slot::number);
        time(0, &mut |x, ring| floors[ring].at(x));
        time(1, &mut |x, ring| number(lines[ring].owner(x)));
        time(2, &mut |x, ring| number(naive[ring].owner(x)));
        time(3, &mut |x, ring| number(sorted[ring].owner(x)));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [a, b, c, d] = times.each_mut().map(median);
    [("floor", a), (Line::<u32>::NAME, b), ("partition_point", c), (Sorted::<u32>::NAME, d)]
}

fn table(all: &[(usize, Vec<Row>)], cold: &[(&'static str, f64); 4], pace: Pace) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line("# Layouts");
    line(
        "ns a lookup, dependent / independent / batch of 1,024; the same over the floor, one random load; bytes a point.",
    );
    if pace != Pace::Full {
        line("From a run that was cut short: figures to look at, not to quote.");
    }
    for (len, rows) in all {
        line(&format!("\n## {len} points\n"));
        line("| layout | dependent | independent | batch | over the floor | bytes a point |");
        line("|---|---|---|---|---|---|");
        let floor = rows[0].times;
        for Row { name, times: [a, b, c], bytes } in rows {
            let over = format!("{:.2} / {:.2} / {:.2}", a / floor[0], b / floor[1], c / floor[2]);
            line(&format!("| {name} | {a:.2} | {b:.2} | {c:.2} | {over} | {bytes:.1} |"));
        }
    }
    line("\n## Cold rings: 1,024 rings of 16,000 points in random order, dependent\n");
    line("| layout | ns | over the floor |");
    line("|---|---|---|");
    for (name, ns) in cold {
        line(&format!("| {name} | {ns:.1} | {:.2} |", ns / cold[0].1));
    }
    text
}

/// Two panels, dependent and independent lookups: ns against points, both axes logarithmic.
fn chart(all: &[(usize, Vec<Row>)]) -> String {
    const COLOURS: [&str; 9] =
        ["#888888", "#d62728", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#ff7f0e"];
    const PANEL: (f64, f64) = (440.0, 360.0);
    const EDGE: f64 = 50.0;
    let decades = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        (low.log10().floor(), (high.log10().ceil()).max(low.log10().floor() + 1.0))
    };
    let times = |all: &[(usize, Vec<Row>)]| -> Vec<f64> {
        all.iter().flat_map(|(_, rows)| rows.iter().flat_map(|row| row.times)).collect()
    };
    let (x_low, x_high) = decades(&mut all.iter().map(|(len, _)| *len as f64));
    let (y_low, y_high) = decades(&mut times(all).into_iter());
    let x = |panel: usize, len: f64| {
        EDGE + panel as f64 * (PANEL.0 + EDGE) + (len.log10() - x_low) / (x_high - x_low) * PANEL.0
    };
    let y = |ns: f64| EDGE + (1.0 - (ns.log10() - y_low) / (y_high - y_low)) * PANEL.1;
    let (width, height) = (2.0 * PANEL.0 + 3.0 * EDGE + 130.0, PANEL.1 + 2.0 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut put = |text: std::fmt::Arguments<'_>| svg.write_fmt(text).expect("a text takes all");
    for (panel, title) in ["dependent lookups, ns", "independent lookups, ns"].into_iter().enumerate() {
        put(format_args!("<text x=\"{}\" y=\"30\" font-size=\"14\">{title}</text>\n", x(panel, 10f64.powf(x_low))));
        for exponent in y_low as i32..=y_high as i32 {
            let (left, right, at) =
                (x(panel, 10f64.powf(x_low)), x(panel, 10f64.powf(x_high)), y(10f64.powi(exponent)));
            put(format_args!("<line x1=\"{left}\" x2=\"{right}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#dddddd\"/>\n"));
            put(format_args!("<text x=\"{}\" y=\"{at}\" text-anchor=\"end\">1e{exponent}</text>\n", left - 4.0));
        }
        for exponent in x_low as i32..=x_high as i32 {
            let at = x(panel, 10f64.powi(exponent));
            let foot = EDGE + PANEL.1;
            put(format_args!("<line x1=\"{at}\" x2=\"{at}\" y1=\"{EDGE}\" y2=\"{foot}\" stroke=\"#eeeeee\"/>\n"));
            let below = foot + 15.0;
            put(format_args!("<text x=\"{at}\" y=\"{below}\" text-anchor=\"middle\">1e{exponent} points</text>\n"));
        }
        for (number, colour) in COLOURS.iter().enumerate() {
            let way: Vec<String> = all
                .iter()
                .map(|(len, rows)| format!("{:.1},{:.1}", x(panel, *len as f64), y(rows[number].times[panel])))
                .collect();
            let way = way.join(" ");
            put(format_args!("<polyline points=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n"));
        }
    }
    let left = 2.0 * (PANEL.0 + EDGE) + EDGE + 10.0;
    for (number, (row, colour)) in all[0].1.iter().zip(COLOURS).enumerate() {
        let at = EDGE + 20.0 * number as f64;
        put(format_args!("<rect x=\"{left}\" y=\"{at}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>\n"));
        put(format_args!("<text x=\"{}\" y=\"{}\">{}</text>\n", left + 20.0, at + 6.0, row.name));
    }
    svg.push_str("</svg>\n");
    svg
}

fn main() {
    pin();
    let pace = Pace::of_arguments();
    let arguments: Vec<String> = std::env::args().collect();
    let out = arguments.iter().position(|argument| argument == "--out").and_then(|place| arguments.get(place + 1));
    let asked: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let sizes: Vec<usize> = match (asked.is_empty(), pace) {
        (false, _) => asked,
        (true, Pace::Test) => SIZES[..3].to_vec(),
        (true, _) => SIZES.to_vec(),
    };
    let all: Vec<_> = sizes.into_iter().map(|len| (len, rows(len, pace))).collect();
    let cold = cold_rings(pace);
    let text = table(&all, &cold, pace);
    println!("{text}");
    if pace == Pace::Test {
        // The chart is made, and thrown away: a test leaves nothing.
        assert!(chart(&all).ends_with("</svg>\n"));
        return;
    }
    let folder =
        out.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/ringway-bench"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join("verdict.md"), text).expect("the folder can be written to");
    std::fs::write(folder.join("verdict.svg"), chart(&all)).expect("the folder can be written to");
    println!("written to {}: verdict.md, verdict.svg", folder.display());
}
