//! Why a command ends early.

use std::fmt;
use std::io;

use ringway::DeltaError;
use ringway::cluster::ClusterError;

use crate::import::ImportError;

/// Why a command ends early. All but the last are printed, and exit with 1 where nothing else is said.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The cluster file was refused.
    Cluster(ClusterError),
    /// The nodes of a cluster file make no ring.
    Ring {
        /// The file.
        file: String,
        /// Why.
        error: DeltaError,
    },
    /// The scheme of a cluster file isn't among those that this tool was made with.
    UnknownScheme {
        /// The file.
        file: String,
        /// The scheme.
        scheme: &'static str,
    },
    /// A file can't be used, for a reason that names the place if there is one.
    File {
        /// The file.
        file: String,
        /// The line, from 1, if the reason is about one.
        line: Option<u64>,
        /// What is wrong.
        reason: String,
    },
    /// A configuration can't be imported.
    Import {
        /// The file.
        file: String,
        /// Why.
        error: ImportError,
    },
    /// The arguments contradict each other or the scheme; exits with 64.
    Usage(String),
    /// The output can't be written.
    Output(io::Error),
    /// A check failed.
    Check(String),
    /// Whoever read the output has gone: no failure, but an end.
    NobodyReads,
}

impl Failure {
    /// A failure to read a file.
    pub(crate) fn reading(file: &str, error: &io::Error) -> Self {
        Self::File { file: file.to_owned(), line: None, reason: format!("can't be read: {error}") }
    }

    /// A failure to write the output.
    pub(crate) fn writing(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::NobodyReads } else { Self::Output(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(error) => error.fmt(f),
            Self::Ring { file, error } => write!(f, "{file}: {error}"),
            Self::UnknownScheme { file, scheme } => {
                write!(f, "{file}: scheme \"{scheme}\" is unknown to this tool; update it")
            }
            Self::File { file, line: Some(line), reason } => write!(f, "{file}:{line}: {reason}"),
            Self::File { file, line: None, reason } => write!(f, "{file}: {reason}"),
            // With a line it begins with that, as `file:line: reason`.
            Self::Import { file, error: error @ ImportError { line: Some(_), .. } } => write!(f, "{file}:{error}"),
            Self::Import { file, error } => write!(f, "{file}: {error}"),
            Self::Usage(reason) => f.write_str(reason),
            Self::Output(error) => write!(f, "standard output: can't be written: {error}"),
            Self::Check(reason) => write!(f, "check failed: {reason}"),
            Self::NobodyReads => write!(f, "standard output: nobody reads it any more"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cluster(error) => Some(error),
            Self::Ring { error, .. } => Some(error),
            Self::Import { error, .. } => Some(error),
            Self::Output(error) => Some(error),
            Self::UnknownScheme { .. } | Self::File { .. } | Self::Usage(_) | Self::Check(_) | Self::NobodyReads => {
                None
            }
        }
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}
