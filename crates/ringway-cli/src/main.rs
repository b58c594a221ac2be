//! The ringway tool.
fn main() {}
