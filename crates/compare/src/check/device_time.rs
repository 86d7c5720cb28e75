//! How long one execution takes on the device: of a program, or of the ops that a pattern names.

use regex::Regex;

use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_time::kernels;
use haloscope_time::launches;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::programs;
use haloscope_time::select::{Scoped, Selection};

/// Executions of one thing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviceTime {
    /// What ran, in words.
    pub what: String,
    /// How long each execution took, picoseconds, of all devices of the scope.
    pub spans_ps: Vec<f64>,
}

/// The executions that start in the scope: of the ops that a pattern names, else of the program that took most time.
///
/// # Errors
/// [`Error::Nothing`] where none ran, [`Error::Usage`] for a scope that does not fit.
pub(super) fn of(asked: &Scoped<'_>, kernel: Option<&Regex>) -> Result<DeviceTime, Error> {
    let (profile, selection) = (asked.profile, asked.selection()?);
    match kernel {
        Some(pattern) => of_ops(profile, selection, pattern),
        None => of_program(profile, selection),
    }
}

fn of_program(profile: &Profile, selection: &Selection<'_>) -> Result<DeviceTime, Error> {
    let times = programs::times(profile, Some(selection));
    let Some(program) = times.iter().find(|time| selection.takes_module(&time.module)) else {
        return Err(Error::Nothing("no execution of a program was recorded".into()));
    };
    let mut spans_ps = Vec::new();
    for (position, device) in selection.devices.iter().enumerate() {
        let starts_inside =
            |at: i64| selection.window(position).is_none_or(|w| w.overlap(at, at.saturating_add(1)) > 0);
        let own = launches::of(profile, device).into_iter();
        let own = own.filter(|l| program.is_named(l.program_id, &l.module) && starts_inside(l.start_ps));
        spans_ps.extend(own.map(|l| l.end_ps.saturating_sub(l.start_ps) as f64));
    }
    if spans_ps.is_empty() {
        return Err(Error::Nothing(format!("no execution of {} starts in the scope", program.module)));
    }
    let name = if program.module.is_empty() { "a program without a name" } else { &program.module };
    Ok(DeviceTime { what: format!("{} executions of {name}, device time", spans_ps.len()), spans_ps })
}

/// Whether a pattern names an op: by its name, its framework's scope path, or what it calls.
pub(super) fn names(pattern: &Regex, op: &OpMeta<'_>) -> bool {
    pattern.is_match(&op.name)
        || pattern.is_match(&op.framework_op)
        || target(&op.expression).is_some_and(|target| pattern.is_match(target))
}

/// The target of a custom call in an HLO expression.
fn target(expression: &str) -> Option<&str> {
    expression.split_once("custom_call_target=\"")?.1.split('"').next()
}

fn of_ops(profile: &Profile, selection: &Selection<'_>, pattern: &Regex) -> Result<DeviceTime, Error> {
    let mut spans_ps = Vec::new();
    for (position, device) in selection.devices.iter().enumerate() {
        let ops = DeviceOps::find(profile, device);
        let cut = selection.window(position);
        let is_named: Vec<bool> =
            ops.ops.iter().map(|(op, module)| selection.takes_module(module) && names(pattern, op)).collect();
        ops.walk(profile, cut, |row, event, _| {
            let starts_inside =
                cut.is_none_or(|w| w.overlap(event.start_ps, event.start_ps.saturating_add(1)) > 0);
            if starts_inside && is_named.get(row).copied().unwrap_or(false) {
                spans_ps.push(event.end_ps.saturating_sub(event.start_ps) as f64);
            }
        });
    }
    if spans_ps.is_empty() {
        // A GPU's kernel has a name of its own beside that of the op that launched it.
        kernels::visit(profile, selection.devices.iter().copied(), |kernel, _, position, _, event| {
            let cut = selection.window(position);
            let starts_inside =
                cut.is_none_or(|w| w.overlap(event.start_ps, event.start_ps.saturating_add(1)) > 0);
            if starts_inside && pattern.is_match(&kernel.name) {
                spans_ps.push(event.end_ps.saturating_sub(event.start_ps) as f64);
            }
        });
    }
    if spans_ps.is_empty() {
        return Err(Error::Nothing(format!(
            "no op that ran matches /{pattern}/; `ops` lists those that did"
        )));
    }
    Ok(DeviceTime { what: format!("{} executions of ops that match /{pattern}/", spans_ps.len()), spans_ps })
}
