//! HAProxy: `hash-type consistent`.

mod hashes;
mod header;

pub use hashes::HaproxyHash;

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use xxhash_rust::xxh32::xxh32;

use self::hashes::full_hash;
use super::{Label, active_points, placement_bytes};
use crate::error::{SchemeError, shown};
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::tag::cut_parts;
use crate::hash::{Assignment, MatchRule, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo, State};

/// HAProxy's consistent hash, `"haproxy-chash"`: a backend with `hash-type consistent`.
///
/// A server has 16 points for each unit of weight, which is at most 256; with weight 0 it has none. Point j is `full_hash`,
/// a hash of 32 bits to 32, of the server's *base* plus j. Names don't matter. The base depends on the attribute
/// `hash_key`, which is the server keyword `hash-key`:
///
/// | `hash_key` | base |
/// |---|---|
/// | absent, `id` | 4096 × id, modulo 2^32: ids that are equal modulo 2^20 have equal points |
/// | `id32` | `full_hash` of the id with its bytes reversed |
/// | `guid` | XXH32 of the attribute `guid` |
/// | `addr` | `full_hash` of the IPv4 address read little-endian; XXH32 of the 16 bytes of an IPv6 address |
/// | `addr-port` | the same with the port: `full_hash(full_hash(port) + address)`; XXH32 with seed `full_hash(port)` |
///
/// The address is the node's, or else its id, with or without a port; if that isn't an IP address, `addr` and `addr-port`
/// fall back to `id`. The attribute `id` is the server keyword `id`, 1 to 2147483647. A server without one takes the
/// first number that no other has, from a counter on that starts at 1, becomes the number taken, and goes up by 1 with
/// each server of the list. So where ids are automatic, a server that comes or goes renumbers those after it, and their
/// keys move; HAProxy does the same.
///
/// A key's point is the [`HaproxyHash`] of its bytes, spread by `full_hash` if *avalanche* is on. It belongs to the
/// *nearest* point, and halfway between two to the one before. Of equal points the first belongs to the server that stands
/// first in the list. With [`with_header`](Self::with_header) a key is a header's value as `balance hdr(…)` reads it.
///
/// Servers that are [`Down`](State::Down), HAProxy's `disabled` among them, have no points; they keep their numbers. Active
/// points, if set, stand in for 16 × weight.
///
/// Not reproduced: `backup` servers, `hash-balance-factor`, `balance source`, and `hdr(…) use_domain_only`.
///
/// Source: HAProxy 2.6 and 3.4, `src/lb_chash.c` (`chash_init_server_tree`, `chash_get_server_hash`), `src/cfgparse.c`
/// (automatic ids, `check_config_validity`), `src/backend.c` (`gen_hash`, `get_server_hh`).
///
/// ```
/// use ringway::scheme::{HaproxyChash, HaproxyHash};
/// use ringway::{NodeSpec, Ring};
/// let scheme = HaproxyChash::new().with_hash(HaproxyHash::Crc32, true);
/// let by_address = NodeSpec::new("s2").with_address("10.0.0.2:80").with_attribute("hash_key", "addr");
/// let table = Ring::builder().scheme(scheme).nodes([NodeSpec::new("s1").with_weight(3), by_address]).build_table()?;
/// assert_eq!(table.len(), 64);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HaproxyChash {
    hash: HaproxyHash,
    avalanche: bool,
    header: bool,
}

impl HaproxyChash {
    /// The scheme's name.
    pub const ID: &'static str = "haproxy-chash";

    /// The largest weight of a server.
    pub const MAX_WEIGHT: u32 = 256;

    /// The largest number of a server.
    pub const MAX_ID: u32 = 2_147_483_647;

    /// Creates the scheme as `hash-type consistent` alone does: sdbm with avalanche.
    #[must_use]
    pub const fn new() -> Self {
        Self { hash: HaproxyHash::Sdbm, avalanche: true, header: false }
    }

