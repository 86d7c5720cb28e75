//! What the names of ops say of a whole program.

use std::collections::BTreeSet;

use haloscope_hlo::{ElementType, Module, Opcode, Shape};

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
}
