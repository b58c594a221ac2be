//! A cluster's endpoints.

use std::net::{IpAddr, Ipv6Addr};

use ringway::{NodeSpec, State};

use super::{fields, refused, unknown};
use crate::import::imported::Nodes;
use crate::import::problem::{ImportError, ImportProblem};
use crate::import::yaml::{Field, Tree, Value};

/// How hosts come by their names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Naming {
    /// Whether addresses go through DNS; the name is then the address as it is written, unless one is given.
    pub(super) dns: bool,
    /// Whether the name is what's hashed.
    pub(super) by_hostname: bool,
}

/// The hosts of a cluster, in the order in which the ring is made.
#[derive(Default)]
pub(super) struct Hosts {
    naming: Naming,
    nodes: Nodes,
    /// What to know, with the line it is about.
    pub(super) notes: Vec<(usize, String)>,
    all: u64,
    down: u64,
}

impl Hosts {
    pub(super) fn read(tree: &Tree, assignment: &Field<'_>, naming: Naming) -> Result<Self, ImportError> {
        let mut hosts = Self { naming, ..Self::default() };
        for (name, field) in fields(tree, assignment.value, "load_assignment")? {
            match name.as_str() {
                "endpoints" => {
                    for &locality in tree.items(field.value, &name)? {
                        hosts.locality(tree, locality)?;
                    }
                }
                "cluster_name" | "@type" => {}
                "policy" => {
                    for (name, field) in fields(tree, field.value, &name)? {
                        match name.as_str() {
                            "overprovisioning_factor" | "endpoint_stale_after" | "weighted_priority_health" => {}
                            "drop_overloads" => {
                                return Err(refused(&name, "some requests would go to no endpoint", &field));
                            }
                            _ => return Err(unknown("policy", &field)),
                        }
                    }
                }
                "named_endpoints" => return Err(refused(&name, "give the endpoints in their places", &field)),
                _ => return Err(unknown("load_assignment", &field)),
            }
        }
        if hosts.nodes.is_empty() {
            let reason = "the cluster has no endpoint".to_owned();
            return Err(ImportProblem::Missing(reason).at(assignment.line));
        }
        Ok(hosts)
    }

    fn locality(&mut self, tree: &Tree, locality: Value) -> Result<(), ImportError> {
        let of = "endpoints";
        let mut zone = Vec::new();
        let fields = fields(tree, locality, of)?;
        for (name, field) in &fields {
            match name.as_str() {
                "locality" => zone = self::zone(tree, field.value)?,
                "priority" => {
                    if tree.number(field.value, name, 0, 128)? > 0 {
                        return Err(refused(name, "each priority has a ring of its own", field));
                    }
                }
                // Counts with `locality_weighted_lb_config` alone, which is refused.
                "load_balancing_weight" | "lb_endpoints" | "proximity" | "metadata" => {}
                "leds_cluster_locality_config" | "load_balancer_endpoints" => {
                    return Err(refused(name, "the endpoints are found at run time", field));
                }
                _ => return Err(unknown(of, field)),
            }
        }
        for (_, field) in fields.iter().filter(|(name, _)| name == "lb_endpoints") {
            for &endpoint in tree.items(field.value, "lb_endpoints")? {
                self.host(tree, endpoint, &zone)?;
            }
        }
        Ok(())
    }

