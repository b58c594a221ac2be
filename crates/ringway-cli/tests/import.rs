//! `ringway import`, from outside. The files in `tests/import` were written by hand, inputs and cluster files both.

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{Directory, ringway, run_with, text};
use ringway::cluster::Cluster;
use serde_json::{Value, json};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(name)
}

fn import(format: &str, file: &Path, more: &[&str]) -> Output {
    ringway(["import", format]).arg(file).args(more).output().unwrap()
}

#[test]
fn configurations_become_the_cluster_files_written_by_hand() {
    let directory = Directory::new("import");
    for (format, file, name, expected) in [
        ("nginx", "nginx.conf", "cache tier", "nginx.toml"),
        ("twemproxy", "twemproxy.yml", "beta", "twemproxy.toml"),
        ("haproxy", "haproxy.cfg", "caches", "haproxy.toml"),
        ("envoy", "envoy.yaml", "ring", "envoy.toml"),
        ("envoy", "envoy.json", "ring", "envoy-json.toml"),
    ] {
        let expected = Cluster::load(data(expected)).unwrap();
        for (flag, extension) in [(&[][..], "toml"), (&["--json"][..], "json")] {
            let output = import(format, &data(file), &[&["--name", name], flag].concat());
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(text(&output.stderr).lines().all(|line| line.starts_with("ringway: note: ")));
            let written = directory.file(&format!("c.{extension}"), &output.stdout);
            assert_eq!(Cluster::load(&written).unwrap(), expected, "{file}");
            // And the tool routes by it.
            let mut route = ringway(["route", "--cluster"]);
            route.arg(&written);
            let routed = run_with(route, b"a\nb\n");
            assert!(routed.status.success() && text(&routed.stdout).lines().count() == 2);
        }
    }
}

#[test]
fn notes_and_errors_have_file_and_line() {
    let conf = data("nginx.conf");
    let output = import("nginx", &conf, &["--name", "cache tier"]);
    let notes: Vec<&str> = text(&output.stderr).lines().collect();
    let note = |line: u32, text: &str| format!("ringway: note: {}:{line}: {text}", conf.display());
    assert_eq!(
        notes,
        [
            note(20, "server \"10.0.0.99\" is a backup: outside the ring, so of weight 0"),
            note(21, "keys are the values of \"$scheme$request_uri#x\""),
        ]
    );

    let output = import("nginx", &conf, &["--name", "app"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    let expected = "\"least_conn\" can't be reproduced: only \"hash … consistent\" places keys on a ring";
    assert_eq!(text(&output.stderr), format!("ringway: {}:10: {expected}\n", conf.display()));

    let output = import("nginx", &conf, &[]);
    let expected = "there is more than one upstream; pick by --name; there are app, cache tier";
    assert_eq!(text(&output.stderr), format!("ringway: {}: {expected}\n", conf.display()));

    let mut command = ringway(["import", "nginx", "-"]);
    command.arg("--json");
    let output = run_with(command, b"upstream u {\nhash $a consistent; server b\xff; }");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("ringway: standard input:2: the byte 0xff isn't UTF-8"));
    let output = run_with(ringway(["import", "nginx", "-"]), b"upstream u { hash $a consistent; server b; }");
    let expected = "scheme = \"nginx-chash\"\n\n[[node]]\nid = \"b\"\naddress = \"b\"\nweight = 1\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));

    let directory = Directory::new("import-large");
    let large = directory.file("large", vec![b'#'; (8 << 20) + 1]);
    let output = import("haproxy", &large, &[]);
    assert!(text(&output.stderr).contains(": more than 8388608 bytes"), "{}", text(&output.stderr));
    assert_eq!(ringway(["import", "apache", "x"]).output().unwrap().status.code(), Some(64));
}

/// Recorded clusters, written as the configuration that they were recorded from; what is imported decides as they did.
#[test]
fn imported_configurations_decide_as_recorded() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/interop");
    let directory = Directory::new("import-recorded");
    let mut cases = 0;
    for (system, format) in
        [("nginx", nginx as Write), ("twemproxy", twemproxy), ("haproxy", haproxy), ("envoy", envoy)]
    {
        for folder in std::fs::read_dir(recorded.join(system)).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(cluster) = std::fs::read(folder.join("cluster.json")) else { continue };
            let cluster: Value = serde_json::from_slice(&cluster).unwrap();
            let servers = cluster["servers"].as_array().unwrap();
            // An ejection isn't part of a configuration. Where a server is down, nginx goes on to the next.
            if servers.iter().any(|server| server["ejected"] == true || server["down"] == true) {
                continue;
            }
            let config = directory.file("config", format(&cluster["options"], servers));
            let output = import(system, &config, &[]);
            assert!(output.status.success(), "{}: {}", folder.display(), text(&output.stderr));
            let cluster = directory.file("cluster.toml", &output.stdout);
            let vectors = std::fs::read(folder.join("vectors.tsv")).unwrap();
            let keys = vectors.split_inclusive(|&byte| byte == b'\n').flat_map(|row| {
                let tab = row.iter().rposition(|&byte| byte == b'\t').unwrap();
                [&row[..tab], b"\n"].concat()
            });
            let mut route = ringway(["route", "--cluster"]);
            route.arg(&cluster);
            assert!(run_with(route, &keys.collect::<Vec<u8>>()).stdout == vectors, "{}", folder.display());
            cases += 1;
        }
    }
    assert!(cases >= 50, "{cases}");
}

