//! nginx: `hash … consistent` of the upstream module.

use std::ops::Range;

use super::{Label, active_points, chain, placement_bytes};
use crate::error::SchemeError;
use crate::hash::{Assignment, OutOfService, Scheme};
use crate::node::{NodeId, NodeInfo};

/// nginx's consistent hash, `"nginx-chash"`: the upstream directive `hash … consistent`.
///
/// A node's id is the text of its `server` directive, as it is written there. Its host and port (see below) and the
/// chain of CRC-32 values over them make 160 points for each unit of weight; of equal points the server that stands first
/// owns it. A key's point is its CRC-32, and it belongs to the first point at or after that. A server that is `down`
/// keeps its points: its keys go on to the next point, of at most 21 that nginx looks at before it falls back to round
/// robin.
///
/// Host and port: after `unix:` (in any case) all is host. Else a colon and digits at the end are the port, with its zeros,
/// and what stands before is the host, with the brackets of IPv6. Else all is host and the port is empty.
///
/// Source: nginx 1.22, `ngx_http_upstream_hash_module.c`, functions `ngx_http_upstream_update_chash` and
/// `ngx_http_upstream_get_chash_peer`.
///
/// ```
/// use ringway::scheme::NginxChash;
/// use ringway::{NodeSpec, Ring};
/// let servers = ["10.0.0.1:8080", "10.0.0.2:8080"].map(NodeSpec::new);
/// let table = Ring::builder().scheme(NginxChash::new()).nodes(servers).build_table()?;
/// assert_eq!(table.len(), 320);
/// # Ok::<(), ringway::DeltaError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NginxChash(());

impl NginxChash {
    /// The scheme's name.
    pub const ID: &'static str = "nginx-chash";

    /// Creates the scheme; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

/// How many points nginx looks at: it gives up when more than 20 tries have failed.
const TRIES: u32 = 21;

impl Scheme for NginxChash {
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
        OutOfService::StepOn { points: Some(TRIES) }
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, &[], out);
    }

    fn key_map(&self) -> Vec<u8> {
        chain::KEY_MAP.to_vec()
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<Label>>) -> Result<(), SchemeError> {
        out.extend((0..).zip(nodes).map(|(tie, node)| {
            let (host, port) = host_and_port(node.id().as_str());
            let seed = Label::new(&[host.as_bytes(), b"\0", port.as_bytes()].concat());
            Assignment { seed, points: active_points(node, chain::POINTS_PER_WEIGHT), tie }
        }));
        Ok(())
    }

    fn points(&self, _: &NodeId, label: &Label, numbers: Range<u32>, out: &mut Vec<u32>) {
        chain::points(label.as_bytes(), numbers, out);
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        chain::key_point(key)
    }

    #[inline]
    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        chain::key_point_of_parts(parts)
    }
}

fn host_and_port(server: &str) -> (&str, &str) {
    const UNIX: &str = "unix:";
    match server.get(..UNIX.len()) {
        Some(prefix) if prefix.eq_ignore_ascii_case(UNIX) => (&server[UNIX.len()..], ""),
        _ => match server.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (server, ""),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_split_as_nginx_does() {
        for (server, host, port) in [
            ("a", "a", ""),
            ("a:080", "a", "080"),
            ("a:", "a:", ""),
            ("a:x1", "a:x1", ""),
            ("[::1]:8080", "[::1]", "8080"),
            ("[::1]", "[::1]", ""),
            ("unix:/run/a.sock:80", "/run/a.sock:80", ""),
            ("UNIX:/run/a", "/run/a", ""),
            ("äö:1", "äö", "1"),
            (":7", "", "7"),
        ] {
            assert_eq!(host_and_port(server), (host, port), "{server}");
        }
    }
}
