//! Where instructions come from.

use std::fmt;

use super::escape::c_escape;
use crate::{instruction::Metadata, stack_frames::StackFrames};

/// Whether there is something that XLA finds worth writing.
pub(super) fn is_worth_writing(metadata: &Metadata) -> bool {
    metadata.op_type.is_some()
        || metadata.op_name.is_some()
        || metadata.source_file.is_some()
        || metadata.scheduling_name.is_some()
        || metadata.stack_frame_id.is_some()
}

/// The words between the braces.
pub(super) fn metadata_text(metadata: &Metadata) -> String {
    let text = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("{key}=\"{}\"", c_escape(value.as_bytes())))
    };
    let number = |key: &str, value: Option<i32>| value.map(|value| format!("{key}={value}"));
    let parts = [
        text("op_type", &metadata.op_type),
        text("op_name", &metadata.op_name),
        text("source_file", &metadata.source_file),
        number("source_line", metadata.source_line),
        number("source_end_line", metadata.source_end_line),
        number("source_column", metadata.source_column),
        number("source_end_column", metadata.source_end_column),
        text("deduplicated_name", &metadata.deduplicated_name),
        text("scheduling_name", &metadata.scheduling_name),
        number("stack_frame_id", metadata.stack_frame_id),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The module's table of source positions. Frames are numbered from 1, and the caller of the outermost is 1 as well.
pub(super) fn stack_frames(f: &mut fmt::Formatter<'_>, table: &StackFrames) -> fmt::Result {
    if *table == StackFrames::default() {
        return Ok(());
    }
    f.write_str("\n\nFileNames\n")?;
    for (position, name) in table.file_names.iter().enumerate() {
        writeln!(f, "{} \"{}\"", position + 1, c_escape(name.as_bytes()))?;
    }
    f.write_str("\nFunctionNames\n")?;
    for (position, name) in table.function_names.iter().enumerate() {
        writeln!(f, "{} \"{}\"", position + 1, c_escape(name.as_bytes()))?;
    }
    f.write_str("\nFileLocations\n")?;
    for (position, at) in table.locations.iter().enumerate() {
        writeln!(
            f,
            "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
            position + 1,
            at.file_name_id,
            at.function_name_id,
            at.line,
            at.end_line,
            at.column,
            at.end_column
        )?;
    }
    f.write_str("\nStackFrames\n")?;
    for (position, frame) in table.frames.iter().enumerate() {
        writeln!(
            f,
            "{} {{file_location_id={} parent_frame_id={}}}",
            position + 1,
            frame.location_id,
            i64::from(frame.parent_frame_id) + 1
        )?;
    }
    Ok(())
}
