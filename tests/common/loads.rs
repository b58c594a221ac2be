//! Bounded load against a plain model of it.

use std::collections::BTreeMap;

use ringway::layout::Auto;
use ringway::{AdmitError, Bound, Change, Delta, Field, Permit, Pins, Point, Ring, State};

use super::Rng;
use super::model::{ModelNode, Rule, View};

fn bound(percent: u32) -> Bound {
    Bound::percent(percent).expect("100 or more")
}

/// How often each thing happened.
#[derive(Debug)]
pub struct Counts {
    pub admitted: usize,
    pub displaced: usize,
    /// No node took it.
    pub none: usize,
    /// At a pinned node without a share of the ring.
    pub beside: usize,
}

/// Admissions, ends of requests, changes of state and commits, one after the other, against the definition: the first
/// node in ring order that takes traffic and has fewer than ⌈c · (in flight + 1) · w / W⌉. A pinned key's node comes
/// first, and without a share of the ring it has room always.
pub fn run<S: Rule>(scheme: &S, mut rng: Rng, steps: u64) -> Counts {
    let mut nodes: Vec<ModelNode> = Vec::new();
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let mut held: Vec<(String, Permit)> = Vec::new();
    // Requests at nodes that were removed, and maybe added again, count for nobody.
    let mut apart: Vec<Permit> = Vec::new();
    let (mut writer, handle) = Ring::builder().scheme(scheme.clone()).layout::<Auto<S::Point>>().build().unwrap();
    let mut reader = handle.reader();
    let mut pins: BTreeMap<&str, String> = BTreeMap::new();
    let (mut displaced, mut admitted, mut none, mut beside) = (0, 0, 0, 0);
    for step in 0..steps {
        if rng.is_spent() {
            break;
        }
        match rng.below(40) {
            0 => {
                let id = format!("n{}", rng.below(8));
                let delta = match nodes.iter().position(|node| node.id == id) {
                    None => {
                        let mut node = ModelNode { weight: rng.number(5), ..ModelNode::new(&id) };
                        node.state = State::ALL[rng.below(4) % 3];
                        node.active_points = rng.percent(25).then(|| [0, 7][rng.below(2)]);
                        states.insert(id, node.state);
                        nodes.push(node.clone());
                        Delta::new().add(node.spec())
                    }
                    Some(place) if rng.percent(50) => {
                        nodes.remove(place);
                        let (gone, stay) = held.into_iter().partition(|(node, _)| *node == id);
                        held = stay;
                        apart.extend(Vec::into_iter(gone).map(|(_, permit)| permit));
                        let mut delta = Delta::new();
                        delta.push(Change::Remove { id });
                        delta
                    }
                    Some(place) => {
                        nodes[place].weight = rng.number(5);
                        let mut delta = Delta::new();
                        delta.push(Change::Set { id, field: Field::Weight(nodes[place].weight) });
                        delta
                    }
                };
                writer.commit(delta).expect("valid");
            }
            1 | 2 => {
                if let Some(node) = nodes.get(rng.below(nodes.len().max(1))) {
                    let state = State::ALL[rng.below(3)];
                    writer.table().node(&node.id).unwrap().set_health(state);
                    states.insert(node.id.clone(), state);
                }
            }
            3 if !nodes.is_empty() => {
                pins.clear();
                for prefix in &["p", "q", "r"][..rng.below(4)] {
                    pins.insert(prefix, rng.pick(&nodes).id.clone());
                }
                let all = pins.iter().try_fold(Pins::new(), |all, (prefix, id)| all.with_prefix(prefix, id));
                writer.commit(Delta::new().with_pins(all.expect("few and short"))).expect("valid");
            }
            4..18 if !held.is_empty() => drop(held.swap_remove(rng.below(held.len()))),
            18 if !apart.is_empty() => drop(apart.swap_remove(rng.below(apart.len()))),
            _ => {
                let view = View::new(scheme, &nodes);
                // By a point of the ring's, or a key, which may be pinned.
                let key = rng.percent(50).then(|| format!("{}{}", ["p", "q", "r", "s"][rng.below(4)], rng.below(500)));
                let x = match &key {
                    None => S::Point::MIN.clockwise(*rng.pick(&view.probes(&mut Rng::new(step), 3))),
                    Some(key) => scheme.key(key.as_bytes()),
                };
                let pinned = key.as_ref().and_then(|key| pins.get(&key[..1])).filter(|id| view.parts.contains_key(*id));
                let start = view.sequence.iter().position(|(point, _)| *point >= x).unwrap_or(0);
                let order = view.sequence[start..].iter().chain(&view.sequence[..start]).map(|(_, id)| id.as_str());
                let order = pinned.map(|id| id.as_str()).into_iter().chain(order);
                let new = key.is_some() && rng.percent(50);
                let takes = |id: &str| states[id] == State::Up || !new && states[id] == State::Draining;
                let weight = |id: &str| nodes.iter().find(|node| node.id == id).unwrap().weight;
                let placed = |id: &str| view.parts[id].count > 0;
                let total: u32 = nodes.iter().map(|n| &*n.id).filter(|id| takes(id) && placed(id)).map(weight).sum();
                let percent = [100, 101, 125, 200][rng.below(4)];
                let load = |id: &str| held.iter().filter(|(node, _)| node == id).count();
                let has_share = |id: &str| placed(id) && weight(id) > 0;
                let without_share = |id: &str| pinned.is_some_and(|pinned| pinned == id) && !has_share(id);
                // load + 1 <= ⌈q⌉ means load < q.
                let has_room = |id: &str| {
                    without_share(id)
                        || (load(id) as u64) * 100 * u64::from(total)
                            < u64::from(percent * weight(id)) * (held.len() as u64 + 1)
                };
                let first = order.clone().find(|id| takes(id) && (has_share(id) || without_share(id)));
                let expected = order.clone().find(|id| takes(id) && has_room(id));
                beside += usize::from(expected.is_some_and(without_share));
                let table = reader.table();
                assert_eq!(table.in_flight(), held.len() as u64);
                let found = match &key {
                    Some(key) if new => table.admit_new(key.as_bytes(), bound(percent)),
                    Some(key) => table.admit(key.as_bytes(), bound(percent)),
                    None => table.admit_at(x, bound(percent)),
                };
                match (found, expected) {
                    (Ok(found), Some(id)) => {
                        assert_eq!(found.node().id().as_str(), id, "step {step}");
                        assert_eq!(found.displaced(), first != Some(id));
                        displaced += usize::from(found.displaced());
                        admitted += 1;
                        held.push((id.to_owned(), found.into_permit()));
                    }
                    (Err(error), None) => {
                        assert_eq!((error, total), (AdmitError::NoneTakes, 0));
                        none += 1;
                    }
                    (found, expected) => panic!("step {step}: {found:?}, not {expected:?} of {nodes:?}"),
                }
            }
        }
        for node in writer.table().nodes() {
            let load = held.iter().filter(|(id, _)| node.id() == &**id).count() as u64;
            assert_eq!(node.in_flight(), load, "{node:?} at step {step}");
        }
    }
    drop(held);
    drop(apart);
    assert_eq!(writer.table().in_flight(), 0);
    Counts { admitted, displaced, none, beside }
}
