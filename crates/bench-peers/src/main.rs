//! ringway beside its peers. `cargo run --release` in this folder; README.md says what is compared and how fair it is.

mod counting;
mod input;
mod measure;
mod peers;
mod plan;
mod report;
mod table;

use std::process::ExitCode;
use std::{env, fs, io};

use measure::Figures;
use peers::{Entry, PEERS};
use plan::Plan;
use report::Style;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const USAGE: &str = "\
usage: bench-peers [--quick | --test] [--json] [--markdown FILE] [--only TEXT]…
  --quick          a first impression: fewer rounds
  --test           a few rounds with 10 and 100 nodes: answers are checked, figures mean nothing
  --json           prints all figures as JSON, not as tables
  --markdown FILE  writes the tables as Markdown too
  --only TEXT      only peers whose name contains TEXT; may be given again";

#[derive(Debug)]
struct Options {
    plan: Plan,
    json: bool,
    markdown: Option<String>,
    only: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options(env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { plan: Plan::FULL, json: false, markdown: None, only: Vec::new() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--quick" => options.plan = Plan::QUICK,
            "--test" => options.plan = Plan::TEST,
            "--json" => options.json = true,
            "--markdown" => options.markdown = Some(value()?),
            "--only" => options.only.push(value()?),
            _ => return Err(format!("{arg} isn't an option")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> io::Result<()> {
    pin();
    let is_wanted =
        |entry: &&Entry| options.only.is_empty() || options.only.iter().any(|text| entry.name.contains(text));
    let entries: Vec<Entry> = PEERS.iter().filter(is_wanted).copied().collect();
    let keys = input::keys(input::KEYS);
    let mut sizes = Vec::new();
    for &count in options.plan.sizes {
        eprintln!("{count} nodes …");
        let figures = measure::measure(&entries, count, &keys, &options.plan);
        check(&figures);
        sizes.push(figures);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&sizes)?);
    } else {
        print!("{}", report::report(&sizes, &options.plan, Style::Text));
    }
    if let Some(file) = &options.markdown {
        fs::write(file, report::report(&sizes, &options.plan, Style::Markdown))?;
    }
    Ok(())
}

/// What ringway promises. What holds for all peers is asserted where they are measured.
fn check(figures: &[Figures]) {
    for f in figures.iter().filter(|f| f.peer.starts_with("ringway")) {
        assert_eq!(f.quality.collateral, 0, "{}: keys moved between nodes that didn't change", f.peer);
        assert!(f.quality.gained > 0, "{}: the new node got no keys", f.peer);
    }
}

/// Pins this thread to the last core, where the operating system does least. A machine that doesn't let us is noisier.
fn pin() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.last().copied()) {
        core_affinity::set_for_current(core);
    }
}
