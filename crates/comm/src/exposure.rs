//! How much of a device's communication is exposed, how much is hidden, and the rest of its time beside it.

use rustc_hash::FxHashMap;

use super::Execution;
use super::pairs::Transfer;
use haloscope_profile::{Device, DeviceId, LineId, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_time::account::{self, Account, Class, Group, Meter};
use haloscope_time::cpu_work;
use haloscope_time::intervals::Intervals;
use haloscope_time::near::partition_near;
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
                let hull = account::active(profile, device)?;
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

/// A stretch of time in which an op of a transfer was the innermost one, and which transfer of a list it is.
pub(super) type Piece = (i64, i64, usize);

/// When each event of a collective was the innermost on its line: by line and event.
#[derive(Debug, Default)]
pub(super) struct OnCore(Vec<(LineId, usize, i64, i64)>);

impl OnCore {
    /// Finds when the events of collectives were the innermost ones.
    pub(super) fn find(profile: &Profile, ops: &DeviceOps<'_>) -> Self {
        let is_collective: Vec<bool> =
            ops.ops.iter().map(|(meta, _)| Class::of(meta) == Class::Communication).collect();
        let mut found = Vec::new();
        for (line, rows) in ops.lines(profile) {
            let events =
                cpu_work::events(profile, line).filter(|e| (rows.of(e) as usize) < is_collective.len());
            walk_innermost(events, |event, from, to| {
                if is_collective[rows.of(event) as usize] {
                    found.push((line.id, event.index, from, to));
                }
            });
        }
        found.sort_unstable();
        Self(found)
    }

    /// When the events of these transfers were, with the transfer's place among them.
    pub(super) fn of(&self, transfers: &[&Transfer]) -> Vec<Piece> {
        let (mut found, mut first) = (Vec::with_capacity(transfers.len()), 0);
        for (at, transfer) in transfers.iter().enumerate() {
            for &(line, event) in &transfer.events {
                // Transfers are by time, and so their events lie near each other.
                first = partition_near(&self.0, first, |one| (one.0, one.1) < (line, event));
                let own = self.0[first..].iter().take_while(|one| (one.0, one.1) == (line, event));
                found.extend(own.map(|one| (one.2, one.3, at)));
            }
        }
        found
    }
}

/// For how long the core was busy with what may hide communication.
struct Cover<'a>([Meter<'a>; 2]);

impl<'a> Cover<'a> {
    fn of(account: &'a Account) -> Self {
        Self([Class::Compute, Class::Copy].map(|class| account.meter(class)))
    }

    /// Between two moments.
    fn overlap(&mut self, from: i64, to: i64) -> i64 {
        let Self([compute, copy]) = self;
        compute.overlap(from, to).saturating_add(copy.overlap(from, to))
    }
}

/// A sum over the parts of a cut between two moments.
fn sum_in(cut: &Intervals, from: i64, to: i64, mut of: impl FnMut(i64, i64) -> i64) -> i64 {
    units::sum(cut.parts_in(from, to).map(|(from, to)| of(from, to)))
}

/// The transfers that may have a part in a cut: the only ones that a window costs more than a look at.
pub(super) fn near<'a>(transfers: &'a [Transfer], cut: &Intervals) -> Vec<&'a Transfer> {
    let (from, to) = cut.hull().unwrap_or_default();
    let end = |t: &Transfer| t.inflight().1.max(t.end_ps).max(t.start_ps.saturating_add(1));
    transfers.iter().filter(|t| t.start_ps < to && from < end(t)).collect()
}

impl DeviceExposure {
    /// Busy, exposed and idle time less the time of the steps: 0.
    #[must_use]
    pub fn residual_ps(&self) -> i64 {
        self.busy_ps + self.exposed_ps + self.idle_ps - self.step_ps
    }

    /// Measures a device: `near` of its `count` transfers may have a part in the time that counts; `pieces` is when their ops were
    /// the innermost ones.
    pub(super) fn measure(
        account: &Account,
        time: &Time,
        (near, count): (&[&Transfer], usize),
        pieces: &[Piece],
    ) -> Self {
        let cut = &time.cut;
        let times = account.times(Some(cut));
        let step_ps = cut.length();
        let exposed_ps = times.of(Class::Communication);
        // What a step lasts beyond the capture is time in which nobody saw an op.
        let idle_ps = times.of_group(Group::Idle) + (step_ps - times.total());
        let mut parts: Vec<(i64, i64)> = near.iter().map(|t| t.inflight()).collect();
        parts.extend(pieces.iter().map(|(from, to, _)| (*from, *to)));
        // Two lists that are sorted or nearly so, which a stable sort finds and merges.
        parts.sort();
        let inflight = Intervals::union_of_sorted(parts).intersect(cut);
        let mut cover = Cover::of(account);
        let hidden_ps = units::sum(inflight.as_slice().iter().map(|(from, to)| cover.overlap(*from, *to)));
        let outside = count - near.iter().filter(|t| t.touches(cut)).count();
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
            wall_ps: units::sum(near.iter().map(|t| wall(t))),
            done_ps: units::sum(near.iter().filter_map(|t| t.done).map(|(from, to)| cut.overlap(from, to))),
            outside,
        }
    }
}

/// The executions that have a part in the time that counts, by the row of their op and by start.
pub(super) fn executions(
    account: &Account,
    cut: &Intervals,
    transfers: &[&Transfer],
    pieces: Vec<Piece>,
    rows: usize,
) -> Vec<Vec<Execution>> {
    let exposed = exposed_by_transfer(account, cut, transfers.len(), pieces);
    let mut cover = Cover::of(account);
    let mut by_row = vec![Vec::new(); rows];
    let touching = transfers.iter().zip(exposed).filter(|(transfer, _)| transfer.touches(cut));
    for (transfer, exposed_ps) in touching {
        let (from, to) = transfer.inflight();
        let Some(own) = by_row.get_mut(transfer.row as usize) else { continue };
        own.push(Execution {
            device: account.device,
            start_ps: transfer.start_ps,
            end_ps: transfer.end_ps,
            transfer_end_ps: transfer.shown_end_ps,
            inflight_ps: cut.overlap(from, to),
            exposed_ps,
            hidden_ps: sum_in(cut, from, to, |from, to| cover.overlap(from, to)),
            done_ps: transfer.done.map_or(0, |(from, to)| cut.overlap(from, to)),
            members: transfer.members,
            unpaired: transfer.unpaired,
        });
    }
    by_row
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
    transfers: usize,
    mut pieces: Vec<Piece>,
) -> Vec<i64> {
    let mut exposed = account.meter(Class::Communication);
    // Nearly sorted, which a stable sort finds.
    pieces.sort();
    let mut sums = vec![0_i64; transfers];
    let mut now = i64::MIN;
    for (from, to, at) in pieces {
        let from = from.max(now);
        if from < to {
            sums[at] = sums[at].saturating_add(sum_in(cut, from, to, |from, to| exposed.overlap(from, to)));
            now = to;
        }
    }
    sums
}
