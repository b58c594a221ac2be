//! `ringway verify` and `ringway route --scheme`, from outside.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{Directory, ringway, run_with, text};

/// Three servers of nginx, one of them down, and decisions that nginx made.
const CASE: &str = "h-weighted-5-one-down";

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/interop")
}

fn verify<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    ringway(["verify"]).args(args).output().unwrap()
}

fn copy(directory: &Directory, case: &str, cluster: &[u8], vectors: &[u8]) -> PathBuf {
    directory.folder(case);
    directory.file(&format!("{case}/vectors.tsv"), vectors);
    directory.file(&format!("{case}/cluster.json"), cluster).parent().unwrap().to_owned()
}

fn of_nginx(case: &str) -> (Vec<u8>, Vec<u8>) {
    let folder = recorded().join("nginx").join(case);
    (fs::read(folder.join("cluster.json")).unwrap(), fs::read(folder.join("vectors.tsv")).unwrap())
}

#[test]
fn all_recorded_decisions_match() {
    let folder = recorded();
    for layout in ["auto", "sorted", "eytzinger"] {
        let output = verify([folder.as_os_str(), "--layout".as_ref(), layout.as_ref()]);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        let lines: Vec<&str> = text(&output.stdout).lines().collect();
        let cases = lines.len() - 1;
        assert!(cases >= 20, "{cases} cases");
        assert_eq!(lines[cases], format!("{cases} passed, 0 failed"));
        for line in &lines[..cases] {
            let (path, counts) = line.rsplit_once(' ').unwrap();
            let rows = fs::read(Path::new(path).join("vectors.tsv")).unwrap();
            let rows = rows.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(counts, format!("{rows}/{rows}"), "{path}");
        }
    }
}

#[test]
fn what_differs_is_shown_and_fails() {
    let directory = Directory::new("verify-differs");
    let (cluster, vectors) = of_nginx(CASE);
    let rows: Vec<&[u8]> = vectors.split_inclusive(|&byte| byte == b'\n').collect();
    // The row after 3 good ones is falsified; one more names a server that isn't there, and its key isn't UTF-8.
    let falsified = rows[3].strip_suffix(b"\n").unwrap();
    let tab = falsified.iter().rposition(|&byte| byte == b'\t').unwrap();
    let (key, server) = (&falsified[..tab], &falsified[tab + 1..]);
    let wrong: &[u8] =
        if server.starts_with(b"cache-a") { b"cache-b.example.net:8081" } else { b"cache-a.example.net:8081" };
    let rows = [&rows[..3].concat(), key, b"\t", wrong, b"\n\xff\tx\tnowhere"].concat();
    let cluster = String::from_utf8(cluster).unwrap().replace("\"vectors\"", "\"other\"");
    let bad = copy(&directory, "bad", cluster.as_bytes(), &rows);
    let good = recorded().join("nginx").join(CASE);

    let output = verify([&good, &bad]);
    assert_eq!(output.status.code(), Some(1));
    let shown: Vec<&str> = text(&output.stdout).lines().collect();
    assert!(shown[0].starts_with(&format!("{} ", good.display())));
    assert_eq!(shown[1], format!("{} 3/5", bad.display()));
    assert_eq!(
        shown[2],
        format!("  line 4: key \"{}\", expected \"{}\", got \"{}\"", text(key), text(wrong), text(server))
    );
    assert!(shown[3].starts_with("  line 5: key \"\\xff\\tx\", expected \"nowhere\", got \"cache-"), "{}", shown[3]);
    assert_eq!(shown[4..], ["1 passed, 1 failed"]);
    assert_eq!(text(&output.stderr), "ringway: check failed: 1 of 2 cases failed\n");

    let output = verify([bad.as_os_str(), "--show".as_ref(), "0".as_ref()]);
    assert_eq!(text(&output.stdout), format!("{} 3/5\n0 passed, 1 failed\n", bad.display()));
}

