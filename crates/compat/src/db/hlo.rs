//! What the embedded HLO says of an op.

use std::borrow::Cow;
use std::fmt::Write;

use haloscope_hlo::{Instruction, Module};
use haloscope_profile::{Decoded, HostId, Profile};

use super::SourceInfo;

/// The module of a program that a host embedded, if it can be decoded.
#[must_use]
pub(crate) fn module(profile: &Profile, host: HostId, program_id: u64) -> Option<&Decoded> {
    let mut modules = profile.modules.iter().filter(|m| m.host == host);
    let module = modules.find(|m| m.program_id == Some(program_id))?;
    module.decode(profile).ok()
}

/// The framework's scope path and, behind a colon, its op type; empty where neither is known.
#[must_use]
pub(crate) fn provenance(hlo: &Instruction) -> Cow<'_, str> {
    let metadata = hlo.metadata.as_deref();
    let name = metadata.and_then(|m| m.op_name.as_deref()).unwrap_or_default();
    let kind = metadata.and_then(|m| m.op_type.as_deref()).unwrap_or_default();
    match (name, kind) {
        ("", "") => Cow::Borrowed(""),
        ("XLA_Args" | "XLA_Retvals", "") => format!("{name}:{name}").into(),
        _ => format!("{name}:{kind}").into(),
    }
}

/// Where an instruction was written: its own file and line, else the innermost frame of its stack.
#[must_use]
pub(crate) fn source<'p>(module: &'p Module, hlo: &'p Instruction) -> SourceInfo<'p> {
    let metadata = hlo.metadata.as_deref();
    let frames = metadata.and_then(|m| m.stack_frame_id).map(|id| module.stack_frames.stack(id));
    let frames = frames.unwrap_or_default();
    let mut stack = String::new();
    for frame in &frames {
        // Writing to a string cannot fail.
        let _ = writeln!(stack, "{}:{}:{}", frame.file, frame.location.line, frame.location.column);
    }
    let file = metadata.and_then(|m| m.source_file.as_deref()).filter(|file| !file.is_empty());
    match (file, frames.first()) {
        (Some(file), _) => {
            let line = metadata.and_then(|m| m.source_line).unwrap_or(0);
            SourceInfo { file: file.into(), line, stack: stack.into() }
        }
        (None, Some(first)) => {
            SourceInfo { file: first.file.into(), line: first.location.line, stack: stack.into() }
        }
        (None, None) => SourceInfo { line: -1, ..SourceInfo::default() },
    }
}
