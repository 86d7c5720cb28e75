//! The reference of an analysis: its registry entry, and the values and columns of its reports.

use anyhow::Result;
use haloscope_report::{Column, Kind, Report, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Param, ParamKind, Params};

use super::runs::Runs;

/// The reference as Markdown.
///
/// # Errors
/// Whatever the analysis says on a fixture.
pub(super) fn render(analysis: &Analysis, runs: &Runs) -> Result<String> {
    let mut values = Vec::new();
    let mut tables = Vec::new();
    for (note, params) in variants(analysis) {
        for report in runs.reports(analysis, &params)? {
            add_values(&mut values, &report, &note);
            add_tables(&mut tables, &report, &note);
        }
    }
    let mut out = format!("**Question.** {}\n\n**Needs.**\n", analysis.question);
    for need in analysis.needs {
        out += &format!("- {need}\n");
    }
    out += &format!("\n**Example.** `haloscope {}`\n", analysis.example);
    out += &parameters(analysis.params);
    out += "\n### Scope\n\n| flag | keeps |\n|---|---|\n";
    for (flag, keeps) in SCOPE {
        out += &format!("| `{flag}` | {keeps} |\n");
    }
    out += "\n### Headline values\n\nAny value can be `null` with status `unknown`.\n\n";
    out += "| id | label | unit | status | what it is |\n|---|---|---|---|---|\n";
    for value in &values {
        out += &value.row();
    }
    for table in &tables {
        out += &table.markdown();
    }
    Ok(out)
}

/// The flags of every analysis that choose a part of the run.
const SCOPE: [(&str, &str); 6] = [
    ("--hosts NAMES", "these hosts, such as `w-0,w-1`"),
    ("--devices NAMES", "these devices, as the tables print them: `TPU:0,w-1/TPU:0`"),
    ("--modules WORDS", "ops of HLO modules whose names contain one of these"),
    ("--steps LIST", "these steps: `3`, `2-5` or `2-5,9`"),
    ("--window FROM..TO", "this time from the start of the run, such as `1.5ms..20ms`"),
    ("--steady", "the steady state: no warm-up, no cut steps, no outliers"),
];

/// The parameters to ask with, and the words that say so: the defaults first, then each other choice by itself.
fn variants(analysis: &Analysis) -> Vec<(String, Params)> {
    let mut out = vec![(String::new(), Params::default())];
    for param in analysis.params {
        let ParamKind::Choice(words) = param.kind else { continue };
        for word in words.iter().filter(|w| **w != param.default) {
            let mut params = Params::default();
            params.set(param.id, word);
            out.push((format!("--{} {word}", param.id), params));
        }
    }
    out
}

fn parameters(params: &[Param]) -> String {
    if params.is_empty() {
        return "\nNo parameters but the scope.\n".into();
    }
    let mut out =
        String::from("\n### Parameters\n\n| flag | values | default | what it does |\n|---|---|---|---|\n");
    for param in params {
        let values = match param.kind {
            ParamKind::Choice(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
            ParamKind::Count => "a whole number".into(),
            ParamKind::Quantity => "a number such as `138.8G`".into(),
            ParamKind::Text => "text".into(),
            ParamKind::Texts => "texts with `;` between them".into(),
            ParamKind::Flag => "given or not (over HTTP `yes`)".into(),
            ParamKind::Document => "the path of a text file (over HTTP its text)".into(),
        };
        let default =
            if param.default.is_empty() { "none".to_owned() } else { format!("`{}`", param.default) };
        out += &format!("| `--{}` | {values} | {default} | {} |\n", param.id, param.doc);
    }
    out
}

/// A value as all reports show it.
struct ValueRow {
    value: Value,
    /// How it was known in one report or another.
    statuses: Vec<Status>,
    /// The parameter that it takes to get it.
    note: String,
}

fn add_values(rows: &mut Vec<ValueRow>, report: &Report, note: &str) {
    for value in &report.values {
        let row = match rows.iter().position(|r| r.value.id == value.id && r.value.doc == value.doc) {
            Some(row) => row,
            None => {
                rows.push(ValueRow { value: value.clone(), statuses: Vec::new(), note: note.to_owned() });
                rows.len() - 1
            }
        };
        if value.status != Status::Unknown && !rows[row].statuses.contains(&value.status) {
            rows[row].statuses.push(value.status);
        }
    }
}

impl ValueRow {
    fn row(&self) -> String {
        let Value { id, label, unit, doc, .. } = &self.value;
        let mut statuses = self.statuses.clone();
        statuses.sort_unstable();
        let word = |status: &Status| match status {
            Status::Measured => "measured",
            Status::Derived => "derived",
            Status::Estimated => "estimated",
            Status::Unknown => "unknown",
        };
        let mut status = statuses.iter().map(word).collect::<Vec<_>>().join(" or ");
        if status.is_empty() {
            "not in the fixtures".clone_into(&mut status);
        }
        let with = if self.note.is_empty() { String::new() } else { format!("With `{}`: ", self.note) };
        format!("| `{id}` | {label} | {} | {status} | {with}{} |\n", unit_of(*unit, None), cell(doc))
    }
}

/// A table or tree as the reports that have it show it.
struct TableDoc {
    /// `Table` or `Tree`.
    what: &'static str,
    id: &'static str,
    title: &'static str,
    columns: &'static [Column],
    note: String,
}

fn add_tables(tables: &mut Vec<TableDoc>, report: &Report, note: &str) {
    let trees = report.trees.iter().map(|t| ("Tree", t.id, t.title, t.columns));
    let rows = report.tables.iter().map(|t| ("Table", t.id, t.title, t.columns));
    for (what, id, title, columns) in trees.chain(rows) {
        if !tables.iter().any(|t| t.id == id && t.columns == columns) {
            tables.push(TableDoc { what, id, title, columns, note: note.to_owned() });
        }
    }
}

impl TableDoc {
    fn markdown(&self) -> String {
        let with = if self.note.is_empty() { String::new() } else { format!(" with `{}`", self.note) };
        let mut out = format!("\n### {} `{}`{with}: {}\n\n", self.what, self.id, self.title);
        out += "| column | label | unit | what it is |\n|---|---|---|---|\n";
        for column in self.columns {
            let unit = unit_of(column.unit, Some(column.kind));
            out += &format!("| `{}` | {} | {unit} | {} |\n", column.id, column.label, cell(column.doc));
        }
        out
    }
}

/// The unit in words: shares and counts are both `1` in JSON.
fn unit_of(unit: Unit, kind: Option<Kind>) -> &'static str {
    match unit {
        Unit::Share => "share, 0 to 1",
        Unit::Count => "count",
        Unit::Ratio => "ratio",
        Unit::None if kind == Some(Kind::Flag) => "yes or no",
        Unit::None => "text",
        other => other.symbol(),
    }
}

