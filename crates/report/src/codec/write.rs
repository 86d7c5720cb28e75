//! A report into bytes: all its texts once, then its parts in their order, in which texts are numbers.

use rustc_hash::FxHashMap;

use super::super::{Cell, Column, Finding, Link, Node, Quality, Report, Series, Table, Value};
use super::{LEVELS, Word};
use crate::packing::{put_float, put_int, put_whole};

/// Collects texts and numbers. What cannot be kept makes it empty at the end.
struct Out<'r> {
    bytes: Vec<u8>,
    texts: Vec<&'r str>,
    numbers: FxHashMap<&'r str, u64>,
    failed: bool,
}

pub(super) fn report(report: &Report) -> Option<Vec<u8>> {
    let mut out = Out { bytes: Vec::new(), texts: Vec::new(), numbers: FxHashMap::default(), failed: false };
    out.report(report);
    let body = std::mem::take(&mut out.bytes);
    out.count(out.texts.len());
    for text in std::mem::take(&mut out.texts) {
        out.count(text.len());
        out.bytes.extend(text.as_bytes());
    }
    out.bytes.extend(body);
    (!out.failed).then_some(out.bytes)
}

impl<'r> Out<'r> {
    fn whole(&mut self, number: u64) {
        put_whole(&mut self.bytes, number);
    }

    fn count(&mut self, count: usize) {
        self.whole(count as u64);
    }

    fn int(&mut self, number: i64) {
        put_int(&mut self.bytes, number);
    }

    fn float(&mut self, number: f64) {
        put_float(&mut self.bytes, number);
    }

    fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    fn text(&mut self, text: &'r str) {
        let next = self.texts.len() as u64;
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.whole(number);
    }

    fn word(&mut self, word: impl Word) {
        match word.code() {
            Some(code) => self.bytes.push(code),
            None => self.failed = true,
        }
    }

    fn all<T>(&mut self, items: &'r [T], each: impl Fn(&mut Self, &'r T)) {
        self.count(items.len());
        items.iter().for_each(|item| each(self, item));
    }

    fn maybe<T>(&mut self, item: Option<T>, each: impl FnOnce(&mut Self, T)) {
        self.flag(item.is_some());
        if let Some(item) = item {
            each(self, item);
        }
    }

    fn texts(&mut self, texts: &'r [String]) {
        self.all(texts, |out, text| out.text(text));
    }

    fn window(&mut self, window: Option<[i64; 2]>) {
        self.maybe(window, |out, [from, to]| {
            out.int(from);
            out.int(to);
        });
    }

    fn report(&mut self, report: &'r Report) {
        let Report {
            analysis,
            scope,
            provenance,
            quality,
            values,
            tables,
            trees,
            series,
            findings,
            texts,
            gate,
        } = report;
        self.text(analysis);
        self.texts(&scope.hosts);
        self.texts(&scope.devices);
        self.texts(&scope.modules);
        self.maybe(scope.steps.as_deref(), Self::text);
        self.window(scope.window_ps);
        self.flag(scope.steady);
        self.texts(&scope.left_out);
        self.all(&provenance.files, |out, file| {
            out.text(&file.path);
            out.whole(file.bytes);
        });
        self.texts(&provenance.hosts);
        self.count(provenance.coverage.devices);
        self.count(provenance.coverage.devices_in_profile);
        self.all(&provenance.peaks, |out, peak| {
            out.text(&peak.device_type);
            out.text(peak.resource);
            out.float(peak.rate);
            out.word(peak.unit);
            out.text(peak.source);
        });
        self.all(quality, Self::quality);
        self.all(values, Self::value);
        self.all(tables, Self::table);
        self.all(trees, |out, tree| {
            out.text(tree.id);
            out.text(tree.title);
            out.all(tree.columns, Self::column);
            out.nodes(&tree.nodes, 1);
        });
        self.all(series, Self::series);
        self.all(findings, Self::finding);
        self.all(texts, |out, text| {
            out.text(text.id);
            out.text(&text.title);
            out.text(&text.text);
        });
        self.maybe(*gate, Self::word);
    }

    fn quality(&mut self, note: &'r Quality) {
        self.text(note.id);
        self.word(note.severity);
        [&note.message, &note.cost, &note.fix].into_iter().for_each(|text| self.text(text));
    }

    fn value(&mut self, value: &'r Value) {
        self.text(value.id);
        self.text(value.label);
        self.cell(&value.value);
        self.word(value.unit);
        self.word(value.status);
        self.text(value.doc);
    }

    fn column(&mut self, column: &'r Column) {
        self.text(column.id);
        self.text(column.label);
        self.word(column.unit);
        self.word(column.kind);
        self.text(column.doc);
    }

    fn table(&mut self, table: &'r Table) {
        self.text(table.id);
        self.text(table.title);
        self.all(table.columns, Self::column);
        self.all(&table.rows, |out, row| out.all(row, Self::cell));
    }

    fn cell(&mut self, cell: &'r Cell) {
        match cell {
            Cell::Unknown => self.bytes.push(0),
            Cell::Int(number) => {
                self.bytes.push(1);
                self.int(*number);
            }
            Cell::Float(number) => {
                self.bytes.push(2);
                self.float(*number);
            }
            Cell::Text(text) => {
                self.bytes.push(3);
                self.text(text);
            }
            Cell::Flag(flag) => self.bytes.push(4 + u8::from(*flag)),
        }
    }

    fn nodes(&mut self, nodes: &'r [Node], level: usize) {
        // A node without parts is a level too: what is deeper could not be read back.
        self.failed |= level > LEVELS;
        if self.failed {
            return;
        }
        self.all(nodes, |out, node| {
            out.text(&node.label);
            out.all(&node.values, Self::cell);
            out.nodes(&node.children, level + 1);
        });
    }

    fn series(&mut self, series: &'r Series) {
        self.text(&series.id);
        self.text(&series.title);
        for (label, unit) in [series.x, series.y] {
            self.text(label);
            self.word(unit);
        }
        self.all(&series.points, |out, [x, y]| {
            out.float(*x);
            out.float(*y);
        });
    }

    fn finding(&mut self, finding: &'r Finding) {
        self.text(finding.id);
        self.word(finding.severity);
        self.maybe(finding.variant, Self::text);
        let texts = [
            &finding.claim,
            &finding.evidence,
            &finding.ceiling,
            &finding.recommendation,
            &finding.falsifier,
        ];
        texts.into_iter().for_each(|text| self.text(text));
        self.maybe(finding.speedup, Self::float);
        self.word(finding.status);
        self.all(&finding.links, Self::link);
        self.maybe(finding.explained_by, Self::text);
    }

    fn link(&mut self, link: &'r Link) {
        self.text(link.analysis);
        self.all(&link.params, |out, (id, value)| {
            out.text(id);
            out.text(value);
        });
        self.text(link.table);
        self.maybe(link.row.as_deref(), Self::text);
        self.texts(&link.devices);
        self.maybe(link.steps.as_deref(), Self::text);
        self.window(link.window_ps);
    }
}
