//! The scheme "keyed": points and keys by SipHash-1-3 with a secret. Its placement is frozen; `tests/golden/keyed` holds
//! vectors computed by an independent program.
//!
//! Whoever knows a ring's hash can make keys that all belong to one node, in milliseconds. Where strangers choose keys,
//! the hash needs a secret that they don't know. SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
//! 2012) was made for that; with one round a block and three at the end it is what Rust's and Python's hash tables use.
//!
//! Invariants
//! - K1: the secret leaves this file as hashes only: as points, and as its id, which is BLAKE2b of it. Nothing that prints,
//!   compares or writes a scheme sees it, and no error shows what was given as one.

use std::fmt;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use siphasher::sip::SipHasher13;

use super::any::{Named, POINTS_PER_WEIGHT};
use super::options::{OptionError, OptionValue, SchemeOptions};
use super::{Assignment, Digester, Fingerprint, Scheme};
use crate::error::{SchemeError, shown};
use crate::node::{NodeId, NodeInfo};
use crate::point::{high_u32, position};

/// The placement scheme `"keyed"`: as [`Native`](super::Native), with SipHash-1-3 under a secret in place of SeaHash, for
/// keys that strangers choose.
///
/// All programs that share a ring share the [`Secret`]. The placement fingerprint has its [id](Secret::id), so rings with
/// different secrets are told apart.
///
/// The placement, frozen: label i of a node is `LE32(length of id) ‖ id ‖ LE32(i)`; its point is the top half of
/// SipHash-1-3 of it, and a key's point the top half of SipHash-1-3 of the key. Equal points are ordered by (id bytes,
/// label number). A node has weight × [`points_per_weight`](Self::points_per_weight) points, unless its active points are
/// set. A node that comes or goes moves keys to it or from it alone.
///
/// ```
/// use ringway::scheme::{Keyed, Secret};
/// use ringway::{NodeSpec, Ring};
/// let secret = Secret::from_hex("000102030405060708090a0b0c0d0e0f")?;
/// let scheme = Keyed::new(secret);
/// assert_eq!(format!("{scheme:?}"), "Keyed { points_per_weight: 512, secret: id b7b26ea2b3d70ef9fb83447169e809d4 }");
/// let table = Ring::builder().scheme(scheme).nodes(["a", "b", "c"].map(NodeSpec::new)).build_table()?;
/// assert!(table.owner(b"user:123456").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Keyed {
    points_per_weight: u32,
    secret: Secret,
}

impl Keyed {
    /// The scheme's name.
    pub const ID: &'static str = "keyed";

    /// Points per unit of weight, if not set otherwise; as in the native scheme.
    pub const DEFAULT_POINTS_PER_WEIGHT: u32 = super::Native::DEFAULT_POINTS_PER_WEIGHT;

    /// Creates the scheme with the default number of points.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        Self { points_per_weight: Self::DEFAULT_POINTS_PER_WEIGHT, secret }
    }

    /// Sets the points per unit of weight.
    #[must_use]
    pub fn with_points_per_weight(self, points_per_weight: u32) -> Self {
        Self { points_per_weight, ..self }
    }

    /// Returns the points per unit of weight.
    #[must_use]
    pub const fn points_per_weight(&self) -> u32 {
        self.points_per_weight
    }

    /// Returns the secret, which shows nothing but its id.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }

    fn active_points(&self, node: &NodeInfo) -> u64 {
        match node.active_points() {
            Some(points) => u64::from(points),
            None => u64::from(node.weight()) * u64::from(self.points_per_weight),
        }
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("points_per_weight", &self.points_per_weight)
            .field("secret", &format_args!("id {}", self.secret.id))
            .finish()
    }
}

/// The 128 bits that [`Keyed`] hashes by.
///
/// It is given as 16 bytes or 32 hexadecimal digits, and can't be got back: what is printed and compared is its
/// [id](Self::id). The bytes stay in the process's memory.
#[derive(Clone)]
pub struct Secret {
    hasher: SipHasher13,
    id: Fingerprint,
    origin: Option<Origin>,
}

