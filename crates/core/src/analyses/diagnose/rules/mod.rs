//! The rules, one a file.

mod below_roofline;
mod diluted_averages;
mod idle_inside;

use super::rule::Rule;

/// All rules, in the order in which their checks are listed.
pub(super) static ALL: &[&Rule] = &[&diluted_averages::RULE, &idle_inside::RULE, &below_roofline::RULE];
