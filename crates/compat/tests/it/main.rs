//! Tests of the tools, a module a tool.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod input_pipeline_analyzer;
mod framework_op_stats;
mod hlo_stats;
mod kernel_stats;
mod made;
mod graph_viewer;
mod kernel_stats;
mod memory_profile;
mod memory_viewer;
mod op_profile;
mod overview_page;
mod pod_viewer;
mod smart_suggestion;
mod roofline_model;
mod inference_profile;
mod kernel_stats;
mod megascale_stats;
mod op_profile;
mod perf_counters;
mod planes;
mod support;
mod tool_names;
mod trace_viewer;
mod utilization_viewer;
