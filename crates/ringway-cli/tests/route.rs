//! `ringway route`, from outside.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Directory, golden, ringway, run_with, text};

const ONE_NODE: &str = "[[node]]\nid = \"solo\"\n";

fn route(cluster: &Path, more: &[&str]) -> Command {
    let mut command = ringway(["route", "--cluster"]);
    command.arg(cluster).args(more);
    command
}

/// Golden clusters say `nodes` where a cluster file says `node`. Their data is of owners, for which states don't count, so
/// they go without.
fn cluster_file(golden: &Path, into: &Directory) -> PathBuf {
    let mut cluster: serde_json::Value = serde_json::from_slice(&fs::read(golden).unwrap()).unwrap();
    let fields = cluster.as_object_mut().unwrap();
    let mut nodes = fields.remove("nodes").unwrap();
    for node in nodes.as_array_mut().unwrap() {
        node.as_object_mut().unwrap().remove("state");
    }
    fields.insert("node".to_owned(), nodes);
    into.file("cluster.json", cluster.to_string())
}

/// Keys and owners, from a line of several columns.
fn columns(tsv: &[u8], owner: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut keys, mut expected) = (Vec::new(), Vec::new());
    for line in tsv.strip_suffix(b"\n").unwrap().split(|&byte| byte == b'\n') {
        let columns: Vec<_> = line.split(|&byte| byte == b'\t').collect();
        keys.extend_from_slice(&[columns[0], b"\n"].concat());
        expected.extend_from_slice(&[columns[0], b"\t", columns[owner], b"\n"].concat());
    }
    (keys, expected)
}

#[test]
fn answers_are_those_of_the_independent_recipe() {
    let directory = Directory::new("golden");
    let mut cases = Vec::new();
    for entry in fs::read_dir(golden()).unwrap() {
        let case = entry.unwrap().path();
        if case.join("cluster.json").exists() {
            cases.push((case.join("cluster.json"), case.join("owners.tsv"), 1));
        }
    }
    for entry in fs::read_dir(golden().join("moves")).unwrap() {
        let case = entry.unwrap().path();
        cases.push((case.join("before.json"), case.join("owners.tsv"), 1));
        cases.push((case.join("after.json"), case.join("owners.tsv"), 2));
    }
    assert!(cases.len() >= 20, "{}", cases.len());
    let xxh3 = golden().join("../xxh3/weighted");
    cases.push((xxh3.join("cluster.json"), xxh3.join("owners.tsv"), 1));
    for (cluster, owners, column) in cases {
        let (keys, expected) = columns(&fs::read(&owners).unwrap(), column);
        let cluster = cluster_file(&cluster, &directory);
        for layout in ["auto", "sorted", "eytzinger", "stree", "bucket", "direct"] {
            let output = run_with(route(&cluster, &["--layout", layout]), &keys);
            assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
            assert!(output.stdout == expected, "{} column {column}, {layout}", owners.display());
        }
    }
}

