//! What a stage of an input pipeline does.

use haloscope_event_groups::framework_op::{Framework, FrameworkOp};

/// What a stage does, in the classes that XProf has, and two more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageClass {
    /// Reads files when asked to.
    DemandedRead,
    /// Reads files ahead.
    AdvancedRead,
    /// Changes data.
    Preprocessing,
    /// Sends data to devices.
    Enqueue,
    /// A function of the host that a program on a device calls.
    Callback,
    /// Something else.
    Unknown,
}

/// Who says that an event is a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageSource {
    /// The event has the stat `_ipl_stage_id`: Grain and other JAX pipelines.
    Stated,
    /// The name of a tf.data iterator.
    TfData,
    /// The name of an op that feeds a device.
    Infeed,
    /// The name of a JAX host callback.
    Callback,
    /// It runs on a thread of a data loader that states no stages.
    Worker,
}

/// Parts of names of events that send data to a device's infeed.
const INFEED: [&str; 4] = ["InfeedEnqueue", "TransferToInfeed", "TransferLiteralToInfeed", "EnqueueInfeed"];

/// Parts of names of events in which the host runs a function for a device (`jax.pure_callback`, `io_callback`, debug
/// callbacks), by the names that jaxlib's callback handlers and the Python tracer give them.
const CALLBACKS: [&str; 7] = [
    "xla_ffi_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_ffi_partitioned_python",
    "xla_python_cpu_callback",
    "xla_python_gpu_callback",
    "pure_callback_impl",
    "io_callback_impl",
];

/// What threads of data loaders are called.
const WORKERS: [&str; 2] = ["data_loader_worker", "grain_worker"];

/// Readers of tf.data, by the end of the name, and stages that read ahead, by a part of it: XProf's lists.
const READERS: [&str; 6] =
    ["::TFRecord", "::TextLine", "::FixedLengthRecord", "::SSTable", "::RecordIO", "::ArrayRecord"];
const AHEAD: [&str; 5] = ["::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap"];

impl StageClass {
    /// All, in the order in which data pass them.
    pub const ALL: [Self; 6] = [
        Self::DemandedRead,
        Self::AdvancedRead,
        Self::Preprocessing,
        Self::Enqueue,
        Self::Callback,
        Self::Unknown,
    ];

    /// The class of a stage that states its category (`_ipl_stage_cat`).
    #[must_use]
    pub fn stated(category: &str) -> Self {
        match category.to_ascii_lowercase().as_str() {
            "enqueue" => Self::Enqueue,
            "read" => Self::DemandedRead,
            "preprocessing" => Self::Preprocessing,
            _ => Self::Unknown,
        }
    }

    /// The class of a tf.data iterator by its full name.
    #[must_use]
    pub fn of_iterator(name: &str) -> Self {
        if !READERS.iter().any(|reader| name.ends_with(reader)) {
            Self::Preprocessing
        } else if AHEAD.iter().any(|stage| name.contains(stage)) {
            Self::AdvancedRead
        } else {
            Self::DemandedRead
        }
    }

    /// The words used in tables.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::DemandedRead => "file read on demand",
            Self::AdvancedRead => "file read ahead",
            Self::Preprocessing => "preprocessing",
            Self::Enqueue => "enqueue",
            Self::Callback => "host callback",
            Self::Unknown => "not analysed",
        }
    }

    /// What to try where stages of the class are too slow.
    #[must_use]
    pub fn recommendation(self) -> &'static str {
        match self {
            Self::DemandedRead => {
                "read ahead and from several files at once: prefetch and interleave (tf.data), more workers or a larger \
                 read buffer (Grain), files nearer to the host"
            }
            Self::AdvancedRead => {
                "more readers at once: cycle_length and num_parallel_calls of interleave, larger read buffers, faster \
                 storage"
            }
            Self::Preprocessing => {
                "more workers (num_parallel_calls of map in tf.data, worker_count of Grain), cheaper work per element, or do the work \
                 once, offline"
            }
            Self::Enqueue => {
                "transfer while the device computes (put the next batch before waiting for this one), fewer and larger \
                 transfers, narrower types"
            }
            Self::Callback => "take the callback out of the step, or compute on the device what it returns",
            Self::Unknown => {
                "annotate the pipeline's stages (Grain and tf.data do), so that the slow one is named"
            }
        }
    }
}

impl StageSource {
    /// The words used in tables.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Stated => "stated stage",
            Self::TfData => "tf.data",
            Self::Infeed => "infeed",
            Self::Callback => "JAX callback",
            Self::Worker => "worker thread",
        }
    }
}

/// What the name of an event says, where it names a stage.
pub(super) fn of_name(name: &str) -> Option<(StageSource, StageClass)> {
    let parsed = FrameworkOp::parse(name);
    if parsed.framework == Framework::TfData && name.starts_with("Iterator::") {
        return Some((StageSource::TfData, StageClass::of_iterator(name)));
    }
    if name.starts_with("IteratorGetNext") {
        return Some((StageSource::TfData, StageClass::Unknown));
    }
    if INFEED.iter().any(|part| name.contains(part)) {
        return Some((StageSource::Infeed, StageClass::Enqueue));
    }
    let is_callback = CALLBACKS.iter().any(|part| name.contains(part));
    is_callback.then_some((StageSource::Callback, StageClass::Callback))
}

/// True if an event of this name feeds devices: callbacks do not.
pub fn feeds(name: &str) -> bool {
    of_name(name).is_some_and(|(_, class)| class != StageClass::Callback)
}

/// True if a thread belongs to a data loader.
pub(crate) fn is_worker(thread: &str) -> bool {
    WORKERS.iter().any(|word| thread.starts_with(word))
}

/// True if a stage is what the program calls for the next batch: what it does beyond its own work is waiting for others.
pub(super) fn is_front(event: &str) -> bool {
    event.ends_with("__next__") || event.starts_with("IteratorGetNext")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_names() {
        let class = |name| of_name(name).map(|(_, class)| class);
        assert_eq!(class("Iterator::Root::Prefetch::TFRecord"), Some(StageClass::AdvancedRead));
        assert_eq!(class("Iterator::Batch::TFRecord"), Some(StageClass::DemandedRead));
        assert_eq!(class("Iterator::Batch::Map"), Some(StageClass::Preprocessing));
        assert_eq!(class("tpu/InfeedEnqueueTuple:InfeedEnqueueTuple"), Some(StageClass::Enqueue));
        assert_eq!(class("xla_ffi_python_cpu_callback"), Some(StageClass::Callback));
        assert_eq!(class("PjitFunction(train_step)"), None);
        assert_eq!(StageClass::stated("Read"), StageClass::DemandedRead);
        assert_eq!(StageClass::stated("something new"), StageClass::Unknown);
        assert!(is_worker("data_loader_worker/123") && !is_worker("main/123"));
    }
}
