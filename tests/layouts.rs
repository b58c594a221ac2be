//! One suite for every layout and every width, against a naive scan. A new layout is one line below.

mod common;

use common::Rng;
use common::searches::{Width, check, numbered, questions};
use ringway::Slot;
use ringway::layout::{Edit, Layout, PointArray};

macro_rules! layouts {
    ($($name:ident: $layout:ident),* $(,)?) => {$(
        mod $name {
            layouts!(@width $layout u32 u64 u128);
        }
    )*};
    (@width $layout:ident $($point:ident)*) => {$(
        mod $point {
            layouts!(@tests $layout, $point; a_ring_without_points_has_no_owner, lengths_from_one_to_seventy,
                lengths_around_powers_of_two, doubled_points, all_points_equal, clusters, equal_heads,
                consecutive_integers, powers_of_two, the_ends_of_the_circle, owners_of_32_bits, batches_of_every_length,
                a_patched_layout_answers_as_a_built_one, a_recycled_layout_is_the_built_one, a_million_points);
        }
    )*};
    (@tests $layout:ident, $point:ident; $($test:ident),*) => {$(
        #[test]
        fn $test() {
            crate::$test::<$point, ringway::layout::$layout<$point>>();
        }
    )*};
}

layouts! {
    sorted: Sorted,
    eytzinger: Eytzinger,
    line: Line,
    auto: Auto,
    bucket: Bucket,
    direct: Direct,
    s_tree: STree,
}

fn check_points<P: Width, L: Layout<P>>(points: impl IntoIterator<Item = P>, rng: &mut Rng) {
    let mut points = numbered(points, 0);
    rng.shuffle(&mut points);
    let layout = L::build(PointArray::from_unsorted(points.clone()));
    check(&layout, &points, &questions(&points, rng, 20));
}

fn random<P: Width>(rng: &mut Rng, len: usize) -> Vec<P> {
    (0..len).map(|_| P::random(rng)).collect()
}

fn a_ring_without_points_has_no_owner<P: Width, L: Layout<P>>() {
    for layout in [L::build(PointArray::empty()), L::build(PointArray::from_unsorted(Vec::new()))] {
        check(&layout, &[], &questions(&[], &mut Rng::new(1), 20));
        assert_eq!(layout.owner_batch(&[], &mut []), 0);
        let mut out = [Slot::new(7); 3];
        assert_eq!(layout.owner_batch(&[P::MIN, P::ONE, P::MAX], &mut out), 0);
        assert_eq!(out, [Slot::new(7); 3], "nothing is written");
    }
}

fn lengths_from_one_to_seventy<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(2);
    for len in 1..=70 {
        check_points::<P, L>(random(&mut rng, len), &mut rng);
    }
}

fn lengths_around_powers_of_two<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(3);
    for len in [127, 128, 129, 255, 256, 257, 511, 512, 513, 700] {
        check_points::<P, L>(random(&mut rng, len), &mut rng);
    }
}

fn doubled_points<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(4);
    for (len, distinct) in [(2, 1), (3, 2), (10, 3), (64, 8), (100, 50), (300, 7)] {
        let values: Vec<P> = random(&mut rng, distinct);
        let points: Vec<P> = (0..len).map(|_| *rng.pick(&values)).collect();
        check_points::<P, L>(points, &mut rng);
    }
}

fn all_points_equal<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(5);
    for point in [P::MIN, P::ONE, P::at(77, 5), P::MAX] {
        for len in [1, 2, 3, 4, 7, 8, 63, 64, 65] {
            check_points::<P, L>(vec![point; len], &mut rng);
        }
    }
}

fn clusters<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(6);
    for (centres, each) in [(1, 100), (3, 40), (20, 9)] {
        let centres: Vec<P> = random(&mut rng, centres);
        let around = |rng: &mut Rng, centre: P| centre.clockwise(P::low(u128::from(rng.number(64))));
        let points: Vec<P> =
            centres.iter().flat_map(|&c| (0..each).map(|_| around(&mut rng, c)).collect::<Vec<_>>()).collect();
        check_points::<P, L>(points, &mut rng);
    }
}

