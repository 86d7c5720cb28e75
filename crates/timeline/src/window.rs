//! What to draw of some tracks in a window of time.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::ser::{Serialize, SerializeTuple, Serializer};

use haloscope_profile::{Line, LineId, MetaIdx, Profile};
use haloscope_report::Error;
use haloscope_report::stop;

use super::framework_rows::FrameworkTrack;
use super::view::{Piece, View};
use super::{Timeline, label};

/// What to draw of some tracks in a window of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// The tracks asked for, in the order asked.
    pub tracks: Vec<TrackSlices>,
    /// Names, each once; slices hold positions in this list.
    pub names: Vec<String>,
}

/// What to draw of one track.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TrackSlices {
    /// The line.
    pub id: u32,
    /// By row, then by time.
    pub slices: Vec<Slice>,
}

/// One box to draw. As JSON it is `[start_ps, duration_ps, depth, name, count, event]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Start on the run's clock, picoseconds; of the first event where several were merged.
    pub start_ps: i64,
    /// Picoseconds to the end of the (last) event.
    pub duration_ps: i64,
    /// The row, 0 at the top.
    pub depth: u32,
    /// Position in [`Window::names`]; the name of the longest event where several were merged.
    pub name: u32,
    /// The events merged here: more than one only where all of them lie within one pixel.
    pub count: u32,
    /// The event's row in its line, for [`Timeline::event`]; `None` where several were merged.
    pub event: Option<u32>,
}

impl Serialize for Slice {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_tuple(6)?;
        out.serialize_element(&self.start_ps)?;
        out.serialize_element(&self.duration_ps)?;
        out.serialize_element(&self.depth)?;
        out.serialize_element(&self.name)?;
        out.serialize_element(&self.count)?;
        out.serialize_element(&self.event.map_or(-1, i64::from))?;
        out.end()
    }
}

impl Timeline {
    /// What to draw of `lines` between two times (picoseconds on the run's clock, the end excluded) in `px` pixels.
    ///
    /// Every event that overlaps the window is in exactly one slice. An event of no duration overlaps where it stands.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window, for 0 or more than `MAX_PX` pixels, for a line that there is not.
    pub fn window(&self, start_ps: i64, end_ps: i64, px: u32, lines: &[LineId]) -> Result<Window, Error> {
        let mut names = Names::default();
        let mut tracks = Vec::with_capacity(lines.len());
        for (shown, pieces) in self.pieces(View::of(start_ps, end_ps, px)?, lines)? {
            let mut of_meta: FxHashMap<MetaIdx, u32> = FxHashMap::default();
            let mut named = |meta| match shown {
                Shown::Line(line) => names.of(&self.profile, line, meta),
                Shown::Framework(_) => names.place(Cow::Owned(self.texts.of(&[meta]).concat())),
            };
            let slice = |piece: &Piece| Slice {
                start_ps: piece.start_ps,
                duration_ps: piece.duration_ps,
                depth: piece.depth,
                name: *of_meta.entry(piece.meta).or_insert_with(|| named(piece.meta)),
                count: piece.count,
                event: piece.event(),
            };
            tracks.push(TrackSlices { id: shown.id().0, slices: pieces.iter().map(slice).collect() });
        }
        Ok(Window { tracks, names: names.list.into_iter().map(Cow::into_owned).collect() })
    }

    /// The pieces of a view of some lines, in the order asked.
    pub(super) fn pieces(
        &self,
        view: View,
        tracks: &[LineId],
    ) -> Result<Vec<(Shown<'_>, Vec<Piece>)>, Error> {
        let shown = tracks.iter().map(|id| self.shown(*id)).collect::<Result<Vec<_>, _>>()?;
        // Lines are independent of each other; some may have to be read and laid out first.
        let of_track = |shown: &Shown<'_>| match shown {
            Shown::Line(line) => self.layout(line).pieces(self.profile.events(line), view),
            Shown::Framework(track) => track.pieces(view),
        };
        let pieces: Vec<Vec<Piece>> = shown.par_iter().map(stop::carried(of_track)).collect();
        Ok(shown.into_iter().zip(pieces).collect())
    }

    fn shown(&self, id: LineId) -> Result<Shown<'_>, Error> {
        // Those that no line has are made of all ops: nobody makes them who asks for a line.
        if id.index() >= self.profile.lines.len()
            && let Some(track) = self.framework_track(id)
        {
            return Ok(Shown::Framework(track));
        }
        self.line(id).map(Shown::Line)
    }
}

/// What a track shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown<'t> {
    /// A line of the profile.
    Line(&'t Line),
    /// What no line has.
    Framework(&'t FrameworkTrack),
}

impl Shown<'_> {
    pub(super) fn id(self) -> LineId {
        match self {
            Shown::Line(line) => line.id,
            Shown::Framework(track) => track.id,
        }
    }
}

/// The names of a window, each once.
#[derive(Default)]
pub(super) struct Names<'p> {
    pub(super) list: Vec<Cow<'p, str>>,
    of_text: FxHashMap<Cow<'p, str>, u32>,
}

impl<'p> Names<'p> {
    /// The position of the name of a line's events with this metadata.
    pub(super) fn of(&mut self, profile: &'p Profile, line: &Line, meta: MetaIdx) -> u32 {
        self.place(label(profile, profile.plane(line.plane), meta))
    }

    /// The position of a name.
    fn place(&mut self, text: Cow<'p, str>) -> u32 {
        *self.of_text.entry(text).or_insert_with_key(|text| {
            self.list.push(text.clone());
            (self.list.len() - 1) as u32
        })
    }
}
