//! Writes a generated profile while its events are made: each line twice, first to know its length, which stands before it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use haloscope_xspace::write::{Line, Plane, Space};

use super::{CHIPS, LINES, Row, STATS, device_without_lines, hostname, rows, steps_of, task_environment};

/// Writes the profile of one host, of about `bytes` bytes, and says how many it took.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(path: &Path, bytes: u64, host: i64) -> Result<u64> {
    let steps = steps_of(bytes);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for chip in 0..CHIPS {
        device(&mut out, chip, steps, host)?;
    }
    let rest =
        Space { planes: vec![task_environment(steps)], hostnames: vec![hostname(host)], ..Space::default() };
    out.write_all(&rest.to_bytes())?;
    let file = out.into_inner()?;
    Ok(file.metadata()?.len())
}

fn device(out: &mut impl Write, chip: i64, steps: i64, host: i64) -> Result<()> {
    let whole = device_without_lines(chip, steps);
    let begin = Plane { id: whole.id, name: whole.name.clone(), ..Plane::default() };
    let (begin, whole) = (plane_body(begin)?, plane_body(whole)?);
    // Lines stand between the name and the metadata.
    let end = whole.strip_prefix(begin.as_slice()).context("a plane begins with its id and name")?;
    let mut event = Vec::new();
    let mut heads = Vec::new();
    for (i, name) in LINES.iter().enumerate() {
        let head = Plane { lines: vec![Line::new(i as i64 + 1, name)], ..Plane::default() };
        let body = after_length(&plane_body(head)?)?.to_vec();
        let mut length = body.len() as u64;
        rows(i, chip, steps, host, |row| {
            encode(&mut event, row);
            length += event.len() as u64;
        });
        let mut head = vec![0x1a];
        varint(&mut head, length);
        head.extend(&body);
        heads.push((head, length - body.len() as u64));
    }
    let lines: u64 = heads.iter().map(|(head, events)| head.len() as u64 + events).sum();
    let mut tag = vec![0x0a];
    varint(&mut tag, whole.len() as u64 + lines);
    out.write_all(&tag)?;
    out.write_all(&begin)?;
    for (i, (head, _)) in heads.iter().enumerate() {
        out.write_all(head)?;
        let mut written = Ok(());
        rows(i, chip, steps, host, |row| {
            encode(&mut event, row);
            if written.is_ok() {
                written = out.write_all(&event);
            }
        });
        written?;
    }
    Ok(out.write_all(end)?)
}

/// The body of the only plane of a profile.
fn plane_body(plane: Plane) -> Result<Vec<u8>> {
    let space = Space { planes: vec![plane], ..Space::default() };
    Ok(after_length(&space.to_bytes())?.to_vec())
}

/// What stands behind a field's tag (of one byte) and length.
fn after_length(field: &[u8]) -> Result<&[u8]> {
    let length = field.iter().skip(1).position(|byte| *byte < 0x80).context("a field has a length")?;
    let body = field.get(length + 2..).unwrap_or_default();
    ensure!(!field.is_empty(), "a field has a tag");
    Ok(body)
}

/// The event with its tag and length, as the writer of `xspace` writes it.
fn encode(out: &mut Vec<u8>, row: Row) {
    let (offset, duration) = (row.offset_ps as u64, row.duration_ps as u64);
    let third = row.third.map(|(name, value)| (stat_id(name), value));
    let stats = [Some((1, offset)), Some((2, duration)), third];
    let stat_len = |(id, value): (u64, u64)| 2 + varint_len(id) + varint_len(value);
    let body = 1
        + varint_len(row.metadata_id as u64)
        + (1 + varint_len(offset))
        + (1 + varint_len(duration))
        + stats.iter().flatten().map(|stat| 2 + stat_len(*stat)).sum::<u64>();
    out.clear();
    out.push(0x22);
    varint(out, body);
    for (tag, value) in [(0x08, row.metadata_id as u64), (0x10, offset), (0x18, duration)] {
        out.push(tag);
        varint(out, value);
    }
    for (id, value) in stats.into_iter().flatten() {
        out.push(0x22);
        varint(out, stat_len((id, value)));
        out.push(0x08);
        varint(out, id);
        out.push(0x18);
        varint(out, value);
    }
}

fn stat_id(name: &str) -> u64 {
    STATS.iter().position(|s| *s == name).unwrap_or(STATS.len()) as u64 + 1
}

fn varint_len(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_streamed_is_what_the_writer_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.xplane.pb");
        let written = write(&path, 1_000_000, 0).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(written, bytes.len() as u64);
        assert!(bytes == super::super::profile(1_000_000).to_bytes());
    }

    #[test]
    fn hosts_differ() {
        let folder = tempfile::tempdir().unwrap();
        let of = |host| {
            let path = folder.path().join(format!("{host}"));
            write(&path, 1_000_000, host).unwrap();
            std::fs::read(&path).unwrap()
        };
        assert!(of(0) != of(3));
    }
}
