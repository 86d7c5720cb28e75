//! XProf's answers, from files of a run as its callers name them.

use std::path::PathBuf;

use haloscope_compat::{self as compat, Params};
use haloscope_profile::Profile;
use haloscope_profile::load::{self, Run};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Trouble;
use crate::work;

/// Where XSpaces are: in files, or in memory under names of files.
#[derive(FromPyObject)]
pub(crate) enum Spaces {
    Files(Vec<PathBuf>),
    Bytes(Vec<(String, Vec<u8>)>),
}

impl Spaces {
    fn open(self) -> Result<Profile, Trouble> {
        load::map::guard();
        match self {
            Self::Files(files) if files.is_empty() => Err(Trouble::nothing("no file was given")),
            Self::Files(files) => {
                let path = files.first().cloned().unwrap_or_default();
                // A file that is missing is an error of all, and not one that is left out.
                for file in &files {
                    let source = std::fs::metadata(file).err();
                    if let Some(source) = source {
                        return Err(haloscope_report::Error::Io { path: file.clone(), source }.into());
                    }
                }
                Ok(load::open(&Run { files, path, chosen_from: 1 })?)
            }
            Self::Bytes(hosts) => Ok(load::from_bytes_of_hosts(hosts)?),
        }
    }
}

/// The answer of a tool: the bytes and the content type; or `None` and why there is none, with whether the question was wrong.
type Told<'py> = (Option<Bound<'py, PyBytes>>, String, bool);

/// Asks a tool about spaces.
#[pyfunction]
pub(crate) fn tool_data<'py>(
    py: Python<'py>,
    spaces: Spaces,
    tool: String,
    params: Vec<(String, String)>,
) -> PyResult<Told<'py>> {
    let told = work::run(py, move || {
        // XProf passes over options that a tool does not know.
        let known = |key: &str| {
            let takes = |tool: &compat::Tool| tool.params.iter().any(|param| param.id == key);
            ["host", "hosts"].contains(&key) || compat::find(&tool).is_ok_and(takes)
        };
        let params: Params =
            params.iter().filter(|(key, _)| known(key)).map(|(key, value)| (key, value)).collect();
        let profile = spaces.open()?;
        let answer = match compat::answer(&profile, &tool, &params) {
            Err(compat::Error::Missing { tool, .. }) if compat::empty(tool).is_some() => {
                compat::empty(tool).unwrap_or_else(|| Ok(compat::Answer::text("")))
            }
            told => told,
        };
        Ok(match answer {
            Ok(answer) => (Some(answer.body), answer.content_type.to_owned(), false),
            Err(error) => (None, error.to_string(), error.http_status() == 400),
        })
    })?;
    let (body, words, is_wrong) = told;
    Ok((body.map(|body| PyBytes::new(py, &body)), words, is_wrong))
}

/// The names of the tools that have something to show, with commas between them, as XProf has them.
#[pyfunction]
pub(crate) fn tool_names(py: Python<'_>, spaces: Spaces) -> PyResult<String> {
    work::run(py, move || {
        let profile = spaces.open()?;
        let told = compat::answer(&profile, "tool_names", &Params::default());
        let told = told.map_err(|error| Trouble::from(haloscope_cli::Failure::from(error)))?;
        Ok(String::from_utf8_lossy(&told.body).into_owned())
    })
}

/// The HLO modules in a file: the names that XProf gives their files, without the ending, and the serialised `HloProto`.
#[pyfunction]
pub(crate) fn hlo_protos<'py>(
    py: Python<'py>,
    path: PathBuf,
) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let found = work::run(py, move || {
        let profile = Spaces::Files(vec![path]).open()?;
        let one = |module: &haloscope_profile::HloModule| {
            let name =
                module.program_id.map_or_else(|| module.name.clone(), |id| format!("{}({id})", module.name));
            // A name from a profile is no path.
            (name.replace('/', "_"), profile.sources[module.source].slice(module.proto).to_vec())
        };
        Ok(profile.modules.iter().map(one).collect::<Vec<_>>())
    })?;
    Ok(found.into_iter().map(|(name, proto)| (name, PyBytes::new(py, &proto))).collect())
}
