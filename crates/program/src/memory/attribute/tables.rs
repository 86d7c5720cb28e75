//! What is alive at the peak, by bucket, rule, parameter and buffer.

use std::collections::BTreeMap;

use crate::attribution::{Attributed, Attribution, Identity, Totals};
use crate::program_memory::Group;
use haloscope_report::{Cell, Column, Table};
use haloscope_time::layer::Layer;

const BUCKETS: &[Column] = &[
    Column::text("bucket", "Bucket", "What the memory is for; `(guess)` where a rule guesses."),
    Column::bytes("bytes", "Bytes", "Bytes alive at the peak."),
    Column::share("share", "Share", "Of the peak."),
    Column::count("buffers", "Buffers", "How many buffers."),
    Column::bytes("parameter_bytes", "In parameters", "Of these, in memory of the entry's parameters."),
    Column::bytes("output_bytes", "In outputs", "Of these, in outputs with memory of their own."),
    Column::bytes(
        "temporary_bytes",
        "In temporaries",
        "Of these, placed by the heap simulator: copies of parameters among them.",
    ),
    Column::flag("guess", "Guess", "Whether a rule guessed any of it."),
];

#[derive(Default)]
struct Sum {
    bytes: i64,
    parameter: i64,
    output: i64,
    temporary: i64,
    buffers: usize,
    is_guess: bool,
}

impl Sum {
    fn add(&mut self, buffer: &Attributed<'_, '_>, is_guess: bool) {
        let bytes = buffer.alive.bytes;
        self.bytes = self.bytes.saturating_add(bytes);
        self.buffers += 1;
        self.is_guess |= is_guess;
        let part = match buffer.alive.group {
            Group::Parameter => &mut self.parameter,
            Group::Output => &mut self.output,
            Group::Temporary => &mut self.temporary,
            Group::Constant | Group::ThreadLocal => return,
        };
        *part = part.saturating_add(bytes);
    }
}

fn share(bytes: i64, of: i64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64)
}

pub(super) fn buckets(attribution: &Attribution<'_, '_>, totals: &Totals) -> Table {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for buffer in &attribution.buffers {
        let rule = buffer.rule.and_then(|rule| attribution.rules.all().get(rule));
        let sum = sums.entry(attribution.bucket(buffer.rule)).or_default();
        sum.add(buffer, rule.is_some_and(|rule| rule.is_guess));
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.bytes));
    let mut table = Table::new("buckets", "Whose memory it is", BUCKETS);
    for (bucket, sum) in rows {
        table.push(vec![
            bucket.into(),
            sum.bytes.into(),
            share(sum.bytes, totals.peak_bytes).into(),
            sum.buffers.into(),
            sum.parameter.into(),
            sum.output.into(),
            sum.temporary.into(),
            sum.is_guess.into(),
        ]);
    }
    table
}

const RULES: &[Column] = &[
    Column::count("order", "Order", "Which rule it is, from 1: they are tried in this order."),
    Column::text("rule", "Rule", "The rule's name."),
    Column::text("bucket", "Bucket", "The bucket it gives."),
    Column::bytes("bytes", "Bytes", "Bytes at the peak that it took."),
    Column::count("buffers", "Buffers", "Buffers that it took."),
    Column::flag("guess", "Guess", "Whether it guesses."),
    Column::text("from", "From", "`built in`, or `yours` for one of --rules."),
];

/// The rules that took something, in the order in which they are tried; then those of the user's that took nothing.
pub(super) fn rules(attribution: &Attribution<'_, '_>) -> Table {
    let all = attribution.rules.all();
    let mut sums = vec![(0_i64, 0_usize); all.len() + 1];
    for buffer in &attribution.buffers {
        if let Some(sum) = sums.get_mut(buffer.rule.unwrap_or(all.len())) {
            *sum = (sum.0.saturating_add(buffer.alive.bytes), sum.1 + 1);
        }
    }
    let mut table = Table::new("rules", "Which rule took what", RULES);
    for (order, (rule, (bytes, buffers))) in all.iter().zip(&sums).enumerate() {
        if *buffers > 0 || !rule.is_built_in {
            table.push(vec![
                (order + 1).into(),
                rule.name.as_str().into(),
                rule.bucket.as_str().into(),
                (*bytes).into(),
                (*buffers).into(),
                rule.is_guess.into(),
                if rule.is_built_in { "built in" } else { "yours" }.into(),
            ]);
        }
    }
    if let Some((bytes, buffers)) = sums.last().filter(|sum| sum.1 > 0) {
        let none = Cell::Unknown;
        table.push(vec![
            none,
            "no rule".into(),
            "other".into(),
            (*bytes).into(),
            (*buffers).into(),
            false.into(),
            "built in".into(),
        ]);
    }
    table
}

const IDENTITIES: &[Column] = &[
    Column::text("what", "What", "What must agree."),
    Column::bytes("left_bytes", "One way", "Bytes added up in one way."),
    Column::bytes("right_bytes", "Other way", "The same bytes, added up in another way."),
    Column::bytes("difference_bytes", "Difference", "The first less the second."),
    Column::bytes(
        "tolerance_bytes",
        "Tolerance",
        "How far they may differ: 0, or the padding of parameters.",
    ),
    Column::flag("holds", "Holds", "Whether they agree."),
];

