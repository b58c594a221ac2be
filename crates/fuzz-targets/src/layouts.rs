//! Every layout of every width, built, patched and recycled, against a scan.

use ringway::Slot;
use ringway::layout::{Auto, Bucket, Direct, Edit, Eytzinger, Layout, Line, PointArray, STree, Sorted};

use crate::common::Rng;
use crate::common::searches::{Width, check, questions};

/// Fuzzes [`Layout`]s.
pub fn layouts(data: &[u8]) {
    let mut rng = Rng::of_bytes(data);
    match rng.below(3) {
        0 => width::<u32>(&mut rng),
        1 => width::<u64>(&mut rng),
        _ => width::<u128>(&mut rng),
    }
}

/// Points with owners, in rank order, each equal (point, slot) once.
type Points<P> = Vec<(P, Slot)>;

fn width<P: Width>(rng: &mut Rng) {
    let mut states = vec![sorted(some_points::<P>(rng, 160))];
    let mut edits = Vec::new();
    for _ in 0..3 {
        let before = &states[states.len() - 1];
        let chance = [0, 5, 50, 100][rng.below(4)];
        let (removed, mut next): (Points<P>, Points<P>) = before.iter().partition(|_| rng.percent(chance));
        let mut added = sorted(some_points::<P>(rng, 40));
        added.retain(|point| !next.contains(point) && !removed.contains(point));
        next.extend(&added);
        edits.push((removed, added));
        states.push(sorted(next));
    }
    let asked: Vec<Vec<P>> = states.iter().map(|points| questions(points, rng, 8)).collect();
    layout::<P, Sorted<P>>(&states, &edits, &asked);
    layout::<P, Eytzinger<P>>(&states, &edits, &asked);
    layout::<P, Line<P>>(&states, &edits, &asked);
    layout::<P, STree<P>>(&states, &edits, &asked);
    layout::<P, Bucket<P>>(&states, &edits, &asked);
    layout::<P, Direct<P>>(&states, &edits, &asked);
    layout::<P, Auto<P>>(&states, &edits, &asked);
}

fn layout<P: Width, L: Layout<P>>(states: &[Points<P>], edits: &[(Points<P>, Points<P>)], asked: &[Vec<P>]) {
    let array = |points: &Points<P>| PointArray::from_unsorted(points.clone());
    let build = |points: &Points<P>| L::build(array(points));
    let shown = |layout: &L| format!("{layout:?}");
    let mut layout = build(&states[0]);
    check(&layout, &states[0], &asked[0]);
    for ((points, (removed, added)), asked) in states[1..].iter().zip(edits).zip(&asked[1..]) {
        layout = layout.patch(array(points), &Edit { removed, added });
        check(&layout, points, asked);
        assert_eq!(shown(&layout), shown(&build(points)), "{}: a patched layout is the built one", L::NAME);
    }
    // The first one's memory for the last: it missed all edits, of which the present one lacks the last.
    let missed: Vec<_> = edits.iter().map(|(removed, added)| Edit { removed, added }).collect();
    let (present, last) = (&states[states.len() - 2], &states[states.len() - 1]);
    let merge = |_| Ok::<_, std::collections::TryReserveError>(array(last));
    let recycled =
        build(present).try_recycle(build(&states[0]), &missed, merge).expect("there is memory for 300 points");
    check(&recycled, last, &asked[asked.len() - 1]);
    assert_eq!(shown(&recycled), shown(&build(last)), "{}: a recycled layout is the built one", L::NAME);
}

fn sorted<P: Width>(mut points: Points<P>) -> Points<P> {
    points.sort_unstable();
    points.dedup();
    points
}

/// Points that are anywhere, near each other, in few buckets, or at the ends of the circle; with owners of 16 bits or more.
fn some_points<P: Width>(rng: &mut Rng, most: usize) -> Points<P> {
    let (len, kind) = (rng.below(most + 1), rng.below(5));
    let first_slot = [0, 65_500, 1 << 20][rng.below(3)];
    let mut last = P::random(rng);
    let mut points = Vec::new();
    for _ in 0..len {
        last = match kind {
            0 => P::random(rng),
            1 => last.clockwise(P::low(rng.next() as u128 & 0xF)),
            2 => P::at(rng.number(256) << 24, 0),
            3 => P::at(0x8000_0000, u128::from(rng.number(256))),
            _ => [P::MIN, P::MAX][rng.below(2)].minus(P::low(u128::from(rng.number(4)))),
        };
        points.push((last, Slot::new(first_slot + rng.number(64))));
    }
    points
}
