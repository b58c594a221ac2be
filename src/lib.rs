//! ringway decides, millions of times a second, which node owns a key.
//!
//! It is a consistent-hash routing engine for programs that route: proxies, cache tiers, sharded stores. Each node has
//! many *points* on a circle; a key's hash is a place on it, and the node of the next point clockwise owns the key. When
//! nodes come, go or change weight, only the keys that must move do.
//!
//! ```
//! use ringway::{Delta, NodeSpec, Ring};
//!
//! // The control plane: one writer. It may live on a thread of its own.
//! let (mut writer, handle) = Ring::builder()
//!     .node(NodeSpec::new("cache-a").with_weight(2).with_payload("10.0.0.1:11211"))
//!     .node(NodeSpec::new("cache-b").with_payload("10.0.0.2:11211"))
//!     .build()?;
//!
//! // The data plane: one reader per thread. A lookup takes no lock, allocates nothing, and writes nothing shared.
//! let worker = std::thread::spawn(move || {
//!     let mut reader = handle.reader();
//!     reader.owner(b"user:123456").map(|node| *node.payload())
//! });
//! # let address = worker.join().unwrap();
//! # assert!(address.is_some());
//!
//! // A batch of changes is checked as a whole, then published as the next version, all or nothing.
//! let report = writer.commit(Delta::new().set_weight("cache-b", 2).add(NodeSpec::new("cache-c").with_payload("10.0.0.3:11211")))?;
//! assert_eq!((report.version, report.points), (2, 5 * 512));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reading order
//! The modules stand here in the order of the walk from key to owner, lowest rank first; a file uses only ranks below its
//! own, or its own folder (`tests/architecture.rs`).
//!
//! | rank | module | what it is for |
//! |---|---|---|
//! | 0 | `point`, `error`, `sync` | places on the circle and shares of it; errors; the one import of atomics |
//! | 1 | `node` | what a node is: [`NodeSpec`] from the user, [`Node`] in a table |
//! | 1 | [`publish`] | how a table reaches the threads that read it, and how old ones are reclaimed |
//! | 2 | [`layout`] | how points lie in memory and are searched |
//! | 2 | `hash` ([`scheme`]) | node → points, key → point, fingerprints |
//! | 2 | `pins` | [`Pins`]: keys and prefixes that belong to a node whatever the ring says |
//! | 3 | `delta` | [`Delta`], a batch of changes |
//! | 4 | `serial` | serde for nodes and batches (feature `serde`) |
//! | 4 | `table` | [`Table`], the immutable ring: building, merging, looking up |
//! | 5 | `health` | routing past nodes that are down |
//! | 5 | `bounded` | [`Bound`]: no node gets more than so many times its fair share |
//! | 5 | `spread`, `hot` | a hot key over several nodes; [`HotKeys`] finds them |
//! | 5 | `plan` | [`Plan`], [`ReplicaPlan`]: which arcs of the circle change hands between two tables |
//! | 5 | `region` | [`Region`]: lookups in a ring of rings |
//! | 5 | `balance` | [`Balance`]: shares against fair shares |
//! | 5 | `cluster` | cluster files (feature `cluster-file`) |
//! | 6 | `ramp` | [`Ramp`]: a node's slow start or drain in steps |
//! | 6 | `rebalance` | [`Rebalancer`]: points that follow measured loads |
//! | 6 | `moved` | [`MovedShare`]: how much a change moves where keys have several probes |
//! | 6 | `ring` | [`Ring`], [`Writer`], [`Handle`], [`Reader`]: what users touch, with the guarantees G1–G10 |
//! | 7 | `layered` | [`Layered`], [`LayeredWriter`]: a ring of regions that are rings |
//! | 7 | `governor` | [`Governor`]: how often and how far a ring may change |
//!
//! # Guarantees
//! They rest on the publisher's promises P1–P12 ([`publish`]); those of the default publisher are meant.
//! Each names the test that cites it, in `tests/ring.rs`, `tests/alloc.rs`, `tests/stress.rs`, `tests/bounded.rs` and
//! `tests/complaints_policy.rs`.
//! - **G1** A lookup on an unchanged table is wait-free, takes no lock, writes nothing that is shared, and calls no
//!   allocator. After a commit, a reader's next lookup takes the new table in one lock-free step.
//!   (`no_allocator_call_on_an_unchanged_table`)
//! - **G2** If a commit's return happens-before a lookup, the lookup answers from that version or a later one. Without
//!   that edge it does so eventually. A reader's version never goes back. (`stress`)
//! - **G3** Each answer of `owner` is the answer of one published table. (`stress`)
//! - **G4** A commit is all or nothing. If it is refused or panics while it is checked or built, the published table and
//!   its version stay as they were, and the writer goes on working. (`a_refused_commit_changes_nothing`,
//!   `a_panicking_scheme_changes_nothing`)
//! - **G5** A commit never waits for a reader. A reader that idles holds at most one old table and refuses no commit; one
//!   that is stopped inside the few instructions of taking a table can, after
//!   [`retired_limit`](RingBuilder::retired_limit) commits, and then the commit hands its delta back.
//!   (`idle_readers_refuse_no_commit`, `a_stalled_reader_hands_the_delta_back`)
//! - **G6** While the writer lives, tables and with them payloads are dropped by the writer alone, inside its calls. Each
//!   is dropped once, and none is left when all ends of the ring are gone. (`every_order_of_dropping_leaves_nothing`)
//! - **G7** A commit moves keys only to or from nodes it changes (with schemes that place nodes independently of each
//!   other, as the native one does), and its result is the table that building from scratch gives. (`tests/model.rs`)
//!
//! - **G8** A live state that was set ([`Node::set_health`]) before a lookup, in the order of happens-before, is what the lookup
//!   goes by, whichever table it asks. Setting one builds and publishes no table, and a lookup takes no lock for it.
//!   (`a_storm_of_flaps_builds_no_table_and_is_seen_at_once`)
//! - **G9** Live states and requests in flight belong to nodes, not to tables: commits leave them as they are, except that
//!   a changed configured state sets the live one, and that a node which is removed and added again starts anew.
//!   (`health_and_counts_survive_updates`)
//! - **G10** Right after [`Table::admit`] a node has at most its [`capacity`](Bound::capacity) of what is in flight.
//!   (`the_bound_holds_with_many_threads`)
//!
//! What is pure: `owner`, `replicas`, `zone_replicas` and `successors` are functions of one table. `route`, `healthy_replicas`,
//! `spread` and `admit` also read live states.
//!
//! # Unsafe ledger
//! `unsafe` is denied in the whole crate but for these files and folders:
//! - `layout/kernel/`: unchecked reads inside searches, whose bounds follow from their own arithmetic; SSE2 loads; prefetches;
//!   `madvise` for huge pages.
//! - `publish/epoch.rs`: the published pointer's reference counts, and `Send` for its ends.
//!
//! # Features
//! None is on by default.
//! - `arc-swap`: a second publisher, [`publish`]'s `ArcSwap`, for `Ring::builder().publisher::<ArcSwap>()`.
//! - `cluster-file`: reads nodes from TOML and JSON files.
//! - `serde`: [`NodeSpec`], [`Delta`], [`Pins`] and what they hold in any format that serde has, by the names of cluster files.

