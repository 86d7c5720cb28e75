//! Where instructions come from, and the module's table of source positions.

use super::cursor::{Cursor, Parsed};
use crate::proto;

/// The origin of an instruction, between braces.
pub(super) fn metadata(cursor: &mut Cursor<'_>) -> Parsed<proto::OpMetadata> {
    let mut metadata = proto::OpMetadata::default();
    pairs(cursor, |cursor, key| {
        let number = |cursor: &mut Cursor<'_>| cursor.number("an integer of 32 bits");
        match key {
            "op_type" => metadata.op_type = cursor.string()?,
            "op_name" => metadata.op_name = cursor.string()?,
            "source_file" => metadata.source_file = cursor.string()?,
            "source_line" => metadata.source_line = number(cursor)?,
            "source_end_line" => metadata.source_end_line = number(cursor)?,
            "source_column" => metadata.source_column = number(cursor)?,
            "source_end_column" => metadata.source_end_column = number(cursor)?,
            "stack_frame_id" => metadata.stack_frame_id = number(cursor)?,
            "deduplicated_name" => metadata.deduplicated_name = cursor.string()?,
            "scheduling_name" => metadata.scheduling_name = cursor.string()?,
            _ => cursor.pass_value()?,
        }
        Ok(())
    })?;
    Ok(metadata)
}

/// One origin, or several between braces of their own.
pub(super) fn one_or_more(cursor: &mut Cursor<'_>) -> Parsed<Vec<proto::OpMetadata>> {
    let before = *cursor;
    cursor.expect("{")?;
    let are_many = matches!(cursor.peek(), Some(b'{' | b'}'));
    *cursor = before;
    if !are_many {
        return Ok(vec![metadata(cursor)?]);
    }
    let mut many = Vec::new();
    cursor.list("{", "}", |cursor| {
        many.push(metadata(cursor)?);
        Ok(())
    })?;
    Ok(many)
}

/// Keys with values, between braces, with or without commas.
pub(super) fn pairs<'a>(
    cursor: &mut Cursor<'a>,
    mut value: impl FnMut(&mut Cursor<'a>, &'a str) -> Parsed<()>,
) -> Parsed<()> {
    cursor.expect("{")?;
    while !cursor.eat("}") {
        let Some(key) = cursor.key() else { return cursor.unexpected("a key and =, or \"}\"") };
        value(cursor, key)?;
        cursor.eat(",");
    }
    Ok(())
}

/// The table at the head of newer modules: `FileNames`, `FunctionNames`, `FileLocations`, `StackFrames`.
pub(super) fn stack_frames(cursor: &mut Cursor<'_>) -> Parsed<Option<proto::StackFrameIndex>> {
    if !cursor.eat_word("FileNames") {
        return Ok(None);
    }
    let mut table = proto::StackFrameIndex { file_names: names(cursor)?, ..Default::default() };
    heading(cursor, "FunctionNames")?;
    table.function_names = names(cursor)?;
    heading(cursor, "FileLocations")?;
    while is_numbered(cursor)? {
        let mut location = proto::FileLocation::default();
        pairs(cursor, |cursor, key| {
            let field = match key {
                "file_name_id" => &mut location.file_name_id,
                "function_name_id" => &mut location.function_name_id,
                "line" => &mut location.line,
                "end_line" => &mut location.end_line,
                "column" => &mut location.column,
                "end_column" => &mut location.end_column,
                _ => return cursor.pass_value(),
            };
            *field = cursor.number("an integer of 32 bits")?;
            Ok(())
        })?;
        table.file_locations.push(location);
    }
    heading(cursor, "StackFrames")?;
    while is_numbered(cursor)? {
        let mut frame = proto::StackFrame::default();
        pairs(cursor, |cursor, key| {
            match key {
                "file_location_id" => frame.file_location_id = cursor.number("an integer of 32 bits")?,
                // Written as one more than it is.
                "parent_frame_id" => {
                    let id: i32 = cursor.number("an integer of 32 bits")?;
                    frame.parent_frame_id = id.saturating_sub(1);
                }
                _ => cursor.pass_value()?,
            }
            Ok(())
        })?;
        table.stack_frames.push(frame);
    }
    Ok(Some(table))
}

fn heading(cursor: &mut Cursor<'_>, word: &'static str) -> Parsed<()> {
    if cursor.eat_word(word) { Ok(()) } else { cursor.unexpected(word) }
}

/// Takes the number of a row, if one is next.
fn is_numbered(cursor: &mut Cursor<'_>) -> Parsed<bool> {
    let is_number = cursor.peek().is_some_and(|byte| byte.is_ascii_digit());
    if is_number {
        cursor.integer()?;
    }
    Ok(is_number)
}

fn names(cursor: &mut Cursor<'_>) -> Parsed<Vec<String>> {
    let mut names = Vec::new();
    while is_numbered(cursor)? {
        names.push(cursor.string()?);
    }
    Ok(names)
}
