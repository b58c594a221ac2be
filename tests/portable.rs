//! Golden vectors in few steps, for machines that are emulated: `ci/portable.sh` runs these under Miri, big-endian and on 32 bits.
//! Here they run too, and say nothing that `golden` doesn't.

mod common;

use common::Rng;
use common::searches::{Width, check, numbered, questions};
use ringway::layout::{Bucket, Direct, Eytzinger, Layout, Line, PointArray, STree, Sorted};
use ringway::scheme::{Keyed, MultiProbe, Probes, Scheme, Secret, Xxh3};
use ringway::{Native, NodeId, Point, Ring, Table};

/// Lines of plain columns: no quotes or escapes, so that no parser is asked.
fn rows(text: &str, most: usize) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.contains(['\\', '"'])).map(|line| line.split('\t').collect()).take(most)
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text, 16).expect("a point")
}

fn check_scheme(scheme: &impl Scheme<Point = u32, Seed = ()>, labels: &str, keys: &str) {
    for row in rows(labels, 40) {
        let number: u32 = row[1].parse().expect("a number");
        // The last label there is has none after it.
        let Some(end) = number.checked_add(1) else { continue };
        let mut points = Vec::new();
        scheme.points(&NodeId::new(row[0]).expect("an id"), &(), number..end, &mut points);
        assert_eq!(points, [hex(row[2])], "{row:?}");
    }
    for row in rows(keys, 40) {
        assert_eq!(scheme.key_point(row[0].as_bytes()), hex(row[1]), "{row:?}");
        let (head, tail) = row[0].as_bytes().split_at(row[0].len() / 3);
        assert_eq!(scheme.key_point_of_parts(&[head, tail]), hex(row[1]), "{row:?} in parts");
    }
}

#[test]
fn labels_and_keys() {
    let native = include_str!("golden/native/labels.tsv");
    check_scheme(&Native::new(), native, include_str!("golden/native/keys.tsv"));
    check_scheme(&Xxh3::new(), include_str!("golden/xxh3/labels.tsv"), include_str!("golden/xxh3/keys.tsv"));
    let secret = Secret::from_hex(include_str!("golden/keyed/secret.hex").trim()).expect("a secret");
    let keyed = Keyed::new(secret);
    check_scheme(&keyed, include_str!("golden/keyed/labels.tsv"), include_str!("golden/keyed/keys.tsv"));
}

#[test]
fn probes() {
    let scheme = MultiProbe::new(Native::new(), Probes::new(5).expect("few"));
    for row in rows(include_str!("golden/multiprobe/probes.tsv"), 20) {
        let hash = scheme.key_hash(row[0].as_bytes());
        for (number, point) in (0..5).zip(&row[1..]) {
            assert_eq!(scheme.probe(hash, number), hex(point), "probe {number} of {row:?}");
        }
    }
}

#[test]
fn inner_points_of_layers() {
    for row in rows(include_str!("golden/layered/points.tsv"), usize::MAX).skip(1) {
        let (point, inner): (u128, u128) = (row[1].parse().expect("a number"), row[2].parse().expect("a number"));
        let found = match row[0] {
            "32" => u32::from_u128(point).expect("32 bits").mixed().to_u128(),
            "64" => u64::from_u128(point).expect("64 bits").mixed().to_u128(),
            _ => point.mixed(),
        };
        assert_eq!(found, inner, "{row:?}");
    }
}

/// The bytes, both fingerprints in them, and all that they stand for.
#[test]
fn a_dumped_table() {
    let bytes = include_bytes!("golden/dump/sample.dump");
    let builder = Ring::builder().scheme(Native::new().with_points_per_weight(4));
    let read = |payload: &[u8]| payload.try_into().map(u32::from_le_bytes).map_err(|_| "not 4 bytes".to_owned());
    let table: Table<u32> = builder.restore_table(bytes, read).expect("the golden file");
    assert_eq!(table.dump(|payload, out| out.extend(payload.to_le_bytes())), bytes);
    table.validate().expect("valid");
}

fn layouts<P: Width>(rng: &mut Rng) {
    let points = (0..40).map(|n| if n % 4 == 0 { P::at(rng.number(9) << 28, 7) } else { P::random(rng) });
    let points = numbered(points.collect::<Vec<P>>(), 65_500);
    let asked = questions(&points, rng, 10);
    fn one<P: Width, L: Layout<P>>(points: &[(P, ringway::Slot)], asked: &[P]) {
        check(&L::build(PointArray::from_unsorted(points.to_vec())), points, asked);
    }
    one::<P, Sorted<P>>(&points, &asked);
    one::<P, Eytzinger<P>>(&points, &asked);
    one::<P, Line<P>>(&points, &asked);
    one::<P, STree<P>>(&points, &asked);
    one::<P, Bucket<P>>(&points, &asked);
    one::<P, Direct<P>>(&points, &asked);
}

#[test]
fn searches_of_every_layout() {
    let mut rng = Rng::new(0x90B7);
    layouts::<u32>(&mut rng);
    layouts::<u64>(&mut rng);
    layouts::<u128>(&mut rng);
}
