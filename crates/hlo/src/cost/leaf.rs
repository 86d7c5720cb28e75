//! Costs of instructions that have no body of their own.

use super::{Cost, Counter, extent};
use crate::{instruction::Instruction, opcode::Opcode, shape::Shape};

impl Counter<'_> {
    pub(super) fn leaf(&self, hlo: &Instruction) -> Cost {
        if hlo.opcode.is_elementwise() && hlo.opcode != Opcode::Copy {
            return self.elementwise(hlo);
        }
        match hlo.opcode {
            Opcode::Parameter
            | Opcode::Constant
            | Opcode::GetTupleElement
            | Opcode::Bitcast
            | Opcode::Domain
            | Opcode::AfterAll
            | Opcode::AddDependency
            | Opcode::OptimizationBarrier
            | Opcode::AsyncDone
            | Opcode::AsyncUpdate
            | Opcode::Recv
            | Opcode::SendDone => Cost::ZERO,
            Opcode::Tuple => {
                self.moves(self.options.tuple_pointer_bytes.map_or(Some(0), |_| self.bytes(&hlo.shape)))
            }
            Opcode::Dot | Opcode::ScaledDot => self.computes(hlo, self.dot_flops(hlo)),
            Opcode::RaggedDot => self.computes(hlo, self.ragged_dot_flops(hlo)),
            Opcode::Convolution => {
                let shapes = (self.operand_shape(hlo, 0), self.operand_shape(hlo, 1));
                let (Some(lhs), Some(rhs)) = shapes else { return Cost::UNKNOWN };
                self.computes(hlo, super::convolution::flops(hlo.attributes(), lhs, rhs, &hlo.shape))
            }
            Opcode::Reduce => self.applies(hlo, self.reduce_count(hlo)),
            Opcode::ReduceWindow => self.applies(hlo, self.reduce_window_count(hlo)),
            Opcode::Map => self.applies(hlo, hlo.shape.element_count()),
            Opcode::SelectAndScatter => self.select_and_scatter(hlo),
            Opcode::Scatter => self.scatter(hlo),
            Opcode::Sort => Cost { flops: self.sort_flops(hlo), ..self.moves(self.array_bytes(hlo)) },
            Opcode::Fft => self.computes(hlo, self.fft_flops(hlo)),
            Opcode::Cholesky => self.cholesky(hlo),
            Opcode::TriangularSolve => self.triangular_solve(hlo),
            Opcode::AllReduce => self.all_reduce(hlo),
            Opcode::Rng => self.random(hlo, hlo.shape.element_count()),
            Opcode::RngBitGenerator => self.random(hlo, hlo.shape.element_count_recursive()),
            Opcode::Slice => self.moves(self.bytes(&hlo.shape).and_then(|b| b.checked_mul(2))),
            Opcode::DynamicSlice | Opcode::Gather => self.moves(self.twice_plus(Some(&hlo.shape), hlo, 1)),
            Opcode::DynamicUpdateSlice => self.moves(self.twice_plus(self.operand_shape(hlo, 1), hlo, 2)),
            Opcode::Outfeed => self.moves(self.operand_shape(hlo, 0).and_then(|shape| self.array(shape))),
            Opcode::Transpose if self.is_effective_bitcast(hlo) => Cost::ZERO,
            Opcode::AllReduceStart => {
                Cost { flops: hlo.shape.element_count_recursive(), ..self.moves(self.all_operand_bytes(hlo)) }
            }
            Opcode::AllGatherStart | Opcode::CollectivePermuteStart | Opcode::CopyStart | Opcode::Send => {
                self.moves(self.all_operand_bytes(hlo))
            }
            Opcode::AllGatherDone
            | Opcode::AllReduceDone
            | Opcode::CollectivePermuteDone
            | Opcode::CopyDone
            | Opcode::Infeed
            | Opcode::RecvDone => self.moves(self.array(&hlo.shape)),
            Opcode::AllGather
            | Opcode::AllToAll
            | Opcode::Broadcast
            | Opcode::CollectiveBroadcast
            | Opcode::CollectivePermute
            | Opcode::Concatenate
            | Opcode::Copy
            | Opcode::DynamicReshape
            | Opcode::GetDimensionSize
            | Opcode::Iota
            | Opcode::Pad
            | Opcode::PartitionId
            | Opcode::RaggedAllToAll
            | Opcode::ReduceScatter
            | Opcode::ReplicaId
            | Opcode::Reshape
            | Opcode::Reverse
            | Opcode::RngGetAndUpdateState
            | Opcode::SetDimensionSize
            | Opcode::Shuffle
            | Opcode::TopK
            | Opcode::Transpose => self.moves(self.all_bytes(hlo)),
            Opcode::BatchNormGrad | Opcode::BatchNormInference | Opcode::BatchNormTraining => {
                Cost { bytes_accessed: self.all_bytes(hlo), ..Cost::UNKNOWN }
            }
            _ => Cost::UNKNOWN,
        }
    }

    /// Only moves bytes.
    pub(super) fn moves(&self, bytes: Option<u64>) -> Cost {
        Cost { bytes_accessed: bytes, ..Cost::ZERO }
    }

    /// FLOPs of its own, and reads all operands.
    pub(super) fn computes(&self, hlo: &Instruction, flops: Option<u64>) -> Cost {
        Cost { flops, bytes_accessed: self.all_bytes(hlo), ..Cost::ZERO }
    }

    fn random(&self, hlo: &Instruction, numbers: Option<u64>) -> Cost {
        Cost { transcendentals: numbers, bytes_accessed: self.all_bytes(hlo), ..Cost::ZERO }
    }

    /// Applies its function a number of times, and reads all operands.
    fn applies(&self, hlo: &Instruction, times: Option<u64>) -> Cost {
        let function = hlo.called_computations.first();
        let (Some(times), Some(function)) = (times, function) else {
            return Cost { bytes_accessed: self.all_bytes(hlo), ..Cost::UNKNOWN };
        };
        Cost { bytes_accessed: self.all_bytes(hlo), ..self.called(*function).compute_times(times) }
    }

    fn elementwise(&self, hlo: &Instruction) -> Cost {
        let count = hlo.shape.element_count();
        let bytes_accessed = self.all_bytes(hlo);
        if hlo.opcode.is_transcendental() {
            Cost { transcendentals: count, bytes_accessed, ..Cost::ZERO }
        } else {
            Cost { flops: count, bytes_accessed, ..Cost::ZERO }
        }
    }

    /// Twice a shape, plus the operand at `indices`: how slices and gathers move memory.
    pub(super) fn twice_plus(&self, shape: Option<&Shape>, hlo: &Instruction, indices: usize) -> Option<u64> {
        // Static slices of dynamic ones may come without indices; they then read none.
        let indices = if indices < hlo.operands.len() { self.operand_bytes(hlo, indices)? } else { 0 };
        self.bytes(shape?)?.checked_mul(2)?.checked_add(indices)
    }

    fn dot_flops(&self, hlo: &Instruction) -> Option<u64> {
        let lhs = self.operand_shape(hlo, 0)?;
        let contracting = &hlo.attributes().dot.as_ref()?.lhs_contracting;
        matrix_flops(lhs, contracting, hlo.shape.element_count()?)
    }

    fn ragged_dot_flops(&self, hlo: &Instruction) -> Option<u64> {
        let ragged = hlo.attributes().ragged_dot.as_ref()?;
        let lhs = self.operand_shape(hlo, 0)?;
        let mut results = hlo.shape.element_count()?;
        // Where the ragged dimension is contracted, the result has one matrix a group, but each row is used once only.
        if ragged.lhs_ragged.first().is_some_and(|dim| ragged.dot.lhs_contracting.contains(dim)) {
            results /= extent(&hlo.shape, 0).filter(|groups| *groups > 0)?;
        }
        matrix_flops(lhs, &ragged.dot.lhs_contracting, results)
    }

    fn reduce_count(&self, hlo: &Instruction) -> Option<u64> {
        let input = self.operand_shape(hlo, 0)?.element_count()?;
        Some(input.saturating_sub(first_array(&hlo.shape)?.element_count()?))
    }

    fn reduce_window_count(&self, hlo: &Instruction) -> Option<u64> {
        let window = &hlo.attributes().window;
        let output = first_array(&hlo.shape)?;
        let outputs = output.element_count()?;
        // A window that spans the dimension from every position is a reduction that is broadcast back; XLA counts it so.
        let reduced = window.iter().filter(|dim| dim.size != 1).count();
        let padded = window.iter().filter(|dim| dim.padding_low != 0 || dim.padding_high != 0).count();
        if reduced == 1 && padded == 1 && hlo.shape.is_array() {
            let spans = |dim: &&crate::dims::WindowDimension| {
                dim.size != 1
                    && dim.padding_low != 0
                    && dim.padding_low == dim.padding_high
                    && dim.padding_low.checked_mul(2).and_then(|p| p.checked_add(1)) == Some(dim.size)
            };
            if let Some(position) = window.iter().position(|dim| spans(&dim)) {
                let span = extent(output, position)?;
                if u64::try_from(window[position].padding_low).ok() == span.checked_sub(1) {
                    return (outputs.checked_div(span)?).checked_add(span - 1);
                }
            }
        }
        window_size(hlo)?.saturating_sub(1).checked_mul(outputs)
    }

    fn select_and_scatter(&self, hlo: &Instruction) -> Cost {
        let bytes_accessed = self.all_bytes(hlo);
        let counts = || {
            let sources = self.operand_shape(hlo, 1)?.element_count()?;
            Some((sources, sources.checked_mul(window_size(hlo)?.saturating_sub(1))?))
        };
        let (Some((sources, selects)), [select, scatter]) = (counts(), hlo.called_computations.as_slice())
        else {
            return Cost { bytes_accessed, ..Cost::UNKNOWN };
        };
        let select = self.called(*select).compute_times(selects);
        Cost { bytes_accessed, ..select.plus(self.called(*scatter).compute_times(sources)) }
    }

    pub(super) fn scatter(&self, hlo: &Instruction) -> Cost {
        let arrays = hlo.operands.len().saturating_sub(1) / 2;
        let updates = (arrays + 1..=2 * arrays)
            .map(|position| self.operand_bytes(hlo, position))
            .try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
        let bytes = || updates?.checked_mul(3)?.checked_add(self.operand_bytes(hlo, arrays)?);
        let times = self.operand_shape(hlo, arrays + 1).and_then(Shape::element_count);
        Cost { bytes_accessed: bytes(), ..self.applies(hlo, times) }
    }

    fn sort_flops(&self, hlo: &Instruction) -> Option<u64> {
        let elements = self.operand_shape(hlo, 0)?.element_count()?;
        let rounds =
            elements.checked_sub(1).map_or(0, |last| u64::from(last.checked_ilog2().map_or(0, |l| l + 1)));
        elements.checked_mul(rounds)
    }

    fn fft_flops(&self, hlo: &Instruction) -> Option<u64> {
        let elements = first_array(self.operand_shape(hlo, 0)?)?.element_count()?;
        let rounds = hlo.attributes().fft_length.iter().try_fold(1u64, |product, length| {
            product.checked_mul(u64::from(u64::try_from(*length).ok()?.checked_ilog2()?))
        })?;
        elements.checked_mul(rounds)?.checked_mul(8)
    }

    fn cholesky(&self, hlo: &Instruction) -> Cost {
        let Some(matrix) = self.operand_shape(hlo, 0) else { return Cost::UNKNOWN };
        let side = matrix.dimensions.len().checked_sub(1).and_then(|last| extent(matrix, last));
        let flops = || Some(side?.checked_mul(matrix.element_count()?)? / 3);
        Cost { flops: flops(), bytes_accessed: self.bytes(matrix), ..Cost::ZERO }
    }

    fn triangular_solve(&self, hlo: &Instruction) -> Cost {
        let (Some(a), Some(b)) = (self.operand_shape(hlo, 0), self.operand_shape(hlo, 1)) else {
            return Cost::UNKNOWN;
        };
        let side = a.dimensions.len().checked_sub(1).and_then(|last| extent(a, last));
        let flops = || side?.checked_mul(b.element_count()?)?.checked_mul(2);
        let bytes = || self.bytes(&hlo.shape)?.checked_add(self.bytes(a)? / 2)?.checked_add(self.bytes(b)?);
        Cost { flops: flops(), bytes_accessed: bytes(), ..Cost::ZERO }
    }

    fn all_reduce(&self, hlo: &Instruction) -> Cost {
        Cost { flops: hlo.shape.element_count_recursive(), ..self.moves(self.array_bytes(hlo)) }
    }

    /// Operands and result, where XLA looks into the result's tuple on every backend.
    fn array_bytes(&self, hlo: &Instruction) -> Option<u64> {
        self.all_operand_bytes(hlo)?.checked_add(self.array(&hlo.shape)?)
    }

    /// Whether a transpose only renames dimensions: the result's order in memory is the operand's.
    fn is_effective_bitcast(&self, hlo: &Instruction) -> bool {
        let operand = self.operand_shape(hlo, 0).and_then(|shape| shape.layout.as_ref());
        let (Some(from), Some(to)) = (operand, &hlo.shape.layout) else { return false };
        let renamed = to.minor_to_major.iter().map(|dim| {
            usize::try_from(*dim).ok().and_then(|dim| hlo.attributes().dimensions.get(dim)).copied()
        });
        renamed.eq(from.minor_to_major.iter().map(|dim| Some(*dim)))
    }
}

/// Two FLOPs for each result and each element of the contracted dimensions.
pub(super) fn matrix_flops(lhs: &Shape, contracting: &[i64], results: u64) -> Option<u64> {
    let width = contracting
        .iter()
        .try_fold(1u64, |width, dim| width.checked_mul(extent(lhs, usize::try_from(*dim).ok()?)?))?;
    width.checked_mul(results)?.checked_mul(2)
}

/// The shape itself, or the first element of a tuple.
pub(super) fn first_array(shape: &Shape) -> Option<&Shape> {
    if shape.is_tuple() { shape.tuple_element(0) } else { Some(shape) }
}

fn window_size(hlo: &Instruction) -> Option<u64> {
    hlo.attributes().window.iter().try_fold(1u64, |size, dim| size.checked_mul(u64::try_from(dim.size).ok()?))
}
