//! The schemes of proxies and small libraries, where recorded decisions don't reach: hashes of every length, refusals,
//! and changes one by one. The recordings themselves are replayed by `interop`.

#[path = "../common/mod.rs"]
mod common;

mod hashes;
mod options;
mod updates;