/// Which option names the secret, and where it says that the secret is.
type Origin = (&'static str, Arc<str>);

impl Secret {
    /// The largest file that is read for a secret, in bytes.
    pub const MAX_FILE_BYTES: u64 = 4096;

    /// Creates a secret from its bytes. They should come from a generator of random numbers that is fit for keys.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        let id = Digester::secret().bytes(&bytes).fingerprint();
        Self { hasher: SipHasher13::new_with_key(&bytes), id, origin: None }
    }

    /// Reads a secret from 32 hexadecimal digits, the first byte first. White space around them doesn't count.
    ///
    /// # Errors
    /// [`SecretError::NotHex`].
    pub fn from_hex(text: &str) -> Result<Self, SecretError> {
        Self::parse("the text", text)
    }

    /// Reads a secret from a file that holds it as [`from_hex`](Self::from_hex) takes it.
    ///
    /// # Errors
    /// [`SecretError::Read`], [`SecretError::NotHex`], also if the file has more than
    /// [`MAX_FILE_BYTES`](Self::MAX_FILE_BYTES).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SecretError> {
        let path = path.as_ref();
        let file = shown(&path.display().to_string());
        let mut content = Vec::new();
        let read = File::open(path).and_then(|file| file.take(Self::MAX_FILE_BYTES + 1).read_to_end(&mut content));
        read.map_err(|error| SecretError::Read { file: file.clone(), reason: error.to_string() })?;
        let from = format!("file \"{file}\"");
        let text = str::from_utf8(&content).map_err(|_| not_hex(&from, content.len()))?;
        Self::parse(&from, text)
    }

    /// Reads a secret from an environment variable, as [`from_hex`](Self::from_hex) takes it.
    ///
    /// # Errors
    /// [`SecretError::NotSet`], [`SecretError::NotHex`].
    pub fn from_env(name: &str) -> Result<Self, SecretError> {
        // A name that no variable can have makes the system's function panic.
        let possible = !name.is_empty() && !name.contains(['=', '\0']);
        let text = if possible { std::env::var_os(name) } else { None };
        let text = text.ok_or_else(|| SecretError::NotSet { variable: shown(name) })?;
        let from = format!("environment variable \"{}\"", shown(name));
        Self::parse(&from, text.to_str().ok_or_else(|| not_hex(&from, text.len()))?)
    }

    /// Returns the secret's id: BLAKE2b of it, with 16 bytes of output, personalised `ringway.keyid.1`. It says whether two
    /// programs have the same secret, and nothing else of it.
    #[must_use]
    pub const fn id(&self) -> Fingerprint {
        self.id
    }

    fn parse(from: &str, text: &str) -> Result<Self, SecretError> {
        let text = text.trim_ascii();
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if digits => Ok(Self::new(number.to_be_bytes())),
            _ => Err(not_hex(from, text.len())),
        }
    }

    fn named(self, option: &'static str, place: &str) -> Self {
        Self { origin: Some((option, place.into())), ..self }
    }
}

fn not_hex(from: &str, bytes: usize) -> SecretError {
    SecretError::NotHex { from: from.to_owned(), bytes }
}

impl PartialEq for Secret {
    /// Compares ids; where a secret came from doesn't count.
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    /// Shows the id alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(id {})", self.id)
    }
}

/// Why a secret couldn't be had. Nothing of what was found in its place is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretError {
    /// The text isn't 32 hexadecimal digits.
    NotHex {
        /// Where it came from.
        from: String,
        /// Its length in bytes, without white space around it.
        bytes: usize,
    },
    /// The file can't be read.
    Read {
        /// Its path.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// There is no such environment variable.
    NotSet {
        /// Its name.
        variable: String,
    },
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHex { from, bytes: 32 } => {
                write!(f, "a secret is 32 hexadecimal digits, not all 32 bytes of {from} are; give 0 to 9 and a to f")
            }
            Self::NotHex { from, bytes } => {
                write!(f, "a secret is 32 hexadecimal digits, {from} has {bytes} bytes; give 32 digits")
            }
            Self::Read { file, reason } => {
                write!(f, "file \"{file}\" can't be read: {reason}; give another or its rights")
            }
            Self::NotSet { variable } => write!(f, "there is no environment variable \"{variable}\"; set it"),
        }
    }
}