    /// Sets the hash function, and whether its result is spread.
    #[must_use]
    pub const fn with_hash(self, hash: HaproxyHash, avalanche: bool) -> Self {
        Self { hash, avalanche, ..self }
    }

    /// Sets whether keys are values of a header, as `balance hdr(…)` reads them: without the blanks around it, and only
    /// up to the first comma that isn't between double quotes.
    #[must_use]
    pub const fn with_header(self, header: bool) -> Self {
        Self { header, ..self }
    }

    /// Returns the hash function, and whether its result is spread.
    #[must_use]
    pub const fn hash(&self) -> (HaproxyHash, bool) {
        (self.hash, self.avalanche)
    }

    /// Whether keys are values of a header.
    #[must_use]
    pub const fn header(&self) -> bool {
        self.header
    }

    #[inline]
    fn point<'k>(&self, parts: impl Iterator<Item = &'k [u8]>) -> u32 {
        let hash = self.hash.hash(parts);
        if self.avalanche { full_hash(hash) } else { hash }
    }
}

impl Default for HaproxyChash {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheme for HaproxyChash {
    type Point = u32;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides automatic ids, and who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    #[inline]
    fn match_rule(&self) -> MatchRule {
        MatchRule::Nearest
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::Rebuild
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.hash.code(), u8::from(self.avalanche), u8::from(self.header)]);
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        let form = node.attribute(HASH_KEY);
        let guid = node.attribute("guid").filter(|_| form == Some("guid"));
        let by_address = matches!(form, Some("addr" | "addr-port"));
        let address = by_address.then(|| node.address()).flatten();
        placement_bytes(node, &[node.attribute("id"), form, guid, address], out);
        out.push(u8::from(node.state() == State::Down));
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let ids = ids(nodes)?;
        for ((tie, node), id) in (0..).zip(nodes).zip(ids) {
            if node.weight() > Self::MAX_WEIGHT {
                let (weight, limit) = (node.weight(), Self::MAX_WEIGHT);
                return Err(refused(
                    node,
                    format!("weight {weight} is above HAProxy's limit of {limit}; scale the weights down"),
                ));
            }
            let points = if node.state() == State::Down { 0 } else { active_points(node, POINTS_PER_WEIGHT) };
            out.push(Assignment { seed: Label::new(&base(node, id)?.to_le_bytes()), points, tie });
        }
        Ok(())
    }

    fn points(&self, _: &NodeId, base: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        let mut bytes = [0; 4];
        bytes.iter_mut().zip(base.as_bytes()).for_each(|(to, from)| *to = *from);
        let base = u32::from_le_bytes(bytes);
        out.extend(numbers.map(|number| full_hash(base.wrapping_add(number))));
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        let value = if self.header { header::of(key) } else { key };
        self.point(std::iter::once(value))
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        if self.header {
            let value = header::first_value(parts.iter().copied().flatten().copied());
            self.point(cut_parts(parts, value))
        } else {
            self.point(parts.iter().copied())
        }
    }
}

const POINTS_PER_WEIGHT: u32 = 16;
const HASH_KEY: &str = "hash_key";

fn refused(node: &NodeInfo, reason: String) -> SchemeError {
    SchemeError { id: Some(shown(node.id().as_str())), reason }
}

/// The number of each server, given or automatic.
fn ids(nodes: &[&NodeInfo]) -> Result<Vec<u32>, SchemeError> {
    let given = nodes.iter().map(|node| given_id(node)).collect::<Result<Vec<_>, _>>()?;
    let mut used = HashSet::new();
    for (node, id) in nodes.iter().zip(&given) {
        if let Some(id) = id.filter(|&id| !used.insert(id)) {
            return Err(refused(node, format!("id {id} is another server's, too; give each server one of its own")));
        }
    }
    let mut counter: u32 = 1;
    // Each step of the counter is a server or a number in use, so it stays below twice the number of nodes.
    let id = given.into_iter().map(|given| {
        let id = given.unwrap_or_else(|| {
            while used.contains(&counter) {
                counter += 1;
            }
            counter
        });
        // An automatic number needs no place in `used`: the counter has left it behind.
        counter += 1;
        id
    });
    Ok(id.collect())
}

