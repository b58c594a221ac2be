//! `ringway plan` and `ringway balance`, from outside.

mod common;

use std::path::Path;
use std::process::Output;

use common::{Directory, ringway, run_with, text};
use serde_json::{Value, json};

fn run(args: &[&dyn AsRef<Path>]) -> Output {
    let args: Vec<_> = args.iter().map(|arg| arg.as_ref().as_os_str().to_owned()).collect();
    ringway(args).output().unwrap()
}

fn cluster(nodes: &[(&str, u32)]) -> String {
    let node = |&(id, weight): &(&str, u32)| format!("[[node]]\nid = \"{id}\"\nweight = {weight}\n");
    nodes.iter().map(node).collect()
}

/// The owners of many keys, asked of `ringway route`.
fn owners(cluster: &Path, keys: &str) -> Vec<String> {
    let mut route = ringway(["route", "--cluster"]);
    route.arg(cluster);
    let output = run_with(route, keys.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.rsplit_once('\t').unwrap().1.to_owned()).collect()
}

#[test]
fn a_plan_says_what_route_shows() {
    let directory = Directory::new("plan");
    let old = directory.file("old.toml", cluster(&[("a", 1), ("b", 2), ("c", 1)]));
    let new = directory.file("new.toml", cluster(&[("b", 2), ("c", 2), ("d", 1)]));
    let output = run(&[&"plan", &old, &new, &"--json"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["schema"], "ringway-plan/1");
    assert_eq!(plan["circle"], "4294967296");
    let places = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let moves = plan["moves"].as_array().unwrap();
    assert_eq!(moves.iter().map(|flow| places(&flow["points"])).sum::<u64>(), places(&plan["moved"]));
    assert!(places(&plan["minimum"]) <= places(&plan["moved"]) && places(&plan["minimum"]) > 0);

    let keys: String = (0..40_000).map(|n| format!("key:{n}\n")).collect();
    let pairs: Vec<_> = owners(&old, &keys).into_iter().zip(owners(&new, &keys)).collect();
    for flow in moves {
        let (from, to) = (flow["from"].as_str().unwrap(), flow["to"].as_str().unwrap());
        let found = pairs.iter().filter(|(old, new)| old == from && new == to).count() as f64 / 40_000.0;
        let planned = places(&flow["points"]) as f64 / 4294967296.0;
        // Four standard deviations of a count of 40,000.
        assert!(
            (found - planned).abs() < 4.0 * (planned / 40_000.0).sqrt() + 1e-4,
            "{from} to {to}: {found}, {planned}"
        );
    }
    let listed = |pair: &(String, String)| moves.iter().any(|flow| flow["from"] == *pair.0 && flow["to"] == *pair.1);
    assert!(pairs.iter().filter(|(old, new)| old != new).all(listed), "a move isn't in the plan");

    let output = run(&[&"plan", &old, &new]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).starts_with("moved "), "{}", text(&output.stdout));
}

