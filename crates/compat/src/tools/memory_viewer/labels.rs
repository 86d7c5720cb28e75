//! What XProf calls a buffer.

use haloscope_hlo::{Instruction, Module};
use haloscope_program::{
    heap::Buffer,
    program_memory::{Group, name_of, shape_of, unpadded_bytes},
};

use super::{
    mib,
    shape::{HeapObject, SourceInfo},
};

pub(super) fn shape_text(buffer: &Buffer<'_>) -> String {
    shape_of(buffer).to_string()
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

pub(super) fn heap_object(module: &Module, buffer: &Buffer<'_>, numbered: usize) -> HeapObject {
    let op_name = buffer.instruction.op_name().unwrap_or_default();
    let shape_string = shape_text(buffer);
    HeapObject {
        numbered,
        label: format!("{}: {shape_string} # {op_name}", buffer.instruction.name),
        logical_buffer_id: buffer.logical.id as i32,
        logical_buffer_size_mib: mib(buffer.logical.size_bytes),
        unpadded_shape_mib: mib(unpadded_bytes(buffer)),
        instruction_name: name_of(buffer),
        shape_string,
        tf_op_name: op_name.to_owned(),
        group_name: Group::of(buffer.allocation).name().to_owned(),
        op_code: buffer.instruction.opcode_name().to_owned(),
        source_info: source_info(module, buffer.instruction),
    }
}
