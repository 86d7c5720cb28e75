//! Every budget as a line: what was asked for, what was measured, and whether it was kept.

use super::figures::{Figure, Figures};
use super::ours::OURS;
use super::sql::{DUCKDB, GAPS, GROUP_BY, WINDOW};
use crate::bench::table::MIB;

/// Files below this size say nothing of how time grows, bytes.
const GROWTH_FROM: u64 = 50_000_000;
/// From so many events on, SQL has a bound in seconds.
const MANY_EVENTS: u64 = 10_000_000;
/// Answers of XProf's shape that xprof-rs gives too.
const SHAPED: [&str; 6] =
    ["overview_page", "hlo_stats", "framework_op_stats", "roofline_model", "op_profile", "trace window"];

/// One budget.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Budget {
    pub(super) what: String,
    pub(super) budget: String,
    /// What was measured; `None` where it was not.
    pub(super) measured: Option<String>,
    pub(super) kept: Option<bool>,
}

impl Budget {
    fn at_most(what: String, value: Option<f64>, most: f64, text: impl Fn(f64) -> String) -> Self {
        let (measured, kept) = (value.map(&text), value.map(|value| value <= most));
        Self { what, budget: format!("at most {}", text(most)), measured, kept }
    }

    fn at_least(what: String, value: Option<f64>, least: f64) -> Self {
        let (measured, kept) = (value.map(times), value.map(|value| value >= least));
        Self { what, budget: format!("at least {}", times(least)), measured, kept }
    }

    fn with(mut self, note: Option<String>) -> Self {
        if let Some(note) = note {
            let measured = self.measured.unwrap_or_default();
            self.measured = Some(if measured.is_empty() { note } else { format!("{measured}; {note}") });
        }
        self
    }
}

fn times(value: f64) -> String {
    let digits = if value >= 9.95 { 0 } else { 2 };
    format!("{value:.digits$}x")
}

