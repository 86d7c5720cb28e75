//! What did not fit into memory: read from the text of the error, explained, with cures that are held against the numbers.
//!
//! `read` turns a text into [`Message`]s, `holding` a dump or a run into the buffers of a program, `case` is both together,
//! `fixes` and `corrections` are computed from it, and `report` says it all.

mod case;
pub mod chips;
mod corrections;
mod fixes;
mod framework;
mod holding;
mod loss;
mod message;
mod program;
mod read;
mod report;
pub mod shape;
mod size;
mod text;

use case::Case;
use haloscope_hlo::Module;
use haloscope_program::capacity::{self, Source};
use haloscope_program::heap::Buffers;
use haloscope_program::program_memory::ProgramMemory;
use haloscope_report::{Error, Notes, Report, Severity};
use haloscope_time::analysis::{Also, Analysis, Input, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::Scoped;
use haloscope_time::{programs, quality};

pub use chips::Chip;
pub use framework::Framework;
pub use holding::Holding;
pub use message::{Buffer, Form, Message, Named, Part, What};
pub use read::{main_message, read};
pub use size::Size;
pub use text::LARGEST;

/// The text of the error.
pub const MESSAGE: Param = Param {
    id: "message",
    doc: "the error, alone or in a traceback or log",
    kind: ParamKind::Document,
    default: "",
};

/// The buffer assignment of the failed compilation.
pub const ASSIGNMENT: Param = Param {
    id: "assignment",
    doc: "*buffer-assignment.txt of the folder that --xla_dump_to wrote: which buffers fill HBM",
    kind: ParamKind::Document,
    default: "",
};

/// The memory-usage report of the failed compilation.
pub const USAGE: Param = Param {
    id: "usage",
    doc: "*memory-usage-report.txt of that folder, if there is no buffer assignment",
    kind: ParamKind::Document,
    default: "",
};

/// The module of the failed compilation.
pub const HLO: Param = Param {
    id: "hlo",
    doc: "*oom_intermediate_module.txt or *after_optimizations.txt of that folder: names and lines of buffers",
    kind: ParamKind::Document,
    default: "",
};

/// The generation of TPU.
pub const CHIP: Param = Param {
    id: "chip",
    doc: "the TPU generation, if the text does not say",
    kind: ParamKind::Choice(&["any", "v4", "v5e", "v5p", "v6e", "v7x"]),
    default: "any",
};

const CAPACITY: Param = Param {
    id: "capacity",
    doc: "bytes a program can use, such as 16.9G",
    kind: ParamKind::Quantity,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "oom",
    label: "Out of memory",
    group: MenuGroup::Memory,
    question: "What did not fit into memory, and what would make it fit?",
    params: &[MESSAGE, ASSIGNMENT, USAGE, HLO, CHIP, CAPACITY, MODULE],
    needs: &[
        "the text of the error (RESOURCE_EXHAUSTED and the like), or a run or dump whose program has a buffer assignment",
        "for the buffers of HBM: the folder that --xla_dump_to=DIR --xla_dump_hlo_as_text wrote; no device is needed to compile",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "oom error.txt --dump dump",
    also: &[Also::Tool],
    run: Run::Told(run),
};

fn run(asked: Option<&Scoped<'_>>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let is_told = [MESSAGE, ASSIGNMENT, USAGE].iter().any(|param| !params.text(param).trim().is_empty());
    match asked {
        _ if is_told => of_text(params, notes),
        Some(asked) => of_run(asked, params, notes),
        None => Err(Error::Nothing(NO_MESSAGE.to_owned())),
    }
}

/// Why there is no answer to a text.
const NO_MESSAGE: &str = "the text has no message that memory ran out: expected RESOURCE_EXHAUSTED, `Ran out of memory`, `Attempting to allocate`, `Out of memory while trying to allocate` or the like; a compilation that succeeds leaves none";

/// The answer to a text.
fn of_text(params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let text = params.text(&MESSAGE);
    if text.len() > LARGEST {
        notes.add(
            "text_cut",
            Severity::Info,
            format!("the text has {} bytes; the last {LARGEST} are read", text.len()),
            "messages before them are not seen",
            "",
        );
    }
    let messages = read(text);
    let message = main_message(&messages);
    if message.is_none() && !text.trim().is_empty() {
        return Err(Error::Nothing(NO_MESSAGE.to_owned()));
    }
    let module = module(params.text(&HLO), notes);
    let assignment = params.text(&ASSIGNMENT);
    let holding = if assignment.trim().is_empty() {
        None
    } else {
        Some(Holding::of_texts(haloscope_report::head(assignment, LARGEST), module.as_ref())?)
    };
    let usage = holding::of_usage_report(haloscope_report::head(params.text(&USAGE), LARGEST));
    let is_of_hbm = message.is_none_or(|message| message.space == "hbm" && !message.form.is_at_run_time());
    let mut case = Case {
        message,
        space: message.map_or_else(|| "hbm".to_owned(), |message| message.space.clone()),
        used: message.and_then(|message| message.required),
        limit: message.and_then(|message| message.limit),
        buffers: message.map(|message| message.buffers.clone()).unwrap_or_default(),
        framework: Framework::of(text),
        is_vllm: text.contains("vllm") || text.contains("EngineCore"),
        ..Case::default()
    };
    // An allocation states all of VMEM as its limit, a stack the part that it may have.
    let limit = case.limit.map(|limit| limit.bytes);
    let is_scoped = case.form() == Some(Form::ScopedStack);
    case.chips = chips::candidates(text, &case.space, is_scoped, limit);
    choose_limit(&mut case, params);
    if is_of_hbm {
        if let Some(holding) = &holding {
            case.buffers.clone_from(&holding.buffers);
            case.holding = Some(holding);
            case.used = case.used.or(Some(Size::exact(holding.total_bytes())));
            remark_difference(&case, holding, notes);
        } else if let Some((total, buffers)) = usage {
            if case.buffers.is_empty() {
                case.buffers = buffers;
            }
            case.used = case.used.or(Some(Size::exact(total)));
        }
    } else if let Some(module) = &module {
        for buffer in &mut case.buffers {
            let name = buffer.name.clone();
            holding::place(module, &name, buffer);
        }
    }
    if message.is_none() && case.used.is_none() {
        return Err(Error::Nothing(NO_MESSAGE.to_owned()));
    }
    Ok(report::of(&case, &messages))
}

/// The limit and the chip that were asked for go before what the text says.
fn choose_limit(case: &mut Case<'_>, params: &Params) {
    if let Some(chip) = chips::named(params.text(&CHIP)) {
        case.chips = vec![chip];
        if case.limit.is_none() && case.space == "hbm" {
            case.limit = Some(Size::exact(chip.hbm_bytes));
        }
    }
    if let Some(limit) = params.quantity(&CAPACITY) {
        case.limit = Some(Size::exact(limit as i64));
    }
}

/// The module of a dump; what cannot be read is said and left out.
fn module(text: &str, notes: &mut Notes) -> Option<Module> {
    if text.trim().is_empty() {
        return None;
    }
    match Module::parse(text) {
        Ok(module) => Some(module),
        Err(error) => {
            notes.add(
                "unreadable_module",
                Severity::Warning,
                format!("the HLO text cannot be read: {error}"),
                "buffers have no op names and no source lines",
                "",
            );
            None
        }
    }
}

/// Says where a buffer assignment is not of the program that the message is about.
fn remark_difference(case: &Case<'_>, holding: &Holding, notes: &mut Notes) {
    let (Some(used), total) = (case.used, holding.total_bytes()) else { return };
    // Code and what the runtime wants come on top.
    let apart = used.bytes.saturating_sub(total).unsigned_abs();
    if apart > used.bytes.unsigned_abs() / 10 {
        notes.add(
            "another_program",
            Severity::Warning,
            format!(
                "the buffer assignment has {}, the message says {}",
                haloscope_report::units::bytes(total as f64),
                haloscope_report::units::bytes(used.bytes as f64)
            ),
            "buffers and changes may belong to another program of the dump",
            "give the files of the module that the message names",
        );
    }
}

/// The answer for a run: its program with the largest peak, against the device's memory.
fn of_run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    if scope.cuts_time() {
        quality::not_used("steps and windows", notes);
    }
    let peak = |program: &programs::Program<'_>| {
        let buffers = Buffers::new(&program.decoded.module);
        buffers.map_or(-1, |buffers| ProgramMemory::new(&buffers, 0).allocated_bytes())
    };
    let program = programs::choose(profile, scope, params.text(&MODULE), peak)?;
    let buffers = Buffers::new(&program.decoded.module).ok_or_else(|| {
        Error::Nothing(format!(
            "`{}` has no buffer assignment, so what is in memory is unknown: give the text of the error, or a dump with --xla_dump_hlo_as_proto",
            program.label()
        ))
    })?;
    let holding = Holding::of_program(&buffers);
    let capacity = capacity::of_host(profile, scope, program.entry.host);
    let mut case = Case {
        space: "hbm".to_owned(),
        used: Some(Size::exact(holding.total_bytes())),
        limit: capacity.map(|capacity| Size::exact(capacity.bytes)),
        buffers: holding.buffers.clone(),
        holding: Some(&holding),
        framework: framework_of(&holding),
        ..Case::default()
    };
    choose_limit(&mut case, params);
    if case.limit.is_none() {
        notes.add(
            "limit_unknown",
            Severity::Warning,
            "how much memory the device has is unknown",
            "changes say what they save, not whether the program then fits",
            "give --chip or --capacity",
        );
    } else if capacity.is_some_and(|capacity| capacity.source == Source::Table)
        && params.quantity(&CAPACITY).is_none()
    {
        notes.add(
            "limit_of_data_sheet",
            Severity::Info,
            "the limit is the one in the data sheet; a program gets a little less, because the runtime keeps some",
            "a program that fits with only a few percent to spare may not fit",
            "give --capacity with the number from an error message",
        );
    }
    let mut report = report::of(&case, &[]);
    report.values.insert(0, report::module_value(&program.label()));
    Ok(report)
}

