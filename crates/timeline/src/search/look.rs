//! Which events of one plane match.

use std::borrow::Cow;

use haloscope_xspace::StatValue;
use regex::bytes::Regex;

use super::asked::{Search, Test};
use haloscope_profile::{Events, MetaIdx, Plane, Profile, Source, StatId};

/// A search on one plane.
pub(super) struct Look<'p> {
    plane: &'p Plane,
    source: &'p Source,
    /// Whether the label or the long name matches, by metadata row; `None` where any name does.
    named: Option<Vec<bool>>,
    stat: Option<StatLook<'p>>,
}

/// The stat that is asked for, on one plane.
struct StatLook<'p> {
    id: StatId,
    test: &'p Test,
    /// The name that is looked for, which the value may hold too.
    name: Option<&'p Regex>,
    /// What the metadata says, by metadata row.
    of_meta: Vec<Says>,
}

/// What one value says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Says {
    /// The test holds.
    holds: bool,
    /// The name that is looked for stands in it.
    named: bool,
}

impl<'p> Look<'p> {
    /// `None` if no event of the plane can match. `in_long_names` says whether the name may stand in the long name alone, which of an op
    /// is its whole text, operands and all.
    pub(super) fn of(
        profile: &'p Profile,
        plane: &'p Plane,
        search: &'p Search,
        in_long_names: bool,
    ) -> Option<Self> {
        let source = profile.source_of(plane);
        let stat = match &search.stat {
            None => None,
            Some(asked) => {
                let (id, test) = match (plane.stat_id(&asked.whole), &asked.parts) {
                    (Some(id), _) => (id, &Test::Any),
                    (None, Some((name, test))) => (plane.stat_id(name)?, test),
                    (None, None) => return None,
                };
                let mut look = StatLook { id, test, name: search.name.as_ref(), of_meta: Vec::new() };
                let of_meta = |meta| {
                    let value = plane.meta_stats(source, meta).find(|s| s.metadata_id == id)?.value?;
                    Some(look.says(plane, source, value))
                };
                let rows = (0..plane.metas.len() as MetaIdx).map(|meta| of_meta(meta).unwrap_or_default());
                look.of_meta = rows.collect();
                Some(look)
            }
        };
        let named = search.name.as_ref().map(|name| {
            let is_named = |meta: &haloscope_profile::EventMeta| {
                let label = source.slice(meta.display_name);
                let long = source.slice(meta.name);
                name.is_match(if label.is_empty() { long } else { label })
                    || in_long_names && name.is_match(long)
            };
            plane.metas.iter().map(is_named).collect::<Vec<bool>>()
        });
        let look = Self { plane, source, named, stat };
        let none = look.stat.is_none() && look.named.as_ref().is_some_and(|named| !named.contains(&true));
        (!none).then_some(look)
    }

    /// False if no event of this metadata can match.
    #[inline]
    pub(super) fn may_match(&self, meta: MetaIdx) -> bool {
        self.stat.is_some() || self.is_named(meta)
    }

    fn is_named(&self, meta: MetaIdx) -> bool {
        self.named.as_ref().is_none_or(|named| named[meta as usize])
    }

    /// Whether an event matches that [`Look::may_match`] lets through.
    #[inline]
    pub(super) fn matches(&self, events: &Events, index: usize, meta: MetaIdx) -> bool {
        let Some(stat) = &self.stat else { return true };
        // An event's own value hides that of its metadata.
        let own = events.stat(self.source, index, Some(stat.id));
        let says = own.map_or(stat.of_meta[meta as usize], |value| stat.says(self.plane, self.source, value));
        says.holds && (says.named || self.is_named(meta))
    }
}

impl StatLook<'_> {
    fn says(&self, plane: &Plane, source: &Source, value: StatValue<'_>) -> Says {
        let number = || value.as_f64();
        let text = || words(plane, source, value).unwrap_or_default();
        let holds = match self.test {
            Test::Any => true,
            Test::Above(limit) => number().is_some_and(|v| v > *limit),
            Test::Below(limit) => number().is_some_and(|v| v < *limit),
            Test::Contains(part) => part.is_match(text().as_bytes()),
        };
        Says { holds, named: holds && self.name.is_some_and(|name| name.is_match(text().as_bytes())) }
    }
}

/// A value as people read it; none for messages.
fn words<'a>(plane: &Plane, source: &'a Source, value: StatValue<'a>) -> Option<Cow<'a, str>> {
    match value {
        StatValue::Double(v) => Some(Cow::Owned(v.to_string())),
        StatValue::Int(v) => Some(Cow::Owned(v.to_string())),
        StatValue::Uint(v) => Some(Cow::Owned(v.to_string())),
        text => plane.text(source, text),
    }
}
