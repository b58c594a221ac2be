//! Options by name, what is refused, and what may not be shown.

use std::fs;

use ringway::scheme::{
    AnyScheme, CppMapLower, CppMapUpper, CppMurmurLower, EnvoyHash, EnvoyRingHash, Groupcache, GrpcRingHash,
    HaproxyChash, HaproxyHash, Hashring, Keyed, OptionValue, Scheme, SchemeOptions, Secret, SecretError,
};
use ringway::{DeltaError, Limits, NodeSpec, Ring, State, Table};

fn options<const N: usize>(pairs: [(&str, OptionValue); N]) -> SchemeOptions {
    pairs.into_iter().fold(SchemeOptions::new(), |options, (name, value)| options.with(name, value))
}

fn named(name: &str, mut given: SchemeOptions) -> Result<AnyScheme, String> {
    let scheme = AnyScheme::named(name, &mut given).map_err(|error| error.to_string())?.expect("the name is known");
    assert!(given.is_empty(), "{given:?} are left");
    let again = AnyScheme::named(name, &mut scheme.options()).expect("what a scheme gives back it takes");
    assert_eq!(again, Some(scheme.clone()));
    Ok(scheme)
}

#[test]
fn schemes_are_made_from_their_options() {
    let haproxy = HaproxyChash::new();
    let text = |text: &str| OptionValue::from(text);
    for (given, expected) in [
        (options([]), haproxy),
        (options([("hash-type", text("consistent"))]), haproxy),
        (options([("hash-type", text("consistent djb2"))]), haproxy.with_hash(HaproxyHash::Djb2, false)),
        (options([("hash-type", text("consistent wt6 avalanche"))]), haproxy.with_hash(HaproxyHash::Wt6, true)),
        (options([("hash", text("crc32"))]), haproxy.with_hash(HaproxyHash::Crc32, false)),
        (options([("avalanche", false.into())]), haproxy.with_hash(HaproxyHash::Sdbm, false)),
        (options([("hash", text("sdbm")), ("avalanche", true.into()), ("hash-type", text("consistent"))]), haproxy),
        (options([("balance", text("hdr(X-Key)"))]), haproxy.with_header(true)),
        (options([("balance", text("uri"))]), haproxy),
        (options([("header", true.into())]), haproxy.with_header(true)),
    ] {
        assert_eq!(named("haproxy-chash", given.clone()), Ok(expected.into()), "{given:?}");
    }
    let sizes = [("minimum_ring_size", 16u32.into()), ("maximum_ring_size", 50u32.into())];
    let envoy = EnvoyRingHash::new().with_ring_size(16, 50).expect("in range");
    assert_eq!(named("envoy-ring-hash", options(sizes)), Ok(envoy.into()));
    let more = [("hash_function", text("MURMUR_HASH_2")), ("use_hostname_for_hashing", true.into())];
    let envoy = EnvoyRingHash::new().with_hash(EnvoyHash::Murmur2).with_hostname(true);
    assert_eq!(named("envoy-ring-hash", options(more)), Ok(envoy.into()));
    let grpc = GrpcRingHash::new().with_ring_size(1, 9).expect("in range").with_cap(5);
    let sizes = [("minRingSize", 1u32.into()), ("maxRingSize", 9u32.into()), ("ringSizeCap", 5u32.into())];
    assert_eq!(named("grpc-ring-hash", options(sizes)), Ok(grpc.into()));
    let given = options([("replicas", 7u32.into()), ("hash", text("crc32"))]);
    assert_eq!(named("groupcache", given), Ok(Groupcache::new().with_replicas(7).into()));
    assert_eq!(named("hashring", options([])), Ok(Hashring::new().into()));
    let given = options([("points_per_weight", 9u32.into())]);
    assert_eq!(named("hashring", given), Ok(Hashring::new().with_points_per_weight(9).into()));
    let given = || options([("points_per_node", 3u32.into())]);
    assert_eq!(named("cpp-map-upper", given()), Ok(CppMapUpper::new().with_points_per_node(3).into()));
    assert_eq!(named("cpp-map-lower", given()), Ok(CppMapLower::new().with_points_per_node(3).into()));
    assert_eq!(named("cpp-murmur-lower", given()), Ok(CppMurmurLower::new().with_points_per_node(3).into()));
}

