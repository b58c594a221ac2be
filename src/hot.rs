//! Which keys are hot: a count of the most frequent ones in bounded memory. Rank 5.
//!
//! Beside the walk from key to owner: whoever owns a reader feeds it the keys it looks up, all or a sample, and asks for the
//! top ones, to spread or pin them. One sketch belongs to one thread, so that feeding it needs no lock; sketches of several
//! threads can be merged.
//!
//! Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
//! ICDT 2005): m counters; a key that has none takes over the smallest one and its count, which becomes the key's possible
//! error. Their linked buckets of equal counts are a binary heap here, O(log m) a key, in two arrays. Merging is Agarwal et
//! al. 2012, "Mergeable summaries".
//!
//! Invariants
//! - H1: `heap` is a min-heap by count of the numbers of `counters`, and `counters[i].place` is where i stands in it.
//! - H2: `numbers` has each counter's key with its number.
//! - H3: the counts add up to `fed`, if nothing was merged.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::error::SketchError;
use crate::point::{index, position};

/// Counts the most frequent of the keys it is fed, in memory that doesn't grow with them.
///
/// With m counters, of n keys fed: each key's count is at least its true frequency and at most n/m above; every key that
/// makes up more than n/m of them is counted. Keys longer than [`MAX_KEY_BYTES`](Self::MAX_KEY_BYTES) aren't, but
/// [`skipped`](Self::skipped) says how many there were.
///
/// ```
/// use ringway::HotKeys;
/// let mut hot = HotKeys::new(100)?;
/// for n in 0..1000u32 {
///     hot.feed(if n % 4 == 0 { b"celebrity".to_vec() } else { n.to_string().into_bytes() });
/// }
/// let top = hot.top(1);
/// assert_eq!(top[0].key(), b"celebrity");
/// assert!(top[0].count() >= 250 && top[0].count() - top[0].error() <= 250);
/// # Ok::<(), ringway::SketchError>(())
/// ```
#[derive(Clone)]
pub struct HotKeys {
    limit: u32,
    counters: Vec<Counter>,
    heap: Vec<u32>,
    numbers: HashMap<Arc<[u8]>, u32>,
    fed: u64,
    skipped: u64,
}

#[derive(Clone)]
struct Counter {
    key: Arc<[u8]>,
    count: u64,
    error: u64,
    place: u32,
}

/// A key that [`HotKeys`] counted.
#[derive(Clone, PartialEq, Eq)]
pub struct HotKey {
    key: Arc<[u8]>,
    count: u64,
    error: u64,
}

impl HotKey {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns how often the key was fed, at most.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns by how much the count may be too high: the key was fed `count - error` times at least.
    #[must_use]
    pub fn error(&self) -> u64 {
        self.error
    }
}

impl fmt::Debug for HotKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\": {} (-{})", self.key.escape_ascii(), self.count, self.error)
    }
}

impl HotKeys {
    /// The longest key that is counted, in bytes.
    pub const MAX_KEY_BYTES: usize = 1024;
    /// The most counters.
    pub const MAX_COUNTERS: u32 = 1 << 20;

