//! The differences as text: both modules with the names of the first, computation by computation.

use std::collections::BTreeMap;

use haloscope_hlo::{Alignment, ComputationIdx, InstructionIdx, Module, Shape, TextOptions};

use super::changes::{Changes, Kind};

/// Lines around a difference that are shown.
const CONTEXT: usize = 2;

/// How an instruction is written: no numbers of the compiler's, nothing of the backend's.
const OPTIONS: TextOptions = TextOptions {
    backend_config: false,
    async_sugar: false,
    subcomputations: false,
    control_dependencies: false,
    ..TextOptions::SHORT
};

/// Longer lines are cut.
const LONGEST: usize = 800;

/// Elements of a long tuple that are shown.
const ELEMENTS: usize = 2;

/// What is different, in unified form. Names are those of the first module; what only the second has keeps its own, with `'`
/// behind it where the first uses that name for something else.
pub(super) fn text(changes: &Changes<'_, '_>, labels: [&str; 2], limit: usize) -> String {
    let alignment = changes.alignment;
    let of = |kind| changes.count(kind);
    let count = alignment.a.instructions().len();
    match changes.word() {
        "none" => return format!("no difference: {count} instructions, all matched by name and structure\n"),
        "names only" => {
            return format!(
                "only names differ: {count} instructions, all matched by structure, {} renamed\n",
                changes.renamed
            );
        }
        _ => {}
    }
    let mut writer = Writer { alignment, differs: differing(changes), lines: Vec::new() };
    writer.lines.push(format!("--- {}", labels[0]));
    writer.lines.push(format!("+++ {}", labels[1]));
    writer.lines.push(format!(
        "# {} matched ({} renamed), {} changed, {} configured differently, {} added, {} removed; names are those of A",
        changes.matched,
        changes.renamed,
        of(Kind::Changed),
        of(Kind::Reconfigured),
        of(Kind::Added),
        of(Kind::Removed)
    ));
    for &(a, b) in alignment.computations() {
        writer.computation(a, b);
    }
    writer.unpaired();
    let mut lines = writer.lines;
    if lines.len() > limit {
        let more = lines.len() - limit;
        lines.truncate(limit);
        lines.push(format!("# {more} more lines; --limit 0 shows all"));
    }
    lines.join("\n") + "\n"
}

/// By instruction of the first module, whether it differs from its counterpart.
fn differing(changes: &Changes<'_, '_>) -> Vec<bool> {
    let mut differs = vec![false; changes.alignment.a.instructions().len()];
    for change in changes.all.iter().filter(|change| change.kind == Kind::Changed) {
        if let Some(a) = change.a {
            differs[a.index()] = true;
        }
    }
    differs
}

struct Writer<'x, 'm> {
    alignment: &'x Alignment<'m>,
    differs: Vec<bool>,
    lines: Vec<String>,
}

impl Writer<'_, '_> {
    fn computation(&mut self, a: ComputationIdx, b: ComputationIdx) {
        let (left, right) = (self.alignment.a, self.alignment.b);
        let order = left.structure_order(a);
        let mut place: BTreeMap<InstructionIdx, usize> = BTreeMap::new();
        place.extend(order.iter().enumerate().map(|(place, at)| (*at, place)));
        let added = self.added(b, &place, order.len());
        let is_same = |at: &InstructionIdx| {
            self.alignment.in_b(*at).is_some() && !self.differs.get(at.index()).is_some_and(|d| *d)
        };
        if added.is_empty() && order.iter().all(is_same) {
            return;
        }
        // Whether each line is there on both sides, and what is written.
        let mut body: Vec<(bool, Line)> = Vec::with_capacity(order.len() + added.len());
        let mut rest = added.as_slice();
        for (place, at) in order.iter().enumerate() {
            while let Some(((_, new), later)) = rest.split_first().filter(|((slot, _), _)| *slot <= place) {
                body.push((false, Line::New(*new)));
                rest = later;
            }
            match self.alignment.in_b(*at) {
                Some(_) if is_same(at) => body.push((true, Line::Same(*at))),
                Some(other) => {
                    // What differs in the body that it calls is told there.
                    if self.old(*at) == self.new_line(other) {
                        body.push((true, Line::Same(*at)));
                        continue;
                    }
                    body.push((false, Line::Old(*at)));
                    body.push((false, Line::New(other)));
                }
                None => body.push((false, Line::Old(*at))),
            }
        }
        body.extend(rest.iter().map(|(_, new)| (false, Line::New(*new))));
        let (mine, theirs) = (&left.computation(a).name, &right.computation(b).name);
        let head = if mine == theirs { mine.clone() } else { format!("{mine} ({theirs} in B)") };
        self.hunks(&head, &body);
    }

    /// Writes lines that differ, with some around them.
    fn hunks(&mut self, head: &str, body: &[(bool, Line)]) {
        let mut is_shown = vec![false; body.len()];
        for (at, _) in body.iter().enumerate().filter(|(_, (is_same, _))| !is_same) {
            let last = (at + CONTEXT + 1).min(body.len());
            is_shown[at.saturating_sub(CONTEXT)..last].fill(true);
        }
        let mut was_shown = false;
        for ((_, line), shown) in body.iter().zip(is_shown) {
            if shown && !was_shown {
                self.lines.push(format!("@@ {head} @@"));
            }
            was_shown = shown;
            if shown {
                let words = match line {
                    Line::Same(at) => format!("  {}", self.old(*at)),
                    Line::Old(at) => format!("- {}", self.old(*at)),
                    Line::New(at) => format!("+ {}", self.new_line(*at)),
                };
                self.lines.push(cut(words));
            }
        }
    }