#[test]
fn a_plan_of_no_change_ends_with_0() {
    let directory = Directory::new("plan-same");
    let old = directory.file("old.toml", cluster(&[("a", 1), ("b", 2)]));
    let new = directory.file("new.toml", cluster(&[("b", 2), ("a", 1)]));
    let output = run(&[&"plan", &old, &new, &"--json"]);
    assert_eq!(output.status.code(), Some(0));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plan["moved"], &plan["minimum"], &plan["moves"]), (&"0".into(), &"0".into(), &Value::Array(vec![])));
    assert_eq!((&plan["pins"], &plan["states"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let output = run(&[&"plan", &old, &new]);
    assert!(text(&output.stdout).ends_with("\nnothing moves\n"), "{}", text(&output.stdout));

    let empty = directory.file("empty.toml", "");
    let output = run(&[&"plan", &empty, &old, &"--json"]);
    assert_eq!(output.status.code(), Some(2));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["moved"], "4294967296");
    assert!(plan["moves"].as_array().unwrap().iter().all(|flow| flow["from"].is_null()));
}

#[test]
fn a_plan_tells_of_pins_and_states() {
    let directory = Directory::new("plan-beyond");
    let nodes = cluster(&[("a", 1), ("b", 1), ("c", 1)]);
    let pin = |field: &str, text: &str, node: &str| format!("[[pin]]\n{field} = \"{text}\"\nnode = \"{node}\"\n");
    let down = |nodes: &str, id: &str, state: &str| {
        nodes.replace(&format!("id = \"{id}\"\n"), &format!("id = \"{id}\"\nstate = \"{state}\"\n"))
    };
    let keys: String = (0..300).map(|n| format!("key:{n}\n")).collect();
    let pins = |list: &[String]| nodes.clone() + &list.concat();
    let kept = pin("prefix", "kept", "a");
    for (old, new, expected_pins, expected_states) in [
        (nodes.clone(), pins(&[pin("prefix", "", "a")]), json!([{"prefix": "", "old": null, "new": "a"}]), json!([])),
        (
            pins(&[pin("prefix_hex", "ff", "b"), pin("key", "key:1", "a"), pin("prefix", "key", "a"), kept.clone()]),
            pins(&[kept.clone(), pin("prefix", "key", "c")]),
            json!([
                {"key": "key:1", "old": "a", "new": null},
                {"prefix": "key", "old": "a", "new": "c"},
                {"prefix_hex": "ff", "old": "b", "new": null},
            ]),
            json!([]),
        ),
        (
            down(&nodes, "c", "draining"),
            down(&nodes, "a", "down"),
            json!([]),
            json!([{"node": "a", "old": "up", "new": "down"}, {"node": "c", "old": "draining", "new": "up"}]),
        ),
    ] {
        let old = directory.file("old.toml", old);
        let new = directory.file("new.toml", new);
        assert_ne!(owners(&old, &keys), owners(&new, &keys), "keys move");
        let output = run(&[&"plan", &old, &new, &"--json"]);
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&plan["pins"], &plan["states"]), (&expected_pins, &expected_states));
        assert_eq!((&plan["moved"], output.status.code()), (&"0".into(), Some(2)));
        let output = run(&[&"plan", &old, &new]);
        assert_eq!(output.status.code(), Some(2));
        let shown = text(&output.stdout);
        assert!(shown.contains("keys move beyond the ring") && !shown.contains("nothing moves"), "{shown}");
        for change in expected_states.as_array().unwrap() {
            let line = |part: &str| change[part].as_str().unwrap().to_owned();
            let line = format!("\nstate of {}: {} to {}\n", line("node"), line("old"), line("new"));
            assert!(shown.contains(&line), "{shown}");
        }
        assert_eq!(shown.matches("\npin of ").count(), expected_pins.as_array().unwrap().len());
    }

    // A node that joins out of service takes arcs and no keys; where a state moves points, the arcs say it all.
    let old = directory.file("old.toml", cluster(&[("a", 1), ("b", 1)]));
    let new = directory.file("new.toml", down(&nodes, "c", "down"));
    assert_eq!(owners(&old, &keys), owners(&new, &keys));
    let states = |old: &Path, new: &Path| {
        let output = run(&[&"plan", &old, &new, &"--json"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_ne!(plan["moved"], "0");
        plan["states"].clone()
    };
    assert_eq!(states(&old, &new), json!([{"node": "c", "old": null, "new": "down"}]));
    assert_eq!(states(&new, &old), json!([{"node": "c", "old": "down", "new": null}]));
    let rebuilt = |nodes: &str| format!("scheme = \"libketama\"\n{nodes}");
    let old = directory.file("old.toml", rebuilt(&nodes));
    let new = directory.file("new.toml", rebuilt(&down(&nodes, "c", "down")));
    assert_eq!(states(&old, &new), json!([]));
    let shown = run(&[&"plan", &old, &new]);
    assert!(!text(&shown.stdout).contains("beyond"), "{}", text(&shown.stdout));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let directory = Directory::new("plan-errors");
    let native = directory.file("native.toml", cluster(&[("a", 1)]));
    let xxh3 = directory.file("xxh3.toml", format!("scheme = \"xxh3\"\n{}", cluster(&[("a", 1)])));
    let output = run(&[&"plan", &native, &xxh3]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("map keys to points in different ways"), "{}", text(&output.stderr));
    assert_eq!(run(&[&"plan", &native, &"nowhere.toml"]).status.code(), Some(1));
    assert_eq!(run(&[&"plan", &native]).status.code(), Some(64));
}

#[test]
fn balance_adds_up() {
    let directory = Directory::new("balance");
    let file = directory.file("cluster.toml", cluster(&[("a", 1), ("b", 3), ("none", 0)]));
    let output = run(&[&"balance", &"--cluster", &file, &"--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let balance: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = balance["nodes"].as_array().unwrap();
    let places: Vec<u64> = nodes.iter().map(|node| node["share"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(places.iter().sum::<u64>(), 1 << 32);
    assert_eq!(nodes.iter().map(|node| node["points"].as_u64().unwrap()).collect::<Vec<_>>(), [512, 1536, 0]);
    assert!(nodes[2]["to_fair"].is_null());
    let ratios = [places[0] as f64 / (1u64 << 30) as f64, places[1] as f64 / (3u64 << 30) as f64];
    let close = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-9;
    assert!(close(&nodes[0]["to_fair"], ratios[0]) && close(&nodes[1]["to_fair"], ratios[1]));
    assert!(close(&balance["spread"], ratios[0].max(ratios[1])));
    let deviation = (ratios.iter().map(|r| (r - 1.0).powi(2)).sum::<f64>() / 2.0).sqrt();
    assert!(close(&balance["deviation"], deviation));
    assert_eq!(balance["placement"].as_str().unwrap().len(), 32);

    let help = run(&[&"balance", &"--help"]);
    let help = text(&help.stdout);
    assert!(
        help.contains("share of the circle") && !help.contains("share of the keys") && help.contains("pins"),
        "{help}"
    );
    let output = run(&[&"balance"]);
    assert!(output.status.success() && text(&output.stdout).contains("spread"));
}
