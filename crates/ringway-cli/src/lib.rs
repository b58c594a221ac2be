//! The ringway tool: runs, routes with and checks consistent-hash rings.
//!
//! A thin program on the library `ringway`, one module per command. It is a library only so that the bench can run what
//! the binary runs; nothing else should depend on it.
//!
//! Exit codes: 0, also when the reader of the output goes away early; 64 for wrong usage; 2 from `plan` if keys move; 1 for
//! every other error and for a check that failed, with the reason on stderr as `ringway: <file>: …`.

pub mod balance;
mod failure;
pub mod import;
mod input;
pub mod live;
pub mod naive;
pub mod plan;
pub mod route;
mod scheme;
mod tables;
pub mod verify;

pub use failure::Failure;
pub use input::{Keys, Layouts, SAMPLE_CLUSTER, SAMPLE_KEYS, load_cluster};
pub use scheme::SchemeArgs;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "ringway", version, about, subcommand_required = true, arg_required_else_help = false, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Import(import::Args),
    Live(live::Args),
    Route(route::Args),
    Plan(plan::Args),
    Balance(balance::Args),
    Verify(verify::Args),
}

const EXIT_CODES: &str =
    "Exit codes: 0, 64 for wrong usage, 1 for any other error and for a check that failed; plan: 2 if keys move.";

/// A plan in which keys move.
const MOVES: u8 = 2;

/// Wrong usage, as `EX_USAGE` of BSD's `sysexits.h`.
const USAGE: u8 = 64;

/// Runs the tool with the process's arguments, the first of which is the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                // Nobody is left to tell if this can't be printed.
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            let message = error.to_string();
            say(format_args!("{}", message.strip_prefix("error: ").unwrap_or(&message).trim_end()));
            return ExitCode::from(USAGE);
        }
    };
    let result = match &cli.command {
        Command::Import(args) => import::run(args).map(|()| ExitCode::SUCCESS),
        Command::Live(args) => live::run(args).map(|()| ExitCode::SUCCESS),
        Command::Route(args) => route::run(args).map(|()| ExitCode::SUCCESS),
        Command::Plan(args) => {
            plan::run(args).map(|moves| if moves { ExitCode::from(MOVES) } else { ExitCode::SUCCESS })
        }
        Command::Balance(args) => balance::run(args).map(|()| ExitCode::SUCCESS),
        Command::Verify(args) => verify::run(args).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(Failure::NobodyReads) => ExitCode::SUCCESS,
        Err(failure) => {
            say(format_args!("{failure}"));
            if matches!(failure, Failure::Usage(_)) { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
        }
    }
}

/// Writes a message to standard error. If nobody can read it, the exit code says enough.
fn say(message: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "ringway: {message}");
}
