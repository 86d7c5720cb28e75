//! Simple chunks: the lengths of the records, then the records, each packed.

use super::chunk::Chunk;
use super::compression::{Compression, Cursor, Most};
use super::{Records, Why};

pub(super) fn read(chunk: &Chunk, left: u64) -> Result<Records, Why> {
    /// Bytes of the longest number.
    const NUMBER: u64 = 10;
    let mut data = Cursor::new(&chunk.data);
    let compression = Compression::from_byte(data.byte().ok_or("an empty chunk")?)?;
    let length = data.number()?;
    let sizes = Most::of(chunk.records.saturating_mul(NUMBER)).within(left);
    let sizes = compression.unpack(data.take(length)?, sizes)?;
    let bytes = compression.unpack(data.rest(), Most::of(chunk.decoded))?;
    let mut sizes = Cursor::new(&sizes);
    let (mut ends, mut end) = (Vec::new(), 0_u64);
    while sizes.left() > 0 {
        end = end.saturating_add(sizes.number()?);
        if end > bytes.len() as u64 {
            return Err("records are longer than the chunk".into());
        }
        ends.push(end as usize);
    }
    if ends.len() as u64 != chunk.records || end != bytes.len() as u64 {
        return Err("records do not fill the chunk".into());
    }
    Ok(Records { bytes, ends })
}
