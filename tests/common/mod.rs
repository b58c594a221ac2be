//! What the integration tests share; each test binary uses its part.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod batches;
pub mod book;
pub mod history;
pub mod loads;
pub mod model;
pub mod plans;
pub mod schemes;
pub mod searches;
pub mod stall;
pub mod walks;

/// Where the tests take their choices from: a generator, or the bytes that a fuzzer made up.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): small, and
/// the same sequence everywhere. The seed is printed, so that a failure names it.
#[derive(Debug)]
pub struct Rng {
    state: u64,
    bytes: Option<Vec<u8>>,
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self { state: seed, bytes: None }
    }

    /// Takes choices from `bytes`, as few for each as it needs; once they are spent, from the generator.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self { state: 0, bytes: Some(bytes.iter().rev().copied().collect()) }
    }

    /// Whether the bytes have come to their end. Never with a generator, which has none.
    pub fn is_spent(&self) -> bool {
        self.bytes.as_ref().is_some_and(Vec::is_empty)
    }

    /// Another generator, decided by this one, so without a line of its own.
    pub fn fork(&mut self) -> Self {
        Self { state: self.next(), bytes: None }
    }

    pub fn next(&mut self) -> u64 {
        self.number_of(8).unwrap_or_else(|| self.generate())
    }

    fn generate(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The number that the next `len` bytes are, or as many as there are.
    fn number_of(&mut self, len: usize) -> Option<u64> {
        let bytes = self.bytes.as_mut().filter(|bytes| !bytes.is_empty())?;
        let rest = bytes.len().saturating_sub(len);
        Some(bytes.drain(rest..).rev().fold(0, |number, byte| number << 8 | u64::from(byte)))
    }

    /// At most `most` of the bytes, as they are.
    pub fn take(&mut self, most: usize) -> Vec<u8> {
        let bytes = self.bytes.take().unwrap_or_default();
        let (rest, taken) = bytes.split_at(bytes.len().saturating_sub(most));
        let taken = taken.iter().rev().copied().collect();
        self.bytes = Some(rest.to_vec());
        taken
    }

    pub fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// A number in `0..n`; the bias of the remainder doesn't matter here.
    pub fn below(&mut self, n: usize) -> usize {
        let len = (usize::BITS - (n - 1).leading_zeros()).div_ceil(8) as usize;
        // Of one thing there is no choice, but a generator goes on, so that what it gave before it gives still.
        let number = if len == 0 && self.bytes.is_some() { Some(0) } else { self.number_of(len) };
        (number.unwrap_or_else(|| self.generate()) % n as u64) as usize
    }

    pub fn number(&mut self, below: u32) -> u32 {
        self.below(below as usize) as u32
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The number in an environment variable, or `default`.
pub fn env_number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Instantiates each generic test for every layout of the native width.
#[macro_export]
macro_rules! for_every_layout {
    ($($test:ident),* $(,)?) => {
        mod sorted {
            $(#[test] fn $test() { super::$test::<ringway::layout::Sorted<u32>>() })*
        }
        mod eytzinger {
            $(#[test] fn $test() { super::$test::<ringway::layout::Eytzinger<u32>>() })*
        }
        mod auto {
            $(#[test] fn $test() { super::$test::<ringway::layout::Auto<u32>>() })*
        }
    };
}

/// Instantiates each generic test for every publisher.
#[macro_export]
macro_rules! for_every_publisher {
    ($($test:ident),* $(,)?) => {
        mod epoch_publisher {
            $(#[test] fn $test() { super::$test::<ringway::publish::Epoch>() })*
        }
        #[cfg(feature = "arc-swap")]
        mod arc_swap_publisher {
            $(#[test] fn $test() { super::$test::<ringway::publish::ArcSwap>() })*
        }
        mod locked_publisher {
            $(#[test] fn $test() { super::$test::<ringway::publish::Locked>() })*
        }
    };
}
