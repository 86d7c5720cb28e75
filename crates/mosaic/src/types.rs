//! Types of values.

use crate::bytes::Bytes;
use crate::error::Error;
use crate::ids::{AttributeId, TypeId};

/// A dimension of a shape that is known at run time only, as MLIR writes it.
pub const DYNAMIC: i64 = i64::MIN;

/// How an integer's bits are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signedness {
    /// Its operations say.
    Signless,
    /// Two's complement.
    Signed,
    /// From 0.
    Unsigned,
}

/// A type. Shapes count elements; [`DYNAMIC`] stands for what is known at run time only.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// An integer of a number of bits.
    Integer {
        /// Bits.
        width: u32,
        /// How they are meant.
        signedness: Signedness,
    },
    /// An integer that can count memory.
    Index,
    /// A floating-point number.
    Float(Float),
    /// A function.
    Function {
        /// What it takes.
        inputs: Vec<TypeId>,
        /// What it gives.
        results: Vec<TypeId>,
    },
    /// A complex number.
    Complex(TypeId),
    /// A reference to memory.
    MemRef {
        /// Elements in each dimension.
        shape: Vec<i64>,
        /// What lies there.
        element: TypeId,
        /// Where an element lies.
        layout: AttributeId,
        /// In which memory, where it says.
        space: Option<AttributeId>,
    },
    /// A reference to memory of unknown rank.
    UnrankedMemRef {
        /// What lies there.
        element: TypeId,
        /// In which memory, where it says.
        space: Option<AttributeId>,
    },
    /// Nothing.
    None,
    /// A tensor.
    Tensor {
        /// Elements in each dimension.
        shape: Vec<i64>,
        /// What it holds.
        element: TypeId,
        /// How it is kept, where it says.
        encoding: Option<AttributeId>,
    },
    /// A tensor of unknown rank.
    UnrankedTensor(TypeId),
    /// Several values.
    Tuple(Vec<TypeId>),
    /// A vector.
    Vector {
        /// Elements in each dimension.
        shape: Vec<i64>,
        /// Which of them count in the hardware's own vectors; empty where none does.
        scalable: Vec<bool>,
        /// What it holds.
        element: TypeId,
    },
    /// A type of another dialect, as its text.
    Text(Box<str>),
    /// A type of the builtin dialect with a code that is not read here, or encoded by another dialect.
    Unknown(u64),
}

/// A floating-point format: its name in MLIR, its bits, those of its exponent and of its fraction, and what its largest
/// exponent means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    /// Its name.
    pub name: &'static str,
    /// Bits of a number in memory.
    pub width: u32,
    /// Bits of its exponent; 0 where numbers are not read here.
    pub(crate) exponent: u32,
    /// Bits of its fraction.
    pub(crate) fraction: u32,
    /// Whether the largest exponent stands for infinities and not-a-number alone, as in IEEE 754.
    pub(crate) is_ieee: bool,
}

const fn ieee(name: &'static str, width: u32, exponent: u32, fraction: u32) -> Float {
    Float { name, width, exponent, fraction, is_ieee: true }
}

const fn other(name: &'static str, width: u32) -> Float {
    Float { name, width, exponent: 0, fraction: 0, is_ieee: false }
}

/// `f32`, in which a default is written.
pub(crate) const F32: Float = ieee("f32", 32, 8, 23);

/// The builtin dialect's floats by code.
fn float(code: u64) -> Option<Float> {
    Some(match code {
        3 => ieee("bf16", 16, 8, 7),
        4 => ieee("f16", 16, 5, 10),
        5 => F32,
        6 => ieee("f64", 64, 11, 52),
        7 => other("f80", 80),
        8 => other("f128", 128),
        21 => other("tf32", 19),
        22 => ieee("f8E5M2", 8, 5, 2),
        23 => ieee("f8E4M3", 8, 4, 3),
        24 => Float { name: "f8E4M3FN", width: 8, exponent: 4, fraction: 3, is_ieee: false },
        25 => other("f8E5M2FNUZ", 8),
        26 => other("f8E4M3FNUZ", 8),
        27 => other("f8E4M3B11FNUZ", 8),
        28 => ieee("f8E3M4", 8, 3, 4),
        29 => other("f4E2M1FN", 4),
        30 => other("f6E2M3FN", 6),
        31 => other("f6E3M2FN", 6),
        32 => other("f8E8M0FNU", 8),
        _ => return None,
    })
}

/// The float of a name.
pub(crate) fn float_named(name: &str) -> Option<Float> {
    // The builtin dialect's codes are below 40.
    (0..40).filter_map(float).find(|float| float.name == name)
}

/// Reads a type of the builtin dialect. `counts` are the numbers of attributes and of types.
pub(crate) fn read(bytes: &mut Bytes<'_>, counts: [usize; 2]) -> Result<Type, Error> {
    let attribute = |b: &mut Bytes<'_>| b.index(counts[0], "an attribute").map(AttributeId);
    let ty = |b: &mut Bytes<'_>| b.index(counts[1], "a type").map(TypeId);
    let shape = |b: &mut Bytes<'_>| b.list("a shape", Bytes::signed);
    let code = bytes.varint()?;
    Ok(match code {
        0 => {
            let value = bytes.varint()?;
            let signedness = match value & 3 {
                0 => Signedness::Signless,
                1 => Signedness::Signed,
                2 => Signedness::Unsigned,
                _ => return bytes.wrong("an integer's signedness"),
            };
            match u32::try_from(value >> 2) {
                Ok(width) => Type::Integer { width, signedness },
                Err(_) => return bytes.wrong("an integer's width"),
            }
        }
        1 => Type::Index,
        2 => Type::Function { inputs: bytes.list("types", ty)?, results: bytes.list("types", ty)? },
        9 => Type::Complex(ty(bytes)?),
        10 => {
            let (shape, element) = (shape(bytes)?, ty(bytes)?);
            Type::MemRef { shape, element, layout: attribute(bytes)?, space: None }
        }
        11 => {
            let space = Some(attribute(bytes)?);
            let (shape, element) = (shape(bytes)?, ty(bytes)?);
            Type::MemRef { shape, element, layout: attribute(bytes)?, space }
        }
        12 => Type::None,
        13 => Type::Tensor { shape: shape(bytes)?, element: ty(bytes)?, encoding: None },
        14 => {
            let encoding = Some(attribute(bytes)?);
            Type::Tensor { shape: shape(bytes)?, element: ty(bytes)?, encoding }
        }
        15 => Type::Tuple(bytes.list("types", ty)?),
        16 => Type::UnrankedMemRef { element: ty(bytes)?, space: None },
        17 => {
            let space = Some(attribute(bytes)?);
            Type::UnrankedMemRef { element: ty(bytes)?, space }
        }
        18 => Type::UnrankedTensor(ty(bytes)?),
        19 => Type::Vector { shape: shape(bytes)?, scalable: Vec::new(), element: ty(bytes)? },
        20 => {
            let scalable = bytes.list("dimensions", |b| b.varint().map(|v| v != 0))?;
            Type::Vector { shape: shape(bytes)?, scalable, element: ty(bytes)? }
        }
        code => float(code).map_or(Type::Unknown(code), Type::Float),
    })
}
