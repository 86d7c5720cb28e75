//! What an op does: matrix product, convolution, kernel, elementwise, reduction, data movement, communication.
//!
//! The compiler's category does not tell: TPU's writes every matrix product as a convolution, and fusions are named after
//! their kind. Where the HLO is at hand an op is what its body holds; else the framework's name decides, then the category.

use haloscope_hlo::{Instruction, InstructionIdx, Module, Opcode};
use rustc_hash::FxHashMap;

use super::op_meta::{OpMeta, is_asynchronous, is_collective, is_container, is_off_duty};
use super::phase::components;
use super::tensor_cores;
use haloscope_profile::Profile;

/// What an op does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A product of matrices, whatever the compiler calls it.
    Matmul,
    /// A convolution that is no product of matrices.
    Convolution,
    /// One of both, and nothing says which.
    Product,
    /// A kernel that computes attention.
    Attention,
    /// A kernel that multiplies groups of rows, each by its own matrix: experts.
    GroupedMatmul,
    /// Another kernel that the compiler did not make.
    Kernel,
    /// A sum or maximum over a dimension, alone or with elementwise work.
    Reduction,
    /// One result for each element.
    Elementwise,
    /// Copies, changes of layout, slices, gathers, scatters.
    DataMovement,
    /// Sorting, random numbers, Fourier transforms and the like.
    Other,
    /// Between devices.
    Collective,
    /// To, from, or waiting for the host.
    HostTransfer,
    /// The start of, or the wait for, an asynchronous copy.
    AsyncCopy,
    /// Own time of loops, calls and branches: what is left when the ops inside are taken off.
    Control,
    /// Nobody knows.
    Unknown,
}

impl Class {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Matmul => "matmul",
            Self::Convolution => "convolution",
            Self::Product => "matmul or convolution",
            Self::Attention => "attention kernel",
            Self::GroupedMatmul => "grouped matmul",
            Self::Kernel => "custom kernel",
            Self::Reduction => "reduction",
            Self::Elementwise => "elementwise",
            Self::DataMovement => "data movement",
            Self::Other => "other compute",
            Self::Collective => "collective",
            Self::HostTransfer => "host transfer",
            Self::AsyncCopy => "asynchronous copy",
            Self::Control => "control flow",
            Self::Unknown => "unknown",
        }
    }

    /// Whether its FLOPs and bytes pass in its own time, so that a limit of the roofline applies.
    #[must_use]
    pub fn has_limits(self) -> bool {
        !matches!(self, Self::Collective | Self::HostTransfer | Self::AsyncCopy | Self::Control)
    }

    /// Whether its work is for the matrix unit: products, convolutions, attention.
    #[must_use]
    pub fn multiplies(self) -> bool {
        self.is_matmul() || matches!(self, Self::Convolution | Self::Product | Self::Attention)
    }

    /// Whether it multiplies matrices, one or many.
    #[must_use]
    pub fn is_matmul(self) -> bool {
        matches!(self, Self::Matmul | Self::GroupedMatmul)
    }
}

/// The programs of a profile, by id, as far as they can be decoded.
#[derive(Debug, Default)]
pub struct Bodies<'p> {
    modules: FxHashMap<u64, &'p Module>,
}

impl<'p> Bodies<'p> {
    /// Those of these programs.
    #[must_use]
    pub fn of(profile: &'p Profile, ids: impl IntoIterator<Item = u64>) -> Self {
        let mut modules: FxHashMap<u64, &'p Module> = FxHashMap::default();
        for id in ids {
            if modules.contains_key(&id) {
                continue;
            }
            let mut entries = profile.modules.iter().filter(|m| m.program_id == Some(id));
            let decoded = entries.find_map(|m| m.decode(profile).ok());
            modules.extend(decoded.map(|decoded| (id, &decoded.module)));
        }
        Self { modules }
    }

    /// The instruction behind an op.
    #[must_use]
    pub fn find(&self, op: &OpMeta<'_>) -> Option<(&'p Module, InstructionIdx)> {
        let module = self.modules.get(&op.program_id?)?;
        module.instruction_by_name(&op.name).map(|index| (*module, index))
    }

