//! The direct table: the owner itself for each of many small parts of the circle, for rings of few points.
//!
//! ```text
//! circle   |........|....b...|........|........|.c......|........|   16 to 32 cells a point; b and c are points
//! cells    |   b    | search |   c    |   c    | search |   d    |   a cell without a point has one owner
//! ```
//! A lookup is a shift and a load, the floor of what a lookup can cost; one in 16 to 32 meets a cell with points in it and
//! is left to the [bucket index](super::Bucket). Cells take 32 to 64 bytes a point, which the nearest caches hold for few
//! points only: rings of more than [`MOST`] have no cells, and are the bucket index with one predicted branch more.
//!
//! Invariants
//! - D1: a cell is the slot that owns all of it, or [`SEARCH`].
//! - D2: there are cells exactly if there are points, at most [`MOST`], and all slots fit 16 bits; how many follows from P.

use std::collections::TryReserveError;

use super::array::{NARROW_SLOTS, Owners};
use super::{Bucket, Edit, Layout, PointArray, room};
use crate::node::Slot;
use crate::point::{Point, index};

/// Cells a point, at least; less than twice as many, since their number is a power of two.
const CELLS: usize = 16;

/// With more points a direct table isn't built.
///
/// ns dependent / independent, direct against bucket: 300 points 3.2 / 1.4, 11.9 / 3.4; 1,000: 4.0 / 1.7, 11.8 / 3.2; 2,000:
/// 5.5 / 1.8, 11.7 / 3.2; 4,000: 6.8 / 2.0, 12.3 / 3.4 (Xeon, Sapphire Rapids, 2026-11-30, interleaved, lower quartiles of
/// 101). With the caches to itself, that is; a table of 128 KiB leaves little of them to others.
const MOST: usize = 4096;

/// The mark of a cell with points in it.
const SEARCH: u16 = u16::MAX;

/// Table of owners over the bucket index, for up to 4,096 points; 39 to 72 bytes a point together with the canonical
/// arrays. With more points there is no table, and it is the bucket index alone.
///
/// # Complexity
/// A lookup takes one load, and in at most one of 16 of evenly spread places a [`Bucket`]'s.
#[derive(Debug, Clone, PartialEq)]
pub struct Direct<P: Point> {
    bucket: Bucket<P>,
    cells: Vec<u16>,
    /// A head shifted right by this is its cell's number.
    shift: u32,
}

impl<P: Point> Layout<P> for Direct<P> {
    const NAME: &'static str = "direct";

    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError> {
        Self::over(Bucket::try_build(points)?)
    }

    fn try_patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Result<Self, TryReserveError> {
        // Cells aren't patched: filling the table is writing 128 KiB at most, in runs (7 µs for 1,000 points).
        Self::over(self.bucket.try_patch(points, edit)?)
    }

    fn into_points(self) -> PointArray<P> {
        self.bucket.into_points()
    }

    #[inline(always)]
    fn points(&self) -> &PointArray<P> {
        self.bucket.points()
    }

    #[inline(always)]
    fn rank(&self, x: P) -> usize {
        self.bucket.rank(x)
    }

    #[inline(always)]
    fn owner(&self, x: P) -> Option<Slot> {
        match self.cells.get(index(x.head() >> self.shift)) {
            Some(&slot) if slot != SEARCH => Some(Slot::new(u32::from(slot))),
            _ => self.bucket.owner(x),
        }
    }

    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        if self.cells.is_empty() {
            return self.bucket.owner_batch(xs, out);
        }
        for (&x, out) in xs.iter().zip(&mut *out) {
            *out = self.owner(x).unwrap_or_default(); // cells: there are points (D2)
        }
        xs.len().min(out.len())
    }

    fn index_bytes(&self) -> usize {
        self.bucket.index_bytes() + size_of_val(&self.cells[..])
    }
}

impl<P: Point> Direct<P> {
    fn over(bucket: Bucket<P>) -> Result<Self, TryReserveError> {
        let points = bucket.points();
        let (1..=MOST, Owners::Narrow(owners)) = (points.len(), points.owners()) else {
            return Ok(Self { bucket, cells: Vec::new(), shift: 31 });
        };
        let bits = (CELLS * points.len()).next_power_of_two().ilog2();
        let shift = 32 - bits;
        let mut cells = room(1 << bits)?;
        for (&head, &owner) in points.heads().iter().zip(owners) {
            // Of points in one cell the first fills up to the cell and marks it; the others find it marked.
            let cell = index(head >> shift);
            if cells.len() <= cell {
                cells.resize(cell, owner);
                cells.push(SEARCH);
            }
        }
        cells.resize(1 << bits, owners[0]);
        debug_assert!(owners.iter().all(|&owner| u32::from(owner) < NARROW_SLOTS), "A3: no owner is the mark");
        Ok(Self { bucket, cells, shift })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_who_owns_them_or_that_one_must_search() {
        let points = [(0u32, 1), (1 << 29, 2), ((1 << 29) + 5, 3), (7 << 29, 4)];
        let points = points.map(|(point, slot)| (point, Slot::new(slot))).to_vec();
        let direct = Direct::build(PointArray::from_unsorted(points));
        // 64 cells of 2^26 places; the points are in cells 0, 8 (two of them) and 56.
        let mut expected = [4; 64];
        expected[1..8].fill(2);
        expected[57..].fill(1);
        for cell in [0, 8, 56] {
            expected[cell] = SEARCH;
        }
        assert_eq!(direct.cells, expected);
    }

    #[test]
    fn rings_that_the_cells_do_not_fit_have_none() {
        let build = |len: u32, slot: u32| {
            let points = (0..len).map(|n| (n << 8, Slot::new(slot))).collect();
            Direct::<u32>::build(PointArray::from_unsorted(points)).cells.len()
        };
        assert_eq!(build(0, 0), 0);
        assert_eq!(build(1, 65_533), 16);
        assert_eq!(build(1, 65_534), 0, "32-bit owners");
        assert_eq!(build(4096, 0), 1 << 16);
        assert_eq!(build(4097, 0), 0);
    }
}
