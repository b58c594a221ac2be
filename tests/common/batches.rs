//! Random batches of changes, each with what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use ringway::{Change, Delta, DeltaError, Field, Limits, NodeError, NodeSpec, SchemeError, State};

use super::Rng;
use super::model::{ModelNode, Rule, canonical};
use super::schemes::{REFUSE, SALT};

/// Limits so low that batches can break them, and so high that valid ones don't.
pub fn limits() -> Limits {
    Limits::default().with_nodes(26).with_weight(50).with_points(POINT_LIMIT)
}

const POINT_LIMIT: u32 = 3000;
const IDS: u32 = 22;

/// A batch that is taken.
#[derive(Debug)]
pub struct Valid {
    pub delta: Delta<u32>,
    /// The nodes after it, in list order.
    pub nodes: Vec<ModelNode>,
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
    /// Nodes of which a field differs or the payload was set.
    pub changed: BTreeSet<String>,
}

impl Valid {
    /// Everything the batch names, whatever it does to it.
    fn names(&self, id: &str) -> bool {
        self.delta.changes().iter().any(|change| change.id() == id)
    }
}

fn fields(rng: &mut Rng, node: &mut ModelNode) {
    node.weight = rng.number(6);
    node.active_points = rng.percent(25).then(|| rng.number(60));
    node.address = rng.percent(50).then(|| format!("10.0.0.{}", rng.number(3)));
    node.zone = (0..rng.below(3)).map(|_| format!("zone{}", rng.number(2))).collect();
    node.attributes = BTreeMap::new();
    if rng.percent(40) {
        node.attributes.insert(SALT.into(), rng.number(3).to_string());
    }
    if rng.percent(20) {
        node.attributes.insert("rack".into(), rng.number(3).to_string());
    }
    node.state = State::ALL[rng.below(3)];
    node.payload = rng.number(3);
}

fn random_node(rng: &mut Rng, id: &str) -> ModelNode {
    let mut node = ModelNode::new(id);
    fields(rng, &mut node);
    node
}

fn some_ids(rng: &mut Rng) -> Vec<String> {
    let most = if rng.percent(10) { IDS as usize } else { 5 };
    // Prefixes of each other, so that ids sort otherwise than their numbers.
    let mut ids: Vec<String> = (0..IDS).map(|n| format!("node{n}")).collect();
    rng.shuffle(&mut ids);
    ids.truncate(rng.below(most + 1));
    ids
}

/// A batch that is taken; empty ones and such that change nothing are among them.
pub fn valid<S: Rule>(rng: &mut Rng, nodes: &[ModelNode]) -> Valid {
    let old: BTreeMap<&str, &ModelNode> = nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let removals = if rng.percent(5) { 100 } else { 25 };
    if !nodes.is_empty() && rng.percent(15) {
        // One field of one node, so that each alone is seen to count.
        let node = rng.pick(nodes).clone();
        let mut next = node.clone();
        fields(rng, &mut next);
        return apply(nodes, vec![Change::Set { id: node.id, field: rng.pick(&all_fields(next)).clone() }]);
    }
    let mut changes = Vec::new();
    for id in some_ids(rng) {
        match old.get(id.as_str()) {
            None => changes.push(Change::Add(random_node(rng, &id).spec())),
            Some(_) if rng.percent(removals) => changes.push(Change::Remove { id }),
            Some(&node) => changes.extend(settings(rng, node)),
        }
    }
    rng.shuffle(&mut changes);
    let mut valid = apply(nodes, changes);
    if rng.percent(20) {
        rng.shuffle(&mut valid.nodes);
        let order: Vec<_> = valid.nodes.iter().map(|node| node.id.clone()).collect();
        valid.delta = valid.delta.with_order(order);
    }
    valid
}

/// New values for some fields of a node, which may be the old ones.
fn settings(rng: &mut Rng, node: &ModelNode) -> Vec<Change<u32>> {
    let mut next = node.clone();
    if rng.percent(70) {
        fields(rng, &mut next);
    }
    let all = all_fields(next);
    let chosen = all.into_iter().filter(|_| rng.percent(25));
    chosen.map(|field| Change::Set { id: node.id.clone(), field }).collect()
}

