//! `trace_viewer@` and `trace_viewer` on the project's runs. The numbers are XProf 2.24.2's for the same bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use haloscope_compat::{Error, Params, answer};
use haloscope_profile::Profile;
use haloscope_profile::load;
use serde_json::Value;

fn open(run: &str) -> Profile {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").join(run);
    load::open(&load::find(&folder).unwrap()).unwrap()
}

fn bytes(profile: &Profile, tool: &str, params: &[(&str, &str)]) -> Vec<u8> {
    answer(profile, tool, &params.iter().copied().collect::<Params>()).unwrap().body
}

fn ask(profile: &Profile, tool: &str, params: &[(&str, &str)]) -> Value {
    serde_json::from_slice(&bytes(profile, tool, params)).unwrap()
}

fn events(answer: &Value) -> &[Value] {
    answer["traceEvents"].as_array().unwrap()
}

/// How many events each thread has, by process and thread; counters under thread -1.
fn counts(answer: &Value) -> BTreeMap<(i64, i64), usize> {
    let mut counts = BTreeMap::new();
    for event in events(answer).iter().filter(|e| e["ph"] != "M") {
        let thread = event["tid"].as_i64().unwrap_or(-1);
        *counts.entry((event["pid"].as_i64().unwrap(), thread)).or_default() += 1;
    }
    counts
}

fn find<'a>(answer: &'a Value, name: &str, ts: f64) -> &'a Value {
    events(answer).iter().find(|e| e["name"] == name && e["ts"] == ts).unwrap()
}

/// Thread ids of derived lines.
const SCOPES: i64 = 3_735_928_561;
const FRAMEWORK_OPS: i64 = 3_735_928_562;
const SOURCE: i64 = 3_735_928_566;

#[test]
fn a_tpu_run_shows_its_lines_and_those_derived_from_them() {
    let answer = ask(&open("tpu-train"), "trace_viewer@", &[("host", "tpu-w-0")]);
    assert_eq!(answer["returnedEventsSize"], 13008);
    assert_eq!(answer["fullTimespan"], serde_json::json!([3.185, 19.2636]));
    assert_eq!(answer["stackFrames"].as_object().unwrap().len(), 373);
    let mut expected = BTreeMap::from([((1701, 4100), 8), ((1701, 4101), 16), ((1701, 4102), 8)]);
    for core in [1003, 1011] {
        expected.extend([
            ((core, 1), 8),
            ((core, 2), 8),
            ((core, 3), 3080),
            ((core, 4), 552),
            ((core, SCOPES), 1096),
            ((core, FRAMEWORK_OPS), 1080),
            ((core, SOURCE), 664),
        ]);
    }
    assert_eq!(counts(&answer), expected);
    let op = find(&answer, "convert_element_type.283", 3200.0025);
    let expected = serde_json::json!({
        "pid": 1003, "tid": 3, "name": "convert_element_type.283", "ts": 3200.0025, "dur": 9.79375, "ph": "X",
        "args": {"group_id": 8, "uid": 3}, "z": 3
    });
    assert_eq!(*op, expected);
    let run = find(&answer, "jit_train_step(14606544531147133434)", 6360.99875);
    assert_eq!((&run["cat"], &run["flow_in"]), (&"tpu_launch".into(), &true.into()));
    assert_eq!(run["args"], serde_json::json!({"group_id": 9, "uid": 0}));
}

