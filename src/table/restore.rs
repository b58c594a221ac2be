//! The other way from bytes to a table. What `dump.rs` says of the format is read here, and nothing is believed: every count
//! is held against the limits and against what is left of the bytes before memory is taken for it.

use std::fmt;

use super::dump::{FORMAT, MAGIC};
use super::{Options, Table};
use crate::delta::Delta;
use crate::error::{DeltaError, PinError, shown};
use crate::hash::{Digester, Fingerprint, Scheme};
use crate::layout::Layout;
use crate::node::{Limits, NodeSpec, State};
use crate::pins::Pins;
use crate::point::{Point, index, position};

/// The bytes behind the points: two fingerprints and the checksum.
const END: usize = 48;
/// A node takes at least so many bytes, a pin and a point too.
const LEAST_NODE: usize = 27;
const LEAST_PIN: usize = 8;
const LEAST_POINT: usize = 2;

impl<T, S: Scheme, L: Layout<S::Point>> Table<T, S, L> {
    /// Reads what [`dump`](Self::dump) wrote.
    pub(crate) fn restored(
        scheme: S,
        options: Options,
        limits: &Limits,
        bytes: &[u8],
        mut payload: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Result<Self, RestoreError> {
        let mut from = Bytes { all: bytes, at: 0 };
        if from.take(MAGIC.len())? != MAGIC {
            return Err(RestoreError::NoDump);
        }
        let format = from.number()?;
        if format != FORMAT {
            return Err(RestoreError::Format { format, known: FORMAT });
        }
        // Before anything is believed: what comes after is what was written, or made to look like it.
        let Some(end) = bytes.len().checked_sub(END).filter(|&end| end >= from.at) else {
            return Err(from.truncated(END));
        };
        let (body, checksum) = bytes.split_at(bytes.len() - 16);
        if Digester::dump().bytes(body).digest() != checksum {
            return Err(RestoreError::Damaged);
        }
        from.all = &bytes[..end];
        let bits = from.number()?;
        if bits != S::Point::BITS {
            return Err(RestoreError::Width { bits, expected: S::Point::BITS });
        }
        let mut option_bytes = Vec::new();
        scheme.option_bytes(&mut option_bytes);
        let (id, written) = (from.text()?, from.text()?);
        if id != scheme.id().as_bytes() || written != option_bytes {
            let written = shown(&String::from_utf8_lossy(id));
            return Err(RestoreError::Scheme { written, expected: scheme.id().to_owned() });
        }

        let [nodes, points, keys, prefixes] = [from.number()?, from.number()?, from.number()?, from.number()?];
        if nodes > limits.nodes() {
            let (nodes, limit) = (index(nodes), index(limits.nodes()));
            return Err(RestoreError::Refused(DeltaError::TooManyNodes { nodes, limit }));
        }
        if points > limits.points() {
            return Err(RestoreError::TooManyPoints { points, limit: limits.points() });
        }
        let mut delta = Delta::new();
        from.expect(index(nodes), LEAST_NODE)?;
        for _ in 0..nodes {
            delta = delta.add(from.node(&mut payload)?);
        }
        delta = delta.with_pins(from.pins(keys, prefixes)?);
        let known = from.points::<S::Point>(points)?;
        if from.at != end {
            return Err(from.wrong("what comes after the points"));
        }

        let empty = Self::empty_with(scheme, options);
        let table = match empty.apply_known(delta, limits, &known) {
            Ok(Some(applied)) => Self { version: 0, ..applied.enrolled() },
            Ok(None) => empty,
            Err(DeltaError::SchemeNotPure { .. }) => return Err(RestoreError::Points),
            Err(error) => return Err(RestoreError::Refused(error)),
        };
        let print = |at: usize| -> Fingerprint {
            let mut print = [0; 16];
            print.copy_from_slice(&bytes[at..at + 16]);
            Fingerprint::from_bytes(print)
        };
        let (written, found) = ([print(end), print(end + 16)], [table.placement, table.spec]);
        if written == found {
            Ok(table)
        } else {
            Err(RestoreError::Fingerprint { written: written[1], found: found[1] })
        }
    }
}

/// Bytes that are read from the front.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn left(&self) -> usize {
        self.all.len() - self.at
    }

    fn truncated(&self, needed: usize) -> RestoreError {
        RestoreError::Truncated { at: self.at, needed, left: self.left() }
    }

    fn wrong(&self, what: &'static str) -> RestoreError {
        RestoreError::Wrong { at: self.at, what }
    }

    /// So many things of at least `least` bytes each are there.
    fn expect(&self, count: usize, least: usize) -> Result<(), RestoreError> {
        match count.checked_mul(least) {
            Some(needed) if needed <= self.left() => Ok(()),
            needed => Err(self.truncated(needed.unwrap_or(usize::MAX))),
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], RestoreError> {
        self.expect(len, 1)?;
        let taken = &self.all[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, RestoreError> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u32, RestoreError> {
        let mut number = [0; 4];
        number.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(number))
    }

    fn text(&mut self) -> Result<&'a [u8], RestoreError> {
        let len = self.number()?;
        self.take(index(len))
    }

    fn utf8(&mut self, what: &'static str) -> Result<&'a str, RestoreError> {
        let at = self.at;
        str::from_utf8(self.text()?).map_err(|_| RestoreError::Wrong { at, what })
    }

    fn is_there(&mut self, what: &'static str) -> Result<bool, RestoreError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(what)),
        }
    }

    fn node<T>(&mut self, payload: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<NodeSpec<T>, RestoreError> {
        let id = self.utf8("a node's id")?;
        let mut spec = NodeSpec::new(id).with_weight(self.number()?);
        if self.is_there("active points")? {
            spec = spec.with_active_points(self.number()?);
        }
        if self.is_there("an address")? {
            spec = spec.with_address(self.utf8("an address")?);
        }
        let labels = self.number()?;
        self.expect(index(labels), 4)?;
        let labels: Result<Vec<&str>, _> = (0..labels).map(|_| self.utf8("a zone label")).collect();
        spec = spec.with_zone(labels?);
        for _ in 0..self.number()? {
            let (name, value) = (self.utf8("an attribute's name")?, self.utf8("an attribute's value")?);
            spec = spec.with_attribute(name, value);
        }
        let state = State::of_byte(self.byte()?).ok_or_else(|| self.wrong("a state"))?;
        let bytes = self.text()?;
        let payload = payload(bytes).map_err(|reason| RestoreError::Payload { id: shown(id), reason })?;
        Ok(spec.with_state(state).with_payload(payload))
    }

    fn pins(&mut self, keys: u32, prefixes: u32) -> Result<Pins, RestoreError> {
        self.expect(index(keys).saturating_add(index(prefixes)), LEAST_PIN)?;
        let mut pins = Pins::new();
        for number in 0..u64::from(keys) + u64::from(prefixes) {
            let (bytes, node) = (self.text()?, self.utf8("a pin's node")?);
            let pinned =
                if number < u64::from(keys) { pins.with_key(bytes, node) } else { pins.with_prefix(bytes, node) };
            pins = pinned.map_err(RestoreError::Pin)?;
        }
        Ok(pins)
    }

    fn points<P: Point>(&mut self, count: u32) -> Result<Vec<(P, u32)>, RestoreError> {
        self.expect(index(count), LEAST_POINT)?;
        let mut points = Vec::new();
        points
            .try_reserve_exact(index(count))
            .map_err(|_| RestoreError::Refused(DeltaError::OutOfMemory { points: index(count) }))?;
        let mut before: u128 = 0;
        for _ in 0..count {
            let at = self.at;
            let point = before.checked_add(self.var()?).and_then(|point| Some((point, P::from_u128(point)?)));
            let Some((number, point)) = point else {
                return Err(RestoreError::Wrong { at, what: "a point" });
            };
            before = number;
            let place = u32::try_from(self.var()?).map_err(|_| self.wrong("a point's node"))?;
            points.push((point, place));
        }
        Ok(points)
    }

    #[inline]
    fn var(&mut self) -> Result<u128, RestoreError> {
        // Most numbers are short; what is longer than 63 bits goes the long way.
        let mut number: u64 = 0;
        for (place, &byte) in (0..9u32).zip(&self.all[self.at..]) {
            number |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                self.at += index(place) + 1;
                return Ok(number.into());
            }
        }
        self.long_var()
    }

    #[cold]
    fn long_var(&mut self) -> Result<u128, RestoreError> {
        let mut number: u128 = 0;
        for place in 0..19u32 {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7F);
            if place == 18 && bits > 3 {
                break;
            }
            number |= bits << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.wrong("a number"))
    }
}

