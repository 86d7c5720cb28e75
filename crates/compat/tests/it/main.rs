//! Tests of the tools, a module a tool.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod framework_op_stats;
mod graph_viewer;
mod hlo_stats;
mod inference_profile;
mod input_pipeline_analyzer;
mod kernel_stats;
mod llo;
mod made;
mod megascale_stats;
mod memory_profile;
mod memory_viewer;
mod op_profile;
mod overview_page;
mod own_analyses;
mod perf_counters;
mod planes;
mod pod_viewer;
mod roofline_model;
mod smart_suggestion;
mod support;
mod tool_names;
mod trace_viewer;
mod utilization_viewer;
