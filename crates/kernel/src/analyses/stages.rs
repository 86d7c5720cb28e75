//! `kernel stages`: an op's way through the last stage of the compiler, of its dump.

use haloscope_report::{Columns, Error, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::dump::{self, AFTER_REGISTERS, BEFORE_REGISTERS, FINAL, Stages, WITHOUT_SPILLS};
use crate::subject::{OP, why_none};
use haloscope_profile::DeviceKind;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel stages",
    label: "Stages",
    group: MenuGroup::Work,
    question: "How long was a TPU kernel's schedule at each stage of the compiler, and what do registers and spills cost it?",
    params: &[OP],
    needs: &[
        "a dump of the compiler's last stage, of which RUN is the folder: `--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true --xla_jf_dump_llo_proto=true` in LIBTPU_INIT_ARGS",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "kernel stages DIR --op matmul",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let all = dump::all(asked.profile);
    let profile = asked.profile;
    if !profile.devices.is_empty() && profile.devices.iter().all(|device| device.kind != DeviceKind::Tpu) {
        return Err(Error::Nothing(why_none(profile)));
    }
    if all.is_empty() {
        return Err(Error::Nothing(
            "this is not a dump of a TPU compiler's last stage: compile with `--xla_jf_dump_to=DIR --xla_jf_dump_llo_text=true \
             --xla_jf_dump_llo_proto=true` in LIBTPU_INIT_ARGS (no device is needed), and pass DIR"
                .into(),
        ));
    }
    let word = params.text(&OP);
    let subject = choose(&all, word, notes)?;
    let table = Table::of("stages", "Stages, in the order of the compilation", subject.all.iter().map(stage));
    cut(notes, "kernels", all.len());
    let mut by_length: Vec<&Stages> = all.iter().collect();
    by_length.sort_by_key(|stages| std::cmp::Reverse(weight(stages)));
    let kernels = Table::of("kernels", "All ops of the dump", by_length.into_iter().take(ROWS).map(kernel));
    if subject.spill_cost().is_none() {
        notes.add(
            "unknown_cost",
            Severity::Info,
            "the dump does not have this op's schedule both with and without spills",
            "what its spills cost is unknown",
            "dump with `--xla_jf_dump_llo_text=true`",
        );
    }
    Ok(Report { values: values(subject), tables: vec![table, kernels], ..Report::default() })
}

/// What ranks ops: the length of the schedule that runs, else of any.
fn weight(stages: &Stages) -> Option<u64> {
    stages.bundles(AFTER_REGISTERS).or_else(|| stages.all.iter().filter_map(|stage| stage.bundles).max())
}

/// The op that a text names: by its whole name, else by a part of it; without a text that with the longest schedule.
fn choose<'s>(all: &'s [Stages], word: &str, notes: &mut Notes) -> Result<&'s Stages, Error> {
    // Where there are texts alone nobody knows the module, and the op decides.
    let bare = word.rsplit_once("::").map_or(word, |(_, op)| op);
    let by = |fits: &dyn Fn(&&Stages) -> bool| all.iter().filter(fits).collect::<Vec<_>>();
    // Copies of files that were renamed have an underscore for what file systems do not like.
    let renamed = bare.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "_");
    let ways: [&dyn Fn(&&Stages) -> bool; 5] = [
        &|stages| stages.name == word,
        &|stages| stages.op == word,
        &|stages| stages.name == bare,
        &|stages| stages.name == *renamed,
        &|stages| stages.name.contains(word),
    ];
    let named = ways.into_iter().map(by).find(|found| !found.is_empty()).unwrap_or_default();
    if named.len() > 1 && !word.is_empty() {
        notes.add(
            "several_kernels",
            Severity::Info,
            format!("{} ops match `{word}`; this is the one with the longest schedule", named.len()),
            "none",
            "the table of all ops has their names",
        );
    }
    // The first of equals.
    named.into_iter().rev().max_by_key(|stages| weight(stages)).ok_or_else(|| {
        const LISTED: usize = 30;
        let mut names: Vec<&str> = all.iter().take(LISTED).map(|stages| stages.name.as_str()).collect();
        if all.len() > LISTED {
            names.push("and more");
        }
        Error::Usage(format!("the dump has no op `{word}`; there are: {}", names.join(", ")))
    })
}

