//! Runs that Python holds, and questions about them.

use std::path::PathBuf;
use std::sync::Arc;

use haloscope_analyses as analyses;
use haloscope_profile::{Profile, load};
use haloscope_report::scope::{Scope, StepRange};
use haloscope_report::{Cell, Column, Unit, naming};
use haloscope_store::{AskedRun, Cache, ask, find};
use haloscope_time::analysis::{Analysis, Params, run_alone};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::Trouble;
use crate::events::{self, Wanted};
use crate::report::Report;
use crate::tables::Table;
use crate::work;

/// A run.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Run {
    asked: Arc<AskedRun>,
    cache: Option<Arc<Cache>>,
    /// How many sessions there were where the newest was taken.
    #[pyo3(get)]
    chosen_from: usize,
}

/// A line as Python has it: number, host, plane, name, events.
type LineParts = (u32, String, String, String, u64);

/// The part of a run as words of a command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ScopeWords {
    hosts: Vec<String>,
    devices: Vec<String>,
    modules: Vec<String>,
    steps: Option<String>,
    window: Option<String>,
    steady: bool,
}

impl ScopeWords {
    fn scope(self) -> Result<Scope, Trouble> {
        let window = self.window.as_deref();
        let words = Scope::from_words(|key| window.filter(|_| key == "window"))?;
        let steps = self.steps.filter(|steps| !steps.is_empty());
        Ok(Scope {
            hosts: self.hosts,
            devices: self.devices,
            modules: self.modules,
            steps: steps.map(|steps| StepRange::parse(&steps)).transpose()?,
            steady: self.steady,
            ..words
        })
    }
}

fn params(words: &[(String, String)]) -> Params {
    let mut params = Params::default();
    words.iter().for_each(|(id, value)| params.set(id, value));
    params
}

fn analysis(id: &str) -> Result<&'static Analysis, Trouble> {
    analyses::find(id).ok_or_else(|| Trouble::usage(format!("there is no analysis `{id}`")))
}

impl Run {
    /// Does something with what the run holds.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Arc<Profile>) -> Result<T, Trouble> + Send + 'static,
    ) -> PyResult<T> {
        let (asked, cache) = (Arc::clone(&self.asked), self.cache.clone());
        work::run(py, move || {
            load::map::guard();
            work(asked.profile(cache.as_deref())?)
        })
    }
}

#[pymethods]
impl Run {
    /// The run that a path or an address stands for.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, move || {
            let files = find(&path, &|_| ())?;
            let chosen_from = files.chosen_from;
            let cache = Cache::of_user()?.map(Arc::new);
            Ok(Self { asked: Arc::new(AskedRun::of_files(files)), cache, chosen_from })
        })
    }

    /// A run of what each host's profiler gave, by names that stand for those of files.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, hosts: Vec<(String, Bound<'_, PyBytes>)>) -> PyResult<Self> {
        let hosts: Vec<(String, Vec<u8>)> =
            hosts.into_iter().map(|(name, bytes)| (name, bytes.as_bytes().to_vec())).collect();
        work::run(py, move || {
            let profile = load::from_bytes_of_hosts(hosts)?;
            Ok(Self { asked: Arc::new(AskedRun::in_memory(profile)), cache: None, chosen_from: 1 })
        })
    }

    /// Where it lies; `None` for a run in memory.
    #[getter]
    fn path(&self) -> Option<String> {
        self.asked.files().map(|files| naming::shown(&files.path))
    }

    /// Its files; none of a run in memory.
    fn files(&self) -> Vec<PathBuf> {
        self.asked.files().map_or_else(Vec::new, |files| files.files.clone())
    }

    /// The names of its hosts.
    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |profile| Ok(profile.hosts.iter().map(|host| host.name.clone()).collect()))
    }

    /// The names of its devices.
    fn devices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |profile| Ok(profile.devices.iter().map(|device| device.name.clone()).collect()))
    }

    /// Its lines.
    fn lines(&self, py: Python<'_>) -> PyResult<Vec<LineParts>> {
        self.with(py, |profile| {
            let parts = |line: &haloscope_profile::Line| {
                let plane = profile.plane(line.plane);
                let host = profile.host(plane.host).name.clone();
                (line.id.0, host, plane.name.clone(), line.name.clone(), line.event_count)
            };
            Ok(profile.lines.iter().map(parts).collect())
        })
    }

    /// Events of lines, chosen by numbers or names.
    #[pyo3(signature = (ids, line, plane, name))]
    fn events(
        &self,
        py: Python<'_>,
        ids: Option<Vec<u32>>,
        line: Option<String>,
        plane: Option<String>,
        name: Option<String>,
    ) -> PyResult<Table> {
        self.with(py, move |profile| events::table(profile, &Wanted { ids, line, plane, name }))
    }

    /// The answer of an analysis about a part of this run, held against others.
    fn ask(
        &self,
        py: Python<'_>,
        id: &str,
        others: Vec<Py<Self>>,
        scope: ScopeWords,
        words: Vec<(String, String)>,
    ) -> PyResult<Report> {
        let (analysis, scope) = (analysis(id)?, scope.scope()?);
        let others = others.into_iter().map(|other| Arc::clone(&other.get().asked));
        let runs: Vec<Arc<AskedRun>> = std::iter::once(Arc::clone(&self.asked)).chain(others).collect();
        let cache = self.cache.clone();
        work::run(py, move || {
            let runs: Vec<&AskedRun> = runs.iter().map(|run| &**run).collect();
            Ok(Report::new(ask(cache.as_deref(), analysis, &runs, &scope, &params(&words))?))
        })
    }

    /// The page that shows the run by itself, of `haloscope report`.
    fn page<'py>(&self, py: Python<'py>, scope: ScopeWords, name: String) -> PyResult<Bound<'py, PyBytes>> {
        let scope = scope.scope()?;
        let page = self.with(py, move |profile| Ok(haloscope_cli::report_page(profile, &scope, &name)?))?;
        Ok(PyBytes::new(py, &page))
    }
}

