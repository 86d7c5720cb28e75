//! What XProf calls a buffer.

use haloscope_core::derive::heap::Buffer;
use haloscope_hlo::{BufferAllocation, Instruction, Module, Shape};

use super::{
    mib,
    shape::{HeapObject, SourceInfo},
};

/// Bytes of a pointer in a tuple.
const POINTER_BYTES: i64 = 8;

/// What an allocation is for.
pub(super) fn category(allocation: &BufferAllocation) -> &'static str {
    if allocation.entry_parameter.is_some() {
        "Parameter"
    } else if allocation.maybe_live_out {
        "Output"
    } else if allocation.is_thread_local {
        "Thread-local"
    } else if allocation.is_constant {
        "Constant"
    } else {
        "Temporary"
    }
}

/// The shape of a buffer; of a path into nested tuples, only the last step counts.
fn shape<'m>(buffer: &Buffer<'m>) -> &'m Shape {
    let whole = &buffer.instruction.shape;
    let step = buffer.logical.shape_index.last();
    step.and_then(|step| whole.tuple_element(*step)).unwrap_or(whole)
}

pub(super) fn shape_text(buffer: &Buffer<'_>) -> String {
    shape(buffer).to_string()
}

/// Bytes of a buffer with and without padding.
pub(super) fn sizes(buffer: &Buffer<'_>) -> (i64, i64) {
    let shape = shape(buffer);
    let unpadded = if shape.is_tuple() {
        i64::try_from(shape.tuple_shapes.len()).unwrap_or(i64::MAX).saturating_mul(POINTER_BYTES)
    } else {
        shape.bytes().and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(0)
    };
    (buffer.logical.size_bytes, unpadded)
}

/// The instruction's name, with the path into its tuple in braces.
pub(super) fn name(buffer: &Buffer<'_>) -> String {
    let path: Vec<String> = buffer.logical.shape_index.iter().map(ToString::to_string).collect();
    if path.is_empty() {
        buffer.instruction.name.clone()
    } else {
        format!("{}{{{}}}", buffer.instruction.name, path.join(","))
    }
}

/// Where an instruction comes from: its own file and line, else those of the innermost frame.
pub(super) fn source_info(module: &Module, instruction: &Instruction) -> Option<SourceInfo> {
    let metadata = instruction.metadata.as_ref()?;
    let frames = module.stack_frames.stack(metadata.stack_frame_id.unwrap_or(0));
    let lines: Vec<String> =
        frames.iter().map(|f| format!("{}:{}:{}", f.file, f.location.line, f.location.column)).collect();
    let first = frames.first().map(|f| (f.file.to_owned(), f.location.line));
    let own = metadata.source_file.clone().map(|file| (file, metadata.source_line.unwrap_or(0)));
    let (file_name, line_number) = own.or(first).filter(|(file, _)| !file.is_empty())?;
    Some(SourceInfo { file_name, line_number, stack_frame: lines.join("\n") })
}

pub(super) fn heap_object(
    module: &Module,
    buffer: &Buffer<'_>,
    numbered: usize,
    group: &'static str,
) -> HeapObject {
    let op_name = buffer.instruction.op_name().unwrap_or_default();
    let shape_string = shape_text(buffer);
    let (bytes, unpadded) = sizes(buffer);
    HeapObject {
        numbered,
        label: format!("{}: {shape_string} # {op_name}", buffer.instruction.name),
        logical_buffer_id: buffer.logical.id as i32,
        logical_buffer_size_mib: mib(bytes),
        unpadded_shape_mib: mib(unpadded),
        instruction_name: name(buffer),
        shape_string,
        tf_op_name: op_name.to_owned(),
        group_name: group.to_owned(),
        op_code: buffer.instruction.opcode_name().to_owned(),
        source_info: source_info(module, buffer.instruction),
    }
}
