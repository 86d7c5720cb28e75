//! Simple chunks: the lengths of the records, then the records, each packed.

use super::blocks::Chunk;
use super::packed::{Bytes, Packing};
use super::{Bad, Records};

pub(super) fn read(chunk: &Chunk) -> Result<Records, Bad> {
    /// Bytes of the longest number.
    const NUMBER: u64 = 10;
    let mut data = Bytes::new(&chunk.data);
    let packing = Packing::of(data.byte().ok_or("an empty chunk")?)?;
    let length = data.number()?;
    let sizes = packing.unpack(data.take(length)?, chunk.records.saturating_mul(NUMBER))?;
    let bytes = packing.unpack(data.rest(), chunk.decoded)?;
    let mut sizes = Bytes::new(&sizes);
    let (mut ends, mut end) = (Vec::new(), 0_u64);
    while sizes.left() > 0 {
        end = end.saturating_add(sizes.number()?);
        if end > bytes.len() as u64 {
            return Err("records are longer than the chunk".to_owned());
        }
        ends.push(end as usize);
    }
    if ends.len() as u64 != chunk.records || end != bytes.len() as u64 {
        return Err("records do not fill the chunk".to_owned());
    }
    Ok(Records { bytes, ends })
}
