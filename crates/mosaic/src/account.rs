//! What a kernel computes and moves in all.

use crate::count::Reason;
use crate::windows::Traffic;
use crate::work::{Range, Work};

/// What a kernel computes and moves in one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Steps of its grid; `None` where they are known at run time only.
    pub steps: Option<u64>,
    /// What its code does, over all steps.
    pub work: Work,
    /// What the pipeline around it copies, by argument.
    pub windows: Vec<Traffic>,
    /// Why sums are intervals; empty where none is.
    pub reasons: Vec<Reason>,
}

impl Account {
    /// FLOPs: those of its matrix products; of a kernel without any, the arithmetic of its vectors.
    #[must_use]
    pub fn flops(&self) -> Range {
        if self.work.products.is_zero() { self.work.vectors } else { self.work.products }
    }

    /// Bytes between HBM and the chip, read and written, where every block lies in HBM.
    #[must_use]
    pub fn bytes(&self) -> Range {
        let own = self.work.read_bytes.plus(self.work.written_bytes);
        self.windows.iter().fold(own, |sum, window| sum.plus(window.bytes))
    }
}
