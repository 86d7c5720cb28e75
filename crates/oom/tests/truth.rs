//! Texts of programs whose needs are known: those of `fixtures/oom`, made by `tests/oom/make.py`, and others where they are.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use haloscope_oom::{ANALYSIS, ASSIGNMENT, HLO, MESSAGE, USAGE};
use haloscope_report::{Cell, Error, Report};
use haloscope_time::analysis::{Params, run_alone};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn packed(path: &Path) -> Option<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Asks about a text, with what lies beside it if that is wanted.
fn ask(folder: &Path, name: &str, is_with_dump: bool) -> Result<Report, Error> {
    let mut params = Params::default();
    params.set(MESSAGE.id, &fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap());
    let files = [
        (ASSIGNMENT.id, "buffer-assignment"),
        (USAGE.id, "memory-usage-report"),
        (HLO.id, "oom_intermediate_module"),
    ];
    for (id, end) in files.iter().filter(|_| is_with_dump) {
        if let Some(text) = packed(&folder.join(format!("{name}.{end}.txt.gz"))) {
            params.set(id, &text);
        }
    }
    run_alone(&ANALYSIS, &params)
}

fn number(report: &Report, id: &str) -> Option<i64> {
    match report.value(id)?.value {
        Cell::Int(number) => Some(number),
        _ => None,
    }
}

