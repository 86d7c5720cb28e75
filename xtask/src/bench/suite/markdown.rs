//! `docs/benchmarks.md`: the budgets first, then all that was measured.

use std::fmt::Write;
use std::process::Command;

use super::budgets::{self, Budget};
use super::figures::{Figure, Figures, Part};
use super::ours::{NO_CACHE, OURS};
use super::sql::DUCKDB;
use super::{said, sections};
use crate::bench::table::MIB;

/// What stands behind this line is kept when the page is written again.
const BY_HAND: &str = "<!-- by hand from here on: kept when this page is written again -->";

/// The part of an earlier page that was written by hand.
pub(super) fn by_hand(page: &str) -> &str {
    page.split_once(BY_HAND).map_or("", |(_, rest)| rest.trim_matches('\n'))
}

/// The page.
pub(super) fn page(parts: &[Part], figures: &Figures, budgets: &[Budget], by_hand: &str) -> String {
    let mut out = String::from(HEAD);
    out.push_str(&measured_on(parts));
    out.push_str("\n## Budgets\n\n");
    let rows = budgets.iter().map(|b| {
        let measured = b.measured.clone().unwrap_or_default();
        vec![b.what.clone(), b.budget.clone(), measured, budgets::word(b).to_owned()]
    });
    table(&mut out, &["what", "budget", "measured", ""], rows.collect());
    out.push_str("\n60 frames a second in the page and no request to any other host are held by the tests of the page (`web/tests/e2e`).\n");
    for subject in figures.subjects("yardstick") {
        of_subject(&mut out, figures, subject);
    }
    sections::growth(&mut out, figures);
    sections::hosts(&mut out, figures);
    sections::windows(&mut out, figures);
    sections::tiles(&mut out, figures);
    sections::traces(&mut out, figures);
    sections::where_time_goes(&mut out, figures);
    sections::left_out(&mut out, parts);
    let _ = write!(out, "\n{BY_HAND}\n");
    if !by_hand.is_empty() {
        let _ = write!(out, "\n{by_hand}\n");
    }
    out
}

const HEAD: &str = "# Benchmarks\n\nHow fast is Haloscope, how much memory does it take, and how does it stand against a bare scan of the file, XProf and xprof-rs?\n\n\
Written by `cargo xtask bench --full`. Times depend on the machine; the ratios do much less. The yardstick is a *scan* (one thread, one pass over\n\
the file's bytes that decodes the three integers of each event) plus a plain read of the file. Times are medians of whole processes unless a server\n\
is named, memory is the peak of the whole process, with the pages of the mapped profile. Files stand in the page cache.\n\n\
- *cold*: a fresh process, an empty index.\n- *reopened*: the same question in a second process, with the index that the first one left. XProf has its own caches.\n\
- *indexed*: the first question after `haloscope index`.\n- *warm*: the same question again to a server, XProf in the same process.\n- *CPU*: time of all processors, user and system, of the cold process.\n- DuckDB is timed within its process, on a Parquet file that was written before.\n";

fn measured_on(parts: &[Part]) -> String {
    let mut out = String::from("\n| | |\n|---|---|\n");
    let cpu =
        said(Command::new("sh").args(["-c", "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1"]));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory = said(Command::new("sh").args(["-c", "sed -n 's/^MemTotal: *//p' /proc/meminfo"]));
    let gib = memory.strip_suffix(" kB").and_then(|kb| kb.parse::<f64>().ok()).map(|kb| kb / 1_048_576.0);
    let memory = gib.map_or_else(String::new, |gib| format!(", {gib:.0} GiB of memory"));
    let system = said(Command::new("uname").arg("-sr"));
    let _ = writeln!(out, "| machine | {cpu}, {cores} cores{memory}, {system} |");
    if let Some(part) = parts.first() {
        let mut dates: Vec<&str> = parts.iter().map(|part| &*part.date).collect();
        dates.sort_unstable();
        dates.dedup();
        let _ = writeln!(
            out,
            "| program | {}, built by {} |",
            part.program.version,
            said(Command::new("rustc").arg("--version"))
        );
        let _ = writeln!(
            out,
            "| peers | xprof {}, xprof-rs {} |",
            crate::bench::peers::XPROF,
            crate::bench::peers::XPROF_RS
        );
        let minutes = parts.iter().map(|part| part.seconds).sum::<f64>() / 60.0;
        let _ = writeln!(
            out,
            "| measured | {}, {minutes:.0} minutes, parts {} |",
            dates.join(", "),
            parts.iter().map(|part| &*part.name).collect::<Vec<_>>().join(", ")
        );
    }
    out
}

pub(super) fn table(out: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|{}", "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

pub(super) fn ms(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |s| format!("{:.*}", if s < 0.0995 { 1 } else { 0 }, s * 1e3))
}

pub(super) fn mib(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!("{:.0}", bytes as f64 / MIB))
}

