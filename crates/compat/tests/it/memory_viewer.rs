//! `memory_viewer`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use haloscope_compat::Error;
use serde_json::{Value, json};

use crate::support::{ask, open, refused, text};

const DECODE: (&str, &str) = ("module_name", "jit_decode(9646411105960254074)");

fn lengths(answer: &Value, names: &[&str]) -> Vec<usize> {
    let len = |value: &Value| value.as_array().map_or_else(|| value.as_object().unwrap().len(), Vec::len);
    names.iter().map(|name| len(&answer[name])).collect()
}

/// The parser that the tests use may be off by the last bit.
#[track_caller]
fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= 1e-15 * expected, "{value} is not {expected}");
}

const LISTS: [&str; 6] =
    ["heapSizes", "maxHeap", "logicalBufferSpans", "hloInstructionNames", "bufferBlocks", "maxHeapToBySize"];

#[test]
fn main_memory_of_a_tpu() {
    let answer = ask(&open("tpu-decode"), "memory_viewer", &[DECODE, ("memory_space", "0")]);
    assert_eq!(answer["moduleName"], "jit_decode");
    assert_eq!(answer["entryComputationName"], "main.0_spmd");
    near(&answer["peakHeapMib"], 9.012237548828125);
    near(&answer["peakUnpaddedHeapMib"], 9.011265754699707);
    assert_eq!(answer["peakHeapSizePosition"], 3);
    near(&answer["entryComputationParametersMib"], 9.0009765625);
    near(&answer["nonReusableMib"], 0.038177490234375);
    near(&answer["maybeLiveOutMib"], 4.004913330078125);
    near(&answer["totalBufferAllocationMib"], 9.37066650390625);
    near(&answer["indefiniteBufferAllocationMib"], 9.011260986328125);
    assert_eq!(lengths(&answer, &LISTS), [15, 15, 3, 15, 4, 15]);
    assert_eq!(answer["indefiniteLifetimes"].as_array().unwrap().len(), 31);
    near(&answer["heapSizes"][0], 9.011260986328125);
    assert_eq!(answer["logicalBufferSpans"]["95"], json!({ "start": 3, "limit": 6 }));
    let first = json!({
        "numbered": 0,
        "label": "param.2: bf16[8,512,2,64]{1,3,2,0:T(8,128)(2,1)} # init_carry['key'][0]",
        "logicalBufferId": 622,
        "logicalBufferSizeMib": 1.0,
        "unpaddedShapeMib": 1.0,
        "instructionName": "param.2",
        "shapeString": "bf16[8,512,2,64]{1,3,2,0:T(8,128)(2,1)}",
        "tfOpName": "init_carry['key'][0]",
        "groupName": "Parameter",
        "opCode": "parameter",
    });
    // XProf prints whole numbers without a fraction.
    assert_eq!(answer["maxHeap"][0].to_string().replace(".0,", ","), first.to_string().replace(".0,", ","));
}

/// Padding: the largest buffer takes twice what its values need.
#[test]
fn vector_memory_of_a_tpu() {
    let answer = ask(&open("tpu-decode"), "memory_viewer", &[DECODE, ("memory_space", "1")]);
    near(&answer["peakHeapMib"], 16.02197265625);
    near(&answer["peakUnpaddedHeapMib"], 10.0087890625);
    assert_eq!(answer["peakHeapSizePosition"], 102);
    near(&answer["totalBufferAllocationMib"], 15.5);
    assert_eq!(answer["indefiniteLifetimes"], Value::Null);
    assert_eq!(lengths(&answer, &LISTS), [189, 16, 94, 189, 95, 16]);
    let largest = &answer["maxHeapBySize"][0];
    assert_eq!(largest["instructionName"], "wide.param.2{2}");
    near(&largest["logicalBufferSizeMib"], 2.0);
    near(&largest["unpaddedShapeMib"], 1.0);
    assert_eq!((&answer["maxHeapToBySize"][0], &answer["bySizeToMaxHeap"][0]), (&json!(11), &json!(9)));
}

/// The compiler of the CPU; instructions say which lines of source they come from.
#[test]
fn training_step_on_a_cpu() {
    let words = [("module_name", "jit_train_step"), ("memory_space", "0")];
    let answer = ask(&open("cpu-train"), "memory_viewer", &words);
    near(&answer["peakHeapMib"], 7.722774505615234);
    assert_eq!(answer["peakHeapSizePosition"], 36);
    assert_eq!(lengths(&answer, &LISTS), [117, 42, 57, 117, 58, 42]);
    assert_eq!(answer["logicalBufferSpans"]["699"], json!({ "start": 42, "limit": 44 }));
    let source = json!({
        "fileName": "record.py",
        "lineNumber": 103,
        "stackFrame": "record.py:103:49\nrecord.py:103:23\nrecord.py:129:33\nrecord.py:138:27\nrecord.py:257:17\n\
                       record.py:288:8\nrecord.py:297:4",
    });
    assert_eq!(answer["maxHeap"][0]["sourceInfo"], source);
    assert_eq!(
        answer["bufferBlocks"][0],
        json!({
            "logicalBufferId": -1,
            "name": "Temporary",
            "size": 7_106_560.0,
            "endStep": 116,
            "category": "Temporary",
            "color": "#ffffff",
        })
    );
}

