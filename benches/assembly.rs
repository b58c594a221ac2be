//! Lookups as functions of their own, for `ci/assembly.sh` to read what the compiler made of them. Checks the answers.
//!
//! Not inlined, so that each has a beginning and an end. What stands here is what a program's hot loop would contain:
//! everything above the layout's search is generic over nothing any more.

mod common;

use common::{QUERIES, keys, nodes, queries};
use ringway::layout::{Auto, Line, Sorted};
use ringway::{Native, Node, Reader, Ring, Snapshot, Table};

#[inline(never)]
fn lookup_static_line(table: &Table<(), Native, Line<u32>>, x: u32) -> Option<&Node> {
    table.owner_at(x)
}

#[inline(never)]
fn lookup_reader_line(reader: &mut Reader<(), Native, Line<u32>>, x: u32) -> Option<&Node> {
    reader.owner_at(x)
}

#[inline(never)]
fn lookup_reader_sorted(reader: &mut Reader<(), Native, Sorted<u32>>, x: u32) -> Option<&Node> {
    reader.owner_at(x)
}

#[inline(never)]
fn lookup_reader_auto(reader: &mut Reader<(), Native, Auto<u32>>, x: u32) -> Option<&Node> {
    reader.owner_at(x)
}

#[inline(never)]
fn lookup_reader_key<'r>(reader: &'r mut Reader<(), Native, Line<u32>>, key: &[u8]) -> Option<&'r Node> {
    reader.owner(key)
}

/// What must not be found in the others: counting a reference is a locked instruction.
#[inline(never)]
fn control_count(table: &Snapshot<(), Native, Line<u32>>) -> Snapshot<(), Native, Line<u32>> {
    table.clone()
}

fn main() {
    let ring = || Ring::builder().points_per_weight(160).nodes(nodes(100));
    let (_one, line) = ring().layout::<Line<u32>>().build().expect("a plain ring");
    let (_two, sorted) = ring().layout::<Sorted<u32>>().build().expect("a plain ring");
    let (_three, auto) = ring().build().expect("a plain ring");
    let (table, mut line, mut sorted, mut auto) = (line.snapshot(), line.reader(), sorted.reader(), auto.reader());
    assert!(std::ptr::eq(&*control_count(&table), &*table));
    let points: Vec<(u32, &Node)> = table.points().collect();
    let mut checked = 0;
    for (x, key) in queries().into_iter().zip(keys()) {
        let expected = points[points.partition_point(|&(point, _)| point < x) % points.len()].1.id();
        assert_eq!(lookup_static_line(&table, x).expect("points").id(), expected);
        assert_eq!(lookup_reader_line(&mut line, x).expect("points").id(), expected);
        assert_eq!(lookup_reader_sorted(&mut sorted, x).expect("points").id(), expected);
        assert_eq!(lookup_reader_auto(&mut auto, x).expect("points").id(), expected);
        let by_key = lookup_reader_key(&mut line, key.as_bytes()).expect("points").id().clone();
        assert_eq!(
            lookup_static_line(&table, (seahash::hash(key.as_bytes()) >> 32) as u32).expect("points").id(),
            &by_key
        );
        checked += 1;
    }
    assert_eq!(checked, QUERIES);
    println!("{checked} queries, all right");
}