    /// What an op does.
    #[must_use]
    pub fn class(&self, op: &OpMeta<'_>) -> Class {
        let category = op.category.as_ref();
        if is_container(category) {
            return Class::Control;
        }
        if is_collective(category, &op.name) {
            return Class::Collective;
        }
        if matches!(category, "async-start" | "async-update" | "async-done" | "copy-start" | "copy-done") {
            return if op.expression.contains("S(5)") { Class::HostTransfer } else { Class::AsyncCopy };
        }
        if is_off_duty(category) || category == "memcpy" {
            return Class::HostTransfer;
        }
        if is_asynchronous(category) {
            return Class::AsyncCopy;
        }
        match self.find(op) {
            Some((module, index)) => by_body(module, index, op),
            None => by_name(op),
        }
    }
}

/// The instructions that make an op: itself, or what its fusion holds, nested fusions included.
pub fn body(module: &Module, index: InstructionIdx) -> Vec<InstructionIdx> {
    let hlo = module.instruction(index);
    if hlo.opcode != Opcode::Fusion {
        return vec![index];
    }
    let mut all = Vec::new();
    for called in &hlo.called_computations {
        for reached in module.reachable_computations(*called) {
            all.extend(module.computation(reached).instructions());
        }
    }
    all
}

fn by_body(module: &Module, index: InstructionIdx, op: &OpMeta<'_>) -> Class {
    let rank = |class: Class| match class {
        Class::Attention | Class::GroupedMatmul => 8,
        Class::Matmul => 7,
        Class::Convolution => 6,
        Class::Kernel => 5,
        Class::Other => 4,
        Class::Reduction => 3,
        Class::Elementwise => 2,
        // A collective that shares a fusion with work is carried on beside it.
        Class::Collective => 1,
        _ => 0,
    };
    let parts = body(module, index);
    let classes = parts.into_iter().filter_map(|part| part_class(module, part, op));
    classes.max_by_key(|class| rank(*class)).unwrap_or(Class::DataMovement)
}

/// What one instruction does; `None` for those that cost nothing.
fn part_class(module: &Module, index: InstructionIdx, op: &OpMeta<'_>) -> Option<Class> {
    let hlo = module.instruction(index);
    Some(match hlo.opcode {
        Opcode::Parameter
        | Opcode::Constant
        | Opcode::Bitcast
        | Opcode::Tuple
        | Opcode::GetTupleElement
        | Opcode::Iota
        | Opcode::Broadcast => return None,
        opcode if opcode.is_collective() => Class::Collective,
        Opcode::RaggedDot => Class::GroupedMatmul,
        Opcode::Dot => Class::Matmul,
        Opcode::Convolution if module.matmul(index).is_some() => Class::Matmul,
        Opcode::Convolution => Class::Convolution,
        Opcode::CustomCall => of_kernel(hlo, op),
        Opcode::Reduce | Opcode::ReduceWindow => Class::Reduction,
        Opcode::Copy
        | Opcode::Transpose
        | Opcode::Reshape
        | Opcode::Slice
        | Opcode::DynamicSlice
        | Opcode::DynamicUpdateSlice
        | Opcode::Pad
        | Opcode::Concatenate
        | Opcode::Reverse
        | Opcode::Gather
        | Opcode::Scatter => Class::DataMovement,
        opcode if opcode.is_elementwise() => Class::Elementwise,
        Opcode::Map | Opcode::ReducePrecision => Class::Elementwise,
        Opcode::Fusion => return None,
        _ => Class::Other,
    })
}

