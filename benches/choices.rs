//! What `Auto` chooses among where points are few, what wide points cost, and what a ring costs that other work has driven
//! from the caches.
//!
//! As in `reach`: interleaved round by round on fresh queries, medians, ratios; answers are compared in every round.
//! *Wide*: the same points with 32 bits more below them, asked at places whose top bits are the queries. *Cold*: many
//! rings, each query to another, which is how a program sees one ring that does other work between lookups.
//!
//! `cargo bench --bench choices`, with `-- 1000 16000` for some sizes only.

mod common;

use common::search::{FRESH, Search, medians};
use common::{Floor, Numbers, Pace, PartitionPoint, pin, points};
use ringway::Slot;
use ringway::layout::{Auto, Bucket, Direct, Layout, Line, PointArray, STree};

/// A layout of 64-bit points, asked at places whose heads are the queries.
struct Wide<L>(L);

impl<L: Layout<u64>> Search for Wide<L> {
    #[inline(never)]
    fn dependent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |last, &x| self.0.owner(u64::from(x ^ last) << 32).map_or(0, Slot::number))
    }
    #[inline(never)]
    fn independent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |sum, &x| sum ^ self.0.owner(u64::from(x) << 32).map_or(0, Slot::number))
    }
    #[inline(never)]
    fn batch(&self, queries: &[u32], out: &mut [Slot]) -> u32 {
        let mut places = [0; 1024];
        for (queries, out) in queries.chunks(1024).zip(out.chunks_mut(1024)) {
            places.iter_mut().zip(queries).for_each(|(place, &x)| *place = u64::from(x) << 32);
            self.0.owner_batch(&places[..queries.len()], out);
        }
        out[..queries.len()].iter().fold(0, |sum, slot| sum ^ slot.number())
    }
}

/// Many rings, of which a query's hash chooses one.
struct Cold<S>(Vec<S>);

impl<S> Cold<S> {
    #[inline(always)]
    fn ring(&self, x: u32) -> &S {
        &self.0[x.wrapping_mul(0x9E37_79B9) as usize % self.0.len()]
    }
}

impl<L: Layout<u32>> Search for Cold<L> {
    #[inline(never)]
    fn dependent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |last, &x| self.ring(x ^ last).owner(x ^ last).map_or(0, Slot::number))
    }
    #[inline(never)]
    fn independent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |sum, &x| sum ^ self.ring(x).owner(x).map_or(0, Slot::number))
    }
    fn batch(&self, queries: &[u32], _: &mut [Slot]) -> u32 {
        self.independent(queries)
    }
}

impl Search for Cold<Floor> {
    #[inline(never)]
    fn dependent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |last, &x| self.ring(x ^ last).at(x ^ last))
    }
    #[inline(never)]
    fn independent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |sum, &x| sum ^ self.ring(x).at(x))
    }
    fn batch(&self, queries: &[u32], _: &mut [Slot]) -> u32 {
        self.independent(queries)
    }
}

fn compare(title: &str, names: &[&str], searches: &[&dyn Search], pace: Pace) {
    let queries = if pace == Pace::Test { 1 << 10 } else { FRESH };
    let fresh = |seed: u64| Numbers(seed << 32 | 7).map(|x| (x >> 32) as u32).take(queries).collect();
    let figures = medians(searches, pace.rounds(201), queries, fresh);
    println!("\n{title}: ns dependent, independent, batch; ratios to {}", names[0]);
    let [first, ..] = figures[..] else { unreachable!("there are searches") };
    for (name, shapes) in names.iter().zip(&figures) {
        let ratios: Vec<f64> = shapes.iter().zip(first).map(|(shape, first)| shape / first).collect();
        println!(
            "{name:<18}{:>9.2}{:>9.2}{:>9.2}   {:>6.2}{:>6.2}{:>6.2}",
            shapes[0], shapes[1], shapes[2], ratios[0], ratios[1], ratios[2]
        );
    }
}

fn choices(len: usize, pace: Pace) {
    let naive = PartitionPoint::build(points(len));
    let (line, direct, bucket) = (Line::build(points(len)), Direct::build(points(len)), Bucket::build(points(len)));
    let (tree, auto) = (STree::build(points(len)), Auto::build(points(len)));
    let wide = points(len).iter().zip(0u64..).map(|((point, slot), n)| (u64::from(point) << 32 | n, slot)).collect();
    let wide = PointArray::from_unsorted(wide);
    let (wide_line, wide_auto) = (Wide(Line::build(wide.clone())), Wide(Auto::build(wide)));
    let searches: [&dyn Search; 8] = [&naive, &line, &auto, &direct, &bucket, &tree, &wide_line, &wide_auto];
    let names = ["partition_point", "line", "auto", "direct", "bucket", "tree", "line, 64 bits", "auto, 64 bits"];
    compare(&format!("{len} points"), &names, &searches, pace);
}

fn many<L: Layout<u32>>(rings: usize, ring: &PointArray<u32>) -> Cold<L> {
    Cold((0..rings).map(|_| L::build(ring.clone())).collect())
}

fn cold_rings(rings: usize, len: usize, pace: Pace) {
    let ring = points(len);
    let floor = Cold((0..rings).map(|_| Floor::new(len)).collect::<Vec<_>>());
    let (naive, tree) = (many::<PartitionPoint>(rings, &ring), many::<STree<u32>>(rings, &ring));
    let (line, auto) = (many::<Line<u32>>(rings, &ring), many::<Auto<u32>>(rings, &ring));
    let direct = many::<Direct<u32>>(rings, &ring);
    let searches: [&dyn Search; 6] = [&floor, &naive, &tree, &line, &auto, &direct];
    let names = ["floor", "partition_point", "tree", "line", "auto", "direct"];
    compare(&format!("{rings} rings of {len} points, no batch"), &names, &searches, pace);
}

fn main() {
    pin();
    let pace = Pace::of_arguments();
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let wanted = |len: usize| asked.is_empty() || asked.contains(&len);
    for len in [4, 16, 60, 300, 1_000, 2_000, 4_000, 16_000, 1_000_000] {
        if wanted(len) && !(pace == Pace::Test && len > 16_000) {
            choices(len, pace);
        }
    }
    for (rings, len) in [(64, 1_000), (1_024, 1_000), (1_024, 16_000)] {
        if wanted(len) {
            cold_rings(if pace == Pace::Test { 2 } else { rings }, len, pace);
        }
    }
}
