//! `hlo_stats`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use std::collections::BTreeMap;

use haloscope_compat::Error;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use serde_json::json;

use crate::support::{ask, column, made, near, open, record, refused, text};

#[test]
fn ops_of_all_hosts_by_self_time() {
    let profile = open("tpu-train");
    let table = ask(&profile, "hlo_stats", &[]);
    assert_eq!((table["cols"].as_array().unwrap().len(), table["rows"].as_array().unwrap().len()), (29, 302));
    let own: f64 = column(&table, "total_self_time").iter().filter_map(|v| v.as_f64()).sum();
    near(&json!(own), 63_472.903_749_999_9);
    let first = record(&table, 0);
    assert_eq!((&first["rank"], &first["hlo_op_name"]), (&json!(1.0), &json!("all-reduce.59")));
    assert_eq!(first["program_id"], "14606544531147133434");
    assert_eq!(
        first["tf_op_name"],
        "jit(train_step)/transpose(jvp())/while/body/closed_call/checkpoint/rematted_computation/decoder_layer/\
         feed_forward/dot_general:"
    );
    assert_eq!((&first["category"], &first["occurrences"]), (&json!("all-reduce"), &json!(64.0)));
    near(&first["total_time"], 6283.7125);
    near(&first["avg_self_time"], 98.183_007_812_5);
    near(&first["total_self_time_percent"], 9.781_605_432_355_086);
    near(&first["model_flop_rate"], 85.438_490_701_157_96);
    near(&first["measured_memory_bw"], 318.283_180_524_252_2);
    near(&first["operational_intensity"], 0.25);
    assert_eq!((&first["hbm_bw"], &first["bound_by"]), (&json!(0.0), &json!("Compute")));
    assert_eq!(
        (&first["hlo_rematerialization"], &first["outside_compilation"]),
        (&json!("Yes"), &json!("No"))
    );
    assert_eq!(first["source_info"], "<div class='source-info-cell' title=''>compile.py:85</div>");
    assert_eq!((&first["core_type"], &first["parent_op_name"]), (&json!("TensorCore"), &json!("")));
    near(&record(&table, 1)["cumulative_total_self_time_percent"], 15.867_407_572_081_882);
    // Asked for one host, XProf answers for all.
    let one = text(&profile, "hlo_stats", &[("host", "tpu-w-1")]);
    assert_eq!(one, text(&profile, "hlo_stats", &[]));
}

#[test]
fn gpu_ops_take_their_costs_from_the_program() {
    let table = ask(&open("gpu-train"), "hlo_stats", &[]);
    assert_eq!(table["rows"].as_array().unwrap().len(), 31);
    let first = record(&table, 0);
    assert_eq!(
        first["hlo_op_expression"],
        "%convert_reduce_fusion.1 = (f32[8,128]{1,0:T(8,128)S(1)}, bf16[8,16,16,128]{3,0,2,1:T(8,128)(2,1)S(1)}) \
         fusion(f32[3,3,64,128]{3,2,1,0:T(8,128)S(1)} %copy-done.1, bf16[8,32,32,64]{3,0,2,1:T(8,128)(2,1)S(1)} \
         %get-tuple-element.19), kind=kOutput, calls=%fused_computation.13"
    );
    assert_eq!((&first["program_id"], &first["category"]), (&json!("31"), &json!("output fusion")));
    near(&first["total_time"], 25.1675);
    near(&first["model_flop_rate"], 189_460.364_040_925_8);
    near(&first["hbm_bw"], 554.148_532_954_206_9);
    near(&first["operational_intensity"], 318.414_113_785_557_96);
    assert_eq!((&first["bound_by"], &first["core_type"]), (&json!("HBM"), &json!("")));
    assert_eq!(
        first["source_info"],
        "<div class='source-info-cell' title='compile.py:178:15\ncompile.py:184:28\ncompile.py:190:15\n\
         compile.py:254:15\ncompile.py:318:8\ncompile.py:327:4\n'>compile.py:178</div>"
    );
    assert_eq!(record(&table, 5)["tf_op_name"], "");
    near(&record(&table, 5)["normalized_flop_rate"], 2_319.334_493_523_746_5);
}

#[test]
fn flops_of_events_do_not_count() {
    let table = ask(&open("tpu-custom-call"), "hlo_stats", &[]);
    let kernel = record(&table, 0);
    assert_eq!(
        (&kernel["hlo_op_name"], &kernel["normalized_flop_rate"]),
        (&json!("blocked_matmul.1"), &json!(0.0))
    );
    assert_eq!((&kernel["measured_memory_bw"], &kernel["bound_by"]), (&json!(0.0), &json!("Unknown")));
    // An event without a place in time counts as at the start of its line, which makes all shares small.
    near(&kernel["total_self_time_percent"], 0.096_696_221_637_428_96);
    near(&record(&table, 1)["hbm_bw"], 968.091_697_645_601);
}

