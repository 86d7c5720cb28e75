//! Values that pass through main memory between instructions which a compiler fuses as a rule, and what stood between.
//!
//! A fusion would spare the read, and the write as well where nobody else reads the value. Why the compiler did not fuse is
//! its own affair: the graph shows what speaks against it, and where it shows nothing, that is said.

use haloscope_hlo::{FusionKind, Instruction, InstructionIdx, Module, Opcode, Shape};

use super::relayouts::changes_layout;
use super::value_flow::{Reader, readers};
use haloscope_time::executions::{Executions, Place};

/// Two instructions and the value between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Who makes the value.
    pub producer: InstructionIdx,
    /// Who reads it.
    pub consumer: InstructionIdx,
    /// Bytes of the value, padding included.
    pub bytes: u64,
    /// Bytes of memory traffic that a fusion of the two would spare in one execution.
    pub spared_bytes: u64,
    /// Executions in one run of the program, where known.
    pub executions: Option<u64>,
    /// What speaks against a fusion.
    pub blocked_by: &'static str,
    /// Who or what that is, in words.
    pub detail: String,
    /// Whether the graph shows it; else nothing is known.
    pub is_derived: bool,
}

/// What may stand between two instructions that another program would have as one. Other obstacles lie in what is computed.
const SURMOUNTABLE: [&str; 4] = ["not told", "different loops", "different layouts", "control dependency"];

impl Gap {
    /// Whether another program would have the two as one: nothing of what is computed speaks against it.
    #[must_use]
    pub fn could_fuse(&self) -> bool {
        SURMOUNTABLE.contains(&self.blocked_by)
    }
}

/// What an instruction is to the fusion of its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Compilers fuse it.
    Fusible,
    /// It needs its operands, and gives its results, in memory.
    Boundary(&'static str),
    /// It moves a value into another layout.
    Relayout,
    /// Anything else: a tuple, a loop.
    Other,
}

fn role(module: &Module, hlo: &Instruction) -> Role {
    match hlo.opcode {
        Opcode::CustomCall => Role::Boundary("custom-call boundary"),
        opcode if opcode.is_collective() => Role::Boundary("collective boundary"),
        Opcode::Sort | Opcode::Scatter | Opcode::Fft | Opcode::TopK => Role::Boundary("kernel of its own"),
        Opcode::Fusion if hlo.attributes().fusion_kind == Some(FusionKind::Custom) => {
            Role::Boundary("custom fusion")
        }
        Opcode::Transpose | Opcode::Reshape => Role::Relayout,
        Opcode::Copy => {
            let from = hlo.operands.first().map(|operand| &module.instruction(*operand).shape);
            if from.is_some_and(|from| changes_layout(from, &hlo.shape)) {
                Role::Relayout
            } else {
                Role::Other
            }
        }
        Opcode::Fusion
        | Opcode::Dot
        | Opcode::Convolution
        | Opcode::Broadcast
        | Opcode::Iota
        | Opcode::Reduce
        | Opcode::ReduceWindow
        | Opcode::Slice
        | Opcode::DynamicSlice
        | Opcode::DynamicUpdateSlice
        | Opcode::Pad
        | Opcode::Concatenate
        | Opcode::Reverse
        | Opcode::Gather
        | Opcode::Map => Role::Fusible,
        opcode if opcode.is_elementwise() => Role::Fusible,
        _ => Role::Other,
    }
}

/// The gaps of a module's main memory (HBM), those whose traffic in a run is largest first, and those whose value lies in another
/// memory, in the module's order: these spare no traffic. Linear in the module's size.
#[must_use]
pub fn find(module: &Module, executions: &Executions) -> (Vec<Gap>, Vec<Gap>) {
    let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
    for (index, hlo) in module.instructions() {
        if executions.place(hlo.computation) != Place::Control {
            continue;
        }
        let own = role(module, hlo);
        if !matches!(own, Role::Fusible | Role::Boundary(_)) {
            continue;
        }
        for value in values(module, index, hlo) {
            let shape = &module.instruction(value).shape;
            let Some(bytes) = shape.padded_bytes().filter(|bytes| *bytes > 0) else { continue };
            let value = Value { producer: index, hlo, own, shape, bytes, readers: readers(module, value) };
            let is_elsewhere = shape.memory_space() != 0;
            let executions = executions.count(hlo.computation);
            let spared = |bytes: u64| if is_elsewhere { 0 } else { bytes };
            let pairs = value.pairs(module).into_iter();
            let pairs = pairs.map(|gap| Gap { executions, spared_bytes: spared(gap.spared_bytes), ..gap });
            if is_elsewhere { elsewhere.extend(pairs) } else { found.extend(pairs) }
        }
    }
    found.sort_by_key(|gap| {
        let spared = gap.spared_bytes.saturating_mul(gap.executions.unwrap_or(1));
        (std::cmp::Reverse(spared), gap.producer, gap.consumer)
    });
    (found, elsewhere)
}

