//! Questions that need no run: a piece of work on the roofline of a chip.

use std::fs;

use crate::support::{FIXTURES, process};

fn number(report: &serde_json::Value, id: &str) -> f64 {
    report["values"][id]["value"].as_f64().unwrap_or(f64::NAN)
}

fn roofline(args: &[&str]) -> serde_json::Value {
    let mut words = vec!["roofline", "--format", "json"];
    words.extend(args);
    let outcome = process(&words);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
}

#[test]
fn a_compute_bound_kernel_on_a_v5e() {
    let report = roofline(&["--flops", "138.8G", "--bytes", "136M", "--latency", "2.12ms", "--chip", "v5e"]);
    near(number(&report, "compute_only_ps") / 1e9, 0.70, 0.005);
    near(number(&report, "memory_only_ps") / 1e9, 0.17, 0.005);
    near(number(&report, "gap_ps") / 1e9, 1.42, 0.005);
    near(number(&report, "operational_intensity"), 1020.0, 1.0);
    assert_eq!(report["values"]["regime"]["value"], "compute");
    assert_eq!(report["provenance"]["peaks"][0]["source"], "table");
}

#[test]
fn a_memory_bound_kernel_on_a_v5e() {
    let report =
        roofline(&["--flops", "133.8e9", "--bytes", "1.5742G", "--latency", "0.005112", "--chip", "v5e"]);
    near(number(&report, "operational_intensity"), 85.0, 0.05);
    near(number(&report, "ridge_point"), 240.5, 0.1);
    near(number(&report, "ridge_over_intensity"), 2.8, 0.05);
    near(number(&report, "hbm_share_of_peak"), 0.376, 0.0005);
    near(number(&report, "gap_ps") / 1e9, 3.19, 0.005);
    assert_eq!(report["values"]["regime"]["value"], "memory");
}

#[test]
fn what_is_missing_is_named() {
    let part = process(&["roofline", "--flops", "3G", "--chip", "v5e"]);
    assert_eq!((part.code, part.stderr.contains("--bytes, --latency")), (2, true), "{}", part.stderr);
    let chip = process(&["roofline", "--flops", "3G", "--bytes", "1M", "--latency", "1ms", "--chip", "v9"]);
    assert_eq!((chip.code, chip.stderr.contains("v5e")), (2, true), "{}", chip.stderr);
    let none = process(&["roofline"]);
    assert_eq!((none.code, none.stderr.contains("RUN")), (2, true), "{}", none.stderr);
    // A run's own peaks serve where no chip is named; a CPU has none.
    let cpu = roofline(&[FIXTURES[0], "--flops", "3G", "--bytes", "1M", "--latency", "1ms"]);
    assert!(cpu["values"]["gap_ps"]["value"].is_null(), "{cpu}");
    near(number(&cpu, "operational_intensity"), 3000.0, 1e-9);
}

#[test]
fn a_configuration_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let path = path.to_str().unwrap();
    let asked = |text: &str| {
        fs::write(path, text).unwrap();
        let run = "fixtures/runs/tpu-train";
        let words = ["compute", "mfu", run, "--global-batch", "4", "--seq", "512", "--config", path];
        process(&[&words[..], &["--format", "json"]].concat())
    };
    let keys =
        r#"{"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024"#;
    let whole = asked(&format!("{keys}, \"vocab_size\": 512}}"));
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let report: serde_json::Value = serde_json::from_str(&whole.stdout).unwrap();
    // N = 2 x (4 x 256^2 + 3 x 256 x 1024) + 256 x 512 = 2,228,224; attention 6 x 2 x 256 x 512 = 1,572,864 for a token;
    // 2048 tokens on 4 devices.
    let flops = 512.0 * (6.0 * 2_228_224.0 + 1_572_864.0);
    let share = flops / (number(&report, "step_time_ps") / 1e12) / 197e12;
    near(number(&report, "mfu_config"), share, 1e-9);
    assert_eq!(report["values"]["mfu_method"]["value"], "config");
    let part = asked(&format!("{keys}}}"));
    assert_eq!((part.code, part.stderr.contains("vocab_size")), (2, true), "{}", part.stderr);
}
