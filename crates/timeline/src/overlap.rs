//! What ran behind compute and what did not, and the gaps inside steps.
//!
//! Asynchronous work is hidden while the device computes, and exposed else. TPU: the line `Async XLA Ops` against the
//! innermost op of `XLA Ops` that is neither a collective, nor a transfer, nor the start or the done of asynchronous work.
//! GPU: copies and collective kernels of all streams against all other kernels.

use rayon::prelude::*;

use super::{MAX_PX, Timeline};
use haloscope_profile::{Device, DeviceKind, LineKind, MetaIdx, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_time::busy;
use haloscope_time::intervals::Intervals;
use haloscope_time::op_lines::holds_ops;
use haloscope_time::op_meta::{
    MetaIds, OpMeta, is_async_collective, is_asynchronous, is_collective, is_container, is_off_duty,
};
use haloscope_time::op_readers::kernel_category;
use haloscope_time::select::Selection;

/// Overlap and gaps of some devices.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Overlap {
    /// In the profile's order.
    pub devices: Vec<DeviceOverlap>,
}

/// Overlap and gaps of one device.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct DeviceOverlap {
    /// The device.
    pub device: String,
    /// Its group of tracks.
    pub group: String,
    /// Time in the window in which any asynchronous work was going on, picoseconds; `None` where the profile shows none of
    /// this device.
    pub async_ps: Option<i64>,
    /// The part of it in which the device computed.
    pub hidden_ps: Option<i64>,
    /// The rest of it.
    pub exposed_ps: Option<i64>,
    /// For drawing: start, duration and 1 for hidden or 0 for exposed. What is shorter than a pixel is merged with its
    /// neighbours in that pixel, and is what most of it is.
    pub spans: Vec<(i64, i64, u8)>,
    /// The steps with a part in the window, each as a whole.
    pub steps: Vec<StepGaps>,
    /// Gaps inside steps with a part in the window, of a pixel or more: start, duration, number of the step. Where the run
    /// has no steps, those between the device's first and last op.
    pub gaps: Vec<(i64, i64, Option<i64>)>,
}

/// Busy time and gaps of a step on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct StepGaps {
    /// The step's number; `None` stands for the whole where the run has no steps.
    pub number: Option<i64>,
    /// From its start to its end on this device, picoseconds.
    pub span_ps: i64,
    /// The part of it in which the device was busy.
    pub busy_ps: i64,
    /// The rest of it.
    pub gap_ps: i64,
    /// Number of gaps.
    pub gaps: usize,
    /// The longest one, picoseconds; 0 where there is none.
    pub largest_ps: i64,
}

impl Timeline {
    /// Overlap and gaps between two times (picoseconds on the run's clock, the end excluded), for drawing in `px` pixels.
    /// `devices` as a scope takes them; none means all.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window, for 0 or more than [`MAX_PX`] pixels, for a device that there is not.
    pub fn overlap(
        &self,
        start_ps: i64,
        end_ps: i64,
        px: u32,
        devices: Vec<String>,
    ) -> Result<Overlap, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        if !(1..=MAX_PX).contains(&px) {
            return Err(Error::Usage(format!("expected 1 to {MAX_PX} pixels, found {px}")));
        }
        let selection = match Selection::resolve(&self.profile, &Scope { devices, ..Scope::default() }) {
            Ok(selection) => selection,
            // A run of which no device has events has a timeline all the same.
            Err(Error::Nothing(_)) => return Ok(Overlap::default()),
            Err(error) => return Err(error),
        };
        let window = (start_ps, end_ps);
        // The ends of a window that somebody asks for may be further apart than a length can say.
        let pixel_ps = (i128::from(end_ps) - i128::from(start_ps)) / i128::from(px);
        let pixel_ps = i64::try_from(pixel_ps).unwrap_or(i64::MAX).max(1);
        let of = |device: &&Device| self.device_overlap(device, window, pixel_ps);
        Ok(Overlap { devices: selection.devices.par_iter().map(stop::carried(of)).collect() })
    }

    fn device_overlap(&self, device: &Device, window: (i64, i64), pixel_ps: i64) -> DeviceOverlap {
        let busy = self.kept.busy(&self.profile, device);
        let cut = Intervals::one(window.0, window.1);
        let mut out = DeviceOverlap {
            device: device.name.clone(),
            group: format!("p{}", device.plane.0),
            ..DeviceOverlap::default()
        };
        if let Some((hidden, exposed)) = self.kept.background(&self.profile, device) {
            let (hidden, exposed) = (hidden.intersect(&cut), exposed.intersect(&cut));
            out.hidden_ps = Some(hidden.length());
            out.exposed_ps = Some(exposed.length());
            out.async_ps = Some(hidden.length().saturating_add(exposed.length()));
            out.spans = spans(&hidden, &exposed, window.0, pixel_ps);
        }
        let steps = self.kept.steps(&self.profile);
        let mut parts: Vec<(Option<i64>, i64, i64)> = Vec::new();
        for step in &steps.rows {
            parts.extend(step.on(device.id).map(|i| (Some(step.number), i.start_ps, i.end_ps)));
        }
        if steps.rows.is_empty() {
            parts.extend(busy.hull().map(|(from, to)| (None, from, to)));
        }
        for (number, from, to) in parts.into_iter().filter(|p| p.1 < window.1 && p.2 > window.0) {
            let mut row = StepGaps { number, span_ps: to - from, ..StepGaps::default() };
            let gaps = busy.gaps(from, to);
            for &(start, end) in gaps.as_slice() {
                row.gaps += 1;
                row.gap_ps = row.gap_ps.saturating_add(end - start);
                row.largest_ps = row.largest_ps.max(end - start);
                if end - start >= pixel_ps && start < window.1 && end > window.0 {
                    out.gaps.push((start, end - start, number));
                }
            }
            row.busy_ps = row.span_ps - row.gap_ps;
            out.steps.push(row);
        }
        out
    }
}