#[test]
fn bad_options_are_refused_with_what_to_do() {
    let text = |text: &str| OptionValue::from(text);
    for (name, given, message) in [
        (
            "haproxy-chash",
            options([("hash", text("md5"))]),
            "hash: unknown value \"md5\"; the values are sdbm, djb2, wt6, crc32",
        ),
        (
            "haproxy-chash",
            options([("hash-type", text("map-based"))]),
            "hash-type: \"map-based\" is not reproduced; give consistent",
        ),
        (
            "haproxy-chash",
            options([("balance", text("source"))]),
            "balance: \"source\" is not reproduced; give hdr(<name>)",
        ),
        (
            "haproxy-chash",
            options([("balance", text("hdr(Host) use_domain_only"))]),
            "balance: \"hdr(Host) use_domain_only\" is",
        ),
        ("haproxy-chash", options([("balance", text("hdr()"))]), "balance: \"hdr()\" is not reproduced"),
        ("haproxy-chash", options([("balance", text("hdr("))]), "balance: \"hdr(\" is not reproduced"),
        ("haproxy-chash", options([("balance", text("rdp-cookie()"))]), "balance: \"rdp-cookie()\" is not reproduced"),
        ("haproxy-chash", options([("avalanche", text("yes"))]), "avalanche: \"yes\" is text; give a boolean"),
        (
            "envoy-ring-hash",
            options([("minimum_ring_size", 9u32.into()), ("maximum_ring_size", 8u32.into())]),
            "maximum_ring_size: 8 is below minimum_ring_size of 9; give at least that",
        ),
        (
            "envoy-ring-hash",
            options([("maximum_ring_size", 8_388_609u32.into())]),
            "maximum_ring_size: 8388609 is out of range; give an integer from 0 to 8388608",
        ),
        (
            "grpc-ring-hash",
            options([("minRingSize", 0u32.into())]),
            "minRingSize: 0 is out of range; give an integer from 1 to 8388608",
        ),
        (
            "envoy-ring-hash",
            options([("hash_function", text("MD5"))]),
            "hash_function: unknown value \"MD5\"; the values are XX_HASH",
        ),
        ("groupcache", options([("hash", text("fnv"))]), "hash: unknown value \"fnv\"; the values are crc32"),
        ("keyed", options([]), "secret: give the secret as one of secret, secret_file and secret_env"),
    ] {
        let error = named(name, given).expect_err(message);
        assert!(error.starts_with(message), "{error}");
    }
}

