//! Dumped tables: any bytes are an error, or a table that dumps and restores again as it is; no count takes memory.

use ringway::{Limits, Native, RestoreError, Ring, Table};

fn restore(bytes: &[u8]) -> Result<Table<Vec<u8>>, RestoreError> {
    let builder = Ring::builder().scheme(Native::new().with_points_per_weight(4));
    // A count that was believed would be seen by the fuzzer's limit of memory.
    builder.limits(Limits::DEFAULT.with_points(u32::MAX)).restore_table(bytes, |payload| Ok(payload.to_vec()))
}

/// Fuzzes [`Table::dump`] and [`restore_table`](ringway::RingBuilder::restore_table). The first byte chooses whether the rest is
/// given a right beginning and checksum.
pub fn snapshot(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if choice % 4 > 0 && bytes.len() >= 28 {
        bytes[..8].copy_from_slice(b"ringway\0");
        bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        let end = bytes.len() - 16;
        let (body, checksum) = bytes.split_at_mut(end);
        let hash = blake2b_simd::Params::new().hash_length(16).personal(b"ringway.dump.1").hash(body);
        checksum.copy_from_slice(hash.as_bytes());
    }
    match restore(&bytes) {
        Ok(table) => {
            let again = table.dump(|payload, out| out.extend(payload));
            let restored = restore(&again).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(restored.spec_fingerprint(), table.spec_fingerprint());
            assert_eq!(restored.len(), table.len());
            // The points may be made up; all else must hold.
            assert!(table.points().map(|(point, _)| point).is_sorted());
            assert_eq!(table.owner(&bytes).is_none(), table.is_empty() && table.pins().is_empty());
        }
        Err(error) => assert!(error.to_string().len() < 8192),
    }
}
