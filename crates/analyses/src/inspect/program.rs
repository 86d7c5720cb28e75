//! What a compiled program holds, where there is no profile.

use rayon::prelude::*;

use haloscope_hlo::{Form, Opcode};

use haloscope_profile::{Decoded, HloModule, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_report::{Columns, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::quality;

pub(super) fn run(profile: &Profile, scope: &Scope, notes: &mut Notes) -> Report {
    if scope.cuts_time() || !scope.devices.is_empty() || !scope.modules.is_empty() {
        quality::not_used("devices, modules, steps and windows", notes);
    }
    let decoded: Vec<Result<&Decoded, &str>> =
        profile.stages.par_iter().map(stop::carried(|stage: &HloModule| stage.decode(profile))).collect();
    let mut rows = Vec::new();
    let (mut instructions, mut with_buffers) = (0, 0);
    for (stage, decoded) in profile.stages.iter().zip(&decoded) {
        let is_used = profile.modules.iter().any(|module| module.source == stage.source);
        if let Ok(decoded) = decoded
            && is_used
        {
            instructions += decoded.module.instructions().len();
            with_buffers += usize::from(decoded.module.buffer_assignment.is_some());
        }
        rows.push(row(profile, stage, is_used, decoded.ok()));
    }
    remarks(profile, &decoded, with_buffers, notes);
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
    let bytes: usize = profile.sources.iter().map(|source| source.bytes().len()).sum();
    let values = vec![
        count("modules", "HLO modules", profile.modules.len(), "HLO modules of the program."),
        count("stages", "Stages", profile.stages.len(), "Files with a module at a stage of its compilation."),
        count(
            "instructions",
            "Instructions",
            instructions,
            "Instructions of all modules, each at the stage that is used.",
        ),
        count("with_buffers", "With buffers", with_buffers, "Modules that have their buffer assignment."),
        Value::new(
            "file_bytes",
            "Size of the files",
            Some(bytes),
            Unit::Bytes,
            Status::Measured,
            "All files, unpacked.",
        ),
    ];
    Report { values, tables: vec![Table::of("stages", "Modules and stages", rows)], ..Report::default() }
}

fn row(
    profile: &Profile,
    stage: &HloModule,
    is_used: bool,
    decoded: Option<&Decoded>,
) -> Row<impl Columns + use<>> {
    let source = &profile.sources[stage.source];
    let yes_or_no = |is: bool| if is { "yes" } else { "no" };
    let module = decoded.map(|decoded| &decoded.module);
    let fusions = module.map(|m| m.instructions().filter(|(_, i)| i.opcode == Opcode::Fusion).count());
    let form = match Form::of(source.bytes()) {
        Some(Form::HloProto) => "HloProto",
        Some(Form::ModuleProto) => "HloModuleProto",
        Some(Form::Text) => "text",
        None => "",
    };
    let (name, number) = stage.stage.as_ref().map_or(("", None), |s| (s.name.as_str(), s.number));
    let file = source.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    row![
        text("module", "Module", "Name.", stage.name.as_str()),
        text(
            "stage",
            "Stage",
            "Stage of the compilation, from the file's name; empty if it does not say.",
            name
        ),
        text("used", "Used", "Whether the module's analyses read this stage.", yes_or_no(is_used)),
        count(
            "instructions",
            "Instructions",
            "Instructions in all computations.",
            module.map(|m| m.instructions().len())
        ),
        count("computations", "Computations", "Computations.", module.map(|m| m.computations().len())),
        count("fusions", "Fusions", "Fusion instructions.", fusions),
        text(
            "scheduled",
            "Scheduled",
            "Whether the instructions are in the order in which they run.",
            module.map(|m| yes_or_no(m.is_scheduled()).to_owned())
        ),
        text(
            "buffers",
            "Buffers",
            "Whether it has its buffer assignment; without it there is no memory analysis.",
            module.map(|m| yes_or_no(m.buffer_assignment.is_some()).to_owned())
        ),
        text("form", "Form", "HloProto, HloModuleProto or HLO text.", form),
        bytes("bytes", "Size", "Size of the file, unpacked.", source.bytes().len()),
        count("number", "Number", "Number of the module in the dump.", number),
        text("file", "File", "Name of the file.", file),
    ]
}

fn remarks(profile: &Profile, decoded: &[Result<&Decoded, &str>], with_buffers: usize, notes: &mut Notes) {
    for (stage, decoded) in profile.stages.iter().zip(decoded) {
        let path = haloscope_report::naming::shown(&profile.sources[stage.source].path);
        match decoded {
            Err(reason) => notes.add(
                "damaged_hlo",
                Severity::Warning,
                format!("{path}: {reason}"),
                "this stage is not in any of the numbers",
                "copy the file again, or dump the program again",
            ),
            Ok(decoded) if !decoded.module.unread_attributes.is_empty() => notes.add(
                "unread_attributes",
                Severity::Info,
                format!("{path} has unknown attributes: {}", decoded.module.unread_attributes.join(", ")),
                "their contents are left out",
                "a newer version of haloscope may know them",
            ),
            Ok(_) => {}
        }
        let is_used = profile.modules.iter().any(|module| module.source == stage.source);
        let Ok(Decoded { buffers_file: Some(beside), buffers_fault, .. }) = decoded else { continue };
        if !is_used {
            continue;
        }
        let beside = beside.display();
        match buffers_fault {
            Some(fault) => notes.add(
                "damaged_buffer_assignment",
                Severity::Warning,
                format!("{beside}: {fault}"),
                "no memory analysis of this module",
                "copy the file again, or dump the program again",
            ),
            None => notes.add(
                "buffers_from_text",
                Severity::Info,
                format!("the buffer assignment of {} was read from {beside}", stage.name),
                "sizes and places are known, but not when temporary buffers are in use, so there is no peak and no timeline",
                "dump with --xla_dump_hlo_as_proto in addition to --xla_dump_to: the proto after optimisation has the heap's history",
            ),
        }
    }
    if with_buffers < profile.modules.len() {
        notes.add(
            "no_buffer_assignment",
            Severity::Info,
            format!("{} of {} modules have no buffer assignment", profile.modules.len() - with_buffers, profile.modules.len()),
            "no memory analysis of these",
            "compile with --xla_dump_to=DIR --xla_dump_hlo_as_proto in XLA_FLAGS and pass DIR: the proto after optimisation has it",
        );
    }
}
