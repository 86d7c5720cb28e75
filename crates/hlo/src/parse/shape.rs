//! Shapes and layouts.

use super::cursor::{Cursor, Parsed};
use crate::{element::ElementType, proto};

/// Tuples nested deeper than this are refused; compilers nest them a few levels.
pub(super) const NESTING_LIMIT: usize = 64;

/// A dimension without a bound, and a tile dimension that is merged into the next one.
const UNBOUNDED: i64 = i64::MIN;

pub(super) fn shape(cursor: &mut Cursor<'_>) -> Parsed<proto::Shape> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor<'_>, depth: usize) -> Parsed<proto::Shape> {
    if depth > NESTING_LIMIT {
        return cursor.unexpected(format!("at most {NESTING_LIMIT} shapes inside of each other"));
    }
    if cursor.peek() == Some(b'(') {
        let mut tuple_shapes = Vec::new();
        cursor.list("(", ")", |cursor| {
            tuple_shapes.push(nested(cursor, depth + 1)?);
            Ok(())
        })?;
        return Ok(of_type(ElementType::Tuple, tuple_shapes));
    }
    let place = *cursor;
    let word = cursor.word("a shape")?;
    if word == "b" && cursor.eat("(") {
        let inner = nested(cursor, depth + 1)?;
        cursor.expect(")")?;
        return Ok(of_type(ElementType::Buffer, vec![inner]));
    }
    let Some(element_type) = ElementType::from_name(word).filter(|_| cursor.is_adjacent(b'[')) else {
        *cursor = place;
        return cursor.unexpected("a shape");
    };
    let mut shape = of_type(element_type, Vec::new());
    dimensions(cursor, &mut shape)?;
    // A brace after a space opens a computation, unless a layout's first number or colon follows it.
    let is_adjacent = cursor.is_adjacent(b'{');
    let before = *cursor;
    if cursor.eat("{") {
        let is_layout = match cursor.peek() {
            Some(b'}') => is_adjacent,
            Some(byte) => byte == b':' || byte.is_ascii_digit(),
            None => false,
        };
        if is_layout {
            shape.layout = Some(layout(cursor)?);
        } else {
            *cursor = before;
        }
    }
    if shape.layout.is_none() && shape.dimensions.is_empty() && element_type.is_array() {
        shape.layout = Some(no_layout());
    }
    Ok(shape)
}

fn of_type(element_type: ElementType, tuple_shapes: Vec<proto::Shape>) -> proto::Shape {
    proto::Shape { element_type: element_type.number(), tuple_shapes, ..proto::Shape::default() }
}

/// A layout that says nothing; a buffer that is not padded at its end is padded to one element.
fn no_layout() -> proto::Layout {
    proto::Layout { tail_padding_alignment_in_elements: 1, ..proto::Layout::default() }
}

fn dimensions(cursor: &mut Cursor<'_>, shape: &mut proto::Shape) -> Parsed<()> {
    cursor.list("[", "]", |cursor| {
        let is_dynamic = cursor.eat("<=");
        if cursor.eat("?") {
            shape.dimensions.push(UNBOUNDED);
            shape.is_dynamic_dimension.push(true);
        } else {
            shape.dimensions.push(cursor.integer()?);
            shape.is_dynamic_dimension.push(is_dynamic);
        }
        Ok(())
    })
}

/// What stands between the braces, the first of which has been read.
fn layout(cursor: &mut Cursor<'_>) -> Parsed<proto::Layout> {
    let mut layout = no_layout();
    while !cursor.eat("}") {
        if cursor.eat(":") {
            while cursor.peek() != Some(b'}') {
                property(cursor, &mut layout)?;
            }
        } else {
            layout.minor_to_major.push(cursor.integer()?);
            cursor.eat(",");
        }
    }
    Ok(layout)
}

fn property(cursor: &mut Cursor<'_>, layout: &mut proto::Layout) -> Parsed<()> {
    const EXPECTED: &str = "a property of a layout: T, L, E, S, SC, M, D, P, # or *";
    // Index and pointer types of sparse arrays, which XLA no longer has.
    if cursor.eat("#") || cursor.eat("*") {
        return cursor.pass_value();
    }
    let before = *cursor;
    match cursor.word(EXPECTED)? {
        "T" => {
            tile(cursor, layout)?;
            while cursor.peek() == Some(b'(') {
                tile(cursor, layout)?;
            }
        }
        "L" => layout.tail_padding_alignment_in_elements = number(cursor)?,
        "E" => layout.element_size_in_bits = number(cursor)?,
        "S" => layout.memory_space = number(cursor)?,
        "M" => layout.dynamic_shape_metadata_prefix_bytes = number(cursor)?,
        "SC" => {
            while cursor.eat("(") {
                let dimension = cursor.integer()?;
                cursor.expect(":")?;
                let split_indices = cursor.bare_integers()?;
                cursor.expect(")")?;
                layout.split_configs.push(proto::SplitConfig { dimension, split_indices });
            }
        }
        "D" | "P" => cursor.pass_value()?,
        _ => {
            *cursor = before;
            return cursor.unexpected(EXPECTED);
        }
    }
    Ok(())
}

fn number(cursor: &mut Cursor<'_>) -> Parsed<i64> {
    cursor.expect("(")?;
    let number = cursor.integer()?;
    cursor.expect(")")?;
    Ok(number)
}

fn tile(cursor: &mut Cursor<'_>, layout: &mut proto::Layout) -> Parsed<()> {
    let mut tile = proto::Tile::default();
    cursor.list("(", ")", |cursor| {
        tile.dimensions.push(if cursor.eat("*") { UNBOUNDED } else { cursor.integer()? });
        Ok(())
    })?;
    layout.tiles.push(tile);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn parse(text: &str) -> Result<String, String> {
        let mut cursor = Cursor::new(text);
        let parsed = shape(&mut cursor).map_err(|error| error.into_error(text).to_string())?;
        let rest = cursor.peek_word();
        Ok(format!("{}{rest}", Shape::from(parsed)))
    }

    #[test]
    fn reads_what_is_printed() {
        for text in [
            "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}",
            "f32[]",
            "f32[]{:T(128)}",
            "(u32[], s32[?,<=4]{1,0}, (token[], ()))",
            "s4[5]{0:L(2)E(4)S(5)SC(0:1,2)M(8)}",
            "u8[4,4]{1,0:T(*,4)}",
            "opaque[]",
        ] {
            assert_eq!(parse(text).as_deref(), Ok(text));
        }
        assert_eq!(parse("f32[4] {ROOT x").as_deref(), Ok("f32[4]"));
        assert_eq!(parse("f32[4]{} add").as_deref(), Ok("f32[4]{}add"));
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("f33[2]").contains(r#"column 1: expected a shape, found "f33[2]""#));
        assert!(error("f32[x]").contains("column 5: expected an integer"));
        assert!(error("f32[2]{0:Q(1)}").contains("column 10: expected a property of a layout"));
        assert!(error("f32[2").contains("found the end of the text"));
        assert!(error("(f32[2]").contains("\")\""));
        assert!(error(&"(".repeat(100_000)).contains("at most 64 shapes"));
    }
}
