//! How many FLOPs XLA's GPU backend counts for one element of an elementwise instruction: cycles that it measured on one
//! NVIDIA GPU (compute capability 8.6) and uses for all where it is not told which GPU there is.

use crate::{element::ElementType, instruction::Instruction, opcode::Opcode};
use ElementType::{C64, C128, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

/// What counts for instructions that nobody measured.
const DEFAULT: u64 = 3;

type Row = (Opcode, &'static [(ElementType, u64)]);

const CYCLES: &[Row] = &[
    (Opcode::Add, &[(F64, 97), (C128, 97)]),
    (Opcode::Atan2, &[(F16, 482), (F32, 486), (F64, 3747), (C64, 5353), (C128, 39027)]),
    (Opcode::Cbrt, &[(F16, 925), (F32, 867), (F64, 6339)]),
    (Opcode::Cosine, &[(F16, 691), (F32, 662), (F64, 1717), (C128, 6613)]),
    (
        Opcode::Divide,
        &[
            (S8, 370),
            (S16, 367),
            (S32, 306),
            (S64, 918),
            (U8, 306),
            (U16, 302),
            (U32, 115),
            (U64, 838),
            (F64, 2016),
            (C64, 687),
            (C128, 7941),
        ],
    ),
    (Opcode::Exponential, &[(F16, 108), (F32, 86), (F64, 1652), (C64, 1360), (C128, 4028)]),
    (Opcode::ExponentialMinusOne, &[(F16, 396), (F32, 381), (F64, 1900), (C64, 1400), (C128, 4161)]),
    (Opcode::Log, &[(F16, 266), (F32, 244), (F64, 608), (C64, 950), (C128, 7599)]),
    (Opcode::LogPlusOne, &[(F16, 284), (F32, 262), (F64, 2073), (C64, 842), (C128, 6962)]),
    (Opcode::Logistic, &[(F16, 226), (F32, 176), (F64, 2412)]),
    (Opcode::Multiply, &[(F64, 97), (C128, 270)]),
    (
        Opcode::Power,
        &[
            (S8, 392),
            (S16, 396),
            (S64, 601),
            (U8, 388),
            (U16, 399),
            (U64, 604),
            (F16, 975),
            (F32, 925),
            (F64, 5511),
            (C64, 3351),
            (C128, 18205),
        ],
    ),
    (Opcode::Rsqrt, &[(F16, 97), (F32, 75), (F64, 698), (C64, 2383), (C128, 11318)]),
    (Opcode::Sine, &[(F32, 662), (F64, 1789), (C128, 5878)]),
    (Opcode::Sqrt, &[(F16, 97), (F32, 75), (F64, 986), (C64, 3193), (C128, 15606)]),
    (Opcode::Subtract, &[(F64, 97), (C128, 97)]),
    (Opcode::Tanh, &[(F16, 212), (F32, 190), (F64, 1609), (C128, 9939)]),
];

/// FLOPs of `opcode` on every element of what an instruction returns.
pub(super) fn flops(opcode: Opcode, hlo: &Instruction) -> Option<u64> {
    let row = CYCLES.iter().find(|(measured, _)| *measured == opcode);
    let element = hlo.shape.element_type;
    let cycles = row.and_then(|(_, types)| types.iter().find(|(measured, _)| *measured == element));
    hlo.shape.element_count_recursive()?.checked_mul(cycles.map_or(DEFAULT, |(_, cycles)| *cycles))
}