#[test]
fn an_event_is_told_with_all_that_it_carries() {
    let profile = open("tpu-train");
    let params = [
        ("host", "tpu-w-0"),
        ("event_name", "convert.52"),
        ("start_time_ms", "3.24612375"),
        ("duration_ms", "0.0005525"),
        ("unique_id", "0"),
    ];
    let answer = ask(&profile, "trace_viewer@", &params);
    assert_eq!(answer["returnedEventsSize"], 1);
    let event = find(&answer, "convert.52", 3246.12375);
    let expected = serde_json::json!({
        "group_id": 8,
        "hlo_category": "non-fusion elementwise",
        "deduplicated_name": "convert",
        "shape_with_layout": "bf16[2,1024,256]{2,1,0:T(8,128)(2,1)S(1)}",
        "model_flops": 524_288,
        "bytes_accessed": 3_145_728,
        "raw_bytes_accessed": 3_145_728,
        "device_offset_ps": 3_246_124_062_i64,
        "device_duration_ps": 552_500
    });
    assert_eq!(event["args"], expected);
    assert_eq!(event["sf"], 1);
    let frame = answer["stackFrames"]["1"]["name"].as_str().unwrap();
    assert!(frame.starts_with("%convert.52 = bf16[2,1024,256]"), "{frame}");

    let params = [params[0], params[1], params[2], params[3], ("unique_id", "7")];
    let error =
        haloscope_compat::answer(&profile, "trace_viewer@", &params.into_iter().collect()).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
}

#[test]
fn names_are_searched_by_their_beginning() {
    let profile = open("tpu-train");
    let hits = |prefix: &str, metadata: &str| {
        let params = [("host", "tpu-w-0"), ("search_prefix", prefix), ("search_metadata", metadata)];
        ask(&profile, "trace_viewer@", &params)
    };
    for (prefix, count) in [("fusion", 1344), ("all-", 688), ("train", 8), ("usion", 0)] {
        assert_eq!(hits(prefix, "false")["returnedEventsSize"], count, "{prefix}");
    }
    let with_args = hits("all-", "true");
    let told = events(&with_args).iter().find(|e| e["ph"] == "X").unwrap();
    assert!(told["args"]["hlo_category"].is_string() && told["args"]["uid"].is_null(), "{told}");
}

#[test]
fn a_window_holds_what_reaches_into_it() {
    let profile = open("tpu-train");
    let params = [("host", "tpu-w-0"), ("start_time_ms", "5"), ("end_time_ms", "6")];
    let answer = ask(&profile, "trace_viewer@", &params);
    assert_eq!(answer["returnedEventsSize"], 450);
    assert_eq!(
        answer["fullTimespan"],
        serde_json::json!([3.185, 19.2636]),
        "of the trace, not of the window"
    );
}

#[test]
fn hosts_have_a_thousand_processes_each_in_the_order_asked_for() {
    let profile = open("tpu-train");
    let names = |hosts: &str| {
        let answer = ask(&profile, "trace_viewer@", &[("hosts", hosts)]);
        let all = events(&answer).iter().filter(|e| e["name"] == "process_name");
        let all = all.map(|e| (e["pid"].as_i64().unwrap(), e["args"]["name"].as_str().unwrap().to_owned()));
        all.collect::<BTreeMap<_, _>>()
    };
    let all = names("tpu-w-0,tpu-w-1");
    assert_eq!((all[&1701].as_str(), all[&2701].as_str()), ("tpu-w-0 /host:CPU", "tpu-w-1 /host:CPU"));
    assert_eq!(names("tpu-w-1,tpu-w-0")[&1003], "tpu-w-1 /device:TPU:0");
}

