//! What questions about a run share, kept for the next one: see [`Profile::memo`].
//!
//! None of it depends on a window of time. It is laid out so that a window costs two searches and a look at the events at
//! its edges, however many lie between, and says the same as the plain way to the last bit.

mod class_blocks;
mod duty_blocks;
mod ends;
pub(crate) mod lengths;
mod line_sums;
mod op_blocks;

use std::sync::{Mutex, OnceLock, PoisonError};

use class_blocks::ClassBlocks;
use duty_blocks::DutyBlocks;
use lengths::Lengths;
use op_blocks::OpBlocks;
use rustc_hash::FxHashMap;

use super::account::PLACES;
use super::busy::{self, DutyCycle};
use super::input::input_work;
use super::intervals::Intervals;
use super::launches::{self, Launch};
use super::op_rows::DeviceOps;
use super::op_sums::{self, Sums};
use super::roofline::Work;
use haloscope_profile::{Device, Event, HostId, LineId, Profile, filled};

/// The FLOPs and bytes of a device in windows that were asked for, by start and end.
pub(super) type KnownWork = FxHashMap<(i64, i64), Work>;

/// Filled on first use.
#[derive(Debug)]
pub struct WindowIndex {
    devices: Vec<OfDevice>,
    hosts: Vec<OfHost>,
}

#[derive(Debug, Default)]
struct OfDevice {
    ops: OnceLock<DeviceOps<'static>>,
    blocks: OnceLock<Option<OpBlocks>>,
    sums: OnceLock<Vec<Sums>>,
    busy: OnceLock<Lengths>,
    duty: OnceLock<Option<DutyBlocks>>,
    classes: OnceLock<ClassBlocks>,
    launches: OnceLock<Vec<Launch>>,
    between: OnceLock<Lengths>,
    waits_for_input: OnceLock<Lengths>,
    work: Mutex<KnownWork>,
}

#[derive(Debug, Default)]
struct OfHost {
    span: OnceLock<(i64, i64)>,
    input: OnceLock<Intervals>,
}

impl WindowIndex {
    /// What is kept of a run; `None` where only one question is asked of it.
    pub fn of(profile: &Profile) -> Option<&Self> {
        profile.memo(|profile| Self {
            devices: profile.devices.iter().map(|_| OfDevice::default()).collect(),
            hosts: profile.hosts.iter().map(|_| OfHost::default()).collect(),
        })
    }

    fn device(&self, device: &Device) -> &OfDevice {
        &self.devices[device.id.index()]
    }

