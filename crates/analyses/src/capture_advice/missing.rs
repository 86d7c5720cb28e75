//! What a capture recorded and what it lacked, as far as the profile shows it.

use super::table::{Setting, settings};
use haloscope_profile::{DeviceKind, Mark, Plane, PlaneKind, Profile};
use haloscope_program::allocator;
use haloscope_time::counters;
use haloscope_time::fix::{KEEP_PROGRAMS, MARK_STEPS, WrittenIn};
use haloscope_time::input;
use haloscope_time::ops::Op;
use haloscope_time::select::Selection;
use haloscope_time::steps::{StepSource, Steps};

/// Whether something was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was.
    Recorded,
    /// It was not, though there may have been something to record.
    Lacking,
    /// There is nothing of the kind in this run.
    DoesNotApply,
}

impl State {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Recorded => "yes",
            Self::Lacking => "no",
            Self::DoesNotApply => "does not apply",
        }
    }
}

/// Something that a capture may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name in scripts.
    pub id: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Whether it was recorded.
    pub state: State,
    /// The questions of [`super::questions`] that need it.
    pub serves: &'static str,
    /// The setting that records it at the next capture; empty where it is not lacking.
    pub fix: String,
}

/// Lines of a TPU that only captures with tracing of custom calls have.
const KERNEL_LINES: [&str; 3] = ["_counters_", "Tensor Core", "XLA TraceMe"];

/// What was recorded of these hosts, one row for each part that captures may hold. `ops` are those of the selection.
#[must_use]
pub fn parts(
    profile: &Profile,
    hosts: &[bool],
    selection: Option<&Selection<'_>>,
    ops: &[Op<'_>],
) -> Vec<Part> {
    let planes: Vec<&Plane> = profile.planes.iter().filter(|p| hosts[p.host.index()]).collect();
    let devices = selection.map(|s| s.devices.as_slice()).unwrap_or_default();
    let is_tpu = devices.iter().any(|d| d.kind == DeviceKind::Tpu);
    let is_accelerator = devices.iter().any(|d| d.kind != DeviceKind::Cpu);
    let has_custom_calls = ops.iter().any(|op| op.meta.category.contains("custom-call"));
    let steps = selection.map(|s| Steps::find(profile, &s.devices).source);
    let written_in = WrittenIn::of(profile);
    let part = |id, label, state, serves| Part { id, label, state, serves, fix: fix(id, state, written_in) };
    let of = |found: bool| if found { State::Recorded } else { State::Lacking };
    let of_some = |applies: bool, found: &dyn Fn() -> bool| match (applies, found) {
        (true, found) => of(found()),
        (false, found) if found() => State::Recorded,
        _ => State::DoesNotApply,
    };
    let chosen = |index: usize| hosts.get(index).copied().unwrap_or_default();
    vec![
        part("device_ops", "Ops of devices", of(!ops.is_empty()), "all"),
        part(
            "programs",
            "Compiled programs (HLO)",
            of(profile.modules.iter().any(|m| chosen(m.host.index()))),
            "kernel, memory, communication",
        ),
        part(
            "step_markers",
            "Step markers",
            of(matches!(steps, Some(StepSource::DeviceLine | StepSource::HostMarkers | StepSource::Caused))),
            "communication, input",
        ),
        part(
            "host_events",
            "Host threads",
            of(planes.iter().any(|p| has_threads(profile, p))),
            "input, memory",
        ),
        part("python_calls", "Python calls", of(planes.iter().any(|p| has_python(profile, p))), "input"),
        part("input_stages", "Stages of input", of(planes.iter().any(|p| has_input(profile, p))), "input"),
        part(
            "allocations",
            "Allocations of the runtime",
            of_some(is_accelerator, &|| {
                let mut ids = profile.hosts.iter().enumerate().filter(|(index, _)| chosen(*index));
                ids.any(|(index, _)| {
                    let plane = planes.iter().find(|p| p.host.index() == index);
                    plane.is_some_and(|p| !allocator::allocators(profile, p.host).is_empty())
                })
            }),
            "memory",
        ),
        part(
            "kernel_details",
            "Inside custom calls",
            of_some(is_tpu && has_custom_calls, &|| planes.iter().any(|p| has_kernel_lines(profile, p))),
            "kernel",
        ),
        part(
            "hardware_counters",
            "Hardware counters",
            of_some(is_tpu, &|| planes.iter().any(|p| p.kind.is_device() && counters::any(profile, p.id))),
            "kernel",
        ),
        part(
            "sparse_cores",
            "SparseCores",
            of_some(devices.iter().any(|d| has_sparse_cores(&d.type_name)), &|| {
                planes.iter().any(|p| p.kind == PlaneKind::SparseCore)
            }),
            "communication",
        ),
        part(
            "capture_times",
            "Start and stop of the capture",
            of(profile.hosts.iter().enumerate().any(|(i, h)| chosen(i) && h.capture_ps.is_some())),
            "all",
        ),
    ]
}

/// What to do about a part that is lacking: from the table of settings where one names it.
fn fix(id: &str, state: State, written_in: WrittenIn) -> String {
    if state != State::Lacking {
        return String::new();
    }
    if id == "step_markers" {
        return MARK_STEPS.for_framework(written_in).to_owned();
    }
    if id == "programs" {
        return KEEP_PROGRAMS.for_framework(written_in).to_owned();
    }
    // TensorFlow has options of the same names in a class of its own, and no advanced ones.
    if written_in == WrittenIn::TensorFlow {
        return of_tensorflow(id).to_owned();
    }
    if let Some(setting) = settings().iter().find(|setting| setting.lacks == id) {
        return said(setting);
    }
    match id {
        "device_ops" => "device_tracer_level=1 in ProfileOptions, and capture while the program runs",
        "input_stages" => {
            "host_tracer_level=2 in ProfileOptions: pipelines of tf.data and Grain then record their stages; annotate your own code with jax.profiler.TraceAnnotation"
        }
        "host_events" => "host_tracer_level=2 in ProfileOptions",
        "allocations" => {
            "host_tracer_level=2 in ProfileOptions, and a capture in which something is allocated; memory of programs needs no events"
        }
        "capture_times" => "a newer jaxlib or TensorFlow, which writes a Task Environment plane",
        _ => "",
    }
    .to_owned()
}

/// The same for TensorFlow.
fn of_tensorflow(id: &str) -> &'static str {
    match id {
        "device_ops" => {
            "device_tracer_level=1 in tf.profiler.experimental.ProfilerOptions, and capture while the program runs"
        }
        "python_calls" => "python_tracer_level=1 in tf.profiler.experimental.ProfilerOptions",
        "input_stages" => {
            "host_tracer_level=2 in tf.profiler.experimental.ProfilerOptions: the iterators of tf.data are stages; annotate your own code with tf.profiler.experimental.Trace"
        }
        "host_events" => "host_tracer_level=2 in tf.profiler.experimental.ProfilerOptions",
        "allocations" => {
            "host_tracer_level=2 in tf.profiler.experimental.ProfilerOptions, and a capture in which something is allocated"
        }
        "kernel_details" => "--xla_xprof_enable_custom_call_tracing=true in LIBTPU_INIT_ARGS",
        "hardware_counters" => "capture with `haloscope capture --option tpu_perf_counters=true`",
        "sparse_cores" => "capture with `haloscope capture --option tpu_num_sparse_cores_to_trace=4`",
        "capture_times" => "a newer TensorFlow, which writes a Task Environment plane",
        _ => "",
    }
}

