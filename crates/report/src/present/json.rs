//! A report as JSON.

use std::io::{self, Write};

use crate::Report;

/// Writes the report as one line of JSON, in the shape that `docs/automation.md` describes.
///
/// # Errors
/// What the writer says.
pub fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(report.to_json().as_bytes())
}