    /// Which op each event of a device belongs to.
    pub fn ops(&self, profile: &Profile, device: &Device) -> &DeviceOps<'static> {
        let of = self.device(device);
        filled(&of.ops, || DeviceOps::find(profile, device).into_owned())
    }

    /// The sums of a device's ops, as a walk over them makes them.
    pub(super) fn sums(&self, profile: &Profile, device: &Device, cut: Option<&Intervals>) -> Vec<Sums> {
        let Some(cut) = cut else {
            let ops = self.ops(profile, device);
            let all = &self.device(device).sums;
            return filled(all, || op_sums::sums(profile, ops, None, |_| true)).clone();
        };
        self.sums_of_lines(profile, device, cut, |_| true)
    }

    /// The same of some of its lines.
    pub(super) fn sums_of_lines(
        &self,
        profile: &Profile,
        device: &Device,
        cut: &Intervals,
        takes_line: impl Fn(LineId) -> bool,
    ) -> Vec<Sums> {
        let ops = self.ops(profile, device);
        if let &[window] = cut.as_slice()
            && let Some(blocks) = self.blocks(profile, device)
        {
            return blocks.sums(profile, ops, window, takes_line);
        }
        op_sums::sums(profile, ops, Some(cut), takes_line)
    }

    fn blocks(&self, profile: &Profile, device: &Device) -> Option<&OpBlocks> {
        let ops = self.ops(profile, device);
        filled(&self.device(device).blocks, || OpBlocks::of(profile, ops)).as_ref()
    }

    /// Calls `each` with the op and the event of every execution that is at work between two times at least, in the order of
    /// [`DeviceOps::walk_placed`]; of a CPU, and where sums could overflow, with all executions.
    pub(super) fn executions(
        &self,
        profile: &Profile,
        device: &Device,
        between_ps: (i64, i64),
        mut each: impl FnMut(usize, &Event),
    ) {
        let ops = self.ops(profile, device);
        match self.blocks(profile, device) {
            Some(blocks) => blocks.executions(profile, ops, between_ps, each),
            None => ops.walk_placed(profile, |row, event, _, counts| {
                if counts {
                    each(row, event);
                }
            }),
        }
    }

    /// Looks at, or adds to, what is known of a device's work in windows.
    pub(super) fn known_work<T>(&self, device: &Device, look: impl FnOnce(&mut KnownWork) -> T) -> T {
        // Entries are whole, whoever added them.
        look(&mut self.device(device).work.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When a device was busy.
    pub(super) fn busy(&self, profile: &Profile, device: &Device) -> &Lengths {
        let of = self.device(device);
        filled(&of.busy, || Lengths::of(busy::intervals(profile, device)))
    }

    /// The duty cycle of a TPU in a window.
    pub(super) fn duty(
        &self,
        profile: &Profile,
        device: &Device,
        window: Option<(i64, i64)>,
    ) -> Option<DutyCycle> {
        let of = self.device(device);
        filled(&of.duty, || DutyBlocks::of(profile, device)).as_ref()?.cycle(profile, window)
    }

    /// What a device's busy time goes to in a window, by place.
    pub(super) fn classes(&self, profile: &Profile, device: &Device, window: (i64, i64)) -> [i64; PLACES] {
        let ops = self.ops(profile, device);
        let classes = &self.device(device).classes;
        filled(classes, || ClassBlocks::of(profile, device, ops)).times(profile, ops, window)
    }

    /// The program executions of a device.
    pub(super) fn launches(&self, profile: &Profile, device: &Device) -> &Vec<Launch> {
        let of = self.device(device);
        filled(&of.launches, || launches::of(profile, device))
    }

    /// When a device idled between its first op and its last while no program ran.
    pub(super) fn between(&self, profile: &Profile, device: &Device) -> &Lengths {
        let (busy, launches) = (self.busy(profile, device), self.launches(profile, device));
        filled(&self.device(device).between, || {
            let programs = Intervals::union_of(launches.iter().map(|l| (l.start_ps, l.end_ps)).collect());
            Lengths::of(gaps(busy.set()).minus(&programs))
        })
    }

    /// When a device idled between its first op and its last while its host read or prepared input.
    pub(super) fn waits_for_input(&self, profile: &Profile, device: &Device) -> &Lengths {
        let (busy, input) = (self.busy(profile, device), self.input(profile, device.host));
        let waits = &self.device(device).waits_for_input;
        filled(waits, || Lengths::of(gaps(busy.set()).intersect(input)))
    }

    /// When a host read or prepared input.
    pub(super) fn input(&self, profile: &Profile, host: HostId) -> &Intervals {
        filled(&self.hosts[host.index()].input, || input_work(profile, host))
    }

    /// From the first to the last event of a host.
    pub(super) fn span(&self, profile: &Profile, host: HostId) -> (i64, i64) {
        *filled(&self.hosts[host.index()].span, || span(profile, host))
    }
}

/// The time between the first and the last moment of a set that is not in it.
fn gaps(set: &Intervals) -> Intervals {
    set.hull().map_or_else(Intervals::default, |(from, to)| set.gaps(from, to))
}

/// From the first to the last event of a host.
pub(super) fn span(profile: &Profile, host: HostId) -> (i64, i64) {
    let lines = profile.planes_of(host).flat_map(|p| profile.lines_of(p.id));
    let spans: Vec<_> = lines.filter_map(|l| profile.events(l).span_ps()).collect();
    let first = spans.iter().map(|s| s.0).min().unwrap_or(0);
    (first, spans.iter().map(|s| s.1).max().unwrap_or(first))
}

#[cfg(test)]
mod tests;
