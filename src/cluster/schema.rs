//! The one check of a tree of values against the schema.

use std::collections::HashMap;
use std::collections::hash_map;

use super::Cluster;
use super::error::{ClusterError, ClusterProblem, Place, Which};
use super::value::{Entry, Found, SyntaxError, Value};
use crate::error::cut;
use crate::hash::{AnyScheme, Native, OptionError, OptionValue, POINTS_PER_WEIGHT, SchemeOptions};
use crate::node::{Limits, NodeSpec, check_id};
use crate::point::index;

const ROOT: &[&str; 5] = &["scheme", "points_per_weight", "scheme_options", "node", "pin"];
const NODE: &[&str; 7] = &["id", "address", "weight", "active_points", "zone", "state", "attributes"];

const OPTION: &str = "text, an integer of 0 or more, or a boolean";

/// The value as an option, if it can be one.
pub(super) fn option_value(value: &Value<'_>) -> Option<OptionValue> {
    match value {
        Value::Text(text) => Some(OptionValue::Text(text.clone().into_owned())),
        Value::Integer(number, _) => number.and_then(|number| u64::try_from(number).ok()).map(OptionValue::Integer),
        Value::Bool(truth) => Some(OptionValue::Bool(*truth)),
        Value::List(_) | Value::Table(_) | Value::Other(..) => None,
    }
}

/// Turns a tree of values into a cluster.
pub(super) fn check(
    file: &str,
    text: &str,
    parsed: Result<Found<'_>, SyntaxError>,
    limits: &Limits,
) -> Result<Cluster, ClusterError> {
    let checker = Checker { file, text, limits, node: None };
    match parsed {
        Ok(root) => checker.cluster(root),
        Err(error) => Err(checker.syntax(error)),
    }
}

#[derive(Clone)]
pub(super) struct Checker<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) limits: &'a Limits,
    /// The node that is being checked.
    pub(super) node: Option<Which>,
}

