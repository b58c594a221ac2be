//! Keys that changed owner, and whether they had to.

use std::ops::Range;

use ringway::layout::Layout;
use ringway::scheme::Scheme;
use ringway::{NodeId, Table};

use super::change::Kind;

/// The owners of the keys in the last version, and what became of them so far.
#[derive(Debug)]
pub(super) struct Moved<'k> {
    keys: Vec<&'k [u8]>,
    owners: Vec<Option<NodeId>>,
    /// How many keys there are in all.
    of: usize,
    pub(super) commits: u64,
    pub(super) moved: u64,
    pub(super) had_to: u64,
}

/// The most keys that are followed. More would hold up the writer; then one in so many is.
const FOLLOWED: usize = 1 << 16;
const BATCH: usize = 256;

impl<'k> Moved<'k> {
    pub(super) fn new<S: Scheme<Point = u32>, L: Layout<u32>>(keys: &[&'k [u8]], table: &Table<(), S, L>) -> Self {
        let step = keys.len().div_ceil(FOLLOWED).max(1);
        let followed: Vec<_> = keys.iter().step_by(step).copied().collect();
        let owners = vec![None; followed.len()];
        let mut moved = Self { keys: followed, owners, of: keys.len(), commits: 0, moved: 0, had_to: 0 };
        moved.update(table, |_, _| ());
        moved
    }

    /// Counts what a commit moved that made the table from the last one by one change of one node.
    pub(super) fn note<S: Scheme<Point = u32>, L: Layout<u32>>(
        &mut self,
        id: &str,
        kind: Kind,
        table: &Table<(), S, L>,
    ) {
        let (mut moved, mut had_to) = (0, 0);
        self.update(table, |old, new| {
            moved += 1;
            let is_node = |owner: Option<&NodeId>| owner.is_some_and(|owner| *owner == id);
            had_to += u64::from(match kind {
                Kind::Grows => is_node(new) && !is_node(old),
                Kind::Shrinks => is_node(old) && !is_node(new),
                Kind::Keeps => false,
            });
        });
        self.commits += 1;
        self.moved += moved;
        self.had_to += had_to;
    }

    /// Keys that moved though nothing happened to the node that they left or came to.
    pub(super) fn collateral(&self) -> u64 {
        self.moved - self.had_to
    }

    /// How many keys are followed, and of how many.
    pub(super) fn followed(&self) -> (usize, usize) {
        (self.keys.len(), self.of)
    }

    fn update<S: Scheme<Point = u32>, L: Layout<u32>>(
        &mut self,
        table: &Table<(), S, L>,
        mut on_move: impl FnMut(Option<&NodeId>, Option<&NodeId>),
    ) {
        let mut batch = [None; BATCH];
        for start in (0..self.keys.len()).step_by(BATCH) {
            let range: Range<usize> = start..self.keys.len().min(start + BATCH);
            table.owner_batch(&self.keys[range.clone()], &mut batch);
            for (owner, new) in self.owners[range].iter_mut().zip(&batch) {
                let new = new.map(ringway::Node::id);
                if owner.as_ref() != new {
                    on_move(owner.as_ref(), new);
                    *owner = new.cloned();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ringway::{Delta, Limits, NodeSpec, Ring};

    use super::*;

    #[test]
    fn moves_are_told_from_collateral() {
        let keys: Vec<String> = (0..1000).map(|n| format!("key {n}")).collect();
        let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let table = Ring::builder().nodes(["a", "b", "c"].map(NodeSpec::new)).build_table().unwrap();
        let owned = |table: &Table, id: &str| keys.iter().filter(|key| *table.owner(key).unwrap().id() == id).count();

        let after = table.apply(Delta::new().remove("b"), &Limits::default()).unwrap().unwrap().table;
        let count = |id, kind| {
            let mut moved = Moved::new(&keys, &table);
            assert_eq!((moved.moved, moved.commits), (0, 0), "finding the first owners isn't a move");
            moved.note(id, kind, &after);
            (moved.moved, moved.had_to, moved.collateral())
        };
        let left = u64::try_from(owned(&table, "b")).unwrap();
        assert!(left > 100);
        assert_eq!(count("b", Kind::Shrinks), (left, left, 0));
        // The same moves, if something else is said to have happened.
        assert_eq!(count("b", Kind::Grows), (left, 0, left));
        assert_eq!(count("c", Kind::Shrinks), (left, 0, left));
        assert_eq!(count("b", Kind::Keeps), (left, 0, left));
    }

    #[test]
    fn of_many_keys_some_are_followed() {
        let keys = vec![&b"key"[..]; 3 * FOLLOWED + 1];
        let table = Ring::builder().node(NodeSpec::new("a")).build_table().unwrap();
        assert_eq!(Moved::new(&keys, &table).followed(), (keys.len().div_ceil(4), keys.len()));
    }
}
