//! What the names of ops say of a whole program.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_hlo::{ElementType, Instruction, InstructionIdx, Module, Opcode, Shape};

/// How the path of an op begins that JAX traced.
const JAX: &str = "jit(";
/// What JAX writes around what it differentiates.
const DIFFERENTIATED: &str = "jvp(";
/// What it writes around that in the backward pass.
const BACKWARD: &str = "transpose(";
/// The last part of an op's path that is a Fourier transform, or what the compiler makes of one.
const FFT: [&str; 2] = ["fft", "jit(fft)"];
/// A real transform has half as many elements on one side, and a few more.
const HALVES: f64 = 2.5;

/// Whether an op is of a forward pass that is differentiated, by JAX's name of it.
pub(crate) fn is_of_forward(name: &str) -> bool {
    name.contains(DIFFERENTIATED) && !name.contains(BACKWARD)
}

/// Whether an op is of something that is differentiated, forward or backward, by JAX's name of it.
pub(crate) fn is_of_gradient(name: &str) -> bool {
    name.contains(DIFFERENTIATED) || name.contains(BACKWARD)
}

/// Whether a program computes gradients, by JAX's names of its ops; `None` where none of them has such a name.
pub(crate) fn has_gradient(module: &Module) -> Option<bool> {
    let mut is_known = false;
    for (_, instruction) in module.instructions() {
        let Some(name) = instruction.op_name().filter(|name| name.starts_with(JAX)) else { continue };
        is_known = true;
        if is_of_gradient(name) {
            return Some(true);
        }
    }
    is_known.then_some(false)
}

/// Whether a program has a loop.
pub(crate) fn has_loop(module: &Module) -> bool {
    module.instructions().any(|(_, instruction)| instruction.opcode == Opcode::While)
}

/// How often the loops of a program go round; `None` where that is not known of one of them.
pub(crate) fn trips(module: &Module) -> Option<BTreeSet<i64>> {
    let whiles = module.instructions().filter(|(_, instruction)| instruction.opcode == Opcode::While);
    whiles.map(|(index, _)| i64::try_from(module.trip_count(index)?).ok()).collect()
}

/// Instructions that are followed from a value to where it comes from.
const STEPS: usize = 32;

/// What loops keep of each trip for other loops, as a forward pass does for its backward pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Handed {
    /// Bytes that are stacked for all trips, and that nothing but other loops takes.
    pub(crate) stacked_bytes: i64,
    /// Bytes that one trip hands on to the next.
    pub(crate) carried_bytes: i64,
}

/// What loops keep of each trip for other loops, by the number of trips; several loops with as many trips together.
pub(crate) fn handed(module: &Module) -> BTreeMap<i64, Handed> {
    let whiles = module.instructions().filter(|(_, one)| one.opcode == Opcode::While);
    let whiles: Vec<(InstructionIdx, &Instruction)> = whiles.collect();
    let mut begins: BTreeSet<(InstructionIdx, i64)> = BTreeSet::new();
    for (_, hlo) in &whiles {
        let first = hlo.operands.first().map(|first| module.instruction(*first));
        let parts = first.filter(|first| first.opcode == Opcode::Tuple).map(|first| &first.operands);
        begins.extend(parts.into_iter().flatten().filter_map(|part| element(module, *part)));
    }
    let mut all: BTreeMap<i64, Handed> = BTreeMap::new();
    for (index, hlo) in whiles {
        let Some((trips, handed)) = handed_of(module, index, hlo, &begins) else { continue };
        let sum = all.entry(trips).or_default();
        sum.stacked_bytes = sum.stacked_bytes.saturating_add(handed.stacked_bytes);
        sum.carried_bytes = sum.carried_bytes.saturating_add(handed.carried_bytes);
    }
    all
}

/// Trips of a loop and what it keeps of them, where other loops begin with some of it.
fn handed_of(
    module: &Module,
    index: InstructionIdx,
    hlo: &Instruction,
    begins: &BTreeSet<(InstructionIdx, i64)>,
) -> Option<(i64, Handed)> {
    let body = module.computation(*hlo.called_computations.first()?);
    let root = module.instruction(body.root);
    let [state] = body.parameters() else { return None };
    if root.opcode != Opcode::Tuple || root.operands.len() != hlo.shape.tuple_shapes.len() {
        return None;
    }
    let trips = i64::try_from(module.trip_count(index)?).ok().filter(|trips| *trips > 1)?;
    let mut handed = Handed::default();
    for (place, (end, shape)) in (0_i64..).zip(root.operands.iter().zip(&hlo.shape.tuple_shapes)) {
        let is_as_it_was = element(module, *end) == Some((*state, place));
        let Some(bytes) = shape.padded_bytes().and_then(|bytes| i64::try_from(bytes).ok()) else { continue };
        // Neither a counter nor a number of each trip is a value to keep.
        let is_number = shape.dimensions.is_empty() || shape.dimensions[..] == [trips];
        if is_as_it_was || !shape.is_array() || is_number {
            continue;
        }
        if shape.dimensions[0] != trips {
            handed.carried_bytes = handed.carried_bytes.saturating_add(bytes);
        } else if begins.contains(&(index, place)) && is_for_loops(module, index, place) {
            handed.stacked_bytes = handed.stacked_bytes.saturating_add(bytes);
        }
    }
    (handed.stacked_bytes > 0).then_some((trips, handed))
}

