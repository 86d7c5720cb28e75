//! What the time of the active window goes to, and so what bounds the run.

use super::input;
use super::intervals::Intervals;
use super::op_meta::{is_collective, is_off_duty};
use super::ops::Op;
use super::select::Selection;
use super::usage::Usage;
use crate::roofline::Bound;
use crate::window_index::Kept;
use haloscope_profile::{HostId, LineKind, Mark, Peaks, Profile};
use haloscope_report::units;

/// A class of time. Each instant of the active window is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeClass {
    /// Ops whose FLOPs over peak take longer than their bytes over bandwidth.
    Compute,
    /// Ops whose bytes over bandwidth take longer, and waits for copies between HBM and on-chip memory.
    Memory,
    /// Collectives between devices, as far as the op line shows them: what is hidden behind other ops is not here.
    Communication,
    /// Waiting for and moving data to or from the host: infeed, outfeed, host transfers, copies to and from host memory.
    Transfer,
    /// Ops of which FLOPs, bytes or the device's peaks are not known.
    Unknown,
    /// No op ran, while the host read or prepared input.
    Input,
    /// No op ran.
    Idle,
}

/// Time by class.
#[derive(Debug, Clone)]
pub struct Classes {
    /// Classes with time, largest first; mean over devices, picoseconds.
    pub rows: Vec<(TimeClass, f64)>,
}

impl TimeClass {
    /// The class of an op.
    #[must_use]
    pub fn of(op: &Op<'_>, peaks: &Peaks) -> Self {
        let category = op.meta.category.as_ref();
        if is_collective(category, &op.meta.name) {
            return Self::Communication;
        }
        if matches!(category, "async-start" | "async-update" | "async-done" | "copy-start" | "copy-done") {
            // Copies between HBM and on-chip memory wait for HBM; memory space 5 is the host's.
            return if op.meta.expression.contains("S(5)") { Self::Transfer } else { Self::Memory };
        }
        if is_off_duty(category) || category == "memcpy" {
            return Self::Transfer;
        }
        match op.work(op.total_ps).against(peaks).bound {
            Some(Bound::Compute) => Self::Compute,
            Some(Bound::Memory) => Self::Memory,
            None => Self::Unknown,
        }
    }

    /// The word used in tables and values.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Communication => "communication",
            Self::Transfer => "transfer",
            Self::Unknown => "unknown",
            Self::Input => "input",
            Self::Idle => "idle",
        }
    }

    /// The words used in sentences and in the table of classes.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Compute => "compute-bound ops",
            Self::Memory => "memory-bound ops",
            Self::Communication => "exposed communication",
            Self::Transfer => "transfers to and from the host",
            Self::Unknown => "ops of unknown limit",
            Self::Input => "idle time while the host prepares input",
            Self::Idle => "idle time",
        }
    }

    /// What to try first.
    #[must_use]
    pub fn lever(self, selection: &Selection<'_>) -> &'static str {
        match self {
            Self::Compute => {
                "lower precision where it is allowed, fewer FLOPs, or larger tiles: `roofline` shows the gap by op"
            }
            Self::Memory => {
                "fuse, keep values in on-chip memory, narrower types, larger batch: `ops --by category`"
            }
            Self::Communication => {
                "overlap collectives with compute, or change the sharding: `ops --by category`"
            }
            Self::Transfer => {
                "start transfers earlier or move less between host and device: `ops --by category`"
            }
            Self::Unknown if selection.peaks().flops.is_none() => {
                "the device's peaks are not known: read `ops` by time"
            }
            Self::Unknown => "give custom calls a cost estimate, so that their limit is known: `ops`",
            Self::Input => "prefetch, cache or parallelise the input pipeline: `ops --on host`",
            Self::Idle => "find what the host does meanwhile: `ops --on host`, and the timeline",
        }
    }

    /// What would show that the class is wrong.
    #[must_use]
    pub fn falsifier(self) -> &'static str {
        match self {
            Self::Compute => {
                "the step time does not change with a type of half the width or a chip of higher peak"
            }
            Self::Memory => "the step time does not change when fewer bytes are moved",
            Self::Communication => "the step time on one device with the same work per device is the same",
            Self::Transfer => "the step time does not change with inputs that stay on the device",
            Self::Unknown => "a capture that counts the FLOPs and bytes of these ops shows another class",
            Self::Input => "the step time does not change with synthetic input",
            Self::Idle => "a capture with less tracing shows no such gaps",
        }
    }
}

