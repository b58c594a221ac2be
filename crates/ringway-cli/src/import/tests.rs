//! What is refused, and why; and that no text makes an import panic.
//!
//! Longer than 500 lines: one table of refusals for each format, which say most side by side.

use super::*;

const NGINX: &str = include_str!("../../tests/import/nginx.conf");
const TWEMPROXY: &str = include_str!("../../tests/import/twemproxy.yml");
const HAPROXY: &str = include_str!("../../tests/import/haproxy.cfg");
const ENVOY: &str = include_str!("../../tests/import/envoy.yaml");
const ENVOY_JSON: &str = include_str!("../../tests/import/envoy.json");

fn refused(format: Format, text: &str, name: Option<&str>) -> String {
    read(format, text, name).map_or_else(|error| error.to_string(), |imported| panic!("{text}\n{imported:?}"))
}

fn all_refused(format: Format, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let message = refused(format, text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
}

#[test]
fn nginx_refusals_have_line_and_reason() {
    let in_upstream = |lines: &str| format!("upstream u {{\n{lines}\n}}");
    for (lines, expected) in [
        (
            "server a;\nhash $binary_remote_addr consistent;",
            "3: \"$binary_remote_addr\" can't be reproduced: keys would be",
        ),
        ("server a;\nhash \"x${binary_remote_addr}y\" consistent;", "3: \"$binary_remote_addr\" can't be reproduced"),
        ("server a;\nleast_conn;", "3: \"least_conn\" can't be reproduced: only \"hash … consistent\""),
        ("server a;\nip_hash;", "3: \"ip_hash\" can't be reproduced"),
        ("server a;\nhash $x;", "3: \"hash\" can't be reproduced: without \"consistent\""),
        ("server a;\nhash $x consistant;", "3: hash: \"$x consistant\" isn't a key and \"consistent\""),
        ("hash $x consistent;\nhash $y consistent;", "3: \"hash\" stands in line 2 already"),
        ("server a;", "1: upstream \"u\" has no \"hash … consistent\""),
        ("hash $x consistent;", "1: upstream \"u\" has no server"),
        ("hash $x consistent;\nserver a;\nserver b;\nserver a weight=2;", "5: server \"a\" stands in line 3 already"),
        ("server a weight=0;", "2: weight: \"0\" isn't an integer from 1 to 2147483647"),
        ("server a weight=+1;", "2: weight: \"+1\" isn't"),
        ("server a weight=99999999999;", "2: weight: \"99999999999\" isn't"),
        ("server a weight=65536;", "2: weight of server \"a\": \"65536\" isn't at most 65535"),
        ("server a wieght=2;", "2: unknown parameter \"wieght=2\""),
        ("server a resolve;", "2: \"resolve\" can't be reproduced"),
        ("hash $x consistent;\nserver a backup;", "3: nginx takes no \"backup\" after \"hash\""),
        ("server;", "2: \"server\" has no address"),
        ("server '';", "2: server: \"\" isn't text of 1 to 1024 bytes"),
        ("include more.conf;", "2: \"include\" in an upstream can't be reproduced"),
        ("frobnicate on;", "2: unknown directive \"frobnicate\""),
        ("server a { }", "2: unknown block in an upstream \"server\""),
        ("server a\n}", "3: unexpected \"}\""),
        ("server \"a;\n", "2: the quotes that begin here aren't closed"),
        ("server \"a\"b;", "2: unexpected \"b\" after quotes"),
        (";", "2: unexpected \";\""),
        ("}", "3: unexpected \"}\""),
    ] {
        let text = in_upstream(lines);
        let message = refused(Format::Nginx, &text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
    let long = "x".repeat(1025);
    let message = refused(Format::Nginx, &in_upstream(&format!("server {long};")), None);
    assert!(
        message.starts_with("2: server: \"xxxx") && message.ends_with("of 1 to 1024 bytes; it has 1025"),
        "{message}"
    );
    all_refused(
        Format::Nginx,
        &[
            ("", "there is no upstream in it"),
            ("http {\n include x;\n}", "2: there is no upstream in this file; included files aren't read"),
            ("http {\n upstream a {\n }\n", "1: the block that begins here has no \"}\""),
            ("worker_processes 1", "1: the directive that begins here has no"),
            ("upstream a b { }", "1: an upstream has one name"),
            ("\ncontent_by_lua_block { if a[1] then }", "2: \"content_by_lua_block\" can't be reproduced"),
            (NGINX, "there is more than one upstream; pick by --name; there are app, cache tier"),
        ],
    );
    let no_such = refused(Format::Nginx, NGINX, Some("cache"));
    let twice = refused(Format::Nginx, "upstream a { } upstream b { } upstream a { }", Some("a"));
    assert_eq!(twice, "there is more than one upstream \"a\"; leave one");
    assert_eq!(no_such, "there is no upstream \"cache\"; there are app, cache tier");
}

#[test]
fn twemproxy_refusals_have_line_and_reason() {
    let pool = |lines: &str| format!("p:\n  {}", lines.replace('\n', "\n  "));
    for (lines, expected) in [
        ("distribution: modula\nservers: [a:1:1]", "2: distribution \"modula\" can't be reproduced"),
        ("distribution: random", "2: distribution \"random\" can't be reproduced"),
        ("distribution: kemata", "2: distribution: \"kemata\" isn't ketama, modula or random"),
        ("hash: md4", "2: hash: \"md4\" isn't one of one_at_a_time, "),
        ("hash_tag: '{'", "2: hash_tag: a key tag is 2 bytes"),
        ("servers:\n- a:1", "3: server: \"a:1\" isn't host:port:weight"),
        ("servers:\n- a:1:0", "3: weight of a server: \"0\" isn't an integer from 1"),
        ("servers:\n- a:65536:1", "3: port of a server: \"65536\" isn't an integer from 1 to 65535"),
        ("servers:\n- 'a:1:1 '", "3: server: \"a:1:1 \" isn't"),
        ("servers:\n- /a:b:1", "3: server: \"/a:b:1\" isn't"),
        ("servers:\n- ':11211:1'", "3: server: \":11211:1\" isn't"),
        ("servers:\n- [a]", "3: server: \"a list\" isn't text"),
        ("servers:\n- a:1:1 n\n- b:1:1 n", "4: a server of the ring's name \"n\" stands in line 3 already"),
        ("servers:\n- a:11211:1\n- b:1:1 a", "4: a server of the ring's name \"a\" stands in line 3 already"),
        ("servers:\n- a:1:1\n- a:1:1", "4: server \"a:1:1\" stands in line 3 already"),
        ("servers: 1", "2: servers: \"1\" isn't a list"),
        ("servers: []", "1: pool \"p\" has no server"),
        ("hash: md5\nhash: md5", "3: \"hash\" of pool \"p\" stands in line 2 already"),
        ("hsah: md5", "2: unknown field \"hsah\""),
        ("auto_eject_hosts: yes", "2: auto_eject_hosts: \"yes\" isn't true or false"),
    ] {
        let text = pool(lines);
        let message = refused(Format::Twemproxy, &text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
    all_refused(
        Format::Twemproxy,
        &[
            ("", "the file is empty"),
            ("- a", "1: the file: \"a list\" isn't a table"),
            ("a: [", "2: "),
            ("a: *x", "1: "),
            ("a: &x [*x]", "1: "),
            ("a: 1\n---\nb: 2", "3: a second document begins here"),
            (TWEMPROXY, "there is more than one pool; pick by --name; there are alpha, beta"),
        ],
    );
}

#[test]
fn haproxy_refusals_have_line_and_reason() {
    let good = "balance uri\nhash-type consistent\nserver a 10.0.0.1:80";
    let backend = |lines: &str| format!("backend b\n{lines}");
    for (lines, expected) in [
        ("balance roundrobin\nserver a b", "2: \"balance roundrobin\" can't be reproduced"),
        ("balance source\nserver a b", "2: \"balance source\" can't be reproduced: keys would be the bytes"),
        ("balance hdr(h) use_domain_only\nserver a b", "2: \"use_domain_only\" can't be reproduced"),
        ("balance uri depth 3\nserver a b", "2: \"depth 3\" can't be reproduced"),
        ("balance hdr\nserver a b", "2: balance: \"hdr\" isn't hdr with a name in parentheses"),
        ("balance hdr()\nserver a b", "2: balance: \"hdr()\" isn't hdr with a name"),
        ("balance hdr(x\nserver a b", "2: balance: \"hdr(x\" isn't hdr with a name"),
        ("balance rdp-cookie()\nserver a b", "2: balance: \"rdp-cookie()\" isn't rdp-cookie with a name"),
        ("balance uri(x)\nserver a b", "2: unknown balance \"uri(x)\""),
        ("balance hash src\nserver a b", "2: \"balance hash src\" can't be reproduced: only expressions"),
        ("balance foo\nserver a b", "2: unknown balance \"foo\""),
        ("server a b", "1: backend \"b\" has no \"balance\""),
        ("balance uri\nserver a b", "1: backend \"b\" has no \"hash-type consistent\""),
        ("balance uri\nhash-type map-based\nserver a b", "3: \"hash-type map-based\" can't be reproduced"),
        (
            "balance uri\nhash-type consistent md5\nserver a b",
            "3: hash-type: \"consistent md5\" isn't consistent, then",
        ),
        (&format!("{good}\nhash-balance-factor 150"), "5: \"hash-balance-factor 150\" can't be reproduced"),
        (&format!("{good}\nhash-balance-factor x"), "5: hash-balance-factor: \"x\" isn't"),
        (&format!("{good}\nserver a 10.0.0.2"), "5: server \"a\" stands in line 4 already"),
        (&format!("{good}\nserver b 10.0.0.2 weight 257"), "5: weight: \"257\" isn't an integer from 0 to 256"),
        (&format!("{good}\nserver b 10.0.0.2 weight"), "5: \"weight\" has no value"),
        (&format!("{good}\nserver b 10.0.0.2 id 0"), "5: id: \"0\" isn't an integer from 1"),
        (&format!("{good}\nserver b 10.0.0.2 frob"), "5: unknown server keyword \"frob\""),
        (&format!("{good}\nserver b\\ c 10.0.0.2"), "5: name of a server: \"b c\" isn't letters, digits"),
        (&format!("{good}\nserver b"), "5: a server has a name and an address"),
        (&format!("{good}\nserver b x:80 hash-key addr"), "5: server address \"x:80\" can't be reproduced"),
        (&format!("{good}\nserver b 10.0.0.1:+80 hash-key addr-port"), "5: port of the server: \"+80\" isn't"),
        (&format!("{good}\nserver b 10.0.0.1 hash-key guid"), "5: server \"b\" has \"hash-key guid\", but no guid"),
        (&format!("{good}\nserver b 10.0.0.1 hash-key name"), "5: hash-key: \"name\" isn't id, id32"),
        (&format!("{good}\nserver-template t 3 x:80"), "5: \"server-template\" can't be reproduced"),
        (&format!("{good}\nserver b \"$HOST\""), "5: \"$\" in double quotes can't be reproduced"),
        (&format!("{good}\nserver b 'x"), "5: quotes aren't closed on this line"),
        (&format!("{good}\nserver b x\\"), "5: a backslash ends the line"),
        (&format!("{good}\nserver b \\xff"), "5: \\x: \"ff\" isn't two hexadecimal digits from 00 to 7f"),
        (&format!("{good}\n.if defined(X)"), "5: \".if\" can't be reproduced"),
        (&format!("{good}\ndisabled"), "5: backend \"b\" can't be reproduced: nothing is sent"),
    ] {
        let text = backend(lines);
        let message = refused(Format::Haproxy, &text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
    all_refused(
        Format::Haproxy,
        &[
            ("", "there is no backend in it"),
            ("backend", "1: \"backend\" has no name"),
            ("backend b from nowhere", "1: there is no defaults \"nowhere\" before this line"),
            (HAPROXY, "there is more than one backend; pick by --name; there are api, caches"),
        ],
    );
    assert_eq!(refused(Format::Haproxy, &backend("mode http"), Some("b")), "1: backend \"b\" has no server");
}

#[test]
fn envoy_refusals_have_line_and_reason() {
    let endpoint = "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 1}}}}";
    let cluster = |lines: &str, endpoints: &str| {
        format!("lb_policy: RING_HASH\n{lines}\nload_assignment:\n  endpoints:\n  - lb_endpoints:\n    - {endpoints}")
    };
    for (lines, expected) in [
        ("type: LOGICAL_DNS", "2: \"type\" can't be reproduced: the endpoints come from DNS"),
        (
            "common_lb_config:\n  consistent_hashing_lb_config: {use_hostname_for_hashing: true}",
            "3: use_hostname_for_hashing: \"true\" isn't for this cluster; Envoy takes it for STRICT_DNS alone",
        ),
        (
            "load_balancing_policy: {policies: [{typed_extension_config: {typed_config: {'@type': \
             x/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash, use_hostname_for_hashing: true}}}]}",
            "6: the endpoint has no hostname to hash",
        ),
        ("type: EDS", "2: \"type\" can't be reproduced"),
        ("type: STATICC", "2: type: \"STATICC\" isn't STATIC, "),
        ("lb_subset_config: {}", "2: \"lb_subset_config\" can't be reproduced"),
        ("lb_polciy: x", "2: unknown field \"lb_polciy of the cluster\""),
        ("lbPolicy: RING_HASH", "2: \"lbPolicy\" of the file stands in line 1 already"),
        ("ring_hash_lb_config: {hash_function: MD5}", "2: hash_function: \"MD5\" isn't XX_HASH or MURMUR_HASH_2"),
        (
            "ring_hash_lb_config: {minimum_ring_size: 8388609}",
            "2: minimum_ring_size: \"8388609\" isn't an integer from 0",
        ),
        (
            "ring_hash_lb_config: {minimum_ring_size: 9, maximum_ring_size: 8}",
            "2: minimum_ring_size: \"9\" isn't at most",
        ),
        ("ring_hash_lb_config: 5", "2: the ring's configuration: \"5\" isn't a table"),
        (
            "common_lb_config: {locality_weighted_lb_config: {}}",
            "2: \"locality_weighted_lb_config\" can't be reproduced",
        ),
        (
            "common_lb_config:\n  consistent_hashing_lb_config: {hash_balance_factor: 150}",
            "3: \"hash_balance_factor 150\" can't be reproduced",
        ),
        (
            "ring_hash_lb_config: {use_hostname_for_hashing: [x]}",
            "2: use_hostname_for_hashing: \"a list\" isn't true or",
        ),
        (
            "common_lb_config: {healthy_panic_threshold: {value: {}}}",
            "2: healthy_panic_threshold: \"a table\" isn't an integer from 0 to 100",
        ),
        ("load_balancing_policy: {policies: []}", "2: there is no policy in it"),
        (
            "load_balancing_policy: {policies: [{typed_extension_config: {typed_config: {'@type': x/y.RoundRobin}}}]}",
            "2: this load balancing policy can't be reproduced",
        ),
    ] {
        let text = cluster(lines, endpoint);
        let message = refused(Format::Envoy, &text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
    for (endpoints, expected) in [
        ("{}", "6: the endpoint has no address"),
        ("{endpoint: {address: {}}}", "6: an address is a \"socket_address\" or a \"pipe\""),
        (
            "{endpoint: {address: {socket_address: {address: a.b, port_value: 1}}}}",
            "6: address: \"a.b\" isn't an IP address: one from DNS isn't known here",
        ),
        ("{endpoint: {address: {socket_address: {address: ::1}}}}", "6: an address has an IP address and a port"),
        (
            "{endpoint: {address: {socket_address: {address: ::1, port_value: 65536}}}}",
            "6: port_value: \"65536\" isn't",
        ),
        (
            "{endpoint: {address: {socket_address: {address: ::1, named_port: x}}}}",
            "6: \"named_port\" can't be reproduced",
        ),
        (
            "{endpoint: {address: {pipe: {path: /a}}}, load_balancing_weight: 0}",
            "6: load_balancing_weight: \"0\" isn't",
        ),
        ("{endpoint: {address: {pipe: {path: /a}}}, health_status: DEGRADED}", "6: \"DEGRADED\" can't be reproduced"),
        (
            "{endpoint: {address: {pipe: {path: /a}}}, health_status: DRAINING}",
            "3: 1 endpoints out of service of 1 can't",
        ),
        (
            "{endpoint: {address: {pipe: {path: /a}}}, metadata: {filter_metadata: {envoy.lb: {hash_key: 1.5}}}}",
            "6: hash_key: \"1.5\" isn't text to every version of Envoy",
        ),
        (
            "{endpoint: {address: {pipe: {path: /a}}}, metadata: {filter_metadata: {envoy.lb: {hash_key: 08}}}}",
            "6: hash_key: \"08\" isn't text to every version of Envoy",
        ),
        (
            "{endpoint: {address: {pipe: {path: /a}}}, load_balancing_weight: {value: 3}}",
            "6: load_balancing_weight: \"a table\" isn't an integer from 1 to 4294967295",
        ),
        ("{endpoint: {address: {pipe: {path: ''}}}}", "6: server: \"\" isn't text of 1"),
        ("{endpoint_name: x}", "6: \"endpoint_name\" can't be reproduced"),
    ] {
        let text = cluster("", endpoints);
        let message = refused(Format::Envoy, &text, None);
        assert!(message.starts_with(expected), "{text}\n  {message}\n  {expected}");
    }
    all_refused(
        Format::Envoy,
        &[
            ("{}", "1: the cluster has no \"lb_policy\""),
            ("lb_policy: MAGLEV", "1: this load balancing policy can't be reproduced"),
            ("lb_policy: RING_HASH", "1: the cluster has no \"load_assignment\""),
            ("{\"name\":\n\"a\" \"b\"}", "2: "),
            ("static_resources: {}", "1: "),
            (ENVOY, "there is more than one cluster; pick by --name; there are other, ring"),
            (
                "lb_policy: RING_HASH\nload_assignment: {endpoints: [{priority: 1}]}",
                "2: \"priority\" can't be reproduced: each priority has a ring of its own",
            ),
        ],
    );
}

/// The type of each expression is that of HAProxy's manual, chapters 7.3.1 to 7.3.6.
#[test]
fn haproxy_hashes_text_alone() {
    let imported = |expression: &str| {
        let text = format!("backend b\nbalance hash {expression}\nhash-type consistent\nserver a b");
        read(Format::Haproxy, &text, None).map_err(|error| error.to_string())
    };
    for text in [
        "req.hdr(x)",
        "path",
        "url_param(a)",
        "path,lower",
        "req.cook(s),field(1,:),upper",
        "src,lower",
        "hdr(x) lower",
        "req.hdr(x),crc32,hex",
        "str(a)",
        "req.hdr(\\\"a,b\\\"),word(1,\\,)",
    ] {
        assert!(imported(text).is_ok(), "{text}: {:?}", imported(text));
    }
    for other in [
        "src",
        "src,ipmask(24)",
        "dst_port",
        "path,crc32",
        "req.hdr(x),xxh32(1)",
        "req.hdr(x),length",
        "url32",
        "req.body",
        "path,sha1",
        "req.hdr_ip(x)",
        "var(txn.x)",
        "path,lower,djb2",
        "hdr(x",
        "hdr(x)y",
        "hdr(x))",
        ",",
        "path lower djb2",
        "src,strcmp(a),lower)",
        "rand",
    ] {
        let message = imported(other).unwrap_err();
        assert!(message.starts_with(&format!("2: \"balance hash {other}\" can't be reproduced")), "{message}");
    }
    let noted = |balance: &str| {
        let text = format!("backend b\nbalance {balance}\nhash-type consistent\nserver a b");
        read(Format::Haproxy, &text, None).unwrap().notes[0].1.clone()
    };
    assert_eq!(noted("rdp-cookie"), "keys are the values of the RDP cookie \"mstshash\"");
    assert_eq!(noted("rdp-cookie(x)"), "keys are the values of the RDP cookie \"x\"");
}

/// `http` and `stream` may each have an upstream of one name.
#[test]
fn nginx_upstreams_of_one_name_are_picked_by_their_block() {
    let text = "http { upstream b { hash $a consistent; server h; } upstream c { hash $a consistent; server c; } }
        stream { upstream b { hash $a consistent; server s; } }";
    let picked = |name: &str| read(Format::Nginx, text, Some(name)).unwrap().nodes[0].id().to_owned();
    assert_eq!(["http/b", "stream/b", "c"].map(picked), ["h", "s", "c"]);
    let expected = "there is more than one upstream; pick by --name; there are http/b, ";
    assert_eq!(refused(Format::Nginx, text, Some("b")), format!("{expected}stream/b"));
    assert_eq!(refused(Format::Nginx, text, None), format!("{expected}c, stream/b"));
    let twice = text.replace("upstream c", "upstream b");
    assert_eq!(refused(Format::Nginx, &twice, Some("http/b")), "there is more than one upstream \"http/b\"; leave one");
}

/// What Envoy makes of a `hash_key` without quotes: `parseYamlNode` for YAML, any JSON parser for JSON.
#[test]
fn envoy_hashes_by_a_hash_key_that_is_text_alone() {
    let imported = |key: &str, json: bool| {
        let cluster = format!(
            "{{\"lb_policy\": \"RING_HASH\", \"load_assignment\": {{\"endpoints\": [{{\"lb_endpoints\": [{{\"endpoint\": \
             {{\"address\": {{\"pipe\": {{\"path\": \"/a\"}}}}}}, \"metadata\": {{\"filter_metadata\": {{\"envoy.lb\": \
             {{\"hash_key\": {key}}}}}}}}}]}}]}}}}"
        );
        // A comment makes it YAML.
        read(Format::Envoy, &if json { cluster } else { cluster + " # YAML" }, None).unwrap()
    };
    let texts = [
        ("'1'", "1"),
        ("\"true\"", "true"),
        ("a1", "a1"),
        ("tRue", "tRue"),
        ("2147483648", "2147483648"),
        ("0x1FFFFFFFF", "8589934591"),
        ("-2147483649", "-2147483649"),
        ("+-5", "+-5"),
        ("1.2.3.4", "1.2.3.4"),
        ("inf", "inf"),
    ];
    for (key, expected) in texts {
        let imported = imported(key, false);
        assert_eq!(imported.nodes[0].info().attribute("hash_key"), Some(expected), "{key}");
        assert!(imported.notes.is_empty());
    }
    let yaml = ["1", "-7", "+7", "0x10", "017", "2147483647", "true", "No", "OFF", "y", "[a]", "{a: b}"]
        .map(|key| (key, false));
    let json = ["5", "5.5", "2147483648", "true", "[\"a\"]", "{}"].map(|key| (key, true));
    for (key, json) in yaml.into_iter().chain(json) {
        let imported = imported(key, json);
        assert_eq!(imported.nodes[0].info().attribute("hash_key"), None, "{key}");
        assert!(imported.notes[0].1.starts_with("the \"hash_key\" isn't text"), "{key}: {:?}", imported.notes);
    }
    for key in ["null", "\"\""] {
        assert!(
            imported(key, true).notes.is_empty() && imported(key, true).nodes[0].info().attribute("hash_key").is_none()
        );
    }
}

/// Envoy takes 0, for a ring of as many points as the weights ask for.
#[test]
fn envoy_takes_a_minimum_ring_size_of_0() {
    let size = |sizes: &str| {
        format!(
            "lb_policy: RING_HASH\nring_hash_lb_config: {{{sizes}}}\nload_assignment: {{endpoints: [{{lb_endpoints: \
             [{{endpoint: {{address: {{pipe: {{path: /a}}}}}}}}]}}]}}"
        )
    };
    let imported = read(Format::Envoy, &size("minimum_ring_size: 0"), None).unwrap();
    assert!(imported.options.iter().any(|(name, value)| name == "minimum_ring_size" && *value == 0u32.into()));
    assert!(cluster("file", imported, Limits::DEFAULT).is_ok());
    assert!(read(Format::Envoy, &size("minimum_ring_size: 0, maximum_ring_size: 0"), None).is_ok());
    let message = refused(Format::Envoy, &size("maximum_ring_size: 0"), None);
    assert!(message.starts_with("2: minimum_ring_size: \"1024\" isn't at most maximum_ring_size, 0"), "{message}");
}

/// An alias that stands for much, in many places.
#[test]
fn aliases_are_followed_so_far_and_no_farther() {
    let fields: String = (0..60_000).map(|number| format!("f{number}: 0, ")).collect();
    let endpoints: String = (0..2_000)
        .map(|number| format!("{{endpoint: {{address: {{pipe: {{path: /{number}}}}}}}, metadata: *m}}, "))
        .collect();
    let text = format!(
        "metadata: &m {{filter_metadata: {{{fields}}}}}\nlb_policy: RING_HASH\n\
         load_assignment: {{endpoints: [{{lb_endpoints: [{endpoints}]}}]}}"
    );
    let message = refused(Format::Envoy, &text, None);
    assert!(message.starts_with("1: aliases make the file many times larger"), "{message}");
}

#[test]
fn deep_nesting_is_an_error() {
    for text in
        ["- ".repeat(200_000), "[".repeat(200_000), "{a: ".repeat(200_000), "? ".repeat(200_000), "a: [".repeat(300)]
    {
        refused(Format::Envoy, &text, None);
        refused(Format::Twemproxy, &text, None);
    }
    refused(Format::Nginx, &"a {\n".repeat(200_000), None);
}

/// Random damage to sound inputs: an import or an error, but never a panic, and never an empty ring.
#[test]
fn no_damage_makes_an_import_panic() {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    const BITS: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ";",
        "\"",
        "'",
        "\\",
        "#",
        "\n",
        "\t",
        " ",
        ":",
        ",",
        "&a",
        "*a",
        "-",
        "---",
        "...",
        "!",
        "|",
        ">",
        "%",
        "\0",
        "é",
        "\u{feff}",
        "server",
        "weight",
        "backend",
        "defaults",
        "from",
        "0",
        "-1",
        "4294967296",
        "null",
        "~",
        "$",
    ];
    let inputs = [
        (Format::Nginx, NGINX, "cache tier"),
        (Format::Twemproxy, TWEMPROXY, "beta"),
        (Format::Haproxy, HAPROXY, "caches"),
        (Format::Envoy, ENVOY, "ring"),
        (Format::Envoy, ENVOY_JSON, "ring"),
    ];
    for (format, sound, name) in inputs {
        assert!(!read(format, sound, Some(name)).unwrap().nodes.is_empty());
        let (mut good, mut bad) = (0, 0);
        for _ in 0..4_000 {
            let mut text: Vec<char> = sound.chars().collect();
            for _ in 0..=random(3) {
                let (at, end) = (random(text.len()), random(text.len()));
                match random(5) {
                    0 => drop(text.splice(at..at, BITS[random(BITS.len())].chars())),
                    1 => drop(text.drain(at..(at + random(20)).min(text.len()))),
                    2 => text.truncate(at.max(1)),
                    3 => {
                        let copy: Vec<char> = text[at.min(end)..at.max(end)].iter().take(80).copied().collect();
                        drop(text.splice(at..at, copy));
                    }
                    _ => text[at] = BITS[random(BITS.len())].chars().next().unwrap(),
                }
                if text.is_empty() {
                    text.push(' ');
                }
            }
            let text: String = text.into_iter().collect();
            match read(format, &text, Some(name)) {
                Ok(imported) => {
                    good += 1;
                    assert!(!imported.nodes.is_empty(), "{text}");
                }
                Err(error) => {
                    bad += 1;
                    let lines = text.lines().count() + 1;
                    assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}\n{text}");
                }
            }
        }
        assert!(good > 100 && bad > 100, "{format:?}: {good} good, {bad} bad");
    }
}
