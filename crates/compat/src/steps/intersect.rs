//! Which steps of different hosts are the same.
//!
//! The host whose steps span the shortest time is the chief. Every other host's steps are shifted against the chief's so
//! that steps with one position overlap most in time; what remains is the range that all hosts cover.

use std::collections::BTreeMap;

use super::{CoreStep, Environment, HostSteps, StepDb, StepRow};
use haloscope_profile::HostId;

/// Where a host's steps stand against the chief's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alignment {
    begin: usize,
    begin_chief: usize,
    count: usize,
}

/// The steps of all hosts as one. Those of a single host keep their numbers, those of several are counted from 0.
pub(super) fn combine(environment: &Environment, parts: Vec<(HostId, HostSteps)>) -> StepDb {
    let mut parts = parts;
    if environment.hosts() == 1 {
        let steps = parts.pop().map(|(_, steps)| steps).unwrap_or_default();
        return StepDb { rows: steps.rows, empty_intersect: false, precision_ps: steps.precision_ps };
    }
    let spans: Vec<Vec<(i64, i64)>> = parts.iter().map(|(_, s)| s.rows.iter().map(span).collect()).collect();
    let mut db = StepDb::default();
    for (_, steps) in &parts {
        db.precision_ps.0 += steps.precision_ps.0;
        db.precision_ps.1 += steps.precision_ps.1;
    }
    let Some(chief) = chief(&spans).filter(|c| !spans[*c].is_empty()) else { return db };
    let alignments: Vec<Alignment> = spans
        .iter()
        .enumerate()
        .map(|(i, own)| match i == chief {
            true => Alignment { begin: 0, begin_chief: 0, count: own.len() },
            false => align(own, &spans[chief]),
        })
        .collect();
    let begin = alignments.iter().map(|a| a.begin_chief).max().unwrap_or(0);
    let end = alignments.iter().map(|a| a.begin_chief + a.count).min().unwrap_or(0);
    if begin > end {
        db.empty_intersect = true;
        return db;
    }
    for position in 0..end - begin {
        let mut row = StepRow { number: position as i64, ..StepRow::default() };
        for ((host, steps), alignment) in parts.iter_mut().zip(&alignments) {
            let index = begin - alignment.begin_chief + alignment.begin + position;
            let Some(own) = steps.rows.get_mut(index) else { continue };
            row.cores.append(&mut globally(environment, *host, std::mem::take(&mut own.cores)));
            row.groups.append(&mut own.groups);
            row.collectives.append(&mut globally(environment, *host, std::mem::take(&mut own.collectives)));
        }
        db.rows.push(row);
    }
    db
}

fn globally<T>(environment: &Environment, host: HostId, cores: BTreeMap<u32, T>) -> BTreeMap<u32, T> {
    cores.into_iter().map(|(core, value)| (environment.global_core(host, core), value)).collect()
}

/// From the first start to the last end of a step on its cores.
fn span(row: &StepRow) -> (i64, i64) {
    let ends = |core: &CoreStep| (core.begin_ps, core.begin_ps.saturating_add(core.duration_ps));
    let first = row.cores.values().map(|c| ends(c).0).min().unwrap_or(0);
    let last = row.cores.values().map(|c| ends(c).1).max().unwrap_or(0);
    if first < last { (first, last) } else { (0, 0) }
}

/// The position of the host whose steps span the shortest time, the first of equals.
fn chief(spans: &[Vec<(i64, i64)>]) -> Option<usize> {
    let total = |spans: &Vec<(i64, i64)>| {
        let known = || spans.iter().filter(|s| s.0 < s.1);
        let first = known().map(|s| s.0).min().unwrap_or(0);
        known().map(|s| s.1).max().unwrap_or(0).saturating_sub(first)
    };
    (0..spans.len()).min_by_key(|i| total(&spans[*i]))
}

/// How a host's steps have to be shifted to overlap most with the chief's. Each pair of steps that is met while both
/// sequences are walked side by side counts for its shift; among equals shifts to the right come first, then nearer ones.
fn align(own: &[(i64, i64)], chief: &[(i64, i64)]) -> Alignment {
    if own.is_empty() || chief.is_empty() {
        return Alignment { begin: 0, begin_chief: 0, count: 0 };
    }
    let mut similarity = vec![0_i64; own.len() + chief.len() - 1];
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (own.get(i), chief.get(j)) {
        if a.0 == a.1 {
            i += 1;
            continue;
        }
        if b.0 == b.1 {
            j += 1;
            continue;
        }
        let overlap = (a.1.min(b.1) - a.0.max(b.0)).max(0);
        let shift = j + own.len() - 1 - i;
        similarity[shift] = similarity[shift].saturating_add(overlap);
        if a.1 <= b.1 {
            i += 1;
        }
        if b.1 <= a.1 {
            j += 1;
        }
    }
    let zero = own.len() - 1;
    let candidates = (zero..similarity.len()).chain((0..zero).rev());
    let best = candidates.fold(zero, |best, k| if similarity[k] > similarity[best] { k } else { best });
    let (begin, begin_chief) = (zero.saturating_sub(best), best.saturating_sub(zero));
    Alignment { begin, begin_chief, count: (own.len() - begin).min(chief.len() - begin_chief) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(from: i64, count: i64) -> Vec<(i64, i64)> {
        (0..count).map(|i| (from + i * 10, from + i * 10 + 9)).collect()
    }

    #[test]
    fn shifts_to_where_steps_overlap_most() {
        let chief = every(100, 4);
        assert_eq!(align(&chief, &chief), Alignment { begin: 0, begin_chief: 0, count: 4 });
        assert_eq!(align(&every(82, 6), &chief), Alignment { begin: 2, begin_chief: 0, count: 4 });
        assert_eq!(align(&every(121, 6), &chief), Alignment { begin: 0, begin_chief: 2, count: 2 });
        // Steps at quite different times: all are held against each other from the first on.
        assert_eq!(align(&every(9000, 3), &chief), Alignment { begin: 0, begin_chief: 0, count: 3 });
        assert_eq!(align(&[], &chief).count, 0);
    }

    #[test]
    fn the_shortest_is_the_chief() {
        assert_eq!(chief(&[every(0, 5), every(50, 3), every(0, 3)]), Some(1));
        assert_eq!(chief(&[]), None);
    }
}
