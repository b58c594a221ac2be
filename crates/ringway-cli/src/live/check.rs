//! The check: every noted answer against a naive ring of the version that it came from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::change::Changes;
use super::reader::{Answer, ReaderTally};
use super::{Bounds, is_noted};
use crate::naive::{Hash, NaiveRing};

/// Id and number of active points of each node.
type NodeList = Vec<(Arc<str>, u32)>;

/// The node lists of the versions that are noted.
#[derive(Debug)]
pub(super) struct History {
    limit: usize,
    step: u64,
    last: u64,
    versions: BTreeMap<u64, NodeList>,
    /// The ids of the last version that was noted, to share their texts.
    ids: BTreeSet<Arc<str>>,
}

impl History {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { limit: bounds.versions, step: 1, last: 0, versions: BTreeMap::new(), ids: BTreeSet::new() }
    }

    /// Notes the list of a version that was published, if its turn is.
    pub(super) fn note(&mut self, version: u64, changes: &Changes) {
        self.last = version;
        if !is_noted(version, self.step) {
            return;
        }
        let list: NodeList = changes
            .active_points()
            .map(|(id, points)| (self.ids.get(id).map_or_else(|| Arc::from(id), Arc::clone), points))
            .collect();
        self.ids = list.iter().map(|(id, _)| Arc::clone(id)).collect();
        self.versions.insert(version, list);
        if self.versions.len() > self.limit {
            self.step *= 2;
            self.versions.retain(|&version, _| is_noted(version, self.step));
        }
    }

    /// One version in so many is noted.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    pub(super) fn versions(&self) -> usize {
        self.versions.len()
    }

    /// Whether an answer from a version says nothing, because that version was published but isn't noted any more.
    fn has_dropped(&self, version: u64) -> bool {
        (1..=self.last).contains(&version) && !is_noted(version, self.step)
    }
}

/// What the check found.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Answers that were checked.
    pub(super) answers: u64,
    /// Versions that they came from.
    pub(super) versions: usize,
    /// Versions whose node list was noted.
    pub(super) versions_noted: usize,
    pub(super) wrong: u64,
    pub(super) first_wrong: Option<Wrong>,
    pub(super) not_noted: u64,
    pub(super) went_back: u64,
}

/// A wrong answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    key: String,
    version: u64,
    answered: Option<String>,
    /// `None` if there was no such version.
    expected: Option<Option<String>>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, version, answered, expected } = self;
        let shown = |owner: &Option<String>| owner.as_ref().map_or("no node".to_owned(), |id| format!("{id:?}"));
        write!(f, "key \"{key}\" in version {version}: {} was answered, ", shown(answered))?;
        match expected {
            Some(owner) => write!(f, "{} is right", shown(owner)),
            None => f.write_str("and no such version was published"),
        }
    }
}

