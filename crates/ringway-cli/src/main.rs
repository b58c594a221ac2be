//! The ringway tool; all of it is in the library beside, which the bench runs too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ringway_cli::run(std::env::args_os())
}
