//! The rules: when each applies, and what it says.

use super::signals::{Signals, stragglers};

/// Where XProf registers a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Registered {
    /// In its open build.
    Openly,
    /// Only where its makers run it.
    Internally,
    /// Not at all.
    Nowhere,
}

/// A rule.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) registered: Registered,
    /// The suggestion, if the rule applies.
    pub(super) apply: fn(&Signals<'_>) -> Option<String>,
}

const fn rule(name: &'static str, registered: Registered, apply: fn(&Signals<'_>) -> Option<String>) -> Rule {
    Rule { name, registered, apply }
}

/// All rules in XProf's order.
pub(super) const RULES: [Rule; 12] = [
    rule("BarrierCoresRule", Registered::Openly, barrier_cores),
    rule("CollectiveBoundRule", Registered::Internally, collectives),
    rule("ComputeBoundRule", Registered::Internally, compute),
    rule("DataShuffleBoundRule", Registered::Internally, data_shuffle),
    rule("DataTransferBoundRule", Registered::Internally, data_transfer),
    rule("DebugPrintRule", Registered::Internally, debug_print),
    rule("HostProcessingBoundRule", Registered::Internally, host_processing),
    rule("InputBoundRule", Registered::Internally, input),
    rule("MemoryBoundRule", Registered::Internally, memory),
    rule("TensorCoreIdleBoundRule", Registered::Internally, tensor_core_idle),
    rule("SparseCoreBoundRule", Registered::Nowhere, sparse_core),
    rule("SparseCoreOffloadRule", Registered::Nowhere, sparse_core_offload),
];

/// Shares from which on a rule applies, percent.
mod from {
    pub(super) const BARRIERS: f64 = 10.0;
    pub(super) const COLLECTIVES: f64 = 30.0;
    pub(super) const DATA_SHUFFLE: f64 = 30.0;
    pub(super) const ENQUEUE: f64 = 30.0;
    pub(super) const DEBUG_PRINT: f64 = 5.0;
    pub(super) const HOST_PROCESSING: f64 = 50.0;
    pub(super) const IDLE: f64 = 10.0;
    pub(super) const SPARSE_CORE: f64 = 10.0;
    pub(super) const ASYNC_DONE: f64 = 10.0;
    /// Use of the matrix units and of HBM: much, and little.
    pub(super) const BUSY: f64 = 70.0;
    pub(super) const QUIET: f64 = 50.0;
}

/// Categories of collectives between devices.
const COLLECTIVES: [&str; 17] = [
    "all-reduce",
    "all-reduce fusion",
    "all-reduce-scatter fusion",
    "all-to-all",
    "all-gather",
    "all-gather-start",
    "all-gather-done",
    "all-gather fusion",
    "reduce-scatter",
    "collective-permute",
    "collective-permute-done",
    "collective-permute-start",
    "megacore fusion",
    "host recv",
    "host recv-done",
    "host send",
    "host send-done",
];

/// Categories of ops that only move data.
const DATA_SHUFFLE: [&str; 14] = [
    "broadcast",
    "concatenate",
    "data formatting",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "pad",
    "reverse",
    "scatter",
    "select",
    "select-and-scatter",
    "shuffle",
    "slice",
    "sort",
];

/// A paragraph and a list under it; an item is a heading and what stands behind it.
fn page(paragraph: &str, items: &[(&str, &str)]) -> String {
    let items: Vec<String> = items.iter().map(|(head, text)| item(head, text)).collect();
    format!("<p>{paragraph}</p><ul>{}</ul>", items.concat())
}

fn item(head: &str, text: &str) -> String {
    format!("<li><b>{head}:</b> {text}</li>")
}

/// A list of hosts with their shares.
fn host_list<'a>(event: &str, hosts: impl Iterator<Item = (&'a str, f64)>) -> String {
    let line = |(host, percent): (&str, f64)| {
        format!("<li>Host <b>{host}</b> average {event} time fraction: <b>{percent:.1}%</b></li>")
    };
    format!("<ul>{}</ul>", hosts.map(line).collect::<String>())
}

