//! What goes on inside kernels that were compiled with region markers: stages of their pipelines.

use super::Evidence;
use haloscope_profile::{DeviceKind, Line};

/// Time in the stages of pipelined kernels, picoseconds, summed over devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    /// `ep_wait_in`: waits until a block is there.
    pub wait_in_ps: i64,
    /// `ep_wait_out`: waits until a result is written.
    pub wait_out_ps: i64,
    /// `ep_run_kernel`: the kernel's body; 0 where it has no marker.
    pub run_ps: i64,
    /// `ep_run_kernel` events: blocks.
    pub blocks: u64,
}

impl Evidence<'_> {
    /// The stages of pipelined kernels; `None` where the profile has no such markers.
    pub(crate) fn stages(&self) -> Option<Stages> {
        let mut sum = Stages::default();
        let mut is_there = false;
        for (position, line) in self.tpu_lines("XLA TraceMe") {
            let plane = self.profile.plane(line.plane);
            let source = self.profile.source_of(plane);
            let cut = self.selection.window(position);
            for event in self.profile.events(line).iter() {
                let length =
                    cut.map_or(event.end_ps - event.start_ps, |c| c.overlap(event.start_ps, event.end_ps));
                let slot = match plane.meta_label(source, event.meta).as_ref() {
                    "ep_wait_in" => &mut sum.wait_in_ps,
                    "ep_wait_out" => &mut sum.wait_out_ps,
                    "ep_run_kernel" => {
                        sum.blocks += u64::from(length > 0);
                        &mut sum.run_ps
                    }
                    _ => continue,
                };
                is_there = true;
                *slot = slot.saturating_add(length);
            }
        }
        is_there.then_some(sum)
    }

    fn tpu_lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a Line)> {
        let devices = self.selection.devices.iter().enumerate().filter(|(_, d)| d.kind == DeviceKind::Tpu);
        devices.flat_map(move |(position, device)| {
            let lines = self.profile.lines_of(device.plane).filter(move |line| line.name == name);
            lines.map(move |line| (position, line))
        })
    }
}
