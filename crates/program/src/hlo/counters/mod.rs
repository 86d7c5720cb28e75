//! `hlo counters`: what a kernel's author counts in the program that came out.

use std::collections::BTreeMap;

use haloscope_hlo::{CostAnalysis, InstructionIdx, Opcode};

use super::subject::{Subject, sum, times};
use crate::copies::{self, Copy, CopyKind, Why};
use crate::relayouts::{self, Relayout};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Finding, Gate, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::executions::Place;
use haloscope_time::select::Scoped;

const fn expected(id: &'static str, doc: &'static str) -> Param {
    Param { id, doc, kind: ParamKind::Count, default: "" }
}
/// How many products are expected.
pub const DOTS: Param =
    expected("dots", "how many matrix products to expect, including convolutions that are one");
/// How many exponentials are expected.
pub const EXPS: Param = expected("exps", "how many exponentials to expect");
/// How many reductions are expected.
pub const REDUCES: Param = expected("reduces", "how many reductions to expect");
/// How many copies are expected.
pub const COPIES: Param =
    expected("copies", "how many copies to expect outside fusions; a start and its end count as one");
/// How many defensive copies are expected.
pub const DEFENSIVE: Param = expected("defensive", "how many defensive copies to expect among them");

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo counters",
    label: "Counters",
    group: MenuGroup::Programs,
    question: "How many products, exponentials, reductions and copies did the compiler make of a kernel, and why is each copy there?",
    params: &[MODULE, DOTS, EXPS, REDUCES, COPIES, DEFENSIVE],
    needs: &["an HLO module after optimisation", "for times and executions: a profile of its execution"],
    reads: &[Input::Profile, Input::Program],
    example: "hlo counters logs --copies 0",
    also: &[],
    run: Run::Of(run),
};

/// Answers it.
///
/// # Errors
/// [`Error::Usage`] for expectations that cannot be read, [`Error::Nothing`] where there is no program.
pub fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let copies = copies::find(subject.module, &subject.executions);
    let relayouts = relayouts::find(subject.module, &subject.executions);
    let opcodes = opcode_tallies(&subject);
    let matmuls = matmuls(&subject);

    let asked =
        |param: &Param| Some(params.text(param)).filter(|t| !t.is_empty()).map(|_| params.count(param));
    let of = |opcode: Opcode| opcodes.get(&opcode).copied().unwrap_or_default();
    let tallies = [
        ("dots", matmuls.tally, asked(&DOTS)),
        ("exponentials", of(Opcode::Exponential), asked(&EXPS)),
        ("reduces", of(Opcode::Reduce), asked(&REDUCES)),
        ("copies", copy_tally(&copies, |_| true), asked(&COPIES)),
        ("defensive copies", copy_tally(&copies, |copy| copy.reason.why.is_defensive()), asked(&DEFENSIVE)),
    ];
    let mut counters = Vec::new();
    let mut passed = None;
    for (name, tally, asked) in tallies {
        let holds = asked.map(|asked| asked as u64 == tally.found());
        passed = holds.map(|holds| passed.unwrap_or(true) && holds).or(passed);
        let row = row![
            text("counter", "Counter", "What is counted.", name),
            count(
                "found",
                "Found",
                "Instructions of the module, each once, however often it runs; including those in fusions, except copies.",
                tally.found()
            ),
            count("in_fusions", "In fusions", "Those in bodies of fusions.", tally.in_fusions),
            count(
                "executed",
                "Executed",
                "Executions in one run of the program: instructions times trip counts of the loops around them; unknown if a trip count is.",
                tally.executed()
            ),
            count("expected", "Expected", "The expected number.", asked),
            flag("holds", "Holds", "Whether the expected number was found.", holds),
        ];
        counters.push(row);
    }
    let values = values(&subject, &tallies.map(|row| row.1), &copies, &relayouts, &matmuls);
    let findings = findings(&subject, &copies);
    let tables = vec![
        Table::of("expected", "Counters", counters),
        whys(&subject, &copies),
        copy_table(&subject, &copies),
        relayout_table(&subject, &relayouts),
        matmuls.table,
        opcode_table(&opcodes),
        categories(&subject),
    ];
    let gate = passed.map(Gate::of);
    Ok(Report { values, tables, findings, gate, ..Report::default() })
}

