//! Why a configuration can't be imported.

use std::fmt;

/// Why a configuration can't be imported, and the line that says so.
#[derive(Debug)]
pub struct ImportError {
    /// The line, from 1; `None` if the error is about the whole file.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: ImportProblem,
}

/// What is wrong with a configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportProblem {
    /// It isn't in the format.
    Syntax(String),
    /// It asks for what ringway can't do.
    NotReproducible {
        /// What it asks for.
        what: String,
        /// Why not.
        why: String,
    },
    /// There is a name that the format doesn't have here, or one whose meaning for placement isn't known.
    Unknown {
        /// What kind of name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Something that must be there isn't.
    Missing(String),
    /// Something stands there twice.
    Repeated {
        /// What.
        what: String,
        /// The line where it stands first.
        first: usize,
    },
    /// A value isn't one that the format has.
    Value {
        /// Whose value.
        of: String,
        /// The value.
        value: String,
        /// What it may be.
        wanted: String,
    },
    /// There are several, and none was picked; or none of that name.
    Pick {
        /// What kind of part of the file.
        kind: &'static str,
        /// The name that was asked for.
        asked: Option<String>,
        /// The names there are.
        names: Vec<String>,
    },
}

impl ImportProblem {
    /// The error of this problem in a line.
    pub(super) fn at(self, line: usize) -> ImportError {
        ImportError { line: Some(line), problem: self }
    }

    pub(super) fn not_reproducible(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotReproducible { what: what.into(), why: why.into() }
    }

    pub(super) fn value(of: impl Into<String>, value: &str, wanted: impl Into<String>) -> Self {
        Self::Value { of: of.into(), value: shown(value), wanted: wanted.into() }
    }
}

impl From<ImportProblem> for ImportError {
    fn from(problem: ImportProblem) -> Self {
        Self { line: None, problem }
    }
}

/// The text as a message quotes it: its beginning, and no control characters.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => f.write_str(message),
            Self::NotReproducible { what, why } => write!(f, "{what} can't be reproduced: {why}"),
            Self::Unknown { kind, name } => {
                write!(
                    f,
                    "unknown {kind} \"{name}\": what it means for placement can't be told; take it out if nothing"
                )
            }
            Self::Missing(what) => write!(f, "{what}"),
            Self::Repeated { what, first } => write!(f, "{what} stands in line {first} already"),
            Self::Value { of, value, wanted } => write!(f, "{of}: \"{value}\" isn't {wanted}"),
            Self::Pick { kind, asked: Some(asked), names } if names.is_empty() => {
                write!(f, "there is no {kind} \"{asked}\", nor any other")
            }
            Self::Pick { kind, asked: None, names } if names.is_empty() => write!(f, "there is no {kind} in it"),
            Self::Pick { kind, asked: Some(asked), names } if names.contains(asked) => {
                write!(f, "there is more than one {kind} \"{asked}\"; leave one")
            }
            Self::Pick { kind, asked, names } => {
                match asked {
                    Some(asked) => write!(f, "there is no {kind} \"{asked}\"; ")?,
                    None => write!(f, "there is more than one {kind}; pick by --name; ")?,
                }
                const SHOWN: usize = 20;
                let more = if names.len() > SHOWN { ", …" } else { "" };
                write!(f, "there are {}{more}", names[..names.len().min(SHOWN)].join(", "))
            }
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{line}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}
