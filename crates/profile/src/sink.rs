//! Where decoded events are written, before they are columns.

use std::ops::Range;

use super::arena::{Arena, Plan, column};
use super::packed::{ELSEWHERE, Pack, Packed};
use super::rows::{Columns, DeviceTimes};
use super::{MetaIdx, Shared};

/// What is added to a duration before it is packed: durations are 0 or more, so that 32 bits reach to 4.29 ms.
pub(super) const DURATION_BASE: i64 = 1 << 31;

/// Where the columns of a line lie in its memory.
pub(super) struct Layout {
    start_ps: Range<usize>,
    duration_ps: Range<usize>,
    meta: Range<usize>,
    place: Range<usize>,
    far_place: Range<usize>,
    device_start: Range<usize>,
    device_duration: Range<usize>,
    marks: Range<usize>,
    bytes: usize,
    has_device: bool,
}

/// The columns of some rows, to be written.
pub(super) struct Sink<'s> {
    pub(super) start_ps: &'s mut [i64],
    pub(super) duration_ps: &'s mut [i32],
    pub(super) meta: &'s mut [MetaIdx],
    pub(super) place: &'s mut [u32],
    pub(super) far_place: &'s mut [u64],
    pub(super) device_start: &'s mut [i32],
    pub(super) device_duration: &'s mut [i32],
    pub(super) marks: &'s mut [u8],
}

/// Numbers of a line that did not fit in 32 bits: row and number, by row.
#[derive(Debug, Default)]
pub(super) struct WideNumbers {
    pub(super) duration_ps: Vec<[i64; 2]>,
    pub(super) device_start: Vec<[i64; 2]>,
    pub(super) device_duration: Vec<[i64; 2]>,
}

impl WideNumbers {
    /// Adds those of rows that stand behind; `shift` is added to their rows.
    pub(super) fn extend(&mut self, other: &Self, shift: i64) {
        let packs = [
            (&mut self.duration_ps, &other.duration_ps),
            (&mut self.device_start, &other.device_start),
            (&mut self.device_duration, &other.device_duration),
        ];
        for (all, more) in packs {
            all.extend(more.iter().map(|[row, number]| [row + shift, *number]));
        }
    }
}

impl Layout {
    /// Columns for so many events of a line of so many bytes.
    pub(super) fn new(rows: usize, line_bytes: u64, has_device: bool, has_marks: bool) -> Self {
        let mut plan = Plan::default();
        let is_far = u32::try_from(line_bytes).is_err();
        let rows_if = |wanted: bool| if wanted { rows } else { 0 };
        let layout = Self {
            start_ps: plan.column::<i64>(rows),
            duration_ps: plan.column::<i32>(rows),
            meta: plan.column::<MetaIdx>(rows),
            place: plan.column::<u32>(rows_if(!is_far)),
            far_place: plan.column::<u64>(rows_if(is_far)),
            device_start: plan.column::<i32>(rows_if(has_device)),
            device_duration: plan.column::<i32>(rows_if(has_device)),
            marks: plan.column::<u8>(rows_if(has_marks)),
            bytes: 0,
            has_device,
        };
        Self { bytes: plan.bytes(), ..layout }
    }

    pub(super) fn memory(&self) -> Arena {
        Arena::new(self.bytes)
    }

    pub(super) fn sink<'s>(&self, memory: &'s mut Arena) -> Sink<'s> {
        let mut rest = memory.bytes_mut();
        let mut done = 0;
        let mut take = |place: &Range<usize>| -> &'s mut [u8] {
            let (before, after) = std::mem::take(&mut rest).split_at_mut(place.end - done);
            let found = &mut before[place.start - done..];
            (rest, done) = (after, place.end);
            found
        };
        Sink {
            start_ps: bytemuck::cast_slice_mut(take(&self.start_ps)),
            duration_ps: bytemuck::cast_slice_mut(take(&self.duration_ps)),
            meta: bytemuck::cast_slice_mut(take(&self.meta)),
            place: bytemuck::cast_slice_mut(take(&self.place)),
            far_place: bytemuck::cast_slice_mut(take(&self.far_place)),
            device_start: bytemuck::cast_slice_mut(take(&self.device_start)),
            device_duration: bytemuck::cast_slice_mut(take(&self.device_duration)),
            marks: take(&self.marks),
        }
    }

    /// The first `rows` rows of filled memory as columns.
    pub(super) fn columns(
        &self,
        memory: &Shared,
        rows: usize,
        far: WideNumbers,
        device_base: i64,
    ) -> Columns {
        let numbers = |place| column::<i32>(memory, place, rows);
        let device = self.has_device.then(|| DeviceTimes {
            start_ps: Pack::new(device_base, numbers(&self.device_start), far.device_start),
            duration_ps: Pack::new(0, numbers(&self.device_duration), far.device_duration),
        });
        Columns {
            start_ps: column(memory, &self.start_ps, rows),
            duration_ps: Pack::new(DURATION_BASE, numbers(&self.duration_ps), far.duration_ps),
            meta: column(memory, &self.meta, rows),
            place: column(memory, &self.place, rows),
            far_place: column(memory, &self.far_place, rows),
            device,
            marks: column(memory, &self.marks, rows),
        }
    }
}

