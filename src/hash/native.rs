//! The native scheme: SeaHash of unambiguous labels. Its placement is frozen; `tests/golden/native` holds vectors
//! computed by an independent program.
//!
//! SeaHash (Ticki, 2016) is fast and well spread but not keyed: whoever chooses keys can aim them at a node. For keys
//! from strangers use a keyed scheme. Not used: SeaHash's seeds in place of label numbers. A seed is XORed into the
//! first block, so 100 nodes × 160 labels would give 256 distinct points.

use std::ops::Range;

use super::labelled::{LabelHash, Labelled};
use super::seahash;
use crate::point::high_u32;

/// The native placement scheme, `"native"`: [`Labelled`] by SeaHash.
pub type Native = Labelled<SeaHash>;

/// SeaHash with its default seeds, the hash of [`Native`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeaHash {}

impl LabelHash for SeaHash {
    const SCHEME: &'static str = "native";
    const TYPE: &'static str = "Native";

    #[inline]
    fn hash(bytes: &[u8]) -> u64 {
        seahash::hash(bytes)
    }

    #[inline]
    fn hash_of_parts(parts: &[&[u8]]) -> u64 {
        seahash::hash_of_parts(parts)
    }

    fn label_points(beginning: &[u8], numbers: Range<u32>, out: &mut Vec<u32>) {
        // The id is hashed once for all its labels. It also spares a stall: 4 bytes just written can't be read back as a
        // part of 8.
        let mut stream = seahash::Stream::new();
        stream.write(beginning);
        out.extend(numbers.map(|number| {
            let mut label = stream;
            label.write(&number.to_le_bytes());
            high_u32(label.finish())
        }));
    }
}
