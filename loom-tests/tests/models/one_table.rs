//! G2, G3: the ring on top of the publisher. All answers of a batch come from one table, a reader's version never goes
//! back, and a version that was heard of can be looked up.

use loom::thread;
use ringway::{Delta, NodeSpec, Ring};
use ringway_loom_tests::{Preemptions, check};

/// Version n of the ring has one node, which is its n-th name: so each answer tells its table.
const NAMES: [&str; 3] = ["a", "b", "c"];

#[test]
fn a_batch() {
    check("one_table::a_batch", Preemptions { ci: 3, long: 3 }, || {
        let (mut writer, handle) =
            Ring::builder().points_per_weight(1).nodes([NodeSpec::new(NAMES[0])]).build().expect("one node is a ring");
        let mut reader = handle.reader();
        assert_eq!(reader.version(), 1);

        loom::explore();
        let readers = thread::spawn(move || {
            let mut owners = [None; 3];
            assert_eq!(reader.owner_batch(&["x", "y", "z"], &mut owners), 3);
            let names = owners.map(|owner| owner.expect("the ring has a node").id().as_str().to_owned());
            let version = NAMES.iter().position(|name| names[0] == *name).expect("a name of some version") + 1;
            assert!(names.iter().all(|name| *name == names[0]), "a batch of two tables: {names:?}");
            assert!(reader.version() >= version as u64, "a version went back");
            reader
        });
        for pair in NAMES.windows(2) {
            let delta = Delta::new().remove(pair[0]).add(NodeSpec::new(pair[1]));
            assert!(writer.commit(delta).is_ok());
        }
        let reader = readers.join().unwrap();
        loom::stop_exploring();

        drop((reader, writer, handle));
    });
}

#[test]
fn a_version_heard_of() {
    check("one_table::a_version_heard_of", Preemptions { ci: 3, long: 3 }, || {
        let (mut writer, handle) =
            Ring::builder().points_per_weight(1).nodes([NodeSpec::new(NAMES[0])]).build().expect("one node is a ring");
        let mut reader = handle.reader();
        assert_eq!(reader.version(), 1);

        loom::explore();
        let readers = thread::spawn({
            let handle = handle.clone();
            move || {
                let heard = handle.version();
                let seen = reader.version();
                assert!(seen >= heard, "version {heard} was announced, then version {seen} looked up");
                reader
            }
        });
        for pair in NAMES.windows(2) {
            let delta = Delta::new().remove(pair[0]).add(NodeSpec::new(pair[1]));
            assert!(writer.commit(delta).is_ok());
        }
        let reader = readers.join().unwrap();
        loom::stop_exploring();

        drop((reader, writer, handle));
    });
}
