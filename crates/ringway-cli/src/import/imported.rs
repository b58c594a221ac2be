//! What an import gives, and the checks that all formats share.

use std::collections::HashMap;

use ringway::scheme::{OptionValue, SchemeOptions};
use ringway::{Limits, NodeSpec};

use super::problem::{ImportError, ImportProblem, shown};

/// A configuration as a ring: how to place, and what.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) scheme: &'static str,
    pub(super) options: SchemeOptions,
    pub(super) nodes: Vec<NodeSpec>,
    /// What to know that the cluster file doesn't say, with the line it is about.
    pub(super) notes: Vec<(usize, String)>,
}

impl Imported {
    pub(super) fn new(scheme: &'static str) -> Self {
        Self { scheme, options: SchemeOptions::new(), nodes: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn set(&mut self, option: &str, value: impl Into<OptionValue>) {
        self.options.insert(option.to_owned(), value.into());
    }

    pub(super) fn note(&mut self, line: usize, note: impl Into<String>) {
        self.notes.push((line, note.into()));
    }
}

/// The nodes of a ring, within the limits of cluster files.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<NodeSpec>,
    /// The line of each id.
    lines: HashMap<String, usize>,
}

impl Nodes {
    /// Adds a node that stands in a line.
    pub(super) fn add(&mut self, line: usize, node: NodeSpec) -> Result<(), ImportError> {
        let info = node.info();
        let too_long = |what: String, text: &str, limit: usize| {
            let wanted = format!("text of 1 to {limit} bytes; it has {}", text.len());
            (text.is_empty() || text.len() > limit).then(|| ImportProblem::value(what, text, wanted).at(line))
        };
        let id = node.id();
        let mut refused = too_long("server".to_owned(), id, Limits::MAX_ID_BYTES);
        let longest = Limits::MAX_TEXT_BYTES;
        let texts = info.address().map(|text| ("address", text)).into_iter();
        let texts = texts.chain(info.zone().iter().map(|label| ("zone", label.as_str()))).chain(info.attributes());
        for (name, text) in texts {
            refused = refused.or_else(|| too_long(format!("{name} of server \"{}\"", shown(id)), text, longest));
        }
        if let Some(error) = refused {
            return Err(error);
        }
        let limits = Limits::DEFAULT;
        if info.weight() > limits.weight() {
            let of = format!("weight of server \"{}\"", shown(id));
            let wanted = format!("at most {}, the most that a cluster file takes", limits.weight());
            return Err(ImportProblem::value(of, &info.weight().to_string(), wanted).at(line));
        }
        if usize::try_from(limits.nodes()).is_ok_and(|limit| self.nodes.len() >= limit) {
            let why = format!("a ring has at most {} nodes", limits.nodes());
            return Err(ImportProblem::not_reproducible("so many servers", why).at(line));
        }
        if let Some(first) = self.lines.insert(id.to_owned(), line) {
            let what = format!("server \"{}\"", shown(id));
            return Err(ImportProblem::Repeated { what, first }.at(line));
        }
        self.nodes.push(node);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn into_nodes(self) -> Vec<NodeSpec> {
        self.nodes
    }
}

/// Picks the part of a file by its name, or the only one.
pub(super) fn pick<T>(
    kind: &'static str,
    parts: Vec<T>,
    name: impl Fn(&T) -> &str,
    asked: Option<&str>,
) -> Result<T, ImportError> {
    let names: Vec<String> = parts.iter().map(|part| shown(name(part))).collect();
    let mut fitting = parts.into_iter().filter(|part| asked.is_none_or(|asked| asked == name(part)));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(ImportProblem::Pick { kind, asked: asked.map(shown), names }.into()),
    }
}

/// A whole number in decimal digits alone, from `least` to `most`.
pub(super) fn number(of: &str, text: &str, least: u32, most: u32, line: usize) -> Result<u32, ImportError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && (least..=most).contains(&number) => Ok(number),
        _ => Err(ImportProblem::value(of, text, integer(least, most)).at(line)),
    }
}

/// What [`number`] takes.
pub(super) fn integer(least: u32, most: u32) -> String {
    format!("an integer from {least} to {most}")
}
