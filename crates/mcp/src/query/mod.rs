//! Questions about the rows of a report's table: which of them, grouped how, in what order.
//!
//! A condition is a small language of its own, see [`condition`]; it computes nothing and reads nothing but the row before it.

mod condition;
mod group;
mod literal;
mod select;
mod token;

pub(crate) use select::{Request, SelectedColumn, select};

/// Why a question about a table cannot be answered: what was expected, what was found, and what there is.
pub(crate) type Wrong = String;
