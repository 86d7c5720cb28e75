//! `source`: time, FLOPs and bytes by source file and line, and by the stack of calls that leads there.

mod calls;
mod columns;
mod lines;

use crate::source_frames::Stacks;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Severity, Status, Tree, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::fix::Fix;
use haloscope_time::ops;
use haloscope_time::quality;
use haloscope_time::select::Scoped;

use lines::Lines;

const FILE: Param = Param {
    id: "file",
    doc: "only lines of files whose path contains this, and calls through them",
    kind: ParamKind::Text,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "source",
    label: "Source",
    group: MenuGroup::Work,
    question: "Which lines of the program's source does the device time come from?",
    params: &[FILE],
    needs: &[
        "what `ops` needs",
        "the source of each op: on the op's metadata (TPU) or in the HLO modules of the profile",
    ],
    reads: &[Input::Profile],
    example: "source logs --file model.py",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let profile = asked.profile;
    let selection = asked.selection()?;
    let ops = ops::collect(profile, selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::remarks(profile, selection, &ops, notes);
    let stacks = Stacks::new(profile, selection);
    let placed: Vec<_> = ops.iter().map(|op| (op, stacks.of(op))).collect();
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    let unknown: i64 = units::sum(placed.iter().filter(|(_, f)| f.is_empty()).map(|(op, _)| op.self_ps));
    if placed.iter().all(|(_, frames)| frames.is_empty()) {
        return Err(Error::Nothing(
            "no op of this profile says which source line it comes from; profilers of TPUs put it on the op, others need the HLO modules in the profile"
                .into(),
        ));
    }
    let has_stacks = placed.iter().any(|(_, frames)| frames.len() > 1);
    if !has_stacks {
        notes.add(
            "no_source_stacks",
            Severity::Info,
            "each op has one source line, without the calls that lead there",
            "time with callees equals own time, and the call tree has one level",
            Fix::jax_or(
                "leave jax_include_full_tracebacks_in_locations on (the default)",
                "programs of JAX have the calls; other frameworks write one line for each op",
            )
            .for_run(profile),
        );
    }
    let asked = params.text(&FILE);
    let peaks = selection.peaks();
    let lines = Lines::of(&placed);
    let tables = vec![lines.by_file(all, &peaks), lines.by_line(asked, all, &peaks)];
    let nodes = calls::tree(&placed, asked, all);
    let trees = if has_stacks {
        vec![Tree { nodes, ..Tree::new("calls", "Calls, outermost first", columns::CALLS) }]
    } else {
        Vec::new()
    };
    let values = vec![
        Value::new(
            "self_time_ps",
            "Self time of all ops",
            Some(all),
            Unit::Ps,
            Status::Measured,
            "Sum over ops and devices.",
        ),
        Value::new(
            "time_without_source_share",
            "Time of ops without a source line",
            (all > 0).then(|| unknown as f64 / all as f64),
            Unit::Share,
            Status::Derived,
            "Ops that the compiler made (copies, collectives, loops) often name none.",
        ),
        Value::new(
            "file_count",
            "Source files",
            Some(tables[0].rows.len()),
            Unit::Count,
            Status::Measured,
            "Files that an op's stack names.",
        ),
        Value::new(
            "line_count",
            "Source lines",
            Some(tables[1].rows.len()),
            Unit::Count,
            Status::Measured,
            "Lines that an op's stack names; of the files asked for.",
        ),
    ];
    Ok(Report { values, tables, trees, ..Report::default() })
}
