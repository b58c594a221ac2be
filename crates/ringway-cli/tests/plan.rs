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

/// Against `ringway route --replicas`, key by key.
#[test]
fn replicas_are_planned_as_route_shows_them() {
    let directory = Directory::new("plan-replicas");
    let zoned = |nodes: &[(&str, u32)]| {
        let node = |&(id, weight): &(&str, u32)| {
            format!("[[node]]\nid = \"{id}\"\nweight = {weight}\nzone = [\"{}\"]\n", &id[..1])
        };
        nodes.iter().map(node).collect::<String>()
    };
    let old = directory.file("old.toml", zoned(&[("a1", 1), ("a2", 2), ("b1", 1), ("c1", 1)]));
    let new = directory.file("new.toml", zoned(&[("a1", 1), ("a2", 1), ("b1", 1), ("c1", 1), ("c2", 2)]));
    let keys: String = (0..20_000).map(|n| format!("key:{n}\n")).collect();
    let places = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap() as f64 / 4294967296.0;
    for zones in [false, true] {
        let switch: &[&str] = if zones { &["--replicas", "2", "--distinct-zones"] } else { &["--replicas", "2"] };
        let replicas = |cluster: &Path| -> Vec<Vec<String>> {
            let mut route = ringway(["route", "--cluster"]);
            route.arg(cluster).args(switch);
            let output = run_with(route, keys.as_bytes());
            text(&output.stdout).lines().map(|line| line.split('\t').skip(1).map(str::to_owned).collect()).collect()
        };
        let lists: Vec<_> = replicas(&old).into_iter().zip(replicas(&new)).collect();
        let output = ringway(["plan"]).args([&old, &new]).args(switch).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&plan["schema"], &plan["circle"]), (&"ringway-plan/1".into(), &"4294967296".into()));
        let plan = &plan["replicas"];
        assert_eq!((&plan["k"], &plan["old"], &plan["new"]), (&json!(2), &json!(2), &json!(2)));
        let nodes = plan["nodes"].as_array().unwrap();
        let near = |planned: f64, found: usize| {
            let found = found as f64 / 20_000.0;
            assert!((found - planned).abs() < 4.0 * (planned / 20_000.0).sqrt() + 1e-4, "{found} {planned}");
        };
        for node in nodes {
            let id = node["node"].as_str().unwrap().to_owned();
            let joined = lists.iter().filter(|(old, new)| !old.contains(&id) && new.contains(&id)).count();
            let left = lists.iter().filter(|(old, new)| old.contains(&id) && !new.contains(&id)).count();
            near(places(&node["joined"]), joined);
            near(places(&node["left"]), left);
        }
        let sum = |part: &str| nodes.iter().map(|node| places(&node[part])).sum::<f64>();
        assert_eq!((sum("joined"), sum("left")), (places(&plan["moved"]), places(&plan["moved"])));
        assert!(places(&plan["minimum"]) <= places(&plan["moved"]));
        let sets = |list: &[String]| list.iter().cloned().collect::<std::collections::BTreeSet<_>>();
        let reordered = lists.iter().filter(|(old, new)| old != new && sets(old) == sets(new)).count();
        near(places(&plan["reordered"]), reordered);

        let output = ringway(["plan"]).args([&old, &new]).args(switch).output().unwrap();
        let shown = text(&output.stdout);
        assert!(shown.contains("\nreplicas          2  a key has 2 in the old ring and 2 in the new one\n"), "{shown}");
        assert!(shown.contains("\nreplicas of  joined"), "{shown}");
    }
    // Nothing moves.
    let output = run(&[&"plan", &old, &old, &"--replicas", &"3", &"--json"]);
    assert_eq!(output.status.code(), Some(0));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plan["replicas"]["moved"], &plan["replicas"]["nodes"]), (&"0".into(), &json!([])));
}

