//! The tools, one file each or one a family. Those of analyses are derived from the registry.

mod analysis;
mod hlo_op;
mod names;
mod query;
mod report;
mod schema;
mod sql;
mod timeline;
mod xprof;

use crate::Tool;

/// All tools, in the order in which an agent would ask.
#[must_use]
pub fn all() -> Vec<Tool> {
    let mut all = xprof::all();
    all.extend(analysis::all());
    all.extend([hlo_op::tool(), timeline::tool(), query::tool()]);
    all
}

/// The same with SQL, done by this program.
#[must_use]
pub fn all_and_sql(program: haloscope_sql::Program) -> Vec<Tool> {
    let mut all = all();
    all.push(sql::tool(program));
    all
}

pub use names::tool_of;
pub use report::draft;
pub use schema::{scope, scope_properties};

#[cfg(test)]
mod tests;