fn haproxy_error(nodes: Vec<NodeSpec>) -> String {
    match Table::<(), _>::build(HaproxyChash::new(), nodes, &Limits::DEFAULT) as Result<Table<(), HaproxyChash>, _> {
        Err(error @ DeltaError::Scheme(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_that_haproxy_refuses_are_refused() {
    let server = || NodeSpec::new("s");
    for (nodes, message) in [
        (
            vec![server().with_weight(257)],
            "node \"s\": weight 257 is above HAProxy's limit of 256; scale the weights down",
        ),
        (
            vec![server().with_attribute("id", "0")],
            "node \"s\": id \"0\" is not a server's number; give one from 1 to 2147483647",
        ),
        (
            vec![server().with_attribute("id", "+1")],
            "node \"s\": id \"+1\" is not a server's number; give one from 1 to 2147483647",
        ),
        (
            vec![server().with_attribute("id", "2147483648")],
            "node \"s\": id \"2147483648\" is not a server's number; give one from 1 to 2147483647",
        ),
        (
            vec![NodeSpec::new("r").with_attribute("id", "7"), server().with_attribute("id", "07")],
            "node \"s\": id 7 is another server's, too; give each server one of its own",
        ),
        (
            vec![server().with_attribute("hash_key", "name")],
            "node \"s\": unknown hash_key \"name\"; the values are id, id32, guid, addr, addr-port",
        ),
        (
            vec![server().with_attribute("hash_key", "guid")],
            "node \"s\": hash_key is guid, but there is no guid; give it as an attribute",
        ),
    ] {
        assert_eq!(haproxy_error(nodes), message);
    }
}

#[test]
fn weights_that_envoy_refuses_are_refused() {
    let nodes = ["a", "b"].map(|id| NodeSpec::new(id).with_weight(1 << 31));
    let limits = Limits::DEFAULT.with_weight(u32::MAX);
    let error = Ring::builder().scheme(EnvoyRingHash::new()).limits(limits).nodes(nodes).build_table().unwrap_err();
    let message = "the weights add up to 4294967296, the limit is 4294967295; scale the weights down";
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_placement_reads_is_in_its_fingerprint() {
    fn print<S: Scheme>(scheme: S, node: NodeSpec) -> String {
        let nodes = [node, NodeSpec::new("other")];
        Ring::builder().scheme(scheme).nodes(nodes).build_table().expect("valid").placement_fingerprint().to_string()
    }
    let node = || NodeSpec::new("10.0.0.1:80");
    let haproxy = HaproxyChash::new();
    let base = print(haproxy, node());
    assert_eq!(print(haproxy, node().with_address("10.0.0.9:80")), base, "by id the address decides nothing");
    assert_ne!(print(haproxy, node().with_attribute("id", "9")), base);
    assert_ne!(print(haproxy, node().with_state(State::Down)), base);
    assert_ne!(print(haproxy.with_header(true), node()), base);
    assert_ne!(print(haproxy.with_hash(HaproxyHash::Sdbm, false), node()), base);
    let by_address = || node().with_attribute("hash_key", "addr");
    assert_ne!(print(haproxy, by_address()), print(haproxy, by_address().with_address("10.0.0.9:80")));
    let envoy = EnvoyRingHash::new();
    let base = print(envoy, node());
    assert_eq!(print(envoy, node().with_address("10.0.0.1:80")), base, "the label is the same");
    assert_ne!(print(envoy, node().with_address("10.0.0.2:80")), base);
    assert_ne!(print(envoy, node().with_attribute("hash_key", "k")), base);
    assert_ne!(print(envoy, node().with_state(State::Down)), base);
    assert_ne!(print(envoy.with_ring_size(1, 2000).expect("in range"), node()), base);
    let grpc = GrpcRingHash::new();
    assert_eq!(print(grpc, node()), print(grpc, node().with_state(State::Down)), "gRPC steps on");
}

#[test]
fn labels_are_addresses_as_envoy_prints_them() {
    let points = |address: &str| {
        let node = NodeSpec::new("x").with_address(address);
        let table = Ring::builder().scheme(EnvoyRingHash::new()).nodes([node]).build_table().expect("valid");
        table.points().map(|(point, _)| point).collect::<Vec<_>>()
    };
    assert_eq!(points("[2001:DB8:0::1]:80"), points("[2001:db8::1]:80"));
    assert_ne!(points("[2001:db8::1]:80"), points("[2001:db8::2]:80"));
    assert_ne!(points("/run/A.sock"), points("/run/a.sock"));
}

#[test]
fn a_secret_is_never_shown() {
    let hex = "8f1d03c7a95e624b00ff7e2910d4b6ea";
    let id = "47c445269840164b367e34d88b857ea2";
    let given = options([("secret", hex.into())]);
    let scheme = AnyScheme::named("keyed", &mut given.clone()).expect("valid").expect("known");
    let mut shown = vec![format!("{given:?}"), format!("{scheme:?}"), format!("{:?}", scheme.options())];
    let keyed = Keyed::new(Secret::from_hex(hex).expect("valid"));
    shown.extend([format!("{keyed:?}"), format!("{:?}", keyed.secret())]);
    let (writer, _handle) = Ring::builder().scheme(keyed.clone()).nodes([NodeSpec::new("a")]).build().expect("valid");
    shown.push(format!("{writer:?} {:?}", writer.table()));
    let cut = &hex[..31];
    for wrong in [cut, &format!("{cut}g"), &format!("+{cut}")] {
        let error = Secret::from_hex(wrong).unwrap_err();
        shown.extend([error.to_string(), format!("{error:?}")]);
        let error = named("keyed", options([("secret", wrong.into())])).unwrap_err();
        assert!(error.starts_with("secret: a secret is 32 hexadecimal digits"), "{error}");
        shown.push(error);
    }
    let error = named("keyed", options([("secret", 81_030_795u32.into())])).unwrap_err();
    assert_eq!(error, "secret: this is an integer; give text");
    for text in &shown {
        assert!(!text.contains("8f1d03c7") && !text.contains("81030795"), "{text}");
    }
    assert!(shown[1].contains(id) && shown[3].contains(id), "{shown:?}");
    let mut bytes = Vec::new();
    keyed.option_bytes(&mut bytes);
    assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), id);
}

#[test]
fn secrets_have_ids_that_another_program_computed() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/keyed/ids.tsv");
    let rows = fs::read_to_string(golden).expect("the golden data is there");
    assert_eq!(rows.lines().count(), 4);
    for row in rows.lines() {
        let (secret, id) = row.split_once('\t').expect("two columns");
        assert_eq!(Secret::from_hex(secret).expect("valid").id().to_string(), id);
        assert_eq!(Secret::from_hex(&format!(" {}\n", secret.to_uppercase())).expect("valid").id().to_string(), id);
    }
}

#[test]
fn secrets_come_from_files_and_variables() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = |name: &str| folder.join(name).display().to_string();
    let hex = "000102030405060708090a0b0c0d0e0f";
    fs::write(path("secret.hex"), format!("{hex}\n")).expect("written");
    fs::write(path("long.hex"), " ".repeat(5000) + hex).expect("written");
    fs::write(path("binary.hex"), [0xFF; 32]).expect("written");

    let expected = Keyed::new(Secret::from_hex(hex).expect("valid")).with_points_per_weight(7);
    let from_file = options([("secret_file", path("secret.hex").as_str().into()), ("points_per_weight", 7u32.into())]);
    let scheme = named("keyed", from_file.clone()).expect("valid");
    assert_eq!(scheme, expected.into());
    assert_eq!(scheme.options(), from_file, "a file is written as the file's name");
    assert!(matches!(Secret::from_file(path("long.hex")), Err(SecretError::NotHex { .. })));
    assert!(matches!(Secret::from_file(path("binary.hex")), Err(SecretError::NotHex { bytes: 32, .. })));
    assert!(matches!(Secret::from_file(path("none.hex")), Err(SecretError::Read { .. })));

    // Set by cargo for every test, and no secret.
    let error = named("keyed", options([("secret_env", "CARGO_PKG_NAME".into())])).unwrap_err();
    let message = "secret_env: a secret is 32 hexadecimal digits, environment variable \"CARGO_PKG_NAME\" has 7 bytes; give 32 digits";
    assert_eq!(error, message);
    // As long as a secret is, with letters that are no digits.
    let error = named("keyed", options([("secret", "zz112233445566778899aabbccddeeff".into())])).unwrap_err();
    let message = "secret: a secret is 32 hexadecimal digits, not all 32 bytes of the text are; give 0 to 9 and a to f";
    assert_eq!(error, message);
    for name in ["RINGWAY_NO_SUCH_VARIABLE", "", "a=b", "a\0b"] {
        assert!(matches!(Secret::from_env(name), Err(SecretError::NotSet { .. })), "{name:?}");
    }
    let both = options([("secret", hex.into()), ("secret_env", "X".into())]);
    assert!(named("keyed", both).unwrap_err().contains("give the secret as one of"));
}
