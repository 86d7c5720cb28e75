//! The native module of the Python package: what `python/haloscope` is a face of.
//!
//! Everything is taken from the crates that the other doors use; here it becomes Python's objects. `work` is the way from Python
//! into the engine and back (no lock held, Ctrl-C heard, panics caught, forks survived), `run` and `report` are questions and
//! answers, `tables` and `events` tables as Arrow streams, `profile_data` the objects that JAX has, `xprof` XProf's answers, `speak`
//! says in Python what reports say in words of a command line, `errors` what is raised.

mod errors;
mod events;
mod profile_data;
mod report;
mod run;
mod speak;
mod tables;
mod work;
mod xprof;

use std::ffi::OsString;
use std::path::Path;

use pyo3::prelude::*;

/// The module that Python loads.
#[pymodule(gil_used = false)]
mod _native {
    use super::{Bound, OsString, Path, PyModule, PyResult, Python, pyfunction};
    use pyo3::types::PyModuleMethods;

    #[pymodule_export]
    use super::profile_data::{Event, Events, Line, Lines, Plane, Planes, ProfileData};
    #[pymodule_export]
    use super::report::Report;
    #[pymodule_export]
    use super::run::{Run, alone, kernel_times};
    #[pymodule_export]
    use super::tables::Table;
    #[pymodule_export]
    use super::xprof::{hlo_protos, tool_data, tool_names};

    /// Does what the program `haloscope` does with these arguments, the first of which is its name, and returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| haloscope_cli::process(args))
    }

    /// A text of a report or an error with its command lines as calls of Python.
    #[pyfunction]
    fn in_python(text: &str) -> String {
        super::speak::in_python(text)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::work::catch_panics();
        if let Ok(file) = module.filename() {
            haloscope_store_loaded_from(&file.to_string());
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    fn haloscope_store_loaded_from(file: &str) {
        haloscope_store::loaded_from(Path::new(file));
    }
}
