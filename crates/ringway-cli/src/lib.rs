//! The ringway tool.
