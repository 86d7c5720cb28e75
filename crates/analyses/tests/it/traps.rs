//! Traps that other readers of profiles fell into, a test for each.

use haloscope_analyses as analyses;

use haloscope_profile::load;
use haloscope_report::Cell;
use haloscope_time::analysis::{self, Params};
use haloscope_xspace::write::Value;

use crate::made::{Made, US, bytes, profile};
use crate::support::{ask, column, has_note, near, number, open, row_of, scope, truth, unknown};

#[test]
fn unknown_is_not_zero() {
    // No HLO module: nobody knows FLOPs, bytes, shares or limits.
    let profile = open("gpu-amd");
    let overview = ask(&profile, "overview", &[]);
    for id in ["flop_rate", "hbm_rate", "flop_share_of_peak", "hbm_share_of_peak", "duty_cycle"] {
        assert!(unknown(&overview, id), "{id}");
    }
    assert!(unknown(&overview, "bound_by"));
    assert!(has_note(&ask(&open("cpu-train"), "overview", &[]), "missing_peaks"));
    let roofline = ask(&profile, "roofline", &[]);
    for id in ["operational_intensity", "compute_only_ps", "gap_ps", "regime"] {
        assert!(unknown(&roofline, id), "{id}");
    }
    let json: serde_json::Value = serde_json::from_str(&overview.to_json()).unwrap();
    assert_eq!(json["values"]["flop_rate"]["value"], serde_json::Value::Null);
    assert_eq!(json["values"]["flop_rate"]["status"], "unknown");
}

#[test]
fn a_file_that_is_missing_is_not_a_pass() {
    let error = load::find("no/such/folder".as_ref()).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

#[test]
fn means_are_weighted_by_time() {
    // One core is busy for all of 1 us, the other for a tenth of 100 us: together 11 of 101, not the mean of 100% and 10%.
    let mut planes = Vec::new();
    for (ordinal, last) in [(0, None), (1, Some(95))] {
        let mut core = Made::tpu(ordinal);
        let op = core.op("fusion.1", "loop fusion", 8, 64);
        let mut events = vec![(op, 0, if last.is_some() { 5 * US } else { US })];
        events.extend(last.map(|at| (op, at * US, 5 * US)));
        core.line("XLA Ops", 0, &events);
        planes.push(core);
    }
    let report = ask(&profile(planes), "overview", &[]);
    near(number(&report, "idle_share_of_active_window"), 1.0 - 11.0 / 101.0, 1e-12, "idle share");
}

#[test]
fn an_event_that_ends_before_it_starts_counts_as_nothing() {
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(op, 0, 3 * US), (op, 10 * US, -5 * US), (op, 20 * US, 2 * US)]);
    let profile = profile(vec![core]);
    let report = ask(&profile, "overview", &[]);
    near(number(&report, "device_busy_ps"), 5e6, 0.0, "busy");
    assert!(has_note(&report, "negative_durations"));
}

#[test]
fn names_are_compared_whole() {
    // A scope that begins with another's name is not part of it.
    let mut core = Made::tpu(0);
    let op = |core: &mut Made, name: &str, scope: &str| {
        core.meta(
            name,
            &[
                ("hlo_category", Value::Str("loop fusion".into())),
                ("program_id", Value::Uint(7)),
                ("tf_op", Value::Str(format!("jit(f)/{scope}:"))),
            ],
        )
    };
    let (a, b) = (op(&mut core, "fusion.1", "layer_1"), op(&mut core, "fusion.11", "layer_11"));
    core.line("XLA Ops", 0, &[(a, 0, US), (b, US, 3 * US)]);
    let mut params = Params::default();
    params.set("by", "framework-op");
    let ops = analyses::find("ops").unwrap();
    let report = analysis::run(ops, &profile(vec![core]), &scope(&[]), &params).unwrap();
    let table = report.table("ops").unwrap();
    assert_eq!(table.rows.len(), 2);
    assert_eq!(column(table, "self_ps"), [3e6, 1e6]);
}

