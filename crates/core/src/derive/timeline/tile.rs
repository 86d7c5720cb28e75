//! A window as a binary tile: what a page draws without parsing text. docs/timeline.md describes the bytes.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::Error;
use crate::profile::{LineId, MetaIdx};

use super::Timeline;
use super::colours::Colour;
use super::layout::{Piece, View};
use super::window::Names;

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
        let mut names = Names::default();
        let mut classes = Classes::default();
        let (mut name, mut class) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (line, pieces) in &tracks {
            let painter = self.colours.painter(&self.profile, line);
            let mut of_meta: FxHashMap<MetaIdx, (u32, Option<u8>)> = FxHashMap::default();
            for piece in pieces {
                let mut paint = || painter.of(piece.longest as usize, |paint| classes.of(paint.get(colour)));
                let (known_name, known_class) = *of_meta.entry(piece.meta).or_insert_with(|| {
                    let class = painter.is_by_meta().then(&mut paint);
                    (names.of(&self.profile, line, piece.meta), class)
                });
                name.push(known_name);
                class.push(known_class.unwrap_or_else(paint));
            }
        }
        let pieces = || tracks.iter().flat_map(|(_, pieces)| pieces);
        let texts = || names.list.iter().chain(&classes.list);
        let mut out = Out::new(HEADER + count * SLICE + tracks.len() * 8);
        let [tracks_u32, count_u32] = [tracks.len(), count].map(|n| n as u32);
        let text_bytes: usize = texts().map(|text| text.len()).sum();
        out.u32s([MAGIC, tracks_u32, count_u32, names.list.len() as u32]);
        out.u32s([classes.list.len() as u32, text_bytes as u32]);
        out.put(start_ps.to_le_bytes());
        // Far ends of the clock differ by more than an i64 holds.
        let after = |piece: &Piece| (i128::from(piece.start_ps) - i128::from(start_ps)) as f64;
        pieces().for_each(|piece| out.put(after(piece).to_le_bytes()));
        pieces().for_each(|piece| out.put((piece.duration_ps as f64).to_le_bytes()));
        out.u32s(name);
        pieces().for_each(|piece| out.put(piece.event().map_or(-1, |e| e as i32).to_le_bytes()));
        out.u32s(pieces().map(|piece| piece.count));
        out.u32s(tracks.iter().map(|(line, _)| line.id.0));
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
struct Classes {
    list: Vec<Cow<'static, str>>,
    of_text: FxHashMap<String, u8>,
}

impl Classes {
    fn of(&mut self, text: Option<&str>) -> u8 {
        let Some(text) = text else { return NO_CLASS };
        if let Some(class) = self.of_text.get(text) {
            return *class;
        }
        let class = self.list.len().min(MOST_CLASSES);
        if class < MOST_CLASSES {
            self.list.push(Cow::Owned(text.to_owned()));
        } else if self.list.len() == MOST_CLASSES {
            self.list.push(Cow::Borrowed(OTHER));
        }
        self.of_text.insert(text.to_owned(), class as u8);
        class as u8
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
