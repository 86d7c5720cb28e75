//! The report of an analysis as a draft: everything it says, in the shape that a budget cuts.

use haloscope_report::units;
use haloscope_report::{Cell, Column, Finding, Kind, Link, Node, Quality, Report, Series, Table, Tree, Unit};
use serde_json::{Value as Json, json};

use crate::draft::{Draft, Field, Item, Rows, Value};

/// All that a report says. Trees are tables of paths, curves tables that are shown to those who ask for them.
#[must_use]
pub fn draft(tool: &str, run: &str, report: &Report) -> Draft {
    let mut draft = Draft::about(tool);
    // Nothing is to be read before this.
    if let Some(damage) = report.findings.first().filter(|finding| finding.id == "file_not_whole") {
        draft.head.push(("not_whole", json!(damage.claim)));
    }
    draft.head.push(("run", json!(run)));
    draft.head.push(("analysis", json!(report.analysis)));
    if let Some(gate) = report.gate {
        draft.head.push(("gate", json!(gate)));
    }
    draft.values = report.values.iter().map(value).collect();
    draft.findings = report.findings.iter().map(finding).collect();
    draft.tables = report.tables.iter().map(table).collect();
    draft.tables.extend(report.trees.iter().map(tree));
    draft.tables.extend(report.series.iter().map(series));
    draft.texts = report.texts.iter().map(|t| (t.id.to_owned(), t.title.clone(), t.text.clone())).collect();
    draft.notes = report.quality.iter().map(note).collect();
    for call in report.findings.iter().filter_map(|finding| finding.links.first()).map(call) {
        if draft.next.len() < 2 && !draft.next.contains(&call) {
            draft.next.push(call);
        }
    }
    draft
}

fn value(value: &haloscope_report::Value) -> Value {
    Value {
        id: value.id.to_owned(),
        value: cell(&value.value),
        unit: value.unit.symbol().to_owned(),
        status: value.status.word().to_owned(),
        shown: shown(&value.value, value.unit),
    }
}

/// A cell as JSON has it: null where it is unknown.
pub(super) fn cell(cell: &Cell) -> Json {
    match cell {
        Cell::Int(number) => json!(number),
        Cell::Float(number) => json!(number),
        Cell::Text(text) => json!(text),
        Cell::Flag(flag) => json!(flag),
        Cell::Unknown => Json::Null,
    }
}

/// A value with its unit, as a person reads it.
fn shown(cell: &Cell, unit: Unit) -> String {
    let plain = matches!(unit, Unit::Count | Unit::Ratio | Unit::None);
    let number = match cell {
        Cell::Text(text) => return text.clone(),
        Cell::Flag(flag) => return flag.to_string(),
        Cell::Unknown => return "unknown".to_owned(),
        Cell::Int(number) if plain => return number.to_string(),
        Cell::Int(number) => *number as f64,
        Cell::Float(number) => *number,
    };
    match unit {
        Unit::Ps => units::duration_ps(number),
        Unit::Bytes => units::bytes(number),
        Unit::Flop => units::flops(number),
        Unit::FlopRate => units::flop_rate(number),
        Unit::ByteRate => units::byte_rate(number),
        Unit::Share => units::share(number),
        Unit::FlopPerByte => format!("{} FLOP/B", units::number(number)),
        Unit::Count | Unit::Ratio | Unit::None => units::number(number),
    }
}

fn table(table: &Table) -> Rows {
    Rows {
        id: table.id.to_owned(),
        title: table.title.to_owned(),
        status: "derived".to_owned(),
        columns: table.columns.iter().map(field).collect(),
        rows: table.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
        on_demand: false,
    }
}

fn field(column: &Column) -> Field {
    let unit = if column.kind == Kind::Quantity { "see column unit" } else { column.unit.symbol() };
    let field = Field::new(column.id, unit);
    // Reports say it in words; whoever adds a column that rests on an assumption says so in its doc.
    if column.doc.to_lowercase().contains("estimate") { field.estimated() } else { field }
}

