//! The prompt that leads an agent through the nine steps of a diagnosis, filled with what the run says to each.

use haloscope_analyses as analyses;

use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Table, clean};
use haloscope_time::analysis::Params;
use rmcp::model::{Prompt, PromptArgument};

use crate::{Arguments, Context, Refusal};

pub(crate) const NAME: &str = "diagnose_run";

/// What clients list.
pub(crate) fn described() -> Prompt {
    let run = PromptArgument::new("run")
        .with_description("id of the run; the newest unless given")
        .with_required(false);
    Prompt::new(NAME, Some("Nine steps from a profile to the one change to try first"), Some(vec![run]))
        .with_title("Diagnose a run")
}

/// The text of the prompt for a run.
pub(crate) fn text(context: &Context, arguments: &Arguments) -> Result<String, Refusal> {
    let run = context.run(arguments, "run")?;
    let analysis =
        analyses::find("diagnose").ok_or_else(|| Refusal::bug("there is no analysis `diagnose`"))?;
    let report = context.report(&run, &[], analysis, &Scope::default(), &Params::default())?;
    let steps = report.table("protocol").ok_or_else(|| Refusal::bug("`diagnose` has no table `protocol`"))?;
    let mut text = format!(
        "Find out why the run `{}` takes as long as it does, in the nine steps below, in this order. Each step has what Haloscope found and the tool that shows it in full. Check what matters before you rely on it, say for every number what it is and how it is known, say when something is unknown, and end with one change to try, what it can save at most, and what would prove it wrong.\n",
        clean(&run.info.id)
    );
    for row in 0..steps.rows.len() {
        text.push_str(&step(steps, row));
    }
    Ok(text)
}

fn step(steps: &Table, row: usize) -> String {
    let word = |column: &str| match steps.cell(row, column) {
        Some(Cell::Text(text)) => clean(text).into_owned(),
        Some(Cell::Int(number)) => number.to_string(),
        _ => String::new(),
    };
    let see = word("see");
    let see = see.split(" --").next().unwrap_or_default().trim();
    let tool = if see.is_empty() { String::new() } else { format!(" ({})", crate::tools::tool_of(see)) };
    format!("\n{}. {} [{}] {}{tool}", word("step"), word("question"), word("verdict"), word("said"))
}
