//! ringway: a consistent-hash routing engine.
#![deny(unsafe_code)]
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
pub use ring::{CommitError, CommitReport, Handle, Reader, Ring, RingBuilder, Snapshot, Writer};
pub use table::{Applied, Table, TableError};

/// Placement schemes.
pub mod scheme {
    pub use crate::hash::{Assignment, Native, Scheme};
}
