//! libmemcached: its consistent distributions.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use super::ketama::{self, Live};
use super::numbered::numbered;
use super::{Label, MemcacheHash, md5};
use crate::error::{SchemeError, shown};
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo};
use crate::point::{index, position};

/// How [`Libmemcached`] makes a server's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LibmemcachedPoints {
    /// As the library does when servers are added to a consistent distribution: `Hash100` while no weight is above 1,
    /// else `Md5x4`.
    #[default]
    Auto,
    /// 100 points of each server, each the point hash of a label; weights are ignored.
    Hash100,
    /// Weighted ketama: four points out of the MD5 of each label, as many labels as the server's weight is worth.
    Md5x4,
}

/// What the labels of [`Libmemcached`] look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LibmemcachedFormat {
    /// `host-0`, or `host:port-0` where the port isn't 11211.
    #[default]
    Libmemcached,
    /// As the Java client spymemcached has them: `/host:port-0`.
    Spy,
}

/// libmemcached's consistent distributions, `"libmemcached"`: `MEMCACHED_BEHAVIOR_KETAMA`, `…_KETAMA_WEIGHTED` and
/// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY`.
///
/// A node's host and port are its attributes `host` and `port`; without a host they are read from its address, or else
/// from its id: `host`, `host:port`, `[ipv6]:port`, or the path of a Unix socket. The port is 11211 if there is none (or
/// 0), and 0 with a socket. A host is used as it is given, without brackets.
///
/// Options, in files by their names:
/// - `points`: `auto`, `hash100` or `md5x4`, see [`LibmemcachedPoints`]. With md5x4 a server has
///   ⌊weight / total weight × 160 / 4 × servers⌋ digests, where each operation rounds to an `f32`. Weight 0 is 1.
/// - `key_hash`: a [`MemcacheHash`] (not `crc16` or `crc32a`, which the library doesn't have); `one_at_a_time` if not set.
/// - `point_hash`: likewise, for hash100; the key hash if not set. They differ where `MEMCACHED_BEHAVIOR_HASH` was set
///   after the servers.
/// - `format`: `libmemcached` or `spy`, see [`LibmemcachedFormat`].
/// - `sort_hosts`: whether the library sorts its servers by host and port (`MEMCACHED_BEHAVIOR_SORT_HOSTS`); it doesn't if
///   this isn't set.
/// - `namespace`: stands before each key that is hashed, as with `MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY`.
///
/// A key belongs to the first point at or after its own; of equal points the server that stands first owns it, in the list or
/// sorted. With `AUTO_EJECT_HOSTS` the library builds the ring without its absent servers: a node that is [`Down`](crate::State::Down)
/// has no points and no part in the counts (its weight still chooses between the forms of `auto`). Active points set for a
/// node replace its count alone. With hash100 a node that comes or goes moves only its own keys; with md5x4 a few keys move
/// between others.
///
/// The library refuses keys of more than 250 bytes; here their length isn't limited.
///
/// Source: libmemcached 1.1, `src/libmemcached/hosts.cc` (`update_continuum`, `server_add`) and `hash.cc`
/// (`dispatch_host`).
///
/// ```
/// use ringway::scheme::{Libmemcached, MemcacheHash};
/// use ringway::{NodeSpec, Ring};
/// let scheme = Libmemcached::new().with_key_hash(MemcacheHash::Md5);
/// let servers = ["10.0.0.1", "10.0.0.2:11212", "/run/memcached.sock"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(scheme).nodes(servers).build_table()?;
/// assert_eq!(table.len(), 300);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libmemcached {
    key_hash: MemcacheHash,
    point_hash: Option<MemcacheHash>,
    points: LibmemcachedPoints,
    format: LibmemcachedFormat,
    sort_hosts: bool,
    namespace: Arc<str>,
}

impl Libmemcached {
    /// The scheme's name.
    pub const ID: &'static str = "libmemcached";

    /// Creates the scheme as `MEMCACHED_BEHAVIOR_KETAMA` makes it, with the library's default hash.
    #[must_use]
    pub fn new() -> Self {
        Self {
            key_hash: MemcacheHash::OneAtATime,
            point_hash: None,
            points: LibmemcachedPoints::default(),
            format: LibmemcachedFormat::default(),
            sort_hosts: false,
            namespace: Arc::from(""),
        }
    }

