//! How rows are written, and where.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::{command, fixture, output, text};

const STEPS: &str = "SELECT step, device, dur_ps FROM step ORDER BY step, device LIMIT 6";

#[test]
fn every_form_has_the_same_rows() {
    let dir = tempfile::tempdir().unwrap();
    let csv = text(&output("tpu-train", &[STEPS, "--format", "csv"]).stdout);
    let expected: Vec<String> = csv.lines().skip(1).map(str::to_owned).collect();
    assert_eq!((csv.lines().next(), expected.len()), (Some("step,device,dur_ps"), 6));

    let json: serde_json::Value =
        serde_json::from_slice(&output("tpu-train", &[STEPS, "--format", "json"]).stdout).unwrap();
    let of_json = json.as_array().unwrap().iter();
    let of_json: Vec<String> = of_json
        .map(|row| format!("{},{},{}", row["step"], row["device"].as_str().unwrap(), row["dur_ps"]))
        .collect();
    assert_eq!(of_json, expected);

    let file = |form: &str| {
        let path = dir.path().join(form);
        let output = output("tpu-train", &[STEPS, "--format", form, "-o", path.to_str().unwrap()]);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
        fs::File::open(path).unwrap()
    };
    let lines = |batches: Vec<arrow::record_batch::RecordBatch>| -> Vec<String> {
        let mut lines = Vec::new();
        for batch in batches {
            let (step, took) =
                (batch.column(0).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Int64Type>());
            let device = batch.column(1).as_string::<i32>();
            for row in 0..batch.num_rows() {
                lines.push(format!("{},{},{}", step.value(row), device.value(row), took.value(row)));
            }
        }
        lines
    };
    let arrow = FileReader::try_new(file("arrow"), None).unwrap();
    assert_eq!(arrow.schema().field(2).metadata().get("unit").map(String::as_str), Some("ps"));
    assert_eq!(lines(arrow.map(Result::unwrap).collect()), expected);
    let parquet = ParquetRecordBatchReaderBuilder::try_new(file("parquet")).unwrap().build().unwrap();
    assert_eq!(lines(parquet.map(Result::unwrap).collect()), expected);

    let table = text(&output("tpu-train", &[STEPS]).stdout);
    assert_eq!(table.lines().count(), 8, "{table}");
}

/// SQL from a file, and from stdin.
#[test]
fn sql_comes_from_anywhere() {
    let expected = output("tpu-train", &[STEPS]).stdout;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("steps.sql");
    fs::write(&file, STEPS).unwrap();
    assert_eq!(output("tpu-train", &["-f", file.to_str().unwrap()]).stdout, expected);
    let mut child = command()
        .arg(fixture("tpu-train"))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(STEPS.as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, expected);
}

#[test]
fn a_table_is_cut_and_says_so() {
    let output = output("tpu-train", &["SELECT name FROM event", "--limit", "5"]);
    assert_eq!(text(&output.stdout).lines().count(), 7);
    assert!(text(&output.stderr).contains("--limit 0"), "{}", text(&output.stderr));
}

/// A file appears whole or stays as it was; what is no file is written through and not replaced.
#[cfg(unix)]
#[test]
fn files_are_whole_and_devices_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.csv");
    fs::write(&path, "before").unwrap();
    let words = |sql| [sql, "--format", "csv", "-o", path.to_str().unwrap()];
    let wrong = output("tpu-train", &words("SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) AS t(x)"));
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    assert!(output("tpu-train", &words(STEPS)).status.success());
    assert!(fs::read_to_string(&path).unwrap().starts_with("step,"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let null = output("tpu-train", &[STEPS, "-o", "/dev/null"]);
    assert!(null.status.success() && !fs::metadata("/dev/null").unwrap().is_file());
    let nowhere = output("tpu-train", &[STEPS, "-o", "/there/is/nothing/rows"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", text(&nowhere.stderr));
}

/// A terminal is not moved by what a name holds.
#[test]
fn texts_are_cleaned() {
    let sql = "SELECT chr(27) || '[31mred' AS a, '=1+1' AS b";
    for form in ["table", "csv", "json"] {
        let out = text(&output("tpu-train", &[sql, "--format", form]).stdout);
        assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{form}: {out:?}");
    }
    assert!(text(&output("tpu-train", &[sql, "--format", "csv"]).stdout).contains("'=1+1"));
}

/// Whoever reads only the first rows makes no error of it.
#[cfg(unix)]
#[test]
fn a_reader_may_go_away() {
    let mut child = command()
        .arg(fixture("tpu-train"))
        .args(["SELECT * FROM event", "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn no_rows_are_no_error() {
    for form in ["table", "csv", "json", "arrow", "parquet"] {
        let output = output("tpu-train", &["SELECT step FROM step WHERE step < 0", "--format", form]);
        assert!(output.status.success(), "{form}: {}", text(&output.stderr));
    }
    let json = output("tpu-train", &["SELECT step FROM step WHERE step < 0", "--format", "json"]);
    assert_eq!(text(&json.stdout), "[]\n");
}
