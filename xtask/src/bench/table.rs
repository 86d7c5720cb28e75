//! The report of a benchmark as text and as Markdown.

use std::fmt::Write;

use super::tools::{Side, Tool};
use super::{Measured, Report, Row, timeline};

pub(super) const MIB: f64 = 1_048_576.0;

/// For a terminal.
pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    for profile in &report.profiles {
        let _ = writeln!(out, "{}", head(profile));
        let width = profile.rows.iter().map(|r| r.label.len()).max().unwrap_or(0);
        let _ = writeln!(
            out,
            "{:width$}  {:>9}  {:>9}  {:>11}  {:>9}  {:>11}",
            "", "median ms", "best ms", "x scan+read", "peak MiB", "x file size"
        );
        for row in &profile.rows {
            let [median, fastest, ratio, peak, share] = cells(row, profile.bytes);
            let _ = writeln!(
                out,
                "{:width$}  {median:>9}  {fastest:>9}  {ratio:>11}  {peak:>9}  {share:>11}",
                row.label
            );
        }
        for line in conclusions(profile) {
            let _ = writeln!(out, "{line}");
        }
        for row in tools(profile) {
            let _ = writeln!(out, "{}", row.join("  "));
        }
        out.push('\n');
    }
    let _ = write!(out, "{} runs each, median; {} cores", report.runs, report.cores);
    out
}

/// For the documentation.
pub(super) fn markdown(report: &Report) -> String {
    let mut out = String::from(
        "# Benchmarks\n\nWritten by `cargo xtask bench --write docs/benchmarks.md`. Times depend on the machine; the ratios \
         within one table do much less.\nThe yardstick is a *scan* (one thread, one pass over the file's bytes that decodes \
         the three integers of each event) plus\na plain read of the file. Memory is the peak of the whole process.\n",
    );
    for profile in &report.profiles {
        let _ = write!(out, "\n## {}\n\n", head(profile));
        out.push_str(
            "| | median ms | best ms | x scan+read | peak MiB | x file size |\n|---|--:|--:|--:|--:|--:|\n",
        );
        for row in &profile.rows {
            let _ = writeln!(out, "| {} | {} |", row.label, cells(row, profile.bytes).join(" | "));
        }
        out.push('\n');
        for line in conclusions(profile) {
            let _ = writeln!(out, "- {line}");
        }
        let rows = tools(profile);
        if !rows.is_empty() {
            out.push_str("\nXProf's tools, each cold in a fresh process. Ratios are theirs to ours: above 1, ours is quicker or smaller.\n\n");
        }
        for (i, row) in rows.iter().enumerate() {
            let _ = writeln!(out, "| {} |", row.join(" | "));
            if i == 0 {
                out.push_str("|---|--:|--:|--:|--:|--:|--:|\n");
            }
        }
    }
    let _ = writeln!(out, "\n{} runs each, median; {} cores.", report.runs, report.cores);
    out
}

fn head(profile: &Measured) -> String {
    format!("{}, {:.1} MB, {} events", profile.profile, profile.bytes as f64 / 1e6, profile.events)
}

fn cells(row: &Row, file_bytes: u64) -> [String; 5] {
    let of_peak =
        |f: &dyn Fn(f64) -> String| row.peak_bytes.map_or_else(String::new, |bytes| f(bytes as f64));
    [
        format!("{:.1}", row.median_s * 1e3),
        format!("{:.1}", row.fastest_s * 1e3),
        format!("{:.2}", row.times_scan_and_read),
        of_peak(&|bytes| format!("{:.0}", bytes / MIB)),
        of_peak(&|bytes| format!("{:.2}", bytes / file_bytes as f64)),
    ]
}

