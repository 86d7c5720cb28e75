//! Which ops the events of a line are.

use std::borrow::Cow;
use std::sync::OnceLock;

use haloscope_profile::{Device, Events, Line, LineKind, MetaIdx, Plane, Profile};
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_readers::{EventNames, EventOps, MetaOps};

/// An op, and the name of its program; empty where it is not known.
pub(super) type NamedOp<'p> = (OpMeta<'p>, Cow<'p, str>);

/// What reads the ops of a line.
pub(super) struct LineOps<'p> {
    profile: &'p Profile,
    plane: &'p Plane,
    /// The device that the line's plane shows. Planes without one of their own (SparseCores) have no peaks.
    pub(super) device: Option<&'p Device>,
    from: From<'p>,
}

enum From<'p> {
    /// Metadata says what an event is. What reads it is made when the first row is read.
    Metas(OnceLock<MetaOps<'p>>),
    /// Events say it themselves.
    Events(EventOps<'p>),
    /// There are no ops.
    Nothing,
}

impl<'p> LineOps<'p> {
    pub(super) fn of(profile: &'p Profile, line: &Line) -> Self {
        let plane = profile.plane(line.plane);
        let device = profile.devices.iter().find(|d| d.plane == plane.id);
        let by_event = device.map(|device| EventOps::new(profile, device)).filter(|ops| ops.reads(line));
        let from = match by_event {
            Some(ops) => From::Events(ops),
            None if plane.kind.is_device() && line.kind != LineKind::XlaModules => {
                From::Metas(OnceLock::new())
            }
            None => From::Nothing,
        };
        Self { profile, plane, device, from }
    }

    /// Whether events of one metadata may be different ops.
    pub(super) fn differ_within_meta(&self) -> bool {
        matches!(self.from, From::Events(_))
    }

    /// What an event calls its op, on lines where events do.
    pub(super) fn names(&self, events: &Events, event: usize) -> Option<(&EventOps<'p>, EventNames<'p>)> {
        let From::Events(ops) = &self.from else { return None };
        Some((ops, ops.names(events, &events.get(event))?))
    }

    /// The op that metadata says, on lines where it does.
    pub(super) fn of_meta(&self, events: &Events, meta: MetaIdx) -> Option<NamedOp<'p>> {
        let From::Metas(reader) = &self.from else { return None };
        let reader = reader.get_or_init(|| MetaOps::new(self.profile, self.plane));
        let op = reader.op(events, meta);
        if op.category.is_empty() {
            return None;
        }
        let module = reader.module(&op);
        Some((op, module))
    }

    /// The op that an event is.
    pub(super) fn op(&self, events: &Events, event: usize) -> Option<NamedOp<'p>> {
        match self.names(events, event) {
            Some((ops, names)) => Some(ops.op(names)),
            None => self.of_meta(events, events.metas()[event]),
        }
    }
}
