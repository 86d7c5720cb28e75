//! The kernel that a question is about.

use haloscope_hlo::mosaic::Module as Mosaic;
use haloscope_hlo::{InstructionIdx, Module};
use haloscope_report::{Error, Status, Unit, Value};
use haloscope_time::analysis::{MODULE, Param, ParamKind, Params};
use haloscope_time::programs::{self, Program};
use haloscope_time::select::Scoped;

use crate::hlo::find::nearest;

pub(super) const OP: Param = Param {
    id: "op",
    doc: "the kernel: the name of its instruction, such as `flash_attention.1`, or of its function [default: the program's only or first one]",
    kind: ParamKind::Text,
    default: "",
};

/// A kernel of a program.
pub(super) struct Found<'p> {
    pub(super) program: Program<'p>,
    pub(super) index: InstructionIdx,
    pub(super) mosaic: Mosaic,
}

/// The program's kernels, in the order of its instructions.
pub(super) fn all(module: &Module) -> Vec<InstructionIdx> {
    let indices = module.instructions().map(|(index, _)| index);
    indices.filter(|index| module.mosaic(*index).is_some()).collect()
}

/// The kernel that `op` and `module` mean. Where no module is named, the first program by time that has such a kernel.
pub(super) fn find<'p>(asked: &'p Scoped<'_>, params: &Params) -> Result<Found<'p>, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    // `jit_step(7)::flash_attention.1`, as other answers name it.
    let (of_program, wanted) = match params.text(&OP).trim().rsplit_once("::") {
        Some((program, op)) => (program.split('(').next().unwrap_or_default(), op),
        None => ("", params.text(&OP).trim()),
    };
    let name = params.text(&MODULE);
    let by_time = programs::by_time(profile, asked.selection().ok());
    let chosen = programs::choose(profile, scope, name, &by_time)?;
    let mut programs = vec![chosen];
    if name.trim().is_empty() {
        let mut others = programs::in_scope(profile, scope)?;
        others.sort_by_key(|program| std::cmp::Reverse(by_time(program)));
        programs.extend(others);
    }
    let mut names = Vec::new();
    for program in programs {
        let module = &program.decoded.module;
        if !of_program.is_empty() && module.name != of_program {
            continue;
        }
        for index in all(module) {
            let Some(mosaic) = module.mosaic(index) else { continue };
            let instruction = &module.instruction(index).name;
            let is_meant = |mosaic: &Mosaic| {
                let bare = wanted.strip_prefix('%').unwrap_or(wanted);
                bare.is_empty() || bare == instruction || mosaic.kernel().is_ok_and(|k| k.name == bare)
            };
            names.push(instruction.as_str());
            match mosaic {
                Ok(mosaic) if is_meant(&mosaic) => return Ok(Found { program, index, mosaic }),
                Err(error) if wanted == instruction => {
                    return Err(Error::Nothing(format!(
                        "the module of `{instruction}` cannot be read: {error}"
                    )));
                }
                _ => {}
            }
        }
    }
    if names.is_empty() {
        return Err(Error::Nothing(
            "no program here has a Pallas kernel with its module, that is, a `tpu_custom_call` whose backend configuration has a body"
                .into(),
        ));
    }
    names.sort_unstable();
    names.dedup();
    let near = nearest(wanted, names.into_iter()).join(", ");
    Err(Error::Usage(format!("no kernel `{wanted}`; similar: {near}")))
}

impl Found<'_> {
    pub(super) fn module(&self) -> &Module {
        &self.program.decoded.module
    }

    pub(super) fn instruction(&self) -> &str {
        &self.module().instruction(self.index).name
    }

    /// What the kernel is called, and where it comes from.
    pub(super) fn values(&self) -> Vec<Value> {
        let text = |id, label, value: Option<String>, doc| {
            Value::new(id, label, value, Unit::None, Status::Measured, doc)
        };
        let kernel = self.mosaic.kernel().ok();
        let own = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        vec![
            text("op", "Kernel", own(self.instruction()), "The name of its instruction in the HLO."),
            text(
                "function",
                "Function",
                kernel.as_ref().and_then(|k| own(k.name)),
                "Its name in its own module.",
            ),
            text("module", "Module", Some(self.program.label()), "The program that calls it."),
            text(
                "core",
                "Core",
                kernel.and_then(|k| own(k.core)),
                "What it runs on: tc is the TensorCore, sc_vector_subcore a part of a SparseCore.",
            ),
        ]
    }
}
