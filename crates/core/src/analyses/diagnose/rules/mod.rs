//! The rules, one a file.

mod below_roofline;
mod blocking_reads;
mod compilation_in_window;
mod copies;
mod data_formatting;
mod debug_callbacks;
mod defensive_copies;
mod diluted_averages;
mod dominant_op;
mod exposed_communication;
mod exposed_copies;
mod few_devices_profiled;
mod host_bound;
mod host_offload;
mod idle_inside;
mod input_bound;
mod kernel_starved;
mod large_transfers;
mod launch_bound;
mod many_small_ops;
mod recompilation;
mod step_jitter;
mod straggler;
mod unfused_relayouts;

use super::rule::Rule;

/// All rules, in the order in which their checks are listed; a line each.
#[rustfmt::skip]
pub(super) static ALL: &[&Rule] = &[
    &diluted_averages::RULE,
    &few_devices_profiled::RULE,
    &input_bound::RULE,
    &compilation_in_window::RULE,
    &recompilation::RULE,
    &debug_callbacks::RULE,
    &blocking_reads::RULE,
    &large_transfers::RULE,
    &launch_bound::RULE,
    &host_bound::RULE,
    &idle_inside::RULE,
    &straggler::RULE,
    &step_jitter::RULE,
    &host_offload::RULE,
    &exposed_communication::RULE,
    &exposed_copies::RULE,
    &defensive_copies::RULE,
    &unfused_relayouts::RULE,
    &data_formatting::RULE,
    &many_small_ops::RULE,
    &kernel_starved::RULE,
    &dominant_op::RULE,
    &below_roofline::RULE,
];
