//! When the work that a host's step markers called for ran on its CPU.
//!
//! JAX on a CPU runs a program on threads of its own, as it does on a GPU: the marker is done long before. No number ties the call to
//! what it started; but the calls of one function (`PjitFunction(step)`) and the executions of its program (`jit_step`) come in one order.

use std::collections::BTreeMap;

use super::caused::{Marker, Span, spans};
use super::launches;
use haloscope_profile::{Device, LineId, LineKind, Profile};

/// A call of a compiled function.
#[derive(Debug, Clone, Copy)]
struct Call {
    line: LineId,
    start_ps: i64,
}

/// When the step of each marker was on a CPU; `None` of one whose work the capture does not show, and for all where nothing says what
/// any marker called for.
pub(super) fn steps(profile: &Profile, device: &Device, markers: &[Marker]) -> Option<Vec<Option<Span>>> {
    let mut executions: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for launch in launches::of(profile, device) {
        executions.entry(plain(&launch.module)).or_default().push((launch.start_ps, launch.end_ps));
    }
    let (mut work, mut foreign) = (vec![None; markers.len()], Vec::new());
    let mut called = calls(profile, device);
    let mut by_start: Vec<usize> = (0..markers.len()).collect();
    by_start.sort_by_key(|at| (markers[*at].line, markers[*at].start_ps));
    for (program, ran) in executions {
        let calls = called.remove(&program).unwrap_or_default();
        let Some(first) = first_of(&calls, &ran) else {
            foreign.extend(ran);
            continue;
        };
        foreign.extend(&ran[..first]);
        for (call, &span) in calls.iter().zip(&ran[first..]) {
            match marker_of(markers, &by_start, *call) {
                Some(marker) => {
                    let own: &mut Span = work[marker].get_or_insert(span);
                    *own = (own.0.min(span.0), own.1.max(span.1));
                }
                None => foreign.push(span),
            }
        }
    }
    foreign.sort_unstable();
    work.iter().any(Option::is_some).then(|| spans(markers, &work, &foreign))
}

/// The execution that the first call started, from which on each call has the next: `None` where one would have begun before its call,
/// or where there are more than calls.
fn first_of(calls: &[Call], ran: &[Span]) -> Option<usize> {
    let first = calls.first()?.start_ps;
    // Those before were called before the capture.
    let from = ran.partition_point(|span| span.0 < first);
    let in_order = calls.iter().zip(&ran[from..]).all(|(call, span)| call.start_ps <= span.0);
    (in_order && ran.len() - from <= calls.len()).then_some(from)
}

/// The marker on the call's thread in which it is; `by_start` has the markers by thread and start.
fn marker_of(markers: &[Marker], by_start: &[usize], call: Call) -> Option<usize> {
    let key = (call.line, call.start_ps);
    let before = by_start.partition_point(|at| (markers[*at].line, markers[*at].start_ps) <= key);
    let at = *by_start.get(before.checked_sub(1)?)?;
    (markers[at].line == call.line && call.start_ps < markers[at].end_ps).then_some(at)
}

/// The calls of compiled functions by the plain name of their program, by start. A call inside of another is traced and not run.
fn calls(profile: &Profile, device: &Device) -> BTreeMap<String, Vec<Call>> {
    let mut found: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    for plane in profile.planes_of(device.host).filter(|plane| !plane.kind.is_device()) {
        let source = profile.source_of(plane);
        let programs: Vec<Option<String>> = (0..plane.metas.len() as u32)
            .map(|meta| {
                let name = plane.meta_label(source, meta);
                let function = name.strip_prefix("PjitFunction(")?.strip_suffix(')')?;
                Some(plain(&format!("jit_{function}")))
            })
            .collect();
        if programs.iter().all(Option::is_none) {
            continue;
        }
        for line in profile.lines_of(plane.id).filter(|line| line.kind == LineKind::Thread) {
            let mut open_until = i64::MIN;
            for event in profile.events(line).iter() {
                let Some(program) = &programs[event.meta as usize] else { continue };
                if event.end_ps <= open_until {
                    continue;
                }
                open_until = event.end_ps;
                let call = Call { line: line.id, start_ps: event.start_ps };
                found.entry(program.clone()).or_default().push(call);
            }
        }
    }
    for calls in found.values_mut() {
        calls.sort_by_key(|call| call.start_ps);
    }
    found
}