/// How many of a kind there are.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    outside: u64,
    in_fusions: u64,
    applied: u64,
    executed: u64,
    is_unknown: bool,
    /// Those in fusions are another kind, and not found.
    without_fused: bool,
}

impl Tally {
    fn add(&mut self, place: Place, executions: Option<u64>) {
        match place {
            Place::Control => self.outside += 1,
            Place::Fused => self.in_fusions += 1,
            Place::Applied => {
                self.applied += 1;
                return;
            }
            Place::Unreached => return,
        }
        if place == Place::Fused && self.without_fused {
            return;
        }
        match executions {
            Some(times) => self.executed = self.executed.saturating_add(times),
            None => self.is_unknown = true,
        }
    }

    /// Those in functions that are applied to elements are no work of their own.
    fn found(&self) -> u64 {
        self.outside + if self.without_fused { 0 } else { self.in_fusions }
    }

    fn executed(&self) -> Option<u64> {
        (!self.is_unknown).then_some(self.executed)
    }
}

fn opcode_tallies(subject: &Subject<'_>) -> BTreeMap<Opcode, Tally> {
    let mut tallies: BTreeMap<Opcode, Tally> = BTreeMap::new();
    for (index, hlo) in subject.module.instructions() {
        let place = subject.executions.place(hlo.computation);
        tallies.entry(hlo.opcode).or_default().add(place, subject.executed(index));
    }
    tallies
}

fn copy_tally(copies: &[Copy<'_>], counts: impl Fn(&Copy<'_>) -> bool) -> Tally {
    let mut tally = Tally { without_fused: true, ..Tally::default() };
    for copy in copies.iter().filter(|copy| counts(copy)) {
        let place = if copy.kind == CopyKind::Fused { Place::Fused } else { Place::Control };
        tally.add(place, copy.executions);
    }
    tally
}

fn run_moved(copy: &Copy<'_>) -> Option<u64> {
    times(copy.moved_bytes, copy.executions)
}

fn is_own(copy: &&Copy<'_>) -> bool {
    copy.kind != CopyKind::Fused
}

