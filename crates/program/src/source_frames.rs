//! Where in the user's program an op comes from: the call stack that the profiler or the compiler recorded.

use std::borrow::Cow;

use haloscope_profile::{HostId, Profile};
use haloscope_time::hlo_costs::Costs;
use haloscope_time::ops::Op;
use haloscope_time::select::Selection;

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place<'p> {
    /// The file's path as the profile has it.
    pub file: Cow<'p, str>,
    /// The line, from 1; `None` where only the file is known.
    pub line: Option<u32>,
}

/// One frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'p> {
    /// Where.
    pub place: Place<'p>,
    /// The function around it; empty where nobody recorded it.
    pub function: Cow<'p, str>,
}

/// Looks call stacks up for the ops of a selection.
#[derive(Debug)]
pub struct Stacks<'p> {
    /// The modules of each host.
    costs: Vec<Costs<'p>>,
}

impl<'p> Stacks<'p> {
    /// For the ops of these devices.
    #[must_use]
    pub fn new(profile: &'p Profile, selection: &Selection<'p>) -> Self {
        let mut hosts: Vec<HostId> = Vec::new();
        let mut costs = Vec::new();
        for device in &selection.devices {
            if !hosts.contains(&device.host) {
                hosts.push(device.host);
                costs.push(Costs::new(profile, device));
            }
        }
        Self { costs }
    }

    /// The frames of an op, innermost first: those that the profiler wrote on the op, else those of its HLO module, else the
    /// one place that is known of it. Empty where nothing is.
    #[must_use]
    pub fn of(&self, op: &Op<'p>) -> Vec<Frame<'p>> {
        let own = Place::parse(op.meta.source.clone());
        let written = parse_stack(&op.meta.source_stack, own.as_ref());
        if !written.is_empty() {
            return written;
        }
        let id = op.meta.program_id;
        let embedded = self.costs.iter().find_map(|costs| costs.stack(id?, &op.meta.name));
        let Some(stack) = embedded else {
            return own.into_iter().map(|place| Frame { place, function: Cow::Borrowed("") }).collect();
        };
        let frame = |f: &haloscope_hlo::SourceFrame<'p>| Frame {
            place: Place {
                file: Cow::Borrowed(f.file),
                line: u32::try_from(f.location.line).ok().filter(|n| *n > 0),
            },
            function: Cow::Borrowed(f.function),
        };
        stack.iter().map(frame).collect()
    }
}

impl<'p> Place<'p> {
    /// `model.py:127` or `model.py:127:43`; `None` for an empty text.
    #[must_use]
    pub fn parse(text: Cow<'p, str>) -> Option<Self> {
        let (end, line) = split_numbers(&text);
        if end == 0 {
            return None;
        }
        let file = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
            Cow::Owned(text) => Cow::Owned(text[..end].to_owned()),
        };
        Some(Self { file, line })
    }
}

/// Where the file's name ends, and the line: the first of at most two numbers behind colons at the end.
fn split_numbers(text: &str) -> (usize, Option<u32>) {
    let number = |end: usize| {
        let colon = text[..end].rfind(':')?;
        Some((colon, text[colon + 1..end].parse::<u32>().ok()?))
    };
    match number(text.len()) {
        None => (text.len(), None),
        Some((colon, last)) => match number(colon) {
            Some((file_end, line)) => (file_end, Some(line)),
            None => (colon, Some(last)),
        },
    }
}

/// A `source_stack`: one frame a line. Profilers write it from either end; the frame of the op's own line is the innermost.
fn parse_stack<'p>(text: &str, own: Option<&Place<'_>>) -> Vec<Frame<'p>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let places = lines.filter_map(|line| Place::parse(Cow::Owned(line.to_owned())));
    let mut frames: Vec<Frame<'p>> =
        places.map(|place| Frame { place, function: Cow::Borrowed("") }).collect();
    let is_own = |frame: Option<&Frame<'p>>| frame.zip(own).is_some_and(|(frame, own)| frame.place == *own);
    if is_own(frames.last()) && !is_own(frames.first()) {
        frames.reverse();
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &'static str, line: u32) -> Place<'static> {
        Place { file: file.into(), line: Some(line) }
    }

    #[test]
    fn places_with_and_without_a_column() {
        let parse = |text: &'static str| Place::parse(Cow::Borrowed(text));
        assert_eq!(parse("/a/m.py:127"), Some(place("/a/m.py", 127)));
        assert_eq!(parse("/a/m.py:127:43"), Some(place("/a/m.py", 127)));
        assert_eq!(parse("C:/m.py:9"), Some(place("C:/m.py", 9)));
        assert_eq!(parse("<embedded module '_launcher'>:153:2").unwrap().line, Some(153));
        assert_eq!(parse("m.py"), Some(Place { file: "m.py".into(), line: None }));
        assert_eq!((parse(""), parse(":7")), (None, None));
    }

    #[test]
    fn the_innermost_frame_comes_first() {
        let lines = |text, own: &Place<'_>| {
            parse_stack(text, Some(own)).iter().map(|f| f.place.line.unwrap()).collect::<Vec<_>>()
        };
        // As the profiler of a v6e wrote it for a program, and for a kernel.
        assert_eq!(lines("app.py:484:6\nmain.py:49:2\nmain.py:37:8\n", &place("main.py", 37)), [37, 49, 484]);
        assert_eq!(lines("m.py:48:9\nm.py:67:6\nm.py:80:2", &place("m.py", 48)), [48, 67, 80]);
        assert_eq!(lines("", &place("m.py", 48)), [0_u32; 0]);
    }
}
