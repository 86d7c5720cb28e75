//! The answer of a tool: structured, and the same as a text for clients that show only texts to their models. In both, what comes from
//! a profile is cleaned: no name makes a line or a cell of its own, and none says what only a model sees.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use haloscope_report::{clean, clean_lines};

use crate::Object;
use crate::draft::{Draft, Rows, Section, SectionKind};
use crate::refusal::shorten;

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What programs read; follows the tool's output schema.
    pub structured: Json,
    /// What is read where the structured answer is not.
    pub text: String,
}

/// What stands before each line of a text of a program, so that no such line reads as one of the answer.
const LINE: &str = "| ";

/// What the protocol puts around an answer, in bytes: `content`, `type`, `structuredContent`, `isError`.
const ENVELOPE: usize = 100;

impl Answer {
    /// Bytes of the answer as it is sent.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.structured.to_string().len() + Json::from(self.text.as_str()).to_string().len() + ENVELOPE
    }
}

/// The schema that all answers follow: the report of an analysis, made small. It names what a reader must be able to rely on, and
/// no more: it stands in the description of every tool.
#[must_use]
pub fn schema() -> Object {
    let schema = json!({
        "type": "object",
        "required": ["tool"],
        "properties": {
            "tool": {"type": "string"},
            "values": {"type": "object", "additionalProperties": {"type": "object", "required": ["value", "unit", "status"]}},
            "findings": {"type": "array", "items": {"type": "object", "required": ["id", "claim"]}},
            "tables": {"type": "array", "items": {"type": "object", "required": ["id", "status", "columns", "rows", "from", "of"],
                "properties": {"columns": {"type": "array", "items": {"required": ["id", "unit"]}}}}},
            "left_out": {"type": "array", "items": {"required": ["what", "of", "cursor"]}}
        }
    });
    match schema {
        Json::Object(object) => object,
        _ => Object::new(),
    }
}

/// What is shown of a section.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shown {
    /// The first item.
    pub(crate) from: usize,
    /// How many.
    pub(crate) count: usize,
}

impl Shown {
    fn slice<'t, T>(&self, items: &'t [T]) -> &'t [T] {
        items.get(self.from..self.from + self.count).unwrap_or_default()
    }
}

/// How the parts of a draft are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Bytes of a cell, at most; sentences get more.
    pub(crate) longest: usize,
    /// How many of the sections that are not shown whole are named.
    pub(crate) named: usize,
    /// Only one section was asked for: the others are not mentioned.
    pub(crate) one: bool,
    /// Whether it is said what to call next.
    pub(crate) next: bool,
}

