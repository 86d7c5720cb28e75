//! What bounds files, through all formats and for whole runs: what is far beyond is refused, and what is real is not.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use haloscope_riegeli::write::Writer;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use crate::{Profile, load};

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Bytes that do not pack, a line each.
fn noise(lines: u64) -> String {
    let mut text = String::new();
    for i in 0..lines {
        let _ = writeln!(text, "{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    }
    text
}

fn opened(name: &str, bytes: &[u8]) -> Result<Profile, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    load::open(&load::find(&path).unwrap()).map_err(|error| error.to_string())
}

/// A session with these files, opened.
fn session(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Profile, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let run = load::Run { files: files_of(folder.path()), path: folder.path().to_owned(), chosen_from: 1 };
    load::open(&run).map_err(|error| error.to_string())
}

fn files_of(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A field of a message with a length.
fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = body.len();
    while length >= 128 {
        out.push(length as u8 & 127 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(body);
    out
}

fn plane(name: &str, body: &[u8]) -> Vec<u8> {
    field(1, &[&field(2, name.as_bytes())[..], body].concat())
}

/// A host's file as profilers write it, with few events.
fn host(events: i64) -> Vec<u8> {
    let mut line = Line::new(1, "XLA Ops");
    line.events = (0..events).map(|i| Event::at(1 + i % 20, 1_000_000 + i * 1000, 500)).collect();
    let names = (1..=20).map(|id| {
        let name = format!("%fusion.{id} = bf16[1024,{id}]{{1,0}} fusion(%param.{id}), kind=kLoop");
        (id, EventMetadata { id, name, ..Default::default() })
    });
    let stats = ["hlo_category", "flops", "bytes_accessed", "tf_op", "source"];
    let stats = stats
        .iter()
        .zip(1..)
        .map(|(name, id)| (id, StatMetadata { id, name: (*name).into(), ..Default::default() }));
    let device = Plane {
        name: "/device:TPU:0".into(),
        lines: vec![line, Line::new(2, "XLA Modules"), Line::new(3, "Steps")],
        event_metadata: names.collect(),
        stat_metadata: stats.collect(),
        ..Default::default()
    };
    let others = ["/host:CPU", "/host:metadata", "Task Environment"];
    let others = others.iter().map(|name| Plane { name: (*name).into(), ..Default::default() });
    let planes = std::iter::once(device).chain(others).collect();
    Space { planes, hostnames: vec!["host".into()], ..Default::default() }.to_bytes()
}

#[test]
fn records_in_gzip_are_bounded_by_the_size_on_disk() {
    let real = host(2000);
    let mut file = Writer::new();
    file.records(&[&real]);
    let whole = opened("h.xplane.riegeli.gz", &zipped(file.bytes())).unwrap();
    assert!(
        whole.left_out.is_empty() && whole.sources[0].pieces.as_ref().is_some_and(|pieces| pieces.lost == 0)
    );
    // A chunk says that it unpacks to 20 MiB. In a file of 600 kB that may be, in some kilobytes of gzip it may not.
    let stated = |padding: usize| {
        let mut file = Writer::new();
        file.records(&[&real, &plane("/host:CPU", &field(15, &vec![0; padding]))]);
        file.chunk(b'r', 1, 20 << 20, b"\0\x01\x05");
        file
    };
    let refused = opened("h.xplane.riegeli.gz", &zipped(stated(600_000).bytes())).unwrap_err();
    assert!(refused.contains("--max-unpacked") && refused.contains("unpack to more than"), "{refused}");
    // The file itself is larger: there the chunk is damaged, and costs no other.
    let plain = opened("h.xplane.riegeli", stated(600_000).bytes()).unwrap();
    assert_eq!(plain.sources[0].pieces.as_ref().map(|pieces| (pieces.records, pieces.lost)), Some((2, 1)));
}

#[test]
fn hlo_in_gzip_is_bounded_by_the_size_on_disk() {
    let module = |instructions: &str| {
        format!("HloModule m\n\nENTRY e {{\n{instructions}  ROOT z = f32[] constant(1)\n}}\n")
    };
    let mut real = String::new();
    for i in 0..20_000_u64 {
        let (a, b) = (i.wrapping_mul(2_654_435_761) % 4096, i.wrapping_mul(40_503) % 512);
        let _ = writeln!(real, "  fusion.{i} = bf16[{a},{b}]{{1,0}} add(param.{a}, multiply.{b})");
    }
    let real = module(&real);
    let packed = zipped(real.as_bytes());
    // It packs to a seventh as it is, and its names are wrong: that is what is said of it, not that it is too much.
    assert!(packed.len() * 16 > real.len(), "{} {}", packed.len(), real.len());
    let read = opened("m.txt.gz", &packed).err().unwrap_or_default();
    assert!(!read.contains("--memory-limit"), "{read}");
    let bomb = module(&"  a = f32[] constant(1), metadata={op_name=\"xxxxxxxxx\"}\n".repeat(15_000));
    let refused = opened("m.txt.gz", &zipped(bomb.as_bytes())).unwrap_err();
    assert!(refused.contains("--memory-limit"), "{refused}");
    assert!(!opened("m.txt", bomb.as_bytes()).err().unwrap_or_default().contains("--memory-limit"));
}

#[test]
fn json_in_gzip_of_any_name_is_bounded_by_the_size_on_disk() {
    let trace = |threads: u32| {
        let mut json = String::from("[");
        for i in 0..threads {
            let pad = " ".repeat(400);
            let _ = write!(
                json,
                "{{\"ph\":\"X\",\"name\":\"a\",\"ts\":{i},\"dur\":1,\"pid\":1,\"tid\":{i}{pad}}},"
            );
        }
        json + "{}]"
    };
    let bomb = trace(60_000);
    for name in ["x.gz", "x.trace.json.gz"] {
        let refused = opened(name, &zipped(bomb.as_bytes())).unwrap_err();
        assert!(refused.contains("--memory-limit"), "{name}: {refused}");
        let read = opened(name, &zipped(trace(500).as_bytes())).unwrap();
        assert_eq!(read.sources[0].trace_json.as_ref().map(|trace| trace.events), Some(500), "{name}");
    }
    // What unpacks to too much is no trace that was cut.
    let spaces =
        [&b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1},"[..], &vec![b' '; 4 << 20], b"{}]"].concat();
    let refused = opened("x.trace.json.gz", &zipped(&spaces)).unwrap_err();
    assert!(refused.contains("--max-unpacked") && refused.contains("It was not read"), "{refused}");
}

#[test]
fn what_is_free_beside_is_so_once_a_run() {
    // Each takes 10 MB of tables, and would be read alone.
    let one = zipped(&plane("/device:TPU:0", &b"\x1a\x00".repeat(16_000)));
    assert!(one.len() < 400 && opened("h.xplane.pb.gz", &one).is_ok());
    let run = session((0..100).map(|i| (format!("h{i:03}.xplane.pb.gz"), one.clone()))).unwrap();
    assert!((3..=5).contains(&run.sources.len()), "{}", run.sources.len());
    assert_eq!(run.sources.len() + run.left_out.len(), 100);
    assert!(run.left_out[0].contains("other files leave") && run.left_out[0].contains("--memory-limit"));
    // Hundreds of hosts with hardly anything, packed and not.
    for is_packed in [false, true] {
        let file = if is_packed { zipped(&host(0)) } else { host(0) };
        let ending = if is_packed { ".gz" } else { "" };
        let run = session((0..600).map(|i| (format!("h{i:03}.xplane.pb{ending}"), file.clone()))).unwrap();
        assert_eq!((run.sources.len(), run.left_out.len()), (600, 0), "{:?}", run.left_out.first());
    }
    // And large ones.
    let large = host(100_000);
    let run = session((0..12).map(|i| (format!("h{i:03}.xplane.pb"), large.clone()))).unwrap();
    assert_eq!((run.sources.len(), run.left_out.len()), (12, 0));
}

#[test]
fn a_file_of_dense_events_is_left_out_also_of_a_run_of_many() {
    let dense = || {
        plane(
            "/device:TPU:1",
            &field(3, &[&field(2, b"XLA Ops")[..], &b"\x22\x00".repeat(2_000_000)].concat()),
        )
    };
    let alone = opened("b.xplane.pb", &dense()).unwrap_err();
    assert!(alone.contains("b.xplane.pb") && alone.contains("2000000 events"), "{alone}");
    for hosts in ["a", "ac", "acd"] {
        let others = hosts.chars().map(|host_name| (format!("{host_name}.xplane.pb"), host(3000)));
        let run = session(others.chain([("b.xplane.pb".to_owned(), dense())])).unwrap();
        assert_eq!(run.sources.len(), hosts.len(), "{hosts}: {:?}", run.left_out);
        assert!(run.sources.iter().all(|source| !source.path.ends_with("b.xplane.pb")));
        assert_eq!(run.left_out.len(), 1);
        assert!(
            run.left_out[0].contains("b.xplane.pb: ") && run.left_out[0].contains("--memory-limit"),
            "{:?}",
            run.left_out
        );
        assert_eq!(run.events(&run.lines[0]).len(), 3000);
    }
    // Where there is no other the first is told.
    let run = session(["a", "b", "c"].map(|name| (format!("{name}.xplane.pb"), dense()))).err();
    assert!(run.is_some_and(|error| error.contains("a.xplane.pb")));
    // Many events of the length that profilers write are no harm.
    let busy = host(400_000);
    let run = session(["a", "b", "c"].map(|name| (format!("{name}.xplane.pb"), busy.clone()))).unwrap();
    assert!(run.left_out.is_empty());
}

/// A profile with as many modules.
fn with_modules(count: i64, proto: &[u8]) -> Vec<u8> {
    let meta = |id| {
        let stats = vec![Stat { metadata_id: 1, value: Value::Bytes(proto.to_vec()) }];
        (id, EventMetadata { id, name: format!("jit_f({id})"), stats, ..Default::default() })
    };
    let name = StatMetadata { id: 1, name: "Hlo Proto".into(), ..Default::default() };
    let plane = Plane {
        name: "/host:metadata".into(),
        event_metadata: (1..=count).map(meta).collect(),
        stat_metadata: vec![(1, name)],
        ..Default::default()
    };
    Space { planes: vec![plane], ..Default::default() }.to_bytes()
}

#[test]
fn what_modules_may_take_beside_is_for_all_of_a_file_together() {
    let module =
        |computation: &[u8]| field(1, &[field(1, b"m"), field(2, b"e"), field(3, computation)].concat());
    let found = |profile: &Profile| {
        let all = profile.modules.iter().map(|module| match module.decode(profile) {
            Ok(_) => "read",
            Err(why) if why.contains("--memory-limit") => "too large",
            Err(_) => "damaged",
        });
        let mut all: Vec<&str> = all.collect();
        all.dedup();
        all
    };
    // Empty instructions, of which one module alone may have that many.
    let bomb = module(&[field(1, b"e"), b"\x12\x00".repeat(50_000)].concat());
    for (count, expected) in [(1, "read"), (20, "too large")] {
        let file = with_modules(count, &bomb);
        let plain = load::from_bytes("h.xplane.pb", file.clone()).unwrap();
        assert_eq!(plain.modules.len(), count as usize);
        assert_eq!(found(&plain), [expected], "{count}");
    }
    // What was unpacked from little counts as little.
    let lone = module(&[field(1, b"e"), b"\x12\x00".repeat(78_000)].concat());
    assert_eq!(found(&opened("h.xplane.pb", &with_modules(1, &lone)).unwrap()), ["read"]);
    assert_eq!(found(&opened("h.xplane.pb.gz", &zipped(&with_modules(1, &lone))).unwrap()), ["too large"]);
    // A thousand small modules are read.
    let instruction =
        [field(1, b"p"), field(2, b"parameter"), field(3, b"\x10\x0b"), b"\x98\x02\x01".to_vec()].concat();
    let small = module(&[field(1, b"e"), field(2, &instruction), b"\x28\x01\x30\x01".to_vec()].concat());
    assert_eq!(found(&load::from_bytes("h.xplane.pb", with_modules(1000, &small)).unwrap()), ["read"]);
    let padded = [with_modules(1000, &small), field(9, noise(100).as_bytes())].concat();
    assert_eq!(found(&opened("h.xplane.pb.gz", &zipped(&padded)).unwrap()), ["read"]);
}
