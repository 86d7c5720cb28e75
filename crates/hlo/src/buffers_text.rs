//! XLA's `-buffer-assignment.txt`, which a dump has beside the text of an optimised module.
//!
//! Allocations with their sizes, memory spaces and uses, and which value lies where in them, stand there as in the proto. What
//! is not written: heap traces, and so in what order temporary buffers come and go; ids of instructions (names stand for them).
//! Two flags follow from the rest: an allocation of tuples holds nothing but tuples and is not thread-local (the proto also flags
//! some temporary memory that holds tuples among others), and a parameter that may be live when the program ends is aliased with
//! an output. Behind the allocations XLA may list what else it knows of the values; that is
//! passed over.

use crate::{
    buffers::{AssignedBuffer, BufferAllocation, BufferAssignment, LogicalBuffer},
    error::Error,
};

const TITLE: &str = "BufferAssignment:";
/// Lines with which other lists begin.
const ENDS: [&str; 2] = ["Total bytes used", "Used values:"];

impl BufferAssignment {
    /// Whether bytes are a buffer assignment in words.
    #[must_use]
    pub fn is_text(bytes: &[u8]) -> bool {
        bytes.trim_ascii_start().starts_with(TITLE.as_bytes())
    }

    /// Reads `BufferAssignment::ToString`, as dumps hold it.
    ///
    /// # Errors
    /// Where a line is not of an allocation or of a value in one, with its number and what was expected there.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lines = text.lines().enumerate();
        let title = lines.by_ref().find(|(_, line)| !line.trim().is_empty());
        match title {
            Some((_, line)) if line.trim() == TITLE => {}
            Some((at, line)) => return Err(error(at, line, line, TITLE)),
            None => return Err(error(0, "", "", TITLE)),
        }
        let mut all = Self::default();
        let mut is_of_tuples = false;
        for (at, line) in lines {
            let fail = |(rest, expected)| error(at, line, rest, expected);
            if let Some(value) = line.strip_prefix(" value: <") {
                let Some(allocation) = all.allocations.last_mut() else {
                    return Err(error(at, line, line, "an allocation before its values"));
                };
                let (buffer, offset_bytes, shape) = value_of(value, allocation.memory_space).map_err(fail)?;
                is_of_tuples = shape.starts_with('(') && (is_of_tuples || allocation.assigned.is_empty());
                allocation.is_tuple = is_of_tuples && !allocation.is_thread_local;
                let size_bytes = buffer.size_bytes;
                allocation.assigned.push(AssignedBuffer { buffer_id: buffer.id, offset_bytes, size_bytes });
                all.logical_buffers.push(buffer);
            } else if let Some(rest) = line.strip_prefix("allocation ") {
                all.allocations.push(allocation_of(rest).map_err(fail)?);
                is_of_tuples = false;
            } else if line.trim().is_empty() || ENDS.iter().any(|end| line.starts_with(end)) {
                break;
            } else {
                return Err(error(at, line, line, "`allocation N: size BYTES` or ` value: <...>`"));
            }
        }
        all.logical_buffers.sort_by_key(|buffer| buffer.id);
        Ok(all)
    }
}

/// What is left of a line where it cannot be read, and what was expected.
type Fault<'a> = (&'a str, &'static str);

/// `0: size 32, color 6, parameter 9, shape |f32[4]| at ShapeIndex {}, maybe-live-out:`.
fn allocation_of(line: &str) -> Result<BufferAllocation, Fault<'_>> {
    let (index, rest) = number(line, "the number of an allocation")?;
    let rest = rest.strip_prefix(": size ").ok_or((rest, "`: size `"))?;
    let (size_bytes, rest) = number(rest, "a size in bytes")?;
    let fields = rest.strip_suffix(':').ok_or((&rest[rest.len()..], "`:` at the end of the line"))?;
    let mut allocation = BufferAllocation { index, size_bytes, ..BufferAllocation::default() };
    let mut left = fields;
    while !left.is_empty() {
        left = left.strip_prefix(", ").ok_or((left, "`, `"))?;
        let (field, rest) = left.split_at(end_of_field(left));
        left = rest;
        if let Some(color) = field.strip_prefix("color ") {
            allocation.memory_space = number(color, "a memory space")?.0;
        } else if let Some(parameter) = field.strip_prefix("parameter ") {
            allocation.entry_parameter =
                Some((number(parameter, "the number of a parameter")?.0, Vec::new()));
        } else if field.starts_with("shape |") {
            let path = field.rsplit_once("| at ShapeIndex ").map(|(_, path)| path);
            let path = path.ok_or((field, "`| at ShapeIndex {...}`"))?;
            if let Some((_, known)) = &mut allocation.entry_parameter {
                *known = indices(path)?;
            }
        } else {
            match field {
                "constant" => allocation.is_constant = true,
                "thread-local" => allocation.is_thread_local = true,
                "maybe-live-out" => allocation.maybe_live_out = true,
                // A page, the output's shape, `preallocated-temp`, and what later versions write.
                _ => {}
            }
        }
    }
    allocation.is_parameter_aliased_with_output =
        allocation.entry_parameter.is_some() && allocation.maybe_live_out;
    Ok(allocation)
}

