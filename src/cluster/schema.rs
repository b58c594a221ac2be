//! The one check of a tree of values against the schema.

use std::collections::HashMap;
use std::collections::hash_map;

use super::error::{ClusterError, ClusterProblem, Place, Which};
use super::value::{Entry, Found, SyntaxError, Value};
use super::{Cluster, ClusterScheme};
use crate::error::cut;
use crate::hash::Native;
use crate::node::{Limits, NodeSpec, check_id};
use crate::point::index;

const ROOT: &[&str; 4] = &["scheme", "points_per_weight", "scheme_options", "node"];
const NODE: &[&str; 7] = &["id", "address", "weight", "active_points", "zone", "state", "attributes"];

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
        Err(SyntaxError { at, message }) => Err(checker.error(at, ClusterProblem::Syntax { message })),
    }
}

#[derive(Clone)]
struct Checker<'a> {
    file: &'a str,
    text: &'a str,
    limits: &'a Limits,
    /// The node that is being checked.
    node: Option<Which>,
}

impl Checker<'_> {
    fn error(&self, at: usize, problem: ClusterProblem) -> ClusterError {
        ClusterError::new(self.file, problem).at(Place::of(self.text, at)).with_node(self.node.clone())
    }

    fn cluster(&self, root: Found<'_>) -> Result<Cluster, ClusterError> {
        let [scheme, points_per_weight, options, nodes] = self.fields(root, "the file", ROOT)?;
        let mut scheme = match scheme {
            None => ClusterScheme::Native(Native::new()),
            Some(found) => {
                let (name, at) = self.text(found, "scheme")?;
                ClusterScheme::named(&name).ok_or_else(|| {
                    let problem = ClusterProblem::UnknownScheme { name: cut(&name), known: ClusterScheme::IDS };
                    self.error(at, problem).with_field("scheme")
                })?
            }
        };
        if let Some(found) = points_per_weight {
            scheme = scheme.with_points_per_weight(self.integer(found, "points_per_weight", u32::MAX)?);
        }
        if let Some(found) = options
            && let Some(Entry { name, at, .. }) = self.table(found, "scheme_options")?.into_iter().next()
        {
            let problem = ClusterProblem::UnknownOption { name: cut(&name), scheme: scheme.id() };
            return Err(self.error(at, problem).with_field("scheme_options"));
        }
        Ok(Cluster { scheme, nodes: self.nodes(nodes)? })
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

    fn within(&self, spec: NodeSpec, at: usize, field: &str) -> Result<NodeSpec, ClusterError> {
        match spec.info().check(self.limits) {
            Ok(()) => Ok(spec),
            Err(error) => Err(self.error(at, ClusterProblem::Node(error)).with_field(field)),
        }
    }

    /// The values of a table's fields, in the order of `known`.
    fn fields<'t, const N: usize>(
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

    fn table<'t>(&self, found: Found<'t>, field: &str) -> Result<Vec<Entry<'t>>, ClusterError> {
        match found.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.wrong_type(&found, field, "a table")),
        }
    }

    fn text(&self, found: Found<'_>, field: &str) -> Result<(String, usize), ClusterError> {
        self.text_or(found, field, "text")
    }

    fn text_or(&self, found: Found<'_>, field: &str, wanted: &'static str) -> Result<(String, usize), ClusterError> {
        match found.value {
            Value::Text(text) => Ok((text.into_owned(), found.at)),
            _ => Err(self.wrong_type(&found, field, wanted)),
        }
    }

    fn integer(&self, found: Found<'_>, field: &str, limit: u32) -> Result<u32, ClusterError> {
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

    fn wrong_type(&self, found: &Found<'_>, field: &str, wanted: &'static str) -> ClusterError {
        let problem = ClusterProblem::WrongType { found: found.value.describe(), wanted };
        self.error(found.at, problem).with_field(field)
    }
}
