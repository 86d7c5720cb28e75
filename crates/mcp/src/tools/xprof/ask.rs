//! XProf's answers, read.

use haloscope_compat::Params;
use haloscope_profile::Profile;
use serde_json::Value;

use crate::Refusal;

/// What XProf's tool answers about a run, as JSON.
pub(super) fn json(profile: &Profile, tag: &str, params: &[(&str, &str)]) -> Result<Value, Refusal> {
    let body = bytes(profile, tag, params)?;
    serde_json::from_slice(&body).map_err(|_| {
        Refusal::new(
            format!("`{tag}` is not answered in JSON for this run"),
            format!("`xprof_raw` with tag `{tag}` gives the answer as it is"),
        )
    })
}

/// The same as it is sent.
pub(super) fn bytes(profile: &Profile, tag: &str, params: &[(&str, &str)]) -> Result<Vec<u8>, Refusal> {
    let params: Params = params.iter().copied().collect();
    let answer = haloscope_compat::answer(profile, tag, &params).map_err(|error| refused(&error))?;
    Ok(answer.body)
}

fn refused(error: &haloscope_compat::Error) -> Refusal {
    let next = match error {
        haloscope_compat::Error::UnknownTool { asked, known } => {
            return Refusal::unknown("tag", asked, known, "call again with one that exists");
        }
        haloscope_compat::Error::Missing { tool, missing, remedy } => {
            return Refusal::new(format!("{tool}: this profile has {missing}"), remedy.clone());
        }
        haloscope_compat::Error::Core(error) => return Refusal::from(error),
        haloscope_compat::Error::Usage(_) => "call again with what was expected",
        _ => "`report` with analysis `inspect` says what the profile has",
    };
    Refusal::new(error.to_string(), next)
}

/// A table of XProf's: its rows, and the properties beside them.
pub(super) struct Table<'a> {
    ids: Vec<&'a str>,
    rows: &'a [Value],
    properties: &'a Value,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'t, 'a> {
    table: &'t Table<'a>,
    cells: &'a Value,
}

impl<'a> Table<'a> {
    /// The table, or the first of a list of tables.
    pub(super) fn first(answer: &'a Value) -> Self {
        let table = answer.get(0).unwrap_or(answer);
        let columns = table["cols"].as_array().map_or(&[][..], Vec::as_slice);
        Self {
            ids: columns.iter().map(|column| column["id"].as_str().unwrap_or_default()).collect(),
            rows: table["rows"].as_array().map_or(&[][..], Vec::as_slice),
            properties: &table["p"],
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_, 'a>> {
        self.rows.iter().map(|row| Row { table: self, cells: &row["c"] })
    }

    /// A property in percent, such as `41.4%`.
    pub(super) fn percent(&self, name: &str) -> Option<f64> {
        match &self.properties[name] {
            Value::String(text) => text.trim().trim_end_matches('%').parse().ok(),
            other => other.as_f64(),
        }
    }
}

impl<'a> Row<'_, 'a> {
    fn cell(self, id: &str) -> &'a Value {
        let at = self.table.ids.iter().position(|known| *known == id);
        at.map_or(&Value::Null, |at| &self.cells[at]["v"])
    }

    pub(super) fn text(self, id: &str) -> &'a str {
        self.cell(id).as_str().unwrap_or_default()
    }

    pub(super) fn number(self, id: &str) -> Option<f64> {
        self.cell(id).as_f64()
    }
}

/// A number that XProf writes as 0 both where there is none and where nobody counted: 0 says nothing.
pub(super) fn nonzero(number: Option<f64>) -> Option<f64> {
    number.filter(|number| *number != 0.0)
}