    fn host(&mut self, tree: &Tree, value: Value, zone: &[String]) -> Result<(), ImportError> {
        let of = "lb_endpoints";
        let line = tree.line(value);
        let (mut address, mut hostname, mut hash_key) = (None, None, None);
        let (mut weight, mut state) = (1, State::Up);
        for (name, field) in fields(tree, value, of)? {
            match name.as_str() {
                "endpoint" => {
                    for (name, field) in fields(tree, field.value, &name)? {
                        match name.as_str() {
                            "address" => address = Some(self::address(tree, field.value)?),
                            "hostname" => hostname = Some(tree.text(field.value, &name)?),
                            // These don't name the host.
                            "health_check_config" | "additional_addresses" => {}
                            _ => return Err(unknown("endpoint", &field)),
                        }
                    }
                }
                "load_balancing_weight" => weight = tree.number(field.value, &name, 1, u32::MAX)?,
                "health_status" => {
                    state = match tree.text(field.value, &name)? {
                        "UNKNOWN" | "HEALTHY" | "0" | "1" => State::Up,
                        "UNHEALTHY" | "DRAINING" | "TIMEOUT" | "2" | "3" | "4" => State::Down,
                        "DEGRADED" | "5" => {
                            return Err(refused("DEGRADED", "degraded endpoints have a ring of their own", &field));
                        }
                        other => {
                            let wanted = "UNKNOWN, HEALTHY, UNHEALTHY, DRAINING, TIMEOUT or DEGRADED";
                            return Err(ImportProblem::value(name, other, wanted).at(field.line));
                        }
                    };
                }
                "metadata" => {
                    hash_key = match self::hash_key(tree, field.value)? {
                        Some(HashKey::Text(text)) => Some(text),
                        Some(HashKey::Other(line)) => {
                            let note = "the \"hash_key\" isn't text, so Envoy places by the name or address; quotes make it text";
                            self.notes.push((line, note.to_owned()));
                            None
                        }
                        None => None,
                    }
                }
                "endpoint_name" => return Err(refused(&name, "give the endpoint in its place", &field)),
                _ => return Err(unknown(of, &field)),
            }
        }
        let Some(Address { text: address, name, pipe }) = address else {
            return Err(ImportProblem::Missing("the endpoint has no address".to_owned()).at(line));
        };
        if pipe && self.naming.dns {
            let reason = "a pipe has no name that DNS knows; Envoy takes it in STATIC clusters".to_owned();
            return Err(ImportProblem::Syntax(reason).at(line));
        }
        // Empty ones count as absent in Envoy, too.
        let hash_key = hash_key.filter(|key| !key.is_empty());
        let hostname = hostname.filter(|name| !name.is_empty()).or(self.naming.dns.then_some(name));
        if self.naming.by_hostname && hostname.is_none() && hash_key.is_none() {
            return Err(ImportProblem::Missing("the endpoint has no hostname to hash".to_owned()).at(line));
        }
        let mut node = NodeSpec::new(address.as_str()).with_address(address).with_weight(weight).with_state(state);
        node = node.with_zone(zone.iter().cloned());
        for (name, text) in [("hostname", hostname), ("hash_key", hash_key.as_deref())] {
            if let Some(text) = text {
                node = node.with_attribute(name, text);
            }
        }
        self.all += 1;
        self.down += u64::from(state == State::Down);
        self.nodes.add(line, node)
    }

    /// The hosts as nodes. `threshold` is the share of healthy ones, in percent, below which Envoy takes all.
    pub(super) fn into_nodes(self, threshold: u32, line: usize) -> Result<Vec<NodeSpec>, ImportError> {
        if (self.all - self.down) * 100 < self.all * u64::from(threshold) {
            let what = format!("{} endpoints out of service of {}", self.down, self.all);
            let why = format!("with fewer than {threshold} % left Envoy panics and takes all; mark those that count");
            return Err(ImportProblem::not_reproducible(what, why).at(line));
        }
        Ok(self.nodes.into_nodes())
    }
}

/// Region, zone and subzone, those that there are.
fn zone(tree: &Tree, value: Value) -> Result<Vec<String>, ImportError> {
    let fields = fields(tree, value, "locality")?;
    let mut zone = Vec::new();
    for level in ["region", "zone", "sub_zone"] {
        if let Some((_, field)) = fields.iter().find(|(name, _)| name == level) {
            let text = tree.text(field.value, level)?;
            zone.extend((!text.is_empty()).then(|| text.to_owned()));
        }
    }
    match fields.iter().find(|(name, _)| !matches!(name.as_str(), "region" | "zone" | "sub_zone")) {
        Some((_, field)) => Err(unknown("locality", field)),
        None => Ok(zone),
    }
}

struct Address<'t> {
    /// As Envoy writes it, which is what it hashes.
    text: String,
    /// As the file has it, without the port.
    name: &'t str,
    pipe: bool,
}

