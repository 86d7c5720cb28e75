//! A report's checks as JUnit XML, which CI systems show as tests.
//!
//! A row of any table with a column `verdict` in which every cell is `pass`, `fail` or `unknown` is a test; a gate without such
//! a row is one test by itself. What is unknown and keeps the gate shut is an error, else it was skipped.

use std::io::{self, Write};

use crate::{Cell, Finding, Gate, Report, Table, clean};

/// A test.
struct Case<'a> {
    /// The table that it stands in.
    class: &'a str,
    name: String,
    verdict: Verdict,
    why: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// Nobody can tell, and that is not allowed.
    Errored,
    Skipped,
}

/// Whether a report has anything that JUnit could hold.
#[must_use]
pub fn has_tests(report: &Report) -> bool {
    !cases(report).is_empty()
}

/// Writes a report's checks as JUnit XML: one suite, named after the analysis.
///
/// # Errors
/// What the writer says.
pub fn junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let cases = cases(report);
    let count = |verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let sums = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        count(Verdict::Failed),
        count(Verdict::Errored),
        count(Verdict::Skipped)
    );
    let suite = format!("haloscope {}", report.analysis);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    // No time: what a check took says nothing of the run.
    writeln!(out, "<testsuites name=\"haloscope\" {sums}>")?;
    writeln!(out, "  <testsuite name=\"{}\" {sums}>", Escaped(&suite))?;
    properties(report, out)?;
    for case in &cases {
        let class = format!("haloscope.{}.{}", report.analysis.replace(' ', "-"), case.class);
        write!(out, "    <testcase classname=\"{}\" name=\"{}\"", Escaped(&class), Escaped(&case.name))?;
        let (element, kind) = match case.verdict {
            Verdict::Passed => {
                // Why it passed is worth reading too.
                writeln!(out, ">\n      <system-out>{}</system-out>\n    </testcase>", Escaped(&case.why))?;
                continue;
            }
            Verdict::Failed => ("failure", " type=\"fail\""),
            Verdict::Errored => ("error", " type=\"unknown\""),
            Verdict::Skipped => ("skipped", ""),
        };
        let why = Escaped(&case.why);
        writeln!(out, ">\n      <{element}{kind} message=\"{why}\">{why}</{element}>\n    </testcase>")?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Headline values in words and flags, so that the verdict is in the file.
fn properties(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let files = report.provenance.files.iter().map(|file| ("file", file.path.clone()));
    let values = report.values.iter().filter_map(|value| match &value.value {
        Cell::Text(text) => Some((value.id, text.clone())),
        Cell::Flag(flag) => Some((value.id, flag.to_string())),
        _ => None,
    });
    writeln!(out, "    <properties>")?;
    for (name, value) in values.chain(files) {
        writeln!(out, "      <property name=\"{}\" value=\"{}\"/>", Escaped(name), Escaped(&value))?;
    }
    writeln!(out, "    </properties>")
}

fn cases(report: &Report) -> Vec<Case<'_>> {
    let Some(gate) = report.gate else { return Vec::new() };
    let mut all: Vec<Case<'_>> = report.tables.iter().flat_map(|table| of_table(table, gate)).collect();
    // A gate that no row explains: it is shut for a reason of its own, such as runs that are not comparable.
    let is_explained = match gate {
        Gate::Passed => !all.is_empty(),
        Gate::Failed => all.iter().any(|case| matches!(case.verdict, Verdict::Failed | Verdict::Errored)),
        Gate::NotComparable => false,
    };
    if !is_explained {
        let claim = |finding: &Finding| format!("{}: {}", finding.claim, finding.evidence);
        let why = report.findings.first().map(claim);
        let (verdict, words) = match gate {
            Gate::Passed => (Verdict::Passed, "all checks hold"),
            Gate::Failed => (Verdict::Failed, "some checks do not hold"),
            Gate::NotComparable => (Verdict::Errored, "the runs are not comparable"),
        };
        let name = if gate == Gate::NotComparable { "comparable" } else { "gate" };
        let why = why.filter(|_| gate != Gate::Passed).unwrap_or_else(|| words.to_owned());
        all.insert(0, Case { class: "gate", name: name.into(), verdict, why });
    }
    all
}

