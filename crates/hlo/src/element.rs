//! Element types of arrays (XLA's `PrimitiveType`).

/// Type of an array's elements, or of a value that is not an array (tuple, token, opaque, buffer).
///
/// The numbers are those of `PrimitiveType` in `xla/xla_data.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// A number that this version of the crate does not know; the raw value is kept.
    Unknown(i32),
    /// Boolean, one byte each.
    Pred,
    /// Signed integer of 1 bit.
    S1,
    /// Signed integer of 2 bits.
    S2,
    /// Signed integer of 4 bits.
    S4,
    /// Signed integer of 8 bits.
    S8,
    /// Signed integer of 16 bits.
    S16,
    /// Signed integer of 32 bits.
    S32,
    /// Signed integer of 64 bits.
    S64,
    /// Unsigned integer of 1 bit.
    U1,
    /// Unsigned integer of 2 bits.
    U2,
    /// Unsigned integer of 4 bits.
    U4,
    /// Unsigned integer of 8 bits.
    U8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Unsigned integer of 64 bits.
    U64,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// bfloat16.
    Bf16,
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    F8E5M2,
    /// 8-bit float, 4 exponent and 3 mantissa bits, IEEE-like.
    F8E4M3,
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite.
    F8E4M3Fn,
    /// 8-bit float, 4 exponent and 3 mantissa bits, bias 11, finite, unsigned zero.
    F8E4M3B11Fnuz,
    /// 8-bit float, 3 exponent and 4 mantissa bits.
    F8E3M4,
    /// 8-bit float, 5 exponent and 2 mantissa bits, finite, unsigned zero.
    F8E5M2Fnuz,
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite, unsigned zero.
    F8E4M3Fnuz,
    /// 8-bit power of two, the scale of MX formats.
    F8E8M0Fnu,
    /// 4-bit float, 2 exponent and 1 mantissa bits.
    F4E2M1Fn,
    /// 6-bit float, 3 exponent and 2 mantissa bits.
    F6E3M2Fn,
    /// 6-bit float, 2 exponent and 3 mantissa bits.
    F6E2M3Fn,
    /// Complex of two `F32`.
    C64,
    /// Complex of two `F64`.
    C128,
    /// A tuple of shapes.
    Tuple,
    /// A value whose contents XLA does not look into.
    Opaque,
    /// A value that only orders side effects.
    Token,
    /// A mutable buffer.
    Buffer,
}

use ElementType as E;

/// Number on the wire, name in HLO text, bits of one element as stored without a layout's say (0: not an array).
const TABLE: &[(i32, ElementType, &str, u32)] = &[
    (1, E::Pred, "pred", 8),
    (2, E::S8, "s8", 8),
    (3, E::S16, "s16", 16),
    (4, E::S32, "s32", 32),
    (5, E::S64, "s64", 64),
    (6, E::U8, "u8", 8),
    (7, E::U16, "u16", 16),
    (8, E::U32, "u32", 32),
    (9, E::U64, "u64", 64),
    (10, E::F16, "f16", 16),
    (11, E::F32, "f32", 32),
    (12, E::F64, "f64", 64),
    (13, E::Tuple, "tuple", 0),
    (14, E::Opaque, "opaque", 0),
    (15, E::C64, "c64", 64),
    (16, E::Bf16, "bf16", 16),
    (17, E::Token, "token", 0),
    (18, E::C128, "c128", 128),
    (19, E::F8E5M2, "f8e5m2", 8),
    (20, E::F8E4M3Fn, "f8e4m3fn", 8),
    (21, E::S4, "s4", 4),
    (22, E::U4, "u4", 4),
    (23, E::F8E4M3B11Fnuz, "f8e4m3b11fnuz", 8),
    (24, E::F8E5M2Fnuz, "f8e5m2fnuz", 8),
    (25, E::F8E4M3Fnuz, "f8e4m3fnuz", 8),
    (26, E::S2, "s2", 2),
    (27, E::U2, "u2", 2),
    (28, E::F8E4M3, "f8e4m3", 8),
    (29, E::F8E3M4, "f8e3m4", 8),
    (30, E::S1, "s1", 1),
    (31, E::U1, "u1", 1),
    (32, E::F4E2M1Fn, "f4e2m1fn", 4),
    (33, E::F8E8M0Fnu, "f8e8m0fnu", 8),
    (34, E::Buffer, "b", 0),
    (35, E::F6E3M2Fn, "f6e3m2fn", 6),
    (36, E::F6E2M3Fn, "f6e2m3fn", 6),
];

impl ElementType {
    /// The type with this number in `PrimitiveType`; [`ElementType::Unknown`] keeps a number that is not known.
    #[must_use]
    pub fn from_proto(number: i32) -> Self {
        TABLE.iter().find(|row| row.0 == number).map_or(Self::Unknown(number), |row| row.1)
    }

    /// The type with this name in HLO text, or `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.2 == name).map(|row| row.1)
    }

    /// The number in `PrimitiveType`.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Unknown(number) => number,
            known => TABLE.iter().find(|row| row.1 == known).map_or(0, |row| row.0),
        }
    }

    /// The name in HLO text, for instance `bf16`; `invalid` for an unknown number.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.1 == self).map_or("invalid", |row| row.2)
    }

    /// Whether a shape of this type is an array of numbers.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.bits().is_some()
    }

    /// Bits that one element's value has, or `None` where there are no elements (tuple, token, unknown).
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        TABLE.iter().find(|row| row.1 == self).map(|row| row.3).filter(|bits| *bits > 0)
    }

    /// Bits of each number: half of those of a complex type.
    #[must_use]
    pub fn bits_of_number(self) -> Option<u32> {
        self.bits().map(|bits| if self.name().starts_with('c') { bits / 2 } else { bits })
    }

    /// Whether this is a floating-point or complex type.
    #[must_use]
    pub fn is_float(self) -> bool {
        let name = self.name();
        self.is_array() && (name.starts_with('f') || name.starts_with("bf") || name.starts_with('c'))
    }
}
