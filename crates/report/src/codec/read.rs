//! A report out of bytes. Nothing is believed of them: what does not fit makes them no report.

use std::ops::{Deref, DerefMut};

use super::super::{
    Cell, Column, Coverage, FileRead, Finding, Link, Node, PeakUsed, Provenance, Quality, Report,
    ScopeSummary, Series, Table, Text, Tree, Unit, Value,
};
use super::{LEVELS, Word, intern};
use crate::packing::Unpack;

struct In<'b> {
    from: Unpack<'b>,
    texts: Vec<Entry<'b>>,
}

impl<'b> Deref for In<'b> {
    type Target = Unpack<'b>;

    fn deref(&self) -> &Unpack<'b> {
        &self.from
    }
}

impl DerefMut for In<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.from
    }
}

/// A text, and itself once it was needed for as long as the program lives.
struct Entry<'b> {
    text: &'b str,
    kept: Option<&'static str>,
}

pub(super) fn report(bytes: &[u8]) -> Option<Report> {
    let mut from = In { from: Unpack(bytes), texts: Vec::new() };
    for _ in 0..from.count()? {
        let length = from.count()?;
        let text = std::str::from_utf8(from.take(length)?).ok()?;
        from.texts.push(Entry { text, kept: None });
    }
    let report = from.report()?;
    from.from.0.is_empty().then_some(report)
}

impl<'b> In<'b> {
    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'b str> {
        let number = usize::try_from(self.whole()?).ok()?;
        self.texts.get(number).map(|entry| entry.text)
    }

    fn string(&mut self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// A text that lives as long as the program.
    fn kept(&mut self) -> Option<&'static str> {
        let number = usize::try_from(self.whole()?).ok()?;
        let entry = self.texts.get_mut(number)?;
        if entry.kept.is_none() {
            entry.kept = Some(intern::text(entry.text)?);
        }
        entry.kept
    }

    fn word<T: Word>(&mut self) -> Option<T> {
        T::ALL.get(usize::from(self.byte()?)).copied()
    }

    fn all<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| each(self)).collect()
    }

    #[expect(clippy::option_option, reason = "the outer says whether the bytes were understood")]
    fn maybe<T>(&mut self, each: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { each(self).map(Some) } else { Some(None) }
    }

    fn strings(&mut self) -> Option<Vec<String>> {
        self.all(Self::string)
    }

    #[expect(clippy::option_option, reason = "the outer says whether the bytes were understood")]
    fn window(&mut self) -> Option<Option<[i64; 2]>> {
        self.maybe(|from| Some([from.int()?, from.int()?]))
    }

    fn report(&mut self) -> Option<Report> {
        // Fields are read in the order in which they are written down here.
        Some(Report {
            analysis: self.kept()?,
            scope: ScopeSummary {
                hosts: self.strings()?,
                devices: self.strings()?,
                modules: self.strings()?,
                steps: self.maybe(Self::string)?,
                window_ps: self.window()?,
                steady: self.flag()?,
                left_out: self.strings()?,
            },
            provenance: Provenance {
                files: self.all(|from| Some(FileRead { path: from.string()?, bytes: from.whole()? }))?,
                hosts: self.strings()?,
                coverage: Coverage {
                    devices: usize::try_from(self.whole()?).ok()?,
                    devices_in_profile: usize::try_from(self.whole()?).ok()?,
                },
                peaks: self.all(Self::peak)?,
            },
            quality: self.all(Self::quality)?,
            values: self.all(Self::value)?,
            tables: self.all(Self::table)?,
            trees: self.all(|from| {
                Some(Tree {
                    id: from.kept()?,
                    title: from.kept()?,
                    columns: from.columns()?,
                    nodes: from.nodes(1)?,
                })
            })?,
            series: self.all(Self::series)?,
            findings: self.all(Self::finding)?,
            texts: self
                .all(|from| Some(Text { id: from.kept()?, title: from.string()?, text: from.string()? }))?,
            gate: self.maybe(Self::word)?,
        })
    }

    fn peak(&mut self) -> Option<PeakUsed> {
        Some(PeakUsed {
            device_type: self.string()?,
            resource: self.kept()?,
            rate: self.float()?,
            unit: self.word()?,
            source: self.kept()?,
        })
    }

    fn quality(&mut self) -> Option<Quality> {
        Some(Quality {
            id: self.kept()?,
            severity: self.word()?,
            message: self.string()?,
            cost: self.string()?,
            fix: self.string()?,
        })
    }

    fn value(&mut self) -> Option<Value> {
        Some(Value {
            id: self.kept()?,
            label: self.kept()?,
            value: self.cell()?,
            unit: self.word()?,
            status: self.word()?,
            doc: self.kept()?,
        })
    }

    fn columns(&mut self) -> Option<&'static [Column]> {
        let columns = self.all(|from| {
            Some(Column {
                id: from.kept()?,
                label: from.kept()?,
                unit: from.word()?,
                kind: from.word()?,
                doc: from.kept()?,
            })
        })?;
        intern::columns(columns)
    }

    fn table(&mut self) -> Option<Table> {
        let (id, title, columns) = (self.kept()?, self.kept()?, self.columns()?);
        let rows = self.all(|from| {
            // A row has a cell for each column: presenters rely on it.
            from.all(Self::cell).filter(|row| row.len() == columns.len())
        })?;
        Some(Table { id, title, columns, rows })
    }

    fn cell(&mut self) -> Option<Cell> {
        Some(match self.byte()? {
            0 => Cell::Unknown,
            1 => Cell::Int(self.int()?),
            2 => Cell::Float(self.float()?),
            3 => Cell::Text(self.string()?),
            4 => Cell::Flag(false),
            5 => Cell::Flag(true),
            _ => return None,
        })
    }

    fn nodes(&mut self, level: usize) -> Option<Vec<Node>> {
        if level > LEVELS {
            return None;
        }
        self.all(|from| {
            Some(Node {
                label: from.string()?,
                values: from.all(Self::cell)?,
                children: from.nodes(level + 1)?,
            })
        })
    }

    fn series(&mut self) -> Option<Series> {
        let axis = |from: &mut Self| -> Option<(&'static str, Unit)> { Some((from.kept()?, from.word()?)) };
        Some(Series {
            id: self.string()?,
            title: self.string()?,
            x: axis(self)?,
            y: axis(self)?,
            points: self.all(|from| Some([from.float()?, from.float()?]))?,
        })
    }

    fn finding(&mut self) -> Option<Finding> {
        let (id, severity) = (self.kept()?, self.word()?);
        Some(Finding {
            id,
            variant: self.maybe(Self::kept)?,
            severity,
            claim: self.string()?,
            evidence: self.string()?,
            ceiling: self.string()?,
            recommendation: self.string()?,
            falsifier: self.string()?,
            speedup: self.maybe(|from| from.float())?,
            status: self.word()?,
            links: self.all(Self::link)?,
            explained_by: self.maybe(Self::kept)?,
            explains: Vec::new(),
        })
    }

    fn link(&mut self) -> Option<Link> {
        Some(Link {
            analysis: self.kept()?,
            params: self.all(|from| Some((from.kept()?, from.string()?)))?,
            table: self.kept()?,
            row: self.maybe(Self::string)?,
            devices: self.strings()?,
            steps: self.maybe(Self::string)?,
            window_ps: self.window()?,
        })
    }
}
