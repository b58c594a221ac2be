//! The house rules that a compiler doesn't check: which rank may use which, where `unsafe` and `as` may stand, and how
//! long a file may be. `src/lib.rs` has the table of ranks and the unsafe ledger in words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each file or folder of `src`, with its rank. A new one must be given one here.
const RANKS: &[(&str, u32)] = &[
    ("point", 0),
    ("error", 0),
    ("sync", 0),
    ("node", 1),
    ("layout", 2),
    ("publish", 1),
    ("hash", 2),
    ("pins", 2),
    ("delta", 3),
    ("table", 4),
    ("serial", 4),
    ("bounded", 5),
    ("health", 5),
    ("hot", 5),
    ("spread", 5),
    ("cluster", 5),
    ("plan", 5),
    ("balance", 5),
    ("ramp", 6),
    ("rebalance", 6),
    ("moved", 6),
    ("ring", 6),
    ("governor", 7),
    ("layered", 7),
    ("region", 5),
];

/// The unsafe ledger: files, and folders with a slash at the end.
const UNSAFE: &[&str] = &["layout/kernel/", "publish/epoch.rs"];

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("src is there") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() { walk(&path, out) } else { out.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
        (name, fs::read_to_string(&path).expect("a readable file"))
    };
    let sources: Vec<_> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs")).map(read).collect();
    assert!(sources.len() > 15, "the walk found only {} files", sources.len());
    sources
}

fn module(file: &str) -> &str {
    file.split(['/', '.']).next().expect("split gives one part at least")
}

/// The code of a file without comments, with line numbers; what stands behind `#[cfg(test)]` at the left margin is left
/// out if `tests` is false.
fn code(text: &str, tests: bool) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(move |(_, line)| tests || *line != "#[cfg(test)]")
        .map(|(number, line)| (number + 1, line.split("//").next().expect("split gives one part at least")))
}

/// The modules that a line names as `crate::module`, also inside one level of braces.
fn named_modules(line: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let rest = &line[at + "crate::".len()..];
        let inner = rest.strip_prefix('{').map_or(rest, |braced| braced.split('}').next().expect("one part"));
        let many = rest.starts_with('{');
        for part in inner.split(',').take(if many { usize::MAX } else { 1 }) {
            let name: String = part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            named.push(name);
        }
    }
    named
}

#[test]
fn modules_use_lower_ranks_only() {
    let ranks: BTreeMap<&str, u32> = RANKS.iter().copied().collect();
    let mut edges = 0;
    for (file, text) in sources().iter().filter(|(file, _)| file != "lib.rs") {
        let own = module(file);
        let rank = *ranks.get(own).unwrap_or_else(|| panic!("{file}: give module \"{own}\" a rank in RANKS"));
        for (number, line) in code(text, false) {
            for used in named_modules(line) {
                let Some(&used_rank) = ranks.get(used.as_str()) else {
                    panic!("{file}:{number}: name \"{used}\" by its module, not by lib.rs's re-export");
                };
                edges += 1;
                assert!(
                    used == own || used_rank < rank,
                    "{file}:{number}: rank {rank} must not use \"{used}\" of rank {used_rank}"
                );
            }
        }
    }
    assert!(edges > 50, "only {edges} uses found: the check doesn't see the code any more");
}

#[test]
fn unsafe_stands_in_the_ledger_only() {
    let mut found = Vec::new();
    for (file, text) in &sources() {
        for (number, line) in code(text, true) {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            if words.contains(&"unsafe") {
                let entry =
                    UNSAFE.iter().find(|entry| file == *entry || entry.ends_with('/') && file.starts_with(*entry));
                found.push(*entry.unwrap_or_else(|| panic!("{file}:{number}: unsafe outside the ledger")));
            }
        }
    }
    found.dedup();
    assert_eq!(found, UNSAFE, "the ledger names files that need no unsafe, or the check is blind");
    let lib = &sources().into_iter().find(|(file, _)| file == "lib.rs").expect("lib.rs").1;
    assert!(lib.contains("#![deny(unsafe_code)]"));
    for file in UNSAFE {
        assert!(lib.contains(&format!("`{file}`")), "src/lib.rs doesn't name {file} in its ledger");
    }
}

#[test]
fn number_casts_stand_in_point_rs_only() {
    const NUMBERS: &[&str] =
        &["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64", "_"];
    let mut allowed = 0;
    for (file, text) in &sources() {
        for (number, line) in code(text, false) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "as") {
                let target = pair[1].trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
                if NUMBERS.contains(&target) && !line.trim_start().starts_with("use ") {
                    assert_eq!(file, "point.rs", "{file}:{number}: a cast with `as` outside point.rs");
                    allowed += 1;
                }
            }
        }
    }
    assert!(allowed > 5, "the check doesn't see point.rs's casts any more");
}

#[test]
fn files_stay_below_500_lines() {
    for (file, text) in &sources() {
        let lines = text.lines().count();
        let reason = text.lines().take(12).any(|line| line.contains("500 lines"));
        assert!(lines <= 500 || reason, "{file} has {lines} lines; split it, or give the reason at its top");
    }
}

/// Where a key lands mustn't depend on the machine: bytes have an order that is said, and numbers a width. (`ci/portable.sh` runs
/// golden vectors on a big-endian machine and on one of 32 bits, where Miri is at hand; this is for where it isn't.)
#[test]
fn no_bytes_are_read_in_the_machines_own_order() {
    for (file, text) in &sources() {
        for (number, line) in code(text, true) {
            for word in ["_ne_bytes", "transmute", "align_to", "usize::from_le", "usize::from_be", "as_bytes_of"] {
                assert!(!line.contains(word), "{file}:{number}: {word} reads bytes as this machine has them");
            }
        }
    }
}
