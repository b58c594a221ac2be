//! nginx: an `upstream` block.
//!
//! Words are read as nginx reads them (`src/core/ngx_conf_file.c`, `ngx_conf_read_token`, 1.22): they end at white space,
//! `;` or `{`; quotes and comments begin only where a word does; a backslash takes the next character as it is. Blocks are
//! counted, not entered by recursion. What the words mean is `src/http/ngx_http_upstream.c`
//! (`ngx_http_upstream_server`) and `src/http/modules/ngx_http_upstream_hash_module.c`.

use std::collections::{HashMap, HashSet};

use ringway::{NodeSpec, State};

use super::imported::{Imported, Nodes, number, pick};
use super::problem::{ImportError, ImportProblem, shown};

pub(super) fn import(text: &str, name: Option<&str>) -> Result<Imported, ImportError> {
    let upstream = choose(upstreams(text)?, name)?;
    let mut imported = Imported::new("nginx-chash");
    let mut nodes = Nodes::default();
    let mut hash: Option<usize> = None;
    for Directive { line, words } in &upstream.directives {
        let line = *line;
        let (directive, values) = words.split_first().expect("a directive has a word at least");
        match directive.as_str() {
            "server" => nodes.add(line, server(line, values, hash.is_some(), &mut imported)?)?,
            "hash" => {
                if let Some(first) = hash.replace(line) {
                    return Err(ImportProblem::Repeated { what: "\"hash\"".to_owned(), first }.at(line));
                }
                match values {
                    [key, _] if has_variable(key, "binary_remote_addr") => {
                        let why = "keys would be the bytes of the clients' addresses, not text";
                        return Err(ImportProblem::not_reproducible("\"$binary_remote_addr\"", why).at(line));
                    }
                    [key, consistent] if consistent == "consistent" => {
                        imported.note(line, format!("keys are the values of \"{}\"", shown(key)));
                    }
                    [_] => {
                        let why =
                            "without \"consistent\" it takes the hash modulo the number of servers, and isn't a ring";
                        return Err(ImportProblem::not_reproducible("\"hash\"", why).at(line));
                    }
                    _ => {
                        let wanted = "a key and \"consistent\"";
                        return Err(ImportProblem::value("hash", &values.join(" "), wanted).at(line));
                    }
                }
            }
            "least_conn" | "ip_hash" | "random" | "least_time" | "sticky" | "fair" => {
                let why = "only \"hash … consistent\" places keys on a ring";
                return Err(ImportProblem::not_reproducible(format!("\"{directive}\""), why).at(line));
            }
            "include" | "state" => {
                let why = "the servers stand in another file; put them in this one";
                return Err(ImportProblem::not_reproducible(format!("\"{directive}\" in an upstream"), why).at(line));
            }
            // These say how servers are reached.
            "zone" | "keepalive" | "keepalive_requests" | "keepalive_time" | "keepalive_timeout" | "ntlm" | "queue"
            | "resolver" | "resolver_timeout" => {}
            _ => return Err(ImportProblem::Unknown { kind: "directive", name: shown(directive) }.at(line)),
        }
    }
    if hash.is_none() {
        let reason = format!("upstream \"{}\" has no \"hash … consistent\": it isn't a ring", shown(&upstream.name));
        return Err(ImportProblem::Missing(reason).at(upstream.line));
    }
    if nodes.is_empty() {
        let reason = format!("upstream \"{}\" has no server", shown(&upstream.name));
        return Err(ImportProblem::Missing(reason).at(upstream.line));
    }
    imported.nodes = nodes.into_nodes();
    Ok(imported)
}

