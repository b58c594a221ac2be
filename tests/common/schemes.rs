//! Schemes that are bad on purpose, and one that watches another.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use ringway::scheme::{Assignment, MatchRule, Scheme};
use ringway::{NodeId, NodeInfo, Point, SchemeError};

/// A hash of 8 bits: with a few hundred points, nearly all of them collide.
pub fn hash8<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u8 {
    parts.into_iter().flatten().fold(0xA7, |hash: u8, byte| (hash ^ byte).wrapping_mul(0x6D).rotate_left(3))
}

/// The hash of a label of the weak schemes.
pub fn weak_label(id: &str, seed: u32, label: u32) -> u8 {
    hash8([id.as_bytes(), &seed.to_le_bytes(), &label.to_le_bytes()])
}

/// Attribute by which the weak schemes seed a node's sequence.
pub const SALT: &str = "salt";
/// Attribute for which the weak schemes refuse a node.
pub const REFUSE: &str = "refuse";

fn salt(node: &NodeInfo) -> u32 {
    node.attribute(SALT).map_or(0, |salt| salt.parse().expect("the tests give numbers"))
}

fn refuse(nodes: &[&NodeInfo]) -> Result<(), SchemeError> {
    match nodes.iter().find(|node| node.attribute(REFUSE).is_some()) {
        Some(node) => Err(SchemeError { id: Some(node.id().to_string()), reason: "refused".into() }),
        None => Ok(()),
    }
}

fn placement_bytes(node: &NodeInfo, out: &mut Vec<u8>) {
    out.extend(node.weight().to_le_bytes());
    out.extend(node.active_points().map_or(u64::MAX, u64::from).to_le_bytes());
    out.extend(salt(node).to_le_bytes());
}

/// An order-free scheme with 256 possible points.
#[derive(Clone, Debug)]
pub struct Weak<P> {
    pub name: &'static str,
    /// Where the 256 hashes lie.
    pub place: fn(u8) -> P,
    pub rule: MatchRule,
}

impl<P> Weak<P> {
    pub const POINTS_PER_WEIGHT: u32 = 16;
}

impl<P: Point> Scheme for Weak<P> {
    type Point = P;
    type Seed = u32;

    fn id(&self) -> &str {
        self.name
    }

    fn match_rule(&self) -> MatchRule {
        self.rule
    }

    fn order_free(&self) -> bool {
        true
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<u32>>) -> Result<(), SchemeError> {
        refuse(nodes)?;
        out.extend((0..).zip(nodes).map(|(tie, node)| {
            let points = node.active_points().unwrap_or(node.weight() * Self::POINTS_PER_WEIGHT);
            Assignment { seed: salt(node), points: points.into(), tie }
        }));
        Ok(())
    }

    fn points(&self, id: &NodeId, seed: &u32, labels: Range<u32>, out: &mut Vec<P>) {
        out.extend(labels.map(|label| (self.place)(weak_label(id.as_str(), *seed, label))));
    }

    fn key_point(&self, key: &[u8]) -> P {
        (self.place)(hash8([key]))
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> P {
        (self.place)(hash8(parts.iter().copied()))
    }
}

/// A scheme that reads list order, and in which each node's number of points depends on all nodes, as in ketama.
#[derive(Clone, Debug)]
pub struct Listed<P> {
    pub weak: Weak<P>,
    /// How many neighbours in the list, from its end on, share a tie rank; the first of them wins.
    pub group: u32,
}

impl<P> Listed<P> {
    pub const POINTS_PER_NODE: u64 = 24;

    /// Points of a node of this weight in a ring of `nodes` nodes.
    pub fn share_of(weight: u32, nodes: usize, total: u64) -> u64 {
        (u64::from(weight) * Self::POINTS_PER_NODE * nodes as u64).checked_div(total).unwrap_or(0)
    }

    /// A later node wins a tie.
    pub fn tie(&self, place: usize, nodes: usize) -> u32 {
        (nodes - 1 - place) as u32 / self.group
    }
}

impl<P: Point> Scheme for Listed<P> {
    type Point = P;
    type Seed = u32;

