//! MD5 as the ketama family uses it: a digest cut into points, and a key's point out of a digest.
//!
//! The first ketama (Richard Jones, Last.fm, 2007; `libketama/ketama.c`) took four points of 32 bits out of the digest of
//! `server-number`, each of four bytes, least significant first; those after it vary the label, the number of points a
//! digest gives, or take the digest whole.

use std::iter;
use std::ops::Range;

use ::md5::{Digest as _, Md5};

use super::numbered::numbered;
use crate::point::index;

/// Returns the digest of the parts joined.
#[inline]
pub(super) fn digest_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> [u8; 16] {
    let mut hasher = Md5::new();
    parts.for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// Returns a word of a digest, 0 to 3.
#[inline]
pub(super) fn word(digest: &[u8; 16], number: u32) -> u32 {
    let (words, _) = digest.as_chunks::<4>();
    u32::from_le_bytes(words[index(number % 4)])
}

/// Returns the first word of the parts' digest: where most of the family puts a key.
#[inline]
pub(super) fn first_word<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u32 {
    word(&digest_of(parts), 0)
}

/// Returns the whole digest of the parts as a number, most significant byte first.
#[inline]
pub(super) fn number<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u128 {
    u128::from_be_bytes(digest_of(parts))
}

/// Appends points of a sequence in which each label, `beginning` and a number, gives the first `per_digest` words of its
/// digest.
pub(super) fn word_points(beginning: &[u8], per_digest: u32, numbers: Range<u32>, out: &mut Vec<u32>) {
    let per_digest = per_digest.clamp(1, 4);
    let labels = numbers.start / per_digest..numbers.end.div_ceil(per_digest);
    // The number of the label's first point, which is below the range's end.
    let mut first = labels.start * per_digest;
    numbered(beginning, labels, |label| {
        let digest = digest_of(iter::once(label));
        // The first and the last label may have words outside of the range.
        let words = numbers.start.saturating_sub(first)..per_digest.min(numbers.end - first);
        out.extend(words.map(|number| word(&digest, number)));
        first = first.saturating_add(per_digest);
    });
}

/// Appends points of a sequence in which each label gives its whole digest.
pub(super) fn number_points(beginning: &[u8], numbers: Range<u32>, out: &mut Vec<u128>) {
    numbered(beginning, numbers, |label| out.push(number(iter::once(label))));
}
