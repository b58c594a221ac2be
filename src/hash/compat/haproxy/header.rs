//! Which part of a header's value HAProxy hashes for `balance hdr(…)`.
//!
//! Source: HAProxy, `src/http_htx.c` (`http_find_header`, which isn't asked for the full value there) and `src/http.c`
//! (`http_find_hdr_value_end`).

use std::ops::Range;

/// Where the first value of the comma-separated list begins and ends, without the blanks around it.
///
/// A comma between double quotes doesn't end a value; between quotes a backslash takes the next byte as it is. Quotes
/// that aren't closed last to the end.
pub(super) fn first_value(bytes: impl Iterator<Item = u8>) -> Range<usize> {
    let (mut start, mut end) = (None, 0);
    let (mut quoted, mut escaped) = (false, false);
    for (place, byte) in bytes.enumerate() {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        if start.is_none() && blank {
            continue;
        }
        start = start.or(Some(place));
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => break,
            _ => {}
        }
        if !blank {
            end = place + 1;
        }
    }
    let start = start.unwrap_or(0);
    start..end.max(start)
}

/// The same of a value in one piece.
#[inline]
pub(super) fn of(key: &[u8]) -> &[u8] {
    // Most keys have nothing to cut: what could matter is found in one pass that stops nowhere else.
    let plain = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',');
    if key.iter().all(plain) { key } else { &key[first_value(key.iter().copied())] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_is_cut_out() {
        for (header, value) in [
            ("", ""),
            ("a", "a"),
            ("a,b", "a"),
            (",b", ""),
            (" \t a b \t,c", "a b"),
            ("  ", ""),
            (" , a", ""),
            ("\"a,b\",c", "\"a,b\""),
            ("x\"a,b", "x\"a,b"),
            ("\"a\\\",b\",c", "\"a\\\",b\""),
            ("a\\,b", "a\\"),
            ("\"\\\\\",c", "\"\\\\\""),
            ("\"a\"b,c", "\"a\"b"),
            ("\" \" ,c", "\" \""),
            ("ä , ö", "ä"),
        ] {
            let bytes = header.as_bytes();
            assert_eq!(&header[first_value(bytes.iter().copied())], value, "{header:?}");
            assert_eq!(of(bytes), value.as_bytes(), "{header:?}");
        }
    }
}
