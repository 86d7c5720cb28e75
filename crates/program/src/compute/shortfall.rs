//! Time beyond the roofline, by source line or framework op.

use std::collections::BTreeMap;

use super::columns::{COVERAGE, GROUPS};
use super::facts::{Fact, Limit};
use haloscope_report::{Cell, Table};
use haloscope_time::typed_peak::Precision;

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

    /// The least time over the time taken.
    pub(super) fn roofline_share(&self) -> Option<f64> {
        (self.self_ps > 0).then(|| self.floor_ps / self.self_ps as f64)
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
    let mut table = Table::new("groups", "Time beyond the roofline", GROUPS);
    for group in groups {
        let share = (all_ps > 0).then(|| group.shortfall_ps / all_ps as f64);
        table.push(vec![
            group.name.as_str().into(),
            group.shortfall_ps.round().into(),
            share.into(),
            group.self_ps.into(),
            group.roofline_share().into(),
            group.bound_by().into(),
            group.largest.op.meta.name.as_ref().into(),
            group.largest.class.word().into(),
            group.precision.into(),
            Cell::from(group.peak_of.map_or("mixed", Precision::word)),
            group.by.into(),
            group.ops.into(),
            group.compute_ps.round().into(),
            group.memory_ps.round().into(),
        ]);
    }
    table
}

/// How much of the time is held against a limit, and why the rest is not.
pub(super) fn coverage(facts: &[Fact<'_, '_>], all_ps: i64) -> Table {
    let mut table = Table::new("coverage", "What is held against the roofline", COVERAGE);
    let mut push = |what: &str, takes: &dyn Fn(&Fact<'_, '_>) -> bool| {
        let own: Vec<&Fact<'_, '_>> = facts.iter().filter(|fact| takes(fact)).collect();
        if own.is_empty() {
            return;
        }
        let time = haloscope_report::units::sum(own.iter().map(|fact| fact.op.self_ps));
        let share = (all_ps > 0).then(|| time as f64 / all_ps as f64);
        table.push(vec![what.into(), time.into(), share.into(), own.len().into()]);
    };
    push("held against the roofline", &|fact| fact.limit.reason().is_none());
    push("  of these multiply, type not known", &is_untyped);
    for limit in [Limit::NotCompute, Limit::NoFlops, Limit::NoBytes, Limit::NoPeaks] {
        push(limit.reason().unwrap_or_default(), &|fact| fact.limit == limit);
    }
    table
}

/// A product whose operands' type nothing tells: it is held against the 16-bit peak.
pub(super) fn is_untyped(fact: &Fact<'_, '_>) -> bool {
    fact.limit.reason().is_none() && fact.class.multiplies() && fact.precision.is_none()
}
