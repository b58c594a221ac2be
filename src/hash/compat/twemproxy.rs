//! twemproxy (nutcracker): `distribution: ketama`.

use std::collections::HashMap;
use std::ops::Range;

use super::ketama::{self, Live};
use super::{Label, MemcacheHash, md5};
use crate::error::{SchemeError, shown};
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo};
use crate::point::{index, position};

/// twemproxy's ketama, `"twemproxy-ketama"`: a pool with `distribution: ketama`.
///
/// A node's ring name is its attribute `name`, or else read from its id, which then is the server's line from the
/// configuration: `host:port:weight`, or `/path:weight` for a Unix socket, and after a blank the name. Without a name there
/// the ring name is the host if the port is 11211, else `host:port` as written, and `/path:` for a socket. (The weight in
/// the line must be one, but the node's weight is what counts.)
///
/// A server has ⌊weight / total weight × 160 / 4 × servers⌋ digests, where each operation rounds to an `f32`: the MD5 of
/// `ringname-0`, `ringname-1`, …, four points each. Equal points belong to the server with the shorter ring name, or the
/// smaller of equal length, so list order doesn't count; two servers with one ring name are refused. A key's point is its
/// hash, and it belongs to the first point at or after that; the empty key's point is 0.
///
/// Options, in files by their names:
/// - `hash`: a [`MemcacheHash`] (not `murmur3`, which twemproxy doesn't have); `fnv1a_64` if not set.
/// - `hash_tag`: the same as the option `key_tag` of every scheme, see [`KeyTag`](crate::scheme::KeyTag).
/// - `distribution`: `ketama`.
///
/// A server that is ejected is left out when the ring is built: a node that is [`Down`](crate::State::Down) has no points
/// and no part in the counts. Active points set for a node replace its count alone. When a node comes or goes, a few keys
/// move between others.
///
/// Source: twemproxy 0.5, `src/hashkit/nc_ketama.c` (`ketama_update`), `src/nc_conf.c` (`conf_add_server`,
/// `conf_validate_server`), `src/nc_server.c` (`server_pool_idx`).
///
/// ```
/// use ringway::scheme::TwemproxyKetama;
/// use ringway::{NodeSpec, Ring};
/// let servers = ["127.0.0.1:11211:1", "127.0.0.1:11212:1", "/run/cache.sock:1 local"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(TwemproxyKetama::new()).nodes(servers).build_table()?;
/// assert_eq!(table.len(), 480);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwemproxyKetama {
    hash: MemcacheHash,
}

impl TwemproxyKetama {
    /// The scheme's name.
    pub const ID: &'static str = "twemproxy-ketama";

    /// Creates the scheme with twemproxy's default hash of keys, `fnv1a_64`.
    #[must_use]
    pub const fn new() -> Self {
        Self { hash: MemcacheHash::Fnv1a64 }
    }

    /// Sets the hash of keys.
    #[must_use]
    pub const fn with_hash(self, hash: MemcacheHash) -> Self {
        Self { hash }
    }

    /// Returns the hash of keys.
    #[must_use]
    pub const fn hash(&self) -> MemcacheHash {
        self.hash
    }
}

impl Default for TwemproxyKetama {
    fn default() -> Self {
        Self::new()
    }
}

fn ring_name(node: &NodeInfo) -> Result<&str, SchemeError> {
    if let Some(name) = node.attribute("name") {
        return Ok(name);
    }
    let server = node.id().as_str();
    ring_name_of(server).ok_or_else(|| SchemeError {
        id: Some(shown(server)),
        reason: "the id is not a twemproxy server; write it as host:port:weight or /path:weight, with a name after a \
                 blank or without, or give the attribute name"
            .into(),
    })
}

/// The ring name of a server's line; read from its end, as twemproxy does.
fn ring_name_of(server: &str) -> Option<&str> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let (line, name) = server.rsplit_once(' ').map_or((server, None), |(line, name)| (line, Some(name)));
    let (address, weight) = line.rsplit_once(':')?;
    number(weight)?;
    if server.starts_with('/') {
        // twemproxy takes one colon and no more in the line of a socket, and keeps it in the name.
        let socket = &line[..=address.len()];
        return if address.contains(':') { None } else { Some(name.unwrap_or(socket)) };
    }
    let (host, port) = address.rsplit_once(':')?;
    let port = number(port).filter(|port| (1..=65_535).contains(port))?;
    Some(name.unwrap_or(if port == 11_211 { host } else { address }))
}