#[test]
fn modules_without_buffers_have_a_name() {
    let answer = ask(&open("tpu-train"), "memory_viewer", &[("memory_space", "0")]);
    assert_eq!(answer, json!({ "moduleName": "jit_train_step", "entryComputationName": "main.22_spmd" }));
}

#[test]
fn the_timeline_is_a_page_of_its_own() {
    let words = [DECODE, ("memory_space", "1"), ("view_memory_allocation_timeline", "true")];
    let page = text(&open("tpu-decode"), "memory_viewer", &words);
    assert!(page.contains("<svg") && page.contains("wide.param.2{2}"), "{}", &page[..500]);
    assert!(!page.contains("http://") || page.contains("http://www.w3.org/2000/svg"));
    assert!(!page.contains("https://"), "nothing comes from the network");
}

#[test]
fn says_which_modules_there_are() {
    let error = refused(&open("tpu-decode"), "memory_viewer", &[("module_name", "nothing")]);
    assert!(matches!(error, Error::Usage(_)), "{error:?}");
    assert!(error.to_string().contains("jit_decode(9646411105960254074)"), "{error}");
    let error = refused(&open("gpu-amd"), "memory_viewer", &[]);
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
}

/// `memory peak` and this tool say the same of every module: peaks, position, and the buffers alive then.
#[test]
fn the_analysis_agrees() {
    use haloscope_analyses as analyses;
    use haloscope_report::{Cell, scope::Scope};
    use haloscope_time::analysis;
    let mut compared = 0;
    for run in ["cpu-train", "cpu-infer", "tpu-decode", "tpu-custom-call", "tpu-memory", "tpu-run-scan"] {
        let profile = open(run);
        for module in &profile.modules {
            for space in ["0", "1"] {
                let mut params = analysis::Params::default();
                params.set("module", &module.label());
                params.set("space", space);
                let analysis = analyses::find("memory peak").unwrap();
                let Ok(report) = analysis::run(analysis, &profile, &Scope::default(), &params) else {
                    continue;
                };
                let label = module.label();
                let words = [("module_name", label.as_str()), ("memory_space", space)];
                let answer = ask(&profile, "memory_viewer", &words);
                let mib = |key: &str| answer[key].as_f64().unwrap_or(0.0) * f64::from(1 << 20);
                let value = |id: &str| report.value(id).unwrap().value.number();
                let agree = |id: &str, key: &str| {
                    let (ours, theirs) = (value(id).unwrap_or(0.0), mib(key));
                    assert!(
                        (ours - theirs).abs() < 1.0,
                        "{run} {label} in {space}: {id} {ours}, {key} {theirs}"
                    );
                };
                agree("peak_bytes", "peakHeapMib");
                agree("peak_unpadded_bytes", "peakUnpaddedHeapMib");
                agree("entry_parameter_bytes", "entryComputationParametersMib");
                agree("allocated_bytes", "totalBufferAllocationMib");
                let position = answer["peakHeapSizePosition"].as_f64().unwrap_or(0.0);
                assert_eq!(value("peak_event").unwrap_or(0.0), position, "{run} {label} in {space}");
                // XProf lists what lasts in the main memory only, and the largest buffer's own size of it.
                let buffers = report.table("buffers").unwrap();
                let cell = |row: usize, id: &str| buffers.cell(row, id).unwrap();
                let is_listed = |row: &usize| {
                    let is_large = cell(*row, "bytes").number() >= Some(f64::from(16 << 10));
                    is_large && (space == "0" || *cell(*row, "from_event") != Cell::Unknown)
                };
                let mut ours: Vec<_> = (0..buffers.rows.len())
                    .filter(is_listed)
                    .map(|row| {
                        (
                            cell(row, "buffer_id").number().unwrap() as i64,
                            cell(row, "group").as_text().unwrap(),
                        )
                    })
                    .collect();
                let listed = answer["maxHeap"].as_array().cloned().unwrap_or_default();
                let named = listed.iter().filter(|o| o["logicalBufferId"] != -1);
                let mut theirs: Vec<_> = named
                    .map(|o| (o["logicalBufferId"].as_i64().unwrap_or(0), o["groupName"].as_str().unwrap()))
                    .collect();
                ours.sort_unstable();
                theirs.sort_unstable();
                assert_eq!(ours, theirs, "{run} {label} in {space}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "{compared} modules compared");
}
