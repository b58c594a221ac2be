//! `ringway route`: keys in, owners out, one line each, in constant memory.
//!
//! The input is read in large chunks; all whole lines of a chunk are looked up in batches, and their answers written
//! before more is read. So whoever feeds keys through a pipe isn't kept waiting for answers, and nothing grows but for
//! one line's sake.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use memchr::{memchr_iter, memrchr};
use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::{AnyScheme, Scheme};
use ringway::{Node, NodeSpec, Pins, Ring, State, Table};

use crate::input::load_whole_cluster;
use crate::{Failure, Layouts, SchemeArgs};

/// Print the node of each key
///
/// Reads keys, one a line, and prints one line for each, in the same order. A line ends with LF; the last may lack it. A
/// CR before it belongs to the key, and so do spaces; an empty line is the empty key. Memory stays constant however many
/// keys there are; a line of more than 1 MiB is an error.
///
/// tsv: the key as it was read, TAB, the node's id, LF. Keys are bytes, of whatever encoding. A key may hold a TAB; an id
/// may not here, so the last TAB splits (with --replicas K, the last K). Where no node takes the key its column is empty.
///
/// A key goes to its owner, or if that is down or draining to the next node in ring order that is neither: what is routed is
/// new work, which draining nodes don't take. States and pins are those of the cluster file; --down and --draining set
/// states, and answers are as if the file had them.
///
/// --replicas K prints the first K nodes instead of one, each in a column of its own; where there are fewer, columns stay
/// empty. In json they are a list: {"key":"…","nodes":["…","…"]}.
///
/// json: {"key":"…","node":"…"}, or "node":null in a ring without points. A key that isn't UTF-8 has no place in JSON
/// text; it is given in hex instead: {"key_hex":"ff00","node":"…"}.
///
/// If the reader of the output goes away (as head does), this ends quietly with 0.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Cluster file, TOML or JSON
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,
    #[command(flatten)]
    scheme: SchemeArgs,
    /// File of keys, one a line; - is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    keys: PathBuf,
    /// How the ring's points lie in memory; answers are the same with all
    #[arg(long, value_enum, default_value_t = Layouts::Auto)]
    layout: Layouts,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Tsv)]
    format: Format,
    /// Print the first K distinct nodes of each key
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    replicas: Option<u16>,
    /// First one node of each zone, then the others
    #[arg(long, requires = "replicas")]
    distinct_zones: bool,
    /// A node that is down: its keys go on to the next; repeatable
    #[arg(long, value_name = "ID")]
    down: Vec<String>,
    /// A node that takes nothing new: its keys go on to the next; repeatable
    #[arg(long, value_name = "ID")]
    draining: Vec<String>,
}

/// How many nodes are printed for a key, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Replicas {
    /// `None` for the one that takes the key.
    count: Option<u16>,
    distinct_zones: bool,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Key, TAB, node id
    Tsv,
    /// One JSON object a line
    Json,
}

/// The longest key that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Why [`route`] stopped before the end of the input. All answers up to there were written.
#[derive(Debug)]
#[non_exhaustive]
pub enum RouteError {
    /// The input can't be read.
    Read(io::Error),
    /// The output can't be written.
    Write(io::Error),
    /// A line is longer than [`MAX_LINE_BYTES`].
    LineTooLong {
        /// Its number, from 1.
        line: u64,
    },
}

/// Runs the command.
///
/// # Errors
/// A [`Failure`] about the cluster, the keys or the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (file, cluster) = load_whole_cluster(Some(&args.cluster))?;
    let pins = cluster.pins().clone();
    let (scheme, mut nodes) = cluster.into_parts();
    let scheme = args.scheme.or(scheme)?;
    set_states(&mut nodes, args, &file)?;
    if args.format == Format::Tsv
        && let Some(node) = nodes.iter().find(|node| node.id().contains(['\t', '\n']))
    {
        let reason = format!("node {:?} has a TAB or LF in its id, which spoils a line of tsv; use json", node.id());
        return Err(Failure::File { file, line: None, reason });
    }
    match scheme {
        AnyScheme::U64(scheme) => run_scheme(scheme, nodes, pins, file, args),
        AnyScheme::U128(scheme) => run_scheme(scheme, nodes, pins, file, args),
        AnyScheme::U32(scheme) => run_scheme(scheme, nodes, pins, file, args),
        scheme => Err(Failure::UnknownScheme { file, scheme: scheme.name() }),
    }
}

