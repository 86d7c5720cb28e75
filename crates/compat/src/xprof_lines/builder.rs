//! Lines put together from the events of others: neighbours that are about the same thing become one event.

use haloscope_event_groups::NO_GROUP;
use rustc_hash::FxHashMap;

/// What an event of a derived line is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// The whole name, such as `model/layer/MatMul_1:MatMul`.
    pub(crate) name: String,
    /// What a timeline shows in its place, such as `MatMul`.
    pub(crate) display: Option<String>,
}

/// The labels of a plane's derived lines, one a name.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    all: Vec<Label>,
    by_name: FxHashMap<String, u32>,
}

impl Labels {
    /// The number of a label with this name; a new one if there is none yet.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let number = self.push(name, None);
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// The same, with what is to be shown unless something is shown already.
    pub(super) fn intern_shown(&mut self, name: &str, display: &str) -> u32 {
        let number = self.intern(name);
        let label = &mut self.all[number as usize];
        if label.display.is_none() && !display.is_empty() {
            label.display = Some(display.to_owned());
        }
        number
    }

    /// A label of its own, whatever its name.
    pub(super) fn push(&mut self, name: &str, display: Option<String>) -> u32 {
        self.all.push(Label { name: name.to_owned(), display });
        self.all.len() as u32 - 1
    }

    /// All labels; [`DerivedEvent::label`] is a row.
    #[must_use]
    pub(crate) fn as_slice(&self) -> &[Label] {
        &self.all
    }
}

/// An event of a derived line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DerivedEvent {
    /// Start on the run's clock, picoseconds.
    pub(crate) start_ps: i64,
    /// Duration, picoseconds.
    pub(crate) duration_ps: i64,
    /// A row of the plane's labels.
    pub(crate) label: u32,
    /// The group that it belongs to.
    pub(crate) group: Option<u32>,
}

impl DerivedEvent {
    fn end_ps(&self) -> i64 {
        self.start_ps + self.duration_ps
    }

    fn span(&self) -> (i64, i64) {
        (self.start_ps, self.duration_ps)
    }
}

/// The events of a derived line as columns.
#[derive(Debug, Default)]
pub(crate) struct DerivedEvents {
    /// Starts on the run's clock, picoseconds.
    pub(crate) start_ps: Vec<i64>,
    /// Durations, picoseconds.
    pub(crate) duration_ps: Vec<i64>,
    /// Rows of the plane's labels.
    pub(crate) label: Vec<u32>,
    /// The groups that they belong to, [`NO_GROUP`] for none.
    pub(crate) group: Vec<u32>,
}

impl DerivedEvents {
    pub(crate) fn len(&self) -> usize {
        self.label.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.label.is_empty()
    }

    pub(super) fn push(&mut self, event: DerivedEvent) {
        self.start_ps.push(event.start_ps);
        self.duration_ps.push(event.duration_ps);
        self.label.push(event.label);
        self.group.push(event.group.unwrap_or(NO_GROUP));
    }

    pub(crate) fn get(&self, at: usize) -> DerivedEvent {
        DerivedEvent {
            start_ps: self.start_ps[at],
            duration_ps: self.duration_ps[at],
            label: self.label[at],
            group: Some(self.group[at]).filter(|group| *group != NO_GROUP),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = DerivedEvent> {
        (0..self.len()).map(|at| self.get(at))
    }

    fn set_span(&mut self, at: usize, (start_ps, duration_ps): (i64, i64)) {
        self.start_ps[at] = start_ps;
        self.duration_ps[at] = duration_ps;
    }
}

/// A derived line while it is built.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) events: DerivedEvents,
    /// The event that may still grow at each depth, with the scope that it stands for.
    open: Vec<Option<(usize, Option<i64>)>>,
}

/// What is added: a time, its group, and the scopes it runs in where the profiler numbered them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start_ps: i64,
    pub(super) end_ps: i64,
    pub(super) group: Option<u32>,
}

