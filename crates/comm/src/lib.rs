//! Communication between devices: which collectives ran, from when to when, and how much of that the devices spent in them
//! while they did nothing else.
//!
//! An execution of an asynchronous collective lasts from the start of its start op to the end of its done. It is *exposed*
//! while the device's core stands in one of its ops and computes nothing ([`account::Class::Communication`], the same account that
//! `idle`, `steps` and `hosts` sum), and *hidden* while the core computes or copies.

pub mod analysis;
mod blame;
pub mod critical_path;
mod exposure;
pub mod group_lists;
pub mod groups;
pub mod hosts;
mod kept;
pub mod last;
pub mod links;
pub mod megascale;
pub mod mesh;
mod message;
mod pairs;
pub mod pattern;
pub mod peers;
pub mod skew;
pub mod straggler;

pub use exposure::{Counted, DeviceExposure, exposed_by_op};
pub use pairs::Unpaired;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use haloscope_profile::{Device, DeviceId, DeviceKind, Profile};
use haloscope_time::account::{self, Account};
use haloscope_time::hlo_costs::Costs;
use haloscope_time::op_meta::{OpMeta, is_async_collective, is_asynchronous};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::select::Selection;

/// The communication of the selected devices in the time that counts.
#[derive(Debug, Clone, Default)]
pub struct Communication<'p> {
    /// The collectives, by exposed time, longest first.
    pub collectives: Vec<Collective<'p>>,
    /// The devices that ran ops, in the selection's order.
    pub devices: Vec<DeviceExposure>,
}

/// One collective op of one program, with its executions on the devices.
#[derive(Debug, Clone, Default)]
pub struct Collective<'p> {
    /// What the profile says of the op; of an asynchronous one, of its start.
    pub meta: OpMeta<'p>,
    /// The program's name; empty where it is not known.
    pub module: Cow<'p, str>,
    /// What it does, as XLA calls it: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `collective-permute`, `send`.
    pub kind: Cow<'static, str>,
    /// How it is carried out.
    pub form: Form,
    /// The size of one device's message, bytes: of inputs or outputs, whichever is more. `None` where no shape is known.
    pub bytes: Option<f64>,
    /// The times that it ran, by device and start.
    pub executions: Vec<Execution>,
}

/// How a collective is carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// One op, during which the core does nothing else.
    #[default]
    Synchronous,
    /// A start and a done; other ops run in between.
    Asynchronous,
    /// The same, carried out by a SparseCore.
    SparseCore,
    /// A kernel on a stream of its own.
    Kernel,
}

/// One execution of a collective on one device. Times are picoseconds on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// The device.
    pub device: DeviceId,
    /// When its first op started.
    pub start_ps: i64,
    /// When its last op ended.
    pub end_ps: i64,
    /// When the transfer ended, where the profiler's asynchronous line says so: not after a core that came late for it.
    pub transfer_end_ps: Option<i64>,
    /// How long it was in flight in the time that counts.
    pub inflight_ps: i64,
    /// How long the core stood in its ops while it computed nothing. Where several collectives of a device are exposed at
    /// once, the first to start has the time.
    pub exposed_ps: i64,
    /// How long it was in flight while the core computed or copied.
    pub hidden_ps: i64,
    /// How long its done op took.
    pub done_ps: i64,
    /// Number of ops that it is made of: 1 for a synchronous one, 2 for a start and a done, more with updates.
    pub members: u32,
    /// What is missing, if something is.
    pub unpaired: Option<Unpaired>,
}

impl Collective<'_> {
    /// The sum over executions, picoseconds.
    #[must_use]
    pub fn sum(&self, of: impl Fn(&Execution) -> i64) -> i64 {
        haloscope_report::units::sum(self.executions.iter().map(of))
    }
}