fn given_id(node: &NodeInfo) -> Result<Option<u32>, SchemeError> {
    let Some(text) = node.attribute("id") else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(id @ 1..=HaproxyChash::MAX_ID) if digits => Ok(Some(id)),
        _ => {
            let (text, limit) = (shown(text), HaproxyChash::MAX_ID);
            Err(refused(node, format!("id \"{text}\" is not a server's number; give one from 1 to {limit}")))
        }
    }
}

/// What a server's points are counted from.
fn base(node: &NodeInfo, id: u32) -> Result<u32, SchemeError> {
    let by_id = id.wrapping_mul(4096);
    let with_port = match node.attribute(HASH_KEY) {
        None | Some("id") => return Ok(by_id),
        Some("id32") => return Ok(full_hash(id.swap_bytes())),
        Some("guid") => {
            return match node.attribute("guid") {
                Some(guid) => Ok(xxh32(guid.as_bytes(), 0)),
                None => {
                    Err(refused(node, "hash_key is guid, but there is no guid; give it as an attribute".to_owned()))
                }
            };
        }
        Some("addr") => false,
        Some("addr-port") => true,
        Some(other) => {
            let other = shown(other);
            let reason = format!("unknown hash_key \"{other}\"; the values are id, id32, guid, addr, addr-port");
            return Err(refused(node, reason));
        }
    };
    let Some((ip, port)) = address(node.address().unwrap_or(node.id().as_str())) else { return Ok(by_id) };
    let seed = if with_port { full_hash(port.into()) } else { 0 };
    Ok(match ip {
        IpAddr::V4(ip) => full_hash(seed.wrapping_add(u32::from_le_bytes(ip.octets()))),
        IpAddr::V6(ip) => xxh32(&ip.octets(), seed),
    })
}

/// An address as HAProxy's `server` takes it: the last colon parts the port, which may be missing and then is 0; IPv6 may
/// have brackets or not.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some((address.ip(), address.port()));
    }
    let ip = |text: &str| {
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        inner.unwrap_or(text).parse::<IpAddr>().ok()
    };
    let parted = text.rsplit_once(':').and_then(|(host, port)| ip(host).zip(port.parse().ok()));
    parted.or_else(|| ip(text).map(|ip| (ip, 0)))
}

const HASH: &str = "hash";
const AVALANCHE: &str = "avalanche";
const HEADER: &str = "header";
const HASH_TYPE: &str = "hash-type";
const BALANCE: &str = "balance";

impl Named for HaproxyChash {
    const NAME: &'static str = Self::ID;

    /// Takes `hash`, `avalanche` and `header`, or HAProxy's own directives `hash-type` and `balance` as they stand in its
    /// configuration; the former win.
    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let by_type = options.take_text(HASH_TYPE)?.map(|text| hash_type(&text)).transpose()?;
        let by_balance = options.take_text(BALANCE)?.map(|text| balance(&text)).transpose()?;
        let named = options.take_one_of(HASH, HaproxyHash::NAMED)?;
        let avalanche = options.take_bool(AVALANCHE)?;
        let header = options.take_bool(HEADER)?.or(by_balance).unwrap_or(false);
        let (hash, default) = match (named, by_type) {
            // A function that is named isn't spread unless that is said.
            (Some(hash), by_type) => (hash, by_type.is_some_and(|(typed, avalanche)| typed == hash && avalanche)),
            (None, Some(typed)) => typed,
            (None, None) => Self::new().hash(),
        };
        Ok(Self { hash, avalanche: avalanche.unwrap_or(default), header })
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let mut options = Vec::new();
        if self.hash() != Self::new().hash() {
            options.extend([(HASH, self.hash.name().into()), (AVALANCHE, self.avalanche.into())]);
        }
        if self.header {
            options.push((HEADER, true.into()));
        }
        options
    }
}

