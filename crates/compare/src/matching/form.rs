//! Ops of one form: what they do, to which shapes, for which framework op.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;

use super::{How, Matcher, Seen};
use crate::samples::RunSamples;
use haloscope_time::op_rows::DeviceOps;

/// Device and time of the first execution, by program id and name.
type Firsts = FxHashMap<(Option<u64>, String), (usize, i64)>;

/// When each op of a run first ran: device, and time on the run's clock in picoseconds. Looked up when first asked for, because
/// it takes a walk over all events.
pub(super) struct Order<'x, 'p> {
    run: Option<&'x RunSamples<'p>>,
    first: OnceCell<Firsts>,
}

impl<'x, 'p> Order<'x, 'p> {
    pub(super) fn of(run: &'x RunSamples<'p>) -> Self {
        Self { run: Some(run), first: OnceCell::new() }
    }

    /// The order of the list.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { run: None, first: OnceCell::new() }
    }

    /// When an op first ran, on the first device that it ran on.
    fn of_op(&self, op: &Seen<'_, '_>) -> Option<(usize, i64)> {
        let run = self.run?;
        let first = self.first.get_or_init(|| firsts(run));
        first.get(&(op.meta.program_id, op.meta.name.to_string())).copied()
    }
}

fn firsts(run: &RunSamples<'_>) -> Firsts {
    let mut first = Firsts::default();
    for (position, device) in run.selection.devices.iter().enumerate() {
        let rows = DeviceOps::find(run.profile, device);
        let mut starts: Vec<Option<i64>> = vec![None; rows.ops.len()];
        rows.walk_placed(run.profile, |row, event, _, _| {
            let start = &mut starts[row];
            *start = Some(start.map_or(event.start_ps, |before| before.min(event.start_ps)));
        });
        for ((meta, _), start) in rows.ops.iter().zip(starts) {
            if let Some(start) = start {
                first.entry((meta.program_id, meta.name.to_string())).or_insert((position, start));
            }
        }
    }
    first
}

/// How much of an op's form must be the same, strongest first.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    /// Category, scope, the expression with names left out, the name without its number.
    Exact,
    /// The same but for the name.
    Expression,
    /// Category, scope, what it does and the shape of its result.
    Result,
    /// Category, scope, the name without its number: other shapes.
    Stem,
    /// Category, the expression, the name without its number: another scope.
    Elsewhere,
}

/// Levels with whether both sides must have as many.
const ROUNDS: [(Level, bool); 9] = [
    (Level::Exact, true),
    (Level::Expression, true),
    (Level::Result, true),
    (Level::Stem, true),
    (Level::Exact, false),
    (Level::Expression, false),
    (Level::Result, false),
    (Level::Elsewhere, true),
    (Level::Stem, false),
];

impl Matcher<'_, '_> {
    /// Pairs of one form among what is left. What an aligned module holds has been looked for there: of it, only what is of one
    /// framework op and one form may have moved to another computation.
    pub(super) fn by_form(&mut self, order: &[Order<'_, '_>; 2]) {
        for (level, only_even) in ROUNDS {
            let mut groups: BTreeMap<u64, [Vec<usize>; 2]> = BTreeMap::new();
            for side in 0..2 {
                for op in self.left(side) {
                    let is_aligned = self.instruction(side, op).is_some();
                    if let Some(key) = key(&self.seen[side][op], level, is_aligned) {
                        let key = hash((key, self.program_of[side][op]));
                        groups.entry(key).or_default()[side].push(op);
                    }
                }
            }
            let mut found = Vec::new();
            for [a, b] in groups.into_values() {
                if a.is_empty() || b.is_empty() || (only_even && a.len() != b.len()) {
                    continue;
                }
                found.extend(self.in_order(a, b, order));
            }
            for (a, b) in found {
                self.pair(a, b, How::Form);
            }
        }
    }

