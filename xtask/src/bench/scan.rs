//! The yardstick: one thread, one pass over a file's bytes, decoding the three integers of each event.
//!
//! This is what any reader of events has to do at least. It trusts its input as no real reader may: it keeps no fault,
//! knows nothing of stats, names or metadata, and stops at what it does not understand.

/// What a scan found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Number of events.
    pub(crate) events: u64,
    /// Sum over the events of metadata id, offset and duration, wrapping: so that no decoding can be left out.
    pub(crate) sum: u64,
}

/// Scans a serialised `XSpace`.
pub(crate) fn scan(space: &[u8]) -> Scan {
    let mut found = Scan::default();
    fields(space, |field, plane| {
        if field == 1 {
            fields(plane, |field, line| {
                if field == 3 {
                    fields(line, |field, event| {
                        if field == 4 {
                            found.events += 1;
                            found.sum = found.sum.wrapping_add(event_sum(event));
                        }
                    });
                }
            });
        }
    });
    found
}

/// Hands every length-delimited field of a message to `each`.
#[inline(always)]
fn fields<'a>(mut data: &'a [u8], mut each: impl FnMut(u64, &'a [u8])) {
    while let Some(tag) = varint(&mut data) {
        let length = match tag & 7 {
            0 => {
                varint(&mut data);
                continue;
            }
            1 => 8,
            2 => varint(&mut data).unwrap_or(u64::MAX),
            5 => 4,
            _ => return,
        };
        let Some((body, rest)) = data.split_at_checked(length as usize) else { return };
        if tag & 7 == 2 {
            each(tag >> 3, body);
        }
        data = rest;
    }
}

#[inline(always)]
fn event_sum(mut data: &[u8]) -> u64 {
    let mut sum = 0_u64;
    while let Some(tag) = varint(&mut data) {
        let Some(value) = varint(&mut data) else { break };
        match tag {
            // metadata_id, offset_ps, duration_ps, num_occurrences
            0x08 | 0x10 | 0x18 | 0x28 => sum = sum.wrapping_add(value),
            0x22 => match data.get(value as usize..) {
                Some(rest) => data = rest,
                None => break,
            },
            _ => break,
        }
    }
    sum
}

#[inline(always)]
fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (i, &byte) in data.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *data = &data[i + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::{Event, Line, Plane, Space};

    use super::*;

    #[test]
    fn the_scan_sees_every_event() {
        let mut line = Line::new(1, "XLA Ops");
        line.events = vec![Event::at(1, 20, 300), Event::at(4, -1, 1)];
        let plane = Plane { name: "p".into(), lines: vec![line.clone(), line], ..Plane::default() };
        let space =
            Space { planes: vec![plane.clone(), plane], hostnames: vec!["h".into()], ..Space::default() };
        assert_eq!(scan(&space.to_bytes()), Scan { events: 8, sum: 4 * (321 + 4) });
    }

    #[test]
    fn it_sees_what_the_reader_sees() {
        let bytes = crate::bench::generate::profile(200_000).to_bytes();
        assert_eq!(scan(&bytes), crate::bench::walk(&bytes));
        assert!(scan(&bytes).events > 1_000);
    }
}
