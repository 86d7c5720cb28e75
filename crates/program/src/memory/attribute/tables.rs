//! What is alive at the peak, by bucket, rule, parameter and buffer.

use std::collections::BTreeMap;

use crate::attribution::{Attributed, Attribution, Identity, Rule, Totals};
use crate::program_memory::Group;
use haloscope_report::{Cell, Table, row};
use haloscope_time::layer::Layer;

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
    let mut table = Vec::new();
    for (bucket, sum) in rows {
        let row = row![
            text("bucket", "Bucket", "What the memory is for; `(guess)` if a rule guesses.", bucket),
            bytes("bytes", "Bytes", "Bytes alive at the peak.", sum.bytes),
            share("share", "Share", "Of the peak.", share(sum.bytes, totals.peak_bytes)),
            count("buffers", "Buffers", "How many buffers.", sum.buffers),
            bytes(
                "parameter_bytes",
                "In parameters",
                "Of these, in memory of the entry's parameters.",
                sum.parameter
            ),
            bytes("output_bytes", "In outputs", "Of these, in outputs with their own memory.", sum.output),
            bytes(
                "temporary_bytes",
                "In temporaries",
                "Of these, placed by the heap simulator, including copies of parameters.",
                sum.temporary
            ),
            flag("guess", "Guess", "Whether a rule guessed any of it.", sum.is_guess),
        ];
        table.push(row);
    }
    Table::of("buckets", "Whose memory it is", table)
}

/// The rules that took something, in the order in which they are tried; then those of the user's that took nothing.
pub(super) fn rules(attribution: &Attribution<'_, '_>) -> Table {
    let all = attribution.rules.all();
    let mut sums = vec![(0_i64, 0_usize); all.len() + 1];
    for buffer in &attribution.buffers {
        if let Some(sum) = sums.get_mut(buffer.rule.unwrap_or(all.len())) {
            *sum = (sum.0.saturating_add(buffer.alive.bytes), sum.1 + 1);
        }
    }
    let takes = all.iter().enumerate().map(Some).chain([None]).zip(sums);
    let took =
        takes.filter(|(rule, (_, buffers))| *buffers > 0 || rule.is_some_and(|(_, rule)| !rule.is_built_in));
    let row = |(rule, (bytes, buffers)): (Option<(usize, &Rule)>, (i64, usize))| {
        row![
            count(
                "order",
                "Order",
                "Its number, from 1: rules are tried in this order.",
                rule.map(|(order, _)| order + 1)
            ),
            text("rule", "Rule", "The rule's name.", rule.map_or("no rule", |(_, rule)| rule.name.as_str())),
            text(
                "bucket",
                "Bucket",
                "The bucket it gives.",
                rule.map_or("other", |(_, rule)| rule.bucket.as_str())
            ),
            bytes("bytes", "Bytes", "Bytes at the peak that it matched.", bytes),
            count("buffers", "Buffers", "Buffers that it matched.", buffers),
            flag("guess", "Guess", "Whether it guesses.", rule.is_some_and(|(_, rule)| rule.is_guess)),
            text(
                "from",
                "From",
                "`built in`, or `yours` for one from --rules.",
                if rule.is_some_and(|(_, rule)| !rule.is_built_in) { "yours" } else { "built in" }
            ),
        ]
    };
    Table::of("rules", "What each rule matched", took.map(row))
}

pub(super) fn identities(identities: &[Identity]) -> Table {
    let mut table = Vec::new();
    for identity in identities {
        let row = row![
            text("what", "What", "What must agree.", identity.what),
            bytes("left_bytes", "One way", "Bytes added up one way.", identity.left_bytes),
            bytes("right_bytes", "Other way", "The same bytes, added up another way.", identity.right_bytes),
            bytes(
                "difference_bytes",
                "Difference",
                "The first minus the second.",
                identity.difference_bytes()
            ),
            bytes(
                "tolerance_bytes",
                "Tolerance",
                "How far they may differ: 0, or the padding of parameters.",
                identity.tolerance_bytes
            ),
            flag("holds", "Holds", "Whether they agree.", identity.holds()),
        ];
        table.push(row);
    }
    Table::of("identities", "Sums that must agree", table)
}

