//! Which matrix products of a program another program of the run computes too, from arguments of the same names and shapes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use haloscope_hlo::{ComputationIdx, InstructionIdx, Module, Opcode};
use haloscope_profile::Decoded;

use super::Evidence;

/// A program whose products are nearly all in another one that runs as often.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contained {
    pub module: String,
    pub id: u64,
    /// The other one.
    pub within: String,
    /// Its products that are in the other one too, and all of its products.
    pub products: (usize, usize),
    /// How often it ran on a device, and for how long on all, picoseconds.
    pub runs: usize,
    pub time_ps: i64,
}

/// A program's products: what each computes, as a number that is equal where the computation is, and its FLOPs.
#[derive(Debug, Default)]
struct Products {
    all: Vec<(u64, f64)>,
}

/// Of the FLOPs of a program so many are in products that the other one has too.
const NEARLY_ALL: f64 = 0.9;
/// The other one runs at least so many times as often.
const AS_OFTEN: f64 = 0.9;
/// A program that runs less often is not of each step.
const FEWEST_RUNS: usize = 3;
/// Programs that take less of the active window are not looked at.
const LEAST: f64 = 0.01;
/// Computations inside of one another that are followed.
const DEPTH: usize = 16;

impl Evidence<'_> {
    /// The programs whose products another one computes too, those that take longest first. Of two that are equal the first stands.
    pub(crate) fn contained(&self) -> Vec<Contained> {
        let mut ran: BTreeMap<u64, (&str, i64)> = BTreeMap::new();
        let mut starts: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        for (position, launch, ps) in self.launches_in_window() {
            let Some(id) = launch.program_id else { continue };
            let own = ran.entry(id).or_insert((&launch.module, 0));
            own.1 = own.1.saturating_add(ps);
            if position == 0 {
                starts.entry(id).or_default().push(launch.start_ps);
            }
        }
        let runs = |id: &u64| starts.get(id).map_or(0, Vec::len);
        ran.retain(|id, (_, time)| runs(id) >= FEWEST_RUNS && self.of_active(*time as f64) >= LEAST);
        if ran.len() < 2 {
            return Vec::new();
        }
        let products: BTreeMap<u64, Products> =
            ran.keys().filter_map(|id| Some((*id, Products::of(self.program(*id)?)))).collect();
        let mut found = Vec::new();
        for (id, own) in &products {
            let (module, time_ps) = ran[id];
            let is_bigger = |other: u64| (products[&other].flops(), *id) > (own.flops(), other);
            let holds = |other: &u64| {
                other != id
                    && runs(other) as f64 >= AS_OFTEN * runs(id) as f64
                    && is_bigger(*other)
                    && are_by_turns(starts.get(id), starts.get(other))
                    && own.within(&products[other]) >= NEARLY_ALL
            };
            let Some(other) = products.keys().copied().find(|other| holds(other)) else { continue };
            let there: HashSet<u64> = products[&other].all.iter().map(|one| one.0).collect();
            let common = own.all.iter().filter(|one| there.contains(&one.0)).count();
            found.push(Contained {
                module: module.to_owned(),
                id: *id,
                within: ran[&other].0.to_owned(),
                products: (common, own.all.len()),
                runs: runs(id),
                time_ps,
            });
        }
        found.sort_by_key(|one| std::cmp::Reverse(one.time_ps));
        found
    }
}

/// Whether another program nearly always runs between two runs of a program: one that takes the place of the other, such as a function that
/// was compiled again, repeats no work.
fn are_by_turns(own: Option<&Vec<i64>>, other: Option<&Vec<i64>>) -> bool {
    let (Some(own), Some(other)) = (own, other) else { return false };
    let is_between = |pair: &&[i64]| {
        let next = other.partition_point(|start_ps| *start_ps <= pair[0]);
        other.get(next).is_some_and(|start_ps| *start_ps < pair[1])
    };
    let between = own.windows(2).filter(is_between).count();
    between as f64 >= AS_OFTEN * own.len().saturating_sub(1) as f64
}

impl Products {
    fn of(decoded: &Decoded) -> Self {
        let module = &decoded.module;
        let mut walk = Walk { decoded, found: Self::default() };
        let entry = module.computation(module.entry());
        let mut named: HashMap<&str, usize> = HashMap::new();
        let names = entry.parameters().iter().filter_map(|index| module.instruction(*index).op_name());
        names.for_each(|name| *named.entry(name).or_default() += 1);
        let argument = |index: &InstructionIdx| {
            let hlo = module.instruction(*index);
            // A name that several parameters have, as PyTorch gives them, says no more than none.
            match hlo.op_name().filter(|name| named.get(name) == Some(&1)) {
                Some(name) => {
                    number(&("argument", name, &hlo.shape.dimensions, hlo.shape.element_type.name()))
                }
                None => unknown(module, *index),
            }
        };
        let arguments: Vec<u64> = entry.parameters().iter().map(argument).collect();
        walk.computation(module.entry(), &arguments, DEPTH);
        walk.found
    }

    fn flops(&self) -> u64 {
        self.all.iter().map(|one| one.1).sum::<f64>() as u64
    }

