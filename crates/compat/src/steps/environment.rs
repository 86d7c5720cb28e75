//! What ran where: hosts, devices, cores and what the profiler said aloud.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use haloscope_event_groups::Context;
use haloscope_profile::{HostId, Plane, PlaneKind, Profile, Stat};
use haloscope_time::gradients;
use haloscope_xspace::wire::{Fields, Value};

use super::GENERIC_CORE;
use crate::db::{Hardware, RunEnv};

/// The name of a kind of machine in answers.
pub(crate) fn hardware_name(hardware: Hardware) -> &'static str {
    match hardware {
        Hardware::Cpu => "CPU_ONLY",
        Hardware::Gpu => "GPU",
        Hardware::Tpu => "TPU",
    }
}

/// Where a core is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Core {
    /// The host's own name.
    pub(crate) host: String,
    /// Its number among the host's TensorCores.
    pub(crate) ordinal: u64,
    /// True for SparseCores.
    pub(crate) is_sparse: bool,
}

/// What ran where, over the chosen hosts.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// Number of hosts, by their own names.
    pub(crate) host_count: usize,
    /// Number of files.
    pub(crate) task_count: usize,
    /// What kind of machine.
    pub(crate) run: RunEnv,
    /// True if a program computes gradients.
    pub(crate) is_training: bool,
    /// Cores that the profiler described, by id.
    pub(crate) cores: BTreeMap<u32, Core>,
    /// Share of the matrix units' and of HBM's peak, percent, where the profiler counted: mean over hosts.
    pub(crate) mxu_percent: f64,
    pub(crate) hbm_percent: f64,
    /// What the profiler complained of, each once, sorted.
    pub(crate) errors: Vec<String>,
    pub(crate) warnings: Vec<String>,
    parts: Vec<Part>,
}

/// One host.
#[derive(Debug)]
struct Part {
    id: HostId,
    hardware: Hardware,
    context: OnceLock<Context>,
}

impl Environment {
    /// Looks at the chosen hosts, in the order of their files' names.
    pub(crate) fn new(profile: &Profile, hosts: &[HostId]) -> Self {
        let run = RunEnv::new(profile, hosts);
        let mut all = Self { task_count: hosts.len(), run, ..Self::default() };
        let mut names = Vec::new();
        for (position, id) in hosts.iter().enumerate() {
            let name = host_name(profile, *id);
            all.is_training = gradients::computes(profile, *id);
            for (core, details) in cores(profile, *id, &name) {
                let core = if hosts.len() > 1 { global_core(position, core) } else { core };
                all.cores.insert(core, details);
            }
            let share = |name| {
                let planes = profile.planes_of(*id).filter(|p| p.kind == PlaneKind::Host);
                planes.filter_map(|p| p.stat(name)?.as_f64()).next().unwrap_or(0.0) / hosts.len() as f64
            };
            all.mxu_percent += share("matrix_unit_utilization_percent");
            all.hbm_percent += share("hbm_utilization_percent");
            let source = &profile.sources[profile.planes_of(*id).next().map_or(id.index(), |p| p.source)];
            all.errors.append(&mut distinct(&source.errors));
            all.warnings.append(&mut distinct(&source.warnings));
            names.push(name);
            let hardware = RunEnv::new(profile, &[*id]).hardware;
            all.parts.push(Part { id: *id, hardware, context: OnceLock::new() });
        }
        all.host_count = distinct(&names).len();
        all.errors.sort();
        all
    }

    /// Number of files.
    pub(super) fn hosts(&self) -> usize {
        self.parts.len()
    }

    fn part(&self, host: HostId) -> Option<(usize, &Part)> {
        self.parts.iter().enumerate().find(|(_, p)| p.id == host)
    }

    /// What kind of machine a host is.
    pub(super) fn hardware_of(&self, host: HostId) -> Hardware {
        self.part(host).map_or(Hardware::Cpu, |(_, p)| p.hardware)
    }

    /// What belongs together on a host, found when first asked for; `None` for hosts that were not chosen.
    pub(crate) fn context(&self, profile: &Profile, host: HostId) -> Option<&Context> {
        let (_, part) = self.part(host)?;
        Some(part.context.get_or_init(|| Context::of(profile, host)))
    }

    /// True for a host without devices in a run where others have some.
    pub(super) fn is_coordinator(&self, host: HostId) -> bool {
        self.run.hardware != Hardware::Cpu && self.hardware_of(host) == Hardware::Cpu
    }

    /// The id of a host's core among those of all hosts.
    pub(crate) fn global_core(&self, host: HostId, core: u32) -> u32 {
        self.part(host).map_or(core, |(position, _)| global_core(position, core))
    }
}

/// The machine's own name.
pub(crate) fn host_name(profile: &Profile, host: HostId) -> String {
    let source = profile.planes_of(host).next().map(|p| profile.source_of(p));
    let name = source.and_then(|s| s.hostnames.first());
    name.map_or_else(|| "localhost".to_owned(), Clone::clone)
}

fn distinct(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    words.sort();
    words.dedup();
    words
}

/// The cores of a host: those whose planes state `core_details`; without TPUs the one on which all steps are put.
fn cores(profile: &Profile, host: HostId, name: &str) -> Vec<(u32, Core)> {
    let tpus = || profile.planes_of(host).filter(|p| p.name.starts_with("/device:TPU:"));
    if tpus().next().is_none() {
        return vec![(GENERIC_CORE, Core { host: name.to_owned(), ..Core::default() })];
    }
    let described = tpus().filter_map(|plane| {
        let ordinal = core_detail(profile, plane, 2)?;
        let is_sparse = plane.kind == PlaneKind::SparseCore;
        Some((plane.wire_id as u32, Core { host: name.to_owned(), ordinal, is_sparse }))
    });
    described.collect()
}

/// The chip that a core is on: `local_chip_id` of its `core_details`.
pub(super) fn chip(profile: &Profile, plane: &Plane) -> Option<u64> {
    core_detail(profile, plane, 4)
}

/// A number of a plane's `CoreDetails`; `None` where it has none.
fn core_detail(profile: &Profile, plane: &Plane, field: u32) -> Option<u64> {
    let Stat::Bytes(span) = plane.stat("core_details")? else { return None };
    let details = Fields::new(profile.source_of(plane).slice(*span), 0).filter(|f| f.number == field);
    let numbers = details.filter_map(|f| if let Value::Varint(v) = f.value { Some(v) } else { None });
    Some(numbers.last().unwrap_or(0))
}

/// Cores of the n-th host have ids from n times this.
const CORES_PER_HOST: u32 = 1000;

/// The id of a host's core among those of all hosts.
fn global_core(position: usize, core: u32) -> u32 {
    (position as u32).saturating_mul(CORES_PER_HOST).saturating_add(core)
}