fn of_table<'a>(table: &'a Table, gate: Gate) -> Vec<Case<'a>> {
    let Some(at) = table.column("verdict") else { return Vec::new() };
    let why = table.column("why");
    let case = |row: &'a Vec<Cell>| {
        let verdict = match row.get(at)?.as_text()? {
            "pass" => Verdict::Passed,
            "fail" => Verdict::Failed,
            "unknown" if gate == Gate::Passed => Verdict::Skipped,
            "unknown" => Verdict::Errored,
            _ => return None,
        };
        // A metric may have several limits: what was asked tells them apart.
        let words = [row.first(), table.column("asked").and_then(|asked| row.get(asked))];
        let words: Vec<&str> = words.into_iter().flatten().filter_map(Cell::as_text).collect();
        let why = why.and_then(|at| row.get(at)?.as_text()).unwrap_or_default().to_owned();
        Some(Case { class: table.id, name: words.join(" "), verdict, why })
    };
    // All rows or none: a verdict in other words is that of something else.
    table.rows.iter().map(case).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// A text in XML, in an attribute or between tags. Characters that XML 1.0 has no way to write are shown as `\u{FFFD}`.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&apos;")?,
                // A parser makes spaces of them in attributes unless they are written so.
                '\t' => f.write_str("&#9;")?,
                '\n' => f.write_str("&#10;")?,
                '\r' => f.write_str("&#13;")?,
                '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c => f.write_str(&clean(c.encode_utf8(&mut [0; 4])))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    const COLUMNS: &[Column] = &[
        Column::text("metric", "", ""),
        Column::text("asked", "", ""),
        Column::text("verdict", "", ""),
        Column::prose("why", "", ""),
    ];

    fn report(rows: &[[&str; 4]], gate: Option<Gate>) -> Report {
        let mut table = Table { id: "budgets", title: "", columns: COLUMNS, rows: Vec::new() };
        rows.iter().for_each(|row| table.rows.push(row.iter().map(|cell| (*cell).into()).collect()));
        Report { analysis: "check", tables: vec![table], gate, ..Report::default() }
    }

    fn written(report: &Report) -> String {
        let mut out = Vec::new();
        junit(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_row_is_a_test() {
        let rows = [
            ["step_time", "max 85ms", "pass", "is 80"],
            ["x", "min 1", "fail", "a<b & \"c\"\n\u{1}"],
            ["y", "", "unknown", "z"],
        ];
        let text = written(&report(&rows, Some(Gate::Failed)));
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""), "{text}");
        assert!(text.contains("classname=\"haloscope.check.budgets\" name=\"step_time max 85ms\""), "{text}");
        assert!(text.contains("message=\"a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}\""), "{text}");
        assert!(text.contains("<error type=\"unknown\" message=\"z\">"), "{text}");
        // What may be unknown is skipped.
        let text = written(&report(&rows[2..], Some(Gate::Passed)));
        assert!(text.contains("errors=\"0\" skipped=\"1\""), "{text}");
    }

    #[test]
    fn a_gate_that_no_row_explains_is_a_test_itself() {
        let passing = [["step_time", "", "pass", "is 80"]];
        let text = written(&report(&passing, Some(Gate::NotComparable)));
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"1\""), "{text}");
        let text = written(&report(&[], Some(Gate::Failed)));
        assert!(text.contains("tests=\"1\" failures=\"1\""), "{text}");
        assert!(has_tests(&report(&[], Some(Gate::Passed))));
        assert!(!has_tests(&report(&passing, None)));
        // Rows whose verdict is in other words are no tests.
        let text = written(&report(&[["m", "", "slower", ""]], Some(Gate::Passed)));
        assert!(text.contains("tests=\"1\"") && text.contains("haloscope.check.gate"), "{text}");
    }
}
