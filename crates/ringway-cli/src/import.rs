//! `ringway import`: other systems' configurations as cluster files.
//!
//! What can't be reproduced is an error with its line, never left out in silence. Each format has a file; all give one
//! `Imported`, whose table is built once before anything is printed, so that what is printed can be routed by.

mod envoy;
mod haproxy;
mod imported;
mod nginx;
mod problem;
#[cfg(test)]
mod tests;
mod twemproxy;
mod yaml;

pub use problem::{ImportError, ImportProblem};

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use ringway::Limits;
use ringway::cluster::Cluster;
use ringway::layout::Layout;
use ringway::scheme::{AnyScheme, Scheme};

use crate::input::{read_text, text_of};
use crate::tables::{Visit, with_table};
use crate::{Failure, Layouts, say};
use imported::Imported;

/// Turn another system's configuration into a cluster file
///
/// Reads FILE and prints a cluster file on standard output, such that `ringway route --cluster` with it places keys as
/// that system does.
///
/// nginx: an `upstream` block with `hash … consistent`, alone or in a whole configuration. Included files aren't read.
///
/// twemproxy: a pool with the distribution ketama.
///
/// haproxy: a `backend` or `listen` section with `hash-type consistent`, and the `defaults` before it.
///
/// envoy: a STATIC cluster with RING_HASH, or a STRICT_DNS one of IP addresses, as YAML or JSON, alone, in a list, in a
/// bootstrap file or in a discovery response.
///
/// What can't be reproduced, such as `least_conn`, is an error with its line. What the file decides outside the ring, such
/// as which part of a request is the key, is noted on standard error.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Whose configuration it is
    #[arg(value_enum)]
    format: Format,
    /// The file; - is standard input
    file: PathBuf,
    /// Which upstream, pool, backend or cluster, if there are several; http/NAME or stream/NAME if nginx has two of a name
    #[arg(long)]
    name: Option<String>,
    /// Print JSON, not TOML
    #[arg(long)]
    json: bool,
}

/// Whose configuration it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// An upstream block of nginx
    Nginx,
    /// A pool of twemproxy (nutcracker)
    Twemproxy,
    /// A backend of HAProxy
    Haproxy,
    /// A cluster of Envoy
    Envoy,
}

/// Runs the command.
///
/// # Errors
/// A [`Failure`] about the file or the output.
pub fn run(args: &Args) -> Result<(), Failure> {
    let limit = Cluster::MAX_FILE_BYTES;
    let (file, text) = if args.file.as_os_str() == "-" {
        let file = "standard input".to_owned();
        let text = text_of(io::stdin().lock(), &file, limit)?;
        (file, text)
    } else {
        let file = args.file.display().to_string();
        let text = read_text(&args.file, &file, limit)?;
        (file, text)
    };
    let (cluster, notes) = convert(args.format, &file, &text, args.name.as_deref(), Limits::DEFAULT)?;
    for (line, note) in &notes {
        say(format_args!("note: {file}:{line}: {note}"));
    }
    let text = if args.json { cluster.to_json() } else { cluster.to_toml() };
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::writing)
}

/// Turns a configuration into a cluster whose table builds within `limits`, and notes by line on what it decides outside the
/// ring. `file` names it in errors, `name` chooses where it holds several.
///
/// # Errors
/// A [`Failure`] about the text.
pub fn convert(
    format: Format,
    file: &str,
    text: &str,
    name: Option<&str>,
    limits: Limits,
) -> Result<(Cluster, Vec<(usize, String)>), Failure> {
    let mut imported = read(format, text, name).map_err(|error| Failure::Import { file: file.to_owned(), error })?;
    let notes = std::mem::take(&mut imported.notes);
    Ok((cluster(file, imported, limits)?, notes))
}

fn read(format: Format, text: &str, name: Option<&str>) -> Result<Imported, ImportError> {
    match format {
        Format::Nginx => nginx::import(text, name),
        Format::Twemproxy => twemproxy::import(text, name),
        Format::Haproxy => haproxy::import(text, name),
        Format::Envoy => envoy::import(text, name),
    }
}

/// The cluster, once its table has been built.
fn cluster(file: &str, imported: Imported, limits: Limits) -> Result<Cluster, Failure> {
    struct Built;
    impl Visit for Built {
        type Output = ();
        fn visit<S: Scheme, L: Layout<S::Point>>(self, _: &ringway::Table<(), S, L>) {}
    }
    let Imported { scheme: name, mut options, nodes, .. } = imported;
    let refused = |reason: String| Failure::File { file: file.to_owned(), line: None, reason };
    let scheme = match AnyScheme::named(name, &mut options) {
        Ok(Some(scheme)) => scheme,
        Ok(None) => return Err(Failure::UnknownScheme { file: file.to_owned(), scheme: name }),
        Err(error) => return Err(refused(error.to_string())),
    };
    if let Some((option, _)) = options.iter().next() {
        return Err(refused(format!("scheme \"{name}\" doesn't take the option \"{option}\"; update the tool")));
    }
    with_table(file, scheme.clone(), nodes.clone(), Layouts::Sorted, limits, Built)?;
    Ok(Cluster::new(scheme, nodes))
}
