//! Lines of HAProxy's configuration as words, and the words it has.

use crate::import::problem::{ImportError, ImportProblem};

/// A line that has words.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) words: Vec<String>,
}

/// The lines that have words.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<Line, ImportError>> {
    (1..).zip(text.split('\n')).filter_map(|(number, line)| match words(line) {
        Ok(words) if words.is_empty() => None,
        Ok(words) => Some(Ok(Line { number, words })),
        Err(problem) => Some(Err(problem.at(number))),
    })
}

fn words(line: &str) -> Result<Vec<String>, ImportProblem> {
    let mut words = Vec::new();
    // `None` between words; quotes may begin and end within one.
    let mut word: Option<String> = None;
    let mut quotes = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, quotes) {
            (' ' | '\t' | '\r', None) => words.extend(word.take()),
            ('#', None) => break,
            ('"' | '\'', None) => {
                quotes = Some(character);
                word.get_or_insert_default();
            }
            ('"', Some('"')) | ('\'', Some('\'')) => quotes = None,
            ('$', Some('"')) => {
                let why = "variables are known where HAProxy runs alone; put in the value";
                return Err(ImportProblem::not_reproducible("\"$\" in double quotes", why));
            }
            ('\\', None | Some('"')) => {
                let word = word.get_or_insert_default();
                match characters.next() {
                    None => return Err(ImportProblem::Syntax("a backslash ends the line".to_owned())),
                    Some('x') => word.push(hexadecimal(&mut characters)?),
                    Some('n') => word.push('\n'),
                    Some('r') => word.push('\r'),
                    Some('t') => word.push('\t'),
                    Some(same @ ('\\' | '"' | '\'' | ' ' | '#' | '$')) => word.push(same),
                    Some(other) => word.extend(['\\', other]),
                }
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quotes.is_some() {
        return Err(ImportProblem::Syntax("quotes aren't closed on this line".to_owned()));
    }
    words.extend(word);
    Ok(words)
}

/// The character of `\x` and two digits; one byte, so ASCII.
fn hexadecimal(characters: &mut std::str::Chars<'_>) -> Result<char, ImportProblem> {
    let digits: String = characters.by_ref().take(2).collect();
    let byte = (digits.len() == 2).then(|| u8::from_str_radix(&digits, 16).ok()).flatten();
    match byte.filter(u8::is_ascii) {
        Some(byte) => Ok(char::from(byte)),
        None => Err(ImportProblem::value("\\x", &digits, "two hexadecimal digits from 00 to 7f")),
    }
}

/// What begins a section.
#[rustfmt::skip]
pub(super) const SECTIONS: &[&str] = &[
    "acme", "backend", "cache", "crt-store", "defaults", "fcgi-app", "frontend", "global", "http-errors", "listen",
    "log-forward", "log-profile", "mailers", "peers", "program", "resolvers", "ring", "traces", "userlist",
];

/// The keywords of a server, and how many words follow each. Those of HAProxy 3.2's manual, chapter 5.2.
#[rustfmt::skip]
pub(super) const ARGUMENTS: &[(&str, usize)] = &[
    ("addr", 1), ("agent-addr", 1), ("agent-check", 0), ("agent-inter", 1), ("agent-port", 1), ("agent-send", 1),
    ("allow-0rtt", 0), ("alpn", 1), ("backup", 0), ("ca-file", 1), ("cc", 1), ("check", 0), ("check-alpn", 1),
    ("check-pool-conn-name", 1), ("check-proto", 1), ("check-reuse-pool", 0), ("check-send-proxy", 0), ("check-sni", 1),
    ("check-sni-auto", 0), ("check-ssl", 0), ("check-via-socks4", 0), ("ciphers", 1), ("ciphersuites", 1),
    ("client-sigalgs", 1), ("cookie", 1), ("crl-file", 1), ("crt", 1), ("curves", 1), ("disabled", 0), ("downinter", 1),
    ("ech", 1), ("enabled", 0), ("error-limit", 1), ("fall", 1), ("fastinter", 1), ("force-sslv3", 0),
    ("force-tlsv10", 0), ("force-tlsv11", 0), ("force-tlsv12", 0), ("force-tlsv13", 0), ("guid", 1), ("hash-key", 1),
    ("healthcheck", 1), ("id", 1), ("idle-ping", 1), ("init-addr", 1), ("init-state", 1), ("inter", 1),
    ("interface", 1), ("ktls", 1), ("log-bufsize", 1), ("log-proto", 1), ("max-reuse", 1), ("maxconn", 1),
    ("maxqueue", 1), ("minconn", 1), ("namespace", 1), ("no-agent-check", 0), ("no-backup", 0), ("no-check", 0),
    ("no-check-reuse-pool", 0), ("no-check-send-proxy", 0), ("no-check-sni-auto", 0), ("no-check-ssl", 0),
    ("no-renegotiate", 0), ("no-send-proxy", 0), ("no-send-proxy-v2", 0), ("no-send-proxy-v2-ssl", 0),
    ("no-send-proxy-v2-ssl-cn", 0), ("no-sni-auto", 0), ("no-ssl", 0), ("no-ssl-reuse", 0), ("no-sslv3", 0),
    ("no-strict-maxconn", 0), ("no-tfo", 0), ("no-tls-tickets", 0), ("no-tlsv10", 0), ("no-tlsv11", 0),
    ("no-tlsv12", 0), ("no-tlsv13", 0), ("no-verifyhost", 0), ("non-stick", 0), ("npn", 1), ("observe", 1),
    ("on-error", 1), ("on-marked-down", 1), ("on-marked-up", 1), ("pool-conn-name", 1), ("pool-low-conn", 1),
    ("pool-max-conn", 1), ("pool-purge-delay", 1), ("port", 1), ("proto", 1), ("proxy-v2-options", 1), ("redir", 1),
    ("renegotiate", 0), ("resolve-net", 1), ("resolve-opts", 1), ("resolve-prefer", 1), ("resolvers", 1), ("rise", 1),
    ("send-proxy", 0), ("send-proxy-v2", 0), ("send-proxy-v2-ssl", 0), ("send-proxy-v2-ssl-cn", 0),
    ("set-proxy-v2-tlv-fmt", 1), ("shard", 1), ("sigalgs", 1), ("slowstart", 1), ("sni", 1), ("sni-auto", 0),
    ("socks4", 1), ("source", 1), ("ssl", 0), ("ssl-max-ver", 1), ("ssl-min-ver", 1), ("ssl-reuse", 0), ("sslv3", 0),
    ("stick", 0), ("strict-maxconn", 0), ("tcp-md5sig", 1), ("tcp-ut", 1), ("tfo", 0), ("tls-tickets", 0),
    ("tlsv10", 0), ("tlsv11", 0), ("tlsv12", 0), ("tlsv13", 0), ("track", 1), ("usesrc", 1), ("verify", 1),
    ("verifyhost", 1), ("weight", 1), ("ws", 1),
];
