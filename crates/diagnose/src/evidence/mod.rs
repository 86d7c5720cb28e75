//! What rules look at: facts of a run, each computed when a rule first asks for it.

pub(super) mod captured;
pub(super) mod collectives;
pub(super) mod compilations;
pub(super) mod copies;
pub(super) mod devices;
pub(super) mod experts;
pub(super) mod host;
mod host_clock;
mod host_counts;
pub(super) mod host_events;
pub(super) mod host_gaps;
pub(super) mod host_ops;
pub(super) mod host_words;
pub(super) mod inner;
pub(super) mod interpreter;
pub(super) mod kernels;
pub(super) mod names;
pub(super) mod one_hot;
mod pace;
pub(super) mod padding;
mod places;
pub(super) mod programs;
pub(super) mod series;
pub(super) mod shared_work;
pub(super) mod stages;
pub(super) mod uniform;
pub(super) mod unread;
mod usual;
pub(super) mod work;

use std::cell::OnceCell;

use crate::thresholds::{CPU_GAP, Threshold};
use haloscope_comm::hosts::measure::Measured;
use haloscope_comm::last::Last;
use haloscope_profile::{DeviceKind, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::account::{self, Account, Class, Spent, Times};
use haloscope_time::fix::{Fix, WrittenIn};
use haloscope_time::ops::{self, Op};
use haloscope_time::phase;
use haloscope_time::select::{Scoped, Selection};
use haloscope_time::stats::Summary;
use haloscope_time::steps::Steps;
use haloscope_time::steps::series::StepSeries;
use haloscope_time::usage::Usage;

/// The facts of a run. Shares are of the active window: from a device's first op to its last, mean over devices.
pub(super) struct Evidence<'p> {
    pub asked: &'p Scoped<'p>,
    pub profile: &'p Profile,
    /// A run of the same program with one thing changed, where one was given.
    pub other: Option<&'p Scoped<'p>>,
    pub scope: &'p Scope,
    pub selection: Selection<'p>,
    pub peaks: Peaks,
    ops: OnceCell<Vec<Op<'p>>>,
    steps: OnceCell<Steps>,
    usage: OnceCell<Usage>,
    accounts: OnceCell<Vec<Option<Account>>>,
    spent: OnceCell<Spent>,
    measured: OnceCell<Result<Measured<'p>, String>>,
    waits: OnceCell<devices::Waits>,
    last: OnceCell<Option<Last>>,
    host: OnceCell<host::HostTime>,
    times: OnceCell<Times>,
    pieces: OnceCell<Vec<work::Piece>>,
    series: OnceCell<Option<StepSeries>>,
    pace: OnceCell<Option<f64>>,
    written_in: OnceCell<WrittenIn>,
    padding: OnceCell<Option<Vec<padding::Wasted>>>,
    kernels: OnceCell<kernels::Kernels>,
}

impl<'p> Evidence<'p> {
    /// The evidence of the part of a run that a scope selects.
    pub(super) fn new(asked: &'p Scoped<'p>, other: Option<&'p Scoped<'p>>) -> Result<Self, Error> {
        Ok(Self::of_selection(asked, asked.selection()?.clone(), other))
    }

    /// The evidence of compiled kernels alone: nothing says when they ran.
    pub(super) fn of_kernels(asked: &'p Scoped<'p>) -> Self {
        Self::of_selection(asked, Selection::of_nothing(), None)
    }

    fn of_selection(asked: &'p Scoped<'p>, selection: Selection<'p>, other: Option<&'p Scoped<'p>>) -> Self {
        let (profile, scope) = (asked.profile, &asked.scope);
        let peaks = selection.peaks();
        Self {
            asked,
            profile,
            other,
            scope,
            selection,
            peaks,
            ops: OnceCell::new(),
            steps: OnceCell::new(),
            usage: OnceCell::new(),
            accounts: OnceCell::new(),
            spent: OnceCell::new(),
            measured: OnceCell::new(),
            waits: OnceCell::new(),
            last: OnceCell::new(),
            host: OnceCell::new(),
            times: OnceCell::new(),
            pieces: OnceCell::new(),
            series: OnceCell::new(),
            pace: OnceCell::new(),
            written_in: OnceCell::new(),
            padding: OnceCell::new(),
            kernels: OnceCell::new(),
        }
    }