fn values(
    subject: &Subject<'_>,
    tallies: &[Tally; 5],
    copies: &[Copy<'_>],
    relayouts: &[Relayout],
    matmuls: &Matmuls,
) -> Vec<Value> {
    let mut values = subject.values();
    let count = |id, label, n: u64, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
    let bytes = |id, label, n: Option<u64>, doc| Value::new(id, label, n, Unit::Bytes, Status::Derived, doc);
    let [dots, exps, reduces, all, defensive] = tallies;
    let feeding = || relayouts.iter().filter(|r| !r.feeds.is_empty());
    values.extend([
        count("instructions", "Instructions", subject.module.instructions().len() as u64, "Instructions in all computations."),
        count("dots", "Matrix products", dots.found(), "Dots, and convolutions that are matrix products, in fusions or not."),
        count("exponentials", "Exponentials", exps.found(), "Instructions `exponential`, in fusions or not."),
        count("reduces", "Reductions", reduces.found(), "Instructions `reduce`, in fusions or not."),
        count("copies", "Copies", all.found(), "Copies outside fusions; the start and end of an asynchronous copy count as one."),
        count("copies_in_fusions", "Copies in fusions", all.in_fusions, "Copies in bodies of fusions, as part of what the fusion reads and writes."),
        count("defensive_copies", "Defensive copies", defensive.found(), "Copies outside fusions that change neither layout nor memory: they protect a value from being overwritten."),
        bytes("copied_bytes", "Moved by copies", sum(copies.iter().filter(is_own).map(run_moved)), "Bytes that copies outside fusions read and write in one run of the program."),
        bytes("defensive_bytes", "By defensive ones", sum(copies.iter().filter(is_own).filter(|c| c.reason.why.is_defensive()).map(run_moved)), "Bytes of defensive copies; unknown if there are none."),
        count("relayouts", "Relayouts", relayouts.len() as u64, "Transposes, reshapes and changes of layout outside fusions, and fusions that do nothing else."),
        count("relayouts_feeding_compute", "That feed compute", feeding().count() as u64, "Relayouts whose result a product, kernel or fusion reads from memory."),
        bytes("relayout_bytes", "Moved by relayouts", sum(relayouts.iter().map(|r| times(r.moved_bytes, r.executions))), "Bytes that relayouts read and write in one run of the program; unknown if there are none."),
        Value::new("matmul_flops", "FLOPs of products", matmuls.flops, Unit::Flop, Status::Derived, "FLOPs of matrix products in one run of the program, without those of kernels."),
    ]);
    let measured = relayouts.iter().filter_map(|r| subject.time(r.instruction)).map(|time| time.self_ps);
    let relayout_ps = measured.reduce(i64::saturating_add);
    values.push(Value::new(
        "relayout_ps",
        "Time of relayouts",
        relayout_ps,
        Unit::Ps,
        Status::Measured,
        "Self time of relayouts, summed over executions and devices; unknown without a profile.",
    ));
    values
}

fn whys(subject: &Subject<'_>, copies: &[Copy<'_>]) -> Table {
    let mut sums: BTreeMap<Why, (u64, Option<u64>, Option<i64>)> = BTreeMap::new();
    for copy in copies.iter().filter(is_own) {
        let row = sums.entry(copy.reason.why).or_default();
        row.0 += 1;
        row.1 = sum([row.1, run_moved(copy)].into_iter());
        let time = subject.time(copy.instruction).map(|time| time.self_ps);
        row.2 = [row.2, time].into_iter().flatten().reduce(i64::saturating_add);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.1));
    let mut table = Vec::new();
    for (why, (count, bytes, time)) in rows {
        let row = row![
            text("why", "Why", "Why copies may be there.", why.word()),
            flag(
                "defensive",
                "Defensive",
                "Whether such copies only protect a value from being overwritten.",
                why.is_defensive()
            ),
            count("copies", "Copies", "How many, without those in fusions.", count),
            bytes(
                "run_moved_bytes",
                "In a run",
                "Bytes that they read and write in one run of the program.",
                bytes
            ),
            duration("self_ps", "Self time", "Measured, summed over executions and devices.", time),
        ];
        table.push(row);
    }
    Table::of("reasons", "Why copies are there", table)
}

