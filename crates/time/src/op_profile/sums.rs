//! What the ops of a node add up to.

use crate::op_meta::{is_async_collective, is_asynchronous, is_container};
use crate::ops::Op;
use crate::roofline::add_known;

/// Sums over the ops of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums<'a> {
    /// Picoseconds.
    pub self_ps: i64,
    pub occurrences: u64,
    pub(super) ops: u64,
    pub flops: Option<f64>,
    pub(super) model_flops: Option<f64>,
    pub(super) bytes: Option<f64>,
    pub(crate) hbm_bytes: Option<f64>,
    /// True if one of the ops does its work in its own time, as the start and done of asynchronous ones do not.
    pub(super) has_rates: bool,
    /// The program's name, where there is one.
    pub(super) module: Option<&'a str>,
    /// Its id, likewise.
    pub(super) program_id: Option<u64>,
}

impl<'a> Sums<'a> {
    pub(super) fn add(&mut self, op: &'a Op<'_>) {
        let (module, program_id) = (Some(op.module.as_ref()), op.meta.program_id);
        if self.ops == 0 {
            (self.module, self.program_id) = (module, program_id);
        }
        self.module = self.module.filter(|own| Some(*own) == module);
        self.program_id = self.program_id.filter(|own| Some(*own) == program_id);
        self.self_ps = self.self_ps.saturating_add(op.self_ps);
        self.occurrences = self.occurrences.saturating_add(op.occurrences);
        self.ops += 1;
        self.has_rates |= !is_asynchronous(&op.meta.category) && !is_async_collective(&op.meta.name);
        if !is_container(&op.meta.category) {
            add_known(&mut self.flops, op.flops);
            add_known(&mut self.model_flops, op.model_flops);
            add_known(&mut self.bytes, op.bytes);
            add_known(&mut self.hbm_bytes, op.hbm_bytes);
        }
    }
}
