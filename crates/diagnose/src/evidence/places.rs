//! Where on the timeline an op can be looked at.

use super::Evidence;
use haloscope_report::Link;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::ops::Op;

impl Evidence<'_> {
    /// The timeline around the longest execution of an op on the first device that ran it; the whole timeline where there is
    /// none.
    pub(crate) fn timeline_of(&self, op: &Op<'_>) -> Link {
        for (position, device) in self.selection.devices.iter().enumerate() {
            let rows = DeviceOps::find(self.profile, device);
            let is_it = |meta: &haloscope_time::op_meta::OpMeta<'_>| {
                meta.name == op.meta.name && meta.program_id == op.meta.program_id
            };
            let Some(own) = rows.ops.iter().position(|(meta, _)| is_it(meta)) else { continue };
            let cut = self.selection.window(position);
            let mut longest: Option<(i64, i64)> = None;
            rows.walk_placed(self.profile, |row, event, _, _| {
                let is_inside = cut.is_none_or(|c| c.overlap(event.start_ps, event.end_ps) > 0);
                let length = event.end_ps - event.start_ps;
                if row == own && is_inside && longest.is_none_or(|(from, to)| to - from < length) {
                    longest = Some((event.start_ps, event.end_ps));
                }
            });
            if let Some((from, to)) = longest {
                let margin = (to - from).max(1);
                let link = Link::to("timeline").device(device.name.as_str());
                return link.window(from.saturating_sub(margin), to.saturating_add(margin));
            }
        }
        Link::to("timeline")
    }
}
