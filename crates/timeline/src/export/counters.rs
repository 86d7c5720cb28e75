//! Values of counters: events that stand for samples.

use haloscope_xspace::StatValue;

use haloscope_profile::{Event, Line, LineKind, Plane, Profile};
use haloscope_time::counters::COUNTER_VALUE;

/// Reads the samples of one line.
#[derive(Debug)]
pub(super) struct Samples<'p> {
    profile: &'p Profile,
    plane: &'p Plane,
    line: &'p Line,
    value_id: Option<i64>,
}

impl<'p> Samples<'p> {
    /// `None` where the line's events are no samples.
    pub(super) fn of(profile: &'p Profile, plane: &'p Plane, line: &'p Line) -> Option<Self> {
        (line.kind == LineKind::Counters).then(|| Self {
            profile,
            plane,
            line,
            value_id: plane.stat_id(COUNTER_VALUE),
        })
    }

    /// The value of a sample: `counter_value`, of the event or of its metadata, else the event's first number.
    pub(super) fn value(&self, event: &Event) -> Option<f64> {
        let source = self.profile.source_of(self.plane);
        let events = self.profile.events(self.line);
        let number = |value: StatValue<'_>| value.as_f64().filter(|v| v.is_finite());
        let named = |mut stats: haloscope_xspace::Stats<'p>| {
            let found = stats.find(|s| Some(s.metadata_id) == self.value_id)?;
            found.value.and_then(number)
        };
        if self.value_id.is_some() {
            let own = named(events.stats(source, event.index));
            return own.or_else(|| named(self.plane.meta_stats(source, event.meta)));
        }
        events.stats(source, event.index).find_map(|s| s.value.and_then(number))
    }
}
