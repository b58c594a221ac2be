//! Labels that end in a decimal number, as most systems have them.

use std::io::Write;
use std::ops::Range;

/// Calls `each` with `beginning` and each number after it, in order.
pub(super) fn numbered(beginning: &[u8], numbers: Range<u32>, mut each: impl FnMut(&[u8])) {
    let mut label = beginning.to_vec();
    for number in numbers {
        label.truncate(beginning.len());
        write!(label, "{number}").expect("a vector takes all that is written to it");
        each(&label);
    }
}