impl Classes {
    /// Measures the selected devices.
    #[must_use]
    pub fn measure(profile: &Profile, usage: &Usage, ops: &[Op<'_>], peaks: &Peaks) -> Self {
        use TimeClass::{Communication, Compute, Idle, Input, Memory, Transfer, Unknown};
        let mut time = [
            (Compute, 0.0),
            (Memory, 0.0),
            (Communication, 0.0),
            (Transfer, 0.0),
            (Unknown, 0.0),
            (Input, 0.0),
            (Idle, 0.0),
        ];
        let mut add = |class, ps: f64| {
            if let Some(row) = time.iter_mut().find(|(c, _)| *c == class) {
                row.1 += ps;
            }
        };
        let devices = usage.devices.len().max(1) as f64;
        let all_ps: f64 = ops.iter().map(|op| op.self_ps as f64).sum();
        // Self times of ops on several streams or threads at once add up to more than the busy time: scale to it.
        let busy_ps = usage.busy_ps();
        let scale = if all_ps > 0.0 { busy_ps / all_ps } else { 0.0 };
        for op in ops {
            add(TimeClass::of(op, peaks), op.self_ps as f64 * scale);
        }
        let idle_ps = units::sum(usage.devices.iter().map(|d| d.gaps_ps)) as f64 / devices;
        // Devices of one host follow one another.
        let mut input = (None, Intervals::default());
        let input_ps = usage.devices.iter().map(|d| {
            let host = profile.device(d.id).host;
            if input.0 != Some(host) && Kept::of(profile).is_none() {
                input = (Some(host), input_work(profile, host));
            }
            d.waits_for_input_ps(profile, &input.1)
        });
        // Looking at the host's events costs a pass over them: only where idle time is worth explaining.
        let input_ps =
            if idle_ps > 0.05 * usage.active_ps() { units::sum(input_ps) as f64 / devices } else { 0.0 };
        add(Input, input_ps);
        add(Idle, idle_ps - input_ps);
        let mut rows: Vec<_> = time.into_iter().filter(|(_, ps)| *ps > 0.0).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { rows }
    }

    /// Share of the active window that a class takes.
    #[must_use]
    pub fn share(&self, class: TimeClass) -> f64 {
        let all: f64 = self.rows.iter().map(|(_, ps)| ps).sum();
        let own = self.rows.iter().find(|(c, _)| *c == class).map_or(0.0, |(_, ps)| *ps);
        if all > 0.0 { own / all } else { 0.0 }
    }

    /// The class that takes most time.
    #[must_use]
    pub fn bound_by(&self) -> TimeClass {
        self.rows.first().map_or(TimeClass::Unknown, |(class, _)| *class)
    }
}

/// When the host read or prepared input: events with stat `_ipl_stage_id` (Grain and other JAX pipelines) or with the
/// names of tf.data iterators and of infeed, and all events of data loaders' threads.
#[must_use]
pub fn input_work(profile: &Profile, host: HostId) -> Intervals {
    let mut parts = Vec::new();
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let source = profile.source_of(plane);
        let stage = plane.stat_id("_ipl_stage_id");
        let named: Vec<bool> =
            (0..plane.metas.len() as u32).map(|m| input::feeds(&plane.meta_label(source, m))).collect();
        let names_any = stage.is_some() || named.contains(&true);
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
            let is_worker = input::is_worker(&line.name);
            if !names_any && !is_worker {
                continue;
            }
            let events = profile.events(line);
            let input = events
                .iter()
                .filter(|e| is_worker || named[e.meta as usize] || events.has(e.index, Mark::InputStage));
            parts.extend(input.map(|e| (e.start_ps, e.end_ps)));
        }
    }
    Intervals::union_of(parts)
}
