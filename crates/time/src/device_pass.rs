//! One pass over the events of each device, for what `overview` says of it: its ops, and how busy it was.
//!
//! A device is done with before the next one is begun, but for as many as there are threads: what is kept of it are sums.
//! A run of many hosts so needs no more than a few of its devices in memory.

use rayon::prelude::*;

use super::account::{self, PLACES};
use super::busy::{self, Duties, DutyCycle};
use super::op_rows::DeviceOps;
use super::op_sums::InOrder;
use super::ops::{self, Op, Together};
use super::select::Selection;
use super::steps::Steps;
use super::sweep::OnDuty;
use super::usage::{DeviceUsage, Plan, Usage};
use crate::window_index::WindowIndex;
use haloscope_profile::{DeviceKind, HostId, LineKind, Profile};
use haloscope_report::stop;

/// How many events go through one sweep before they go through the next: as many as stay in a core's cache.
const CHUNK: usize = 2048;

/// The ops of a selection, as [`ops::collect`] has them, and how busy its devices were, as [`Usage::measure`] says.
/// With them the busy time of each device by place, as [`account::busy_times`] has it. `of_host` gets the ops of each host alone, hosts in the order of the selection.
#[must_use]
pub fn measure<'p>(
    profile: &'p Profile,
    selection: &Selection<'p>,
    steps: &Steps,
    mut of_host: impl FnMut(HostId, Vec<Op<'p>>),
) -> (Vec<Op<'p>>, Usage, Vec<[i64; PLACES]>) {
    let plan = Plan::new(profile, selection, steps);
    let mut all = Together::default();
    let mut usage = Vec::with_capacity(selection.devices.len());
    let mut spent = Vec::with_capacity(selection.devices.len());
    let mut host: Option<(HostId, Vec<Op<'p>>)> = None;
    let positions: Vec<usize> = (0..selection.devices.len()).collect();
    for batch in positions.chunks(4 * rayon::current_num_threads()) {
        let parts: Vec<_> = batch
            .par_iter()
            .map(stop::carried(|at: &usize| of_device(profile, selection, &plan, *at)))
            .collect();
        for (&position, (mut ops, device, places)) in batch.iter().zip(parts) {
            ops.retain(|op| !selection.names_modules() || selection.takes_module(&op.module));
            ops.iter().for_each(|op| all.add(op));
            usage.push(device);
            spent.push(places);
            let id = selection.devices[position].host;
            match &mut host {
                Some((of, parts)) if *of == id => parts.append(&mut ops),
                other => {
                    if let Some((id, parts)) = other.replace((id, ops)) {
                        of_host(id, ops::together(parts));
                    }
                }
            }
        }
    }
    if let Some((id, parts)) = host {
        of_host(id, ops::together(parts));
    }
    (all.finish(), plan.finish(usage), spent)
}

fn of_device<'p>(
    profile: &'p Profile,
    selection: &Selection<'p>,
    plan: &Plan<'_>,
    position: usize,
) -> (Vec<Op<'p>>, DeviceUsage, [i64; PLACES]) {
    let (device, cut) = (selection.devices[position], selection.window(position));
    let lines = profile.lines_of(device.plane);
    let lines: Vec<_> = lines.filter(|l| l.kind == LineKind::XlaOps).collect();
    let once = WindowIndex::of(profile).is_none();
    let ([line], None, DeviceKind::Tpu, true) = (&lines[..], cut, device.kind, once) else {
        let spent = account::busy_times(profile, device, cut);
        return (ops::of_device(profile, device, cut), plan.device(position), spent);
    };

    let events = profile.events(line);
    let rows = DeviceOps::find(profile, device);
    let (of, mut sums) = (rows.rows_of(line.id), InOrder::new(rows.ops.len()));
    let (programs, occupied) = (busy::programs(profile, device), plan.occupied(position));
    let (mut busy, mut idle) = (busy::sweep(&programs), plan.idle(&occupied));
    let duties = Duties::of(profile, profile.plane(device.plane));
    let lengths = duties.lengths(profile, line, None);
    // Where every op is work, the device is on duty whenever one runs.
    let mut on_duty = (!duties.all_on()).then(OnDuty::default);
    let mut spent = account::Busy::new(&rows, &device.peaks);
    let mut last = i64::MIN;
    for first in (0..events.len()).step_by(CHUNK) {
        let chunk = || first..events.len().min(first + CHUNK);
        chunk().all(|i| sums.push(of, events.on_device_clock(i)));
        for event in chunk().map(|i| events.get(i)) {
            last = last.max(event.end_ps);
            busy.push(event.start_ps, event.end_ps, |from, to| idle.push(from, to));
        }
        chunk().for_each(|i| spent.push(of, events.get(i)));
        if let Some(on_duty) = &mut on_duty {
            chunk().for_each(|i| on_duty.push(events.get(i), &lengths));
        }
    }
    let ops_ps = busy.finish(|from, to| idle.push(from, to));
    let (duty_ps, certain_ps) = match &mut on_duty {
        Some(on_duty) => {
            on_duty.finish(&lengths);
            (on_duty.busy_ps, on_duty.certain_ps)
        }
        None => (ops_ps, ops_ps),
    };
    let modules = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::XlaModules);
    let spans = modules.filter_map(|l| profile.events(l).span_ps());
    let spans = spans.chain((!events.is_empty()).then(|| (events.get(0).start_ps, last)));
    let duty: Option<DutyCycle> = busy::duty_of(duty_ps, certain_ps, spans, None);
    let usage = plan.uncut(position, idle, duty);
    sums.end_line(of);
    let spent = spent.finish(of);
    let ops = match sums.finish() {
        Some(sums) => ops::counted(rows.ops.into_iter(), &sums),
        None => ops::of_rows(profile, rows, None),
    };
    (ops, usage, spent)
}
