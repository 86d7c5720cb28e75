//! The steps of a run with where their time went, core by core: what `overview_page`, `input_pipeline_analyzer`,
//! `pod_viewer` and `smart_suggestion` share.
//!
//! Steps are found host by host ([`tpu`], [`generic`]) and then cut to what all hosts have in common ([`intersect`]).

pub(crate) mod diagnostics;
pub(crate) mod duty;
pub(crate) mod environment;
pub(crate) mod fractions;
pub(crate) mod generic;
mod intersect;
pub(crate) mod stat;
mod sweep;
mod tpu;
pub(crate) mod tpu_step;

use std::collections::BTreeMap;

use haloscope_profile::{HostId, Profile};
use haloscope_report::stop;
use rayon::prelude::*;

use crate::db::Hardware;
pub(crate) use environment::Environment;
pub(crate) use sweep::Class;

/// The steps that all hosts of a run have in common.
#[derive(Debug, Default)]
pub(crate) struct StepDb {
    /// By number.
    pub(crate) rows: Vec<StepRow>,
    /// True if hosts have steps but none in common.
    pub(crate) empty_intersect: bool,
    /// Time in kernels of 16-bit and of 32-bit precision, as far as kernels' names tell. GPU only.
    pub(crate) precision_ps: (i64, i64),
}

/// A step.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepRow {
    /// The group of its events; on several hosts its position.
    pub(crate) number: i64,
    /// What each core did, by the core's id. Empty where no marker tells how long it took.
    pub(crate) cores: BTreeMap<u32, CoreStep>,
    /// The group of events that is the step on each host.
    pub(crate) groups: Vec<(HostId, i64)>,
    /// When collectives ran, by core and the collective's id: durations in picoseconds. Newer profilers do not say.
    pub(crate) collectives: BTreeMap<u32, Vec<(u64, i64)>>,
}

/// A step on a core.
#[derive(Debug, Clone)]
pub(crate) struct CoreStep {
    /// The marker's name, such as `train 3`; may be empty.
    pub(crate) name: String,
    /// Start, picoseconds by the clock of the marker, as it stands in the file.
    pub(crate) begin_ps: i64,
    /// How long it took, picoseconds.
    pub(crate) duration_ps: i64,
    /// Where the time went.
    pub(crate) breakdown: Breakdown,
}

/// Where the time of a step went, picoseconds.
#[derive(Debug, Clone)]
pub(crate) enum Breakdown {
    /// A TensorCore: self time by HLO category.
    TensorCore(BTreeMap<String, i64>),
    /// A SparseCore: time in ops other than off-duty ones.
    SparseCore {
        /// That time.
        busy_ps: i64,
    },
    /// A GPU or CPU with its host: time by class.
    Generic(BTreeMap<Class, i64>),
}

/// Ids of SparseCores are those of their planes and this.
pub(crate) const SPARSE_CORES: u32 = 1_000_000;
/// On a GPU or CPU all steps are put on this core.
pub(crate) const GENERIC_CORE: u32 = 1;

impl StepDb {
    /// True if a SparseCore took part in a step.
    pub(crate) fn has_sparse_cores(&self) -> bool {
        let mut cores = self.rows.iter().flat_map(|row| row.cores.values());
        cores.any(|core| matches!(core.breakdown, Breakdown::SparseCore { .. }))
    }

    /// The steps that these hosts have in common.
    pub(crate) fn new(profile: &Profile, hosts: &[HostId], environment: &Environment) -> Self {
        let parts: Vec<(HostId, HostSteps)> = hosts
            .par_iter()
            .filter(|host| !environment.is_coordinator(**host))
            .map(stop::carried(|host: &HostId| (*host, HostSteps::new(profile, *host, environment))))
            .collect();
        let mut db = intersect::combine(environment, parts);
        db.rows.sort_by_key(|row| row.number);
        db
    }
}

/// The steps of one host.
#[derive(Debug, Default)]
pub(crate) struct HostSteps {
    rows: Vec<StepRow>,
    precision_ps: (i64, i64),
}

impl HostSteps {
    fn new(profile: &Profile, host: HostId, environment: &Environment) -> Self {
        let Some(context) = environment.context(profile, host) else { return Self::default() };
        let mut steps = match environment.hardware_of(host) {
            Hardware::Tpu => tpu::steps(profile, host, context),
            _ => generic::steps(profile, host, context),
        };
        for row in &mut steps.rows {
            row.groups = vec![(host, row.number)];
        }
        steps
    }
}
