//! Times of a run that flags are meant to shorten.

use haloscope_profile::{DeviceKind, PlaneKind};
use haloscope_time::account::{self, Class, Times};
use haloscope_time::ops;
use haloscope_time::select::Scoped;

/// A kind of stall and how much of the active window it takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stall {
    /// As in the table of flags: a kind of collective, `host transfer` or `asynchronous copy`.
    pub kind: &'static str,
    pub share: f64,
    pub total_ps: i64,
    /// Devices times, summed.
    pub count: u64,
}

/// What was measured of a run.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    pub all: Vec<Stall>,
    pub is_tpu: bool,
    pub is_gpu: bool,
    pub has_sparse_cores: bool,
}

/// Kinds of collective, longer names before those that they begin with.
const KINDS: [&str; 8] = [
    "ragged-all-to-all",
    "all-to-all",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "collective-permute",
    "collective-broadcast",
    "collective kernel",
];

/// The kind of a collective op; `None` for those that do not say, such as fusions of several.
fn kind(category: &str, name: &str) -> Option<&'static str> {
    // XLA's all-reduce-scatter is a reduce-scatter.
    if category.starts_with("all-reduce-scatter") || name.starts_with("all-reduce-scatter") {
        return Some("reduce-scatter");
    }
    KINDS.into_iter().find(|kind| name.starts_with(kind) || category.starts_with(kind))
}

impl Stalls {
    /// Measures a run; nothing where it has no devices that ran ops.
    pub(super) fn measure(asked: &Scoped<'_>) -> Option<Self> {
        let (profile, selection) = (asked.profile, asked.selection().ok()?);
        let mut times = Times::default();
        for (position, account) in account::of_selection(profile, selection).iter().enumerate() {
            if let Some(account) = account {
                times.add(&account.times(selection.window(position)));
            }
        }
        let active = times.sum(|class| !matches!(class, Class::Before | Class::After));
        if active <= 0 {
            return None;
        }
        let mut all: Vec<Stall> = Vec::new();
        let mut add = |kind: &'static str, ps: i64, count: u64| {
            if ps <= 0 {
                return;
            }
            match all.iter_mut().find(|s| s.kind == kind) {
                Some(own) => {
                    own.total_ps = own.total_ps.saturating_add(ps);
                    own.count += count;
                }
                None => all.push(Stall { kind, share: 0.0, total_ps: ps, count }),
            }
        };
        for op in ops::collect(profile, selection) {
            if Class::of(&op.meta) == Class::Communication {
                let kind = kind(&op.meta.category, &op.meta.name).unwrap_or("collective of unknown kind");
                add(kind, op.self_ps, op.occurrences);
            }
        }
        add("host transfer", times.of(Class::HostTransfer), 0);
        add("asynchronous copy", times.of(Class::AsyncWait), 0);
        for stall in &mut all {
            stall.share = stall.total_ps as f64 / active as f64;
        }
        all.sort_by(|a, b| b.total_ps.cmp(&a.total_ps).then(a.kind.cmp(b.kind)));
        let has = |kind| selection.devices.iter().any(|d| d.kind == kind);
        Some(Self {
            all,
            is_tpu: has(DeviceKind::Tpu),
            is_gpu: has(DeviceKind::Gpu),
            has_sparse_cores: profile.planes.iter().any(|p| p.kind == PlaneKind::SparseCore),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_collectives() {
        assert_eq!(kind("all-gather", "all-gather.87"), Some("all-gather"));
        assert_eq!(kind("async-done", "all-gather-done.3"), Some("all-gather"));
        assert_eq!(kind("all-reduce-scatter fusion", "fusion.2"), Some("reduce-scatter"));
        assert_eq!(kind("ragged-all-to-all", "ragged-all-to-all.1"), Some("ragged-all-to-all"));
        assert_eq!(kind("async-done", "async-collective-done.1"), None);
    }
}
