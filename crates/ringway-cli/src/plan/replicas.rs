//! What moves of the first nodes of all keys.

use ringway::{Point, ReplicaFlow, ReplicaPlan};
use serde_json::{Value, json};

use super::{columns, percent, shown};

pub(super) fn as_json<P: Point>(count: u16, plan: &ReplicaPlan<P>) -> Value {
    let flow = |flow: &ReplicaFlow| {
        let (joined, left) = (flow.joined().to_string(), flow.left().to_string());
        json!({"node": flow.node().as_str(), "joined": joined, "left": left})
    };
    let (old, new) = plan.replicas();
    json!({
        "k": count,
        "old": old,
        "new": new,
        "moved": plan.moved().to_string(),
        "minimum": plan.minimum().to_string(),
        "reordered": plan.reordered().to_string(),
        "nodes": plan.flows().iter().map(flow).collect::<Vec<_>>(),
    })
}

pub(super) fn as_text<P: Point>(count: u16, plan: &ReplicaPlan<P>) -> String {
    let (old, new) = plan.replicas();
    format!(
        "replicas {count:>10}  a key has {old} in the old ring and {new} in the new one\n  moved    {:>8.6}  circles, {:.4} % of all \
         replicas: {} places\n  minimum  {:>8.6}  circles: {} places\n  reordered  {:>8}  the same nodes in another order\n",
        plan.moved().circles(),
        plan.moved_fraction() * 100.0,
        plan.moved(),
        plan.minimum().circles(),
        plan.minimum(),
        percent(plan.reordered()),
    )
}

pub(super) fn flows_as_text<P: Point>(plan: &ReplicaPlan<P>) -> String {
    if plan.flows().is_empty() {
        return String::new();
    }
    let row = |flow: &ReplicaFlow| [shown(Some(flow.node())), percent(flow.joined()), percent(flow.left())];
    columns(["replicas of", "joined", "left"], &plan.flows().iter().map(row).collect::<Vec<_>>())
}
