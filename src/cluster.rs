//! Cluster files: the nodes of a ring and its scheme, as TOML or JSON. Rank 5.
//!
//! Outside the walk from key to owner: it makes what [`Ring::builder`](crate::Ring::builder) takes. Programs that must
//! agree on where keys live read the same file.
//!
//! # Schema
//! One schema for both formats. Every name that isn't listed here is an error, so that a typing error in `weight` can't
//! pass for the default weight.
//!
//! | field | type | if absent | |
//! |---|---|---|---|
//! | `scheme` | text | `"native"` | placement scheme, one of [`AnyScheme::names`] |
//! | `points_per_weight` | integer, 0 to 2^32 − 1 | 512 | points per unit of weight; for schemes that have no number of their own |
//! | `scheme_options` | table of texts, integers and booleans | empty | what else the scheme takes, by the names in its documentation; `key_tag` with all |
//! | `node` | list of tables | no nodes | `[[node]]` in TOML, `"node": [{…}, …]` in JSON |
//! | `node.id` | text, 1 to 1,024 bytes | error | stable name, unique in the file |
//! | `node.address` | text | none | where the node is reached |
//! | `node.weight` | integer, 0 to 65,535 | 1 | 0 makes a member without points |
//! | `node.active_points` | integer, 0 to 16,777,216 | weight × points per weight | number of points, overriding the weight |
//! | `node.zone` | text, or a list of at most 16 texts | none | failure domain; a list goes from the outermost in |
//! | `node.state` | text | `"up"` | configured state: `"up"`, `"draining"` or `"down"` |
//! | `node.attributes` | table of texts, at most 64 | none | for schemes and programs that read them |
//! | `pin` | list of tables, at most 65,536 | no pins | `[[pin]]` in TOML; see [`Pins`] |
//! | `pin.key`, `pin.prefix` | text, up to 1,024 bytes | one of the four must be there | the key, or the beginning of keys |
//! | `pin.key_hex`, `pin.prefix_hex` | text | | the same as hexadecimal digits, for bytes that aren't UTF-8 |
//! | `pin.node` | text | error | id of a node of the file |
//!
//! Texts other than the id may have 4,096 bytes. The ranges are those of [`Limits::DEFAULT`].
//!
//! ```toml
//! points_per_weight = 512
//!
//! [[node]]
//! id = "cache-a1"
//! address = "10.20.1.11:11211"
//! weight = 2
//! zone = ["eu", "eu-1"]
//!
//! [node.attributes]
//! rack = "c-07"
//!
//! [[pin]]
//! prefix = "tenant-7:"
//! node = "cache-a1"
//! ```
//!
//! # Invariants
//! - C1: a cluster that was read holds nodes within [`Limits::DEFAULT`], with ids that differ. Only the total of points
//!   is left for the builder to check.
//! - C2: both formats go through one tree of values with positions (`value`), and one check of it (`schema`). So they
//!   can't come to differ, and every error has its line, whatever the parser.

mod error;
mod pins;
mod recorded;
mod schema;
mod value;
mod write;

pub use error::{ClusterError, ClusterProblem, Place};

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::hash::AnyScheme;
use crate::node::{Limits, NodeSpec};
use crate::pins::Pins;

/// A scheme and the nodes to place with it, as a cluster file holds them.
///
/// ```
/// use ringway::Ring;
/// use ringway::cluster::Cluster;
/// use ringway::scheme::AnyScheme;
///
/// let text = r#"
///     points_per_weight = 256
///
///     [[node]]
///     id = "cache-a1"
///     weight = 3
///
///     [[node]]
///     id = "cache-b1"
///     zone = "b"
/// "#;
/// let cluster = Cluster::parse_toml("cluster.toml", text)?;
/// let AnyScheme::U32(scheme) = cluster.scheme().clone() else { panic!("the native circle is 32 bits wide") };
/// let table = Ring::builder().scheme(scheme).nodes(cluster.nodes().iter().cloned()).build_table()?;
/// assert_eq!(table.points_of("cache-a1"), Some(768));
///
/// let error = Cluster::parse_toml("cluster.toml", &text.replace("weight = 3", "weight = -3")).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cluster.toml:6:14: node \"cache-a1\": weight: -3 is out of range; give an integer from 0 to 65535",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    scheme: AnyScheme,
    nodes: Vec<NodeSpec>,
    pins: Pins,
}

impl Cluster {
    /// The largest file that is read, in bytes: 8 MiB, some 80,000 nodes.
    ///
    /// A parsed file takes more memory than its bytes: about 10 times for a usual one, up to 90 times (700 MiB) for one
    /// made to.
    pub const MAX_FILE_BYTES: u64 = 8 << 20;

    /// Creates a cluster from its parts, for writing it. Nothing is checked; what [`Limits::DEFAULT`] or a duplicate id
    /// forbids can be written but not read back.
    #[must_use]
    pub fn new(scheme: AnyScheme, nodes: Vec<NodeSpec>) -> Self {
        Self { scheme, nodes, pins: Pins::new() }
    }