/// The answer of an analysis that needs no run, from what its parameters state.
#[pyfunction]
pub(crate) fn alone(py: Python<'_>, id: &str, words: Vec<(String, String)>) -> PyResult<Report> {
    let analysis = analysis(id)?;
    work::run(py, move || Ok(Report::new(run_alone(analysis, &params(&words))?)))
}

/// The columns of what [`kernel_times`] gives, times in milliseconds.
const KERNEL_TIMES: [Column; 6] = [
    Column::text("name", "Kernel", "The name of the kernel or op."),
    Column::count("count", "Count", "Executions, over all devices."),
    Column::float(
        "total_ms",
        "Total",
        Unit::None,
        "Milliseconds of all executions; for an op, without what runs inside it.",
    ),
    Column::float("mean_ms", "Mean", Unit::None, "Milliseconds of one execution."),
    Column::float(
        "min_ms",
        "Shortest",
        Unit::None,
        "Milliseconds of the shortest execution; unknown for ops.",
    ),
    Column::float("max_ms", "Longest", Unit::None, "Milliseconds of the longest execution; unknown for ops."),
];

/// How long kernels took, from an XSpace in memory: those of GPUs and custom calls of TPUs, else the ops of devices.
#[pyfunction]
pub(crate) fn kernel_times(py: Python<'_>, xspace: PyBackedBytes) -> PyResult<Table> {
    work::run(py, move || {
        let profile = load::from_bytes("kernels.xplane.pb", xspace.to_vec())?;
        let ask = |id: &str| -> Result<_, Trouble> {
            Ok(haloscope_time::analysis::run(analysis(id)?, &profile, &Scope::default(), &Params::default()))
        };
        let (report, id, total) = match ask("kernels")? {
            Ok(report) => (report, "kernels", "total_ps"),
            Err(haloscope_report::Error::Nothing(_)) => (ask("ops")??, "ops", "self_ps"),
            Err(error) => return Err(error.into()),
        };
        let table = report.table(id).ok_or_else(|| Trouble::bug(&format!("`{id}` has no table")))?;
        let row = |at: usize| {
            let ms = |column: &str| table.cell(at, column).and_then(Cell::number).map(|ps| ps / 1e9);
            let count = table.cell(at, "occurrences").and_then(Cell::number);
            let total = ms(total);
            let mean = total.zip(count.filter(|count| *count > 0.0)).map(|(total, count)| total / count);
            vec![
                table.cell(at, "name").cloned().unwrap_or(Cell::Unknown),
                table.cell(at, "occurrences").cloned().unwrap_or(Cell::Unknown),
                total.into(),
                mean.into(),
                ms("min_ps").into(),
                ms("max_ps").into(),
            ]
        };
        let rows = (0..table.rows.len()).map(row).collect();
        Table::of(&haloscope_report::Table {
            id: "kernel_times",
            title: "Kernels by time",
            columns: &KERNEL_TIMES,
            rows,
        })
    })
}
