//! `ringway live` and the tool's manners, from outside.

mod common;

use std::process::{Output, Stdio};

use common::{Directory, ringway, text};
use serde_json::Value;

fn live(more: &[&str]) -> Output {
    ringway(["live"]).args(more).output().unwrap()
}

#[test]
fn it_runs_with_nothing_but_a_time() {
    let output = live(&["--seconds", "2"]);
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{out}");
    assert!(out.starts_with("the embedded cluster: 12 nodes, 16,896 points; 20,000 keys; "), "{out}");
    let seconds = out.lines().filter(|line| line.starts_with("     1 ") || line.starts_with("     2 ")).count();
    assert_eq!(seconds, 2, "{out}");
    assert!(out.contains("collateral: 0\n") && out.contains("wrong: 0\n"), "{out}");
    assert!(out.ends_with("\nverdict: good\n"), "{out}");
}

#[test]
fn json_has_an_object_a_line() {
    let output = live(&["--seconds", "2", "--changes-per-second", "50", "--threads", "2", "--json", "--seed", "9"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "second", "second", "end"]);
    assert_eq!((&lines[0]["seed"], &lines[0]["nodes"]), (&9.into(), &12.into()));
    assert!(lines[1]["lookups_per_second"].is_u64());
    assert!(lines[1]["p50_ns"].as_u64() <= lines[1]["p999_ns"].as_u64());
    let end = &lines[3];
    assert_eq!((&end["good"], &end["answers_wrong"], &end["first_wrong"]), (&true.into(), &0.into(), &Value::Null));
    // How many depends on the machine and on what else it does.
    for count in ["lookups", "answers_checked", "commits"] {
        assert!(end[count].as_u64().unwrap() > 0, "{count}: {end}");
    }
    assert_eq!(end["commits"].as_u64().unwrap() + 1, end["versions_published"].as_u64().unwrap());
    assert!(end["keys_moved"].as_u64().unwrap() > 0);
    assert_eq!(end["keys_moved"], end["keys_had_to_move"]);
    let shares: f64 = end["nodes"].as_array().unwrap().iter().map(|node| node["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

#[test]
fn a_soak_runs_rings_from_seeds_and_finds_what_is_wrong() {
    let output = live(&["--soak", "--seconds", "1", "--seed", "9", "--json"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, .., verdict] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&first["kind"], &first["seed"]), (&"ring".into(), &9.into()));
    assert_eq!((&verdict["kind"], &verdict["violations"]), (&"verdict".into(), &0.into()));
    assert!(verdict["lookups"].as_u64().unwrap() > 0, "{verdict}");
    assert_eq!(verdict["rings"].as_u64().unwrap() as usize, lines.len() - 1);

    let output = live(&["--soak", "--seconds", "1", "--seed", "9", "--break-check"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.starts_with("ringway: check failed: version 1 was read after 0, "), "{message}");
    assert!(message.contains("--soak --seed 9 --seconds 5"), "{message}");
}

#[test]
fn a_wrong_answer_fails_the_check() {
    let output = live(&["--seconds", "1", "--break-check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("\nverdict: BAD\n"));
    let message = text(&output.stderr);
    assert!(message.starts_with("ringway: check failed: 1 of "), "{message}");
    assert!(message.contains("no node was answered, \""), "{message}");
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn small_clusters_and_every_layout_run() {
    let directory = Directory::new("live");
    let keys = directory.file("keys", "one\ntwo\nthree\n\nfive");
    let one = directory.file("one.json", r#"{"node": [{"id": "only", "active_points": 3}], "points_per_weight": 2}"#);
    let none = directory.file("none.toml", "");
    for (cluster, changes, layout) in
        [(&one, "50", "auto"), (&one, "0", "sorted"), (&none, "0", "eytzinger"), (&none, "50", "eytzinger")]
    {
        let (cluster, keys) = (cluster.to_str().unwrap(), keys.to_str().unwrap());
        let output = live(&[
            "--seconds",
            "1",
            "--cluster",
            cluster,
            "--keys",
            keys,
            "--changes-per-second",
            changes,
            "--layout",
            layout,
        ]);
        assert_eq!(output.status.code(), Some(0), "{cluster}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("layout {layout}; {changes} changes/s")));
    }
}

#[test]
fn the_answers_of_another_scheme_are_checked_by_its_own_hash() {
    let directory = Directory::new("live-xxh3");
    let cluster = "scheme = \"xxh3\"\nnode = [{id = \"a\"}, {id = \"b\"}, {id = \"c\"}]\n";
    let cluster = directory.file("xxh3.toml", cluster);
    let output = live(&["--seconds", "1", "--cluster", cluster.to_str().unwrap()]);
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{out}");
    assert!(out.contains("wrong: 0\n") && out.ends_with("\nverdict: good\n"), "{out}");
}

#[test]
fn bad_input_is_refused_before_the_start() {
    let directory = Directory::new("live-bad");
    let cluster = directory.file("c.toml", "[[node]]\nid = \"a\"\nweight = -1\n");
    let output = live(&["--cluster", cluster.to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    let expected = format!(
        "ringway: {}:3:10: node \"a\": weight: -1 is out of range; give an integer from 0 to 65535\n",
        cluster.display()
    );
    assert_eq!(text(&output.stderr), expected);

    let keys = directory.file("keys", "");
    let output = live(&["--keys", keys.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), format!("ringway: {}: there is no key in it; give one a line\n", keys.display()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        ringway(["live", "--seconds", "600"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn wrong_usage_is_64_and_help_is_0() {
    let wrong: [&[&str]; 10] = [
        &[],
        &["fly"],
        &["--fly"],
        &["live", "--threads", "0"],
        &["live", "--seconds", "-1"],
        &["live", "--layout", "heap"],
        &["live", "extra"],
        &["live", "--changes-per-second", "100001"],
        &["route"],
        &["route", "--cluster", "x", "--format", "xml"],
    ];
    for args in wrong {
        let output = ringway(args).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(
            output.stdout.is_empty() && text(&output.stderr).starts_with("ringway: "),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    let output = ringway(["--version"]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "ringway 0.1.0\n"));
    for args in [&["--help"][..], &["live", "--help"], &["route", "--help"], &["help", "route"]] {
        let output = ringway(args).output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains("Usage: ringway"), "{args:?}");
        assert!(!text(&output.stdout).contains("break-check"));
    }
}
