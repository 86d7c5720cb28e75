//! Time beyond the roofline, by source line or framework op.

use std::collections::BTreeMap;

use super::facts::{Fact, Limit};
use crate::typed_peak::Precision;
use haloscope_report::{Table, row};
use haloscope_time::roofline::MOST_OF_PEAK;

/// Ops under one name.
pub(super) struct Group<'f, 'a, 'p> {
    pub(super) name: String,
    /// What the name is: source, framework op, category.
    pub(super) by: &'static str,
    pub(super) self_ps: i64,
    pub(super) shortfall_ps: f64,
    compute_ps: f64,
    memory_ps: f64,
    floor_ps: f64,
    ops: usize,
    precision: Option<&'static str>,
    peak_of: Option<Precision>,
    /// The op with the largest shortfall.
    pub(super) largest: &'f Fact<'a, 'p>,
}

impl Group<'_, '_, '_> {
    /// The nearer limit.
    pub(super) fn bound_by(&self) -> Option<&'static str> {
        (self.floor_ps > 0.0).then_some(if self.compute_ps >= self.memory_ps { "compute" } else { "memory" })
    }

    /// The least time over the time taken; `None` above [`MOST_OF_PEAK`], where the counts cannot be right.
    pub(super) fn roofline_share(&self) -> Option<f64> {
        let share = (self.self_ps > 0).then(|| self.floor_ps / self.self_ps as f64);
        share.filter(|share| *share <= MOST_OF_PEAK)
    }
}

/// The groups, largest shortfall first.
pub(super) fn groups<'f, 'a, 'p>(facts: &'f [Fact<'a, 'p>]) -> Vec<Group<'f, 'a, 'p>> {
    let mut found: BTreeMap<(&'static str, &str), Group<'f, 'a, 'p>> = BTreeMap::new();
    for fact in facts {
        let Limit::Floor { compute_ps, memory_ps } = fact.limit else { continue };
        let own = fact.shortfall_ps().unwrap_or(0.0);
        let (by, name) = key(fact);
        let precision = fact.precision.map(Precision::word);
        let group = found.entry((by, name)).or_insert_with(|| Group {
            name: name.to_owned(),
            by,
            self_ps: 0,
            shortfall_ps: 0.0,
            compute_ps: 0.0,
            memory_ps: 0.0,
            floor_ps: 0.0,
            ops: 0,
            precision,
            peak_of: fact.peak.map(|peak| peak.of),
            largest: fact,
        });
        group.self_ps = group.self_ps.saturating_add(fact.op.self_ps);
        group.shortfall_ps += own;
        group.compute_ps += compute_ps;
        group.memory_ps += memory_ps;
        group.floor_ps += compute_ps.max(memory_ps);
        group.ops += 1;
        if group.precision != precision {
            group.precision = Some("mixed");
        }
        if group.peak_of != fact.peak.map(|peak| peak.of) {
            group.peak_of = None;
        }
        if own > group.largest.shortfall_ps().unwrap_or(0.0) {
            group.largest = fact;
        }
    }
    let mut groups: Vec<_> = found.into_values().collect();
    groups.sort_by(|a, b| b.shortfall_ps.total_cmp(&a.shortfall_ps));
    groups
}

fn key<'f>(fact: &'f Fact<'_, '_>) -> (&'static str, &'f str) {
    let meta = &fact.op.meta;
    match (meta.source.as_ref(), meta.framework_op.as_ref()) {
        ("", "") => ("category", fact.class.word()),
        ("", path) => ("framework op", path),
        (line, _) => ("source", line),
    }
}

pub(super) fn table(groups: &[Group<'_, '_, '_>], all_ps: i64) -> Table {
    let mut rows = Vec::new();
    for group in groups {
        let share = (all_ps > 0).then(|| group.shortfall_ps / all_ps as f64);
        let row = row![
            text(
                "group",
                "Group",
                "The source line; without one, the framework op; without either, the category.",
                group.name.as_str()
            ),
            duration(
                "shortfall_ps",
                "Shortfall",
                "Sum over its ops of time minus max(FLOPs / peak, bytes / bandwidth).",
                group.shortfall_ps.round()
            ),
            share(
                "shortfall_share",
                "Of all",
                "Shortfall divided by the self time of all ops in the scope.",
                share
            ),
            duration("self_ps", "Self time", "Of the group's ops that have a limit.", group.self_ps),
            share(
                "roofline_share",
                "Of roofline",
                "The roofline's least time divided by the time taken: 100% is on the roof; unknown above 102%.",
                group.roofline_share()
            ),
            text(
                "bound_by",
                "Bound by",
                "The limit that takes more of the least time: compute or memory.",
                group.bound_by()
            ),
            text(
                "slowest_op",
                "Largest op",
                "The op with the largest shortfall.",
                group.largest.op.meta.name.as_ref()
            ),
            text("category", "Category", "What that op does.", group.largest.class.word()),
            text(
                "precision",
                "Type",
                "Type of the operands; `mixed` if ops differ; may be unknown.",
                group.precision
            ),
            text(
                "peak_of",
                "Peak used",
                "The type whose peak FLOP rate was used: 16-bit float if the profile states no peak for its own type.",
                group.peak_of.map_or("mixed", Precision::word)
            ),
            text("by", "By", "What the group is named after: source, framework op, category.", group.by),
            count("ops", "Ops", "Distinct ops.", group.ops),
            duration("compute_only_ps", "Compute only", "FLOPs over peak.", group.compute_ps.round()),
            duration("memory_only_ps", "Memory only", "Bytes over bandwidth.", group.memory_ps.round()),
        ];
        rows.push(row);
    }
    Table::of("groups", "Time beyond the roofline", rows)
}

/// How much of the time is held against a limit, and why the rest is not.
pub(super) fn coverage(facts: &[Fact<'_, '_>], all_ps: i64) -> Table {
    let mut table = Vec::new();
    let mut push = |what: &str, takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
        let own: Vec<&Fact<'_, '_>> = facts.iter().filter(|fact| takes(fact)).collect();
        if own.is_empty() {
            return;
        }
        let time = haloscope_report::units::sum(own.iter().map(|fact| fact.op.self_ps));
        let share = (all_ps > 0).then(|| time as f64 / all_ps as f64);
        let row = row![
            text("what", "Ops", "Why ops are, or are not, compared with the roofline.", what),
            duration("self_ps", "Self time", "Of these ops.", time),
            share("self_share", "Share", "Of all self time.", share),
            count("ops", "Distinct", "Distinct ops.", own.len()),
        ];
        table.push(row);
    };
    push("compared with the roofline", &|fact| fact.limit.reason().is_none());
    push("  of these multiply, type not known", &is_untyped);
    for limit in [Limit::NotCompute, Limit::NoFlops, Limit::NoBytes, Limit::NoPeaks] {
        push(limit.reason().unwrap_or_default(), &|fact| fact.limit == limit);
    }
    Table::of("coverage", "What is compared with the roofline", table)
}

/// A product whose operands' type nothing tells: it is held against the 16-bit peak.
pub(super) fn is_untyped(fact: &Fact<'_, '_>) -> bool {
    fact.limit.reason().is_none() && fact.class.multiplies() && fact.precision.is_none()
}