    /// Creates a sketch of so many counters, each of which takes about 100 bytes and its key.
    ///
    /// # Errors
    /// [`SketchError`] for 0 or more than [`MAX_COUNTERS`](Self::MAX_COUNTERS).
    pub fn new(counters: u32) -> Result<Self, SketchError> {
        if counters == 0 || counters > Self::MAX_COUNTERS {
            return Err(SketchError { counters, limit: Self::MAX_COUNTERS });
        }
        let (list, heap, numbers) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Self { limit: counters, counters: list, heap, numbers, fed: 0, skipped: 0 })
    }

    /// Counts a key once.
    ///
    /// # Complexity
    /// A hash and O(log m). A key that isn't counted yet is copied.
    pub fn feed(&mut self, key: impl AsRef<[u8]>) {
        self.feed_times(key.as_ref(), 1);
    }

    /// Counts a key as fed so many times, as for a sample of one in so many.
    pub fn feed_times(&mut self, key: impl AsRef<[u8]>, times: u64) {
        let key = key.as_ref();
        if key.len() > Self::MAX_KEY_BYTES {
            self.skipped = self.skipped.saturating_add(times);
            return;
        }
        self.fed = self.fed.saturating_add(times);
        if let Some(&number) = self.numbers.get(key) {
            let counter = &mut self.counters[index(number)];
            counter.count = counter.count.saturating_add(times);
            self.sink(counter_place(&self.counters, number));
            return;
        }
        let key: Arc<[u8]> = key.into();
        if self.counters.len() < index(self.limit) {
            let number = position(self.counters.len());
            self.counters.push(Counter { key: Arc::clone(&key), count: times, error: 0, place: number });
            self.heap.push(number);
            self.numbers.insert(key, number);
            self.rise(index(number));
            return;
        }
        // The smallest makes room, and its count is what the new one may have had unseen.
        let number = self.heap[0];
        let counter = &mut self.counters[index(number)];
        self.numbers.remove(&counter.key);
        *counter = Counter {
            key: Arc::clone(&key),
            count: counter.count.saturating_add(times),
            error: counter.count,
            place: counter.place,
        };
        self.numbers.insert(key, number);
        self.sink(0);
    }

    /// Returns the `most` keys with the highest counts, highest first; keys of equal counts in the order of their bytes.
    ///
    /// # Complexity
    /// O(m log m).
    #[must_use]
    pub fn top(&self, most: usize) -> Vec<HotKey> {
        let mut all: Vec<&Counter> = self.counters.iter().collect();
        all.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
        let hot = |c: &Counter| HotKey { key: Arc::clone(&c.key), count: c.count, error: c.error };
        all.into_iter().take(most).map(hot).collect()
    }

    /// Adds what another sketch counted, as one of another thread. Counts are still at least the true frequencies, and at
    /// most n/m of both together above, m being the smaller number of counters.
    ///
    /// # Complexity
    /// O(m log m) of both.
    pub fn merge(&mut self, other: &Self) {
        // What a key may have had in a sketch that doesn't count it.
        let unseen = |sketch: &Self| match sketch.heap.first() {
            Some(&smallest) if sketch.counters.len() == index(sketch.limit) => sketch.counters[index(smallest)].count,
            _ => 0,
        };
        let (unseen_here, unseen_there) = (unseen(self), unseen(other));
        let mut all: HashMap<Arc<[u8]>, (u64, u64)> = HashMap::new();
        for counter in &self.counters {
            let there = other.numbers.get(&counter.key).map(|&number| &other.counters[index(number)]);
            let (count, error) = there.map_or((unseen_there, unseen_there), |there| (there.count, there.error));
            all.insert(
                Arc::clone(&counter.key),
                (counter.count.saturating_add(count), counter.error.saturating_add(error)),
            );
        }
        for counter in other.counters.iter().filter(|counter| !self.numbers.contains_key(&counter.key)) {
            let sums = (counter.count.saturating_add(unseen_here), counter.error.saturating_add(unseen_here));
            all.insert(Arc::clone(&counter.key), sums);
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by(|(a, (x, _)), (b, (y, _))| y.cmp(x).then_with(|| a.cmp(b)));
        all.truncate(index(self.limit));
        let (fed, skipped) = (self.fed.saturating_add(other.fed), self.skipped.saturating_add(other.skipped));
        *self = Self { fed, skipped, counters: Vec::new(), heap: Vec::new(), numbers: HashMap::new(), ..*self };
        // Smallest first is a heap already.
        for (number, (key, (count, error))) in (0..).zip(all.into_iter().rev()) {
            self.counters.push(Counter { key: Arc::clone(&key), count, error, place: number });
            self.heap.push(number);
            self.numbers.insert(key, number);
        }
    }

    /// Returns how many keys were fed and counted.
    #[must_use]
    pub fn fed(&self) -> u64 {
        self.fed
    }

    /// Returns how many keys were too long to be counted.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Forgets everything, for a new span of time.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.heap.clear();
        self.numbers.clear();
        (self.fed, self.skipped) = (0, 0);
    }

    fn count_at(&self, place: usize) -> u64 {
        self.counters[index(self.heap[place])].count
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        for place in [a, b] {
            self.counters[index(self.heap[place])].place = position(place);
        }
    }

    /// Moves the counter at a place up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.count_at(place) < self.count_at((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// Moves the counter at a place down to where it belongs.
    fn sink(&mut self, mut place: usize) {
        loop {
            let children = (2 * place + 1..=2 * place + 2).filter(|&child| child < self.heap.len());
            let Some(child) = children.min_by_key(|&child| self.count_at(child)) else { return };
            if self.count_at(place) <= self.count_at(child) {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }
}

fn counter_place(counters: &[Counter], number: u32) -> usize {
    index(counters[index(number)].place)
}

impl fmt::Debug for HotKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotKeys")
            .field("counters", &self.counters.len())
            .field("fed", &self.fed)
            .finish_non_exhaustive()
    }
}
