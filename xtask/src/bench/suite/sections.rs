//! The sections of `docs/benchmarks.md` behind the tables of tools.

use std::fmt::Write;

use super::budgets;
use super::figures::{Figure, Figures, Part};
use super::markdown::{mib, ms, table};
use super::ours::OURS;

pub(super) fn growth(out: &mut String, figures: &Figures) {
    let subjects = budgets::generated(figures);
    if subjects.len() < 2 {
        return;
    }
    out.push_str("\n## How time and memory grow\n\n");
    let row = |subject: &str| {
        let size = figures.find(subject, "yardstick", "scan", "");
        let (bytes, events) = (size.and_then(|f| f.bytes), size.and_then(|f| f.count));
        let cold = figures.find(subject, "overview", OURS, "cold");
        let per = |by: Option<u64>, unit: f64| {
            let each = cold.and_then(|f| f.seconds).zip(by).map(|(s, by)| s / by as f64 * unit);
            each.map_or_else(String::new, |each| format!("{each:.1}"))
        };
        let share = cold.and_then(|f| f.bytes).zip(bytes).map(|(peak, bytes)| peak as f64 / bytes as f64);
        let seconds = |who, state| ms(figures.seconds(subject, "overview", who, state));
        vec![
            subject.to_owned(),
            seconds(OURS, "cold"),
            per(bytes, 1e9),
            per(events, 1e9),
            mib(cold.and_then(|f| f.bytes)),
            share.map_or_else(String::new, |share| format!("{share:.2}")),
            seconds(OURS, "reopened"),
            seconds("xprof", "cold"),
            seconds("xprof-rs", "cold"),
        ]
    };
    let head = [
        "cold `overview`",
        "ms",
        "s a GB",
        "ns an event",
        "peak MiB",
        "x file",
        "reopened ms",
        "xprof ms",
        "xprof-rs ms",
    ];
    table(out, &head, subjects.into_iter().map(row).collect());
    if let Some(exponent) = budgets::exponent(figures) {
        let _ =
            writeln!(out, "\nBy least squares the time grows with the size to the power of {exponent:.3}.");
    }
}

pub(super) fn hosts(out: &mut String, figures: &Figures) {
    for subject in figures.subjects("session") {
        let _ = write!(out, "\n## {subject}: one session of many hosts\n\n");
        let of = |subject, who, state| figures.find(subject, "overview of hosts", who, state);
        let rows = [
            ("haloscope, one of the hosts, cold", of("one of the hosts", OURS, "cold")),
            ("haloscope, all, cold", of(subject, OURS, "cold")),
            ("haloscope, all, reopened", of(subject, OURS, "reopened")),
            ("xprof, all, cold", of(subject, "xprof", "cold")),
            ("xprof-rs, all, cold", of(subject, "xprof-rs", "cold")),
        ];
        let mut rows: Vec<Vec<String>> = rows
            .into_iter()
            .filter_map(|(label, f)| f.map(|f| (label.to_owned(), f)))
            .map(|(label, f)| vec![label, ms(f.seconds), mib(f.bytes), f.note.clone().unwrap_or_default()])
            .collect();
        for limit in figures.0.iter().filter(|f| f.what == "memory limit") {
            let label = format!("haloscope, all, `--memory-limit` of {}", limit.state);
            rows.push(vec![
                label,
                ms(limit.seconds),
                mib(limit.bytes),
                limit.note.clone().unwrap_or_default(),
            ]);
        }
        table(out, &["`overview`", "ms", "peak MiB", ""], rows);
    }
}

pub(super) fn windows(out: &mut String, figures: &Figures) {
    for subject in figures.subjects("new windows") {
        let _ = write!(
            out,
            "\n## {subject}: analyses over new time windows, warm\n\nOver HTTP, from the request to the last byte; windows from the whole run to a hundred-thousandth of it.\n\n"
        );
        let mut rows: Vec<&Figure> =
            figures.0.iter().filter(|f| f.what == "new windows" && f.subject == subject).collect();
        rows.sort_by(|a, b| b.other_s.unwrap_or(0.0).total_cmp(&a.other_s.unwrap_or(0.0)));
        let row = |f: &&Figure| {
            let count = f.count.map_or_else(String::new, |count| count.to_string());
            vec![
                format!("`{}`", f.state),
                ms(f.seconds),
                ms(f.other_s),
                count,
                f.note.clone().unwrap_or_default(),
            ]
        };
        table(out, &["analysis", "median ms", "longest ms", "windows", ""], rows.iter().map(row).collect());
    }
}