#[test]
fn containers_are_not_counted_beside_what_runs_inside() {
    // A loop of 8 us around two ops of 3 us: 2 us are its own, and its FLOPs are theirs.
    let mut core = Made::tpu(0);
    let outer = core.op("while.1", "while", 1_000, 4_000);
    let call = core.op("call.1", "call", 600, 2_400);
    let inner = core.op("fusion.1", "loop fusion", 400, 1_600);
    core.line(
        "XLA Ops",
        0,
        &[(outer, 0, 8 * US), (inner, US, 3 * US), (call, 4 * US, 3 * US), (inner, 4 * US, 3 * US)],
    );
    let profile = profile(vec![core]);
    let report = ask(&profile, "ops", &[]);
    near(number(&report, "self_time_ps"), 8e6, 0.0, "self time of all ops");
    near(number(&report, "flops"), 800.0, 0.0, "flops");
    near(number(&report, "hbm_bytes"), 3_200.0, 0.0, "bytes");
    let table = report.table("ops").unwrap();
    let own = |name| table.cell(row_of(table, name), "self_ps").unwrap().number().unwrap();
    assert_eq!([own("while.1"), own("call.1"), own("fusion.1")], [2e6, 0.0, 6e6]);
    for id in ["overview", "roofline"] {
        let report = ask(&profile, id, &[]);
        let rates = number(&report, "flop_rate");
        near(rates, 800.0 / 8e-6, 1.0, id);
    }
    // The same with a real program: its loops hold most of its ops.
    let truth = truth("tpu-train");
    let whole = ask(&open("tpu-train"), "roofline", &[]);
    near(
        column(whole.table("ops").unwrap(), "flops").iter().sum(),
        truth["flops"].as_f64().unwrap(),
        1.0,
        "ops",
    );
}

#[test]
fn lines_are_placed_by_their_own_base_timestamp() {
    // Two lines with the same offsets, 1 ms apart: nothing overlaps.
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(op, 0, 5 * US)]);
    core.line("XLA Ops", 1_000_000, &[(op, 0, 5 * US)]);
    let report = ask(&profile(vec![core]), "overview", &[]);
    near(number(&report, "device_busy_ps"), 10e6, 0.0, "busy");
    near(number(&report, "active_window_ps"), 1_005e6, 0.0, "active window");
}

#[test]
fn hosts_are_put_on_one_clock() {
    // The second host's capture starts 1.25 ms later; its steps run at the same time.
    let report = ask(&open("tpu-train"), "steps", &[]);
    let devices = report.table("devices").unwrap();
    let starts = column(devices, "start_ps");
    for step in starts.chunks(4) {
        let (first, last) =
            (step.iter().copied().fold(f64::MAX, f64::min), step.iter().copied().fold(0.0, f64::max));
        assert!(last - first < 60e6, "{step:?}");
    }
}

