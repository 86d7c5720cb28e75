use haloscope_xspace::write::{Event, Line, Plane, Space};

use super::*;
use crate::write::Writer;

const ALL: u64 = 1 << 30;

fn space(name: &str, events: i64) -> Vec<u8> {
    let mut line = Line::new(1, "XLA Ops");
    line.timestamp_ns = 1000;
    line.events = (0..events).map(|i| Event::at(1, i * 1000, 500)).collect();
    let plane = Plane { name: name.into(), lines: vec![line], ..Default::default() };
    Space { planes: vec![plane], hostnames: vec!["h".into()], ..Default::default() }.to_bytes()
}

#[test]
fn the_signature_is_the_one_of_the_specification() {
    let file = Writer::new().into_bytes();
    assert_eq!(file.len(), 64);
    assert_eq!(file[..24], SIGNATURE);
    assert_eq!(file[24..32], [0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9]);
    assert_eq!(file[40..48], [0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72]);
    assert!(has_signature(&file));
}

#[test]
fn records_of_several_blocks_are_one_profile() {
    // Larger than a block, so that headers stand within records; the first is cut wherever a chunk may begin.
    for first in [1, 900, 1361, 1362, 1363, 1364, 4000] {
        let mut file = Writer::new();
        let (one, two) = (space("/device:TPU:0", first), space("/device:TPU:0", 20_000));
        file.records(&[&one]);
        let two: &[u8] = &two;
        file.compressed_records(&[two, &space("/device:TPU:1", 3)], b's', |bytes| {
            snap::raw::Encoder::new().compress_vec(bytes).unwrap()
        });
        let found = read(&file.into_bytes(), Bounds::default()).unwrap();
        assert_eq!((found.records, found.lost), (3, 0), "{:?}", found.why);
        let space = SpaceView::parse(&found.space);
        let counts: Vec<u64> = space.planes.iter().map(|plane| plane.lines[0].event_count).collect();
        assert_eq!(counts, [first as u64 + 20_000, 3]);
        assert_eq!(space.hostnames, [b"h"]);
    }
}

/// Files that Riegeli's own writer made of two records: a small XSpace, and bytes that are no message.
const WRITTEN: [(&str, &[u8]); 8] = [
    ("none, simple", include_bytes!("../vectors/none-simple")),
    ("none, transposed", include_bytes!("../vectors/none-transposed")),
    ("brotli, simple", include_bytes!("../vectors/brotli-simple")),
    ("brotli, transposed", include_bytes!("../vectors/brotli-transposed")),
    ("zstd, simple", include_bytes!("../vectors/zstd-simple")),
    ("zstd, transposed", include_bytes!("../vectors/zstd-transposed")),
    ("snappy, simple", include_bytes!("../vectors/snappy-simple")),
    ("snappy, transposed", include_bytes!("../vectors/snappy-transposed")),
];

#[test]
fn what_riegeli_writes_is_read_byte_for_byte() {
    let expected = include_bytes!("../vectors/record.pb");
    for (name, file) in WRITTEN {
        let mut all = Vec::new();
        for chunk in Chunks::new(file) {
            let chunk = chunk.unwrap_or_else(|why| panic!("{name}: {why:?}"));
            if let Some(found) = records(&chunk, ALL).unwrap_or_else(|why| panic!("{name}: {why:?}")) {
                let begins = std::iter::once(0).chain(found.ends.iter().copied());
                all.extend(begins.zip(&found.ends).map(|(begin, end)| found.bytes[begin..*end].to_vec()));
            }
        }
        assert_eq!(all.len(), 2, "{name}");
        assert!(all[0] == expected, "{name}");
        assert_eq!(all[1], b"\xffnot a message", "{name}");
        // The second is no XSpace: it is left out, and said so.
        let found = read(file, Bounds::default()).unwrap();
        assert_eq!((found.space.as_slice(), found.records, found.lost), (&expected[..], 1, 1), "{name}");
        assert_eq!(found.why.as_deref(), Some("a record is no XSpace"));
    }
}

