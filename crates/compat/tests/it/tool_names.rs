//! `tool_names`. The lists are those that XProf 2.24.2 gives for the same bytes.

use haloscope_compat::find;

use crate::support::{open, text};

const ALWAYS: [&str; 8] = [
    "trace_viewer@",
    "overview_page",
    "input_pipeline_analyzer",
    "framework_op_stats",
    "memory_profile",
    "op_profile",
    "hlo_stats",
    "roofline_model",
];

#[test]
fn what_a_run_can_feed_is_offered() {
    let hlo = ["memory_viewer", "graph_viewer"];
    for (run, more) in [
        ("cpu-infer", &hlo[..]),
        ("cpu-train", &hlo),
        ("gpu-amd", &["kernel_stats"]),
        ("gpu-train", &["kernel_stats", "memory_viewer", "graph_viewer"]),
        ("tpu-custom-call", &hlo),
        ("tpu-decode", &hlo),
        ("tpu-input-bound", &hlo),
        ("tpu-train", &hlo),
    ] {
        // Tools that are not built yet are not offered.
        let names = ALWAYS.iter().chain(more).copied().filter(|name| find(name).is_ok());
        assert_eq!(text(&open(run), "tool_names", &[]), names.collect::<Vec<_>>().join(","), "{run}");
    }
}
