//! `XSpace`: the whole file.

use crate::plane::{Outline, RawLine};
use crate::wire::Fields;
use crate::{Faults, LineView, PlaneView};

const MESSAGE: &str = "XSpace";

/// A parsed file: its planes, and what the profiler said beside them. Borrows from the bytes.
#[derive(Debug, Clone, Default)]
pub struct SpaceView<'a> {
    /// Planes in file order. A plane cut by the end of the file is here with what was left of it.
    pub planes: Vec<PlaneView<'a>>,
    /// `errors` (field 2): messages of the profiler, UTF-8 as a rule.
    pub errors: Vec<&'a [u8]>,
    /// `warnings` (field 3).
    pub warnings: Vec<&'a [u8]>,
    /// `hostnames` (field 4).
    pub hostnames: Vec<&'a [u8]>,
    /// Number of top-level fields with a number that the schema does not have (skipped).
    pub unknown_fields: u64,
    /// What was malformed, down to the headers of lines; events report their own when they are read.
    pub faults: Faults,
}

impl<'a> SpaceView<'a> {
    /// Reads the structure of `bytes`, a serialised `XSpace`. Never fails: damage is in [`SpaceView::faults`].
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Self {
        Self::parse_with(bytes, |lines| lines.iter().map(RawLine::read).collect())
    }

    /// The same; `read` reads the lines, in whatever order or in parallel, and gives them back in the order it was given them.
    #[must_use]
    pub fn parse_with(
        bytes: &'a [u8],
        read: impl FnOnce(&[RawLine<'a>]) -> Vec<(LineView<'a>, Faults)>,
    ) -> Self {
        let mut space = Self::default();
        let mut outline = Outline::default();
        let mut fields = Fields::new(bytes, 0);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.bytes(MESSAGE).map(|body| {
                    let plane = PlaneView::outline(body, field.content, space.planes.len(), &mut outline);
                    space.planes.push(plane);
                }),
                2 => field.bytes(MESSAGE).map(|text| space.errors.push(text)),
                3 => field.bytes(MESSAGE).map(|text| space.warnings.push(text)),
                4 => field.text(MESSAGE).map(|text| space.hostnames.extend(field.whole.then_some(text))),
                _ => {
                    space.unknown_fields += 1;
                    Ok(())
                }
            };
            if let Err(fault) = part {
                outline.faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(MESSAGE) {
            outline.faults.push(fault);
        }
        let lines = read(&outline.lines);
        space.faults = outline.all_faults(lines.iter().map(|(_, faults)| faults));
        for (raw, (line, _)) in outline.lines.iter().zip(lines) {
            if let Some(plane) = space.planes.get_mut(raw.plane) {
                plane.lines.push(line);
            }
        }
        space
    }
}
