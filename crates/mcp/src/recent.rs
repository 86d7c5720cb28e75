//! The reports computed last, so that a cursor does not compute one again.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_store::Run;
use haloscope_time::analysis::Params;

use crate::Refusal;

/// How many are kept.
const ROOM: usize = 8;

/// The reports computed last, the newest at the end.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    analysis: &'static str,
    /// The runs as they were open then: one whose files changed is opened anew, and is another.
    runs: Vec<Weak<Run>>,
    scope: Scope,
    params: Params,
    report: Arc<Report>,
}

impl Recent {
    /// The report of this question, else what `compute` says.
    pub(crate) fn get(
        &self,
        analysis: &'static str,
        runs: &[Arc<Run>],
        scope: &Scope,
        params: &Params,
        compute: impl FnOnce() -> Result<Report, Refusal>,
    ) -> Result<Arc<Report>, Refusal> {
        let same = |kept: &Entry| {
            let pairs = || kept.runs.iter().zip(runs).all(|(a, b)| std::ptr::eq(a.as_ptr(), Arc::as_ptr(b)));
            kept.analysis == analysis
                && kept.runs.len() == runs.len()
                && kept.scope == *scope
                && kept.params == *params
                && pairs()
        };
        if let Some(kept) =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|kept| same(kept))
        {
            return Ok(Arc::clone(&kept.report));
        }
        // Not locked while it is computed: other questions need not wait for this one.
        let report = Arc::new(compute()?);
        let runs = runs.iter().map(Arc::downgrade).collect();
        let kept = Entry {
            analysis,
            runs,
            scope: scope.clone(),
            params: params.clone(),
            report: Arc::clone(&report),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A weak reference keeps the place in memory of a run that was closed, so that no other gets it.
        all.push(kept);
        if all.len() > ROOM {
            all.remove(0);
        }
        Ok(report)
    }
}
