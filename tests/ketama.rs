//! The schemes of the ketama family: counts, changes against building from scratch, and what is refused.

mod common;

use common::{Rng, env_number};
use ringway::layout::{Auto, Layout, Sorted};
use ringway::scheme::{
    AnyScheme, Conhash, HashRing, Libketama, Libmemcached, LibmemcachedFormat, LibmemcachedPoints, MemcacheHash,
    Scheme, SchemeOptions, TwemproxyKetama, UhashringDefault, UhashringKetama,
};
use ringway::{Delta, DeltaError, Limits, NodeSpec, State, Table};

/// Weights as large as they come; the systems take them.
fn limits() -> Limits {
    Limits::DEFAULT.with_weight(u32::MAX)
}

fn build<S: Scheme>(scheme: S, nodes: impl IntoIterator<Item = NodeSpec>) -> Table<(), S> {
    Table::build(scheme, nodes, &limits()).unwrap()
}

/// Each weight list of the golden data, and one of its columns.
fn golden_counts(column: usize) -> impl Iterator<Item = (Vec<u32>, Vec<u32>)> {
    let numbers = |text: &str| text.split(',').map(|number| number.parse().unwrap()).collect();
    include_str!("golden/memcache/counts.tsv").lines().skip(1).map(move |line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (numbers(columns[0]), numbers(columns[column]))
    })
}

fn counts_are<S: Scheme>(scheme: &S, column: usize, per_digest: u32) {
    for (weights, digests) in golden_counts(column) {
        let id = |place: usize| format!("host{place}:11212:1");
        // Nodes that are down have no part in it, wherever they stand.
        let down = |n: u32| NodeSpec::new(format!("down{n}:1:1")).with_weight(7 * n).with_state(State::Down);
        let nodes = weights.iter().enumerate().map(|(place, &weight)| NodeSpec::new(id(place)).with_weight(weight));
        let table = build(scheme.clone(), [down(1)].into_iter().chain(nodes).chain([down(2)]));
        for (place, digests) in digests.iter().enumerate() {
            let expected = Some(digests * per_digest);
            assert_eq!(table.points_of(&id(place)), expected, "{}: node {place} of {weights:?}", scheme.id());
        }
        assert_eq!(table.len(), (digests.iter().sum::<u32>() * per_digest) as usize);
    }
}

#[test]
fn counts_are_those_of_the_systems_arithmetic() {
    counts_are(&Libmemcached::new().with_points(LibmemcachedPoints::Md5x4), 1, 4);
    counts_are(&TwemproxyKetama::new(), 2, 4);
    counts_are(&Libketama::new(), 3, 4);
    counts_are(&UhashringKetama::new(), 4, 4);
    counts_are(&UhashringKetama::new().with_replicas(1), 4, 1);
    counts_are(&HashRing::new(), 4, 3);
}

#[test]
fn recordings_say_how_many_points_libketama_has() {
    for case in ["a-equal-3", "c-weighted-5", "c-weighted-8-megabytes", "e-unusual-names", "g-tie", "r-rounding-25"] {
        let text = std::fs::read_to_string(format!("tests/golden/interop/libketama/{case}/cluster.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let nodes = json["servers"].as_array().unwrap().iter().map(|server| {
            let weight = server["weight"].as_u64().unwrap();
            NodeSpec::new(server["name"].as_str().unwrap()).with_weight(weight.try_into().unwrap())
        });
        assert_eq!(build(Libketama::new(), nodes).len() as u64, json["points"].as_u64().unwrap(), "{case}");
    }
}

