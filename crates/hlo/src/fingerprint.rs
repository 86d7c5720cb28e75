//! A number for what a module computes, whatever its instructions are called.
//!
//! Hashed are, of every instruction: the opcode, the shape with its layout, the attributes that its opcode calls for, what its
//! operands are (in order) and what it calls. Of every computation: its result, and all of its instructions without regard
//! to order; of the module: the entry, and which outputs reuse which parameters. Not hashed are names, ids, channel numbers,
//! metadata, frontend attributes, the schedule, and the backend's configuration other than that of custom calls (where it is
//! the program). Two modules of one fingerprint are the same program but for a collision of 64-bit hashes.

use std::fmt::{self, Write};

use crate::{
    index::InstructionIdx,
    instruction::{Attributes, Instruction},
    module::Module,
    opcode::Opcode,
};

/// The fingerprints of a module's parts.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    /// Of the module.
    pub module: u64,
    computations: Vec<u64>,
    instructions: Vec<u64>,
}

impl Fingerprints {
    /// Of an instruction with all that it is computed from inside its computation; 0 for one of another module.
    #[must_use]
    pub fn instruction(&self, index: InstructionIdx) -> u64 {
        self.instructions.get(index.index()).copied().unwrap_or(0)
    }

    /// Of a computation; 0 for one of another module.
    #[must_use]
    pub fn computation(&self, index: crate::ComputationIdx) -> u64 {
        self.computations.get(index.index()).copied().unwrap_or(0)
    }
}

impl Module {
    /// A number for what the module computes: see [`Module::fingerprints`].
    #[must_use]
    pub fn structural_fingerprint(&self) -> u64 {
        self.fingerprints().module
    }

    /// Numbers for what the module and its parts compute, whatever they are called: equal for modules that differ in nothing
    /// but names, ids, channel numbers, metadata, frontend attributes, the schedule and backend configurations (those of
    /// custom calls count). In time linear in the module's size.
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints {
        let mut found = Fingerprints {
            module: 0,
            computations: vec![0; self.computations.len()],
            instructions: vec![0; self.instructions.len()],
        };
        for computation in self.callees_first() {
            let mut of_all = 0u64;
            for index in self.computation(computation).instructions() {
                let own = hash(self.instruction(index), &found);
                found.instructions[index.index()] = own;
                // A sum does not mind the order.
                of_all = of_all.wrapping_add(mix(own));
            }
            let root = found.instruction(self.computation(computation).root);
            found.computations[computation.index()] = mix(root ^ mix(of_all));
        }
        let mut hasher = Hasher(found.computation(self.entry));
        for alias in &self.input_output_aliases {
            hasher.debug(&(&alias.output_index, alias.parameter, &alias.parameter_index));
        }
        hasher.debug(&self.buffer_donors);
        found.module = mix(hasher.0);
        found
    }
}

fn hash(hlo: &Instruction, found: &Fingerprints) -> u64 {
    let mut hasher = Hasher(0x9e37_79b9_7f4a_7c15);
    hasher.bytes(hlo.opcode_name().as_bytes());
    hasher.display(&hlo.shape);
    if let Some(attributes) = hlo.attributes.as_deref() {
        hash_attributes(&mut hasher, hlo.opcode, attributes);
    }
    for operand in &hlo.operands {
        hasher.number(found.instruction(*operand));
    }
    for called in &hlo.called_computations {
        hasher.number(found.computation(*called));
    }
    mix(hasher.0)
}

/// Attributes that are absent add nothing; each has a number of its own so that two never stand for one another.
fn hash_attributes(hasher: &mut Hasher, opcode: Opcode, a: &Attributes) {
    macro_rules! present {
        ($($number:literal: $($field:ident).+ $is:ident),* $(,)?) => {
            $(if a.$($field).+.$is() {
                hasher.number($number);
                hasher.debug(&a.$($field).+);
            })*
        };
    }
    macro_rules! listed {
        ($($number:literal: $field:ident),* $(,)?) => {
            $(if !a.$field.is_empty() {
                hasher.number($number);
                hasher.debug(&a.$field);
            })*
        };
    }
    present! {
        1: parameter_number is_some, 2: tuple_index is_some, 3: fusion_kind is_some, 4: convolution is_some,
        5: feature_group_count is_some, 6: batch_group_count is_some, 7: dot is_some, 8: ragged_dot is_some,
        9: gather is_some, 10: scatter is_some, 11: reduce_precision_bits is_some,
        12: comparison_direction is_some, 13: precision is_some, 14: replica_groups is_some,
        15: custom_call_target is_some, 16: async_execution_thread is_some,
        17: cross_program_prefetch_index is_some, 18: rare is_some,
    }
    listed! {
        30: dimensions, 31: window, 32: slice, 33: dynamic_slice_sizes, 34: padding, 35: gather_slice_sizes,
        36: fft_length, 37: source_target_pairs, 38: output_operand_aliasing,
    }
    hasher.number(u64::from(a.use_global_device_ids) << 1 | u64::from(a.is_host_transfer));
    for bytes in [&a.literal, &a.sharding].into_iter().flatten() {
        hasher.bytes(bytes);
    }
    if opcode == Opcode::CustomCall {
        hasher.bytes(&a.backend_config);
    }
}

/// Takes in words of eight bytes. Not made against those who look for collisions.
struct Hasher(u64);

impl Hasher {
    fn number(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.number(u64::from_le_bytes(*word));
        }
        let mut last = [0u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.number(u64::from_le_bytes(last));
        self.number(bytes.len() as u64);
    }

    fn display(&mut self, value: &impl fmt::Display) {
        let _ = write!(self, "{value}");
    }

    fn debug(&mut self, value: &impl fmt::Debug) {
        let _ = write!(self, "{value:?}");
    }
}

impl Write for Hasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

/// Spreads a number over all its bits.
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }

add_em {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  p = f32[8,4] parameter(0), metadata={op_name=\"x\"}
  zero = f32[] constant(0)
  r = f32[8] reduce(p, zero), dimensions={1}, to_apply=add_em
  q = f32[8,4] broadcast(r), dimensions={0}
  ROOT t = f32[8,4] multiply(p, q)
}
";

    fn of(text: &str) -> u64 {
        Module::parse(text).unwrap().structural_fingerprint()
    }

    #[test]
    fn names_do_not_matter() {
        let renamed = TEXT
            .replace("HloModule m", "HloModule other")
            .replace("add_em", "region_1.2")
            .replace("q =", "broadcast.7 =")
            .replace("multiply(p, q)", "multiply(p, broadcast.7)")
            .replace("op_name=\"x\"", "op_name=\"y\"");
        assert_ne!(renamed, TEXT);
        assert_eq!(of(&renamed), of(TEXT));
    }

    #[test]
    fn what_is_computed_does() {
        let changes = [
            ("multiply(p, q)", "multiply(q, p)"),
            ("f32[] add(a, b)", "f32[] maximum(a, b)"),
            ("constant(0)", "constant(1)"),
            ("dimensions={0}", "dimensions={1}"),
            (", input_output_alias={ {}: (0, {}, may-alias) }", ""),
            ("  q = ", "  dead = f32[8] negate(r)\n  q = "),
        ];
        let mut seen = vec![of(TEXT)];
        for (from, to) in changes {
            let changed = TEXT.replacen(from, to, 1);
            assert_ne!(changed, TEXT, "{from}");
            let fingerprint = of(&changed);
            assert!(!seen.contains(&fingerprint), "{from} -> {to}");
            seen.push(fingerprint);
        }
    }
}
