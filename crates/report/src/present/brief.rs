//! A report on one screen: its verdict, the first few findings with what to do, a line of numbers, and how to see the rest.

use std::io::{self, Write};

use super::text::{shortened, width, wrap};
use super::{Layout, words};
use crate::{Finding, Report, Severity, Status, clean};

/// Findings that are shown.
const FINDINGS: usize = 3;

/// Lines of a text, at most: the verdict may be longer.
const LINES: usize = 3;

/// Remarks on the data that stand above all.
const REMARKS: usize = 2;

/// What the short form of a report says.
pub(super) struct Brief<'a> {
    /// What is damaged or missing.
    pub remarks: Vec<&'a str>,
    /// The report's verdict.
    pub verdict: Option<&'a str>,
    /// The first findings.
    pub findings: &'a [Finding],
    /// Headline numbers with their labels.
    pub numbers: Vec<String>,
    /// What else there is.
    pub more: String,
    /// The command that shows it.
    pub command: String,
}

impl<'a> Brief<'a> {
    /// The short form of a report, with the values of these ids as its numbers.
    pub(super) fn of(report: &'a Report, numbers: &[&str], run: &str) -> Self {
        let remarks = report.quality.iter().filter(|note| note.severity > Severity::Info);
        let number = |id: &&str| {
            let value = report.value(id)?;
            let text = words::value(value);
            value.value.number().map_or_else(|| value.value.as_text().map(|_| ()), |_| Some(()))?;
            let estimated = if value.status == Status::Estimated { " (estimated)" } else { "" };
            Some(format!("{} {text}{estimated}", value.label))
        };
        let shown = report.findings.len().min(FINDINGS);
        let more = match report.findings.len() - shown {
            0 => "evidence and tables".to_owned(),
            1 => "1 more finding, evidence and tables".to_owned(),
            more => format!("{more} more findings, evidence and tables"),
        };
        Self {
            remarks: remarks.take(REMARKS).map(|note| note.message.as_str()).collect(),
            verdict: report.value("verdict").and_then(|value| value.value.as_text()),
            findings: &report.findings[..shown],
            numbers: numbers.iter().filter_map(number).collect(),
            more,
            command: format!("haloscope {} {run} --all", report.analysis),
        }
    }
}

/// What to do, as one action: the text up to its first condition.
pub(super) fn action(recommendation: &str) -> &str {
    recommendation.split_once("; ").map_or(recommendation, |(first, _)| first)
}

/// What a finding says where the verdict has not said it.
pub(super) fn claim<'a>(at: usize, brief: &Brief<'a>) -> Option<&'a str> {
    let claim = brief.findings.get(at)?.claim.as_str();
    (!brief.verdict.is_some_and(|verdict| verdict.contains(claim))).then_some(claim)
}