/// Heads tie, tails decide; and beside them heads one below and one above, and the ends of a head's range.
fn equal_heads<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(7);
    for head in [0, 1, 1 << 31, u32::MAX] {
        for len in [1, 2, 3, 31, 100] {
            let tails: Vec<P> = (0..len).map(|_| P::at(head, rng.wide())).collect();
            check_points::<P, L>(tails.iter().copied(), &mut rng);
            let ends = [0, u128::MAX];
            let beside = [head.wrapping_sub(1), head, head.wrapping_add(1)];
            let beside = beside.into_iter().flat_map(|head| ends.map(|tail| P::at(head, tail)));
            check_points::<P, L>(tails.iter().copied().chain(beside), &mut rng);
        }
    }
}

fn consecutive_integers<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(8);
    for len in [2, 5, 64, 200] {
        let below = P::low(len / 2);
        for start in [P::MIN, P::at(1 << 31, 0).minus(below), P::at(9, 0).minus(below), P::MIN.minus(below)] {
            check_points::<P, L>((0..len).map(|n| start.clockwise(P::low(n))), &mut rng);
        }
    }
}

fn powers_of_two<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(9);
    let powers: Vec<P> = (0..P::BITS).map(|bit| P::low(1 << bit)).collect();
    check_points::<P, L>(powers.iter().copied(), &mut rng);
    check_points::<P, L>(powers.iter().map(|&power| P::MAX.minus(power)), &mut rng);
    check_points::<P, L>(powers.iter().flat_map(|&p| [p.minus(P::ONE), p, p.clockwise(P::ONE)]), &mut rng);
}

fn the_ends_of_the_circle<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(10);
    let (min, max) = (P::MIN, P::MAX);
    let sets: [&[P]; 7] = [&[min], &[max], &[min, max], &[max, max, min], &[min, min, max], &[P::ONE], &[max, P::ONE]];
    for set in sets {
        check_points::<P, L>(set.iter().copied(), &mut rng);
    }
}

/// Slots on both sides of the last that fits 16 bits with two marks to spare, and of 2^16.
fn owners_of_32_bits<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(11);
    let first: [u32; 6] = [65_433, 65_434, 65_435, 65_436, 65_500, 200_000];
    for first in first {
        let points = numbered(random::<P>(&mut rng, 100), first);
        let layout = L::build(PointArray::from_unsorted(points.clone()));
        check(&layout, &points, &questions(&points, &mut rng, 20));
    }
}

fn batches_of_every_length<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(12);
    let points = numbered(random::<P>(&mut rng, 90), 0);
    let layout = L::build(PointArray::from_unsorted(points.clone()));
    let mark = Slot::new(u32::MAX);
    for len in 0..=130usize {
        let asked: Vec<P> = questions(&points, &mut rng, 5).into_iter().cycle().skip(len).take(len).collect();
        for room in [0, 1, len.saturating_sub(1), len, len + 1, len + 70] {
            let mut out = vec![mark; room];
            let written = layout.owner_batch(&asked, &mut out);
            assert_eq!(written, len.min(room), "{} keys, room for {room}", len);
            let one_by_one = asked[..written].iter().map(|&x| layout.owner(x).expect("there are points"));
            assert!(out[..written].iter().copied().eq(one_by_one));
            assert!(out[written..].iter().all(|&slot| slot == mark), "the rest of the room stays as it was");
        }
    }
}

fn a_patched_layout_answers_as_a_built_one<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(13);
    let mut points = numbered(random::<P>(&mut rng, 60), 0);
    points.sort_unstable();
    let mut layout = L::build(PointArray::from_unsorted(points.clone()));
    for round in 0..40 {
        let goes = |rng: &mut Rng| rng.percent(if round % 10 == 9 { 100 } else { 30 });
        let (removed, mut next): (Vec<_>, Vec<_>) = points.iter().partition(|_| goes(&mut rng));
        let mut added = numbered(random::<P>(&mut rng, round % 30), 100 * round as u32);
        if let Some(&(point, _)) = next.first() {
            added.push((point, Slot::new(90_000)));
        }
        added.sort_unstable();
        next.extend(&added);
        next.sort_unstable();
        layout = layout.patch(PointArray::from_unsorted(next.clone()), &Edit { removed: &removed, added: &added });
        check(&layout, &next, &questions(&next, &mut rng, 10));
        let built = L::build(PointArray::from_unsorted(next.clone()));
        assert_eq!(format!("{layout:?}"), format!("{built:?}"), "the same in every field");
        points = next;
    }
}

