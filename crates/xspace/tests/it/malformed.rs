//! Each way of being malformed, at each level: the offset, the message, the wording, and what is still read.

use haloscope_xspace::SpaceView;

use crate::raw::{delimited, number, varint};
use crate::sample::{told, walk};

/// A space with one plane, with one line, with a good event, `event`, and a good event.
fn around_event(event: &[u8]) -> (Vec<u8>, u64) {
    let good = number(3, 11);
    let line = [delimited(4, &good), delimited(4, event), delimited(4, &good)].concat();
    let bytes = delimited(1, &delimited(3, &line));
    let at = SpaceView::parse(&bytes).planes[0].lines[0].offset + delimited(4, &good).len() as u64 + 2;
    (bytes, at)
}

#[test]
fn a_malformed_event_is_left_out_and_its_neighbours_are_read() {
    let cases: [(&[u8], u64, &str); 9] = [
        (&[0x08], 0, "the data ends inside a number"),
        (&[0x08, 1, 0x18, 0x80], 2, "the data ends inside a number"),
        (
            &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            0,
            "expected a varint of at most 10 bytes, found a longer one",
        ),
        (&[0x08, 1, 0x22, 9, 1], 2, "expected a field of 9 bytes, but only 1 are left"),
        (&[0x00, 1], 0, "expected a field number, found 0"),
        (&[0x0b, 0x0c], 0, "expected wire type 0, 1, 2 or 5, found 3"),
        (&[0x0e], 0, "expected wire type 0, 1, 2 or 5, found 6"),
        (&[0x11, 1, 2, 3, 4, 5, 6, 7, 8], 0, "field 2 has wire type 1, which is not the one of the schema"),
        (&[0x35, 1, 2], 0, "the data ends inside a number"),
    ];
    for (event, offset, kind) in cases {
        let (bytes, start) = around_event(event);
        let (read, faults) = walk(&bytes);
        assert_eq!(told(&faults), [(start + offset, "XEvent", kind.to_owned())], "{event:?}");
        let durations: Vec<_> = read.planes[0].lines[0].events.iter().map(|e| e.duration_ps).collect();
        assert_eq!(durations, [11, 11], "{event:?}");
    }
}

#[test]
fn a_malformed_stat_of_an_event_leaves_the_event_and_the_other_stats() {
    let good = delimited(4, &[number(1, 1), number(3, 2)].concat());
    let bad = delimited(4, &[number(1, 1), vec![0x1d, 0, 0, 0, 0]].concat());
    let (bytes, start) = around_event(&[number(1, 9), bad, good, number(4, 3)].concat());
    let (read, faults) = walk(&bytes);
    let event = &read.planes[0].lines[0].events[1];
    assert_eq!((event.metadata_id, event.stats.len()), (9, 1));
    let wrong =
        |field, found| format!("field {field} has wire type {found}, which is not the one of the schema");
    // The bad stat begins 2 + 2 bytes into the event, its value 2 later; the number in place of a stat stands last.
    assert_eq!(told(&faults), [(start + 6, "XStat", wrong(3, 5)), (start + 17, "XEvent", wrong(4, 0))]);
}

#[test]
fn a_wrong_wire_type_spoils_one_field_of_a_header() {
    let line =
        [number(1, 5), number(2, 1), delimited(4, &number(3, 7)), delimited(11, b"d"), number(4, 2)].concat();
    let plane =
        [number(2, 1), number(1, 6), delimited(3, &line), number(3, 1), delimited(6, &delimited(2, b"x"))]
            .concat();
    let (read, faults) =
        walk(&[number(4, 1), delimited(1, &plane), number(1, 1), delimited(4, b"host")].concat());
    assert_eq!((read.planes[0].id, read.planes[0].lines[0].id), (6, 5));
    assert_eq!((read.planes[0].lines[0].events.len(), &*read.planes[0].lines[0].display_name), (1, "d"));
    assert_eq!(read.hostnames, ["host"]);
    let messages: Vec<_> = told(&faults).into_iter().map(|(_, message, _)| message).collect();
    assert_eq!(messages, ["XSpace", "XPlane", "XLine", "XLine", "XPlane", "XStat", "XSpace"]);
}

