//! Pins and states in cluster files, in both formats.

use ringway::cluster::{Cluster, ClusterProblem};
use ringway::scheme::{AnyScheme, Native};
use ringway::{NodeSpec, PinError, Pins, Ring, State};

const NODES: &str = "[[node]]\nid = \"a\"\n[[node]]\nid = \"b\"\nstate = \"down\"\n";

#[test]
fn pins_are_read_and_written() {
    let pins = Pins::new().with_key("k\"ey", "a").unwrap().with_key([0xFF, 0x0A], "b").unwrap();
    let pins = pins.with_prefix("", "b").unwrap().with_prefix([b'p', 0x80], "a").unwrap();
    let nodes = vec![NodeSpec::new("a"), NodeSpec::new("b").with_state(State::Down)];
    let cluster = Cluster::new(AnyScheme::from(Native::new()), nodes).with_pins(pins.clone());
    assert_eq!(Cluster::parse_toml("t", &cluster.to_toml()).unwrap(), cluster, "{}", cluster.to_toml());
    assert_eq!(Cluster::parse_json("t", &cluster.to_json()).unwrap(), cluster);

    let text = format!(
        "{NODES}[[pin]]\nkey = 'k\"ey'\nnode = \"a\"\n[[pin]]\nkey_hex = \"fF0a\"\nnode = \"b\"\n\
         [[pin]]\nprefix = \"\"\nnode = \"b\"\n[[pin]]\nprefix_hex = \"7080\"\nnode = \"a\"\n"
    );
    assert_eq!(Cluster::parse_toml("t", &text).unwrap(), cluster);
    let none = Cluster::parse_toml("t", NODES).unwrap();
    assert!(none.pins().is_empty() && !none.to_toml().contains("pin"));

    let (_, nodes) = cluster.clone().into_parts();
    let table = Ring::builder().nodes(nodes).pins(pins).build_table().unwrap();
    assert_eq!(table.node("b").unwrap().health(), State::Down, "the configured state is the live one at first");
    assert_eq!(table.owner(b"anything").unwrap().id(), "b");
    assert_eq!(table.route(b"anything").unwrap().id(), "a");
}

#[test]
fn wrong_pins_are_named_with_their_place() {
    for (pin, message) in [
        ("key = \"k\"", "6:1: pin: field \"node\" is missing; add it"),
        ("node = \"a\"", "6:1: pin: a pin is of one key or prefix; give one of key, key_hex, prefix, prefix_hex"),
        (
            "node = \"a\"\nkey = \"k\"\nprefix = \"k\"",
            "6:1: pin: a pin is of one key or prefix; give one of key, key_hex, prefix, prefix_hex",
        ),
        ("node = \"c\"\nkey = \"k\"", "7:8: pin.node: node \"c\" is not in the file; add it or leave the pin out"),
        (
            "node = \"a\"\nkey_hex = \"abc\"",
            "8:11: pin.key_hex: \"abc\" is not bytes; give two hexadecimal digits for each",
        ),
        (
            "node = \"a\"\nkey_hex = \"+a\"",
            "8:11: pin.key_hex: \"+a\" is not bytes; give two hexadecimal digits for each",
        ),
        ("node = \"a\"\nkey = 7", "8:7: pin.key: 7 is an integer; give text"),
        (
            "node = \"a\"\nkez = \"k\"",
            "8:1: unknown field \"kez\"; the fields here are key, key_hex, prefix, prefix_hex, node",
        ),
    ] {
        let error = Cluster::parse_toml("c.toml", &format!("{NODES}[[pin]]\n{pin}\n")).unwrap_err();
        assert_eq!(error.to_string(), format!("c.toml:{message}"));
    }
    let twice = "[[pin]]\nkey = \"k\"\nnode = \"a\"\n";
    let error = Cluster::parse_toml("c.toml", &format!("{NODES}{twice}{twice}")).unwrap_err();
    assert!(matches!(error.problem(), ClusterProblem::Pin(PinError::Twice { .. })), "{error}");
    assert_eq!(error.to_string(), "c.toml:10:7: pin: \"k\" is pinned twice; keep one of the pins");
    let error = Cluster::parse_toml("c.toml", &format!("pin = 3\n{NODES}")).unwrap_err();
    assert!(error.to_string().ends_with("give a list of tables, as [[pin]] makes in TOML"), "{error}");
}
