//! Searches side by side: interleaved round by round on fresh queries, so that a noisy machine hits all alike.

use std::hint::black_box;
use std::time::Instant;

use ringway::Slot;
use ringway::layout::Layout;

use super::Floor;

/// Queries a round, new ones each time. Few, so that most rounds fit between two interruptions by other work.
pub const FRESH: usize = 1 << 13;

/// A way to search, asked in three shapes; each returns something of all answers.
pub trait Search {
    fn dependent(&self, queries: &[u32]) -> u32;
    fn independent(&self, queries: &[u32]) -> u32;
    fn batch(&self, queries: &[u32], out: &mut [Slot]) -> u32;
}

impl<L: Layout<u32>> Search for L {
    #[inline(never)]
    fn dependent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |last, &x| self.owner(x ^ last).map_or(0, Slot::number))
    }
    #[inline(never)]
    fn independent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |sum, &x| sum ^ self.owner(x).map_or(0, Slot::number))
    }
    #[inline(never)]
    fn batch(&self, queries: &[u32], out: &mut [Slot]) -> u32 {
        for (queries, out) in queries.chunks(1024).zip(out.chunks_mut(1024)) {
            self.owner_batch(queries, out);
        }
        out[..queries.len()].iter().fold(0, |sum, slot| sum ^ slot.number())
    }
}

impl Search for Floor {
    #[inline(never)]
    fn dependent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |last, &x| self.at(x ^ last))
    }
    #[inline(never)]
    fn independent(&self, queries: &[u32]) -> u32 {
        queries.iter().fold(0, |sum, &x| sum ^ self.at(x))
    }
    #[inline(never)]
    fn batch(&self, queries: &[u32], out: &mut [Slot]) -> u32 {
        for (&x, out) in queries.iter().zip(&mut *out) {
            *out = Slot::new(self.at(x));
        }
        out[..queries.len()].iter().fold(0, |sum, slot| sum ^ slot.number())
    }
}

/// Medians of (dependent, independent, batch), ns a query, for each of `searches`. The first is the floor, whose answers
/// aren't compared.
pub fn medians(
    searches: &[&dyn Search],
    rounds: usize,
    queries: usize,
    next: impl Fn(u64) -> Vec<u32>,
) -> Vec<[f64; 3]> {
    let mut times = vec![[const { Vec::new() }; 3]; searches.len()];
    let mut out = vec![Slot::default(); queries];
    for round in 0..rounds as u64 {
        for shape in 0..3 {
            let queries = next(round * 3 + shape as u64);
            let mut expected = None;
            for (n, (search, times)) in searches.iter().zip(&mut times).enumerate() {
                let start = Instant::now();
                let sum = match shape {
                    0 => search.dependent(black_box(&queries)),
                    1 => search.independent(black_box(&queries)),
                    _ => search.batch(black_box(&queries), &mut out),
                };
                times[shape].push(start.elapsed().as_nanos() as f64 / queries.len() as f64);
                if n > 0 {
                    assert_eq!(*expected.get_or_insert(sum), sum, "search {n} disagrees with the first");
                }
            }
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    times.into_iter().map(|shapes| shapes.map(median)).collect()
}
