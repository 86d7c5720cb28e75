//! Sums over what is alive at the peak.

use super::Attribution;
use crate::program_memory::Group;

/// Names of buckets of entry parameters that have a sum of their own.
pub mod bucket {
    /// Keys and values of attention.
    pub const KV_CACHE: &str = "KV cache";
    /// Weights.
    pub const MODEL_PARAMETERS: &str = "model parameters";
    /// State of loops that is no cache.
    pub const OTHER_CARRY: &str = "other carry state";
    /// Moments of the optimiser.
    pub const OPTIMISER_STATE: &str = "optimiser state";
    /// Values with an extent of the vocabulary.
    pub const LOGITS: &str = "logits and vocabulary-sized";

    /// Whether a bucket is this one, or a guess of it.
    #[must_use]
    pub fn is(found: &str, wanted: &str) -> bool {
        found.strip_suffix(" (guess)").unwrap_or(found) == wanted
    }
}

/// Bytes at the peak by what they are for. Those of the entry's parameters are the first block; a copy of a parameter in
/// memory of its own counts as temporary or output, as its allocation does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All that is alive.
    pub peak_bytes: i64,
    /// Memory of the entry's parameters: the sum of the next four.
    pub entry_parameters_bytes: i64,
    /// Of these, keys and values of attention.
    pub kv_cache_bytes: i64,
    /// Of these, weights.
    pub model_parameters_bytes: i64,
    /// Of these, state of loops that is no cache.
    pub other_carry_bytes: i64,
    /// The rest of these, with the optimiser's state.
    pub other_parameter_bytes: i64,
    /// Of that rest, the optimiser's state.
    pub optimiser_state_bytes: i64,
    /// Placed by the heap simulator, as far as its trace says; see [`Self::known_temporary_bytes`].
    pub temporary_bytes: i64,
    /// Whether there are temporary buffers of which nothing says when they are in use.
    pub lacks_temporaries: bool,
    /// Outputs that reuse no parameter.
    pub output_bytes: i64,
    /// Constants and thread-local memory.
    pub constant_bytes: i64,
    /// Instructions that belong to the backward pass by name; `None` where no instruction has a name.
    pub gradient_markers: Option<usize>,
}

impl Totals {
    /// Bytes of temporary buffers at the peak; `None` where nothing says when they are in use.
    #[must_use]
    pub fn known_temporary_bytes(&self) -> Option<i64> {
        (!self.lacks_temporaries).then_some(self.temporary_bytes)
    }

    /// Sums what is alive at the peak.
    #[must_use]
    pub fn of(attribution: &Attribution<'_, '_>) -> Self {
        let mut sums = Self {
            gradient_markers: attribution.gradient_markers,
            lacks_temporaries: attribution.memory.is_without_trace(),
            ..Self::default()
        };
        let add = |sum: &mut i64, bytes: i64| *sum = sum.saturating_add(bytes);
        for buffer in &attribution.buffers {
            let bytes = buffer.alive.bytes;
            add(&mut sums.peak_bytes, bytes);
            match buffer.alive.group {
                Group::Parameter => {
                    add(&mut sums.entry_parameters_bytes, bytes);
                    let found = attribution.bucket(buffer.rule);
                    let is = |wanted| bucket::is(found, wanted);
                    if is(bucket::KV_CACHE) {
                        add(&mut sums.kv_cache_bytes, bytes);
                    } else if is(bucket::MODEL_PARAMETERS) {
                        add(&mut sums.model_parameters_bytes, bytes);
                    } else if is(bucket::OTHER_CARRY) {
                        add(&mut sums.other_carry_bytes, bytes);
                    } else {
                        add(&mut sums.other_parameter_bytes, bytes);
                        if is(bucket::OPTIMISER_STATE) {
                            add(&mut sums.optimiser_state_bytes, bytes);
                        }
                    }
                }
                Group::Output => add(&mut sums.output_bytes, bytes),
                Group::Temporary => add(&mut sums.temporary_bytes, bytes),
                Group::Constant | Group::ThreadLocal => add(&mut sums.constant_bytes, bytes),
            }
        }
        sums
    }
}
