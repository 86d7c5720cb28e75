//! Which line of whose source an instruction comes from.

use std::borrow::Cow;

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Row of [`SourceMap::strings`]: the file's name.
    pub file: u32,
    /// First line.
    pub line: u32,
    /// Last line, or 0.
    pub last_line: u32,
}

/// What several instructions have in common.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info {
    /// A call stack, outermost first, or the places of instructions that were merged: nothing tells which.
    pub frames: Vec<Frame>,
    /// Row of [`SourceMap::strings`]: the primitive, such as `dot_general`.
    pub primitive: Option<u32>,
    /// Rows of [`SourceMap::strings`]: the scopes around it, outermost first.
    pub scopes: Vec<u32>,
    /// Ids of the instructions. Some may have been optimised away.
    pub ids: Vec<i32>,
}

/// `SourceMap`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap<'a> {
    /// What is known, of whom.
    pub infos: Vec<Info>,
    /// Names of files, primitives and scopes.
    pub strings: Vec<Cow<'a, str>>,
}

impl SourceMap<'_> {
    /// A string, if there is one of this number.
    #[must_use]
    pub fn text(&self, number: u32) -> Option<&str> {
        self.strings.get(number as usize).map(AsRef::as_ref)
    }

    /// A place as `file:line`; of a file without a name nothing.
    #[must_use]
    pub fn place(&self, frame: &Frame) -> Option<String> {
        Some(format!("{}:{}", self.text(frame.file)?, frame.line))
    }

    /// The place of the source that its instructions are of: the last frame, as XProf takes it.
    #[must_use]
    pub fn line_of(&self, info: &Info) -> Option<String> {
        self.place(info.frames.last()?)
    }
}
