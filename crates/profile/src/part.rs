//! A file with the events of some of its lines only: see [`haloscope_xspace::part`].

use haloscope_xspace::part;

use super::{Line, Profile};

impl Profile {
    /// Whether a file is a part: lines of it stand there without their events.
    #[must_use]
    pub fn is_part(&self, source: usize) -> bool {
        self.planes_in(source).flat_map(|plane| self.lines_of(plane.id)).any(|line| line.is_left_out)
    }

    /// Whether any file of the run is a part.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        (0..self.sources.len()).any(|source| self.is_part(source))
    }

    /// The bytes of a file as an XSpace, without the events of the lines that are not kept. A file with damage comes back whole: what
    /// is wrong with it is said of its bytes.
    #[must_use]
    pub fn part(&self, source: usize, keeps: &dyn Fn(&Line) -> bool) -> Vec<u8> {
        let Some(file) = self.sources.get(source) else { return Vec::new() };
        if file.faults.count() > 0 {
            return file.bytes().to_vec();
        }
        let planes: Vec<_> = self.planes_in(source).collect();
        part::of(file.bytes(), |plane, line| {
            let line = planes.get(plane).and_then(|plane| self.lines_of(plane.id).nth(line));
            line.is_none_or(keeps)
        })
    }

    fn planes_in(&self, source: usize) -> impl Iterator<Item = &super::Plane> {
        self.planes.iter().filter(move |plane| plane.source == source)
    }
}
