//! `kernel regions`: where the bundles of a kernel are.

use haloscope_llo::{Kind, UNITS};
use haloscope_report::{Columns, Error, Notes, Report, Row, Table, Unit, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::{ROWS, cut};
use crate::model::Use;
use crate::subject::{NEEDS, OP, Subject};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel regions",
    label: "Regions",
    group: MenuGroup::Work,
    question: "Which loops and branches does a TPU kernel have, and which take its bundles?",
    params: &[OP],
    needs: NEEDS,
    reads: &[Input::Profile, Input::Program],
    example: "kernel regions logs --op matmul",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let subject = Subject::choose(asked, params, notes)?;
    let module = &subject.module;
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); module.groups.len()];
    for (bundle, region) in subject.model.regions.iter().enumerate() {
        if let Some(row) = region {
            own[*row].push(bundle);
        }
    }
    cut(notes, "regions", module.groups.len());
    let rows = own.iter().take(ROWS).enumerate().map(|(row, bundles)| line(&subject, row, bundles));
    let table = Table::of("regions", "Regions in the order of the program", rows);
    Ok(Report { values: subject.values(), tables: vec![table], ..Report::default() })
}

fn line(subject: &Subject<'_>, row: usize, bundles: &[usize]) -> Row<impl Columns + use<>> {
    let group = &subject.module.groups[row];
    let inside = Use::of(&subject.module, bundles.iter().copied());
    let share = |at: usize| UNITS.get(at).and_then(|unit| inside.share(*unit));
    let (kind, trips) = match group.kind {
        Kind::Loop(space) => ("loop", space.trips()),
        Kind::Predicated => ("branch", None),
        Kind::Region => (group.part.word(), None),
    };
    let runs = subject.model.runs[row];
    let limit = group.limit_bundle;
    let is_region = group.kind == Kind::Region;
    row![
        text(
            "path",
            "Path",
            "The regions, loops and branches around it, and the region itself.",
            subject.module.path(row)
        ),
        text("kind", "Kind", "A loop, a branch, or which part of one the region is.", kind),
        count(
            "ordinal",
            "Region",
            "Its number in the compiler's text: `$region64`.",
            Some(i64::from(group.ordinal)).filter(|_| is_region)
        ),
        count(
            "first_bundle",
            "First",
            "Its first bundle.",
            Some(i64::from(group.first_bundle)).filter(|first| is_region && *first >= 0)
        ),
        count(
            "limit_bundle",
            "Limit",
            "The bundle after its last. Regions of a loop overlap.",
            Some(i64::from(limit)).filter(|limit| is_region && *limit >= 0)
        ),
        count(
            "own_bundles",
            "Own bundles",
            "Bundles in this region and no inner one: each bundle counts once.",
            inside.bundles
        ),
        count(
            "trips",
            "Trips",
            "For a loop, how often its body runs; unknown if its bounds are known only at run time.",
            trips
        ),
        float(
            "modelled_bundles",
            "Modelled",
            Unit::Count,
            "Own bundles times how often they run, with every branch taken.",
            runs.map(|runs| runs * inside.bundles as f64)
        ),
        flag("is_gated", "Gated", "Whether it runs only if a predicate holds.", subject.model.gated[row]),
        count("instructions", "Instructions", "Its own instructions.", group.own_instructions),
        share("empty_share", "Empty", "Share of its own bundles that use no unit.", inside.empty_share()),
        share("mxu", "MXU", "Share of the matrix units' capacity that its own bundles use.", share(0)),
        share("xlu", "XLU", "The same of the cross-lane units.", share(1)),
        share("vector_alu", "VALU", "Of vector arithmetic.", share(2)),
        share("vector_eup", "EUP", "Of the unit for transcendental functions.", share(3)),
        share("vector_load", "Loads", "Of vector loads.", share(4)),
        share("vector_store", "Stores", "Of vector stores.", share(5)),
        share("scalar_alu", "SALU", "Of scalar arithmetic.", share(6)),
        count(
            "spills",
            "Spills",
            "Vectors that its own bundles store because no register was free.",
            inside.spills
        ),
        count("fills", "Fills", "Vectors that they load again.", inside.fills),
    ]
}
