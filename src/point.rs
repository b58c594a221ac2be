//! Points on the circle, arcs between them, and shares of it. Rank 0.
//!
//! A *point* is a place on a circle of 2^32, 2^64 or 2^128 places; going up in value is going *clockwise*, and the place
//! after the largest is 0. Every width is searched the same way: by its top 32 bits (the *head*), with the rest (the
//! *tail*) read only where heads tie. So one set of layouts serves all widths.
//!
//! This file is also the only one that may use `as` between numbers; everywhere else a conversion has a name that says
//! what it keeps. `tests/architecture.rs` checks that. (Longer than 500 lines for it: points, shares and conversions share
//! those casts.)

use std::fmt;
use std::hash::Hash;

#[cfg(target_pointer_width = "16")]
compile_error!("ringway needs pointers of 32 bits or more: ranks are kept as u32 and used as usize");

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for u128 {}
}

/// A place on the ring: `u32` for the native scheme, `u64` or `u128` for wide ones.
///
/// Sealed: layouts are written and tested for these three widths.
pub trait Point: Copy + Ord + Hash + fmt::Debug + Default + Send + Sync + sealed::Sealed + 'static {
    /// Width in bits; the circle has 2^`BITS` places.
    const BITS: u32;
    /// The smallest point.
    const MIN: Self;
    /// The largest point; the place clockwise of it is [`MIN`](Self::MIN).
    const MAX: Self;
    /// Whether two different points can have the same head.
    const WIDE: bool = Self::BITS > 32;
    /// All but the top 32 bits, ordered as they are in the point; zero-sized for `u32`.
    type Tail: Copy + Ord + fmt::Debug + Default + Send + Sync + 'static;

    /// A point together with a rank, ordered by both; as few words as can be, since sorting compares little else.
    #[doc(hidden)]
    type Ranked: Copy + Ord;

    /// Puts a point and a rank together.
    #[doc(hidden)]
    fn ranked(self, rank: u32) -> Self::Ranked;
    /// Returns the top 32 bits.
    fn head(self) -> u32;
    /// Returns all but the top 32 bits.
    fn tail(self) -> Self::Tail;
    /// Puts a point together again from its two parts.
    fn join(head: u32, tail: Self::Tail) -> Self;
    /// Returns the place `n` steps clockwise, wrapping.
    #[must_use]
    fn clockwise(self, n: Self) -> Self;
    /// Returns the number of steps clockwise from `from` to `self`: 0 when they are equal.
    #[must_use]
    fn steps_from(self, from: Self) -> Self;
    /// Cuts the circle into `parts` equal parts and returns the part that holds this point, counted clockwise from 0, and
    /// the first 15 bits of the place inside that part. Both together never go down from one point to the next.
    ///
    /// The part is below `parts` unless that is 0. Two different `u32` points never agree in both if `parts >= 2^17`.
    /// Widths above 64 bits use the top 64.
    #[doc(hidden)]
    fn part(self, parts: u32) -> (u32, u16);
    /// Returns the point as a number in `0..2^BITS`.
    fn to_u128(self) -> u128;
    /// Returns the point of that number; `None` if it is 2^`BITS` or more.
    fn from_u128(number: u128) -> Option<Self>;
    /// Returns the point put through a bijection of the circle that mixes all bits; see `region.rs`.
    #[doc(hidden)]
    #[must_use]
    fn mixed(self) -> Self;
    /// Returns half the point as a number, rounded down.
    #[doc(hidden)]
    #[must_use]
    fn half(self) -> Self;
    /// The point opposite of [`MIN`](Self::MIN): half of the circle.
    #[doc(hidden)]
    const HALF: Self;
    /// Returns the point with the smallest distance above [`MIN`](Self::MIN): the number 1.
    const ONE: Self;
}

impl Point for u32 {
    const BITS: u32 = 32;
    const HALF: Self = 1 << 31;
    const MIN: Self = 0;
    const MAX: Self = Self::MAX;
    const ONE: Self = 1;
    type Tail = ();
    type Ranked = u64;

