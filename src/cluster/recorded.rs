//! Recorded clusters: how another system was set up when its decisions were recorded.

use std::collections::HashMap;

use super::Cluster;
use super::error::{ClusterError, ClusterProblem, Place, Which};
use super::schema::{Checker, option_value};
use super::value::{Entry, Found, SyntaxError, Value};
use crate::error::cut;
use crate::hash::{AnyScheme, SchemeOptions};
use crate::node::{Limits, NodeSpec, State, check_id};
use crate::point::index;

/// Turns a tree of values into a cluster.
pub(super) fn check(file: &str, text: &str, parsed: Result<Found<'_>, SyntaxError>) -> Result<Cluster, ClusterError> {
    let limits = Limits::DEFAULT.with_weight(u32::MAX);
    let checker = Checker { file, text, limits: &limits, node: None };
    match parsed {
        Ok(root) => checker.recorded(root),
        Err(error) => Err(checker.syntax(error)),
    }
}

impl Checker<'_> {
    fn recorded(&self, root: Found<'_>) -> Result<Cluster, ClusterError> {
        let root_at = root.at;
        let missing = |name| self.error(root_at, ClusterProblem::MissingField { name });
        let (mut algorithm, mut options, mut servers) = (None, None, None);
        for Entry { name, found, .. } in self.table(root, "the file")? {
            match &*name {
                "algorithm" => algorithm = Some(found),
                "options" => options = Some(found),
                "servers" => servers = Some(found),
                _ => {}
            }
        }
        let (name, at) = self.text(algorithm.ok_or_else(|| missing("algorithm"))?, "algorithm")?;
        let mut given = SchemeOptions::new();
        let options = options.map_or(Ok(Vec::new()), |found| self.table(found, "options"))?;
        for Entry { name, found, .. } in options {
            if let Some(value) = option_value(&found.value) {
                given.insert(name.into_owned(), value);
            }
        }
        let scheme = AnyScheme::named(&name, &mut given)
            .map_err(|error| {
                let field = format!("options.{}", error.name);
                self.error(at, ClusterProblem::Option(error)).with_field(&field)
            })?
            .ok_or_else(|| {
                self.error(at, ClusterProblem::UnknownScheme { name: cut(&name) }).with_field("algorithm")
            })?;
        let list = match servers.ok_or_else(|| missing("servers"))? {
            Found { value: Value::List(list), .. } => list,
            found => return Err(self.wrong_type(&found, "servers", "a list of objects")),
        };
        let limit = index(self.limits.nodes());
        if list.len() > limit {
            let problem = ClusterProblem::TooManyNodes { nodes: list.len(), limit };
            return Err(self.error(root_at, problem).with_field("servers"));
        }
        let mut seen = HashMap::new();
        let mut nodes = Vec::with_capacity(list.len());
        for (index, found) in list.into_iter().enumerate() {
            let at = found.at;
            let checker = Self { node: Some(Which { index, id: None }), ..self.clone() };
            let node = checker.server(found)?;
            if let Some(first) = seen.insert(node.id().to_owned(), at) {
                let problem = ClusterProblem::DuplicateId { id: cut(node.id()), first: Place::of(self.text, first) };
                return Err(checker.error(at, problem).with_field("name"));
            }
            nodes.push(node);
        }
        Ok(Cluster::new(scheme, nodes))
    }

    fn server(&self, found: Found<'_>) -> Result<NodeSpec, ClusterError> {
        let server_at = found.at;
        let mut entries = self.table(found, "servers")?;
        let Some(place) = entries.iter().position(|entry| entry.name == "name") else {
            return Err(self.error(server_at, ClusterProblem::MissingField { name: "name" }));
        };
        let (name, at) = self.text(entries.swap_remove(place).found, "name")?;
        check_id(&name).map_err(|error| self.error(at, ClusterProblem::Node(error)).with_field("name"))?;
        let mut spec = NodeSpec::new(name);
        for Entry { name, at, found } in entries {
            spec = match (&*name, &found.value) {
                ("weight", _) => spec.with_weight(self.integer(found, "weight", self.limits.weight())?),
                ("address", _) => spec.with_address(self.text(found, "address")?.0),
                ("down" | "disabled" | "ejected", Value::Bool(truth)) => {
                    if *truth {
                        spec.with_state(State::Down)
                    } else {
                        spec
                    }
                }
                (_, Value::Text(text)) => spec.with_attribute(&*name, &**text),
                (_, Value::Integer(_, literal)) => spec.with_attribute(&*name, &**literal),
                (_, Value::Bool(truth)) => spec.with_attribute(&*name, truth.to_string()),
                _ => spec,
            };
            spec = self.within(spec, at, &name)?;
        }
        Ok(spec)
    }
}