fn values(subject: &Stages) -> Vec<Value> {
    let of = |name, what: fn(&dump::Stage) -> Option<u64>| subject.stage(name).and_then(what);
    let measured =
        |id, label, value: Option<u64>, doc| Value::new(id, label, value, Unit::Count, Status::Measured, doc);
    let difference = |a: Option<u64>, b: Option<u64>| Some(i64::try_from(a?).ok()? - i64::try_from(b?).ok()?);
    let (with, before) = (subject.bundles(AFTER_REGISTERS), subject.bundles(BEFORE_REGISTERS));
    let without = subject.bundles(WITHOUT_SPILLS).filter(|bundles| *bundles > 0);
    let cost = subject.spill_cost();
    vec![
        Value::new(
            "kernel",
            "Kernel",
            Some(subject.name.as_str()),
            Unit::None,
            Status::Measured,
            "The op, with its HLO module if its LLO is there: the one asked for, else the one with the longest schedule.",
        ),
        measured(
            "bundles",
            "Bundles",
            with,
            "Length of the schedule with registers, before empty bundles become delays, as in the LLO of a profile.",
        ),
        measured(
            "final_bundles",
            "Bundles of the final code",
            subject.bundles(FINAL),
            "Length of the code, in which runs of empty bundles are delays.",
        ),
        measured(
            "vector_spills",
            "Vector spills",
            of(AFTER_REGISTERS, |stage| stage.spills),
            "Vectors that the schedule stores because no register was free.",
        ),
        measured(
            "vector_fills",
            "Vector fills",
            of(AFTER_REGISTERS, |stage| stage.fills),
            "Vectors that it loads again.",
        ),
        Value::new(
            "cost_bundles",
            "Spills cost",
            cost,
            Unit::Count,
            Status::Estimated,
            "Bundles of one pass that spills and fills add: the schedule's length minus its length if these took no slots. 0 if free slots were enough, below 0 if the packing happened to be better with them.",
        ),
        Value::new(
            "spill_cost_share",
            "Spill cost, share of schedule",
            cost.zip(without).map(|(cost, without)| cost as f64 / without as f64),
            Unit::Share,
            Status::Estimated,
            "What they add, as a share of the length without them.",
        ),
        Value::new(
            "registers_delta",
            "Registers cost",
            difference(with, before),
            Unit::Count,
            Status::Estimated,
            "Bundles of one pass more than with unlimited registers, including spills. May be negative, because both are packed separately.",
        ),
    ]
}

fn stage(stage: &dump::Stage) -> Row<impl Columns + use<>> {
    row![
        text("stage", "Stage", "Its name, as the files have it.", stage.name.as_str()),
        count(
            "bundles",
            "Bundles",
            "Bundles of one pass; unknown before the stage that makes bundles.",
            stage.bundles
        ),
        count("empty", "Empty", "Bundles without an instruction.", stage.empty),
        count(
            "instructions",
            "Instructions",
            "Instructions, if a text or the LLO of the stage is there.",
            stage.instructions
        ),
        count("spills", "Spills", "Vectors stored because no register was free.", stage.spills),
        count("fills", "Fills", "Vectors loaded again.", stage.fills),
        prose("meaning", "What it is", "What the stage is, if known.", stage.meaning()),
    ]
}

fn kernel(stages: &Stages) -> Row<impl Columns + use<>> {
    let after = stages.stage(AFTER_REGISTERS);
    row![
        text("kernel", "Kernel", "The op, with its HLO module if its LLO is there.", stages.name.as_str()),
        count(
            "before_registers",
            "Before registers",
            "Bundles with unlimited registers.",
            stages.bundles(BEFORE_REGISTERS)
        ),
        count(
            "without_spills",
            "Without spills",
            "Bundles if spills and fills took no slot.",
            stages.bundles(WITHOUT_SPILLS)
        ),
        count(
            "bundles",
            "Bundles",
            "Bundles of the final schedule, before empty ones become delays.",
            stages.bundles(AFTER_REGISTERS)
        ),
        count("final_bundles", "Code", "Bundles of the code.", stages.bundles(FINAL)),
        count("cost_bundles", "Spills cost", "Bundles that spills and fills add.", stages.spill_cost()),
        count(
            "spills",
            "Spills",
            "Vectors stored because no register was free.",
            after.and_then(|stage| stage.spills)
        ),
        count("fills", "Fills", "Vectors loaded again.", after.and_then(|stage| stage.fills)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::Stage;

    fn op(name: &str, bundles: Option<u64>) -> Stages {
        let stage = Stage { name: AFTER_REGISTERS.to_owned(), bundles, ..Stage::default() };
        Stages { name: name.to_owned(), op: name.to_owned(), all: vec![stage] }
    }

    #[test]
    fn a_whole_name_goes_before_a_part_and_the_longest_before_others() {
        let all = [op("copy", Some(3)), op("copy.1", Some(90)), op("mm.1", Some(40)), op("x", None)];
        let chosen = |word: &str| choose(&all, word, &mut Notes::default()).map(|found| found.op.clone());
        assert_eq!(chosen("copy").unwrap(), "copy");
        assert_eq!(chosen("jit_f(0)::copy").unwrap(), "copy");
        assert_eq!(chosen("cop").unwrap(), "copy.1");
        assert_eq!(chosen("").unwrap(), "copy.1");
        let refusal = chosen("fusion").unwrap_err().to_string();
        assert!(refusal.contains("there are: copy, copy.1, mm.1, x"), "{refusal}");
    }

    #[test]
    fn what_one_length_does_not_tell_is_unknown() {
        let found = values(&op("mm.1", Some(40)));
        let value = |id: &str| found.iter().find(|value| value.id == id).unwrap().value.number();
        assert_eq!(
            (value("bundles"), value("cost_bundles"), value("final_bundles")),
            (Some(40.0), None, None)
        );
    }
}