/// Random batches of changes; after each, the table must be the one that its nodes give from scratch.
fn changes_give_what_building_gives<S: Scheme, L: Layout<S::Point>>(scheme: &S, seed: u64) {
    println!("{} {:?}", scheme.id(), scheme);
    let mut rng = Rng::new(seed);
    // Some have the labels of another, so that of equal points the order of the list decides; twemproxy refuses such.
    let unique = scheme.id() == TwemproxyKetama::ID;
    let spec = |number: usize| {
        let id = |number: usize| format!("10.0.0.{}:{}:1", number / 3, 11_211 + number % 3);
        let like = if number.is_multiple_of(5) && !unique { number + 4 } else { number };
        let node = NodeSpec::new(id(number));
        let node = if unique { node } else { node.with_attribute("name", id(like)) };
        let host = format!("10.0.0.{}", like / 3);
        node.with_attribute("host", host).with_attribute("port", (11_211 + like % 3).to_string())
    };
    let mut table: Table<(), S, L> = Table::empty(scheme.clone());
    let mut model: Vec<NodeSpec> = Vec::new();
    let (mut equal_points, mut moved) = (0, 0);
    let rounds = env_number("RINGWAY_KETAMA_ROUNDS", 60) as usize;
    for _ in 0..rounds {
        let mut delta = Delta::new();
        let mut next = model.clone();
        for number in 0..21 {
            let fresh = spec(number);
            let id = fresh.id().to_owned();
            let place = next.iter().position(|node| node.id() == id);
            let weight = if rng.percent(60) { 1 } else { rng.number(4) };
            match (place, rng.below(14)) {
                (None, 0 | 1) => {
                    let state = if rng.percent(20) { State::Down } else { State::Up };
                    let node = fresh.with_weight(weight).with_state(state);
                    next.push(node.clone());
                    delta = delta.add(node);
                }
                (Some(place), 0) => {
                    next.remove(place);
                    delta = delta.remove(id);
                }
                (Some(place), 1) => {
                    next[place] = next[place].clone().with_weight(weight);
                    delta = delta.set_weight(id, weight);
                }
                (Some(place), 2) => {
                    let state = *rng.pick(&State::ALL);
                    next[place] = next[place].clone().with_state(state);
                    delta = delta.set_state(id, state);
                }
                (Some(place), 3) => {
                    let points = if rng.percent(50) { None } else { Some(rng.number(300)) };
                    next[place] = next[place].clone().with_active_points(points);
                    delta = delta.set_active_points(id, points);
                }
                _ => {}
            }
        }
        if !scheme.order_free() && rng.percent(30) {
            rng.shuffle(&mut next);
            delta = delta.with_order(next.iter().map(|node| node.id().to_owned()));
        }
        if let Some(applied) = table.apply(delta, &limits()).map_err(|(error, _)| error).unwrap() {
            moved += applied.points_added + applied.points_removed;
            table = applied.table;
        }
        model = next;
        let scratch: Table<(), S, L> = Table::build(scheme.clone(), model.iter().cloned(), &limits()).unwrap();
        table.validate().unwrap();
        let sequence = |table: &Table<(), S, L>| -> Vec<_> {
            table.points().map(|(point, node)| (point, node.id().to_string())).collect()
        };
        let points = sequence(&scratch);
        assert_eq!(sequence(&table), points);
        assert_eq!(table.placement_fingerprint(), scratch.placement_fingerprint());
        assert_eq!(table.spec_fingerprint(), scratch.spec_fingerprint());
        equal_points += points.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1).count();
        assert!(model.iter().all(|node| {
            let down = node.info().state() == State::Down;
            !down
                || scheme.out_of_service() != ringway::scheme::OutOfService::Rebuild
                || table.points_of(node.id()) == Some(0)
        }));
    }
    assert!(moved > 50 * rounds, "only {moved} points moved");
    assert!(unique || equal_points > 5 * rounds, "only {equal_points} points of two nodes");
}

#[test]
fn libketama_changes() {
    changes_give_what_building_gives::<_, Auto<u32>>(&Libketama::new(), 0x5EED_1001);
}

#[test]
fn libmemcached_changes() {
    let new = Libmemcached::new();
    changes_give_what_building_gives::<_, Auto<u32>>(&new, 0x5EED_1002);
    let weighted = new.clone().with_points(LibmemcachedPoints::Md5x4).with_format(LibmemcachedFormat::Spy);
    changes_give_what_building_gives::<_, Sorted<u32>>(&weighted, 0x5EED_1003);
    let plain = new.with_points(LibmemcachedPoints::Hash100).with_point_hash(MemcacheHash::Crc32);
    changes_give_what_building_gives::<_, Sorted<u32>>(&plain, 0x5EED_1004);
}

#[test]
fn twemproxy_changes() {
    changes_give_what_building_gives::<_, Auto<u32>>(&TwemproxyKetama::new(), 0x5EED_1005);
}

#[test]
fn uhashring_and_hash_ring_changes() {
    changes_give_what_building_gives::<_, Auto<u32>>(&UhashringKetama::new().with_vnodes(23), 0x5EED_1006);
    changes_give_what_building_gives::<_, Sorted<u32>>(&HashRing::new(), 0x5EED_1007);
}

