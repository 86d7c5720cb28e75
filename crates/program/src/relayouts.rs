//! Values that pass through memory for the sake of their layout or shape alone.
//!
//! By opcode and shapes only: a fusion counts if nothing in its body computes, whatever it is called.

use haloscope_hlo::{Instruction, InstructionIdx, Module, Opcode};

use super::value_flow::{origin, readers};
use haloscope_time::executions::{Executions, Place};

/// A relayout.
#[derive(Debug, Clone)]
pub struct Relayout {
    /// The instruction.
    pub instruction: InstructionIdx,
    /// What it does to the value.
    pub what: &'static str,
    /// Bytes read and written, padding included, in one execution; `None` where a shape has no size.
    pub moved_bytes: Option<u64>,
    /// Executions in one run of the program.
    pub executions: Option<u64>,
    /// Compute that reads its result: products, kernels, fusions that compute.
    pub feeds: Vec<InstructionIdx>,
    /// Compute that makes what it reads.
    pub from: Option<InstructionIdx>,
}

/// The relayouts of a module outside of fusions, those that move most first. Copies between memories that keep the layout
/// are none, and neither are copies that change nothing: see [`super::copies`].
#[must_use]
pub fn find(module: &Module, executions: &Executions) -> Vec<Relayout> {
    let mut found = Vec::new();
    for (index, hlo) in module.instructions() {
        if executions.place(hlo.computation) != Place::Control {
            continue;
        }
        let Some(what) = what_it_does(module, hlo, 0) else { continue };
        let of_operand = |operand: &InstructionIdx| module.instruction(*operand).shape.padded_bytes();
        let read = hlo.operands.iter().try_fold(0u64, |sum, operand| sum.checked_add(of_operand(operand)?));
        let moved_bytes =
            read.zip(hlo.shape.padded_bytes()).and_then(|(read, written)| read.checked_add(written));
        let mut feeds: Vec<InstructionIdx> = readers(module, index)
            .into_iter()
            .map(|reader| reader.instruction)
            .filter(|reader| computes(module, *reader))
            .collect();
        feeds.dedup();
        let sources = hlo.operands.iter().map(|operand| origin(module, *operand).instruction);
        let from = sources.into_iter().find(|source| computes(module, *source));
        let executions = executions.count(hlo.computation);
        found.push(Relayout { instruction: index, what, moved_bytes, executions, feeds, from });
    }
    found.sort_by_key(|r| {
        std::cmp::Reverse(r.moved_bytes.unwrap_or(0).saturating_mul(r.executions.unwrap_or(1)))
    });
    found
}

/// Fusions nested deeper than this are taken for such as compute.
const NESTING: u32 = 8;

fn what_it_does(module: &Module, hlo: &Instruction, nesting: u32) -> Option<&'static str> {
    let operand = || hlo.operands.first().map(|operand| &module.instruction(*operand).shape);
    match hlo.opcode {
        Opcode::Transpose => Some("transpose"),
        Opcode::Reshape | Opcode::DynamicReshape => Some("reshape"),
        Opcode::Copy if operand().is_some_and(|from| changes_layout(from, &hlo.shape)) => {
            Some("layout change")
        }
        Opcode::Fusion => formatting(module, hlo, nesting + 1),
        _ => None,
    }
}

/// Whether two arrays of one shape lie differently in memory.
#[must_use]
pub fn changes_layout(from: &haloscope_hlo::Shape, to: &haloscope_hlo::Shape) -> bool {
    let (Some(from), Some(to)) = (&from.layout, &to.layout) else { return false };
    from.minor_to_major != to.minor_to_major || from.tiles != to.tiles
}

/// What a fusion that computes nothing does: its body holds relayouts and what costs nothing, and no more.
fn formatting(module: &Module, hlo: &Instruction, nesting: u32) -> Option<&'static str> {
    if nesting > NESTING {
        return None;
    }
    let body = module.computation(*hlo.called_computations.first()?);
    let mut found = None;
    for index in body.instructions() {
        let inner = module.instruction(index);
        let what = match inner.opcode {
            Opcode::Parameter | Opcode::Constant => continue,
            opcode if is_plain(opcode) => continue,
            _ => what_it_does(module, inner, nesting)?,
        };
        found = Some(what);
    }
    found.map(|what| match what {
        "transpose" => "fusion: transpose",
        "reshape" => "fusion: reshape",
        "layout change" => "fusion: layout change",
        nested => nested,
    })
}

fn is_plain(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Bitcast | Opcode::Tuple | Opcode::GetTupleElement)
}

/// Whether an instruction computes: products, kernels, and fusions that are no formatting themselves.
fn computes(module: &Module, index: InstructionIdx) -> bool {
    let hlo = module.instruction(index);
    match hlo.opcode {
        Opcode::Dot | Opcode::Convolution | Opcode::CustomCall | Opcode::RaggedDot => true,
        Opcode::Fusion => formatting(module, hlo, 0).is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_opcode_and_shape_not_by_name() {
        let text = "HloModule m

move {
  a = f32[64,32]{1,0} parameter(0)
  ROOT t = f32[64,32]{0,1} copy(a)
}

copy_and_transpose {
  b = f32[64,32]{0,1} parameter(0)
  ROOT n = f32[64,32]{0,1} negate(b)
}

ENTRY e {
  p = f32[64,32]{1,0} parameter(0)
  q = f32[32,16]{1,0} parameter(1)
  plain = f32[64,32]{0,1} fusion(p), kind=kLoop, calls=move
  transpose_fusion = f32[64,32]{0,1} fusion(plain), kind=kLoop, calls=copy_and_transpose
  same = f32[64,32]{0,1} copy(transpose_fusion)
  back = f32[64,32]{1,0} copy(same)
  d = f32[64,16]{1,0} dot(back, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[16,64]{0,1} transpose(d), dimensions={1,0}
}
";
        let module = Module::parse(text).unwrap();
        let found = find(&module, &Executions::new(&module));
        let name = |index: InstructionIdx| module.instruction(index).name.as_str();
        let rows: Vec<_> = found
            .iter()
            .map(|r| {
                (
                    name(r.instruction),
                    r.what,
                    r.moved_bytes,
                    r.feeds.iter().map(|f| name(*f)).collect(),
                    r.from.map(name),
                )
            })
            .collect();
        let expected = [
            ("plain", "fusion: layout change", Some(16384), vec!["transpose_fusion"], None),
            ("back", "layout change", Some(16384), vec!["d"], None),
            ("r", "transpose", Some(8192), vec![], Some("d")),
        ];
        assert_eq!(rows, expected);
    }
}
