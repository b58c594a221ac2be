//! The ring hash of Envoy, and gRPC's after it.

use std::net::SocketAddr;
use std::ops::Range;

use xxhash_rust::xxh64::{Xxh64, xxh64};

use super::numbered::numbered;
use super::{Label, active_bytes, murmur64};
use crate::error::SchemeError;
use crate::hash::any::Named;
use crate::hash::options::{OptionError, OptionValue, SchemeOptions};
use crate::hash::{Assignment, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo, State};
use crate::point::whole_of_f64;

/// Envoy's load balancing policy ring hash, `"envoy-ring-hash"`.
///
/// A host's label is its attribute `hash_key` (the endpoint metadata `envoy.lb/hash_key`) unless that is absent or empty;
/// else its attribute `hostname`, if [`with_hostname`](Self::with_hostname) says so; else its address, or else its id, as
/// Envoy prints it: `ip:port`, `[ip6]:port`, or the path of a socket. Point i is the XXH64 with seed 0 of `label_i`, or
/// the 64-bit MurmurHash2 of [`EnvoyHash::Murmur2`]. A key's point is its XXH64 in both cases, and it belongs to the first
/// point at or after that.
///
/// How many points a host has depends on all: the smallest weight gets a whole number of points, the least with which the
/// ring has the *minimum size*, and the others as many in proportion, up to the *maximum size*. Hosts are gone through in
/// list order with running sums in `f64`, as Envoy does, so that the order decides who gets a point more. So a host that
/// comes, goes or changes its weight moves keys between others, too; `docs/compat.md` has how many.
///
/// Hosts that are [`Down`](State::Down) don't count, as those that Envoy finds unhealthy. Weight 0 counts as 1, as in
/// Envoy. Who owns equal points isn't defined there; here it is the host that stands first in the list. Active points, if
/// set, stand in for a host's own number and change no other's.
///
/// Not reproduced: priorities, weights of localities, the panic mode, `hash_balance_factor`.
///
/// Source: Envoy 1.40, `source/extensions/load_balancing_policies/ring_hash/ring_hash_lb.cc` (`Ring::Ring`, `chooseHost`),
/// `…/common/thread_aware_lb_impl.cc` (`normalizeHostWeights`, `hashKey`).
///
/// ```
/// use ringway::scheme::EnvoyRingHash;
/// use ringway::{NodeSpec, Ring};
/// let scheme = EnvoyRingHash::new().with_ring_size(100, 1000)?;
/// let hosts = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(scheme).nodes(hosts).build_table()?;
/// assert_eq!(table.len(), 3 * 34);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvoyRingHash {
    size: RingSize,
    hash: EnvoyHash,
    hostname: bool,
}

/// The hash of [`EnvoyRingHash`]'s points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EnvoyHash {
    /// `XX_HASH`: XXH64 with seed 0. Envoy's default.
    #[default]
    Xxh64,
    /// `MURMUR_HASH_2`: 64-bit MurmurHash2 ("64A") with seed 0xc70f6907, for rings compatible with `std::hash`.
    Murmur2,
}

