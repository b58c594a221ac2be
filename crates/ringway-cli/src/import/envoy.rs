//! Envoy: a cluster, alone or in a bootstrap file or a discovery response, as YAML or JSON.
//!
//! Names are those of the protocol buffers `envoy.config.cluster.v3.Cluster`, `…endpoint.v3.ClusterLoadAssignment` and
//! `…load_balancing_policies.ring_hash.v3.RingHash`, in their own spelling or JSON's (`lbPolicy`). Which hosts make the
//! ring: `source/extensions/load_balancing_policies/common/thread_aware_lb_impl.cc`.

mod cluster;
mod host;

use std::collections::HashMap;

use super::imported::{Imported, pick};
use super::problem::{ImportError, ImportProblem, shown};
use super::yaml::{Field, Tree, Value};
use cluster::Settings;

pub(super) fn import(text: &str, name: Option<&str>) -> Result<Imported, ImportError> {
    let tree = Tree::parse(text)?;
    let cluster = pick("cluster", clusters(&tree)?, |(name, _)| name, name)?;
    Settings::read(&tree, cluster.1)?.import(&tree, cluster.1)
}

/// The clusters of a file with their names.
fn clusters(tree: &Tree) -> Result<Vec<(String, Value)>, ImportError> {
    let list = if tree.is_list(tree.root) {
        Some(tree.root)
    } else {
        let fields = fields(tree, tree.root, "the file")?;
        let of = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, field)| field.value);
        match of("static_resources") {
            Some(resources) => {
                let resources = self::fields(tree, resources, "static_resources")?;
                resources.iter().find(|(name, _)| name == "clusters").map(|(_, field)| field.value)
            }
            None => of("clusters").or(of("resources")),
        }
    };
    let values = match list {
        Some(list) => tree.items(list, "clusters")?,
        None => &[tree.root],
    };
    values
        .iter()
        .map(|&cluster| {
            let name = fields(tree, cluster, "cluster")?.into_iter().find(|(name, _)| name == "name");
            let name = name.map_or(Ok(""), |(_, field)| tree.text(field.value, "name"))?;
            Ok((name.to_owned(), cluster))
        })
        .collect()
}

/// The fields of a message, by their names in the protocol buffer; what is null isn't there.
fn fields<'t>(tree: &'t Tree, value: Value, of: &str) -> Result<Vec<(String, Field<'t>)>, ImportError> {
    let mut named = Vec::new();
    let mut lines = HashMap::new();
    for field in tree.fields(value, of)? {
        let name = snake(field.name);
        // Both spellings of one name.
        if let Some(first) = lines.insert(name.clone(), field.line) {
            let what = format!("\"{}\" of {of}", shown(field.name));
            return Err(ImportProblem::Repeated { what, first }.at(field.line));
        }
        if !tree.is_null(field.value) {
            named.push((name, field));
        }
    }
    Ok(named)
}

fn snake(name: &str) -> String {
    // `@type` and names from maps stay as they are.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return name.to_owned();
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

fn unknown(of: &str, field: &Field<'_>) -> ImportError {
    ImportProblem::Unknown { kind: "field", name: format!("{} of {of}", shown(field.name)) }.at(field.line)
}

fn refused(what: &str, why: &str, field: &Field<'_>) -> ImportError {
    ImportProblem::not_reproducible(format!("\"{what}\""), why).at(field.line)
}