fn copy_table(subject: &Subject<'_>, copies: &[Copy<'_>]) -> Table {
    let mut rows = Vec::new();
    for copy in copies {
        let time = subject.time(copy.instruction);
        let in_all = time.map(|time| time.occurrences).or(times(copy.executions, subject.launches()));
        let producer = Some(copy.producer);
        let row = row![
            text(
                "copy",
                "Copy",
                "Name of the copy, of the start of an asynchronous copy, or of a fusion that only copies.",
                subject.name(copy.instruction)
            ),
            text("why", "Why", "Why it may be there.", copy.reason.why.word()),
            text(
                "basis",
                "Basis",
                "How the reason is known: derived from the graph, or a guess.",
                copy.reason.basis.word()
            ),
            bytes("bytes", "Bytes", "Size of the copy, padding included.", copy.bytes),
            bytes(
                "moved_bytes",
                "Moved",
                "Bytes read and written by one execution; unknown for a copy that is part of a fusion.",
                copy.moved_bytes
            ),
            bytes(
                "run_moved_bytes",
                "In a run",
                "The same in one run of the program, with trip counts of loops.",
                run_moved(copy)
            ),
            bytes(
                "total_moved_bytes",
                "In all",
                "The same in all executions that the profile shows, of all devices; unknown without a profile.",
                times(copy.moved_bytes, in_all)
            ),
            duration(
                "self_ps",
                "Self time",
                "Measured for start and end together, or for the fusion around it; summed over executions and devices.",
                time.map(|time| time.self_ps)
            ),
            text("detail", "Because", "What the graph shows.", copy.reason.detail.as_str()),
            flag(
                "defensive",
                "Defensive",
                "Whether it only protects a value from being overwritten.",
                copy.reason.why.is_defensive()
            ),
            text(
                "kind",
                "Kind",
                "By itself, asynchronous (start and end counted once), or in a fusion.",
                copy.kind.word()
            ),
            count("executions", "Executions", "Executions in one run of the program.", copy.executions),
            text("from", "From", "What is copied, with layout and memory space.", copy.from.to_string()),
            text("to", "To", "What it becomes.", copy.to.to_string()),
            text(
                "producer",
                "Producer",
                "What makes the value, through bitcasts and tuples.",
                subject.name(copy.producer)
            ),
            text("consumers", "Consumers", "Who reads the copy.", subject.names(&copy.consumers)),
            text(
                "op_name",
                "Op name",
                "The framework's name for it, or for the op that makes the value: copies seldom have one.",
                subject.op_name(copy.instruction, producer)
            ),
            text("source", "Source", "File and line.", subject.source(copy.instruction, producer)),
        ];
        rows.push(row);
    }
    Table::of("copies", "Copies, by bytes moved in a run", rows)
}

fn relayout_table(subject: &Subject<'_>, relayouts: &[Relayout]) -> Table {
    let mut rows = Vec::new();
    for relayout in relayouts {
        let index = relayout.instruction;
        let hlo = subject.module.instruction(index);
        let time = subject.time(index);
        let from = hlo.operands.first().map(|operand| subject.module.instruction(*operand).shape.to_string());
        let made_by = relayout.from;
        let row = row![
            text("instruction", "Instruction", "Name of the instruction.", hlo.name.as_str()),
            text(
                "what",
                "What",
                "transpose, reshape, layout change, or a fusion that does only that; recognised by opcodes and shapes.",
                relayout.what
            ),
            bytes(
                "moved_bytes",
                "Moved",
                "Bytes read and written by one execution, padding included.",
                relayout.moved_bytes
            ),
            bytes(
                "run_moved_bytes",
                "In a run",
                "The same in one run of the program.",
                times(relayout.moved_bytes, relayout.executions)
            ),
            duration(
                "self_ps",
                "Self time",
                "Measured, summed over executions and devices.",
                time.map(|time| time.self_ps)
            ),
            count(
                "occurrences",
                "Measured",
                "Executions that the profile shows, of all devices.",
                time.map(|time| time.occurrences)
            ),
            text(
                "feeds",
                "Feeds",
                "Products, kernels and fusions that read it through memory.",
                subject.names(&relayout.feeds)
            ),
            text(
                "made_by",
                "Made by",
                "The product, kernel or fusion whose result it reads.",
                made_by.map(|made_by| subject.name(made_by))
            ),
            count("executions", "Executions", "Executions in one run of the program.", relayout.executions),
            text("from", "From", "What it reads, with layout and memory space.", from),
            text("to", "To", "What it writes.", hlo.shape.to_string()),
            text(
                "op_name",
                "Op name",
                "The framework's name for it, or for the op that makes the value.",
                subject.op_name(index, made_by)
            ),
            text("source", "Source", "File and line.", subject.source(index, made_by)),
        ];
        rows.push(row);
    }
    Table::of("relayouts", "Relayouts through memory, by bytes in a run", rows)
}

struct Matmuls {
    table: Table,
    tally: Tally,
    flops: Option<f64>,
}

