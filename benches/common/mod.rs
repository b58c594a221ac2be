//! What the benches share: seeded points, queries and rings. Everything is the same in every run.

#![allow(dead_code, reason = "each bench uses a part")]

pub mod search;

use std::collections::TryReserveError;

use ringway::layout::{Layout, PointArray};
use ringway::{NodeSpec, Slot};

/// Sizes from the first-level cache to main memory.
pub const SIZES: [usize; 6] = [300, 1_000, 16_000, 100_000, 1_000_000, 16_000_000];

/// Queries per pass. 16 KiB of them, so that reading them costs next to nothing.
pub const QUERIES: usize = 4096;

/// A stream of well-spread numbers (SplitMix64, Steele, Lea and Flood 2014).
pub struct Numbers(pub u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(x ^ (x >> 31))
    }
}

/// A ring of `len` random points of nodes with 160 points each; more on some if they would be more than 65,000 nodes.
pub fn points(len: usize) -> PointArray<u32> {
    let slots = (0u32..).map(|n| Slot::new(n / 160 % 65_000));
    PointArray::from_unsorted(Numbers(1).map(|x| (x >> 32) as u32).zip(slots).take(len).collect())
}

/// What everybody ships: a binary search over a sorted vector, then the owner.
#[derive(Debug)]
pub struct PartitionPoint {
    points: PointArray<u32>,
    sorted: Vec<u32>,
    owners: Vec<u16>,
}

impl Layout<u32> for PartitionPoint {
    const NAME: &'static str = "partition_point";

    fn try_build(points: PointArray<u32>) -> Result<Self, TryReserveError> {
        let sorted = points.iter().map(|(point, _)| point).collect();
        let owners = points.iter().map(|(_, slot)| u16::try_from(slot.number()).expect("few nodes")).collect();
        Ok(Self { points, sorted, owners })
    }

    fn try_patch(&self, points: PointArray<u32>, _: &ringway::layout::Edit<'_, u32>) -> Result<Self, TryReserveError> {
        Self::try_build(points)
    }

    fn into_points(self) -> PointArray<u32> {
        self.points
    }

    fn points(&self) -> &PointArray<u32> {
        &self.points
    }

    #[inline(always)]
    fn rank(&self, x: u32) -> usize {
        self.sorted.partition_point(|&point| point < x)
    }

    #[inline(always)]
    fn owner(&self, x: u32) -> Option<Slot> {
        let rank = self.rank(x);
        let rank = if rank == self.owners.len() { 0 } else { rank };
        self.owners.get(rank).map(|&owner| Slot::new(u32::from(owner)))
    }

    fn index_bytes(&self) -> usize {
        self.sorted.len() * 4 + self.owners.len() * 2
    }
}

/// One random load from 6 bytes a point, at a place found by one multiplication: what no search of that many bytes beats.
#[derive(Debug)]
pub struct Floor(Vec<u16>);

impl Floor {
    /// The floor of a ring of `len` points, in huge pages if it is large, as the layouts' own memory. Written to, so that
    /// its pages are its own.
    pub fn new(len: usize) -> Self {
        let mut memory = Vec::with_capacity(3 * len);
        huge_pages(&mut memory);
        memory.resize(3 * len, 1);
        Self(memory)
    }

    #[inline(always)]
    pub fn at(&self, x: u32) -> u32 {
        u32::from(self.0[((u64::from(x) * self.0.len() as u64) >> 32) as usize])
    }
}

/// Asks for huge pages for what lies wholly inside `memory`, which nothing was written to yet.
fn huge_pages(memory: &mut Vec<u16>) {
    #[cfg(target_os = "linux")]
    {
        const HUGE: usize = 2 << 20;
        let (bytes, start) = (memory.capacity() * 2, memory.as_mut_ptr().cast::<u8>());
        let pad = start.align_offset(HUGE);
        let whole = bytes.saturating_sub(pad) / HUGE * HUGE;
        if bytes >= 2 * HUGE {
            // SAFETY: inside the vector's allocation; advice changes no byte.
            unsafe { libc::madvise(start.wrapping_add(pad).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Random queries.
pub fn queries() -> Vec<u32> {
    Numbers(2).map(|x| (x >> 32) as u32).take(QUERIES).collect()
}

/// Random keys as proxies see them: "user:" and six digits.
pub fn keys() -> Vec<String> {
    Numbers(3).map(|x| format!("user:{:06}", x % 1_000_000)).take(QUERIES).collect()
}

/// `count` nodes of weight 1.
pub fn nodes(count: usize) -> impl Iterator<Item = NodeSpec> {
    (0..count).map(|n| NodeSpec::new(format!("node-{n}")))
}

/// Pins this thread to the last core, where the operating system does least. A machine that doesn't let us is noisier.
pub fn pin() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.last().copied()) {
        core_affinity::set_for_current(core);
    }
}

/// How long a run is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// `-- --test`: answers are checked in a few rounds, and figures mean nothing.
    Test,
    /// `-- --quick`: figures to look at.
    Quick,
    /// Figures to quote.
    Full,
}

impl Pace {
    /// What the arguments say.
    pub fn of_arguments() -> Self {
        let asked = |name: &str| std::env::args().any(|argument| argument == name);
        match (asked("--test"), asked("--quick")) {
            (true, _) => Self::Test,
            (false, true) => Self::Quick,
            (false, false) => Self::Full,
        }
    }

    /// A number of rounds: 2 in a test, a sixth of the full number in a quick run, always odd then, for medians.
    pub fn rounds(self, full: usize) -> usize {
        match self {
            Self::Test => 2,
            Self::Quick => (full / 6).max(5) | 1,
            Self::Full => full,
        }
    }
}

/// Criterion with times that keep a full `cargo bench` below 15 minutes on a small machine.
pub fn criterion() -> criterion::Criterion {
    let second = std::time::Duration::from_millis(1000);
    criterion::Criterion::default().warm_up_time(second / 4).measurement_time(second).sample_size(30)
}

/// Whether the bench is run as a test (`cargo bench -- --test`): few rounds, answers checked, figures meaningless.
pub fn is_test() -> bool {
    std::env::args().any(|arg| arg == "--test")
}