fn rule_name(attribution: &Attribution<'_, '_>, rule: Option<usize>) -> Cell {
    let rule = rule.and_then(|rule| attribution.rules.all().get(rule));
    rule.map(|rule| rule.name.as_str()).into()
}

pub(super) fn parameters(attribution: &Attribution<'_, '_>) -> Table {
    let mut table = Vec::new();
    let mut rows: Vec<_> = attribution.flow.parameters.iter().zip(&attribution.parameters).collect();
    rows.sort_by_key(|(_, attributed)| std::cmp::Reverse(attributed.bytes));
    for (parameter, attributed) in rows {
        let fate = parameter.fate;
        let row = row![
            count("number", "Number", "The parameter's number.", parameter.number),
            text(
                "name",
                "Name",
                "Its name in the framework, with the path into its tuple.",
                Cell::words(&parameter.name())
            ),
            text("shape", "Shape", "Element type, extents and layout.", parameter.shape.to_string()),
            bytes("bytes", "Bytes", "Bytes of its elements.", parameter.shape.bytes()),
            bytes(
                "padded_bytes",
                "In memory",
                "Bytes of its allocation; unknown if it has none in this memory.",
                attributed.bytes
            ),
            text("bucket", "Bucket", "What it is for.", attribution.bucket(attributed.rule)),
            text("rule", "Rule", "The rule that decided.", rule_name(attribution, attributed.rule)),
            flag("donated", "Donated", "Whether an output takes over its memory.", attributed.is_aliased),
            flag("carried", "Carried", "Whether it begins the state of a loop.", fate.is_carried),
            flag(
                "written",
                "Written in place",
                "Whether the program overwrites a part of it.",
                fate.is_written
            ),
            flag(
                "multiplied",
                "Multiplied",
                "Whether it, or a part of it, is an operand of a matrix product.",
                fate.is_multiplied
            ),
        ];
        table.push(row);
    }
    Table::of("parameters", "Parameters of the program", table)
}

/// Every buffer at the peak, largest first.
pub(super) fn buffers(attribution: &Attribution<'_, '_>) -> Table {
    let mut rows: Vec<_> = attribution.buffers.iter().collect();
    rows.sort_by_key(|buffer| std::cmp::Reverse(buffer.alive.bytes));
    let mut table = Vec::new();
    for buffer in rows {
        let instruction = buffer.alive.instruction();
        let path = &buffer.alive.buffer.logical.shape_index;
        let path: String = path.iter().map(|step| format!("{{{step}}}")).collect();
        let parameter = buffer.parameter.and_then(|row| attribution.flow.parameters.get(row));
        let row = row![
            text(
                "instruction",
                "Instruction",
                "The instruction that makes it, with the path into its tuple.",
                format!("{}{path}", instruction.name)
            ),
            bytes("bytes", "Bytes", "Bytes that it adds to the peak.", buffer.alive.bytes),
            text("bucket", "Bucket", "What it is for.", attribution.bucket(buffer.rule)),
            text(
                "op_name",
                "Op name",
                "The name that rules used: that of the parameter whose value it has, else the op's.",
                Cell::words(&buffer.op_name)
            ),
            text("group", "Group", "What the allocation is for.", buffer.alive.group.name()),
            text("rule", "Rule", "The rule that matched it.", rule_name(attribution, buffer.rule)),
            text("shape", "Shape", "Element type, extents and layout.", buffer.shape.to_string()),
            text("opcode", "Opcode", "Opcode of the instruction.", instruction.opcode_name()),
            text(
                "layer",
                "Layer",
                "The layer that the op name says, if any.",
                Layer::of(&buffer.op_name).map(|layer| layer.to_string())
            ),
            count(
                "parameter",
                "Parameter",
                "Number of the entry parameter whose value it has.",
                parameter.map(|parameter| parameter.number)
            ),
            count(
                "allocation",
                "Allocation",
                "Number of the allocation.",
                buffer.alive.buffer.allocation.index
            ),
        ];
        table.push(row);
    }
    Table::of("buffers", "What is alive at the peak", table)
}
