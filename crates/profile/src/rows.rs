//! The columns of a line's events, and slices of them that are taken once.

use yoke::{Yoke, Yokeable};

use super::packed::Pack;
use super::{Column, MetaIdx, Packed};

/// Columns with slices of themselves, so that a row costs no look at where the columns lie.
pub(super) type Table = Yoke<Rows<'static>, Box<Columns>>;

/// What is known of each event, by row.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) start_ps: Column<i64>,
    pub(super) duration_ps: Pack,
    pub(super) meta: Column<MetaIdx>,
    /// Where each event begins, from the line's first byte; empty for a line of 4 GiB or more.
    pub(super) place: Column<u32>,
    /// The same for such a line.
    pub(super) far_place: Column<u64>,
    pub(super) device: Option<DeviceTimes>,
    /// [`super::Mark`]s; empty where no event has one.
    pub(super) marks: Column<u8>,
}

/// The device's own clock: what is to be added to each event's start and duration.
#[derive(Debug, Default)]
pub(super) struct DeviceTimes {
    pub(super) start_ps: Pack,
    pub(super) duration_ps: Pack,
}

/// [`Columns`] as slices.
#[derive(Debug, Clone, Copy, Yokeable)]
pub(super) struct Rows<'a> {
    pub(super) start_ps: &'a [i64],
    pub(super) duration_ps: Packed<'a>,
    pub(super) meta: &'a [MetaIdx],
    pub(super) place: &'a [u32],
    pub(super) far_place: &'a [u64],
    pub(super) device: Option<(Packed<'a>, Packed<'a>)>,
    pub(super) marks: &'a [u8],
}

impl Columns {
    pub(super) fn table(self) -> Table {
        Yoke::attach_to_cart(Box::new(self), |columns| columns.rows())
    }

    pub(super) fn rows(&self) -> Rows<'_> {
        Rows {
            start_ps: &self.start_ps,
            duration_ps: self.duration_ps.view(),
            meta: &self.meta,
            place: &self.place,
            far_place: &self.far_place,
            device: self.device.as_ref().map(|d| (d.start_ps.view(), d.duration_ps.view())),
            marks: &self.marks,
        }
    }
}