/// The nodes nearest to the top first, each with the labels that lead to it.
fn tree(tree: &Tree) -> Rows {
    let mut nodes = Vec::new();
    tree.walk(&mut |at| nodes.push((at.path.len(), row(at.path, at.node))));
    nodes.sort_by_key(|(depth, _)| *depth);
    let columns = std::iter::once(Field::new("path", "")).chain(tree.columns.iter().map(field));
    Rows {
        id: tree.id.to_owned(),
        title: tree.title.to_owned(),
        status: "derived".to_owned(),
        columns: columns.collect(),
        rows: nodes.into_iter().map(|(_, row)| row).collect(),
        on_demand: false,
    }
}

fn row(path: &[&str], node: &Node) -> Vec<Json> {
    std::iter::once(json!(path.join(" > "))).chain(node.values.iter().map(cell)).collect()
}

fn series(series: &Series) -> Rows {
    Rows {
        id: series.id.clone(),
        title: series.title.clone(),
        status: "derived".to_owned(),
        columns: vec![
            Field::new(series.x.0, series.x.1.symbol()),
            Field::new(series.y.0, series.y.1.symbol()),
        ],
        rows: series.points.iter().map(|[x, y]| vec![json!(x), json!(y)]).collect(),
        on_demand: true,
    }
}

fn finding(finding: &Finding) -> Item {
    let mut fields = crate::Object::new();
    let words = [
        ("claim", &finding.claim),
        ("evidence", &finding.evidence),
        ("ceiling", &finding.ceiling),
        ("lever", &finding.recommendation),
        ("falsifier", &finding.falsifier),
    ];
    fields.insert("id".into(), json!(finding.id));
    fields.insert("severity".into(), json!(finding.severity));
    fields.insert("status".into(), json!(finding.status));
    for (name, text) in words.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.insert(name.into(), json!(text));
    }
    if let Some(speedup) = finding.speedup {
        fields.insert("speedup".into(), json!(speedup));
    }
    if let Some(link) = finding.links.first() {
        fields.insert("look".into(), json!(call(link)));
    }
    let mut line = format!("{}: {}", finding.id, finding.claim);
    for (name, text) in [("", &finding.ceiling), ("try: ", &finding.recommendation)] {
        if !text.is_empty() {
            line.push_str("; ");
            line.push_str(name);
            line.push_str(text);
        }
    }
    Item { fields, line }
}

/// Where a link leads, in words of a call.
fn call(link: &Link) -> String {
    if link.analysis == "timeline" {
        return slice(link);
    }
    let mut words = vec![super::names::tool_of(link.analysis)];
    words.extend(link.params.iter().map(|(id, value)| format!("{id}={value}")));
    if !link.table.is_empty() {
        words.push(format!("tables={}", link.table));
    }
    words.extend(link.row.iter().map(|row| format!("find=`{row}`")));
    if !link.devices.is_empty() {
        words.push(format!("devices={}", link.devices.join(",")));
    }
    words.extend(link.steps.iter().map(|steps| format!("steps={steps}")));
    words.extend(link.window_ps.iter().map(|[from, to]| format!("window={from}ps..{to}ps")));
    words.join(" ")
}

/// A part of the timeline: of one device, because the tool shows one.
fn slice(link: &Link) -> String {
    let mut words = vec!["timeline_slice".to_owned()];
    words.extend(link.devices.first().map(|device| format!("device={device}")));
    words.extend(link.window_ps.iter().map(|[from, to]| format!("window={from}ps..{to}ps")));
    words.join(" ")
}

fn note(note: &Quality) -> Item {
    let mut fields = crate::Object::new();
    fields.insert("id".into(), json!(note.id));
    fields.insert("severity".into(), json!(note.severity));
    for (name, text) in [("message", &note.message), ("cost", &note.cost), ("cure", &note.fix)] {
        if !text.is_empty() {
            fields.insert(name.into(), json!(text));
        }
    }
    fields.entry("message").or_insert_with(|| json!(""));
    Item { fields, line: format!("note: {}", note.message) }
}