/// The framework that wrote the names of ops.
fn framework_of(holding: &Holding) -> Option<Framework> {
    holding.buffers.iter().find_map(|buffer| Framework::of(&buffer.op_name))
}

#[cfg(test)]
mod tests {
    use haloscope_time::analysis::run_alone;

    use super::*;

    fn ask(words: &[(&str, &str)]) -> Result<Report, Error> {
        let mut params = Params::default();
        for (id, text) in words {
            params.set(id, text);
        }
        run_alone(&ANALYSIS, &params)
    }

    const ASSIGNED: &str = "BufferAssignment:\nallocation 0: size 17179869184, page 0, parameter 0, shape |f32[65536,65536]| at ShapeIndex {}:\n value: <1 w.1 @0> (size=17179869184,offset=0): f32[65536,65536]{1,0:T(8,128)}\n";

    #[test]
    fn a_buffer_assignment_alone_is_held_against_a_chip() {
        let said = |report: &Report| (report.findings[0].id, report.findings[0].severity);
        let unknown = ask(&[("assignment", ASSIGNED)]).unwrap();
        assert_eq!(said(&unknown), ("limit_unknown", Severity::Info));
        let small = ask(&[("assignment", ASSIGNED), ("chip", "v5e")]).unwrap();
        assert_eq!(said(&small), ("does_not_fit", Severity::Error));
        let large = ask(&[("assignment", ASSIGNED), ("capacity", "100G")]).unwrap();
        assert_eq!(said(&large), ("fits", Severity::Info));
    }

    #[test]
    fn what_is_of_another_program_or_cannot_be_read_is_said() {
        let text = "Ran out of memory on HBM, the total memory required for HLO temporaries (64.00G) exceeds available HBM (15.75G). HLO module: jit_f.";
        let report = ask(&[("message", text), ("assignment", ASSIGNED), ("hlo", "HloModule")]).unwrap();
        let ids: Vec<_> = report.quality.iter().map(|note| note.id).collect();
        assert_eq!(ids, ["unreadable_module", "another_program"]);
        assert!(matches!(ask(&[("message", text), ("assignment", "what")]), Err(Error::Usage(_))));
        assert!(matches!(ask(&[]), Err(Error::Nothing(_))));
        assert!(matches!(ask(&[("message", "all is well")]), Err(Error::Nothing(_))));
    }
}