/// Three layouts in turn, the oldest made the next one each time; the merge is handed the oldest's points, and may fail.
fn a_recycled_layout_is_the_built_one<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(15);
    let mut points = numbered(random::<P>(&mut rng, 400), 0);
    points.sort_unstable();
    let build = |points: &[(P, Slot)]| L::build(PointArray::from_unsorted(points.to_vec()));
    let mut layouts = std::collections::VecDeque::from([(build(&points), points.clone())]);
    let mut edits = std::collections::VecDeque::new();
    for round in 0..60u32 {
        // Few changes, so that most rounds keep the size of an index; every tenth empties or fills a half of the circle.
        let half = round % 20 == 9;
        let goes = |rng: &mut Rng, point: P| if half { point.head() >> 31 == 1 } else { rng.percent(2) };
        let (removed, mut next): (Vec<_>, Vec<_>) = points.iter().partition(|(point, _)| goes(&mut rng, *point));
        let mut added = numbered(random::<P>(&mut rng, if half { 100 } else { 8 }), 100 * round);
        added.sort_unstable();
        next.extend(&added);
        next.sort_unstable();
        edits.push_back((removed, added));
        let Some((present, _)) = layouts.back() else { unreachable!("one at least") };
        let layout = if layouts.len() == 3 {
            let all: Vec<Edit<'_, P>> = edits.iter().map(|(removed, added)| Edit { removed, added }).collect();
            let (spare, old) = layouts.front().map(|(_, points)| (build(points), points.clone())).expect("three");
            let failed = present.try_recycle(spare, &all, |_| Err(Refused::Merge));
            assert_eq!(failed.err(), Some(Refused::Merge));
            let (spare, _) = layouts.pop_front().expect("three");
            let Some((present, _)) = layouts.back() else { unreachable!("two are left") };
            let merged = |used: PointArray<P>| {
                assert!(used.iter().eq(old), "the spare's points");
                Ok(PointArray::from_unsorted(next.clone()))
            };
            present.try_recycle::<Refused>(spare, &all, merged).expect("memory")
        } else {
            build(&next)
        };
        if layouts.len() == 2 && edits.len() == 3 {
            edits.pop_front();
        }
        check(&layout, &next, &questions(&next, &mut rng, 10));
        assert_eq!(format!("{layout:?}"), format!("{:?}", build(&next)), "the same in every field");
        points = next.clone();
        layouts.push_back((layout, next));
    }
}

#[derive(Debug, PartialEq)]
enum Refused {
    Merge,
    Memory,
}

impl From<std::collections::TryReserveError> for Refused {
    fn from(_: std::collections::TryReserveError) -> Self {
        Self::Memory
    }
}

/// More points than fit the caches, so many that the line's fingerprints are whole `u32` points, and one fewer, each
/// patched from the other; spread evenly enough to come sorted, since sorting them is
/// most of the time otherwise. The scan is a walk along sorted questions.
fn a_million_points<P: Width, L: Layout<P>>() {
    let mut rng = Rng::new(14);
    let len = 1 << 20;
    let points = (0..len).map(|n: u32| P::at(n << 12 | rng.number(1 << 12), rng.wide()));
    let points: Vec<(P, Slot)> = numbered(points, 0);
    let (last, but_one) = points.split_last().expect("there are some");
    let fewer = L::build(PointArray::from_unsorted(but_one.to_vec()));
    let added = Edit { removed: &[], added: std::slice::from_ref(last) };
    let layout = fewer.patch(PointArray::from_unsorted(points.clone()), &added);
    let removed = Edit { removed: std::slice::from_ref(last), added: &[] };
    let fewer = layout.patch(PointArray::from_unsorted(but_one.to_vec()), &removed);
    let mut near: Vec<(P, Slot)> = (0..300).map(|_| *rng.pick(&points)).collect();
    near.extend([points[0], points[points.len() - 1]]);
    let mut asked = questions(&near, &mut rng, 300);
    asked.sort_unstable();
    for (layout, points) in [(&layout, &points[..]), (&fewer, but_one)] {
        let built = L::build(PointArray::from_unsorted(points.to_vec()));
        assert_eq!(layout.index_bytes(), built.index_bytes(), "of the same kind");
        let mut below = 0;
        for &x in &asked {
            while below < points.len() && points[below].0 < x {
                below += 1;
            }
            assert_eq!(layout.rank(x), below, "{x:?}");
            assert_eq!(layout.owner(x), Some(points[below % points.len()].1), "{x:?}");
        }
        let mut batch = vec![Slot::new(u32::MAX); asked.len()];
        assert_eq!(layout.owner_batch(&asked, &mut batch), asked.len());
        assert!(asked.iter().map(|&x| layout.owner(x)).eq(batch.into_iter().map(Some)));
    }
}
