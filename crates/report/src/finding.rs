//! What follows from the numbers.

use std::borrow::Cow;

use serde::Serialize;

use super::{Status, clean};

/// How much a finding or a remark on the data matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    #[default]
    Info,
    /// Numbers are affected or time is lost.
    Warning,
    /// An answer is missing or most of the time is lost.
    Error,
}

impl Severity {
    /// The word for it, as JSON has it too.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A claim with its evidence, what fixing it could give at most, what to try, and what would disprove it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Stable id, such as `diluted_averages`.
    pub id: &'static str,
    /// Which sort of finding it is, where its id has several, as a stable id such as `at_pace`; else JSON leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'static str>,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub claim: String,
    /// The numbers it rests on.
    pub evidence: String,
    /// What removing the cause could give at most, in words with a number.
    pub ceiling: String,
    /// The same as a number: the time now over the time without the cause. `None` where nothing would be faster or nobody
    /// can tell.
    pub speedup: Option<f64>,
    /// What to try.
    #[serde(rename = "lever")]
    pub recommendation: String,
    /// The observation that would refute it.
    pub falsifier: String,
    /// How it is known.
    pub status: Status,
    /// Where to look at the evidence.
    pub links: Vec<Link>,
    /// The finding of the same report, by its id, whose symptom this one is, in part or whole; its time counts there.
    pub explained_by: Option<&'static str>,
    /// What other findings of the same report would claim and is due to this one: for the pass that ranks them.
    #[serde(skip)]
    pub explains: Vec<Explained>,
}

/// Time that findings of another rule would claim, and that is due to the one that says so.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Explained {
    /// The id of the other findings.
    pub rule: &'static str,
    /// The share of the whole (in `diagnose`: of the active window), 0 to 1.
    pub share: f64,
}

impl Finding {
    /// With a share of the time that findings of another rule would claim, and that is due to this one.
    #[must_use]
    pub fn explaining(mut self, rule: &'static str, share: f64) -> Self {
        self.explains.push(Explained { rule, share });
        self
    }
}

/// A place where evidence can be looked at: a question with a scope, a table of its answer, a row of that table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The analysis, or `timeline`.
    pub analysis: &'static str,
    /// Parameters of the analysis, by name.
    pub params: Vec<(&'static str, String)>,
    /// The table of its report; empty for the report as a whole.
    pub table: &'static str,
    /// The text of the row's first cell; `None` for all rows.
    pub row: Option<String>,
    /// Devices to keep to, by their names in the tables; none means all.
    pub devices: Vec<String>,
    /// Steps to keep to, such as `2-5`.
    pub steps: Option<String>,
    /// The time to keep to, picoseconds on the run's clock.
    pub window_ps: Option<[i64; 2]>,
}

impl Link {
    /// The report of an analysis as a whole; `timeline` is the timeline.
    #[must_use]
    pub fn to(analysis: &'static str) -> Self {
        Self { analysis, ..Self::default() }
    }

    /// A table of the report.
    #[must_use]
    pub fn table(self, table: &'static str) -> Self {
        Self { table, ..self }
    }

    /// A row of a table, by the text of its first cell.
    #[must_use]
    pub fn row(self, table: &'static str, row: impl Into<String>) -> Self {
        Self { table, row: Some(row.into()), ..self }
    }

    /// With a parameter of the analysis.
    #[must_use]
    pub fn param(mut self, id: &'static str, value: impl Into<String>) -> Self {
        self.params.push((id, value.into()));
        self
    }

    /// Only this device.
    #[must_use]
    pub fn device(mut self, name: impl Into<String>) -> Self {
        self.devices.push(name.into());
        self
    }

    /// Only these steps, such as `2-5`.
    #[must_use]
    pub fn steps(self, steps: impl Into<String>) -> Self {
        Self { steps: Some(steps.into()), ..self }
    }

    /// Only this time, picoseconds on the run's clock.
    #[must_use]
    pub fn window(self, start_ps: i64, end_ps: i64) -> Self {
        Self { window_ps: Some([start_ps, end_ps]), ..self }
    }

    /// The question with its parameters and scope, as on a command line behind the program's name, without the run.
    #[must_use]
    pub fn question(&self) -> String {
        Self { table: "", ..self.clone() }.words(self.analysis.to_owned())
    }

    /// What to type to see it.
    #[must_use]
    pub fn command(&self, runs: &RunWords<'_>) -> String {
        let run = if self.analysis == "compare" { runs.both } else { runs.one };
        self.words(format!("haloscope {} {run}", self.analysis))
    }