#[test]
fn lines_are_split_at_lf_alone() {
    let directory = Directory::new("lines");
    let cluster = directory.file("c.toml", ONE_NODE);
    let cases: &[(&[u8], &[u8])] = &[
        (b"", b""),
        (b"\n", b"\tsolo\n"),
        (b"a", b"a\tsolo\n"),
        (b"a\n", b"a\tsolo\n"),
        (b"a\n\nb\n\n", b"a\tsolo\n\tsolo\nb\tsolo\n\tsolo\n"),
        (b" a \r\nb", b" a \r\tsolo\nb\tsolo\n"),
        (b"\xff\x00\t\n", b"\xff\x00\t\tsolo\n"),
    ];
    for (keys, expected) in cases {
        let output = run_with(route(&cluster, &[]), keys);
        assert!(output.status.success());
        assert_eq!(output.stdout.escape_ascii().to_string(), expected.escape_ascii().to_string());
        let file = directory.file("keys", keys);
        let output = run_with(route(&cluster, &["--keys", file.to_str().unwrap()]), b"");
        assert_eq!(output.stdout.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
}

#[test]
fn json_escapes_and_gives_other_bytes_in_hex() {
    let directory = Directory::new("json");
    let cluster = directory.file("c.toml", "[[node]]\nid = \"a\\tb\\\"é\"\n");
    let output = run_with(route(&cluster, &["--format", "json"]), b"k\"\\\x01\xc3\xa4\n\xff\x0a\n");
    assert_eq!(
        text(&output.stdout),
        "{\"key\":\"k\\\"\\\\\\u0001ä\",\"node\":\"a\\tb\\\"é\"}\n\
         {\"key_hex\":\"ff\",\"node\":\"a\\tb\\\"é\"}\n\
         {\"key\":\"\",\"node\":\"a\\tb\\\"é\"}\n"
    );
    let output = run_with(route(&cluster, &[]), b"k\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("c.toml: node \"a\\tb\\\"é\" has a TAB or LF in its id"));

    let empty = directory.file("empty.toml", "[[node]]\nid = \"off\"\nweight = 0");
    assert_eq!(run_with(route(&empty, &["--format", "json"]), b"k").stdout, b"{\"key\":\"k\",\"node\":null}\n");
    assert_eq!(run_with(route(&empty, &[]), b"k").stdout, b"k\t\n");
}

#[test]
fn a_line_may_have_a_mebibyte_and_no_more() {
    let directory = Directory::new("long");
    let cluster = directory.file("c.toml", ONE_NODE);
    let longest = vec![b'x'; 1 << 20];
    let answer = [&longest[..], b"\tsolo\n"].concat();
    for keys in [longest.clone(), [&longest[..], b"\n"].concat()] {
        let output = run_with(route(&cluster, &[]), &keys);
        assert!(output.status.success() && output.stdout == answer, "{}", text(&output.stderr));
    }
    for after in ["", "\n", "\nc\n"] {
        let keys = [b"a\nb\n", &longest[..], b"x", after.as_bytes()].concat();
        let output = run_with(route(&cluster, &[]), &keys);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stdout), "a\tsolo\nb\tsolo\n", "what came before is answered");
        assert_eq!(
            text(&output.stderr),
            "ringway: standard input:3: the line has more than 1048576 bytes; keys are one a line, ended by LF\n"
        );
    }
}

#[test]
fn lines_that_lie_across_chunks_stay_whole() {
    let directory = Directory::new("chunks");
    let cluster = directory.file("c.toml", ONE_NODE);
    let (mut keys, mut expected) = (Vec::new(), Vec::new());
    for length in (0..2000).chain([131_071, 131_072, 131_073, 262_143, 262_144, 262_145, 1 << 20]).chain(0..2000) {
        let key: String = ('a'..='z').cycle().skip(length % 7).take(length).collect();
        keys.extend_from_slice(format!("{key}\n").as_bytes());
        expected.extend_from_slice(format!("{key}\tsolo\n").as_bytes());
    }
    let output = run_with(route(&cluster, &[]), &keys);
    assert!(output.status.success() && output.stdout == expected);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let directory = Directory::new("pipe");
    let cluster = directory.file("c.toml", ONE_NODE);
    let keys = directory.file("keys", b"some key\n".repeat(1_000_000));
    let mut command = route(&cluster, &["--keys", keys.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 14];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"some key\tsolo\n");
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

/// Answers come before the input ends, and memory doesn't grow with it.
#[test]
fn it_streams() {
    let directory = Directory::new("stream");
    let cluster = directory.file("c.toml", ONE_NODE);
    let mut child = route(&cluster, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for key in ["first", "second"] {
        stdin.write_all(format!("{key}\nhalf of").as_bytes()).unwrap();
        stdout.read_line(&mut line).unwrap();
        stdin.write_all(b" a line\n").unwrap();
        stdout.read_line(&mut line).unwrap();
    }
    assert_eq!(line, "first\tsolo\nhalf of a line\tsolo\nsecond\tsolo\nhalf of a line\tsolo\n");

    let megabyte = format!("{}\n", "x".repeat(1023)).repeat(1024);
    let drain = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()).unwrap());
    for _ in 0..100 {
        stdin.write_all(megabyte.as_bytes()).unwrap();
    }
    if cfg!(target_os = "linux") {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kibibytes < 32 << 10, "{kibibytes} KiB after 100 MiB of keys");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(drain.join().unwrap(), 100 * 1024 * 1029);
}