    #[inline(always)]
    fn ranked(self, rank: u32) -> u64 {
        (u64::from(self) << 32) | u64::from(rank)
    }
    #[inline(always)]
    fn head(self) -> u32 {
        self
    }
    #[inline(always)]
    fn tail(self) {}
    #[inline(always)]
    fn join(head: u32, (): ()) -> Self {
        head
    }
    #[inline(always)]
    fn clockwise(self, n: Self) -> Self {
        self.wrapping_add(n)
    }
    #[inline(always)]
    fn steps_from(self, from: Self) -> Self {
        self.wrapping_sub(from)
    }
    #[inline(always)]
    fn part(self, parts: u32) -> (u32, u16) {
        // x·parts / 2^32: the whole number is the part; the fraction is the place inside it.
        let scaled = u64::from(self) * u64::from(parts);
        (high_u32(scaled), high_u15(low_u32(scaled)))
    }
    #[inline(always)]
    fn half(self) -> Self {
        self >> 1
    }
    fn to_u128(self) -> u128 {
        u128::from(self)
    }
    #[inline(always)]
    fn mixed(self) -> Self {
        let x = (self ^ self >> 16).wrapping_mul(0x85EB_CA6B);
        let x = (x ^ x >> 13).wrapping_mul(0xC2B2_AE35);
        x ^ x >> 16
    }
    fn from_u128(number: u128) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

impl Point for u64 {
    const BITS: u32 = 64;
    const HALF: Self = 1 << 63;
    const MIN: Self = 0;
    const MAX: Self = Self::MAX;
    const ONE: Self = 1;
    type Tail = u32;
    type Ranked = u128;

    #[inline(always)]
    fn ranked(self, rank: u32) -> u128 {
        (u128::from(self) << 32) | u128::from(rank)
    }
    #[inline(always)]
    fn head(self) -> u32 {
        high_u32(self)
    }
    #[inline(always)]
    fn tail(self) -> u32 {
        low_u32(self)
    }
    #[inline(always)]
    fn join(head: u32, tail: u32) -> Self {
        (Self::from(head) << 32) | Self::from(tail)
    }
    #[inline(always)]
    fn clockwise(self, n: Self) -> Self {
        self.wrapping_add(n)
    }
    #[inline(always)]
    fn steps_from(self, from: Self) -> Self {
        self.wrapping_sub(from)
    }
    #[inline(always)]
    fn part(self, parts: u32) -> (u32, u16) {
        let scaled = u128::from(self) * u128::from(parts);
        ((scaled >> 64) as u32, high_u15((scaled >> 32) as u32))
    }
    #[inline(always)]
    fn half(self) -> Self {
        self >> 1
    }
    fn to_u128(self) -> u128 {
        u128::from(self)
    }
    #[inline(always)]
    fn mixed(self) -> Self {
        fmix64(self)
    }
    fn from_u128(number: u128) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

impl Point for u128 {
    const BITS: u32 = 128;
    const HALF: Self = 1 << 127;
    const MIN: Self = 0;
    const MAX: Self = Self::MAX;
    const ONE: Self = 1;
    /// Most significant first, so that the derived order is the numeric one; 12 bytes instead of a padded 16.
    type Tail = [u32; 3];
    type Ranked = (u128, u32);

    #[inline(always)]
    fn ranked(self, rank: u32) -> (u128, u32) {
        (self, rank)
    }
    #[inline(always)]
    fn head(self) -> u32 {
        (self >> 96) as u32
    }
    #[inline(always)]
    fn tail(self) -> [u32; 3] {
        [(self >> 64) as u32, (self >> 32) as u32, self as u32]
    }
    #[inline(always)]
    fn join(head: u32, [a, b, c]: [u32; 3]) -> Self {
        (Self::from(head) << 96) | (Self::from(a) << 64) | (Self::from(b) << 32) | Self::from(c)
    }
    #[inline(always)]
    fn clockwise(self, n: Self) -> Self {
        self.wrapping_add(n)
    }
    #[inline(always)]
    fn steps_from(self, from: Self) -> Self {
        self.wrapping_sub(from)
    }
    #[inline(always)]
    fn part(self, parts: u32) -> (u32, u16) {
        ((self >> 64) as u64).part(parts)
    }
    #[inline(always)]
    fn half(self) -> Self {
        self >> 1
    }
    fn to_u128(self) -> u128 {
        self
    }
    #[inline]
    fn mixed(self) -> Self {
        let (high, low) = ((self >> 64) as u64, self as u64);
        let low = low ^ fmix64(high);
        let high = high ^ fmix64(low);
        let low = low ^ fmix64(high);
        u128::from(high) << 64 | u128::from(low)
    }
    fn from_u128(number: u128) -> Option<Self> {
        Some(number)
    }
}

/// An exact part of the circle, counted in its places.
///
/// Shares of one table add up to exactly [`Share::whole`]: `2^32` places for the native scheme.
///
/// ```
/// use ringway::Share;
/// let half = Share::new(1 << 31, 32);
/// assert_eq!(half + half, Share::whole(32));
/// assert_eq!((half + half).to_string(), "4294967296");
/// assert_eq!(half.fraction(), 0.5);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share {
    // Ordered before `points`, so that the whole of a 128-bit circle (2^128, kept as whole + 0) is above all else.
    overflow: bool,
    points: u128,
    bits: u32,
}

impl Share {
    /// Creates a share of `points` places of a circle of `2^bits`.
    ///
    /// # Panics
    /// If `bits` is not 32, 64 or 128, or `points` is above `2^bits`.
    #[must_use]
    pub fn new(points: u128, bits: u32) -> Self {
        assert!(matches!(bits, 32 | 64 | 128), "a circle has 2^32, 2^64 or 2^128 places, not 2^{bits}");
        assert!(bits == 128 || points <= 1 << bits, "{points} places are more than the circle's 2^{bits}");
        Self { overflow: false, points, bits }
    }

