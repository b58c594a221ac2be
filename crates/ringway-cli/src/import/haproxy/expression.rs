//! Whether the values of a sample expression are text.
//!
//! `balance hash` casts the value to `SMP_T_BIN` (`src/backend.c`, `get_server_expr`): text stays as it is, but an address
//! becomes 4 or 16 bytes and a number 8. The types are those of the keyword lists in `src/http_fetch.c`,
//! `src/payload.c`, `src/ssl_sample.c`, `src/sample.c` and `src/http_conv.c`.

/// Whether the values are known to be text: those of the last converter, or of the fetch if there is none.
pub(super) fn is_text(expression: &str) -> bool {
    let Some(parts) = parts(expression) else { return false };
    let Some((last, before)) = parts.split_last() else { return false };
    if before.is_empty() { FETCHES.contains(last) } else { CONVERTERS.contains(last) }
}

/// The names of a fetch and its converters, without their arguments; `None` if parentheses don't match.
fn parts(expression: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut end) = (0_usize, 0, None);
    for (at, mark) in expression.char_indices() {
        match mark {
            '(' => {
                if depth == 0 && end.replace(at).is_some() {
                    return None;
                }
                depth += 1;
            }
            ')' => depth = depth.checked_sub(1)?,
            ',' | ' ' if depth == 0 => {
                parts.push(&expression[start..end.take().unwrap_or(at)]);
                start = at + 1;
            }
            // Nothing stands between the arguments and the next name.
            _ if depth == 0 && end.is_some() => return None,
            _ => {}
        }
    }
    parts.push(&expression[start..end.unwrap_or(expression.len())]);
    parts.retain(|name| !name.is_empty());
    (depth == 0).then_some(parts)
}

/// Fetches of `SMP_T_STR`.
#[rustfmt::skip]
const FETCHES: &[&str] = &[
    "base", "be_name", "capture.req.hdr", "capture.req.method", "capture.req.uri", "capture.req.ver", "cook", "cookie",
    "env", "fe_name", "fhdr", "hdr", "http_auth_user", "path", "pathq", "query", "rdp_cookie", "req.cook", "req.fhdr",
    "req.hdr", "req.hdr_names", "req.rdp_cookie", "req.ssl_alpn", "req.ssl_sni", "req.ver",
    "req_ssl_sni", "req_ver", "ssl_c_i_dn", "ssl_c_s_dn", "ssl_fc_alpn", "ssl_fc_cipher", "ssl_fc_protocol", "ssl_fc_sni",
    "str", "unique-id", "url", "url_param", "urlp",
];

/// Converters to `SMP_T_STR`.
#[rustfmt::skip]
const CONVERTERS: &[&str] = &[
    "base64", "capture-req", "capture-res", "concat", "field", "hex", "host_only", "http_date", "iif",
    "json", "language", "lower", "ltime", "ltrim", "map", "map_beg", "map_dir", "map_dom", "map_end", "map_reg",
    "map_regm", "map_str", "map_sub", "param", "regsub", "rtrim", "ub64enc", "upper", "url_dec", "url_enc", "utime",
    "word",
];
