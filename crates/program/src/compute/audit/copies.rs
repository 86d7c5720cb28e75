//! Copies, with why they are there, and relayouts through memory.

use haloscope_hlo::{InstructionIdx, Module, Opcode};
use rustc_hash::FxHashSet;

use super::{ByName, Kind, Row};
use crate::compute::facts::Fact;
use crate::copies::{self, Basis, CopyKind};
use crate::relayouts;
use haloscope_report::Status;
use haloscope_time::executions::Executions;
use haloscope_time::op_class::Class;

pub(super) fn rows<'f, 'a, 'p>(
    facts: &'f [Fact<'a, 'p>],
    by_name: &ByName<'f, 'a, 'p>,
) -> Vec<Row<'f, 'a, 'p>> {
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut rows = Vec::new();
    for fact in facts {
        let (Some((module, _)), Some(id)) = (fact.hlo, fact.op.meta.program_id) else { continue };
        if seen.insert(id) {
            of_module(module, id, by_name, &mut rows);
        }
    }
    // Without the program nobody knows why; that they are there, their category says.
    let unexplained = facts.iter().filter(|fact| {
        fact.hlo.is_none()
            && (fact.op.meta.category == "data formatting"
                || fact.class == Class::AsyncCopy && fact.op.meta.category.starts_with("copy-"))
    });
    rows.extend(unexplained.map(|fact| Row {
        kind: Kind::Copy,
        what: "reason not known".into(),
        fact,
        self_ps: fact.op.self_ps,
        wasted_ps: Some(fact.op.self_ps as f64),
        bytes: fact.op.hbm_bytes,
        detail: String::new(),
        status: Status::Derived,
    }));
    rows
}

fn of_module<'f, 'a, 'p>(
    module: &Module,
    id: u64,
    by_name: &ByName<'f, 'a, 'p>,
    rows: &mut Vec<Row<'f, 'a, 'p>>,
) {
    let executions = Executions::new(module);
    let find =
        |index: InstructionIdx| by_name.get(&(Some(id), module.instruction(index).name.as_str())).copied();
    for copy in copies::find(module, &executions).into_iter().filter(|copy| copy.kind != CopyKind::Fused) {
        let Some(fact) = find(copy.instruction) else { continue };
        let mut self_ps = fact.op.self_ps;
        if copy.kind == CopyKind::Asynchronous {
            let ends = module.users(copy.instruction).iter();
            let ends = ends.filter(|user| module.instruction(**user).opcode == Opcode::CopyDone);
            self_ps = ends
                .filter_map(|end| find(*end))
                .fold(self_ps, |sum, end| sum.saturating_add(end.op.self_ps));
        }
        let why = copy.reason.why;
        let what =
            if why.is_defensive() { format!("defensive, {}", why.word()) } else { why.word().to_owned() };
        let guess = if copy.reason.basis == Basis::Guess { "; a guess" } else { "" };
        let shapes = format!("{} to {}", copy.from, copy.to);
        let reason =
            if copy.reason.detail.is_empty() { String::new() } else { format!("; {}", copy.reason.detail) };
        rows.push(Row {
            kind: Kind::Copy,
            what,
            fact,
            self_ps,
            wasted_ps: Some(self_ps as f64),
            bytes: copy.moved_bytes.map(|bytes| bytes as f64 * fact.op.occurrences as f64),
            detail: format!("{shapes}{reason}{guess}"),
            status: if guess.is_empty() { Status::Derived } else { Status::Estimated },
        });
    }
    for relayout in relayouts::find(module, &executions) {
        if module.instruction(relayout.instruction).opcode == Opcode::Copy {
            continue;
        }
        let Some(fact) = find(relayout.instruction) else { continue };
        // A fusion that does nothing but copy is a row above.
        if rows.iter().any(|row| std::ptr::eq(row.fact, fact)) {
            continue;
        }
        let feeds: Vec<&str> =
            relayout.feeds.iter().take(3).map(|index| module.instruction(*index).name.as_str()).collect();
        rows.push(Row {
            kind: Kind::Relayout,
            what: relayout.what.to_owned(),
            fact,
            self_ps: fact.op.self_ps,
            wasted_ps: Some(fact.op.self_ps as f64),
            bytes: relayout.moved_bytes.map(|bytes| bytes as f64 * fact.op.occurrences as f64),
            detail: if feeds.is_empty() { String::new() } else { format!("feeds {}", feeds.join(", ")) },
            status: Status::Derived,
        });
    }
}
