//! Nodes and batches in a format for people and in one for machines.

mod common;

use common::model::ModelNode;
use common::{Rng, batches};
use ringway::{Change, Delta, Field, Fingerprint, Native, NodeId, NodeSpec, Pins, Share, State};
use serde_json::json;

#[test]
fn the_names_of_fields_are_stable() {
    let spec = NodeSpec::new("a").with_weight(2).with_zone(["eu", "eu-1"]).with_address("10.0.0.1:80");
    let spec = spec.with_attribute("rack", "r1").with_state(State::Draining).with_active_points(9).with_payload(7);
    let text = json!({
        "id": "a", "weight": 2, "active_points": 9, "address": "10.0.0.1:80", "zone": ["eu", "eu-1"],
        "attributes": {"rack": "r1"}, "state": "draining", "payload": 7,
    });
    assert_eq!(serde_json::to_value(&spec).unwrap(), text);
    assert_eq!(serde_json::from_value::<NodeSpec<i32>>(text).unwrap(), spec);
    let short = json!({"id": "a", "payload": null});
    assert_eq!(serde_json::from_value::<NodeSpec>(short).unwrap(), NodeSpec::new("a"));

    let pins = Pins::new().with_key("vip", "a").unwrap().with_prefix([0xFF, 1], "b").unwrap();
    let delta = Delta::new().add(NodeSpec::new("a")).remove("b").set_weight("c", 3).set_state("c", State::Down);
    let delta = delta.set_address("d", None).set_payload("d", ()).with_order(["c", "d", "a"]).with_pins(pins);
    let node = json!({
        "id": "a", "weight": 1, "active_points": null, "address": null, "zone": [], "attributes": {}, "state": "up",
        "payload": null,
    });
    let text = json!({
        "changes": [
            {"add": node},
            {"remove": {"id": "b"}},
            {"set": {"id": "c", "field": {"weight": 3}}},
            {"set": {"id": "c", "field": {"state": "down"}}},
            {"set": {"id": "d", "field": {"address": null}}},
            {"set": {"id": "d", "field": {"payload": null}}},
        ],
        "order": ["c", "d", "a"],
        "pins": {"keys": [{"match": "vip", "node": "a"}], "prefixes": [{"match": [255, 1], "node": "b"}]},
    });
    assert_eq!(serde_json::to_value(&delta).unwrap(), text);
    assert_eq!(serde_json::from_value::<Delta>(text).unwrap(), delta);
    assert_eq!(serde_json::from_value::<Delta>(json!({})).unwrap(), Delta::new());

    let print: Fingerprint = "000102ab0405060708090a0b0c0d0eff".parse().unwrap();
    assert_eq!(serde_json::to_value(print).unwrap(), json!("000102ab0405060708090a0b0c0d0eff"));
    assert_eq!(serde_json::from_value::<Fingerprint>(json!("000102ab0405060708090a0b0c0d0eff")).unwrap(), print);
    assert_eq!(serde_json::to_value(Share::whole(128)).unwrap(), json!("340282366920938463463374607431768211456"));
    assert_eq!(serde_json::from_value::<NodeId>(json!("a")).unwrap().as_str(), "a");
}

#[test]
fn batches_come_back_as_they_went() {
    let (mut rng, mut nodes): (_, Vec<ModelNode>) = (Rng::new(0x5E2DE), Vec::new());
    for round in 0..300 {
        let batch = batches::valid::<Native>(&mut rng, &nodes);
        nodes = batch.nodes;
        let mut delta = batch.delta;
        if round % 5 == 0 {
            let key = rng.next().to_le_bytes();
            delta = delta.with_pins(Pins::new().with_key(&key[..rng.below(9)], "a").unwrap());
        }
        let text = serde_json::to_string(&delta).unwrap();
        assert_eq!(serde_json::from_str::<Delta<u32>>(&text).unwrap(), delta, "{text}");
        let bytes = postcard::to_stdvec(&delta).unwrap();
        assert_eq!(postcard::from_bytes::<Delta<u32>>(&bytes).unwrap(), delta);
        // Damaged, they are an error or another batch.
        for _ in 0..20 {
            let mut damaged = bytes.clone();
            let at = rng.below(damaged.len());
            damaged[at] = rng.next().to_le_bytes()[0];
            let _ = postcard::from_bytes::<Delta<u32>>(&damaged);
            let _ = postcard::from_bytes::<NodeSpec<u32>>(&damaged[at..]);
            let mut damaged = text.clone().into_bytes();
            let at = rng.below(damaged.len());
            damaged[at] = rng.next().to_le_bytes()[0];
            let _ = serde_json::from_slice::<Delta<u32>>(&damaged);
        }
    }
}

#[test]
fn what_no_ring_takes_is_not_read() {
    let spec = |text: serde_json::Value| serde_json::from_value::<NodeSpec<()>>(text).unwrap_err().to_string();
    let delta = |text: serde_json::Value| serde_json::from_value::<Delta<()>>(text).unwrap_err().to_string();
    for (error, expected) in [
        (spec(json!({"id": "", "payload": null})), "node id is empty; give it at least one character"),
        (spec(json!({"id": "a", "payload": null, "wieght": 2})), "unknown field `wieght`, expected one of"),
        (spec(json!({"id": "a", "payload": null, "weight": -1})), "invalid value: integer `-1`, expected u32"),
        (spec(json!({"id": "a", "payload": null, "state": "gone"})), "unknown variant `gone`, expected one of `up`"),
        (spec(json!({"id": "a".repeat(1025), "payload": null})), "node id \"aaa"),
        (spec(json!({"id": "a", "zone": vec!["z"; 17], "payload": null})), "node \"a\": 17 zone labels are above the"),
        (spec(json!({"payload": null})), "missing field `id`"),
        (
            delta(json!({"changes": [{"remove": {"id": "a"}}, {"remove": {"id": "a"}}]})),
            "node \"a\" is added, removed or",
        ),
        (delta(json!({"changes": [{"rename": {"id": "a"}}]})), "unknown variant `rename`, expected one of `add`"),
        (delta(json!({"changes": [{"set": {"id": "a", "field": {"wieght": 1}}}]})), "unknown variant `wieght`"),
        (delta(json!({"changes": [{"remove": {"id": "a", "now": true}}]})), "unknown field `now`"),
        (delta(json!({"pins": {"keys": [{"match": "", "node": ""}]}})), ""),
        (
            delta(json!({"pins": {"keys": [{"match": 7, "node": "a"}]}})),
            "invalid type: integer `7`, expected a text or bytes",
        ),
    ] {
        assert!(error.starts_with(expected), "{error}");
    }
    let set: Change<()> = Change::Set { id: "a".into(), field: Field::Weight(1) };
    assert_eq!(serde_json::to_string(&set).unwrap(), r#"{"set":{"id":"a","field":{"weight":1}}}"#);
}