    fn words(&self, first: String) -> String {
        let mut words = vec![first];
        words.extend(self.params.iter().map(|(id, value)| format!("--{id} {}", quoted(value))));
        if !self.table.is_empty() && self.analysis != "timeline" {
            words.push(format!("--table {}", self.table));
        }
        if !self.devices.is_empty() {
            words.push(format!("--devices {}", quoted(&self.devices.join(","))));
        }
        words.extend(self.steps.iter().map(|steps| format!("--steps {steps}")));
        if let Some([from, to]) = self.window_ps {
            words.push(format!("--window {}", window_words(from, to)));
        }
        words.join(" ")
    }
}

/// A window as a person would type it, `132.52ms..133.66ms`: rounded outwards, by a hundredth of its length at most.
fn window_words(from: i64, to: i64) -> String {
    const UNITS: [(&str, i64); 5] =
        [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
    let length = to.saturating_sub(from).max(1);
    let mut step = 1_i64;
    while step.saturating_mul(1000) <= length {
        step = step.saturating_mul(10);
    }
    let first = from.div_euclid(step).saturating_mul(step);
    let last = to.div_euclid(step).saturating_add(i64::from(to.rem_euclid(step) > 0)).saturating_mul(step);
    let one = |ps: i64| {
        // The largest unit in which the number is no fraction, or is whole to the last digit.
        let size = ps.unsigned_abs();
        let fits = |(_, unit): &&(&str, i64)| size >= unit.unsigned_abs() && *unit / step <= 1_000_000;
        let (name, unit) = UNITS.iter().find(fits).or(UNITS.last()).copied().unwrap_or(("ps", 1));
        let digits = usize::try_from((unit / step).max(1).ilog10()).unwrap_or(0);
        let (whole, part) = (size / unit.unsigned_abs(), size % unit.unsigned_abs());
        let part = format!("{:0digits$}", part / step.unsigned_abs().min(unit.unsigned_abs()));
        let part = if digits == 0 { "" } else { part.trim_end_matches('0') };
        let point = if part.is_empty() { "" } else { "." };
        format!("{}{whole}{point}{part}{name}", if ps < 0 { "-" } else { "" })
    };
    format!("{}..{}", one(first), one(last))
}

/// What runs are called in commands that are printed, each quoted as a shell wants it.
#[derive(Debug, Clone, Copy)]
pub struct RunWords<'a> {
    /// The run that an answer is about.
    pub one: &'a str,
    /// The runs that are compared, the baseline first.
    pub both: &'a str,
}

/// [`RunWords::both`] of an analysis asked of `one` run beside these others, all quoted.
#[must_use]
pub fn both_words(analysis: &str, one: &str, others: &[String]) -> String {
    match (analysis, others) {
        (_, []) => format!("{one} OTHER"),
        // `check RUN --baseline BASELINE` is `compare BASELINE RUN`.
        ("check", [baseline, ..]) => format!("{baseline} {one}"),
        (_, others) => format!("{one} {}", others.join(" ")),
    }
}

impl Default for RunWords<'_> {
    fn default() -> Self {
        Self { one: "RUN", both: "RUN OTHER" }
    }
}

/// The words as they stand at the beginning of a sentence: with a capital letter.
#[must_use]
pub fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A word as a shell takes it: as it is where nothing in it means something there. No character in it is unseen.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if matches!(clean(word), Cow::Borrowed(_)) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    // As bash and zsh write what nobody sees.
    let mut out = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if matches!(clean(c.encode_utf8(&mut [0; 4])), Cow::Borrowed(_)) => out.push(c),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    #[test]
    fn windows_are_written_as_people_write_them_and_lose_nothing() {
        for (from, to, said) in [
            (132_523_824_344, 133_654_679_732, "132.52ms..133.66ms"),
            (23_179_163_203, 50_801_742_031, "23.1ms..50.9ms"),
            (1_000_000, 2_500_000, "1us..2.5us"),
            (0, 7, "0ps..7ps"),
            (-1_500_000, 1_000_000, "-1.5us..1us"),
            (3_000_000_000_000, 3_000_000_001_000, "3000000us..3000000.001us"),
        ] {
            assert_eq!(window_words(from, to), said);
            let text = window_words(from, to);
            let scope = Scope::from_words(|key| (key == "window").then_some(text.as_str())).unwrap();
            let (first, last) = scope.window_ps.unwrap();
            let most = (to - from) / 100 + 1;
            assert!(first <= from && from - first <= most && last >= to && last - to <= most, "{text}");
        }
    }

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        for (word, said) in [
            ("logs/run-1", "logs/run-1"),
            ("a log", "'a log'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("red\u{1b}[31m", "$'red\\U0000001b[31m'"),
            ("it's\u{202e}", "$'it\\'s\\U0000202e'"),
        ] {
            assert_eq!(quoted(word), said);
        }
    }
}
