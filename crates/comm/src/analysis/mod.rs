//! `comm`: what collectives cost, and how much of that other work hides.

mod axes;
mod dcn;
mod findings;
mod groups;
mod sizes;
mod skew;
mod tables;
mod values;

use crate::last::Last;
use crate::{Collective, Communication, Counted, Form};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Severity};
use haloscope_time::analysis::{Also, Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::fix;
use haloscope_time::quality;
use haloscope_time::select::{Scoped, Selection};
use haloscope_time::steps::Steps;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "comm",
    label: "Communication",
    group: MenuGroup::Time,
    question: "How much of a step is communication between devices, how much of it is hidden by other work, and which collectives are exposed?",
    params: &[groups::MESH, groups::MESH_FILE, groups::TOPOLOGY],
    needs: &[
        "a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)",
        "step markers, to give costs per step; else launches of a program, else the whole active window counts as one step",
        "HLO modules: what an asynchronous fusion wraps, and how large its message is",
    ],
    reads: &[Input::Profile],
    example: "comm logs",
    also: &[Also::Tool],
    run: Run::Of(run),
};

/// What was measured, and what times are divided by.
struct Measured<'p> {
    comm: Communication<'p>,
    steps: Steps,
    /// Whether times are those of steps; else all of the active window stands for one.
    by_step: bool,
    /// Steps counted, each on each device.
    count: usize,
}

impl<'p> Measured<'p> {
    /// Measures the counted steps of a scope.
    fn of(profile: &'p Profile, selection: &Selection<'p>, steps: Steps, scope: &Scope) -> Self {
        let counted = Counted::of(profile, selection, &steps, scope);
        let comm = Communication::of(profile, selection, &counted);
        let count = comm.devices.iter().map(|d| d.steps).sum();
        Self { comm, steps, by_step: counted.by_step, count }
    }
}

/// Who comes last to the collectives of a selection, as `comm` says it; `None` where nobody can tell, or nobody waited.
#[must_use]
pub fn last(profile: &Profile, selection: &Selection<'_>, steps: &Steps, scope: &Scope) -> Option<Last> {
    let measured = Measured::of(profile, selection, steps.clone(), scope);
    groups::Talk::new(profile, &measured, &Params::default(), &mut Notes::default()).ok()?.last
}

impl Measured<'_> {
    /// The mean over steps and devices of a sum over both.
    fn per_step(&self, sum_ps: i64) -> f64 {
        sum_ps as f64 / self.count.max(1) as f64
    }

    /// A sum over devices.
    fn sum(&self, of: impl Fn(&crate::DeviceExposure) -> i64) -> i64 {
        units::sum(self.comm.devices.iter().map(of))
    }

    /// Executions of collectives that are not counted.
    fn outside(&self) -> usize {
        self.comm.devices.iter().map(|d| d.outside).sum()
    }

    /// A share of the time of all steps.
    fn share(&self, part_ps: i64) -> Option<f64> {
        let all = self.sum(|d| d.step_ps);
        (all > 0).then(|| part_ps as f64 / all as f64)
    }
}

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let steps = Steps::find(profile, &selection.devices);
    let measured = Measured::of(profile, selection, steps, scope);
    let comm = &measured.comm;
    if comm.devices.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::steps(profile, &measured.steps, notes);
    quality::events(profile, selection, notes);
    virtual_devices(profile, selection, comm, notes);
    let seen = |d: &&&haloscope_profile::Device| !comm.devices.iter().any(|one| one.device == d.id);
    let silent: Vec<&str> = selection.devices.iter().filter(seen).map(|d| d.name.as_str()).collect();
    quality::devices_without_ops(&silent, notes);
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    remarks(profile, &measured, scope, notes);
    let talk = groups::Talk::new(profile, &measured, params, notes)?;
    let mut values = values::all(&measured);
    values.extend(skew::values(&measured, &talk));
    if measured.comm.collectives.is_empty() {
        return Ok(Report { values, tables: vec![tables::devices(profile, &measured)], ..Report::default() });
    }
    let mut tables = vec![
        tables::kinds(&measured),
        tables::ops(&measured),
        tables::lines(&measured),
        tables::methods(&measured),
        tables::devices(profile, &measured),
        axes::table(&measured, &talk),
        groups::table(&measured, &talk),
        sizes::table(&measured, &talk),
        skew::table(profile, &measured, &talk),
    ];
    tables.extend(dcn::table(profile, &measured));
    let mut findings = findings::all(profile, &measured, &talk);
    findings.extend(skew::findings(profile, &measured, &talk));
    findings.extend(sizes::finding(&measured, &talk));
    findings.extend(axes::findings(profile, &measured, &talk));
    findings.sort_by_key(|one| std::cmp::Reverse(one.severity));
    Ok(Report { values, tables, findings, ..Report::default() })
}

/// How many executions of asynchronous collectives there are, and how many of them lack their start or their done.
fn unpaired(comm: &Communication<'_>) -> (usize, usize) {
    let asynchronous = |one: &&Collective<'_>| matches!(one.form, Form::Asynchronous | Form::SparseCore);
    let executions = comm.collectives.iter().filter(asynchronous).flat_map(|one| &one.executions);
    executions.fold((0, 0), |(all, lacking), e| (all + 1, lacking + usize::from(e.unpaired.is_some())))
}

/// Devices that share a plane: what they wait for each other is not seen.
fn virtual_devices(
    profile: &Profile,
    selection: &Selection<'_>,
    comm: &Communication<'_>,
    notes: &mut Notes,
) {
    if comm.collectives.is_empty() {
        return;
    }
    for device in &selection.devices {
        let count = haloscope_time::virtual_devices::of(profile, device);
        if count > 1 {
            notes.add(
                "virtual_devices",
                Severity::Warning,
                format!("{} represents {count} devices of the program, whose ops are on one plane", device.name),
                "while one of them waits in a collective, another may compute: exposed communication is that of all together",
                "",
            );
        }
    }
}

fn remarks(profile: &Profile, measured: &Measured<'_>, scope: &Scope, notes: &mut Notes) {
    let outside = measured.outside();
    if outside > 0 && !scope.cuts_time() {
        let what = if measured.by_step { "outside the counted steps" } else { "outside the active window" };
        notes.add(
            "collectives_not_counted",
            if measured.comm.collectives.is_empty() { Severity::Warning } else { Severity::Info },
            format!("{outside} executions of collectives are {what}"),
            "they are not in these numbers",
            "select the time in question with --window",
        );
    }
    let (asynchronous, lacking) = unpaired(&measured.comm);
    if lacking > 0 {
        notes.add(
            "unpaired_collectives",
            if lacking * 2 > asynchronous { Severity::Warning } else { Severity::Info },
            format!(
                "{lacking} of {asynchronous} executions of asynchronous collectives have no start or no done in the capture"
            ),
            "they count as in flight only while the op that was recorded runs: the time in between is missing",
            "capture whole steps: let the profiler start before a step and stop after one",
        );
    }
    if !measured.by_step {
        notes.add(
            "no_steps_counted",
            Severity::Info,
            "times are not per step: the whole selection counts as one step",
            "times per step are those of the active window",
            fix::MARK_STEPS.for_run(profile),
        );
    }
    if let Some(words) = tables::disagreement(measured) {
        notes.add(
            "comm_counts_differ",
            Severity::Info,
            words,
            "other tools count exposed communication differently: see table `methods`",
            "",
        );
    }
}