impl std::error::Error for SecretError {}

impl Scheme for Keyed {
    type Point = u32;
    type Seed = ();

    fn id(&self) -> &str {
        Self::ID
    }

    #[inline]
    fn order_free(&self) -> bool {
        true
    }

    /// The secret's id. Points per weight decides nothing that the active points don't.
    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.secret.id.to_bytes());
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        // Above the limit of points the node is refused, so saturating loses nothing.
        let points = u32::try_from(self.active_points(node)).unwrap_or(u32::MAX);
        out.extend_from_slice(&points.to_le_bytes());
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<()>>) -> Result<(), SchemeError> {
        out.extend((0..).zip(nodes).map(|(tie, node)| Assignment { seed: (), points: self.active_points(node), tie }));
        Ok(())
    }

    fn points(&self, id: &NodeId, (): &(), labels: Range<u32>, out: &mut Vec<u32>) {
        let id = id.as_bytes();
        let mut label = [&position(id.len()).to_le_bytes(), id, &[0; 4]].concat();
        let number_at = label.len() - 4;
        out.extend(labels.map(|number| {
            label[number_at..].copy_from_slice(&number.to_le_bytes());
            high_u32(self.secret.hasher.hash(&label))
        }));
    }

    #[inline]
    fn key_point(&self, key: &[u8]) -> u32 {
        high_u32(self.secret.hasher.hash(key))
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> u32 {
        let mut hasher = self.secret.hasher;
        parts.iter().for_each(|part| hasher.write(part));
        high_u32(hasher.finish())
    }
}

const SECRET: &str = SchemeOptions::SECRET;
const SECRET_FILE: &str = "secret_file";
const SECRET_ENV: &str = "secret_env";

impl Named for Keyed {
    const NAME: &'static str = Self::ID;

    /// Takes one of `secret` (32 hexadecimal digits), `secret_file` (a path, from the working directory on) and
    /// `secret_env` (the name of a variable), and `points_per_weight`.
    fn from_options(options: &mut SchemeOptions) -> Result<Self, OptionError> {
        let points = options.take_integer(POINTS_PER_WEIGHT, u32::MAX)?;
        let given = options.take_secret()?;
        let (file, variable) = (options.take_text(SECRET_FILE)?, options.take_text(SECRET_ENV)?);
        let (name, secret) = match (given, file, variable) {
            (Some(text), None, None) => (SECRET, Secret::from_hex(&text)),
            (None, Some(path), None) => {
                (SECRET_FILE, Secret::from_file(&path).map(|secret| secret.named(SECRET_FILE, &path)))
            }
            (None, None, Some(name)) => {
                (SECRET_ENV, Secret::from_env(&name).map(|secret| secret.named(SECRET_ENV, &name)))
            }
            _ => {
                let reason = format!("give the secret as one of {SECRET}, {SECRET_FILE} and {SECRET_ENV}");
                return Err(OptionError { name: SECRET, reason });
            }
        };
        let secret = secret.map_err(|error| OptionError { name, reason: error.to_string() })?;
        Ok(Self { points_per_weight: points.unwrap_or(Self::DEFAULT_POINTS_PER_WEIGHT), secret })
    }

    /// Where the secret came from, if it was a file or a variable. A secret that was given itself isn't written: whoever
    /// reads the options back must give it again.
    fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let origin = self.secret.origin.as_ref().map(|(option, place)| (*option, place.as_ref().into()));
        let points = (POINTS_PER_WEIGHT, self.points_per_weight.into());
        origin.into_iter().chain([points]).collect()
    }
}
