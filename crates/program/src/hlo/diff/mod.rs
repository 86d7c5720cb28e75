//! `hlo diff`: what the compiler made differently.

mod changes;
mod counts;
mod unified;

use haloscope_hlo::Alignment;

use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Text, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, LIMIT, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::programs::{self, Program};
use haloscope_time::quality;
use haloscope_time::select::Scoped;

use changes::{Changes, Kind};

const TO: Param = Param {
    id: "to",
    doc: "the module to compare with, named as for --module: from the second run, or another stage of a dump",
    kind: ParamKind::Text,
    default: "",
};

const MOST: Param = Param {
    doc: "how many changes to list, the largest first, and how many lines of the text; 0 shows all",
    default: "500",
    ..LIMIT
};

const RENAMED: Param = Param {
    id: "renamed",
    doc: "also list instructions that only have another name",
    kind: ParamKind::Choice(&["no", "yes"]),
    default: "no",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hlo diff",
    label: "Diff",
    group: MenuGroup::Programs,
    question: "What did the compiler change, apart from names?",
    params: &[MODULE, TO, MOST, RENAMED],
    needs: &[
        "HLO modules of two runs, two modules of one, or a dump with several stages",
        "for buffers that grew: buffer assignments, which profiles and HLO protos have and text has not",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "hlo diff logs/before logs/after --module jit_train_step",
    also: &[],
    run: Run::Between(run),
};

fn run(asked: &Scoped<'_>, other: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let scope = &asked.scope;
    let (a, b) = sides(asked, other, params)?;
    if scope.cuts_time() || !scope.devices.is_empty() {
        quality::not_used("devices, steps and windows", notes);
    }
    let alignment = Alignment::new(&a.decoded.module, &b.decoded.module);
    let changes = Changes::of(&alignment);
    let buffers = counts::Buffers::of(&alignment);
    let mut values = headline(&alignment, &changes, &a, &b);
    values.extend(counts::values(&alignment, buffers.as_ref()));
    let rows = Some(params.count(&MOST)).filter(|most| *most > 0).unwrap_or(usize::MAX);
    let mut tables = vec![changes.table(params.text(&RENAMED) == "yes", rows)];
    tables.extend([counts::opcodes(&alignment), counts::categories(&alignment)]);
    tables.extend(buffers.map(|buffers| buffers.table(rows)));
    let text = unified::text(&changes, [&a.label(), &b.label()], rows);
    let title = format!("{} against {}", a.label(), b.label());
    Ok(Report { values, tables, texts: vec![Text { id: "diff", title, text }], ..Report::default() })
}

/// The two modules: those that are named; else of two runs the chosen one and its namesake, of a dump the first stage and the
/// last, and of another run the chosen one twice.
fn sides<'p>(
    asked: &Scoped<'p>,
    other: &Scoped<'p>,
    params: &Params,
) -> Result<(Program<'p>, Program<'p>), Error> {
    let profile = asked.profile;
    let named = |run: &Scoped<'p>, word: &str| {
        programs::choose(run.profile, &run.scope, word, programs::by_time(run.profile, run.selection().ok()))
    };
    let (word, to) = (params.text(&MODULE), params.text(&TO));
    let a = named(asked, word)?;
    if !to.is_empty() {
        return Ok((a, named(other, to)?));
    }
    if !std::ptr::eq(profile, other.profile) {
        return Ok((a, named(other, &a.entry.name).or_else(|_| named(other, ""))?));
    }
    if word.contains('@') {
        // That stage against the one that stands for its module.
        return Ok((a, named(asked, &a.entry.name)?));
    }
    let number = a.entry.stage.as_ref().and_then(|stage| stage.number);
    let is_first = |stage: &&haloscope_profile::HloModule| {
        stage.name == a.entry.name && stage.stage.as_ref().and_then(|s| s.number) == number
    };
    let first = profile.stages.iter().find(is_first).filter(|first| first.stage != a.entry.stage);
    let decoded = first.and_then(|entry| Some((entry, entry.decode(profile).ok()?)));
    Ok((decoded.map_or(a, |(entry, decoded)| Program { entry, decoded }), a))
}

fn headline(
    alignment: &Alignment<'_>,
    changes: &Changes<'_, '_>,
    a: &Program<'_>,
    b: &Program<'_>,
) -> Vec<Value> {
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
    let words =
        |id, label, text: String, doc| Value::new(id, label, Some(text), Unit::None, Status::Measured, doc);
    let of = |kind| changes.count(kind);
    vec![
        words("module_a", "Module A", a.label(), "The first compared module."),
        words("module_b", "Module B", b.label(), "The other."),
        Value::new(
            "difference",
            "Difference",
            Some(changes.word()),
            Unit::None,
            Status::Derived,
            "none, names only, configuration only (the backend's), or program.",
        ),
        count(
            "instructions_a",
            "Instructions of A",
            alignment.a.instructions().len(),
            "Fused ones included.",
        ),
        count(
            "instructions_b",
            "Instructions of B",
            alignment.b.instructions().len(),
            "Fused ones included.",
        ),
        count("matched", "Matched", changes.matched, "Instructions of A that have a counterpart in B."),
        count("renamed", "Renamed", changes.renamed, "Matched ones with another name, changed or not."),
        count(
            "changed",
            "Changed",
            of(Kind::Changed),
            "Matched ones that differ in shape, layout, attributes, operands or body.",
        ),
        count(
            "reconfigured",
            "Configured differently",
            of(Kind::Reconfigured),
            "Matched ones that differ only in the backend's configuration.",
        ),
        count("added", "Added", of(Kind::Added), "Instructions that only B has, fused ones included."),
        count("removed", "Removed", of(Kind::Removed), "Instructions that only A has, fused ones included."),
    ]
}
