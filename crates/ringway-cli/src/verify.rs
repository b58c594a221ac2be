//! `ringway verify`: recorded decisions of other systems, replayed.
//!
//! A case is a folder with `cluster.json` and `vectors.tsv`. The vectors are read as a stream, so memory is that of the
//! largest table, however many there are.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ringway::cluster::Cluster;
use ringway::layout::Layout;
use ringway::scheme::Scheme;
use ringway::{Limits, Table};

use crate::input::read_text;
use crate::route::MAX_LINE_BYTES;
use crate::tables::{Visit, with_table};
use crate::{Failure, Layouts, say};

/// Replay recorded decisions of other systems
///
/// Each folder DIR, and each below it, that holds cluster.json and vectors.tsv is a case. cluster.json says how a system
/// was set up: "algorithm" (a scheme's name), "options" and "servers"; `Cluster::parse_recorded` in the library's
/// documentation has it in full. vectors.tsv has a line for each key: the key as it is, TAB, the name of the server that
/// the system chose, LF. The last TAB splits; the last line may lack its LF.
///
/// Prints "path matched/total" for each case, below it the first keys that differ, and as the last line "N passed, M
/// failed". A case passes if every key matches. A folder without cases, one of the two files without the other, and a file
/// that is malformed, count as failed; the reason goes to standard error.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Folders with cases, at whatever depth
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// How the ring's points lie in memory; answers are the same with all
    #[arg(long, value_enum, default_value_t = Layouts::Auto)]
    layout: Layouts,
    /// How many keys that differ to show for each case
    #[arg(long, value_name = "N", default_value_t = 5)]
    show: usize,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Check`] if a case failed, or a [`Failure`] about the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let (mut passed, mut failed) = (0_u64, 0_u64);
    for folder in &args.folders {
        let cases = find(folder);
        if cases.is_empty() {
            failed += 1;
            let reason = format!("there is no folder with {CLUSTER} and {VECTORS} in it");
            tell(&mut output, &Failure::File { file: folder.display().to_string(), line: None, reason })?;
        }
        for case in cases {
            match case.and_then(|case| Ok((replay(&case, args)?, case))) {
                Ok((tally, case)) => {
                    let good = tally.matched == tally.total;
                    *(if good { &mut passed } else { &mut failed }) += 1;
                    write_case(&mut output, &case, &tally).map_err(Failure::writing)?;
                }
                Err(failure) => {
                    failed += 1;
                    tell(&mut output, &failure)?;
                }
            }
        }
    }
    writeln!(output, "{passed} passed, {failed} failed").and_then(|()| output.flush()).map_err(Failure::writing)?;
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Check(format!("{failed} of {} cases failed", passed + failed))),
    }
}

const CLUSTER: &str = "cluster.json";
const VECTORS: &str = "vectors.tsv";

/// The cases of a folder and all below it, in the order of their paths; a failure for what can't be read.
fn find(root: &Path) -> Vec<Result<PathBuf, Failure>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    // Links are followed, so a folder may come again.
    let mut seen = HashSet::new();
    while let Some(folder) = folders.pop() {
        let failed = |error| Failure::reading(&folder.display().to_string(), &error);
        let entries = fs::canonicalize(&folder).and_then(|path| {
            if !seen.insert(path) {
                return Ok(Vec::new());
            }
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()
        });
        match entries {
            Err(error) => found.push((folder.clone(), Err(failed(error)))),
            Ok(entries) => {
                let has = |name: &str| entries.iter().any(|path| path.file_name().is_some_and(|file| file == name));
                match (has(CLUSTER), has(VECTORS)) {
                    (true, true) => found.push((folder.clone(), Ok(folder.clone()))),
                    // Half a case is an error: a recording that lost its vectors mustn't pass for none.
                    (cluster, vectors) if cluster || vectors => {
                        let (there, missing) = if cluster { (CLUSTER, VECTORS) } else { (VECTORS, CLUSTER) };
                        let reason = format!("there is no {missing} beside it");
                        let file = folder.join(there).display().to_string();
                        found.push((folder.clone(), Err(Failure::File { file, line: None, reason })));
                    }
                    _ => {}
                }
                folders.extend(entries.into_iter().filter(|path| path.is_dir()));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.into_iter().map(|(_, case)| case).collect()
}

/// Writes a failure to standard error, in its place between the lines of the output.
fn tell(output: &mut impl Write, failure: &Failure) -> Result<(), Failure> {
    output.flush().map_err(Failure::writing)?;
    say(format_args!("{failure}"));
    Ok(())
}

/// What came of a case.
struct Tally {
    matched: u64,
    total: u64,
    /// The first decisions that differ.
    differ: Vec<Difference>,
}

struct Difference {
    line: u64,
    key: Vec<u8>,
    expected: Vec<u8>,
    got: Option<String>,
}

fn replay(case: &Path, args: &Args) -> Result<Tally, Failure> {
    let path = case.join(CLUSTER);
    let file = path.display().to_string();
    let text = read_text(&path, &file, Cluster::MAX_FILE_BYTES)?;
    let (scheme, nodes) = Cluster::parse_recorded(&file, &text)?.into_parts();
    // That it is JSON, and an object, is known by now.
    let rows = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|json| json.get("vectors")?.as_u64());
    let path = case.join(VECTORS);
    let replay = Replay { file: path.display().to_string(), path: &path, show: args.show };
    // Recorded clusters may have weights that cluster files may not.
    let limits = Limits::DEFAULT.with_weight(u32::MAX);
    let tally = with_table(&file, scheme, nodes, args.layout, limits, replay)??;
    if let Some(rows) = rows.filter(|&rows| rows != tally.total) {
        let reason = format!("{} lines, but {CLUSTER} says \"vectors\": {rows}", tally.total);
        return Err(Failure::File { file: path.display().to_string(), line: None, reason });
    }
    Ok(tally)
}

struct Replay<'a> {
    file: String,
    path: &'a Path,
    show: usize,
}

impl Visit for Replay<'_> {
    type Output = Result<Tally, Failure>;

    fn visit<S: Scheme, L: Layout<S::Point>>(self, table: &Table<(), S, L>) -> Self::Output {
        let failed = |line, reason: String| Failure::File { file: self.file.clone(), line: Some(line), reason };
        let reading = |error: io::Error| Failure::reading(&self.file, &error);
        let mut tally = Tally { matched: 0, total: 0, differ: Vec::new() };
        let mut input = BufReader::with_capacity(64 << 10, File::open(self.path).map_err(reading)?);
        let mut row = Vec::new();
        // Room for the server's name and one byte more, which tells.
        let most = MAX_LINE_BYTES + Limits::MAX_ID_BYTES + 2;
        loop {
            row.clear();
            let limit = u64::try_from(most).expect("a mebibyte and a bit");
            if input.by_ref().take(limit).read_until(b'\n', &mut row).map_err(reading)? == 0 {
                break;
            }
            let line = tally.total + 1;
            if row.pop_if(|byte| *byte == b'\n').is_none() && row.len() == most {
                return Err(failed(line, format!("the line has more than {} bytes; end each by LF", most - 1)));
            }
            let Some(tab) = memchr::memrchr(b'\t', &row) else {
                return Err(failed(line, "there is no TAB in the line; give key, TAB, server".to_owned()));
            };
            let (key, expected) = (&row[..tab], &row[tab + 1..]);
            if expected.is_empty() {
                return Err(failed(line, "there is no server after the TAB; give key, TAB, server".to_owned()));
            }
            // The owner, or what comes after it if that is out of service.
            let got = table.route(key).map(|node| node.id().as_str());
            tally.total += 1;
            if got.is_some_and(|got| got.as_bytes() == expected) {
                tally.matched += 1;
            } else if tally.differ.len() < self.show {
                let (key, expected) = (key.to_vec(), expected.to_vec());
                tally.differ.push(Difference { line, key, expected, got: got.map(str::to_owned) });
            }
        }
        if tally.total == 0 {
            return Err(Failure::File { file: self.file, line: None, reason: "there is no line in it".to_owned() });
        }
        Ok(tally)
    }
}

fn write_case(output: &mut impl Write, case: &Path, tally: &Tally) -> io::Result<()> {
    writeln!(output, "{} {}/{}", case.display(), tally.matched, tally.total)?;
    for Difference { line, key, expected, got } in &tally.differ {
        let got = got.as_ref().map_or("no server".to_owned(), |got| quoted(got.as_bytes()));
        writeln!(output, "  line {line}: key {}, expected {}, got {got}", quoted(key), quoted(expected))?;
    }
    Ok(())
}

/// The text in quotes, its beginning if it is long; bytes that aren't UTF-8 are escaped as `\x…`.
fn quoted(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 128;
    let mut shown = String::from("\"");
    for chunk in bytes[..bytes.len().min(SHOWN_BYTES)].utf8_chunks() {
        shown.extend(chunk.valid().escape_debug());
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown.push_str(if bytes.len() > SHOWN_BYTES { "…\"" } else { "\"" });
    shown
}
