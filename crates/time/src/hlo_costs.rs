//! What the embedded HLO says of an op, for profiles whose events do not: category, FLOPs, bytes, scope, source.

use std::borrow::Cow;
use std::sync::Arc;

use haloscope_hlo::{FileLocation, Instruction, KernelCost, SourceFrame};

use super::op_meta::OpMeta;
use haloscope_profile::{Decoded, Device, HloModule, HostId, Profile};

/// Looks ops up in the HLO modules of a device's host. Modules are decoded when an op of theirs is asked for.
#[derive(Debug)]
pub struct Costs<'p> {
    profile: &'p Profile,
    modules: Vec<&'p HloModule>,
}

impl<'p> Costs<'p> {
    /// The modules of the device's host.
    #[must_use]
    pub fn new(profile: &'p Profile, device: &Device) -> Self {
        Self::of_host(profile, device.host)
    }

    /// The modules of a host.
    #[must_use]
    pub fn of_host(profile: &'p Profile, host: HostId) -> Self {
        Self { profile, modules: profile.modules.iter().filter(|m| m.host == host).collect() }
    }

    /// What the module of a Pallas kernel says that it does; `None` where the op is no such kernel, or its program or its
    /// module is not in the profile.
    #[must_use]
    pub fn kernel(&self, program_id: u64, name: &str) -> Option<&'p Arc<KernelCost>> {
        let decoded = self.module(program_id)?;
        decoded.costs.kernel(decoded.module.instruction_by_name(name)?)
    }

    fn module(&self, program_id: u64) -> Option<&'p Decoded> {
        let module = self.modules.iter().find(|m| m.program_id == Some(program_id))?;
        module.decode(self.profile).ok()
    }

    /// The program of this id, where the profiler embedded it.
    #[must_use]
    pub fn program(&self, program_id: u64) -> Option<&'p haloscope_hlo::Module> {
        self.module(program_id).map(|decoded| &decoded.module)
    }

    /// The instruction of this name in the program of this id, where the profiler embedded it.
    #[must_use]
    pub fn instruction(&self, program_id: u64, name: &str) -> Option<&'p Instruction> {
        let module = &self.module(program_id)?.module;
        module.instruction_by_name(name).map(|index| module.instruction(index))
    }

    /// The call stack of an instruction, innermost frame first, where the module has one or the instruction's own place;
    /// `None` where it has neither.
    #[must_use]
    pub fn stack(&self, program_id: u64, name: &str) -> Option<Vec<SourceFrame<'p>>> {
        let module = &self.module(program_id)?.module;
        let metadata = module.instruction(module.instruction_by_name(name)?).metadata.as_ref()?;
        let frames = metadata.stack_frame_id.map(|id| module.stack_frames.stack(id)).unwrap_or_default();
        if !frames.is_empty() {
            return Some(frames);
        }
        let file = metadata.source_file.as_deref()?;
        let line = metadata.source_line.unwrap_or_default();
        Some(vec![SourceFrame {
            file,
            function: "",
            location: FileLocation { line, ..FileLocation::default() },
        }])
    }

    /// Fills in what the HLO knows. FLOPs are those of XLA's cost analysis, transcendentals not among them; bytes are
    /// operands and output, which on GPU and CPU pass through memory.
    pub fn fill(&self, meta: &mut OpMeta<'p>) {
        let Some(decoded) = meta.program_id.and_then(|id| self.module(id)) else { return };
        let module = &decoded.module;
        let Some(index) = module.instruction_by_name(&meta.name) else { return };
        let instruction = module.instruction(index);
        meta.category = Cow::Borrowed(module.category(instruction));
        let cost = decoded.costs.instruction(index);
        meta.flops = cost.flops.map(|v| v as f64);
        meta.bytes = cost.bytes_accessed.map(|v| v as f64);
        meta.hbm_bytes = meta.bytes;
        meta.expression = Cow::Owned(format!("{} {}", instruction.shape, instruction.opcode_name()));
        if let Some(metadata) = &instruction.metadata {
            if let Some(op_name) = &metadata.op_name {
                meta.framework_op = Cow::Borrowed(op_name);
            }
            meta.deduplicated_name =
                metadata.deduplicated_name.as_deref().map(Cow::Borrowed).unwrap_or_default();
            meta.source = source_line(module, metadata);
        }
    }
}

/// `file:line` of an instruction: its own where it has one, else that of the innermost frame of its stack; empty where it has
/// neither.
#[must_use]
pub fn source_line<'p>(
    module: &'p haloscope_hlo::Module,
    metadata: &'p haloscope_hlo::Metadata,
) -> Cow<'p, str> {
    if let Some(file) = &metadata.source_file {
        return metadata.source_line.map_or(Cow::Borrowed(file), |line| Cow::Owned(format!("{file}:{line}")));
    }
    let frames = metadata.stack_frame_id.map(|id| module.stack_frames.stack(id)).unwrap_or_default();
    let frame = frames.first();
    frame.map_or(Cow::Borrowed(""), |f| Cow::Owned(format!("{}:{}", f.file, f.location.line)))
}