fn word(report: &Report, id: &str) -> String {
    match report.value(id).map(|value| &value.value) {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn texts(folder: &Path) -> Vec<(String, Value)> {
    let truth: Value = serde_json::from_str(&fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
    truth.as_object().unwrap().iter().map(|(name, of)| (name.clone(), of.clone())).collect()
}

/// The cell of the row of a cure.
fn fix(report: &Report, name: &str, column: &str) -> Option<Cell> {
    let table = report.table("cures").unwrap();
    let row = (0..table.rows.len()).find(|row| table.cell(*row, "cure") == Some(&Cell::from(name)))?;
    table.cell(row, column).cloned()
}

#[test]
fn own_texts_say_what_their_programs_ask_for() {
    let folder = root().join("fixtures/oom");
    for (name, truth) in texts(&folder) {
        let report = ask(&folder, &name, true).unwrap();
        let n = |id: &str| truth[id].as_i64();
        let largest = word(&report, "largest");
        assert!(
            number(&report, "used_bytes").is_some() && number(&report, "limit_bytes").is_some(),
            "{name}"
        );
        assert!(number(&report, "over_bytes").unwrap() > 0, "{name}");
        let what = truth["what"].as_str().unwrap();
        // A message of a stack names no window.
        let is_stack = word(&report, "kind") == "scoped stack";
        assert!(
            largest.contains(what) || (is_stack && largest.starts_with("kernel stack")),
            "{name}: {largest}"
        );
        if let Some(bytes) = n("largest_bytes") {
            assert_eq!(number(&report, "largest_bytes"), Some(bytes), "{name}");
        }
        if let Some(bytes) = n("limit_bytes") {
            assert_eq!(number(&report, "limit_bytes"), Some(bytes), "{name}");
        }
        if let (Some(bytes), false) = (n("table_bytes"), is_stack) {
            let used = number(&report, "used_bytes").unwrap();
            assert!((used - bytes).abs() < 16 << 10, "{name}: {used}");
        }
        // What the kernel needs is at least its windows and scratch; one allocation is a part of it.
        if let Some(bytes) = n("windows_bytes").filter(|_| word(&report, "kind") != "one allocation") {
            assert!(number(&report, "used_bytes").unwrap() >= bytes - (1 << 20), "{name}");
        }
        if let Some(first) = truth["first_cure"].as_str() {
            let table = report.table("cures").unwrap();
            assert_eq!(table.cell(0, "cure"), Some(&Cell::from(first)), "{name}");
            assert_eq!(table.cell(0, "fits"), Some(&Cell::from("yes")), "{name}");
        }
        if let Some(wanted) = truth["cure"].as_str() {
            assert!(fix(&report, wanted, "fits").is_some(), "{name}: no {wanted}");
        }
        let chip = truth["chip"].as_str().unwrap();
        let said = word(&report, "chip");
        assert!(said.is_empty() || said.contains(chip), "{name}: {said}");
    }
}

#[test]
fn own_answers_are_as_reviewed() {
    let folder = root().join("fixtures/oom");
    for name in ["decode_cache_v5e", "recurrence_v5e", "add_blocks_beyond_v6e", "page_table_v5p"] {
        let report = ask(&folder, name, true).unwrap();
        let layout =
            haloscope_report::present::Layout { width: 120, colour: false, limit: 8, ..Default::default() };
        let mut out = Vec::new();
        haloscope_report::present::table(&report, &layout, &mut out).unwrap();
        insta::assert_snapshot!(name, String::from_utf8(out).unwrap());
    }
}

#[test]
fn shared_texts_say_what_their_programs_ask_for() {
    let folder = root().join("../shared/oom");
    if !folder.is_dir() {
        println!("skipped: {} is not here", folder.display());
        return;
    }
    for (name, truth) in texts(&folder) {
        let says = &truth["message_says"];
        if says.is_null() {
            assert!(matches!(ask(&folder, &name, true), Err(Error::Nothing(_))), "{name}");
            continue;
        }
        for is_with_dump in [false, true] {
            let report = ask(&folder, &name, is_with_dump).unwrap();
            let context = format!("{name}, dump {is_with_dump}");
            assert_eq!(word(&report, "kind"), says["form"].as_str().unwrap(), "{context}");
            assert_eq!(word(&report, "space"), says["memory"].as_str().unwrap(), "{context}");
            let bytes =
                |id: &str, words: &str| says[id].as_i64().or_else(|| says[words].as_i64().map(|n| n * 4));
            let (used, limit) =
                (bytes("required_bytes", "required_words"), bytes("limit_bytes", "limit_words"));
            assert_eq!(number(&report, "used_bytes"), used, "{context}");
            assert_eq!(number(&report, "limit_bytes"), limit, "{context}");
            let over = says["over_bytes"].as_i64().or(used.zip(limit).map(|(used, limit)| used - limit));
            assert_eq!(number(&report, "over_bytes"), over, "{context}");
            // The largest buffer: as the message lists it, else as the dump's report does.
            if let Some(listed) = says["largest"].as_array() {
                let tag = listed[0]["tag"].as_str().unwrap();
                let largest = word(&report, "largest");
                let what = if tag.starts_with("input window") {
                    "input window"
                } else if tag.starts_with("output") {
                    "output window"
                } else {
                    "scratch"
                };
                assert!(largest.starts_with(what), "{context}: {largest}");
            }
            let rows = truth["xla_memory_usage_report"][0]["first_rows"].as_array();
            if let (Some(rows), true) = (rows, is_with_dump) {
                let size = |row: &Value| haloscope_oom::Size::parse(row["size"].as_str().unwrap()).unwrap().0;
                let largest = rows.iter().map(size).max_by_key(|size| size.bytes).unwrap();
                let own = number(&report, "largest_bytes").unwrap();
                assert!((own - largest.bytes).abs() <= largest.slack_bytes, "{context}: {own}");
            }
            if let (Some(bytes), true) = (truth["argument_bytes"].as_i64(), is_with_dump) {
                let table = report.table("parts").unwrap();
                let Some(Cell::Int(own)) = table.cell(0, "bytes") else { panic!("{context}") };
                assert!((own - bytes).abs() < 1 << 20, "{context}: {own}");
            }
        }
    }
    // What makes it fit, where the truth says it, or where the numbers do.
    let first = |name: &str, wanted: &str| {
        let report = ask(&folder, name, true).unwrap();
        assert_eq!(fix(&report, wanted, "fits"), Some("yes".into()), "{name}");
    };
    first("hbm_not_donated_v6e", "donate");
    first("hbm_replicated_v5e", "shard");
    first("hbm_allgather_v5e", "keep sharded");
    first("hbm_scan_residuals_v5e", "checkpoint in groups");
    first("vmem_xla_limit_v5e", "raise limit");
    first("smem_prefetch_v5e", "table in hbm");
    first("sflag_semaphores_v6e", "fewer semaphores");
}