#[test]
fn wide_changes() {
    changes_give_what_building_gives::<_, Auto<u128>>(&UhashringDefault::new(), 0x5EED_1008);
    changes_give_what_building_gives::<_, Sorted<u128>>(&Conhash::new(), 0x5EED_1009);
}

#[test]
fn twemproxy_reads_no_list_order() {
    let nodes = ["a:1:1", "bb:1:1 long-name", "c:11211:1", "/run/d:1"].map(NodeSpec::new);
    let reversed: Vec<NodeSpec> = nodes.iter().rev().cloned().collect();
    let (one, other) = (build(TwemproxyKetama::new(), nodes), build(TwemproxyKetama::new(), reversed));
    assert_eq!(one.placement_fingerprint(), other.placement_fingerprint());
    assert!(one.points().map(|(p, n)| (p, n.id().clone())).eq(other.points().map(|(p, n)| (p, n.id().clone()))));
}

/// Points by hand: libmemcached's labels with CRC-32, which Python's zlib gives as well.
#[test]
fn libmemcached_reads_hosts_and_ports() {
    let scheme = || Libmemcached::new().with_point_hash(MemcacheHash::Crc32a);
    let spy = || scheme().with_format(LibmemcachedFormat::Spy);
    let node = |host: &str, port: &str| NodeSpec::new("id").with_attribute("host", host).with_attribute("port", port);
    for (node, plain, in_spy) in [
        (NodeSpec::new("10.0.0.1"), "10.0.0.1", "/10.0.0.1:11211"),
        (NodeSpec::new("10.0.0.1:11211"), "10.0.0.1", "/10.0.0.1:11211"),
        (NodeSpec::new("10.0.0.1:11212"), "10.0.0.1:11212", "/10.0.0.1:11212"),
        (NodeSpec::new("10.0.0.1:0"), "10.0.0.1", "/10.0.0.1:11211"),
        (NodeSpec::new("10.0.0.1:00080"), "10.0.0.1:80", "/10.0.0.1:80"),
        (NodeSpec::new("::1"), "::1", "/::1:11211"),
        (NodeSpec::new("2001:db8::1"), "2001:db8::1", "/2001:db8::1:11211"),
        (NodeSpec::new("[::1]"), "::1", "/::1:11211"),
        (NodeSpec::new("[::1]:11212"), "::1:11212", "/::1:11212"),
        (NodeSpec::new("/run/a:80"), "/run/a:80:0", "//run/a:80:0"),
        (NodeSpec::new("a:b"), "a:b", "/a:b:11211"),
        (NodeSpec::new("a:"), "a:", "/a::11211"),
        (NodeSpec::new("a").with_address("b:1"), "b:1", "/b:1"),
        (NodeSpec::new("a:7").with_attribute("port", "8"), "a:8", "/a:8"),
        (node("::1", "11211"), "::1", "/::1:11211"),
        (node("h:1", "11211"), "h:1", "/h:1:11211"),
        (node("h", "0"), "h", "/h:11211"),
        (node("/s", "0"), "/s:0", "//s:0"),
        (node("/s", "11211"), "/s", "//s:11211"),
        (node("", "5"), "localhost:5", "/localhost:5"),
    ] {
        for (scheme, label) in [(scheme(), plain), (spy(), in_spy)] {
            let table = build(scheme, [node.clone()]);
            let mut expected: Vec<u32> =
                (0..100).map(|number| crc32fast::hash(format!("{label}-{number}").as_bytes())).collect();
            expected.sort_unstable();
            assert!(table.points().map(|(point, _)| point).eq(expected), "{node:?} is not {label}");
        }
    }
    for (node, message) in [
        (
            NodeSpec::new("a:65536"),
            "node \"a:65536\": the port of \"a:65536\" is above the limit of 65535; give a port in range",
        ),
        (node("h", "65536"), "node \"id\": port \"65536\" is not an integer from 0 to 65535; give one"),
        (node("h", "+1"), "node \"id\": port \"+1\" is not an integer from 0 to 65535; give one"),
        (node("h", ""), "node \"id\": port \"\" is not an integer from 0 to 65535; give one"),
    ] {
        let error = Table::<(), _>::build(scheme(), [node], &limits()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn libmemcached_turns_weighted_with_the_first_weight() {
    let server = |name: &str, weight| NodeSpec::new(name).with_weight(weight);
    let points = |scheme: Libmemcached, nodes: &[NodeSpec]| -> Vec<(u32, String)> {
        let table = build(scheme, nodes.iter().cloned());
        table.points().map(|(point, node)| (point, node.id().to_string())).collect()
    };
    let auto = || Libmemcached::new().with_key_hash(MemcacheHash::Jenkins);
    let equal = [server("a", 1), server("b", 0), server("c", 1)];
    assert_eq!(points(auto(), &equal), points(auto().with_points(LibmemcachedPoints::Hash100), &equal));
    // Also if the heavy one is down: the library keeps what it once turned to.
    let heavy = [server("a", 1), server("b", 2).with_state(State::Down), server("c", 1)];
    assert_eq!(points(auto(), &heavy), points(auto().with_points(LibmemcachedPoints::Md5x4), &heavy));
    assert_ne!(points(auto(), &heavy), points(auto().with_points(LibmemcachedPoints::Hash100), &heavy));
}

#[test]
fn libmemcached_may_sort_its_hosts() {
    // One label each, so the whole ring is the first one's: "h" with port 11212 is "h:11212" as a host.
    let nodes = |ids: [&str; 3]| {
        ids.map(|id| match id.split_once('/') {
            Some((host, port)) => NodeSpec::new(id).with_attribute("host", host).with_attribute("port", port),
            None => NodeSpec::new(id).with_attribute("host", id),
        })
    };
    let owner = |sorted, ids| {
        let table = build(Libmemcached::new().with_sort_hosts(sorted), nodes(ids));
        table.owner(b"key").map(|node| node.id().to_string())
    };
    assert_eq!(owner(false, ["h:11212", "h/11212", "h:11212/0"]).as_deref(), Some("h:11212"));
    assert_eq!(owner(true, ["h:11212", "h/11212", "h:11212/0"]).as_deref(), Some("h/11212"));
    assert_eq!(owner(true, ["h:11212/0", "h:11212", "h/11212"]).as_deref(), Some("h/11212"));
}

#[test]
fn a_namespace_stands_before_the_key() {
    for hash in MemcacheHash::ALL {
        let plain = Libmemcached::new().with_key_hash(hash);
        let spaced = plain.clone().with_namespace("app1:");
        for key in ["", "k", "user:123456", &"long".repeat(200)] {
            let joined = format!("app1:{key}");
            let expected = hash.hash(joined.as_bytes());
            assert_eq!(spaced.key_point(key.as_bytes()), expected, "{hash}");
            let (head, tail) = key.as_bytes().split_at(key.len() / 2);
            assert_eq!(spaced.key_point_of_parts(&[head, b"", tail]), expected, "{hash}");
            assert_eq!(plain.key_point_of_parts(&[b"app1:", head, tail]), expected, "{hash}");
        }
    }
}

#[test]
fn the_empty_key_is_point_0_with_twemproxy() {
    for hash in MemcacheHash::ALL {
        let scheme = TwemproxyKetama::new().with_hash(hash);
        assert_eq!((scheme.key_point(b""), scheme.key_point_of_parts(&[b"", b""])), (0, 0));
        assert_eq!(scheme.key_point(b"a"), hash.hash(b"a"));
    }
}

#[test]
fn a_name_may_stand_for_the_id() {
    fn same<S: Scheme>(scheme: S, id: &str, name: &str) {
        let named = build(scheme.clone(), [NodeSpec::new("x").with_attribute("name", name), NodeSpec::new("y:2:1")]);
        let plain = build(scheme, [NodeSpec::new(id), NodeSpec::new("y:2:1")]);
        assert!(named.points().map(|(point, _)| point).eq(plain.points().map(|(point, _)| point)));
        assert_ne!(named.placement_fingerprint(), plain.placement_fingerprint());
    }
    same(Libketama::new(), "10.0.0.1:11211", "10.0.0.1:11211");
    same(TwemproxyKetama::new(), "h:7:1", "h:7");
    same(UhashringKetama::new(), "node1", "node1");
    same(HashRing::new(), "node1", "node1");
    same(UhashringDefault::new(), "node1", "node1");
    same(Conhash::new(), "node1", "node1");
}

#[test]
fn equal_points_belong_to_the_first_in_c_and_to_the_last_in_python_and_rust() {
    fn owner<S: Scheme>(scheme: S) -> String {
        let twin = |id: &str| NodeSpec::new(id).with_attribute("name", "twin").with_attribute("host", "twin");
        let table = build(scheme, ["b", "c", "a"].map(twin));
        let owners: Vec<&str> = table
            .shares()
            .iter()
            .filter(|(_, s)| s.points() > 0 || s.is_whole())
            .map(|(n, _)| n.id().as_str())
            .collect();
        owners.join(" ")
    }
    assert_eq!(owner(Libketama::new()), "b");
    assert_eq!(owner(Libmemcached::new()), "b");
    assert_eq!(owner(Libmemcached::new().with_points(LibmemcachedPoints::Md5x4)), "b");
    assert_eq!(owner(UhashringKetama::new()), "a");
    assert_eq!(owner(HashRing::new()), "a");
    assert_eq!(owner(UhashringDefault::new()), "a");
    assert_eq!(owner(Conhash::new()), "a");
}

#[test]
fn uhashring_reads_vnodes_of_a_node() {
    let nodes =
        || [NodeSpec::new("a").with_attribute("vnodes", "7"), NodeSpec::new("b"), NodeSpec::new("c").with_weight(2)];
    // ⌊vnodes · 3 nodes · weight / 4⌋ digests of four points; or vnodes · weight points.
    let table = build(UhashringKetama::new(), nodes());
    assert_eq!(["a", "b", "c"].map(|id| table.points_of(id).unwrap()), [5 * 4, 30 * 4, 60 * 4]);
    let table = build(UhashringDefault::new(), nodes());
    assert_eq!(["a", "b", "c"].map(|id| table.points_of(id).unwrap()), [7, 160, 320]);
    let wrong = || [NodeSpec::new("a").with_attribute("vnodes", "-1")];
    let message = "node \"a\": vnodes \"-1\" is not an integer from 0 to 4294967295; give one";
    assert_eq!(Table::<(), _>::build(UhashringKetama::new(), wrong(), &limits()).unwrap_err().to_string(), message);
    assert_eq!(Table::<(), _>::build(UhashringDefault::new(), wrong(), &limits()).unwrap_err().to_string(), message);
}

#[test]
fn too_many_points_are_refused_before_any_is_hashed() {
    fn refused<S: Scheme>(scheme: S, weight: u32) {
        let node = NodeSpec::new("h:1:1").with_weight(weight);
        let error = Table::<(), S>::build(scheme, [node], &limits()).unwrap_err();
        assert!(matches!(error, DeltaError::TooManyPoints { .. }), "{error}");
    }
    refused(UhashringKetama::new().with_vnodes(u32::MAX), u32::MAX);
    refused(UhashringDefault::new().with_vnodes(u32::MAX), u32::MAX);
    refused(Conhash::new().with_replicas_per_weight(u32::MAX), u32::MAX);
    refused(UhashringDefault::new(), 104_858);
    // A part of the total can't be large: one server alone has 40 digests, whatever it weighs.
    assert_eq!(build(TwemproxyKetama::new(), [NodeSpec::new("h:1:1").with_weight(u32::MAX)]).len(), 160);
}

#[test]
fn nothing_to_share_out_is_an_empty_ring() {
    fn empty<S: Scheme>(scheme: S) {
        let nodes = [NodeSpec::new("a:1:1").with_weight(0), NodeSpec::new("b:1:1").with_state(State::Down)];
        let table = build(scheme, nodes);
        assert_eq!((table.len(), table.owner(b"key").is_none()), (0, true));
        table.validate().unwrap();
    }
    empty(Libketama::new());
    empty(TwemproxyKetama::new());
    empty(UhashringKetama::new());
    empty(HashRing::new());
    // libmemcached takes weight 0 for 1.
    let zero = || [NodeSpec::new("a").with_weight(0), NodeSpec::new("b").with_weight(1)];
    let table = build(Libmemcached::new().with_points(LibmemcachedPoints::Md5x4), zero());
    assert_eq!((table.points_of("a"), table.points_of("b")), (Some(160), Some(160)));
    assert_eq!(build(Libmemcached::new(), zero()).len(), 200);
}

#[test]
fn two_servers_of_one_ring_name_are_refused_by_twemproxy() {
    let nodes = ["127.0.0.1:11211:1", "x:9:1 127.0.0.1"].map(NodeSpec::new);
    let error = Table::<(), _>::build(TwemproxyKetama::new(), nodes, &limits()).unwrap_err();
    // Order-free schemes see their nodes by id.
    let expected = "node \"x:9:1 127.0.0.1\": its ring name \"127.0.0.1\" is also that of node \"127.0.0.1:11211:1\"; give \
                    each a name of its own";
    assert_eq!(error.to_string(), expected);
    let error = Table::<(), _>::build(TwemproxyKetama::new(), [NodeSpec::new("cache-a")], &limits()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("node \"cache-a\": the id is not a twemproxy server; write it as host:port:weight")
    );
}

#[test]
fn options_are_taken_by_name_and_given_back() {
    let given = |options: &[(&str, &str)]| {
        options.iter().fold(SchemeOptions::new(), |all, &(name, value)| all.with(name, value))
    };
    let named = |scheme: &str, options: SchemeOptions| AnyScheme::named(scheme, &mut options.clone());
    for (scheme, options) in [
        ("libmemcached", given(&[("key_hash", "md5"), ("points", "md5x4"), ("format", "spy"), ("namespace", "a:")])),
        (
            "libmemcached",
            given(&[("key_hash", "murmur3"), ("point_hash", "hsieh"), ("key_tag", "{}")]).with("sort_hosts", true),
        ),
        ("twemproxy-ketama", given(&[("hash", "crc16"), ("hash_tag", "{}"), ("distribution", "ketama")])),
        ("uhashring-ketama", SchemeOptions::new().with("vnodes", 7u32).with("replicas", 3u32)),
        ("uhashring-default", SchemeOptions::new().with("vnodes", 7u32)),
        ("conhash", SchemeOptions::new().with("replicas_per_weight", 3u32)),
        ("hash_ring", SchemeOptions::new()),
        ("libketama", SchemeOptions::new()),
    ] {
        let mut left = options.clone();
        let made = AnyScheme::named(scheme, &mut left).unwrap().unwrap();
        assert!(left.is_empty(), "{scheme} left {left:?}");
        assert_eq!(made.name(), scheme);
        assert_eq!(named(scheme, made.options()).unwrap(), Some(made));
    }
    for (scheme, options, message) in [
        (
            "libmemcached",
            given(&[("key_hash", "crc16")]),
            "key_hash: unknown value \"crc16\"; the values are one_at_a_time, md5, crc32, fnv1_64, fnv1a_64, fnv1_32, \
             fnv1a_32, hsieh, murmur, jenkins, murmur3",
        ),
        (
            "libmemcached",
            given(&[("points", "99")]),
            "points: unknown value \"99\"; the values are auto, hash100, md5x4",
        ),
        ("libmemcached", SchemeOptions::new().with("namespace", true), "namespace: true is a boolean; give text"),
        (
            "twemproxy-ketama",
            given(&[("distribution", "modula")]),
            "distribution: unknown value \"modula\"; the values are ketama",
        ),
        (
            "twemproxy-ketama",
            given(&[("hash_tag", "{")]),
            "hash_tag: a key tag is 2 bytes, such as {}; this text has 1",
        ),
        (
            "uhashring-ketama",
            SchemeOptions::new().with("replicas", 5u32),
            "replicas: 5 is out of range; give an integer from 0 to 4",
        ),
    ] {
        assert_eq!(named(scheme, options).unwrap_err().to_string(), message);
    }
}

#[test]
fn every_option_counts_in_the_fingerprint() {
    let new = Libmemcached::new;
    let schemes = [
        new(),
        new().with_key_hash(MemcacheHash::Md5),
        new().with_point_hash(MemcacheHash::Md5),
        new().with_points(LibmemcachedPoints::Hash100),
        new().with_format(LibmemcachedFormat::Spy),
        new().with_namespace("a"),
        new().with_sort_hosts(true),
    ];
    let mut prints: Vec<String> =
        schemes.map(|scheme| build(scheme, [NodeSpec::new("a")]).placement_fingerprint().to_string()).to_vec();
    prints.extend([MemcacheHash::Md5, MemcacheHash::Murmur].map(|hash| {
        build(TwemproxyKetama::new().with_hash(hash), [NodeSpec::new("a:1:1")]).placement_fingerprint().to_string()
    }));
    prints.extend([State::Up, State::Down].map(|state| {
        build(Libketama::new(), [NodeSpec::new("a").with_state(state)]).placement_fingerprint().to_string()
    }));
    let all = prints.len();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), all);
}
