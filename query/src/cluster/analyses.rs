//! What is asked of parts that workers make: `part(...)`, and `analysis(...)` of what can be.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use haloscope_analyses::part::takes_parts;
use haloscope_report::Error;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::later::Later;
use super::shelf::FileRef;
use super::table::Files;
use crate::printer;
use crate::tables::analysis::{Asked, holds_runs_against_each_other, texts};
use crate::tables::part::{self, FilePart};

/// The endings of files whose parts are as good as they: of others a part does not say what was made of them.
const SPACES: [&str; 2] = [".xplane.pb", ".xplane.pb.gz"];

/// Makes the functions known. `is_split` says whether each host has a file of its own.
pub(super) fn register(context: &SessionContext, files: &Arc<Files>, later: &Arc<Later>, is_split: bool) {
    let analyses = Analyses { files: Arc::clone(files), later: Arc::clone(later), is_split };
    context.register_udtf("analysis", Arc::new(analyses));
    context.register_udtf("part", Arc::new(OfWorkers(Arc::clone(files))));
}

/// `part(...)` of files that workers read.
struct OfWorkers(Arc<Files>);

/// Has parts made. What a function gives has to be there when a question is planned, so this waits.
fn made(files: &Arc<Files>, questions: &[&'static str], session: &dyn Session) -> Result<Vec<FilePart>> {
    block_in_place(|| Handle::current().block_on(files.parts(questions, session)))
}

impl fmt::Debug for OfWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfWorkers").finish_non_exhaustive()
    }
}

impl TableFunctionImpl for OfWorkers {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        part::table(&made(&self.0, &part::questions(args.exprs())?, args.session())?)
    }
}

/// `analysis(...)`: of parts where it can be asked about them, else of the runs, which are opened here.
struct Analyses {
    files: Arc<Files>,
    later: Arc<Later>,
    /// Whether each host has a file of its own.
    is_split: bool,
}

impl fmt::Debug for Analyses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyses").finish_non_exhaustive()
    }
}

impl Analyses {
    /// The analysis, where workers can make what it needs of their files; else why not.
    fn splits(&self, exprs: &[Expr]) -> std::result::Result<&'static str, String> {
        let words = texts("analysis", exprs).unwrap_or_default();
        let id = words.first().map(String::as_str).unwrap_or_default();
        // What is no analysis is said where it is asked.
        let Some(analysis) = haloscope_analyses::find(id) else { return Err(String::new()) };
        let files = &self.files.files;
        let is_space = |file: &FileRef| SPACES.iter().any(|ending| file.path.ends_with(ending));
        let has_several = files.iter().any(|file| file.run != files[0].run);
        let why = if !takes_parts(analysis) || (has_several && holds_runs_against_each_other(analysis)) {
            "it does not work on parts of files"
        } else if !self.is_split {
            "two files have the same name"
        } else if !files.iter().all(is_space) {
            "not all files are .xplane.pb"
        } else {
            return Ok(analysis.id);
        };
        Err(format!("analysis('{id}') runs here, not on workers: {why}"))
    }
}

impl TableFunctionImpl for Analyses {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let exprs = args.exprs();
        let why = match self.splits(exprs) {
            Ok(id) => {
                let runs = part::together(made(&self.files, &[id], args.session())?)?;
                match Asked::new(runs).table(exprs) {
                    Err(error) if lacks_something(&error) => {
                        format!(
                            "analysis('{id}') runs here, not on workers: with these parameters it reads more than a part has"
                        )
                    }
                    answered => return answered,
                }
            }
            Err(why) => why,
        };
        if !why.is_empty() {
            printer::note(why);
        }
        Asked::new(self.later.get()?).table(exprs)
    }
}

/// Whether something was to be read that parts do not have.
fn lacks_something(error: &DataFusionError) -> bool {
    let DataFusionError::External(inner) = error.find_root() else { return false };
    inner.downcast_ref::<Error>().is_some_and(|error| matches!(error, Error::Input { .. }))
}
