//! Attributes: what is known of operations when a kernel is compiled.

use crate::bytes::Bytes;
use crate::error::Error;
use crate::ids::{AttributeId, StringId, TypeId};
use crate::types::Type;

/// An attribute. What it is made of are places in the module's tables, so that reading one never reads another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attribute {
    /// Several attributes.
    Array(Vec<AttributeId>),
    /// Attributes by name; a name is an [`Attribute::String`].
    Dictionary(Vec<(AttributeId, AttributeId)>),
    /// A text.
    String(StringId),
    /// A text with a type.
    TypedString(StringId, TypeId),
    /// The name of a function.
    Symbol(AttributeId),
    /// A name below others.
    NestedSymbol(AttributeId, Vec<AttributeId>),
    /// A type.
    Type(TypeId),
    /// That it is there says all.
    Unit,
    /// An integer of at most 64 bits.
    Integer {
        /// Its type.
        ty: TypeId,
        /// Its value; of one bit, 0 or 1.
        value: i64,
    },
    /// A floating-point number of at most 64 bits.
    Float {
        /// Its type.
        ty: TypeId,
        /// Its bits.
        bits: u64,
    },
    /// Numbers of one type.
    DenseArray {
        /// Their type.
        ty: TypeId,
        /// How many there are.
        count: u64,
        /// Their bytes, the lowest first.
        data: Box<[u8]>,
    },
    /// The elements of a vector or tensor; one stands for all where they are equal.
    Dense {
        /// The type of the vector.
        ty: TypeId,
        /// The bytes of its elements, the lowest first.
        data: Box<[u8]>,
    },
    /// An attribute of another dialect, or an affine map, as its text.
    Text(Box<str>),
    /// Where in the source something was written. It is not read.
    Location,
    /// An attribute of the builtin dialect with a code that is not read here, or encoded by another dialect.
    Unknown(u64),
}

/// Cuts an integer down to a number of bits, which are its two's complement; one bit is 0 or 1.
pub(crate) fn to_width(value: i64, width: u32) -> i64 {
    match width {
        0 => 0,
        1 => value & 1,
        2..=63 => value << (64 - width) >> (64 - width),
        _ => value,
    }
}

/// Reads an integer of a known number of bits; `None` for more than 64, of which nothing more is read.
fn integer(bytes: &mut Bytes<'_>, width: u32) -> Result<Option<i64>, Error> {
    Ok(match width {
        0..=8 => Some(to_width(i64::from(bytes.byte()?), width)),
        9..=64 => Some(to_width(bytes.signed()?, width)),
        _ => None,
    })
}

/// Reads an attribute of the builtin dialect. `attributes` is the number of attributes, `strings` that of strings.
pub(crate) fn read(
    bytes: &mut Bytes<'_>,
    attributes: usize,
    types: &[Type],
    strings: usize,
) -> Result<Attribute, Error> {
    let attribute = |b: &mut Bytes<'_>| b.index(attributes, "an attribute").map(AttributeId);
    let ty = |b: &mut Bytes<'_>| b.index(types.len(), "a type").map(TypeId);
    let string = |b: &mut Bytes<'_>| b.index(strings, "a string").map(StringId);
    let blob = |b: &mut Bytes<'_>| {
        let length = b.count("the length of data")?;
        b.take(length).map(Box::<[u8]>::from)
    };
    let code = bytes.varint()?;
    Ok(match code {
        0 => Attribute::Array(bytes.list("attributes", attribute)?),
        1 => Attribute::Dictionary(bytes.list("attributes", |b| Ok((attribute(b)?, attribute(b)?)))?),
        2 => Attribute::String(string(bytes)?),
        3 => Attribute::TypedString(string(bytes)?, ty(bytes)?),
        4 => Attribute::Symbol(attribute(bytes)?),
        5 => Attribute::NestedSymbol(attribute(bytes)?, bytes.list("symbols", attribute)?),
        6 => Attribute::Type(ty(bytes)?),
        7 => Attribute::Unit,
        8 => {
            let ty = ty(bytes)?;
            let width = match &types[ty.index()] {
                Type::Integer { width, .. } => *width,
                Type::Index => 64,
                _ => return bytes.wrong("an integer type"),
            };
            integer(bytes, width)?.map_or(Attribute::Unknown(code), |value| Attribute::Integer { ty, value })
        }
        9 => {
            let ty = ty(bytes)?;
            let Type::Float(float) = &types[ty.index()] else { return bytes.wrong("a floating-point type") };
            let mask = 1_u64.checked_shl(float.width).map_or(u64::MAX, |end| end - 1);
            match integer(bytes, float.width)? {
                Some(value) => Attribute::Float { ty, bits: value as u64 & mask },
                None => Attribute::Unknown(code),
            }
        }
        10..=15 | 22 => Attribute::Location,
        17 => {
            let (ty, count) = (ty(bytes)?, bytes.varint()?);
            Attribute::DenseArray { ty, count, data: blob(bytes)? }
        }
        18 => Attribute::Dense { ty: ty(bytes)?, data: blob(bytes)? },
        code => Attribute::Unknown(code),
    })
}
