//! The chain of CRC-32 values that nginx placed its points by, and others after it.
//!
//! Point k is the CRC-32 of the server's label followed by point k − 1 as four bytes, least significant first; before
//! the first point stands 0. (nginx, `ngx_http_upstream_hash_module.c`, `ngx_http_upstream_update_chash`.)

use std::ops::Range;

use crc32fast::Hasher;

/// Points per unit of weight.
pub(super) const POINTS_PER_WEIGHT: u32 = 160;

/// Appends the points with the numbers `numbers` of a label's chain. Each is computed from the one before, so this takes
/// time for all up to the last.
pub(super) fn points(label: &[u8], numbers: Range<u32>, out: &mut Vec<u32>) {
    let mut hasher = Hasher::new();
    hasher.update(label);
    let mut point = 0u32;
    for number in 0..numbers.end {
        let mut next = hasher.clone();
        next.update(&point.to_le_bytes());
        point = next.finalize();
        if number >= numbers.start {
            out.push(point);
        }
    }
}

/// The name of the map from keys to points.
pub(super) const KEY_MAP: &[u8] = b"crc32";

/// Returns the point of a key: its CRC-32.
#[inline]
pub(super) fn key_point(key: &[u8]) -> u32 {
    crc32fast::hash(key)
}

/// Returns the point of a key in parts.
#[inline]
pub(super) fn key_point_of_parts(parts: &[&[u8]]) -> u32 {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}