impl Checker<'_> {
    pub(super) fn error(&self, at: usize, problem: ClusterProblem) -> ClusterError {
        ClusterError::new(self.file, problem).at(Place::of(self.text, at)).with_node(self.node.clone())
    }

    /// What a parser says. It may do so at the end of the text; that is on the last line, not behind its LF.
    pub(super) fn syntax(&self, SyntaxError { at, message }: SyntaxError) -> ClusterError {
        let last = self.text.strip_suffix('\n').map_or(self.text.len(), str::len);
        self.error(at.min(last), ClusterProblem::Syntax { message })
    }

    fn cluster(&self, root: Found<'_>) -> Result<Cluster, ClusterError> {
        let root_at = root.at;
        let [scheme, points_per_weight, options, nodes, pins] = self.fields(root, "the file", ROOT)?;
        let (name, name_at) = match scheme {
            None => (Native::ID.to_owned(), root_at),
            Some(found) => self.text(found, "scheme")?,
        };
        let mut places = HashMap::new();
        let mut given = SchemeOptions::new();
        if let Some(found) = points_per_weight {
            places.insert(POINTS_PER_WEIGHT.to_owned(), (found.at, found.at, POINTS_PER_WEIGHT.to_owned()));
            let points = self.integer(found, POINTS_PER_WEIGHT, u32::MAX)?;
            given.insert(POINTS_PER_WEIGHT.to_owned(), points.into());
        }
        let options = options.map_or(Ok(Vec::new()), |found| self.table(found, "scheme_options"))?;
        for Entry { name, at, found } in options {
            let field = format!("scheme_options.{}", cut(&name));
            // The field outside the table and the option are one.
            if places.contains_key(&*name) {
                let problem = ClusterProblem::RepeatedField { name: cut(&name) };
                return Err(self.error(at, problem).with_field("scheme_options"));
            }
            places.insert(name.clone().into_owned(), (at, found.at, field.clone()));
            let Some(value) = option_value(&found.value) else {
                let hidden = name == SchemeOptions::SECRET;
                let shown = if hidden { "this is no text".to_owned() } else { found.value.describe() };
                let problem = ClusterProblem::WrongType { found: shown, wanted: OPTION };
                return Err(self.error(found.at, problem).with_field(&field));
            };
            given.insert(name.into_owned(), value);
        }
        let refused = |error: OptionError| {
            let (_, at, field) = places.get(error.name).cloned().unwrap_or((0, name_at, error.name.to_owned()));
            self.error(at, ClusterProblem::Option(error)).with_field(&field)
        };
        let scheme = AnyScheme::named(&name, &mut given).map_err(refused)?.ok_or_else(|| {
            self.error(name_at, ClusterProblem::UnknownScheme { name: cut(&name) }).with_field("scheme")
        })?;
        if let Some((name, _)) = given.iter().next() {
            let (at, _, field) = places.get(name).cloned().unwrap_or((name_at, 0, name.to_owned()));
            let problem = ClusterProblem::UnknownOption { name: cut(name), scheme: scheme.name() };
            return Err(self.error(at, problem).with_field(&field));
        }
        let nodes = self.nodes(nodes)?;
        let pins = self.pins(pins, &nodes)?;
        Ok(Cluster { scheme, nodes, pins })
    }

    fn nodes(&self, found: Option<Found<'_>>) -> Result<Vec<NodeSpec>, ClusterError> {
        let Some(found) = found else { return Ok(Vec::new()) };
        let (at, list) = match found {
            Found { at, value: Value::List(list) } => (at, list),
            found => return Err(self.wrong_type(&found, "node", "a list of tables, as [[node]] makes in TOML")),
        };
        let limit = index(self.limits.nodes());
        if list.len() > limit {
            return Err(self.error(at, ClusterProblem::TooManyNodes { nodes: list.len(), limit }).with_field("node"));
        }
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(list.len());
        let mut nodes = Vec::with_capacity(list.len());
        for (number, found) in list.into_iter().enumerate() {
            let mut checker = Self { node: Some(Which { index: number, id: None }), ..self.clone() };
            let (spec, at) = checker.node(found)?;
            match seen.entry(spec.id().to_owned()) {
                hash_map::Entry::Vacant(free) => free.insert(at),
                hash_map::Entry::Occupied(first) => {
                    let first = Place::of(self.text, *first.get());
                    let problem = ClusterProblem::DuplicateId { id: cut(spec.id()), first };
                    return Err(checker.error(at, problem).with_field("id"));
                }
            };
            nodes.push(spec);
        }
        Ok(nodes)
    }

    /// The node, and where its id stands.
    fn node(&mut self, found: Found<'_>) -> Result<(NodeSpec, usize), ClusterError> {
        let table_at = found.at;
        let [id, address, weight, active_points, zone, state, attributes] = self.fields(found, "node", NODE)?;
        let Some(id) = id else { return Err(self.error(table_at, ClusterProblem::MissingField { name: "id" })) };
        let (id, id_at) = self.text(id, "id")?;
        check_id(&id).map_err(|error| self.error(id_at, ClusterProblem::Node(error)).with_field("id"))?;
        if let Some(node) = &mut self.node {
            node.id = Some(cut(&id));
        }

        let mut spec = NodeSpec::new(id);
        if let Some(found) = weight {
            spec = spec.with_weight(self.integer(found, "weight", self.limits.weight())?);
        }
        if let Some(found) = active_points {
            spec = spec.with_active_points(self.integer(found, "active_points", self.limits.points())?);
        }
        // What follows is bounded by the node's own check, which is made after each field for its place.
        if let Some(found) = address {
            let (address, at) = self.text(found, "address")?;
            spec = self.within(spec.with_address(address), at, "address")?;
        }
        if let Some(found) = zone {
            let at = found.at;
            let labels = match found.value {
                Value::Text(label) => vec![label.into_owned()],
                Value::List(list) => {
                    let label = |found| self.text_or(found, "zone", "text as each label").map(|(label, _)| label);
                    list.into_iter().map(label).collect::<Result<_, _>>()?
                }
                _ => return Err(self.wrong_type(&found, "zone", "text or a list of texts")),
            };
            spec = self.within(spec.with_zone(labels), at, "zone")?;
        }
        if let Some(found) = state {
            let (name, at) = self.text(found, "state")?;
            let unknown = |_| self.error(at, ClusterProblem::UnknownState { name: cut(&name) }).with_field("state");
            spec = spec.with_state(name.parse().map_err(unknown)?);
        }
        if let Some(found) = attributes {
            let at = found.at;
            for Entry { name, at, found } in self.table(found, "attributes")? {
                let field = format!("attributes.{name}");
                if spec.info().attribute(&name).is_some() {
                    let problem = ClusterProblem::RepeatedField { name: cut(&name) };
                    return Err(self.error(at, problem).with_field("attributes"));
                }
                let (value, _) = self.text(found, &field)?;
                spec = spec.with_attribute(name, value);
            }
            spec = self.within(spec, at, "attributes")?;
        }
        Ok((spec, id_at))
    }

    pub(super) fn within(&self, spec: NodeSpec, at: usize, field: &str) -> Result<NodeSpec, ClusterError> {
        match spec.info().check(self.limits) {
            Ok(()) => Ok(spec),
            Err(error) => Err(self.error(at, ClusterProblem::Node(error)).with_field(field)),
        }
    }

    /// The values of a table's fields, in the order of `known`.
    pub(super) fn fields<'t, const N: usize>(
        &self,
        found: Found<'t>,
        table: &str,
        known: &'static [&'static str; N],
    ) -> Result<[Option<Found<'t>>; N], ClusterError> {
        let mut fields = [const { None }; N];
        for Entry { name, at, found } in self.table(found, table)? {
            let problem = match known.iter().position(|known| *known == name) {
                None => ClusterProblem::UnknownField { name: cut(&name), known },
                Some(place) if fields[place].is_some() => ClusterProblem::RepeatedField { name: cut(&name) },
                Some(place) => {
                    fields[place] = Some(found);
                    continue;
                }
            };
            return Err(self.error(at, problem));
        }
        Ok(fields)
    }

    pub(super) fn table<'t>(&self, found: Found<'t>, field: &str) -> Result<Vec<Entry<'t>>, ClusterError> {
        match found.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.wrong_type(&found, field, "a table")),
        }
    }

    pub(super) fn text(&self, found: Found<'_>, field: &str) -> Result<(String, usize), ClusterError> {
        self.text_or(found, field, "text")
    }

    fn text_or(&self, found: Found<'_>, field: &str, wanted: &'static str) -> Result<(String, usize), ClusterError> {
        match found.value {
            Value::Text(text) => Ok((text.into_owned(), found.at)),
            _ => Err(self.wrong_type(&found, field, wanted)),
        }
    }

    pub(super) fn integer(&self, found: Found<'_>, field: &str, limit: u32) -> Result<u32, ClusterError> {
        let Value::Integer(number, literal) = found.value else {
            return Err(self.wrong_type(&found, field, "an integer"));
        };
        match number.and_then(|number| u32::try_from(number).ok()) {
            Some(number) if number <= limit => Ok(number),
            _ => {
                let problem = ClusterProblem::OutOfRange { value: literal, limit };
                Err(self.error(found.at, problem).with_field(field))
            }
        }
    }

    pub(super) fn wrong_type(&self, found: &Found<'_>, field: &str, wanted: &'static str) -> ClusterError {
        let problem = ClusterProblem::WrongType { found: found.value.describe(), wanted };
        self.error(found.at, problem).with_field(field)
    }
}
