//! The states a node can be in: one is configured, one is live. Rank 1.

use std::fmt;
use std::str::FromStr;

/// Whether a node takes traffic.
///
/// A node has two. The *configured* state is part of its description ([`NodeInfo::state`](crate::NodeInfo::state)): it is
/// set by a delta, and in the spec fingerprint. The *live* one ([`Node::health`](crate::Node::health)) is set by any thread
/// that holds the node, in no fingerprint, and what routing asks. Entering a ring, and a delta that changes the configured
/// state, set the live one to it.
///
/// Schemes that reproduce a system which rebuilds its ring without its absent servers
/// ([`OutOfService::Rebuild`](crate::scheme::OutOfService)) give no points to a node that is *configured*
/// [`Down`](Self::Down); with all others, the native one among them, the state moves no point. The live state moves a point
/// with no scheme: the keys of a node that is marked down go on to the next node on the ring as it is. So with schemes that
/// rebuild, the two place the keys of a node that is down differently, and it is the configured state that agrees with the
/// system.
///
/// ```
/// use ringway::State;
/// assert_eq!("draining".parse(), Ok(State::Draining));
/// assert_eq!(State::Down.to_string(), "down");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum State {
    /// Takes all traffic.
    #[default]
    Up,
    /// Takes what it has, and nothing new.
    Draining,
    /// Takes nothing.
    Down,
}

impl State {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Up, Self::Draining, Self::Down];

    /// Returns the name: `up`, `draining` or `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Draining => "draining",
            Self::Down => "down",
        }
    }

    /// The byte that stands for it in the spec fingerprint.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Up => 0,
            Self::Draining => 1,
            Self::Down => 2,
        }
    }

    /// The state of a byte that was read.
    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == byte)
    }

    /// The state of that byte.
    #[inline(always)]
    pub(super) const fn of_code(code: u64) -> Self {
        match code {
            0 => Self::Up,
            1 => Self::Draining,
            _ => Self::Down,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = ParseStateError;

    fn from_str(text: &str) -> Result<Self, ParseStateError> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or(ParseStateError)
    }
}

/// A text is not the name of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseStateError;

impl fmt::Display for ParseStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a state is up, draining or down")
    }
}

impl std::error::Error for ParseStateError {}

/// What is routed: what a draining node takes, and what it doesn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    Any,
    New,
}

impl Traffic {
    /// Whether a node in this state takes it.
    #[inline(always)]
    pub(crate) fn goes_to(self, health: State) -> bool {
        match self {
            Self::Any => health != State::Down,
            Self::New => health == State::Up,
        }
    }
}
