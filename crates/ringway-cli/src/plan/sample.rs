//! What moves of a sample of keys.

use ringway::scheme::Scheme;
use ringway::{NodeId, Plan, SampledFlow, SampledPlan, Table};
use serde_json::{Value, json};

use super::{columns, shown};
use crate::Keys;

pub(super) fn of<S: Scheme, R: Scheme>(old: &Table<(), S>, new: &Table<(), R>, keys: &Keys) -> SampledPlan {
    Plan::sampled(old, new, keys.lines().into_iter().map(|key| (key, 1)))
}

pub(super) fn as_json(sample: &SampledPlan) -> Value {
    let flow = |flow: &SampledFlow| json!({"from": flow.from().map(NodeId::as_str), "to": flow.to().map(NodeId::as_str), "keys": flow.keys()});
    let (low, high) = sample.confidence_interval();
    json!({
        "keys": sample.keys(),
        "moved": sample.moved_keys(),
        "fraction": sample.moved_fraction(),
        "standard_error": sample.standard_error(),
        "interval": [low, high],
        "moves": sample.flows().iter().map(flow).collect::<Vec<_>>(),
    })
}

pub(super) fn as_text(sample: &SampledPlan) -> String {
    let (low, high) = sample.confidence_interval();
    format!(
        "sample   {:>8.4} %  {} of {} keys; of all keys {:.4} % to {:.4} % with 95 % confidence, if these are a random sample\n",
        sample.moved_fraction() * 100.0,
        sample.moved_keys(),
        sample.keys(),
        low * 100.0,
        high * 100.0,
    )
}

pub(super) fn flows_as_text(sample: &SampledPlan) -> String {
    if sample.flows().is_empty() {
        return String::new();
    }
    let row = |flow: &SampledFlow| [shown(flow.from()), shown(flow.to()), flow.keys().to_string()];
    columns(["from", "to", "of sample"], &sample.flows().iter().map(row).collect::<Vec<_>>())
}
