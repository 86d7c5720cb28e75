//! A file that ends too early: everything before the cut is read, and the cut is told with its place.

use haloscope_xspace::SpaceView;
use haloscope_xspace::wire::Fields;
use haloscope_xspace::write::Space;

use crate::sample::{self, told, walk};

/// Where the events of a whole file end, by plane and line.
fn event_ends(bytes: &[u8]) -> Vec<Vec<Vec<u64>>> {
    let of_line = |line: &haloscope_xspace::LineView<'_>| {
        line.events().map(|e| e.offset + e.body.len() as u64).collect()
    };
    SpaceView::parse(bytes).planes.iter().map(|plane| plane.lines.iter().map(of_line).collect()).collect()
}

#[test]
fn every_prefix_reads_what_came_before_the_cut() {
    let whole = sample::space();
    let bytes = whole.to_bytes();
    let ends = event_ends(&bytes);
    let tops: Vec<u64> = Fields::new(&bytes, 0).map(|f| f.offset).chain([bytes.len() as u64]).collect();
    for cut in 0..bytes.len() {
        let (read, faults) = walk(&bytes[..cut]);
        for (p, plane) in whole.planes.iter().enumerate() {
            for (l, line) in plane.lines.iter().enumerate() {
                let before = ends[p][l].iter().filter(|end| **end <= cut as u64).count();
                let got = read.planes.get(p).and_then(|p| p.lines.get(l)).map_or(&[][..], |l| &l.events);
                assert_eq!(got, &line.events[..before], "cut at {cut}, plane {p}, line {l}");
            }
        }
        assert_is_part(&read, &whole, cut);
        for plane in &SpaceView::parse(&bytes[..cut]).planes {
            assert!(plane.stats.iter().all(|stat| stat.value.is_some()), "cut at {cut}: {:?}", plane.stats);
            for line in &plane.lines {
                assert_eq!(line.event_count, line.events().count() as u64, "cut at {cut}");
            }
        }
        let at_boundary = tops.contains(&(cut as u64));
        assert_eq!(faults.is_empty(), at_boundary, "cut at {cut}: {faults:?}");
        for fault in faults.kept() {
            assert!(fault.offset < cut as u64, "cut at {cut}: {fault}");
        }
        if let Some(last) = faults.kept().last() {
            // Inner messages tell first; the file itself tells last, of the top-level field that was cut.
            let field = tops.iter().rfind(|start| **start < cut as u64).unwrap();
            assert_eq!((last.offset, last.message), (*field, "XSpace"), "cut at {cut}");
        }
    }
}

/// No name, stat or number may come from a cut: each is the one of the whole file, or is not there.
fn assert_is_part(read: &Space, whole: &Space, cut: usize) {
    for (got, plane) in read.planes.iter().zip(&whole.planes) {
        assert!(got.name.is_empty() || got.name == plane.name, "cut at {cut}: {:?}", got.name);
        assert!(plane.stats.starts_with(&got.stats), "cut at {cut}: {:?}", got.stats);
        for (line, of) in got.lines.iter().zip(&plane.lines) {
            assert!(line.name.is_empty() || line.name == of.name, "cut at {cut}: {:?}", line.name);
            assert!(line.timestamp_ns == 0 || line.timestamp_ns == of.timestamp_ns, "cut at {cut}");
        }
        for ((key, metadata), (key_of, of)) in got.event_metadata.iter().zip(&plane.event_metadata) {
            assert_eq!(key, key_of, "cut at {cut}");
            assert!(
                metadata.name.is_empty() || metadata.name == of.name,
                "cut at {cut}: {:?}",
                metadata.name
            );
            assert!(of.stats.starts_with(&metadata.stats), "cut at {cut}: {:?}", metadata.stats);
        }
        for ((key, metadata), (key_of, of)) in got.stat_metadata.iter().zip(&plane.stat_metadata) {
            assert_eq!(key, key_of, "cut at {cut}");
            assert!(
                metadata.name.is_empty() || metadata.name == of.name,
                "cut at {cut}: {:?}",
                metadata.name
            );
        }
    }
    assert!(whole.hostnames.starts_with(&read.hostnames), "cut at {cut}: {:?}", read.hostnames);
}

#[test]
fn a_cut_inside_an_event_is_told_at_every_level() {
    let bytes = sample::space().to_bytes();
    let view = SpaceView::parse(&bytes);
    let line = &view.planes[0].lines[0];
    let event = line.events().nth(1).unwrap();
    let cut = event.offset as usize + 3;
    let (read, faults) = walk(&bytes[..cut]);
    assert_eq!(read.planes[0].lines[0].events.len(), 1);
    let left = cut as u64 - event.offset;
    let expected = format!("expected a field of {} bytes, but only {left} are left", event.body.len());
    let told = told(&faults);
    assert_eq!(
        told.iter().map(|(_, message, _)| *message).collect::<Vec<_>>(),
        ["XLine", "XPlane", "XSpace"]
    );
    // The tag and the length of the event stand in the two bytes before it.
    assert_eq!((told[0].0, &told[0].2), (event.offset - 2, &expected));
    assert_eq!(told[2].0, 0);
}
