//! Constants on one line.

use std::fmt;

use prost::Message;

use super::number::{self, Narrow};
use crate::{element::ElementType, proto, shape::Shape};

/// Literals nested deeper than this, or of more dimensions, are not written; compilers nest tuples a few levels.
const NESTING_LIMIT: usize = 64;

/// Writes a literal, with its shape and layout before each array where asked for. What is no literal, or has fewer values
/// than its shape, is written as `{...}`.
pub(super) fn write(f: &mut fmt::Formatter<'_>, bytes: &[u8], with_shape: bool) -> fmt::Result {
    match proto::Literal::decode(bytes) {
        Ok(literal) => piece(f, literal, with_shape, 0),
        Err(_) => f.write_str("{...}"),
    }
}

fn piece(
    f: &mut fmt::Formatter<'_>,
    mut literal: proto::Literal,
    with_shape: bool,
    depth: usize,
) -> fmt::Result {
    let Some(shape) = literal.shape.take().map(Shape::from).filter(|_| depth < NESTING_LIMIT) else {
        return f.write_str("{...}");
    };
    if shape.is_tuple() {
        f.write_str("( ")?;
        for (position, element) in literal.tuple_literals.into_iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            piece(f, element, with_shape, depth + 1)?;
        }
        return f.write_str(" )");
    }
    if shape.element_type == ElementType::Token {
        return f.write_str("token");
    }
    let Some(array) = Array::new(&shape, &literal) else { return f.write_str("{...}") };
    if with_shape {
        write!(f, "{shape}")?;
        if !shape.dynamic_dimensions.is_empty() {
            let sizes: Vec<String> = array.dims.iter().map(usize::to_string).collect();
            write!(f, "({})", sizes.join(","))?;
        }
        f.write_str(" ")?;
    }
    array.write(f, &mut Vec::new(), 0)
}

struct Array<'a> {
    /// Extents that are written; smaller than the bounds where a dimension is dynamic.
    dims: Vec<usize>,
    /// Distance in elements between neighbours along each dimension.
    strides: Vec<usize>,
    element_type: ElementType,
    values: &'a proto::Literal,
}

impl<'a> Array<'a> {
    /// `None` where there are not as many values as the shape says.
    fn new(shape: &Shape, values: &'a proto::Literal) -> Option<Self> {
        let bounds: Vec<usize> =
            shape.dimensions.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?;
        let mut strides = vec![0; bounds.len()];
        let descending: Vec<usize> = (0..bounds.len()).rev().collect();
        let order: Vec<usize> = match &shape.layout {
            Some(layout) => {
                layout.minor_to_major.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<_>>()?
            }
            None => descending,
        };
        let mut count = 1usize;
        for dim in &order {
            *strides.get_mut(*dim)? = count;
            count = count.checked_mul(*bounds.get(*dim)?)?;
        }
        let element_type = shape.element_type;
        if bounds.len() > NESTING_LIMIT
            || order.len() != bounds.len()
            || available(element_type, values)? < count
        {
            return None;
        }
        let size = |(dim, bound): (usize, usize)| match values.dynamic_sizes.get(dim) {
            Some(size) => usize::try_from(*size).map_or(bound, |size| size.min(bound)),
            None => bound,
        };
        let dims = bounds.into_iter().enumerate().map(size).collect();
        Some(Self { dims, strides, element_type, values })
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, at: &mut Vec<usize>, offset: usize) -> fmt::Result {
        let (rank, depth) = (self.dims.len(), at.len());
        let Some(&size) = self.dims.get(depth) else {
            return f.write_str(&element(self.element_type, self.values, offset, rank > 0));
        };
        let is_innermost = depth + 1 == rank;
        f.write_str("{")?;
        if rank > 1 {
            match at.last() {
                Some(value) if rank > 3 && !is_innermost => {
                    write!(f, " /*i{}={value}*/{}", depth - 1, if size > 0 { " " } else { "" })?;
                }
                _ if is_innermost && size <= 1 => {}
                _ => f.write_str(" ")?,
            }
        }
        for index in 0..size {
            if index > 0 {
                f.write_str(", ")?;
            }
            at.push(index);
            self.write(f, at, offset + index * self.strides[depth])?;
            at.pop();
        }
        if rank > 1 && !(is_innermost && size <= 1) {
            f.write_str(" ")?;
        }
        f.write_str("}")
    }
}

/// Arrays of more integers than these are not given.
const MOST_INTEGERS: usize = 1 << 18;

/// The values of an array of integers, the last dimension fastest; `None` for what is none, or is too large.
pub(crate) fn integers(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut literal = proto::Literal::decode(bytes).ok()?;
    let shape = Shape::from(literal.shape.take()?);
    let array = Array::new(&shape, &literal)?;
    let count = array.dims.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim))?;
    if count > MOST_INTEGERS {
        return None;
    }
    let value = |nth: usize| {
        let (mut rest, mut at) = (nth, 0);
        for (dim, stride) in array.dims.iter().zip(&array.strides).rev() {
            at += rest % dim * stride;
            rest /= dim;
        }
        integer(array.element_type, &literal, at)
    };
    (0..count).map(value).collect()
}

/// One value of an array of integers; `None` for what is no integer.
fn integer(element_type: ElementType, values: &proto::Literal, at: usize) -> Option<i64> {
    use ElementType as E;
    match element_type {
        E::Pred => values.preds.get(at).map(|set| i64::from(*set)),
        E::S32 => values.s32s.get(at).map(|value| i64::from(*value)),
        E::S64 => values.s64s.get(at).copied(),
        E::U32 => values.u32s.get(at).map(|value| i64::from(*value)),
        E::U64 => values.u64s.get(at).map(|value| *value as i64),
        _ => {
            let (bytes, width) = packed(element_type, values)?;
            narrow_integer(element_type, bits(bytes, width, at), width)
        }
    }
}

