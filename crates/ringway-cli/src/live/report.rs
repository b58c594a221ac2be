//! What `live` prints.

use std::io::{self, Write};
use std::time::Duration;

use hdrhistogram::Histogram;
use ringway::Table;
use ringway::layout::Layout;
use ringway::scheme::Scheme;
use serde_json::{Value, json};

use super::Args;
use super::check::Outcome;
use super::moved::Moved;
use super::reader::ReaderTally;
use crate::Failure;

/// The output, as text or as JSON.
#[derive(Debug)]
pub(super) struct Report {
    json: bool,
    lookups: u64,
    times: Option<Histogram<u64>>,
    elapsed: Duration,
}

/// What happened in a second, and where the ring is.
#[derive(Debug)]
pub(super) struct Second {
    pub(super) second: u32,
    pub(super) elapsed: Duration,
    pub(super) lookups: u64,
    pub(super) times: Histogram<u64>,
    pub(super) commits: u64,
    pub(super) version: u64,
    pub(super) points: usize,
}

const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self { json, lookups: 0, times: None, elapsed: Duration::ZERO }
    }

    pub(super) fn head<S: Scheme<Point = u32>, L: Layout<u32>>(
        &self,
        args: &Args,
        file: &str,
        readers: usize,
        keys: usize,
        table: &Table<(), S, L>,
    ) -> Result<(), Failure> {
        let (nodes, points, per_second, seed) = (table.node_count(), table.len(), args.changes_per_second, args.seed);
        if self.json {
            return print(&json!({
                "kind": "start", "cluster": file, "nodes": nodes, "points": points, "keys": keys, "threads": readers,
                "changes_per_second": per_second, "seconds": args.seconds, "layout": L::NAME, "seed": seed,
            }));
        }
        say(&format!(
            "{file}: {nodes} nodes, {} points; {} keys; reader threads: {readers}; layout {}; {per_second} changes/s, seed \
             {seed}\n\
             times are of single lookups, every 1,024th, with the clock's own time\n\n\
             {:>6} {:>14} {:>8} {:>8} {:>8} {:>9} {:>9} {:>10}",
            grouped(points),
            grouped(keys),
            L::NAME,
            "second",
            "lookups/s",
            "p50 ns",
            "p99 ns",
            "p99.9 ns",
            "commits",
            "version",
            "points",
        ))
    }

    pub(super) fn second(&mut self, second: &Second) -> Result<(), Failure> {
        let Second { second, elapsed, lookups, times, commits, version, points } = second;
        self.lookups += lookups;
        self.elapsed += *elapsed;
        match &mut self.times {
            Some(all) => all.add(times).expect("all of them have the same form"),
            none => *none = Some(times.clone()),
        }
        let rate = per_second(*lookups, *elapsed);
        let [p50, p99, p999] = PERCENTILES.map(|percentile| times.value_at_percentile(percentile));
        if self.json {
            return print(&json!({
                "kind": "second", "second": second, "lookups_per_second": rate, "p50_ns": p50, "p99_ns": p99,
                "p999_ns": p999, "commits": commits, "version": version, "points": points,
            }));
        }
        say(&format!(
            "{second:>6} {:>14} {p50:>8} {p99:>8} {p999:>8} {commits:>9} {version:>9} {:>10}",
            grouped(rate),
            grouped(points),
        ))
    }

    pub(super) fn summary<S: Scheme<Point = u32>, L: Layout<u32>>(
        &self,
        table: &Table<(), S, L>,
        moved: &Moved<'_>,
        outcome: &Outcome,
        tallies: &[ReaderTally],
    ) -> Result<(), Failure> {
        let good = super::verdict(outcome, moved).is_ok();
        let rate = per_second(self.lookups, self.elapsed);
        let percentile = |percentile| self.times.as_ref().map_or(0, |times| times.value_at_percentile(percentile));
        let [p50, p99, p999] = PERCENTILES.map(percentile);
        let pinned = tallies.iter().filter(|tally| tally.pinned).count();
        let (followed, keys) = moved.followed();
        let rows: Vec<Row> = rows(table);
        if self.json {
            let nodes: Vec<Value> = rows.iter().map(Row::json).collect();
            return print(&json!({
                "kind": "end", "lookups": self.lookups, "lookups_per_second": rate, "p50_ns": p50, "p99_ns": p99,
                "p999_ns": p999, "threads": tallies.len(), "threads_pinned": pinned, "nodes": nodes,
                "commits": moved.commits, "keys_followed": followed, "keys": keys, "keys_moved": moved.moved,
                "keys_had_to_move": moved.had_to, "keys_collateral": moved.collateral(),
                "answers_checked": outcome.answers, "answers_wrong": outcome.wrong,
                "first_wrong": outcome.first_wrong.as_ref().map(ToString::to_string),
                "answers_not_noted": outcome.not_noted, "versions_checked": outcome.versions,
                "versions_noted": outcome.versions_noted, "versions_published": table.version(),
                "versions_went_back": outcome.went_back, "good": good,
            }));
        }
        let width = rows.iter().map(|row| row.id.chars().count()).max().unwrap_or(0).clamp(4, 40);
        say(&format!("\n{:<width$} {:>7} {:>8} {:>8} {:>7}", "node", "weight", "points", "share %", "÷ fair"))?;
        for Row { id, weight, points, share, ratio } in &rows {
            let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
            say(&format!("{:<width$} {weight:>7} {points:>8} {:>8.3} {ratio:>7}", id.escape_debug(), share * 100.0))?;
        }
        let what = if followed == keys {
            "all keys".to_owned()
        } else {
            format!("{} of {} keys", grouped(followed), grouped(keys))
        };
        say(&format!(
            "\n{} lookups, {} a second; p50 {p50} ns, p99 {p99} ns, p99.9 {p999} ns; {pinned} of {} threads pinned\n\
             moved, of {what} in {} commits: {}; had to move: {}; collateral: {}\n\
             answers checked: {} of {} versions ({} published, {} noted; {} more answers had no room); wrong: {}\n\
             a reader saw the version go back: {} times\n\
             verdict: {}",
            grouped(self.lookups),
            grouped(rate),
            tallies.len(),
            grouped(moved.commits),
            grouped(moved.moved),
            grouped(moved.had_to),
            grouped(moved.collateral()),
            grouped(outcome.answers),
            grouped(outcome.versions),
            grouped(table.version()),
            grouped(outcome.versions_noted),
            grouped(outcome.not_noted),
            grouped(outcome.wrong),
            outcome.went_back,
            if good { "good" } else { "BAD" },
        ))
    }
}

