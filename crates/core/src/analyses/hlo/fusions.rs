//! `hlo fusions`: what was fused, and what was not.

use haloscope_hlo::{FusionKind, Instruction, InstructionIdx, Module, Opcode};

use super::subject::{Subject, sum, times};
use crate::Error;
use crate::analyses::{Analysis, MODULE, MenuGroup, Params, Run};
use crate::derive::executions::Place;
use crate::derive::fusion_gaps::{self, Gap};
use crate::profile::Profile;
use crate::report::{Cell, Column, Notes, Report, Severity, Status, Table, Unit, Value};
use crate::scope::Scope;

pub(in crate::analyses) static ANALYSIS: Analysis = Analysis {
    id: "hlo fusions",
    label: "Fusions",
    group: MenuGroup::Programs,
    question: "What did the compiler fuse, and which values still pass through memory between what it could have fused?",
    params: &[MODULE],
    needs: &["an HLO module after optimisation", "for times: a profile of its execution"],
    example: "hlo fusions logs",
    also: &[],
    run: Run::Of(run),
};

const FUSIONS: &[Column] = &[
    Column::text("fusion", "Fusion", "Name of the fusion instruction."),
    Column::text("kind", "Kind", "How it was formed: loop, input, output or custom."),
    Column::text("root", "Root", "Opcode of its result; of several, the first few."),
    Column::count(
        "instructions",
        "Inside",
        "Instructions in its body, parameters not counted, nested fusions followed.",
    ),
    Column::duration(
        "self_ps",
        "Self time",
        "Measured, summed over executions and devices; unknown without a profile.",
    ),
    Column::count(
        "executions",
        "Executions",
        "Executions in one run of the program, loops counted by their trip counts.",
    ),
    Column::float("flops", "FLOPs", Unit::Flop, "Of one execution, by XLA's cost analysis."),
    Column::bytes(
        "bytes",
        "Bytes",
        "Read and written by one execution: what its body really reads of each operand, and its results.",
    ),
    Column::bytes("bytes_in", "Operands", "Bytes of its operands, padding included."),
    Column::bytes("bytes_out", "Results", "Bytes of its results, padding included."),
    Column::float("intensity", "Intensity", Unit::FlopPerByte, "FLOPs over bytes."),
    Column::text("category", "Category", "HLO category."),
    Column::text("op_name", "Op name", "The framework's name."),
    Column::text("source", "Source", "File and line."),
];

const UNFUSED: &[Column] = &[
    Column::text("producer", "Producer", "The instruction that makes the value."),
    Column::text("consumer", "Consumer", "The instruction that reads it."),
    Column::bytes("bytes", "Value", "Bytes of the value, padding included."),
    Column::bytes(
        "spared_bytes",
        "Could spare",
        "Bytes that a fusion would spare in one execution: the read, and the write where nobody else reads the value.",
    ),
    Column::bytes("run_spared_bytes", "In a run", "The same times the executions in one run of the program."),
    Column::text("blocked_by", "Blocked by", "What the graph shows that speaks against a fusion."),
    Column::text("detail", "Detail", "Who or what that is."),
    Column::text(
        "basis",
        "Basis",
        "derived: the graph shows it; guess: nothing in the graph speaks against it, so the compiler's cost model did.",
    ),
    Column::text("producer_opcode", "Makes it", "Opcode of the producer."),
    Column::text("consumer_opcode", "Reads it", "Opcode of the consumer."),
    Column::count("executions", "Executions", "Executions in one run of the program."),
    Column::duration(
        "self_ps",
        "Self time",
        "Measured, of both together, summed over executions and devices.",
    ),
    Column::text("op_name", "Op name", "The framework's name for the consumer."),
];

const BLOCKED: &[Column] = &[
    Column::text("blocked_by", "Blocked by", "What the graph shows that speaks against a fusion."),
    Column::count("pairs", "Pairs", "Pairs of instructions."),
    Column::bytes(
        "run_spared_bytes",
        "In a run",
        "Bytes that fusing each pair would spare in one run of the program; pairs overlap, so they do not add up to what all together would.",
    ),
];