/// gRPC's load balancing policy ring hash, `"grpc-ring-hash"`: [`EnvoyRingHash`] but for the following.
///
/// A third size, the *cap*, limits both others. Points are always hashed by XXH64, and the label is the attribute
/// `hash_key`, even if that is empty, or the address, or the id. The sizes are 1024 and 4096 if not set otherwise, the cap
/// 4096. An endpoint that is out of service keeps its points: its keys go on to the next point whose endpoint is usable.
/// (gRPC counts an address that is listed w times as weight w.)
///
/// Source: gRPC C-core, `src/core/load_balancing/ring_hash/ring_hash.cc` (`RingHash::Ring::Ring`, `Picker::Pick`).
///
/// ```
/// use ringway::scheme::GrpcRingHash;
/// use ringway::{NodeSpec, Ring};
/// let endpoints = [NodeSpec::new("10.0.0.1:80"), NodeSpec::new("[::1]:80").with_weight(3)];
/// let table = Ring::builder().scheme(GrpcRingHash::new()).nodes(endpoints).build_table()?;
/// assert_eq!((table.points_of("10.0.0.1:80"), table.points_of("[::1]:80")), (Some(256), Some(768)));
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrpcRingHash {
    size: RingSize,
    cap: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RingSize {
    min: u32,
    max: u32,
}

/// The largest size of both systems: 8 Mi points.
const MAX_RING_SIZE: u32 = 8 << 20;

impl EnvoyRingHash {
    /// The scheme's name.
    pub const ID: &'static str = "envoy-ring-hash";

    /// The largest size of a ring.
    pub const MAX_RING_SIZE: u32 = MAX_RING_SIZE;

    const NAMES: SizeNames = SizeNames { min: "minimum_ring_size", max: "maximum_ring_size", least: 0 };

    /// Creates the scheme with Envoy's defaults: a ring of 1,024 to 8,388,608 points hashed by XXH64, labels by address.
    #[must_use]
    pub const fn new() -> Self {
        let size = RingSize { min: 1024, max: MAX_RING_SIZE };
        Self { size, hash: EnvoyHash::Xxh64, hostname: false }
    }

    /// Sets the smallest and the largest size of the ring, in points.
    ///
    /// # Errors
    /// If one is above [`MAX_RING_SIZE`](Self::MAX_RING_SIZE), or the smallest above the largest.
    pub fn with_ring_size(self, min: u32, max: u32) -> Result<Self, OptionError> {
        Ok(Self { size: Self::NAMES.check(min, max)?, ..self })
    }

    /// Sets the hash of points.
    #[must_use]
    pub const fn with_hash(self, hash: EnvoyHash) -> Self {
        Self { hash, ..self }
    }

    /// Sets whether labels are made of hostnames instead of addresses, which is `use_hostname_for_hashing`.
    #[must_use]
    pub const fn with_hostname(self, hostname: bool) -> Self {
        Self { hostname, ..self }
    }

    /// Returns the smallest and the largest size of the ring.
    #[must_use]
    pub const fn ring_size(&self) -> (u32, u32) {
        (self.size.min, self.size.max)
    }

    /// Returns the hash of points.
    #[must_use]
    pub const fn hash(&self) -> EnvoyHash {
        self.hash
    }

    /// Whether labels are made of hostnames.
    #[must_use]
    pub const fn hostname(&self) -> bool {
        self.hostname
    }

    fn label(self, node: &NodeInfo) -> String {
        match node.attribute(HASH_KEY) {
            Some(key) if !key.is_empty() => key.to_owned(),
            _ if self.hostname => node.attribute("hostname").unwrap_or_default().to_owned(),
            _ => printed_address(node),
        }
    }
}

impl GrpcRingHash {
    /// The scheme's name.
    pub const ID: &'static str = "grpc-ring-hash";

    /// The largest size of a ring, and the largest cap.
    pub const MAX_RING_SIZE: u32 = MAX_RING_SIZE;

    const NAMES: SizeNames = SizeNames { min: "minRingSize", max: "maxRingSize", least: 1 };

    /// Creates the scheme with gRPC's defaults: a ring of 1,024 to 4,096 points, capped at 4,096.
    #[must_use]
    pub const fn new() -> Self {
        Self { size: RingSize { min: 1024, max: 4096 }, cap: 4096 }
    }

    /// Sets the smallest and the largest size of the ring, in points.
    ///
    /// # Errors
    /// If one is 0 or above [`MAX_RING_SIZE`](Self::MAX_RING_SIZE), or the smallest above the largest.
    pub fn with_ring_size(self, min: u32, max: u32) -> Result<Self, OptionError> {
        Ok(Self { size: Self::NAMES.check(min, max)?, ..self })
    }

    /// Sets the cap on both sizes; one above [`MAX_RING_SIZE`](Self::MAX_RING_SIZE) changes nothing.
    #[must_use]
    pub const fn with_cap(self, cap: u32) -> Self {
        Self { cap, ..self }
    }

    /// Returns the smallest and the largest size of the ring.
    #[must_use]
    pub const fn ring_size(&self) -> (u32, u32) {
        (self.size.min, self.size.max)
    }

    /// Returns the cap on both sizes.
    #[must_use]
    pub const fn cap(&self) -> u32 {
        self.cap
    }

    fn capped(self) -> RingSize {
        RingSize { min: self.size.min.min(self.cap), max: self.size.max.min(self.cap) }
    }
}

impl Default for EnvoyRingHash {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for GrpcRingHash {
    fn default() -> Self {
        Self::new()
    }
}

impl RingSize {
    /// How many points each of the hosts has: the arithmetic of both systems, operation for operation.
    fn counts(self, weights: &[u32]) -> Result<Vec<u64>, SchemeError> {
        let sum: u64 = weights.iter().copied().map(u64::from).sum();
        let Ok(sum) = u32::try_from(sum) else {
            let reason = format!("the weights add up to {sum}, the limit is {}; scale the weights down", u32::MAX);
            return Err(SchemeError { id: None, reason });
        };
        let share = |weight: u32| f64::from(weight) / f64::from(sum);
        let least = weights.iter().copied().map(share).fold(1.0, f64::min);
        let scale = f64::min((least * f64::from(self.min)).ceil() / least, f64::from(self.max));
        let (mut current, mut target) = (0.0, 0.0);
        let counts = weights.iter().map(|&weight| {
            target += scale * share(weight);
            // A point at a time, while `current` is below `target`, comes out at the next whole number.
            let next = f64::max(current, f64::ceil(target));
            let count = whole_of_f64(next - current);
            current = next;
            count
        });
        Ok(counts.collect())
    }

    fn bytes(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.min.to_le_bytes());
        out.extend_from_slice(&self.max.to_le_bytes());
    }
}

/// Assigns points to the nodes that count.
fn assign(
    size: RingSize,
    nodes: &[&NodeInfo],
    counts: impl Fn(&NodeInfo) -> bool,
    label: impl Fn(&NodeInfo) -> String,
    out: &mut Vec<Assignment<Label>>,
) -> Result<(), SchemeError> {
    let weights: Vec<u32> = nodes.iter().filter(|node| counts(node)).map(|node| node.weight().max(1)).collect();
    let mut numbers = size.counts(&weights)?.into_iter();
    out.extend((0..).zip(nodes).map(|(tie, node)| {
        let points = match (counts(node), node.active_points()) {
            (false, _) => 0,
            // The number is drawn in any case, so that the others keep theirs.
            (true, set) => numbers.next().map_or(0, |number| set.map_or(number, u64::from)),
        };
        Assignment { seed: Label::new(label(node).as_bytes()), points, tie }
    }));
    Ok(())
}

/// `LE32(weight) ‖ opt(LE32(active points set)) ‖ label ‖ one byte: whether it is down`; the length of the whole shows the
/// label's end.
fn placement_bytes(node: &NodeInfo, label: &str, counts: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&node.weight().max(1).to_le_bytes());
    active_bytes(node, out);
    out.extend_from_slice(label.as_bytes());
    out.push(u8::from(!counts));
}

