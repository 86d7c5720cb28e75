//! Columns as they are kept beside the heap, and back.
//!
//! The head is words of 64 bits: which line it is of and on which clock, the bases of packed numbers, the keys of stats, what was
//! counted, the events without a place in time, and the faults. The columns follow in the order of [`Events::parts`].

use bytemuck::Pod;
use haloscope_xspace::Faults;

use super::packed::Pack;
use super::rows::{Columns, DeviceTimes};
use super::stat_keys::StatKeys;
use super::{Column, Events, Line, Plane, Segment, StoredColumns};
use haloscope_report::units::LARGEST_PS;

/// Changes whenever the head or the columns change their meaning.
const FORMAT: u64 = 2;

/// Words of the head that are always there.
const FIXED: usize = 15;

/// The columns of a line as bytes: what [`super::ColumnStore::put`] is given.
#[derive(Debug)]
pub struct Parts<'a> {
    /// What is no column.
    pub head: Vec<u8>,
    /// The columns.
    pub columns: Vec<&'a [u8]>,
}

impl Parts<'_> {
    /// How many bytes they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.head.len() + self.columns.iter().map(|column| column.len()).sum::<usize>()) as u64
    }
}

impl Events {
    /// The events as bytes, for keeping. [`Events::from_parts`] makes the same events of them.
    #[must_use]
    pub fn parts(&self) -> Parts<'_> {
        let columns = self.table.backing_cart();
        let device = columns.device.as_ref();
        let base = |pack: Option<&Pack>| pack.map_or(0, |pack| pack.base as u64);
        let [low, high, others] = self.keys.to_words();
        let mut head = vec![
            FORMAT,
            self.line.at,
            self.line.len,
            self.base_ps as u64,
            self.len() as u64,
            self.negative,
            self.nameless,
            columns.duration_ps.base as u64,
            u64::from(device.is_some()),
            base(device.map(|d| &d.start_ps)),
            base(device.map(|d| &d.duration_ps)),
            low,
            high,
            others,
            self.aggregated.len() as u64,
        ];
        for (meta, count, duration) in &self.aggregated {
            head.extend([u64::from(*meta), *count as u64, *duration as u64]);
        }
        head.extend(self.faults.to_words());
        let mut parts = vec![
            columns.start_ps.bytes(),
            columns.meta.bytes(),
            columns.place.bytes(),
            columns.far_place.bytes(),
            columns.marks.bytes(),
        ];
        let device = device.into_iter().flat_map(|device| [&device.start_ps, &device.duration_ps]);
        for pack in std::iter::once(&columns.duration_ps).chain(device) {
            parts.extend([pack.near.bytes(), pack.far.bytes(), pack.wide.bytes()]);
        }
        Parts { head: bytemuck::cast_slice(&head).to_vec(), columns: parts }
    }

    /// The events that were kept of a line; `None` unless they are of this line, on the clock it has now, and sound: of the
    /// same length, in order, and within their tables.
    #[must_use]
    pub fn from_parts(kept: StoredColumns, line: &Line, plane: &Plane) -> Option<Self> {
        let words: &[u64] = bytemuck::try_cast_slice(&kept.head).ok()?;
        let (fixed, rest) = words.split_first_chunk::<FIXED>()?;
        let [format, at, len, base_ps, rows, negative, nameless, bases @ .., aggregated] = *fixed;
        let [duration_base, has_device, start_base, longer_base, keys @ ..] = bases;
        let line_is = [line.body.at, line.body.len, line.base_ps as u64];
        if format != FORMAT || [at, len, base_ps] != line_is || rows > line.event_count || has_device > 1 {
            return None;
        }
        let rows = usize::try_from(rows).ok()?;
        let (aggregated, faults) =
            rest.split_at_checked(usize::try_from(aggregated).ok()?.checked_mul(3)?)?;
        let is_meta = |meta: u64| meta < plane.metas.len() as u64;
        let aggregated = aggregated.as_chunks::<3>().0.iter();
        let aggregated = aggregated
            .map(|&[meta, count, ps]| is_meta(meta).then_some((meta as u32, count as i64, ps as i64)));
        let mut columns = kept.columns.into_iter();
        let (start_ps, meta) = (next::<i64>(&mut columns)?, next::<u32>(&mut columns)?);
        let (place, far_place) = (next::<u32>(&mut columns)?, next::<u64>(&mut columns)?);
        let marks = next::<u8>(&mut columns)?;
        let mut pack = |base: u64| {
            let (near, far, wide) = (next(&mut columns)?, next(&mut columns)?, next(&mut columns)?);
            let pack = Pack { base: base as i64, near, far, wide };
            pack.is_sound(rows).then_some(pack)
        };
        let duration_ps = pack(duration_base)?;
        let device = match has_device {
            0 => None,
            _ => Some(DeviceTimes { start_ps: pack(start_base)?, duration_ps: pack(longer_base)? }),
        };
        let lengths = [start_ps.len(), meta.len(), place.len().max(far_place.len())];
        let in_time = |start: Option<&i64>| start.is_none_or(|ps| (-LARGEST_PS..=LARGEST_PS).contains(ps));
        let is_sound = lengths == [rows; 3]
            && (marks.is_empty() || marks.len() == rows)
            && columns.next().is_none()
            && start_ps.is_sorted()
            && in_time(start_ps.first())
            && in_time(start_ps.last())
            && meta.iter().copied().max().is_none_or(|largest| is_meta(u64::from(largest)));
        if !is_sound {
            return None;
        }
        Some(Self {
            line: line.body,
            base_ps: line.base_ps,
            aggregated: aggregated.collect::<Option<_>>()?,
            negative,
            nameless,
            faults: Faults::from_words(faults)?,
            keys: StatKeys::from_words(keys),
            table: Columns { start_ps, duration_ps, meta, place, far_place, device, marks }.table(),
        })
    }
}

fn next<T: Pod>(columns: &mut impl Iterator<Item = Segment>) -> Option<Column<T>> {
    Column::mapped(columns.next()?)
}
