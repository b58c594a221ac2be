//! A soak's readers.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use ringway::layout::Layout;
use ringway::publish::Publish;
use ringway::scheme::Native;
use ringway::{Handle, Node, Snapshot, Table};

use super::{Canary, Fault, KEPT, Shared};
use crate::live::random::Random;
use crate::naive;

/// A reader's part: how many lookups, and how many of them were held against a scan.
pub(super) fn look<L: Layout<u32>, P: Publish>(
    handle: &Handle<Canary, Native, L, P>,
    shared: &Shared,
    mut random: Random,
) -> (u64, u64) {
    let mut reader = handle.reader();
    let mut kept: Vec<(u64, Snapshot<Canary, Native, L>)> = Vec::new();
    let (mut lookups, mut scans, mut last) = (0u64, 0u64, 0);
    while !shared.stop.load(Ordering::Relaxed) {
        // Acquire: the commit that returned this version happens before the lookup.
        let returned = shared.returned.load(Ordering::Acquire);
        let key = random.next().to_le_bytes();
        lookups += 1;
        let table = reader.table();
        let version = table.version();
        if version < returned || version < last {
            shared
                .blame(format!("version {version} was read after {last}, and after the commit of {returned} returned"));
            break;
        }
        last = version;
        if table.owner(&key).is_some_and(|node| !node.payload().sings()) {
            shared.blame(format!("a payload of version {version} was freed"));
            break;
        }
        if lookups % 64 == 0
            && let Err(fault) = policies(table, &key)
        {
            shared.blame(fault);
            break;
        }
        if lookups % 4096 == 0 {
            scans += 1;
            if let Err(fault) = scan(table, &key) {
                shared.blame(fault);
                break;
            }
        }
        match random.below(1 << 14) {
            0 if kept.len() < KEPT => {
                let snapshot = handle.snapshot();
                kept.push((snapshot.version(), snapshot));
            }
            1 if !kept.is_empty() => {
                let (version, snapshot) = kept.swap_remove(random.below(kept.len()));
                scans += 1;
                if snapshot.version() != version || scan(&snapshot, &key).is_err() {
                    shared.blame(format!("a snapshot of version {version} changed"));
                    break;
                }
            }
            2 => reader.park(),
            3 => reader = handle.reader(),
            4 => thread::sleep(Duration::from_micros(random.below_u32(500).into())),
            _ => {}
        }
    }
    (lookups, scans)
}

/// The successor of the key's point by a look at every point.
pub(super) fn scan<L: Layout<u32>>(table: &Table<Canary, Native, L>, key: &[u8]) -> Result<(), Fault> {
    let point = u32::try_from(naive::sea_hash(key) >> 32).unwrap_or(u32::MAX);
    let mut points = table.points();
    let first = points.next();
    let expected = first.into_iter().chain(points).find(|(at, _)| *at >= point).or_else(|| table.points().next());
    let (found, expected) = (table.owner(key).map(Node::id), expected.map(|(_, node)| node.id()));
    if found == expected { Ok(()) } else { Err(format!("key {key:?} belongs to {found:?}, by a scan to {expected:?}")) }
}

/// What holds among the answers of one table, whatever the states are.
pub(super) fn policies<L: Layout<u32>>(table: &Table<Canary, Native, L>, key: &[u8]) -> Result<(), Fault> {
    let mut replicas = [None; 4];
    let found = table.replicas(key, &mut replicas);
    let ids: Vec<_> = replicas.iter().flatten().map(|node| node.id()).collect();
    let distinct = (0..ids.len()).all(|n| !ids[..n].contains(&ids[n]));
    if ids.len() != found || !distinct || ids.first().copied() != table.owner(key).map(Node::id) {
        return Err(format!("replicas of {key:?}: {ids:?}, with the owner {:?}", table.owner(key)));
    }
    if table.route(key).is_some_and(|node| !node.payload().sings()) {
        return Err("a routed node's payload was freed".to_owned());
    }
    Ok(())
}