const HASH_KEY: &str = "hash_key";

/// The address, or else the id, as `inet_ntop` writes it if it is one of IP with a port.
fn printed_address(node: &NodeInfo) -> String {
    let text = node.address().unwrap_or(node.id().as_str());
    match text.parse::<SocketAddr>() {
        // Such as ::7.8.9.10, which inet_ntop writes like that and Rust doesn't.
        Ok(SocketAddr::V6(address)) if address.ip().segments()[..6] == [0; 6] && address.ip().segments()[6] != 0 => {
            text.to_owned()
        }
        Ok(address) => address.to_string(),
        Err(_) => text.to_owned(),
    }
}

fn points(label: &Label, numbers: Range<u32>, hash: impl Fn(&[u8]) -> u64, out: &mut Vec<u64>) {
    numbered(&[label.as_bytes(), b"_"].concat(), numbers, |label| out.push(hash(label)));
}

fn key_point_of_parts(parts: &[&[u8]]) -> u64 {
    let mut hasher = Xxh64::new(0);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.digest()
}

fn counts_if_up(node: &NodeInfo) -> bool {
    node.state() != State::Down
}

impl Scheme for EnvoyRingHash {
    type Point = u64;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// The order decides who gets the points that the running sums leave over, and who owns equal ones.
    fn order_free(&self) -> bool {
        false
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::Rebuild
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        self.size.bytes(out);
        out.push(u8::from(self.hash == EnvoyHash::Murmur2));
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, &self.label(node), counts_if_up(node), out);
    }

    fn key_map(&self) -> Vec<u8> {
        b"xxh64".to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        assign(self.size, nodes, counts_if_up, |node| self.label(node), out)
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u64>) {
        match self.hash {
            EnvoyHash::Xxh64 => points(label, numbers, |label| xxh64(label, 0), out),
            EnvoyHash::Murmur2 => points(label, numbers, murmur64::hash, out),
        }
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u64 {
        xxh64(key, 0)
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u64 {
        key_point_of_parts(parts)
    }
}

fn grpc_label(node: &NodeInfo) -> String {
    node.attribute(HASH_KEY).map_or_else(|| printed_address(node), str::to_owned)
}

impl Scheme for GrpcRingHash {
    type Point = u64;
    type Seed = Label;

    fn id(&self) -> &str {
        Self::ID
    }

    /// As in [`EnvoyRingHash`].
    fn order_free(&self) -> bool {
        false
    }

    fn out_of_service(&self) -> OutOfService {
        OutOfService::StepOn { points: None }
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        self.capped().bytes(out);
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, &grpc_label(node), true, out);
    }

    fn key_map(&self) -> Vec<u8> {
        b"xxh64".to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        assign(self.capped(), nodes, |_| true, grpc_label, out)
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u64>) {
        points(label, numbers, |label| xxh64(label, 0), out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u64 {
        xxh64(key, 0)
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u64 {
        key_point_of_parts(parts)
    }
}

/// What a system calls its sizes, and the least that they may be.
struct SizeNames {
    min: &'static str,
    max: &'static str,
    least: u32,
}

impl SizeNames {
    fn check(&self, min: u32, max: u32) -> Result<RingSize, OptionError> {
        for (name, size) in [(self.min, min), (self.max, max)] {
            if !(self.least..=MAX_RING_SIZE).contains(&size) {
                let least = self.least;
                let reason = format!("{size} is out of range; give an integer from {least} to {MAX_RING_SIZE}");
                return Err(OptionError { name, reason });
            }
        }
        if min > max {
            let reason = format!("{max} is below {} of {min}; give at least that", self.min);
            return Err(OptionError { name: self.max, reason });
        }
        Ok(RingSize { min, max })
    }

    fn take(&self, default: RingSize, options: &mut SchemeOptions) -> Result<RingSize, OptionError> {
        let min = options.take_integer(self.min, MAX_RING_SIZE)?.unwrap_or(default.min);
        let max = options.take_integer(self.max, MAX_RING_SIZE)?.unwrap_or(default.max);
        self.check(min, max)
    }

    fn options(&self, size: RingSize) -> Vec<(&'static str, OptionValue)> {
        vec![(self.min, size.min.into()), (self.max, size.max.into())]
    }
}

const HASH_FUNCTION: &str = "hash_function";
const USE_HOSTNAME: &str = "use_hostname_for_hashing";
const CAP: &str = "ringSizeCap";

impl Named for EnvoyRingHash {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let size = Self::NAMES.take(Self::new().size, options)?;
        let functions =
            [("XX_HASH", EnvoyHash::Xxh64), ("MURMUR_HASH_2", EnvoyHash::Murmur2), ("DEFAULT_HASH", EnvoyHash::Xxh64)];
        let hash = options.take_one_of(HASH_FUNCTION, &functions)?.unwrap_or_default();
        Ok(Self { size, hash, hostname: options.take_bool(USE_HOSTNAME)?.unwrap_or_default() })
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let mut options = Self::NAMES.options(self.size);
        if self.hash == EnvoyHash::Murmur2 {
            options.push((HASH_FUNCTION, "MURMUR_HASH_2".into()));
        }
        if self.hostname {
            options.push((USE_HOSTNAME, true.into()));
        }
        options
    }
}

impl Named for GrpcRingHash {
    const NAME: &'static str = Self::ID;

    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let size = Self::NAMES.take(Self::new().size, options)?;
        let cap = options.take_integer(CAP, u32::MAX)?.unwrap_or(Self::new().cap);
        Ok(Self { size, cap })
    }

    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let mut options = Self::NAMES.options(self.size);
        options.push((CAP, self.cap.into()));
        options
    }
}
