//! A captured session, opened where it lies.

use std::path::Path;

use haloscope_analyses as analyses;
use haloscope_capture::Captured;
use haloscope_profile::load::{self, Run};
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Value};
use haloscope_time::analysis::{self, Params};

use crate::Failure;
use crate::run_argument::find;

/// The run of a session, brought from an object store where it lies in one; `None` where it lies on another machine.
pub(super) fn here(captured: &Captured) -> Result<Option<Run>, Failure> {
    let path = Path::new(&captured.path);
    if !captured.path.contains("://") && !path.exists() {
        return Ok(None);
    }
    Ok(Some(find(path)?))
}

/// The overview of a run.
pub(super) fn overview(run: &Run) -> Result<Report, Failure> {
    let profile = load::open(run)?;
    let Some(analysis) = analyses::find("overview") else {
        return Err(Failure::Nothing("there is no analysis `overview`".into(), String::new()));
    };
    Ok(analysis::run(analysis, &profile, &Scope::default(), &Params::default())?)
}

/// A headline value as a number; `None` where it is unknown or not one.
pub(super) fn number_of(value: &Value) -> Option<f64> {
    match value.value {
        Cell::Int(whole) => Some(whole as f64),
        Cell::Float(real) => Some(real),
        Cell::Text(_) | Cell::Flag(_) | Cell::Unknown => None,
    }
}
