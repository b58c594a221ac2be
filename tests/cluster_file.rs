//! Cluster files: what is refused and in which words, and that what is written reads back.

use std::error::Error;
use std::fs;

use ringway::cluster::{Cluster, ClusterProblem, Place};
use ringway::scheme::{AnyScheme, Native, SchemeOptions, Xxh3};
use ringway::{NodeSpec, Ring, State};

const EMBEDDED: &str = include_str!("../crates/ringway-cli/data/cluster.toml");

/// Text and the whole message, for each kind of error. The places were counted by hand.
#[test]
fn bad_toml_is_refused_with_place_field_and_value() {
    let id = format!("[[node]]\nid = \"{}\"", "x".repeat(1025));
    let cut = format!("{}…", "x".repeat(128));
    let long_address = format!("[[node]]\nid = \"a\"\naddress = \"{}\"", "y".repeat(4097));
    let zones = format!("[[node]]\nid = \"a\"\nzone = [{}]", "\"z\",".repeat(17));
    let table: &[(&str, &str)] = &[
        // The document.
        ("scheme = ", "f:1:10: "),
        ("x", "f:1:2: "),
        ("scheme = \"native\"\nscheme = \"native\"", "f:2:1: duplicate key"),
        ("a = [\n1,\n", "f:"),
        (
            "\nsheme = \"native\"",
            "f:2:1: unknown field \"sheme\"; the fields here are scheme, points_per_weight, scheme_options, node",
        ),
        ("zzz = 1\naaa = 1", "f:1:1: unknown field \"zzz\""),
        ("scheme = 1", "f:1:10: scheme: 1 is an integer; give text"),
        ("scheme = \"ketama\"", "f:1:10: scheme: unknown scheme \"ketama\"; the schemes are native, xxh3, "),
        ("scheme = \"Native\"", "f:1:10: scheme: unknown scheme \"Native\"; the schemes are native, xxh3"),
        (
            "points_per_weight = -1",
            "f:1:21: points_per_weight: -1 is out of range; give an integer from 0 to 4294967295",
        ),
        ("points_per_weight = 4294967296", "f:1:21: points_per_weight: 4294967296 is out of range"),
        ("points_per_weight = 5e2", "f:1:21: points_per_weight: 5e2 is a float; give an integer"),
        ("points_per_weight = \"512\"", "f:1:21: points_per_weight: \"512\" is text; give an integer"),
        ("points_per_weight = 1979-05-27", "f:1:21: points_per_weight: 1979-05-27 is a date or time; give an integer"),
        ("scheme_options = 1", "f:1:18: scheme_options: 1 is an integer; give a table"),
        (
            "[scheme_options]\n\nseed = 1\n",
            "f:3:1: scheme_options.seed: scheme \"native\" takes no option \"seed\"; remove it",
        ),
        (
            "scheme = \"xxh3\"\n[scheme_options]\nseed = 1\n",
            "f:3:1: scheme_options.seed: scheme \"xxh3\" takes no option \"seed\"; remove it",
        ),
        (
            "scheme = \"nginx-chash\"\npoints_per_weight = 7\n",
            "f:2:21: points_per_weight: scheme \"nginx-chash\" takes no option \"points_per_weight\"; remove it",
        ),
        (
            "points_per_weight = 7\n[scheme_options]\npoints_per_weight = 7\n",
            "f:3:1: scheme_options: field \"points_per_weight\" stands twice in one table; keep one",
        ),
        (
            "scheme = \"pingora-v2\"\n[scheme_options]\npoint_multiple = \"x\"\n",
            "f:3:18: scheme_options.point_multiple: \"x\" is text; give an integer",
        ),
        (
            "[scheme_options]\nkey_tag = '{'\n",
            "f:2:11: scheme_options.key_tag: a key tag is 2 bytes, such as {}; this text has 1",
        ),
        (
            "[scheme_options]\nx = 1.5",
            "f:2:5: scheme_options.x: 1.5 is a float; give text, an integer of 0 or more, or a boolean",
        ),
        ("node = \"a\"", "f:1:8: node: \"a\" is text; give a list of tables"),
        ("[node]\nid = \"a\"", "f:1:1: node: this is a table; give a list of tables"),
        ("node = [\"a\"]", "f:1:9: node 1 of the list: node: \"a\" is text; give a table"),
        // A node.
        ("[[node]]\nid = \"a\"\n\n[[node]]\nweight = 1", "f:4:1: node 2 of the list: field \"id\" is missing; add it"),
        ("[[node]]\nid = 7", "f:2:6: node 1 of the list: id: 7 is an integer; give text"),
        ("[[node]]\nid = \"\"", "f:2:6: node 1 of the list: id: node id is empty; give it at least one character"),
        (
            &id,
            &format!("f:2:6: node 1 of the list: id: node id \"{cut}\" has 1025 bytes, the limit is 1024; shorten it"),
        ),
        (
            "[[node]]\nid = \"a\"\n[[node]]\nid = \"b\"\n[[node]]\nid = \"a\"",
            "f:6:6: node \"a\": id: \"a\" is the id of the node at 2:6 already; give another",
        ),
        (
            "[[node]]\nid = \"a\"\nwieght = 2",
            "f:3:1: node 1 of the list: unknown field \"wieght\"; the fields here are id, address, weight, \
             active_points, zone, state, attributes",
        ),
        (
            "[[node]]\nid = \"a\"\nweight = -1",
            "f:3:10: node \"a\": weight: -1 is out of range; give an integer from 0 to 65535",
        ),
        ("[[node]]\nweight = 65536\nid = \"a\"", "f:2:10: node \"a\": weight: 65536 is out of range"),
        ("[[node]]\nid = \"a\"\nweight = 0x1_0000", "f:3:10: node \"a\": weight: 0x10000 is out of range"),
        ("[[node]]\nid = \"a\"\nweight = 99999999999999999999999999999999999999999999", "f:3:10: "),
        ("[[node]]\nid = \"a\"\nweight = 1.0", "f:3:10: node \"a\": weight: 1.0 is a float; give an integer"),
        ("[[node]]\nid = \"a\"\nweight = inf", "f:3:10: node \"a\": weight: inf is a float; give an integer"),
        ("[[node]]\nid = \"a\"\nweight = true", "f:3:10: node \"a\": weight: true is a boolean; give an integer"),
        ("[[node]]\nid = \"a\"\nweight = [1]", "f:3:10: node \"a\": weight: this is a list; give an integer"),
        (
            "[[node]]\nid = \"a\"\nactive_points = 16777217",
            "f:3:17: node \"a\": active_points: 16777217 is out of range; give an integer from 0 to 16777216",
        ),
        ("[[node]]\nid = \"a\"\naddress = 80", "f:3:11: node \"a\": address: 80 is an integer; give text"),
        (&long_address, "f:3:11: node \"a\": address has 4097 bytes, the limit is 4096; shorten it"),
        ("[[node]]\nid = \"a\"\nzone = 1", "f:3:8: node \"a\": zone: 1 is an integer; give text or a list of texts"),
        (
            "[[node]]\nid = \"a\"\nzone = [\"eu\", 1]",
            "f:3:15: node \"a\": zone: 1 is an integer; give text as each label",
        ),
        (
            "[[node]]\nid = \"a\"\nstate = \"Up\"",
            "f:3:9: node \"a\": state: unknown state \"Up\"; the states are up, draining, down",
        ),
        ("[[node]]\nid = \"a\"\nstate = 1", "f:3:9: node \"a\": state: 1 is an integer; give text"),
        (&zones, "f:3:8: node \"a\": 17 zone labels are above the limit of 16; remove some"),
        (
            "[[node]]\nid = \"a\"\nattributes = \"rack\"",
            "f:3:14: node \"a\": attributes: \"rack\" is text; give a table",
        ),
        (
            "[[node]]\nid = \"a\"\n[node.attributes]\nrack = 7",
            "f:4:8: node \"a\": attributes.rack: 7 is an integer; give text",
        ),
        (
            "[[node]]\nid = \"a\"\nattributes.rack.row = \"7\"",
            "node \"a\": attributes.rack: this is a table; give text",
        ),
        // What could spoil a terminal or a log stays escaped.
        ("\"\\u001b[2J\\n\" = 1", "f:1:1: unknown field \"\\u{1b}[2J\\n\"; "),
    ];
    for (text, expected) in table {
        let error = Cluster::parse_toml("f", text).expect_err(text);
        let message = error.to_string();
        assert!(message.contains(expected), "{text:.100}\n gives    {message}\n expected {expected}");
        assert!(error.place().is_some(), "{text}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn bad_json_is_refused_in_the_same_words() {
    let node = |rest: &str| format!("{{\n \"node\": [\n  {{\"id\": \"a\", {rest}}}\n ]\n}}");
    let table: &[(String, &str)] = &[
        (String::new(), "f:1:1: EOF while parsing a value"),
        ("{\n \"node\": [}".into(), "f:2:11: expected value"),
        ("{} {}".into(), "f:1:4: trailing characters"),
        ("[]".into(), "f:1:1: the file: this is a list; give a table"),
        ("{\n\n \"scheme\": null}".into(), "f:3:12: scheme: this is null; give text"),
        ("{\n \"nodes\": []}".into(), "f:2:2: unknown field \"nodes\"; the fields here are scheme, "),
        (
            "{\"scheme\": \"native\",\n \"scheme\": \"native\"}".into(),
            "f:2:2: field \"scheme\" stands twice in one table; keep one",
        ),
        (
            "{\"scheme_options\": {\n\"x\": {}}}".into(),
            "f:2:6: scheme_options.x: this is a table; give text, an integer of 0 or more, or a boolean",
        ),
        ("{\"node\": {}}".into(), "f:1:10: node: this is a table; give a list of tables"),
        ("{\"node\": [\n{}]}".into(), "f:2:1: node 1 of the list: field \"id\" is missing; add it"),
        ("{\"node\": [\n{\"id\": \"\\ud800\"}]}".into(), "f:2:"),
        (
            "{\"node\": [{\"id\": \"a\"},\n {\"id\": \"\\u0061\"}]}".into(),
            "f:2:9: node \"a\": id: \"a\" is the id of the node at 1:18 already",
        ),
        (node("\"weight\": -1"), "f:3:25: node \"a\": weight: -1 is out of range; give an integer from 0 to 65535"),
        (node("\"weight\": 65536"), "f:3:25: node \"a\": weight: 65536 is out of range"),
        (node("\"weight\": 1e2"), "f:3:25: node \"a\": weight: 1e2 is a float; give an integer"),
        (node("\"weight\": 1.5"), "f:3:25: node \"a\": weight: 1.5 is a float; give an integer"),
        (node("\"weight\": \"2\""), "f:3:25: node \"a\": weight: \"2\" is text; give an integer"),
        (node("\"weight\": 1, \"weight\": 1"), "f:3:28: node 1 of the list: field \"weight\" stands twice"),
        (
            node("\"attributes\": {\"k\": \"\", \"k\": \"\"}"),
            "f:3:39: node \"a\": attributes: field \"k\" stands twice",
        ),
        (
            node("\"attributes\": {\"k\": [[[[[[[[]]]]]]]]}"),
            "f:3:35: node \"a\": attributes.k: this is a list; give text",
        ),
        (node("\"zone\": {}"), "f:3:23: node \"a\": zone: this is a table; give text or a list of texts"),
    ];
    for (text, expected) in table {
        let error = Cluster::parse_json("f", text).expect_err(text);
        let message = error.to_string();
        assert!(message.contains(expected), "{text:.100}\n gives    {message}\n expected {expected}");
        assert!(error.place().is_some(), "{text}: {message}");
    }
}

#[test]
fn too_many_nodes_are_refused_before_they_are_looked_at() {
    let error = Cluster::parse_json("f", &format!("{{\"node\": [0{}]}}", ",0".repeat(1 << 20))).unwrap_err();
    assert_eq!(error.to_string(), "f:1:10: node: 1048577 nodes are above the limit of 1048576; split the cluster");
}

#[test]
fn an_error_is_typed() {
    let error =
        Cluster::parse_toml("c.toml", "[[node]]\nid = \"a\"\n\n[[node]]\nid = \"b\"\nweight = 70000").unwrap_err();
    assert_eq!((error.file(), error.node_index(), error.node_id()), ("c.toml", Some(1), Some("b")));
    assert_eq!((error.field(), error.place()), (Some("weight"), Some(Place { line: 6, column: 10 })));
    assert!(matches!(error.problem(), ClusterProblem::OutOfRange { value, limit: 65_535 } if value == "70000"));
}

#[test]
fn both_formats_mean_the_same() {
    let toml = r#"
        scheme = "native"
        points_per_weight = 0x40
        [scheme_options]
        [[node]]
        id = "a"
        weight = 0
        [[node]]
        id = "ü\u0000 b"
        address = ""
        active_points = 0
        zone = ["eu", "eu-1"]
        attributes = { "k.x" = "v", "" = "" }
        [[node]]
        id = "c"
        zone = "eu"
        state = "down"
        [[node]]
        id = "d"
        state = "up"
    "#;
    let json = r#"{
        "node": [
            {"id": "a", "weight": 0},
            {"attributes": {"": "", "k.x": "v"}, "id": "\u00fc\u0000 b", "address": "", "active_points": 0, "zone": ["eu", "eu-1"]},
            {"id": "c", "state": "down", "zone": ["eu"]}, {"id": "d"}
        ],
        "scheme_options": {},
        "points_per_weight": 64
    }"#;
    let nodes = vec![
        NodeSpec::new("a").with_weight(0),
        NodeSpec::new("ü\0 b")
            .with_address("")
            .with_active_points(0)
            .with_zone(["eu", "eu-1"])
            .with_attribute("k.x", "v")
            .with_attribute("", ""),
        NodeSpec::new("c").with_zone(["eu"]).with_state(State::Down),
        NodeSpec::new("d"),
    ];
    let expected = Cluster::new(AnyScheme::from(Native::new().with_points_per_weight(64)), nodes);
    assert_eq!(Cluster::parse_toml("f", toml).unwrap(), expected);
    assert_eq!(Cluster::parse_json("f", json).unwrap(), expected);
}

#[test]
fn the_scheme_is_read_with_its_points_wherever_they_stand() {
    for text in ["scheme = \"xxh3\"\npoints_per_weight = 64", "points_per_weight = 64\nscheme = \"xxh3\""] {
        let cluster = Cluster::parse_toml("f", text).unwrap();
        assert_eq!(*cluster.scheme(), AnyScheme::from(Xxh3::new().with_points_per_weight(64)));
        assert_eq!(cluster.scheme().name(), "xxh3");
    }
    let cluster = Cluster::parse_json("f", r#"{"scheme": "xxh3"}"#).unwrap();
    assert_eq!(*cluster.scheme(), AnyScheme::from(Xxh3::new()));
}

#[test]
fn absent_fields_take_their_defaults() {
    let empty = Cluster::new(AnyScheme::from(Native::new()), Vec::new());
    for text in ["", "# nothing\n", "\u{feff}", "node = []"] {
        assert_eq!(Cluster::parse_toml("f", text).unwrap(), empty, "{text:?}");
    }
    assert_eq!(Cluster::parse_json("f", " {} \n").unwrap(), empty);
    let one = Cluster::parse_toml("f", "[[node]]\nid='a'").unwrap();
    assert_eq!(one.nodes(), [NodeSpec::new("a")]);
    assert_eq!(*one.scheme(), AnyScheme::from(Native::new().with_points_per_weight(512)));
}

#[test]
fn what_is_written_reads_back() {
    let texts = ["plain", "", "a\"b\\c", "line\nline\r\n", "\u{0}\u{1b}\u{7f}", "'''\"\"\"", "é 北 🦀", "# = [x]", " "];
    let mut nodes = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        for weight in [0, 1, 65_535] {
            nodes.push(
                NodeSpec::new(format!("{text}#{number}.{weight}"))
                    .with_weight(weight)
                    .with_active_points((weight > 1).then_some(weight))
                    .with_address(*text)
                    .with_zone(texts[..number].iter().copied())
                    .with_state(State::ALL[number % 3])
                    .with_attribute(*text, *text),
            );
        }
    }
    nodes.push(NodeSpec::new("bare"));
    nodes.push(NodeSpec::new("x".repeat(1024)).with_zone(["only"]).with_attribute("k", "y".repeat(4096)));
    let cluster = Cluster::new(AnyScheme::from(Native::new().with_points_per_weight(u32::MAX)), nodes);
    let other = Cluster::new(AnyScheme::from(Xxh3::new().with_points_per_weight(7)), cluster.nodes().to_vec());
    let embedded = Cluster::parse_toml("embedded", EMBEDDED).unwrap();
    let mut options = SchemeOptions::new().with("point_multiple", 40u32).with("key_tag", "{}");
    let compat = AnyScheme::named("pingora-v2", &mut options).unwrap().unwrap();
    let compat = Cluster::new(compat, vec![NodeSpec::new("[::1]:80").with_state(State::Draining)]);
    for cluster in [compat, cluster, other, embedded, Cluster::parse_toml("f", "").unwrap()] {
        assert_eq!(Cluster::parse_toml("written", &cluster.to_toml()).unwrap(), cluster);
        assert_eq!(Cluster::parse_json("written", &cluster.to_json()).unwrap(), cluster);
    }
}

/// A parser may give up at the end of the text, and the LF there begins no line.
#[test]
fn no_error_is_on_a_line_that_the_text_does_not_have() {
    let deep = format!("[{}a]\n", "a.".repeat(100_000));
    for (toml, text) in
        [(true, &*deep), (true, "a = \n"), (true, "a = [\n1,\n"), (false, "{\"node\": [\n"), (false, "\n")]
    {
        let error = if toml { Cluster::parse_toml("f", text) } else { Cluster::parse_json("f", text) }.unwrap_err();
        let line = error.place().unwrap().line;
        assert!((1..=text.lines().count()).contains(&line), "{error}");
    }
}

#[test]
fn the_embedded_sample_builds() {
    let cluster = Cluster::parse_toml("embedded", EMBEDDED).unwrap();
    assert_eq!(cluster.nodes().len(), 12);
    assert_eq!(cluster.nodes()[11].info().attribute("stage"), Some("trial"));
    assert_eq!(*cluster.scheme(), AnyScheme::from(Native::new()));
    let table = Ring::builder().nodes(cluster.nodes().iter().cloned()).build_table().unwrap();
    assert_eq!(table.len(), 33 * 512);
}

#[test]
fn the_name_or_else_the_first_byte_tells_the_format() {
    let directory = std::env::temp_dir().join(format!("ringway-cluster-file-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let load = |name: &str, content: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, content).unwrap();
        Cluster::load(&path)
    };
    let cluster = Cluster::parse_toml("f", "[[node]]\nid = 'a'").unwrap();
    let (toml, json) = (cluster.to_toml(), cluster.to_json());
    for (name, content) in [("c.toml", &toml), ("c.TOML", &toml), ("c.json", &json), ("c.Json", &json)] {
        assert_eq!(load(name, content.as_bytes()).unwrap(), cluster, "{name}");
    }
    for content in [toml.clone(), json.clone(), format!("\n\t {json}"), format!("\n# {{\n{toml}")] {
        assert_eq!(load("cluster", content.as_bytes()).unwrap(), cluster, "{content}");
    }
    assert!(load("wrong.toml", json.as_bytes()).is_err());
    assert!(load("wrong.json", toml.as_bytes()).is_err());

    let error = load("bytes.toml", b"# \xc3\xa4\nx = '\xff'").unwrap_err();
    assert_eq!(error.place(), Some(Place { line: 2, column: 6 }));
    assert!(error.to_string().ends_with("bytes.toml:2:6: byte 0xff is not part of UTF-8 text; save the file as UTF-8"));

    let missing = directory.join("missing.toml");
    let error = Cluster::load(&missing).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: can't be read: ", missing.display())), "{error}");
    assert!(error.source().is_some() && error.place().is_none());
    assert!(matches!(Cluster::load(&directory).unwrap_err().problem(), ClusterProblem::Read { .. }));

    // Sparse, so that it costs no disk; refused by its length, so that it costs no memory either.
    let large = directory.join("large.toml");
    fs::File::create(&large).unwrap().set_len(Cluster::MAX_FILE_BYTES + 1).unwrap();
    let error = Cluster::load(&large).unwrap_err();
    assert!(error.to_string().ends_with("the file has 8388609 bytes or more, the limit is 8388608; split the cluster"));
    fs::remove_dir_all(&directory).unwrap();
}

/// Every prefix, every single-byte replacement by what the formats find meaningful, and deep nesting: never a panic.
#[test]
fn no_input_panics() {
    let cluster =
        Cluster::parse_toml("f", "[[node]]\nid = 'ä'\nzone = ['x', 'y']\n[node.attributes]\nk = 'v'").unwrap();
    let parse = |text: &str| {
        // An error must also be shown without a panic.
        let _ = Cluster::parse_toml("f", text).map_err(|error| error.to_string());
        let _ = Cluster::parse_json("f", text).map_err(|error| error.to_string());
    };
    for text in [cluster.to_toml(), cluster.to_json()] {
        for (at, _) in text.char_indices() {
            parse(&text[..at]);
            for new in
                ["", "\"", "'", "[", "]", "{", "}", "\\", "\\ud800", "\n", "\0", ",", ".", "=", ":", "-", "9", "e", "é"]
            {
                let rest = text[at..].chars().next().map_or("", |c| &text[at + c.len_utf8()..]);
                parse(&format!("{}{new}{rest}", &text[..at]));
            }
        }
    }
    for open in ["[", "{\"node\":", "{\"a\":", "a=[", "[[node]]\nattributes.", "a."] {
        parse(&open.repeat(20_000));
        parse(&format!("node = {}", open.repeat(20_000)));
    }
    parse(&format!("{{\"node\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000)));
    parse(&format!("node = {}{}", "[".repeat(10_000), "]".repeat(10_000)));
}