/// Why bytes aren't a table. Nothing was built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes don't begin as those of a dump.
    NoDump,
    /// The dump has a format that this version doesn't know.
    Format {
        /// Its format.
        format: u32,
        /// The one that is known.
        known: u32,
    },
    /// The bytes end too early.
    Truncated {
        /// Where.
        at: usize,
        /// How many bytes are needed there.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// The checksum isn't that of the bytes.
    Damaged,
    /// The dump is of a circle of another width.
    Width {
        /// Its bits.
        bits: u32,
        /// The scheme's.
        expected: u32,
    },
    /// The dump is of another scheme, or of one with other options or another secret.
    Scheme {
        /// The name that is written.
        written: String,
        /// That of the scheme given.
        expected: String,
    },
    /// The dump has more points than the limit.
    TooManyPoints {
        /// How many.
        points: u32,
        /// The limit.
        limit: u32,
    },
    /// Something isn't what may stand there.
    Wrong {
        /// Where.
        at: usize,
        /// What it should be.
        what: &'static str,
    },
    /// The program doesn't take a node's payload.
    Payload {
        /// The node.
        id: String,
        /// What the program says.
        reason: String,
    },
    /// A pin isn't one.
    Pin(PinError),
    /// The nodes are refused, as a batch of them would be.
    Refused(DeltaError),
    /// The points aren't as many for each node as the scheme says, or not in order.
    Points,
    /// The table has another fingerprint than is written.
    Fingerprint {
        /// The spec fingerprint that is written.
        written: Fingerprint,
        /// The one of the table.
        found: Fingerprint,
    },
    /// The builder was given nodes or pins, which a dump has itself.
    NodesGiven {
        /// How many nodes.
        nodes: u32,
    },
}

