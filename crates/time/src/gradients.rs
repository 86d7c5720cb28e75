//! Whether a program computes gradients, and so is part of training.

use haloscope_xspace::wire::{Fields, Value};

use haloscope_event_groups::framework_op::{is_jax_type, is_tensorflow_path, is_tensorflow_type};
use haloscope_profile::{HostId, Profile};

/// True if an HLO module of the host computes gradients: an instruction's scope path has a part that begins with
/// `transpose(`, as JAX names the backward pass, or with `gradient_tape` or `gradients`, as TensorFlow does. XProf's
/// definition of training.
#[must_use]
pub fn computes(profile: &Profile, host: HostId) -> bool {
    let modules = profile.modules.iter().filter(|m| m.host == host);
    modules.map(|m| profile.sources[m.source].slice(m.proto)).any(in_module)
}

/// Looks through a serialised `HloProto` without decoding the rest of it.
fn in_module(proto: &[u8]) -> bool {
    // HloProto.hlo_module, HloModuleProto.computations, HloComputationProto.instructions, HloInstructionProto.metadata
    let metadata = inner(proto, 1)
        .flat_map(|module| inner(module, 3))
        .flat_map(|computation| inner(computation, 2))
        .flat_map(|instruction| inner(instruction, 7));
    // OpMetadata.op_type, OpMetadata.op_name
    metadata.map(|m| (inner(m, 1).last(), inner(m, 2).last())).any(|(op_type, op_name)| {
        let text = |bytes: Option<_>| std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        is_of_gradient(text(op_name), text(op_type))
    })
}

/// The messages or texts in field `number` of a message.
fn inner(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    let fields = Fields::new(message, 0).filter(move |f| f.number == number);
    fields.filter_map(|f| if let Value::Bytes(bytes) = f.value { Some(bytes) } else { None })
}

/// True for an op of a backward pass, by its scope path and its type: a scope `transpose(...)` in JAX, `gradient_tape` or
/// `gradients` in TensorFlow.
#[must_use]
pub fn is_of_gradient(op_name: &str, op_type: &str) -> bool {
    let mut parts = op_name.split('/');
    if is_tensorflow_type(op_type) && is_tensorflow_path(op_name) {
        // The last part is the op itself.
        let op = parts.next_back();
        return op.is_some() && parts.any(|part| part == "gradient_tape" || part.starts_with("gradients"));
    }
    let last_has_type = || op_name.rsplit('/').next().is_some_and(|last| last.contains(op_type));
    let is_jax = op_type.is_empty() || is_jax_type(op_type) && last_has_type();
    is_jax && parts.any(|part| part.starts_with("transpose("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_paths_of_gradients() {
        assert!(is_of_gradient("jit(train_step)/transpose(jvp(mlp))/dot_general", "dot_general"));
        assert!(is_of_gradient("jit(train_step)/transpose(jvp(mlp))/dot_general", ""));
        assert!(!is_of_gradient("jit(f)/transpose[permutation=(1, 0)]", "transpose"));
        assert!(!is_of_gradient("jit(f)/transpose(jvp(mlp))/dot_general", "add"));
        assert!(is_of_gradient("gradient_tape/model/dense/MatMul", "MatMul"));
        assert!(is_of_gradient("gradients_2/dense/MatMul_grad/MatMul", "MatMul"));
        assert!(!is_of_gradient("model/gradient_clip/MatMul", "MatMul"));
        assert!(!is_of_gradient("", ""));
    }

    #[test]
    fn looks_inside_the_proto() {
        let wrap = |number: u8, body: &[u8]| [&[number << 3 | 2, body.len() as u8], body].concat();
        let metadata = [wrap(1, b"mul"), wrap(2, b"jit(f)/transpose(jvp())/mul")].concat();
        let proto = wrap(1, &wrap(3, &wrap(2, &wrap(7, &metadata))));
        assert!(in_module(&proto));
        assert!(!in_module(&wrap(1, &wrap(3, &wrap(2, &wrap(7, &wrap(1, b"mul")))))));
        assert!(!in_module(&proto[..proto.len() - 9]));
        assert!(!in_module(b"\xff\xff"));
    }
}
