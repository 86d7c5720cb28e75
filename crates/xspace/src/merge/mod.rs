//! One XSpace of several, as a profiler that writes in pieces means them: planes of one name are one plane, and lines of one id
//! in it one line.
//!
//! Each piece has its own tables of names. Where a later piece says something else under an id that is taken, its entry gets
//! another id, and the events, stats and metadata that name it follow. What a piece says again is not said twice.

mod line;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use crate::wire::{Fields, Value};
use crate::write::{EncodedLine, Plane, Stat, field};
use crate::{LineView, PlaneView, SpaceView};

use line::Part;
use tables::{Renamed, Tables};

/// A plane of a piece, and its bytes.
type Piece<'a> = (PlaneView<'a>, &'a [u8]);

/// Merges pieces in their order. Planes that stand in one piece only are copied as they are.
#[must_use]
pub fn merge(pieces: &[&[u8]]) -> Vec<u8> {
    if let [one] = pieces {
        return one.to_vec();
    }
    let mut out = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    let mut groups: Vec<Vec<Piece<'_>>> = Vec::new();
    let mut of_name: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut texts: [Vec<&[u8]>; 3] = Default::default();
    for piece in pieces {
        let space = SpaceView::parse(piece);
        let bodies = Fields::new(piece, 0).filter_map(|field| match (field.number, field.value) {
            (1, Value::Bytes(body)) => Some(body),
            _ => None,
        });
        // Planes of one name in one piece are two planes, and stay so: only those of different pieces belong together.
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        for (plane, body) in space.planes.into_iter().zip(bodies) {
            let name = plane.name;
            let known = of_name.get(name).filter(|_| !seen.contains(name));
            match known.and_then(|at| groups.get_mut(*at)) {
                Some(group) => group.push((plane, body)),
                None => {
                    of_name.entry(name).or_insert(groups.len());
                    groups.push(vec![(plane, body)]);
                }
            }
            seen.insert(name);
        }
        for (all, own) in texts.iter_mut().zip([space.errors, space.warnings, space.hostnames]) {
            for text in own {
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
    }
    for group in &groups {
        match group.as_slice() {
            [(_, body)] => field(&mut out, 1, body),
            several => merge_planes(several, &mut out),
        }
    }
    for (number, all) in (2..).zip(texts) {
        for text in all {
            field(&mut out, number, text);
        }
    }
    out
}

fn merge_planes(pieces: &[Piece<'_>], out: &mut Vec<u8>) {
    let Some((first, _)) = pieces.first() else { return };
    let mut tables = Tables::default();
    let renamed: Vec<Renamed> = pieces.iter().map(|(plane, _)| tables.add(plane)).collect();
    let mut stats: Vec<Stat> = Vec::new();
    for ((plane, _), renamed) in pieces.iter().zip(&renamed) {
        for mut stat in plane.stats.iter().filter_map(Stat::from_view) {
            renamed.stat(&mut stat);
            if !stats.iter().any(|known| known.metadata_id == stat.metadata_id) {
                stats.push(stat);
            }
        }
    }
    let lines: Vec<EncodedLine> = lines(pieces, &renamed).iter().map(|parts| line::merge(parts)).collect();
    let name = String::from_utf8_lossy(first.name).into_owned();
    let mut plane = Plane { id: first.id, name, stats, ..Plane::default() };
    tables.put_into(&mut plane);
    plane.append_to(&lines, out);
}

/// The parts of each line, lines in the order of their first parts. Lines of one id and name in one piece are different lines.
fn lines<'p, 'a>(pieces: &'p [Piece<'a>], renamed: &'p [Renamed]) -> Vec<Vec<Part<'p, 'a>>> {
    let mut lines: Vec<Vec<Part<'p, 'a>>> = Vec::new();
    let mut of: BTreeMap<(i64, &[u8], usize), usize> = BTreeMap::new();
    for ((plane, _), renamed) in pieces.iter().zip(renamed) {
        let mut counts: BTreeMap<(i64, &[u8]), usize> = BTreeMap::new();
        for view in &plane.lines {
            let count = counts.entry((view.id, name_of(view))).or_default();
            let at = *of.entry((view.id, name_of(view), *count)).or_insert(lines.len());
            *count += 1;
            let part = Part { view, renamed };
            match lines.get_mut(at) {
                Some(line) => line.push(part),
                None => lines.push(vec![part]),
            }
        }
    }
    lines
}

fn name_of<'a>(line: &LineView<'a>) -> &'a [u8] {
    if line.name.is_empty() { line.display_name } else { line.name }
}
