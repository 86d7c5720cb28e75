//! What part of a value is ever read: where all readers take the same slice of one dimension, the rest is computed for nobody.
//!
//! Followed from a value to its readers, through what works on each element by itself, reductions and broadcasts over other dimensions, and
//! changes of shape. A product is not followed into its operands: what stands before it may be needed by another row.

use std::collections::HashMap;

use haloscope_hlo::{InstructionIdx, Module, Opcode, Shape};

use super::Evidence;
use haloscope_time::ops::Op;

/// Longer ways are not followed.
const DEPTH: usize = 48;

/// What is read of one dimension of a value; of a dimension that was put together from several, of one of these.
#[derive(Debug, Clone, PartialEq)]
struct Slice {
    dimension: usize,
    /// Positions of what is sliced.
    extent: i64,
    /// Those that are read, from the first to behind the last: in order and apart.
    read: Vec<(i64, i64)>,
    /// How many more are read of which nobody knows where they are.
    somewhere: i64,
}

impl Slice {
    /// What part is read.
    fn part(&self) -> f64 {
        let known: f64 = self.read.iter().map(|(from, to)| to.saturating_sub(*from) as f64).sum();
        ((known + self.somewhere as f64) / self.extent.max(1) as f64).min(1.0)
    }

    /// What two readers read together; `None` where they slice different dimensions.
    fn with(self, other: &Self) -> Option<Self> {
        if (self.dimension, self.extent) != (other.dimension, other.extent) {
            return None;
        }
        let mut all: Vec<(i64, i64)> = self.read.iter().chain(&other.read).copied().collect();
        all.sort_unstable();
        let mut read: Vec<(i64, i64)> = Vec::new();
        for (from, to) in all {
            match read.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => read.push((from, to)),
            }
        }
        Some(Self { read, somewhere: self.somewhere.saturating_add(other.somewhere), ..self })
    }
}

/// An op of which a part is computed for nobody.
#[derive(Debug, Clone)]
pub(crate) struct Unread<'e, 'p> {
    pub op: &'e Op<'p>,
    /// What part of its cost goes to values that nobody reads.
    pub part: f64,
    /// The value of which most is unread: its shape, and how many positions of its dimension are read.
    pub shape: String,
    pub read: (f64, i64),
}

impl<'p> Evidence<'p> {
    /// The ops of which a part is computed for nobody, those that lose most first.
    pub(crate) fn unread(&self) -> Vec<Unread<'_, 'p>> {
        let mut known = HashMap::new();
        let mut found: Vec<Unread<'_, 'p>> = self
            .ops()
            .iter()
            .filter(|op| op.self_ps > 0)
            .filter_map(|op| self.unread_of(op, &mut known))
            .collect();
        found.sort_by(|a, b| (b.op.self_ps as f64 * b.part).total_cmp(&(a.op.self_ps as f64 * a.part)));
        found
    }

    fn unread_of<'e>(&'e self, op: &'e Op<'p>, known: &mut Known) -> Option<Unread<'e, 'p>> {
        let (module, inner) = self.inner(op)?;
        let all: f64 = inner.iter().map(|one| one.cost).sum();
        let mut lost = 0.0;
        let mut most: Option<(f64, InstructionIdx, Slice)> = None;
        for one in &inner {
            if !is_by_position(module.instruction(one.index).opcode) {
                continue;
            }
            let Some(slice) = slice_of(module, one.index, known, DEPTH) else { continue };
            let own = one.cost * (1.0 - slice.part());
            lost += own;
            if most.as_ref().is_none_or(|(least, ..)| own > *least) {
                most = Some((own, one.index, slice));
            }
        }
        let (_, index, slice) = most.filter(|_| all > 0.0)?;
        let shape = &module.instruction(index).shape;
        let extent = shape.dimensions.get(slice.dimension).copied().unwrap_or(0);
        Some(Unread {
            op,
            part: lost / all,
            shape: shape.to_string().split('{').next().unwrap_or_default().to_owned(),
            read: (slice.part() * extent as f64, extent),
        })
    }
}

