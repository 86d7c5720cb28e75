//! `hlo counters`: what a kernel's author counts in the program that came out.

mod columns;

use std::collections::BTreeMap;

use haloscope_hlo::{CostAnalysis, InstructionIdx, Opcode};

use columns::{CATEGORIES, COPY_ROWS, COUNTERS, MATMULS, OPCODES, RELAYOUTS, WHYS};

use super::subject::{Subject, sum, times};
use crate::Error;
use crate::analyses::{Analysis, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use crate::derive::copies::{self, Copy, CopyKind, Why};
use crate::derive::executions::Place;
use crate::derive::relayouts::{self, Relayout};
use crate::profile::Profile;
use crate::report::{Cell, Finding, Gate, Notes, Report, Severity, Status, Table, Unit, Value};
use crate::scope::Scope;
use crate::units;

const fn expected(id: &'static str, doc: &'static str) -> Param {
    Param { id, doc, kind: ParamKind::Count, default: "" }
}
pub(in crate::analyses) const DOTS: Param =
    expected("dots", "how many matrix products to expect, convolutions that are one included");
pub(in crate::analyses) const EXPS: Param = expected("exps", "how many exponentials to expect");
pub(in crate::analyses) const REDUCES: Param = expected("reduces", "how many reductions to expect");
pub(in crate::analyses) const COPIES: Param =
    expected("copies", "how many copies to expect outside of fusions, a start and its end being one");
pub(in crate::analyses) const DEFENSIVE: Param =
    expected("defensive", "how many defensive copies to expect among them");

pub(in crate::analyses) static ANALYSIS: Analysis = Analysis {
    id: "hlo counters",
    label: "Counters",
    group: MenuGroup::Programs,
    question: "How many products, exponentials, reductions and copies did the compiler make of a kernel, and why each copy?",
    params: &[MODULE, DOTS, EXPS, REDUCES, COPIES, DEFENSIVE],
    needs: &["an HLO module after optimisation", "for times and executions: a profile of its execution"],
    example: "hlo counters logs --copies 0",
    also: &[],
    run: Run::Of(run),
};

pub(in crate::analyses) fn run(
    profile: &Profile,
    scope: &Scope,
    params: &Params,
    notes: &mut Notes,
) -> Result<Report, Error> {
    let subject = Subject::choose(profile, scope, params, notes)?;
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
    let mut counters = Table::new("expected", "Counters", COUNTERS);
    let mut passed = None;
    for (name, tally, asked) in tallies {
        let holds = asked.map(|asked| asked as u64 == tally.found());
        passed = holds.map(|holds| passed.unwrap_or(true) && holds).or(passed);
        counters.push(vec![
            name.into(),
            tally.found().into(),
            tally.in_fusions.into(),
            tally.executed().into(),
            asked.into(),
            holds.into(),
        ]);
    }
    let values = values(&subject, &tallies.map(|row| row.1), &copies, &relayouts, &matmuls);
    let findings = findings(&subject, &copies);
    let tables = vec![
        counters,
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
        count("copies", "Copies", all.found(), "Copies outside of fusions; an asynchronous copy's start and end are one."),
        count("copies_in_fusions", "Copies in fusions", all.in_fusions, "Copies in bodies of fusions: part of what the fusion reads and writes."),
        count("defensive_copies", "Defensive copies", defensive.found(), "Copies outside of fusions that change neither layout nor memory: they keep one value from another's writes."),
        bytes("copied_bytes", "Moved by copies", sum(copies.iter().filter(is_own).map(run_moved)), "Bytes that copies outside of fusions read and write in one run of the program."),
        bytes("defensive_bytes", "By defensive ones", sum(copies.iter().filter(is_own).filter(|c| c.reason.why.is_defensive()).map(run_moved)), "Those of defensive copies; unknown where there are none."),
        count("relayouts", "Relayouts", relayouts.len() as u64, "Transposes, reshapes, changes of layout, and fusions that do nothing else, outside of fusions."),
        count("relayouts_feeding_compute", "That feed compute", feeding().count() as u64, "Relayouts whose result a product, kernel or fusion reads from memory."),
        bytes("relayout_bytes", "Moved by relayouts", sum(relayouts.iter().map(|r| times(r.moved_bytes, r.executions))), "Bytes that relayouts read and write in one run of the program; unknown where there are none."),
        Value::new("matmul_flops", "FLOPs of products", matmuls.flops, Unit::Flop, Status::Derived, "FLOPs of matrix products in one run of the program; those of kernels are not among them."),
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
    let mut table = Table::new("reasons", "Why copies are there", WHYS);
    for (why, (count, bytes, time)) in rows {
        table.push(vec![
            why.word().into(),
            why.is_defensive().into(),
            count.into(),
            bytes.into(),
            time.into(),
        ]);
    }
    table
}

fn copy_table(subject: &Subject<'_>, copies: &[Copy<'_>]) -> Table {
    let mut table = Table::new("copies", "Copies, by bytes moved in a run", COPY_ROWS);
    for copy in copies {
        let time = subject.time(copy.instruction);
        let in_all = time.map(|time| time.occurrences).or(times(copy.executions, subject.launches()));
        let producer = Some(copy.producer);
        table.push(vec![
            subject.name(copy.instruction).into(),
            copy.reason.why.word().into(),
            copy.reason.basis.word().into(),
            copy.bytes.into(),
            copy.moved_bytes.into(),
            run_moved(copy).into(),
            times(copy.moved_bytes, in_all).into(),
            time.map(|time| time.self_ps).into(),
            copy.reason.detail.as_str().into(),
            copy.reason.why.is_defensive().into(),
            copy.kind.word().into(),
            copy.executions.into(),
            copy.from.to_string().into(),
            copy.to.to_string().into(),
            subject.name(copy.producer).into(),
            subject.names(&copy.consumers),
            subject.op_name(copy.instruction, producer),
            subject.source(copy.instruction, producer),
        ]);
    }
    table
}

fn relayout_table(subject: &Subject<'_>, relayouts: &[Relayout]) -> Table {
    let mut table = Table::new("relayouts", "Relayouts through memory, by bytes in a run", RELAYOUTS);
    for relayout in relayouts {
        let index = relayout.instruction;
        let hlo = subject.module.instruction(index);
        let time = subject.time(index);
        let from = hlo.operands.first().map(|operand| subject.module.instruction(*operand).shape.to_string());
        let made_by = relayout.from;
        table.push(vec![
            hlo.name.as_str().into(),
            relayout.what.into(),
            relayout.moved_bytes.into(),
            times(relayout.moved_bytes, relayout.executions).into(),
            time.map(|time| time.self_ps).into(),
            time.map(|time| time.occurrences).into(),
            subject.names(&relayout.feeds),
            made_by.map(|made_by| subject.name(made_by)).into(),
            relayout.executions.into(),
            from.into(),
            hlo.shape.to_string().into(),
            subject.op_name(index, made_by),
            subject.source(index, made_by),
        ]);
    }
    table
}

struct Matmuls {
    table: Table,
    tally: Tally,
    flops: Option<f64>,
}

fn matmuls(subject: &Subject<'_>) -> Matmuls {
    let mut rows: Vec<(f64, InstructionIdx, Vec<Cell>)> = Vec::new();
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
        let row = vec![
            hlo.name.as_str().into(),
            product.m.into(),
            product.n.into(),
            product.k.into(),
            product.batch.into(),
            types.into(),
            product.flops().map(|flops| flops as f64).into(),
            run_flops.into(),
            product.fill(128).into(),
            product.fill(256).into(),
            hlo.opcode_name().into(),
            inside.into(),
            subject.time(index).map(|time| time.self_ps).into(),
            executions.into(),
            subject.op_name(index, Some(outermost)),
            subject.source(index, Some(outermost)),
        ];
        rows.push((run_flops.unwrap_or(0.0), index, row));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let flops = (!rows.is_empty()).then(|| rows.iter().fold(0.0, |sum, row| sum + row.0));
    let mut table = Table::new("matmuls", "Matrix products, by FLOPs in a run", MATMULS);
    rows.into_iter().for_each(|(.., row)| table.push(row));
    Matmuls { table, tally, flops }
}

fn opcode_table(tallies: &BTreeMap<Opcode, Tally>) -> Table {
    let mut rows: Vec<_> = tallies.iter().collect();
    rows.sort_by_key(|(opcode, tally)| (std::cmp::Reverse(tally.found() + tally.applied), opcode.name()));
    let mut table = Table::new("opcodes", "Opcodes", OPCODES);
    for (opcode, tally) in rows.into_iter().filter(|(_, tally)| tally.found() + tally.applied > 0) {
        table.push(vec![
            opcode.name().unwrap_or("other").into(),
            (tally.found() + tally.applied).into(),
            tally.in_fusions.into(),
            tally.applied.into(),
            tally.executed().filter(|_| tally.found() > 0).into(),
        ]);
    }
    table
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
    let mut table = Table::new("categories", "Categories", CATEGORIES);
    for (name, row) in rows {
        table.push(vec![
            name.into(),
            row.tally.found().into(),
            row.tally.executed().into(),
            row.flops.map(|flops| flops as f64).into(),
            row.bytes.into(),
        ]);
    }
    table
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
        let (claim, lever) = match why {
            Why::NotDonated => (
                "copies keep the caller's arguments from being overwritten",
                "donate the arguments (`donate_argnums`), or let the kernel accumulate in scratch memory and write its result once",
            ),
            Why::ReadLater => (
                "copies keep values that are read later from being overwritten",
                "finish reading the value before it is updated, or let the kernel accumulate in scratch memory",
            ),
            _ => (
                "copies are made of what is written in place",
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
            lever: lever.to_owned(),
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
