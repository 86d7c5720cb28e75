//! The tools, one file each or one a family. Those of analyses are derived from the registry.

mod analysis;
mod report;
mod schema;

use crate::Tool;

/// All tools, in the order in which an agent would ask.
#[must_use]
pub fn all() -> Vec<Tool> {
    analysis::all()
}

pub use analysis::tool_of;
pub use report::draft;
pub use schema::{scope, scope_properties};
