//! `check`: whether a run keeps what was asked of it.

use super::{Analysis, Params, Run};
use crate::Error;
use crate::profile::Profile;
use crate::report::{Notes, Report};
use crate::scope::Scope;

pub(in crate::analyses) static ANALYSIS: Analysis = Analysis {
    id: "check",
    question: "Does this run keep its budgets, and is it no slower than its baseline?",
    params: &[],
    needs: &["a baseline or budgets", "several steps in each run: their spread says what is noise"],
    example: "check logs/after --baseline logs/before",
    run: Run::Against(run),
};

fn run(
    _profile: &Profile,
    _baseline: Option<&Profile>,
    _scope: &Scope,
    _params: &Params,
    _notes: &mut Notes,
) -> Result<Report, Error> {
    Err(Error::Nothing("nothing is checked yet".into()))
}