fn of_kernel(hlo: &Instruction, op: &OpMeta<'_>) -> Class {
    let target = hlo.attributes().custom_call_target.as_deref().unwrap_or_default();
    let name = hlo.op_name().unwrap_or(&op.framework_op);
    let is_no_kernel =
        ["AllocateBuffer", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"].contains(&target);
    let otherwise = if is_no_kernel { Class::Other } else { Class::Kernel };
    kernel(target).or_else(|| kernel(last(name))).or_else(|| kernel(&hlo.name)).unwrap_or(otherwise)
}

/// The op itself, without its scopes.
fn last(path: &str) -> &str {
    components(path).last().unwrap_or_default()
}

/// What a kernel of this name computes, where the name tells.
#[must_use]
pub fn kernel(name: &str) -> Option<Class> {
    let lower = name.to_ascii_lowercase();
    let has =
        |words: &[&str]| lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word));
    match () {
        () if has(&["gmm", "tgmm", "megablox", "megablocks"]) || lower.contains("ragged_dot") => {
            Some(Class::GroupedMatmul)
        }
        () if has(&["attention", "attn", "mha", "mqa", "fmha", "flash", "splash"])
            || lower.contains("flash_attention")
            || lower.contains("flashattention") =>
        {
            Some(Class::Attention)
        }
        () if has(&["gemm", "matmul", "cublas", "cutlass", "dot", "cijk"]) => Some(Class::Matmul),
        () if has(&["conv", "convolution", "cudnn", "dgrad", "wgrad", "fprop"]) => Some(Class::Convolution),
        () => None,
    }
}

fn by_name(op: &OpMeta<'_>) -> Class {
    let base = last(&op.framework_op);
    let product = match () {
        () if base.starts_with("dot_general") || base.ends_with("MatMul") || base.starts_with("dot") => {
            Some(Class::Matmul)
        }
        () if base.starts_with("ragged_dot") => Some(Class::GroupedMatmul),
        () if base.starts_with("conv_general_dilated") || base.starts_with("Conv") => {
            Some(Class::Convolution)
        }
        () => None,
    };
    match op.category.as_ref() {
        "convolution" | "convolution fusion" => product.unwrap_or(Class::Product),
        "dot" => Class::Matmul,
        "ragged-dot" => Class::GroupedMatmul,
        category if category.contains("custom-call") || category == "custom fusion" => {
            kernel(base).or_else(|| kernel(&op.name)).unwrap_or(Class::Kernel)
        }
        "kernel without HLO op" => of_kernel_name(&op.name).unwrap_or(Class::Unknown),
        "data formatting"
        | "memset"
        | "copy"
        | "slice"
        | "dynamic-slice"
        | "dynamic-update-slice"
        | "gather"
        | "scatter"
        | "concatenate"
        | "pad"
        | "broadcast"
        | "transpose"
        | "reshape" => Class::DataMovement,
        "non-fusion elementwise" => Class::Elementwise,
        "reduce" | "reduce-window" => Class::Reduction,
        category if category.ends_with("fusion") => product.unwrap_or(match () {
            () if base.starts_with("reduce") || base.starts_with("arg") => Class::Reduction,
            () if base.starts_with("dynamic_")
                || base.starts_with("gather")
                || base.starts_with("scatter") =>
            {
                Class::DataMovement
            }
            () => Class::Elementwise,
        }),
        "" => product.unwrap_or(Class::Unknown),
        _ => Class::Other,
    }
}