/// A program's name as XLA may write it, without what versions write differently: `jit_<lambda>` is `jit__lambda_` or `jit__lambda`.
fn plain(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_alphanumeric() || "_.-".contains(c) { c } else { '_' }).collect();
    plain.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start_ps: i64) -> Call {
        Call { line: LineId(0), start_ps }
    }

    fn first(calls: &[i64], ran: &[Span]) -> Option<usize> {
        first_of(&calls.iter().copied().map(call).collect::<Vec<_>>(), ran)
    }

    #[test]
    fn calls_and_executions_come_in_one_order() {
        assert_eq!(first(&[0, 1, 2], &[(5, 9), (9, 20), (20, 30)]), Some(0));
        // What was called before the capture, and what had not run when it ended.
        assert_eq!(first(&[10, 11, 12], &[(2, 9), (12, 20), (20, 30)]), Some(1));
        // An execution that no call started, and one before its call.
        assert_eq!(first(&[0, 1], &[(5, 9), (9, 20), (20, 30)]), None);
        assert_eq!(first(&[0, 25], &[(5, 9), (9, 20)]), None);
        assert_eq!(first(&[], &[(5, 9)]), None);
    }

    #[test]
    fn steps_of_a_cpu_that_is_called_ahead_are_as_long_as_their_work() {
        use crate::steps::{StepSource, Steps};
        use haloscope_profile::load;
        use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

        const US: i64 = 1_000_000;
        let mut plane = Plane { name: "/host:CPU".into(), ..Plane::default() };
        for (id, name) in (1_i64..).zip(["step_num", "hlo_op", "hlo_module", "run_id"]) {
            plane
                .stat_metadata
                .push((id, StatMetadata { id, name: name.into(), description: String::new() }));
        }
        for (id, name) in (1_i64..).zip(["train", "PjitFunction(step)", "dot.1"]) {
            plane
                .event_metadata
                .push((id, EventMetadata { id, name: name.into(), ..EventMetadata::default() }));
        }
        let (mut python, mut worker) = (Line::new(1, "python"), Line::new(2, "tf_XLAPjRtCpuClient/1"));
        let stat = |metadata_id, value| Stat { metadata_id, value };
        for step in 0..8_i64 {
            // A call takes 20 us, what it starts a millisecond.
            let called = step * 30 * US;
            let marker = Event { stats: vec![stat(1, Value::Int(step))], ..Event::at(1, called, 25 * US) };
            python.events.extend([marker, Event::at(2, called + US, 20 * US)]);
            let stats = vec![
                stat(2, Value::Str("dot.1".into())),
                stat(3, Value::Str("jit_step".into())),
                stat(4, Value::Uint(70 + step as u64)),
            ];
            worker.events.push(Event { stats, ..Event::at(3, (100 + step * 1000) * US, 990 * US) });
        }
        plane.lines.extend([python, worker]);
        let space = Space { planes: vec![plane], ..Space::default() };
        let profile = load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap();
        let devices: Vec<&Device> = profile.devices.iter().collect();
        let steps = Steps::find(&profile, &devices);
        assert_eq!((steps.source, steps.rows.len()), (StepSource::Caused, 8));
        assert!(steps.rows[1..].iter().all(|step| step.duration_ps() == 1000 * US), "{:?}", steps.rows);
    }

    #[test]
    fn a_call_is_in_the_marker_of_its_thread() {
        let marker = |line, start_ps, end_ps| Marker {
            line: LineId(line),
            row: 0,
            number: 0,
            name: String::new(),
            start_ps,
            end_ps,
        };
        let markers = [marker(1, 0, 10), marker(0, 0, 10), marker(0, 20, 30)];
        let of = |start_ps| marker_of(&markers, &[1, 2, 0], call(start_ps));
        assert_eq!([of(0), of(9), of(10), of(25), of(30)], [Some(1), Some(1), None, Some(2), None]);
    }

    #[test]
    fn names_are_those_of_any_version() {
        assert_eq!(plain("jit_<lambda>"), plain("jit__lambda"));
        assert_eq!(plain("jit__lambda_"), plain("jit__lambda"));
        assert_eq!(plain("jit_train.step"), "jit_train.step");
    }
}