    /// Sets the hash of keys.
    #[must_use]
    pub fn with_key_hash(self, key_hash: MemcacheHash) -> Self {
        Self { key_hash, ..self }
    }

    /// Sets the hash of labels where the points are [`Hash100`](LibmemcachedPoints::Hash100); `None` takes that of keys.
    #[must_use]
    pub fn with_point_hash(self, point_hash: impl Into<Option<MemcacheHash>>) -> Self {
        Self { point_hash: point_hash.into(), ..self }
    }

    /// Sets how points are made.
    #[must_use]
    pub fn with_points(self, points: LibmemcachedPoints) -> Self {
        Self { points, ..self }
    }

    /// Sets what labels look like.
    #[must_use]
    pub fn with_format(self, format: LibmemcachedFormat) -> Self {
        Self { format, ..self }
    }

    /// Sets whether servers are sorted by host and port before equal points go to the first of them.
    #[must_use]
    pub fn with_sort_hosts(self, sort_hosts: bool) -> Self {
        Self { sort_hosts, ..self }
    }

    /// Sets what stands before each key that is hashed.
    #[must_use]
    pub fn with_namespace(self, namespace: &str) -> Self {
        Self { namespace: Arc::from(namespace), ..self }
    }

    /// Returns the hash of labels where the points are [`Hash100`](LibmemcachedPoints::Hash100).
    #[must_use]
    pub fn point_hash(&self) -> MemcacheHash {
        self.point_hash.unwrap_or(self.key_hash)
    }

    /// The beginning of a node's labels.
    fn label(&self, node: &NodeInfo) -> Result<String, SchemeError> {
        let (host, port) = host_and_port(node)?;
        Ok(match self.format {
            LibmemcachedFormat::Spy => format!("/{host}:{port}-"),
            LibmemcachedFormat::Libmemcached if port == DEFAULT_PORT => format!("{host}-"),
            LibmemcachedFormat::Libmemcached => format!("{host}:{port}-"),
        })
    }
}

impl Default for Libmemcached {
    fn default() -> Self {
        Self::new()
    }
}

const DEFAULT_PORT: u32 = 11_211;
/// Points of a server whose weight isn't read.
const POINTS_PER_SERVER: u64 = 100;
/// The first byte of a seed tells how its points are made.
const HASH100: u8 = 0;
const MD5X4: u8 = 1;

/// The library's weight of a node.
fn weight(node: &NodeInfo) -> u32 {
    node.weight().max(1)
}

fn host_and_port(node: &NodeInfo) -> Result<(&str, u32), SchemeError> {
    let given = ketama::number(node, "port", u32::from(u16::MAX))?;
    let (host, port) = match node.attribute("host") {
        // `memcached_server_add` takes it for this.
        Some("") => ("localhost", given),
        Some(host) => (host, given),
        None => {
            let text = node.address().unwrap_or(node.id().as_str());
            let (host, port) = split(text).ok_or_else(|| SchemeError {
                id: Some(shown(node.id().as_str())),
                reason: format!("the port of \"{}\" is above the limit of 65535; give a port in range", shown(text)),
            })?;
            (host, given.or(port))
        }
    };
    let port = match port {
        None | Some(0) if host.starts_with('/') => 0,
        None | Some(0) => DEFAULT_PORT,
        Some(port) => port,
    };
    Ok((host, port))
}

/// Cuts a port off; `None` if it is out of range.
fn split(text: &str) -> Option<(&str, Option<u32>)> {
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match text.rsplit_once(':') {
        _ if text.starts_with('/') => (text, None),
        Some((host, port)) if is_number(port) => match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(ipv6) => (ipv6, Some(port)),
            // More colons and no brackets: an IPv6 address alone.
            None if host.contains(':') => (text, None),
            None => (host, Some(port)),
        },
        _ => (text.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(text), None),
    };
    match port {
        None => Some((host, None)),
        Some(port) => port.parse::<u16>().ok().map(|port| (host, Some(port.into()))),
    }
}

impl Scheme for Libmemcached {
    type Point = u32;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who owns equal points.
    fn order_free(&self) -> bool {
        false
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::Rebuild
    }