    /// Whether programs ran on CPUs alone.
    pub(super) fn is_cpu(&self) -> bool {
        self.selection.devices.iter().all(|device| device.kind == DeviceKind::Cpu)
    }

    pub(super) fn is_gpu(&self) -> bool {
        self.selection.devices.iter().any(|device| device.kind == DeviceKind::Gpu)
    }

    pub(super) fn is_tpu(&self) -> bool {
        self.selection.devices.iter().any(|device| device.kind == DeviceKind::Tpu)
    }

    /// What gaps between and inside programs are held against: these limits, but on a CPU the wider ones. There the loop that
    /// launches programs runs on the cores that run them: a launch ahead of time takes from the program before it, so that
    /// short gaps are no time that could be had.
    pub(super) fn gaps_limit(&self, elsewhere: &'static Threshold) -> &'static Threshold {
        if self.is_cpu() { &CPU_GAP } else { elsewhere }
    }

    /// The ops, largest self time first; times are sums over devices.
    pub(super) fn ops(&self) -> &[Op<'p>] {
        self.ops.get_or_init(|| ops::collect(self.profile, &self.selection))
    }

    /// All steps of the selected devices, those outside of the scope too.
    pub(super) fn steps(&self) -> &Steps {
        self.steps.get_or_init(|| Steps::find(self.profile, &self.selection.devices))
    }

    /// Busy and idle time.
    pub(super) fn usage(&self) -> &Usage {
        self.usage.get_or_init(|| Usage::measure(self.profile, &self.selection, self.steps()))
    }

    /// Every instant of each selected device in one class; `None` for a device without ops.
    pub(super) fn accounts(&self) -> &[Option<Account>] {
        self.accounts.get_or_init(|| account::of_selection(self.profile, &self.selection))
    }

    /// What the active window goes to.
    pub(super) fn spent(&self) -> &Spent {
        self.spent
            .get_or_init(|| Spent::of_accounts(self.profile, &self.selection, self.usage(), self.accounts()))
    }

    /// The times by class in the scope, summed over devices.
    pub(super) fn times(&self) -> Times {
        *self.times.get_or_init(|| self.sum_times())
    }

    fn sum_times(&self) -> Times {
        let mut sum = Times::default();
        for (position, account) in self.accounts().iter().enumerate() {
            if let Some(account) = account {
                sum.add(&account.times(self.selection.window(position)));
            }
        }
        sum
    }

    /// The active windows in the scope, summed over devices, picoseconds: what shares are of.
    pub(super) fn active_ps(&self) -> f64 {
        let times = self.times();
        times.sum(|class| !matches!(class, Class::Before | Class::After)) as f64
    }

    /// A time summed over devices as a share of the active windows.
    pub(super) fn of_active(&self, sum_ps: f64) -> f64 {
        // A sum of nothing is -0, which would be shown so.
        (sum_ps + 0.0) / self.active_ps().max(1.0)
    }

    /// The share of the active windows that a class of time has.
    pub(super) fn share(&self, class: Class) -> f64 {
        self.of_active(self.times().of(class) as f64)
    }

    /// Whether some op is a sign that the run computes gradients.
    pub(super) fn computes_gradients(&self) -> bool {
        self.ops().iter().any(|op| {
            let op_type = op.meta.tf_op.rsplit_once(':').map_or("", |(_, op_type)| op_type);
            phase::is_of_training(&op.meta.framework_op, op_type)
        })
    }

    /// What to try, in the words of the framework that the run was written in.
    pub(super) fn fix(&self, fix: &Fix) -> String {
        fix.for_framework(*self.written_in.get_or_init(|| WrittenIn::of(self.profile))).to_owned()
    }

    /// Mean time of the steps that statistics are taken over, picoseconds; `None` without steps.
    pub(super) fn step_ps(&self) -> Option<f64> {
        Summary::of(&self.steps().durations()).map(|summary| summary.mean)
    }
}
