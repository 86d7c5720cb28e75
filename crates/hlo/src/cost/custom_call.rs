//! Custom calls: the few whose cost follows from what the call says.

use super::{Cost, Counter, convolution, leaf};
use crate::element::ElementType;
use crate::{backend_config, instruction::Instruction};

impl Counter<'_> {
    pub(super) fn custom_call(&self, hlo: &Instruction) -> Cost {
        let target = hlo.attributes().custom_call_target.as_deref().unwrap_or("");
        match target {
            // Reserve memory, or mark or rename a value for the compiler; nothing runs.
            "AllocateBuffer"
            | "AssumeGatherIndicesInBound"
            | "ConcatBitcast"
            | "GatherScatterIndicesBitpacked"
            | "NopReturnToken"
            | "Sharding"
            | "SPMDFullToShardShape"
            | "SPMDShardToFullShape" => Cost::ZERO,
            _ if target.starts_with("__cublas$") => self.library_call(hlo, self.matrix_product_flops(hlo)),
            _ if target.starts_with("__cudnn$conv") => {
                self.library_call(hlo, self.convolution_flops(hlo, target))
            }
            _ => estimated_by_author(hlo),
        }
    }

    fn library_call(&self, hlo: &Instruction, flops: Option<u64>) -> Cost {
        if flops.is_none() {
            return Cost::UNKNOWN;
        }
        // Some give their scratch memory as a last result, an array of bytes. Nobody can say how much of it is touched.
        let results = match hlo.shape.tuple_shapes.as_slice() {
            [results @ .., last] if !results.is_empty() && last.element_type == ElementType::U8 => results,
            [] => std::slice::from_ref(&hlo.shape),
            all => all,
        };
        let written = results.iter().map(|shape| self.bytes(shape)).sum::<Option<u64>>();
        let bytes_accessed =
            self.all_operand_bytes(hlo).zip(written).and_then(|(read, written)| read.checked_add(written));
        Cost { flops, bytes_accessed, ..Cost::ZERO }
    }

    /// cuBLAS: the dimension numbers are in the backend's JSON, the result is the first output.
    fn matrix_product_flops(&self, hlo: &Instruction) -> Option<u64> {
        let contracting = backend_config::lhs_contracting_dimensions(&hlo.attributes().backend_config)?;
        let results = leaf::first_array(&hlo.shape)?.element_count()?;
        leaf::matrix_flops(self.operand_shape(hlo, 0)?, &contracting, results)
    }

    /// cuDNN: window and dimension numbers are those of the forward convolution, whichever way the call goes, so that
    /// input, kernel and output have to be put in their places.
    fn convolution_flops(&self, hlo: &Instruction, target: &str) -> Option<u64> {
        let (a, b) = (self.operand_shape(hlo, 0)?, self.operand_shape(hlo, 1)?);
        let result = leaf::first_array(&hlo.shape)?;
        let (input, kernel, output) = match target {
            "__cudnn$convBackwardInput" => (result, b, a),
            "__cudnn$convBackwardFilter" => (a, result, b),
            _ => (a, b, result),
        };
        convolution::flops(hlo.attributes(), input, kernel, output)
    }
}

/// Pallas kernels may carry an estimate of their author, which XLA takes as given.
fn estimated_by_author(hlo: &Instruction) -> Cost {
    let estimate = backend_config::cost_estimate(&hlo.attributes().backend_config);
    let Some([flops, transcendentals, bytes_accessed]) = estimate else { return Cost::UNKNOWN };
    Cost { flops, transcendentals, bytes_accessed, unknown_instructions: 0 }
}