/// Whether each position of a result is computed by itself, so that fewer of them cost less: not where all are sorted, or transformed.
fn is_by_position(opcode: Opcode) -> bool {
    opcode.is_elementwise()
        || matches!(
            opcode,
            Opcode::Dot | Opcode::Convolution | Opcode::Reduce | Opcode::Broadcast | Opcode::Gather
        )
}

/// What is known of the values of modules, by their place in memory.
type Known = HashMap<(usize, InstructionIdx), Option<Slice>>;

/// The slice of a value that its readers take; `None` where some need all of it.
fn slice_of(module: &Module, value: InstructionIdx, known: &mut Known, depth: usize) -> Option<Slice> {
    let key = (std::ptr::from_ref(module).addr(), value);
    if let Some(found) = known.get(&key) {
        return found.clone();
    }
    let depth = depth.checked_sub(1)?;
    let found = of_readers(module, value, known, depth);
    known.insert(key, found.clone());
    found
}

fn of_readers(module: &Module, value: InstructionIdx, known: &mut Known, depth: usize) -> Option<Slice> {
    let hlo = module.instruction(value);
    let mut all: Option<Slice> = None;
    if module.computation(hlo.computation).root == value {
        // The result of a fusion is read outside of it; that of a program by whoever called it.
        let [caller] = module.callers(hlo.computation)[..] else { return None };
        if module.instruction(caller).opcode != Opcode::Fusion {
            return None;
        }
        all = Some(slice_of(module, caller, known, depth)?);
    }
    for user in module.users(value) {
        for (place, _) in
            module.instruction(*user).operands.iter().enumerate().filter(|(_, operand)| **operand == value)
        {
            let own = of_reader(module, value, *user, place, known, depth)?;
            all = match all {
                None => Some(own),
                Some(other) => Some(own.with(&other)?),
            };
        }
    }
    all.filter(|slice| slice.part() < 1.0)
}

/// The slice of a value that one reader takes.
fn of_reader(
    module: &Module,
    value: InstructionIdx,
    user: InstructionIdx,
    place: usize,
    known: &mut Known,
    depth: usize,
) -> Option<Slice> {
    let hlo = module.instruction(user);
    let shape = &module.instruction(value).shape;
    let mut after = || slice_of(module, user, known, depth);
    match hlo.opcode {
        Opcode::Slice => {
            let (dimension, extent) = smallest(&shape.dimensions, &hlo.shape.dimensions)?;
            let taken = hlo.attributes().slice.get(dimension)?;
            // Of every second position nobody needs to know which.
            let (read, somewhere) = if taken.stride == 1 {
                (vec![(taken.start, taken.limit)], 0)
            } else {
                (Vec::new(), hlo.shape.dimensions[dimension])
            };
            Some(Slice { dimension, extent, read, somewhere })
        }
        Opcode::DynamicSlice if place == 0 => {
            let (dimension, extent) = smallest(&shape.dimensions, &hlo.shape.dimensions)?;
            Some(Slice { dimension, extent, read: Vec::new(), somewhere: hlo.shape.dimensions[dimension] })
        }
        // Of what has several results each is read by itself.
        Opcode::GetTupleElement => after(),
        // Of numbers that all elements share, such as bounds, no dimension is read.
        opcode if opcode.is_elementwise() || opcode == Opcode::Copy => {
            after().filter(|_| shape.dimensions == hlo.shape.dimensions)
        }
        Opcode::Bitcast | Opcode::Reshape => regrouped(after()?, &hlo.shape, shape),
        Opcode::Transpose => {
            let slice = after()?;
            let from = *hlo.attributes().dimensions.get(slice.dimension)?;
            Some(Slice { dimension: usize::try_from(from).ok()?, ..slice })
        }
        Opcode::Broadcast => {
            let slice = after()?;
            let is_same = |to: &i64| usize::try_from(*to).ok() == Some(slice.dimension);
            let dimension = hlo.attributes().dimensions.iter().position(is_same)?;
            Some(Slice { dimension, ..slice })
        }
        Opcode::Reduce if place * 2 < hlo.operands.len() => {
            let slice = after()?;
            let summed = |dimension: usize| {
                hlo.attributes().dimensions.iter().any(|own| usize::try_from(*own).ok() == Some(dimension))
            };
            let dimension = (0..shape.dimensions.len()).filter(|own| !summed(*own)).nth(slice.dimension)?;
            Some(Slice { dimension, ..slice })
        }
        Opcode::Fusion => {
            let body = module.computation(*hlo.called_computations.first()?);
            slice_of(module, *body.parameters().get(place)?, known, depth)
        }
        _ => None,
    }
}