#[test]
fn nested_lines_are_not_summed_as_busy() {
    // Steps, programs, ops and the profiler's own views show the same 10 us; so do nested ops.
    let mut core = Made::tpu(0);
    let step = core.meta("0", &[]);
    let module = core.meta("jit_f(7)", &[]);
    let outer = core.op("while.1", "while", 0, 0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    let scope = core.meta("jit(f)", &[]);
    core.line("Steps", 0, &[(step, 0, 10 * US)]);
    core.line("XLA Modules", 0, &[(module, 0, 10 * US)]);
    core.line("XLA Ops", 0, &[(outer, 0, 10 * US), (op, 0, 5 * US), (op, 5 * US, 5 * US)]);
    for line in ["Framework Name Scope", "Framework Ops", "Source code", "TC Overlay", "XLA TraceMe"] {
        core.line(line, 0, &[(scope, 0, 10 * US)]);
    }
    let profile = profile(vec![core]);
    let report = ask(&profile, "overview", &[]);
    near(number(&report, "device_busy_ps"), 10e6, 0.0, "busy");
    near(number(&ask(&profile, "ops", &[]), "self_time_ps"), 10e6, 0.0, "self time");
}

#[test]
fn streams_that_run_at_once_are_busy_once() {
    let (truth, report) = (truth("gpu-train"), ask(&open("gpu-train"), "overview", &[]));
    let own = truth["self_time_ps"].as_f64().unwrap();
    let busy = number(&report, "device_busy_ps");
    assert!(busy < own, "kernels of this run overlap");
    near(busy, truth["device_busy_ps"].as_f64().unwrap(), 0.0, "busy");
}

#[test]
fn custom_calls_have_the_flops_of_their_module_or_of_their_events_or_none() {
    let truth = truth("tpu-custom-call");
    let report = ask(&open("tpu-custom-call"), "ops", &[]);
    let table = report.table("ops").unwrap();
    let flops = table.cell(row_of(table, "blocked_matmul.1"), "flops").unwrap().number().unwrap();
    near(flops, truth["custom_call"]["flops"].as_f64().unwrap(), 0.5, "from the module");
    // The kernel counted 0 bytes on its events: its module says which blocks it copies, 32 of 512 KiB in each of 5 executions.
    let bytes = table.cell(row_of(table, "blocked_matmul.1"), "hbm_bytes").unwrap().number().unwrap();
    near(bytes, 5.0 * 32.0 * 524_288.0, 0.5, "bytes from the module");
    let kernels = ask(&open("tpu-custom-call"), "kernels", &[]);
    let kernels = kernels.table("kernels").unwrap();
    assert_eq!(kernels.cell(0, "counted").unwrap().as_text(), Some("derived: exact"));
    near(kernels.cell(0, "stated_flops").unwrap().number().unwrap(), flops, 0.5, "stated on the events");

    let mut core = Made::tpu(0);
    let stats = [("hlo_category", Value::Str("custom-call".into())), ("program_id", Value::Uint(7))];
    let silent = core.meta("kernel.1", &stats);
    core.line("XLA Ops", 0, &[(silent, 0, 5 * US)]);
    let profile = profile(vec![core]);
    let report = ask(&profile, "ops", &[]);
    let table = report.table("ops").unwrap();
    assert_eq!(table.cell(0, "flops"), Some(&Cell::Unknown));
    assert!(unknown(&report, "flops"));
    near(number(&report, "time_without_flops_share"), 1.0, 0.0, "time without flops");
    let overview = ask(&profile, "overview", &[]);
    assert!(has_note(&overview, "uncounted_custom_calls"));
    assert!(unknown(&overview, "bound_by"));
}

#[test]
fn done_ops_are_not_counted_beside_the_async_line() {
    // The pair runs for 40 us beside a fusion of 30 us; the op line shows 1 us of start and 9 us of waiting.
    let mut core = Made::tpu(0);
    let start = core.op("copy-start.1", "copy-start", 0, 4_096);
    let done = core.op("copy-done.1", "copy-done", 0, 0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(start, 0, US), (op, US, 30 * US), (done, 31 * US, 9 * US)]);
    core.line("Async XLA Ops", 0, &[(start, 0, 40 * US)]);
    let profile = profile(vec![core]);
    let report = ask(&profile, "ops", &[]);
    near(number(&report, "self_time_ps"), 40e6, 0.0, "self time");
    near(number(&report, "occurrences"), 3.0, 0.0, "occurrences");
    near(number(&report, "hbm_bytes"), 4_160.0, 0.0, "bytes");
    near(number(&ask(&profile, "overview", &[]), "device_busy_ps"), 40e6, 0.0, "busy");
}

#[test]
fn an_async_op_without_its_end_stalls_nothing() {
    let mut core = Made::tpu(0);
    let start = core.op("copy-start.1", "copy-start", 0, 4_096);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(start, 0, US), (op, US, 3 * US)]);
    core.line("Async XLA Ops", 0, &[(start, 0, 500 * US)]);
    let report = ask(&profile(vec![core]), "overview", &[]);
    near(number(&report, "device_busy_ps"), 4e6, 0.0, "busy");
    near(number(&report, "active_window_ps"), 4e6, 0.0, "active window");
}

