//! Tiles say what windows say.

use super::*;

/// A tile, read as a page reads it: arrays one behind the other, each at a multiple of its element's size.
#[derive(Debug, PartialEq)]
pub(super) struct Tile {
    pub(super) start_ps: i64,
    start: Vec<f64>,
    duration: Vec<f64>,
    name: Vec<u32>,
    event: Vec<u32>,
    count: Vec<u32>,
    tracks: Vec<(u32, u32)>,
    depth: Vec<u16>,
    pub(super) class: Vec<u8>,
    pub(super) names: Vec<String>,
    pub(super) classes: Vec<String>,
}

impl Tile {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut at = 0;
        let mut take = |count: usize, size: usize| {
            assert_eq!(at % size, 0, "an array of {size} bytes an element begins at {at}");
            at += count * size;
            &bytes[at - count * size..at]
        };
        fn u32s(bytes: &[u8]) -> Vec<u32> {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
        }
        fn f64s(bytes: &[u8]) -> Vec<f64> {
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
        }
        let header = u32s(take(6, 4));
        assert_eq!(header[0].to_le_bytes(), *b"HLT1");
        let [tracks, slices, names, classes, text_bytes] = [1, 2, 3, 4, 5].map(|i| header[i] as usize);
        let start_ps = i64::from_le_bytes(take(1, 8).try_into().unwrap());
        let (start, duration) = (f64s(take(slices, 8)), f64s(take(slices, 8)));
        let [name, event, count] = [(); 3].map(|()| u32s(take(slices, 4)));
        let [id, of_track] = [(); 2].map(|()| u32s(take(tracks, 4)));
        let offsets = u32s(take(names + classes + 1, 4));
        let depth = take(slices, 2).chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        let class = take(slices, 1).to_vec();
        let text = std::str::from_utf8(take(text_bytes, 1)).unwrap();
        assert_eq!(at, bytes.len());
        let texts: Vec<_> =
            offsets.windows(2).map(|o| text[o[0] as usize..o[1] as usize].to_owned()).collect();
        let (names, classes) = texts.split_at(names);
        Self {
            start_ps,
            start,
            duration,
            name,
            event,
            count,
            tracks: id.into_iter().zip(of_track).collect(),
            depth,
            class,
            names: names.to_vec(),
            classes: classes.to_vec(),
        }
    }

    /// What the tile says, in the words of a window.
    fn window(&self) -> Window {
        let mut at = 0;
        let slice = |i: usize| Slice {
            start_ps: self.start_ps + self.start[i] as i64,
            duration_ps: self.duration[i] as i64,
            depth: u32::from(self.depth[i]),
            name: self.name[i],
            count: self.count[i],
            event: (self.event[i] != u32::MAX).then_some(self.event[i]),
        };
        let mut track = |&(id, count): &(u32, u32)| {
            at += count as usize;
            TrackSlices { id, slices: (at - count as usize..at).map(slice).collect() }
        };
        Window { tracks: self.tracks.iter().map(&mut track).collect(), names: self.names.clone() }
    }

    /// The class of each slice in words.
    fn words(&self) -> Vec<Option<&str>> {
        self.class.iter().map(|c| self.classes.get(usize::from(*c)).map(String::as_str)).collect()
    }
}

fn tile(t: &Timeline, end_ps: i64, lines: &[LineId], colour: Colour) -> Tile {
    Tile::read(&t.tile(0, end_ps, MAX_PX, lines, colour).unwrap())
}

#[test]
fn a_tile_says_what_the_window_says() {
    let lines = vec![line(1, "XLA Ops", &scattered(3000)), line(2, "Async XLA Ops", &scattered(500))];
    let t = timeline(vec![plane("/device:TPU:0", lines), plane("/host:CPU", vec![line(3, "main", &[])])]);
    let all = [LineId(1), LineId(0), LineId(2), LineId(1)];
    for (start, end) in [(-10, 200_000), (0, 1), (77_000, 77_500), (149_990, 160_000), (500, 90_001)] {
        for px in [1, 7, 300, 5000] {
            for lines in [&all[..], &all[..1], &[]] {
                let bytes = t.tile(start, end, px, lines, Colour::Category).unwrap();
                let found = Tile::read(&bytes);
                assert_eq!(
                    (found.start_ps, found.window()),
                    (start, t.window(start, end, px, lines).unwrap())
                );
                assert!(found.class.iter().all(|c| *c == 255 || usize::from(*c) < found.classes.len()));
            }
        }
    }
}