pub(super) fn tiles(out: &mut String, figures: &Figures) {
    let rows: Vec<&Figure> = figures.0.iter().filter(|f| f.what == "tiles").collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("\n## Tiles of the timeline\n\n200 windows at all places and zooms, 1500 px, from a server over HTTP.\n\n");
    let row = |f: &&Figure| {
        let first = f.count.is_none();
        let size = f.bytes.map_or_else(String::new, |b| {
            if first {
                format!("peak of the server {} MiB", mib(Some(b)))
            } else {
                format!("{:.0} kB each, {} tracks", b as f64 / 1e3, f.count.unwrap_or(0))
            }
        });
        let [p99, other] = if first { ["first", "again"] } else { ["p99 in the server", "p99 over HTTP"] };
        vec![
            f.subject.clone(),
            f.state.clone(),
            format!("{p99} {}", ms(f.seconds)),
            format!("{other} {}", ms(f.other_s)),
            size,
        ]
    };
    table(out, &["profile", "what", "ms", "ms", ""], rows.iter().map(row).collect());
}

pub(super) fn traces(out: &mut String, figures: &Figures) {
    let subjects = figures.subjects("trace");
    if subjects.is_empty() {
        return;
    }
    out.push_str("\n## Recorded profiles\n\n`overview`, whole processes, milliseconds and MiB.\n\n");
    let row = |subject: &str| {
        let of = |who, state| figures.find(subject, "overview of a trace", who, state);
        let size = figures.find(subject, "trace", OURS, "");
        let mut row = vec![
            subject.to_owned(),
            size.and_then(|f| f.bytes).map_or_else(String::new, |b| format!("{:.1}", b as f64 / 1e6)),
            size.and_then(|f| f.count).map_or_else(String::new, |n| n.to_string()),
            ms(of(OURS, "cold").and_then(|f| f.seconds)),
            mib(of(OURS, "cold").and_then(|f| f.bytes)),
            ms(of(OURS, "reopened").and_then(|f| f.seconds)),
        ];
        for who in ["xprof", "xprof-rs"] {
            let cold = of(who, "cold");
            row.extend([ms(cold.and_then(|f| f.seconds)), mib(cold.and_then(|f| f.bytes))]);
        }
        row
    };
    let head = ["profile", "MB", "files", "cold", "peak", "reopened", "xprof", "peak", "xprof-rs", "peak"];
    table(out, &head, subjects.into_iter().map(row).collect());
    let failed = figures.0.iter().filter(|f| f.what == "overview of a trace" && f.state == "cold");
    let failed = failed.filter_map(|f| Some(format!("- {}, {}: {}", f.subject, f.who, f.note.as_deref()?)));
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        let _ = writeln!(out, "\n{}", failed.join("\n"));
    }
}

pub(super) fn where_time_goes(out: &mut String, figures: &Figures) {
    for subject in figures.subjects("where time goes") {
        let _ = write!(
            out,
            "\n## Where the time of a cold `overview` goes ({subject})\n\nFunctions by their own share of the processor time of all threads, sampled by `perf`; `[k]` is the system.\n\n"
        );
        let rows = figures.0.iter().filter(|f| f.what == "where time goes" && f.subject == subject);
        let row = |f: &Figure| {
            vec![
                format!("{:.1}%", f.seconds.unwrap_or(0.0) * 100.0),
                format!("`{}`", f.state.replace('|', "/")),
            ]
        };
        table(out, &["share", "function"], rows.map(row).collect());
    }
}

pub(super) fn left_out(out: &mut String, parts: &[Part]) {
    let mut all: Vec<&str> = parts.iter().flat_map(|part| &part.left_out).map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    let missing: Vec<&str> =
        super::ALL.into_iter().filter(|name| parts.iter().all(|part| part.name != *name)).collect();
    if all.is_empty() && missing.is_empty() {
        return;
    }
    out.push_str("\n## Left out\n\n");
    for why in all {
        let _ = writeln!(out, "- {why}");
    }
    if !missing.is_empty() {
        let _ = writeln!(out, "- not measured with this build: {}", missing.join(", "));
    }
}
