//! The contract: the only shape in which an answer leaves. Every door presents it, none computes from it.
//!
//! A number is measured, derived, estimated or unknown ([`Status`]); unknown is `null`, never 0. Every column and value
//! names its unit and says what it is.

mod clean;
pub mod codec;
mod column;
mod error;
mod finding;
mod head;
mod json;
pub mod naming;
pub mod packing;
pub mod present;
mod rows;
pub mod scope;
pub mod stop;
mod table;
mod tree;
pub mod turns;
mod unit;
pub mod units;
mod value;

pub use clean::{clean, clean_json, clean_lines};
pub use column::{Cell, Column, Kind};
pub use error::Error;
pub use finding::{Finding, Link, RunWords, Severity, both_words, capitalized, quoted};
pub use head::head;
pub use rows::{Columns, Row};
pub use table::{Series, Table};
pub use tree::{DEEPEST, Node, Tree, Visit};
pub use unit::Unit;
pub use value::{Status, Value};

use serde::Serialize;

/// The version of the report's shape. It changes when a reader of the former shape would misread the new one.
pub const VERSION: u32 = 1;

/// The answer of one analysis.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The analysis that gave it.
    pub analysis: &'static str,
    /// What part of the run it covers.
    pub scope: ScopeSummary,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What was missing, truncated, unpaired or guessed.
    pub quality: Vec<Quality>,
    /// Headline numbers, in reading order; ids are part of the contract.
    pub values: Vec<Value>,
    /// Tables, the most important first.
    pub tables: Vec<Table>,
    /// Trees, likewise.
    pub trees: Vec<Tree>,
    /// Curves for charts.
    pub series: Vec<Series>,
    /// What follows from the numbers, worst first.
    pub findings: Vec<Finding>,
    /// Texts that stand for themselves, such as a program as its compiler prints it.
    pub texts: Vec<Text>,
    /// Whether what was asked for holds, where something was: an expected count, a budget.
    pub gate: Option<Gate>,
}

/// Whether what was asked for holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It does.
    Passed,
    /// It does not. A command line exits with 1.
    Failed,
    /// Nobody can tell: the runs are not comparable. A command line exits with 5.
    NotComparable,
}

impl Gate {
    /// That it holds, or does not.
    #[must_use]
    pub fn of(holds: bool) -> Self {
        if holds { Self::Passed } else { Self::Failed }
    }

    /// Whether it holds; `None` where nobody can tell.
    #[must_use]
    pub fn holds(self) -> Option<bool> {
        match self {
            Self::Passed => Some(true),
            Self::Failed => Some(false),
            Self::NotComparable => None,
        }
    }

    /// The exit code of a process that ends with it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NotComparable => 5,
        }
    }
}

/// A text that stands for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Text {
    /// Stable id.
    pub id: &'static str,
    /// What it is.
    pub title: String,
    /// The text, with a newline at the end of each line.
    pub text: String,
}

/// The part of the run that a report covers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScopeSummary {
    /// Hosts covered.
    pub hosts: Vec<String>,
    /// Devices covered, by their names in the tables.
    pub devices: Vec<String>,
    /// Module filter as asked; empty means all.
    pub modules: Vec<String>,
    /// Steps asked for, such as `2-5`.
    pub steps: Option<String>,
    /// Time window asked for, in picoseconds from the start of the run.
    pub window_ps: Option<[i64; 2]>,
    /// True where only the steady state was asked for.
    pub steady: bool,
    /// What the scope left out, in words.
    pub left_out: Vec<String>,
}

/// Where a report comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Provenance {
    /// The files read.
    pub files: Vec<FileRead>,
    /// All hosts of the run.
    pub hosts: Vec<String>,
    /// Devices covered out of the devices that the run's profiles hold.
    pub coverage: Coverage,
    /// Peak rates used, and where each came from.
    pub peaks: Vec<PeakUsed>,
}

/// One file of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// Its path as given or found.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// How much of the run a report covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Devices that the report covers.
    pub devices: usize,
    /// Devices in the profiles read.
    pub devices_in_profile: usize,
}

/// A peak rate that shares were computed against.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeakUsed {
    /// The device type, such as `TPU v6 Lite`.
    pub device_type: String,
    /// What is peak: `flops` or `hbm`.
    pub resource: &'static str,
    /// FLOP/s or B/s of one device (one core of a chip with several).
    pub rate: f64,
    /// `FLOP/s` or `B/s`.
    pub unit: Unit,
    /// Where it came from: `trace` (the profile's own stats), `derived` (from clock and core count) or `table`.
    pub source: &'static str,
}

/// A remark on the data: what is missing, cut, unpaired or guessed, what that costs, and what would cure it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// Stable id, such as `no_step_markers`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen, with numbers.
    pub message: String,
    /// Which answers suffer, and how.
    pub cost: String,
    /// What to change at the next capture; empty where nothing can be.
    #[serde(rename = "cure")]
    pub fix: String,
}

/// Collects remarks while an analysis runs, so that partial failure is reported and never silent.
#[derive(Debug, Default)]
pub struct Notes {
    items: Vec<Quality>,
}

impl Notes {
    /// Adds a remark; one with the same id and message is not repeated.
    pub fn push(&mut self, note: Quality) {
        if !self.items.iter().any(|n| n.id == note.id && n.message == note.message) {
            self.items.push(note);
        }
    }

    /// Adds a remark from its parts.
    pub fn add(
        &mut self,
        id: &'static str,
        severity: Severity,
        message: impl Into<String>,
        cost: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.push(Quality { id, severity, message: message.into(), cost: cost.into(), fix: fix.into() });
    }

    /// The remarks, worst first, in the order added among equals.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Quality> {
        self.items.sort_by_key(|n| std::cmp::Reverse(n.severity));
        self.items
    }
}

impl Report {
    /// The value with this id.
    #[must_use]
    pub fn value(&self, id: &str) -> Option<&Value> {
        self.values.iter().find(|v| v.id == id)
    }

    /// The table with this id.
    #[must_use]
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.id == id)
    }

    /// The tree with this id.
    #[must_use]
    pub fn tree(&self, id: &str) -> Option<&Tree> {
        self.trees.iter().find(|t| t.id == id)
    }

    /// The report as JSON, in the shape that `docs/automation.md` describes, with a newline at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        json::render(self)
    }
}
