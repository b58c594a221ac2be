//! How a table reaches the threads that read it.
//!
//! The second step of the walk from key to owner: a reader asks for the value that is published *now* and gets it
//! without a lock, an allocation or a shared write; the one writer replaces it. Nothing here knows what the value is.
//!
//! ```text
//!  Writer ──publish──▶ current ◀──load── Reader (one per thread, caches what it loaded)
//!    │                    ▲                  ▲
//!    └─ retired values    └──── Source ──────┘ (shared by everyone, makes readers)
//! ```
//!
//! [`Publish`] names a family of these types. [`Epoch`] is the default; `ArcSwap` (feature `arc-swap`) does the same
//! through the crate of that name; [`Locked`] does it under a read-write lock, simple enough to be believed at sight, and
//! is what the tests hold the others against.
//!
//! `docs/concurrency.md` in the repository explains the protocol at length, with what was tried and rejected.
//!
//! # Words
//! A value is *published* while `current` points at it and *retired* from then on. A retired value is *in its grace
//! period* while a reader may be between loading its address and counting itself as a holder. After that it is *held*
//! as long as a reader caches it or a snapshot of it lives, and then the writer *reclaims* it.
//!
//! # Promises
//! Each holds for every publisher unless it says otherwise, and each names what checks it: `t::` is `tests/publish.rs`,
//! `s::` `tests/publish_shutdown.rs`, `a::` `tests/publish_alloc.rs`, `loom::` a model in `loom-tests/tests/models/`.
//!
//! - **P1** (`Epoch`) A lookup that finds its cached value still published is one relaxed load and one compare: wait-free,
//!   no read-modify-write, no allocator call. `a::a_hit_calls_no_allocator` (`ArcSwap`: with a second compare.)
//! - **P2** If the return of a `publish` happens-before a lookup, the lookup sees that value or a later one. Without
//!   that edge: eventually. `t::a_publish_is_visible_*`, `loom::visibility`, `loom::one_table`
//! - **P3** One reader sees values in the order of publication, never goes back, and sees each whole; values of one
//!   publisher never reach the readers of another. `t::versions_never_go_back`, `t::publishers_do_not_mix`,
//!   `loom::cached_lookup`, `loom::two_readers`, `loom::two_rings`
//! - **P4** A held value stays as it was for as long as it is held. `t::a_snapshot_outlives_65537_publishes`,
//!   `loom::held_snapshot`
//! - **P5** Each value is dropped exactly once, and none is left when the writer, the sources, the readers and the
//!   snapshots are gone, in whatever order. `s::every_order_of_dropping_leaves_nothing`, `loom::dropped_once`,
//!   `loom::reader_outlives`, `loom::come_and_go`
//! - **P6** While the writer lives, values are dropped by the writer alone: inside its calls, on its thread, and never
//!   by a reader. A snapshot counts as a holder, not as an owner: dropping it doesn't drop the value either.
//!   `t::readers_never_drop_a_value`, `loom::writer_frees`, `loom::come_and_go`
//! - **P7** After the writer is gone, the last holder drops a value: a reader when it refreshes, parks or goes, a
//!   snapshot when it goes. What was in its grace period when the writer went, at most `retired_limit` values, is
//!   dropped by the next participant (reader, or [`Source::snapshot`]) that goes once nobody holds it, or with the last
//!   handle. `s::a_value_in_grace_outlives_the_writer`, `loom::writer_first`, `loom::left_in_grace`
//! - **P8** No user code, and that is the values' `Drop`, runs under a pin, neither a reader's nor the writer's, before or
//!   after the writer is gone. `s::a_value_in_grace_outlives_the_writer`, and in each model each drop
//! - **P9** A reader that sleeps holds at most one value, and a parked or new one none; neither ever refuses a publish.
//!   Once grace periods are over, live values ≤ 1 + old values that readers or snapshots hold.
//!   `t::idle_readers_refuse_no_publish`, `loom::idle_readers`
//! - **P10** (`Epoch`) A reader stopped inside a refresh keeps at most `retired_limit` values in their grace period; then
//!   `publish` fails with [`Backpressure`] and hands its value back, nothing changed, and works again once the reader has
//!   moved on (at once, unless more than some hundred readers or [`Source::snapshot`]s went meanwhile, more than eight at
//!   a time; each attempt works off a part of what they leave). `publish` never waits.
//!   `t::a_stalled_reader_is_backpressure`, `t::snapshots_during_a_stall_delay_no_recovery`, `loom::backpressure`,
//!   `loom::two_rings`
//! - **P11** (`Epoch`) After a publish each reader pays one refresh. Of its refreshes, 127 in 128 are a constant number of
//!   steps, with no loop and, while the writer lives, no allocator call. The first and each 128th after it also do the
//!   collector's upkeep: steps in proportion to the registrations and to what was left to collect, O(1) allocator calls,
//!   no value freed. No refresh waits for anybody, wherever another thread is stopped; see [below](self#the-128th-refresh).
//!   `a::one_refresh_in_128_does_upkeep`, `a::a_refresh_frees_no_value`, and every model, as a reader that waited for a
//!   thread that doesn't run would end none of them
//! - **P12** Writers and readers may move between threads but not be shared: `Send`, not `Sync`. `t::thread_bounds`,
//!   `loom::moved_reader`, and the examples at [`epoch::Reader`] and [`epoch::Writer`]
//!
//! # The 128th refresh
//! crossbeam-epoch counts the pins of each registration, and in the first and every 128th it *collects*: it walks the list
//! of registrations to see whether the epoch may advance, and runs at most eight bags of expired closures (67 ns with 64
//! registrations, 776 ns with 256, 3.2 µs with 1,024; AMD EPYC Zen 5, 2026-11-30). That is not O(1), but it ends:
//!
//! - *The walk* follows the list once, and gives up where somebody else unlinks what it stands on. New registrations go
//!   to the front, behind it. Only while it unlinks the first of the list can a new one make it look there again.
//! - *The bags* are taken by compare-exchange, which fails only if another took a bag that had expired by this reader's
//!   measure too. None is added while it tries: to seal a bag reads the epoch after a full fence, which finds the one that
//!   this reader measures by or a later one. (But for one of each participant that was just sealing.) So it fails at most
//!   as often as there were bags.
//! - *What it unlinked* goes into its own bag, which is pushed once it has 64. That can lose only to other pushes, of
//!   which the writer's are bounded by its limit: no grace period that began under this pin ends under it.
//!
//! So a refresh is O(1) but for one in 128, and that one is wait-free, bounded by registrations and bags, unless readers are
//! made without end. To have it O(1) always we looked at these, and took none of them:
//!
//! - *A word of our own per reader*, odd inside a refresh; the writer notes which are odd after its swap and a fence, and
//!   waits for each of these to have changed. Strictly wait-free and O(1), 10 ns against 16. But it is a reclamation
//!   scheme of our own in place of one with many users and models of its own, with a register that the writer has to read
//!   without waiting for who joins or leaves. This is the one to take, should 67 ns in 128 publishes ever matter.
//! - *A new registration before the 128th pin*: to register allocates 2 KiB and is a compare-exchange loop, to unregister
//!   pins and pushes a bag. The same steps, more often.
//! - *Two registrations per reader*, of which the writer pins the used one past its 128th and hands it back through one
//!   exchange. Enough for readers that refresh once per publish, but not for one that parks between lookups, which may
//!   refresh at any rate; and the writer walks twice as many, in every publish.
//! - *To stay pinned*, where nested pins collect nothing: a sleeping reader then holds up all reclamation. With `repin` it
//!   is a use after free besides (`loom::repin`).
//! - *Hazard pointers*: load, announce, fence, load again until both agree. Lock-free, as each publish may cost a turn.
//! - *Hyaline*: entering is a read-modify-write on a word that all readers share, and the last to leave frees, which is a
//!   reader.