#[test]
fn damage_costs_the_chunk_in_which_it_is() {
    let mut file = Writer::new();
    let mut begins = Vec::new();
    for host in 0..4 {
        begins.push(file.bytes().len());
        file.records(&[&space(&format!("/device:TPU:{host}"), 30_000)]);
    }
    let names = |bytes: &[u8]| -> Vec<String> {
        let space = SpaceView::parse(bytes);
        space.planes.iter().map(|plane| String::from_utf8_lossy(plane.name).into_owned()).collect()
    };
    // In the data, and in the header, behind which the next chunk is found by the header of a block.
    for at in [begins[1] + 1000, begins[1] + 30] {
        let mut damaged = file.bytes().to_vec();
        damaged[at] ^= 1;
        let found = read(&damaged, Bounds::default()).unwrap();
        assert_eq!(names(&found.space), ["/device:TPU:0", "/device:TPU:2", "/device:TPU:3"], "{at}");
        assert!(found.lost == 1 && found.why.unwrap().contains("damaged"));
    }
    let cut = read(&file.bytes()[..begins[3] + 70_000], Bounds::default()).unwrap();
    assert_eq!((names(&cut.space).len(), cut.lost), (3, 1));
    assert!(cut.why.unwrap().contains("the file ends at byte"));
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
                    if let Ok(Some(read)) = records(&chunk, ALL) {
                        assert_eq!(read.bytes.len() as u64, chunk.decoded, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_without_a_record_says_what_it_is() {
    let error = read(&Writer::new().into_bytes(), Bounds::default()).unwrap_err().to_string();
    assert!(error.contains("no record in it"), "{error}");
    let mut file = Writer::new();
    file.records(&[b"\xffnonsense"]);
    let error = read(file.bytes(), Bounds::default()).unwrap_err().to_string();
    assert!(error.contains("no XSpace"), "{error}");
}

#[test]
fn what_a_file_states_is_no_bound() {
    let bounds = Bounds { unpacked: 1 << 20, memory: 1 << 20 };
    // Sizes of records that unpack to 64 MB: the header says that there are as many.
    let sizes = snap::raw::Encoder::new().compress_vec(&vec![0; 64 << 20]).unwrap();
    let mut data = vec![b's'];
    let number = |mut value: u64| {
        let mut bytes = Vec::new();
        while value > 127 {
            bytes.push(value as u8 & 127 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let sizes = [number(64 << 20), sizes].concat();
    data.extend(number(sizes.len() as u64));
    data.extend(sizes);
    data.push(0);
    let real = space("/device:TPU:0", 100);
    let too_much = |file: &Writer| match read(file.bytes(), bounds) {
        Err(Error::Unpacked { needed, most }) => needed > 0 && most == bounds.unpacked,
        _ => false,
    };
    // As many records as are stated, and one that states the bytes of as many.
    for (records, decoded) in [(64 << 20, 0), (1, 64 << 20)] {
        let mut file = Writer::new();
        file.chunk(b'r', records, decoded, &data);
        assert!(too_much(&file));
        // Beside others too: what is within the bound would be a part of the answer, and another one with another bound. Behind a
        // chunk no other begins before a byte for each of its records.
        let mut file = Writer::new();
        file.records(&[&real]);
        file.chunk(b'r', records, decoded, &data);
        if records == 1 {
            file.records(&[&real]);
        }
        assert!(too_much(&file));
    }
    // Sizes that unpack to more than so many records have are damage, and cost the chunk.
    let mut file = Writer::new();
    file.records(&[&real]);
    file.chunk(b'r', 1, 100, &data);
    let found = read(file.bytes(), bounds).unwrap();
    assert_eq!((found.records, found.lost), (1, 1));
    assert!(found.why.unwrap().contains("more than 10 bytes"));
    // Bytes that unpack to more than is left.
    let mut large = Writer::new();
    large.compressed_records(&[&vec![0; 2 << 20]], b's', |bytes| {
        snap::raw::Encoder::new().compress_vec(bytes).unwrap()
    });
    assert!(too_much(&large));
    // Chunks that are within the bound each, and not together; three times the bound reads them.
    let mut many = Writer::new();
    for _ in 0..3 {
        many.records(&[&space("/device:TPU:0", 60_000)]);
    }
    assert!(many.bytes().len() > bounds.unpacked as usize);
    assert!(too_much(&many));
    let whole = Bounds { unpacked: 3 * bounds.unpacked, ..bounds };
    assert_eq!(read(many.bytes(), whole).map(|found| (found.records, found.lost)), Ok((3, 0)));
    // A transposed chunk of which a part is larger than what is left.
    let mut header = vec![b's'];
    let packed =
        [number(8 << 20), snap::raw::Encoder::new().compress_vec(&vec![0; 8 << 20]).unwrap()].concat();
    header.extend(number(packed.len() as u64));
    header.extend(packed);
    let mut transposed = Writer::new();
    transposed.chunk(b't', 1, 900_000, &header);
    assert!(too_much(&transposed));
    // Tables of the records together.
    let lines = [&b"\x0a\xd4\x86\x03"[..], &b"\x1a\x00".repeat(25_002)].concat();
    let mut tables = Writer::new();
    tables.records(&[&lines[..]]);
    let refused = read(tables.bytes(), bounds).unwrap_err();
    assert!(matches!(refused, Error::Tables { what: "lines", most: 0x10_0000, .. }), "{refused:?}");
}
