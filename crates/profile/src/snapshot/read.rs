//! A file's structure out of bytes. Nothing is believed of them: what does not fit makes them no structure, and places are
//! only ever looked up within the file.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::super::{
    EventMeta, HloModule, HostId, Line, LineId, LineKind, Plane, PlaneId, PlaneKind, Span, Stat,
};
use super::Structure;
use haloscope_report::packing::Unpack;

pub(super) fn structure(bytes: &[u8], length: u64) -> Option<Structure> {
    let mut from = In { from: Unpack(bytes), length };
    if from.whole()? != length {
        return None;
    }
    let (errors, warnings, hostnames) = (from.texts()?, from.texts()?, from.texts()?);
    let mut lines = Vec::new();
    let mut planes = Vec::new();
    for row in 0..from.count()? {
        planes.push(from.plane(PlaneId(u32::try_from(row).ok()?), &mut lines)?);
    }
    let mut modules = Vec::new();
    for _ in 0..from.count()? {
        let name = from.text()?;
        let program_id = (from.whole()? == 1).then_some(());
        let number = from.whole()?;
        modules.push(HloModule {
            host: HostId(0),
            source: 0,
            name,
            program_id: program_id.map(|()| number),
            proto: from.span()?,
            stage: None,
            decoded: OnceLock::new(),
            first: OnceLock::new(),
        });
    }
    from.from.0.is_empty().then_some(Structure { errors, warnings, hostnames, planes, lines, modules })
}

struct In<'b> {
    from: Unpack<'b>,
    /// Bytes of the file that the structure is of.
    length: u64,
}

impl<'b> Deref for In<'b> {
    type Target = Unpack<'b>;

    fn deref(&self) -> &Unpack<'b> {
        &self.from
    }
}

impl DerefMut for In<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.from
    }
}

impl<'b> In<'b> {
    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<String> {
        Some(std::str::from_utf8(self.bytes()?).ok()?.to_owned())
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        (0..self.count()?).map(|_| self.text()).collect()
    }

    fn span(&mut self) -> Option<Span> {
        let span = Span { at: self.whole()?, len: self.whole()? };
        (span.at.checked_add(span.len)? <= self.length).then_some(span)
    }

    fn line(&mut self, id: LineId, plane: PlaneId, kind: PlaneKind) -> Option<Line> {
        let (wire_id, display_id, timestamp_ns) = (self.int()?, self.int()?, self.int()?);
        let name = self.text()?;
        Some(Line {
            id,
            plane,
            wire_id,
            display_id,
            timestamp_ns,
            kind: LineKind::of(&name, kind.is_device()),
            name,
            event_count: self.whole()?,
            is_left_out: false,
            base_ps: timestamp_ns,
            body: self.span()?,
            strides: (0..self.count()?).map(|_| self.whole()).collect::<Option<_>>()?,
            events: OnceLock::new(),
        })
    }

    fn plane(&mut self, id: PlaneId, lines: &mut Vec<Line>) -> Option<Plane> {
        let wire_id = self.int()?;
        let name = self.text()?;
        let kind = PlaneKind::of(&name);
        let first = lines.len();
        for _ in 0..self.count()? {
            lines.push(self.line(LineId(u32::try_from(lines.len()).ok()?), id, kind)?);
        }
        let mut metas = vec![EventMeta { id: i64::MIN, ..EventMeta::default() }];
        let mut meta_of = FxHashMap::default();
        let count = self.count()?;
        metas.reserve(count);
        meta_of.reserve(count);
        for _ in 0..count {
            let id = self.int()?;
            meta_of.insert(id, u32::try_from(metas.len()).ok()?);
            let body = self.span()?;
            metas.push(EventMeta { id, body, name: self.span()?, display_name: self.span()? });
        }
        let mut stats = Vec::new();
        for _ in 0..self.count()? {
            let name = self.text()?;
            let stat = match self.whole()? {
                0 => Stat::Number(self.float()?),
                1 => Stat::Int(self.int()?),
                2 => Stat::Text(self.text()?),
                3 => Stat::Bytes(self.span()?),
                _ => return None,
            };
            stats.push((name, stat));
        }
        let mut stat_names = FxHashMap::default();
        for _ in 0..self.count()? {
            stat_names.insert(self.int()?, self.span()?);
        }
        let mut stat_ids = FxHashMap::default();
        for _ in 0..self.count()? {
            stat_ids.insert(self.bytes()?.to_vec(), self.int()?);
        }
        Some(Plane {
            id,
            wire_id,
            host: HostId(0),
            source: 0,
            kind,
            ordinal: name.rsplit(':').next().and_then(|n| n.parse().ok()),
            name,
            lines: first..lines.len(),
            metas,
            stats,
            meta_of,
            stat_names,
            stat_ids,
        })
    }
}
