//! The rules, one a file.

mod barrier;
mod below_roofline;
mod below_usual;
mod blocking_reads;
mod command_buffers;
mod compilation_in_window;
mod constant_work;
mod copies;
mod data_formatting;
mod debug_callbacks;
mod debug_checks;
mod defensive_copies;
mod diluted_averages;
mod dominant_op;
mod donation_missed;
mod exp_bound;
mod expert_imbalance;
mod exposed_communication;
mod exposed_copies;
mod few_devices_profiled;
mod fft_length;
mod fusion_failures;
mod grouped_convolution;
mod host_bound;
mod host_doing;
mod host_offload;
mod idle_inside;
mod input_bound;
mod interpreter_held;
mod kernel_copies;
mod kernel_empty_bundles;
mod kernel_instrumented;
mod kernel_loads;
mod kernel_look;
mod kernel_mxu_shape;
mod kernel_relayouts;
mod kernel_small_blocks;
mod kernel_spill_cost;
mod kernel_starved;
mod large_transfers;
mod late_host;
mod late_members;
mod launch_bound;
mod low_mfu_explained;
mod many_small_ops;
mod megascale;
mod near_roof;
mod one_hot;
mod padding_waste;
mod periodic_program;
mod periodic_stall;
mod product_order;
mod random_numbers;
mod recompilation;
mod recomputation;
mod reduce_heavy;
mod repeated_programs;
mod repeated_values;
mod slow_link;
mod slow_orientation;
mod slower_from_step;
mod small_loop;
mod small_programs;
mod sparse_core;
mod spill_cliff;
mod step_jitter;
mod straggler;
mod tracing_overhead;
mod truncated_capture;
mod unfused_relayouts;
mod unjudged_ops;
mod unknown_flops;
mod unread_results;
mod whole_sort;
mod wide_precision;

use super::rule::Rule;

/// All rules, in the order in which their checks are listed; a line each.
#[rustfmt::skip]
pub(super) static ALL: &[&Rule] = &[
    &diluted_averages::RULE,
    &truncated_capture::RULE,
    &few_devices_profiled::RULE,
    &fft_length::RULE,
    &tracing_overhead::RULE,
    &command_buffers::RULE,
    &input_bound::RULE,
    &compilation_in_window::RULE,
    &recompilation::RULE,
    &debug_callbacks::RULE,
    &debug_checks::RULE,
    &blocking_reads::RULE,
    &large_transfers::RULE,
    &small_programs::EAGER,
    &small_programs::LOOP,
    &launch_bound::RULE,
    &host_bound::RULE,
    &interpreter_held::RULE,
    &unknown_flops::RULE,
    &unread_results::RULE,
    &idle_inside::RULE,
    &expert_imbalance::RULE,
    &straggler::RULE,
    &late_host::RULE,
    &slow_link::RULE,
    &slow_orientation::RULE,
    &late_members::RULE,
    &slower_from_step::RULE,
    &periodic_program::RULE,
    &periodic_stall::RULE,
    &step_jitter::RULE,
    &host_offload::RULE,
    &megascale::RULE,
    &barrier::RULE,
    &exposed_communication::RULE,
    &exposed_copies::RULE,
    &defensive_copies::RULE,
    &unfused_relayouts::RULE,
    &data_formatting::RULE,
    &below_roofline::RULE,
    &below_usual::MEMORY,
    &below_usual::COMPUTE,
    &one_hot::RULE,
    &whole_sort::RULE,
    &wide_precision::RULE,
    &product_order::RULE,
    &random_numbers::RULE,
    &constant_work::RULE,
    &repeated_programs::RULE,
    &repeated_values::RULE,
    &grouped_convolution::RULE,
    &small_loop::RULE,
    &padding_waste::RULE,
    &kernel_starved::RULE,
    &spill_cliff::RULE,
    &kernel_instrumented::RULE,
    &kernel_spill_cost::RULE,
    &kernel_loads::RULE,
    &kernel_relayouts::RULE,
    &kernel_copies::RULE,
    &kernel_small_blocks::RULE,
    &kernel_empty_bundles::RULE,
    &kernel_mxu_shape::RULE,
    &many_small_ops::RULE,
    &exp_bound::RULE,
    &near_roof::MEMORY,
    &near_roof::COMPUTE,
    &reduce_heavy::RULE,
    &recomputation::RULE,
    &donation_missed::RULE,
    &dominant_op::RULE,
    &unjudged_ops::RULE,
    &sparse_core::RULE,
    &fusion_failures::RULE,
    &low_mfu_explained::RULE,
];

/// The rules that look at compiled kernels alone, and so hold without a timeline too.
#[rustfmt::skip]
pub(super) static OF_KERNELS: &[&Rule] = &[
    &kernel_instrumented::RULE,
    &kernel_spill_cost::RULE,
    &kernel_loads::RULE,
    &kernel_relayouts::RULE,
    &kernel_copies::RULE,
    &kernel_small_blocks::RULE,
    &kernel_empty_bundles::RULE,
    &kernel_mxu_shape::RULE,
];
