//! Chrome's trace event JSON: complete events (`X`), counters (`C`) and names (`M`).
//!
//! Times are microseconds with all their digits, so that nothing is rounded in the file; a reader that holds them as doubles
//! keeps picoseconds up to 9,000 s. A plane is a process, a lane of a line a thread.

use std::io::{self, Write};

use haloscope_profile::Event;

use super::choose::ChosenPlane;
use super::json;
use super::walk::{Begin, Sink, Track};

/// Picoseconds of a microsecond, as a power of ten.
const US: usize = 6;

/// A trace being written.
pub(super) struct Chrome<'w> {
    out: &'w mut dyn Write,
    first: bool,
    process: u32,
    thread: u32,
    /// The counter's line, as part of its name.
    line: String,
}

impl<'w> Chrome<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out, first: true, process: 0, thread: 0, line: String::new() }
    }

    fn open(&mut self, phase: char) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first) { "\n" } else { ",\n" };
        write!(self.out, "{comma}{{\"ph\":\"{phase}\",\"pid\":{}", self.process)
    }

    /// A fact about the process (or, with a number, about a thread of it).
    fn tell(
        &mut self,
        thread: Option<u32>,
        what: &str,
        value: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.open('M')?;
        if let Some(thread) = thread {
            write!(self.out, ",\"tid\":{thread}")?;
        }
        let key = if what.ends_with("name") { "name" } else { "sort_index" };
        write!(self.out, ",\"name\":\"{what}\",\"args\":{{\"{key}\":")?;
        value(self.out)?;
        self.out.write_all(b"}}")
    }
}

impl Sink for Chrome<'_> {
    fn start(&mut self, _first_ps: i64) -> io::Result<()> {
        self.out.write_all(
            b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"haloscope\"},\"traceEvents\":[",
        )
    }

    fn plane(&mut self, chosen: &ChosenPlane<'_>) -> io::Result<()> {
        self.process += 1;
        let rank = self.process;
        // As XProf names them, `/device:TPU:0` or `host /device:TPU:0`: who reads that knows a device by it.
        let name = match &chosen.host {
            Some(host) => format!("{host} {}", chosen.plane.name),
            None => chosen.plane.name.clone(),
        };
        self.tell(None, "process_name", &|out| json::text(out, &name))?;
        self.tell(None, "process_sort_index", &|out| write!(out, "{rank}"))
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        self.thread = track.number + 1;
        let name = match track.lane {
            0 => track.name.to_owned(),
            lane => format!("{} [{}]", track.name, lane + 1),
        };
        let (thread, rank) = (self.thread, self.thread);
        self.tell(Some(thread), "thread_name", &|out| json::text(out, &name))?;
        self.tell(Some(thread), "thread_sort_index", &|out| write!(out, "{rank}"))
    }

    fn begin(&mut self, begin: &Begin<'_>) -> io::Result<()> {
        let (event, facts) = (begin.event, begin.facts);
        self.open('X')?;
        let out = &mut *self.out;
        write!(out, ",\"tid\":{},\"ts\":", self.thread)?;
        json::decimal(out, event.start_ps, US)?;
        out.write_all(b",\"dur\":")?;
        json::decimal(out, event.end_ps - event.start_ps, US)?;
        out.write_all(b",\"name\":")?;
        json::text(out, begin.name)?;
        if let Some(category) = facts.category {
            out.write_all(b",\"cat\":")?;
            json::text(out, category)?;
        }
        let mut comma = ",\"args\":{";
        let mut key = |out: &mut dyn Write, name: &str| {
            write!(out, "{}\"{name}\":", std::mem::replace(&mut comma, ","))
        };
        for (name, text) in [
            ("hlo_op", facts.hlo_op),
            ("hlo_category", facts.category),
            ("hlo_module", facts.module),
            ("tf_op", facts.scope),
            ("source", facts.source),
        ] {
            if let Some(text) = text {
                key(out, name)?;
                json::text(out, text)?;
            }
        }
        for (name, value) in [("flops", facts.flops), ("bytes_accessed", facts.bytes)] {
            if let Some(value) = value {
                key(out, name)?;
                json::number(out, value)?;
            }
        }
        if let Some(step) = facts.step {
            key(out, "step")?;
            write!(out, "{step}")?;
        }
        let end: &[u8] = if comma == "," { b"}}" } else { b"}" };
        out.write_all(end)
    }

    fn end(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }

    fn counter(&mut self, line: &str, _name: &str, _number: u32, _rank: usize) -> io::Result<()> {
        line.clone_into(&mut self.line);
        Ok(())
    }

    fn sample(&mut self, name: &str, time_ps: i64, value: f64) -> io::Result<()> {
        self.open('C')?;
        let out = &mut *self.out;
        out.write_all(b",\"ts\":")?;
        json::decimal(out, time_ps, US)?;
        out.write_all(b",\"name\":")?;
        json::text(out, &format!("{}: {name}", self.line))?;
        out.write_all(b",\"args\":{\"value\":")?;
        json::number(out, value)?;
        out.write_all(b"}}")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}