/// Several lines that are cut together: where one starts a new event, those that depend on it do too.
#[derive(Debug)]
pub(super) struct Builders<const N: usize> {
    pub(super) lines: [Builder; N],
    depends: [&'static [usize]; N],
    /// On GPUs, what has no group grows over any gap; elsewhere only over one of twice its length.
    any_gap: bool,
}

impl<const N: usize> Builders<N> {
    /// Lines of which each cuts those in `depends`.
    pub(super) fn new(depends: [&'static [usize]; N], any_gap: bool) -> Self {
        Self { lines: std::array::from_fn(|_| Builder::default()), depends, any_gap }
    }

    /// Adds a piece of one label.
    pub(super) fn add(&mut self, line: usize, label: u32, piece: Piece, scope: Option<i64>) {
        self.add_at(line, 0, label, piece, scope);
    }

    /// Adds a piece of nested labels, outermost first.
    pub(super) fn add_nested(&mut self, line: usize, labels: &[u32], piece: Piece, scopes: &[i64]) {
        if labels.is_empty() {
            return;
        }
        for (depth, label) in labels.iter().enumerate() {
            self.add_at(line, depth, *label, piece, scopes.get(depth).copied());
        }
        self.close(line, labels.len());
    }

    fn add_at(&mut self, line: usize, depth: usize, label: u32, piece: Piece, scope: Option<i64>) {
        let builder = &mut self.lines[line];
        if builder.open.len() <= depth {
            builder.open.resize(depth + 1, None);
        }
        if let Some((at, of)) = builder.open[depth] {
            let event = builder.events.get(at);
            let same = event.label == label
                && event.group == piece.group
                && (scope.is_none() || of.is_none() || scope == of);
            let near = event.end_ps().saturating_add(event.duration_ps.saturating_mul(2)) >= piece.start_ps;
            if same && (self.any_gap || piece.group.is_some() || near) {
                let end = event.end_ps().max(piece.end_ps);
                let start = event.start_ps.min(piece.start_ps);
                builder.events.set_span(at, (start, end - start));
                return;
            }
        }
        self.close(line, depth);
        let builder = &mut self.lines[line];
        builder.open[depth] = Some((builder.events.len(), scope));
        builder.events.push(DerivedEvent {
            start_ps: piece.start_ps,
            duration_ps: piece.end_ps - piece.start_ps,
            label,
            group: piece.group,
        });
    }

    /// The row of the event that may still grow at this depth.
    pub(super) fn open_at(&self, line: usize, depth: usize) -> Option<usize> {
        self.lines[line].open.get(depth)?.map(|(at, _)| at)
    }

    /// Ends the events at this depth and below, and at the top those of the lines that depend on this one.
    pub(super) fn close(&mut self, line: usize, depth: usize) {
        self.lines[line].shrink(depth);
        self.lines[line].open.iter_mut().skip(depth).for_each(|open| *open = None);
        if depth == 0 {
            for other in self.depends[line] {
                self.close(*other, 0);
            }
        }
    }
}

impl Builder {
    /// Where nested events end together, each ends a nanosecond before the one around it, as long as the innermost is
    /// longer than that: a timeline could not tell otherwise which is around which.
    fn shrink(&mut self, depth: usize) {
        let stack: Vec<usize> = self.open.iter().skip(depth).map_while(|o| o.map(|(at, _)| at)).collect();
        let Some(innermost) = stack.last().filter(|_| stack.len() > 1) else { return };
        let most = self.events.duration_ps[*innermost] / 1000 - 1;
        let mut shrunk = 0;
        let mut around = None;
        for at in stack {
            let span = self.events.get(at).span();
            if shrunk < most && around == Some(span) {
                shrunk += 1;
            }
            around = Some(span);
            if shrunk > 0 {
                self.events.duration_ps[at] -= 1000 * shrunk;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: i64, end: i64) -> Piece {
        Piece { start_ps: start, end_ps: end, group: None }
    }

    #[test]
    fn neighbours_of_one_label_grow_together_over_short_gaps() {
        let mut lines = Builders::new([&[]], false);
        for (start, end) in [(0, 10), (30, 40), (121, 130)] {
            lines.add(0, 7, piece(start, end), None);
        }
        let spans: Vec<_> = lines.lines[0].events.iter().map(|event| event.span()).collect();
        // 30 <= 10 + 2 * 10, and 121 > 40 + 2 * 40.
        assert_eq!(spans, [(0, 40), (121, 9)]);
    }

    #[test]
    fn nested_labels_that_end_together_are_shrunk() {
        // The case of XProf's own test: a/b/c/d/e, a/b/c/d/f, a/g.
        let mut lines = Builders::new([&[]], true);
        let [a, b, c, d, e, f, g] = [0, 1, 2, 3, 4, 5, 6];
        lines.add_nested(0, &[a, b, c, d, e], piece(0, 10_000), &[]);
        lines.add_nested(0, &[a, b, c, d, f], piece(10_000, 12_000), &[]);
        lines.add_nested(0, &[a, g], piece(20_000, 50_000), &[]);
        lines.close(0, 0);
        let duration =
            |label| lines.lines[0].events.iter().find(|ev| ev.label == label).map(|ev| ev.duration_ps);
        assert_eq!([a, b, c, d].map(duration), [50_000, 12_000, 11_000, 11_000].map(Some));
        assert_eq!([e, f, g].map(duration), [10_000, 1_000, 30_000].map(Some));
    }
}
