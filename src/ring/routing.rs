//! What a reader asks beside the owner. All of it is the table's; see there.

use super::reader::Reader;
use crate::hash::Scheme;
use crate::layout::Layout;
use crate::node::Node;
use crate::publish::Publish;

impl<T, S, L, P> Reader<T, S, L, P>
where
    T: Send + Sync + 'static,
    S: Scheme,
    L: Layout<S::Point>,
    P: Publish,
{
    /// Returns the first node in ring order from `key` that is up or draining. See [`Table::route`](crate::Table::route).
    ///
    /// Wait-free and without an allocator call while the table is unchanged (G1), whatever the nodes' states do.
    #[inline]
    pub fn route(&mut self, key: &[u8]) -> Option<&Node<T>> {
        self.table().route(key)
    }

    /// Returns the first node in ring order from `point` that is up or draining. See
    /// [`Table::route_at`](crate::Table::route_at).
    #[inline]
    pub fn route_at(&mut self, point: S::Point) -> Option<&Node<T>> {
        self.table().route_at(point)
    }

    /// Returns the first node in ring order from `key` that is up. See [`Table::route_new`](crate::Table::route_new).
    #[inline]
    pub fn route_new(&mut self, key: &[u8]) -> Option<&Node<T>> {
        self.table().route_new(key)
    }

    /// Returns the first node in ring order from `key` that is up or draining and not excluded. See
    /// [`Table::route_excluding`](crate::Table::route_excluding).
    pub fn route_excluding(&mut self, key: &[u8], excluded: impl Fn(&Node<T>) -> bool) -> Option<&Node<T>> {
        self.table().route_excluding(key, excluded)
    }

    /// Routes several keys by one table. See [`Table::route_batch`](crate::Table::route_batch).
    pub fn route_batch<'r, K: AsRef<[u8]>>(&'r mut self, keys: &[K], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().route_batch(keys, out)
    }

    /// Fills `out` with the first distinct nodes clockwise from `key`. See
    /// [`Table::replicas`](crate::Table::replicas).
    #[inline]
    pub fn replicas<'r>(&'r mut self, key: &[u8], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().replicas(key, out)
    }

    /// Fills `out` with the first distinct nodes clockwise from `key` that aren't down. See
    /// [`Table::healthy_replicas`](crate::Table::healthy_replicas).
    pub fn healthy_replicas<'r>(&'r mut self, key: &[u8], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().healthy_replicas(key, out)
    }

    /// Fills `out` with nodes clockwise from `key`, spread over failure domains. See
    /// [`Table::zone_replicas`](crate::Table::zone_replicas).
    pub fn zone_replicas<'r>(&'r mut self, key: &[u8], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().zone_replicas(key, out)
    }

    /// Fills `out` with nodes clockwise from `key` that aren't down, spread over failure domains. See
    /// [`Table::healthy_zone_replicas`](crate::Table::healthy_zone_replicas).
    pub fn healthy_zone_replicas<'r>(&'r mut self, key: &[u8], out: &mut [Option<&'r Node<T>>]) -> usize {
        self.table().healthy_zone_replicas(key, out)
    }
}
