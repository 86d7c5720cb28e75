//! The step that is looked at, its graph and its path.

use crate::critical_path::{self, Facts, Graph, Lengths, Schedule, Segment, TooLarge};
use haloscope_profile::{Device, DeviceKind, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Severity};
use haloscope_time::select::Scoped;
use haloscope_time::steps::analysis::in_scope;
use haloscope_time::steps::{Step, StepClass, Steps};
use haloscope_time::{busy, launches, quality};

/// All of it.
pub(super) struct Measured<'p> {
    pub(super) profile: &'p Profile,
    /// The step's number; `None` where the run has no steps.
    pub(super) step: Option<i64>,
    /// Steps that it was chosen from.
    pub(super) candidates: usize,
    pub(super) graph: Graph<'p>,
    pub(super) facts: Facts,
    pub(super) schedule: Schedule,
    pub(super) path: Vec<Segment>,
    pub(super) slack: Lengths,
    /// Peaks of the graph's devices.
    pub(super) peaks: Vec<Peaks>,
}

impl<'p> Measured<'p> {
    pub(super) fn new(asked: &Scoped<'p>, notes: &mut Notes) -> Result<Self, Error> {
        let (profile, scope) = (asked.profile, &asked.scope);
        let selection = asked.selection()?;
        let runs = |d: &&Device| d.kind != DeviceKind::Cpu || !launches::of(profile, d).is_empty();
        let devices: Vec<&Device> = selection.devices.iter().copied().filter(runs).collect();
        if devices.is_empty() {
            return Err(Error::Nothing(
                "the profile has no op that a device ran: a critical path leads through ops, and host threads alone do not say what waits for what"
                    .into(),
            ));
        }
        let mut steps = Steps::find(profile, &devices);
        quality::steps(profile, &steps, notes);
        if !scope.modules.is_empty() {
            quality::not_used("modules", notes);
        }
        steps.rows.retain(|step| in_scope(step, scope));
        let (chosen, candidates) = typical(&steps);
        let spans: Vec<(&Device, (i64, i64))> = match chosen {
            Some(step) => devices
                .iter()
                .filter_map(|d| step.on(d.id).map(|at| (*d, (at.start_ps, at.end_ps))))
                .filter(|(_, (start, end))| start < end)
                .collect(),
            None => devices.iter().filter_map(|d| Some((*d, active(profile, d, scope)?))).collect(),
        };
        let (graph, facts) = critical_path::build(profile, &spans).map_err(|TooLarge { nodes }| {
            Error::Nothing(format!(
                "the step has about {nodes} pieces of ops and gaps, more than the limit of {}; choose fewer devices (`--devices`) or a shorter time (`--window`)",
                critical_path::MOST_NODES
            ))
        })?;
        if graph.devices.is_empty() {
            return Err(Error::Nothing("no device ran an op in the step".into()));
        }
        let schedule = graph.run(&graph.lengths);
        let path = critical_path::longest(&graph, &schedule);
        let slack = critical_path::slack(&graph, &graph.lengths, &schedule);
        let peaks = graph.devices.iter().map(|d| profile.device(d.id).peaks).collect();
        let step = chosen.map(|s| s.number);
        let measured = Self { profile, step, candidates, graph, facts, schedule, path, slack, peaks };
        measured.remark(notes);
        Ok(measured)
    }

    /// From the first device's start of the step to the last one's end, picoseconds.
    pub(super) fn step_ps(&self) -> i64 {
        let (start, end) = self.graph.span();
        end - start
    }

    pub(super) fn name(&self, device: u32) -> &'p str {
        &self.profile.device(self.graph.devices[device as usize].id).name
    }

    fn remark(&self, notes: &mut Notes) {
        let facts = &self.facts;
        if facts.guessed > 0 {
            notes.add(
                "groups_unknown",
                Severity::Info,
                format!(
                    "{} executions of collectives do not say which devices belong together",
                    facts.guessed
                ),
                "they are assumed to wait for all devices in scope",
                "capture with the HLO protos (the default), which have the replica groups",
            );
        }
        if facts.absent > 0 {
            notes.add(
                "members_not_captured",
                Severity::Info,
                format!(
                    "{} executions of collectives have members on devices that are not in this capture or scope",
                    facts.absent
                ),
                "waiting for those members is counted as part of the transfer",
                "profile all chips of a host (tpu_num_chips_to_profile_per_task) and all hosts",
            );
        }
        if facts.contradicted > 0 {
            notes.add(
                "joins_contradicted",
                Severity::Warning,
                format!(
                    "{} executions of collectives end on one device before they begin on another of their group",
                    facts.contradicted
                ),
                "they are assumed to wait for nothing; the path may stay on the wrong device",
                "",
            );
        }
        if facts.unpaired > 0 {
            notes.add(
                "transfers_unpaired",
                Severity::Info,
                format!("{} waits for transfers whose start is not in the step", facts.unpaired),
                "they are treated like any other op: shorter compute does not make them longer",
                "",
            );
        }
        let hidden = self.graph.transfers.iter().filter(|t| t.is_hidden).count();
        if hidden > 0 {
            notes.add(
                "transfers_hidden",
                Severity::Info,
                format!(
                    "{hidden} of {} transfers had ended before their wait began; when was not recorded",
                    self.graph.transfers.len()
                ),
                "their lengths are estimated from their bytes and the rate of transfers that were waited for, or else from the device's bandwidth, or else taken as zero; projections with much shorter compute may be too short",
                "",
            );
        }
        if facts.several_lanes {
            notes.add(
                "streams_without_dependencies",
                Severity::Info,
                "ops run on several streams, and profiles do not record which stream waits for which",
                "an op after a gap is assumed to wait for the op that ended last before it on its device",
                "",
            );
        }
        if facts.silent > 0 {
            notes.add(
                "devices_without_ops",
                Severity::Warning,
                format!("{} devices ran no op in the step", facts.silent),
                "they are left out",
                "check that the profiler's device tracing was on for all devices",
            );
        }
        let apart = self.graph.devices.iter().map(|d| d.offset_ps.abs()).max().unwrap_or(0);
        if apart >= 1_000_000 {
            notes.add(
                "clocks_apart",
                Severity::Info,
                format!(
                    "clocks of devices differ by up to {}, measured at the ends of shared collectives",
                    haloscope_report::units::duration_ps(apart as f64)
                ),
                "times were converted to one clock before devices were compared",
                "",
            );
        }
    }
}

/// The step of median length among the steady ones, else among those that are not cut; and the number of those.
fn typical(steps: &Steps) -> (Option<&Step>, usize) {
    let of = |takes: &dyn Fn(&Step) -> bool| steps.rows.iter().filter(|s| takes(s)).collect::<Vec<_>>();
    let mut rows = of(&|s| s.class == StepClass::Steady);
    if rows.is_empty() {
        rows = of(&|s| s.class != StepClass::Edge);
    }
    if rows.is_empty() {
        rows = of(&|_| true);
    }
    rows.sort_by_key(|s| (s.duration_ps(), s.number));
    (rows.get(rows.len().saturating_sub(1) / 2).copied(), rows.len())
}

/// From a device's first op to its last, in the window asked for.
fn active(profile: &Profile, device: &Device, scope: &Scope) -> Option<(i64, i64)> {
    let (start, end) = busy::intervals(profile, device).hull()?;
    let (from, to) = scope.window_ps.unwrap_or((i64::MIN, i64::MAX));
    let span = (start.max(from), end.min(to));
    (span.0 < span.1).then_some(span)
}