/// Against `ringway route` on the same keys, for clusters of one key map, of two, and of two widths.
#[test]
fn a_sample_counts_what_route_shows() {
    let directory = Directory::new("plan-sample");
    let of = |scheme: &str, nodes: &[(&str, u32)]| format!("scheme = \"{scheme}\"\n{}", cluster(nodes));
    let pin = "[[pin]]\nprefix = \"key:7\"\nnode = \"b\"\n";
    let old = directory.file("old.toml", of("native", &[("a", 1), ("b", 2), ("c", 1)]));
    let names: String = (0..3000).map(|n| format!("key:{n}\n")).collect();
    let keys = directory.file("keys.txt", names.clone());
    for (scheme, exact) in [("native", true), ("xxh3", false), ("conhash", false), ("hashring", false)] {
        let new = directory.file("new.toml", of(scheme, &[("b", 2), ("c", 2), ("d", 1)]) + pin);
        let pairs: Vec<_> = owners(&old, &names).into_iter().zip(owners(&new, &names)).collect();
        let moved = pairs.iter().filter(|(old, new)| old != new).count();
        let output = run(&[&"plan", &old, &new, &"--json", &"--sample", &keys]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(plan["schema"], if exact { "ringway-plan/1" } else { "ringway-plan-sample/1" });
        assert_eq!((plan["moved"].is_string(), plan["estimate"].is_f64()), (exact, !exact));
        assert_eq!(plan["pins"], json!([{"prefix": "key:7", "old": null, "new": "b"}]));
        let sample = &plan["sample"];
        assert_eq!((&sample["keys"], &sample["moved"]), (&json!(3000), &json!(moved)), "{scheme}");
        let (fraction, p) = (sample["fraction"].as_f64().unwrap(), moved as f64 / 3000.0);
        assert!((fraction - p).abs() < 1e-12);
        assert!((sample["standard_error"].as_f64().unwrap() - (p * (1.0 - p) / 3000.0).sqrt()).abs() < 1e-12);
        let bounds = [0, 1].map(|n| sample["interval"][n].as_f64().unwrap());
        assert!(bounds[0] < p && p < bounds[1]);
        for flow in sample["moves"].as_array().unwrap() {
            let found = pairs.iter().filter(|(old, new)| flow["from"] == **old && flow["to"] == **new).count();
            assert_eq!(flow["keys"], json!(found));
        }
        let shown = run(&[&"plan", &old, &new, &"--sample", &keys]);
        let shown = text(&shown.stdout);
        assert!(shown.contains(&format!("{moved} of 3000 keys")), "{shown}");
        assert_eq!((shown.contains("estimate"), shown.starts_with("moved ")), (!exact, exact), "{shown}");
    }
    // Keys with several points have no arcs.
    let probed =
        |nodes: &[(&str, u32)]| format!("scheme = \"native\"\n[scheme_options]\nprobes = 3\n{}", cluster(nodes));
    let [old, new] = [("p1.toml", probed(&[("a", 1), ("b", 1)])), ("p2.toml", probed(&[("a", 1), ("b", 1), ("c", 1)]))]
        .map(|(file, text)| directory.file(file, text));
    assert_eq!(run(&[&"plan", &old, &new]).status.code(), Some(1));
    let output = run(&[&"plan", &old, &new, &"--json", &"--sample", &keys]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let moved = owners(&old, &names).into_iter().zip(owners(&new, &names)).filter(|(old, new)| old != new).count();
    assert_eq!((&plan["sample"]["moved"], &plan["estimate"]), (&json!(moved), &Value::Null));
    assert!((800..1200).contains(&moved), "about a third: {moved}");

    // A sample of which nothing moves: the only keys are pinned, before and after.
    let both = |scheme: &str| of(scheme, &[("a", 1), ("b", 1)]) + "[[pin]]\nprefix = \"\"\nnode = \"b\"\n";
    let [old, new] = ["native", "xxh3"].map(|scheme| directory.file(&format!("{scheme}.toml"), both(scheme)));
    assert_eq!(run(&[&"plan", &old, &new, &"--sample", &keys]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let directory = Directory::new("plan-errors");
    let native = directory.file("native.toml", cluster(&[("a", 1)]));
    let xxh3 = directory.file("xxh3.toml", format!("scheme = \"xxh3\"\n{}", cluster(&[("a", 1)])));
    let output = run(&[&"plan", &native, &xxh3]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("map keys to points in different ways"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--sample FILE"), "{}", text(&output.stderr));
    let keys = directory.file("keys.txt", "a\nb\n");
    let output = run(&[&"plan", &native, &xxh3, &"--sample", &keys, &"--replicas", &"2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--replicas can't do without"), "{}", text(&output.stderr));
    assert_eq!(run(&[&"plan", &native, &native, &"--sample", &"nowhere.txt"]).status.code(), Some(1));
    for replicas in ["0", "65", "x"] {
        assert_eq!(run(&[&"plan", &native, &native, &"--replicas", &replicas]).status.code(), Some(64));
    }
    assert_eq!(run(&[&"plan", &native, &native, &"--distinct-zones"]).status.code(), Some(64));
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
