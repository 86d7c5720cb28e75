//! Lines that the profiler did not write: framework ops, name scopes, source positions and, on GPUs, program executions,
//! HLO ops and steps. They are what XProf derives, event by event.

mod builder;
mod gpu;
mod in_order;
mod offload;
mod ties;
mod tpu;

pub(crate) use builder::{DerivedEvent, DerivedEvents, Labels};

use haloscope_event_groups::Context;
use haloscope_profile::{HostId, LineId, Plane, PlaneId, PlaneKind, Profile};
use haloscope_report::stop;
use rayon::prelude::*;

/// Line ids of derived lines begin here, as XProf numbers them.
pub(crate) const FIRST_ID: i64 = 0xdead_beef_u32 as i32 as i64;
const STEPS: i64 = FIRST_ID;
const LAUNCHES: i64 = FIRST_ID + 1;
const SCOPES: i64 = FIRST_ID + 2;
const FRAMEWORK_OPS: i64 = FIRST_ID + 3;
const SOURCE: i64 = FIRST_ID + 7;
const OFFLOAD: i64 = FIRST_ID + 8;
/// The number of rows of host offload ops.
const OFFLOAD_ROWS: i64 = 41;
const LAST_ID: i64 = FIRST_ID + 49 + 240 + 100;

/// True for ids that only derived lines have.
#[must_use]
pub(crate) fn is_derived_id(wire_id: i64) -> bool {
    (FIRST_ID..=LAST_ID).contains(&wire_id)
}

/// A derived line.
#[derive(Debug)]
pub(crate) struct DerivedLine {
    /// The id under which it is shown.
    pub(crate) id: i64,
    /// Its name.
    pub(crate) name: String,
    /// Its events, in the order in which they were begun.
    pub(crate) events: DerivedEvents,
    /// For each event what it carries beside its label, where it carries anything.
    pub(crate) details: Vec<Vec<Detail>>,
}

/// A fact about a derived event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Detail {
    /// A whole number.
    Count(&'static str, i64),
    /// A number.
    Number(&'static str, f64),
    /// Words.
    Text(&'static str, String),
}

/// The derived lines of a plane.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    /// Lines with at least one event.
    pub(crate) lines: Vec<DerivedLine>,
    /// What their events are called.
    pub(crate) labels: Labels,
    /// Where the plane's own lines are shown, if not at their id: GPU streams.
    pub(crate) places: Vec<(LineId, i64)>,
}

impl DerivedLine {
    fn new(id: i64, name: impl Into<String>, events: DerivedEvents) -> Self {
        Self { id, name: name.into(), events, details: Vec::new() }
    }
}

/// The derived lines of a host's planes. None where the profiler derived them itself, which it does where it groups.
#[must_use]
pub(crate) fn of_host(profile: &Profile, host: HostId, context: &Context) -> Vec<(PlaneId, Derived)> {
    if context.by_profiler {
        return Vec::new();
    }
    let of_plane = |plane: &&Plane| match plane.kind {
        PlaneKind::Tpu => Some((plane.id, tpu::lines(profile, plane, context))),
        PlaneKind::Gpu => Some((plane.id, gpu::lines(profile, plane, context))),
        _ => None,
    };
    let planes: Vec<&Plane> = profile.planes_of(host).collect();
    let mut derived: Vec<(PlaneId, Derived)> =
        planes.par_iter().filter_map(stop::carried(of_plane)).collect();
    gpu::add_launches(profile, host, context, &mut derived);
    for (_, derived) in &mut derived {
        derived.lines.retain(|line| !line.events.is_empty());
    }
    derived
}

/// A framework op's labels: its scopes, outermost first, and itself.
#[derive(PartialEq)]
struct OpLabels {
    scopes: Vec<u32>,
    op: u32,
}

impl OpLabels {
    fn new(full_name: &str, labels: &mut Labels) -> Self {
        use haloscope_event_groups::framework_op::{Framework, FrameworkOp};
        let op = FrameworkOp::parse(full_name);
        let scoped = matches!(op.framework, Framework::TensorFlow | Framework::Jax);
        let scopes = op.scopes().filter(|_| scoped).map(|scope| labels.intern(scope)).collect();
        Self { scopes, op: labels.intern_shown(full_name, &op.label()) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haloscope_profile::load;

    use super::*;

    #[test]
    fn lines_are_derived_unless_the_profiler_grouped_by_itself() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs/gpu-train");
        let profile = load::open(&load::find(&folder).unwrap()).unwrap();
        let mut context = Context::of(&profile, HostId(0));
        assert!(!context.by_profiler && !of_host(&profile, HostId(0), &context).is_empty());
        context.by_profiler = true;
        assert!(of_host(&profile, HostId(0), &context).is_empty());
    }
}
