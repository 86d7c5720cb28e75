//! A window as a binary tile: what a page draws without parsing text. docs/timeline.md describes the bytes.

use std::sync::Arc;

use haloscope_profile::LineId;
use haloscope_report::Error;

use super::Timeline;
use super::colours::Colour;
use super::texts::{Met, NO_TEXT, Texts};
use super::view::{Piece, View};
use super::window::Shown;

/// The first four bytes, little endian: `HLT1`.
pub(super) const MAGIC: u32 = 0x3154_4C48;
/// Bytes of the header.
const HEADER: usize = 32;
/// Bytes of one slice: two f64, two u32, one i32, one u16, one u8.
const SLICE: usize = 31;
/// Classes with a name of their own.
const MOST_CLASSES: usize = 254;
/// The class of slices that have none.
const NO_CLASS: u8 = 255;
/// The name of what further classes share.
const OTHER: &str = "other";

impl Timeline {
    /// What [`Timeline::window`] says of the same window, as a binary tile, with the class that `colour` gives each slice.
    ///
    /// # Errors
    /// As of [`Timeline::window`].
    pub fn tile(
        &self,
        start_ps: i64,
        end_ps: i64,
        px: u32,
        lines: &[LineId],
        colour: Colour,
    ) -> Result<Vec<u8>, Error> {
        let tracks = self.pieces(View::of(start_ps, end_ps, px)?, lines)?;
        let count = tracks.iter().map(|(_, pieces)| pieces.len()).sum();
        let mut names = Met::default();
        let mut classes = Classes::default();
        let (mut name, mut class) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (shown, pieces) in &tracks {
            let line = match shown {
                Shown::Line(line) => line,
                Shown::Framework(_) => {
                    name.extend(pieces.iter().map(|piece| names.place(piece.meta)));
                    class.extend(pieces.iter().map(|_| NO_CLASS));
                    continue;
                }
            };
            let painter = self.colours.painter(&self.profile, line, &self.texts);
            let labels = self.labels.of_line(&self.profile, line, &self.texts);
            name.extend(pieces.iter().map(|piece| names.place(labels.number(piece.meta))));
            if painter.is_by_meta() {
                class.extend(pieces.iter().map(|p| classes.of(painter.by_meta(p.meta).get(colour))));
            } else {
                class.extend(pieces.iter().map(|p| classes.of(painter.of(p.longest as usize).get(colour))));
            }
        }
        let (names, classes) = (self.texts.of(&names.list), classes.texts(&self.texts));
        let pieces = || tracks.iter().flat_map(|(_, pieces)| pieces);
        let texts = || names.iter().chain(&classes);
        let mut out = Out::new(HEADER + count * SLICE + tracks.len() * 8);
        let [tracks_u32, count_u32] = [tracks.len(), count].map(|n| n as u32);
        let text_bytes: usize = texts().map(|text| text.len()).sum();
        out.u32s([MAGIC, tracks_u32, count_u32, names.len() as u32]);
        out.u32s([classes.len() as u32, text_bytes as u32]);
        out.put(start_ps.to_le_bytes());
        // Far ends of the clock differ by more than an i64 holds.
        let far = |piece: &Piece| (i128::from(piece.start_ps) - i128::from(start_ps)) as f64;
        let after = |piece: &Piece| {
            piece.start_ps.checked_sub(start_ps).map_or_else(|| far(piece), |after| after as f64)
        };
        pieces().for_each(|piece| out.put(after(piece).to_le_bytes()));
        pieces().for_each(|piece| out.put((piece.duration_ps as f64).to_le_bytes()));
        out.u32s(name);
        pieces().for_each(|piece| out.put(piece.event().map_or(-1, |e| e as i32).to_le_bytes()));
        out.u32s(pieces().map(|piece| piece.count));
        out.u32s(tracks.iter().map(|(shown, _)| shown.id().0));
        out.u32s(tracks.iter().map(|(_, pieces)| pieces.len() as u32));
        let mut end = 0;
        let ends = texts().map(|text| {
            end += text.len() as u32;
            end
        });
        out.u32s(std::iter::once(0).chain(ends));
        pieces().for_each(|piece| out.put(u16::try_from(piece.depth).unwrap_or(u16::MAX).to_le_bytes()));
        out.0.extend_from_slice(&class);
        texts().for_each(|text| out.0.extend_from_slice(text.as_bytes()));
        Ok(out.0)
    }
}

/// The classes of a tile, each once, in the order in which slices have them.
#[derive(Default)]
struct Classes(Met);

impl Classes {
    fn of(&mut self, text: u32) -> u8 {
        if text == NO_TEXT {
            return NO_CLASS;
        }
        // The largest has all that have no class of their own.
        (self.0.place(text) as usize).min(MOST_CLASSES) as u8
    }

    fn texts(&self, texts: &Texts) -> Vec<Arc<str>> {
        let own = self.0.list.len().min(MOST_CLASSES);
        let mut list = texts.of(&self.0.list[..own]);
        if own < self.0.list.len() {
            list.push(OTHER.into());
        }
        list
    }
}

/// Bytes in the making.
struct Out(Vec<u8>);

impl Out {
    fn new(room: usize) -> Self {
        Self(Vec::with_capacity(room))
    }

    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.extend_from_slice(&bytes);
    }

    fn u32s(&mut self, all: impl IntoIterator<Item = u32>) {
        all.into_iter().for_each(|value| self.put(value.to_le_bytes()));
    }
}
