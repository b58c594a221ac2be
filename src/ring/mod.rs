//! The ring: what users touch. Rank 6.
//!
//! ```text
//! Ring::builder() ──build──▶ Writer   one, on the control plane: commits deltas
//!                            Handle   many: makes Readers, takes snapshots, waits for versions
//!                              └────▶ Reader   one per thread, on the data plane: looks keys up
//! ```
//!
//! # Guarantees
//! They rest on the publisher's promises P1–P12 ([`publish`](crate::publish)); those of the default publisher are meant.
//! Each names the test that cites it, in `tests/ring.rs`, `tests/alloc.rs` and `tests/stress.rs`.
//! - **G1** A lookup on an unchanged table is wait-free, takes no lock, writes nothing that is shared, and calls no
//!   allocator. After a commit, a reader's next lookup takes the new table in one lock-free step.
//!   (`no_allocator_call_on_an_unchanged_table`)
//! - **G2** If a commit's return happens-before a lookup, the lookup answers from that version or a later one. Without
//!   that edge it does so eventually. A reader's version never goes back. (`stress`)
//! - **G3** Each answer of `owner` is the answer of one published table. (`stress`)
//! - **G4** A commit is all or nothing. If it is refused or panics while it is checked or built, the published table and
//!   its version stay as they were, and the writer goes on working. (`a_refused_commit_changes_nothing`,
//!   `a_panicking_scheme_changes_nothing`)
//! - **G5** A commit never waits for a reader. A reader that idles holds at most one old table and refuses no commit; one
//!   that is stopped inside the few instructions of taking a table can, after
//!   [`retired_limit`](RingBuilder::retired_limit) commits, and then the commit hands its delta back.
//!   (`idle_readers_refuse_no_commit`, `a_stalled_reader_hands_the_delta_back`)
//! - **G6** While the writer lives, tables and with them payloads are dropped by the writer alone, inside its calls. Each
//!   is dropped once, and none is left when all ends of the ring are gone. (`every_order_of_dropping_leaves_nothing`)
//! - **G7** A commit moves keys only to or from nodes it changes (with schemes that place nodes independently of each
//!   other, as the native one does), and its result is the table that building from scratch gives. (`tests/model.rs`)

mod builder;
mod reader;
mod versions;
mod writer;

pub use builder::{Ring, RingBuilder};
pub use reader::{Handle, Reader, Snapshot};
pub use writer::{CommitError, CommitReport, Writer};
