//! A case: what was asked for, what there is, and what is known of the buffers; all that cures are computed from.

use crate::chips::Chip;
use crate::framework::Framework;
use crate::holding::Holding;
use crate::message::{Buffer, Form, Message, What};
use crate::size::Size;

/// What is known of a program that does not fit, or hardly does.
#[derive(Debug, Default)]
pub(crate) struct Case<'a> {
    /// The message; `None` where a run is asked about that did fit.
    pub(crate) message: Option<&'a Message>,
    /// The memory.
    pub(crate) space: String,
    /// What is needed.
    pub(crate) used: Option<Size>,
    /// What there is.
    pub(crate) limit: Option<Size>,
    /// The buffers: those of the dump where there is one, else those that the message lists.
    pub(crate) buffers: Vec<Buffer>,
    /// What the program keeps in HBM, where a dump or a run says it.
    pub(crate) holding: Option<&'a Holding>,
    /// The generations of TPU that it can be of.
    pub(crate) chips: Vec<&'static Chip>,
    /// Whose words are used.
    pub(crate) framework: Option<Framework>,
    /// Whether the program serves a model through vLLM.
    pub(crate) is_vllm: bool,
}

impl Case<'_> {
    /// Bytes of arguments: as the dump or the message says.
    #[must_use]
    pub(crate) fn argument_bytes(&self) -> Option<i64> {
        self.holding.map(|holding| holding.argument_bytes).or_else(|| {
            let message = self.message?;
            let assigned = message.part("assignment", "parameter allocation");
            message.part("total", "arguments").or(assigned).map(|size| size.bytes)
        })
    }

    /// Bytes of results that have memory of their own, likewise.
    #[must_use]
    pub(crate) fn result_bytes(&self) -> Option<i64> {
        self.holding.map(|holding| holding.result_bytes).or_else(|| {
            let message = self.message?;
            if let Some(assigned) = message.part("assignment", "maybe_live_out allocation") {
                return Some(assigned.bytes);
            }
            let shared = message.part("output", "shared").map_or(0, |size| size.bytes);
            message.part("output", "size").map(|size| size.bytes.saturating_sub(shared))
        })
    }

    /// Bytes of temporaries, likewise.
    #[must_use]
    pub(crate) fn temporary_bytes(&self) -> Option<i64> {
        self.holding.map(|holding| holding.temporary_bytes).or_else(|| {
            let message = self.message?;
            let assigned = message.part("assignment", "preallocated temp allocation");
            message.part("program", "HLO temp").or(assigned).map(|size| size.bytes)
        })
    }

    /// Bytes of constants, likewise.
    #[must_use]
    pub(crate) fn constant_bytes(&self) -> Option<i64> {
        self.holding.map(|holding| holding.constant_bytes).or_else(|| {
            let message = self.message?;
            let assigned = message.part("assignment", "constant allocation");
            message.part("program", "global").or(assigned).map(|size| size.bytes)
        })
    }

    /// Bytes into which it surely fits: the limit, less what rounding may hide.
    #[must_use]
    pub(crate) fn room(&self) -> Option<i64> {
        let slack = self.used.map_or(0, |used| used.slack_bytes);
        self.limit.map(|limit| limit.bytes.saturating_sub(limit.slack_bytes).saturating_sub(slack))
    }

    /// The form of the message.
    #[must_use]
    pub(crate) fn form(&self) -> Option<Form> {
        self.message.map(|message| message.form)
    }

    /// Whether it is about the memory of a kernel on a chip: VMEM, SMEM, semaphores, a SparseCore's.
    #[must_use]
    pub(crate) fn is_on_chip(&self) -> bool {
        !matches!(self.space.as_str(), "hbm" | "gpu" | "device" | "host")
    }

    /// Bytes of the buffers that are of a kind.
    #[must_use]
    pub(crate) fn bytes_of(&self, is_meant: impl Fn(&Buffer) -> bool) -> i64 {
        let meant = self.buffers.iter().filter(|buffer| is_meant(buffer));
        meant.fold(0, |sum, buffer| sum.saturating_add(buffer.size.map_or(0, |size| size.bytes)))
    }

    /// Bytes of windows.
    #[must_use]
    pub(crate) fn window_bytes(&self) -> i64 {
        self.bytes_of(|buffer| buffer.what.is_window())
    }

    /// Bytes of scratch.
    #[must_use]
    pub(crate) fn scratch_bytes(&self) -> i64 {
        self.bytes_of(|buffer| buffer.what == What::Scratch)
    }
}