/// The budgets, kept or not, and the peers.
fn conclusions(profile: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    let find = |id: &str| profile.rows.iter().find(|r| r.id == id);
    if let (Some(walk), Some(scan)) = (find("walk"), find("scan")) {
        lines.push(format!("xspace takes {:.2} times the scan", walk.median_s / scan.median_s));
    }
    if let Some(overview) = find("overview") {
        let ratio = overview.times_scan_and_read;
        lines.push(format!("overview: {ratio:.2} times scan and read; budget 2: {}", kept(ratio <= 2.0)));
        if let Some(peak) = overview.peak_bytes {
            let budget = 1.5 * profile.bytes as f64 + 64.0 * MIB;
            let share = peak as f64 / budget;
            lines.push(format!(
                "peak memory: {share:.2} of the budget (1.5 times the file and 64 MiB): {}",
                kept(share <= 1.0)
            ));
        }
        for peer in ["xprof", "xprof-rs"].iter().filter_map(|id| find(id)) {
            let memory = match (peer.peak_bytes, overview.peak_bytes) {
                (Some(theirs), Some(ours)) => {
                    format!(" and {:.1} times the memory", theirs as f64 / ours as f64)
                }
                _ => String::new(),
            };
            lines.push(format!(
                "{}: {:.1} times the time of overview{memory}",
                peer.label,
                peer.median_s / overview.median_s
            ));
        }
    }
    lines.extend(profile.timeline.iter().flat_map(timeline::lines));
    lines.extend(profile.left_out.iter().map(|why| format!("left out: {why}")));
    lines
}

/// The table of tools with its heading; empty where none was measured.
fn tools(profile: &Measured) -> Vec<[String; 7]> {
    let ratios = |theirs: Option<&Side>, ours: &Side| {
        let text = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}"));
        [
            text(theirs.map(|side| side.median_s / ours.median_s)),
            text(theirs.map(|side| side.peak_bytes as f64 / ours.peak_bytes as f64)),
        ]
    };
    let row = |tool: &Tool| {
        let [time, memory] = ratios(tool.xprof.as_ref(), &tool.ours);
        let [time_rs, memory_rs] = ratios(tool.xprof_rs.as_ref(), &tool.ours);
        let median = format!("{:.1}", tool.ours.median_s * 1e3);
        let peak = format!("{:.0}", tool.ours.peak_bytes as f64 / MIB);
        [format!("`{}`", tool.id), median, peak, time, memory, time_rs, memory_rs]
    };
    let head =
        ["tool", "ms", "peak MiB", "xprof: time", "memory", "xprof-rs: time", "memory"].map(str::to_owned);
    if profile.tools.is_empty() {
        return Vec::new();
    }
    std::iter::once(head).chain(profile.tools.iter().map(row)).collect()
}

pub(super) fn kept(yes: bool) -> &'static str {
    if yes { "kept" } else { "missed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &'static str, seconds: f64, peak_bytes: Option<u64>) -> Row {
        Row {
            id,
            label: id.to_owned(),
            median_s: seconds,
            fastest_s: seconds,
            times_scan_and_read: seconds / 0.5,
            peak_bytes,
        }
    }

    #[test]
    fn budgets_and_peers_are_told() {
        let rows = vec![
            row("scan", 0.3, None),
            row("walk", 0.36, None),
            row("overview", 1.25, Some(100 << 20)),
            row("xprof", 12.5, Some(400 << 20)),
        ];
        let profile = Measured {
            profile: "p".into(),
            bytes: 10 << 20,
            events: 5,
            rows,
            tools: vec![Tool {
                id: "hlo_stats",
                ours: Side { median_s: 0.01, peak_bytes: 20 << 20 },
                xprof: Some(Side { median_s: 1.5, peak_bytes: 400 << 20 }),
                xprof_rs: None,
            }],
            timeline: None,
            left_out: vec!["x: no".into()],
        };
        assert_eq!(
            conclusions(&profile),
            [
                "xspace takes 1.20 times the scan",
                "overview: 2.50 times scan and read; budget 2: missed",
                "peak memory: 1.27 of the budget (1.5 times the file and 64 MiB): missed",
                "xprof: 10.0 times the time of overview and 4.0 times the memory",
                "left out: x: no",
            ]
        );
        let report = Report { runs: 3, cores: 2, profiles: vec![profile] };
        assert!(text(&report).contains("p, 10.5 MB, 5 events"));
        assert!(markdown(&report).contains("| overview | 1250.0 | 1250.0 | 2.50 | 100 | 10.00 |"));
        assert!(markdown(&report).contains("| `hlo_stats` | 10.0 | 20 | 150.0 | 20.0 |  |  |"));
    }
}
