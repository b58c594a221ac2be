//! YAML and JSON as one tree with lines.
//!
//! The parser gives events; the tree is an arena, so that an alias is a number, nothing is built twice, and neither
//! building nor dropping it goes as deep as a text says. JSON is YAML but for tabs, so those become blanks first.

use std::cell::Cell;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::problem::{ImportError, ImportProblem, shown};

/// A value, by its number in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value(usize);

#[derive(Debug)]
struct Node {
    line: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The text, and whether it stands there without quotes.
    Scalar(String, bool),
    List(Vec<Value>),
    /// Names and values in the order of the text.
    Table(Vec<(Value, Value)>),
}

/// A field of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'t> {
    pub(super) name: &'t str,
    pub(super) line: usize,
    pub(super) value: Value,
}

/// The values of a text.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// How many fields and items may still be looked at: an alias costs little to write and much to follow.
    left: Cell<usize>,
    pub(super) root: Value,
    /// Whether the text is JSON, in which quotes alone make text.
    pub(super) json: bool,
}

impl Tree {
    /// Parses a text of one document.
    pub(super) fn parse(text: &str) -> Result<Self, ImportError> {
        let json =
            text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if json && text.contains('\t') {
            // In sound JSON no tab is inside a text. What isn't JSON may still be YAML, in which tabs may stand.
            return Self::of(&text.replace('\t', " "), json);
        }
        Self::of(text, json)
    }

    fn of(text: &str, json: bool) -> Result<Self, ImportError> {
        let mut builder = Builder { nodes: Vec::new(), open: Vec::new(), root: None, anchors: HashMap::new() };
        for event in Parser::new_from_str(text) {
            let (event, span) =
                event.map_err(|error| ImportProblem::Syntax(shown(error.info())).at(error.marker().line().max(1)))?;
            builder.take(event, span.start.line().max(1))?;
        }
        match builder.root {
            Some(root) => {
                // Without aliases each value is looked at a few times.
                let left = builder.nodes.len().saturating_mul(8).max(1 << 16);
                Ok(Self { nodes: builder.nodes, left: Cell::new(left), root, json })
            }
            None => Err(ImportProblem::Missing("the file is empty".to_owned()).into()),
        }
    }

    fn node(&self, value: Value) -> &Node {
        &self.nodes[value.0]
    }

    pub(super) fn line(&self, value: Value) -> usize {
        self.node(value).line
    }

    /// Whether it is nothing: `null`, `~`, or no text at all.
    pub(super) fn is_null(&self, value: Value) -> bool {
        matches!(&self.node(value).kind, Kind::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null"))
    }

    pub(super) fn is_list(&self, value: Value) -> bool {
        matches!(self.node(value).kind, Kind::List(_))
    }

    fn look(&self, value: Value, many: usize) -> Result<(), ImportError> {
        match self.left.get().checked_sub(many) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                let reason = "aliases make the file many times larger than it is; write out what they stand for";
                Err(ImportProblem::Syntax(reason.to_owned()).at(self.line(value)))
            }
        }
    }

    fn wrong(&self, value: Value, of: &str, wanted: &str) -> ImportError {
        let found = match &self.node(value).kind {
            Kind::Scalar(text, _) => text,
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
        };
        ImportProblem::value(of, found, wanted).at(self.line(value))
    }

    /// The fields of a table; null has none.
    pub(super) fn fields(&self, value: Value, of: &str) -> Result<Vec<Field<'_>>, ImportError> {
        let entries = match &self.node(value).kind {
            Kind::Table(entries) => entries,
            _ if self.is_null(value) => return Ok(Vec::new()),
            _ => return Err(self.wrong(value, of, "a table")),
        };
        self.look(value, entries.len())?;
        let mut seen = HashMap::with_capacity(entries.len());
        entries
            .iter()
            .map(|&(name, value)| {
                let line = self.line(name);
                let name = self.text(name, of)?;
                match seen.insert(name, line) {
                    None => Ok(Field { name, line, value }),
                    Some(first) => {
                        let what = format!("\"{}\" of {of}", shown(name));
                        Err(ImportProblem::Repeated { what, first }.at(line))
                    }
                }
            })
            .collect()
    }

    /// The items of a list; null has none.
    pub(super) fn items(&self, value: Value, of: &str) -> Result<&[Value], ImportError> {
        match &self.node(value).kind {
            Kind::List(items) => {
                self.look(value, items.len())?;
                Ok(items)
            }
            _ if self.is_null(value) => Ok(&[]),
            _ => Err(self.wrong(value, of, "a list")),
        }
    }

    /// The text of a scalar.
    pub(super) fn text(&self, value: Value, of: &str) -> Result<&str, ImportError> {
        match &self.node(value).kind {
            Kind::Scalar(text, _) => Ok(text),
            _ => Err(self.wrong(value, of, "text")),
        }
    }

    /// The text of a scalar, and whether it stands there without quotes; `None` of a list or a table.
    pub(super) fn scalar(&self, value: Value) -> Option<(&str, bool)> {
        match &self.node(value).kind {
            Kind::Scalar(text, plain) => Some((text, *plain)),
            _ => None,
        }
    }

    pub(super) fn number(&self, value: Value, of: &str, least: u32, most: u32) -> Result<u32, ImportError> {
        match self.scalar(value) {
            Some((text, _)) => super::imported::number(of, text, least, most, self.line(value)),
            None => Err(self.wrong(value, of, &super::imported::integer(least, most))),
        }
    }

    pub(super) fn boolean(&self, value: Value, of: &str) -> Result<bool, ImportError> {
        match self.scalar(value) {
            Some(("true", _)) => Ok(true),
            Some(("false", _)) => Ok(false),
            _ => Err(self.wrong(value, of, "true or false")),
        }
    }
}