type Write = fn(&Value, &[Value]) -> String;

fn name(server: &Value) -> &str {
    server["name"].as_str().unwrap()
}

fn nginx(options: &Value, servers: &[Value]) -> String {
    let lines = servers.iter().map(|server| format!("  server {:?} weight={};\n", name(server), server["weight"]));
    format!("upstream u {{\n{}  {};\n}}\n", lines.collect::<String>(), options["directive"].as_str().unwrap())
}

fn twemproxy(options: &Value, servers: &[Value]) -> String {
    let lines = servers.iter().map(|server| format!("  - {}\n", server["name"]));
    let tag = options["hash_tag"].as_str().map_or(String::new(), |tag| format!("  hash_tag: {tag:?}\n"));
    format!("pool:\n  hash: {}\n{tag}  servers:\n{}", options["hash"], lines.collect::<String>())
}

fn haproxy(options: &Value, servers: &[Value]) -> String {
    let lines = servers.iter().map(|server| {
        let mut line = format!("  server {} {}", name(server), server["address"].as_str().unwrap_or("127.0.0.1:1"));
        for (keyword, field) in
            [("weight", "weight"), ("id", "explicit_id"), ("hash-key", "hash_key"), ("guid", "guid")]
        {
            match &server[field] {
                Value::Null => {}
                Value::String(value) => line += &format!(" {keyword} {value}"),
                value => line += &format!(" {keyword} {value}"),
            }
        }
        line + if server["disabled"] == true { " disabled\n" } else { "\n" }
    });
    let (balance, hash_type) =
        (options["balance"].as_str().unwrap(), options["hash-type"].as_str().unwrap_or("consistent"));
    format!("backend b\n  balance {balance}\n  hash-type {hash_type}\n{}", lines.collect::<String>())
}

fn envoy(options: &Value, servers: &[Value]) -> String {
    let endpoints = servers.iter().map(|server| {
        let address = server["address"].as_str().unwrap();
        let address = match address.rsplit_once(':') {
            Some((ip, port)) => {
                let ip = ip.trim_start_matches('[').trim_end_matches(']');
                json!({"socketAddress": {"address": ip, "portValue": port.parse::<u16>().unwrap()}})
            }
            None => json!({"pipe": {"path": address}}),
        };
        json!({
            "endpoint": {"address": address, "hostname": server["hostname"]},
            "loadBalancingWeight": server["weight"],
            "metadata": {"filterMetadata": {"envoy.lb": {"hash_key": server["hash_key"]}}},
        })
    });
    let by_hostname = options["use_hostname_for_hashing"] == true;
    let ring = json!({
        "minimumRingSize": options["minimum_ring_size"],
        "maximumRingSize": options["maximum_ring_size"],
        "hashFunction": options["hash_function"],
    });
    let cluster = json!({
        "type": if by_hostname { "STRICT_DNS" } else { "STATIC" },
        "lbPolicy": "RING_HASH",
        "ringHashLbConfig": ring,
        "commonLbConfig": {"consistentHashingLbConfig": {"useHostnameForHashing": by_hostname}},
        "loadAssignment": {"endpoints": [{"lbEndpoints": endpoints.collect::<Vec<_>>()}]},
    });
    cluster.to_string()
}