fn said(setting: &Setting) -> String {
    let text = super::words::assignment(setting);
    match setting.kind {
        super::Kind::Program => text,
        kind => format!("{text} in {}", kind.place()),
    }
}

fn has_threads(profile: &Profile, plane: &Plane) -> bool {
    plane.kind == PlaneKind::Host && profile.lines_of(plane.id).any(|line| line.event_count > 0)
}

/// Python's tracer writes `$file.py:line function`.
fn has_python(profile: &Profile, plane: &Plane) -> bool {
    if plane.kind.is_device() {
        return false;
    }
    let source = profile.source_of(plane);
    (0..plane.metas.len() as u32).any(|meta| plane.meta_label(source, meta).starts_with('$'))
}

fn has_input(profile: &Profile, plane: &Plane) -> bool {
    if plane.kind.is_device() {
        return false;
    }
    let source = profile.source_of(plane);
    let named = (0..plane.metas.len() as u32).any(|meta| input::feeds(&plane.meta_label(source, meta)));
    // Whether events carry the stat was noted when they were decoded.
    named
        || plane.stat_id("_ipl_stage_id").is_some()
            && profile.lines_of(plane.id).any(|line| {
                let events = profile.events(line);
                (0..events.len()).any(|index| events.has(index, Mark::InputStage))
            })
}

fn has_kernel_lines(profile: &Profile, plane: &Plane) -> bool {
    let is_one = |name: &str| KERNEL_LINES.contains(&name);
    plane.kind == PlaneKind::Tpu
        && profile.lines_of(plane.id).any(|line| line.event_count > 0 && is_one(&line.name))
}

/// Chips with SparseCores, by the names that profiles use: v4, v5p (`TPU v5`), v6e, v7x; not v2, v3, v5e (`TPU v5 lite`).
fn has_sparse_cores(type_name: &str) -> bool {
    let name = type_name.to_ascii_lowercase();
    ["tpu v4", "tpu v5", "tpu v6", "tpu v7", "tpu7"].iter().any(|start| name.starts_with(start))
        && !name.starts_with("tpu v5 lite")
        && !name.starts_with("tpu v4 lite")
        && !name.starts_with("tpu v5e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_names_its_cure() {
        for id in ["device_ops", "programs", "host_events", "input_stages", "allocations", "capture_times"] {
            assert!(!fix(id, State::Lacking, WrittenIn::Jax).is_empty(), "{id}");
        }
        assert_eq!(
            fix("kernel_details", State::Lacking, WrittenIn::Jax),
            "--xla_xprof_enable_custom_call_tracing=true in LIBTPU_INIT_ARGS"
        );
        assert_eq!(
            fix("hardware_counters", State::Lacking, WrittenIn::Jax),
            "tpu_perf_counters=true in advanced_configuration"
        );
        assert!(
            fix("step_markers", State::Lacking, WrittenIn::Jax).contains("jax.profiler.StepTraceAnnotation")
        );
        for part in ["step_markers", "programs", "host_events", "input_stages", "python_calls", "allocations"]
        {
            let said = fix(part, State::Lacking, WrittenIn::TensorFlow);
            assert!(!said.is_empty() && !said.contains("jax"), "{part}: {said}");
        }
        assert_eq!(fix("python_calls", State::Recorded, WrittenIn::Jax), "");
    }

    #[test]
    fn chips_with_sparse_cores_are_known_by_name() {
        assert!(has_sparse_cores("TPU v6 Lite") && has_sparse_cores("TPU v5") && has_sparse_cores("TPU v7x"));
        assert!(!has_sparse_cores("TPU v5 lite") && !has_sparse_cores("CPU") && !has_sparse_cores("TPU v3"));
    }
}