    /// Returns the whole circle of `2^bits` places.
    ///
    /// # Panics
    /// If `bits` is not 32, 64 or 128.
    #[must_use]
    pub fn whole(bits: u32) -> Self {
        if bits == 128 { Self { overflow: true, points: 0, bits } } else { Self::new(1 << bits.min(127), bits) }
    }

    /// The share `from` → `to` clockwise, `from` left out and `to` counted: the arc `(from, to]`. Equal ends are an
    /// empty arc.
    pub(crate) fn arc<P: Point>(from: P, to: P) -> Self {
        Self { overflow: false, points: to.steps_from(from).to_u128(), bits: P::BITS }
    }

    /// Returns the number of places, `0..=2^bits`, as an exact integer.
    ///
    /// One value doesn't fit: the whole of a 128-bit circle, 2^128, comes back as 0 (that is, modulo 2^128).
    /// [`is_whole`](Self::is_whole) tells it from an empty share, and [`Display`](fmt::Display) prints it right.
    #[must_use]
    pub fn points(self) -> u128 {
        self.points
    }

    /// Whether this is the whole circle.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self == Self::whole(self.bits)
    }

    /// Returns log2 of the circle's size: 32, 64 or 128.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the share as a fraction of the circle in `0.0..=1.0`, rounded to the nearest `f64`.
    #[must_use]
    pub fn fraction(self) -> f64 {
        if self.overflow { 1.0 } else { self.points as f64 / (self.bits as f64).exp2() }
    }

    /// Adds two shares of one circle; `None` if the sum is above the whole or the circles differ.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.bits != other.bits {
            return None;
        }
        let (points, carry) = self.points.overflowing_add(other.points);
        let overflow = match (self.overflow, other.overflow, carry) {
            (false, false, carry) => carry,
            (true, false, false) | (false, true, false) => true,
            _ => return None,
        };
        let sum = Self { overflow, points, bits: self.bits };
        (sum <= Self::whole(self.bits)).then_some(sum)
    }

    /// The share that is nearest to a fraction, which is taken as 0 or 1 if it is below or above.
    pub(crate) fn nearest(fraction: f64, bits: u32) -> Self {
        if fraction >= 1.0 {
            return Self::whole(bits);
        }
        let places = (fraction * (bits as f64).exp2()).round() as u128;
        if bits < 128 { Self::new(places.min(1 << bits), bits) } else { Self::new(places, bits) }
    }

    /// Takes a share of the same circle away; nothing is left where that is more.
    pub(crate) fn saturating_sub(self, other: Self) -> Self {
        debug_assert_eq!(self.bits, other.bits, "shares of two circles have no difference");
        if self <= other {
            return Self::new(0, self.bits);
        }
        let (points, borrow) = self.points.overflowing_sub(other.points);
        Self { overflow: self.overflow && !other.overflow && !borrow, points, bits: self.bits }
    }
}

impl std::ops::Add for Share {
    type Output = Self;

    /// # Panics
    /// If the sum is above the whole circle or the circles differ; see [`Share::checked_add`].
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("shares of one circle add up to at most the whole of it")
    }
}

impl fmt::Display for Share {
    /// Prints the exact number of places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.overflow {
            f.pad("340282366920938463463374607431768211456")
        } else {
            fmt::Display::fmt(&self.points, f)
        }
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}/2^{}", self.bits)
    }
}