fn barrier_cores(signals: &Signals<'_>) -> Option<String> {
    let percent = signals.barriers().percent();
    if percent < from::BARRIERS {
        return None;
    }
    let hosts = signals.barriers().by_host();
    let far = stragglers(&hosts);
    let list = host_list("barrier-cores", far.iter().map(|s| (s.host, s.percent)));
    let found = format!(
        "The following hosts are identified as potential stragglers with significantly different barrier time fraction \
         compared to others:{list}"
    );
    let first = if far.is_empty() {
        (
            "Investigate Workload Balance",
            "Check for stragglers, i.e., workers that are significantly slower than others. Uneven workloads can cause \
             faster workers to wait at the barrier.",
        )
    } else {
        ("Investigate Stragglers", found.as_str())
    };
    Some(page(
        &format!(
            "Your program is likely bottlenecked by <b>TPU barrier-cores</b> operations: <b> an average of {percent:.1}% \
             of each step time</b> is spent on these operations. This often indicates a synchronization issue between \
             workers in a distributed training setup. Please consider the following optimizations:"
        ),
        &[
            first,
            (
                "Optimize Collective Operations",
                "Operations like AllReduce involve synchronization. Ensure they are used efficiently. Check the size of \
                 data being communicated.",
            ),
            (
                "Check Network",
                "Network latency or bandwidth can be a bottleneck for distributed operations, causing workers to wait \
                 longer at barriers.",
            ),
            (
                "Improve Data Input Pipeline",
                "Ensure your data loading and preprocessing pipeline is efficient and balanced across all workers. A slow \
                 input pipeline on one worker can stall all others.",
            ),
        ],
    ))
}

fn collectives(signals: &Signals<'_>) -> Option<String> {
    let percent = signals.categories(&COLLECTIVES);
    (percent >= from::COLLECTIVES).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>Collective operations (e.g., AllReduce, AllGather)</b>. An \
                 average of <b>{percent:.1}%</b> of each step is spent on these operations. This suggests that your model \
                 is collective communication-bound. Please consider the following optimizations:"
            ),
            &[
                (
                    "Overlap Communication with Computation",
                    "Try to schedule collective operations to overlap with computation to hide communication latency.",
                ),
                (
                    "Investigate Workload Balance and Input Pipeline",
                    "Check for stragglers, i.e., workers that are significantly slower than others. Uneven workloads and \
                     data loading can cause faster workers to wait during collective operations.",
                ),
                (
                    "Optimize Collective Operations",
                    "Reduce the amount of data transferred between devices by using lower precision data formats for \
                     gradients (e.g., bfloat16).",
                ),
                (
                    "Check Network",
                    "Network latency or bandwidth can be a bottleneck for distributed operations, causing workers to wait \
                     longer during collectives.",
                ),
            ],
        )
    })
}

fn compute(signals: &Signals<'_>) -> Option<String> {
    let (mxu, hbm) = (signals.mxu(), signals.hbm());
    (mxu > from::BUSY && hbm < from::QUIET).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>Compute Operations</b>: High MXU utilization of \
                 <b>{mxu:.1}%</b> and low HBM Bandwidth utilization of <b>{hbm:.1}%</b> indicates that the primary \
                 bottleneck is the raw processing power of the hardware. Please consider the following optimizations: "
            ),
            &[
                (
                    "Use Mixed Precision",
                    "Using bfloat16 for computations and storing weights can significantly speed up matrix \
                     multiplications and reduce memory usage. Ensure that this does not negatively impact your model's \
                     convergence.",
                ),
                (
                    "Optimize Your Kernels",
                    "If you are using custom operations, profile them to identify any inefficiencies. For standard \
                     operations, ensure you are using the latest version of your framework and libraries (e.g., CUDA, \
                     cuDNN for GPUs) which often include optimized kernels.",
                ),
                (
                    "Experiment with Batch Size",
                    "While a large batch size can improve hardware utilization, an excessively large batch size might \
                     not always be optimal. Experiment with different batch sizes to find the sweet spot for your \
                     specific model and hardware.",
                ),
                (
                    "Switching to a Mixture of Experts (MoE) Strategy",
                    "Consider switching to a Mixture of Experts (MoE) architecture by replacing one massive FFN with \
                     several smaller expert networks to leverage SparseCores. The SparseCore handles the gating \
                     logic\u{2014}deciding which specific expert should handle which token. It performs the routing \
                     (scatter/gather). It effectively trades excess Compute (MXU) load for Memory Bandwidth and Sparse \
                     Core utilization.",
                ),
            ],
        )
    })
}

fn data_shuffle(signals: &Signals<'_>) -> Option<String> {
    let percent = signals.categories(&DATA_SHUFFLE);
    (percent >= from::DATA_SHUFFLE).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>Data Shuffle operations (e.g., sort, gather, scatter)</b>. An \
                 average of <b>{percent:.1}%</b> of each step is spent on these operations. Please consider the following \
                 optimizations:"
            ),
            &[(
                "Optimize Gather, Scatter Operations",
                "If gather, scatter operations are the bottleneck, review their implementation. Ensure that the \
                 dimensions of tensors involved in gather and scatter operations are multiples of 128 (common for most \
                 TPUs).",
            )],
        )
    })
}