/// The dimension of which a slice takes the smallest part, and its extent; `None` where it takes all.
fn smallest(of: &[i64], taken: &[i64]) -> Option<(usize, i64)> {
    let part = |at: usize| taken[at] as f64 / of[at].max(1) as f64;
    let all = 0..of.len().min(taken.len());
    let least = all.min_by(|a, b| part(*a).total_cmp(&part(*b))).filter(|at| part(*at) < 1.0);
    least.map(|at| (at, of[at]))
}

/// The slice of a value that has another shape for its reader: of the dimension that the reader's is a part of.
fn regrouped(slice: Slice, seen: &Shape, own: &Shape) -> Option<Slice> {
    let (seen, own) = (&seen.dimensions, &own.dimensions);
    let before = |dimensions: &[i64], to: usize| {
        dimensions[..to].iter().fold(1_i64, |all, own| all.saturating_mul(*own))
    };
    let (from, to) = (before(seen, slice.dimension), before(seen, slice.dimension + 1));
    let holds = |dimension: &usize| {
        own[*dimension] > 1 && before(own, *dimension) <= from && before(own, *dimension + 1) >= to
    };
    (0..own.len()).find(holds).map(|dimension| Slice { dimension, ..slice })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let module =
            Module::parse(&format!("HloModule m\n\nENTRY e {{\n  ROOT p = {text} parameter(0)\n}}\n"))
                .unwrap();
        module.instruction(module.instruction_by_name("p").unwrap()).shape.clone()
    }

    #[test]
    fn readers_of_one_slice_read_it_once_and_those_of_others_more() {
        let slice =
            |from: i64, to: i64| Slice { dimension: 1, extent: 96, read: vec![(from, to)], somewhere: 0 };
        let part = |a: Slice, b: &Slice| a.with(b).map(|both| both.part());
        assert_eq!(part(slice(0, 32), &slice(0, 32)), Some(1.0 / 3.0));
        assert_eq!(part(slice(0, 32), &slice(64, 96)), Some(2.0 / 3.0));
        let somewhere = Slice { read: Vec::new(), somewhere: 32, ..slice(0, 0) };
        assert_eq!(part(somewhere.clone(), &somewhere), Some(2.0 / 3.0));
        assert_eq!(part(slice(0, 32), &Slice { dimension: 0, ..slice(0, 32) }), None);
    }

    #[test]
    fn dimensions_are_found_again_in_another_shape() {
        let found = |dimension, seen: &str, own: &str| {
            let slice = Slice { dimension, extent: 64, read: vec![(0, 1)], somewhere: 0 };
            regrouped(slice, &shape(seen), &shape(own)).map(|slice| slice.dimension)
        };
        assert_eq!(found(1, "f32[4,64,8]", "f32[256,8]"), Some(0));
        assert_eq!(found(2, "f32[4,64,8]", "f32[256,8]"), Some(1));
        assert_eq!(found(1, "f32[4,64]", "f32[4,1,64]"), Some(2));
        // A dimension of several of the value's own.
        assert_eq!(found(0, "f32[256,8]", "f32[4,64,8]"), None);
    }
}