/// Text that does not end a cell of a Markdown table.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {

    use super::super::types::Shapes;
    use super::*;

    #[test]
    fn the_scope_is_that_of_the_command_line() {
        let command = haloscope_cli::command();
        let ops = command.find_subcommand("ops").unwrap();
        let of_command: Vec<String> = ops
            .get_arguments()
            .filter(|a| a.get_help_heading() == Some("Scope"))
            .map(|a| format!("--{}", a.get_long().unwrap()))
            .collect();
        let here: Vec<_> = SCOPE.iter().map(|(flag, _)| flag.split(' ').next().unwrap()).collect();
        assert_eq!(of_command, here);
    }

    #[test]
    fn a_reference_holds_every_parameter_value_and_column() {
        let runs = Runs::open(&crate::root()).unwrap();
        let shapes = Shapes::read(&crate::root()).unwrap();
        for analysis in haloscope_analyses::ALL {
            let text = render(analysis, &runs).unwrap();
            for param in analysis.params {
                assert!(text.contains(&format!("`--{}`", param.id)), "{}: {}", analysis.id, param.id);
            }
            let reports = runs.reports(analysis, &Params::default()).unwrap();
            assert!(!reports.is_empty(), "no fixture answers `{}`", analysis.id);
            for report in reports {
                let columns = report.tables.iter().flat_map(|t| t.columns).map(|c| c.id);
                for id in report.values.iter().map(|v| v.id).chain(columns) {
                    assert!(text.contains(&format!("| `{id}` |")), "{}: {id}", analysis.id);
                }
                let json = serde_json::from_str(&report.to_json()).unwrap();
                shapes.check("Report", &json).unwrap_or_else(|error| panic!("{}: {error:#}", analysis.id));
            }
        }
    }

    /// The page's way from a number to its formula: `web/src/api/anchors.ts` leads to these anchors, and each row of them leads on
    /// to how the page's numbers are computed.
    #[test]
    fn every_number_has_an_anchor_in_the_documentation_that_is_served() {
        let runs = Runs::open(&crate::root()).unwrap();
        let mut seen = 0;
        for analysis in haloscope_analyses::ALL {
            let page = format!("analyses/{}", analysis.slug());
            let html = haloscope_serve::docs_page(&page).unwrap();
            let how =
                html.split("class=\"how\" href=\"#").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            assert!(html.contains(&format!("id=\"{how}\"")), "{page}: no #{how}");
            for (_, params) in variants(analysis) {
                for report in runs.reports(analysis, &params).unwrap() {
                    let tables = report.tables.iter().map(|t| (t.id, t.columns));
                    let tables = tables.chain(report.trees.iter().map(|t| (t.id, t.columns)));
                    let columns =
                        tables.flat_map(|(id, all)| all.iter().map(move |c| format!("column-{id}-{}", c.id)));
                    for anchor in report.values.iter().map(|v| format!("value-{}", v.id)).chain(columns) {
                        assert!(html.contains(&format!("id=\"{anchor}\"")), "{page}: no #{anchor}");
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    #[test]
    fn a_parameter_that_changes_a_table_gives_one_more() {
        let runs = Runs::open(&crate::root()).unwrap();
        let text = render(haloscope_analyses::find("ops").unwrap(), &runs).unwrap();
        assert!(text.contains("### Table `ops`: Ops by self time"));
        assert!(text.contains("### Table `ops` with `--on host`: Host events by self time"));
        assert_eq!(text.matches("### Table").count(), 2);
    }
}