fn data_transfer(signals: &Signals<'_>) -> Option<String> {
    let enqueue = signals.is_input_bound().then(|| signals.enqueue_and_others().0)?;
    (enqueue >= from::ENQUEUE).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>data transfer</b> between Host and Device: <b>{:.1}% of the \
                 total step time</b> is spent on enqueuing data to the device. Please consider the following \
                 optimizations:",
                signals.input() * enqueue / 100.0
            ),
            &[
                (
                    "Combine small data chunks",
                    "Transferring many small chunks of data can be inefficient. Try to batch them into fewer, larger \
                     transfers.",
                ),
                (
                    "Check transfer size",
                    "Ensure the size of data being transferred in each batch is optimal for the hardware.",
                ),
                ("Use prefetching", "Overlap data transfer with computation."),
            ],
        )
    })
}

fn debug_print(signals: &Signals<'_>) -> Option<String> {
    let hosts = signals.prints().by_host();
    let much: Vec<(&str, f64)> = hosts.into_iter().filter(|(_, p)| *p >= from::DEBUG_PRINT).collect();
    let most = much.iter().map(|(_, percent)| *percent).reduce(f64::max)?;
    let list = host_list("debug_print", much.into_iter());
    Some(page(
        &format!(
            "Your program is likely bottlenecked by <b>debug_print</b> operations: <b> up to {most:.1}% of step time</b> \
             is spent on these operations on some hosts. This often indicates the debug print operations causes busy \
             waiting for other workers in a distributed training setup. Please consider the following optimizations:"
        ),
        &[
            (
                "Investigate Hosts with High Debug Print Time",
                &format!("The following hosts have high debug_print time fraction compared to others:{list}"),
            ),
            ("Check for debug print usage", "Check for <code>jax.debug.print</code> calls in your code."),
        ],
    ))
}

fn host_processing(signals: &Signals<'_>) -> Option<String> {
    let others = signals.is_input_bound().then(|| signals.enqueue_and_others().1)?;
    (others >= from::HOST_PROCESSING).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>Host-side Processing</b> in the input pipeline: <b>{:.1}% of \
                 the total step time</b> is spent on host-side input data processing. Please consider the following \
                 optimizations:",
                signals.input() * others / 100.0
            ),
            &[
                (
                    "Optimize Data Reading",
                    "Ensure efficient file reading patterns. Use prefetching and interleaving to load data in parallel \
                     and in advance.",
                ),
                (
                    "Parallelize Data Preprocessing",
                    "Utilize parallel processing techniques for CPU-bound preprocessing steps.",
                ),
                (
                    "Offline Preprocessing",
                    "For static datasets, consider performing expensive preprocessing steps offline and saving the \
                     results.",
                ),
                (
                    "Tuning Parameters",
                    "Experiment with buffer sizes, the number of parallel threads, and prefetch distances in your input \
                     pipeline to find the best settings.",
                ),
            ],
        )
    })
}

fn input(signals: &Signals<'_>) -> Option<String> {
    let (enqueue, others) = signals.is_input_bound().then(|| signals.enqueue_and_others())?;
    (enqueue.abs() < 1e-6 && others.abs() < 1e-6).then(|| {
        page(
            &format!(
                "Your program is likely <b>input-bound</b> : <b>{:.1}% of step time</b> is spent on input operations. \
                 Please consider the following documentations to optimize your input pipeline:",
                signals.input()
            ),
            &[],
        )
    })
}

fn memory(signals: &Signals<'_>) -> Option<String> {
    let (mxu, hbm) = (signals.mxu(), signals.hbm());
    (hbm > from::BUSY && mxu < from::QUIET).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>Memory Operations</b>: High HBM Bandwidth utilization of \
                 <b>{hbm:.1}%</b> and low MXU utilization of <b>{mxu:.1}%</b> indicates that processors are often \
                 waiting for data. Please consider the following optimizations:"
            ),
            &[
                (
                    "Increase the Batch Size",
                    "A larger batch size increases the computational work (the matrix multiplications in your model) \
                     done for each data loading step. This improves the ratio of computation to memory access, which \
                     should directly increase MXU utilization.",
                ),
                (
                    "Utilize Gradient Accumulation",
                    "This technique processes several smaller batches sequentially and only updates the model weights \
                     after accumulating the gradients from all of them. This simulates a larger effective batch size \
                     without a proportional increase in memory usage.",
                ),
                (
                    "Increase Model Depth or Width",
                    "Make the model larger by adding more layers or increasing the size of the hidden dimensions to \
                     improve the MXU utilization.",
                ),
                (
                    "Optimize the Data Format",
                    "Store your dataset in a format optimized for high-throughput reads, such as TFRecord for TensorFlow \
                     or Petastorm for PyTorch. These formats are more efficient than reading individual image or text \
                     files.",
                ),
            ],
        )
    })
}