fn server(line: usize, values: &[String], hashed: bool, imported: &mut Imported) -> Result<NodeSpec, ImportError> {
    let Some((name, parameters)) = values.split_first() else {
        return Err(ImportProblem::Missing("\"server\" has no address".to_owned()).at(line));
    };
    let mut node = NodeSpec::new(name.as_str()).with_address(name.as_str());
    let (mut weight, mut backup) = (1, false);
    for parameter in parameters {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("weight", value) => weight = number("weight", value, 1, i32::MAX.unsigned_abs(), line)?,
            ("down", "") => node = node.with_state(State::Down),
            ("backup", "") if hashed => {
                let reason =
                    "nginx takes no \"backup\" after \"hash\"; put \"hash\" behind the servers, or take it out";
                return Err(ImportProblem::Syntax(reason.to_owned()).at(line));
            }
            ("backup", "") => backup = true,
            ("max_conns", value) if value != "0" => {
                let name = shown(name);
                imported.note(
                    line,
                    format!("server \"{name}\": a key goes on while all \"max_conns\" are taken; not here"),
                );
            }
            ("max_conns" | "max_fails" | "fail_timeout" | "slow_start" | "route", _) => {}
            ("resolve", "") | ("service", _) => {
                let why = "its points are its name's, but its addresses come from DNS at run time";
                return Err(ImportProblem::not_reproducible(format!("\"{}\"", shown(parameter)), why).at(line));
            }
            _ => return Err(ImportProblem::Unknown { kind: "parameter", name: shown(parameter) }.at(line)),
        }
    }
    if backup {
        weight = 0;
        node = node.with_attribute("backup", "true");
        imported.note(line, format!("server \"{}\" is a backup: outside the ring, so of weight 0", shown(name)));
    }
    Ok(node.with_weight(weight))
}

