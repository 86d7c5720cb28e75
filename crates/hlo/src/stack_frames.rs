//! The module's table of source positions and call stacks.

use crate::proto;

/// Call stacks of the user's program, shared by all instructions. Ids count from 1 throughout; 0 is "none".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackFrames {
    /// Source files.
    pub file_names: Vec<String>,
    /// Functions.
    pub function_names: Vec<String>,
    /// Positions in files.
    pub locations: Vec<FileLocation>,
    /// Frames: a position and the calling frame.
    pub frames: Vec<StackFrame>,
}

/// A position in a source file, by ids into the table's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileLocation {
    /// Entry of `file_names`, from 1.
    pub file_name_id: i32,
    /// Entry of `function_names`, from 1.
    pub function_name_id: i32,
    /// First line.
    pub line: i32,
    /// Last line; 0 if not recorded.
    pub end_line: i32,
    /// First column; 0 if not recorded.
    pub column: i32,
    /// Last column; 0 if not recorded.
    pub end_column: i32,
}

/// A frame of a call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// Entry of `locations`, from 1.
    pub location_id: i32,
    /// The caller's frame, from 1. The outermost frame has 0, or its own id.
    pub parent_frame_id: i32,
}

/// A frame with its names looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFrame<'a> {
    /// Source file.
    pub file: &'a str,
    /// Function around the position.
    pub function: &'a str,
    /// The position.
    pub location: FileLocation,
}

impl StackFrames {
    /// The frame with this id and its callers, innermost first. Empty for an unknown id; a table that runs in circles
    /// is cut where it repeats.
    #[must_use]
    pub fn stack(&self, frame_id: i32) -> Vec<SourceFrame<'_>> {
        let mut stack = Vec::new();
        let mut id = frame_id;
        while stack.len() < self.frames.len() {
            let Some(frame) = entry(&self.frames, id) else { break };
            let Some(location) = entry(&self.locations, frame.location_id) else { break };
            stack.push(SourceFrame {
                file: entry(&self.file_names, location.file_name_id).map_or("", String::as_str),
                function: entry(&self.function_names, location.function_name_id).map_or("", String::as_str),
                location: *location,
            });
            if frame.parent_frame_id == id {
                break;
            }
            id = frame.parent_frame_id;
        }
        stack
    }
}

/// The entry with an id that counts from 1.
fn entry<T>(table: &[T], id: i32) -> Option<&T> {
    table.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

impl From<proto::StackFrameIndex> for StackFrames {
    fn from(p: proto::StackFrameIndex) -> Self {
        Self {
            file_names: p.file_names,
            function_names: p.function_names,
            locations: p
                .file_locations
                .into_iter()
                .map(|l| FileLocation {
                    file_name_id: l.file_name_id,
                    function_name_id: l.function_name_id,
                    line: l.line,
                    end_line: l.end_line,
                    column: l.column,
                    end_column: l.end_column,
                })
                .collect(),
            frames: p
                .stack_frames
                .into_iter()
                .map(|f| StackFrame { location_id: f.file_location_id, parent_frame_id: f.parent_frame_id })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_to_the_outermost_frame_and_not_in_circles() {
        let frame = |location_id, parent_frame_id| StackFrame { location_id, parent_frame_id };
        let location =
            |line| FileLocation { file_name_id: 1, function_name_id: 1, line, ..FileLocation::default() };
        let mut table = StackFrames {
            file_names: vec!["model.py".into()],
            function_names: vec!["step".into()],
            locations: vec![location(10), location(20)],
            frames: vec![frame(1, 0), frame(2, 1)],
        };
        let lines =
            |table: &StackFrames, id| table.stack(id).iter().map(|f| f.location.line).collect::<Vec<_>>();
        assert_eq!(lines(&table, 2), [20, 10]);
        assert_eq!(table.stack(2)[0].file, "model.py");
        assert!(table.stack(0).is_empty() && table.stack(-1).is_empty() && table.stack(9).is_empty());
        table.frames = vec![frame(1, 2), frame(2, 1)];
        assert_eq!(lines(&table, 1), [10, 20]);
    }
}