/// Shapes of stacks that the program gives back as a loop fills them, trip by trip, while it reads another value of that shape, which it leaves as
/// it was: a cache that comes as one input of a scan and goes as another output of it. Both are there at once, whoever may have whose
/// memory.
pub(crate) fn filled_beside(module: &Module) -> BTreeSet<(&'static str, Vec<i64>)> {
    let mut all = BTreeSet::new();
    let root = module.computation(module.entry()).root;
    let results = module.instruction(root).operands.iter().chain(std::iter::once(&root));
    let given: BTreeSet<(InstructionIdx, i64)> =
        results.filter_map(|result| element(module, *result)).collect();
    for (index, hlo) in module.instructions().filter(|(_, one)| one.opcode == Opcode::While) {
        let Some(body) = hlo.called_computations.first().map(|body| module.computation(*body)) else {
            continue;
        };
        let root = module.instruction(body.root);
        let [state] = body.parameters() else { continue };
        let Some(trips) = module.trip_count(index).and_then(|trips| i64::try_from(trips).ok()) else {
            continue;
        };
        let ends = (0_i64..).zip(root.operands.iter().zip(&hlo.shape.tuple_shapes));
        let is_stack =
            |shape: &Shape| shape.is_array() && shape.dimensions.len() > 1 && shape.dimensions[0] == trips;
        let stacks = ends.filter(|(_, (_, shape))| is_stack(shape));
        let (as_it_was, filled): (Vec<_>, Vec<_>) =
            stacks.partition(|(place, (end, _))| element(module, **end) == Some((*state, *place)));
        let shape = |(_, (_, shape)): &(i64, (&InstructionIdx, &Shape))| {
            (shape.element_type.name(), shape.dimensions.clone())
        };
        let read: BTreeSet<_> = as_it_was.iter().map(shape).collect();
        let is_given = |(place, _): &&(i64, _)| given.contains(&(index, *place));
        all.extend(filled.iter().filter(is_given).map(shape).filter(|filled| read.contains(filled)));
    }
    all
}

/// Whether the compiler computes values again by itself, to save memory: what it says is there is what that left.
pub(crate) fn is_rematerialised(module: &Module) -> bool {
    module.instructions().any(|(_, one)| one.name.contains(".remat"))
}

/// Whether nothing but loops takes an element of a loop's result.
fn is_for_loops(module: &Module, index: InstructionIdx, place: i64) -> bool {
    let takes = |user: &&InstructionIdx| {
        let hlo = module.instruction(**user);
        hlo.opcode == Opcode::GetTupleElement && hlo.attributes().tuple_index == Some(place)
    };
    let is_loop = |taker: &InstructionIdx| module.instruction(*taker).opcode == Opcode::While;
    let mut stack: Vec<InstructionIdx> = module.users(index).iter().filter(takes).copied().collect();
    for _ in 0..STEPS {
        let Some(value) = stack.pop() else { return true };
        for user in module.users(value) {
            let takers = module.users(*user);
            match module.instruction(*user).opcode {
                Opcode::Copy | Opcode::Bitcast | Opcode::CopyStart | Opcode::CopyDone => stack.push(*user),
                // Of a tuple that nothing takes the program gives all back.
                Opcode::Tuple if !takers.is_empty() && takers.iter().all(is_loop) => {}
                _ => return false,
            }
        }
    }
    false
}

/// Which element of which tuple a value is, also where it is copied on the way.
fn element(module: &Module, value: InstructionIdx) -> Option<(InstructionIdx, i64)> {
    let mut at = value;
    for _ in 0..STEPS {
        let hlo = module.instruction(at);
        match hlo.opcode {
            Opcode::Copy | Opcode::Bitcast | Opcode::CopyDone | Opcode::CopyStart => {
                at = *hlo.operands.first()?;
            }
            Opcode::GetTupleElement => {
                let (of, place) = (*hlo.operands.first()?, hlo.attributes().tuple_index?);
                let source = module.instruction(of);
                match source.opcode {
                    Opcode::Tuple => at = *source.operands.get(usize::try_from(place).ok()?)?,
                    Opcode::CopyStart => at = of,
                    _ => return Some((of, place)),
                }
            }
            _ => return None,
        }
    }
    None
}

