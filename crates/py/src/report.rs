//! Reports as Python holds them.

use haloscope_report::present::{self, Layout};
use haloscope_report::{Link, RunWords};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Trouble;
use crate::speak;
use crate::tables::{Table, ValueParts, value_parts};

/// The answer of an analysis.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Report(haloscope_report::Report);

impl Report {
    pub(crate) fn new(report: haloscope_report::Report) -> Self {
        Self(report)
    }
}

/// A link as a call: a question about the run, without what the page alone can follow.
fn call(link: &Link) -> String {
    let command = link.command(&RunWords { one: "RUN", both: "RUN other" });
    speak::call(&command).unwrap_or_else(|| speak::in_python(&command))
}

#[pymethods]
impl Report {
    /// The analysis that gave it.
    #[getter]
    fn analysis(&self) -> &'static str {
        self.0.analysis
    }

    /// The same JSON as that of `--format json`.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The report as text, of so many columns and rows of each table.
    fn to_text(&self, width: usize, limit: usize) -> PyResult<String> {
        let layout = Layout { width, limit, ..Layout::default() };
        written(|out| present::table(&self.0, &layout, out))
    }

    /// The report as Markdown, with so many rows of each table.
    fn to_markdown(&self, limit: usize) -> PyResult<String> {
        let layout = Layout { limit, ..Layout::default() };
        written(|out| present::markdown(&self.0, &layout, out))
    }

    /// The report as HTML that runs nothing.
    fn to_html(&self, limit: usize) -> PyResult<String> {
        Ok(speak::in_python(&haloscope_cli::report_fragment(&self.0, limit).map_err(Trouble::from)?))
    }

    /// Headline numbers by id.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, ValueParts<'py>)>> {
        self.0.values.iter().map(|value| Ok((value.id, value_parts(py, value)?))).collect()
    }

    /// The headline number with this id.
    fn value<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<ValueParts<'py>>> {
        self.0.value(id).map(|value| value_parts(py, value)).transpose()
    }

    /// The ids of the tables.
    fn table_ids(&self) -> Vec<&'static str> {
        self.0.tables.iter().map(|table| table.id).collect()
    }

    /// The table with this id.
    fn table(&self, id: &str) -> PyResult<Option<Table>> {
        Ok(self.0.table(id).map(Table::of).transpose()?)
    }

    /// What follows from the numbers, in Python's words.
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |finding: &haloscope_report::Finding| {
            let out = PyDict::new(py);
            out.set_item("id", finding.id)?;
            out.set_item("variant", finding.variant)?;
            out.set_item("severity", finding.severity.word())?;
            let words = [
                ("claim", &finding.claim),
                ("evidence", &finding.evidence),
                ("ceiling", &finding.ceiling),
                ("lever", &finding.recommendation),
                ("falsifier", &finding.falsifier),
            ];
            for (key, text) in words {
                out.set_item(key, speak::in_python(text))?;
            }
            out.set_item("speedup", finding.speedup)?;
            out.set_item("status", finding.status.word())?;
            out.set_item("explained_by", finding.explained_by)?;
            out.set_item("see", finding.links.iter().map(call).collect::<Vec<_>>())?;
            Ok(out)
        };
        self.0.findings.iter().map(one).collect()
    }

    /// Remarks on the data, in Python's words.
    fn quality<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |note: &haloscope_report::Quality| {
            let out = PyDict::new(py);
            out.set_item("id", note.id)?;
            out.set_item("severity", note.severity.word())?;
            for (key, text) in [("message", &note.message), ("cost", &note.cost), ("cure", &note.fix)] {
                out.set_item(key, speak::in_python(text))?;
            }
            Ok(out)
        };
        self.0.quality.iter().map(one).collect()
    }

    /// Texts that stand for themselves: id, title, text.
    fn texts(&self) -> Vec<(&'static str, String, String)> {
        self.0.texts.iter().map(|text| (text.id, text.title.clone(), text.text.clone())).collect()
    }

    /// Whether what was asked for holds; `None` where nothing was asked for that can hold, and where nobody can tell.
    #[getter]
    fn passed(&self) -> Option<bool> {
        self.0.gate.and_then(haloscope_report::Gate::holds)
    }

    /// The exit code of a process that ends with it.
    #[getter]
    fn exit_code(&self) -> u8 {
        self.0.gate.map_or(0, haloscope_report::Gate::exit_code)
    }
}

/// What a presenter writes, in Python's words.
fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> PyResult<String> {
    let mut out = Vec::new();
    write(&mut out).map_err(|error| Trouble::bug(&error.to_string()))?;
    Ok(speak::in_python(&String::from_utf8_lossy(&out)))
}
