//! A ring as it would be written without a thought for speed: a list of nodes, and all their points sorted anew.
//!
//! Nothing here asks ringway where a point lies. The native label rule is written out a second time, over the `seahash`
//! crate; the weak schemes' hash is the tests' own.

use std::collections::BTreeMap;

use ringway::layout::Layout;
use ringway::scheme::{MatchRule, Scheme};
use ringway::{Native, Node, NodeSpec, Point, Share, State, Table};

use super::Rng;
use super::schemes::{Listed, SALT, Spied, Weak, weak_label};

/// A node of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelNode {
    pub id: String,
    pub weight: u32,
    pub active_points: Option<u32>,
    pub address: Option<String>,
    pub zone: Vec<String>,
    pub attributes: BTreeMap<String, String>,
    pub state: State,
    pub payload: u32,
}

impl ModelNode {
    pub fn new(id: impl Into<String>) -> Self {
        let attributes = BTreeMap::new();
        let (id, zone, state) = (id.into(), Vec::new(), State::Up);
        Self { id, weight: 1, active_points: None, address: None, zone, attributes, state, payload: 0 }
    }

    pub fn spec(&self) -> NodeSpec<u32> {
        let spec = NodeSpec::new(&*self.id).with_weight(self.weight).with_active_points(self.active_points);
        let spec = spec.with_zone(self.zone.iter().cloned()).with_state(self.state);
        let spec = match &self.address {
            Some(address) => spec.with_address(&**address),
            None => spec,
        };
        let attributes = self.attributes.iter();
        attributes.fold(spec, |spec, (name, value)| spec.with_attribute(name, value)).with_payload(self.payload)
    }

    pub fn of(node: &Node<u32>) -> Self {
        let info = node.info();
        Self {
            id: info.id().to_string(),
            weight: info.weight(),
            active_points: info.active_points(),
            address: info.address().map(str::to_owned),
            zone: info.zone().to_vec(),
            attributes: info.attributes().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            state: info.state(),
            payload: *node.payload(),
        }
    }
}

/// What decides a node's points in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub seed: u32,
    pub count: u64,
    pub tie: u32,
}

/// A placement rule as the tests read it.
pub trait Rule: Scheme {
    /// Whether a node's points depend on that node alone.
    const INDEPENDENT: bool;
    /// Whether the attribute `refuse` is refused.
    const REFUSES: bool;
    /// The part of each node; `nodes` are in the order that counts.
    fn parts(&self, nodes: &[ModelNode]) -> Vec<Part>;
    /// What the placement fingerprint stands for, of nodes in the order that counts.
    fn placement(&self, nodes: &[ModelNode]) -> String {
        let read = |node: &ModelNode| (node.id.clone(), node.weight, node.active_points, salt(node));
        format!("{:?}", nodes.iter().map(read).collect::<Vec<_>>())
    }
    fn point(&self, id: &str, seed: u32, label: u32) -> Self::Point;
    fn key(&self, key: &[u8]) -> Self::Point;
}

impl Rule for Native {
    const INDEPENDENT: bool = true;
    const REFUSES: bool = false;

    fn parts(&self, nodes: &[ModelNode]) -> Vec<Part> {
        let count = |node: &ModelNode| match node.active_points {
            Some(points) => points.into(),
            None => u64::from(node.weight) * u64::from(self.points_per_weight()),
        };
        (0..).zip(nodes).map(|(tie, node)| Part { seed: 0, count: count(node), tie }).collect()
    }

    fn placement(&self, nodes: &[ModelNode]) -> String {
        let counts = self.parts(nodes).into_iter().map(|part| part.count);
        format!("{:?}", nodes.iter().map(|node| &node.id).zip(counts).collect::<Vec<_>>())
    }

    fn point(&self, id: &str, _: u32, label: u32) -> u32 {
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(id.len()).unwrap().to_le_bytes());
        bytes.extend(id.as_bytes());
        bytes.extend(label.to_le_bytes());
        (seahash::hash(&bytes) >> 32) as u32
    }

    fn key(&self, key: &[u8]) -> u32 {
        (seahash::hash(key) >> 32) as u32
    }
}

fn salt(node: &ModelNode) -> u32 {
    node.attributes.get(SALT).map_or(0, |salt| salt.parse().unwrap())
}

impl<P: Point> Rule for Weak<P> {
    const INDEPENDENT: bool = true;
    const REFUSES: bool = true;

    fn parts(&self, nodes: &[ModelNode]) -> Vec<Part> {
        let count = |node: &ModelNode| node.active_points.unwrap_or(node.weight * Self::POINTS_PER_WEIGHT).into();
        (0..).zip(nodes).map(|(tie, node)| Part { seed: salt(node), count: count(node), tie }).collect()
    }

    fn point(&self, id: &str, seed: u32, label: u32) -> P {
        (self.place)(weak_label(id, seed, label))
    }

    fn key(&self, key: &[u8]) -> P {
        (self.place)(super::schemes::hash8([key]))
    }
}

impl<P: Point> Rule for Listed<P> {
    const INDEPENDENT: bool = false;
    const REFUSES: bool = true;

