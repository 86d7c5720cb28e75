use haloscope_xspace::write::{Event, Line, Plane, Space};

use super::blocks::hash;
use super::*;
use crate::load;

/// Writes files as Riegeli does: chunks, and headers of blocks wherever one begins.
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn new() -> Self {
        let mut writer = Self { bytes: Vec::new() };
        writer.chunk(b's', 0, 0, &[]);
        writer
    }

    fn chunk(&mut self, kind: u8, records: u64, decoded: u64, data: &[u8]) {
        let begin = self.bytes.len() as u64;
        let mut chunk = Vec::new();
        for word in [data.len() as u64, hash(data), u64::from(kind) | records << 8, decoded] {
            chunk.extend(word.to_le_bytes());
        }
        chunk.splice(0..0, hash(&chunk).to_le_bytes());
        chunk.extend(data);
        // What is left of the chunk behind a place, headers of blocks not counted, tells where it ends.
        let mut end = begin;
        let mut left = chunk.len() as u64;
        while left > 0 {
            if end.is_multiple_of(65_536) {
                end += 24;
            }
            let part = left.min(65_536 - end % 65_536);
            (end, left) = (end + part, left - part);
        }
        for (i, byte) in chunk.iter().enumerate() {
            if self.bytes.len().is_multiple_of(65_536) {
                let at = self.bytes.len() as u64;
                let mut header = Vec::new();
                header.extend((at - begin).to_le_bytes());
                header.extend((end - at).to_le_bytes());
                self.bytes.extend(hash(&header).to_le_bytes());
                self.bytes.extend(header);
            }
            assert!(i < chunk.len());
            self.bytes.push(*byte);
        }
    }

    /// A simple chunk of these records, each part packed by `pack`.
    fn simple(&mut self, records: &[&[u8]], packing: u8, pack: impl Fn(&[u8]) -> Vec<u8>) {
        let mut sizes = Vec::new();
        records.iter().for_each(|record| number(&mut sizes, record.len()));
        let all = records.concat();
        let part = |bytes: &[u8]| {
            let mut out = Vec::new();
            if packing != 0 {
                number(&mut out, bytes.len());
            }
            out.extend(pack(bytes));
            out
        };
        let mut data = vec![packing];
        let sizes = part(&sizes);
        number(&mut data, sizes.len());
        data.extend(sizes);
        data.extend(part(&all));
        self.chunk(b'r', records.len() as u64, all.len() as u64, &data);
    }

    fn plain(&mut self, records: &[&[u8]]) {
        self.simple(records, 0, <[u8]>::to_vec);
    }
}