#[test]
fn a_malformed_metadata_entry_keeps_its_neighbours_and_its_key() {
    let good = delimited(4, &[number(1, 1), delimited(2, &delimited(2, b"good"))].concat());
    let bad = delimited(
        4,
        &[number(1, 2), delimited(2, &[delimited(4, b"shown"), vec![0x12, 50, b'x']].concat())].concat(),
    );
    let stat =
        delimited(5, &[number(1, 3), delimited(2, &[delimited(2, b"flops"), vec![0x80]].concat())].concat());
    let bytes = delimited(1, &[good.clone(), bad, good, stat].concat());
    let view = SpaceView::parse(&bytes);
    let read: Vec<_> =
        view.planes[0].event_metadata.iter().map(|(k, m)| (*k, m.name, m.display_name)).collect();
    // Half a name is another name: it is left out, while the fault says that there was one.
    assert_eq!(read, [(1, &b"good"[..], &b""[..]), (2, b"", b"shown"), (1, b"good", b"")]);
    assert_eq!(view.planes[0].stat_metadata[0].1.name, b"flops");
    let places: Vec<_> = view.faults.kept().iter().map(|fault| (fault.offset, fault.message)).collect();
    // The cut name is the second field of its metadata; the cut tag is the last byte of the file.
    let second = view.planes[0].event_metadata[1].1.display_name;
    let cut_name = bytes.windows(5).position(|w| w == second).unwrap() + second.len();
    assert_eq!(places, [(cut_name as u64, "XEventMetadata"), (bytes.len() as u64 - 1, "XStatMetadata")]);
}

#[test]
fn a_length_past_the_end_is_told_with_both_lengths_at_each_level() {
    // Each level claims 100 bytes more than there are.
    let past = |number: u32, body: &[u8]| {
        [varint(u64::from(number) << 3 | 2), varint(body.len() as u64 + 100), body.to_owned()].concat()
    };
    let event = past(4, &number(3, 1));
    let bytes = past(1, &past(3, &event));
    let (read, faults) = walk(&bytes);
    assert_eq!(read.planes[0].lines[0].events, []);
    let text = |length, left| format!("expected a field of {length} bytes, but only {left} are left");
    assert_eq!(
        told(&faults),
        [(4, "XLine", text(102, 2)), (2, "XPlane", text(104, 4)), (0, "XSpace", text(106, 6))]
    );
}

#[test]
fn a_length_of_many_exabytes_is_a_fault_and_not_an_allocation() {
    let bytes = [vec![0x0a], varint(u64::MAX), b"abc".to_vec()].concat();
    let (_, faults) = walk(&bytes);
    let last = told(&faults).pop().unwrap();
    assert_eq!(last, (0, "XSpace", format!("expected a field of {} bytes, but only 3 are left", u64::MAX)));
}

#[test]
fn a_field_number_that_protobuf_does_not_allow_is_told() {
    let bytes = [number(4, 0), varint(1 << 29 << 3), vec![0]].concat();
    let kind = "expected a field number of at most 536870911, found 536870912";
    let (_, faults) = walk(&bytes);
    assert_eq!(told(&faults).pop().unwrap(), (2, "XSpace", kind.to_owned()));
    // 2^29 - 1 is the largest that it allows: unknown here, and skipped.
    let largest = [varint(((1 << 29) - 1) << 3), vec![0]].concat();
    let view = SpaceView::parse(&largest);
    assert!(view.faults.is_empty());
    assert_eq!(view.unknown_fields, 1);
}

#[test]
fn groups_end_their_message_and_not_its_neighbours() {
    let plane = delimited(1, &[number(1, 1), vec![0x3b, 0x08, 0x01, 0x3c], number(1, 2)].concat());
    let bytes = [plane, delimited(1, &number(1, 3))].concat();
    let view = SpaceView::parse(&bytes);
    assert_eq!(view.planes.iter().map(|p| p.id).collect::<Vec<_>>(), [1, 3]);
    let kind = "expected wire type 0, 1, 2 or 5, found 3";
    assert_eq!(told(&view.faults), [(4, "XPlane", kind.to_owned())]);
    assert_eq!(view.faults.kept()[0].to_string(), format!("at byte 4, in XPlane: {kind}"));
}

#[test]
fn many_faults_are_counted_and_the_first_are_kept() {
    let line: Vec<u8> = (0..1_000).flat_map(|_| delimited(4, &[0x08])).collect();
    let bytes = delimited(1, &delimited(3, &line));
    let view = SpaceView::parse(&bytes);
    let mut events = view.planes[0].lines[0].events();
    assert_eq!(events.by_ref().count(), 0);
    let faults = events.faults();
    assert_eq!((faults.count(), faults.kept().len()), (1_000, 16));
    let mut twice = faults.clone();
    twice.extend(&faults);
    assert_eq!((twice.count(), twice.kept().len()), (2_000, 16));
}
