//! Lines: a stream, a thread, or one of the profiler's views of a device.

use std::sync::OnceLock;

use haloscope_report::{Error, stop};

use super::{ColumnStore, Events, Plane, PlaneId, Source, Span};

/// What a line shows, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// `Steps`: one event a step.
    Steps,
    /// `XLA Modules`: one event a program execution.
    XlaModules,
    /// `XLA Ops`: one event an HLO instruction executed; nested.
    XlaOps,
    /// `Async XLA Ops`: from the start to the done of asynchronous ops.
    AsyncXlaOps,
    /// A GPU stream: kernels and copies as they ran.
    Stream,
    /// A host thread.
    Thread,
    /// `_counters_`, `counters_*`: samples.
    Counters,
    /// A view that the profiler derived from other lines (framework ops, name scopes, source, overlays).
    Derived,
    /// Anything else.
    Other,
}

/// One line of a plane. Its header has been read; [`super::Profile::events`] decodes the events.
#[derive(Debug)]
pub struct Line {
    /// Its row in [`super::Profile::lines`].
    pub id: super::LineId,
    /// The plane it belongs to.
    pub plane: PlaneId,
    /// The id that the profiler gave it; a thread id on host planes.
    pub wire_id: i64,
    /// Where the profiler wants it shown among the plane's lines; 0 where it did not say.
    pub display_id: i64,
    /// The time to which event offsets are relative, as the profiler wrote it: nanoseconds since 1970 or since the start
    /// of the capture.
    pub timestamp_ns: i64,
    /// `display_name` where there is one, else `name`.
    pub name: String,
    /// What it shows.
    pub kind: LineKind,
    /// Number of events; of a line that [is left out](Line::is_left_out) those that it had.
    pub event_count: u64,
    /// Whether it stands in a part of a profile without its events: who asks for them is refused.
    pub is_left_out: bool,
    /// What is added to event offsets, in picoseconds, to come to the run's clock.
    pub base_ps: i64,
    pub(super) body: Span,
    /// [`haloscope_xspace::LineView::strides`]; empty for a short line, and where nobody noted them.
    pub(super) strides: Box<[u64]>,
    /// Apart from the line: most lines of a file may never be read, and a plane may have a hundred thousand.
    pub(super) events: OnceLock<Box<Events>>,
}

impl Line {
    /// The events, if somebody has read them already.
    #[must_use]
    pub fn loaded(&self) -> Option<&Events> {
        self.events.get().map(Box::as_ref)
    }

    /// Bytes of its events in the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.body.len
    }

    /// What is added to a time on the run's clock, in picoseconds, to come to the profiler's own.
    #[must_use]
    pub fn to_wire_ps(&self) -> i64 {
        self.timestamp_ns.saturating_mul(1000).saturating_sub(self.base_ps)
    }

    /// Refuses the question that needs the events of a line that is not in a part.
    #[cold]
    fn refuse(&self, plane: &Plane, source: &Source) -> ! {
        let message = format!(
            "this is a part of a profile, made for other questions: it does not have line {} of {} ({} events). Make it again with `haloscope part --analysis` and this question's name, or use the whole profile",
            self.name, plane.name, self.event_count
        );
        stop::refuse(Error::Input { path: source.path.clone(), message })
    }

    pub(super) fn events(&self, plane: &Plane, source: &Source) -> &Events {
        if self.is_left_out {
            self.refuse(plane, source);
        }
        let Some(column_store) = &source.column_store else {
            return self.events.get_or_init(|| Box::new(Events::decode(self, plane, source)));
        };
        column_store.used(self.id.index() - source.first_line);
        self.events.get_or_init(|| Box::new(self.events_by(&**column_store, plane, source)))
    }

    /// The events from where they are kept, or decoded, and then kept where that is wanted.
    fn events_by(&self, column_store: &dyn ColumnStore, plane: &Plane, source: &Source) -> Events {
        stop::check();
        let number = self.id.index() - source.first_line;
        let from_parts = |kept| Events::from_parts(kept, self, plane);
        if let Some(events) = column_store.get(number).and_then(from_parts) {
            return events;
        }
        let events = Events::decode(self, plane, source);
        let parts = events.parts();
        if !column_store.wants(number, parts.bytes()) {
            return events;
        }
        column_store.put(number, &parts.head, &parts.columns).and_then(from_parts).unwrap_or(events)
    }
}

impl LineKind {
    /// The kind of a line with this name on a device plane (or, if not `device`, on a host plane).
    #[must_use]
    pub fn of(name: &str, device: bool) -> Self {
        match name {
            "_counters_" => Self::Counters,
            _ if name.starts_with("counters_") => Self::Counters,
            _ if !device => Self::Thread,
            "Steps" => Self::Steps,
            "XLA Modules" => Self::XlaModules,
            "XLA Ops" => Self::XlaOps,
            "Async XLA Ops" => Self::AsyncXlaOps,
            _ if name.starts_with("Stream #") => Self::Stream,
            "Framework Ops"
            | "Framework Name Scope"
            | "Source code"
            | "Launch Stats"
            | "TensorFlow Ops"
            | "TensorFlow Name Scope"
            | "TC Overlay"
            | "Overlay"
            | "Host Offload Ops" => Self::Derived,
            _ => Self::Other,
        }
    }
}
