//! Layouts: how a table's points lie in memory, and so how a point's owner is found. Rank 2.
//!
//! On the walk from key to owner this is the step *point → owner's slot*. All layouts answer bit for bit alike; they
//! differ in speed and memory. A layout owns the canonical [`PointArray`] it was built from together with its index, so
//! the two can't be mixed up: the bounds that the searches rely on belong to one value.
//!
//! Match rules of other systems (`>` instead of `>=`, nearest point) aren't seen here: they become boundaries or a
//! shifted key before a layout is built or asked.

mod array;
mod auto;
mod bucket;
mod direct;
mod eytzinger;
#[allow(unsafe_code)]
mod kernel;
mod line;
mod s_tree;
mod sorted;

pub use array::PointArray;
pub(crate) use array::PointArrayBuilder;
pub use auto::Auto;
pub use bucket::Bucket;
pub use direct::Direct;
pub use eytzinger::Eytzinger;
pub use line::Line;
pub use s_tree::STree;
pub use sorted::Sorted;

use std::collections::TryReserveError;

use crate::node::Slot;
use crate::point::Point;

/// A way to search a ring's points.
///
/// The successor of x is the first point `>= x`, wrapping from the largest point to the smallest; of equal points it is
/// the first in their total order.
///
/// ```
/// use ringway::layout::{Layout, PointArray, Sorted};
/// use ringway::Slot;
///
/// let points = PointArray::from_unsorted(vec![(30u32, Slot::new(1)), (10, Slot::new(0))]);
/// let layout = Sorted::build(points);
/// assert_eq!(layout.owner(11), Some(Slot::new(1)));
/// assert_eq!(layout.owner(31), Some(Slot::new(0)), "wraps");
/// assert_eq!(layout.rank(31), 2, "both points are below");
/// ```
pub trait Layout<P: Point>: std::fmt::Debug + Send + Sync + Sized + 'static {
    /// The layout's name, as the tool and the benches print it.
    const NAME: &'static str;

    /// Builds the layout.
    ///
    /// # Errors
    /// If memory for the index can't be had. `points` are lost.
    ///
    /// # Complexity
    /// O(P).
    fn try_build(points: PointArray<P>) -> Result<Self, TryReserveError>;

    /// Builds the layout for `points`, which are this one's points changed by `edit`, copying what it can of the index.
    /// Equal to [`try_build`](Self::try_build) on the same points.
    ///
    /// # Errors
    /// As [`try_build`](Self::try_build).
    fn try_patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Result<Self, TryReserveError>;

    /// As [`try_patch`](Self::try_patch), but may use the memory of an older layout that nobody needs any more, and what
    /// is in it that still holds.
    ///
    /// `merge` makes the points, in the memory of those it is given, whatever they are. `edits` lead, one after the other,
    /// from the spare's points to those that `merge` makes; the last one leads there from this layout's, and there is at
    /// least that one.
    ///
    /// # Errors
    /// What `merge` fails with, or as [`try_build`](Self::try_build). The spare is lost.
    fn try_recycle<E: From<TryReserveError>>(
        &self,
        spare: Self,
        edits: &[Edit<'_, P>],
        merge: impl FnOnce(PointArray<P>) -> Result<PointArray<P>, E>,
    ) -> Result<Self, E> {
        let points = merge(spare.into_points())?;
        match edits.last() {
            Some(edit) => Ok(self.try_patch(points, edit)?),
            None => Ok(Self::try_build(points)?),
        }
    }

    /// Builds the layout.
    ///
    /// # Panics
    /// If memory for the index can't be had; see [`try_build`](Self::try_build).
    #[must_use]
    fn build(points: PointArray<P>) -> Self {
        Self::try_build(points).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Builds the layout for points that `edit` changed.
    ///
    /// # Panics
    /// If memory for the index can't be had; see [`try_patch`](Self::try_patch).
    #[must_use]
    fn patch(&self, points: PointArray<P>, edit: &Edit<'_, P>) -> Self {
        self.try_patch(points, edit).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gives up the index and returns the canonical arrays.
    #[must_use]
    fn into_points(self) -> PointArray<P>;

    /// Returns the canonical arrays.
    fn points(&self) -> &PointArray<P>;

    /// Returns the number of points below `x`, in `0..=P`: the rank of its successor, or P if the successor is rank 0 by
    /// wrapping.
    fn rank(&self, x: P) -> usize;

    /// Returns the owner of the successor of `x`; `None` exactly if there are no points.
    fn owner(&self, x: P) -> Option<Slot>;

    /// Looks up `xs[i]` into `out[i]` for each i below the shorter of the two lengths, and returns how many were written:
    /// that length, or 0 if there are no points.
    fn owner_batch(&self, xs: &[P], out: &mut [Slot]) -> usize {
        let mut written = 0;
        for (&x, out) in xs.iter().zip(out) {
            let Some(slot) = self.owner(x) else { return 0 };
            *out = slot;
            written += 1;
        }
        written
    }

    /// Returns the memory beyond the canonical arrays, in bytes.
    fn index_bytes(&self) -> usize;
}

/// An empty vector with room for exactly `len` elements, on huge pages if that is many.
fn room<E>(len: usize) -> Result<Vec<E>, TryReserveError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)?;
    kernel::pages::ask_for_huge(&mut vec);
    Ok(vec)
}

/// A copy.
fn copy<E: Copy>(of: &[E]) -> Result<Vec<E>, TryReserveError> {
    let mut vec = room(of.len())?;
    vec.extend_from_slice(of);
    Ok(vec)
}

/// Splits a batch into groups of [`kernel::LANES`] heads, the last one filled up with zeros, and writes what `search`
/// finds for each: the body of `owner_batch` for layouts that search in lockstep.
#[inline(always)]
fn owner_lanes<P: Point>(
    xs: &[P],
    out: &mut [Slot],
    search: impl Fn(&[u32; kernel::LANES]) -> [usize; kernel::LANES],
    owner: impl Fn(usize, P) -> Slot,
) -> usize {
    for (xs, out) in xs.chunks(kernel::LANES).zip(out.chunks_mut(kernel::LANES)) {
        let mut heads = [0; kernel::LANES];
        for (head, x) in heads.iter_mut().zip(xs) {
            *head = x.head();
        }
        for ((&place, &x), out) in search(&heads).iter().zip(xs).zip(out) {
            *out = owner(place, x);
        }
    }
    xs.len().min(out.len())
}

/// The points by which two point arrays differ, each list in rank order. All others have the same owners and the same
/// order in both.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a, P: Point> {
    /// Points that were taken out, with their owners' slots in the old array.
    pub removed: &'a [(P, Slot)],
    /// Points that were put in, with their owners' slots in the new array.
    pub added: &'a [(P, Slot)],
}
