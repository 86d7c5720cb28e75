//! `kernel_stats`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use haloscope_compat::Error;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use serde_json::json;

use crate::support::{ask, column, made, open, refused, row};

#[test]
fn kernels_of_an_xla_program() {
    let table = ask(&open("gpu-train"), "kernel_stats", &[]);
    assert_eq!(table["cols"].as_array().unwrap().len(), 15);
    assert_eq!(table["rows"].as_array().unwrap().len(), 33);
    let longest = json!([
        1.0,
        "loop_add_fusion_1",
        32.0,
        0.0,
        "128,1,1",
        "528,1,1",
        0.0,
        false,
        false,
        "",
        8.0,
        72.0,
        9.0,
        9.0,
        9.0
    ]);
    assert_eq!(json!(row(&table, 0)), longest);
    let convolution = json!([
        3.0,
        "convert_reduce_fusion_1",
        64.0,
        0.0,
        "256,1,1",
        "132,1,1",
        0.0,
        true,
        false,
        "jit(convolution)/jvp(body)/conv_general_dilated",
        8.0,
        25.165,
        3.145,
        3.117,
        3.161
    ]);
    assert_eq!(json!(row(&table, 2)), convolution);
    let total: f64 = column(&table, "total_duration_us").iter().filter_map(|v| v.as_f64()).sum();
    assert!((total - 684.835).abs() < 1e-9);
    let eligible = column(&table, "is_op_tensor_core_eligible");
    assert_eq!(eligible.iter().filter(|v| **v == true).count(), 9);
}

#[test]
fn matrix_cores_are_known_by_the_kernel() {
    let table = ask(&open("gpu-amd"), "kernel_stats", &[]);
    let name = "Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1_SN";
    let gemm = json!([
        1.0,
        name,
        0.0,
        0.0,
        "256,1,1",
        "4,64,1",
        0.0,
        true,
        true,
        "XlaModule",
        9.0,
        342.0,
        38.0,
        38.0,
        38.0
    ]);
    assert_eq!(json!(row(&table, 0)), gemm);
    assert_eq!(json!(column(&table, "op_name")), json!(["XlaModule", "XlaModule", ""]));
}

/// A GPU whose kernels carry (name, duration in ps, details, framework op).
fn gpu(vendor: &str, kernels: &[(&str, i64, &str, &str)]) -> Space {
    let text = |id, text: &str| Stat { metadata_id: id, value: Value::Str(text.to_owned()) };
    let mut line = Line::new(1, "Stream #1");
    let (mut at, mut metas) = (0, Vec::new());
    for (index, (name, duration_ps, details, op)) in kernels.iter().enumerate() {
        let id = index as i64 + 1;
        metas.push((id, EventMetadata { id, name: (*name).to_owned(), ..EventMetadata::default() }));
        let mut event = Event::at(id, at, *duration_ps);
        event.stats = vec![text(1, details), text(2, op)];
        line.events.push(event);
        at += duration_ps;
    }
    let names = [(1, "kernel_details"), (2, "tf_op"), (3, "device_vendor")];
    let named =
        |(id, name): (i64, &str)| (id, StatMetadata { id, name: name.to_owned(), ..Default::default() });
    let plane = Plane {
        name: "/device:GPU:0".to_owned(),
        lines: vec![line],
        event_metadata: metas,
        stat_metadata: names.map(named).to_vec(),
        stats: vec![text(3, vendor)],
        ..Plane::default()
    };
    Space { planes: vec![plane], ..Space::default() }
}

#[test]
fn names_launches_and_durations_have_corners() {
    let kernels = [
        (
            "volta_h884gemm",
            1_000_000,
            "regs:7 static_shared:3 dynamic_shared:4 grid:1,2,3 block:4,5,6 occ_pct:12.5",
            ":",
        ),
        ("jax", 900_000, "regs:8\nregs:9", "jit(x)/dot_general:dot_general[precision=3]"),
        ("iterator", 800_000, "regs:-1 grid:4,5,6,7 block:+1,2,3", "Iterator::Batch::Map"),
        ("copy", 700_000, "", "a:B"),
        ("short", 1_999, " ", ""),
        ("shorter", 999, " ", ""),
        ("nothing", 0, " ", ""),
    ];
    let table = ask(&made(&gpu("Nvidia", &kernels)), "kernel_stats", &[]);
    let expected = json!([
        [1.0, "volta_h884gemm", 7.0, 7.0, "4,5,6", "1,2,3", 12.5, true, true, "", 1.0, 1.0, 1.0, 1.0, 1.0],
        [
            2.0,
            "jax",
            9.0,
            0.0,
            "1,1,1",
            "1,1,1",
            0.0,
            true,
            false,
            "jit(x)/dot_general",
            1.0,
            0.9,
            0.9,
            0.9,
            0.9
        ],
        [
            3.0,
            "iterator",
            0.0,
            0.0,
            "1,2,3",
            "1,1,1",
            0.0,
            false,
            false,
            "Iterator::Batch::Map",
            1.0,
            0.8,
            0.8,
            0.8,
            0.8
        ],
        [4.0, "short", 0.0, 0.0, "1,1,1", "1,1,1", 0.0, false, false, "", 1.0, 0.001, 0.001, 0.001, 0.001],
        [5.0, "shorter", 0.0, 0.0, "1,1,1", "1,1,1", 0.0, false, false, "", 1.0, 0.0, 0.0, 0.0, 0.0],
    ]);
    assert_eq!(json!((0..5).map(|i| row(&table, i)).collect::<Vec<_>>()), expected);
    assert_eq!(table["rows"].as_array().unwrap().len(), 5);
    // A vendor whose names are not known says nothing of any kernel.
    let table = ask(&made(&gpu("", &kernels)), "kernel_stats", &[]);
    assert_eq!(row(&table, 0)[8], false);
}

#[test]
fn a_thousand_kernels_are_listed() {
    let names: Vec<String> = (0..1100).map(|i| format!("kernel_{i:04}")).collect();
    let kernels: Vec<_> = names.iter().map(|name| (name.as_str(), 5000, "regs:1", "")).collect();
    let table = ask(&made(&gpu("AMD", &kernels)), "kernel_stats", &[]);
    assert_eq!(table["rows"].as_array().unwrap().len(), 1000);
    assert_eq!(row(&table, 999)[1], "kernel_0999");
}

#[test]
fn a_run_without_a_gpu_says_so() {
    let error = refused(&open("tpu-custom-call"), "kernel_stats", &[]);
    assert!(matches!(&error, Error::Missing { missing, .. } if missing.contains("/device:GPU:")), "{error}");
    let error = refused(&open("gpu-amd"), "kernel_stats", &[("host", "nowhere")]);
    assert!(error.to_string().contains("amd-host"), "{error}");
    let error = refused(&open("gpu-amd"), "kernel_stats", &[("top", "3")]);
    assert_eq!(error.http_status(), 400, "{error}");
}