    fn id(&self) -> &str {
        self.weak.name
    }

    fn match_rule(&self) -> MatchRule {
        self.weak.rule
    }

    fn order_free(&self) -> bool {
        false
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        out.extend(self.group.to_le_bytes());
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<u32>>) -> Result<(), SchemeError> {
        refuse(nodes)?;
        let total = nodes.iter().map(|node| u64::from(node.weight())).sum();
        out.extend(nodes.iter().enumerate().map(|(place, node)| {
            let share = Self::share_of(node.weight(), nodes.len(), total);
            let points = node.active_points().map_or(share, u64::from);
            Assignment { seed: salt(node), points, tie: self.tie(place, nodes.len()) }
        }));
        Ok(())
    }

    fn points(&self, id: &NodeId, seed: &u32, labels: Range<u32>, out: &mut Vec<P>) {
        self.weak.points(id, seed, labels, out);
    }

    fn key_point(&self, key: &[u8]) -> P {
        self.weak.key_point(key)
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> P {
        self.weak.key_point_of_parts(parts)
    }
}

/// Places like `inner`, notes which labels are hashed, and panics or lies when told to.
#[derive(Clone, Debug)]
pub struct Spied<S> {
    pub inner: S,
    spy: Arc<Mutex<Spy>>,
}

#[derive(Debug, Default)]
pub struct Spy {
    /// Node and label numbers of every call that hashed.
    pub hashed: Vec<(String, Range<u32>)>,
    /// The calls of `assign`.
    pub assigned: usize,
    /// Panic where the points of this node are asked for.
    pub panic_at: Option<String>,
    /// Panic in `assign`.
    pub panic_in_assign: bool,
    /// Drop the last assignment.
    pub forget_one: bool,
    /// Hash other labels than asked for.
    pub shift: u32,
    /// Give one point less than asked for.
    pub withhold: bool,
}

impl<S> Spied<S> {
    pub fn new(inner: S) -> Self {
        Self { inner, spy: Arc::default() }
    }

    pub fn spy(&self) -> MutexGuard<'_, Spy> {
        // Poisoned by the panics that it was told to make.
        self.spy.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<S: Scheme> Scheme for Spied<S> {
    type Point = S::Point;
    type Seed = S::Seed;

    fn id(&self) -> &str {
        self.inner.id()
    }

    fn order_free(&self) -> bool {
        self.inner.order_free()
    }

    fn match_rule(&self) -> MatchRule {
        self.inner.match_rule()
    }

    fn option_bytes(&self, out: &mut Vec<u8>) {
        self.inner.option_bytes(out);
    }

    fn placement_bytes(&self, node: &NodeInfo, out: &mut Vec<u8>) {
        self.inner.placement_bytes(node, out);
    }

    fn assign(&self, nodes: &[&NodeInfo], out: &mut Vec<Assignment<S::Seed>>) -> Result<(), SchemeError> {
        let mut spy = self.spy();
        spy.assigned += 1;
        assert!(!spy.panic_in_assign, "told to panic in assign");
        self.inner.assign(nodes, out)?;
        if spy.forget_one {
            out.pop();
        }
        Ok(())
    }

    fn points(&self, id: &NodeId, seed: &S::Seed, labels: Range<u32>, out: &mut Vec<S::Point>) {
        let mut spy = self.spy();
        spy.hashed.push((id.to_string(), labels.clone()));
        assert!(spy.panic_at.as_deref() != Some(id.as_str()), "told to panic at {id}");
        self.inner.points(id, seed, labels.start + spy.shift..labels.end + spy.shift, out);
        if spy.withhold {
            out.pop();
        }
    }

    fn key_point(&self, key: &[u8]) -> S::Point {
        self.inner.key_point(key)
    }

    fn key_point_of_parts(&self, parts: &[&[u8]]) -> S::Point {
        self.inner.key_point_of_parts(parts)
    }
}
