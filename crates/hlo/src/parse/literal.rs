//! Constants.

use prost::Message;

use super::{
    cursor::{Cursor, Parsed},
    shape::{self, NESTING_LIMIT},
};
use crate::{element::ElementType as E, proto, shape::Shape, text::number::Narrow};

/// The constant between the brackets, encoded; `None` where the compiler left it out (`{...}`).
pub(super) fn literal(cursor: &mut Cursor<'_>, shape: &proto::Shape) -> Parsed<Option<Vec<u8>>> {
    Ok(piece(cursor, shape, 0)?.map(|literal| literal.encode_to_vec()))
}

/// A constant that names its shape, as an attribute does.
pub(super) fn literal_with_shape(cursor: &mut Cursor<'_>) -> Parsed<Option<Vec<u8>>> {
    Ok(with_shape(cursor, 0)?.map(|literal| literal.encode_to_vec()))
}

fn with_shape(cursor: &mut Cursor<'_>, depth: usize) -> Parsed<Option<proto::Literal>> {
    if cursor.peek() == Some(b'(') {
        return tuple(cursor, None, depth);
    }
    let shape = shape::shape(cursor)?;
    let mut sizes = Vec::new();
    if shape.is_dynamic_dimension.contains(&true) && cursor.peek() == Some(b'(') {
        cursor.list("(", ")", |cursor| {
            sizes.push(cursor.number("an integer")?);
            Ok(())
        })?;
    }
    let mut literal = piece(cursor, &shape, depth)?;
    if let Some(literal) = &mut literal {
        literal.dynamic_sizes = sizes;
    }
    Ok(literal)
}

fn piece(cursor: &mut Cursor<'_>, shape: &proto::Shape, depth: usize) -> Parsed<Option<proto::Literal>> {
    if cursor.eat("{...}") {
        return Ok(None);
    }
    let element_type = E::from_proto(shape.element_type);
    match element_type {
        E::Tuple => tuple(cursor, Some(shape), depth),
        E::Token => {
            cursor.eat_word("token");
            Ok(Some(proto::Literal { shape: Some(shape.clone()), ..proto::Literal::default() }))
        }
        _ => array(cursor, shape, element_type),
    }
}

/// A tuple; where its shape is not known, each element names its own.
fn tuple(
    cursor: &mut Cursor<'_>,
    shape: Option<&proto::Shape>,
    depth: usize,
) -> Parsed<Option<proto::Literal>> {
    if depth > NESTING_LIMIT {
        return cursor.unexpected(format!("at most {NESTING_LIMIT} tuples inside of each other"));
    }
    let mut literal = proto::Literal::default();
    let (mut is_complete, mut shapes) = (true, Vec::new());
    cursor.list("(", ")", |cursor| {
        let element = match shape {
            None => with_shape(cursor, depth + 1)?,
            Some(shape) => match shape.tuple_shapes.get(literal.tuple_literals.len()) {
                Some(shape) => piece(cursor, shape, depth + 1)?,
                None => return cursor.unexpected(format!("{} elements", shape.tuple_shapes.len())),
            },
        };
        is_complete &= element.is_some();
        let element = element.unwrap_or_default();
        shapes.extend(element.shape.clone());
        literal.tuple_literals.push(element);
        Ok(())
    })?;
    let own = || proto::Shape { element_type: E::Tuple.number(), tuple_shapes: shapes, ..Default::default() };
    literal.shape = Some(shape.cloned().unwrap_or_else(own));
    Ok(is_complete.then_some(literal))
}

fn array(cursor: &mut Cursor<'_>, shape: &proto::Shape, element_type: E) -> Parsed<Option<proto::Literal>> {
    if shape.dimensions.len() > NESTING_LIMIT {
        return cursor.unexpected(format!("a constant of at most {NESTING_LIMIT} dimensions"));
    }
    let start = *cursor;
    let mut values = Values::new(element_type);
    let is_dynamic = shape.is_dynamic_dimension.contains(&true);
    // Extents of the dimensions that are open, and how many values there were when each was opened.
    let mut opened: Vec<usize> = Vec::new();
    loop {
        if cursor.eat("{") {
            if opened.len() >= shape.dimensions.len() {
                return cursor.unexpected("a number");
            }
            opened.push(values.count);
        } else if cursor.peek() == Some(b'}') {
            let before = opened.pop().unwrap_or_default();
            let inside = values.count - before;
            let expected = shape.dimensions[opened.len()..]
                .iter()
                .try_fold(1usize, |count, dim| count.checked_mul(usize::try_from(*dim).ok()?));
            if !is_dynamic && Some(inside) != expected {
                let expected = expected.map_or("fewer".to_owned(), |count| count.to_string());
                return cursor.unexpected(format!("{expected} values before this, not {inside}"));
            }
            cursor.expect("}")?;
        } else if opened.len() == shape.dimensions.len() {
            values.push(cursor)?;
        } else {
            return cursor.unexpected(if opened.is_empty() { "\"{\"" } else { "\"{\" or \"}\"" });
        }
        if opened.is_empty() {
            break;
        }
        cursor.eat(",");
    }
    let order = (!is_dynamic).then(|| physical_order(shape, values.count)).flatten();
    let mut literal = proto::Literal { shape: Some(shape.clone()), ..proto::Literal::default() };
    if values.store(order.as_deref(), &mut literal) {
        return Ok(Some(literal));
    }
    *cursor = start;
    cursor.unexpected("a constant of a type that has values")
}