impl RestoreError {
    pub(crate) fn nodes_given(nodes: usize) -> Self {
        Self::NodesGiven { nodes: position(nodes) }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDump => write!(f, "this isn't a dumped table: it doesn't begin with \"ringway\" and a zero"),
            Self::Format { format, known } => {
                write!(f, "the dump has format {format}, this version reads format {known}; dump the table again")
            }
            Self::Truncated { at, needed, left } => {
                write!(f, "the dump ends too early: at byte {at} there are {left} bytes left of {needed}")
            }
            Self::Damaged => write!(f, "the dump is damaged: its checksum isn't that of its bytes"),
            Self::Width { bits, expected } => {
                write!(
                    f,
                    "the dump is of a circle of 2^{bits} places, the scheme's has 2^{expected}; give the same scheme"
                )
            }
            Self::Scheme { written, expected } => write!(
                f,
                "the dump is of scheme \"{written}\", or of other options or another secret than the scheme \"{expected}\" that \
                 was given has; give the same"
            ),
            Self::TooManyPoints { points, limit } => {
                write!(f, "the dump's {points} points are above the limit of {limit}; raise the limit")
            }
            Self::Wrong { at, what } => write!(f, "the dump is damaged: at byte {at} there isn't {what}"),
            Self::Payload { id, reason } => write!(f, "node \"{id}\": the payload isn't taken: {reason}"),
            Self::Pin(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
            Self::Points => write!(f, "the dump's points aren't those that the scheme says of its nodes"),
            Self::Fingerprint { written, found } => {
                write!(
                    f,
                    "the dump says fingerprint {written}, its table has {found}: it isn't whole, or not of this scheme"
                )
            }
            Self::NodesGiven { nodes } => {
                write!(
                    f,
                    "the builder was given {nodes} nodes, or pins, which a dump has itself; change the ring once it is restored"
                )
            }
        }
    }
}

impl std::error::Error for RestoreError {}
