//! The models, one file for each promise or situation. One binary, since what a model costs to build is the link.
//!
//! The clauses P1–P12 are those of `ringway::publish`. `docs/mutants.md` says which fault each model finds.
#![cfg(all(ringway_loom, crossbeam_loom))]

mod arc_swap;
mod backpressure;
mod cached_lookup;
mod come_and_go;
mod dropped_once;
mod held_snapshot;
mod idle_readers;
mod left_in_grace;
mod moved_reader;
mod one_table;
mod permits;
mod reader_outlives;
mod repin;
mod two_readers;
mod two_rings;
mod visibility;
mod writer_first;
mod writer_frees;
