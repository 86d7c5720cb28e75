//! The run that a request names.

use std::sync::Arc;

use haloscope_report::turns::Size;
use haloscope_store::Run;

use crate::answer::Failure;
use crate::app::App;
use crate::compute::blocking;
use crate::query::Query;

/// The run that a request names, else the newest that is complete.
pub(crate) fn open(app: &App, query: &Query) -> Result<Arc<Run>, Failure> {
    Ok(app.store.open(&run_id(app, query)?)?)
}

/// What a look into the run that a request names takes: it is quick where the run is open.
pub(crate) async fn look(app: &Arc<App>, query: &Query) -> Size {
    let query = query.clone();
    let is_open =
        blocking(Arc::clone(app), move |app| Ok::<_, Failure>(app.store.is_open(&run_id(app, &query)?)));
    // Whoever asks is told what is wrong where the run is opened.
    if is_open.await.unwrap_or(false) { Size::Quick } else { Size::Heavy }
}

/// The id of that run.
pub(crate) fn run_id(app: &App, query: &Query) -> Result<String, Failure> {
    if let Some(id) = query.get("run") {
        return Ok(id.to_owned());
    }
    let Some(newest) = app.store.newest()? else {
        return Err(Failure::nothing(
            "there is no run yet",
            "capture a profile into the log folder, for instance with jax.profiler.trace",
        ));
    };
    Ok(newest.id)
}
