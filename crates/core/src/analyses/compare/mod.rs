//! `compare`: what changed between runs, and whether it is more than noise.

pub(super) mod facts;
pub(super) mod metrics;

use super::{Analysis, Param, ParamKind, Params, Run};
use crate::Error;
use crate::profile::Profile;
use crate::report::{Notes, Report};
use crate::scope::Scope;

const ANYWAY: Param = Param {
    id: "anyway",
    doc: "compare runs that differ in what makes them comparable: chip, batch, shapes, versions",
    kind: ParamKind::Choice(&["no", "yes"]),
    default: "no",
};

pub(in crate::analyses) static ANALYSIS: Analysis = Analysis {
    id: "compare",
    question: "What changed between these runs, is it more than noise, and which ops make up the difference?",
    params: &[ANYWAY],
    needs: &[
        "several steps in each run: their spread says what is noise",
        "HLO, to know an op again that is called otherwise now",
    ],
    example: "compare logs/before logs/after",
    run: Run::Among(run),
};

fn run(
    _baseline: &Profile,
    _others: &[&Profile],
    _scope: &Scope,
    _params: &Params,
    _notes: &mut Notes,
) -> Result<Report, Error> {
    Err(Error::Nothing("nothing is compared yet".into()))
}
