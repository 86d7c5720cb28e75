//! speedscope's JSON (file format 0.0.1): an evented profile for each lane of a line.
//!
//! Times are nanoseconds with all their digits. speedscope has no counters: they are left out. The frames, which the
//! profiles name by their place in a list, stand behind them, since they are known only then.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use haloscope_profile::Event;

use super::choose::ChosenPlane;
use super::json;
use super::walk::{Begin, Sink, Track};

/// Picoseconds of a nanosecond, as a power of ten.
const NS: usize = 3;

/// A file being written.
pub(super) struct Speedscope<'w> {
    out: &'w mut dyn Write,
    plane: String,
    first_profile: bool,
    first_event: bool,
    frames: Vec<String>,
    frame_of: FxHashMap<String, usize>,
    /// Frames of the events that are open.
    open: Vec<usize>,
}

impl<'w> Speedscope<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            plane: String::new(),
            first_profile: true,
            first_event: true,
            frames: Vec::new(),
            frame_of: FxHashMap::default(),
            open: Vec::new(),
        }
    }

    fn event(&mut self, kind: char, time_ps: i64, frame: usize) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first_event) { "" } else { "," };
        write!(self.out, "{comma}\n{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":")?;
        json::decimal(self.out, time_ps, NS)?;
        self.out.write_all(b"}")
    }
}

impl Sink for Speedscope<'_> {
    fn start(&mut self, _first_ps: i64) -> io::Result<()> {
        self.out.write_all(
            b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"haloscope\",\"profiles\":[",
        )
    }

    fn plane(&mut self, chosen: &ChosenPlane<'_>) -> io::Result<()> {
        self.plane.clone_from(&chosen.name);
        Ok(())
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first_profile) { "" } else { "," };
        let lane = if track.lane > 0 { format!(" [{}]", track.lane + 1) } else { String::new() };
        write!(self.out, "{comma}\n{{\"type\":\"evented\",\"name\":")?;
        json::text(self.out, &format!("{}/{}{lane}", self.plane, track.name))?;
        self.out.write_all(b",\"unit\":\"nanoseconds\",\"startValue\":")?;
        json::decimal(self.out, track.span_ps.0, NS)?;
        self.out.write_all(b",\"endValue\":")?;
        json::decimal(self.out, track.span_ps.1, NS)?;
        self.out.write_all(b",\"events\":[")?;
        self.first_event = true;
        Ok(())
    }

    fn begin(&mut self, begin: &Begin<'_>) -> io::Result<()> {
        let frame = match self.frame_of.get(begin.name) {
            Some(frame) => *frame,
            None => {
                self.frames.push(begin.name.to_owned());
                self.frame_of.insert(begin.name.to_owned(), self.frames.len() - 1);
                self.frames.len() - 1
            }
        };
        self.open.push(frame);
        self.event('O', begin.event.start_ps, frame)
    }

    fn end(&mut self, event: &Event) -> io::Result<()> {
        let frame = self.open.pop().unwrap_or_default();
        self.event('C', event.end_ps, frame)
    }

    fn close(&mut self) -> io::Result<()> {
        self.out.write_all(b"]}")
    }

    fn counter(&mut self, _line: &str, _name: &str, _number: u32, _rank: usize) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, _name: &str, _time_ps: i64, _value: f64) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(b"],\n\"shared\":{\"frames\":[")?;
        for (i, frame) in self.frames.iter().enumerate() {
            self.out.write_all(if i > 0 { b",\n{\"name\":" } else { b"\n{\"name\":" })?;
            json::text(self.out, frame)?;
            self.out.write_all(b"}")?;
        }
        self.out.write_all(b"]}}\n")
    }
}
