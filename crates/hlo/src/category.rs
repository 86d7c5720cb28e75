//! The category that profiles show for an instruction (`hlo_category`).

use crate::{
    instruction::{FusionKind, Instruction},
    module::Module,
    opcode::Opcode,
};

impl Module {
    /// The category that XLA, and XProf after it, prints for an instruction, for instance `convolution fusion`,
    /// `data formatting` or `all-reduce`.
    ///
    /// A profile's own `hlo_category` comes from the compiler that made it and is to be preferred. The rules here:
    /// fusions by what they hold (`convolution fusion`, `all-reduce-scatter fusion`) or else by kind (`loop fusion`,
    /// `input fusion`, `output fusion`, `custom fusion`); convolutions with `base-dilated` or `window-dilated` added;
    /// copies, transposes and reshapes are `data formatting`; elementwise ones `non-fusion elementwise`; all others
    /// their opcode.
    #[must_use]
    pub fn category<'i>(&self, instruction: &'i Instruction) -> &'i str {
        match instruction.opcode {
            Opcode::Fusion => self.fusion_category(instruction),
            Opcode::Convolution => convolution_category(instruction),
            Opcode::Copy | Opcode::Transpose | Opcode::Reshape | Opcode::DynamicReshape => "data formatting",
            Opcode::BitcastConvert if self.changes_width(instruction) => instruction.opcode_name(),
            Opcode::Map => "non-fusion elementwise",
            opcode if opcode.is_elementwise() => "non-fusion elementwise",
            _ => instruction.opcode_name(),
        }
    }

    /// The category of an instruction as XLA itself has it, which XProf shows where the profile names none: for
    /// instructions on a GPU and for those inside fusions. Differs from [`Module::category`], which follows what TPU's
    /// compiler writes, in that a fusion is named by its kind alone, and that constants and random numbers count as
    /// elementwise.
    #[must_use]
    pub fn xla_category<'i>(&self, instruction: &'i Instruction) -> &'i str {
        match instruction.opcode {
            Opcode::Fusion => fusion_kind(instruction),
            Opcode::Constant | Opcode::Rng => "non-fusion elementwise",
            _ => self.category(instruction),
        }
    }

    fn changes_width(&self, instruction: &Instruction) -> bool {
        let operand =
            instruction.operands.first().map(|idx| self.instruction(*idx).shape.element_type.bits());
        operand != Some(instruction.shape.element_type.bits())
    }

    fn fusion_category(&self, fusion: &Instruction) -> &'static str {
        let kind = fusion.attributes().fusion_kind.as_ref();
        let mut inner = Inner::default();
        for computation in &fusion.called_computations {
            for reached in self.reachable_computations(*computation) {
                for index in self.computation(reached).instructions() {
                    inner.add(self.instruction(index).opcode);
                }
            }
        }
        // TPU's reduce-scatter is an all-reduce that is sliced afterwards, fused by the backend.
        if kind == Some(&FusionKind::Custom)
            && (inner.reduce_scatter || inner.all_reduce && inner.dynamic_slice)
        {
            return "all-reduce-scatter fusion";
        }
        match kind {
            Some(FusionKind::Custom) => "custom fusion",
            _ if inner.convolution => "convolution fusion",
            _ => fusion_kind(fusion),
        }
    }
}

fn fusion_kind(fusion: &Instruction) -> &'static str {
    match fusion.attributes().fusion_kind {
        Some(FusionKind::Loop) => "loop fusion",
        Some(FusionKind::Input) => "input fusion",
        Some(FusionKind::Output) => "output fusion",
        Some(FusionKind::Custom) => "custom fusion",
        Some(FusionKind::Other(_)) | None => "fusion",
    }
}

/// What a fusion's body holds.
#[derive(Default)]
struct Inner {
    convolution: bool,
    reduce_scatter: bool,
    all_reduce: bool,
    dynamic_slice: bool,
}

impl Inner {
    fn add(&mut self, opcode: Opcode) {
        match opcode {
            Opcode::Convolution | Opcode::Dot => self.convolution = true,
            Opcode::ReduceScatter => self.reduce_scatter = true,
            Opcode::AllReduce => self.all_reduce = true,
            Opcode::DynamicSlice => self.dynamic_slice = true,
            _ => {}
        }
    }
}

fn convolution_category(instruction: &Instruction) -> &'static str {
    let window = &instruction.attributes().window;
    let base = window.iter().any(|dim| dim.base_dilation > 1);
    let dilated = window.iter().any(|dim| dim.window_dilation > 1);
    match (base, dilated) {
        (false, false) => "convolution",
        (true, false) => "convolution base-dilated",
        (false, true) => "convolution window-dilated",
        (true, true) => "convolution base-dilated window-dilated",
    }
}
