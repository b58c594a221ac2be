//! One error enum per operation. Rank 0.
//!
//! Every variant carries the offending value and the limit it broke; messages say what to do. Text that came from
//! outside is cut to `SHOWN_BYTES` before it is kept, so that an error about a name of a gigabyte is small.

use std::fmt;

/// How much of an offending text an error keeps, in bytes.
pub(crate) const SHOWN_BYTES: usize = 128;

/// Cuts `text` to `SHOWN_BYTES` at a character boundary, with an ellipsis if anything went.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.to_owned();
    }
    let end = (0..=SHOWN_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The same with control characters escaped, for messages that quote it as it is: they end in terminals and logs.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in cut(text).chars() {
        if character.is_control() { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    shown
}

/// Why a description of a node was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeError {
    /// The id is the empty string.
    EmptyId,
    /// The id is longer than [`Limits::MAX_ID_BYTES`](crate::Limits::MAX_ID_BYTES).
    IdTooLong {
        /// The beginning of the id.
        id: String,
        /// Its length in bytes.
        bytes: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// The weight is above the ring's limit.
    WeightTooLarge {
        /// The node.
        id: String,
        /// Its weight.
        weight: u32,
        /// The largest that is taken.
        limit: u32,
    },
    /// A text of the node (address, zone label, attribute name or value) is too long.
    TextTooLong {
        /// The node.
        id: String,
        /// Which text: `"address"`, `"zone"`, `"attribute name"` or `"attribute value"`.
        field: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// The node has more zone labels or attributes than are taken.
    TooMany {
        /// The node.
        id: String,
        /// What there are too many of: `"zone labels"` or `"attributes"`.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The most that are taken.
        limit: usize,
    },
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyId => write!(f, "node id is empty; give it at least one character"),
            Self::IdTooLong { id, bytes, limit } => {
                write!(f, "node id \"{id}\" has {bytes} bytes, the limit is {limit}; shorten it")
            }
            Self::WeightTooLarge { id, weight, limit } => {
                write!(f, "node \"{id}\": weight {weight} is above the limit of {limit}; scale the weights down")
            }
            Self::TextTooLong { id, field, bytes, limit } => {
                write!(f, "node \"{id}\": {field} has {bytes} bytes, the limit is {limit}; shorten it")
            }
            Self::TooMany { id, what, count, limit } => {
                write!(f, "node \"{id}\": {count} {what} are above the limit of {limit}; remove some")
            }
        }
    }
}

impl std::error::Error for NodeError {}

/// Why a scheme refused a node or a list of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemeError {
    /// The node that was refused, where it is one.
    pub id: Option<String>,
    /// What is wrong and what to do, in the style of the other messages.
    pub reason: String,
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.id {
            Some(id) => write!(f, "node \"{id}\": {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for SchemeError {}

/// Why a batch of changes was refused, or a table not built. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaError {
    /// A node description is wrong in itself.
    Node(NodeError),
    /// An added id is already in the table, or is added twice in the batch.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// An id to remove or change is not in the table.
    UnknownId {
        /// The id.
        id: String,
    },
    /// One id is both added and removed, or both added or removed and changed. A batch is a set of changes, not a
    /// script, so that has no meaning.
    Conflict {
        /// The id.
        id: String,
    },
    /// One field of one node is changed twice in the batch.
    ChangedTwice {
        /// The node.
        id: String,
        /// The field: `"weight"`, `"active points"`, `"address"`, `"zone"`, `"attributes"` or `"payload"`.
        field: &'static str,
    },
    /// The list order that goes with the batch doesn't name every node exactly once.
    OrderMismatch {
        /// The first id that is missing, unknown or named twice.
        id: String,
    },
    /// A pin's node isn't in the ring after the batch.
    PinnedToNobody {
        /// The node's id.
        id: String,
    },
    /// The batch has too many changes.
    TooManyChanges {
        /// How many it has.
        changes: usize,
        /// The limit.
        limit: usize,
    },
    /// The ring would have too many nodes.
    TooManyNodes {
        /// How many it would have.
        nodes: usize,
        /// The limit.
        limit: usize,
    },
    /// The ring would have too many points.
    TooManyPoints {
        /// The node with which the sum, taken in the order of [`Table::nodes`](crate::Table::nodes), passes the limit.
        id: String,
        /// The points up to and with that node.
        points: u64,
        /// The limit.
        limit: u64,
    },
    /// The scheme refused the nodes.
    Scheme(SchemeError),
    /// The scheme broke its contract: it gave other points for a node than when it was added, fewer or more points than
    /// asked for, or another number of assignments than nodes.
    SchemeNotPure {
        /// The scheme's name.
        scheme: String,
        /// The node, where it is one.
        id: Option<String>,
    },
    /// Memory for the new table could not be had.
    OutOfMemory {
        /// How many points the table would have.
        points: usize,
    },
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(error) => error.fmt(f),
            Self::DuplicateId { id } => write!(f, "node \"{id}\" is there already; change it or use another id"),
            Self::UnknownId { id } => write!(f, "node \"{id}\" is not in the ring; name one that is"),
            Self::Conflict { id } => {
                write!(f, "node \"{id}\" is added, removed or changed by more than one entry; use one batch for each")
            }
            Self::ChangedTwice { id, field } => {
                write!(f, "node \"{id}\": {field} is changed twice in one batch; keep one of the changes")
            }
            Self::OrderMismatch { id } => {
                write!(f, "the list order doesn't name node \"{id}\" exactly once; list every node once")
            }
            Self::PinnedToNobody { id } => {
                write!(f, "a pin names node \"{id}\", which is not in the ring; add it or leave the pin out")
            }
            Self::TooManyChanges { changes, limit } => {
                write!(f, "{changes} changes in one batch are above the limit of {limit}; split the batch")
            }
            Self::TooManyNodes { nodes, limit } => {
                write!(f, "{nodes} nodes are above the limit of {limit}; raise the limit or split the ring")
            }
            Self::TooManyPoints { id, points, limit } => write!(
                f,
                "the nodes up to \"{id}\" have {points} points together, above the limit of {limit}; lower weights or \
                 points per weight, or raise the limit"
            ),
            Self::Scheme(error) => error.fmt(f),
            Self::SchemeNotPure { scheme, id: Some(id) } => {
                write!(
                    f,
                    "scheme \"{scheme}\" gave node \"{id}\" other points than before, or not as many as asked for; make it a \
                     pure function"
                )
            }
            Self::SchemeNotPure { scheme, id: None } => {
                write!(f, "scheme \"{scheme}\" didn't assign points to each node exactly once; make it do so")
            }
            Self::OutOfMemory { points } => {
                write!(f, "no memory for a table of {points} points; lower the number of points")
            }
        }
    }
}