/// The quotient of two whole numbers, rounded; infinite or not a number if `b` is 0.
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// MurmurHash3's finalizer (Appleby, public domain): a bijection.
#[inline(always)]
const fn fmix64(x: u64) -> u64 {
    let x = (x ^ x >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let x = (x ^ x >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ x >> 33
}

/// The nearest number that there is.
pub(crate) fn float(number: u128) -> f64 {
    number as f64
}

/// The nearest whole number, from 0 on; 0 for what is no number.
pub(crate) fn rounded(number: f64) -> u64 {
    number.round() as u64
}

/// The upper half.
#[inline(always)]
pub(crate) const fn high_u32(x: u64) -> u32 {
    (x >> 32) as u32
}

/// The lower half.
#[inline(always)]
pub(crate) const fn low_u32(x: u64) -> u32 {
    x as u32
}

/// The top 15 bits.
#[inline(always)]
const fn high_u15(x: u32) -> u16 {
    (x >> 17) as u16
}

/// The lower half.
#[inline(always)]
pub(crate) const fn low_u64(x: u128) -> u64 {
    x as u64
}

/// A `u32` as an index; lossless on every target that compiles (see the `compile_error` above).
#[inline(always)]
pub(crate) const fn index(x: u32) -> usize {
    x as usize
}

/// A length or position known to be below 2^32, as one. Positions in a point array are: its length is checked when built.
#[inline(always)]
pub(crate) const fn position(x: usize) -> u32 {
    debug_assert!(x as u64 <= u32::MAX as u64);
    x as u32
}

/// The nearest `f32`: what C's cast makes of an integer.
pub(crate) const fn nearest_f32(x: u64) -> f32 {
    x as f32
}

/// The nearest `f32` of a longer number.
pub(crate) const fn narrow_f32(x: f64) -> f32 {
    x as f32
}

/// A number without its fraction; the largest `u64` if it is larger, 0 if it is below 0 or not a number.
pub(crate) const fn whole_u64(x: f32) -> u64 {
    x as u64
}

/// A length as a `u64`; lossless, since no target has pointers above 64 bits.
#[inline(always)]
pub(crate) const fn len_u64(x: usize) -> u64 {
    x as u64
}

/// The whole number below or at `x`; 0 for what is negative or not a number, and the largest for what is above it.
#[inline]
pub(crate) const fn whole_of_f64(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_are_the_number_in_order<P: Point>(samples: &[P]) {
        for &a in samples {
            assert_eq!(P::join(a.head(), a.tail()), a);
            for &b in samples {
                assert_eq!((a.head(), a.tail()).cmp(&(b.head(), b.tail())), a.cmp(&b), "{a:?} {b:?}");
                assert_eq!(a.clockwise(b.steps_from(a)), b);
            }
        }
        assert_eq!(P::MAX.clockwise(P::ONE), P::MIN);
    }

    #[test]
    fn head_and_tail_order_as_the_whole_number() {
        parts_are_the_number_in_order(&[0u32, 1, 77, 1 << 31, u32::MAX]);
        parts_are_the_number_in_order(&[0u64, 1, u64::from(u32::MAX), 1 << 32, (7 << 32) | 5, (7 << 32) | 6, u64::MAX]);
        let wide =
            [0u128, 1, 1 << 32, (1 << 64) - 1, 1 << 64, (1 << 96) - 1, 1 << 96, (3 << 96) | (9 << 64), u128::MAX];
        parts_are_the_number_in_order(&wide);
    }

    /// The part by long division, from the definition.
    fn parts_are_counted_from_the_smallest_point<P: Point>(samples: &[P]) {
        for &x in samples {
            let top = if P::BITS > 64 { x.to_u128() >> 64 } else { x.to_u128() };
            let whole = 1u128 << P::BITS.min(64);
            for parts in [1, 2, 3, 7, 1000, 65_537, 131_071, 131_072, u32::MAX] {
                let scaled = top * u128::from(parts);
                let (part, place) = (scaled / whole, (scaled % whole) * 32_768 / whole);
                let got = x.part(parts);
                assert_eq!((u128::from(got.0), u128::from(got.1)), (part, place), "{x:?} of {parts}");
                assert!(got.0 < parts);
            }
        }
    }

    #[test]
    fn parts_are_equal_and_in_order() {
        parts_are_counted_from_the_smallest_point(&[0u32, 1, 77, 65_535, 65_536, 1 << 31, u32::MAX - 1, u32::MAX]);
        parts_are_counted_from_the_smallest_point(&[0u64, 1, 1 << 32, (7 << 32) | 5, 1 << 63, u64::MAX]);
        parts_are_counted_from_the_smallest_point(&[0u128, 1, 1 << 64, (9 << 96) | 3, 1 << 127, u128::MAX]);
        for parts in [131_072, 140_000, 1 << 29] {
            for x in [0u32, 1, 77_777, 1 << 31, u32::MAX - 1] {
                assert_ne!(x.part(parts), (x + 1).part(parts), "{x} of {parts}");
            }
        }
    }

    #[test]
    fn shares_add_up_to_the_whole_and_no_further() {
        for bits in [32, 64, 128] {
            let whole = Share::whole(bits);
            let rest = Share::new(if bits == 128 { u128::MAX } else { (1 << bits) - 1 }, bits);
            assert!(!rest.is_whole());
            assert_eq!(rest.checked_add(Share::new(1, bits)), Some(whole));
            assert_eq!(whole.checked_add(Share::new(1, bits)), None);
            assert_eq!(whole.checked_add(Share::new(0, bits)), Some(whole));
            assert_eq!(whole.fraction(), 1.0);
            assert!(rest < whole);
        }
        assert_eq!(Share::whole(64).to_string(), "18446744073709551616");
        assert_eq!(Share::whole(128).to_string(), "340282366920938463463374607431768211456");
        assert_eq!(Share::new(1, 32).checked_add(Share::new(1, 64)), None);
    }
}
