//! TOML and JSON texts as one tree of values with positions.
//!
//! Not serde's derived structures: they lose the position of whatever parses well and turns out wrong later (a duplicate
//! id, a weight above its limit), and report the rest in words that differ between the two parsers.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

use crate::error::cut;

/// A value, and the byte at which it begins.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) at: usize,
    pub(super) value: Value<'t>,
}

#[derive(Debug)]
pub(super) enum Value<'t> {
    Text(Cow<'t, str>),
    Bool(bool),
    /// `None` if it doesn't even fit this type.
    Integer(Option<i128>, String),
    List(Vec<Found<'t>>),
    /// In the order of the text. Names may repeat.
    Table(Vec<Entry<'t>>),
    /// What no field takes: its text or nothing, and its type.
    Other(String, &'static str),
}

/// A field of a table.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) name: Cow<'t, str>,
    /// The byte at which the name begins.
    pub(super) at: usize,
    pub(super) found: Found<'t>,
}

/// What a parser has to say, and the byte at which it does.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) message: String,
}

/// How deep the schema goes (root, `node`, a node, `attributes`, a text) and one more. What lies deeper is kept as a
/// value of no use, so that neither the conversion nor the drop recurses as deep as a hostile text says.
const DEPTH: usize = 6;

impl Value<'_> {
    /// The value as an error shows it: itself if it is short, and its type.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{}\" is text", cut(text).escape_debug()),
            Self::Bool(truth) => format!("{truth} is a boolean"),
            Self::Integer(_, literal) => format!("{literal} is an integer"),
            Self::List(_) => "this is a list".to_owned(),
            Self::Table(_) => "this is a table".to_owned(),
            Self::Other(literal, kind) if literal.is_empty() => format!("this is {kind}"),
            Self::Other(literal, kind) => format!("{literal} is {kind}"),
        }
    }
}

/// Parses TOML.
pub(super) fn parse_toml(text: &str) -> Result<Found<'_>, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        at: error.span().map_or(text.len(), |span| span.start),
        message: one_line(error.message()),
    })?;
    let at = table.span().start;
    Ok(Found { at, value: toml_table(table.into_inner(), DEPTH) })
}

fn toml_table(table: DeTable<'_>, depth: usize) -> Value<'_> {
    let Some(depth) = depth.checked_sub(1) else { return Value::Other(String::new(), "a table") };
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(name, value)| Entry {
            at: name.span().start,
            name: name.into_inner(),
            found: Found { at: value.span().start, value: toml_value(value.into_inner(), depth) },
        })
        .collect();
    // The parser sorts by name; the first error of the text is the one to report.
    entries.sort_by_key(|entry| entry.at);
    Value::Table(entries)
}

fn toml_value(value: DeValue<'_>, depth: usize) -> Value<'_> {
    match value {
        DeValue::String(text) => Value::Text(text),
        DeValue::Integer(number) => {
            Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok(), cut(&number.to_string()))
        }
        DeValue::Float(number) => Value::Other(cut(number.as_str()), "a float"),
        DeValue::Boolean(truth) => Value::Bool(truth),
        DeValue::Datetime(time) => Value::Other(time.to_string(), "a date or time"),
        DeValue::Array(list) => {
            let Some(depth) = depth.checked_sub(1) else { return Value::Other(String::new(), "a list") };
            let items = list.into_iter().map(|item| {
                let at = item.span().start;
                Found { at, value: toml_value(item.into_inner(), depth) }
            });
            Value::List(items.collect())
        }
        DeValue::Table(table) => toml_table(table, depth),
    }
}

/// Parses JSON.
///
/// The parser gives raw slices of the text, a level at a time; where a slice lies in the text is its position.
pub(super) fn parse_json(text: &str) -> Result<Found<'_>, SyntaxError> {
    let raw = serde_json::from_str(text).map_err(|error| json_error(text, 0, &error))?;
    json_value(text, raw, DEPTH)
}

fn json_value<'t>(text: &'t str, raw: &'t RawValue, depth: usize) -> Result<Found<'t>, SyntaxError> {
    let literal = raw.get();
    let at = offset(text, literal);
    // These are sound already but for escapes in texts, which the parser leaves for whoever wants the text.
    let failed = |error| json_error(literal, at, &error);
    let value = match (literal.as_bytes().first(), depth.checked_sub(1)) {
        (Some(b'{'), None) => Value::Other(String::new(), "a table"),
        (Some(b'['), None) => Value::Other(String::new(), "a list"),
        (Some(b'{'), Some(depth)) => {
            let Fields(fields) = serde_json::from_str(literal).map_err(failed)?;
            let entry = |(name, value): (&'t RawValue, &'t RawValue)| {
                let at = offset(text, name.get());
                let name = json_text(name.get()).map_err(|error| json_error(name.get(), at, &error))?;
                Ok(Entry { name, at, found: json_value(text, value, depth)? })
            };
            Value::Table(fields.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
        (Some(b'['), Some(depth)) => {
            let items: Vec<&RawValue> = serde_json::from_str(literal).map_err(failed)?;
            Value::List(items.into_iter().map(|item| json_value(text, item, depth)).collect::<Result<_, _>>()?)
        }
        (Some(b'"'), _) => Value::Text(json_text(literal).map_err(failed)?),
        (Some(b't' | b'f'), _) => Value::Bool(literal == "true"),
        (Some(b'n'), _) => Value::Other(String::new(), "null"),
        _ if literal.contains(['.', 'e', 'E']) => Value::Other(cut(literal), "a float"),
        _ => Value::Integer(literal.parse().ok(), cut(literal)),
    };
    Ok(Found { at, value })
}

fn json_text(literal: &str) -> serde_json::Result<Cow<'_, str>> {
    // A text without escapes is borrowed; nearly all are.
    match literal.get(1..literal.len().saturating_sub(1)) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(literal).map(Cow::Owned),
    }
}

/// Where `part`, a slice of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// An error of the parser about the part of the text that begins at `at`.
fn json_error(part: &str, at: usize, error: &serde_json::Error) -> SyntaxError {
    let line_start = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    // The parser counts columns in bytes and from 1, but 0 is the newline before.
    let within = line_start + error.column().saturating_sub(1);
    let message = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    SyntaxError { at: at + within, message: one_line(message.strip_suffix(&suffix).unwrap_or(&message)) }
}

fn one_line(message: &str) -> String {
    cut(message.trim()).replace('\n', ", ")
}

/// The fields of a JSON object, with their names as raw slices, and repeated ones repeated.
struct Fields<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}
