//! Which values of the program before optimisation an instruction stands for.

use std::fmt;

use super::{Words, escape::c_escape, list::Braced, list::join};
use crate::{proto, shape::Shape};

/// Tuples nested deeper than this are not followed.
const NESTING_LIMIT: usize = 64;

/// The words between the braces: one original array for each array of the shape, nested as the shape is.
pub(super) fn origin_text(origin: &proto::OriginalValue, shape: &Shape) -> String {
    if origin.is_synthetic_call {
        return "[synthetic_call]".to_owned();
    }
    Words(|f: &mut fmt::Formatter<'_>| piece(f, origin, shape, &mut Vec::new())).to_string()
}

fn piece(
    f: &mut fmt::Formatter<'_>,
    origin: &proto::OriginalValue,
    shape: &Shape,
    at: &mut Vec<i64>,
) -> fmt::Result {
    if shape.is_tuple() && at.len() < NESTING_LIMIT {
        f.write_str("(")?;
        join(f, (0..).zip(&shape.tuple_shapes), ", ", |f, (index, element)| {
            at.push(index);
            let written = piece(f, origin, element, at);
            at.pop();
            written
        })?;
        return f.write_str(")");
    }
    let array = origin.elements.iter().find(|e| e.shape_index == *at).and_then(|e| e.original_array.as_ref());
    f.write_str("{")?;
    if let Some(array) = array {
        write!(f, "\"{}\"", c_escape(array.instruction_name.as_bytes()))?;
        if !array.shape_index.is_empty() {
            write!(f, " {}", Braced(&array.shape_index))?;
        }
    }
    f.write_str("}")
}