fn ms(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

/// All of them, in the order of the design.
pub(super) fn all(figures: &Figures) -> Vec<Budget> {
    let mut all = Vec::new();
    for subject in generated(figures) {
        all.extend(of_file(figures, subject));
    }
    for subject in figures.subjects("overview") {
        all.extend(shaped(figures, subject));
    }
    all.extend(sql(figures));
    all.push(Budget::at_most(
        "time of a cold `overview` grows with the size to the power of".to_owned(),
        exponent(figures),
        1.05,
        |value| format!("{value:.2}"),
    ));
    all.extend(hosts(figures));
    all.extend(windows(figures));
    all.extend(tiles(figures));
    all.extend(page(figures));
    all
}

/// Generated profiles of one file of which the overview was measured.
pub(super) fn generated(figures: &Figures) -> Vec<&str> {
    let mut subjects = figures.subjects("overview");
    subjects.retain(|subject| subject.starts_with("generated"));
    subjects
}

fn of_file(figures: &Figures, subject: &str) -> Vec<Budget> {
    let cold = figures.find(subject, "overview", OURS, "cold");
    let seconds = cold.and_then(|cold| cold.seconds);
    let bytes = figures.find(subject, "yardstick", "read", "").and_then(|f| f.bytes);
    let mut all = vec![Budget::at_most(
        format!("{subject}: cold `overview` against scan and read"),
        ratio(seconds, unit(figures, subject)),
        2.0,
        times,
    )];
    let peak = cold.and_then(|cold| cold.bytes).map(|bytes| bytes as f64);
    if let Some(bytes) = bytes {
        let most = 1.5 * bytes as f64 + 64.0 * MIB;
        let what = format!("{subject}: peak memory, cold (1.5 times the file and 64 MiB)");
        all.push(Budget::at_most(what, peak, most, mib));
    }
    let reopened = figures.find(subject, "overview", OURS, "reopened");
    all.push(
        Budget::at_most(
            format!("{subject}: reopened `overview` against cold"),
            ratio(reopened.and_then(|f| f.seconds), seconds),
            0.1,
            |value| format!("{value:.3}x"),
        )
        .with(reopened.and_then(|f| f.note.clone())),
    );
    for (who, least) in [("xprof", 25.0), ("xprof-rs", 3.0)] {
        let Some(theirs) = figures.find(subject, "overview", who, "cold") else { continue };
        let what = format!("{subject}: cold `overview`, {who}'s time against ours");
        all.push(Budget::at_least(what, ratio(theirs.seconds, seconds), least).with(theirs.note.clone()));
    }
    if let Some(theirs) = figures.find(subject, "overview", "xprof-rs", "cold") {
        let share = ratio(peak, theirs.bytes.map(|bytes| bytes as f64));
        let what = format!("{subject}: peak memory, cold, against xprof-rs's");
        all.push(Budget::at_most(what, share, 1.0 / 3.0, times).with(theirs.note.clone()));
    }
    all
}

/// Answers of XProf's shape against the peers that give them too.
fn shaped(figures: &Figures, subject: &str) -> Vec<Budget> {
    let mut all = Vec::new();
    for what in SHAPED {
        let Some(ours) = figures.find(subject, what, OURS, "cold").filter(|f| f.seconds.is_some()) else {
            continue;
        };
        if let Some(xprof) = figures.find(subject, what, "xprof", "cold") {
            let label = format!("{subject}: cold `{what}`, xprof's time against ours");
            all.push(
                Budget::at_least(label, ratio(xprof.seconds, ours.seconds), 20.0).with(xprof.note.clone()),
            );
        }
        let Some(theirs) = figures.find(subject, what, "xprof-rs", "cold").filter(|f| f.seconds.is_some())
        else {
            continue;
        };
        let size = |f: &Figure| f.bytes.map(|bytes| bytes as f64);
        for (of, share, most) in [
            ("time", ratio(ours.seconds, theirs.seconds), 1.0),
            ("CPU time", ratio(ours.cpu_s, theirs.cpu_s), 1.0),
            ("peak memory", ratio(size(ours), size(theirs)), 0.5),
        ] {
            // A server that answers first has no CPU time of its own here.
            if share.is_some() {
                let label = format!("{subject}: cold `{what}`, our {of} against xprof-rs's");
                all.push(Budget::at_most(label, share, most, times));
            }
        }
    }
    all
}

/// SQL against the scan and DuckDB.
fn sql(figures: &Figures) -> Vec<Budget> {
    let mut all = Vec::new();
    for subject in figures.subjects(GROUP_BY) {
        let ours = |what| figures.seconds(subject, what, OURS, "cold");
        let of = |what| format!("{subject}: {what}");
        all.push(Budget::at_most(
            format!("{}, cold, against scan and read", of(GROUP_BY)),
            ratio(ours(GROUP_BY), unit(figures, subject)),
            2.5,
            times,
        ));
        let theirs = figures.find(subject, GAPS, DUCKDB, "cold");
        all.push(
            Budget::at_most(
                format!("{}, against DuckDB on Parquet", of(GAPS)),
                ratio(ours(GAPS), theirs.and_then(|f| f.seconds)),
                2.0,
                times,
            )
            .with(theirs.and_then(|f| f.note.clone())),
        );
        let events = figures.find(subject, "yardstick", "scan", "").and_then(|f| f.count);
        if events.is_some_and(|events| events >= MANY_EVENTS) {
            for (what, most) in [(GROUP_BY, 0.3), (WINDOW, 0.05)] {
                let again = figures.seconds(subject, what, OURS, "indexed");
                all.push(Budget::at_most(
                    format!("{}, asked again, whole process", of(what)),
                    again,
                    most,
                    ms,
                ));
            }
        }
    }
    all
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a / b)
}

/// Read and scan of a subject together, seconds.
fn unit(figures: &Figures, subject: &str) -> Option<f64> {
    let yardstick = |who| figures.seconds(subject, "yardstick", who, "");
    yardstick("read").zip(yardstick("scan")).map(|(read, scan)| read + scan)
}

fn mib(bytes: f64) -> String {
    format!("{:.0} MiB", bytes / MIB)
}