    /// What only the second has, each with the place in the first before which it belongs: that of its first user.
    fn added(
        &self,
        b: ComputationIdx,
        place: &BTreeMap<InstructionIdx, usize>,
        end: usize,
    ) -> Vec<(usize, InstructionIdx)> {
        let right = self.alignment.b;
        let order = right.structure_order(b);
        let mut slots: BTreeMap<InstructionIdx, usize> = BTreeMap::new();
        for at in order.iter().rev().filter(|at| self.alignment.in_a(**at).is_none()) {
            let users = right.users(*at).iter().filter_map(|user| match self.alignment.in_a(*user) {
                Some(a) => place.get(&a).copied(),
                None => slots.get(user).copied(),
            });
            let slot = users.min().unwrap_or(end);
            slots.insert(*at, slot);
        }
        let mut added: Vec<(usize, InstructionIdx)> =
            order.iter().filter_map(|at| Some((*slots.get(at)?, *at))).collect();
        added.sort_by_key(|(slot, _)| *slot);
        added
    }

    /// Computations that only one side has, fusions excepted, which stand where they are called.
    fn unpaired(&mut self) {
        let summary = |module: &Module, index: ComputationIdx, sign: &str| {
            let computation = module.computation(index);
            let count = computation.instructions().len();
            (!computation.is_fusion)
                .then(|| format!("{sign} {} {{ {count} instructions }}", computation.name))
        };
        let (a, b) = (self.alignment.a, self.alignment.b);
        let removed = a.computations().filter(|(c, _)| self.alignment.computation_in_b(*c).is_none());
        let added = b.computations().filter(|(c, _)| self.alignment.computation_in_a(*c).is_none());
        let mut lines: Vec<String> = removed.filter_map(|(c, _)| summary(a, c, "-")).collect();
        lines.extend(added.filter_map(|(c, _)| summary(b, c, "+")));
        if !lines.is_empty() {
            self.lines.push("@@ computations of one side @@".to_owned());
            self.lines.append(&mut lines);
        }
    }

    fn old(&self, at: InstructionIdx) -> String {
        let a = &self.alignment.a.instruction(at).shape;
        let other = self.alignment.in_b(at).map(|b| &self.alignment.b.instruction(b).shape);
        let shape = shape(a, other);
        line(
            self.alignment.a,
            at,
            &shape,
            |operand| self.alignment.a.instruction(operand).name.clone(),
            |called| self.alignment.a.computation(called).name.clone(),
        )
    }

    fn new_line(&self, at: InstructionIdx) -> String {
        let b = &self.alignment.b.instruction(at).shape;
        let other = self.alignment.in_a(at).map(|a| &self.alignment.a.instruction(a).shape);
        let shape = shape(b, other);
        line(
            self.alignment.b,
            at,
            &shape,
            |operand| self.name(operand),
            |called| {
                let same = self.alignment.computation_in_a(called);
                same.map_or_else(
                    || self.alignment.b.computation(called).name.clone(),
                    |same| self.alignment.a.computation(same).name.clone(),
                )
            },
        )
    }

    fn name(&self, b: InstructionIdx) -> String {
        if let Some(a) = self.alignment.in_a(b) {
            return self.alignment.a.instruction(a).name.clone();
        }
        let own = &self.alignment.b.instruction(b).name;
        let is_taken = self.alignment.a.instruction_by_name(own).is_some();
        format!("{own}{}", if is_taken { "'" } else { "" })
    }
}

/// A line of a computation.
#[derive(Clone, Copy)]
enum Line {
    Same(InstructionIdx),
    Old(InstructionIdx),
    New(InstructionIdx),
}

/// One instruction with the names that are given for it.
fn line(
    module: &Module,
    at: InstructionIdx,
    shape: &str,
    name: impl Fn(InstructionIdx) -> String,
    computation: impl Fn(ComputationIdx) -> String,
) -> String {
    let instruction = module.instruction(at);
    let operands: Vec<String> = instruction.operands.iter().map(|operand| name(*operand)).collect();
    let mut inside = operands.join(", ");
    let attributes = instruction.attributes();
    if let Some(number) = attributes.parameter_number {
        inside = number.to_string();
    }
    if let Some(literal) = &attributes.literal {
        inside = haloscope_hlo::text::literal(literal);
    }
    let mut line = format!("{} = {shape} {}({inside})", name(at), instruction.opcode_name());
    let called: Vec<String> = instruction.called_computations.iter().map(|c| computation(*c)).collect();
    if !called.is_empty() {
        line = format!("{line}, calls={}", called.join(","));
    }
    for attribute in module.attribute_texts(at, &OPTIONS) {
        line = format!("{line}, {attribute}");
    }
    line
}

/// A shape; a long tuple that does not differ from the other side's is cut.
fn shape(own: &Shape, other: Option<&Shape>) -> String {
    if own.tuple_shapes.len() <= ELEMENTS || other.is_some_and(|other| other != own) {
        return own.to_string();
    }
    let first: Vec<String> = own.tuple_shapes.iter().take(ELEMENTS).map(Shape::to_string).collect();
    format!("({}, …+{})", first.join(", "), own.tuple_shapes.len() - ELEMENTS)
}

/// A line as it is shown.
fn cut(line: String) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
