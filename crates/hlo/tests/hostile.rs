//! Damaged and malicious protos: an error or a module, never a panic, a hang or a deep recursion.

mod common;

use haloscope_hlo::{CostAnalysis, CostOptions, Error, Module, Opcode};

/// Decodes, and asks a module that comes out everything.
fn survive(bytes: &[u8]) -> bool {
    for decoded in [Module::decode(bytes), Module::from_hlo_proto(bytes), Module::from_module_proto(bytes)] {
        match decoded {
            Ok(module) => {
                for options in
                    [CostOptions::default(), CostOptions { tile_padding: true, ..CostOptions::xla() }]
                {
                    let _ = CostAnalysis::new(&module, options).total();
                }
                for (index, instruction) in module.instructions() {
                    let _ =
                        (module.category(instruction), instruction.shape.to_string(), module.users(index));
                    let _ = instruction
                        .attributes()
                        .replica_groups
                        .as_ref()
                        .map(|g| (g.to_lists(), g.group_count()));
                    if let Some(metadata) = &instruction.metadata {
                        let _ = module.stack_frames.stack(metadata.stack_frame_id.unwrap_or(1));
                    }
                }
                let _ = module.reachable_computations(module.entry());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    Module::decode(bytes).is_ok()
}

fn small() -> Vec<u8> {
    common::gunzip(&common::fixture("matmul.tpu.hlo.pb.gz"))
}

#[test]
fn every_prefix() {
    let bytes = small();
    assert!(survive(&bytes));
    for length in 0..bytes.len() {
        assert!(!survive(&bytes[..length]), "a prefix of {length} bytes passes for a whole module");
    }
}

#[test]
fn random_byte_flips() {
    // A fixed sequence (xorshift), so that a failure can be had again.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut survived = 0;
    for name in ["matmul.tpu", "conv_gradients.cpu", "scan.tpu", "all_reduce.tpu"] {
        let bytes = common::gunzip(&common::fixture(&format!("{name}.hlo.pb.gz")));
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = random() % damaged.len();
            damaged[at] = random() as u8;
            survived += u32::from(survive(&damaged));
        }
    }
    assert!(survived > 100, "{survived} damaged modules still decode");
}

/// A protobuf field: a number, or bytes with their length.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn instruction(id: u64, opcode: &str, operands: &[u64], called: &[u64]) -> Vec<u8> {
    let mut out =
        [bytes(1, format!("i{id}").as_bytes()), bytes(2, opcode.as_bytes()), number(35, id)].concat();
    out.extend(bytes(3, &[number(2, 11), number(3, 4)].concat()));
    out.extend(operands.iter().flat_map(|operand| number(36, *operand)));
    out.extend(called.iter().flat_map(|computation| number(38, *computation)));
    out
}

fn computation(id: u64, root: u64, instructions: &[Vec<u8>]) -> Vec<u8> {
    let mut out = [bytes(1, format!("c{id}").as_bytes()), number(5, id), number(6, root)].concat();
    out.extend(instructions.iter().flat_map(|instruction| bytes(2, instruction)));
    out
}

fn module(entry: u64, computations: &[Vec<u8>]) -> Vec<u8> {
    let mut out = [bytes(1, b"m"), number(6, entry)].concat();
    out.extend(computations.iter().flat_map(|computation| bytes(3, computation)));
    out
}

#[test]
fn what_dangles_is_named() {
    let operand = module(1, &[computation(1, 1, &[instruction(1, "negate", &[7], &[])])]);
    let error = Module::decode(&operand).unwrap_err();
    assert!(matches!(&error, Error::MissingId { role: "operand", id: 7, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        r#"instruction "i1" in computation "c1": expected its operand with id 7, found none"#
    );
    let called = module(1, &[computation(1, 1, &[instruction(1, "call", &[], &[9])])]);
    let error = Module::decode(&called).unwrap_err();
    assert!(matches!(&error, Error::MissingId { role: "called computation", id: 9, .. }), "{error}");
    let root = module(1, &[computation(1, 5, &[instruction(1, "iota", &[], &[])])]);
    assert!(matches!(Module::decode(&root), Err(Error::MissingRoot { id: 5, .. })));
    let entry = module(3, &[computation(1, 1, &[instruction(1, "iota", &[], &[])])]);
    assert!(matches!(
        Module::decode(&entry),
        Err(Error::MissingRoot { role: "entry computation", id: 3, .. })
    ));
    assert!(matches!(Module::decode(b""), Err(Error::NoModule { .. })));
    assert!(matches!(Module::decode(b"not a proto"), Err(Error::Protobuf { .. })));
}

#[test]
fn circles_end() {
    // Computations that call each other, and instructions that are their own operands.
    let circle = module(
        1,
        &[
            computation(1, 1, &[instruction(1, "fusion", &[1], &[2])]),
            computation(2, 2, &[instruction(2, "while", &[2], &[1, 2])]),
        ],
    );
    assert!(survive(&circle));
    let module = Module::decode(&circle).unwrap();
    assert_eq!(module.reachable_computations(module.entry()).len(), 2);
    assert!(!module.cost_analysis().total().is_complete());
}

#[test]
fn a_long_chain_of_calls_needs_no_stack() {
    let length = 50_000;
    let mut computations = vec![computation(1, 1, &[instruction(1, "negate", &[1], &[])])];
    for id in 2..=length {
        computations.push(computation(id, id, &[instruction(id, "fusion", &[id], &[id - 1])]));
    }
    computations.reverse();
    let chain = module(length, &computations);
    assert!(Module::decode(&chain).unwrap().cost_analysis().total().flops.is_some());
}

#[test]
fn nested_fusions_that_share_operands_stay_cheap() {
    // Each level passes its parameter twice: read naively, 2^60 times.
    let mut computations = vec![computation(
        1,
        2,
        &[
            [instruction(1, "parameter", &[], &[]), number(9, 0)].concat(),
            instruction(2, "negate", &[1], &[]),
        ],
    )];
    for level in 2..=60 {
        computations.push(computation(
            level,
            4,
            &[
                [instruction(1, "parameter", &[], &[]), number(9, 0)].concat(),
                instruction(3, "fusion", &[1], &[level - 1]),
                instruction(4, "fusion", &[1, 3], &[level - 1]),
            ],
        ));
    }
    let deep = module(60, &computations);
    let module = Module::decode(&deep).unwrap();
    assert_eq!(module.instruction(module.computation(module.entry()).root).opcode, Opcode::Fusion);
    assert!(module.cost_analysis().total().flops.is_some());
}