/// `consistent [<function>] [avalanche]`.
fn hash_type(text: &str) -> Result<(HaproxyHash, bool), OptionError> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let function = |name: &str| HaproxyHash::NAMED.iter().find(|(known, _)| *known == name).map(|&(_, hash)| hash);
    let read = match words[..] {
        ["consistent"] => Some(HaproxyChash::new().hash()),
        ["consistent", "avalanche"] => Some((HaproxyHash::default(), true)),
        ["consistent", name] => function(name).map(|hash| (hash, false)),
        ["consistent", name, "avalanche"] => function(name).map(|hash| (hash, true)),
        _ => None,
    };
    read.ok_or_else(|| {
        let reason = format!(
            "\"{}\" is not reproduced; give consistent, then sdbm, djb2, wt6 or crc32, then avalanche if it is to be",
            shown(text)
        );
        OptionError { name: HASH_TYPE, reason }
    })
}

/// Whether the algorithm hashes a header's value; refused if it doesn't hash its key by the function alone.
fn balance(text: &str) -> Result<bool, OptionError> {
    let trimmed = text.trim_ascii();
    let word = trimmed.split(|c: char| c.is_ascii_whitespace() || c == '(').next().unwrap_or_default();
    let argument = &trimmed[word.len()..];
    let name = argument.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let named = name.is_some_and(|name| !name.is_empty() && !name.contains(')'));
    match word {
        "hdr" if named => Ok(true),
        "rdp-cookie" if named || argument.is_empty() => Ok(false),
        "uri" | "url_param" | "hash" if !argument.starts_with('(') => Ok(false),
        _ => {
            let reason = format!(
                "\"{}\" is not reproduced; give hdr(<name>), uri, url_param, hash or rdp-cookie, with the part of the \
                 request that is hashed as the key",
                shown(text)
            );
            Err(OptionError { name: BALANCE, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeSpec;

    fn numbers(given: &[Option<u32>]) -> Vec<u32> {
        let specs: Vec<NodeSpec> = (0..)
            .zip(given)
            .map(|(place, id): (u32, _)| {
                let spec = NodeSpec::new(format!("s{place}"));
                id.map_or(spec.clone(), |id| spec.with_attribute("id", id.to_string()))
            })
            .collect();
        ids(&specs.iter().map(NodeSpec::info).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn servers_without_a_number_are_counted() {
        assert_eq!(numbers(&[None, None, None]), [1, 2, 3]);
        // As HAProxy 2.6 numbered a list of nine servers, five of them with an id.
        let given = [None, Some(1), None, Some(1000), Some(77), None, Some(2_000_000_000), None, Some(5)];
        assert_eq!(numbers(&given), [2, 1, 4, 1000, 77, 7, 2_000_000_000, 9, 5]);
        assert_eq!(numbers(&[Some(2), Some(3), None, Some(1), None]), [2, 3, 4, 1, 6]);
        assert_eq!(numbers(&[Some(4), Some(3), Some(2), None]), [4, 3, 2, 5]);
    }

    #[test]
    fn addresses_are_read_as_haproxy_does() {
        for (text, ip, port) in [
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("127.0.0.1", "127.0.0.1", 0),
            ("[::1]:8080", "::1", 8080),
            ("[::1]", "::1", 0),
            ("::1:8080", "::1", 8080),
            ("fe80::1", "fe80::1", 0),
        ] {
            assert_eq!(address(text), Some((ip.parse().unwrap(), port)), "{text}");
        }
        for text in ["", "cache-1:80", "/run/a.sock", "[::1", "127.0.0.1:65536", "1.2.3"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