#[test]
fn events_that_began_before_the_tile_start_below_0() {
    let t = one_line("XLA Ops", &[(1, 0, 100)]);
    let found = Tile::read(&t.tile(40, 50, 10, &[LineId(0)], Colour::Category).unwrap());
    assert_eq!((found.start_ps, &found.start[..], &found.duration[..]), (40, &[-40.0][..], &[100.0][..]));
    let all = t.tile(i64::MIN, i64::MAX, 1, &[LineId(0)], Colour::Category).unwrap();
    assert_eq!(Tile::read(&all).start, [9_223_372_036_854_775_808.0]);
}

#[test]
fn merged_slices_name_their_longest_event_and_none_to_ask_for() {
    let t = one_line("XLA Ops", &[(2, 0, 3), (1, 10, 5), (2, 20, 3)]);
    let found = Tile::read(&t.tile(0, 1000, 1, &[LineId(0)], Colour::Category).unwrap());
    assert_eq!((&found.count[..], &found.event[..]), (&[3][..], &[u32::MAX][..]));
    assert_eq!(found.names, ["dot.1"]);
    assert_eq!(found.words(), [Some("convolution")]);
}

#[test]
fn refused_as_windows_are() {
    let t = one_line("XLA Ops", &[(1, 0, 10)]);
    for (start, end, px, line) in [(5, 5, 10, 0), (0, 5, 0, 0), (0, 5, MAX_PX + 1, 0), (0, 5, 10, 99)] {
        let refused = t.tile(start, end, px, &[LineId(line)], Colour::Class).unwrap_err();
        assert_eq!(
            Some(refused.to_string()),
            t.window(start, end, px, &[LineId(line)]).err().map(|e| e.to_string())
        );
    }
}

/// A device plane with ops of the given categories, one event each, 10 ps apart.
fn categories(all: &[String]) -> Timeline {
    let mut plane = plane("/device:TPU:0", vec![]);
    plane.event_metadata = (1..)
        .zip(all)
        .map(|(id, category)| {
            let stats = vec![Stat { metadata_id: 3, value: Value::Str(category.clone()) }];
            (id, EventMetadata { id, name: format!("op.{id}"), stats, ..Default::default() })
        })
        .collect();
    let events: Vec<_> = (0..all.len() as i64).map(|i| (i + 1, i * 10, 5)).collect();
    plane.lines = vec![line(1, "XLA Ops", &events)];
    timeline(vec![plane])
}

#[test]
fn more_classes_than_a_byte_holds_share_the_last() {
    let all: Vec<_> = (0..300).map(|i| format!("category {i}")).collect();
    let found = tile(&categories(&all), 3000, &[LineId(0)], Colour::Category);
    assert_eq!((found.classes.len(), found.classes[254].as_str()), (255, "other"));
    let words = found.words();
    assert_eq!(words[..254], all[..254].iter().map(|c| Some(c.as_str())).collect::<Vec<_>>());
    assert_eq!(words[254..], vec![Some("other"); 46]);
    let few = tile(&categories(&all[..254]), 3000, &[LineId(0)], Colour::Category);
    assert_eq!(few.words()[253], Some("category 253"));
    assert_eq!(few.classes.len(), 254);
}

#[test]
fn ops_are_coloured_by_category_module_and_time_class() {
    let mut device = plane("/device:TPU:0", vec![]);
    let mut op = |id: i64, name: &str, category: &str| {
        let mut stats = vec![Stat { metadata_id: 1, value: Value::Uint(7) }];
        stats.push(Stat { metadata_id: 3, value: Value::Str(category.into()) });
        let meta = EventMetadata { id, name: name.into(), stats, ..Default::default() };
        device.event_metadata.push((id, meta));
    };
    op(10, "all-reduce.1", "all-reduce");
    op(11, "infeed.1", "infeed");
    op(12, "fusion.1", "loop fusion");
    device
        .event_metadata
        .push((13, EventMetadata { id: 13, name: "jit_step(7)".into(), ..Default::default() }));
    device.lines = vec![
        line(1, "XLA Modules", &[(13, 0, 100)]),
        line(2, "XLA Ops", &[(10, 0, 10), (11, 20, 10), (12, 40, 10), (2, 60, 10)]),
    ];
    let host = plane("/host:CPU", vec![line(3, "main", &[(2, 0, 10)])]);
    let t = timeline(vec![device, host]);
    let lines = [LineId(0), LineId(1), LineId(2)];
    let words = |colour| {
        tile(&t, 100, &lines, colour).words().into_iter().map(|w| w.map(str::to_owned)).collect::<Vec<_>>()
    };
    let some = |w: &str| Some(w.to_owned());
    assert_eq!(
        words(Colour::Category),
        [None, some("all-reduce"), some("infeed"), some("loop fusion"), None, None]
    );
    let module = || some("jit_step");
    assert_eq!(words(Colour::Module), [module(), module(), module(), module(), None, None]);
    assert_eq!(
        words(Colour::Class),
        [None, some("communication"), some("transfer"), some("unknown"), None, None]
    );
}
