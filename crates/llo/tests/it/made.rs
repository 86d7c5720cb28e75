//! Messages, written field by field.

pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 & 0x7f | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A length-delimited field.
pub(crate) fn message(field: u32, body: &[u8]) -> Vec<u8> {
    [varint(u64::from(field) << 3 | 2), varint(body.len() as u64), body.to_vec()].concat()
}

/// An int32 or int64.
pub(crate) fn int(field: u32, value: i64) -> Vec<u8> {
    [varint(u64::from(field) << 3), varint(value as u64)].concat()
}

/// A sint32.
pub(crate) fn zigzag(field: u32, value: i64) -> Vec<u8> {
    int(field, (value << 1) ^ (value >> 63))
}

pub(crate) fn packed(field: u32, values: &[u64]) -> Vec<u8> {
    message(field, &values.iter().flat_map(|value| varint(*value)).collect::<Vec<_>>())
}

/// An instruction: id, opcode, bundle, operands by id.
pub(crate) fn instruction(id: i64, opcode: i64, bundle: i64, operands: &[i64]) -> Vec<u8> {
    let operands: Vec<u8> = operands.iter().flat_map(|id| message(3, &int(2, *id))).collect();
    // A vector register each.
    [int(1, id), int(2, opcode), operands, zigzag(4, bundle), zigzag(7, 63 + id % 64), int(8, 4)].concat()
}

/// A member of a region: 1 an instruction, 2 a loop, 3 a branch, 4 a region.
pub(crate) fn member(kind: u32, body: &[u8]) -> Vec<u8> {
    message(1, &message(kind, body))
}

/// What a region's fields 5, 6 and 7 say.
pub(crate) fn bundles(first: i64, limit: i64, ordinal: i64) -> Vec<u8> {
    [int(5, first), int(6, limit), int(7, ordinal)].concat()
}

/// A kernel with a loop of ten trips over a branch, a spill, and source lines.
pub(crate) fn kernel() -> Vec<u8> {
    let then = [member(1, &instruction(4, 185, 3, &[2])), bundles(3, 4, 9)].concat();
    let branch = [message(1, &bundles(2, 3, 7)), message(3, &then)].concat();
    let spill = [instruction(3, 66, 4, &[2]), message(3, &int(1, 1))].concat();
    let body = [member(3, &branch), member(1, &spill), bundles(2, 5, 6)].concat();
    let space = [int(1, 0), int(2, 10), int(3, 1)].concat();
    let of_loop = [message(1, &bundles(1, 2, 5)), message(4, &body), message(8, &space)].concat();
    let inner = [
        message(2, b"PrimaryCoreRegion"),
        member(1, &instruction(2, 50, 1, &[1])),
        member(2, &of_loop),
        bundles(1, 6, 2),
    ]
    .concat();
    let top = [member(1, &instruction(1, 699, 0, &[])), member(4, &inner), bundles(0, 6, 0)].concat();
    let unit = |used: &[u64], capacity| [packed(1, used), int(2, capacity)].concat();
    let utilization = [
        message(1, &unit(&[0, 0, 0, 2], 2)),
        message(5, &unit(&[0, 1, 0, 0, 0, 0], 3)),
        packed(8, &[0, 0, 0, 0, 1]),
        packed(9, &[0, 0, 0, 0, 0, 0]),
    ]
    .concat();
    let allocation = |ordinal, bytes, offset, is_spill| {
        let it = [int(1, 2), int(4, bytes), int(5, ordinal), int(8, offset), int(10, is_spill), int(11, 1)]
            .concat();
        [int(1, 45), message(5, &it)].concat()
    };
    let source = [
        message(
            1,
            &[
                message(1, &[int(1, 0), int(2, 12)].concat()),
                int(2, 1),
                packed(3, &[2]),
                packed(4, &[2, 4, 99]),
            ]
            .concat(),
        ),
        message(2, b"model.py"),
        message(2, b"dot_general"),
        message(2, b"attention"),
    ]
    .concat();
    let chips = [int(1, 2), int(2, 2), int(3, 1)].concat();
    let topology =
        [int(1, 4), message(2, b"lite"), message(4, b"default"), message(5, &chips), int(9, 1)].concat();
    [
        message(1, b"product.1"),
        message(2, &top),
        message(6, &utilization),
        message(7, &[int(3, 1), message(6, &topology)].concat()),
        message(8, &allocation(12, 4096, 0, 0)),
        message(8, &allocation(13, 1024, 0, 1)),
        message(8, &allocation(12, 4096, 512, 0)),
        message(9, b"a note"),
        message(10, b"jit_f"),
        int(11, 3),
        message(12, &source),
    ]
    .concat()
}
