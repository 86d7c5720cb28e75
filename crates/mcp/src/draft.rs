//! All that an answer could say, before a budget decides how much of it is said now.

use serde_json::{Value as Json, json};

use crate::{Object, Refusal};

/// All that an answer could say. Sections have names (`values`, `findings`, `tables.ID`, `texts.ID`, `notes`), and items in
/// them places, so that a cursor is a name and a place.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// What the answer is about, by name: `tool`, `run`, `analysis`, `verdict`... Always said, so it is short.
    pub head: Vec<(&'static str, Json)>,
    /// Numbers that stand for themselves.
    pub values: Vec<Value>,
    /// What follows from the numbers, worst first.
    pub findings: Vec<Item>,
    /// Tables, the most important first.
    pub tables: Vec<Rows>,
    /// Texts: their ids, titles and lines.
    pub texts: Vec<(String, String, String)>,
    /// Remarks on the data.
    pub notes: Vec<Item>,
    /// What to call next.
    pub next: Vec<String>,
}

/// A number that stands for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Stable id.
    pub id: String,
    /// The number or words; null where it is unknown.
    pub value: Json,
    /// Its unit: `ps`, `B`, `FLOP/s`..., `1` for shares, counts and ratios, empty for words.
    pub unit: String,
    /// `measured`, `derived`, `estimated` or `unknown`.
    pub status: String,
    /// The value for people, with its unit.
    pub shown: String,
}

/// A finding or a remark: an object of words, and the line that stands for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Item {
    /// Its fields.
    pub fields: Object,
    /// The line for people.
    pub line: String,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Stable id.
    pub id: String,
    /// Unit of its numbers, empty for words.
    pub unit: String,
    /// How its numbers are known, where that differs from the table's own status.
    pub status: Option<String>,
}

impl Field {
    /// A column; the unit is empty for words.
    #[must_use]
    pub fn new(id: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { id: id.into(), unit: unit.into(), status: None }
    }

    /// A column whose numbers rest on an assumption.
    #[must_use]
    pub fn estimated(self) -> Self {
        Self { status: Some("estimated".to_owned()), ..self }
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Stable id.
    pub id: String,
    /// What a person reads above it.
    pub title: String,
    /// How its numbers are known, all of them that are not null: `measured`, `derived`, `estimated`.
    pub status: String,
    /// The columns.
    pub columns: Vec<Field>,
    /// Rows of as many cells: numbers, words, yes or no; null for unknown.
    pub rows: Vec<Vec<Json>>,
    /// True for what is only shown to those who ask for it by name: points of curves.
    pub on_demand: bool,
}

/// A section as a budget sees it.
#[derive(Debug, Clone)]
pub(crate) struct Section<'a> {
    pub(crate) name: String,
    pub(crate) part: SectionKind,
    pub(crate) len: usize,
    /// The pieces of a text, else nothing.
    pub(crate) pieces: Vec<&'a str>,
}

/// Which part of a draft a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Values,
    Findings,
    Table(usize),
    Text(usize),
    Notes,
}

/// Bytes of a text that are one item.
const CHUNK: usize = 400;

impl Draft {
    /// A draft about something.
    #[must_use]
    pub fn about(tool: &str) -> Self {
        Self { head: vec![("tool", json!(tool))], ..Self::default() }
    }

    /// The sections that hold something, the most important first.
    pub(crate) fn sections(&self) -> Vec<Section<'_>> {
        let section =
            |name: &str, part, len| Section { name: name.to_owned(), part, len, pieces: Vec::new() };
        let mut all = vec![
            section("findings", SectionKind::Findings, self.findings.len()),
            section("values", SectionKind::Values, self.values.len()),
        ];
        for (at, table) in self.tables.iter().enumerate() {
            all.push(section(&format!("tables.{}", table.id), SectionKind::Table(at), table.rows.len()));
        }
        for (at, (id, _, text)) in self.texts.iter().enumerate() {
            let pieces = chunks(text);
            all.push(Section {
                pieces: pieces.clone(),
                ..section(&format!("texts.{id}"), SectionKind::Text(at), pieces.len())
            });
        }
        all.push(section("notes", SectionKind::Notes, self.notes.len()));
        all.retain(|section| section.len > 0);
        all
    }

    /// Keeps only these tables and texts, by id, and drops what is not asked for; all where none is named.
    ///
    /// # Errors
    /// For an id that is none, with those that are.
    pub fn keep(&mut self, ids: &[String]) -> Result<(), Refusal> {
        if ids.is_empty() {
            return Ok(());
        }
        let exist: Vec<String> =
            self.tables.iter().map(|t| t.id.clone()).chain(self.texts.iter().map(|t| t.0.clone())).collect();
        if let Some(unknown) = ids.iter().find(|id| !exist.contains(id)) {
            return Err(Refusal::unknown("table", unknown, &exist, "`tables` takes names of tables"));
        }
        self.tables.retain(|table| ids.contains(&table.id));
        self.texts.retain(|text| ids.contains(&text.0));
        self.tables.iter_mut().for_each(|table| table.on_demand = false);
        self.values.clear();
        self.findings.clear();
        self.notes.clear();
        Ok(())
    }

    /// Keeps only the rows of tables in which some cell holds this text, in whatever case.
    pub fn find(&mut self, text: &str) {
        let text = text.to_lowercase();
        let holds = |cell: &Json| cell.as_str().is_some_and(|word| word.to_lowercase().contains(&text));
        self.tables.iter_mut().for_each(|table| table.rows.retain(|row| row.iter().any(holds)));
    }
}

/// The pieces of a text, none longer than a chunk and whole lines where lines are shorter than that.
fn chunks(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > CHUNK {
        let mut end = CHUNK;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let line = rest[..end].rfind('\n').map_or(end, |at| at + 1);
        let (piece, after) = rest.split_at(line);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_falls_into_pieces_that_make_it_up() {
        for text in [String::new(), "a\n".repeat(1000), "ä".repeat(999), format!("{}\nb", "x".repeat(399))] {
            let pieces = chunks(&text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= CHUNK));
        }
        assert!(chunks(&"line\n".repeat(200)).iter().all(|piece| piece.ends_with('\n')));
    }
}
