//! A file's structure into bytes.

use super::super::{Plane, Profile, Span, Stat};
use haloscope_report::packing::{put_float, put_int, put_whole};

pub(super) fn structure(profile: &Profile, index: usize) -> Option<Vec<u8>> {
    let source = profile.sources.get(index)?;
    if profile.is_part(index)
        || source.faults.count() > 0
        || source.trace_json.is_some()
        || source.pieces.is_some()
        || profile.is_program()
        || profile.is_flags()
    {
        return None;
    }
    let mut out = Out(Vec::new());
    out.whole(source.bytes().len() as u64);
    for texts in [&source.errors, &source.warnings, &source.hostnames] {
        out.count(texts.len());
        texts.iter().for_each(|text| out.bytes(text.as_bytes()));
    }
    let planes: Vec<&Plane> = profile.planes.iter().filter(|plane| plane.source == index).collect();
    out.count(planes.len());
    planes.iter().for_each(|plane| out.plane(profile, plane));
    let modules: Vec<_> = profile.modules.iter().filter(|module| module.source == index).collect();
    out.count(modules.len());
    for module in modules {
        out.bytes(module.name.as_bytes());
        out.whole(u64::from(module.program_id.is_some()));
        out.whole(module.program_id.unwrap_or_default());
        out.span(module.proto);
    }
    Some(out.0)
}

struct Out(Vec<u8>);

impl Out {
    fn whole(&mut self, number: u64) {
        put_whole(&mut self.0, number);
    }

    fn count(&mut self, count: usize) {
        self.whole(count as u64);
    }

    fn int(&mut self, number: i64) {
        put_int(&mut self.0, number);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    fn span(&mut self, span: Span) {
        self.whole(span.at);
        self.whole(span.len);
    }

    fn plane(&mut self, profile: &Profile, plane: &Plane) {
        self.int(plane.wire_id);
        self.bytes(plane.name.as_bytes());
        self.count(plane.lines.len());
        for line in profile.lines_of(plane.id) {
            self.int(line.wire_id);
            self.int(line.display_id);
            self.int(line.timestamp_ns);
            self.bytes(line.name.as_bytes());
            self.whole(line.event_count);
            self.span(line.body);
            self.count(line.strides.len());
            line.strides.iter().for_each(|at| self.whole(*at));
        }
        // The first is the empty one, which all planes have.
        let metas = plane.metas.get(1..).unwrap_or_default();
        self.count(metas.len());
        for meta in metas {
            self.int(meta.id);
            self.span(meta.body);
            self.span(meta.name);
            self.span(meta.display_name);
        }
        self.count(plane.stats.len());
        for (name, stat) in &plane.stats {
            self.bytes(name.as_bytes());
            match stat {
                Stat::Number(number) => {
                    self.whole(0);
                    put_float(&mut self.0, *number);
                }
                Stat::Int(number) => {
                    self.whole(1);
                    self.int(*number);
                }
                Stat::Text(text) => {
                    self.whole(2);
                    self.bytes(text.as_bytes());
                }
                Stat::Bytes(span) => {
                    self.whole(3);
                    self.span(*span);
                }
            }
        }
        let mut names: Vec<_> = plane.stat_names.iter().collect();
        names.sort_unstable_by_key(|(id, _)| **id);
        self.count(names.len());
        for (id, span) in names {
            self.int(*id);
            self.span(*span);
        }
        let mut ids: Vec<_> = plane.stat_ids.iter().collect();
        ids.sort_unstable();
        self.count(ids.len());
        for (name, id) in ids {
            self.bytes(name);
            self.int(*id);
        }
    }
}