/// Where a field ends: at the next `, ` that stands in no shape and in no braces.
fn end_of_field(text: &str) -> usize {
    let (mut is_in_shape, mut depth) = (false, 0usize);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'|' => is_in_shape = !is_in_shape,
            b'{' if !is_in_shape => depth += 1,
            b'}' if !is_in_shape => depth = depth.saturating_sub(1),
            b',' if !is_in_shape && depth == 0 && bytes.get(at + 1) == Some(&b' ') => return at,
            _ => {}
        }
    }
    text.len()
}

/// `75 tuple.28{} (phi) @0> (size=32,offset=0): (f32[], s32[])`: the value, its offset and its shape.
fn value_of(line: &str, memory_space: i64) -> Result<(LogicalBuffer, i64, &str), Fault<'_>> {
    let (id, rest) = number(line, "the id of a value")?;
    let rest = rest.strip_prefix(' ').ok_or((rest, "a space"))?;
    let (name, rest) = rest.split_once("> (size=").ok_or((rest, "`NAME @SPACE> (size=`"))?;
    let (size_bytes, rest) = number(rest, "a size in bytes")?;
    let rest = rest.strip_prefix(",offset=").ok_or((rest, "`,offset=`"))?;
    let (offset_bytes, rest) = number(rest, "an offset in bytes")?;
    let shape = rest.strip_prefix("): ").ok_or((rest, "`): ` and a shape"))?;
    let (name, space) = name.rsplit_once(" @").ok_or((name, "` @SPACE`"))?;
    // -1 where no memory was chosen for the value itself.
    let space = number(space, "a memory space")?.0;
    let name = name.strip_suffix(" (phi)").unwrap_or(name);
    let (name, path) = match name.strip_suffix('}').and_then(|name| name.rsplit_once('{')) {
        Some((instruction, _)) => (instruction, &name[instruction.len()..]),
        None => (name, "{}"),
    };
    let buffer = LogicalBuffer {
        id,
        size_bytes,
        memory_space: if space < 0 { memory_space } else { space },
        instruction_name: name.to_owned(),
        instruction_id: None,
        shape_index: indices(path)?,
    };
    Ok((buffer, offset_bytes, shape))
}

/// `{1,0}`.
fn indices(text: &str) -> Result<Vec<i64>, Fault<'_>> {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inside = inside.ok_or((text, "a path such as {1,0}"))?.trim();
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    let step = |part: &str| part.trim().parse().map_err(|_| (text, "a path such as {1,0}"));
    inside.split(',').map(step).collect()
}

/// The number at the start, and what follows it.
fn number<'a>(text: &'a str, expected: &'static str) -> Result<(i64, &'a str), Fault<'a>> {
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(sign + digits);
    Ok((number.parse().map_err(|_| (text, expected))?, rest))
}

/// At most this many characters of a line are quoted.
const QUOTED: usize = 40;

