//! ringway: a consistent-hash routing engine.
pub mod publish;
mod sync;
