//! Self time by what ops do, by phase, by layer, by source line.

use std::collections::BTreeMap;

use super::facts::Fact;
use haloscope_profile::Peaks;
use haloscope_report::{Cell, Column, Table};
use haloscope_time::phase::Phase;
use haloscope_time::roofline::{Work, add_known};

/// Sums over the ops of a row.
#[derive(Default)]
struct Part {
    self_ps: i64,
    occurrences: u64,
    matmul_ps: i64,
    by_phase: [i64; Phase::ALL.len()],
    shortfall_ps: Option<f64>,
    flops: Option<f64>,
    hbm_bytes: Option<f64>,
}

impl Part {
    fn add(&mut self, fact: &Fact<'_, '_>) {
        let own = fact.op.self_ps;
        self.self_ps = self.self_ps.saturating_add(own);
        self.occurrences += fact.op.occurrences;
        if fact.class.is_matmul() {
            self.matmul_ps = self.matmul_ps.saturating_add(own);
        }
        let phase = &mut self.by_phase[fact.phase as usize];
        *phase = phase.saturating_add(own);
        add_known(&mut self.shortfall_ps, fact.shortfall_ps());
        add_known(&mut self.flops, fact.flops());
        add_known(&mut self.hbm_bytes, fact.own_hbm_bytes());
    }
}

/// What stands between a row's share and its count.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum More {
    /// Nothing.
    Nothing,
    /// The share of products.
    Matmul,
    /// Times by phase and the share of products.
    Phases,
}

/// A table of self time by a key, largest first.
pub(super) fn table(
    (id, title, columns): (&'static str, &'static str, &'static [Column]),
    facts: &[Fact<'_, '_>],
    peaks: &Peaks,
    more: More,
    key: impl Fn(&Fact<'_, '_>) -> String,
) -> Table {
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for fact in facts {
        parts.entry(key(fact)).or_default().add(fact);
    }
    let all: i64 = haloscope_report::units::sum(facts.iter().map(|fact| fact.op.self_ps));
    let mut rows: Vec<(String, Part)> = parts.into_iter().collect();
    rows.sort_by_key(|(_, part)| std::cmp::Reverse(part.self_ps));
    let mut table = Table::new(id, title, columns);
    for (name, part) in rows {
        let work = Work { time_ps: part.self_ps as f64, flops: part.flops, hbm_bytes: part.hbm_bytes }
            .against(peaks);
        let share = |ps: i64, of: i64| (of > 0).then(|| ps as f64 / of as f64);
        let mut row = vec![Cell::from(name), part.self_ps.into(), share(part.self_ps, all).into()];
        if more == More::Phases {
            let phases = [Phase::Forward, Phase::Backward, Phase::Recomputation];
            row.extend(phases.map(|phase| Cell::from(part.by_phase[phase as usize])));
        }
        if more != More::Nothing {
            row.push(share(part.matmul_ps, part.self_ps).into());
        }
        row.extend([
            part.occurrences.into(),
            work.flop_share.into(),
            work.hbm_share.into(),
            part.shortfall_ps.map(f64::round).into(),
            part.flops.into(),
            part.hbm_bytes.into(),
        ]);
        table.push(row);
    }
    table
}
