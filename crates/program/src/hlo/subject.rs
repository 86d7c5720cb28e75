//! The program that a question is about, and what the profile measured of it.

use super::op_times::{OpTime, OpTimes};
use haloscope_hlo::{InstructionIdx, Module, Opcode};
use haloscope_report::Error;
use haloscope_report::{Cell, Notes, Severity, Status, Unit, Value};
use haloscope_time::analysis::{MODULE, Params};
use haloscope_time::executions::{Executions, uncounted_loops};
use haloscope_time::hlo_costs::source_line;
use haloscope_time::programs::{self, Program};
use haloscope_time::select::Scoped;

/// A program, how often its parts run, and its times where there is a profile.
pub(super) struct Subject<'p> {
    pub(super) program: Program<'p>,
    pub(super) module: &'p Module,
    pub(super) executions: Executions,
    times: Option<OpTimes>,
}

impl<'p> Subject<'p> {
    pub(super) fn choose(asked: &Scoped<'p>, params: &Params, notes: &mut Notes) -> Result<Self, Error> {
        let selection = asked.selection().ok();
        let rank = programs::by_time(asked.profile, selection);
        let program = programs::choose(asked.profile, &asked.scope, params.text(&MODULE), rank)?;
        let module = &program.decoded.module;
        let loops = uncounted_loops(module);
        if loops > 0 {
            notes.add(
                "unknown_trip_counts",
                Severity::Info,
                format!("{loops} loops of {} do not say how often they run", program.label()),
                "executions and sums over a run leave out what is inside them",
                "",
            );
        }
        let times = selection.and_then(|selection| OpTimes::of(asked.profile, selection, &program));
        Ok(Self { program, module, executions: Executions::new(module), times })
    }

    /// The headline values that say which program this is.
    pub(super) fn values(&self) -> Vec<Value> {
        vec![
            Value::new(
                "module",
                "Module",
                Some(self.program.label()),
                Unit::None,
                Status::Measured,
                "The analysed HLO module: the one asked for, else the one with the most time on the devices, else the largest.",
            ),
            Value::new(
                "launches",
                "Executions",
                self.times.as_ref().map(|times| times.launches),
                Unit::Count,
                Status::Measured,
                "Executions of the module in the scope, summed over devices; unknown without a profile.",
            ),
            Value::new(
                "device_time_ps",
                "Device time",
                self.times.as_ref().map(|times| times.total_ps),
                Unit::Ps,
                Status::Measured,
                "Time of these executions.",
            ),
        ]
    }

    /// Executions of the program in the scope.
    pub(super) fn launches(&self) -> Option<u64> {
        self.times.as_ref().map(|times| times.launches)
    }

    /// Executions of an instruction in one run of the program.
    pub(super) fn executed(&self, index: InstructionIdx) -> Option<u64> {
        self.executions.of(self.module, index)
    }

    /// What was measured of an instruction: of the fusion around it where it is in one, and of an asynchronous copy's end too.
    pub(super) fn time(&self, index: InstructionIdx) -> Option<OpTime> {
        let times = self.times.as_ref()?;
        let outermost = self.executions.outermost(self.module, index);
        let mut found = times.get(self.name(outermost));
        if self.module.instruction(index).opcode == Opcode::CopyStart {
            for user in self.module.users(index) {
                if let Some(end) = times.get(self.name(*user)) {
                    let sum = found.get_or_insert(OpTime { occurrences: end.occurrences, self_ps: 0 });
                    sum.self_ps = sum.self_ps.saturating_add(end.self_ps);
                }
            }
        }
        found
    }

    pub(super) fn name(&self, index: InstructionIdx) -> &'p str {
        &self.module.instruction(index).name
    }

    /// Names of instructions, the first few, as one cell.
    pub(super) fn names(&self, all: &[InstructionIdx]) -> Cell {
        const LISTED: usize = 4;
        if all.is_empty() {
            return Cell::Unknown;
        }
        let mut words: Vec<String> =
            all.iter().take(LISTED).map(|index| self.name(*index).to_owned()).collect();
        if all.len() > LISTED {
            words.push(format!("and {} more", all.len() - LISTED));
        }
        words.join(", ").into()
    }

    /// The framework's name for an instruction, or that of `other` where the compiler gave it none.
    pub(super) fn op_name(&self, index: InstructionIdx, other: Option<InstructionIdx>) -> Cell {
        let of = |index: InstructionIdx| self.module.instruction(index).op_name();
        of(index).or_else(|| other.and_then(of)).into()
    }

    /// File and line, likewise.
    pub(super) fn source(&self, index: InstructionIdx, other: Option<InstructionIdx>) -> Cell {
        let of = |index: InstructionIdx| {
            let metadata = self.module.instruction(index).metadata.as_ref()?;
            Some(source_line(self.module, metadata).into_owned()).filter(|line| !line.is_empty())
        };
        of(index).or_else(|| other.and_then(of)).into()
    }
}

/// A product of two that are both known.
pub(super) fn times(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_mul(b?)
}

/// The sum of what is known; `None` where nothing is.
pub(super) fn sum(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.flatten().fold(None, |sum: Option<u64>, value| Some(sum.unwrap_or(0).saturating_add(value)))
}