/// Arrays that a program gives back: the type and the extents of each.
pub(crate) fn results(module: &Module) -> BTreeSet<(&'static str, Vec<i64>)> {
    let root = module.instruction(module.computation(module.entry()).root);
    let arrays = root.shape.leaves().into_iter().filter(|shape| shape.is_array());
    arrays.map(|shape| (shape.element_type.name(), shape.dimensions.clone())).collect()
}

/// Extents of the values of a program that are f64.
pub(crate) fn doubles(module: &Module) -> BTreeSet<Vec<i64>> {
    let wide = module.instructions().filter(|(_, one)| one.shape.element_type == ElementType::F64);
    wide.map(|(_, one)| one.shape.dimensions.clone()).filter(|extents| elements(extents).is_some()).collect()
}

/// Elements of the values that Fourier transforms make.
pub(crate) fn transforms(module: &Module) -> BTreeSet<i64> {
    let is_one = |name: &str| name.rsplit('/').next().is_some_and(|last| FFT.contains(&last));
    let of = |shape: &Shape| elements(&shape.dimensions);
    let made = module.instructions().filter(|(_, one)| one.op_name().is_some_and(is_one));
    made.filter_map(|(_, one)| of(&one.shape)).collect()
}

/// Elements of an array; `None` for what is none, or too many to count.
pub(crate) fn elements(extents: &[i64]) -> Option<i64> {
    let all = extents.iter().try_fold(1_i64, |all, extent| all.checked_mul(*extent));
    all.filter(|all| !extents.is_empty() && *all > 0)
}

/// Whether an array of so many elements may be the operand or the result of one of these transforms.
pub(crate) fn is_transformed(count: i64, transforms: &BTreeSet<i64>) -> bool {
    transforms.iter().any(|made| {
        let ratio = count as f64 / *made as f64;
        (1.0 / HALVES..=HALVES).contains(&ratio)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(op_names: &[&str]) -> Module {
        let line = |(at, name): (usize, &&str)| {
            let name =
                if name.is_empty() { String::new() } else { format!(", metadata={{op_name=\"{name}\"}}") };
            format!("  v.{at} = f32[8,16]{{1,0}} negate(p){name}\n")
        };
        let lines: String = op_names.iter().enumerate().map(line).collect();
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  p = f32[8,16]{{1,0}} parameter(0)\n{lines}  ROOT r = f32[8,16]{{1,0}} negate(p)\n}}\n"
        );
        Module::parse(&text).unwrap()
    }

    #[test]
    fn a_gradient_is_known_by_jaxs_names_alone() {
        assert_eq!(has_gradient(&module(&["jit(f)/tanh", "jit(f)/transpose(jvp(g))/mul"])), Some(true));
        assert_eq!(has_gradient(&module(&["jit(f)/jvp(g)/tanh"])), Some(true));
        assert_eq!(has_gradient(&module(&["jit(f)/tanh", ""])), Some(false));
        // Other frameworks have no such word for it.
        assert_eq!(has_gradient(&module(&["StatefulPartitionedCall/model/dense/MatMul"])), None);
        assert_eq!(has_gradient(&module(&[""])), None);
    }

    #[test]
    fn transforms_are_told_by_the_last_part_of_a_name() {
        let found = transforms(&module(&["jit(f)/jit(rfft)/fft", "jit(fft)/mul"]));
        assert_eq!(found, BTreeSet::from([128]));
        assert_eq!(transforms(&module(&["jit(f)/jit(fft)"])), found);
        assert!(transforms(&module(&["jit(fft)/mul", "jit(f)/fft_rows"])).is_empty());
        assert!(is_transformed(128, &found) && is_transformed(256, &found) && is_transformed(66, &found));
        assert!(!is_transformed(1024, &found) && !is_transformed(128, &BTreeSet::new()));
        assert_eq!((elements(&[8, 16]), elements(&[]), elements(&[0, 3])), (Some(128), None, None));
    }

    /// A forward loop that carries two values and keeps two stacks, of which the second is a result too, and the loop back.
    const LOOPS: &str = "HloModule m