#[cfg(ringway_loom)]
#[doc(hidden)]
pub mod watch;

// Under `ringway_loom` this needs the mock in `loom-tests/`: arc-swap counts std's `Arc`s, which loom's are not.
#[cfg(feature = "arc-swap")]
#[cfg_attr(docsrs, doc(cfg(feature = "arc-swap")))]
pub mod arc_swap;
#[allow(unsafe_code)] // The one file of this layer that is in the crate's unsafe ledger.
pub mod epoch;
pub mod locked;

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use crate::sync::Arc;

#[cfg(feature = "arc-swap")]
#[cfg_attr(docsrs, doc(cfg(feature = "arc-swap")))]
pub use self::arc_swap::ArcSwap;
pub use self::epoch::Epoch;
pub use self::locked::Locked;

/// What may be published.
///
/// Implemented for everything that qualifies: `Send + Sync` because threads share a value and any of them may be the one
/// that drops it, `'static` because a holder may live as long as it likes.
pub trait Value: Send + Sync + 'static {}

impl<V: Send + Sync + 'static> Value for V {}

/// A family of publishers, named by a marker type ([`Epoch`], `ArcSwap`, [`Locked`]).
pub trait Publish: Send + Sync + 'static {
    /// The one end that publishes.
    type Writer<V: Value>: Write<V>;
    /// The end that everybody shares and that makes readers.
    type Source<V: Value>: Source<V, Reader = Self::Reader<V>>;
    /// The end that one thread looks up through.
    type Reader<V: Value>: Read<V>;

    /// The family's name, for reports.
    const NAME: &'static str;

    /// Publishes `first`.
    ///
    /// `retired_limit`, at least 1, is how many retired values may be waiting for the end of their grace period before
    /// the writer refuses to publish. Publishers without grace periods don't use it.
    ///
    /// # Panics
    /// If `retired_limit` is 0: such a writer could never publish.
    fn start<V: Value>(first: V, retired_limit: usize) -> (Self::Writer<V>, Self::Source<V>);
}

