//! A table as CSV, as XProf writes it: every field in quotes, numbers as Python prints them.

use axum::http::StatusCode;
use serde_json::Value;

use super::python::to_str;
use super::reply::Refusal;

/// The answer's table, or the first of its tables.
pub(super) fn first_table(json: &[u8]) -> Result<String, Refusal> {
    let refused = |text: String| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text);
    let data: Value =
        serde_json::from_slice(json).map_err(|e| refused(format!("Invalid JSON string: {e}")))?;
    let table = match &data {
        Value::Array(tables) => match tables.first() {
            Some(table) => table,
            None => return Ok(String::new()),
        },
        table => table,
    };
    let Some(cols) = table.get("cols").and_then(Value::as_array) else {
        return Err(refused("Data format not suitable for CSV (missing 'cols')".to_owned()));
    };
    let mut out = String::new();
    let heading = |col: &Value| col.get("label").or_else(|| col.get("id")).map_or_else(String::new, to_str);
    line(&mut out, cols.iter().map(heading));
    for row in table.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let cells = row.get("c").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |cell: &Value| cell.get("v").filter(|v| !v.is_null()).map_or_else(String::new, to_str);
        if !cells.is_empty() {
            line(&mut out, cells.iter().map(text));
        }
    }
    Ok(out)
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        out.push_str(if i == 0 { "\"" } else { ",\"" });
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    }
    out.push('\n');
}

/// The name under which a browser saves the table: of tool, run and the part of the host's name behind its last dash.
pub(super) fn file_name(tool: Option<&str>, run: Option<&str>, host: Option<&str>) -> String {
    let safe = |text: &str| -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
    };
    let host = host.and_then(|host| host.rsplit('-').next());
    let parts = [Some(tool.unwrap_or("data")), run, host];
    let parts: Vec<_> = parts.into_iter().flatten().map(safe).filter(|part| !part.is_empty()).collect();
    format!("{}.csv", parts.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_written_as_xprof_writes_it() {
        // csv_writer.json_to_csv_string of xprof 2.24.2 gives the same for this text.
        let json = br#"[{"cols":[{"id":"a","label":"A \"x\"","type":"string"},{"id":"b","type":"number"},{}],
            "p":{},"rows":[{"c":[{"v":"one, two\nthree"},{"v":1.0},{"v":true}]},{"c":[{"v":null},null,{"v":1e-05}]},
            {"c":[]},{"c":[{"v":12345678901}]}]},{"cols":[]}]"#;
        let csv = first_table(json).unwrap();
        assert_eq!(
            csv,
            "\"A \"\"x\"\"\",\"b\",\"\"\n\"one, two\nthree\",\"1.0\",\"True\"\n\"\",\"\",\"1e-05\"\n\"12345678901\"\n"
        );
        assert_eq!(first_table(b"[]").unwrap(), "");
        assert_eq!(first_table(br#"{"cols":[]}"#).unwrap(), "\n");
    }

    #[test]
    fn what_is_no_table_is_refused_as_xprof_refuses_it() {
        for json in [&b"{\"a\":1}"[..], b"[[1]]", b"3"] {
            let refused = first_table(json).unwrap_err();
            assert_eq!(
                (refused.status.as_u16(), &*refused.text),
                (500, "Data format not suitable for CSV (missing 'cols')")
            );
        }
        assert!(first_table(b"{").unwrap_err().text.starts_with("Invalid JSON string"));
    }

    #[test]
    fn file_names_are_those_of_xprof() {
        let name = |tool, run, host| file_name(Some(tool), Some(run), host);
        assert_eq!(name("hlo_stats", "a/b c", Some("t1v-w-0")), "hlo_stats_a_b_c_0.csv");
        assert_eq!(name("trace_viewer@", "run-1", None), "trace_viewer__run-1.csv");
        assert_eq!(file_name(None, None, Some("h\"\r\n")), "data_h___.csv");
    }
}
