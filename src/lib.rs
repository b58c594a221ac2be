//! ringway decides, millions of times a second, which node owns a key.
//!
//! It is a consistent-hash routing engine for programs that route: proxies, cache tiers, sharded stores. Each node has
//! many *points* on a circle; a key's hash is a place on it, and the node of the next point clockwise owns the key. When
//! nodes come, go or change weight, only the keys that must move do.
//!
//! ```
//! use ringway::{Delta, NodeSpec, Ring};
//!
//! // The control plane: one writer. It may live on a thread of its own.
//! let (mut writer, handle) = Ring::builder()
//!     .node(NodeSpec::new("cache-a").with_weight(2).with_payload("10.0.0.1:11211"))
//!     .node(NodeSpec::new("cache-b").with_payload("10.0.0.2:11211"))
//!     .build()?;
//!
//! // The data plane: one reader per thread. A lookup takes no lock, allocates nothing, and writes nothing shared.
//! let worker = std::thread::spawn(move || {
//!     let mut reader = handle.reader();
//!     reader.owner(b"user:123456").map(|node| *node.payload())
//! });
//! # let address = worker.join().unwrap();
//! # assert!(address.is_some());
//!
//! // A batch of changes is checked as a whole, then published as the next version, all or nothing.
//! let report = writer.commit(Delta::new().set_weight("cache-b", 2).add(NodeSpec::new("cache-c").with_payload("10.0.0.3:11211")))?;
//! assert_eq!((report.version, report.points), (2, 5 * 512));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reading order
//! The modules stand here in the order of the walk from key to owner, lowest rank first; a file uses only ranks below its
//! own, or its own folder (`tests/architecture.rs`).
//!
//! | rank | module | what it is for |
//! |---|---|---|
//! | 0 | `point`, `error`, `sync` | places on the circle and shares of it; errors; the one import of atomics |
//! | 1 | `node` | what a node is: [`NodeSpec`] from the user, [`Node`] in a table |
//! | 1 | [`publish`] | how a table reaches the threads that read it, and how old ones are reclaimed |
//! | 2 | [`layout`] | how points lie in memory and are searched |
//! | 2 | `hash` ([`scheme`]) | node → points, key → point, fingerprints |
//! | 3 | `delta` | [`Delta`], a batch of changes |
//! | 4 | `table` | [`Table`], the immutable ring: building, merging, looking up |
//! | 5 | policies | `cluster` files (feature `cluster-file`) |
//! | 6 | `ring` | [`Ring`], [`Writer`], [`Handle`], [`Reader`]: what users touch, with the guarantees G1–G7 |
//!
//! # Unsafe ledger
//! `unsafe` is denied in the whole crate but for these files and folders:
//! - `layout/kernel/`: unchecked reads inside searches, whose bounds follow from the loops themselves; prefetches; SSE2.
//! - `publish/epoch.rs`: the published pointer's reference counts, and `Send` for its ends.
//!
//! # Features
//! None is on by default.
//! - `cluster-file`: reads nodes from TOML and JSON files.

#![deny(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod point;
mod sync;

pub mod layout;
mod node;
pub mod publish;

mod hash;

mod delta;

mod table;

#[cfg(feature = "cluster-file")]
#[cfg_attr(docsrs, doc(cfg(feature = "cluster-file")))]
pub mod cluster;

mod ring;

pub use delta::{Change, Delta, Field};
pub use error::{DeltaError, NodeError, SchemeError, WaitError};
pub use hash::{Fingerprint, Native, ParseFingerprintError};
pub use node::{Limits, Node, NodeId, NodeInfo, NodeSpec, Slot};
pub use point::{Point, Share};
pub use publish::Counts;
pub use ring::{CommitError, CommitReport, Handle, Reader, Ring, RingBuilder, Snapshot, Writer};
pub use table::{Applied, Table, TableError};

/// Placement schemes: how nodes become points and keys become a point.
pub mod scheme {
    pub use crate::hash::{Assignment, Native, Scheme};
}

/// The README's example, compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