/// Whether a text names a variable, as `$name` or `${name}`.
fn has_variable(text: &str, name: &str) -> bool {
    text.split('$').skip(1).any(|rest| {
        let (rest, end) = match rest.strip_prefix('{') {
            Some(rest) => (rest, rest.find('}')),
            None => (rest, rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_')),
        };
        rest[..end.unwrap_or(rest.len())].eq_ignore_ascii_case(name)
    })
}

/// The upstream of a name. `http` and `stream` may each have one; those are called `http/name` and `stream/name`.
fn choose(mut upstreams: Vec<Upstream>, asked: Option<&str>) -> Result<Upstream, ImportError> {
    let mut blocks: HashMap<String, HashSet<String>> = HashMap::new();
    for Upstream { name, block, .. } in &upstreams {
        blocks.entry(name.clone()).or_default().insert(block.clone());
    }
    let shared = |name: &str| blocks.get(name).is_some_and(|blocks| blocks.len() > 1);
    for upstream in upstreams.iter_mut().filter(|upstream| shared(&upstream.name) && !upstream.block.is_empty()) {
        upstream.label = format!("{}/{}", upstream.block, upstream.name);
    }
    if let Some(name) = asked.filter(|name| shared(name)) {
        upstreams.retain(|upstream| upstream.name == name);
        return pick("upstream", upstreams, |upstream| &upstream.label, None);
    }
    pick("upstream", upstreams, |upstream| &upstream.label, asked)
}

struct Upstream {
    line: usize,
    name: String,
    /// The name of the block around it; empty if there is none.
    block: String,
    /// What picks it.
    label: String,
    directives: Vec<Directive>,
}

/// A directive with its words, the first of which is its name, and the line on which that begins.
struct Directive {
    line: usize,
    words: Vec<String>,
}

/// The upstreams of a file, wherever they stand.
fn upstreams(text: &str) -> Result<Vec<Upstream>, ImportError> {
    let mut words = Words { text, at: 0, line: 1 };
    let mut upstreams = Vec::new();
    let mut current: Option<Upstream> = None;
    // The blocks that aren't closed, with the lines on which they begin.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut included = None;
    while let Some((directive, end)) = words.directive()? {
        let Directive { line, words } = &directive;
        match end {
            End::Close => {
                if open.pop().is_none() {
                    return Err(ImportProblem::Syntax("unexpected \"}\"".to_owned()).at(*line));
                }
                upstreams.extend(current.take());
            }
            End::Open if current.is_some() => {
                return Err(ImportProblem::Unknown { kind: "block in an upstream", name: shown(&words[0]) }.at(*line));
            }
            End::Open => {
                let around = open.last().map_or(String::new(), |(_, block)| block.clone());
                open.push((*line, words[0].clone()));
                match &words[..] {
                    [block, name] if block == "upstream" => {
                        let (name, label) = (name.clone(), name.clone());
                        current = Some(Upstream { line: *line, name, block: around, label, directives: Vec::new() });
                    }
                    [block, ..] if block == "upstream" => {
                        let reason = "an upstream has one name".to_owned();
                        return Err(ImportProblem::Syntax(reason).at(*line));
                    }
                    [block, ..] if block.ends_with("_by_lua_block") => {
                        let why = "what stands in it isn't nginx's language; give a file with the upstream alone";
                        return Err(ImportProblem::not_reproducible(format!("\"{}\"", shown(block)), why).at(*line));
                    }
                    _ => {}
                }
            }
            End::Semicolon => match &mut current {
                Some(upstream) => upstream.directives.push(directive),
                None if words[0] == "include" => included = included.or(Some(*line)),
                None => {}
            },
        }
    }
    if let Some((line, _)) = open.pop() {
        return Err(ImportProblem::Syntax("the block that begins here has no \"}\"".to_owned()).at(line));
    }
    if let (true, Some(line)) = (upstreams.is_empty(), included) {
        let reason = "there is no upstream in this file; included files aren't read, give the one that has it";
        return Err(ImportProblem::Missing(reason.to_owned()).at(line));
    }
    Ok(upstreams)
}

enum End {
    Semicolon,
    Open,
    Close,
}

/// What is read of a text, word by word.
struct Words<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Words<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// The next directive and how it ends; `None` at the end of the text.
    fn directive(&mut self) -> Result<Option<(Directive, End)>, ImportError> {
        let mut directive = Directive { line: self.line, words: Vec::new() };
        loop {
            let line = self.line;
            let unexpected = |what: char| ImportProblem::Syntax(format!("unexpected \"{what}\"")).at(line);
            let Some(first) = self.peek() else {
                return match directive.words.is_empty() {
                    true => Ok(None),
                    false => {
                        let reason = "the directive that begins here has no \";\" or \"{\"".to_owned();
                        Err(ImportProblem::Syntax(reason).at(directive.line))
                    }
                };
            };
            if directive.words.is_empty() {
                directive.line = line;
            }
            match first {
                _ if is_space(first) => {
                    self.next();
                }
                '#' => while self.next().is_some_and(|next| next != '\n') {},
                ';' | '{' if directive.words.is_empty() => return Err(unexpected(first)),
                '}' if !directive.words.is_empty() => return Err(unexpected(first)),
                ';' | '{' | '}' => {
                    self.next();
                    let end = match first {
                        ';' => End::Semicolon,
                        '{' => End::Open,
                        _ => End::Close,
                    };
                    return Ok(Some((directive, end)));
                }
                '"' | '\'' => {
                    self.next();
                    directive.words.push(self.quoted(first)?);
                    // nginx wants a gap after the quotes.
                    match self.peek() {
                        Some(next) if !is_space(next) && !matches!(next, ';' | '{' | ')') => {
                            let reason = format!("unexpected \"{}\" after quotes", shown(&next.to_string()));
                            return Err(ImportProblem::Syntax(reason).at(self.line));
                        }
                        _ => {}
                    }
                }
                _ => directive.words.push(self.plain()),
            }
        }
    }

    fn quoted(&mut self, mark: char) -> Result<String, ImportError> {
        let line = self.line;
        let mut word = String::new();
        loop {
            match self.next() {
                None => {
                    return Err(ImportProblem::Syntax("the quotes that begin here aren't closed".to_owned()).at(line));
                }
                Some('\\') => self.escaped(&mut word),
                Some(next) if next == mark => return Ok(word),
                Some(next) => word.push(next),
            }
        }
    }

    fn plain(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek() {
            if is_space(next) || matches!(next, ';') || next == '{' && !word.ends_with('$') {
                break;
            }
            self.next();
            if next == '\\' { self.escaped(&mut word) } else { word.push(next) }
        }
        word
    }

    /// What a backslash and the character after it stand for.
    fn escaped(&mut self, word: &mut String) {
        match self.next() {
            Some(same @ ('"' | '\'' | '\\')) => word.push(same),
            Some('t') => word.push('\t'),
            Some('r') => word.push('\r'),
            Some('n') => word.push('\n'),
            Some(other) => word.extend(['\\', other]),
            None => word.push('\\'),
        }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}