/// Pairs that have a row; on modules of tens of thousands of instructions nobody reads the rest.
const ROWS: usize = 1000;

fn run(profile: &Profile, scope: &Scope, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(profile, scope, params, notes)?;
    let module = subject.module;
    let mut rows: Vec<(u64, i64, Vec<Cell>)> = Vec::new();
    for (index, hlo) in module.instructions() {
        if hlo.opcode == Opcode::Fusion && subject.executions.place(hlo.computation) == Place::Control {
            rows.push(fusion(&subject, index, hlo));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.1, row.0)));
    let fused: u64 = rows.len() as u64;
    let mut fusions = Table::new("fusions", "Fusions", FUSIONS);
    rows.into_iter().for_each(|(_, _, row)| fusions.push(row));

    let (gaps, elsewhere) = fusion_gaps::find(module, &subject.executions);
    let mut unfused = Table::new("unfused", "Left unfused, by traffic", UNFUSED);
    gaps.iter().take(ROWS).for_each(|gap| unfused.push(pair(&subject, gap)));
    if gaps.len() > ROWS {
        notes.add(
            "thinned",
            Severity::Info,
            format!("{} pairs were left unfused; the {ROWS} with the most traffic have a row", gaps.len()),
            "values and the table `blocked` count all of them",
            "",
        );
    }
    let inside: usize = module
        .computations()
        .filter(|(index, _)| subject.executions.place(*index) == Place::Fused)
        .map(|(index, _)| body_size(module, index))
        .sum();
    let mut values = subject.values();
    let count = |id, label, n: u64, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
    values.extend([
        count("fusions", "Fusions", fused, "Fusion instructions outside of other fusions."),
        count("fused_instructions", "Instructions inside", inside as u64, "Instructions in bodies of fusions, parameters not counted."),
        count("unfused_pairs", "Pairs left unfused", gaps.len() as u64, "Pairs of instructions that compilers fuse, or that border on a kernel, with a value in main memory between them."),
        count("pairs_elsewhere", "Pairs in other memories", elsewhere as u64, "Such pairs whose value lies in the core's own memory, which costs no traffic."),
        Value::new(
            "unfused_value_bytes",
            "Values between them",
            sum(distinct(&gaps).map(|gap| times(Some(gap.bytes), gap.executions))),
            Unit::Bytes,
            Status::Derived,
            "Bytes of these values in one run of the program, each value once.",
        ),
    ]);
    Ok(Report { values, tables: vec![fusions, unfused, blocked(&gaps)], ..Report::default() })
}

/// One gap for each producer and size of value.
fn distinct(gaps: &[Gap]) -> impl Iterator<Item = &Gap> {
    let mut seen = std::collections::BTreeSet::new();
    gaps.iter().filter(move |gap| seen.insert((gap.producer, gap.bytes)))
}

fn body_size(module: &Module, body: haloscope_hlo::ComputationIdx) -> usize {
    let counts = |index: &InstructionIdx| {
        !matches!(module.instruction(*index).opcode, Opcode::Parameter | Opcode::Fusion | Opcode::Tuple)
    };
    module.computation(body).instructions().filter(counts).count()
}

