//! `kernel text`: a kernel as MLIR writes it.

use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Text, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::find::{OP, find};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel text",
    label: "Text",
    group: MenuGroup::Programs,
    question: "What is a TPU kernel's Mosaic code?",
    params: &[OP, MODULE],
    needs: &["HLO modules in the profile, or a compiled program, with a Pallas kernel for TPUs"],
    reads: &[Input::Profile, Input::Program],
    example: "kernel text logs --op flash_attention.1",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, _: &mut Notes) -> Result<Report, Error> {
    let found = find(asked, params)?;
    let text = found.mosaic.text();
    let mut values = found.values();
    let count = |id, label, n: Option<i64>, doc| Value::new(id, label, n, Unit::Count, Status::Measured, doc);
    values.extend([
        count(
            "version",
            "Mosaic version",
            found.mosaic.version(),
            "`stable_mosaic.version`, the version of its operations.",
        ),
        count("operations", "Operations", Some(found.mosaic.op_count() as i64), "Operations of its module."),
        count("text_lines", "Lines", Some(text.lines().count() as i64), "Lines of the text."),
    ]);
    let title = format!("kernel {}", found.instruction());
    Ok(Report { values, texts: vec![Text { id: "mosaic", title, text }], ..Report::default() })
}