#[test]
fn without_devices_there_are_no_rows() {
    let table = ask(&open("cpu-train"), "hlo_stats", &[]);
    assert_eq!((table["cols"].as_array().unwrap().len(), &table["rows"]), (29, &json!([])));
}

#[test]
fn parameters_are_checked() {
    let profile = open("tpu-train");
    for words in [[("colour", "red")], [("host", "nowhere")]] {
        assert!(matches!(refused(&profile, "hlo_stats", &words), Error::Usage(_)));
    }
}

/// A TensorCore whose `gather-start.1` has a SparseCore run two ops.
fn offloading() -> Space {
    const NAMES: [&str; 7] = [
        "hlo_category",
        "program_id",
        "symbol_id",
        "bytes_accessed",
        "offload_core_id",
        "tc_offload_start_id",
        "flops",
    ];
    let plane = |id, name: &str, lines, ops: &[(i64, &str, &str, u64)]| Plane {
        id,
        name: name.into(),
        lines,
        stat_metadata: (1..)
            .zip(NAMES)
            .map(|(id, name)| (id, StatMetadata { id, name: name.into(), ..StatMetadata::default() }))
            .collect(),
        event_metadata: ops
            .iter()
            .map(|(id, name, category, bytes)| {
                let stat = |metadata_id, value| Stat { metadata_id, value };
                let meta = EventMetadata {
                    id: *id,
                    name: format!("%{name} = f32[8]{{0}} {category}()"),
                    display_name: (*name).to_owned(),
                    stats: vec![
                        stat(1, Value::Str((*category).to_owned())),
                        stat(2, Value::Uint(7)),
                        stat(3, Value::Uint(*id as u64)),
                        stat(4, Value::Uint(*bytes)),
                        stat(7, Value::Uint(1000 * bytes)),
                    ],
                    ..EventMetadata::default()
                };
                (*id, meta)
            })
            .collect(),
        ..Plane::default()
    };
    let offload = |event: Event, number: Value| Event {
        stats: vec![Stat { metadata_id: 5, value: Value::Uint(3) }, Stat { metadata_id: 6, value: number }],
        ..event
    };
    let line = |id, name: &str, events| Line { id, name: name.into(), events, ..Line::default() };
    let us = |n: i64| n * 1_000_000;
    let tensor = vec![
        offload(Event::at(1, us(10), us(2)), Value::Int(11)),
        Event::at(2, us(12), us(20)),
        offload(Event::at(1, us(40), us(2)), Value::Int(12)),
    ];
    let modules = vec![
        offload(Event::at(1, us(11), us(9)), Value::Uint(11)),
        offload(Event::at(1, us(41), us(9)), Value::Uint(12)),
    ];
    let sparse = vec![
        Event::at(2, us(12), us(7)),
        Event::at(3, us(13), us(4)),
        Event::at(2, us(42), us(6)),
        Event::at(3, us(60), us(4)),
    ];
    let tensor = plane(
        1,
        "/device:TPU:0",
        vec![line(3, "XLA Ops", tensor)],
        &[(1, "gather-start.1", "async-start", 64), (2, "fusion.1", "loop fusion", 4096)],
    );
    let sparse = plane(
        2,
        "/device:TPU:0 SparseCore 0",
        vec![line(2, "Sparse Core Modules", modules), line(3, "Sparse Core Ops", sparse)],
        &[
            (1, "jit_f(7)", "", 0),
            (2, "gather.1", "gather", 512),
            (3, "add.1", "non-fusion elementwise", 256),
        ],
    );
    Space { planes: vec![tensor, sparse], hostnames: vec!["host".into()], ..Space::default() }
}

#[test]
fn sparse_core_ops_stand_below_what_began_them() {
    let table = ask(&made(&offloading()), "hlo_stats", &[]);
    let rows: Vec<_> = (0..4).map(|i| record(&table, i)).collect();
    let words = |r: &BTreeMap<String, serde_json::Value>| {
        json!([
            r["rank"],
            r["hlo_op_name"],
            r["parent_op_name"],
            r["core_type"],
            r["total_time"],
            r["total_self_time"]
        ])
    };
    assert_eq!(words(&rows[1]), json!([2.0, "gather-start.1", "", "TensorCore", 4.0, 4.0]));
    // Of the two programs that `gather-start.1` began, those of its first event; ops without a rank or a share.
    assert_eq!(words(&rows[2]), json!([0.0, "add.1", "gather-start.1", "SparseCore", 4.0, 4.0]));
    assert_eq!(words(&rows[3]), json!([0.0, "gather.1", "gather-start.1", "SparseCore", 7.0, 3.0]));
    near(&rows[3]["normalized_flop_rate"], 73.142_857_142_857_14);
    near(&rows[1]["cumulative_total_self_time_percent"], 75.0);
    assert_eq!(rows[2]["cumulative_total_self_time_percent"], json!(0.0));
}