/// The slope of the logarithm of the time over that of the size, by least squares.
pub(super) fn exponent(figures: &Figures) -> Option<f64> {
    let point = |subject: &str| {
        let bytes = figures.find(subject, "yardstick", "read", "")?.bytes.filter(|b| *b >= GROWTH_FROM)?;
        Some(((bytes as f64).ln(), figures.seconds(subject, "overview", OURS, "cold")?.ln()))
    };
    let points: Vec<(f64, f64)> = generated(figures).into_iter().filter_map(point).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    // Two sizes or more, and not the same.
    (points.len() >= 2 && spread > 0.1)
        .then(|| points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread)
}

fn hosts(figures: &Figures) -> Vec<Budget> {
    let mut all = Vec::new();
    let one = figures.find("one of the hosts", "overview of hosts", OURS, "cold");
    for subject in figures.subjects("session") {
        let cold = figures.find(subject, "overview of hosts", OURS, "cold");
        let peak = |f: Option<&Figure>| f.and_then(|f| f.bytes).map(|bytes| bytes as f64);
        let share = peak(cold).zip(peak(one)).map(|(all, one)| all / one);
        let what = format!("{subject}: peak memory, cold, against one of the hosts");
        all.push(Budget::at_most(what, share, 2.0, times));
        let session = figures.find(subject, "session", OURS, "");
        if let Some((bytes, files)) = session.and_then(|f| f.bytes.zip(f.count)) {
            // The files are of one size.
            let most = 2.0 * (1.5 * bytes as f64 / files as f64 + 64.0 * MIB);
            let what = format!("{subject}: peak memory, cold (what the largest two files may take)");
            all.push(Budget::at_most(what, peak(cold), most, mib));
        }
        let reopened = figures.find(subject, "overview of hosts", OURS, "reopened");
        let again = reopened.and_then(|f| f.seconds);
        let share = again.zip(cold.and_then(|f| f.seconds)).map(|(again, cold)| again / cold);
        let what = format!("{subject}: reopened `overview` against cold");
        let share = Budget::at_most(what, share, 0.1, |value| format!("{value:.3}x"));
        all.push(share.with(reopened.and_then(|f| f.note.clone())));
        for limit in figures.0.iter().filter(|f| f.subject == subject && f.what == "memory limit") {
            let Some(most) = limit.count.map(|bytes| bytes as f64 * 1.1) else { continue };
            let what = format!("{subject}: peak memory with `--memory-limit` of {}", limit.state);
            all.push(Budget::at_most(what, peak(Some(limit)), most, mib).with(limit.note.clone()));
        }
    }
    all
}

/// The longest window of any analysis.
fn windows(figures: &Figures) -> Vec<Budget> {
    let of = |subject: &&str| {
        let rows = figures.0.iter().filter(|f| f.what == "new windows" && f.subject == **subject);
        let worst = rows.filter(|f| f.other_s.is_some()).max_by(|a, b| a.other_s.total_cmp_with(b.other_s));
        let events = figures.find(subject, "yardstick", "scan", "").and_then(|f| f.count);
        let events = events.map_or_else(String::new, |n| format!(", {:.1} million events", n as f64 / 1e6));
        let what = format!("{subject}{events}: the longest answer of any analysis over a new window, warm");
        let which = worst.map(|f| format!("`{}`", f.state));
        Budget::at_most(what, worst.and_then(|f| f.other_s), 0.050, ms).with(which)
    };
    figures.subjects("new windows").iter().map(of).collect()
}

trait TotalCmp {
    fn total_cmp_with(self, other: Self) -> std::cmp::Ordering;
}

impl TotalCmp for Option<f64> {
    fn total_cmp_with(self, other: Self) -> std::cmp::Ordering {
        self.unwrap_or(0.0).total_cmp(&other.unwrap_or(0.0))
    }
}

