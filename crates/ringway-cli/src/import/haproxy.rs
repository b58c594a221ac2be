//! HAProxy: a `backend` or `listen` section.
//!
//! Lines become words as in `src/tools.c` (`parse_line`): quotes, backslashes, comments; variables of the environment
//! stand in double quotes, and are refused. Sections and their defaults are `src/cfgparse.c`; the words of a server
//! `src/server.c`, those of `balance` and `hash-type` `src/backend.c` and `src/cfgparse-listen.c`. Versions 2.6 to 3.2.

mod expression;
mod words;

use std::collections::HashMap;
use std::net::IpAddr;

use ringway::{NodeSpec, State};

use super::imported::{Imported, Nodes, number, pick};
use super::problem::{ImportError, ImportProblem, shown};
use words::{ARGUMENTS, Line, SECTIONS, lines};

pub(super) fn import(text: &str, name: Option<&str>) -> Result<Imported, ImportError> {
    let (sections, defaults) = sections(text)?;
    let section = match name {
        Some(_) => pick("backend", sections, |section| &section.name, name)?,
        // A proxy without servers, as a `listen` that only redirects, isn't meant.
        None => {
            let with_servers = |section: &Section| section.lines.iter().any(|line| line.words[0] == "server");
            pick("backend", sections.into_iter().filter(with_servers).collect(), |section| &section.name, None)?
        }
    };
    let mut chain = vec![&section];
    while let Some(from) = chain.last().and_then(|section| section.from) {
        chain.push(&defaults[from]);
    }
    let mut proxy = Proxy::new();
    for section in chain.iter().rev() {
        for line in &section.lines {
            proxy.line(line)?;
        }
    }
    proxy.finish(&section)
}

struct Section {
    line: usize,
    name: String,
    /// The defaults that it inherits, among those before it.
    from: Option<usize>,
    lines: Vec<Line>,
}

/// The backends of a file, and its defaults.
fn sections(text: &str) -> Result<(Vec<Section>, Vec<Section>), ImportError> {
    let (mut proxies, mut defaults): (Vec<Section>, Vec<Section>) = (Vec::new(), Vec::new());
    // The last of each name.
    let mut named: HashMap<String, usize> = HashMap::new();
    enum In {
        Proxy,
        Defaults,
        Other,
    }
    let mut current = In::Other;
    for line in lines(text) {
        let Line { number, words } = line?;
        let keyword = words[0].as_str();
        if keyword.starts_with('.') {
            let why = "which lines count is decided where HAProxy runs; give the file without conditions";
            return Err(ImportProblem::not_reproducible(format!("\"{}\"", shown(keyword)), why).at(number));
        }
        if !SECTIONS.contains(&keyword) {
            let lines = match current {
                In::Proxy => proxies.last_mut().map(|section| &mut section.lines),
                In::Defaults => defaults.last_mut().map(|section| &mut section.lines),
                In::Other => None,
            };
            if let Some(lines) = lines {
                lines.push(Line { number, words });
            }
            continue;
        }
        current = match keyword {
            "backend" | "listen" => In::Proxy,
            "defaults" => In::Defaults,
            _ => In::Other,
        };
        let (name, from) = match &words[1..] {
            [] => ("", None),
            [name] => (name.as_str(), None),
            [from, parent] if from == "from" => ("", Some(parent)),
            [name, from, parent] if from == "from" => (name.as_str(), Some(parent)),
            [name, ..] => (name.as_str(), None),
        };
        let from = match from {
            Some(parent) => match named.get(parent) {
                Some(&from) => Some(from),
                None if matches!(current, In::Other) => None,
                None => {
                    let reason = format!("there is no defaults \"{}\" before this line", shown(parent));
                    return Err(ImportProblem::Missing(reason).at(number));
                }
            },
            // Defaults without a parent begin anew.
            None if matches!(current, In::Defaults) => None,
            None => defaults.len().checked_sub(1),
        };
        let section = Section { line: number, name: name.to_owned(), from, lines: Vec::new() };
        match current {
            In::Proxy if name.is_empty() => {
                return Err(ImportProblem::Missing(format!("\"{keyword}\" has no name")).at(number));
            }
            In::Proxy => proxies.push(section),
            In::Defaults => {
                named.insert(section.name.clone(), defaults.len());
                defaults.push(section);
            }
            In::Other => {}
        }
    }
    Ok((proxies, defaults))
}