/// Where each value goes, first dimension slowest; `None` where they lie in that order already.
fn physical_order(shape: &proto::Shape, count: usize) -> Option<Vec<usize>> {
    let shape = Shape::from(shape.clone());
    let minor_to_major = &shape.layout.as_ref()?.minor_to_major;
    let rank = shape.dimensions.len();
    if minor_to_major.len() != rank || minor_to_major.iter().rev().copied().eq(0..rank as i64) {
        return None;
    }
    let extents: Vec<usize> =
        shape.dimensions.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<_>>()?;
    let mut strides = vec![0usize; rank];
    let mut stride = 1usize;
    for dim in minor_to_major {
        let dim = usize::try_from(*dim).ok()?;
        if std::mem::replace(strides.get_mut(dim)?, stride) != 0 {
            return None;
        }
        stride = stride.checked_mul(*extents.get(dim)?)?;
    }
    let mut at = vec![0usize; rank];
    let mut order = Vec::with_capacity(count);
    for _ in 0..count {
        order.push(at.iter().zip(&strides).map(|(at, stride)| at * stride).sum());
        for dim in (0..rank).rev() {
            at[dim] += 1;
            if at[dim] < extents[dim] {
                break;
            }
            at[dim] = 0;
        }
    }
    Some(order)
}

/// Values in the order of the text.
struct Values {
    element_type: E,
    count: usize,
    /// Integers, truth values, and the bits of narrow types.
    integers: Vec<i128>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
}

impl Values {
    fn new(element_type: E) -> Self {
        Self { element_type, count: 0, integers: Vec::new(), floats: Vec::new(), doubles: Vec::new() }
    }

    fn push(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        self.count += 1;
        match self.element_type {
            E::F32 => self.floats.push(float(cursor)?),
            E::F64 => self.doubles.push(double(cursor)?),
            E::C64 => {
                let (real, imaginary) = pair(cursor, float)?;
                self.floats.extend([real, imaginary]);
            }
            E::C128 => {
                let (real, imaginary) = pair(cursor, double)?;
                self.doubles.extend([real, imaginary]);
            }
            E::Pred => {
                let place = *cursor;
                let value = match cursor.word("true or false")? {
                    "true" | "1" => 1,
                    "false" | "0" => 0,
                    _ => {
                        *cursor = place;
                        return cursor.unexpected("true or false");
                    }
                };
                self.integers.push(value);
            }
            E::F8E8M0Fnu => {
                let value = double(cursor)?;
                self.integers.push(if value.is_nan() { 0xff } else { (value.log2() + 127.0) as i128 });
            }
            element_type => match Narrow::from_element_type(element_type) {
                Some(format) => self.integers.push(narrow(cursor, format)?.into()),
                None => self.integers.push(integer(cursor, element_type)?),
            },
        }
        Ok(())
    }

    /// Puts the values into their field of the message; false for a type that has none.
    fn store(self, order: Option<&[usize]>, literal: &mut proto::Literal) -> bool {
        let Self { element_type, integers, floats, doubles, .. } = self;
        let integers = arrange(integers, order, 1);
        // Each is within the type, or was made from its bits.
        match element_type {
            E::F32 => literal.f32s = arrange(floats, order, 1),
            E::F64 => literal.f64s = arrange(doubles, order, 1),
            E::C64 => literal.c64s = arrange(floats, order, 2),
            E::C128 => literal.c128s = arrange(doubles, order, 2),
            E::Pred => literal.preds = integers.iter().map(|v| *v != 0).collect(),
            E::S32 => literal.s32s = integers.iter().map(|v| *v as i32).collect(),
            E::S64 => literal.s64s = integers.iter().map(|v| *v as i64).collect(),
            E::U32 => literal.u32s = integers.iter().map(|v| *v as u32).collect(),
            E::U64 => literal.u64s = integers.iter().map(|v| *v as u64).collect(),
            _ => {
                let Some((field, bits)) = packed(element_type, literal) else { return false };
                *field = pack(&integers, bits);
            }
        }
        true
    }
}

