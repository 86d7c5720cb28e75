//! stub
use super::{Analysis, Params};
use crate::{Error, profile::Profile, report::{Notes, Report}, scope::Scope};
pub(super) static ANALYSIS: Analysis = Analysis { id: "steps", question: "", params: &[], needs: &[], example: "", run };
fn run(_: &Profile, _: &Scope, _: &Params, _: &mut Notes) -> Result<Report, Error> { Ok(Report::default()) }
