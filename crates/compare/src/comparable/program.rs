//! What the programs of a run say: devices, types, shapes, work.

use std::collections::BTreeMap;

use haloscope_hlo::{Module, Shape};

use super::{Fact, Same, counted};
use crate::RunSamples;
use haloscope_comm::group_lists::Groups;
use haloscope_comm::groups::Extent;
use haloscope_comm::mesh::Mesh;
use haloscope_program::typed_peak::Precision;
use haloscope_time::op_class::{Bodies, body};
use haloscope_time::op_meta::{OpMeta, is_container};
use haloscope_time::programs;
use haloscope_time::roofline::add_known;

/// How many devices a program was compiled for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    partitions: u64,
    replicas: u64,
}

impl Job {
    pub(super) fn devices(self) -> u64 {
        self.partitions.saturating_mul(self.replicas)
    }

    pub(super) fn words(self) -> String {
        format!("{} x {}", self.partitions, self.replicas)
    }
}

pub(super) fn job(module: &Module) -> Option<Job> {
    let extent = Extent::of(module);
    Some(Job { partitions: extent.partitions?, replicas: extent.replicas.unwrap_or(1) })
}

/// The axes that the compiler names in the groups of collectives.
pub(super) fn axes(module: &Module) -> Option<String> {
    let groups: Vec<Groups> =
        module.instructions().filter_map(|(_, hlo)| Groups::of_instruction(module, hlo)).collect();
    let mesh = Mesh::of_groups(&groups)?;
    let axes: Vec<String> = mesh.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    Some(axes.join(", "))
}

/// The programs that ran.
pub(super) fn names(run: &RunSamples<'_>) -> Option<String> {
    let names = programs::times(run.profile, Some(&run.selection)).into_iter().map(|time| time.module);
    let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The program that both runs have and that took most time, each run's measured by itself; `None` where they have none of one name.
pub(super) fn common(runs: [&RunSamples<'_>; 2]) -> Option<String> {
    let [a, b] = runs.map(shares);
    let both = a.into_iter().filter_map(|(name, share)| Some((share + b.get(&name)?, name)));
    both.max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, name)| name)
}

/// What share of the time of a run's programs each took, by name.
fn shares(run: &RunSamples<'_>) -> BTreeMap<String, f64> {
    let times = programs::times(run.profile, Some(&run.selection));
    let all: f64 = times.iter().map(|time| time.total_ps as f64).sum();
    let mut shares = BTreeMap::new();
    // An `@` would name a stage of a dump.
    for time in times.into_iter().filter(|time| !time.module.is_empty() && !time.module.contains('@')) {
        *shares.entry(time.module).or_default() += time.total_ps as f64 / all.max(1.0);
    }
    shares
}

/// The types of a run's products.
struct Types {
    /// What is multiplied in most of the time that goes to products: element types where the program is at hand, else how wide.
    words: String,
    precision: Option<Precision>,
    /// Whether the element types are known.
    exact: bool,
}

/// What the runs multiply. Where of one only the width is known, widths are compared.
pub(super) fn product_types(runs: [&RunSamples<'_>; 2]) -> Fact {
    let types = runs.map(types);
    let words = types.each_ref().map(|types| types.as_ref().map(|types| types.words.clone()));
    let mut fact = Fact::of("dtype", "Types of products", true, words);
    if let [Some(a), Some(b)] = &types
        && !(a.exact && b.exact)
        && a.precision.is_some()
        && a.precision == b.precision
    {
        fact.same = Same::Yes;
    }
    fact
}

fn types(run: &RunSamples<'_>) -> Option<Types> {
    let bodies = Bodies::of(run.profile, run.ops.iter().filter_map(|op| op.meta.program_id));
    let mut times: BTreeMap<String, (f64, Types)> = BTreeMap::new();
    for op in &run.ops {
        let hlo = bodies.find(&op.meta);
        let products = hlo.into_iter().flat_map(|(module, index)| {
            body(module, index).into_iter().filter_map(|part| module.matmul(part))
        });
        // The largest product of a fusion is what it is there for.
        let largest =
            products.max_by_key(|p| [p.n, p.k, p.batch].iter().fold(p.m, |all, n| all.saturating_mul(*n)));
        let types = match largest {
            Some(product) => Types {
                words: format!("{} x {}", product.lhs.name(), product.rhs.name()),
                precision: Precision::of(product.lhs).filter(|one| Precision::of(product.rhs) == Some(*one)),
                exact: true,
            },
            None if bodies.class(&op.meta).multiplies() => match Precision::of_op(&op.meta, None) {
                Some(precision) => {
                    Types { words: precision.word().to_owned(), precision: Some(precision), exact: false }
                }
                None => continue,
            },
            None => continue,
        };
        times.entry(types.words.clone()).or_insert((0.0, types)).0 += op.mean_ps();
    }
    let mut best: Option<(f64, Types)> = None;
    for (ps, types) in times.into_values() {
        if best.as_ref().is_none_or(|(most, _)| ps > *most) {
            best = Some((ps, types));
        }
    }
    best.map(|(_, types)| types)
}

/// An amount of a step on a device. The work of a loop is that of the ops inside.
pub(super) fn per_step(run: &RunSamples<'_>, of: impl Fn(&OpMeta<'_>) -> Option<f64>) -> Option<f64> {
    let mut sum = None;
    for op in run.ops.iter().filter(|op| !is_container(&op.meta.category)) {
        add_known(&mut sum, of(&op.meta).map(|amount| amount * op.executions));
    }
    sum
}

