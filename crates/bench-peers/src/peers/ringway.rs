//! ringway as its users use it: lookups through a `Reader`, changes by a `Writer`, so that all figures contain
//! publication.

use std::ptr;

use ringway::layout::Layout;
use ringway::scheme::{LabelHash, Labelled, Scheme};
use ringway::{Delta, Handle, NodeSpec, Reader, Ring, Writer};

use super::{Peer, added};
use crate::input::Node;

/// A scheme that can be given points per node.
pub trait Placement: Scheme {
    fn with_points(points: u32) -> Self;
}

impl<H: LabelHash> Placement for Labelled<H> {
    fn with_points(points: u32) -> Self {
        Self::new().with_points_per_weight(points)
    }
}

/// A ring by scheme `S` and layout `L`. With `READ` a lookup reads one word of the payload; without, it ends with the
/// `&Node`.
pub struct Ringway<S: Scheme, L: Layout<S::Point>, const READ: bool> {
    reader: Reader<usize, S, L>,
    writer: Writer<usize, S, L>,
    _handle: Handle<usize, S, L>,
}

impl<S: Placement, L: Layout<S::Point>, const READ: bool> Peer for Ringway<S, L, READ> {
    fn build(nodes: &[Node], points: u32) -> Self {
        let ring = Ring::<usize>::builder().scheme(S::with_points(points)).layout::<L>().nodes(nodes.iter().map(spec));
        let (writer, handle) = ring.build().expect("the nodes are within the limits");
        Self { reader: handle.reader(), writer, _handle: handle }
    }

    #[inline]
    fn find(&mut self, key: &str) -> usize {
        let node = self.reader.owner(key.as_bytes());
        if READ { node.map_or(0, |node| *node.payload()) } else { node.map_or(0, |node| ptr::from_ref(node).addr()) }
    }

    fn owner(&mut self, key: &str) -> u32 {
        let node = self.reader.owner(key.as_bytes()).expect("the ring has nodes");
        u32::try_from(*node.payload()).expect("the payload is the node's number")
    }

    fn add(&mut self, nodes: &[Node], _: u32) {
        let report = self.writer.commit(Delta::new().add(spec(added(nodes)))).expect("the node is new");
        assert!(report.published);
    }

    fn remove(&mut self, _: &[Node], gone: &Node, _: u32) {
        let report = self.writer.commit(Delta::new().remove(&gone.name)).expect("the node is there");
        assert!(report.published);
    }
}

fn spec(node: &Node) -> NodeSpec<usize> {
    NodeSpec::new(&node.name).with_payload(node.index as usize)
}
