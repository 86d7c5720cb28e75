//! Which tool gives the report of an analysis.

use haloscope_analyses::{self as analyses, FAMILIES};
use haloscope_time::analysis::{Also, Analysis};

/// Whether an analysis has a tool of its own.
pub(super) fn has_own(analysis: &Analysis) -> bool {
    analysis.also.contains(&Also::Tool)
}

/// The tool that gives the report of an analysis, with the arguments that choose it.
#[must_use]
pub fn tool_of(id: &str) -> String {
    let family = id.split_once(' ').filter(|(first, _)| FAMILIES.iter().any(|family| family.id == *first));
    match (family, analyses::find(id)) {
        (Some((first, member)), _) => format!("{first} what={member}"),
        (None, Some(analysis)) if !has_own(analysis) => format!("report analysis={}", analysis.slug()),
        _ => id.to_owned(),
    }
}