fn number(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn space(name: &str, events: i64) -> Vec<u8> {
    let mut line = Line::new(1, "XLA Ops");
    line.timestamp_ns = 1000;
    line.events = (0..events).map(|i| Event::at(1, i * 1000, 500)).collect();
    let plane = Plane { name: name.into(), lines: vec![line], ..Default::default() };
    Space { planes: vec![plane], hostnames: vec!["h".into()], ..Default::default() }.to_bytes()
}

fn read(bytes: &[u8]) -> (Vec<u8>, Pieces) {
    convert("a.xplane.riegeli".as_ref(), bytes).unwrap()
}

#[test]
fn the_signature_is_the_one_of_the_specification() {
    let file = Writer::new().bytes;
    assert_eq!(file.len(), 64);
    assert_eq!(file[..24], SIGNATURE);
    assert_eq!(file[24..32], [0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9]);
    assert_eq!(file[40..48], [0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72]);
    assert!(is_meant(&file));
}

#[test]
fn records_of_several_blocks_are_one_profile() {
    // Larger than a block, so that headers stand within records; the first is cut wherever a chunk may begin.
    for first in [1, 900, 1361, 1362, 1363, 1364, 4000] {
        let mut file = Writer::new();
        let (one, two) = (space("/device:TPU:0", first), space("/device:TPU:0", 20_000));
        file.plain(&[&one]);
        let two: &[u8] = &two;
        file.simple(&[two, &space("/device:TPU:1", 3)], b's', |bytes| {
            snap::raw::Encoder::new().compress_vec(bytes).unwrap()
        });
        let (bytes, pieces) = read(&file.bytes);
        assert_eq!((pieces.records, pieces.lost), (3, 0), "{pieces:?}");
        let space = SpaceView::parse(&bytes);
        let counts: Vec<u64> = space.planes.iter().map(|plane| plane.lines[0].event_count).collect();
        assert_eq!(counts, [first as u64 + 20_000, 3]);
        assert_eq!(space.hostnames, [b"h"]);
    }
}

/// Files that Riegeli's own writer made of two records: a small XSpace, and bytes that are no message.
const WRITTEN: [(&str, &[u8]); 8] = [
    ("none, simple", include_bytes!("vectors/none-simple")),
    ("none, transposed", include_bytes!("vectors/none-transposed")),
    ("brotli, simple", include_bytes!("vectors/brotli-simple")),
    ("brotli, transposed", include_bytes!("vectors/brotli-transposed")),
    ("zstd, simple", include_bytes!("vectors/zstd-simple")),
    ("zstd, transposed", include_bytes!("vectors/zstd-transposed")),
    ("snappy, simple", include_bytes!("vectors/snappy-simple")),
    ("snappy, transposed", include_bytes!("vectors/snappy-transposed")),
];

#[test]
fn what_riegeli_writes_is_read_byte_for_byte() {
    let expected = include_bytes!("vectors/record.pb");
    for (name, file) in WRITTEN {
        let mut all = Vec::new();
        for chunk in Chunks::new(file) {
            let chunk = chunk.unwrap_or_else(|why| panic!("{name}: {why}"));
            if let Some(found) = records(&chunk, LARGEST).unwrap_or_else(|why| panic!("{name}: {why}")) {
                let begins = std::iter::once(0).chain(found.ends.iter().copied());
                all.extend(begins.zip(&found.ends).map(|(begin, end)| found.bytes[begin..*end].to_vec()));
            }
        }
        assert_eq!(all.len(), 2, "{name}");
        assert!(all[0] == expected, "{name}");
        assert_eq!(all[1], b"\xffnot a message", "{name}");
        // The second is no XSpace: it is left out, and said so.
        let (bytes, pieces) = read(file);
        assert_eq!((bytes.as_slice(), pieces.records, pieces.lost), (&expected[..], 1, 1), "{name}");
        assert_eq!(pieces.why.as_deref(), Some("a record is no XSpace"));
    }
}

#[test]
fn damage_costs_the_chunk_in_which_it_is() {
    let mut file = Writer::new();
    let mut begins = Vec::new();
    for host in 0..4 {
        begins.push(file.bytes.len());
        file.plain(&[&space(&format!("/device:TPU:{host}"), 30_000)]);
    }
    let names = |bytes: &[u8]| -> Vec<String> {
        let space = SpaceView::parse(bytes);
        space.planes.iter().map(|plane| String::from_utf8_lossy(plane.name).into_owned()).collect()
    };
    // In the data, and in the header, behind which the next chunk is found by the header of a block.
    for at in [begins[1] + 1000, begins[1] + 30] {
        let mut damaged = file.bytes.clone();
        damaged[at] ^= 1;
        let (bytes, pieces) = read(&damaged);
        assert_eq!(names(&bytes), ["/device:TPU:0", "/device:TPU:2", "/device:TPU:3"], "{at}");
        assert!(pieces.lost == 1 && pieces.why.unwrap().contains("damaged"));
    }
    let cut = &file.bytes[..begins[3] + 70_000];
    let (bytes, pieces) = read(cut);
    assert_eq!(names(&bytes).len(), 3);
    assert!(pieces.why.unwrap().contains("the file ends at byte"));
    // The remark is part of the answer.
    let profile = load::from_bytes("a.xplane.riegeli", cut.to_vec()).unwrap();
    assert_eq!(profile.sources[0].pieces.as_ref().unwrap().lost, 1);
}

#[test]
fn no_cut_and_no_flipped_byte_of_a_chunk_is_a_panic_or_a_flood() {
    for (name, file) in WRITTEN {
        for chunk in Chunks::new(file).flatten() {
            for at in 0..chunk.data.len() {
                let mut data = chunk.data.clone();
                data[at] = data[at].wrapping_add(1 + (at % 255) as u8);
                for data in [data, chunk.data[..at].to_vec()] {
                    let chunk =
                        Chunk { data, kind: chunk.kind, records: chunk.records, decoded: chunk.decoded };
                    if let Ok(Some(read)) = records(&chunk, LARGEST) {
                        assert_eq!(read.bytes.len() as u64, chunk.decoded, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_without_a_record_says_what_it_is() {
    let error = load::from_bytes("a.xplane.riegeli", Writer::new().bytes).unwrap_err().to_string();
    assert!(error.contains("no record in it"), "{error}");
    let mut file = Writer::new();
    file.plain(&[b"\xffnonsense"]);
    let error = load::from_bytes("a.xplane.riegeli", file.bytes).unwrap_err().to_string();
    assert!(error.contains("no XSpace"), "{error}");
    let error = load::from_bytes("a.xplane.riegeli", b"RIEGELI".to_vec()).unwrap_err().to_string();
    assert!(error.contains("no Riegeli records"), "{error}");
}

#[test]
fn large_records_lie_in_a_scratch_file_and_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let one = space("/device:TPU:0", 200_000);
    let mut file = Writer::new();
    file.plain(&[&one]);
    let path = folder.path().join("h.xplane.riegeli");
    std::fs::write(&path, &file.bytes).unwrap();
    let profile = load::open(&load::find(folder.path()).unwrap()).unwrap();
    assert!(one.len() > 1 << 20 && profile.sources[0].bytes() == one);
    assert_eq!(profile.hosts[0].name, "h");
    profile.sources[0].drop_pages(0..one.len());
    assert!(profile.sources[0].bytes() == one);
    assert_eq!(profile.events(&profile.lines[0]).len(), 200_000);
}