impl<'p> Communication<'p> {
    /// The communication of the selected devices in the time that counts.
    #[must_use]
    pub fn of(profile: &'p Profile, selection: &Selection<'p>, counted: &Counted) -> Self {
        let measured: Vec<Option<Option<OnDevice<'p>>>> =
            account::of_each(profile, selection, |position, account| {
                let time = counted.of_position(position)?;
                Some(OnDevice::measure(profile, selection.devices[position], account, time))
            });
        let mut all = Self::default();
        let mut row_of: FxHashMap<(Option<u64>, Cow<'p, str>), usize> = FxHashMap::default();
        for one in measured.into_iter().flatten().flatten() {
            all.devices.push(one.exposure);
            for mut own in one.collectives {
                let key = (own.meta.program_id, own.meta.name.clone());
                let row = *row_of.entry(key).or_insert(all.collectives.len());
                match all.collectives.get_mut(row) {
                    Some(known) => known.executions.append(&mut own.executions),
                    None => all.collectives.push(own),
                }
            }
        }
        let order =
            |one: &Collective<'_>| std::cmp::Reverse((one.sum(|e| e.exposed_ps), one.sum(|e| e.inflight_ps)));
        all.collectives
            .sort_by_cached_key(|one| (order(one), one.meta.name.to_string(), one.meta.program_id));
        all
    }
}

/// What one device did.
struct OnDevice<'p> {
    exposure: DeviceExposure,
    collectives: Vec<Collective<'p>>,
}

impl<'p> OnDevice<'p> {
    fn measure(profile: &'p Profile, device: &Device, account: &Account, time: &exposure::Time) -> Self {
        kept::of_device(profile, device, |ops, found| Self::of(profile, device, account, time, (ops, found)))
    }

    fn of(
        profile: &'p Profile,
        device: &Device,
        account: &Account,
        time: &exposure::Time,
        (ops, found): (&DeviceOps<'p>, &kept::Found<'p>),
    ) -> Self {
        let near = exposure::near(&found.transfers, &time.cut);
        let (near, count) = (&near[..], found.transfers.len());
        let pieces = found.on_core.of(near);
        let exposure = DeviceExposure::measure(account, time, (near, count), &pieces);
        let rows: Vec<_> = ops.ops.iter().chain(&found.more).collect();
        let executions = exposure::executions(account, &time.cut, near, pieces, rows.len());
        let costs = Costs::new(profile, device);
        let known = rows.iter().zip(executions).filter(|(_, own)| !own.is_empty());
        let one = |((meta, module), own): (&&pairs::NamedOp<'p>, _)| {
            describe(&costs, device.kind, meta.clone(), module.clone(), own)
        };
        let collectives = known.map(one).collect();
        Self { exposure, collectives }
    }
}

fn describe<'p>(
    costs: &Costs<'p>,
    device: DeviceKind,
    meta: OpMeta<'p>,
    module: Cow<'p, str>,
    executions: Vec<Execution>,
) -> Collective<'p> {
    let program = meta.program_id.and_then(|id| costs.program(id));
    let found = program.and_then(|program| Some((program, message::collective(program, &meta.name)?)));
    let kind = found.map(|(_, instruction)| message::kind(instruction));
    // The op's own words where they say more: a reduce-scatter written as an all-reduce and a slice in one fusion.
    let word = message::word(&meta);
    let kind =
        if word.is_empty() { kind.unwrap_or(Cow::Borrowed("collective")) } else { Cow::Borrowed(word) };
    let bytes = found
        .and_then(|(program, instruction)| message::bytes(program, instruction))
        .or_else(|| message::bytes_of_text(&meta.expression));
    let form = match device {
        DeviceKind::Gpu => Form::Kernel,
        _ if meta.expression.contains("async_execution_thread=\"sparsecore\"") => Form::SparseCore,
        _ if is_asynchronous(&meta.category) || is_async_collective(&meta.name) => Form::Asynchronous,
        _ => Form::Synchronous,
    };
    Collective { meta, module, kind, form, bytes, executions }
}