    /// Puts ops of one form together: by name where both sides have the same names, else in the order of their first execution.
    fn in_order(
        &self,
        mut a: Vec<usize>,
        mut b: Vec<usize>,
        order: &[Order<'_, '_>; 2],
    ) -> Vec<(usize, usize)> {
        let name = |side: usize, op: &usize| self.seen[side][*op].meta.name.clone();
        let sort = |side: usize, ops: &mut Vec<usize>| ops.sort_by_cached_key(|op| name(side, op));
        sort(0, &mut a);
        sort(1, &mut b);
        let is_same = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| name(0, a) == name(1, b));
        if !is_same && (a.len() > 1 || b.len() > 1) {
            let when = |side: usize, op: &usize| {
                let first = order[side].of_op(&self.seen[side][*op]);
                (first.is_none(), first, *op)
            };
            a.sort_by_cached_key(|op| when(0, op));
            b.sort_by_cached_key(|op| when(1, op));
        }
        a.into_iter().zip(b).collect()
    }
}

/// What ops of one form have in common; `None` where too little is known of the op for this level.
fn key(op: &Seen<'_, '_>, level: Level, is_aligned: bool) -> Option<u64> {
    let meta = op.meta;
    let (scope, stem) = (&*meta.framework_op, stem(&meta.name));
    if is_aligned && (scope.is_empty() || matches!(level, Level::Stem | Level::Elsewhere)) {
        return None;
    }
    let expression = Expression::of(&meta.expression);
    let known = !expression.operation.is_empty();
    Some(match level {
        Level::Exact => hash((&meta.category, scope, stem, expression.all)),
        Level::Expression if known && !scope.is_empty() => hash((&meta.category, scope, expression.all)),
        Level::Result if known && !scope.is_empty() => {
            hash((&meta.category, scope, expression.result, expression.operation))
        }
        Level::Stem if !known || !scope.is_empty() => hash((&meta.category, scope, stem)),
        Level::Elsewhere if known => hash((&meta.category, stem, expression.all)),
        _ => return None,
    })
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A name without the numbers that a compiler puts behind it: `fusion` of `fusion.12`, `loop_add_fusion` of `loop_add_fusion_3`.
fn stem(name: &str) -> &str {
    let mut stem = name;
    loop {
        let digits = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let cut = digits.strip_suffix(['.', '_']).filter(|_| digits.len() < stem.len());
        let cut = cut.or_else(|| stem.strip_suffix(".clone")).filter(|cut| !cut.is_empty());
        match cut {
            Some(cut) => stem = cut,
            None => return stem,
        }
    }
}

/// An HLO expression without names.
pub(super) struct Expression {
    /// Shape of the result, with layout.
    pub(super) result: String,
    /// Opcode.
    pub(super) operation: String,
    /// Result, opcode, shapes of operands and attributes.
    pub(super) all: String,
}

impl Expression {
    pub(super) fn of(text: &str) -> Self {
        let text =
            text.strip_prefix('%').and_then(|rest| rest.split_once(" = ")).map_or(text, |(_, rest)| rest);
        let mut all = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name)) = rest.split_once('%') {
            all.push_str(before);
            all.push('%');
            rest =
                name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        }
        all.push_str(rest);
        // Numbers that another compilation gives otherwise.
        if let Some((before, after)) = all.split_once(", channel_id=") {
            all = format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        let end = end_of_shape(&all);
        let result = all[..end].to_owned();
        let operation = all[end..].trim_start();
        let operation = operation.split_once('(').map_or(operation, |(operation, _)| operation).to_owned();
        // Profilers cut long expressions; where depends on the length of the names.
        if is_cut(&all)
            && let Some((whole, _)) = all.rsplit_once(", ")
        {
            all = whole.to_owned();
        }
        Self { result, operation, all }
    }
}

/// Where the shape at the beginning of a text ends: at the first space outside of brackets.
fn end_of_shape(text: &str) -> usize {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ' ' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// Whether brackets are open at the end of a text.
fn is_cut(text: &str) -> bool {
    let count = |c: char| text.matches(c).count();
    count('(') != count(')') || count('{') != count('}')
}
