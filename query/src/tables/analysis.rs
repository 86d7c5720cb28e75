//! `analysis('ops', 'by=category', 'table=ops')`: every table of every analysis.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use haloscope_profile::Profile;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Column, Error, Report, Table};
use haloscope_time::analysis::{Analysis, Params, run_with};

use super::schema;
use crate::runs::Run;

/// The table of headline numbers, which every report has.
const VALUES: &str = "values";

const VALUE_COLUMNS: &[Column] = &[
    Column::text("value_id", "Id", "The number's id."),
    Column::text("label", "Label", "Its label."),
    Column::quantity("value", "Value", "The number; unknown if the profile does not say."),
    Column::text("unit", "Unit", "Its unit."),
    Column::text("status", "Status", "measured, derived, estimated or unknown."),
];

/// The parts of a run that a question may be about.
const SCOPE: [&str; 6] = ["hosts", "devices", "modules", "steps", "window", "steady"];

/// The table function.
pub(crate) struct Asked {
    runs: Arc<[Run]>,
}

impl Asked {
    pub(crate) fn new(runs: Arc<[Run]>) -> Self {
        Self { runs }
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}

/// The texts between the brackets of a function.
///
/// # Errors
/// For anything else.
pub(crate) fn texts(function: &str, exprs: &[Expr]) -> Result<Vec<String>> {
    let text = |expr: &Expr| match expr {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => Ok(text.clone()),
        other => plan_err!("{function}: expected texts such as 'ops', 'by=category', found {other}"),
    };
    exprs.iter().map(text).collect()
}

/// What stands between the brackets.
struct Words {
    analysis: &'static Analysis,
    table: Option<String>,
    scope: Scope,
    params: Params,
}

impl Words {
    fn of(exprs: &[Expr]) -> Result<Self> {
        let texts = texts("analysis", exprs)?;
        let [id, words @ ..] = texts.as_slice() else {
            return plan_err!(
                "analysis: expected an analysis, as in analysis('ops'); the table analyses has all"
            );
        };
        let Some(analysis) = haloscope_analyses::find(id) else {
            return plan_err!("analysis: there is no analysis '{id}'; the table analyses has all");
        };
        let (mut table, mut params, mut scope) = (None, Params::default(), Vec::new());
        for word in words {
            match word.split_once('=') {
                Some(("table", id)) => table = Some(id.to_owned()),
                Some((key, value))
                    if SCOPE.contains(&key) && !analysis.params.iter().any(|p| p.id == key) =>
                {
                    scope.push((key, value));
                }
                Some((key, value)) => params.set(key, value),
                None => return plan_err!("analysis: expected 'key=value', found '{word}'"),
            }
        }
        let scope =
            Scope::from_words(|key| scope.iter().find(|(own, _)| *own == key).map(|(_, value)| *value));
        Ok(Self { analysis, table, scope: scope.map_err(external)?, params })
    }

    /// The table of a report that is meant.
    fn pick(&self, report: Report) -> Result<Picked> {
        let Report { tables, trees, values, .. } = report;
        let of_values = |values: Vec<haloscope_report::Value>| Picked {
            columns: VALUE_COLUMNS.to_vec(),
            rows: values
                .into_iter()
                .map(|value| {
                    let words = |text: &str| Cell::words(text);
                    vec![
                        words(value.id),
                        words(value.label),
                        value.value,
                        words(value.unit.word()),
                        words(value.status.word()),
                    ]
                })
                .collect(),
        };
        let wanted = self.table.as_deref();
        if wanted == Some(VALUES) {
            return Ok(of_values(values));
        }
        let ids: Vec<&str> =
            tables.iter().map(|t| t.id).chain(trees.iter().map(|t| t.id)).chain([VALUES]).collect();
        let ids = ids.join(", ");
        let is_meant = |id: &str| wanted.is_none_or(|wanted| wanted == id);
        if let Some(table) = tables.into_iter().find(|table| is_meant(table.id)) {
            return Ok(Picked { columns: table.columns.to_vec(), rows: table.rows });
        }
        if let Some(tree) = trees.iter().find(|tree| is_meant(tree.id)) {
            return Ok(of_tree(tree));
        }
        match wanted {
            None => Ok(of_values(values)),
            Some(wanted) => {
                plan_err!("analysis: '{}' gave no table '{wanted}'; it gave {ids}", self.analysis.id)
            }
        }
    }
}

/// A table whose columns need not be known before.
struct Picked {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A tree as rows: each node before its children, with the labels from the top.
fn of_tree(tree: &haloscope_report::Tree) -> Picked {
    let own = [
        Column::text("path", "Path", "The labels from the top."),
        Column::count("depth", "Depth", "0 at the top."),
        Column::text("label", "Label", "The node's own label."),
    ];
    let mut rows = Vec::new();
    tree.walk(&mut |at| {
        let own = [
            Cell::from(at.path.join(" > ")),
            Cell::from(at.path.len().saturating_sub(1)),
            Cell::from(at.node.label.as_str()),
        ];
        rows.push(own.into_iter().chain(at.node.values.iter().cloned()).collect());
    });
    Picked { columns: own.into_iter().chain(tree.columns.iter().copied()).collect(), rows }
}

/// An error of ours as one of the engine's.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl TableFunctionImpl for Asked {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        self.table(args.exprs())
    }
}

impl Asked {
    /// What is asked between the brackets.
    ///
    /// # Errors
    /// For what cannot be asked, and for what has no answer.
    pub(crate) fn table(&self, exprs: &[Expr]) -> Result<Arc<dyn TableProvider>> {
        let words = Words::of(exprs)?;
        let mut picked: Vec<(&str, Picked)> = Vec::new();
        let mut nothing = None;
        let ask = |run: &Run, others: &[&Profile]| {
            run_with(words.analysis, &run.profile, others, &words.scope, &words.params)
        };
        // An analysis that holds runs against each other is asked once, about the first.
        let is_among = holds_runs_against_each_other(words.analysis) && self.runs.len() > 1;
        let asked = if is_among { &self.runs[..1] } else { &self.runs[..] };
        let others: Vec<&Profile> =
            self.runs.iter().skip(1).filter(|_| is_among).map(|run| &*run.profile).collect();
        for run in asked {
            match ask(run, &others) {
                Ok(report) => picked.push((&run.name, words.pick(report)?)),
                // Where others have an answer, one that has none has no rows.
                Err(error @ Error::Nothing(_)) => nothing = Some(error),
                Err(error) => return Err(external(error)),
            }
        }
        if let (true, Some(error)) = (picked.is_empty(), nothing) {
            return Err(external(error));
        }
        let columns = picked.first().map_or_else(Vec::new, |(_, first)| first.columns.clone());
        if picked.iter().any(|(_, other)| other.columns != columns) {
            return plan_err!("analysis: the runs have different tables; ask one run at a time");
        }
        let table = |rows| Table { id: "analysis", title: "", columns: &[], rows };
        let tables: Vec<_> = picked.into_iter().map(|(run, picked)| (run, table(picked.rows))).collect();
        let batch = schema::batch(&columns, &tables, false)?;
        Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
    }
}

/// Whether an analysis is about a run and others.
pub(crate) fn holds_runs_against_each_other(analysis: &Analysis) -> bool {
    analysis.others().word().is_some()
}