    /// Sets the pins.
    #[must_use]
    pub fn with_pins(mut self, pins: Pins) -> Self {
        self.pins = pins;
        self
    }

    /// Reads a cluster file. The name tells the format: `.toml` or `.json`, in any case; with any other name it is JSON
    /// if the first byte that isn't white space is `{`, which no TOML file can begin with, else TOML.
    ///
    /// # Errors
    /// [`ClusterProblem::Read`] and [`ClusterProblem::TooLarge`] about the file, [`ClusterProblem::NotUtf8`], and those
    /// of [`parse_toml`](Self::parse_toml). The file's size is checked before it is read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ClusterError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let bytes = read(path).map_err(|problem| ClusterError::new(&file, problem))?;
        let text = str::from_utf8(&bytes).map_err(|error| {
            let at = error.valid_up_to();
            let valid = str::from_utf8(&bytes[..at]).unwrap_or_default();
            ClusterError::new(&file, ClusterProblem::NotUtf8 { byte: bytes[at] }).at(Place::of(valid, at))
        })?;
        // A byte-order mark is no part of the text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let extension = path.extension().unwrap_or_default();
        let json = extension.eq_ignore_ascii_case("json")
            || !extension.eq_ignore_ascii_case("toml") && text.trim_start().starts_with('{');
        if json { Self::parse_json(&file, text) } else { Self::parse_toml(&file, text) }
    }

    /// Reads a cluster from TOML. `file` is the name for messages.
    ///
    /// # Errors
    /// [`ClusterProblem`] has them all; every one of the text has its [`place`](ClusterError::place).
    pub fn parse_toml(file: &str, text: &str) -> Result<Self, ClusterError> {
        schema::check(file, text, value::parse_toml(text), &Limits::DEFAULT)
    }

    /// Reads a cluster from JSON. `file` is the name for messages.
    ///
    /// # Errors
    /// As [`parse_toml`](Self::parse_toml). A name that stands twice in one object is one.
    pub fn parse_json(file: &str, text: &str) -> Result<Self, ClusterError> {
        schema::check(file, text, value::parse_json(text), &Limits::DEFAULT)
    }

    /// Reads a recorded cluster: JSON that says how another system was set up when its decisions were recorded.
    ///
    /// An object with `algorithm` (a scheme's name), `options` (the scheme takes those it knows; the rest is the
    /// recorder's own) and `servers`: a list, in configuration order, of objects with `name` (becomes the id), `weight`,
    /// `address`, `down`, `disabled` or `ejected` (if true the node is [`Down`](crate::State::Down)); all other texts,
    /// numbers and booleans of a server become attributes. Other fields of the object are passed over. Weights may be up
    /// to 2^32 − 1.
    ///
    /// ```
    /// use ringway::cluster::Cluster;
    /// let text = r#"{"algorithm": "resty-chash", "servers": [{"name": "a", "weight": 2, "id": "10.0.0.1"}]}"#;
    /// let cluster = Cluster::parse_recorded("cluster.json", text)?;
    /// assert_eq!(cluster.nodes()[0].info().attribute("id"), Some("10.0.0.1"));
    /// # Ok::<(), ringway::cluster::ClusterError>(())
    /// ```
    ///
    /// # Errors
    /// As [`parse_json`](Self::parse_json).
    pub fn parse_recorded(file: &str, text: &str) -> Result<Self, ClusterError> {
        recorded::check(file, text, value::parse_json(text))
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> &AnyScheme {
        &self.scheme
    }

    /// Returns the nodes, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[NodeSpec] {
        &self.nodes
    }

    /// Returns the pins.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Takes the cluster apart, but for its pins.
    #[must_use]
    pub fn into_parts(self) -> (AnyScheme, Vec<NodeSpec>) {
        (self.scheme, self.nodes)
    }

    /// Writes the cluster as TOML. Read back, it is equal.
    ///
    /// ```
    /// # use ringway::NodeSpec;
    /// # use ringway::cluster::Cluster;
    /// # use ringway::scheme::{AnyScheme, Native};
    /// let cluster = Cluster::new(AnyScheme::from(Native::new()), vec![NodeSpec::new("a").with_weight(3)]);
    /// assert_eq!(Cluster::parse_toml("written", &cluster.to_toml())?, cluster);
    /// assert_eq!(Cluster::parse_json("written", &cluster.to_json())?, cluster);
    /// # Ok::<(), ringway::cluster::ClusterError>(())
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> String {
        write::toml(self)
    }

    /// Writes the cluster as JSON. Read back, it is equal.
    #[must_use]
    pub fn to_json(&self) -> String {
        write::json(self)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ClusterProblem> {
    let limit = Cluster::MAX_FILE_BYTES;
    let failed = |error| ClusterProblem::Read { error };
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > limit {
        return Err(ClusterProblem::TooLarge { bytes, limit });
    }
    // A pipe has no length, and a file may grow meanwhile: the limit holds for what is really read, too.
    let mut content = Vec::new();
    let bytes = file.take(limit + 1).read_to_end(&mut content).map_err(failed)?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= limit => Ok(content),
        _ => Err(ClusterProblem::TooLarge { bytes: limit + 1, limit }),
    }
}
