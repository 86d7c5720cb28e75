//! `XSpace`: the whole file.

use crate::wire::Fields;
use crate::{Faults, PlaneView};

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
        let mut space = Self::default();
        let mut fields = Fields::new(bytes, 0);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.bytes(MESSAGE).map(|body| {
                    let plane = PlaneView::parse(body, field.content, &mut space.faults);
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
                space.faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(MESSAGE) {
            space.faults.push(fault);
        }
        space
    }
}