    fn parts(&self, nodes: &[ModelNode]) -> Vec<Part> {
        let total = nodes.iter().map(|node| u64::from(node.weight)).sum();
        let part = |(place, node): (usize, &ModelNode)| {
            let share = Self::share_of(node.weight, nodes.len(), total);
            let count = node.active_points.map_or(share, u64::from);
            Part { seed: salt(node), count, tie: self.tie(place, nodes.len()) }
        };
        nodes.iter().enumerate().map(part).collect()
    }

    fn point(&self, id: &str, seed: u32, label: u32) -> P {
        self.weak.point(id, seed, label)
    }

    fn key(&self, key: &[u8]) -> P {
        self.weak.key(key)
    }
}

impl<S: Rule> Rule for Spied<S> {
    const INDEPENDENT: bool = S::INDEPENDENT;
    const REFUSES: bool = S::REFUSES;

    fn parts(&self, nodes: &[ModelNode]) -> Vec<Part> {
        self.inner.parts(nodes)
    }

    fn placement(&self, nodes: &[ModelNode]) -> String {
        self.inner.placement(nodes)
    }

    fn point(&self, id: &str, seed: u32, label: u32) -> S::Point {
        self.inner.point(id, seed, label)
    }

    fn key(&self, key: &[u8]) -> S::Point {
        self.inner.key(key)
    }
}

/// What the spec fingerprint stands for: all that is configured, of nodes in the order that counts.
pub fn spec<S: Rule>(scheme: &S, nodes: &[ModelNode]) -> String {
    let without_payload = |node: &ModelNode| ModelNode { payload: 0, ..node.clone() };
    format!("{} {:?}", scheme.placement(nodes), nodes.iter().map(without_payload).collect::<Vec<_>>())
}

/// The nodes in the order that counts for the scheme.
pub fn canonical<S: Rule>(scheme: &S, nodes: &[ModelNode]) -> Vec<ModelNode> {
    let mut nodes = nodes.to_vec();
    if scheme.order_free() {
        nodes.sort_by(|a, b| a.id.as_bytes().cmp(b.id.as_bytes()));
    }
    nodes
}

/// All that the model says of one list of nodes.
#[derive(Debug)]
pub struct View<P> {
    pub nodes: Vec<ModelNode>,
    pub parts: BTreeMap<String, Part>,
    /// Every point with its node's id, in ring order.
    pub sequence: Vec<(P, String)>,
    /// The first and the last node at each distinct point.
    owners: BTreeMap<P, (String, String)>,
    rule: MatchRule,
}

impl<P: Point> View<P> {
    pub fn new<S: Rule<Point = P>>(scheme: &S, nodes: &[ModelNode]) -> Self {
        let nodes = canonical(scheme, nodes);
        let parts = scheme.parts(&nodes);
        let mut placed = Vec::new();
        for (place, (node, part)) in nodes.iter().zip(&parts).enumerate() {
            let labels = 0..u32::try_from(part.count).unwrap();
            placed.extend(labels.map(|label| (scheme.point(&node.id, part.seed, label), part.tie, place, label)));
        }
        placed.sort_unstable();
        let sequence: Vec<_> = placed.iter().map(|&(point, _, place, _)| (point, nodes[place].id.clone())).collect();
        let mut owners = BTreeMap::new();
        for (point, id) in &sequence {
            owners.entry(*point).or_insert_with(|| (id.clone(), id.clone())).1.clone_from(id);
        }
        let parts = nodes.iter().map(|node| node.id.clone()).zip(parts).collect();
        Self { nodes, parts, sequence, owners, rule: scheme.match_rule() }
    }

    /// The rule in words, over the distinct points.
    pub fn owner(&self, x: P) -> Option<&str> {
        let from = |x: P| self.owners.range(x..).next().or_else(|| self.owners.first_key_value());
        let (&next, (first, _)) = from(x)?;
        let owner = match self.rule {
            MatchRule::AtOrAfter => first,
            MatchRule::After => &from(x.clockwise(P::ONE))?.1.0,
            MatchRule::Nearest => {
                let before = self.owners.range(..x).next_back().or_else(|| self.owners.last_key_value());
                let (&previous, (_, last)) = before?;
                // Around the circle if it is the same point again: 2^BITS steps, of which x's distance is the rest.
                if x.steps_from(previous) <= next.steps_from(x) { last } else { first }
            }
        };
        Some(owner)
    }

    /// The place below, wrapping.
    fn below(x: P) -> P {
        x.clockwise(P::MAX)
    }

    /// Points, their neighbours, the ends of the circle and some keys: where an owner may change.
    pub fn probes(&self, rng: &mut Rng, at_most: usize) -> Vec<P> {
        let mut points: Vec<P> = self.owners.keys().copied().collect();
        rng.shuffle(&mut points);
        points.truncate(at_most);
        let mut middles: Vec<P> = Vec::new();
        let around = self.owners.keys().chain(self.owners.keys().next());
        for (&from, &to) in self.owners.keys().zip(around.skip(1)) {
            // Half of the gap, in numbers: the whole circle if there is one point alone.
            let gap = to.to_u128().wrapping_sub(from.to_u128()) & Self::mask();
            let half = if gap == 0 { 1 << (P::BITS - 1) } else { gap / 2 };
            middles.push(Self::of(from.to_u128().wrapping_add(half)));
        }
        rng.shuffle(&mut middles);
        middles.truncate(at_most);
        points.append(&mut middles);
        let near = points.iter().flat_map(|&point| [Self::below(point), point, point.clockwise(P::ONE)]);
        near.chain([P::MIN, P::MAX]).collect()
    }