#![deny(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod point;
mod sync;

pub mod layout;
mod node;
pub mod publish;

mod hash;

mod pins;

mod delta;

mod table;

#[cfg(feature = "serde")]
mod serial;

mod bounded;
mod health;
mod hot;
mod region;
mod spread;

#[cfg(feature = "cluster-file")]
#[cfg_attr(docsrs, doc(cfg(feature = "cluster-file")))]
pub mod cluster;

mod balance;
mod plan;

mod moved;
mod ramp;
mod rebalance;

mod ring;

mod governor;
mod layered;

pub use balance::{Balance, NodeBalance, expected_spread};
pub use bounded::{Admission, AdmitError, Bound, BoundError};
pub use delta::{Change, Delta, Field};
pub use error::{DeltaError, NodeError, PinError, SchemeError, SketchError, WaitError};
pub use governor::{Governor, Pace, PaceError, Tick};
pub use hash::{Fingerprint, Native, ParseFingerprintError};
pub use hot::{HotKey, HotKeys};
pub use layered::{Layered, LayeredBuilder, LayeredDelta, LayeredError, LayeredWriter};
pub use moved::MovedShare;
pub use node::{Limits, Node, NodeId, NodeInfo, NodeSpec, ParseStateError, Permit, Slot, State};
pub use pins::Pins;
pub use plan::{
    Flow, KeyMapsDiffer, MovedArc, MovedEstimate, MovedPin, Plan, ReplicaArc, ReplicaFlow, ReplicaPlan,
    ReplicaPlanError, ReplicaShare, ReplicaWeights, SampledFlow, SampledPlan, Weights,
};
pub use point::{Point, Share};
pub use publish::Counts;
pub use ramp::{Ramp, RampBy, RampError, RampStep};
pub use rebalance::{Proposal, RebalanceError, RebalanceOptions, Rebalancer};
pub use region::{Member, Region};
pub use ring::{CommitError, CommitReport, DryRunError, Handle, Reader, Ring, RingBuilder, Snapshot, Writer};
pub use table::{Applied, RestoreError, Successors, Table, TableError};

/// Placement schemes: how nodes become points and keys become a point.
pub mod scheme {
    pub use crate::hash::{
        AnyScheme, AnyU32, AnyU64, AnyU128, Assignment, Conhash, CppMapLower, CppMapUpper, CppMurmurLower, EnvoyHash,
        EnvoyRingHash, Groupcache, GrpcRingHash, HaproxyChash, HaproxyHash, HashRing, Hashring, KeyTag, Keyed, Label,
        LabelHash, Labelled, Libketama, Libmemcached, LibmemcachedFormat, LibmemcachedPoints, MatchRule, MemcacheHash,
        MultiProbe, Native, NginxChash, OptionError, OptionValue, OutOfService, ParseKeyTagError, PingoraV1, PingoraV2,
        Probes, ProbesError, RestyChash, Scheme, SchemeOptions, SeaHash, Secret, SecretError, Tagged, TwemproxyKetama,
        UhashringDefault, UhashringKetama, XxHash3, Xxh3,
    };
}

/// The README's example, compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the page on change, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/change.md")]
struct ChangePage;

/// The examples of the page on balance, likewise.
#[cfg(doctest)]
#[doc = include_str!("../docs/balance.md")]
struct BalancePage;
