//! A scheme's options as files and recorded clusters give them.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::cut;

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// Yes or no.
    Bool(bool),
}

impl OptionValue {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "an integer",
            Self::Bool(_) => "a boolean",
        }
    }
}

impl From<&str> for OptionValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for OptionValue {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<bool> for OptionValue {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{}\"", cut(text).escape_debug()),
            Self::Integer(number) => number.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

/// Named options, from which a scheme takes its own; those that are left are unknown to it.
///
/// `Debug` doesn't show the value of the option `secret`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SchemeOptions(BTreeMap<String, OptionValue>);

impl SchemeOptions {
    /// The option whose value nothing may show.
    pub(crate) const SECRET: &str = "secret";

    /// Creates a set of no options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an option; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<OptionValue>) -> Self {
        self.insert(name.into(), value.into());
        self
    }

    /// Adds an option; one of the same name is replaced.
    pub fn insert(&mut self, name: String, value: OptionValue) {
        self.0.insert(name, value);
    }

    /// Returns the options in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out a text.
    pub(crate) fn take_text(&mut self, name: &'static str) -> Result<Option<String>, OptionError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(OptionValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(OptionError::wrong_type(name, &other, "text")),
        }
    }

    /// Takes out the secret, as a text that no message may show.
    pub(super) fn take_secret(&mut self) -> Result<Option<String>, OptionError> {
        match self.0.remove(Self::SECRET) {
            None => Ok(None),
            Some(OptionValue::Text(text)) => Ok(Some(text)),
            Some(other) => {
                Err(OptionError { name: Self::SECRET, reason: format!("this is {}; give text", other.kind()) })
            }
        }
    }

    /// Takes out a whole number of at most `limit`.
    pub(crate) fn take_integer(&mut self, name: &'static str, limit: u32) -> Result<Option<u32>, OptionError> {
        let number = match self.0.remove(name) {
            None => return Ok(None),
            Some(OptionValue::Integer(number)) => number,
            Some(other) => return Err(OptionError::wrong_type(name, &other, "an integer")),
        };
        match u32::try_from(number) {
            Ok(small) if small <= limit => Ok(Some(small)),
            _ => Err(OptionError {
                name,
                reason: format!("{number} is out of range; give an integer from 0 to {limit}"),
            }),
        }
    }

    /// Takes out yes or no.
    pub(crate) fn take_bool(&mut self, name: &'static str) -> Result<Option<bool>, OptionError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(OptionValue::Bool(truth)) => Ok(Some(truth)),
            Some(other) => Err(OptionError::wrong_type(name, &other, "a boolean")),
        }
    }

    /// Takes out a text that is one of `known`, and returns what stands beside it.
    pub(crate) fn take_one_of<V: Copy>(
        &mut self,
        name: &'static str,
        known: &[(&'static str, V)],
    ) -> Result<Option<V>, OptionError> {
        let Some(text) = self.take_text(name)? else { return Ok(None) };
        match known.iter().find(|(known, _)| *known == text) {
            Some(&(_, value)) => Ok(Some(value)),
            None => {
                let names: Vec<&str> = known.iter().map(|&(known, _)| known).collect();
                let shown = cut(&text);
                let reason = format!("unknown value \"{}\"; the values are {}", shown.escape_debug(), names.join(", "));
                Err(OptionError { name, reason })
            }
        }
    }
}

impl fmt::Debug for SchemeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in self.iter() {
            if name == Self::SECRET {
                map.entry(&name, &"…")
            } else {
                map.entry(&name, value)
            };
        }
        map.finish()
    }
}

/// Why a scheme refused an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    /// The option's name.
    pub name: &'static str,
    /// What is wrong and what to do, in the style of the other messages.
    pub reason: String,
}

impl OptionError {
    fn wrong_type(name: &'static str, found: &OptionValue, wanted: &'static str) -> Self {
        Self { name, reason: format!("{found} is {}; give {wanted}", found.kind()) }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

impl std::error::Error for OptionError {}