fn matmuls(subject: &Subject<'_>) -> Matmuls {
    let mut rows = Vec::new();
    let mut tally = Tally::default();
    for (index, hlo) in subject.module.instructions() {
        let place = subject.executions.place(hlo.computation);
        if !matches!(place, Place::Control | Place::Fused) {
            continue;
        }
        let Some(product) = subject.module.matmul(index) else { continue };
        let executions = subject.executed(index);
        tally.add(place, executions);
        let run_flops = times(product.flops(), executions).map(|flops| flops as f64);
        let outermost = subject.executions.outermost(subject.module, index);
        let inside = (outermost != index).then(|| subject.name(outermost));
        let types = format!("{} x {} -> {}", product.lhs.name(), product.rhs.name(), product.result.name());
        let row = row![
            text("instruction", "Instruction", "Name of the dot or convolution.", hlo.name.as_str()),
            count("m", "M", "Rows of the result.", product.m),
            count("n", "N", "Columns of the result.", product.n),
            count("k", "K", "Size of the summed dimension.", product.k),
            count("batch", "Batch", "Independent products.", product.batch),
            text("types", "Types", "Element types of left and right operand and result.", types),
            float(
                "flops",
                "FLOPs by shapes",
                Unit::Flop,
                "2 batch M N K, of one execution. The count for the device, in `ops` and on the timeline, may differ.",
                product.flops().map(|flops| flops as f64)
            ),
            float("run_flops", "In a run", Unit::Flop, "The same in one run of the program.", run_flops),
            share(
                "fill_128",
                "Fills 128",
                "K x N divided by both rounded up to 128: the share of 128 x 128 matrix units that the product can fill.",
                product.fill(128)
            ),
            share("fill_256", "Fills 256", "The same for units of 256 x 256.", product.fill(256)),
            text(
                "opcode",
                "Opcode",
                "dot, or convolution: the TPU compiler writes products as convolutions.",
                hlo.opcode_name()
            ),
            text("inside", "Fusion", "The outermost fusion around it.", inside),
            duration(
                "self_ps",
                "Self time",
                "Measured, of the instruction or the fusion around it; summed over executions and devices.",
                subject.time(index).map(|time| time.self_ps)
            ),
            count("executions", "Executions", "Executions in one run of the program.", executions),
            text("op_name", "Op name", "The framework's name.", subject.op_name(index, Some(outermost))),
            text("source", "Source", "File and line.", subject.source(index, Some(outermost))),
        ];
        rows.push((run_flops.unwrap_or(0.0), index, row));
    }
    rows.sort_by(|a: &(f64, InstructionIdx, _), b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let flops = (!rows.is_empty()).then(|| rows.iter().fold(0.0, |sum, row| sum + row.0));
    let rows = rows.into_iter().map(|(.., row)| row);
    let table = Table::of("matmuls", "Matrix products, by FLOPs in a run", rows);
    Matmuls { table, tally, flops }
}

fn opcode_table(tallies: &BTreeMap<Opcode, Tally>) -> Table {
    let mut rows: Vec<_> = tallies.iter().collect();
    rows.sort_by_key(|(opcode, tally)| (std::cmp::Reverse(tally.found() + tally.applied), opcode.name()));
    let mut table = Vec::new();
    for (opcode, tally) in rows.into_iter().filter(|(_, tally)| tally.found() + tally.applied > 0) {
        let row = row![
            text("opcode", "Opcode", "The opcode.", opcode.name().unwrap_or("other")),
            count("found", "Found", "Instructions of the module, each once.", tally.found() + tally.applied),
            count("in_fusions", "In fusions", "Those in bodies of fusions.", tally.in_fusions),
            count(
                "applied",
                "Applied",
                "Those in functions that are applied to elements, such as a reduction's.",
                tally.applied
            ),
            count(
                "executed",
                "Executed",
                "Executions of the others in one run of the program; unknown if any is.",
                tally.executed().filter(|_| tally.found() > 0)
            ),
        ];
        table.push(row);
    }
    Table::of("opcodes", "Opcodes", table)
}

/// Instructions outside of fusions by category. Loops, calls and branches carry the work of what they call, which stands in
/// rows of its own.
fn categories(subject: &Subject<'_>) -> Table {
    #[derive(Default)]
    struct Sum {
        tally: Tally,
        flops: Option<u64>,
        bytes: Option<u64>,
    }
    let costs: &CostAnalysis = &subject.program.decoded.costs;
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for (index, hlo) in subject.module.instructions() {
        let is_free = matches!(
            hlo.opcode,
            Opcode::Parameter | Opcode::Constant | Opcode::Tuple | Opcode::GetTupleElement | Opcode::Bitcast
        );
        if is_free || subject.executions.place(hlo.computation) != Place::Control {
            continue;
        }
        let row = sums.entry(subject.module.category(hlo)).or_default();
        let executions = subject.executed(index);
        row.tally.add(Place::Control, executions);
        let calls =
            matches!(hlo.opcode, Opcode::While | Opcode::Call | Opcode::Conditional | Opcode::AsyncStart);
        if !calls {
            let cost = costs.instruction(index);
            row.flops = sum([row.flops, times(cost.flops, executions)].into_iter());
            row.bytes = sum([row.bytes, times(cost.bytes_accessed, executions)].into_iter());
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(name, row)| (std::cmp::Reverse(row.bytes), *name));
    let mut table = Vec::new();
    for (name, row) in rows {
        let row = row![
            text("category", "Category", "HLO category of instructions outside fusions.", name),
            count("found", "Found", "Instructions, each once.", row.tally.found()),
            count("executed", "Executed", "Executions in one run of the program.", row.tally.executed()),
            float(
                "flops",
                "FLOPs by shapes",
                Unit::Flop,
                "In one run of the program, by XLA's cost analysis, with trip counts of loops. The count for the device, in `ops` and on the timeline, may differ.",
                row.flops.map(|flops| flops as f64)
            ),
            bytes("bytes", "Bytes by shapes", "Read and written in one run.", row.bytes),
        ];
        table.push(row);
    }
    Table::of("categories", "Categories", table)
}

/// Bytes of copies in a run from which on they are worth a word.
const WORTH_BYTES: u64 = 1 << 20;

fn findings(subject: &Subject<'_>, copies: &[Copy<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for why in [Why::NotDonated, Why::ReadLater, Why::InPlace] {
        let of_kind: Vec<&Copy<'_>> =
            copies.iter().filter(is_own).filter(|copy| copy.reason.why == why).collect();
        let Some(moved) = sum(of_kind.iter().map(|copy| run_moved(copy))).filter(|b| *b >= WORTH_BYTES)
        else {
            continue;
        };
        let Some(largest) = of_kind.first() else { continue };
        let (claim, recommendation) = match why {
            Why::NotDonated => (
                "copies keep the caller's arguments from being overwritten",
                "donate the arguments (`donate_argnums`), or let the kernel accumulate in scratch memory and write its result once",
            ),
            Why::ReadLater => (
                "copies keep values that are read later from being overwritten",
                "finish reading the value before it is updated, or let the kernel accumulate in scratch memory",
            ),
            _ => (
                "values that are written in place are copied first",
                "pass the buffer on without other uses, or let the kernel accumulate in scratch memory",
            ),
        };
        let moved = units::bytes(moved as f64);
        findings.push(Finding {
            id: "defensive_copies",
            severity: Severity::Warning,
            claim: format!("{} {claim}: {moved} read and written in each run", of_kind.len()),
            evidence: format!("{}: {}", subject.name(largest.instruction), largest.reason.detail),
            ceiling: format!("{moved} of memory traffic in each run, and the memory of the copies"),
            recommendation: recommendation.to_owned(),
            falsifier: "the copies stay after the change: run this again with `--defensive 0`".to_owned(),
            status: if largest.reason.basis == copies::Basis::Derived {
                Status::Derived
            } else {
                Status::Estimated
            },
            ..Finding::default()
        });
    }
    findings
}
