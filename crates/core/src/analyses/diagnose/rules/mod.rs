//! The rules, one a file.

mod below_roofline;
mod copies;
mod data_formatting;
mod defensive_copies;
mod diluted_averages;
mod dominant_op;
mod exposed_communication;
mod exposed_copies;
mod idle_inside;
mod kernel_starved;
mod many_small_ops;
mod step_jitter;
mod straggler;
mod unfused_relayouts;

use super::rule::Rule;

/// All rules, in the order in which their checks are listed; a line each.
#[rustfmt::skip]
pub(super) static ALL: &[&Rule] = &[
    &diluted_averages::RULE,
    &idle_inside::RULE,
    &exposed_communication::RULE,
    &exposed_copies::RULE,
    &defensive_copies::RULE,
    &unfused_relayouts::RULE,
    &data_formatting::RULE,
/// All rules, in the order in which their checks are listed.
    &straggler::RULE,
    &step_jitter::RULE,
    &below_roofline::RULE,
];
