//! The ring: what users touch. Rank 6.
//!
//! ```text
//! Ring::builder() ──build──▶ Writer   one, on the control plane: commits deltas
//!                            Handle   many: makes Readers, takes snapshots, waits for versions
//!                              └────▶ Reader   one per thread, on the data plane: looks keys up
//! ```
//!
//! The guarantees G1–G10 are stated in the crate's documentation, `src/lib.rs`.

mod builder;
mod reader;
mod routing;
mod versions;
mod writer;

pub use builder::{Ring, RingBuilder};
pub use reader::{Handle, Reader, Snapshot};
pub use writer::{CommitError, CommitReport, DryRunError, Writer};
