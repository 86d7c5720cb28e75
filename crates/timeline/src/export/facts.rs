//! What is said of an event beside its name: the op that it is, what that costs, the step that it is in.

use haloscope_profile::{Event, Line, LineKind, Mark, Plane, Profile};
use haloscope_time::op_meta::{MetaIds, OpMeta};
use haloscope_time::op_rows::{DeviceOps, Rows};
use haloscope_time::steps::Steps;

use super::choose::ChosenPlane;

/// What is known of one event. Unknown is `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts<'a> {
    /// The HLO instruction.
    pub(super) hlo_op: Option<&'a str>,
    pub(super) category: Option<&'a str>,
    pub(super) module: Option<&'a str>,
    /// The framework's scope path.
    pub(super) scope: Option<&'a str>,
    /// `file:line`.
    pub(super) source: Option<&'a str>,
    /// Of one execution.
    pub(super) flops: Option<f64>,
    /// Accessed by one execution, in all memories.
    pub(super) bytes: Option<f64>,
    pub(super) step: Option<i64>,
}

/// The facts of a plane's events.
#[derive(Debug)]
pub(super) struct PlaneFacts<'p> {
    profile: &'p Profile,
    plane: &'p Plane,
    ops: Option<DeviceOps<'p>>,
    /// When each step ran on the plane's device: start, end, number; by start.
    steps: Vec<(i64, i64, i64)>,
    ids: MetaIds,
}

/// Those of a line's.
#[derive(Debug)]
pub(super) struct LineFacts<'f, 'p> {
    of: &'f PlaneFacts<'p>,
    line: &'p Line,
    rows: Option<Rows<'f>>,
    /// Of a device's other lines: what the metadata says, where it says that it is of an op. Filled as they are met.
    metas: Vec<Option<Option<Box<OpMeta<'p>>>>>,
    step_id: Option<i64>,
}

impl<'p> PlaneFacts<'p> {
    pub(super) fn of(profile: &'p Profile, chosen: &ChosenPlane<'p>) -> Self {
        let mut steps = Vec::new();
        if let Some(device) = chosen.device {
            let found = Steps::find(profile, &[device]);
            let instances =
                found.rows.iter().flat_map(|s| s.on(device.id).map(|i| (i.start_ps, i.end_ps, s.number)));
            steps.extend(instances);
            steps.sort_unstable();
        }
        Self {
            profile,
            plane: chosen.plane,
            ops: chosen.device.map(|device| DeviceOps::find(profile, device)),
            steps,
            ids: MetaIds::of(chosen.plane),
        }
    }

    pub(super) fn line<'f>(&'f self, line: &'p Line) -> LineFacts<'f, 'p> {
        let rows = self.ops.as_ref().map(|ops| ops.rows_of(line.id)).filter(|rows| !rows.is_empty());
        let wants_metas = rows.is_none() && self.plane.kind.is_device() && line.kind == LineKind::AsyncXlaOps;
        let metas = if wants_metas { self.plane.metas.iter().map(|_| None).collect() } else { Vec::new() };
        LineFacts { of: self, line, rows, metas, step_id: self.plane.stat_id("step_num") }
    }

    /// The step that a time is in on this device.
    fn step_at(&self, time_ps: i64) -> Option<i64> {
        let before = self.steps.partition_point(|(start, ..)| *start <= time_ps);
        let (_, end, number) = *self.steps.get(before.checked_sub(1)?)?;
        (time_ps < end).then_some(number)
    }
}

fn known(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl<'p> LineFacts<'_, 'p> {
    /// The op that an event is: what is known of it, and its module.
    fn op(&mut self, event: &Event) -> Option<(&OpMeta<'p>, Option<&str>)> {
        if let (Some(rows), Some(ops)) = (self.rows, &self.of.ops) {
            let (meta, module) = ops.ops.get(rows.of(event) as usize)?;
            return Some((meta, known(module)));
        }
        let slot = self.metas.get_mut(event.meta as usize)?;
        let read = || {
            let source = self.of.profile.source_of(self.of.plane);
            let meta = OpMeta::read(self.of.plane, source, event.meta, &self.of.ids);
            (!meta.category.is_empty()).then(|| Box::new(meta))
        };
        slot.get_or_insert_with(read).as_deref().map(|meta| (meta, None))
    }

    /// What is known of an event.
    pub(super) fn facts(&mut self, event: &Event) -> Facts<'_> {
        let step = self.step(event);
        match self.op(event) {
            None => Facts { step, ..Facts::default() },
            Some((meta, module)) => Facts {
                hlo_op: known(&meta.name),
                category: known(&meta.category),
                module,
                scope: known(&meta.framework_op),
                source: known(&meta.source),
                flops: meta.flops,
                bytes: meta.bytes,
                step,
            },
        }
    }

    fn step(&self, event: &Event) -> Option<i64> {
        let profile = self.of.profile;
        if self.of.plane.kind.is_device() {
            return self.of.step_at(event.start_ps);
        }
        let events = profile.events(self.line);
        let source = profile.source_of(self.of.plane);
        let marked =
            events.has(event.index, Mark::Step).then(|| events.stat(source, event.index, self.step_id));
        marked.flatten().and_then(|value| value.as_i64())
    }

    /// True if an event belongs to one of these modules, which are parts of names; all do where there are none.
    pub(super) fn is_of(&mut self, event: &Event, modules: &[String]) -> bool {
        if modules.is_empty() {
            return true;
        }
        let takes = |name: &str| modules.iter().any(|part| name.contains(part.as_str()));
        if self.line.kind == LineKind::XlaModules {
            let label = self.of.plane.meta_label(self.of.profile.source_of(self.of.plane), event.meta);
            return takes(haloscope_profile::split_label(&label).0);
        }
        self.op(event).and_then(|(_, module)| module.map(takes)).unwrap_or(false)
    }
}
