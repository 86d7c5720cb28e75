//! The names of a chip's hardware counters, and the ids under which the driver writes them.
//!
//! The tables beside this file are what XProf 2.24.2 answers to `perf_counters?names_only=1`, folded by `make.py`: an id is an
//! address, and the same block of counters stands at regular distances for every tile and memory channel.

use rustc_hash::FxHashMap;

/// A counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Its name, lower-case.
    pub name: String,
    /// Its id: what the stat `performance_counter_id` holds.
    pub id: u64,
}

/// The kinds of chips whose counters have names.
pub const KINDS: [&str; 2] = ["v6e", "v7x"];

/// All counters of a kind of chip, in the driver's order; `None` for a kind without a table.
#[must_use]
pub fn counters(kind: &str) -> Option<Vec<Counter>> {
    let table = match kind {
        "v6e" => include_str!("counter_names/v6e.txt"),
        "v7x" => include_str!("counter_names/v7x.txt"),
        _ => return None,
    };
    let mut all = Vec::new();
    let mut blocks: Vec<Block<'_>> = table.split("@ ").filter_map(Block::parse).collect();
    for i in 0..blocks.len() {
        if blocks[i].counters.is_empty() && i > 0 {
            blocks[i].counters = blocks[i - 1].counters.clone();
        }
        blocks[i].list(&mut all);
    }
    Some(all)
}

/// The ids of all counters of a kind of chip, by name; empty for a kind without a table.
#[must_use]
pub fn ids(kind: &str) -> FxHashMap<String, u64> {
    counters(kind).unwrap_or_default().into_iter().map(|c| (c.name, c.id)).collect()
}

/// Counters that stand at the same distances from each of several addresses.
struct Block<'a> {
    head: &'a str,
    tail: &'a str,
    base: u64,
    stride: u64,
    indices: &'a str,
    counters: Vec<(&'a str, u64)>,
}

impl<'a> Block<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split(' ');
        let (head, tail) = words.next()?.split_once("{}")?;
        let (base, stride) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let indices = words.next()?;
        let counter = |line: &'a str| {
            let (name, distance) = line.split_once(' ')?;
            Some((name, distance.parse().ok()?))
        };
        Some(Self { head, tail, base, stride, indices, counters: lines.filter_map(counter).collect() })
    }

    fn list(&self, all: &mut Vec<Counter>) {
        for index in self.indices.split(',') {
            let place = self.base + self.stride * index.parse::<u64>().unwrap_or(0);
            let index = if index == "-" { "" } else { index };
            for (counter, distance) in &self.counters {
                let name = format!("{}{index}{}_{counter}", self.head, self.tail);
                all.push(Counter { name, id: place + distance });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts, ends and a few addresses of the answer of XProf 2.24.2.
    #[test]
    fn tables_unfold_to_all_counters() {
        let all = counters("v6e").unwrap();
        assert_eq!(all.len(), 900);
        let tcs = "vf_chip_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count";
        assert_eq!(all[0], Counter { name: format!("{tcs}_cycles"), id: 3_257_466_888 });
        let by_name = ids("v6e");
        assert_eq!(by_name.len(), 900);
        let hbm = "vf_chip_hbm_1_hbmc_15_cmn_hi_freq_stats_counters_unprivileged_rd_resp_ps1";
        assert!(by_name.contains_key(hbm));

        let all = counters("v7x").unwrap();
        assert_eq!(all.len(), 2933);
        assert_eq!(ids("v7x").len(), 2933, "names are unique");
        let unique: std::collections::BTreeSet<_> = all.iter().map(|c| c.id).collect();
        assert_eq!(unique.len(), 2933, "addresses are unique");
        let scalar = "vf_chip_die0_pwrmgr_pwrmgr_tc_throttle_core_debug_stats_unprivileged_clocks_skipped";
        assert_eq!((all[0].name.as_str(), all[0].id), (scalar, 2_847_490_064));
    }

    #[test]
    fn a_kind_without_a_table() {
        assert_eq!(counters("v5e"), None);
        assert!(ids("v5e").is_empty());
    }
}
