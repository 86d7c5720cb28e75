//! Ops that change the type of values and do nothing else.

use haloscope_hlo::{ElementType, InstructionIdx, Module, Opcode};

use super::{ByName, Kind, Row};
use crate::compute::facts::Fact;
use crate::value_flow::origin;
use haloscope_report::Status;
use haloscope_time::op_class::body;

pub(super) fn rows<'f, 'a, 'p>(
    facts: &'f [Fact<'a, 'p>],
    by_name: &ByName<'f, 'a, 'p>,
) -> Vec<Row<'f, 'a, 'p>> {
    let row = |fact: &'f Fact<'a, 'p>| {
        let (what, detail) = match fact.hlo {
            Some((module, index)) => {
                let (from, to) = cast(module, index)?;
                let first = module.instruction(index).operands.first();
                let producer = first.map(|operand| origin(module, *operand).instruction);
                let back = producer.filter(|producer| cast(module, *producer) == Some((to, from)));
                let detail = format!("{} to {}", from.name(), to.name());
                match back {
                    Some(producer) => {
                        let name = &module.instruction(producer).name;
                        let is_timed = by_name.contains_key(&(fact.op.meta.program_id, name.as_str()));
                        let own = if is_timed { "a row of its own" } else { "not timed" };
                        ("there and back", format!("{detail}, undoes {name} ({own})"))
                    }
                    None => ("", detail),
                }
            }
            None if fact.op.meta.expression.contains(" convert(") => ("", String::new()),
            None => return None,
        };
        Some(Row {
            kind: Kind::Cast,
            what: what.to_owned(),
            fact,
            self_ps: fact.op.self_ps,
            wasted_ps: Some(fact.op.self_ps as f64),
            bytes: fact.hbm_bytes(),
            detail,
            status: Status::Derived,
        })
    };
    facts.iter().filter_map(row).collect()
}

/// From which type to which an instruction casts, if it does nothing else: its body holds conversions and what costs
/// nothing, changes of layout among them.
fn cast(module: &Module, index: InstructionIdx) -> Option<(ElementType, ElementType)> {
    let mut found = None;
    for part in body(module, index) {
        let hlo = module.instruction(part);
        match hlo.opcode {
            Opcode::Convert => {
                let from = module.instruction(*hlo.operands.first()?).shape.element_type;
                let types = (from, hlo.shape.element_type);
                // Two conversions of different kinds are two values, or a rounding: not one cast.
                if *found.get_or_insert(types) != types {
                    return None;
                }
            }
            Opcode::Parameter
            | Opcode::Bitcast
            | Opcode::Tuple
            | Opcode::GetTupleElement
            | Opcode::Copy
            | Opcode::Transpose
            | Opcode::Reshape => {}
            _ => return None,
        }
    }
    found.filter(|(from, to)| from != to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_and_nothing_else() {
        let text = "HloModule m

narrow { a = f32[64]{0} parameter(0)
  ROOT c = bf16[64]{0} convert(a) }

scaled { a = f32[64]{0} parameter(0)
  c = bf16[64]{0} convert(a)
  ROOT n = bf16[64]{0} negate(c) }

rounded { a = f32[64]{0} parameter(0)
  c = bf16[64]{0} convert(a)
  ROOT d = f32[64]{0} convert(c) }

ENTRY e {
  p = f32[64]{0} parameter(0)
  f1 = bf16[64]{0} fusion(p), kind=kLoop, calls=narrow
  wide = f32[64]{0} convert(f1)
  f2 = bf16[64]{0} fusion(p), kind=kLoop, calls=scaled
  f3 = f32[64]{0} fusion(p), kind=kLoop, calls=rounded
  ROOT o = (f32[64]{0}, bf16[64]{0}, f32[64]{0}) tuple(wide, f2, f3)
}
";
        let module = Module::parse(text).unwrap();
        let of = |name: &str| cast(&module, module.instruction_by_name(name).unwrap());
        assert_eq!(of("f1"), Some((ElementType::F32, ElementType::Bf16)));
        assert_eq!(of("wide"), Some((ElementType::Bf16, ElementType::F32)));
        assert_eq!((of("f2"), of("f3"), of("p")), (None, None, None));
    }
}
