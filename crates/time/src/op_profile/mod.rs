//! `op-profile`: device time as a tree, from programs, categories, scopes or files down to single ops.

mod columns;
mod paths;
mod sums;
mod tree;

use crate::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use crate::ops;
use crate::ops::analysis::Sums;
use crate::quality;
use crate::select::Scoped;
use crate::steps::Steps;
use crate::usage::Usage;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Status, Tree, Unit, Value};

const BY: Param = Param {
    id: "by",
    doc: "what the first levels are: programs and categories, categories, the framework's scopes, or source files and lines",
    kind: ParamKind::Choice(&["program", "category", "provenance", "source"]),
    default: "program",
};

const IDLE: Param = Param {
    id: "idle",
    doc: "whether idle time counts as part of the whole",
    kind: ParamKind::Choice(&["exclude", "include"]),
    default: "exclude",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "op-profile",
    label: "Op profile",
    group: MenuGroup::Work,
    question: "Where does the device time go, from programs down to single ops, and how much of it is wasted?",
    params: &[BY, IDLE],
    needs: &[
        "what `ops` needs",
        "for --by provenance and --by source: scope paths and source lines, on the ops or in the HLO modules",
    ],
    reads: &[Input::Profile],
    example: "op-profile logs --by provenance --steady",
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
    let peaks = selection.peaks();
    let idle_ps = (params.text(&IDLE) == "include").then(|| {
        let usage = Usage::measure(profile, selection, &Steps::find(profile, &selection.devices));
        units::sum(usage.devices.iter().map(|d| d.gaps_ps))
    });
    let root = tree::build(&ops, params.text(&BY), idle_ps, &peaks);
    let sums = Sums::of(&ops);
    let limits = sums.work().against(&peaks);
    let share = |ps: i64| (sums.self_ps > 0).then(|| ps as f64 / sums.self_ps as f64);
    let wasted = columns::wasted(&limits).zip(share(sums.self_ps)).map(|(wasted, share)| wasted * share);
    let mut values = vec![
        Value::new(
            "self_time_ps",
            "Self time of all ops",
            Some(sums.self_ps),
            Unit::Ps,
            Status::Measured,
            "Sum over ops and devices.",
        ),
        Value::new(
            "flop_share_of_peak",
            "FLOP/s of peak",
            limits.flop_share,
            Unit::Share,
            Status::Derived,
            "FLOPs of all ops over their time, over the peak of one device.",
        ),
        Value::new(
            "hbm_share_of_peak",
            "HBM of peak",
            limits.hbm_share,
            Unit::Share,
            Status::Derived,
            "Likewise for bytes to and from HBM.",
        ),
        Value::new(
            "wasted_share",
            "Wasted",
            wasted,
            Unit::Share,
            Status::Derived,
            "Share of the ops' time that neither limit explains: 1 minus the larger share of peak. Work without a count looks like waste: see time_without_flops_share.",
        ),
        Value::new(
            "op_count",
            "Distinct ops",
            Some(ops.len()),
            Unit::Count,
            Status::Measured,
            "Ops by program and name.",
        ),
        Value::new(
            "time_without_flops_share",
            "Time of ops without a FLOP count",
            share(sums.unknown_ps),
            Unit::Share,
            Status::Derived,
            "Self time of ops without a FLOP count, usually custom calls.",
        ),
    ];
    if idle_ps.is_some() {
        let doc = "Time between the first op and the last in which no op ran, summed over devices.";
        values.push(Value::new("idle_ps", "Idle time", idle_ps, Unit::Ps, Status::Measured, doc));
    }
    let tree = Tree { nodes: vec![root], ..Tree::new("profile", "Device time by part", columns::COLUMNS) };
    Ok(Report { values, trees: vec![tree], ..Report::default() })
}