/// What a server is given beside its name and address.
#[derive(Clone, Default)]
struct Server {
    weight: Option<u32>,
    id: Option<u32>,
    guid: Option<String>,
    hash_key: Option<String>,
    disabled: bool,
    backup: bool,
}

/// A proxy as its lines are read, those of its defaults first.
struct Proxy {
    imported: Imported,
    nodes: Nodes,
    /// What `default-server` says, up to the line that is read.
    default: Server,
    balance: Option<(usize, Vec<String>)>,
    hash_type: Option<(usize, Vec<String>)>,
    factor: Option<(usize, u32)>,
    disabled: Option<usize>,
}

impl Proxy {
    fn new() -> Self {
        Self {
            imported: Imported::new("haproxy-chash"),
            nodes: Nodes::default(),
            default: Server::default(),
            balance: None,
            hash_type: None,
            factor: None,
            disabled: None,
        }
    }

    fn line(&mut self, line: &Line) -> Result<(), ImportError> {
        let number = line.number;
        let (directive, values) = line.words.split_first().expect("a line has a word at least");
        match directive.as_str() {
            "balance" => self.balance = Some((number, values.to_vec())),
            "hash-type" => self.hash_type = Some((number, values.to_vec())),
            "hash-balance-factor" => {
                let value = values.first().map_or("", String::as_str);
                self.factor = Some((number, super::imported::number(directive, value, 0, 65_535, number)?));
            }
            "disabled" => self.disabled = Some(number),
            "enabled" => self.disabled = None,
            "default-server" => self.default = self.parameters(self.default.clone(), values, number)?,
            "server" => self.server(values, number)?,
            "server-template" | "dispatch" => {
                let why = "it is known at run time alone; give \"server\" lines";
                return Err(ImportProblem::not_reproducible(format!("\"{directive}\""), why).at(number));
            }
            "use-server" | "cookie" | "stick" | "persist" | "force-persist" | "appsession" => {
                let note = format!("\"{directive}\" may send a request to another server than its key's; not here");
                self.imported.note(number, note);
            }
            "load-server-state-from-file" => {
                self.imported.note(number, "weights and states that HAProxy keeps in a file aren't read");
            }
            // What is left says how requests are read, changed, logged and sent.
            _ => {}
        }
        Ok(())
    }

    fn server(&mut self, values: &[String], line: usize) -> Result<(), ImportError> {
        let [name, address, parameters @ ..] = values else {
            return Err(ImportProblem::Missing("a server has a name and an address".to_owned()).at(line));
        };
        let permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !name.bytes().all(permitted) {
            let wanted = "letters, digits, \"-\", \"_\", \".\" and \":\", as HAProxy wants it";
            return Err(ImportProblem::value("name of a server", name, wanted).at(line));
        }
        let server = self.parameters(self.default.clone(), parameters, line)?;
        let address = ["ipv4@", "ipv6@"].iter().find_map(|family| address.strip_prefix(family)).unwrap_or(address);
        let by_port = server.hash_key.as_deref() == Some("addr-port");
        if by_port || server.hash_key.as_deref() == Some("addr") {
            by_address(address, by_port, line)?;
        }
        let mut node = NodeSpec::new(name.as_str()).with_address(address).with_weight(server.weight.unwrap_or(1));
        if let Some(id) = server.id {
            node = node.with_attribute("id", id.to_string());
        }
        if let Some(form) = server.hash_key {
            if form == "guid" && server.guid.is_none() {
                let reason = format!("server \"{}\" has \"hash-key guid\", but no guid", shown(name));
                return Err(ImportProblem::Missing(reason).at(line));
            }
            node = node.with_attribute("hash_key", form);
        }
        if let Some(guid) = server.guid {
            node = node.with_attribute("guid", guid);
        }
        if server.disabled {
            node = node.with_state(State::Down);
        }
        if server.backup {
            // It takes a number, but it isn't in the ring while others live.
            node = node.with_weight(0).with_attribute("backup", "true");
            let note = format!("server \"{}\" is a backup: outside the ring, so of weight 0", shown(name));
            self.imported.note(line, note);
        }
        self.nodes.add(line, node)
    }