    /// What part of the FLOPs are in products that the other one has too.
    fn within(&self, other: &Self) -> f64 {
        let there: HashSet<u64> = other.all.iter().map(|one| one.0).collect();
        let common: f64 = self.all.iter().filter(|one| there.contains(&one.0)).map(|one| one.1).sum();
        let all = self.flops() as f64;
        if all > 0.0 { common / all } else { 0.0 }
    }
}

/// A value of which nothing is known: no other is equal.
fn unknown(module: &Module, index: InstructionIdx) -> u64 {
    number(&("unknown", std::ptr::from_ref(module).addr(), index))
}

fn number(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Values of a module as numbers, from its arguments on.
struct Walk<'d> {
    decoded: &'d Decoded,
    found: Products,
}

/// A value: a number, and those of its elements where it is a tuple.
type Value = (u64, Vec<u64>);

impl Walk<'_> {
    fn module(&self) -> &Module {
        &self.decoded.module
    }

    /// Numbers the values of a computation of these arguments, and gives that of its root.
    fn computation(&mut self, index: ComputationIdx, arguments: &[u64], depth: usize) -> Value {
        let mut values: HashMap<InstructionIdx, Value> = HashMap::new();
        let all: Vec<InstructionIdx> = self.module().computation(index).instructions().collect();
        for at in all {
            let value = self.instruction(at, &values, arguments, depth);
            values.insert(at, value);
        }
        let root = self.module().computation(index).root;
        values.remove(&root).unwrap_or_default()
    }

    fn instruction(
        &mut self,
        at: InstructionIdx,
        values: &HashMap<InstructionIdx, Value>,
        arguments: &[u64],
        depth: usize,
    ) -> Value {
        let hlo = self.decoded.module.instruction(at);
        let of = |operand: &InstructionIdx| {
            values.get(operand).map_or_else(|| unknown(self.module(), *operand), |value| value.0)
        };
        let mut operands: Vec<u64> = hlo.operands.iter().map(of).collect();
        let body = hlo.called_computations.first().copied().filter(|_| depth > 0);
        match (hlo.opcode, body) {
            (Opcode::Parameter, _) => {
                let place = hlo.attributes().parameter_number.and_then(|place| usize::try_from(place).ok());
                let argument = place.and_then(|place| arguments.get(place)).copied();
                (argument.unwrap_or_else(|| unknown(self.module(), at)), Vec::new())
            }
            // What only moves a value, or writes it in another type, is the value.
            (Opcode::Bitcast | Opcode::Copy | Opcode::Reshape | Opcode::Transpose | Opcode::Convert, _) => {
                (operands.first().copied().unwrap_or_else(|| unknown(self.module(), at)), Vec::new())
            }
            (Opcode::Tuple, _) => (number(&operands), operands),
            (Opcode::GetTupleElement, _) => {
                let place = hlo.attributes().tuple_index.and_then(|place| usize::try_from(place).ok());
                let of_tuple = hlo.operands.first().and_then(|operand| values.get(operand));
                let element = place.zip(of_tuple).and_then(|(place, tuple)| tuple.1.get(place).copied());
                (element.unwrap_or_else(|| number(&(&operands, place))), Vec::new())
            }
            (Opcode::Fusion | Opcode::Call, Some(body)) => self.computation(body, &operands, depth - 1),
            (opcode, body) => {
                if let (Opcode::While, Some(_)) = (opcode, body) {
                    let within = number(&("state", &operands));
                    for body in &hlo.called_computations {
                        self.computation(*body, &[within], depth - 1);
                    }
                }
                if is_commutative(opcode) {
                    operands.sort_unstable();
                }
                let own = number(&(hlo.opcode_name(), &operands, &hlo.shape.element_count(), self.what(at)));
                let is_product =
                    matches!(opcode, Opcode::Dot | Opcode::Convolution) || self.module().matmul(at).is_some();
                let flops = self.decoded.costs.instruction(at).flops.filter(|_| is_product);
                if let Some(flops) = flops.filter(|flops| *flops > 0) {
                    self.found.all.push((own, flops as f64));
                }
                (own, Vec::new())
            }
        }
    }
}

impl Walk<'_> {
    /// What an instruction does beyond its opcode: what a slice takes, what a call calls, what a constant is. Dimensions are left out, for
    /// compilers turn them.
    fn what(&self, at: InstructionIdx) -> u64 {
        let hlo = self.module().instruction(at);
        let attributes = hlo.attributes();
        let sliced =
            hlo.operands.first().map(|operand| &self.module().instruction(*operand).shape.dimensions);
        let mut parts: Vec<(i64, i64, i64)> = attributes
            .slice
            .iter()
            .zip(sliced.into_iter().flatten())
            .filter(|(part, extent)| part.start != 0 || part.limit != **extent)
            .map(|(part, _)| (part.start, part.limit, part.stride))
            .collect();
        parts.sort_unstable();
        let applied = hlo.called_computations.iter().map(|body| {
            let body = self.module().computation(*body);
            self.module().instruction(body.root).opcode_name()
        });
        number(&(
            parts,
            applied.collect::<Vec<_>>(),
            &attributes.custom_call_target,
            &attributes.comparison_direction,
            &attributes.literal,
        ))
    }
}

/// Whether the order of operands says nothing; that of a product may be turned by a compiler together with its layout.
fn is_commutative(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Add | Opcode::Multiply | Opcode::Maximum | Opcode::Minimum | Opcode::Dot)
}
