//! twemproxy: a pool of its YAML file.
//!
//! Servers are taken apart from the end, as `src/nc_conf.c` (`conf_add_server`) does; the names of fields are that file's,
//! those of hashes `src/hashkit/nc_hashkit.h`'s.

use std::collections::HashMap;

use ringway::NodeSpec;
use ringway::scheme::KeyTag;

use super::imported::{Imported, Nodes, number, pick};
use super::problem::{ImportError, ImportProblem, shown};
use super::yaml::{Field, Tree};

#[rustfmt::skip]
const HASHES: &[&str] = &[
    "one_at_a_time", "md5", "crc16", "crc32", "crc32a", "fnv1_64", "fnv1a_64", "fnv1_32", "fnv1a_32", "hsieh",
    "murmur", "jenkins",
];

pub(super) fn import(text: &str, name: Option<&str>) -> Result<Imported, ImportError> {
    let tree = Tree::parse(text)?;
    let pool = pick("pool", tree.fields(tree.root, "the file")?, |pool: &Field<'_>| pool.name, name)?;
    let of = format!("pool \"{}\"", shown(pool.name));
    let mut imported = Imported::new("twemproxy-ketama");
    let mut nodes = Nodes::default();
    // twemproxy refuses two servers of one name in the ring.
    let mut names = HashMap::new();
    let mut hash = "fnv1a_64";
    for Field { name, line, value } in tree.fields(pool.value, &of)? {
        match name {
            "hash" => {
                hash = tree.text(value, name)?;
                if !HASHES.contains(&hash) {
                    return Err(ImportProblem::value(name, hash, format!("one of {}", HASHES.join(", "))).at(line));
                }
            }
            "hash_tag" => {
                let tag = tree.text(value, name)?;
                if let Err(error) = tag.parse::<KeyTag>() {
                    return Err(ImportProblem::Syntax(format!("hash_tag: {error}")).at(line));
                }
                imported.set("key_tag", tag);
            }
            "distribution" => match tree.text(value, name)? {
                "ketama" => {}
                other @ ("modula" | "random") => {
                    let why = "only \"ketama\" places keys on a ring";
                    return Err(ImportProblem::not_reproducible(format!("distribution \"{other}\""), why).at(line));
                }
                other => return Err(ImportProblem::value(name, other, "ketama, modula or random").at(line)),
            },
            "servers" => {
                for &item in tree.items(value, name)? {
                    let line = tree.line(item);
                    let (node, ring_name) = server(tree.text(item, "server")?, line)?;
                    nodes.add(line, node)?;
                    if let Some(first) = names.insert(ring_name, line) {
                        let what = format!("a server of the ring's name \"{}\"", shown(ring_name));
                        return Err(ImportProblem::Repeated { what, first }.at(line));
                    }
                }
            }
            "auto_eject_hosts" => {
                if tree.boolean(value, name)? {
                    imported.note(line, "a server that twemproxy ejects leaves the ring; here, set its state to down");
                }
            }
            "listen"
            | "timeout"
            | "backlog"
            | "client_connections"
            | "tcpkeepalive"
            | "reuseport"
            | "redis"
            | "redis_auth"
            | "redis_db"
            | "preconnect"
            | "server_connections"
            | "server_retry_timeout"
            | "server_failure_limit" => {}
            _ => return Err(ImportProblem::Unknown { kind: "field", name: shown(name) }.at(line)),
        }
    }
    if nodes.is_empty() {
        return Err(ImportProblem::Missing(format!("{of} has no server")).at(pool.line));
    }
    imported.set("hash", hash);
    imported.nodes = nodes.into_nodes();
    Ok(imported)
}

/// The server of `host:port:weight [name]` or `/path:weight [name]`, and its name in the ring.
fn server(text: &str, line: usize) -> Result<(NodeSpec, &str), ImportError> {
    let wrong = || {
        let wanted = "host:port:weight or /path:weight, and a name after a blank if it has one";
        ImportProblem::value("server", text, wanted).at(line)
    };
    let (place, name) = match text.rsplit_once(' ') {
        Some((_, "")) => return Err(wrong()),
        Some((place, name)) => (place, Some(name)),
        None => (text, None),
    };
    let (address, weight) = place.rsplit_once(':').ok_or_else(wrong)?;
    let weight = number("weight of a server", weight, 1, i32::MAX.unsigned_abs(), line)?;
    let ring_name = if address.starts_with('/') {
        if address.contains(':') {
            return Err(wrong());
        }
        // With the colon, as twemproxy takes it.
        &place[..=address.len()]
    } else {
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        match number("port of a server", port, 1, 65_535, line)? {
            11_211 => host,
            _ => address,
        }
    };
    if address.is_empty() || ring_name.is_empty() {
        return Err(wrong());
    }
    Ok((NodeSpec::new(text).with_address(address).with_weight(weight), name.unwrap_or(ring_name)))
}