#[test]
fn a_gpu_run_shows_what_its_kernels_say_stream_by_stream() {
    let answer = ask(&open("gpu-train"), "trace_viewer@", &[]);
    let rows = [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 22]
        .into_iter()
        .zip([248, 105, 200, 1, 232, 16, 17, 16, 1, 16, 8, 8]);
    let mut expected: BTreeMap<_, _> = rows.map(|(tid, count)| ((1001, tid), count)).collect();
    expected.extend([((1701, 5100), 8), ((1701, 5101), 8)]);
    assert_eq!(counts(&answer), expected);
    assert_eq!(find(&answer, "jit(convolution)", 1538.53375)["dur"], 1147.48375);
    let threads = events(&answer).iter().filter(|e| e["name"] == "thread_name" && e["pid"] == 1001);
    let threads: Vec<_> = threads.map(|e| e["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(
        threads[..3],
        ["Stream #13(Compute)", "Framework Name Scope - from #13", "Framework Ops - from #13"]
    );
}

#[test]
fn a_cpu_run_shows_its_threads() {
    let answer = ask(&open("cpu-train"), "trace_viewer@", &[]);
    let expected = [
        ((1701, 1_854_288_321), 554),
        ((1701, 2_890_676_154), 765),
        ((1701, 3_555_258_549), 2494),
        ((1701, 4_237_161_709), 17),
        ((1701, 4_284_747_533), 2265),
    ];
    assert_eq!(counts(&answer), BTreeMap::from(expected));
    assert_eq!(answer["fullTimespan"], serde_json::json!([0.034252, 143.182]));
}

#[test]
fn aggregated_events_stand_at_the_start_of_their_line() {
    let answer = ask(&open("tpu-custom-call"), "trace_viewer@", &[]);
    assert_eq!((&answer["returnedEventsSize"], &answer["fullTimespan"][0]), (&47.into(), &0.into()));
    let sum = find(&answer, "dependency-wait", 0.0);
    assert_eq!((&sum["dur"], &sum["tid"]), (&9.into(), &3.into()));
}

#[test]
fn the_whole_trace_says_everything_in_words() {
    let answer = ask(&open("tpu-custom-call"), "trace_viewer", &[]);
    // Metadata, events, and the empty object at the end.
    assert_eq!(events(&answer).len(), 62);
    assert_eq!(events(&answer).last(), Some(&serde_json::json!({})));
    let run = find(&answer, "jit_pallas_matmul(17342868964687645945)", 81311.0);
    assert_eq!((&run["pid"], &run["tid"], &run["ph"]), (&3.into(), &2.into(), &"X".into()));
    assert_eq!(run["args"]["group_id"], "0");
    assert!(run["args"]["flow"].is_string());
}

#[test]
fn the_message_says_what_the_json_says() {
    let profile = open("tpu-custom-call");
    let frame = bytes(&profile, "trace_viewer@", &[("format", "pb")]);
    assert_eq!(frame[..5], [0x28, 0xb5, 0x2f, 0xfd, 0xe0]);
    let size = u64::from_le_bytes(*frame[5..].first_chunk().unwrap()) as usize;
    // One block, whose header takes three bytes.
    let message = &frame[16..];
    assert_eq!(message.len(), size);
    let text = String::from_utf8_lossy(message);
    for word in
        ["jit_pallas_matmul(17342868964687645945)", "tpu_launch", "mpmd_pipeline_view", "/device:TPU:0"]
    {
        assert!(text.contains(word), "{word}");
    }
    // The details of one event are told as JSON, whatever is asked for.
    let params = [
        ("format", "pb"),
        ("event_name", "jit_pallas_matmul(17342868964687645945)"),
        ("start_time_ms", "81.311"),
        ("duration_ms", "0.01780875"),
    ];
    assert_eq!(ask(&profile, "trace_viewer@", &params)["returnedEventsSize"], 1);
}

#[test]
fn parameters_are_checked() {
    let profile = open("cpu-infer");
    let refused = |key: &str, value: &str| {
        let params: Params = [(key, value)].into_iter().collect();
        let error = answer(&profile, "trace_viewer@", &params).unwrap_err();
        assert_eq!(error.http_status(), 400, "{key}={value}: {error}");
        error.to_string()
    };
    assert!(refused("zoom", "1").contains("resolution"));
    assert!(refused("resolution", "fine").contains("resolution"));
    assert!(refused("start_time_ms", "-1").contains("start_time_ms"));
    assert!(refused("end_time_ms", "inf").contains("end_time_ms"));
    assert!(refused("format", "xml").contains("json, pb"));
    assert!(refused("full_dma", "maybe").contains("full_dma"));
    assert!(refused("hosts", "elsewhere").contains("elsewhere"));
}