fn all_fields(node: ModelNode) -> [Field<u32>; 7] {
    [
        Field::Weight(node.weight),
        Field::ActivePoints(node.active_points),
        Field::Address(node.address),
        Field::Zone(node.zone),
        Field::Attributes(node.attributes),
        Field::State(node.state),
        Field::Payload(node.payload),
    ]
}

/// What a set of changes makes of the model.
fn apply(nodes: &[ModelNode], changes: Vec<Change<u32>>) -> Valid {
    let mut next = nodes.to_vec();
    let (mut added, mut removed, mut changed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for change in &changes {
        let id = change.id().to_owned();
        let place = next.iter().position(|node| node.id == id);
        match change {
            Change::Add(spec) => {
                next.push(node_of(spec));
                added.insert(id);
            }
            Change::Remove { .. } => {
                next.remove(place.unwrap());
                removed.insert(id);
            }
            Change::Set { field, .. } => {
                let node = &mut next[place.unwrap()];
                match field.clone() {
                    Field::Weight(weight) => node.weight = weight,
                    Field::ActivePoints(points) => node.active_points = points,
                    Field::Address(address) => node.address = address,
                    Field::Zone(zone) => node.zone = zone,
                    Field::Attributes(attributes) => node.attributes = attributes,
                    Field::State(state) => node.state = state,
                    Field::Payload(payload) => {
                        node.payload = payload;
                        changed.insert(id);
                    }
                    other => panic!("the tests don't know {other:?}"),
                }
            }
            other => panic!("the tests don't know {other:?}"),
        }
    }
    for old in nodes {
        if next.iter().any(|node| node.id == old.id && node != old) {
            changed.insert(old.id.clone());
        }
    }
    let mut delta = Delta::new();
    delta.extend(changes);
    Valid { delta, nodes: next, added, removed, changed }
}

fn node_of(spec: &NodeSpec<u32>) -> ModelNode {
    let info = spec.info();
    ModelNode {
        id: spec.id().to_owned(),
        weight: info.weight(),
        active_points: info.active_points(),
        address: info.address().map(str::to_owned),
        zone: info.zone().to_vec(),
        attributes: info.attributes().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        state: info.state(),
        payload: *spec.payload(),
    }
}

/// A full list of nodes, as discovery hands it over: some gone, some new, some changed, in any order. For `replace_all`,
/// to which a payload that is set to what it was is no change.
pub fn full_list(rng: &mut Rng, nodes: &[ModelNode]) -> Valid {
    let mut next: Vec<ModelNode> = nodes.iter().filter(|_| rng.percent(80)).cloned().collect();
    for id in some_ids(rng) {
        match next.iter_mut().find(|node| node.id == id) {
            Some(node) => fields(rng, node),
            None => next.push(random_node(rng, &id)),
        }
    }
    if rng.percent(30) {
        next = nodes.to_vec();
    }
    if rng.percent(50) {
        rng.shuffle(&mut next);
    }
    let by_id = |nodes: &[ModelNode]| -> BTreeMap<String, ModelNode> {
        nodes.iter().map(|node| (node.id.clone(), node.clone())).collect()
    };
    let (old, new) = (by_id(nodes), by_id(&next));
    let only = |a: &BTreeMap<String, ModelNode>, b: &BTreeMap<String, ModelNode>| -> BTreeSet<String> {
        a.keys().filter(|id| !b.contains_key(*id)).cloned().collect()
    };
    let changed = new.iter().filter(|(id, node)| old.get(*id).is_some_and(|old| old != *node));
    Valid {
        delta: Delta::new(),
        added: only(&new, &old),
        removed: only(&old, &new),
        changed: changed.map(|(id, _)| id.clone()).collect(),
        nodes: next,
    }
}

/// A batch with one fault among valid changes, and the error it must give.
pub fn refused<S: Rule>(rng: &mut Rng, scheme: &S, nodes: &[ModelNode]) -> (Delta<u32>, DeltaError) {
    let valid = valid::<S>(rng, nodes);
    let with = |rng: &mut Rng, faults: Vec<Change<u32>>| {
        let mut changes = valid.delta.changes().to_vec();
        for fault in faults {
            changes.insert(rng.below(changes.len() + 1), fault);
        }
        let mut delta = Delta::new();
        delta.extend(changes);
        delta
    };
    let add = |id: &str| Change::Add(ModelNode::new(id).spec());
    let remove = |id: &str| Change::Remove { id: id.to_owned() };
    let set = |id: &str, field| Change::Set { id: id.to_owned(), field };
    let untouched: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).filter(|id| !valid.names(id)).collect();
    let known = if untouched.is_empty() { None } else { Some(rng.pick(&untouched).to_string()) };
    let id = "stranger".to_owned();

    match (rng.below(17), known) {
        (0, Some(id)) => (with(rng, vec![add(&id)]), DeltaError::DuplicateId { id }),
        (1, _) => (with(rng, vec![add(&id), add(&id)]), DeltaError::DuplicateId { id }),
        (2, _) => (with(rng, vec![remove(&id)]), DeltaError::UnknownId { id }),
        (3, _) => (with(rng, vec![set(&id, Field::Payload(1))]), DeltaError::UnknownId { id }),
        (4, _) => (with(rng, vec![add(&id), remove(&id)]), DeltaError::Conflict { id }),
        (5, _) => (with(rng, vec![add(&id), set(&id, Field::Weight(1))]), DeltaError::Conflict { id }),
        (6, Some(id)) => (with(rng, vec![remove(&id), set(&id, Field::Zone(Vec::new()))]), DeltaError::Conflict { id }),
        (7, Some(id)) => (with(rng, vec![remove(&id), remove(&id)]), DeltaError::Conflict { id }),
        (8, Some(id)) => {
            let twice = [1, 2].map(|weight| set(&id, Field::Weight(weight)));
            (with(rng, twice.into()), DeltaError::ChangedTwice { id, field: "weight" })
        }
        (9, Some(id)) => {
            let error = NodeError::WeightTooLarge { id: id.clone(), weight: 51, limit: 50 };
            (with(rng, vec![set(&id, Field::Weight(51))]), error.into())
        }
        (10, Some(id)) => {
            let delta = with(rng, vec![set(&id, Field::ActivePoints(Some(POINT_LIMIT + 1)))]);
            let error = too_many_points(scheme, nodes, &delta);
            (delta, error)
        }
        (11, _) => {
            // One above the limit, all without points.
            let missing = 27 - valid.nodes.len();
            let extra =
                (0..missing).map(|n| Change::Add(NodeSpec::new(format!("x{n}")).with_weight(0).with_payload(0)));
            (with(rng, extra.collect()), DeltaError::TooManyNodes { nodes: 27, limit: 26 })
        }
        (12, _) => (with(rng, vec![add("")]), NodeError::EmptyId.into()),
        (13, Some(id)) => {
            let zone = vec![String::new(); 17];
            let error = NodeError::TooMany { id: id.clone(), what: "zone labels", count: 17, limit: 16 };
            (with(rng, vec![set(&id, Field::Zone(zone))]), error.into())
        }
        (14, Some(id)) => {
            let mut ids: Vec<_> = valid.nodes.iter().map(|node| node.id.clone()).filter(|other| *other != id).collect();
            let double = rng.percent(50) && !ids.is_empty();
            let wrong = if double { rng.pick(&ids).clone() } else { id };
            if double {
                ids.push(wrong.clone());
            }
            (with(rng, Vec::new()).with_order(ids), DeltaError::OrderMismatch { id: wrong })
        }
        (15, _) if S::REFUSES => {
            let spec = NodeSpec::new(&*id).with_attribute(REFUSE, "").with_payload(0);
            let error = SchemeError { id: Some(id), reason: "refused".into() };
            (with(rng, vec![Change::Add(spec)]), error.into())
        }
        _ => {
            let long = "y".repeat(1025);
            let error = NodeError::IdTooLong { id: format!("{}…", &long[..128]), bytes: 1025, limit: 1024 };
            (with(rng, vec![remove(&long)]), error.into())
        }
    }
}

/// The first node, in the order that counts, with which the points pass the limit.
fn too_many_points<S: Rule>(scheme: &S, nodes: &[ModelNode], delta: &Delta<u32>) -> DeltaError {
    let next = canonical(scheme, &apply(nodes, delta.changes().to_vec()).nodes);
    let mut points = 0;
    for (node, part) in next.iter().zip(scheme.parts(&next)) {
        points += part.count;
        if points > POINT_LIMIT.into() {
            return DeltaError::TooManyPoints { id: node.id.clone(), points, limit: POINT_LIMIT.into() };
        }
    }
    panic!("{points} points are allowed");
}
