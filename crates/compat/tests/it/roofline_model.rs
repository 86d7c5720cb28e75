//! `roofline_model`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{ask, near, open, record, text};

type Record = BTreeMap<String, Value>;

fn records(table: &Value) -> Vec<Record> {
    (0..table["rows"].as_array().unwrap().len()).map(|i| record(table, i)).collect()
}

/// The steps of the rows of whole programs: with what goes in and out, and without.
fn programs(rows: &[Record]) -> [Vec<(&str, &Record)>; 2] {
    [true, false].map(|infeed| {
        let programs =
            rows.iter().filter(|r| r["category"] == "Program" && r["include_infeed_outfeed"] == infeed);
        programs.map(|r| (r["step"].as_str().unwrap(), r)).collect()
    })
}

fn steps<'r>(programs: &[(&'r str, &Record)]) -> Vec<&'r str> {
    programs.iter().map(|(step, _)| *step).collect()
}

#[test]
fn programs_and_steps_of_tpus() {
    let profile = open("tpu-train");
    let answer = ask(&profile, "roofline_model", &[]);
    let (device, rows) = (&answer[0]["p"], records(&answer[0]));
    assert_eq!((answer[0]["cols"].as_array().unwrap().len(), rows.len()), (37, 622));
    assert_eq!(answer[1]["rows"], json!([]));
    assert_eq!(
        json!([
            device["device_type"],
            device["has_merged_vmem"],
            device["hbm_ridge_point"],
            device["peak_flop_rate"],
            device["peak_hbm_bw"],
            device["time_scale_multiplier"],
        ]),
        json!(["TPU v5 Lite", "0", "240.537", "197000", "762.753", "1"])
    );

    let [all, _] = programs(&rows);
    assert_eq!(steps(&all), ["Total", "Average", "0", "1", "2", "3", "4", "5", "6"]);
    let total = all[0].1;
    near(&total["total_time"], 64_240.093_75);
    near(&total["total_time_per_core"], 16_060.023_437_5);
    near(&total["measured_flop_rate"], 39_272.118_306_832_33);
    near(&total["hbm_bw"], 59.029_381_694_200_794);
    near(&total["vmem_read_bw"], 1_108.760_666_979_226);
    near(&total["roofline_efficiency"], 0.199_350_854_349_402_7);
    near(&total["max_mem_bw_utilization"], 0.077_389_885_189_161_62);
    assert_eq!((&total["bound_by"], &total["optimal_flop_rate"]), (&json!("Compute"), &json!(197_000.0)));
    let average = all[1].1;
    near(&average["total_time"], 7_778.392_5);
    near(&average["avg_time"], 54_448.747_5);
    near(&average["measured_flop_rate"], 40_542.511_865_272_936);
    near(&all[2].1["total_time"], 9_814.7);
    near(&all[2].1["measured_flop_rate"], 32_130.943_403_670_004);

    let op = &rows[1];
    assert_eq!((&op["rank"], &op["operation"]), (&json!(1.0), &json!("all-reduce.59")));
    near(&op["vmem_read_bw"], 159.141_590_262_126_1);
    near(&op["total_time_in_percentage"], 0.097_816_054_323_550_85);
    near(&op["roofline_efficiency"], 0.000_433_697_922_340_903_34);
    assert_eq!((&op["vmem_write_operational_intensity"], &op["hbm_bw"]), (&json!(0.5), &json!(0.0)));
    // Asked for one host, XProf answers for all.
    let one = text(&profile, "roofline_model", &[("host", "tpu-w-1")]);
    assert_eq!(one, text(&profile, "roofline_model", &[]));
}

#[test]
fn without_peaks_nothing_bounds() {
    let answer = ask(&open("tpu-input-bound"), "roofline_model", &[]);
    let rows = records(&answer[0]);
    assert_eq!((rows.len(), &answer[0]["p"]["has_merged_vmem"]), (78, &json!("1")));
    assert!(rows.iter().all(|r| r["bound_by"] == "Unknown"));
    let [all, without] = programs(&rows);
    assert_eq!(steps(&all), ["Total", "Average", "6", "7", "8", "9", "10", "11"]);
    assert_eq!(steps(&without), steps(&all));
    near(&all[0].1["total_time"], 437.701_25);
    near(&all[1].1["total_time"], 72.950_208_333_333_34);
    near(&all[2].1["total_time"], 26.737_5);
    near(&without[7].1["total_time"], 84.15);
}

