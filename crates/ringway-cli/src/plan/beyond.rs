//! What moves keys though no arc changes hands: pins and states.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use ringway::scheme::Scheme;
use ringway::{NodeId, NodeSpec, Pins, State};
use serde_json::{Value, json};

use super::Side;

/// Where two clusters differ beyond their rings.
pub(super) struct Beyond {
    pins: Vec<PinChange>,
    states: Vec<StateChange>,
}

/// A pin that one cluster has and the other hasn't, or has for another node.
struct PinChange {
    whole: bool,
    bytes: Vec<u8>,
    old: Option<NodeId>,
    new: Option<NodeId>,
}

/// A node whose state differs; `None` where it isn't in the cluster.
struct StateChange {
    node: String,
    old: Option<State>,
    new: Option<State>,
}

/// The pins that differ: those of keys first, each kind in the order of its bytes.
fn pins(old: &Pins, new: &Pins) -> Vec<PinChange> {
    let mut all: BTreeMap<(bool, &[u8]), [Option<&NodeId>; 2]> = BTreeMap::new();
    for (place, pins) in [old, new].into_iter().enumerate() {
        for (bytes, node) in pins.keys() {
            all.entry((false, bytes)).or_default()[place] = Some(node);
        }
        for (bytes, node) in pins.prefixes() {
            all.entry((true, bytes)).or_default()[place] = Some(node);
        }
    }
    let changes = all.into_iter().filter(|(_, [old, new])| old != new);
    let change = |((prefix, bytes), [old, new]): ((bool, &[u8]), [Option<&NodeId>; 2])| PinChange {
        whole: !prefix,
        bytes: bytes.to_vec(),
        old: old.cloned(),
        new: new.cloned(),
    };
    changes.map(change).collect()
}

/// The nodes whose states differ in a way that their points don't show, in the order of their ids. One that comes or goes
/// out of service is among them: the arcs of its points move, and the keys don't.
fn states<S: Scheme>(scheme: &S, old: &[NodeSpec], new: &[NodeSpec]) -> Vec<StateChange> {
    let before: HashMap<&str, &NodeSpec> = old.iter().map(|node| (node.id(), node)).collect();
    let after: HashMap<&str, &NodeSpec> = new.iter().map(|node| (node.id(), node)).collect();
    let hidden =
        |node: &NodeSpec, other: State| placement(scheme, node) == placement(scheme, &node.clone().with_state(other));
    let mut changes = Vec::new();
    for node in new {
        let state = node.info().state();
        let was = before.get(node.id()).map(|node| node.info().state());
        if was.unwrap_or(State::Up) != state && hidden(node, was.unwrap_or(State::Up)) {
            changes.push(StateChange { node: node.id().to_owned(), old: was, new: Some(state) });
        }
    }
    for node in old.iter().filter(|node| !after.contains_key(node.id())) {
        let was = node.info().state();
        if was != State::Up && hidden(node, State::Up) {
            changes.push(StateChange { node: node.id().to_owned(), old: Some(was), new: None });
        }
    }
    changes.sort_by(|a, b| a.node.cmp(&b.node));
    changes
}

/// What the scheme places a node by.
fn placement<S: Scheme>(scheme: &S, node: &NodeSpec) -> Vec<u8> {
    let mut bytes = Vec::new();
    scheme.placement_bytes(node.info(), &mut bytes);
    bytes
}

impl Beyond {
    pub(super) fn between<S: Scheme, R: Scheme>(old: &Side<S>, new: &Side<R>) -> Self {
        Self { pins: pins(&old.pins, &new.pins), states: states(&new.scheme, &old.nodes, &new.nodes) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pins.is_empty() && self.states.is_empty()
    }

    pub(super) fn pins_as_json(&self) -> Vec<Value> {
        let pin = |pin: &PinChange| {
            let kind = if pin.whole { "key" } else { "prefix" };
            let (field, text) = match str::from_utf8(&pin.bytes) {
                Ok(text) => (kind.to_owned(), text.to_owned()),
                Err(_) => (format!("{kind}_hex"), pin.bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            };
            json!({field: text, "old": pin.old.as_ref().map(NodeId::as_str), "new": pin.new.as_ref().map(NodeId::as_str)})
        };
        self.pins.iter().map(pin).collect()
    }

    pub(super) fn states_as_json(&self) -> Vec<Value> {
        let state = |change: &StateChange| {
            let [old, new] = [change.old, change.new].map(|state| state.map(State::name));
            json!({"node": change.node, "old": old, "new": new})
        };
        self.states.iter().map(state).collect()
    }

    /// A line that says so, and one for each pin and node; nothing if there are none.
    pub(super) fn as_text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut text = String::from("\nkeys move beyond the ring, by pins and states that differ:\n");
        for pin in &self.pins {
            let kind = if pin.whole { "key" } else { "prefix" };
            let id = |id: &Option<NodeId>| {
                id.as_ref().map_or("(none)".to_owned(), |id| id.as_str().escape_debug().to_string())
            };
            let (bytes, old, new) = (pin.bytes.escape_ascii(), id(&pin.old), id(&pin.new));
            writeln!(text, "pin of {kind} \"{bytes}\": {old} to {new}").expect("a String takes all");
        }
        for StateChange { node, old, new } in &self.states {
            let name = |state: &Option<State>| state.map_or("(not there)", State::name);
            let (node, old, new) = (node.escape_debug(), name(old), name(new));
            writeln!(text, "state of {node}: {old} to {new}").expect("a String takes all");
        }
        text
    }
}
