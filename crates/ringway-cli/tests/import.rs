//! `ringway import`, from outside. The files in `tests/import` were written by hand, inputs and cluster files both.

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{Directory, ringway, run_with, text};
use ringway::cluster::Cluster;

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
