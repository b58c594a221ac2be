//! Cluster files and other systems' configurations: an error with a place, or a cluster that reads back as it was.

use ringway::cluster::Cluster;
use ringway::{Limits, Ring};
use ringway_cli::import::{self, Format};

/// Fuzzes [`Cluster::parse_toml`], [`parse_json`](Cluster::parse_json), [`parse_recorded`](Cluster::parse_recorded) and
/// [`import::convert`]. The first byte chooses.
pub fn cluster_file(data: &[u8]) {
    let Some((&format, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let read = match format % 7 {
        0 => Cluster::parse_toml("file", &text),
        1 => Cluster::parse_json("file", &text),
        2 => Cluster::parse_recorded("file", &text),
        3 => return imported(Format::Nginx, &text),
        4 => return imported(Format::Twemproxy, &text),
        5 => return imported(Format::Haproxy, &text),
        _ => return imported(Format::Envoy, &text),
    };
    match read {
        Ok(cluster) => {
            round_trip(&cluster);
            builds_or_refuses(cluster);
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.starts_with("file:") && shown.len() < 4096, "{shown}");
            assert!(!shown.contains(char::is_control), "{shown:?}");
            let has_place = error.place().is_some() || error.node_index().is_some() || error.field().is_some();
            assert!(has_place, "no place in the file: {shown}");
            if let Some(place) = error.place() {
                assert!(place.line >= 1 && place.column >= 1 && place.line <= text.lines().count() + 1, "{shown}");
            }
        }
    }
}

fn round_trip(cluster: &Cluster) {
    let again = Cluster::parse_toml("again.toml", &cluster.to_toml());
    assert_eq!(again.as_ref().ok(), Some(cluster), "{again:?}");
    let again = Cluster::parse_json("again.json", &cluster.to_json());
    assert_eq!(again.as_ref().ok(), Some(cluster), "{again:?}");
}

/// A table of a few points, or an error; never more memory than for them.
fn builds_or_refuses(cluster: Cluster) {
    use ringway::scheme::AnyScheme::{U32, U64, U128};
    let (scheme, nodes) = cluster.into_parts();
    let limits = Limits::DEFAULT.with_points(20_000);
    let valid = match scheme {
        U32(scheme) => Ring::builder().scheme(scheme).limits(limits).nodes(nodes).build_table().map(|t| t.validate()),
        U64(scheme) => Ring::builder().scheme(scheme).limits(limits).nodes(nodes).build_table().map(|t| t.validate()),
        U128(scheme) => Ring::builder().scheme(scheme).limits(limits).nodes(nodes).build_table().map(|t| t.validate()),
        other => panic!("{other:?} isn't fuzzed"),
    };
    if let Ok(valid) = valid {
        valid.unwrap_or_else(|error| panic!("{error}"));
    }
}

fn imported(format: Format, text: &str) {
    match import::convert(format, "file", text, None, Limits::DEFAULT.with_points(100_000)) {
        Ok((cluster, _)) => round_trip(&cluster),
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.contains("file") && !shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