/// The arrays that an instruction makes: itself, or the elements that are taken out of its tuple.
fn values(module: &Module, index: InstructionIdx, hlo: &Instruction) -> Vec<InstructionIdx> {
    if !hlo.shape.is_tuple() {
        return vec![index];
    }
    let is_element = |user: &&InstructionIdx| module.instruction(**user).opcode == Opcode::GetTupleElement;
    let takes = module.users(index).iter().filter(is_element).copied();
    takes.filter(|take| module.instruction(*take).shape.is_array()).collect()
}

struct Value<'m> {
    producer: InstructionIdx,
    hlo: &'m Instruction,
    own: Role,
    shape: &'m Shape,
    bytes: u64,
    readers: Vec<Reader>,
}

impl Value<'_> {
    fn pairs(&self, module: &Module) -> Vec<Gap> {
        let mut seen: Vec<InstructionIdx> = self.readers.iter().map(|reader| reader.instruction).collect();
        seen.dedup();
        let mut gaps = Vec::new();
        for &reader in &seen {
            let hlo = module.instruction(reader);
            match (role(module, hlo), self.own) {
                (Role::Boundary(what), Role::Fusible) => {
                    gaps.push(self.gap(&seen, reader, what, &hlo.name, true));
                }
                (Role::Fusible, Role::Boundary(what)) => {
                    gaps.push(self.gap(&seen, reader, what, &self.hlo.name, true));
                }
                (Role::Fusible, Role::Fusible) => {
                    let (what, detail, is_derived) = self.blocked(module, &seen, reader, hlo);
                    gaps.push(self.gap(&seen, reader, what, &detail, is_derived));
                }
                (Role::Relayout, Role::Fusible) => {
                    gaps.extend(self.past_relayout(module, &seen, reader, hlo));
                }
                // Two boundaries have nothing to fuse.
                _ => {}
            }
        }
        gaps
    }

    fn gap(
        &self,
        seen: &[InstructionIdx],
        consumer: InstructionIdx,
        blocked_by: &'static str,
        detail: &str,
        is_derived: bool,
    ) -> Gap {
        let spared_bytes = if seen.len() == 1 { self.bytes.saturating_mul(2) } else { self.bytes };
        Gap {
            producer: self.producer,
            consumer,
            bytes: self.bytes,
            spared_bytes,
            executions: None,
            blocked_by,
            detail: detail.to_owned(),
            is_derived,
        }
    }

    /// Consumers behind a relayout, which itself reads and writes.
    fn past_relayout(
        &self,
        module: &Module,
        seen: &[InstructionIdx],
        relayout: InstructionIdx,
        hlo: &Instruction,
    ) -> Vec<Gap> {
        let moved = hlo.shape.padded_bytes().unwrap_or(0).saturating_mul(2);
        let mut behind: Vec<InstructionIdx> =
            readers(module, relayout).iter().map(|reader| reader.instruction).collect();
        behind.dedup();
        behind.retain(|reader| role(module, module.instruction(*reader)) == Role::Fusible);
        let more = |consumer| {
            let gap = self.gap(seen, consumer, "layout change", &hlo.name, true);
            Gap { spared_bytes: gap.spared_bytes.saturating_add(moved), ..gap }
        };
        behind.into_iter().map(more).collect()
    }

    /// What speaks against fusing the value's producer with a reader that could be fused.
    fn blocked(
        &self,
        module: &Module,
        seen: &[InstructionIdx],
        reader: InstructionIdx,
        hlo: &Instruction,
    ) -> (&'static str, String, bool) {
        if let Some(first) = hlo.control_predecessors.first() {
            return ("control dependency", format!("on {}", module.instruction(*first).name), true);
        }
        let others = seen.iter().filter(|other| **other != reader);
        let kept = others.clone().find(|other| {
            !matches!(role(module, module.instruction(**other)), Role::Fusible | Role::Relayout)
        });
        if let Some(kept) = kept {
            let kept = module.instruction(*kept);
            return ("result needed", format!("by {} {}", kept.opcode_name(), kept.name), true);
        }
        if let Some(other) = others.clone().next() {
            let detail = format!("{} in all, also {}", seen.len(), module.instruction(*other).name);
            return ("several readers", detail, true);
        }
        if holds_product(module, self.hlo) && holds_product(module, hlo) {
            return ("two matrix products", "each is a separate kernel".to_owned(), true);
        }
        let (made, read) = (elements(&self.hlo.shape), elements(&hlo.shape));
        if reduces(module, self.hlo) && made < read {
            return ("reduction first", "all of it must be ready before it is broadcast".to_owned(), true);
        }
        let outputs = (first_array(&self.hlo.shape), first_array(&hlo.shape));
        if self.shape.element_count() != outputs.1.and_then(Shape::element_count) {
            return ("different loops", format!("{} and {} elements", words(made), words(read)), true);
        }
        if let (Some(from), Some(to)) = outputs
            && changes_layout(from, to)
        {
            return ("different layouts", format!("{from} and {to}"), true);
        }
        ("not told", String::new(), false)
    }
}