/// A list or table that isn't closed.
struct Open {
    value: Value,
    /// What an alias calls it once it is closed: inside itself it would make a circle. 0 is none.
    anchor: usize,
    /// The name that waits for its value.
    name: Option<Value>,
}

struct Builder {
    nodes: Vec<Node>,
    open: Vec<Open>,
    root: Option<Value>,
    anchors: HashMap<usize, Value>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), ImportError> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = self.add(line, Kind::Scalar(text.into_owned(), style == ScalarStyle::Plain));
                self.name(anchor, value);
                self.place(value)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(&value) => self.place(value),
                None => {
                    let reason = "the alias has no anchor that ends before it".to_owned();
                    Err(ImportProblem::Syntax(reason).at(line))
                }
            },
            Event::SequenceStart(anchor, _) => {
                let value = self.add(line, Kind::List(Vec::new()));
                self.open.push(Open { value, anchor, name: None });
                Ok(())
            }
            Event::MappingStart(anchor, _) => {
                let value = self.add(line, Kind::Table(Vec::new()));
                self.open.push(Open { value, anchor, name: None });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { value, anchor, name: None }) => {
                    self.name(anchor, value);
                    self.place(value)
                }
                _ => Err(ImportProblem::Syntax("a name without a value".to_owned()).at(line)),
            },
            _ => Ok(()),
        }
    }

    fn add(&mut self, line: usize, kind: Kind) -> Value {
        self.nodes.push(Node { line, kind });
        Value(self.nodes.len() - 1)
    }

    fn name(&mut self, anchor: usize, value: Value) {
        if anchor > 0 {
            self.anchors.insert(anchor, value);
        }
    }

    /// Puts a finished value where it belongs.
    fn place(&mut self, value: Value) -> Result<(), ImportError> {
        let Some(Open { value: open, name, .. }) = self.open.last_mut() else {
            return match self.root.replace(value) {
                None => Ok(()),
                Some(_) => {
                    let reason = "a second document begins here; give a file of one".to_owned();
                    Err(ImportProblem::Syntax(reason).at(self.nodes[value.0].line))
                }
            };
        };
        match &mut self.nodes[open.0].kind {
            Kind::List(items) => items.push(value),
            Kind::Table(entries) => match name.take() {
                Some(name) => entries.push((name, value)),
                None => *name = Some(value),
            },
            Kind::Scalar(..) => {}
        }
        Ok(())
    }
}
