//! The lists behind a message: what a total is made of, and the largest buffers.

use super::short;
use crate::message::{Buffer, Message, Part, What};
use crate::size::Size;
use haloscope_report::head;

use crate::text::{after, between, field};

/// Bytes of a message with its lists.
pub(super) const MOST: usize = 1 << 20;
/// Buffers that are kept; compilers list 20.
const MOST_BUFFERS: usize = 200;
/// Parts that are kept.
const MOST_PARTS: usize = 64;
/// So many lines that are of no list end one.
const STRANGE: usize = 12;

/// Headings of sums, and the list that each begins.
const HEADINGS: [(&str, &str); 6] = [
    ("Total hbm usage", "total"),
    ("HBM capacity", "capacity"),
    ("Program ", "program"),
    ("BufferAssignment stats", "assignment"),
    ("Persistent allocations", "persistent"),
    ("Heap allocator status", "heap"),
];

/// Reads the lists of a message, from its first line on.
pub(super) fn read(text: &str, message: &mut Message) {
    let mut list: Option<(&'static str, usize)> = None;
    let mut buffers = Buffers::default();
    let mut strange = 0;
    for (at, line) in text.lines().enumerate() {
        // Another message begins.
        if at > 0 && (line.contains("Ran out of memory ") || line.contains("Traceback (most")) {
            break;
        }
        if let Some((name, from)) = heading(line) {
            list = Some((name, from));
            strange = 0;
            continue;
        }
        if line.contains("Largest program allocations in ") || line.contains("Peak buffers:") {
            buffers.begin();
            list = None;
            strange = 0;
            continue;
        }
        if let Some((size, rest)) = after(line, "Output size ").and_then(Size::parse) {
            message.parts.push(Part { list: "output", name: "size".to_owned(), size, remark: String::new() });
            if let Some((size, _)) = after(rest, "shares ").and_then(Size::parse) {
                message.parts.push(Part {
                    list: "output",
                    name: "shared".to_owned(),
                    size,
                    remark: String::new(),
                });
            }
            strange = 0;
            continue;
        }
        if buffers.is_begun {
            if buffers.line(line) {
                strange = 0;
            } else {
                strange += 1;
            }
        } else if let Some((name, from)) = list {
            let body =
                line.get(from.min(line.len())..).filter(|_| line.is_char_boundary(from.min(line.len())));
            match body.and_then(part) {
                Some((own, size, remark)) if message.parts.len() < MOST_PARTS => {
                    message.parts.push(Part { list: name, name: own, size, remark });
                    strange = 0;
                }
                _ => strange += 1,
            }
        } else if at > 0 {
            strange += 1;
        }
        if strange > STRANGE {
            break;
        }
    }
    buffers.finish();
    message.buffers.append(&mut buffers.all);
}

/// The list that a line begins, and where its text begins behind what a log puts in front.
fn heading(line: &str) -> Option<(&'static str, usize)> {
    let (word, list) = HEADINGS.iter().find(|(word, _)| line.contains(word))?;
    let from = line.find(word)?;
    // `Program requirement:` is a part of another list.
    if *list == "program" && !line[from..].contains("requirement ") {
        return None;
    }
    let is_title = line.trim_end().ends_with(':') || line.contains(">=") || *list == "capacity";
    is_title.then_some((*list, from))
}

/// A part of a sum: its name, its size and what is said of it.
fn part(line: &str) -> Option<(String, Size, String)> {
    let line = line.trim();
    let mut from = 0;
    // The size is the first word behind the name that is one.
    while let Some(at) = line.get(from..).and_then(|rest| rest.find([' ', ':'])) {
        let at = from + at;
        from = at + 1;
        let rest = line[at + 1..].trim_start();
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && let Some((size, remark)) = Size::parse(rest)
            && (size.bytes == 0 || size.slack_bytes > 0 || rest.contains('B') || rest.contains("bytes"))
        {
            // Where the bytes stand beside it they are exact.
            let exact =
                between(remark, "(", " bytes)").and_then(|bytes| Size::parse(bytes)).map(|(size, _)| size);
            let name = line[..at].trim().trim_end_matches(':').to_owned();
            return (!name.is_empty()).then(|| (short(&name), exact.unwrap_or(size), short(remark)));
        }
    }
    None
}

/// The buffers of a list, while its lines come.
#[derive(Default)]
struct Buffers {
    all: Vec<Buffer>,
    own: Option<Buffer>,
    is_begun: bool,
}

impl Buffers {
    fn begin(&mut self) {
        self.finish();
        self.is_begun = true;
    }

    fn finish(&mut self) {
        if let Some(buffer) = self.own.take().filter(|_| self.all.len() < MOST_BUFFERS) {
            self.all.push(buffer);
        }
    }

    /// Takes a line in; false where it is of no buffer.
    fn line(&mut self, line: &str) -> bool {
        if let Some(size) = numbered(line) {
            self.finish();
            self.own = Some(Buffer { size: Size::parse(size).map(|(size, _)| size), ..Buffer::default() });
            return true;
        }
        if field(line, "Buffer ")
            .is_some_and(|rest| rest.trim_end_matches(':').bytes().all(|b| b.is_ascii_digit()))
        {
            self.finish();
            self.own = Some(Buffer::default());
            return true;
        }
        if line.contains("==========") {
            self.finish();
            return true;
        }
        let label = field(line, "XLA label:").or_else(|| field(line, "XLA Label:"));
        // Old lists have no sizes, and nothing between the buffers.
        if let Some(label) = label {
            if self.own.as_ref().is_none_or(|own| !own.name.is_empty()) {
                self.finish();
                self.own = Some(Buffer::default());
            }
            if let Some(own) = &mut self.own {
                let name = label.split([' ', '=']).next().unwrap_or(label).trim_start_matches('%');
                own.name = short(if label.starts_with("register allocator") { label } else { name });
                if label.contains("spill") {
                    own.what = What::Spills;
                }
                if own.shape.is_empty()
                    && let Some((_, shape)) = label.split_once(" = ").filter(|_| label.starts_with('%'))
                {
                    own.shape = short(shape.split(' ').next().unwrap_or_default());
                }
            }
            return true;
        }
        let Some(own) = &mut self.own else { return line.trim().is_empty() };
        if let Some(size) = field(line, "Unpadded size:") {
            own.unpadded = Size::parse(size).map(|(size, _)| size);
        } else if let Some(size) = field(line, "Size:") {
            own.size = Size::parse(size).map(|(size, _)| size);
        } else if let Some(op) = field(line, "Operator:") {
            operator(op, own);
        } else if let Some(shape) = field(line, "Entry Parameter Subshape:") {
            own.what = What::Argument;
            own.shape = short(shape);
        } else if let Some(shape) = field(line, "Shape:") {
            own.shape = short(shape);
        } else if let Some(tag) = field(line, "Tag:") {
            tagged(tag, own);
        } else if let Some(kind) = field(line, "Allocation type:") {
            let kind = kind.trim();
            if own.what == What::Unknown {
                own.what = match kind {
                    "HLO temp" => What::Temporary,
                    "parameter" | "argument" | "arguments" => What::Argument,
                    "output" => What::Result,
                    "constant" | "global" => What::Constant,
                    _ => What::Unknown,
                };
            }
        } else {
            return line.trim().is_empty() || field(line, "Extra memory due to padding:").is_some();
        }
        true
    }
}

/// What stands behind `12. Size:`.
fn numbered(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once(". Size:").or_else(|| line.split_once("\\. Size:"))?;
    let before = before.trim_end_matches('\\');
    before.ends_with(|c: char| c.is_ascii_digit()).then(|| rest.trim())
}

/// The op and the source line of a buffer.
fn operator(text: &str, buffer: &mut Buffer) {
    if let Some(name) = after(text, "op_name=\"") {
        let name = name.split("\" ").next().unwrap_or(name).trim_end_matches('"');
        buffer.op_name = short(name);
    }
    if let Some(file) = between(text, "source_file=\"", "\"") {
        let line = after(text, "source_line=").map_or("", |rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            &rest[..end]
        });
        buffer.source = if line.is_empty() { short(file) } else { format!("{}:{line}", short(file)) };
    }
}

