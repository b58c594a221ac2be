//! A cluster as text, by serde; reading goes another way (see `value`), and the round trip is tested.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Cluster;
use super::pins::to_hex;
use crate::hash::{OptionValue, POINTS_PER_WEIGHT};
use crate::node::{NodeInfo, NodeSpec, State};

// TOML wants tables after plain values, so the order of fields counts.
#[derive(Serialize)]
struct FileForm<'a> {
    scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    points_per_weight: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    scheme_options: BTreeMap<String, OptionForm>,
    node: Vec<NodeForm<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pin: Vec<PinForm<'a>>,
}

#[derive(Serialize, Default)]
struct PinForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix_hex: Option<String>,
    node: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OptionForm {
    Text(String),
    Integer(u64),
    Bool(bool),
}

#[derive(Serialize)]
struct NodeForm<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    weight: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_points: Option<u32>,
    #[serde(skip_serializing_if = "ZoneForm::is_empty")]
    zone: ZoneForm<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ZoneForm<'a> {
    One(&'a str),
    Many(&'a [String]),
}

impl ZoneForm<'_> {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Many([]))
    }
}

pub(super) fn toml(cluster: &Cluster) -> String {
    toml::to_string(&file_form(cluster)).expect("tables, lists, texts and integers of 32 bits all have a TOML form")
}

pub(super) fn json(cluster: &Cluster) -> String {
    let mut text = serde_json::to_string_pretty(&file_form(cluster))
        .expect("objects with text for names, lists, texts and integers all have a JSON form");
    text.push('\n');
    text
}

fn file_form(cluster: &Cluster) -> FileForm<'_> {
    let mut points_per_weight = None;
    let mut scheme_options = BTreeMap::new();
    for (name, value) in cluster.scheme().options().iter() {
        let form = match value {
            OptionValue::Integer(number) if name == POINTS_PER_WEIGHT => {
                points_per_weight = Some(*number);
                continue;
            }
            OptionValue::Text(text) => OptionForm::Text(text.clone()),
            OptionValue::Integer(number) => OptionForm::Integer(*number),
            OptionValue::Bool(truth) => OptionForm::Bool(*truth),
        };
        scheme_options.insert(name.to_owned(), form);
    }
    let node = cluster.nodes().iter().map(NodeSpec::info).map(node_form).collect();
    let keys = cluster.pins().keys().map(|(key, node)| {
        let pin = PinForm { node: node.as_str(), ..PinForm::default() };
        match str::from_utf8(key) {
            Ok(key) => PinForm { key: Some(key), ..pin },
            Err(_) => PinForm { key_hex: Some(to_hex(key)), ..pin },
        }
    });
    let prefixes = cluster.pins().prefixes().map(|(prefix, node)| {
        let pin = PinForm { node: node.as_str(), ..PinForm::default() };
        match str::from_utf8(prefix) {
            Ok(prefix) => PinForm { prefix: Some(prefix), ..pin },
            Err(_) => PinForm { prefix_hex: Some(to_hex(prefix)), ..pin },
        }
    });
    let pin = keys.chain(prefixes).collect();
    FileForm { scheme: cluster.scheme().name(), points_per_weight, scheme_options, node, pin }
}

fn node_form(info: &NodeInfo) -> NodeForm<'_> {
    NodeForm {
        id: info.id().as_str(),
        address: info.address(),
        weight: info.weight(),
        active_points: info.active_points(),
        zone: match info.zone() {
            [label] => ZoneForm::One(label),
            labels => ZoneForm::Many(labels),
        },
        state: (info.state() != State::Up).then(|| info.state().name()),
        attributes: info.attributes().collect(),
    }
}