#[test]
fn all_hosts_and_devices_count_not_the_first_alone() {
    let report = ask(&open("tpu-train"), "overview", &[]);
    near(number(&report, "device_count"), 4.0, 0.0, "devices");
    assert_eq!(report.provenance.hosts, ["tpu-w-0", "tpu-w-1"]);
    // A core that works three times as long shows in the mean, and in the step's time.
    let mut planes = Vec::new();
    for (ordinal, took) in [(0, 10), (1, 30)] {
        let mut core = Made::tpu(ordinal);
        let step = core.meta("0", &[]);
        let op = core.op("fusion.1", "loop fusion", 8, 64);
        core.line("Steps", 0, &[(step, 0, took * US)]);
        core.line("XLA Ops", 0, &[(op, 0, took * US)]);
        planes.push(core);
    }
    let report = ask(&profile(planes), "overview", &[]);
    near(number(&report, "device_busy_ps"), 20e6, 0.0, "mean busy time");
    near(number(&report, "step_time_mean_ps"), 30e6, 0.0, "step time");
}

#[test]
fn exactly_a_million_events_are_suspicious() {
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    let events: Vec<_> = (0..1_000_000).map(|n| (op, n * 2, 1)).collect();
    core.line("XLA Ops", 0, &events);
    let report = ask(&profile(vec![core]), "inspect", &[]);
    assert!(has_note(&report, "exactly_one_million_events"));
}

#[test]
fn peaks_are_those_of_one_device() {
    let (truth, report) = (truth("tpu-train"), ask(&open("tpu-train"), "overview", &[]));
    // Four cores: the rate is that of one, against the peak of one.
    let flops = truth["flops"].as_f64().unwrap();
    let seconds = number(&report, "active_window_ps") / 1e12;
    near(number(&report, "flop_rate"), flops / seconds / 4.0, 1e3, "rate");
    near(number(&report, "flop_share_of_peak"), flops / seconds / 4.0 / 197e12, 1e-9, "share");
    assert_eq!(report.provenance.peaks.len(), 2, "one type of device: one peak of each resource");
    let ridge = number(&ask(&open("tpu-train"), "roofline", &[]), "ridge_point");
    near(ridge, 197e12 / 819e9, 1e-9, "ridge point");
}

#[test]
fn steps_cut_by_the_capture_are_not_short_steps() {
    // Host markers: the first and the last may have been cut.
    let report = ask(&open("gpu-train"), "steps", &[]);
    near(number(&report, "step_count"), 6.0, 0.0, "counted");
    near(number(&report, "edge_steps"), 2.0, 0.0, "at the edges");
    assert!(has_note(&report, "steps_cut_at_the_edges"));
    // Inferred steps last until the next launch. The last one has none and lasts as long as its program: it is not usual,
    // and the steady state leaves it out.
    let profile = open("tpu-custom-call");
    let table = ask(&profile, "steps", &[]);
    let table = table.table("steps").unwrap();
    assert_eq!(table.cell(4, "class").and_then(Cell::as_text), Some("outlier"));
    let steady = ask(&profile, "overview", &[("steady", "1")]);
    assert!(number(&steady, "step_time_min_ps") > 1.3 * column(table, "duration_ps")[4]);
}

#[test]
fn the_first_step_is_not_usual_where_it_compiled() {
    let report = ask(&open("tpu-train"), "steps", &[]);
    let table = report.table("steps").unwrap();
    assert_eq!(table.cell(0, "class").and_then(Cell::as_text), Some("warm-up"));
    assert!(number(&report, "step_time_p50_ps") < number(&report, "step_time_max_ps") / 1.5);
}

#[test]
fn an_event_without_metadata_and_one_without_a_place_are_told_apart() {
    let (truth, profile) = (truth("tpu-custom-call"), open("tpu-custom-call"));
    let report = ask(&profile, "inspect", &[]);
    assert!(has_note(&report, "missing_metadata"));
    let lines = report.table("lines").unwrap();
    let ops = row_of(lines, "XLA Ops");
    near(lines.cell(ops, "aggregated").unwrap().number().unwrap(), 1.0, 0.0, "aggregated");
    let report = ask(&profile, "ops", &[]);
    let lost = truth["lost_metadata"]["self_ps"].as_f64().unwrap();
    let table = report.table("ops").unwrap();
    let nameless = table.rows.iter().position(|r| r[0].as_text() == Some("")).unwrap();
    near(table.cell(nameless, "self_ps").unwrap().number().unwrap(), lost, 0.0, "time without a name");
}

