//! What the integration tests share; each test binary uses its part.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod batches;
pub mod book;
pub mod model;
pub mod schemes;
pub mod stall;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): small, and the same
/// sequence everywhere. The seed is printed, so that a failure names it.
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self(seed)
    }

    /// Another generator, decided by this one's seed, so without a line of its own.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// A number in `0..n`; the bias of the remainder doesn't matter here.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn number(&mut self, below: u32) -> u32 {
        (self.next() % u64::from(below)) as u32
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
