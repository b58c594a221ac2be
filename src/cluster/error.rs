//! Why a cluster file was refused, and where.

use std::fmt;
use std::io;

use crate::error::{NodeError, PinError, cut};
use crate::hash::{AnyScheme, OptionError};

/// Why a cluster file was refused, with the file, the place in it, the node and the field.
///
/// Shown as `file:line:column: node "id": field: problem`, without the parts that aren't known.
#[derive(Debug)]
pub struct ClusterError(Box<Details>);

// Boxed, so that a result that holds the error isn't ten words wide.
#[derive(Debug)]
struct Details {
    file: String,
    place: Option<Place>,
    node: Option<Which>,
    field: Option<String>,
    problem: ClusterProblem,
}

/// Which node of the file: its number, from 0, and its id where that is known.
#[derive(Debug, Clone)]
pub(super) struct Which {
    pub(super) index: usize,
    pub(super) id: Option<String>,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl Place {
    /// The place of the byte `at` of `text`; past the end, that of the end.
    pub(super) fn of(text: &str, at: usize) -> Self {
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// What is wrong with a cluster file.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClusterProblem {
    /// The file can't be read.
    Read {
        /// What the system says.
        error: io::Error,
    },
    /// The file is too large.
    TooLarge {
        /// Its length; for a pipe, that of the part that was read.
        bytes: u64,
        /// The most that is taken.
        limit: u64,
    },
    /// The file isn't UTF-8.
    NotUtf8 {
        /// The first byte that isn't part of a character.
        byte: u8,
    },
    /// The text isn't TOML or JSON.
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// A table has a field that the schema doesn't know.
    UnknownField {
        /// Its name.
        name: String,
        /// The fields that the table may have.
        known: &'static [&'static str],
    },
    /// A field that must be there isn't.
    MissingField {
        /// Its name.
        name: &'static str,
    },
    /// A field stands twice in one table.
    RepeatedField {
        /// Its name.
        name: String,
    },
    /// A value is of the wrong type.
    WrongType {
        /// The value, as far as it can be shown, and what it is.
        found: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// A number is negative or too large.
    OutOfRange {
        /// The number, as the file has it.
        value: String,
        /// The largest that is taken; the smallest is 0.
        limit: u32,
    },
    /// The file has too many nodes.
    TooManyNodes {
        /// How many.
        nodes: usize,
        /// The most that are taken.
        limit: usize,
    },
    /// Two nodes have one id.
    DuplicateId {
        /// The id.
        id: String,
        /// Where it stands first.
        first: Place,
    },
    /// The id is empty, or a text or the number of texts is beyond its limit.
    Node(NodeError),
    /// A pin was refused.
    Pin(PinError),
    /// A pin names a node that isn't in the file.
    PinnedToNobody {
        /// The node's id.
        id: String,
    },
    /// A pin has neither a key nor a prefix, or more than one of them.
    PinOfNothing,
    /// A text isn't bytes in hexadecimal digits.
    NotHex {
        /// The text.
        text: String,
    },
    /// There is no such state.
    UnknownState {
        /// The name that the file gives.
        name: String,
    },
    /// There is no such scheme.
    UnknownScheme {
        /// The name that the file gives.
        name: String,
    },
    /// The scheme refuses the value of an option, or needs one that isn't there.
    Option(OptionError),
    /// The scheme doesn't take such an option.
    UnknownOption {
        /// The option's name.
        name: String,
        /// The scheme's.
        scheme: &'static str,
    },
}

impl ClusterError {
    pub(super) fn new(file: &str, problem: ClusterProblem) -> Self {
        Self(Box::new(Details { file: file.to_owned(), place: None, node: None, field: None, problem }))
    }

    pub(super) fn at(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    pub(super) fn with_node(mut self, node: Option<Which>) -> Self {
        self.0.node = node;
        self
    }

    pub(super) fn with_field(mut self, field: &str) -> Self {
        self.0.field = Some(cut(field));
        self
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Returns the place in the file, if the error is about one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.0.place
    }

    /// Returns the number of the node, counted from 0, if the error is about one.
    #[must_use]
    pub fn node_index(&self) -> Option<usize> {
        self.0.node.as_ref().map(|node| node.index)
    }

    /// Returns the beginning of the node's id, if it is known.
    #[must_use]
    pub fn node_id(&self) -> Option<&str> {
        self.0.node.as_ref()?.id.as_deref()
    }

    /// Returns the field, if the error is about one: a name such as `"weight"`, or `"attributes.rack"`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn problem(&self) -> &ClusterProblem {
        &self.0.problem
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { file, place, node, field, problem } = &*self.0;
        write!(f, "{file}:")?;
        if let Some(Place { line, column }) = place {
            write!(f, "{line}:{column}:")?;
        }
        // A node's own error names the node and the field.
        if !matches!(problem, ClusterProblem::Node(NodeError::TextTooLong { .. } | NodeError::TooMany { .. })) {
            match node {
                Some(Which { id: Some(id), .. }) => write!(f, " node \"{}\":", id.escape_debug())?,
                Some(Which { index, id: None }) => write!(f, " node {} of the list:", index + 1)?,
                None => {}
            }
            if let Some(field) = field {
                write!(f, " {}:", field.escape_debug())?;
            }
        }
        write!(f, " {problem}")
    }
}

impl fmt::Display for ClusterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { error } => write!(f, "can't be read: {error}"),
            Self::TooLarge { bytes, limit } => {
                write!(f, "the file has {bytes} bytes or more, the limit is {limit}; split the cluster")
            }
            Self::NotUtf8 { byte } => write!(f, "byte 0x{byte:02x} is not part of UTF-8 text; save the file as UTF-8"),
            Self::Syntax { message } => f.write_str(message),
            Self::UnknownField { name, known } => {
                write!(f, "unknown field \"{}\"; the fields here are {}", name.escape_debug(), known.join(", "))
            }
            Self::MissingField { name } => write!(f, "field \"{name}\" is missing; add it"),
            Self::RepeatedField { name } => {
                write!(f, "field \"{}\" stands twice in one table; keep one", name.escape_debug())
            }
            Self::WrongType { found, wanted } => write!(f, "{found}; give {wanted}"),
            Self::OutOfRange { value, limit } => {
                write!(f, "{value} is out of range; give an integer from 0 to {limit}")
            }
            Self::TooManyNodes { nodes, limit } => {
                write!(f, "{nodes} nodes are above the limit of {limit}; split the cluster")
            }
            Self::DuplicateId { id, first } => {
                let Place { line, column } = first;
                write!(f, "\"{}\" is the id of the node at {line}:{column} already; give another", id.escape_debug())
            }
            Self::Node(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::PinnedToNobody { id } => {
                write!(f, "node \"{}\" is not in the file; add it or leave the pin out", id.escape_debug())
            }
            Self::PinOfNothing => {
                write!(f, "a pin is of one key or prefix; give one of key, key_hex, prefix, prefix_hex")
            }
            Self::NotHex { text } => {
                write!(f, "\"{}\" is not bytes; give two hexadecimal digits for each", text.escape_debug())
            }
            Self::UnknownState { name } => {
                write!(f, "unknown state \"{}\"; the states are up, draining, down", name.escape_debug())
            }
            Self::UnknownScheme { name } => {
                let known = AnyScheme::names().collect::<Vec<_>>().join(", ");
                write!(f, "unknown scheme \"{}\"; the schemes are {known}", name.escape_debug())
            }
            Self::Option(error) => f.write_str(&error.reason),
            Self::UnknownOption { name, scheme } => {
                write!(f, "scheme \"{scheme}\" takes no option \"{}\"; remove it", name.escape_debug())
            }
        }
    }
}

impl std::error::Error for ClusterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.problem {
            ClusterProblem::Read { error } => Some(error),
            ClusterProblem::Node(error) => Some(error),
            ClusterProblem::Option(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_1() {
        let text = "ab\nä\r\n\nö=1";
        for (at, line, column) in
            [(0, 1, 1), (2, 1, 3), (3, 2, 1), (4, 2, 1), (5, 2, 2), (7, 3, 1), (10, 4, 2), (99, 4, 4)]
        {
            assert_eq!(Place::of(text, at), Place { line, column }, "byte {at}");
        }
        assert_eq!(Place::of("", 0), Place { line: 1, column: 1 });
    }
}
