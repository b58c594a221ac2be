//! What commands have in common: clusters, keys, the names of layouts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use ringway::NodeSpec;
use ringway::cluster::Cluster;
use ringway::scheme::AnyScheme;

use crate::Failure;

/// The embedded cluster: 12 nodes of a cache tier.
pub const SAMPLE_CLUSTER: &[u8] = include_bytes!("../data/cluster.toml");
/// The embedded keys: 20,000 lines. `data/README.md` says whence.
pub const SAMPLE_KEYS: &[u8] = include_bytes!("../data/keys.txt");

/// How the ring's points lie in memory. Answers are the same with all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layouts {
    /// What fits the points
    Auto,
    /// One cache line a bucket
    Line,
    /// The sorted array
    Sorted,
    /// The Eytzinger tree
    Eytzinger,
    /// The S tree, whose cost doesn't depend on where the points lie
    Stree,
    /// The bucket index over the sorted array
    Bucket,
    /// The direct table for up to 4,096 points, the bucket index for more
    Direct,
}

/// Reads a cluster file, or the embedded one; returns the name for messages with the parts.
///
/// # Errors
/// [`Failure::Cluster`] if the file is refused.
pub fn load_cluster(path: Option<&Path>) -> Result<(String, AnyScheme, Vec<NodeSpec>), Failure> {
    let (name, cluster) = load_whole_cluster(path)?;
    let (scheme, nodes) = cluster.into_parts();
    Ok((name, scheme, nodes))
}

/// As [`load_cluster`], with the pins.
pub(crate) fn load_whole_cluster(path: Option<&Path>) -> Result<(String, Cluster), Failure> {
    Ok(match path {
        Some(path) => (path.display().to_string(), Cluster::load(path)?),
        None => {
            let text = str::from_utf8(SAMPLE_CLUSTER).expect("the embedded cluster is text");
            ("the embedded cluster".to_owned(), Cluster::parse_toml("the embedded cluster", text)?)
        }
    })
}

/// Reads a text of at most `limit` bytes from a file, without a byte-order mark. `file` is the name for messages.
pub(crate) fn read_text(path: &Path, file: &str, limit: u64) -> Result<String, Failure> {
    text_of(File::open(path).map_err(|error| Failure::reading(file, &error))?, file, limit)
}

/// The same from anything that can be read.
pub(crate) fn text_of(input: impl Read, file: &str, limit: u64) -> Result<String, Failure> {
    let failed = |error| Failure::reading(file, &error);
    let refused = |line, reason| Failure::File { file: file.to_owned(), line, reason };
    let mut bytes = Vec::new();
    // Bounded by what is read and not by the file's length, which a pipe hasn't.
    input.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > limit) {
        return Err(refused(None, format!("more than {limit} bytes; split it, or leave out what isn't needed")));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        let line = 1 + memchr::memchr_iter(b'\n', &error.as_bytes()[..at]).count();
        refused(u64::try_from(line).ok(), format!("the byte 0x{byte:02x} isn't UTF-8; save the file as UTF-8"))
    })
}

/// Keys in memory: the lines of a text, whatever bytes they are.
#[derive(Debug)]
pub struct Keys {
    text: Vec<u8>,
}

impl Keys {
    /// The largest file of keys that is taken into memory: 1 GiB.
    pub const MAX_BYTES: u64 = 1 << 30;
    /// The most keys; each takes 16 bytes beside its text.
    pub const MAX_KEYS: usize = 1 << 24;

    /// Reads a file of keys, or takes the embedded one.
    ///
    /// # Errors
    /// [`Failure::File`] if it can't be read, is too large or has no key.
    pub fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { text: SAMPLE_KEYS.to_vec() }) };
        let file = path.display().to_string();
        let failed = |error| Failure::reading(&file, &error);
        let mut text = Vec::new();
        // Bounded by what is read and not by the file's length, which a pipe hasn't.
        File::open(path).map_err(failed)?.take(Self::MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if u64::try_from(text.len()).is_ok_and(|bytes| bytes > Self::MAX_BYTES) {
            let reason = format!("more than {} bytes of keys; use fewer", Self::MAX_BYTES);
            return Err(Failure::File { file, line: None, reason });
        }
        if text.is_empty() {
            return Err(Failure::File {
                file,
                line: None,
                reason: "there is no key in it; give one a line".to_owned(),
            });
        }
        let keys = memchr::memchr_iter(b'\n', &text).count();
        if keys > Self::MAX_KEYS {
            let reason = format!("{keys} keys, the limit is {}; use fewer", Self::MAX_KEYS);
            return Err(Failure::File { file, line: None, reason });
        }
        Ok(Self { text })
    }

    /// Returns the keys: what stands before each LF, and what stands after the last if it isn't empty.
    #[must_use]
    pub fn lines(&self) -> Vec<&[u8]> {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        text.split(|&byte| byte == b'\n').collect()
    }
}