/// Sets the states that were asked for; in the description, since some schemes place by it.
fn set_states(nodes: &mut [NodeSpec], args: &Args, file: &str) -> Result<(), Failure> {
    let down = args.down.iter().map(|id| (id, State::Down));
    for (id, state) in args.draining.iter().map(|id| (id, State::Draining)).chain(down) {
        let Some(node) = nodes.iter_mut().find(|node| node.id() == id) else {
            let reason = format!("node {id:?} is not in the file; name one that is");
            return Err(Failure::File { file: file.to_owned(), line: None, reason });
        };
        *node = node.clone().with_state(state);
    }
    Ok(())
}

fn run_scheme<S>(scheme: S, nodes: Vec<NodeSpec>, pins: Pins, file: String, args: &Args) -> Result<(), Failure>
where
    S: Scheme,
{
    let builder = Ring::builder().scheme(scheme).nodes(nodes).pins(pins);
    let failed = |error| Failure::Ring { file, error };
    match args.layout {
        Layouts::Auto => run_with(&builder.layout::<Auto<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Line => run_with(&builder.layout::<Line<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Sorted => run_with(&builder.layout::<Sorted<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Eytzinger => run_with(&builder.layout::<Eytzinger<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Stree => run_with(&builder.layout::<STree<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Bucket => run_with(&builder.layout::<Bucket<S::Point>>().build_table().map_err(failed)?, args),
        Layouts::Direct => run_with(&builder.layout::<Direct<S::Point>>().build_table().map_err(failed)?, args),
    }
}

fn run_with<S, L>(table: &Table<(), S, L>, args: &Args) -> Result<(), Failure>
where
    S: Scheme,
    L: Layout<S::Point>,
{
    pass_by_draining(table);
    let replicas = Replicas { count: args.replicas, distinct_zones: args.distinct_zones };
    let output = io::stdout().lock();
    let (file, result) = if args.keys.as_os_str() == "-" {
        ("standard input".to_owned(), route_replicas(table, args.format, replicas, io::stdin().lock(), output))
    } else {
        let file = args.keys.display().to_string();
        let keys = File::open(&args.keys).map_err(|error| Failure::reading(&file, &error))?;
        (file, route_replicas(table, args.format, replicas, keys, output))
    };
    match result {
        Ok(_) => Ok(()),
        Err(RouteError::Read(error)) => Err(Failure::reading(&file, &error)),
        Err(RouteError::Write(error)) => Err(Failure::writing(error)),
        Err(RouteError::LineTooLong { line }) => {
            let reason = format!("the line has more than {MAX_LINE_BYTES} bytes; keys are one a line, ended by LF");
            Err(Failure::File { file, line: Some(line), reason })
        }
    }
}

/// Makes all that is routed new work, which passes by a draining node as by one that is down.
fn pass_by_draining<S: Scheme, L: Layout<S::Point>>(table: &Table<(), S, L>) {
    for node in table.nodes().filter(|node| node.health() == State::Draining) {
        node.set_health(State::Down);
    }
}

/// Reads keys from `input`, one a line, and writes a line for each to `output`; returns how many.
///
/// # Errors
/// See [`RouteError`]. An interrupted read is tried again.
pub fn route<S: Scheme, L: Layout<S::Point>>(
    table: &Table<(), S, L>,
    format: Format,
    input: impl Read,
    output: impl Write,
) -> Result<u64, RouteError> {
    route_replicas(table, format, Replicas::default(), input, output)
}

fn route_replicas<S: Scheme, L: Layout<S::Point>>(
    table: &Table<(), S, L>,
    format: Format,
    replicas: Replicas,
    mut input: impl Read,
    output: impl Write,
) -> Result<u64, RouteError> {
    let mut answers = Answers { table, format, replicas, lines: 0, text: Vec::with_capacity(2 * CHUNK_BYTES), output };
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut filled = 0;
    loop {
        if filled == chunk.len() {
            // A chunk without LF, and room for one more byte than a key may have.
            if filled > MAX_LINE_BYTES {
                return Err(RouteError::LineTooLong { line: answers.lines + 1 });
            }
            chunk.resize((filled * 2).min(MAX_LINE_BYTES + 1), 0);
        }
        let new = match input.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled..filled + bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(RouteError::Read(error)),
        };
        filled = new.end;
        if let Some(last) = memrchr(b'\n', &chunk[new.clone()]) {
            let whole = new.start + last + 1;
            answers.look_up(&chunk[..whole])?;
            answers.write()?;
            chunk.copy_within(whole..filled, 0);
            filled -= whole;
        }
    }
    if filled > MAX_LINE_BYTES {
        return Err(RouteError::LineTooLong { line: answers.lines + 1 });
    }
    if filled > 0 {
        answers.answer(&[&chunk[..filled]]);
    }
    answers.write()?;
    answers.output.flush().map_err(RouteError::Write)?;
    Ok(answers.lines)
}

/// How much is read at once; about twice that is written at once.
///
/// 4 million keys from a file to the null device, embedded cluster, one core of a Xeon (family 6, model 207, 2 MiB of
/// L2), other work beside it, best of 9, 2026-11-30: 13.5 million keys/s with 8 KiB, 14.8 with 64 KiB, 12.6 with 128
/// KiB, 13.5 with 1 MiB, 11.0 with 4 MiB.
const CHUNK_BYTES: usize = 64 << 10;

/// How many keys are looked up at once.
const BATCH: usize = 256;

struct Answers<'t, S: Scheme, L: Layout<S::Point>, W> {
    table: &'t Table<(), S, L>,
    format: Format,
    replicas: Replicas,
    lines: u64,
    text: Vec<u8>,
    output: W,
}

impl<'t, S: Scheme, L: Layout<S::Point>, W: Write> Answers<'t, S, L, W> {
    /// Answers all of `lines`, each of which ends with LF.
    fn look_up(&mut self, lines: &[u8]) -> Result<(), RouteError> {
        let mut keys: [&[u8]; BATCH] = [&[]; BATCH];
        let (mut count, mut start) = (0, 0);
        for end in memchr_iter(b'\n', lines) {
            keys[count] = &lines[start..end];
            start = end + 1;
            count += 1;
            if count == BATCH {
                self.answer(&keys);
                count = 0;
                // Ids may be far longer than keys.
                if self.text.len() > CHUNK_BYTES {
                    self.write()?;
                }
            }
        }
        self.answer(&keys[..count]);
        Ok(())
    }

    /// Looks up at most `BATCH` keys and appends their lines to the text.
    fn answer(&mut self, keys: &[&[u8]]) {
        self.lines += u64::try_from(keys.len()).expect("a batch is small");
        if let Some(count) = self.replicas.count {
            let mut nodes = vec![None; usize::from(count)];
            for key in keys {
                self.answer_replicas(key, &mut nodes);
            }
            return;
        }
        let mut owners = [None; BATCH];
        self.table.route_batch(keys, &mut owners[..keys.len()]);
        match self.format {
            Format::Tsv => keys.iter().zip(&owners).for_each(|(key, owner)| write_tsv(&mut self.text, key, *owner)),
            Format::Json => keys.iter().zip(&owners).for_each(|(key, owner)| write_json(&mut self.text, key, *owner)),
        }
    }

    fn answer_replicas(&mut self, key: &[u8], nodes: &mut [Option<&'t Node>]) {
        let found = match self.replicas.distinct_zones {
            true => self.table.healthy_zone_replicas(key, nodes),
            false => self.table.healthy_replicas(key, nodes),
        };
        match self.format {
            Format::Tsv => {
                self.text.extend_from_slice(key);
                for place in 0..nodes.len() {
                    self.text.push(b'\t');
                    // What is behind the last one found is of the key before.
                    if let Some(node) = nodes[..found].get(place).copied().flatten() {
                        self.text.extend_from_slice(node.id().as_bytes());
                    }
                }
                self.text.push(b'\n');
            }
            Format::Json => {
                write_json_key(&mut self.text, key);
                self.text.extend_from_slice(b",\"nodes\":[");
                for (place, node) in nodes[..found].iter().flatten().enumerate() {
                    if place > 0 {
                        self.text.push(b',');
                    }
                    write_json_text(&mut self.text, node.id().as_str());
                }
                self.text.extend_from_slice(b"]}\n");
            }
        }
    }

    fn write(&mut self) -> Result<(), RouteError> {
        self.output.write_all(&self.text).map_err(RouteError::Write)?;
        self.text.clear();
        Ok(())
    }
}

fn write_tsv(text: &mut Vec<u8>, key: &[u8], owner: Option<&Node>) {
    let id = owner.map_or(&[][..], |node| node.id().as_bytes());
    // One growth check for the four pieces.
    text.reserve(key.len() + id.len() + 2);
    text.extend_from_slice(key);
    text.push(b'\t');
    text.extend_from_slice(id);
    text.push(b'\n');
}

fn write_json_key(text: &mut Vec<u8>, key: &[u8]) {
    match str::from_utf8(key) {
        Ok(key) => {
            text.extend_from_slice(b"{\"key\":");
            write_json_text(text, key);
        }
        Err(_) => {
            text.extend_from_slice(b"{\"key_hex\":\"");
            for byte in key {
                text.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
            }
            text.push(b'"');
        }
    }
}

fn write_json(text: &mut Vec<u8>, key: &[u8], owner: Option<&Node>) {
    write_json_key(text, key);
    text.extend_from_slice(b",\"node\":");
    match owner {
        Some(node) => write_json_text(text, node.id().as_str()),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b"}\n");
}

fn write_json_text(text: &mut Vec<u8>, value: &str) {
    serde_json::to_writer(text, value).expect("text has a JSON form, and a Vec takes all bytes");
}
