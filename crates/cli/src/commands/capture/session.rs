//! A captured session, opened where it lies.

use std::path::Path;

use haloscope_analyses as analyses;
use haloscope_capture::Captured;
use haloscope_profile::load::{self, Run};
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};

use super::super::find::find;
use crate::Failure;

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
