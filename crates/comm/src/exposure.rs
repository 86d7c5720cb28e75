//! How much of a device's communication is exposed, how much is hidden, and the rest of its time beside it.

use rustc_hash::FxHashMap;

use super::Execution;
use super::pairs::Transfer;
use haloscope_profile::{Device, DeviceId, LineId, Profile};
use haloscope_report::scope::Scope;
use haloscope_time::account::{Account, Class, Group};
use haloscope_time::busy;
use haloscope_time::cpu_work;
use haloscope_time::intervals::Intervals;
use haloscope_time::nesting::walk_innermost;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::select::Selection;
use haloscope_time::steps::{StepClass, Steps};

/// The time that counts on each device: the counted steps, or what the scope leaves of the active window.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// By position in the selection; `None` for a device without any.
    times: Vec<Option<Time>>,
    /// Whether the time is that of steps. Otherwise all of it stands for one.
    pub by_step: bool,
}

/// The time that counts on one device.
#[derive(Debug, Clone, Default)]
pub(super) struct Time {
    pub(super) cut: Intervals,
    pub(super) steps: usize,
}

/// The time of one device, in parts. Times are picoseconds, of all counted steps together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceExposure {
    /// The device.
    pub device: DeviceId,
    /// Number of steps.
    pub steps: usize,
    /// Their time.
    pub step_ps: i64,
    /// The part of it in which a program ran and did not stand in a collective.
    pub busy_ps: i64,
    /// The part of it in which the core stood in a collective and computed nothing.
    pub exposed_ps: i64,
    /// The part of it in which no op ran.
    pub idle_ps: i64,
    /// Time in which any collective was in flight.
    pub inflight_ps: i64,
    /// The part of it in which the core computed or copied.
    pub hidden_ps: i64,
    /// The rest of it: exposed time, and that in which the core idled or waited for something else.
    pub uncovered_ps: i64,
    /// Time in flight, each collective by itself.
    pub wall_ps: i64,
    /// Time in done ops.
    pub done_ps: i64,
    /// Executions of collectives that no counted step has a part of.
    pub outside: usize,
}

impl Counted {
    /// The counted steps of a scope (those at the edges of the capture are left out), or, where there are none or a window
    /// was asked for, all of the time from a device's first op to its last.
    #[must_use]
    pub fn of(profile: &Profile, selection: &Selection<'_>, steps: &Steps, scope: &Scope) -> Self {
        let by_step = scope.window_ps.is_none() && !steps.rows.is_empty();
        let counts_edges = steps.rows.iter().all(|s| s.class == StepClass::Edge);
        let rows = || steps.rows.iter().filter(|s| counts_edges || s.class != StepClass::Edge);
        let time = |(position, device): (usize, &&Device)| {
            let window = selection.window(position);
            let (all, number) = if by_step {
                let touches = |part: &(i64, i64)| window.is_none_or(|w| w.overlap(part.0, part.1) > 0);
                let parts = rows().filter_map(|s| s.on(device.id)).map(|i| (i.start_ps, i.end_ps));
                let parts: Vec<_> = parts.filter(touches).collect();
                let number = parts.len();
                (Intervals::union_of(parts), number)
            } else {
                let hull = busy::intervals(profile, device).hull()?;
                (Intervals::one(hull.0, hull.1), 1)
            };
            let cut = window.map_or_else(|| all.clone(), |w| all.intersect(w));
            (number > 0 && !cut.is_empty()).then_some(Time { cut, steps: number })
        };
        Self { times: selection.devices.iter().enumerate().map(time).collect(), by_step }
    }

    /// The time that counts on the device at this position of the selection.
    pub(super) fn of_position(&self, position: usize) -> Option<&Time> {
        self.times.get(position)?.as_ref()
    }
}

/// When each event of a collective was the innermost on its line.
pub(super) type OnCore = FxHashMap<(LineId, usize), Vec<(i64, i64)>>;

/// Finds when the events of collectives were the innermost ones.
pub(super) fn on_core(profile: &Profile, ops: &DeviceOps<'_>) -> OnCore {
    let is_collective: Vec<bool> =
        ops.ops.iter().map(|(meta, _)| Class::of(meta) == Class::Communication).collect();
    let mut found = OnCore::default();
    for (line, rows) in ops.lines(profile) {
        let events = cpu_work::events(profile, line).filter(|e| (rows.of(e) as usize) < is_collective.len());
        walk_innermost(events, |event, from, to| {
            if is_collective[rows.of(event) as usize] {
                found.entry((line.id, event.index)).or_default().push((from, to));
            }
        });
    }
    found
}

/// When the core was busy with what may hide communication.
fn cover(account: &Account, cut: &Intervals) -> Intervals {
    account.part(Class::Compute).union(account.part(Class::Copy)).intersect(cut)
}

impl DeviceExposure {
    /// Busy, exposed and idle time less the time of the steps: 0.
    #[must_use]
    pub fn residual_ps(&self) -> i64 {
        self.busy_ps + self.exposed_ps + self.idle_ps - self.step_ps
    }