#[test]
fn what_cannot_be_read_is_named() {
    let directory = Directory::new("unreadable");
    let cluster = directory.file("c.toml", ONE_NODE);
    let output = route(&cluster, &["--keys", "/no/such/keys"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("ringway: /no/such/keys: can't be read: "), "{}", text(&output.stderr));

    let output = route(Path::new("/no/such/cluster"), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("ringway: /no/such/cluster: can't be read: "));

    let bad = directory.file("bad.toml", format!("{ONE_NODE}\n{ONE_NODE}"));
    let output = route(&bad, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "ringway: {}:5:6: node \"solo\": id: \"solo\" is the id of the node at 2:6 already; give another\n",
        bad.display()
    );
    assert_eq!(text(&output.stderr), expected);

    let huge = directory.file("huge.toml", "points_per_weight = 16777217\n[[node]]\nid = \"a\"");
    let output = route(&huge, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = format!("ringway: {}: the nodes up to \"a\" have 16777217 points together", huge.display());
    assert!(text(&output.stderr).starts_with(&message), "{}", text(&output.stderr));
}

const ZONES: &str = r#"
points_per_weight = 40
node = [
    { id = "a1", zone = "a", weight = 3 },
    { id = "a2", zone = "a" },
    { id = "a3", zone = "a" },
    { id = "b1", zone = "b", weight = 2 },
    { id = "b2", zone = "b" },
    { id = "c1", zone = "c" },
]
"#;

fn some_keys() -> Vec<u8> {
    (0..300).flat_map(|n| format!("key {n}\n").into_bytes()).collect()
}

/// The columns of each line, without the key.
fn nodes_of(cluster: &Path, more: &[&str]) -> Vec<Vec<String>> {
    let output = run_with(route(cluster, more), &some_keys());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout).lines().map(|line| line.split('\t').skip(1).map(str::to_owned).collect());
    lines.collect()
}

/// The next replica of a key is who would get it if those before were down, which is who gets it in a file without them.
#[test]
fn replicas_are_the_nodes_to_come() {
    let directory = Directory::new("replicas");
    let cluster = directory.file("c.toml", ZONES);
    let replicas = nodes_of(&cluster, &["--replicas", "8"]);
    assert_eq!(replicas.len(), 300);
    let first = nodes_of(&cluster, &[]);
    for (line, all) in replicas.iter().enumerate() {
        assert_eq!(all.len(), 8, "missing ones leave their columns empty");
        assert!(all[6..].iter().all(String::is_empty) && all[..6].iter().all(|id| !id.is_empty()));
        assert_eq!(first[line], all[..1]);
    }
    for gone in ["a1", "b2"] {
        let shorter: String = ZONES.split_inclusive('\n').filter(|line| !line.contains(gone)).collect();
        let shorter = directory.file("shorter.toml", shorter);
        let rest = nodes_of(&shorter, &[]);
        assert_eq!(nodes_of(&cluster, &["--down", gone]), rest);
        assert_eq!(nodes_of(&cluster, &["--draining", gone]), rest, "new work goes elsewhere");
        for (line, all) in replicas.iter().enumerate() {
            assert_eq!(rest[line][0], *all.iter().find(|id| *id != gone).unwrap());
        }
        let without = nodes_of(&cluster, &["--replicas", "3", "--down", gone]);
        for (line, all) in replicas.iter().enumerate() {
            assert!(without[line].iter().eq(all.iter().filter(|id| *id != gone).take(3)));
        }
    }
    for (line, all) in nodes_of(&cluster, &["--replicas", "6", "--distinct-zones"]).iter().enumerate() {
        // By hand: of the ring's order the first of each zone, then the others.
        let order = &replicas[line][..6];
        let is_first = |id: &&String| order.iter().find(|other| other[..1] == id[..1]) == Some(id);
        let expected: Vec<&String> =
            order.iter().filter(is_first).chain(order.iter().filter(|id| !is_first(id))).collect();
        assert!(all.iter().eq(expected.iter().copied()), "{all:?} of {order:?}");
    }
    let json = run_with(route(&cluster, &["--replicas", "2", "--format", "json"]), b"key 0\n\xff\n");
    let nodes = |all: &[String]| format!("[\"{}\",\"{}\"]", all[0], all[1]);
    assert!(
        text(&json.stdout)
            .starts_with(&format!("{{\"key\":\"key 0\",\"nodes\":{}}}\n{{\"key_hex\":\"ff\"", nodes(&replicas[0])))
    );
}

#[test]
fn states_and_pins_of_the_file_count() {
    let directory = Directory::new("states");
    let cluster = directory.file("c.toml", ZONES);
    let states = ZONES.replace("zone = \"b\", weight = 2", "zone = \"b\", weight = 2, state = \"down\"");
    let states = states.replace("id = \"a2\"", "id = \"a2\", state = \"draining\"");
    let states = directory.file("states.toml", states);
    // Whether the file or a switch says so makes no difference.
    let neither = nodes_of(&cluster, &["--down", "b1", "--down", "a2"]);
    assert_eq!(nodes_of(&states, &[]), neither, "draining nodes take nothing new");
    assert_eq!(nodes_of(&cluster, &["--down", "b1", "--draining", "a2"]), neither);
    assert_eq!(nodes_of(&states, &["--draining", "a2"]), neither);
    let both = nodes_of(&cluster, &["--down", "b1", "--down", "a2", "--down", "c1"]);
    assert_eq!(nodes_of(&states, &["--draining", "c1"]), both, "and nothing new");
    let pinned = directory.file("pins.toml", format!("{ZONES}\n[[pin]]\nprefix = \"key 1\"\nnode = \"c1\"\n"));
    for (line, all) in nodes_of(&pinned, &["--replicas", "2"]).iter().enumerate() {
        let plain = &nodes_of(&cluster, &["--replicas", "2"])[line];
        assert!(if line.to_string().starts_with('1') { all[0] == "c1" } else { all == plain });
        if line > 20 {
            break;
        }
    }
    let all: Vec<&str> = ["a1", "a2", "a3", "b1", "b2", "c1"].iter().flat_map(|id| ["--down", id]).collect();
    assert!(nodes_of(&cluster, &all).iter().all(|nodes| nodes[0].is_empty()));
}

#[test]
fn wrong_routing_options_are_told() {
    let directory = Directory::new("wrong");
    let cluster = directory.file("c.toml", ZONES);
    let output = run_with(route(&cluster, &["--down", "nobody"]), b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("c.toml: node \"nobody\" is not in the file; name one that is\n"));
    for wrong in [&["--replicas", "0"][..], &["--replicas", "x"], &["--distinct-zones"]] {
        assert_eq!(run_with(route(&cluster, wrong), b"").status.code(), Some(64), "{wrong:?}");
    }
}

/// A pin to a node that has no points takes its zone's place among the replicas.
#[test]
fn a_pinned_node_without_points_counts_for_its_zone() {
    let directory = Directory::new("pinned-zone");
    let nodes = [("spare", "a", 0), ("a1", "a", 1), ("b1", "b", 1)];
    let nodes =
        nodes.map(|(id, zone, weight)| format!("[[node]]\nid = \"{id}\"\nzone = \"{zone}\"\nweight = {weight}\n"));
    let cluster = directory.file("c.toml", format!("{}[[pin]]\nprefix = \"\"\nnode = \"spare\"\n", nodes.concat()));
    for all in nodes_of(&cluster, &["--replicas", "3", "--distinct-zones"]) {
        assert_eq!(all, ["spare", "b1", "a1"]);
    }
}
