//! The ledger: what became of each try, kept so that the next one can be held against it.
//!
//! A ledger is lines of JSON, one a run, that are only ever added to. Who keeps the lines is another crate's business (the
//! store's): here they are [made](entry), [read](parse()) and [told about](show). Nothing here opens a file or asks for the time.

pub mod advice;
mod advice_report;
pub mod change_points;
pub mod entry;
mod entry_report;
mod findings;
#[cfg(test)]
mod made;
mod metrics;
mod parse;
mod report;
mod series;
mod tables;
mod time;
pub mod trend;

pub use entry::{Against, Decision, Entry, Metric, Samples, VERSION};
pub use entry_report::entry_report;
pub use metrics::{Better, METRICS, Measured, Tracked, measure, tracked};
pub use parse::{BadLine, Ledger, PlacedEntry, parse};
pub use report::{Ask, advise, show};
pub use time::Time;
