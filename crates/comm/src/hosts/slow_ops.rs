//! Which ops make a device slow: its time in each against that of the others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::measure::{Measured, OfDevice};
use haloscope_profile::Profile;
use haloscope_report::stop;
use haloscope_report::units;
use haloscope_report::{Table, row};
use haloscope_time::account::{Class, Group};
use haloscope_time::intervals::Intervals;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::ops;
use haloscope_time::stats::quantile;

/// Ops that are listed.
const LISTED: usize = 50;
/// A device is slow in all ops alike where this share of its work lies in ops that are slower by about the same factor.
const ALIKE: f64 = 0.8;
/// "About the same factor": this far from the mean one.
const NEAR: f64 = 0.25;

/// An op on the device that works longest.
#[derive(Debug)]
struct Row {
    op: String,
    module: String,
    category: String,
    time_ps: f64,
    others_ps: f64,
}

/// Ops of the device that works longest, by what they add to its step.
#[derive(Debug, Default)]
pub struct SlowOps {
    device: String,
    rows: Vec<Row>,
}

/// Self time in a step by module and op, with the category.
type PerStep = BTreeMap<(String, String), (f64, String)>;

impl SlowOps {
    /// Compares the straggler, or else the device that works longest, with the others. Empty for a single device.
    pub fn of(profile: &Profile, measured: &Measured<'_>) -> Self {
        let longest = |a: &&OfDevice<'_>, b: &&OfDevice<'_>| {
            let work = |d: &OfDevice<'_>| d.mean(super::measure::OnDevice::work_ps).unwrap_or(0.0);
            work(a).total_cmp(&work(b))
        };
        let slow = measured.straggler().or_else(|| measured.devices.iter().max_by(longest));
        let Some(slow) = slow.filter(|_| measured.devices.len() > 1 && measured.obstacle.is_none()) else {
            return Self::default();
        };
        let times: Vec<PerStep> =
            measured.devices.par_iter().map(stop::carried(|one| per_step(profile, one))).collect();
        let Some(position) = measured.devices.iter().position(|d| d.device.id == slow.device.id) else {
            return Self::default();
        };
        let mut rows: Vec<Row> = Vec::new();
        for (key, (time_ps, category)) in &times[position] {
            let is_other = |at: usize| at != position && !measured.devices[at].is_straggler();
            let rest = times.iter().enumerate().filter(|(at, _)| is_other(*at));
            let mut rest: Vec<f64> =
                rest.map(|(_, own)| own.get(key).map_or(0.0, |(time, _)| *time)).collect();
            rest.sort_by(f64::total_cmp);
            let (module, op) = key.clone();
            let category = category.clone();
            rows.push(Row { op, module, category, time_ps: *time_ps, others_ps: quantile(&rest, 0.5) });
        }
        rows.sort_by(|a, b| {
            let by_excess = b.excess_ps().total_cmp(&a.excess_ps());
            by_excess.then_with(|| (&a.op, &a.module).cmp(&(&b.op, &b.module)))
        });
        Self { device: slow.device.name.clone(), rows }
    }

    /// The sum of what ops take beyond the others' time.
    fn excess_ps(&self) -> f64 {
        self.rows.iter().map(|row| row.excess_ps().max(0.0)).sum()
    }

    /// Whether one op or all of them are slow, as the end of a sentence; empty where nothing stands out.
    pub(crate) fn words(&self) -> String {
        let Some(first) = self.rows.first() else { return String::new() };
        let excess = self.excess_ps();
        let others: f64 = self.rows.iter().map(|row| row.others_ps).sum();
        if excess <= 0.0 || others <= 0.0 {
            return String::new();
        }
        let mean = self.rows.iter().map(|row| row.time_ps).sum::<f64>() / others;
        let is_alike = |row: &&Row| {
            ((row.time_ps / row.others_ps.max(1.0)) / mean - 1.0).abs() < NEAR * (mean - 1.0).abs()
        };
        let alike: f64 = self.rows.iter().filter(is_alike).map(|row| row.others_ps).sum();
        if alike / others > ALIKE {
            return format!(
                "; all its ops are equally slow, {mean:.2}x: this points to the machine or its clock, not to its share of the data"
            );
        }
        format!(
            "; most of it in {}: {} against {}, {} of the excess",
            first.op,
            units::duration_ps(first.time_ps),
            units::duration_ps(first.others_ps),
            units::share(first.excess_ps() / excess)
        )
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Vec::new();
        let excess = self.excess_ps();
        for row in self.rows.iter().take(LISTED).filter(|row| row.excess_ps() > 0.0) {
            let row = row![
                text("op", "Op", "The instruction's name.", row.op.as_str()),
                text("module", "Module", "The program that contains it.", row.module.as_str()),
                text("category", "Category", "HLO category.", row.category.as_str()),
                duration(
                    "time_ps",
                    "On this device",
                    "Self time in a counted step on the device that works longest; mean over its counted steps.",
                    row.time_ps
                ),
                duration(
                    "others_ps",
                    "On the others",
                    "The same on the other devices: their median.",
                    row.others_ps
                ),
                duration(
                    "excess_ps",
                    "Excess",
                    "The difference: what the op adds to this device's step.",
                    row.excess_ps()
                ),
                share(
                    "excess_share",
                    "Of excess",
                    "Of the sum of all ops' positive excess.",
                    (excess > 0.0).then(|| row.excess_ps() / excess)
                ),
                text("device", "Device", "The device that works longest.", self.device.as_str()),
            ];
            table.push(row);
        }
        Table::of("slow_ops", "What the slowest device works longer in", table)
    }
}

impl Row {
    fn excess_ps(&self) -> f64 {
        self.time_ps - self.others_ps
    }
}

/// Self time in a counted step of the ops that do not wait.
fn per_step(profile: &Profile, one: &OfDevice<'_>) -> PerStep {
    let counted = one.counted().count().max(1) as f64;
    let cut = Intervals::union_of(one.counted().map(|s| (s.start_ps, s.end_ps)).collect());
    let rows = DeviceOps::find(profile, one.device);
    let mut times = PerStep::default();
    for op in ops::of_lines(profile, &rows, Some(&cut), |_| true) {
        if Class::of(&op.meta).group() != Group::Working || op.self_ps <= 0 {
            continue;
        }
        let owned = |text: &Cow<'_, str>| text.clone().into_owned();
        let time = times
            .entry((owned(&op.module), owned(&op.meta.name)))
            .or_insert_with(|| (0.0, owned(&op.meta.category)));
        time.0 += op.self_ps as f64 / counted;
    }
    times
}
