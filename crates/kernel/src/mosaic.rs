//! The Mosaic module of a kernel that carries its LLO: what its author wrote, beside what the compiler made of it.

use haloscope_hlo::InstructionIdx;
use haloscope_hlo::mosaic::{Account, Kernel, Module, Role};
use haloscope_profile::{Profile, split_label};

use crate::subject::Subject;

/// What the HLO of a run says of a kernel.
#[derive(Debug)]
pub struct Source {
    /// Its Mosaic module.
    pub module: Module,
    /// What it computes and moves in one execution.
    pub account: Account,
    /// Whether all of its operands and results lie in HBM. XLA may keep some in the vector memory: then nothing of them is copied.
    pub is_in_hbm: bool,
}

/// What the HLO of a run says that an op with LLO is.
#[derive(Debug)]
pub enum Found {
    /// A Pallas kernel.
    Kernel(Box<Source>),
    /// Something else: a fusion, a copy, a library's call.
    Other,
    /// The run has no HLO of it that can be read; or several programs of its name have another one, and LLO does not say which it
    /// is of.
    Unknown,
}

impl Found {
    /// What is said of a Pallas kernel.
    #[must_use]
    pub fn kernel(self) -> Option<Source> {
        match self {
            Self::Kernel(source) => Some(*source),
            Self::Other | Self::Unknown => None,
        }
    }
}

/// What an op with LLO is, by the HLO of the run.
#[must_use]
pub fn of(profile: &Profile, subject: &Subject<'_>) -> Found {
    let label = subject.name.rsplit_once("::").map_or("", |(module, _)| module);
    let name = split_label(label).0;
    let mut chosen: Option<(Vec<u8>, Found)> = None;
    for entry in profile.modules.iter().filter(|entry| entry.name == name) {
        let Ok(decoded) = entry.decode(profile) else { continue };
        let hlo_module = &decoded.module;
        let Some((index, hlo)) = decoded.module.instructions().find(|(_, hlo)| hlo.name == subject.module.op)
        else {
            continue;
        };
        let body = body(hlo_module, index);
        if let Some((former, _)) = &chosen {
            if *former != body {
                return Found::Unknown;
            }
            continue;
        }
        let is_kernel = hlo.attributes().custom_call_target.as_deref() == Some("tpu_custom_call");
        let found = match source(hlo_module, index, &body) {
            Some(source) => Found::Kernel(Box::new(source)),
            None if is_kernel => Found::Unknown,
            None => Found::Other,
        };
        chosen = Some((body, found));
    }
    chosen.map_or(Found::Unknown, |(_, found)| found)
}

/// The serialised module of a kernel; empty for what has none.
fn body(module: &haloscope_hlo::Module, index: InstructionIdx) -> Vec<u8> {
    let attributes = module.instruction(index).attributes();
    haloscope_hlo::mosaic::body(&attributes.backend_config).ok().flatten().unwrap_or_default()
}

fn source(hlo: &haloscope_hlo::Module, index: InstructionIdx, body: &[u8]) -> Option<Source> {
    let module = Module::decode(body).ok()?;
    let account = hlo.kernel_account(index, &module.kernel().ok()?);
    let instruction = hlo.instruction(index);
    let operands = instruction.operands.iter().flat_map(|operand| hlo.instruction(*operand).shape.leaves());
    let is_in_hbm = operands.chain(instruction.shape.leaves()).all(|shape| shape.memory_space() == 0);
    Some(Source { module, account, is_in_hbm })
}

/// What a kernel is cut into, part by part in words: a grid, blocks, scratch, memory, loops, products.
#[must_use]
pub fn parts(kernel: &Kernel<'_>) -> Vec<(String, String)> {
    let number = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let mut parts = Vec::new();
    let grid: Vec<String> = kernel
        .grid
        .iter()
        .map(|dimension| match dimension.semantics {
            "" => number(dimension.extent),
            semantics => format!("{} {semantics}", number(dimension.extent)),
        })
        .collect();
    parts.push(("grid".to_owned(), if grid.is_empty() { "none".to_owned() } else { grid.join(" x ") }));
    for (index, argument) in kernel.arguments.iter().enumerate() {
        let word = match argument.role {
            Role::Place => continue,
            Role::Prefetch => "prefetched scalars",
            Role::Operand => "block",
            Role::Scratch => "scratch",
        };
        let window = argument.window.as_ref().map(|window| {
            let extents: Vec<String> = window.block.iter().map(|extent| number(*extent)).collect();
            let mode = if window.mode.is_empty() { "pipelined" } else { window.mode };
            format!(", window {}, {mode}", extents.join("x"))
        });
        let words = format!("{} in {}{}", argument.ty, argument.space, window.unwrap_or_default());
        parts.push((format!("{word} {index}"), words));
    }
    for (index, (space, ty, _)) in kernel.allocations().into_iter().enumerate() {
        parts.push((format!("memory inside {index}"), format!("{ty} in {space}")));
    }
    for (index, one) in kernel.loops().into_iter().enumerate() {
        let words =
            format!("{} trips, {} deep, {} products inside", number(one.trips), one.depth, one.products);
        parts.push((format!("loop {index}"), words));
    }
    for (index, product) in kernel.products().into_iter().enumerate() {
        let [left, right, result] = &product.types;
        let gate = if product.is_gated { ", in a branch" } else { "" };
        parts.push((format!("product {index}"), format!("{left} x {right} -> {result}{gate}")));
    }
    parts
}