impl Scheme for TwemproxyKetama {
    type Point = u32;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// Equal points go by ring name.
    fn order_free(&self) -> bool {
        true
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::Rebuild
    }

    /// The name of the hash.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&position(self.hash.name().len()).to_le_bytes());
        out.extend_from_slice(self.hash.name().as_bytes());
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        ketama::placement_bytes_with_state(node, &[node.attribute("name")], out);
    }

    fn key_map(&self) -> Vec<u8> {
        [&self.hash.key_map()[..], b"empty is 0"].concat()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let names = nodes.iter().map(|node| ring_name(node)).collect::<Result<Vec<_>, _>>()?;
        let mut sorted = names.clone();
        sorted.sort_unstable_by_key(|name| (name.len(), name.as_bytes()));
        let ties: HashMap<&str, u32> = sorted.into_iter().zip(0..).collect();
        if ties.len() < names.len() {
            return Err(doubled(nodes, &names));
        }
        let live = Live::of(nodes, NodeInfo::weight);
        let tie = |place: u32| ties[names[index(place)]];
        let label = |node: &NodeInfo| Ok(Label::new(format!("{}-", ring_name(node)?).as_bytes()));
        let points = |node: &NodeInfo| Ok(live.digests(node.weight()).saturating_mul(4));
        ketama::assign(nodes, tie, label, points, out)
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        md5::word_points(label.as_bytes(), 4, numbers, out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        if key.is_empty() { 0 } else { self.hash.hash(key) }
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        if parts.iter().all(|part| part.is_empty()) { 0 } else { self.hash.hash_of_parts(parts) }
    }
}

/// The error for the first node whose ring name another has that stands before it.
fn doubled(nodes: &[&NodeInfo], names: &[&str]) -> SchemeError {
    let mut first: HashMap<&str, &NodeInfo> = HashMap::new();
    for (node, name) in nodes.iter().zip(names) {
        if let Some(other) = first.insert(name, node) {
            let (name, other) = (shown(name), shown(other.id().as_str()));
            return SchemeError {
                id: Some(shown(node.id().as_str())),
                reason: format!(
                    "its ring name \"{name}\" is also that of node \"{other}\"; give each a name of its own"
                ),
            };
        }
    }
    unreachable!("called where there are fewer names than nodes")
}

const HASHES: [(&str, MemcacheHash); 12] = {
    use MemcacheHash::*;
    let all = [OneAtATime, Md5, Crc16, Crc32, Crc32a, Fnv1_64, Fnv1a64, Fnv1_32, Fnv1a32, Hsieh, Murmur, Jenkins];
    let mut named = [("", OneAtATime); 12];
    let mut place = 0;
    while place < all.len() {
        named[place] = (all[place].name(), all[place]);
        place += 1;
    }
    named
};

impl Named for TwemproxyKetama {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        options.take_one_of("distribution", &[("ketama", ())])?;
        let hash = options.take_one_of("hash", &HASHES)?;
        Ok(hash.map_or_else(Self::new, |hash| Self::new().with_hash(hash)))
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        vec![("hash", self.hash.name().into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_names_are_read_as_twemproxy_reads_them() {
        for (server, name) in [
            ("127.0.0.1:11211:1", Some("127.0.0.1")),
            ("127.0.0.1:011211:1", Some("127.0.0.1")),
            ("127.0.0.1:11212:1", Some("127.0.0.1:11212")),
            ("127.0.0.1:011212:1", Some("127.0.0.1:011212")),
            ("::1:11311:1", Some("::1:11311")),
            ("h:1:1 name", Some("name")),
            ("h:1:1 a:b", Some("a:b")),
            ("h:1:1 ", Some("")),
            ("/run/a.sock:1", Some("/run/a.sock:")),
            ("/run/a.sock:1 named", Some("named")),
            ("/run/a:b.sock:1", None),
            ("h:1", None),
            ("h:0:1", None),
            ("h:65536:1", None),
            ("h:+1:1", None),
            ("h:1:x", None),
            ("h:1:", None),
            ("h:99999999999:1", None),
            ("cache-a", None),
        ] {
            assert_eq!(ring_name_of(server), name, "{server}");
        }
    }
}
