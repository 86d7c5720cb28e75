//! The time that all methods divide by, and the work that was done in it.

use haloscope_profile::Profile;
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Severity};
use haloscope_time::fix;
use haloscope_time::ops;
use haloscope_time::quality;
use haloscope_time::roofline::add_known;
use haloscope_time::select::Selection;
use haloscope_time::steps::{StepClass, Steps};
use haloscope_time::usage::Usage;
use haloscope_time::window_work::work_in_windows;

/// One mean step of one device.
pub(super) struct Base {
    /// Its time, idle time included, picoseconds.
    pub(super) step_ps: Option<f64>,
    /// How many steps it is the mean of; `None` where the active window stands for one.
    pub(super) steps: Option<usize>,
    /// FLOPs in it, as the compiler counts them.
    pub(super) flops: Option<f64>,
}

impl Base {
    pub(super) fn measure(
        profile: &Profile,
        scope: &Scope,
        selection: &Selection<'_>,
        notes: &mut Notes,
    ) -> Self {
        let mut steps = Steps::find(profile, &selection.devices);
        if !steps.rows.is_empty() {
            quality::steps(profile, &steps, notes);
        }
        steps.rows.retain(|step| {
            step.class != StepClass::Edge
                && scope.steps.as_ref().is_none_or(|range| range.contains(step.number))
                && (!scope.steady || step.class == StepClass::Steady)
                && scope.window_ps.is_none_or(|(from, to)| {
                    step.instances.iter().all(|i| from <= i.start_ps && i.end_ps <= to)
                })
        });
        if steps.rows.is_empty() {
            return Self::of_window(profile, selection, notes);
        }
        let (mut time_ps, mut count) = (0.0, 0_usize);
        let mut flops = None;
        for device in &selection.devices {
            let own = steps.rows.iter().filter_map(|step| step.on(device.id));
            let mut windows: Vec<(i64, i64)> = own.clone().map(|i| (i.start_ps, i.end_ps)).collect();
            time_ps += own.map(|i| i.duration_ps as f64).fold(0.0, |a, b| a + b);
            windows.sort_unstable();
            count += windows.len();
            // Markers of one step and the next may overlap; work counts once.
            let mut last = i64::MIN;
            for window in &mut windows {
                window.0 = window.0.max(last);
                window.1 = window.1.max(window.0);
                last = window.1;
            }
            for part in work_in_windows(profile, device, &windows, selection) {
                add_known(&mut flops, part.flops);
            }
        }
        let mean = |sum: f64| (count > 0).then(|| sum / count as f64);
        Self {
            step_ps: mean(time_ps).filter(|ps| *ps > 0.0),
            steps: Some(steps.rows.len()),
            flops: flops.and_then(mean),
        }
    }

    /// The whole active window, where there are no steps.
    fn of_window(profile: &Profile, selection: &Selection<'_>, notes: &mut Notes) -> Self {
        notes.add(
            "no_steps",
            Severity::Info,
            "the run has no steps that can be counted",
            "the active window, from the first op to the last, counts as one step",
            fix::MARK_STEPS.for_run(profile),
        );
        let steps = Steps { source: haloscope_time::steps::StepSource::None, rows: Vec::new() };
        let usage = Usage::measure(profile, selection, &steps);
        let ops = ops::collect(profile, selection);
        let devices = selection.devices.len().max(1) as f64;
        let sums = ops::analysis::Sums::of(&ops);
        Self {
            step_ps: Some(usage.active_ps()).filter(|ps| *ps > 0.0),
            steps: None,
            flops: sums.flops.map(|flops| flops / devices),
        }
    }
}
