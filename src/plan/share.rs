//! Numbers of replicas: more than a circle holds.

use std::fmt;

use crate::point::{Share, low_u32};

/// An exact number of replicas: shares of the circle, of which there may be as many wholes as a key has replicas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaShare {
    wholes: u32,
    /// Less than a whole.
    rest: Share,
}

impl ReplicaShare {
    pub(super) fn none(bits: u32) -> Self {
        Self { wholes: 0, rest: Share::new(0, bits) }
    }

    pub(super) fn add(&mut self, share: Share) {
        let whole = Share::whole(self.rest.bits());
        // What is missing to a whole circle; if it isn't more than what comes, that makes one.
        let missing = whole.saturating_sub(self.rest);
        if share >= missing {
            self.wholes += 1;
            self.rest = share.saturating_sub(missing);
        } else {
            self.rest = self.rest + share;
        }
    }

    pub(super) fn add_wholes(&mut self, wholes: u32) {
        self.wholes += wholes;
    }

    /// Returns the number of whole circles in it.
    #[must_use]
    pub fn wholes(self) -> u32 {
        self.wholes
    }

    /// Returns what there is beside whole circles, which is less than one.
    #[must_use]
    pub fn rest(self) -> Share {
        self.rest
    }

    /// Returns the number of circles, rounded to the nearest `f64`: 1.0 is one replica of every key.
    #[must_use]
    pub fn circles(self) -> f64 {
        f64::from(self.wholes) + self.rest.fraction()
    }
}

impl fmt::Display for ReplicaShare {
    /// Prints the exact number of places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, places) = (self.rest.bits(), self.rest.points());
        if bits < 128 {
            return fmt::Display::fmt(&((u128::from(self.wholes) << bits) + places), f);
        }
        // The sum has more than 128 bits: by long division, 32 bits at a time, into parts of nine digits.
        let mut digits: Vec<u32> = vec![self.wholes];
        digits.extend([96, 64, 32, 0].map(|down| u32::try_from(places >> down & 0xFFFF_FFFF).unwrap_or(u32::MAX)));
        let mut parts = Vec::new();
        while digits.iter().any(|&digit| digit > 0) {
            let mut left = 0u64;
            for digit in &mut digits {
                let number = left << 32 | u64::from(*digit);
                (*digit, left) = (low_u32(number / PART), number % PART);
            }
            parts.push(left);
        }
        let mut text = parts.pop().unwrap_or(0).to_string();
        parts.iter().rev().for_each(|part| text += &format!("{part:09}"));
        f.pad(&text)
    }
}

/// Ten to the ninth.
const PART: u64 = 1_000_000_000;

impl fmt::Debug for ReplicaShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}/2^{}", self.rest.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wholes_are_counted_and_printed_exactly() {
        for bits in [32, 64, 128] {
            let top = Share::whole(bits).saturating_sub(Share::new(1, bits));
            let mut sum = ReplicaShare::none(bits);
            for _ in 0..5 {
                sum.add(top);
            }
            // 5 · (2^bits − 1) = 4 · 2^bits + (2^bits − 5)
            assert_eq!((sum.wholes(), sum.rest()), (4, top.saturating_sub(Share::new(4, bits))));
            sum.add(Share::new(5, bits));
            sum.add(Share::whole(bits));
            assert_eq!((sum.wholes(), sum.rest()), (6, Share::new(0, bits)));
        }
        // By Python: 3 * 2**128 + 10**18, and so on.
        let text = |wholes, rest, bits| ReplicaShare { wholes, rest: Share::new(rest, bits) }.to_string();
        assert_eq!(text(3, 10u128.pow(18), 128), "1020847100762815390391123822295304634368");
        assert_eq!(text(64, u128::MAX, 128), "22118353849861000125119349483064933744639");
        assert_eq!(text(0, 0, 128), "0");
        assert_eq!(text(0, 1_000_000_000, 128), "1000000000");
        assert_eq!(text(64, 7, 64), "1180591620717411303431");
        assert_eq!(text(2, 1, 32), "8589934593");
    }
}