fn tiles(figures: &Figures) -> Vec<Budget> {
    let mut all = Vec::new();
    for tile in figures.0.iter().filter(|f| f.what == "tiles" && f.count.is_some()) {
        let events = figures.find(&tile.subject, "yardstick", "scan", "").and_then(|f| f.count);
        let events = events.map_or_else(String::new, |n| format!(", {:.0} million events", n as f64 / 1e6));
        let what = format!("{}{events}: tiles of {}, p99 in the server", tile.subject, tile.state);
        all.push(Budget::at_most(what, tile.seconds, 0.010, ms));
    }
    all
}

fn page(figures: &Figures) -> Vec<Budget> {
    let load = |state| figures.find("the page", "first load", OURS, state);
    let Some(all) = load("everything") else { return Vec::new() };
    let bytes = |f: &Figure| f.bytes.map(|bytes| bytes as f64);
    let kilobytes = |bytes: f64| format!("{:.0} kB", bytes / 1e3);
    let what = "the whole page with all that it loads later, on the wire".to_owned();
    let first =
        load("at once").and_then(bytes).map(|bytes| format!("{} before anything is shown", kilobytes(bytes)));
    let mut all = vec![Budget::at_most(what, bytes(all), 500_000.0, kilobytes).with(first)];
    let others = figures.find("the page", "first load", OURS, "other hosts");
    let what = "other hosts that the page names".to_owned();
    let count = others.and_then(|f| f.count).map(|count| count as f64);
    all.push(Budget::at_most(what, count, 0.0, |count| format!("{count:.0}")));
    all
}

pub(super) fn word(budget: &Budget) -> &'static str {
    match budget.kept {
        Some(true) => "kept",
        Some(false) => "**missed**",
        None => "not measured",
    }
}

/// For a terminal.
pub(super) fn text(all: &[Budget]) -> String {
    let line = |b: &Budget| {
        let measured = b.measured.clone().unwrap_or_default();
        format!("{:>12}  {}: {measured} ({})", word(b).trim_matches('*'), b.what, b.budget)
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(points: &[(&str, u64, f64)]) -> Figures {
        let mut all = Vec::new();
        for (subject, bytes, seconds) in points {
            let figure = |what, who, state| Figure::new(subject, what, who, state);
            let yardstick =
                |who, s| Figure { seconds: Some(s), bytes: Some(*bytes), ..figure("yardstick", who, "") };
            all.push(yardstick("read", 0.3));
            all.push(yardstick("scan", 0.2));
            let cold = figure("overview", OURS, "cold");
            all.push(Figure { seconds: Some(*seconds), bytes: Some(*bytes), ..cold });
        }
        Figures(all)
    }

    #[test]
    fn linear_time_has_exponent_one() {
        let linear = [("generated 80 MB", 80_000_000, 0.2), ("generated 800 MB", 800_000_000, 2.0)];
        assert!((exponent(&figures(&linear)).unwrap() - 1.0).abs() < 1e-9);
        let square = [("generated 80 MB", 80_000_000, 0.2), ("generated 800 MB", 800_000_000, 20.0)];
        assert!((exponent(&figures(&square)).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(exponent(&figures(&linear[..1])), None);
    }

    #[test]
    fn budgets_are_kept_missed_or_not_measured() {
        let mut all = figures(&[("generated 80 MB", 80_000_000, 1.25)]);
        let theirs = Figure::new("generated 80 MB", "overview", "xprof", "cold");
        all.0.push(Figure { seconds: Some(50.0), ..theirs });
        let rs = Figure::new("generated 80 MB", "overview", "xprof-rs", "cold").note("ended after 300 s");
        all.0.push(rs);
        let said = text(&super::all(&all));
        assert!(
            said.contains(
                "missed  generated 80 MB: cold `overview` against scan and read: 2.50x (at most 2.00x)"
            ),
            "{said}"
        );
        assert!(
            said.contains(
                "kept  generated 80 MB: cold `overview`, xprof's time against ours: 40x (at least 25x)"
            ),
            "{said}"
        );
        assert!(said.contains("not measured  generated 80 MB: cold `overview`, xprof-rs's time against ours: ended after 300 s"), "{said}");
        assert!(said.contains("kept  generated 80 MB: peak memory, cold (1.5 times"), "{said}");
    }
}