impl<'s> Sink<'s> {
    /// The sink of the first `rows` rows, and that of the others.
    pub(super) fn split(self, rows: usize) -> (Self, Self) {
        fn at<T>(column: &mut [T], rows: usize) -> (&mut [T], &mut [T]) {
            let rows = rows.min(column.len());
            column.split_at_mut(rows)
        }
        let (start_ps, start_after) = at(self.start_ps, rows);
        let (duration_ps, duration_after) = at(self.duration_ps, rows);
        let (meta, meta_after) = at(self.meta, rows);
        let (place, place_after) = at(self.place, rows);
        let (far_place, far_place_after) = at(self.far_place, rows);
        let (device_start, device_start_after) = at(self.device_start, rows);
        let (device_duration, device_duration_after) = at(self.device_duration, rows);
        let (marks, marks_after) = at(self.marks, rows);
        let first =
            Self { start_ps, duration_ps, meta, place, far_place, device_start, device_duration, marks };
        let others = Self {
            start_ps: start_after,
            duration_ps: duration_after,
            meta: meta_after,
            place: place_after,
            far_place: far_place_after,
            device_start: device_start_after,
            device_duration: device_duration_after,
            marks: marks_after,
        };
        (first, others)
    }

    /// Moves `rows` rows from one place to one before it.
    pub(super) fn close_gap(&mut self, from: usize, rows: usize, to: usize) {
        fn shift<T: Copy>(column: &mut [T], from: usize, rows: usize, to: usize) {
            if from + rows <= column.len() {
                column.copy_within(from..from + rows, to);
            }
        }
        shift(self.start_ps, from, rows, to);
        shift(self.duration_ps, from, rows, to);
        shift(self.meta, from, rows, to);
        shift(self.place, from, rows, to);
        shift(self.far_place, from, rows, to);
        shift(self.device_start, from, rows, to);
        shift(self.device_duration, from, rows, to);
        shift(self.marks, from, rows, to);
    }

    /// The durations of the first `rows` rows.
    pub(super) fn durations<'a>(&'a self, rows: usize, far: &'a WideNumbers) -> Packed<'a> {
        let near = &self.duration_ps[..rows];
        Packed { base: DURATION_BASE, near, far: &far.duration_ps, wide: &[] }
    }

    /// Puts the first `rows` rows in the order of starts, longer ones first among equals, and of the file among those.
    pub(super) fn sort(&mut self, rows: usize, far: &mut WideNumbers) {
        let durations =
            Packed { base: DURATION_BASE, near: &self.duration_ps[..rows], far: &far.duration_ps, wide: &[] };
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by_key(|&i| (self.start_ps[i], -durations.at(i), i));
        reorder(self.start_ps, &order);
        reorder(self.meta, &order);
        reorder(self.place, &order);
        reorder(self.far_place, &order);
        reorder(self.marks, &order);
        let packs = [
            (&mut *self.duration_ps, &mut far.duration_ps),
            (&mut *self.device_start, &mut far.device_start),
            (&mut *self.device_duration, &mut far.device_duration),
        ];
        for (near, far) in packs {
            reorder(near, &order);
            if far.is_empty() {
                continue;
            }
            let moved = order.iter().enumerate().filter(|(row, _)| near[*row] == ELSEWHERE);
            *far = moved
                .filter_map(|(row, &was)| {
                    let at = far.binary_search_by_key(&(was as i64), |far| far[0]).ok()?;
                    Some([row as i64, far[at][1]])
                })
                .collect();
        }
    }
}

/// Puts a column in an order; one that is not there stays away.
fn reorder<T: Copy>(column: &mut [T], order: &[usize]) {
    if column.len() < order.len() {
        return;
    }
    let sorted: Vec<T> = order.iter().map(|&i| column[i]).collect();
    column[..order.len()].copy_from_slice(&sorted);
}
