//! What stands behind the operands.

mod opcode;

use std::fmt;

use super::escape::Name;
use super::{TextOptions, escape, number, sharding, wrapped::wrapped};
use crate::{index::ComputationIdx, instruction::Instruction, module::Module, opcode::Opcode, rare::Rare};

/// All attributes in the order in which XLA writes them.
pub(super) fn all(module: &Module, instruction: &Instruction, options: &TextOptions) -> Vec<String> {
    let no_rare = Rare::default();
    let rare = instruction.attributes().rare.as_deref().unwrap_or(&no_rare);
    let mut list = List { texts: Vec::new(), module, instruction, rare, options };
    list.of_opcode();
    list.called();
    list.common(true);
    list.texts
}

struct List<'a> {
    texts: Vec<String>,
    module: &'a Module,
    instruction: &'a Instruction,
    rare: &'a Rare,
    options: &'a TextOptions,
}

impl List<'_> {
    fn add(&mut self, key: &str, value: impl fmt::Display) {
        self.texts.push(format!("{key}={value}"));
    }

    fn add_if(&mut self, is_there: bool, key: &str, value: impl fmt::Display) {
        if is_there {
            self.add(key, value);
        }
    }

    fn name(&self, computation: ComputationIdx) -> String {
        let percent = if self.options.percent { "%" } else { "" };
        format!("{percent}{}", Name(&self.module.computation(computation).name))
    }

    fn names(&self, computations: &[ComputationIdx]) -> String {
        computations.iter().map(|c| self.name(*c)).collect::<Vec<_>>().join(", ")
    }

    /// Computations that the instruction calls.
    fn called(&mut self) {
        use Opcode as O;
        let named = self.options.subcomputations;
        let called = self.instruction.called_computations.as_slice();
        let called = if named { called } else { &[] };
        match (self.instruction.opcode, called) {
            (_, []) | (O::AsyncUpdate | O::AsyncDone, _) => {}
            (O::While, [body, condition, ..]) => {
                self.add("condition", self.name(*condition));
                self.add("body", self.name(*body));
            }
            (O::SelectAndScatter, [select, scatter, ..]) => {
                self.add("select", self.name(*select));
                self.add("scatter", self.name(*scatter));
            }
            (O::Conditional, [first, second, ..]) if self.is_two_way() => {
                self.add("true_computation", self.name(*first));
                self.add("false_computation", self.name(*second));
            }
            (O::Conditional, _) => {
                self.add("branch_computations", format!("{{{}}}", self.names(called)));
            }
            (
                O::Call
                | O::Map
                | O::ReduceWindow
                | O::Reduce
                | O::AllReduce
                | O::ReduceScatter
                | O::AllReduceStart
                | O::Scatter
                | O::Sort,
                [first, ..],
            ) => self.add("to_apply", self.name(*first)),
            (O::CustomCall, _) => self.add("called_computations", format!("{{{}}}", self.names(called))),
            (O::AsyncStart, [first, ..]) => {
                if wrapped(self.module, self.instruction, self.options).is_none() {
                    self.add("calls", self.name(*first));
                }
            }
            _ => self.add("calls", self.names(called)),
        }
        let is_composite = self.instruction.opcode == O::Call && self.rare.is_composite;
        self.add_if(named && is_composite, "is_composite", true);
    }

    fn is_two_way(&self) -> bool {
        let selector = self.instruction.operands.first().map(|o| self.module.instruction(*o));
        selector.is_some_and(|s| s.shape.element_type == crate::ElementType::Pred)
    }

    /// Attributes that any instruction can have, with or without those of the framework.
    fn common(&mut self, with_frontend: bool) {
        let attributes = self.instruction.attributes();
        if let Some(bytes) = &attributes.sharding
            && let Some(text) = sharding::text(bytes, self.options.metadata)
        {
            self.add("sharding", text);
        }
        if with_frontend && !attributes.frontend_attributes.is_empty() {
            self.add("frontend_attributes", frontend_attributes(&attributes.frontend_attributes));
        }
        let predecessors = &self.instruction.control_predecessors;
        if self.options.control_dependencies && !predecessors.is_empty() {
            let percent = if self.options.percent { "%" } else { "" };
            let names: Vec<String> = predecessors
                .iter()
                .map(|p| format!("{percent}{}", Name(&self.module.instruction(*p).name)))
                .collect();
            self.add("control-predecessors", format!("{{{}}}", names.join(", ")));
        }
        if !attributes.statistics.is_empty() {
            let all: Vec<String> = attributes
                .statistics
                .iter()
                .map(|(name, value)| format!("{}={}", Name(name), number::general(*value, 6)))
                .collect();
            let index = self.rare.visualized_statistic;
            self.add("statistics", format!("{{visualizing_index={index},{}}}", all.join(",")));
        }
        if let Some(accuracy) =
            self.rare.result_accuracy.filter(|_| self.instruction.opcode.is_transcendental())
        {
            match (accuracy.mode, accuracy.tolerance) {
                (Some(mode @ 1..), _) => {
                    self.add(
                        "result_accuracy",
                        format!("{{mode={}}}", name_of(mode, &["default", "highest"])),
                    );
                }
                (_, Some(t)) => {
                    let [absolute, relative] = [t.atol, t.rtol].map(|v| number::general(v, 6));
                    let text = format!("{{tolerance={{atol={absolute},rtol={relative},ulps={}}}}}", t.ulps);
                    self.add("result_accuracy", text);
                }
                _ => {}
            }
        }
    }
}

pub(super) fn frontend_attributes(attributes: &std::collections::BTreeMap<String, String>) -> String {
    let items: Vec<String> =
        attributes.iter().map(|(key, value)| format!("{key}={}", escape::value(value.as_bytes()))).collect();
    format!("{{{}}}", items.join(","))
}

/// Word number `number` of a list; empty past its end.
fn name_of<'a>(number: i32, words: &[&'a str]) -> &'a str {
    usize::try_from(number).ok().and_then(|number| words.get(number)).copied().unwrap_or_default()
}

pub(crate) const API_VERSIONS: &[&str] = &[
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];

/// Names of `PrecisionConfig.Algorithm`, in lower case and without `ALG_`.
pub(crate) const DOT_ALGORITHMS: &[&str] = &[
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
    "dot_bf16_bf16_fp8x3",
    "dot_bf16_bf16_fp8x4",
];