fn fusion<'p>(subject: &Subject<'p>, index: InstructionIdx, hlo: &'p Instruction) -> (u64, i64, Vec<Cell>) {
    let module = subject.module;
    let cost = subject.program.decoded.costs.instruction(index);
    let executions = subject.executed(index);
    let time = subject.time(index);
    let inside: usize = hlo
        .called_computations
        .iter()
        .flat_map(|body| module.reachable_computations(*body))
        .filter(|body| subject.executions.place(*body) == Place::Fused)
        .map(|body| body_size(module, body))
        .sum();
    let of_operand = |operand: &InstructionIdx| module.instruction(*operand).shape.padded_bytes();
    let operands = hlo.operands.iter().try_fold(0u64, |sum, operand| sum.checked_add(of_operand(operand)?));
    let intensity = cost.flops.zip(cost.bytes_accessed.filter(|bytes| *bytes > 0));
    let row = vec![
        hlo.name.as_str().into(),
        kind(hlo).into(),
        root(module, hlo).into(),
        inside.into(),
        time.map(|time| time.self_ps).into(),
        executions.into(),
        cost.flops.map(|flops| flops as f64).into(),
        cost.bytes_accessed.into(),
        operands.into(),
        hlo.shape.padded_bytes().into(),
        intensity.map(|(flops, bytes)| flops as f64 / bytes as f64).into(),
        module.category(hlo).into(),
        subject.op_name(index, None),
        subject.source(index, None),
    ];
    let traffic = cost.bytes_accessed.unwrap_or(0).saturating_mul(executions.unwrap_or(1));
    (traffic, time.map_or(0, |time| time.self_ps), row)
}

fn kind(hlo: &Instruction) -> String {
    match hlo.attributes().fusion_kind.as_ref() {
        Some(FusionKind::Loop) => "loop".to_owned(),
        Some(FusionKind::Input) => "input".to_owned(),
        Some(FusionKind::Output) => "output".to_owned(),
        Some(FusionKind::Custom) => "custom".to_owned(),
        Some(FusionKind::Other(word)) => word.clone(),
        None => String::new(),
    }
}

fn root(module: &Module, hlo: &Instruction) -> String {
    const LISTED: usize = 3;
    let Some(body) = hlo.called_computations.first() else { return String::new() };
    let root = module.instruction(module.computation(*body).root);
    if root.opcode != Opcode::Tuple {
        return root.opcode_name().to_owned();
    }
    let names = root.operands.iter().map(|part| module.instruction(*part).opcode_name());
    let mut words: Vec<&str> = names.take(LISTED).collect();
    if root.operands.len() > LISTED {
        words.push("...");
    }
    words.join(", ")
}

fn pair(subject: &Subject<'_>, gap: &Gap) -> Vec<Cell> {
    let opcode = |index: InstructionIdx| Cell::from(subject.module.instruction(index).opcode_name());
    let measured = [gap.producer, gap.consumer].map(|index| subject.time(index).map(|time| time.self_ps));
    let self_ps = measured.into_iter().flatten().reduce(i64::saturating_add);
    vec![
        subject.name(gap.producer).into(),
        subject.name(gap.consumer).into(),
        gap.bytes.into(),
        gap.spared_bytes.into(),
        times(Some(gap.spared_bytes), gap.executions).into(),
        gap.blocked_by.into(),
        gap.detail.as_str().into(),
        if gap.is_derived { "derived" } else { "guess" }.into(),
        opcode(gap.producer),
        opcode(gap.consumer),
        gap.executions.into(),
        self_ps.into(),
        subject.op_name(gap.consumer, Some(gap.producer)),
    ]
}

fn blocked(gaps: &[Gap]) -> Table {
    let mut sums: Vec<(&'static str, usize, Option<u64>)> = Vec::new();
    for gap in gaps {
        let spared = times(Some(gap.spared_bytes), gap.executions);
        let at = sums.iter().position(|row| row.0 == gap.blocked_by).unwrap_or_else(|| {
            sums.push((gap.blocked_by, 0, None));
            sums.len() - 1
        });
        sums[at].1 += 1;
        sums[at].2 = sum([sums[at].2, spared].into_iter());
    }
    sums.sort_by_key(|row| (std::cmp::Reverse(row.2), row.0));
    let mut table = Table::new("blocked", "What blocked fusions", BLOCKED);
    for (word, pairs, spared) in sums {
        table.push(vec![word.into(), pairs.into(), spared.into()]);
    }
    table
}