fn of_subject(out: &mut String, figures: &Figures, subject: &str) {
    let yardstick = |who| figures.find(subject, "yardstick", who, "");
    let size = yardstick("scan").and_then(|f| f.bytes.zip(f.count));
    let size = size.map_or_else(String::new, |(bytes, events)| {
        format!(": {:.1} MB, {events} events", bytes as f64 / 1e6)
    });
    let _ = write!(out, "\n## {subject}{size}\n\n");
    let unit = ["read", "scan"].iter().map(|who| yardstick(who).and_then(|f| f.seconds)).sum::<Option<f64>>();
    let label = |who| match who {
        "read" => "read of the file",
        "scan" => "scan: three integers an event, one thread",
        _ => "xspace: parse, and decode every event, one thread",
    };
    let rows = ["read", "scan", "walk"].iter().filter_map(|who| Some((who, yardstick(who)?)));
    let rows = rows.map(|(who, f)| {
        let ratio = f.seconds.zip(unit).map_or_else(String::new, |(s, unit)| format!("{:.2}", s / unit));
        vec![label(who).to_owned(), ms(f.seconds), ratio]
    });
    table(out, &["yardsticks", "ms", "x scan+read"], rows.collect());
    let mut whats: Vec<&str> = Vec::new();
    for f in figures.0.iter().filter(|f| f.subject == subject && f.who != "scan" && f.what != "tiles") {
        let plain =
            !["yardstick", "index", "where time goes", "all of these", "trace", "overview of a trace"]
                .contains(&&*f.what);
        if plain && !f.what.starts_with("new windows") && !whats.contains(&&*f.what) {
            whats.push(&f.what);
        }
    }
    if whats.is_empty() {
        return;
    }
    out.push_str("\nMilliseconds; memory in MiB.\n\n");
    let head = [
        "tool",
        "by",
        "cold",
        "CPU",
        "peak",
        "reopened",
        "peak",
        "indexed",
        "warm",
        "x ours: cold",
        "CPU",
        "peak",
    ];
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for what in whats {
        let ours = figures.find(subject, what, OURS, "cold");
        for who in [OURS, "xprof", "xprof-rs", DUCKDB] {
            let of = |state| figures.find(subject, what, who, state);
            let Some(cold) = of("cold") else { continue };
            let seconds = |state| ms(of(state).and_then(|f| f.seconds));
            let ratio = |of: fn(&Figure) -> Option<f64>| {
                let ratio = of(cold).zip(ours.and_then(of)).filter(|_| who != OURS);
                ratio.map_or_else(String::new, |(theirs, ours)| format!("{:.1}", theirs / ours))
            };
            rows.push(vec![
                what.to_owned(),
                who.to_owned(),
                ms(cold.seconds),
                ms(cold.cpu_s),
                mib(cold.bytes),
                seconds("reopened"),
                mib(of("reopened").and_then(|f| f.bytes)),
                seconds("indexed"),
                seconds("warm"),
                ratio(|f| f.seconds),
                ratio(|f| f.cpu_s),
                ratio(|f| f.bytes.map(|bytes| bytes as f64)),
            ]);
            for state in ["cold", "reopened", "indexed", "warm"] {
                let note = of(state).and_then(|f| f.note.as_deref());
                // That there is no index is told once, with the budgets.
                if let Some(note) = note.filter(|note| *note != NO_CACHE) {
                    notes.push(format!("- {what}, {who}, {state}: {note}"));
                }
            }
        }
    }
    table(out, &head, rows);
    if let Some(index) = figures.find(subject, "index", OURS, "cold") {
        let size =
            index.bytes.map_or_else(String::new, |bytes| format!(", {:.0} MB on disk", bytes as f64 / 1e6));
        let said = index.note.clone().unwrap_or_else(|| format!("{} ms{size}", ms(index.seconds)));
        notes.push(format!("- `haloscope index`: {said}"));
    }
    if let Some(bytes) = figures.find(subject, "all of these", OURS, "warm").and_then(|f| f.bytes) {
        notes.push(format!("- our server after all of these: peak {} MiB", mib(Some(bytes))));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "\n{}", notes.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_by_hand_stays() {
        let first = page(&[], &Figures::default(), &[], "## What was tried\n\nThis.");
        assert_eq!(by_hand(&first), "## What was tried\n\nThis.");
        assert_eq!(by_hand(&page(&[], &Figures::default(), &[], by_hand(&first))), by_hand(&first));
        assert_eq!(by_hand("# Benchmarks"), "");
    }

    #[test]
    fn a_tool_has_a_row_for_each_program_and_a_line_for_each_failure() {
        let figure = |what, who, state| Figure::new("generated 80 MB", what, who, state);
        let figures = Figures(vec![
            Figure {
                seconds: Some(0.05),
                bytes: Some(80_000_000),
                count: Some(7),
                ..figure("yardstick", "scan", "")
            },
            Figure { seconds: Some(0.2), bytes: Some(100 << 20), ..figure("overview", OURS, "cold") },
            figure("overview", OURS, "reopened").note("something failed"),
            Figure { seconds: Some(10.0), bytes: Some(400 << 20), ..figure("overview", "xprof", "cold") },
        ]);
        let said = page(&[], &figures, &[], "");
        assert!(said.contains("## generated 80 MB: 80.0 MB, 7 events"), "{said}");
        assert!(said.contains("| overview | haloscope | 200 |  | 100 |  |  |  |  |  |  |  |"), "{said}");
        assert!(said.contains("| overview | xprof | 10000 |  | 400 |  |  |  |  | 50.0 |  | 4.0 |"), "{said}");
        assert!(said.contains("- overview, haloscope, reopened: something failed"), "{said}");
    }
}