    /// The values of the options by their names, each as `LE32(length) ‖ text`: key hash, point hash, points, format,
    /// namespace; then whether hosts are sorted, a byte.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        let (points, format) = (name_of(&POINTS, self.points), name_of(&FORMATS, self.format));
        for text in [self.key_hash.name(), self.point_hash().name(), points, format, &self.namespace] {
            out.extend_from_slice(&position(text.len()).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.push(u8::from(self.sort_hosts));
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        let read = [node.attribute("host"), node.attribute("port"), node.address()];
        ketama::placement_bytes_with_state(node, &read, out);
    }

    fn key_map(&self) -> Vec<u8> {
        [&self.key_hash.key_map()[..], self.namespace.as_bytes()].concat()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        let weighted = match self.points {
            LibmemcachedPoints::Auto => nodes.iter().any(|node| node.weight() > 1),
            LibmemcachedPoints::Hash100 => false,
            LibmemcachedPoints::Md5x4 => true,
        };
        let live = Live::of(nodes, weight);
        let form = if weighted { MD5X4 } else { HASH100 };
        let label = |node: &NodeInfo| Ok(Label::new(&[&[form], self.label(node)?.as_bytes()].concat()));
        let points = |node: &NodeInfo| {
            Ok(if weighted { live.digests(weight(node)).saturating_mul(4) } else { POINTS_PER_SERVER })
        };
        let mut order: Vec<u32> = (0..).zip(nodes).map(|(place, _)| place).collect();
        if self.sort_hosts {
            let hosts = nodes.iter().map(|node| host_and_port(node)).collect::<Result<Vec<_>, _>>()?;
            order.sort_by_key(|&place| hosts[index(place)]);
        }
        let mut ties = vec![0; nodes.len()];
        for (tie, place) in (0..).zip(order) {
            ties[index(place)] = tie;
        }
        ketama::assign(nodes, |place| ties[index(place)], label, points, out)
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        match label.as_bytes() {
            [MD5X4, label @ ..] => md5::word_points(label, 4, numbers, out),
            [_, label @ ..] => {
                let hash = self.point_hash();
                numbered(label, numbers, |label| out.push(hash.hash(label)));
            }
            // No seed of ours; a caller's own gets no points.
            [] => {}
        }
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        if self.namespace.is_empty() {
            self.key_hash.hash(key)
        } else {
            self.key_hash.hash_of([self.namespace.as_bytes(), key].into_iter())
        }
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        self.key_hash.hash_of(iter::once(self.namespace.as_bytes()).chain(parts.iter().copied()))
    }
}

const HASHES: [(&str, MemcacheHash); 11] = {
    use MemcacheHash::*;
    let all = [OneAtATime, Md5, Crc32, Fnv1_64, Fnv1a64, Fnv1_32, Fnv1a32, Hsieh, Murmur, Jenkins, Murmur3];
    let mut named = [("", OneAtATime); 11];
    let mut place = 0;
    while place < all.len() {
        named[place] = (all[place].name(), all[place]);
        place += 1;
    }
    named
};

const POINTS: [(&str, LibmemcachedPoints); 3] = [
    ("auto", LibmemcachedPoints::Auto),
    ("hash100", LibmemcachedPoints::Hash100),
    ("md5x4", LibmemcachedPoints::Md5x4),
];

const FORMATS: [(&str, LibmemcachedFormat); 2] =
    [("libmemcached", LibmemcachedFormat::Libmemcached), ("spy", LibmemcachedFormat::Spy)];

fn name_of<V: PartialEq>(named: &[(&'static str, V)], value: V) -> &'static str {
    named.iter().find(|(_, known)| *known == value).expect("the lists name every value").0
}

impl Named for Libmemcached {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let new = Self::new();
        Ok(Self {
            key_hash: options.take_one_of("key_hash", &HASHES)?.unwrap_or(new.key_hash),
            point_hash: options.take_one_of("point_hash", &HASHES)?,
            points: options.take_one_of("points", &POINTS)?.unwrap_or(new.points),
            format: options.take_one_of("format", &FORMATS)?.unwrap_or(new.format),
            sort_hosts: options.take_bool("sort_hosts")?.unwrap_or(new.sort_hosts),
            namespace: options.take_text("namespace")?.map_or(new.namespace, Arc::from),
        })
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let mut options = vec![
            ("key_hash", self.key_hash.name().into()),
            ("points", name_of(&POINTS, self.points).into()),
            ("format", name_of(&FORMATS, self.format).into()),
            ("sort_hosts", self.sort_hosts.into()),
            ("namespace", (&*self.namespace).into()),
        ];
        options.extend(self.point_hash.map(|hash| ("point_hash", hash.name().into())));
        options
    }
}
