//! The structure of a file (planes, lines, metadata, modules) as bytes, for keeping: a file whose structure is known is
//! opened without walking over it. Names and stats stay places in the file.
//!
//! The form has no version of its own: only the very program that wrote it may read it.

mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::{Bytes, Events, HloModule, HostId, Line, LineId, Plane, PlaneId, Profile, Source, device};

/// More files than this make a run of many hosts, whose memory is bounded without anybody asking.
pub(crate) const FEW_FILES: usize = 2;

/// What a file holds, before it is put among others: rows count from 0.
struct Structure {
    errors: Vec<String>,
    warnings: Vec<String>,
    hostnames: Vec<String>,
    planes: Vec<Plane>,
    lines: Vec<Line>,
    modules: Vec<HloModule>,
}

impl Profile {
    /// The structure of a file as bytes; `None` where something of it is malformed, which is read anew each time.
    #[must_use]
    pub fn structure(&self, source: usize) -> Option<Vec<u8>> {
        write::structure(self, source)
    }

    /// As [`Profile::from_files`], with what is known of the structure of some files. Bytes that are no structure of that
    /// file are passed over.
    #[must_use]
    pub fn from_known_files(files: Vec<(PathBuf, Bytes, Option<&[u8]>)>, mut each: impl FnMut(u64)) -> Self {
        // The pages of those that were walked over do not stay beside the next one's.
        let is_many = files.len() > FEW_FILES;
        let mut profile = Self::default();
        for (path, bytes, known) in files {
            let source = Source::new(path, bytes);
            let size = source.bytes().len() as u64;
            match known.and_then(|known| read::structure(known, size)) {
                Some(structure) => profile.add_known(source, structure),
                None => profile.add_file(source),
            }
            if let Some(source) = profile.sources.last().filter(|_| is_many) {
                source.drop_pages(0..source.bytes().len());
            }
            each(size);
        }
        profile.set_clocks();
        profile.devices = device::find(&profile);
        profile
    }

    /// The events of a line, decoded for whoever asks and not kept by the profile, which may have them already.
    #[must_use]
    pub fn decode_events(&self, line: &Line) -> Events {
        let plane = self.plane(line.plane);
        Events::decode(line, plane, self.source_of(plane))
    }

    fn add_known(&mut self, mut source: Source, mut structure: Structure) {
        let index = self.sources.len();
        let host = HostId(self.hosts.len() as u32);
        let (first_plane, first_line) = (self.planes.len() as u32, self.lines.len());
        for plane in &mut structure.planes {
            plane.id = PlaneId(plane.id.0 + first_plane);
            plane.lines = plane.lines.start + first_line..plane.lines.end + first_line;
            (plane.host, plane.source) = (host, index);
        }
        for line in &mut structure.lines {
            line.id = LineId(line.id.0 + first_line as u32);
            line.plane = PlaneId(line.plane.0 + first_plane);
        }
        for module in &mut structure.modules {
            (module.host, module.source) = (host, index);
        }
        source.first_line = first_line;
        source.modules = structure.modules.len();
        self.hosts.push(super::build::make_host(&source.path, &structure.planes));
        self.planes.append(&mut structure.planes);
        self.lines.append(&mut structure.lines);
        self.modules.append(&mut structure.modules);
        (source.errors, source.warnings, source.hostnames) =
            (structure.errors, structure.warnings, structure.hostnames);
        self.sources.push(source);
    }
}