#[test]
fn what_is_malformed_is_named_and_fails() {
    let directory = Directory::new("verify-malformed");
    let (cluster, vectors) = of_nginx(CASE);
    let server = b"cache-a.example.net:8081";
    let long = vec![b'x'; (1 << 20) + 2000];
    let rows = vectors.iter().filter(|&&byte| byte == b'\n').count();
    let one_more = [&vectors[..], b"a\tb\n"].concat();
    let truncated = &cluster[..cluster.len() / 2];
    let cases: &[(&[u8], &[u8], &str)] = &[
        (&cluster, b"", "vectors.tsv: there is no line in it"),
        (&cluster, b"a\n", "vectors.tsv:1: there is no TAB in the line; give key, TAB, server"),
        (&cluster, &[b"a\t", &server[..], b"\n\n"].concat(), "vectors.tsv:2: there is no TAB in the line"),
        (&cluster, b"a\t\n", "vectors.tsv:1: there is no server after the TAB"),
        (&cluster, &long, "vectors.tsv:1: the line has more than 1049601 bytes; end each by LF"),
        (&cluster, &one_more, &format!("vectors.tsv: {} lines, but cluster.json says \"vectors\": {rows}", rows + 1)),
        (b"{}", &vectors, "cluster.json:1:1: field \"algorithm\" is missing"),
        (b"{\"a\n\xff\"}", &vectors, "cluster.json:2: the byte 0xff isn't UTF-8"),
        (truncated, &vectors, "cluster.json:"),
        (
            b"{\"algorithm\": \"no-such\", \"servers\": []}",
            &vectors,
            "cluster.json:1:15: algorithm: unknown scheme \"no-such\"",
        ),
    ];
    for (cluster, vectors, expected) in cases {
        let folder = copy(&directory, "case", cluster, vectors);
        let output = verify([&folder]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), "0 passed, 1 failed\n"));
        let message = format!("ringway: {}/{expected}", folder.display());
        assert!(text(&output.stderr).starts_with(&message), "{}\n{message}", text(&output.stderr));
    }
    let alone = directory.folder("alone");
    directory.file("alone/vectors.tsv", &vectors);
    let lost = directory.folder("lost");
    directory.file("lost/cluster.json", &cluster);
    let empty = directory.folder("empty");
    let missing = empty.join("missing");
    let good = recorded().join("nginx").join(CASE);
    let output = verify([&alone, &empty, &missing, &good, &lost]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("1 passed, 4 failed\n"), "{}", text(&output.stdout));
    let errors: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(errors[0], format!("ringway: {}/vectors.tsv: there is no cluster.json beside it", alone.display()));
    assert_eq!(
        errors[1],
        format!("ringway: {}: there is no folder with cluster.json and vectors.tsv in it", empty.display())
    );
    assert!(errors[2].starts_with(&format!("ringway: {}: can't be read: ", missing.display())), "{}", errors[2]);
    assert_eq!(errors[3], format!("ringway: {}/cluster.json: there is no vectors.tsv beside it", lost.display()));
    // Beside a sound case, too.
    directory.folder("lost/sound");
    directory.file("lost/sound/cluster.json", &cluster);
    directory.file("lost/sound/vectors.tsv", &vectors);
    let output = verify([&lost]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).ends_with("1 passed, 1 failed\n"), "{}", text(&output.stdout));
    assert_eq!(verify::<&str>([]).status.code(), Some(64));
}

#[test]
fn the_command_line_overrides_the_scheme() {
    let directory = Directory::new("route-scheme");
    let (_, vectors) = of_nginx("c-weighted-5");
    let nodes: String = ["a", "b", "c", "d", "e"]
        .iter()
        .zip([1, 2, 3, 5, 10])
        .map(|(name, weight)| format!("[[node]]\nid = \"cache-{name}.example.net:8081\"\nweight = {weight}\n"))
        .collect();
    let cluster = directory.file("c.toml", format!("points_per_weight = 3\n{nodes}"));
    let keys: Vec<u8> = vectors
        .split_inclusive(|&byte| byte == b'\n')
        .flat_map(|row| [&row[..row.iter().rposition(|&byte| byte == b'\t').unwrap()], b"\n"].concat())
        .collect();
    let route = |args: &[&str], keys: &[u8]| {
        let mut command = ringway(["route", "--cluster"]);
        command.arg(&cluster).args(args);
        run_with(command, keys)
    };
    let output = route(&["--scheme", "nginx-chash"], &keys);
    assert!(output.status.success() && output.stdout == vectors, "{}", text(&output.stderr));
    assert!(route(&[], &keys).stdout != vectors);

    // An option that looks like a number but is text; a number; a boolean where none is taken.
    let tagged = route(&["--scheme", "nginx-chash", "--scheme-option", "key_tag=12"], b"1k2a\n1k2b\nk\n");
    let owners: Vec<&str> = text(&tagged.stdout).lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert!(owners[0] == owners[1] && owners[1] == owners[2], "{owners:?} {}", text(&tagged.stderr));
    assert!(route(&["--scheme", "native", "--scheme-option", "points_per_weight=7"], &keys).status.success());
    for (args, message) in [
        (
            &["--scheme", "no-such"][..],
            "invalid value 'no-such' for '--scheme <NAME>': unknown scheme \"no-such\"; the schemes are native, ",
        ),
        (&["--scheme-option", "a=b"], "the following required arguments were not provided"),
        (
            &["--scheme", "native", "--scheme-option", "b"],
            "invalid value 'b' for '--scheme-option <NAME=VALUE>': give NAME=VALUE",
        ),
        (
            &["--scheme", "native", "--scheme-option", "x=1"],
            "--scheme-option \"x\": scheme \"native\" doesn't take such an option",
        ),
        (
            &["--scheme", "native", "--scheme-option", "points_per_weight=true"],
            "--scheme-option points_per_weight: true is a boolean; give an integer",
        ),
        (
            &["--scheme", "native", "--scheme-option", "points_per_weight=99999999999"],
            "--scheme-option points_per_weight: 99999999999 is out of range",
        ),
        (&["--scheme", "native", "--scheme-option", "key_tag=abc"], "--scheme-option key_tag: a key tag is 2 bytes"),
    ] {
        let output = route(args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(
            text(&output.stderr).starts_with(&format!("ringway: {message}")),
            "{}\n{message}",
            text(&output.stderr)
        );
    }
}