// No `source`: the messages of inner errors are part of this one's, and reports that print the chain would repeat them.
impl std::error::Error for DeltaError {}

impl From<NodeError> for DeltaError {
    fn from(error: NodeError) -> Self {
        Self::Node(error)
    }
}

impl From<SchemeError> for DeltaError {
    fn from(error: SchemeError) -> Self {
        Self::Scheme(error)
    }
}

/// Why a pin was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// The id of the pin's node is malformed.
    Node(NodeError),
    /// The key or prefix is too long.
    TooLong {
        /// Its beginning, with bytes that aren't printable escaped.
        key: String,
        /// Its length in bytes.
        bytes: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// The key or prefix is pinned already.
    Twice {
        /// The key or prefix, likewise.
        key: String,
    },
    /// There are too many pins.
    TooMany {
        /// How many there would be.
        pins: usize,
        /// The most there may be.
        limit: usize,
    },
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(error) => error.fmt(f),
            Self::TooLong { key, bytes, limit } => {
                write!(f, "the pin of \"{key}\" has {bytes} bytes, the limit is {limit}; pin a prefix")
            }
            Self::Twice { key } => write!(f, "\"{key}\" is pinned twice; keep one of the pins"),
            Self::TooMany { pins, limit } => write!(f, "{pins} pins are above the limit of {limit}; pin prefixes"),
        }
    }
}

impl std::error::Error for PinError {}

impl From<NodeError> for PinError {
    fn from(error: NodeError) -> Self {
        Self::Node(error)
    }
}

/// A sketch of no counters, or of too many, was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchError {
    /// How many counters.
    pub counters: u32,
    /// The most there may be; the least is 1.
    pub limit: u32,
}

impl fmt::Display for SketchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} counters are out of range; give a number from 1 to {}", self.counters, self.limit)
    }
}

impl std::error::Error for SketchError {}

/// Why a wait for a version ended without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// The time was up.
    TimedOut {
        /// The version waited for.
        wanted: u64,
        /// The version published last.
        current: u64,
    },
    /// The writer is gone, so the version can never come.
    WriterGone {
        /// The version waited for.
        wanted: u64,
        /// The last version there will be.
        current: u64,
    },
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { wanted, current } => {
                write!(f, "version {wanted} was not published in time, the ring is at {current}; wait longer")
            }
            Self::WriterGone { wanted, current } => {
                write!(f, "version {wanted} will not come: the writer is gone and the last version is {current}")
            }
        }
    }
}

impl std::error::Error for WaitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shown("short"), "short");
        let long = "ä".repeat(1_000_000);
        let cut = shown(&long);
        assert!(cut.len() <= SHOWN_BYTES + '…'.len_utf8());
        assert!(cut.starts_with('ä') && cut.ends_with('…'));
        assert_eq!(shown("a\n\u{1b}[31mb ä\"\u{9b}"), "a\\n\\u{1b}[31mb ä\"\\u{9b}");
    }
}
