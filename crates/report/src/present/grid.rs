//! One table as aligned text: which columns fit, how wide each is, and what was left out.

use super::columns::Format;
use super::text::{cut, shortened, width, wrap};
use super::words;
use crate::{Cell, Column, Kind, clean};

/// Spaces between columns.
const GAP: usize = 2;
/// Words may be cut down to this many columns before a column to the right is left out.
const LEAST_NAME: usize = 32;
const LEAST_WORDS: usize = 12;
/// A word in a cell is whole up to so many columns before a column to the right is left out.
const LEAST_WORD: usize = 18;
/// Lines of a cell at most, where it is several words that do not fit in one.
const CELL_LINES: usize = 3;
/// Labels are broken over lines, but not into narrower columns than this.
const LEAST_LABEL: usize = 5;

/// A table laid out for a width.
pub(super) struct Grid {
    columns: Vec<Laid>,
    rows: usize,
    /// Columns that were left out because they have the same cell in every row, as label and cell.
    pub same: Vec<String>,
    /// Labels of the columns that were left out because all their numbers are 0.
    pub zero: Vec<&'static str>,
    /// The columns that did not fit, by their places among the heads.
    pub left_out: Vec<usize>,
    /// Labels of the columns in which no row has a value.
    pub unknown: Vec<&'static str>,
    /// True if a cell that is shown is unknown.
    pub has_unknown: bool,
}

struct Laid {
    /// Its place among the heads.
    place: usize,
    format: Format,
    label: &'static str,
    cells: Vec<String>,
    has_unknown: bool,
    is_constant: bool,
    is_zero: bool,
    /// What it would take to show every cell whole, and the label in no more than two lines.
    natural: usize,
    width: usize,
}

impl Grid {
    /// Lays out the first `rows` rows under these heads in `columns` columns.
    pub(super) fn new(heads: &[Column], all: &[Vec<Cell>], rows: usize, columns: usize) -> Self {
        let shown = all.get(..rows).unwrap_or(all);
        let mut grid = Self {
            columns: Vec::new(),
            rows: shown.len(),
            same: Vec::new(),
            zero: Vec::new(),
            left_out: Vec::new(),
            unknown: Vec::new(),
            has_unknown: false,
        };
        // The cells of mixed columns carry their units, so that the column with the units says nothing more.
        let units = words::unit_column(heads);
        let is_shown = |(i, column): &(usize, &Column)| column.kind != Kind::Prose && Some(*i) != units;
        for (i, column) in heads.iter().enumerate().filter(is_shown) {
            let known = |row: &Vec<Cell>| row.get(i).is_some_and(|c| *c != Cell::Unknown);
            if !all.is_empty() && !all.iter().any(known) {
                grid.unknown.push(column.label);
                continue;
            }
            let cells = || shown.iter().map(|row| row.get(i).unwrap_or(&Cell::Unknown));
            let format = Format::choose(column, cells());
            let text: Vec<_> = if words::is_mixed(column.kind) {
                let unit = |row: &'_ Vec<Cell>| units.and_then(|at| row.get(at)).cloned();
                let rows = shown.iter().zip(cells());
                rows.map(|(row, c)| {
                    clean(&words::mixed(column.kind, c, unit(row).as_ref(), "-")).into_owned()
                })
                .collect()
            } else {
                cells().map(|c| format.cell(c)).collect()
            };
            let has_unknown = cells().any(|c| *c == Cell::Unknown);
            let is_constant = all.len() > 1 && all.windows(2).all(|w| w[0].get(i) == w[1].get(i));
            let widest = text.iter().map(|t| width(t)).max().unwrap_or(0).max(width(format.unit));
            let is_zero =
                !all.is_empty() && all.iter().all(|row| row.get(i).and_then(Cell::number) == Some(0.0));
            let word = longest_word(column.label);
            let whole = widest.max(word).max(LEAST_LABEL.min(width(column.label)));
            // Words among numbers may be cut, the numbers not.
            let numbers = || cells().zip(&text).filter(|(cell, _)| cell.as_text().is_none());
            let least = match column.kind {
                kind if words::is_mixed(kind) => {
                    let widest = numbers().map(|(_, text)| width(text)).max().unwrap_or(0);
                    whole.min(widest.max(LEAST_WORDS).max(word))
                }
                Kind::Text if grid.columns.is_empty() => whole.min(LEAST_NAME),
                Kind::Text => {
                    let in_cells =
                        text.iter().map(|cell| longest_word(cell)).max().unwrap_or(0).min(LEAST_WORD);
                    whole.min(LEAST_WORDS.max(word).max(in_cells))
                }
                _ => whole,
            };
            let two_lines = (least..).find(|w| wrap(column.label, *w).len() <= 2).unwrap_or(least);
            let natural = whole.max(two_lines);
            grid.columns.push(Laid {
                place: i,
                format,
                label: column.label,
                cells: text,
                has_unknown,
                is_constant,
                is_zero,
                natural,
                width: least,
            });
        }
        grid.fit(columns);
        grid.has_unknown = grid.columns.iter().any(|c| c.has_unknown);
        grid
    }