/// Shapes that a fact names of each run; the others are counted.
const SHOWN: usize = 6;
/// Names of parameters that share a shape, at most.
const NAMED: usize = 3;

/// The shapes of the parameters of the programs that took most time. Their order does not count. Where they differ, those that
/// only one run has are named.
pub(super) fn shapes(main: [Option<&Module>; 2]) -> Fact {
    let shapes = main.map(|module| module.map(parameters).filter(|all| !all.is_empty()));
    let words = match &shapes {
        [Some(a), Some(b)] if keys(a) != keys(b) => [Some(only(a, b)), Some(only(b, a))],
        _ => shapes.each_ref().map(|all| all.as_ref().map(|all| summary(all))),
    };
    let mut fact = Fact::of("shapes", "Parameter shapes", true, words);
    if let [Some(a), Some(b)] = &shapes {
        fact.same = if keys(a) == keys(b) { Same::Yes } else { Same::No };
    }
    fact
}

/// A parameter: the shape of one of its arrays, and what the framework calls it.
struct Parameter {
    shape: String,
    name: String,
}

fn parameters(module: &Module) -> Vec<Parameter> {
    let entry = module.computation(module.entry());
    let mut all = Vec::new();
    for index in entry.parameters() {
        let hlo = module.instruction(*index);
        let leaves: Vec<&Shape> = if hlo.shape.is_tuple() { hlo.shape.leaves() } else { vec![&hlo.shape] };
        for shape in leaves.into_iter().filter(|shape| shape.is_array()) {
            let name = hlo.op_name().unwrap_or_default().to_owned();
            // Without the layout, which the compiler is free to choose.
            all.push(Parameter { shape: format!("{shape:#}"), name });
        }
    }
    all
}

fn keys(all: &[Parameter]) -> Vec<(String, usize)> {
    counted(all.iter().map(|p| p.shape.clone()))
}

fn summary(all: &[Parameter]) -> String {
    let mut keys = keys(all);
    let more = keys.len().saturating_sub(SHOWN);
    keys.sort_by(|x, y| y.1.cmp(&x.1).then_with(|| x.0.cmp(&y.0)));
    keys.truncate(SHOWN);
    let mut words: Vec<String> = keys.iter().map(|(shape, n)| times(*n, shape)).collect();
    if more > 0 {
        words.push(format!("{more} more shapes"));
    }
    format!("{}: {}", arrays(all.len()), words.join(", "))
}

fn arrays(n: usize) -> String {
    if n == 1 { "1 array".to_owned() } else { format!("{n} arrays") }
}

fn times(n: usize, what: &str) -> String {
    if n == 1 { what.to_owned() } else { format!("{n} x {what}") }
}

/// What `own` has more of than `other`.
fn only(own: &[Parameter], other: &[Parameter]) -> String {
    let theirs: BTreeMap<String, usize> = keys(other).into_iter().collect();
    let mut words = Vec::new();
    for (shape, n) in keys(own) {
        let more = n.saturating_sub(theirs.get(&shape).copied().unwrap_or(0));
        if more == 0 {
            continue;
        }
        let mut names: Vec<&str> = Vec::new();
        for name in own.iter().filter(|p| p.shape == shape && !p.name.is_empty()).map(|p| p.name.as_str()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // Of many arrays with one shape it is not known which are new.
        let named = if names.is_empty() || names.len() > NAMED || n != more {
            String::new()
        } else {
            format!(" ({})", names.join(", "))
        };
        words.push(format!("{}{named}", times(more, &shape)));
    }
    let hidden = words.len().saturating_sub(SHOWN);
    words.truncate(SHOWN);
    if hidden > 0 {
        words.push(format!("{hidden} more shapes"));
    }
    if words.is_empty() {
        return format!("{}, all of them also in the other run", arrays(own.len()));
    }
    format!("{}, only here {}", arrays(own.len()), words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(shapes: &[(&str, &str)]) -> Vec<Parameter> {
        shapes
            .iter()
            .map(|(shape, name)| Parameter { shape: (*shape).into(), name: (*name).into() })
            .collect()
    }

    #[test]
    fn only_the_shapes_that_differ_are_named() {
        let a = all(&[("bf16[8,8]", "w"), ("bf16[8,8]", "v"), ("s32[32,2048]", "batch")]);
        let b = all(&[("s32[24,2048]", "batch"), ("bf16[8,8]", "v"), ("bf16[8,8]", "w")]);
        assert_eq!(only(&a, &b), "3 arrays, only here s32[32,2048] (batch)");
        assert_eq!(only(&b, &a), "3 arrays, only here s32[24,2048] (batch)");
        assert_eq!(keys(&a[..2]), keys(&b[1..]), "the order does not count");
        assert_eq!(only(&a[..2], &a), "2 arrays, all of them also in the other run");
        assert_eq!(summary(&a), "3 arrays: 2 x bf16[8,8], s32[32,2048]");
    }
}