forward {
  s = (s32[], f32[64], f32[64], f32[8,64], f32[8,64], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[64] get-tuple-element(s), index=1
  c = f32[64] get-tuple-element(s), index=2
  hs = f32[8,64] get-tuple-element(s), index=3
  cs = f32[8,64] get-tuple-element(s), index=4
  w = f32[64] get-tuple-element(s), index=5
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  hn = f32[64] multiply(h, w)
  cn = f32[64] add(c, h)
  hr = f32[1,64] reshape(h)
  cr = f32[1,64] reshape(c)
  hu = f32[8,64] dynamic-update-slice(hs, hr, i, zero)
  cu = f32[8,64] dynamic-update-slice(cs, cr, i, zero)
  ROOT r = (s32[], f32[64], f32[64], f32[8,64], f32[8,64], f32[64]) tuple(next, hn, cn, hu, cu, w)
}

until {
  s = (s32[], f32[64], f32[64], f32[8,64], f32[8,64], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT t = pred[] compare(i, n), direction=LT
}

back {
  s = (s32[], f32[64], f32[8,64], f32[8,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = f32[64] get-tuple-element(s), index=1
  hs = f32[8,64] get-tuple-element(s), index=2
  cs = f32[8,64] get-tuple-element(s), index=3
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  hr = f32[1,64] dynamic-slice(hs, i, zero), dynamic_slice_sizes={1,64}
  ho = f32[64] reshape(hr)
  gn = f32[64] multiply(g, ho)
  ROOT r = (s32[], f32[64], f32[8,64], f32[8,64]) tuple(next, gn, hs, cs)
}

until_back {
  s = (s32[], f32[64], f32[8,64], f32[8,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT t = pred[] compare(i, n), direction=LT
}

ENTRY e {
  x = f32[64] parameter(0)
  zero = s32[] constant(0)
  nought = f32[] constant(0)
  empty = f32[8,64] broadcast(nought), dimensions={}
  begin = (s32[], f32[64], f32[64], f32[8,64], f32[8,64], f32[64]) tuple(zero, x, x, empty, empty, x)
  ran = (s32[], f32[64], f32[64], f32[8,64], f32[8,64], f32[64]) while(begin), condition=until, body=forward
  hs = f32[8,64] get-tuple-element(ran), index=3
  cs = f32[8,64] get-tuple-element(ran), index=4
  again = (s32[], f32[64], f32[8,64], f32[8,64]) tuple(zero, x, hs, cs)
  done = (s32[], f32[64], f32[8,64], f32[8,64]) while(again), condition=until_back, body=back
  g = f32[64] get-tuple-element(done), index=1
  ROOT r = (f32[64], f32[8,64]) tuple(g, cs)
}
";

    #[test]
    fn what_a_trip_hands_on_is_told_from_what_a_loop_keeps_for_another() {
        let module = Module::parse(LOOPS).unwrap();
        // h and c go from trip to trip; the stack of c is a result, and stays.
        let expected = Handed { stacked_bytes: 8 * 64 * 4, carried_bytes: 2 * 64 * 4 };
        assert_eq!(handed(&module), BTreeMap::from([(8, expected)]));
        // A number of each trip, as its loss, is nothing that trips hand on.
        let loss = LOOPS
            .replace("f32[8,64], f32[8,64], f32[64])", "f32[8,64], f32[8,64], f32[64], f32[8])")
            .replace("empty, empty, x)", "empty, empty, x, losses)")
            .replace("hu, cu, w)", "hu, cu, w, lu)")
            .replace("  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  next = s32[] add(i, one)\n  hn", "  ls = f32[8] get-tuple-element(s), index=6\n  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  lu = f32[8] negate(ls)\n  next = s32[] add(i, one)\n  hn")
            .replace("  begin =", "  losses = f32[8] broadcast(nought), dimensions={}\n  begin =");
        assert_eq!(handed(&Module::parse(&loss).unwrap()), BTreeMap::from([(8, expected)]));
        let alone = LOOPS.replace("tuple(zero, x, hs, cs)", "tuple(zero, x, empty, empty)");
        assert!(handed(&Module::parse(&alone).unwrap()).is_empty(), "no other loop begins with it");
        assert_eq!(results(&module), BTreeSet::from([("f32", vec![64]), ("f32", vec![8, 64])]));
    }

    #[test]
    fn a_stack_that_is_filled_beside_what_is_read_is_told() {
        // The second stack of the loop is a result; nothing of its shape is read there.
        assert_eq!(filled_beside(&Module::parse(LOOPS).unwrap()), BTreeSet::new());
        // A value of that shape goes through the loop as it is: as the third stack, in place of a weight.
        let beside = LOOPS
            .replace("f32[8,64], f32[8,64], f32[64])", "f32[8,64], f32[8,64], f32[8,64])")
            .replace(
                "w = f32[64] get-tuple-element(s), index=5",
                "w = f32[8,64] get-tuple-element(s), index=5",
            )
            .replace("hn = f32[64] multiply(h, w)", "hn = f32[64] multiply(h, c)")
            .replace("x = f32[64] parameter(0)", "x = f32[64] parameter(0)\n  old = f32[8,64] parameter(1)")
            .replace("empty, empty, x)", "empty, empty, old)");
        let found = filled_beside(&Module::parse(&beside).unwrap());
        assert_eq!(found, BTreeSet::from([("f32", vec![8, 64])]));
    }
}
