//! The schemes of proxies and small libraries, where recorded decisions don't reach: hashes of every length, refusals,
//! changes one by one, and how many keys a change moves. The recordings themselves are replayed by `interop`.

#[path = "../common/mod.rs"]
mod common;

mod hashes;
mod movement;
mod options;
mod updates;
