//! The tools, one file each or one a family. Those of analyses are derived from the registry.

mod analysis;
mod report;

use crate::Tool;

/// All tools, in the order in which an agent would ask.
#[must_use]
pub fn all() -> Vec<Tool> {
    analysis::all().into_iter().collect()
}

pub use report::draft;
