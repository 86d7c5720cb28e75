//! `hlo fusions`: what was fused, and what was not.

use haloscope_hlo::{FusionKind, Instruction, InstructionIdx, Module, Opcode};

use super::subject::{Subject, sum, times};
use crate::fusion_gaps::{self, Gap};
use haloscope_report::Error;
use haloscope_report::{Cell, Columns, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::executions::Place;
use haloscope_time::select::Scoped;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo fusions",
    label: "Fusions",
    group: MenuGroup::Programs,
    question: "What did the compiler fuse, and which values still pass through memory between ops that it could have fused?",
    params: &[MODULE],
    needs: &["an HLO module after optimisation", "for times: a profile of its execution"],
    reads: &[Input::Profile, Input::Program],
    example: "hlo fusions logs",
    also: &[],
    run: Run::Of(run),
};

/// Pairs that have a row; on modules of tens of thousands of instructions nobody reads the rest.
const ROWS: usize = 1000;

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let module = subject.module;
    let mut rows = Vec::new();
    for (index, hlo) in module.instructions() {
        if hlo.opcode == Opcode::Fusion && subject.executions.place(hlo.computation) == Place::Control {
            rows.push(fusion(&subject, index, hlo));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.1, row.0)));
    let fused: u64 = rows.len() as u64;
    let fusions = Table::of("fusions", "Fusions", rows.into_iter().map(|(_, _, row)| row));

    let (gaps, elsewhere) = fusion_gaps::find(module, &subject.executions);
    let pairs = gaps.iter().take(ROWS).map(|gap| pair(&subject, gap));
    let unfused = Table::of("unfused", "Left unfused, by traffic", pairs);
    if gaps.len() > ROWS {
        notes.add(
            "thinned",
            Severity::Info,
            format!("{} pairs were left unfused; the {ROWS} with the most traffic are listed", gaps.len()),
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
        count("fusions", "Fusions", fused, "Fusion instructions outside other fusions."),
        count("fused_instructions", "Instructions inside", inside as u64, "Instructions in bodies of fusions, parameters not counted."),
        count("unfused_pairs", "Pairs left unfused", gaps.len() as u64, "Pairs of instructions that compilers can fuse, or that are next to a kernel, with a value in main memory between them."),
        count("pairs_elsewhere", "Pairs in other memories", elsewhere.len() as u64, "Such pairs whose value is in the core's own memory, which costs no traffic."),
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

fn fusion(
    subject: &Subject<'_>,
    index: InstructionIdx,
    hlo: &Instruction,
) -> (u64, i64, Row<impl Columns + use<>>) {
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
    let row = row![
        text("fusion", "Fusion", "Name of the fusion instruction.", hlo.name.as_str()),
        text("kind", "Kind", "How it was formed: loop, input, output or custom.", kind(hlo)),
        text("root", "Root", "Opcode of its result; for several results, the first few.", root(module, hlo)),
        count(
            "instructions",
            "Inside",
            "Instructions in its body without parameters, including nested fusions.",
            inside
        ),
        duration(
            "self_ps",
            "Self time",
            "Measured, summed over executions and devices; unknown without a profile.",
            time.map(|time| time.self_ps)
        ),
        count(
            "executions",
            "Executions",
            "Executions in one run of the program, with trip counts of loops.",
            executions
        ),
        float(
            "flops",
            "FLOPs by shapes",
            Unit::Flop,
            "Of one execution, by XLA's cost analysis. The count for the device, in `ops` and on the timeline, may differ.",
            cost.flops.map(|flops| flops as f64)
        ),
        bytes(
            "bytes",
            "Bytes by shapes",
            "Read and written by one execution, in any memory: what its body really reads of each operand, and its results. The count for the device, in `ops` and on the timeline, may differ.",
            cost.bytes_accessed
        ),
        bytes("bytes_in", "Operands", "Bytes of its operands, padding included.", operands),
        bytes("bytes_out", "Results", "Bytes of its results, padding included.", hlo.shape.padded_bytes()),
        float(
            "intensity",
            "Intensity",
            Unit::FlopPerByte,
            "FLOPs per byte.",
            intensity.map(|(flops, bytes)| flops as f64 / bytes as f64)
        ),
        text("category", "Category", "HLO category.", module.category(hlo)),
        text("op_name", "Op name", "The framework's name.", subject.op_name(index, None)),
        text("source", "Source", "File and line.", subject.source(index, None)),
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

fn pair(subject: &Subject<'_>, gap: &Gap) -> Row<impl Columns + use<>> {
    let opcode = |index: InstructionIdx| Cell::from(subject.module.instruction(index).opcode_name());
    let measured = [gap.producer, gap.consumer].map(|index| subject.time(index).map(|time| time.self_ps));
    let self_ps = measured.into_iter().flatten().reduce(i64::saturating_add);
    row![
        text("producer", "Producer", "The instruction that makes the value.", subject.name(gap.producer)),
        text("consumer", "Consumer", "The instruction that reads it.", subject.name(gap.consumer)),
        bytes("bytes", "Value", "Bytes of the value, padding included.", gap.bytes),
        bytes(
            "spared_bytes",
            "Could save",
            "Bytes that a fusion would save in one execution: the read, and the write if nothing else reads the value.",
            gap.spared_bytes
        ),
        bytes(
            "run_spared_bytes",
            "In a run",
            "The same times the executions in one run of the program.",
            times(Some(gap.spared_bytes), gap.executions)
        ),
        text("blocked_by", "Blocked by", "The reason against a fusion that the graph shows.", gap.blocked_by),
        text("detail", "Detail", "Details of the reason.", gap.detail.as_str()),
        text(
            "basis",
            "Basis",
            "derived: the graph shows it; guess: the graph shows no reason, so the compiler's cost model probably decided.",
            if gap.is_derived { "derived" } else { "guess" }
        ),
        text("producer_opcode", "Makes it", "Opcode of the producer.", opcode(gap.producer)),
        text("consumer_opcode", "Reads it", "Opcode of the consumer.", opcode(gap.consumer)),
        count("executions", "Executions", "Executions in one run of the program.", gap.executions),
        duration(
            "self_ps",
            "Self time",
            "Measured, of both together, summed over executions and devices.",
            self_ps
        ),
        text(
            "op_name",
            "Op name",
            "The framework's name for the consumer.",
            subject.op_name(gap.consumer, Some(gap.producer))
        ),
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
    let mut rows = Vec::new();
    for (word, pairs, spared) in sums {
        let row = row![
            text("blocked_by", "Blocked by", "The reason against a fusion that the graph shows.", word),
            count("pairs", "Pairs", "Pairs of instructions.", pairs),
            bytes(
                "run_spared_bytes",
                "In a run",
                "Bytes that fusing each pair would save in one run of the program; pairs overlap, so the total saving is less than the sum.",
                spared
            ),
        ];
        rows.push(row);
    }
    Table::of("blocked", "What blocked fusions", rows)
}