    fn mask() -> u128 {
        u128::MAX >> (128 - P::BITS)
    }

    /// The point at this place of the circle.
    fn of(place: u128) -> P {
        let place = place & Self::mask();
        // By bits, as the trait has no other way from a number to a point.
        (0..P::BITS).rev().fold(P::MIN, |point, bit| {
            let doubled = point.clockwise(point);
            if place >> bit & 1 == 1 { doubled.clockwise(P::ONE) } else { doubled }
        })
    }

    /// Places owned, by id, for a circle of 2^32 or 2^64 places; wider ones are counted modulo 2^128.
    pub fn shares(&self) -> BTreeMap<String, u128> {
        let mut shares: BTreeMap<String, u128> = self.nodes.iter().map(|node| (node.id.clone(), 0)).collect();
        let mut give = |id: &String, places: u128| {
            let share = shares.get_mut(id).unwrap();
            *share = share.wrapping_add(places);
        };
        let Some(mut before) = self.owners.last_key_value() else { return shares };
        for (point, (first, _)) in &self.owners {
            let gap = point.to_u128().wrapping_sub(before.0.to_u128()) & Self::mask();
            let nearer = match self.rule {
                MatchRule::AtOrAfter | MatchRule::After => 0,
                // Half of the circle after the point, and the point's own place.
                MatchRule::Nearest if gap == 0 => (1 << (P::BITS - 1)) + 1,
                MatchRule::Nearest => gap / 2,
            };
            give(&before.1.1, nearer);
            let circle = if P::BITS == 128 { 0 } else { 1 << P::BITS };
            give(first, if gap == 0 { circle } else { gap }.wrapping_sub(nearer));
            before = self.owners.get_key_value(point).unwrap();
        }
        shares
    }

    /// `table` is what the model says, whichever way it is asked.
    pub fn check<S, L>(&self, scheme: &S, table: &Table<u32, S, L>, rng: &mut Rng)
    where
        S: Rule<Point = P>,
        L: Layout<P>,
    {
        assert_eq!(table.len(), self.sequence.len());
        let sequence: Vec<_> = table.points().map(|(point, node)| (point, node.id().to_string())).collect();
        assert_eq!(sequence, self.sequence);
        let nodes: Vec<_> = table.nodes().map(ModelNode::of).collect();
        assert_eq!(nodes, self.nodes);
        assert_eq!(table.node_count(), nodes.len());
        for node in &nodes {
            assert_eq!(table.points_of(&node.id).map(u64::from), Some(self.parts[&node.id].count), "{}", node.id);
            assert_eq!(table.node(&node.id).map(ModelNode::of).as_ref(), Some(node));
        }
        assert!(table.node("nobody").is_none() && table.points_of("nobody").is_none());
        let shares: Vec<_> = table.shares().iter().map(|(n, share)| (n.id().to_string(), share.points())).collect();
        assert_eq!(shares.iter().cloned().collect::<BTreeMap<_, _>>(), self.shares());
        let sum = table.shares().iter().try_fold(Share::new(0, P::BITS), |sum, (_, share)| sum.checked_add(*share));
        assert_eq!(sum.is_some_and(Share::is_whole), !table.is_empty());

        let probes = self.probes(rng, 40);
        let id = |node: Option<&Node<u32>>| node.map(|node| node.id().to_string());
        let mut batch = vec![None; probes.len()];
        assert_eq!(table.owner_at_batch(&probes, &mut batch), probes.len());
        for (&x, found) in probes.iter().zip(batch) {
            assert_eq!(id(table.owner_at(x)).as_deref(), self.owner(x), "at {x:?}");
            assert_eq!(id(found).as_deref(), self.owner(x), "at {x:?} in a batch");
        }
        let keys: Vec<String> = (0..rng.below(140)).map(|_| format!("key:{}", rng.number(100_000))).collect();
        let mut batch = vec![None; rng.below(140)];
        let written = table.owner_batch(&keys, &mut batch);
        assert_eq!(written, keys.len().min(batch.len()));
        for (place, key) in keys.iter().enumerate() {
            let expected = self.owner(scheme.key(key.as_bytes()));
            assert_eq!(id(table.owner(key.as_bytes())).as_deref(), expected, "{key}");
            let (head, tail) = key.as_bytes().split_at(rng.below(key.len()));
            assert_eq!(id(table.owner_of_parts(&[head, tail])).as_deref(), expected, "{key} in parts");
            if place < written {
                assert_eq!(id(batch[place]).as_deref(), expected, "{key} in a batch");
            }
        }
        assert!(batch[written..].iter().all(Option::is_none));
    }
}