/// Writes the report on one screen, with the values of these ids in its line of numbers.
///
/// # Errors
/// What the writer says.
pub fn brief(report: &Report, numbers: &[&str], layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
    let brief = Brief::of(report, numbers, layout.runs.one);
    let paint = |style: &str, text: &str| {
        if layout.colour && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    };
    let columns = layout.width.max(super::table::NARROWEST);
    let labelled = |out: &mut dyn Write, label: &str, style: &str, indent: usize, text: &str, most: usize| {
        for (i, line) in shortened(&clean(text), columns - indent, most).iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            let pad = " ".repeat(indent.saturating_sub(width(label)));
            writeln!(out, "{}{pad}{line}", paint(style, label))?;
        }
        Ok::<_, io::Error>(())
    };
    for remark in &brief.remarks {
        labelled(out, "!", "1;31", 2, remark, LINES - 1)?;
    }
    if !brief.remarks.is_empty() {
        writeln!(out)?;
    }
    if let Some(verdict) = brief.verdict {
        for line in wrap(&clean(verdict), columns) {
            writeln!(out, "{}", paint("1", &line))?;
        }
        writeln!(out)?;
    }
    for (at, finding) in brief.findings.iter().enumerate() {
        let mut number = format!("{}", at + 1);
        let mut parts: Vec<(&str, String)> = Vec::new();
        parts.extend(claim(at, &brief).map(|claim| ("", claim.to_owned())));
        if finding.speedup.is_some() {
            let estimated = if finding.status == Status::Estimated { " (estimated)" } else { "" };
            parts.push(("gain", format!("at most {}{estimated}", finding.ceiling)));
        }
        if !finding.recommendation.is_empty() {
            parts.push(("try", action(&finding.recommendation).to_owned()));
        }
        for (label, text) in parts {
            let label = if label.is_empty() { number.clone() } else { format!("{number:<3}{label}") };
            let indent = if width(&label) > 3 { 8 } else { 3 };
            labelled(out, &label, "2", indent, &text, LINES)?;
            number.clear();
        }
        if let Some(link) = finding.links.first() {
            for (i, line) in words::command_lines(link, &layout.runs, columns - 8).iter().enumerate() {
                let label = if i == 0 { format!("{number:<3}see") } else { String::new() };
                writeln!(out, "{}{}{line}", paint("2", &label), " ".repeat(8 - width(&label)))?;
            }
        }
        writeln!(out)?;
    }
    if !brief.numbers.is_empty() {
        labelled(out, "", "", 0, &brief.numbers.join(" · "), LINES)?;
    }
    let room = columns.saturating_sub(width(&brief.more) + 3);
    if width(&brief.command) <= room {
        return writeln!(out, "{}  {}", paint("2", &format!("{}:", brief.more)), brief.command);
    }
    writeln!(out, "{}", paint("2", &format!("{}:", brief.more)))?;
    words::shell_lines(&brief.command, columns - 2).iter().try_for_each(|line| writeln!(out, "  {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, Quality, RunWords, Unit, Value};

    fn report() -> Report {
        let finding = |claim: &str, speedup: Option<f64>| Finding {
            id: "straggler",
            claim: claim.to_owned(),
            ceiling: "1.18x: 15.6% of the active window".to_owned(),
            speedup,
            recommendation: "run it on that host alone; if it is slow there too, replace the machine"
                .to_owned(),
            links: vec![Link::to("hosts").device("tw-5/TPU:3").row("devices", "tw-5/TPU:3")],
            ..Finding::default()
        };
        Report {
            analysis: "diagnose",
            quality: vec![Quality {
                id: "damaged_file",
                severity: Severity::Warning,
                message: "the file is cut".into(),
                cost: String::new(),
                fix: String::new(),
            }],
            values: vec![
                Value::new(
                    "verdict",
                    "Verdict",
                    Some("w-5 is slow: at most 1.18x"),
                    Unit::None,
                    Status::Derived,
                    "",
                ),
                Value::new("latency_ps", "Step", Some(9.778e9), Unit::Ps, Status::Measured, ""),
                Value::new::<f64>("gap_share", "Gap", None, Unit::Share, Status::Measured, ""),
            ],
            findings: vec![
                finding("w-5 is slow", Some(1.18)),
                finding("second", None),
                finding("third", Some(1.01)),
                finding("fourth", None),
            ],
            ..Report::default()
        }
    }

    fn text(layout: &Layout<'_>) -> String {
        let mut out = Vec::new();
        brief(&report(), &["latency_ps", "gap_share"], layout, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_screen() {
        insta::assert_snapshot!(text(&Layout {
            runs: RunWords { one: "logs", both: "" },
            ..Layout::default()
        }));
    }

    #[test]
    fn no_line_is_wider_than_asked_and_no_word_is_cut() {
        for columns in 40..100 {
            for line in {
                let runs = RunWords { one: "a/rather/long/name/of/a/run", both: "" };
                text(&Layout { width: columns, runs, ..Layout::default() })
            }
            .lines()
            {
                assert!(width(line) <= columns || !line.trim().contains(' '), "{columns}: {line}");
            }
        }
        assert_eq!(shortened("one two three four", 9, 1), ["one two …"]);
        assert_eq!(shortened("one two", 9, 1), ["one two"]);
    }
}
