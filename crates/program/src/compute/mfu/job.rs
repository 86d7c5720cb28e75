//! The job that a profile is a part of: how many devices, how many tokens a step, how many FLOPs a token.

use super::{CONFIG, CONTEXT, FLOPS_PER_TOKEN, GLOBAL_BATCH, MODE, SEQ};
use crate::model_flops::{Mode, ModelConfig};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::Status;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::Params;
use haloscope_time::programs;
use haloscope_time::select::Selection;

/// Devices of the job.
pub(super) struct Job {
    /// As asked or compiled; `None` where nobody says.
    pub(super) devices: Option<f64>,
    /// Those in the scope.
    pub(super) profiled: usize,
}

impl Job {
    pub(super) fn find(
        profile: &Profile,
        scope: &Scope,
        selection: &Selection<'_>,
        asked: Option<f64>,
    ) -> Self {
        let asked = asked.filter(|n| *n >= 1.0);
        let main = programs::choose(profile, scope, "", programs::by_time(profile, Some(selection))).ok();
        let compiled = main.and_then(|program| {
            let module = &program.decoded.module;
            let partitions = module.partition_count()?;
            partitions.checked_mul(module.replica_count().unwrap_or(1)).filter(|n| *n > 0)
        });
        let profiled = selection.devices.len();
        // A program that says less than what is profiled ran several times side by side.
        let compiled = compiled.map(|n| n as f64).filter(|n| *n >= profiled as f64);
        Self { devices: asked.or(compiled), profiled }
    }

    /// The devices that the job is taken to have.
    pub(super) fn count(&self) -> f64 {
        self.devices.unwrap_or(self.profiled as f64)
    }

    pub(super) fn status(&self) -> Status {
        if self.devices.is_some() { Status::Derived } else { Status::Estimated }
    }
}

/// What the parameters state of the model.
pub(super) struct Stated {
    /// Tokens of a step, over all devices.
    pub(super) tokens: Option<f64>,
    pub(super) flops_per_token: Option<f64>,
    pub(super) config: Option<ModelConfig>,
    pub(super) mode: Mode,
    /// Keys that a query meets, or the length of the sequence, of which a causal mask shows half.
    pub(super) keys: f64,
    /// Whether it meets all of them.
    pub(super) all_keys: bool,
}

impl Stated {
    /// Reads the parameters.
    ///
    /// # Errors
    /// [`Error::Usage`] for a configuration that lacks something, and for FLOPs without the tokens to multiply them with.
    pub(super) fn read(params: &Params) -> Result<Self, Error> {
        let positive = |v: Option<f64>| v.filter(|v| *v > 0.0);
        let batch = positive(params.quantity(&GLOBAL_BATCH));
        let seq = positive(params.quantity(&SEQ));
        let flops_per_token = positive(params.quantity(&FLOPS_PER_TOKEN));
        let text = params.text(&CONFIG);
        let config = if text.trim().is_empty() { None } else { Some(ModelConfig::parse(text)?) };
        let some = batch.is_some() || seq.is_some() || flops_per_token.is_some() || config.is_some();
        if some {
            let mut missing: Vec<&str> = Vec::new();
            missing.extend(batch.is_none().then_some("--global-batch"));
            missing.extend(seq.is_none().then_some("--seq"));
            if flops_per_token.is_none() && config.is_none() {
                missing.push("--flops-per-token or --config");
            }
            if !missing.is_empty() {
                return Err(Error::Usage(format!(
                    "the FLOPs of a model's step need its tokens and the FLOPs of each; missing: {}",
                    missing.join(", ")
                )));
            }
        }
        let context = positive(params.quantity(&CONTEXT));
        Ok(Self {
            tokens: batch.zip(seq).map(|(batch, seq)| batch * seq),
            flops_per_token,
            config,
            mode: if params.text(&MODE) == "infer" { Mode::Infer } else { Mode::Train },
            keys: context.or(seq).unwrap_or(0.0),
            all_keys: context.is_some(),
        })
    }
}
