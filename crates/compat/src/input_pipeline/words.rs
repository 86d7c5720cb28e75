//! Sentences of the analysis.

use super::host::InputTimes;
use crate::steps::stat::fixed;

/// From here on a share of the step's time, in percent, is worth mentioning, and from here on it is much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) some: f64,
    pub(crate) much: f64,
}

/// Input and output.
const TRANSFER: Limits = Limits { some: 5.0, much: 20.0 };
/// Kernel launches, collectives, time of which nothing is known.
pub(crate) const OVERHEAD: Limits = Limits { some: 3.0, much: 15.0 };

/// A class (`host`, `device`, `both`, `unknown`; or `no`, `moderate`, `high`) and the sentence for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) class: &'static str,
    pub(crate) statement: String,
}

impl Verdict {
    /// Nothing to say.
    pub(crate) fn no() -> Self {
        Self { class: "no", statement: String::new() }
    }

    /// No step was measured.
    pub(crate) fn unknown() -> Self {
        let statement =
            "No step time measured. Therefore we cannot tell where the performance bottleneck is.".to_owned();
        Self { class: "unknown", statement }
    }
}

/// Whether the program waits for input; and whether the sentence is about unknown time.
pub(crate) fn input(percent: f64, other_percent: f64) -> (Verdict, bool) {
    let (class, statement) = if percent >= TRANSFER.much {
        (
            "host",
            format!(
                "Your program is HIGHLY input-bound because {}% of the total step time sampled is waiting for input. \
             Therefore, you should first focus on reducing the input time.",
                fixed(percent, 1)
            ),
        )
    } else if percent >= TRANSFER.some {
        (
            "both",
            format!(
                "Your program is MODERATELY input-bound because {}% of the total step time sampled is waiting for input. \
             Therefore, you would need to reduce both the input time and other time.",
                fixed(percent, 1)
            ),
        )
    } else if other_percent >= OVERHEAD.some {
        let statement = format!(
            "Your program is POTENTIALLY input-bound because {}% of the total step time sampled is spent on 'All Others' \
             time (which could be due to I/O or Python execution or both).",
            fixed(other_percent, 1)
        );
        return (Verdict { class: "both", statement }, true);
    } else {
        (
            "device",
            format!(
                "Your program is NOT input-bound because only {}% of the total step time sampled is waiting for input. \
             Therefore, you should focus on reducing other time.",
                fixed(percent, 1)
            ),
        )
    };
    (Verdict { class, statement }, false)
}

/// Whether the program waits for output.
pub(crate) fn output(percent: f64) -> String {
    if percent >= TRANSFER.much {
        format!(
            "Your program is HIGHLY output-bound because {}% of the total step time sampled is spent on output. \
             Therefore, you should first focus on reducing the output time.",
            fixed(percent, 1)
        )
    } else if percent >= TRANSFER.some {
        format!(
            "Your program is MODERATELY output-bound because {}% of the total step time sampled is spent on output. \
             Therefore, you would need to reduce both the output time and other time.",
            fixed(percent, 1)
        )
    } else {
        String::new()
    }
}

/// Whether some overhead takes much time; `sentence` is what stands behind the number.
pub(crate) fn overhead(percent: f64, sentence: &str) -> Verdict {
    let class = match percent {
        p if p >= OVERHEAD.much => "high",
        p if p >= OVERHEAD.some => "moderate",
        _ => return Verdict::no(),
    };
    Verdict {
        class,
        statement: format!("{} % of the total step time sampled is {sentence}", fixed(percent, 1)),
    }
}

/// Which part of the page to read next.
pub(crate) fn next_step(input_class: &str, times: &InputTimes) -> &'static str {
    if !matches!(input_class, "host" | "both") {
        "You may skip the rest of this page."
    } else if times.has_pipeline() {
        "Look at Section 3 for the breakdown of input time on the host."
    } else {
        "Consider using <a href=\"https://www.tensorflow.org/guide/data\" target=\"_blank\">the tf.data API</a> to enable \
         profiler's host-side analysis for input pipeline. Profiler currently does not support custom input pipeline \
         (please ignore Section 3 below)."
    }
}

/// A link that opens beside the page.
pub(crate) fn link(address: &str, text: &str) -> String {
    format!("<a href=\"{address}\" target=\"_blank\">{text}</a>")
}

/// What to do about each kind of work for input.
pub(crate) fn advice() -> [String; 5] {
    const DATASET: &str = "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#";
    let dataset = |method: &str, text: &str| link(&format!("{DATASET}{method}"), text);
    let reader = |text: &str| {
        link("https://www.tensorflow.org/api_docs/python/tf/data/TFRecordDataset#class_tfrecorddataset", text)
    };
    [
        "Enqueuing data: you may want to combine small input data chunks into fewer but larger chunks."
            .to_owned(),
        format!(
            "Data preprocessing: you may increase num_parallel_calls in {} or preprocess the data OFFLINE.",
            dataset("map", "Dataset map()")
        ),
        format!(
            "Reading data from files in advance: you may tune parameters in the following tf.data API ({}, {}, {})",
            dataset("prefetch", "prefetch size"),
            dataset("interleave", "interleave cycle_length"),
            reader("reader buffer_size")
        ),
        format!(
            "Reading data from files on demand: you should read data IN ADVANCE using the following tf.data API \
             ({}, {}, {})",
            dataset("prefetch", "prefetch"),
            dataset("interleave", "interleave"),
            reader("reader buffer")
        ),
        format!(
            "Other data reading or processing: you may consider using the {} (if you are not using it now)",
            link("https://www.tensorflow.org/programmers_guide/datasets", "tf.data API")
        ),
    ]
}
