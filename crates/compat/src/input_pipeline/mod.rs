//! What `input_pipeline_analyzer` finds out, for itself and for `overview_page` and `smart_suggestion`.

mod generic;
pub(crate) mod host;
mod tpu;
pub(crate) mod words;

use haloscope_profile::{HostId, Profile};

use crate::db::Hardware;
use crate::gviz::DataTable;
use crate::steps::stat::Summary;
use crate::steps::{Environment, StepDb};
use host::HostInput;

/// The analysis of a run's input.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// Step by step.
    pub(crate) steps: DataTable,
    /// Which core waited longest for input. TPU only.
    pub(crate) slowest_cores: DataTable,
    /// What the host did for input.
    pub(crate) host: HostInput,
    /// How long steps took, milliseconds.
    pub(crate) step_ms: Summary,
    /// Share of the steps' time that was spent on input, percent.
    pub(crate) input_percent: f64,
    /// What limits the steps, as far as it can be told of hosts with GPUs or without devices.
    pub(crate) bottleneck: generic::Bottleneck,
    /// Means over the steps of TPUs.
    pub(crate) tpu: Option<tpu::Means>,
}

impl Analysis {
    /// Analyses the steps of a run.
    pub(crate) fn new(profile: &Profile, hosts: &[HostId], environment: &Environment, db: &StepDb) -> Self {
        match environment.run.hardware {
            Hardware::Tpu => tpu::analyse(profile, hosts, environment, db),
            hardware => generic::analyse(profile, hosts, hardware, db),
        }
    }
}