    /// Leaves out columns until the rest fits, then gives words the room that is left. Columns of zeros go first, then those that say
    /// the same in every row, because a line below the table can say it for them; then those at the right.
    fn fit(&mut self, columns: usize) {
        let needed = |laid: &[Laid]| laid.iter().map(|c| c.width + GAP).sum::<usize>().saturating_sub(GAP);
        while needed(&self.columns) > columns
            && let Some(zero) = self.columns.iter().skip(1).rposition(|c| c.is_zero)
        {
            self.zero.insert(0, self.columns.remove(zero + 1).label);
        }
        while needed(&self.columns) > columns
            && let Some(constant) = self.columns.iter().skip(1).rposition(|c| c.is_constant)
        {
            let column = self.columns.remove(constant + 1);
            let unit = if column.format.unit.is_empty() {
                String::new()
            } else {
                format!(" {}", column.format.unit)
            };
            let cell = column.cells.first().map_or("", String::as_str);
            self.same.insert(0, format!("{} {cell}{unit}", column.label));
        }
        while needed(&self.columns) > columns && self.columns.len() > 1 {
            self.left_out.extend(self.columns.pop().map(|c| c.place));
        }
        self.left_out.reverse();
        let mut room = columns.saturating_sub(needed(&self.columns));
        while room > 0 {
            // The narrowest grows first, so that one long name does not cost all others theirs.
            let cut = self.columns.iter_mut().filter(|c| c.width < c.natural);
            let Some(column) = cut.min_by_key(|c| c.width) else { break };
            column.width += 1;
            room -= 1;
        }
        if let [only] = self.columns.as_mut_slice() {
            only.width = only.width.min(columns);
        }
    }

    /// The lines of the header, the last of which holds the units.
    pub(super) fn header(&self) -> Vec<String> {
        let labels: Vec<Vec<String>> = self
            .columns
            .iter()
            .map(|c| {
                let mut lines = wrap(c.label, c.width);
                if !c.format.unit.is_empty() {
                    lines.push(c.format.unit.to_owned());
                }
                lines
            })
            .collect();
        let height = labels.iter().map(Vec::len).max().unwrap_or(0);
        let line = |i: usize| {
            let cells = labels.iter().map(|lines| {
                let above = height - lines.len();
                i.checked_sub(above).and_then(|i| lines.get(i)).map_or("", String::as_str)
            });
            self.line(cells)
        };
        (0..height).map(line).collect()
    }

    /// A line that sets the header apart.
    pub(super) fn rule(&self) -> String {
        let parts: Vec<_> = self.columns.iter().map(|c| "-".repeat(c.width)).collect();
        parts.join(&" ".repeat(GAP))
    }

    /// The rows, each of a line or more.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        (0..self.rows).map(|i| {
            let cells =
                self.columns.iter().map(|c| lines(c.cells.get(i).map_or("", String::as_str), c.width));
            let cells: Vec<Vec<String>> = cells.collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let cell = |lines: &'_ Vec<String>, at: usize| lines.get(at).cloned().unwrap_or_default();
            (0..height)
                .map(|at| {
                    let line: Vec<String> = cells.iter().map(|lines| cell(lines, at)).collect();
                    self.line(line.iter().map(String::as_str))
                })
                .collect()
        })
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for (column, cell) in self.columns.iter().zip(cells) {
            let cell = cut(cell, column.width);
            let pad = column.width - width(&cell).min(column.width);
            let (before, after) = if column.format.right { (pad, 0) } else { (0, pad) };
            // Spaces are written only before something, so that no line ends in them.
            if !cell.is_empty() {
                line.extend(std::iter::repeat_n(' ', owed + before));
                line.push_str(&cell);
                owed = after + GAP;
            } else {
                owed += column.width + GAP;
            }
        }
        line
    }
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(width).max().unwrap_or(0)
}

/// A cell in lines of at most `columns` columns. Sentences are broken between words; names and code are one line, cut in the middle.
fn lines(cell: &str, columns: usize) -> Vec<String> {
    let is_prose = cell.contains(' ') && !cell.contains(|c: char| "=[]{}%$\"<>@|\\".contains(c));
    if width(cell) <= columns || !is_prose || longest_word(cell) > columns {
        return vec![cut(cell, columns).into_owned()];
    }
    shortened(cell, columns, CELL_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words_and_names_are_cut() {
        assert_eq!(
            lines("idle while the host prepares input", 20),
            ["idle while the host", "prepares input"]
        );
        assert_eq!(lines("one two three four five six seven", 9), ["one two", "three", "four …"]);
        assert_eq!(lines("fusion.1234567", 8), ["fusi…567"]);
        assert_eq!(lines("%a = f32[8] fusion(%b, %c)", 12).len(), 1);
        assert_eq!(lines("fits", 9), ["fits"]);
    }

    #[test]
    fn columns_of_zeros_go_first_and_the_others_are_told_by_their_places() {
        let heads = [
            Column::text("device", "Device", ""),
            Column::count("zero", "Rather long zero", ""),
            Column::count("one", "Rather long one", ""),
            Column::count("two", "Rather long two", ""),
        ];
        let rows = vec![vec![Cell::from("TPU:0"), Cell::Int(0), Cell::Int(1), Cell::Int(93)]];
        let wide = Grid::new(&heads, &rows, 1, 80);
        assert!(wide.zero.is_empty() && wide.left_out.is_empty());
        let narrow = Grid::new(&heads, &rows, 1, 22);
        assert_eq!((narrow.zero, narrow.left_out), (vec!["Rather long zero"], vec![]));
        let narrower = Grid::new(&heads, &rows, 1, 14);
        assert_eq!((narrower.zero, narrower.left_out), (vec!["Rather long zero"], vec![3]));
    }
}