fn words(count: Option<u64>) -> String {
    count.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string())
}

fn first_array(shape: &Shape) -> Option<&Shape> {
    shape.leaves().first().copied()
}

fn elements(shape: &Shape) -> Option<u64> {
    first_array(shape).and_then(Shape::element_count)
}

/// The opcodes of a fusion's body, or the instruction's own.
fn any_inside(module: &Module, hlo: &Instruction, is: impl Fn(Opcode) -> bool) -> bool {
    if hlo.opcode != Opcode::Fusion {
        return is(hlo.opcode);
    }
    let mut bodies = hlo.called_computations.iter().flat_map(|body| module.computation(*body).instructions());
    bodies.any(|index| is(module.instruction(index).opcode))
}

fn holds_product(module: &Module, hlo: &Instruction) -> bool {
    any_inside(module, hlo, |opcode| matches!(opcode, Opcode::Dot | Opcode::Convolution))
}

fn reduces(module: &Module, hlo: &Instruction) -> bool {
    any_inside(module, hlo, |opcode| matches!(opcode, Opcode::Reduce | Opcode::ReduceWindow))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "HloModule m, is_scheduled=true

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  p = f32[1024,8]{1,0} parameter(0)
  zero = f32[] constant(0)
  x = f32[1024,8]{1,0} exponential(p)
  r = f32[1024]{0} reduce(x, zero), dimensions={1}, to_apply=add
  spread = f32[1024,8]{1,0} broadcast(r), dimensions={0}
  y = f32[1024,8]{1,0} divide(x, spread)
  k = f32[1024,8]{1,0} custom-call(y), custom_call_target=\"mine\"
  z = f32[1024,8]{1,0} negate(k)
  turned = f32[1024,8]{0,1} copy(z)
  w = f32[1024,8]{0,1} negate(turned)
  v = f32[1024,8]{0,1} abs(w), control-predecessors={x}
  near = f32[1024,8]{0,1:S(1)} negate(v)
  ROOT out = f32[1024,8]{0,1} abs(near)
}
";

    #[test]
    fn what_stands_between() {
        let module = Module::parse(TEXT).unwrap();
        let (gaps, elsewhere) = find(&module, &Executions::new(&module));
        let name = |index: InstructionIdx| module.instruction(index).name.as_str();
        let mut rows: Vec<_> =
            gaps.iter().map(|g| (name(g.producer), name(g.consumer), g.blocked_by, g.spared_bytes)).collect();
        rows.sort_unstable();
        const WHOLE: u64 = 1024 * 8 * 4;
        assert_eq!(
            rows,
            [
                ("k", "z", "custom-call boundary", 2 * WHOLE),
                ("r", "spread", "reduction first", 2 * 4096),
                ("spread", "y", "not told", 2 * WHOLE),
                ("v", "near", "not told", 2 * WHOLE),
                ("w", "v", "control dependency", 2 * WHOLE),
                ("x", "r", "several readers", WHOLE),
                ("x", "y", "several readers", WHOLE),
                ("y", "k", "custom-call boundary", 2 * WHOLE),
                ("z", "w", "layout change", 4 * WHOLE),
            ]
        );
        // What lies in the core's own memory costs no traffic.
        assert_eq!(
            elsewhere.iter().map(|gap| (name(gap.producer), gap.spared_bytes)).collect::<Vec<_>>(),
            [("near", 0)]
        );
        let could: Vec<&str> =
            gaps.iter().filter(|gap| gap.could_fuse()).map(|gap| name(gap.producer)).collect();
        assert_eq!(could.len(), 3, "{could:?}");
        assert_eq!(name(gaps[0].producer), "z");
    }
}