#[test]
fn a_device_clock_far_ahead_moves_nothing_out_of_its_window() {
    // The device's clock is 50 ms ahead. The window holds the first of two ops by the run's clock.
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(op, 0, 10 * US), (op, 20 * US, 10 * US)]);
    for (event, offset) in [(0, 0), (1, 20 * US)] {
        core.tag(event, "device_offset_ps", Value::Int(offset + 50_000 * US));
        core.tag(event, "device_duration_ps", Value::Int(10 * US));
    }
    let profile = profile(vec![core]);
    let first = ask(&profile, "ops", &[("window", "0..15us")]);
    near(number(&first, "self_time_ps"), 10e6, 0.0, "self time in the window");
    near(number(&first, "occurrences"), 1.0, 0.0, "occurrences in the window");
    near(number(&ask(&profile, "overview", &[("window", "0..15us")]), "device_busy_ps"), 10e6, 0.0, "busy");
}

#[test]
fn the_capture_is_what_the_profiler_recorded() {
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(op, 0, 10 * US)]);
    let start = 1_767_225_600_000_000_000;
    let planes = vec![core, Made::environment(start, start + 1_000_000)];
    let report = ask(&profile(planes), "overview", &[]);
    near(number(&report, "capture_span_ps"), 1e9, 0.0, "capture");
    near(number(&report, "idle_share_of_capture"), 0.99, 1e-12, "idle share");
    assert_eq!(report.findings[0].id, "diluted_averages", "said first");
}

#[test]
fn the_same_bytes_give_the_same_answer() {
    for run in ["tpu-train", "gpu-train", "cpu-train"] {
        for analysis in analyses::ALL {
            let answer = || {
                let answer = analysis::run(analysis, &open(run), &scope(&[]), &Params::default());
                answer.map(|report| report.to_json()).map_err(|error| error.to_string())
            };
            assert_eq!(answer(), answer(), "{run} {}", analysis.id);
        }
    }
    assert_eq!(bytes(vec![Made::tpu(0)]), bytes(vec![Made::tpu(0)]));
}

#[test]
fn steps_and_idle_time_that_nobody_recorded_are_unknown() {
    let mut marked = Made::tpu(0);
    let step = marked.meta("0", &[]);
    marked.line("Steps", 0, &[(step, 0, 100 * US)]);
    let steps = ask(&profile(vec![marked]), "steps", &[]);
    assert_eq!(number(&steps, "step_count"), 1.0);
    assert_eq!(steps.table("steps").unwrap().cell(0, "idle_ps"), Some(&Cell::Unknown));
    assert_eq!(steps.table("devices").unwrap().cell(0, "busy_ps"), Some(&Cell::Unknown));

    let mut unmarked = Made::tpu(0);
    let op = unmarked.op("fusion.1", "loop fusion", 1_000, 64);
    unmarked.line("XLA Ops", 0, &[(op, 0, 5 * US)]);
    let overview = ask(&profile(vec![unmarked]), "overview", &[]);
    assert!(unknown(&overview, "step_count") && unknown(&overview, "step_time_mean_ps"));
    assert!(has_note(&overview, "no_steps"));
}

#[test]
fn an_answer_does_not_depend_on_what_was_asked_before() {
    // Damage on a line that the question does not read is not its business, whoever has read that line since.
    let mut core = Made::tpu(0);
    let op = core.op("fusion.1", "loop fusion", 8, 64);
    core.line("XLA Ops", 0, &[(op, 0, 3 * US), (op, 10 * US, 2 * US)]);
    core.line("Framework Ops", 0, &[(op, 0, 3 * US), (op, 10 * US, -2 * US)]);
    let profile = profile(vec![core]);
    let before = ask(&profile, "overview", &[]);
    let whole = ask(&profile, "inspect", &[]);
    assert!(has_note(&whole, "negative_durations"));
    let after = ask(&profile, "overview", &[]);
    assert_eq!(before.to_json(), after.to_json());
}