#[test]
fn without_steps_there_is_no_average() {
    let answer = ask(&open("tpu-decode"), "roofline_model", &[]);
    let rows = records(&answer[0]);
    assert_eq!((rows.len(), &answer[0]["p"]["hbm_ridge_point"]), (220, &json!("560.44")));
    assert_eq!(answer[1]["rows"][0]["c"][0]["v"], "WARNING");
    assert!(answer[1]["rows"][0]["c"][1]["v"].as_str().unwrap().starts_with("No step marker observed"));
    let [all, _] = programs(&rows);
    assert_eq!(steps(&all), ["Total", "Average"]);
    near(&all[0].1["roofline_efficiency"], 0.008_806_827_011_660_601);
    near(&all[0].1["vmem_write_operational_intensity"], 25.487_530_649_950_262);
    assert_eq!(all[0].1["bound_by"], "HBM");
    assert_eq!((&all[1].1["total_time"], &all[1].1["bound_by"]), (&json!(0.0), &json!("Unknown")));
}

#[test]
fn gpus_have_shared_memory() {
    let answer = ask(&open("gpu-train"), "roofline_model", &[]);
    let rows = records(&answer[0]);
    assert_eq!((answer[0]["cols"].as_array().unwrap().len(), rows.len()), (30, 64));
    assert_eq!(
        answer[0]["p"],
        json!({
            "device_type": "Nvidia GPU (Hopper)",
            "hbm_ridge_point": "319.34",
            "peak_flop_rate": "1.07053e+06",
            "peak_hbm_bw": "3122.09",
            "peak_vmem_write_bw": "62313.1",
            "vmem_write_ridge_point": "16",
        })
    );
    let [all, without] = programs(&rows);
    assert_eq!((steps(&all), steps(&without)), (vec!["Total"], vec!["Total"]));
    near(&all[0].1["total_time"], 1_192.517_5);
    near(&all[0].1["measured_flop_rate"], 11_070.443_407_329_452);
    near(&all[0].1["optimal_flop_rate"], 1_070_530.559_999_999_8);
    near(&all[0].1["roofline_efficiency"], 0.010_341_081_161_970_243);
    let op = &rows[1];
    assert_eq!((&op["operation"], &op["bound_by"]), (&json!("convert_reduce_fusion.1"), &json!("HBM")));
    near(&op["roofline_efficiency"], 0.177_492_738_324_853_88);
    near(&op["optimal_flop_rate"], 1_067_426.001_925_601_9);
    let last = rows.iter().rfind(|r| r["step"] == "Total").unwrap();
    near(&last["cumulative_total_self_time_percent"], 0.460_303_517_558_442_57);

    let answer = ask(&open("gpu-amd"), "roofline_model", &[]);
    let (device, rows) = (&answer[0]["p"], records(&answer[0]));
    assert_eq!(
        json!([
            device["device_type"],
            device["peak_flop_rate"],
            device["peak_hbm_bw"],
            device["peak_vmem_write_bw"]
        ]),
        json!(["AMD GPU - gfx942", "1.30744e+06", "4959.11", "76103.2"])
    );
    // Of four devices whose kernels are of no program there are only the rows of the whole, idle.
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["total_time"], &rows[0]["total_time_per_core"]), (&json!(428.0), &json!(107.0)));
}

#[test]
fn without_devices_there_are_no_rows() {
    let answer = ask(&open("cpu-train"), "roofline_model", &[]);
    assert_eq!((&answer[0]["rows"], &answer[1]["rows"]), (&json!([]), &json!([])));
    assert_eq!((&answer[0]["p"]["device_type"], &answer[0]["p"]["has_cmem"]), (&json!(""), &json!("0")));
}
