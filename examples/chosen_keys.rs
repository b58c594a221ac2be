//! Keys that a stranger chose: 100,000 that all belong to one node under the native scheme, and how the keyed one takes them.
//!
//! SeaHash has no secret. Each of its steps can be undone, so whoever knows the list of nodes can write down keys for any
//! place of the circle, as fast as they can be counted; a hash without a secret but with no known inverse, such as XXH3 of
//! short keys, falls to trying keys at random almost as fast. Where strangers choose keys (user names, URLs, objects), use
//! `Keyed`; where the program makes them, the native scheme is faster and needs no secret.
//!
//! ```sh
//! cargo run --release --example chosen_keys
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use ringway::scheme::{Keyed, Scheme, Secret};
use ringway::{NodeSpec, Ring, Table};

const KEYS: u32 = 100_000;

/// SeaHash's factor (Ticki, 2016) and seeds, and the factor's inverse modulo 2^64.
const FACTOR: u64 = 0x6EED_0E9D_A4D9_4A4F;
const INVERSE: u64 = inverse(FACTOR);
const SEEDS: [u64; 4] = [0x16F1_1FE8_9B0D_677C, 0xB480_A793_D8E6_C86C, 0x6FE2_E5AA_F078_EBC9, 0x14F9_94A4_C525_9381];

/// Newton's iteration: each round doubles the bits that are right, from the five of an odd number's own cube.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut round) = (odd.wrapping_mul(3) ^ 2, 0);
    while round < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// Undoes SeaHash's diffusion: the shift leaves the top half, which tells what was put on the lower one.
fn undo(x: u64) -> u64 {
    let x = x.wrapping_mul(INVERSE);
    let x = x ^ (x >> 32) >> (x >> 60);
    x.wrapping_mul(INVERSE)
}

/// A key of eight bytes with this SeaHash.
fn key_of(hash: u64) -> [u8; 8] {
    let lanes = undo(hash) ^ SEEDS[1] ^ SEEDS[2] ^ SEEDS[3] ^ 8;
    (undo(lanes) ^ SEEDS[0]).to_le_bytes()
}

/// Keys at one place of the circle: any lower half of the hash will do.
fn aim(place: u32) -> Vec<[u8; 8]> {
    (0..KEYS).map(|n| key_of(u64::from(place) << 32 | u64::from(n))).collect()
}

/// What of the keys goes to the node that gets most.
fn worst<S: Scheme>(table: &Table<(), S>, keys: &[[u8; 8]]) -> f64 {
    let mut counts = std::collections::HashMap::new();
    for key in keys {
        if let Some(node) = table.owner(key) {
            *counts.entry(node.id().clone()).or_insert(0u32) += 1;
        }
    }
    f64::from(counts.into_values().max().unwrap_or(0)) / f64::from(KEYS)
}

/// What the attack takes and does: time, then the worst node's part of the keys under each scheme.
fn attack() -> Result<(Duration, f64, f64, f64), Box<dyn Error>> {
    let nodes = || (0..100).map(|n| NodeSpec::new(format!("cache-{n}")));
    let native = Ring::builder().nodes(nodes()).build_table()?;
    let victim = native.points().next().map(|(place, _)| place).ok_or("a ring with points")?;

    let begun = Instant::now();
    let keys = aim(victim);
    let took = begun.elapsed();

    // In a program the secret comes from where secrets are kept, the same for all that share the ring.
    let keyed = |secret| Ok::<_, Box<dyn Error>>(Keyed::new(Secret::from_hex(secret)?));
    let old = Ring::builder().scheme(keyed("000102030405060708090a0b0c0d0e0f")?).nodes(nodes()).build_table()?;

    // Should the secret leak, it is changed: a new ring beside the old one, to which keys are moved as they are asked for.
    // Nearly all move, which is why a change of secret is a plan of its own.
    let new = Ring::builder().scheme(keyed("f0e0d0c0b0a090807060504030201000")?).nodes(nodes()).build_table()?;
    let moved = keys.iter().filter(|key| old.owner(&key[..]).map(|n| n.id()) != new.owner(&key[..]).map(|n| n.id()));
    let moved = moved.count() as f64 / f64::from(KEYS);
    Ok((took, worst(&native, &keys), worst(&old, &keys), moved))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (took, native, keyed, moved) = attack()?;
    println!("{KEYS} keys aimed at one of 100 nodes, written down in {took:.1?}");
    println!("native: {:.1} % of them go to one node", 100.0 * native);
    println!("keyed:  {:.1} % of them go to the node that gets most; 1 % is fair", 100.0 * keyed);
    println!("another secret moves {:.1} % of them", 100.0 * moved);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_scheme_is_hit_and_the_keyed_one_resists() {
        let (_, native, keyed, moved) = attack().unwrap();
        assert_eq!(native, 1.0);
        assert!(keyed < 0.02, "{keyed}");
        assert!(moved > 0.95, "{moved}");
        let mut keys = aim(7);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), KEYS as usize, "no key twice");
    }
}