fn tensor_core_idle(signals: &Signals<'_>) -> Option<String> {
    let percent = signals.is_latency_bound().then(|| signals.idle())??;
    (percent > from::IDLE).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>TensorCore Idle Time</b>: High TensorCore idle time percentage \
                 of <b>{percent:.1}%</b> indicates that TensorCores are spending a significant amount of time waiting, \
                 not working. Please consider the following optimizations: "
            ),
            &[
                (
                    "Reduce Kernel Launch Overhead",
                    "Batch small operations into larger ones to reduce the number of kernel launches.",
                ),
                (
                    "Minimize Python Overhead",
                    "Enclose more operations within compiled graphs or functions to reduce Python interpreter overhead \
                     between steps.",
                ),
                (
                    "Avoid Small CPU Ops",
                    "Shift small, frequent operations from the CPU to the device if possible.",
                ),
                (
                    "Use Asynchronous Operations",
                    "Employ asynchronous execution for tasks like checkpointing or metric logging to prevent blocking \
                     device execution.",
                ),
            ],
        )
    })
}

fn sparse_core(signals: &Signals<'_>) -> Option<String> {
    let percent = signals.is_latency_bound().then(|| signals.sparse_cores())??;
    (percent > from::SPARSE_CORE).then(|| {
        page(
            &format!(
                "Your program is likely bottlenecked by <b>SparseCore Operations</b> in the TPU: <b>{percent:.1}% of the \
                 total step time </b> is spent on SparseCore. Please consider the following optimizations: "
            ),
            &[
                (
                    "Refine Sparse Data Representation",
                    "Ensure your sparse tensors are in the most performant format for your hardware (e.g., CSR/CSC if \
                     suitable). Pre-process data to improve memory access patterns on the SparseCore, like sorting \
                     indices or grouping related features.",
                ),
                (
                    "Streamline Embedding Tables",
                    "For large embedding tables, consider quantization (reducing precision like int8) or pruning to \
                     significantly cut down their memory footprint and processing load on the SparseCore.",
                ),
                (
                    "Utilize Framework-Specific Sparse APIs",
                    "Employ specialized APIs designed for sparse operations on your platform (e.g., \
                     tf.tpu.experimental.embedding.TPU Embedding for TensorFlow/TPU). These are highly optimized for \
                     direct SparseCore interaction.",
                ),
            ],
        )
    })
}

fn sparse_core_offload(signals: &Signals<'_>) -> Option<String> {
    let (waits, memory) = (signals.async_done(), signals.memory()?);
    if waits <= from::ASYNC_DONE || memory >= from::QUIET {
        return None;
    }
    let flag = |op: &str| format!("<li><b>xla_tpu_sparse_core_{op}_latency_multiplier</b>: ");
    Some(format!(
        "<p>While your program is offloading work to the SparseCore, it isn't being effectively overlapped with \
         TensorCore work due to the compiler predicting the offloaded work taking less time than it actually does. \
         <b>{waits:.1}%</b> of time is spent on async-done operations with low memory utilization of <b>{memory:.1}%</b>. \
         This means the TensorCore is waiting on the offloaded SparseCore operation to complete. Consider increasing the \
         values of the following flags to improve how efficiently SparseCore operations are overlapped with TensorCore \
         operations by the compiler:</p><ul>{}Cost model scaling factor for SparseCore offloaded all-gather. 1.0 \
         (schedule using XLA cost model) / 0.0 (synchronous scheduling) / inf (schedule on data dependencies).</li>{}Cost \
         model scaling factor for SparseCore offloaded all-reduce.</li>{}Cost model scaling factor for SparseCore \
         offloaded reduce-scatter.</li><li><b>Note:</b> Increasing these values will likely increase the memory usage of \
         your program due to holding intermediate results from SparseCore longer before the TensorCore resumes operations \
         on them.</li></ul>",
        flag("all_gather"),
        flag("all_reduce"),
        flag("reduce_scatter")
    ))
}