pub(super) fn identities(identities: &[Identity]) -> Table {
    let mut table = Table::new("identities", "Sums that must agree", IDENTITIES);
    for identity in identities {
        table.push(vec![
            identity.what.into(),
            identity.left_bytes.into(),
            identity.right_bytes.into(),
            identity.difference_bytes().into(),
            identity.tolerance_bytes.into(),
            identity.holds().into(),
        ]);
    }
    table
}

const PARAMETERS: &[Column] = &[
    Column::count("number", "Number", "The parameter's number."),
    Column::text("name", "Name", "Its name in the framework, with the path into its tuple."),
    Column::text("shape", "Shape", "Element type, extents and layout."),
    Column::bytes("bytes", "Bytes", "Bytes of its elements."),
    Column::bytes(
        "padded_bytes",
        "In memory",
        "Bytes of its allocation; unknown where it has none in this memory.",
    ),
    Column::text("bucket", "Bucket", "What it is for."),
    Column::text("rule", "Rule", "The rule that says so."),
    Column::flag("donated", "Donated", "Whether an output takes over its memory."),
    Column::flag("carried", "Carried", "Whether it begins the state of a loop."),
    Column::flag("written", "Written in place", "Whether the program overwrites a part of it."),
    Column::flag(
        "multiplied",
        "Multiplied",
        "Whether it, or a part of it, is an operand of a matrix product.",
    ),
];

fn rule_name(attribution: &Attribution<'_, '_>, rule: Option<usize>) -> Cell {
    let rule = rule.and_then(|rule| attribution.rules.all().get(rule));
    rule.map(|rule| rule.name.as_str()).into()
}

fn text(text: &str) -> Cell {
    if text.is_empty() { Cell::Unknown } else { text.into() }
}

pub(super) fn parameters(attribution: &Attribution<'_, '_>) -> Table {
    let mut table = Table::new("parameters", "Parameters of the program", PARAMETERS);
    let mut rows: Vec<_> = attribution.flow.parameters.iter().zip(&attribution.parameters).collect();
    rows.sort_by_key(|(_, attributed)| std::cmp::Reverse(attributed.bytes));
    for (parameter, attributed) in rows {
        let fate = parameter.fate;
        table.push(vec![
            parameter.number.into(),
            text(&parameter.name()),
            parameter.shape.to_string().into(),
            parameter.shape.bytes().into(),
            attributed.bytes.into(),
            attribution.bucket(attributed.rule).into(),
            rule_name(attribution, attributed.rule),
            attributed.is_aliased.into(),
            fate.is_carried.into(),
            fate.is_written.into(),
            fate.is_multiplied.into(),
        ]);
    }
    table
}

const BUFFERS: &[Column] = &[
    Column::text(
        "instruction",
        "Instruction",
        "The instruction that makes it, with the path into its tuple.",
    ),
    Column::bytes("bytes", "Bytes", "Bytes that it adds to the peak."),
    Column::text("bucket", "Bucket", "What it is for."),
    Column::text(
        "op_name",
        "Op name",
        "The name that rules saw: the parameter's whose value it holds, else the op's.",
    ),
    Column::text("group", "Group", "What the allocation is for."),
    Column::text("rule", "Rule", "The rule that took it."),
    Column::text("shape", "Shape", "Element type, extents and layout."),
    Column::text("opcode", "Opcode", "Opcode of the instruction."),
    Column::text("layer", "Layer", "The layer that the op name says, if any."),
    Column::count("parameter", "Parameter", "Number of the entry parameter whose value it holds."),
    Column::count("allocation", "Allocation", "Number of the allocation."),
];

/// Every buffer at the peak, largest first.
pub(super) fn buffers(attribution: &Attribution<'_, '_>) -> Table {
    let mut rows: Vec<_> = attribution.buffers.iter().collect();
    rows.sort_by_key(|buffer| std::cmp::Reverse(buffer.alive.bytes));
    let mut table = Table::new("buffers", "What is alive at the peak", BUFFERS);
    for buffer in rows {
        let instruction = buffer.alive.instruction();
        let path = &buffer.alive.buffer.logical.shape_index;
        let path: String = path.iter().map(|step| format!("{{{step}}}")).collect();
        let parameter = buffer.parameter.and_then(|row| attribution.flow.parameters.get(row));
        table.push(vec![
            format!("{}{path}", instruction.name).into(),
            buffer.alive.bytes.into(),
            attribution.bucket(buffer.rule).into(),
            text(&buffer.op_name),
            buffer.alive.group.name().into(),
            rule_name(attribution, buffer.rule),
            buffer.shape.to_string().into(),
            instruction.opcode_name().into(),
            Layer::of(&buffer.op_name).map(|layer| layer.to_string()).into(),
            parameter.map(|parameter| parameter.number).into(),
            buffer.alive.buffer.allocation.index.into(),
        ]);
    }
    table
}