    fn parameters(&mut self, mut server: Server, words: &[String], line: usize) -> Result<Server, ImportError> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            // `set-proxy-v2-tlv-fmt(0x20)` is one word.
            let keyword = word.split('(').next().expect("split gives one part at least");
            let Some(&(_, arguments)) = ARGUMENTS.iter().find(|(known, _)| *known == keyword) else {
                return Err(ImportProblem::Unknown { kind: "server keyword", name: shown(word) }.at(line));
            };
            let mut value = "";
            for _ in 0..arguments {
                let Some(next) = words.next() else {
                    return Err(ImportProblem::Missing(format!("\"{}\" has no value", shown(word))).at(line));
                };
                value = next;
            }
            match keyword {
                "weight" => server.weight = Some(number("weight", value, 0, 256, line)?),
                "id" => server.id = Some(number("id", value, 1, i32::MAX.unsigned_abs(), line)?),
                "guid" => server.guid = Some(value.to_owned()),
                "hash-key" => {
                    const FORMS: [&str; 5] = ["id", "id32", "guid", "addr", "addr-port"];
                    if !FORMS.contains(&value) {
                        return Err(ImportProblem::value("hash-key", value, FORMS.join(", ")).at(line));
                    }
                    server.hash_key = Some(value.to_owned());
                }
                "disabled" => server.disabled = true,
                "enabled" => server.disabled = false,
                "backup" => server.backup = true,
                "no-backup" => server.backup = false,
                "slowstart" => {
                    self.imported
                        .note(line, "\"slowstart\" lowers a server's weight for a while after it comes up; not here");
                }
                _ => {}
            }
        }
        Ok(server)
    }

    fn finish(mut self, section: &Section) -> Result<Imported, ImportError> {
        let name = shown(&section.name);
        if let Some(line) = self.disabled {
            let why = "nothing is sent to a disabled proxy";
            return Err(ImportProblem::not_reproducible(format!("backend \"{name}\""), why).at(line));
        }
        if self.nodes.is_empty() {
            return Err(ImportProblem::Missing(format!("backend \"{name}\" has no server")).at(section.line));
        }
        if let Some((line, factor @ 1..)) = self.factor {
            let why = "which server is too busy is known at run time alone; take it out to place without it";
            return Err(ImportProblem::not_reproducible(format!("\"hash-balance-factor {factor}\""), why).at(line));
        }
        let Some((line, balance)) = self.balance.take() else {
            let reason =
                format!("backend \"{name}\" has no \"balance\": it takes its servers in turn, and isn't a ring");
            return Err(ImportProblem::Missing(reason).at(section.line));
        };
        self.balance(&balance, line)?;
        let Some((line, hash_type)) = self.hash_type.take() else {
            let reason = format!(
                "backend \"{name}\" has no \"hash-type consistent\": it takes the hash modulo the weights, and isn't a ring"
            );
            return Err(ImportProblem::Missing(reason).at(section.line));
        };
        self.hash_type(&hash_type, line)?;
        self.imported.nodes = self.nodes.into_nodes();
        Ok(self.imported)
    }

    fn balance(&mut self, words: &[String], line: usize) -> Result<(), ImportError> {
        let algorithm = words.first().map_or("", String::as_str);
        let (kind, argument) = match algorithm.split_once('(') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (algorithm, None),
        };
        // HAProxy refuses an empty name; what stands behind the parenthesis it passes over, which nobody means.
        let name =
            argument.and_then(|rest| rest.strip_suffix(')')).filter(|name| !name.is_empty() && !name.contains(')'));
        let more = words.get(1..).unwrap_or_default();
        let refused =
            |what: &str, why: &str| Err(ImportProblem::not_reproducible(format!("\"{}\"", shown(what)), why).at(line));
        let note = match (kind, more) {
            ("hdr" | "rdp-cookie", _) if name.is_none() && (kind == "hdr" || argument.is_some()) => {
                let wanted = format!("{kind} with a name in parentheses");
                return Err(ImportProblem::value("balance", &words.join(" "), wanted).at(line));
            }
            ("hdr", []) => {
                self.imported.set("header", true);
                let header = shown(name.unwrap_or_default());
                format!("keys are the values of the header \"{header}\"; of a list, the first")
            }
            ("hdr", [option, ..]) if option == "use_domain_only" => {
                return refused(option, "what is hashed is cut out of the value by HAProxy, and not here");
            }
            ("uri" | "url_param" | "hash", _) if argument.is_some() => {
                let name = shown(&words.join(" "));
                return Err(ImportProblem::Unknown { kind: "balance", name }.at(line));
            }
            ("uri", []) => "keys are paths, without the query".to_owned(),
            ("uri", [whole]) if whole == "whole" => "keys are paths with the query".to_owned(),
            ("uri", [option, ..]) if matches!(option.as_str(), "len" | "depth" | "whole" | "path-only") => {
                return refused(&more.join(" "), "what is hashed is cut out of the path by HAProxy, and not here");
            }
            ("url_param", [parameter, ..]) => format!("keys are the values of the parameter \"{}\"", shown(parameter)),
            ("rdp-cookie", []) => {
                let cookie = shown(name.unwrap_or("mstshash"));
                format!("keys are the values of the RDP cookie \"{cookie}\"")
            }
            ("hash", [_, ..]) => {
                let expression = more.join(" ");
                if !expression::is_text(&expression) {
                    let why = "only expressions whose values are known to be text are taken; of others HAProxy hashes \
                               the bytes of numbers and addresses";
                    return refused(&format!("balance hash {expression}"), why);
                }
                format!("keys are the values of \"{}\"", shown(&expression))
            }
            ("source", _) => {
                return refused("balance source", "keys would be the bytes of the clients' addresses, not text");
            }
            (
                "roundrobin" | "static-rr" | "leastconn" | "first" | "random" | "log-hash" | "log-sticky" | "sticky",
                _,
            ) => {
                return refused(&format!("balance {algorithm}"), "only hashes of the request place keys on a ring");
            }
            _ => {
                let name = shown(&words.join(" "));
                return Err(ImportProblem::Unknown { kind: "balance", name }.at(line));
            }
        };
        self.imported.note(line, note);
        Ok(())
    }

    fn hash_type(&mut self, words: &[String], line: usize) -> Result<(), ImportError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (function, avalanche) = match words[..] {
            ["map-based", ..] => {
                let why = "it takes the hash modulo the weights, and isn't a ring";
                return Err(ImportProblem::not_reproducible("\"hash-type map-based\"", why).at(line));
            }
            ["consistent"] => ("sdbm", true),
            ["consistent", function] => (function, false),
            ["consistent", function, "avalanche"] => (function, true),
            _ => ("", false),
        };
        if !["sdbm", "djb2", "wt6", "crc32"].contains(&function) {
            let wanted = "consistent, then sdbm, djb2, wt6 or crc32, or nothing, then avalanche or nothing";
            return Err(ImportProblem::value("hash-type", &words.join(" "), wanted).at(line));
        }
        self.imported.set("hash", function);
        self.imported.set("avalanche", avalanche);
        Ok(())
    }
}

/// Whether the address that places a server stands in the file.
fn by_address(address: &str, by_port: bool, line: usize) -> Result<(), ImportError> {
    // Sockets and the like have no address; HAProxy places them by their numbers.
    if address.starts_with('/') || address.contains('@') {
        return Ok(());
    }
    let ip = |host: &str| host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    let (host, port) = match address.rsplit_once(':') {
        // As HAProxy does, the last colon parts the port, also of an IPv6 address without brackets.
        Some((host, port)) => (host, port),
        None => (address, ""),
    };
    if !ip(host) {
        let why = "its points are its address's, which comes from DNS at run time; give the address";
        return Err(ImportProblem::not_reproducible(format!("server address \"{}\"", shown(address)), why).at(line));
    }
    if by_port && !port.is_empty() {
        number("port of the server", port, 0, 65_535, line)?;
    }
    Ok(())
}