/// When asynchronous work of a device ran behind compute, and when it did not; `None` where the profile shows none.
#[must_use]
pub fn background(profile: &Profile, device: &Device) -> Option<(Intervals, Intervals)> {
    let parts = match device.kind {
        DeviceKind::Tpu => of_tpu(profile, device),
        DeviceKind::Gpu => of_gpu(profile, device),
        DeviceKind::Cpu => None,
    };
    parts.map(|(background, compute)| (background.intersect(&compute), background.minus(&compute)))
}

/// Asynchronous work and compute; `None` where the profile does not show asynchronous work.
fn of_tpu(profile: &Profile, device: &Device) -> Option<(Intervals, Intervals)> {
    let plane = profile.plane(device.plane);
    let (mut background, mut compute) = (None::<Vec<_>>, Vec::new());
    let (source, ids) = (profile.source_of(plane), MetaIds::of(plane));
    let computes = |meta| {
        let op = OpMeta::read(plane, source, meta, &ids);
        let category = &*op.category;
        !is_container(category)
            && !is_asynchronous(category)
            && !is_async_collective(&op.name)
            && !is_collective(category, &op.name)
            && !is_off_duty(category)
    };
    let mut of_meta: Vec<bool> = Vec::new();
    for line in profile.lines_of(plane.id).filter(|l| l.event_count > 0) {
        match line.kind {
            LineKind::AsyncXlaOps => {
                let events = profile.events(line).iter().map(|e| (e.start_ps, e.end_ps));
                background.get_or_insert_default().extend(events);
            }
            LineKind::XlaOps => {
                if of_meta.is_empty() {
                    of_meta = (0..plane.metas.len() as MetaIdx).map(computes).collect();
                }
                let on = busy::on_duty(profile, line, |event| of_meta[event.meta as usize]);
                compute.extend_from_slice(on.as_slice());
            }
            _ => {}
        }
    }
    Some((Intervals::union_of(background?), Intervals::union_of(compute)))
}

fn of_gpu(profile: &Profile, device: &Device) -> Option<(Intervals, Intervals)> {
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let moves = |meta| {
        matches!(kernel_category(&plane.meta_label(source, meta)), "memcpy" | "memset" | "collective kernel")
    };
    let of_meta: Vec<bool> = (0..plane.metas.len() as MetaIdx).map(moves).collect();
    let (mut background, mut compute) = (Vec::new(), Vec::new());
    for line in profile.lines_of(plane.id).filter(|l| holds_ops(device.kind, l.kind)) {
        for event in profile.events(line).iter() {
            let to = if of_meta[event.meta as usize] { &mut background } else { &mut compute };
            to.push((event.start_ps, event.end_ps));
        }
    }
    (!background.is_empty()).then(|| (Intervals::union_of(background), Intervals::union_of(compute)))
}

/// What to draw of two sets that have nothing in common.
fn spans(hidden: &Intervals, exposed: &Intervals, origin_ps: i64, pixel_ps: i64) -> Vec<(i64, i64, u8)> {
    let pieces =
        |set: &Intervals, flag: u8| set.as_slice().iter().map(move |p| (p.0, p.1, flag)).collect::<Vec<_>>();
    let mut all = pieces(hidden, 1);
    all.extend(pieces(exposed, 0));
    all.sort_unstable();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&(start, mut end, flag)) = all.get(at) {
        at += 1;
        let pixel = (i128::from(start) - i128::from(origin_ps)) / i128::from(pixel_ps) + 1;
        let pixel_end = i128::from(origin_ps) + pixel * i128::from(pixel_ps);
        let pixel_end = i64::try_from(pixel_end).unwrap_or(i64::MAX);
        let mut time = [0_i64; 2];
        time[usize::from(flag)] = end - start;
        while let Some(&(next, next_end, flag)) = all.get(at).filter(|p| p.1 <= pixel_end && end <= pixel_end)
        {
            time[usize::from(flag)] += next_end - next;
            end = next_end;
            at += 1;
        }
        out.push((start, end - start, u8::from(time[1] >= time[0] && time[1] > 0)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_pixel_are_drawn_as_one() {
        let set = |parts: &[(i64, i64)]| Intervals::union_of(parts.to_vec());
        let (hidden, exposed) = (set(&[(0, 3), (5, 7), (30, 60)]), set(&[(3, 4), (12, 18), (60, 61)]));
        assert_eq!(spans(&hidden, &exposed, 0, 10), [(0, 7, 1), (12, 6, 0), (30, 30, 1), (60, 1, 0)]);
        assert_eq!(spans(&hidden, &exposed, 0, 1).len(), 6);
        assert_eq!(spans(&hidden, &exposed, 0, 1000), [(0, 61, 1)]);
        // From as long ago as can be asked for, in pixels of as much.
        let (all, half) = (spans(&hidden, &exposed, i64::MIN, i64::MAX), i64::MAX / 2);
        assert_eq!(all, [(0, 61, 1)]);
        assert_eq!(spans(&hidden, &exposed, i64::MIN, half), [(0, 61, 1)]);
    }
}