/// The writing end: publishes values, one after the other, and reclaims those that nobody needs any more.
pub trait Write<V>: Send {
    /// Says whether the next [`publish`](Self::publish) will be taken, after helping grace periods to end.
    ///
    /// For checking before a value is built. `Ok` stays true until that publish: only a publish can bring it nearer to
    /// the limit. Drops no value, so that no value's `Drop` can come between this and the publish.
    ///
    /// # Errors
    /// [`Backpressure`] if as many retired values as the limit allows are still in their grace period.
    fn ready(&mut self) -> Result<(), Backpressure>;

    /// Replaces the published value and retires the one before.
    ///
    /// Never waits for a reader. The values that it reclaims are dropped inside the call; if such a drop panics, the
    /// panic comes out here, after `value` has been published.
    ///
    /// # Errors
    /// As [`ready`](Self::ready), with `value` handed back and nothing changed.
    fn publish(&mut self, value: V) -> Result<(), (V, Backpressure)>;

    /// As [`publish`](Self::publish), but hands out the values that it reclaims, as
    /// [`reclaim_with`](Self::reclaim_with) does.
    ///
    /// # Errors
    /// As [`ready`](Self::ready), with `value` handed back and nothing changed.
    fn publish_with(&mut self, value: V, f: impl FnMut(V)) -> Result<(), (V, Backpressure)>
    where
        Self: Sized;

    /// The value that is published now.
    fn current(&self) -> &V;

    /// The value that is published now, kept alive by the result.
    ///
    /// The writer doesn't reclaim it before all such snapshots are gone.
    fn snapshot(&self) -> Arc<V>;

    /// Drops the retired values that nobody holds, here and now; returns how many.
    fn reclaim(&mut self) -> usize;

    /// As [`reclaim`](Self::reclaim), but hands the values out, so that they can be recycled.
    ///
    /// If `f` panics, its value is gone and all others stay as they were.
    fn reclaim_with(&mut self, f: impl FnMut(V)) -> usize
    where
        Self: Sized;

    /// How many values live, and why.
    fn counts(&self) -> Counts;
}

/// The shared end: makes readers and single snapshots, from any thread.
pub trait Source<V>: Clone + Send + Sync {
    /// What [`reader`](Self::reader) makes.
    type Reader;

    /// Makes a reader, which holds nothing until its first lookup.
    ///
    /// Allocates; meant to be called once per thread, not once per lookup.
    fn reader(&self) -> Self::Reader;

    /// The value that is published now, kept alive by the result.
    ///
    /// Costs about as much as making and dropping a reader, which is what it does where readers have to be registered;
    /// who needs it often keeps a reader and calls [`Read::snapshot`].
    fn snapshot(&self) -> Arc<V>;
}

/// The reading end: one thread's view of the published value.
pub trait Read<V>: Send {
    /// The value that is published now, which the reader holds until its next call.
    ///
    /// Takes `&mut self` since taking a newer value lets go of the older, which ends earlier borrows.
    fn current(&mut self) -> &V;

    /// As [`current`](Self::current), kept alive by the result.
    fn snapshot(&mut self) -> Arc<V>;

    /// Lets go of the value, for a reader that is about to idle; the next lookup takes the newest.
    fn park(&mut self);

    /// What the reader holds, which may be older than what is published, or nothing.
    fn held(&self) -> Option<&V>;
}

/// How many values a writer knows to live; see the words at the [top](self).
///
/// Values are counted out when they are reclaimed, whatever becomes of them then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The published value and all retired ones.
    pub live: usize,
    /// Retired and not reclaimed: in their grace period, held, or about to be reclaimed.
    pub retired: usize,
    /// Retired, and the grace period isn't over.
    pub in_grace: usize,
}

/// Why a publish was refused: too many retired values are still in their grace period.
///
/// That takes a reader that was stopped in the few instructions of its refresh, by its debugger or its scheduler, for as
/// long as `limit` publishes took. Nothing is lost by it and nothing needs repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backpressure {
    /// How many retired values are in their grace period.
    pub in_grace: usize,
    /// How many may be.
    pub limit: usize,
}

impl fmt::Display for Backpressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { in_grace, limit } = self;
        write!(
            f,
            "{in_grace} retired values wait for a reader that is stopped inside a refresh, at most {limit} may: \
             publish again when it has moved on"
        )
    }
}

impl Error for Backpressure {}

/// Hands out the values of `retired` of which it has the only count, and returns how many.
fn reclaim_unheld<V>(retired: &mut VecDeque<Arc<V>>, mut f: impl FnMut(V)) -> usize {
    let mut reclaimed = 0;
    // One turn of the queue, which keeps it in order and leaves it whole if `f` panics.
    for _ in 0..retired.len() {
        match retired.pop_front().map(Arc::try_unwrap) {
            Some(Ok(value)) => {
                reclaimed += 1;
                f(value);
            }
            Some(Err(held)) => retired.push_back(held),
            None => break,
        }
    }
    reclaimed
}