fn address(tree: &Tree, value: Value) -> Result<Address<'_>, ImportError> {
    let [(kind, field)] = &fields(tree, value, "address")?[..] else {
        let reason = "an address is a \"socket_address\" or a \"pipe\"".to_owned();
        return Err(ImportProblem::Missing(reason).at(tree.line(value)));
    };
    let of = kind.as_str();
    let (mut ip, mut port, mut path) = (None, None, None);
    if !matches!(of, "socket_address" | "pipe") {
        return Err(unknown("address", field));
    }
    for (name, field) in fields(tree, field.value, of)? {
        match (of, name.as_str()) {
            ("socket_address", "address") => {
                let text = tree.text(field.value, "address")?;
                let parsed = text.parse::<IpAddr>();
                let parsed = parsed.map_err(|_| {
                    ImportProblem::value("address", text, "an IP address: one from DNS isn't known here").at(field.line)
                })?;
                ip = Some((parsed, text));
            }
            ("socket_address", "port_value") => port = Some(tree.number(field.value, &name, 0, 65_535)?),
            ("socket_address", "protocol") => match tree.text(field.value, &name)? {
                "TCP" | "0" => {}
                other => return Err(ImportProblem::value(name, other, "TCP").at(field.line)),
            },
            ("socket_address", "ipv4_compat") | ("pipe", "mode") => {}
            ("socket_address", "named_port" | "resolver_name" | "network_namespace_filepath") => {
                return Err(refused(&name, "the address is found at run time", &field));
            }
            ("pipe", "path") => path = Some(tree.text(field.value, &name)?),
            _ => return Err(unknown(of, &field)),
        }
    }
    match (ip, port, path) {
        (Some((IpAddr::V4(ip), name)), Some(port), _) => {
            Ok(Address { text: format!("{ip}:{port}"), name, pipe: false })
        }
        (Some((IpAddr::V6(ip), name)), Some(port), _) => {
            Ok(Address { text: format!("[{}]:{port}", v6(ip)), name, pipe: false })
        }
        (_, _, Some(path)) => Ok(Address { text: path.to_owned(), name: path, pipe: true }),
        _ => {
            let reason = "an address has an IP address and a port, or a path".to_owned();
            Err(ImportProblem::Missing(reason).at(field.line))
        }
    }
}

/// As the C library writes it: it gives the last 32 bits in IPv4's form where the rest but them is zero, too.
fn v6(ip: Ipv6Addr) -> String {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => {
            let [.., a, b, c, d] = ip.octets();
            format!("::{a}.{b}.{c}.{d}")
        }
        _ => ip.to_string(),
    }
}

/// What stands as `hash_key`.
enum HashKey {
    Text(String),
    /// Something else, in that line.
    Other(usize),
}

/// `filter_metadata."envoy.lb".hash_key`. Its type is `google.protobuf.Value`, and what isn't a string there doesn't count
/// (`source/extensions/load_balancing_policies/common/thread_aware_lb_impl.h`, `HashingLoadBalancer::hashKey`).
fn hash_key(tree: &Tree, metadata: Value) -> Result<Option<HashKey>, ImportError> {
    let field = |value, name: &str| -> Result<Option<Value>, ImportError> {
        let fields = fields(tree, value, name)?;
        Ok(fields.into_iter().find(|(found, _)| found == name).map(|(_, field)| field.value))
    };
    let Some(filters) = field(metadata, "filter_metadata")? else { return Ok(None) };
    let Some(lb) = field(filters, "envoy.lb")? else { return Ok(None) };
    let Some(value) = field(lb, "hash_key")? else { return Ok(None) };
    let line = tree.line(value);
    Ok(Some(match tree.scalar(value) {
        Some((text, false)) => HashKey::Text(text.to_owned()),
        Some((_, true)) if tree.json => HashKey::Other(line),
        Some((text, true)) => plain(text, line)?,
        None => HashKey::Other(line),
    }))
}

/// What Envoy makes of YAML without quotes (`source/common/protobuf/yaml_utility.cc`, `parseYamlNode`, and yaml-cpp's
/// conversions): a boolean, a number if 32 bits hold it, the decimal digits of an integer of 64 bits, or else text.
fn plain(text: &str, line: usize) -> Result<HashKey, ImportError> {
    // `True` and `TRUE` as `true`, but not `tRUE`.
    let (head, tail) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let one_case = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    let same = one_case(text)
        || text.bytes().all(|byte| byte.is_ascii_uppercase())
        || head.bytes().all(|byte| byte.is_ascii_uppercase()) && one_case(tail);
    if same && ["y", "n", "yes", "no", "true", "false", "on", "off"].contains(&text.to_ascii_lowercase().as_str()) {
        return Ok(HashKey::Other(line));
    }
    if let Some(number) = integer(text) {
        let small = i32::try_from(number).is_ok();
        return Ok(if small { HashKey::Other(line) } else { HashKey::Text(number.to_string()) });
    }
    let unsigned = text.trim_start_matches(['+', '-']);
    let begins = |marks: &str| unsigned.starts_with(|first: char| first.is_ascii_digit() || marks.contains(first));
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let special = [".inf", ".nan"].contains(&unsigned.to_ascii_lowercase().as_str());
    if begins(".") && (text.parse::<f64>().is_ok() || hexadecimal || special) {
        let wanted = "text to every version of Envoy: a number to some; put it in quotes if it is to count";
        return Err(ImportProblem::value("hash_key", text, wanted).at(line));
    }
    Ok(HashKey::Text(text.to_owned()))
}

/// An integer of 64 bits as C++ reads one: `0x` and `0` at the beginning tell the base.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    // A second sign is none.
    let sound = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if sound { i64::from_str_radix(&format!("{sign}{digits}"), base).ok() } else { None }
}