/// A line of the share table.
struct Row {
    id: String,
    weight: u32,
    points: u32,
    share: f64,
    /// The share over the fair one, which goes by points: by weight, but for nodes whose active points are set.
    ratio: Option<f64>,
}

impl Row {
    fn json(&self) -> Value {
        let Self { id, weight, points, share, ratio } = self;
        json!({"id": id, "weight": weight, "points": points, "share": share, "share_over_fair": ratio})
    }
}

fn rows<S: Scheme<Point = u32>, L: Layout<u32>>(table: &Table<(), S, L>) -> Vec<Row> {
    let all_points = u32::try_from(table.len()).expect("a ring has at most 2^31 points");
    let row = |(node, share): (&ringway::Node, ringway::Share)| {
        let points = table.points_of(node.id().as_str()).unwrap_or(0);
        let share = share.fraction();
        let fair = f64::from(points) / f64::from(all_points.max(1));
        let ratio = (points > 0).then(|| share / fair);
        Row { id: node.id().to_string(), weight: node.info().weight(), points, share, ratio }
    };
    table.shares().into_iter().map(row).collect()
}

fn per_second(count: u64, time: Duration) -> u64 {
    let nanoseconds = time.as_nanos().max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX)
}

/// A number with commas between groups of three digits.
fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(super) fn print(value: &Value) -> Result<(), Failure> {
    say(&value.to_string())
}

pub(super) fn say(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (123_456_789, "123,456,789")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn rates_do_not_overflow() {
        assert_eq!(per_second(3, Duration::from_millis(1500)), 2);
        assert_eq!(per_second(u64::MAX, Duration::ZERO), u64::MAX);
    }
}