    /// Measures a device.
    pub(super) fn measure(account: &Account, time: &Time, transfers: &[Transfer], on_core: &OnCore) -> Self {
        let cut = &time.cut;
        let times = account.times(Some(cut));
        let step_ps = cut.length();
        let exposed_ps = times.of(Class::Communication);
        // What a step lasts beyond the capture is time in which nobody saw an op.
        let idle_ps = times.of_group(Group::Idle) + (step_ps - times.total());
        let mut parts: Vec<(i64, i64)> = transfers.iter().map(Transfer::inflight).collect();
        parts.extend(transfers.iter().flat_map(|t| &t.events).filter_map(|e| on_core.get(e)).flatten());
        let inflight = Intervals::union_of(parts).intersect(cut);
        let hidden_ps = inflight.intersect(&cover(account, cut)).length();
        let outside = transfers.iter().filter(|t| !t.touches(cut)).count();
        let wall = |t: &Transfer| cut.overlap(t.inflight().0, t.inflight().1);
        Self {
            device: account.device,
            steps: time.steps,
            step_ps,
            busy_ps: times.total() - times.of_group(Group::Idle) - exposed_ps,
            exposed_ps,
            idle_ps,
            inflight_ps: inflight.length(),
            hidden_ps,
            uncovered_ps: inflight.length() - hidden_ps,
            wall_ps: haloscope_report::units::sum(transfers.iter().map(wall)),
            done_ps: haloscope_report::units::sum(
                transfers.iter().filter_map(|t| t.done).map(|(from, to)| cut.overlap(from, to)),
            ),
            outside,
        }
    }
}

/// The executions that have a part in the time that counts, each with the row of its op.
pub(super) fn executions(
    account: &Account,
    cut: &Intervals,
    transfers: &[Transfer],
    on_core: &OnCore,
) -> Vec<(u32, Execution)> {
    let cover = cover(account, cut);
    let exposed = exposed_by_transfer(account, cut, transfers, on_core);
    let one = |(transfer, exposed_ps): (&Transfer, i64)| {
        let (from, to) = transfer.inflight();
        let inside = transfer.touches(cut);
        let execution = Execution {
            device: account.device,
            start_ps: transfer.start_ps,
            end_ps: transfer.end_ps,
            transfer_end_ps: transfer.shown_end_ps,
            inflight_ps: cut.overlap(from, to),
            exposed_ps,
            hidden_ps: cover.overlap(from, to),
            done_ps: transfer.done.map_or(0, |(from, to)| cut.overlap(from, to)),
            members: transfer.members,
            unpaired: transfer.unpaired,
        };
        inside.then_some((transfer.row, execution))
    };
    transfers.iter().zip(exposed).filter_map(one).collect()
}

/// For how long each op of a device was exposed communication in a cut (`None` for all time), by program and name, picoseconds: those
/// of several that are exposed at once as `executions` count them.
#[must_use]
pub fn exposed_by_op(
    profile: &Profile,
    device: &Device,
    account: &Account,
    cut: Option<&Intervals>,
) -> FxHashMap<(Option<u64>, String), i64> {
    let ops = DeviceOps::find(profile, device);
    let is_collective: Vec<bool> =
        ops.ops.iter().map(|(meta, _)| Class::of(meta) == Class::Communication).collect();
    let mut pieces: Vec<(i64, i64, u32)> = Vec::new();
    for (line, rows) in ops.lines(profile) {
        let events = profile.events(line).iter().filter(|e| (rows.of(e) as usize) < is_collective.len());
        walk_innermost(events, |event, from, to| {
            let row = rows.of(event);
            if is_collective[row as usize] {
                pieces.push((from, to, row));
            }
        });
    }
    pieces.sort_unstable();
    let exposed = account.part(Class::Communication);
    let exposed = cut.map_or_else(|| exposed.clone(), |cut| exposed.intersect(cut));
    let mut sums: Vec<i64> = vec![0; is_collective.len()];
    let mut now = i64::MIN;
    for (from, to, row) in pieces {
        let from = from.max(now);
        if from < to {
            sums[row as usize] = sums[row as usize].saturating_add(exposed.overlap(from, to));
            now = to;
        }
    }
    let known = ops.ops.iter().zip(sums).filter(|(_, ps)| *ps > 0);
    known.map(|((meta, _), ps)| ((meta.program_id, meta.name.to_string()), ps)).collect()
}

/// The exposed time of each: where several are exposed at once, the first to start has the time, so that all together are
/// exposed as long as the device is.
fn exposed_by_transfer(
    account: &Account,
    cut: &Intervals,
    transfers: &[Transfer],
    on_core: &OnCore,
) -> Vec<i64> {
    let exposed = account.part(Class::Communication).intersect(cut);
    let mut pieces: Vec<(i64, i64, usize)> = Vec::new();
    for (at, transfer) in transfers.iter().enumerate() {
        let own = transfer.events.iter().filter_map(|e| on_core.get(e)).flatten();
        pieces.extend(own.map(|(from, to)| (*from, *to, at)));
    }
    pieces.sort_unstable();
    let mut sums = vec![0_i64; transfers.len()];
    let mut now = i64::MIN;
    for (from, to, at) in pieces {
        let from = from.max(now);
        if from < to {
            sums[at] = sums[at].saturating_add(exposed.overlap(from, to));
            now = to;
        }
    }
    sums
}