/// Puts values that belong together `each` at a time where they go.
fn arrange<T: Copy + Default>(values: Vec<T>, order: Option<&[usize]>, each: usize) -> Vec<T> {
    let Some(order) = order.filter(|order| order.len() * each == values.len()) else { return values };
    let mut arranged = vec![T::default(); values.len()];
    for (from, to) in values.chunks(each).zip(order) {
        if let Some(to) = arranged.get_mut(to * each..(to + 1) * each) {
            to.copy_from_slice(from);
        }
    }
    arranged
}

/// Values of one or two bytes each; what is narrower than a byte takes one as well.
fn pack(values: &[i128], bits: u32) -> Vec<u8> {
    match bits {
        16 => values.iter().flat_map(|value| (*value as u16).to_le_bytes()).collect(),
        _ => values.iter().map(|value| *value as u8).collect(),
    }
}

/// The field of a type that has no field of numbers, and how many bits of it one value takes.
fn packed(element_type: E, literal: &mut proto::Literal) -> Option<(&mut Vec<u8>, u32)> {
    Some(match element_type {
        E::S1 => (&mut literal.s1s, 8),
        E::S2 => (&mut literal.s2s, 8),
        E::S4 => (&mut literal.s4s, 8),
        E::S8 => (&mut literal.s8s, 8),
        E::S16 => (&mut literal.s16s, 16),
        E::U1 => (&mut literal.u1s, 8),
        E::U2 => (&mut literal.u2s, 8),
        E::U4 => (&mut literal.u4s, 8),
        E::U8 => (&mut literal.u8s, 8),
        E::U16 => (&mut literal.u16s, 16),
        E::F16 => (&mut literal.f16s, 16),
        E::Bf16 => (&mut literal.bf16s, 16),
        E::F8E5M2 => (&mut literal.f8e5m2s, 8),
        E::F8E4M3 => (&mut literal.f8e4m3s, 8),
        E::F8E4M3Fn => (&mut literal.f8e4m3fns, 8),
        E::F8E4M3B11Fnuz => (&mut literal.f8e4m3b11fnuzs, 8),
        E::F8E3M4 => (&mut literal.f8e3m4s, 8),
        E::F8E5M2Fnuz => (&mut literal.f8e5m2fnuzs, 8),
        E::F8E4M3Fnuz => (&mut literal.f8e4m3fnuzs, 8),
        E::F8E8M0Fnu => (&mut literal.f8e8m0fnus, 8),
        E::F4E2M1Fn => (&mut literal.f4e2m1fns, 8),
        E::F6E3M2Fn => (&mut literal.f6e3m2fns, 8),
        E::F6E2M3Fn => (&mut literal.f6e2m3fns, 8),
        _ => return None,
    })
}

fn integer(cursor: &mut Cursor<'_>, element_type: E) -> Parsed<i128> {
    let place = *cursor;
    let value: i128 = cursor.number("an integer")?;
    let bits = element_type.bits().unwrap_or(64).min(64);
    let (lowest, highest) = match element_type.name().starts_with('u') {
        true => (0, (1 << bits) - 1),
        false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    if (lowest..=highest).contains(&value) {
        return Ok(value);
    }
    *cursor = place;
    cursor.unexpected(format!("an integer from {lowest} to {highest}"))
}

fn pair<T>(cursor: &mut Cursor<'_>, one: fn(&mut Cursor<'_>) -> Parsed<T>) -> Parsed<(T, T)> {
    cursor.expect("(")?;
    let real = one(cursor)?;
    cursor.expect(",")?;
    let imaginary = one(cursor)?;
    cursor.expect(")")?;
    Ok((real, imaginary))
}

const NUMBER: &str = "a number";

fn float(cursor: &mut Cursor<'_>) -> Parsed<f32> {
    let (value, payload) = cursor.real::<f32>(NUMBER)?;
    let bits = value.to_bits() >> 23 << 23;
    Ok(payload.map_or(value, |payload| f32::from_bits(bits | (payload as u32 & ((1 << 23) - 1)))))
}

fn double(cursor: &mut Cursor<'_>) -> Parsed<f64> {
    let (value, payload) = cursor.real::<f64>(NUMBER)?;
    let bits = value.to_bits() >> 52 << 52;
    Ok(payload.map_or(value, |payload| f64::from_bits(bits | (payload & ((1 << 52) - 1)))))
}

/// The bits of a number in a narrow format.
fn narrow(cursor: &mut Cursor<'_>, format: Narrow) -> Parsed<u32> {
    let place = *cursor;
    let (value, payload) = cursor.real::<f64>(NUMBER)?;
    if let Some(bits) = format.bits(value, payload) {
        return Ok(bits);
    }
    *cursor = place;
    cursor.unexpected("a number that the constant's type can hold")
}