/// What a tag says of a buffer of a kernel.
pub(super) fn tagged(tag: &str, buffer: &mut Buffer) {
    let number = |word: &str| {
        let rest = after(tag, word)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end)?.parse::<u32>().ok()
    };
    if tag.contains("window allocation") {
        let is_output = head(tag, 24).contains("output window");
        buffer.what = if is_output { What::OutputWindow } else { What::InputWindow };
        buffer.operand = number(if is_output { "operator output " } else { "operator input " });
        buffer.window = between(tag, "window shape is ", ", while").map(short).unwrap_or_default();
        buffer.full =
            between(tag, "full shape is ", ". ").map(|s| short(s.trim_end_matches('.'))).unwrap_or_default();
        buffer.levels = number("This allocation has ");
        // A window is allocated as raw bytes, so that its size holds what tiling adds.
        if let (Some(levels), Some(bytes)) = (buffer.levels, crate::shape::unpadded_bytes(&buffer.window)) {
            buffer.unpadded = Some(Size::exact(bytes.saturating_mul(i64::from(levels))));
        }
    } else if tag.contains("prefetched") {
        buffer.what = What::Prefetched;
        buffer.operand = number("operand ");
    } else if tag.contains("scratch") {
        buffer.what = What::Scratch;
    } else if tag.contains("spill") {
        buffer.what = What::Spills;
    } else if tag.contains("internal scratch") {
        buffer.what = What::Stack;
    }
    if buffer.unpadded.is_none() {
        buffer.unpadded = crate::shape::unpadded_bytes(&buffer.shape).map(Size::exact);
    }
}