/// GPU kernels that no HLO op launched: TensorFlow's and the libraries' own.
fn of_kernel_name(name: &str) -> Option<Class> {
    let lower = name.to_ascii_lowercase();
    kernel(name).or_else(|| match () {
        () if lower.contains("gemm") || lower.starts_with("cijk") => Some(Class::Matmul),
        () if ["conv", "wgrad", "dgrad"].iter().any(|part| lower.contains(part)) => Some(Class::Convolution),
        () if tensor_cores::used_by(Some("Nvidia"), name) => Some(Class::Product),
        () if lower.contains("reduce") => Some(Class::Reduction),
        () if lower.contains("elementwise") || lower.contains("cwise") => Some(Class::Elementwise),
        () => None,
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn op(name: &str, category: &str, framework_op: &str) -> OpMeta<'static> {
        OpMeta {
            name: Cow::Owned(name.to_owned()),
            category: Cow::Owned(category.to_owned()),
            framework_op: Cow::Owned(framework_op.to_owned()),
            ..OpMeta::default()
        }
    }

    #[test]
    fn an_op_is_what_its_body_holds() {
        let text = "HloModule m

sum { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }

product { a = f32[8,2048]{1,0} parameter(0)
  b = f32[1024,8]{1,0} parameter(1)
  c = f32[2048,1024]{1,0} convolution(a, b), dim_labels=fb_oi->bf
  ROOT n = f32[2048,1024]{1,0} negate(c) }

image { a = f32[2,8,8,4]{3,2,1,0} parameter(0)
  b = f32[3,3,4,16]{3,2,1,0} parameter(1)
  ROOT c = f32[2,8,8,16]{3,2,1,0} convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }

total { a = f32[64]{0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=sum }

move { a = f32[64,32]{1,0} parameter(0)
  ROOT t = f32[32,64]{1,0} transpose(a), dimensions={1,0} }

ENTRY e {
  p = f32[8,2048]{1,0} parameter(0)
  q = f32[1024,8]{1,0} parameter(1)
  i = f32[2,8,8,4]{3,2,1,0} parameter(2)
  k = f32[3,3,4,16]{3,2,1,0} parameter(3)
  v = f32[64]{0} parameter(4)
  w = f32[64,32]{1,0} parameter(5)
  f1 = f32[2048,1024]{1,0} fusion(p, q), kind=kOutput, calls=product
  f2 = f32[2,8,8,16]{3,2,1,0} fusion(i, k), kind=kOutput, calls=image
  f3 = f32[] fusion(v), kind=kInput, calls=total
  f4 = f32[32,64]{1,0} fusion(w), kind=kLoop, calls=move
  f5 = f32[64]{0} custom-call(v), custom_call_target=\"tpu_custom_call\", metadata={op_name=\"jit(f)/moe/gmm\"}
  f6 = f32[64]{0} custom-call(v), custom_call_target=\"tpu_custom_call\"
  ROOT o = (f32[]) tuple(f3)
}
";
        let module = Module::parse(text).unwrap();
        let bodies = Bodies { modules: std::iter::once((7, &module)).collect() };
        let class = |name: &str| {
            let meta = OpMeta { program_id: Some(7), ..op(name, "convolution fusion", "") };
            bodies.class(&meta)
        };
        assert_eq!(class("f1"), Class::Matmul);
        assert_eq!(class("f2"), Class::Convolution);
        assert_eq!(class("f3"), Class::Reduction);
        assert_eq!(class("f4"), Class::DataMovement);
        assert_eq!(class("f5"), Class::GroupedMatmul);
        assert_eq!(class("f6"), Class::Kernel);
        assert_eq!(class("absent"), Class::Product);
    }

    #[test]
    fn without_a_program_names_decide() {
        let none = Bodies::default();
        let class = |name, category, path| none.class(&op(name, category, path));
        assert_eq!(class("fusion.1", "convolution fusion", "jit(f)/jvp(a)/dot_general"), Class::Matmul);
        assert_eq!(
            class("fusion.1", "convolution fusion", "jit(f)/conv_general_dilated"),
            Class::Convolution
        );
        assert_eq!(class("fusion.1", "convolution fusion", ""), Class::Product);
        assert_eq!(class("while.1", "while", "jit(f)/while"), Class::Control);
        assert_eq!(class("all-reduce.1", "all-reduce", ""), Class::Collective);
        assert_eq!(class("copy-done.1", "copy-done", ""), Class::AsyncCopy);
        assert_eq!(class("custom-call.1", "custom-call", "jit(f)/splash_mha_fwd"), Class::Attention);
        assert_eq!(class("volta_h884gemm_128x64", "kernel without HLO op", ""), Class::Matmul);
        assert_eq!(class("fusion.1", "loop fusion", "jit(f)/reduce_sum"), Class::Reduction);
        // A scope called `attention` makes no attention kernel of an elementwise op.
        assert_eq!(class("fusion.1", "loop fusion", "jit(f)/attention/mul"), Class::Elementwise);
    }
}