fn error(at: usize, line: &str, rest: &str, expected: &str) -> Error {
    // What is left is a part of the line, so that its start tells the column.
    let before = (rest.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    let column = line.get(..before).map_or(0, |before| before.chars().count()) + 1;
    let quoted: String = rest.chars().take(QUOTED).collect();
    let found = if quoted.is_empty() { "the end of the line".to_owned() } else { format!("{quoted:?}") };
    Error::Text { line: at + 1, column, expected: expected.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "BufferAssignment:\n\
        allocation 0: size 32, page 0, thread-local:\n \
        value: <75 tuple.28{} @0> (size=32,offset=0): (f32[]{:T(128)}, s32[]{:T(128)})\n\
        allocation 1: size 64, color 6, page 0, parameter 9, shape |(s32[4], f32[4])| at ShapeIndex {1,0}, maybe-live-out:\n \
        value: <3 while.6{2,0} (phi) @6> (size=16,offset=48): f32[4]{0}\n \
        value: <2 a{b.c @-1> (size=64,offset=0): f32[16]{0}\n\
        allocation 7: size 4, output shape is |(f32[64,64], f32[4], thread-local)|, constant:\n \
        value: <1 t{} @0> (size=4,offset=0): (f32[])\n\
        allocation 8: size 0, color 1, preallocated-temp, new, odd:\n\nUsed values:\n<75 tuple.28 @0>\n";

    #[test]
    fn what_stands_in_the_text() {
        let read = BufferAssignment::parse(TEXT).unwrap();
        assert!(BufferAssignment::is_text(TEXT.as_bytes()) && !BufferAssignment::is_text(b"HloModule x"));
        let sizes: Vec<_> =
            read.allocations.iter().map(|a| (a.index, a.size_bytes, a.memory_space)).collect();
        assert_eq!(sizes, [(0, 32, 0), (1, 64, 6), (7, 4, 0), (8, 0, 1)]);
        let [tuple, parameter, constant, empty] = read.allocations.as_slice() else { unreachable!() };
        assert!(!tuple.is_tuple && tuple.is_thread_local && !tuple.maybe_live_out);
        assert_eq!(parameter.entry_parameter, Some((9, vec![1, 0])));
        assert!(
            parameter.maybe_live_out && parameter.is_parameter_aliased_with_output && !parameter.is_tuple
        );
        assert!(constant.is_constant && !constant.is_thread_local && constant.is_tuple);
        assert!(!empty.is_constant && empty.entry_parameter.is_none());
        let value = |id, name: &str, size_bytes, memory_space, shape_index: &[i64]| LogicalBuffer {
            id,
            size_bytes,
            memory_space,
            instruction_name: name.to_owned(),
            instruction_id: None,
            shape_index: shape_index.to_vec(),
        };
        let expected = [
            value(1, "t", 4, 0, &[]),
            value(2, "a{b.c", 64, 6, &[]),
            value(3, "while.6", 16, 6, &[2, 0]),
            value(75, "tuple.28", 32, 0, &[]),
        ];
        assert_eq!(read.logical_buffers, expected);
        let place =
            |buffer_id, offset_bytes, size_bytes| AssignedBuffer { buffer_id, offset_bytes, size_bytes };
        assert_eq!(parameter.assigned, [place(3, 48, 16), place(2, 0, 64)]);
        assert!(read.heap_traces.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let says = |text: &str| BufferAssignment::parse(text).unwrap_err().to_string();
        assert_eq!(says(""), "line 1, column 1: expected BufferAssignment:, found the end of the line");
        assert_eq!(
            says("HloModule x"),
            "line 1, column 1: expected BufferAssignment:, found \"HloModule x\""
        );
        let with = |line: &str| says(&format!("BufferAssignment:\n{line}"));
        assert!(
            with(" value: <1 a @0> (size=4,offset=0): f32[]").contains("an allocation before its values")
        );
        assert!(
            with("allocation x: size 4:")
                .starts_with("line 2, column 12: expected the number of an allocation")
        );
        assert!(
            with("allocation 1: size 99999999999999999999:").contains("column 20: expected a size in bytes")
        );
        assert!(
            with("allocation 1: size 4, constant").contains("column 31: expected `:` at the end of the line")
        );
        assert!(with("allocation 1: size 4, parameter 1, shape |f32[]|:").contains("at ShapeIndex"));
        assert!(with("something else").contains("`allocation N: size BYTES`"));
        for value in [
            "",
            "1",
            "1 a",
            "1 a @0>",
            "1 a @0> (size=4",
            "1 a @0> (size=4,offset=0)",
            "1 a{x} @0> (size=4,offset=0): f32[]",
        ] {
            assert!(
                with(&format!("allocation 1: size 4:\n value: <{value}")).starts_with("line 3, column "),
                "{value}"
            );
        }
    }
}