/// Recomputes all answers.
pub(super) fn check(history: &History, hash: Hash, keys: &[&[u8]], tallies: &[ReaderTally]) -> Outcome {
    let mut outcome = Outcome { versions_noted: history.versions(), ..Default::default() };
    let mut by_version: BTreeMap<u64, Vec<&Answer>> = BTreeMap::new();
    for tally in tallies {
        outcome.not_noted += tally.not_noted;
        outcome.went_back += tally.went_back;
        for answer in tally.answers.iter().filter(|answer| !history.has_dropped(answer.version)) {
            by_version.entry(answer.version).or_default().push(answer);
        }
    }
    outcome.versions = by_version.len();
    for (version, answers) in by_version {
        // One naive ring at a time: they are large.
        let list = history.versions.get(&version);
        let ring = list.map(|list| NaiveRing::new(hash, list.iter().map(|(id, points)| (&**id, *points))));
        for answer in answers {
            outcome.answers += 1;
            let key = keys[answer.key];
            let expected = ring.as_ref().map(|ring| ring.owner(key));
            let answered = answer.owner.as_ref().map(ringway::NodeId::as_str);
            if expected != Some(answered) {
                outcome.wrong += 1;
                outcome.first_wrong.get_or_insert_with(|| Wrong {
                    key: key.escape_ascii().to_string(),
                    version,
                    answered: answered.map(str::to_owned),
                    expected: expected.map(|owner| owner.map(str::to_owned)),
                });
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use ringway::{Delta, NodeId, NodeSpec, Ring};

    use super::*;
    use crate::naive::{sea_hash, xxh3};

    /// A ring of two versions, "b" leaving between them, with a key whose owner changes by that.
    fn two_versions() -> (History, Vec<NodeId>, usize, Vec<String>) {
        let keys: Vec<String> = (0..100).map(|n| format!("key {n}")).collect();
        let specs = ["a", "b", "c"].map(NodeSpec::new);
        let (mut writer, _) = Ring::builder().nodes(specs.clone()).build().unwrap();
        let ids: Vec<_> = writer.table().nodes().map(|node| node.id().clone()).collect();
        let mut history = History::new(Bounds { versions: 2, answers_per_version: 10 });
        history.note(1, &Changes::new(512, &specs, 0));
        let of_b = keys.iter().position(|key| *writer.table().owner(key.as_bytes()).unwrap().id() == "b").unwrap();
        writer.commit(Delta::new().remove("b")).unwrap();
        history.note(2, &Changes::new(512, &[specs[0].clone(), specs[2].clone()], 0));
        (history, ids, of_b, keys)
    }

    #[test]
    fn each_kind_of_wrong_answer_is_found() {
        let (history, ids, key, keys) = two_versions();
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let check = |version, owner: Option<&NodeId>| {
            let answers = vec![Answer { key, version, owner: owner.cloned() }];
            check(&history, sea_hash, &keys, &[ReaderTally { answers, ..Default::default() }])
        };
        let [a, b, c] = &ids[..] else { panic!() };
        assert_eq!(check(1, Some(b)).wrong, 0);
        assert_eq!([a, c].map(|id| check(2, Some(id)).wrong).iter().sum::<u64>(), 1, "one of them is right");
        for (version, owner) in
            [(1, Some(a)), (1, Some(c)), (1, None), (2, Some(b)), (2, None), (3, Some(b)), (0, None)]
        {
            let outcome = check(version, owner);
            assert_eq!((outcome.wrong, outcome.answers), (1, 1), "{owner:?} in version {version}");
            assert!(outcome.first_wrong.is_some());
        }
        let message = check(1, None).first_wrong.unwrap().to_string();
        assert!(message.ends_with("in version 1: no node was answered, \"b\" is right"), "{message}");
    }

    /// The answers of one scheme are wrong by another: the check would notice a ring that hashes otherwise than it says.
    #[test]
    fn the_check_goes_by_the_hash_of_the_scheme() {
        let (history, ids, _, keys) = two_versions();
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table().unwrap();
        let owner =
            |key: usize| table.owner(keys[key]).and_then(|node| ids.iter().find(|id| *id == node.id())).cloned();
        let answers = (0..keys.len()).map(|key| Answer { key, version: 1, owner: owner(key) }).collect();
        let tally = [ReaderTally { answers, ..Default::default() }];
        assert_eq!(check(&history, sea_hash, &keys, &tally).wrong, 0);
        let wrong = check(&history, xxh3, &keys, &tally).wrong;
        // Two thirds of 100 are expected.
        assert!((40..95).contains(&wrong), "{wrong}");
    }

    #[test]
    fn versions_are_thinned_evenly_and_what_was_dropped_is_not_judged() {
        let changes = Changes::new(512, &[NodeSpec::new("a")], 0);
        let mut history = History::new(Bounds { versions: 4, answers_per_version: 1 });
        for version in 1..=40 {
            history.note(version, &changes);
            assert!(history.versions() <= 4 && history.versions.contains_key(&1));
        }
        assert_eq!(history.versions.keys().copied().collect::<Vec<_>>(), [1, 17, 33]);
        let answers = [0, 1, 2, 16, 17, 18, 40, 41, 49].map(|version| Answer { key: 0, version, owner: None });
        let outcome =
            check(&history, sea_hash, &[b"key"], &[ReaderTally { answers: answers.to_vec(), ..Default::default() }]);
        // 0, 41 and 49 were never published; 1 and 17 have an owner.
        assert_eq!((outcome.answers, outcome.wrong), (5, 5));
    }
}