/// How many values of a type a literal has; `None` for types without values.
fn available(element_type: ElementType, values: &proto::Literal) -> Option<usize> {
    use ElementType as E;
    Some(match element_type {
        E::Pred => values.preds.len(),
        E::S32 => values.s32s.len(),
        E::S64 => values.s64s.len(),
        E::U32 => values.u32s.len(),
        E::U64 => values.u64s.len(),
        E::F32 => values.f32s.len(),
        E::F64 => values.f64s.len(),
        E::C64 => values.c64s.len() / 2,
        E::C128 => values.c128s.len() / 2,
        _ => {
            let (bytes, bits) = packed(element_type, values)?;
            bytes.len() / (bits as usize / 8)
        }
    })
}

/// Bytes of a type that has no field of numbers, and how many bits of them one value takes: 8 or 16.
fn packed(element_type: ElementType, values: &proto::Literal) -> Option<(&[u8], u32)> {
    use ElementType as E;
    Some(match element_type {
        E::S1 => (&values.s1s, 8),
        E::S2 => (&values.s2s, 8),
        E::S4 => (&values.s4s, 8),
        E::S8 => (&values.s8s, 8),
        E::S16 => (&values.s16s, 16),
        E::U1 => (&values.u1s, 8),
        E::U2 => (&values.u2s, 8),
        E::U4 => (&values.u4s, 8),
        E::U8 => (&values.u8s, 8),
        E::U16 => (&values.u16s, 16),
        E::F16 => (&values.f16s, 16),
        E::Bf16 => (&values.bf16s, 16),
        E::F8E5M2 => (&values.f8e5m2s, 8),
        E::F8E4M3 => (&values.f8e4m3s, 8),
        E::F8E4M3Fn => (&values.f8e4m3fns, 8),
        E::F8E4M3B11Fnuz => (&values.f8e4m3b11fnuzs, 8),
        E::F8E3M4 => (&values.f8e3m4s, 8),
        E::F8E5M2Fnuz => (&values.f8e5m2fnuzs, 8),
        E::F8E4M3Fnuz => (&values.f8e4m3fnuzs, 8),
        E::F8E8M0Fnu => (&values.f8e8m0fnus, 8),
        E::F4E2M1Fn => (&values.f4e2m1fns, 8),
        E::F6E3M2Fn => (&values.f6e3m2fns, 8),
        E::F6E2M3Fn => (&values.f6e2m3fns, 8),
        _ => return None,
    })
}

fn element(element_type: ElementType, values: &proto::Literal, at: usize, in_array: bool) -> String {
    use ElementType as E;
    fn number<T: Copy + Default + ToString>(values: &[T], at: usize) -> String {
        values.get(at).copied().unwrap_or_default().to_string()
    }
    let float = |at: usize| values.c64s.get(at).copied().unwrap_or_default();
    let double = |at: usize| values.c128s.get(at).copied().unwrap_or_default();
    match element_type {
        E::Pred => match (values.preds.get(at).copied().unwrap_or_default(), in_array) {
            (true, true) => "1",
            (false, true) => "0",
            (true, false) => "true",
            (false, false) => "false",
        }
        .to_owned(),
        E::S32 => number(&values.s32s, at),
        E::S64 => number(&values.s64s, at),
        E::U32 => number(&values.u32s, at),
        E::U64 => number(&values.u64s, at),
        E::F32 => number::float(values.f32s.get(at).copied().unwrap_or_default()),
        E::F64 => number::double(values.f64s.get(at).copied().unwrap_or_default()),
        E::C64 => format!("({}, {})", number::float(float(2 * at)), number::float(float(2 * at + 1))),
        E::C128 => format!("({}, {})", number::double(double(2 * at)), number::double(double(2 * at + 1))),
        _ => packed(element_type, values)
            .map_or_else(|| "{...}".to_owned(), |(bytes, bits)| narrow(element_type, bytes, bits, at)),
    }
}

/// The bits of one packed value.
fn bits(bytes: &[u8], width: u32, at: usize) -> u32 {
    let byte = |place: usize| u32::from(bytes.get(place).copied().unwrap_or_default());
    if width == 16 { byte(2 * at) | byte(2 * at + 1) << 8 } else { byte(at) }
}

/// An integer of at most 16 bits; the bits above its own are of no account. `None` for a type that is no integer.
fn narrow_integer(element_type: ElementType, bits: u32, width: u32) -> Option<i64> {
    use ElementType as E;
    let unused = 32 - element_type.bits().unwrap_or(width);
    match element_type {
        E::U1 | E::U2 | E::U4 | E::U8 | E::U16 => Some(i64::from((bits << unused) >> unused)),
        E::S1 | E::S2 | E::S4 | E::S8 | E::S16 => Some(i64::from(((bits << unused) as i32) >> unused)),
        _ => None,
    }
}

/// A value of at most 16 bits.
fn narrow(element_type: ElementType, bytes: &[u8], width: u32, at: usize) -> String {
    use ElementType as E;
    let bits = bits(bytes, width, at);
    if let Some(value) = narrow_integer(element_type, bits, width) {
        return value.to_string();
    }
    match element_type {
        // A power of two without sign or mantissa.
        E::F8E8M0Fnu if bits == 0xff => "nan".to_owned(),
        E::F8E8M0Fnu => number::general(2f64.powi(bits as i32 - 127), 2),
        _ => Narrow::from_element_type(element_type)
            .map_or_else(|| "{...}".to_owned(), |format| format.text(bits)),
    }
}