/// The answer that shows these parts of a draft.
pub(crate) fn build(draft: &Draft, sections: &[Section<'_>], shown: &[Shown], how: How) -> Answer {
    let How { longest, named, one, next } = how;
    let mut out = Object::new();
    let mut text = String::new();
    for (name, value) in &draft.head {
        let value = cell(value, usize::MAX);
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(text, "{}{name}: {plain}", if text.is_empty() { "" } else { ", " });
        out.insert((*name).to_owned(), value);
    }
    text.push('\n');
    let parts = || sections.iter().zip(shown).filter(|(_, shown)| shown.count > 0);
    for (section, shown) in parts() {
        match section.part {
            SectionKind::Values => values(draft, *shown, longest, &mut out, &mut text),
            SectionKind::Findings => {
                items("findings", shown.slice(&draft.findings), longest, &mut out, &mut text);
            }
            SectionKind::Notes => items("notes", shown.slice(&draft.notes), longest, &mut out, &mut text),
            SectionKind::Table(at) => {
                push(&mut out, "tables", rows(&draft.tables[at], *shown, longest, &mut text));
            }
            SectionKind::Text(at) => {
                let (id, title, _) = &draft.texts[at];
                let pieces = &section.pieces;
                // A text is the answer: it is not cut, but where not even its first piece fits.
                let said = shown.slice(pieces).concat();
                let said = if shown.count == 1 && longest < 60 { shorten(&said, longest * 4) } else { said };
                let _ = writeln!(text, "{}:", clean(title));
                for line in said.lines() {
                    let _ = writeln!(text, "{LINE}{}", clean(line));
                }
                push(
                    &mut out,
                    "texts",
                    json!({"id": id, "text": clean_lines(&said), "from": shown.from, "of": pieces.len()}),
                );
            }
        }
    }
    left_out(sections, shown, named, one, &mut out, &mut text);
    if next && !one && !draft.next.is_empty() {
        let next: Vec<_> = draft.next.iter().map(|call| clean(call)).collect();
        let _ = write!(text, "next: {}", next.join("; "));
        out.insert("next".into(), json!(next));
    }
    Answer { structured: Json::Object(out), text: text.trim_end().to_owned() }
}

fn push(out: &mut Object, name: &str, item: Json) {
    let list = out.entry(name).or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}

fn values(draft: &Draft, shown: Shown, longest: usize, out: &mut Object, text: &mut String) {
    let mut known = Object::new();
    let mut unknown = Vec::new();
    for value in shown.slice(&draft.values) {
        if value.value.is_null() {
            unknown.push(value.id.clone());
            continue;
        }
        let said = cell(&value.value, longest * 2);
        let _ = writeln!(
            text,
            "{} = {} ({})",
            value.id,
            shorten(&clean(&value.shown), longest * 2),
            value.status
        );
        let entry = json!({"value": said, "unit": value.unit, "status": value.status});
        known.insert(value.id.clone(), entry);
    }
    out.insert("values".into(), Json::Object(known));
    if !unknown.is_empty() {
        let _ = writeln!(text, "unknown: {}", unknown.join(", "));
        out.insert("unknown".into(), json!(unknown));
    }
}

fn items(name: &str, shown: &[crate::Item], longest: usize, out: &mut Object, text: &mut String) {
    // Sentences say what cells only name: they get more room.
    let longest = longest * 3;
    for item in shown {
        let fields = item.fields.iter().map(|(key, value)| (key.clone(), cell(value, longest)));
        push(out, name, Json::Object(fields.collect()));
        let _ = writeln!(text, "- {}", shorten(&clean(&item.line), longest));
    }
}

fn rows(table: &Rows, shown: Shown, longest: usize, text: &mut String) -> Json {
    let rows: Vec<Vec<Json>> =
        shown.slice(&table.rows).iter().map(|row| row.iter().map(|v| cell(v, longest)).collect()).collect();
    let column = |c: &crate::Field| match &c.status {
        None => json!({"id": c.id, "unit": c.unit}),
        Some(status) => json!({"id": c.id, "unit": c.unit, "status": status}),
    };
    let columns: Vec<Json> = table.columns.iter().map(column).collect();
    let named = table.columns.iter().map(|c| match c.unit.as_str() {
        "" | "1" => c.id.clone(),
        unit => format!("{} [{unit}]", c.id),
    });
    let _ = writeln!(text, "{} ({}): {}", table.id, table.title, named.collect::<Vec<_>>().join(" | "));
    for row in &rows {
        let plain = |v: &Json| match v {
            Json::Null => "?".to_owned(),
            Json::String(word) => word.replace('|', "\\|"),
            other => other.to_string(),
        };
        let _ = writeln!(text, "{}", row.iter().map(plain).collect::<Vec<_>>().join(" | "));
    }
    json!({"id": table.id, "status": table.status, "columns": columns, "rows": rows,
        "from": shown.from, "of": table.rows.len()})
}

/// A cell: texts of at most `longest` bytes, real numbers with six significant digits, whole ones as such.
fn cell(value: &Json, longest: usize) -> Json {
    match value {
        Json::String(word) => Json::String(shorten(&clean(word), longest)),
        Json::Number(number) if number.is_f64() => number.as_f64().map_or(Json::Null, rounded),
        Json::Array(_) | Json::Object(_) => cleaned(value),
        other => other.clone(),
    }
}

/// All texts in a value, cleaned and whole.
pub(crate) fn cleaned(value: &Json) -> Json {
    match value {
        Json::String(word) => json!(clean(word)),
        Json::Array(items) => items.iter().map(cleaned).collect(),
        Json::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), cleaned(value))).collect(),
        other => other.clone(),
    }
}

fn rounded(number: f64) -> Json {
    /// Beyond it not every whole number is one of these.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: f64| number.fract() == 0.0 && number.abs() < EXACT;
    let short = format!("{number:.5e}").parse::<f64>().unwrap_or(number);
    match [number, short].into_iter().find(|number| whole(*number)) {
        Some(number) => json!(number as i64),
        None => serde_json::Number::from_f64(short).map_or(Json::Null, Json::Number),
    }
}

fn left_out(
    sections: &[Section<'_>],
    shown: &[Shown],
    named: usize,
    one: bool,
    out: &mut Object,
    text: &mut String,
) {
    let rest = sections.iter().zip(shown).filter(|(section, shown)| {
        let begun = shown.from > 0 || shown.count > 0;
        shown.from + shown.count < section.len && (!one || begun)
    });
    let entry = |(section, shown): (&Section<'_>, &Shown)| {
        let cursor = format!("{}@{}", section.name, shown.from + shown.count);
        (section.name.clone(), section.len, cursor)
    };
    let all: Vec<_> = rest.map(entry).collect();
    if all.is_empty() {
        return;
    }
    let said = &all[..named.min(all.len())];
    let list: Vec<Json> =
        said.iter().map(|(what, of, at)| json!({"what": what, "of": of, "cursor": at})).collect();
    out.insert("left_out".into(), json!(list));
    let mut words: Vec<String> = said.iter().map(|(_, of, at)| format!("{at} of {of}")).collect();
    if said.len() < all.len() {
        let more = all.len() - said.len();
        out.insert("left_out_more".into(), json!(more));
        words.push(format!("{more} more parts"));
    }
    let _ = writeln!(text, "left out (cursors): {}", words.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_whole_ones_exact() {
        for (given, said) in [
            (json!(0.123_456_789), "0.123457"),
            (json!(10_485_760.0), "10485760"),
            (json!(39_272_123_456_789.5), "39272100000000"),
            (json!(0.0), "0"),
            (json!(-2.5), "-2.5"),
            (json!(9_007_199_254_740_993_i64), "9007199254740993"),
            (json!("a longer text"), "\"a lon…\""),
        ] {
            assert_eq!(cell(&given, 8).to_string(), said);
        }
        // How its exponent is written is not ours to say.
        assert_eq!(cell(&json!(1.5e300), 8).as_f64(), Some(1.5e300));
    }
}
