//! Seeds: slices of the fixtures, small enough that libFuzzer tries many changes of each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haloscope_analyses as analyses;
use haloscope_hlo::{Module, TextOptions};
use haloscope_profile::load;
use haloscope_report::codec as kept;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};
use haloscope_xspace::write::{Plane, Space, Value};
use haloscope_xspace::{SpaceView, StatValue};

use crate::root;

/// A larger seed is left out.
const LARGEST_BYTES: usize = 256 * 1024;
/// A packed file of the fixtures holds no more.
const MOST_UNPACKED: u64 = 64 * 1024 * 1024;
/// Of each list, the parts that a slice keeps.
const KEPT: usize = 6;

/// Writes the seeds of the target `name` into `corpus`, beside what earlier runs found. Gives their number.
pub(super) fn write(name: &str, corpus: &Path) -> Result<usize> {
    fs::create_dir_all(corpus)?;
    let mut files = Vec::new();
    collect(&root().join("fixtures"), &mut files)?;
    files.sort_unstable();
    let mut written = 0;
    match name {
        "riegeli_load" => return records(corpus),
        "text_read" => return texts(corpus),
        "http_query" | "mcp_call" => return lines(name, corpus),
        _ => {}
    }
    for path in files {
        let file = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let seeds = if file.ends_with(".xplane.pb.gz") && name == "llo_read" {
            embedded(&unpacked(&path)?, b"llo_proto")
        } else if file.ends_with(".xplane.pb") {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            match name {
                "hlo_decode" => embedded(&bytes, b"Hlo Proto"),
                "hlo_parse" => {
                    embedded(&bytes, b"Hlo Proto").iter().filter_map(|proto| text(proto)).collect()
                }
                "index_open" => reports(bytes),
                "llo_read" => embedded(&bytes, b"llo_proto"),
                "oom_read" | "mosaic_decode" => Vec::new(),
                "file_open" => {
                    slices(&bytes).iter().flat_map(|slice| [named(0, 0, slice), named(0, 2, slice)]).collect()
                }
                _ => slices(&bytes),
            }
        } else if name == "file_open"
            && let Some(at) = NAMED.iter().position(|(ending, _)| file.ends_with(ending))
        {
            vec![named(NAMED[at].1, 2, &unpacked(&path)?)]
        } else if file.ends_with(".hlo_proto.pb.gz")
            && ["hlo_decode", "hlo_parse", "mosaic_decode"].contains(&name)
        {
            let proto = unpacked(&path)?;
            match name {
                "hlo_parse" => text(&proto).into_iter().collect(),
                "mosaic_decode" => kernels(&proto),
                _ => vec![proto],
            }
        } else if file.ends_with(".buffer-assignment.txt.gz") && name == "hlo_parse" {
            vec![unpacked(&path)?]
        } else if name == "oom_read"
            && path.parent().is_some_and(|folder| folder.ends_with("oom"))
            && file.ends_with(".txt")
        {
            vec![fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?]
        } else if file.ends_with("trace.json.gz") && name == "profile_load" {
            json_slices(&unpacked(&path)?)
        } else {
            Vec::new()
        };
        for (i, seed) in seeds.iter().enumerate().filter(|(_, seed)| seed.len() <= LARGEST_BYTES) {
            fs::write(corpus.join(format!("seed-{written}-{i}")), seed)?;
            written += 1;
        }
    }
    Ok(written)
}

/// Which of `file_open`'s names a fixture has.
const NAMED: [(&str, u8); 3] =
    [("trace.json.gz", 2), (".hlo_proto.pb.gz", 4), (".buffer-assignment.txt.gz", 8)];

/// An input of `file_open`: which name, how it is packed, and the content.
fn named(name: u8, packed: u8, content: &[u8]) -> Vec<u8> {
    [&[name, packed], content].concat()
}

/// A text of each kind that `text_read` knows, behind the byte that says which.
fn texts(corpus: &Path) -> Result<usize> {
    let advice = r#"{"version":1,"time":"2026-01-02T03:04:05Z","name":"a","commit":"0123abc","metrics":{"step_ps":{"mean":1.0,"samples":[1,2,3]}}}"#;
    let seeds: [(u8, &str); 13] = [
        (0, advice),
        (
            1,
            "replace = true\n[[rule]]\nname = \"attention\"\nscope = \"attn|self_attention\"\nopcode = \"fusion\"\n",
        ),
        (
            2,
            r#"{"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000}"#,
        ),
        (2, "hidden_size = 4096\nnum_hidden_layers = 2\nvocab_size = 100\n"),
        (
            3,
            "export XLA_FLAGS=\"--xla_a=true --xla_dump_to=/tmp/x $XLA_FLAGS\" # off\nos.environ['LIBTPU_INIT_ARGS'] += ' --xla_b=1'",
        ),
        (4, "data=4,model=4"),
        (
            5,
            "BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:\n value: <0 p0 @0> (size=16,offset=0): f32[4]{0}\n",
        ),
        (6, "2-5,9"),
        (7, "confidence = 0.95\n[step_time]\nmax = \"3 ms\"\n[idle]\nmax = 0.2\nunknown = \"pass\"\n"),
        (7, "[mfu]\nmin = 0.4\n"),
        (8, "step_time <= 3 ms"),
        (8, "kernel_bundles(mm) <= 600"),
        (8, "fused(a, b) && count(all-reduce) == 2"),
    ];
    for (at, (which, text)) in seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{at}")), [&[*which], text.as_bytes()].concat())?;
    }
    Ok(seeds.len())
}

/// Seeds that are kept as text, one a line.
fn lines(name: &str, corpus: &Path) -> Result<usize> {
    let path = root().join("fuzz/seeds").join(name).with_extension("txt");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    for (at, line) in text.lines().enumerate() {
        fs::write(corpus.join(format!("seed-{at}")), line)?;
    }
    Ok(text.lines().count())
}

/// What a packed file holds.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let packed = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    StatValue::unzip(&packed, MOST_UNPACKED).with_context(|| format!("cannot unpack {}", path.display()))
}

/// The bytecode of a program's kernels.
fn kernels(proto: &[u8]) -> Vec<Vec<u8>> {
    let Ok(module) = Module::decode(proto) else { return Vec::new() };
    let configs =
        module.instructions().map(|(_, instruction)| instruction.attributes().backend_config.to_vec());
    configs.filter_map(|config| haloscope_mosaic::body(&config).ok().flatten()).collect()
}

/// The chunks that Riegeli's own writer made of two records, one of each packing and form.
fn records(corpus: &Path) -> Result<usize> {
    let folder = root().join("crates/riegeli/vectors");
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort_unstable();
    // A chunk's header, behind those of the first block and of the signature.
    const AT: usize = 64;
    const HEADER: usize = 40;
    let mut written = 0;
    for path in files.iter().filter(|path| path.extension().is_none()) {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let Some((header, data)) = bytes.get(AT..).and_then(|chunk| chunk.split_at_checked(HEADER)) else {
            continue;
        };
        let length = u16::try_from(data.len())?.to_le_bytes();
        let is_transposed = u8::from(header[24] == b't');
        let seed = [&[is_transposed, header[25], header[32], header[33]], &length[..], data].concat();
        fs::write(corpus.join(format!("seed-{written}")), seed)?;
        written += 1;
    }
    Ok(written)
}

/// The start of a trace in JSON, cut in the middle, and all of it.
fn json_slices(bytes: &[u8]) -> Vec<Vec<u8>> {
    [2_000, 8_000, bytes.len()].iter().map(|&end| bytes[..end.min(bytes.len())].to_vec()).collect()
}

/// Answers about a profile as they are kept.
fn reports(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let Ok(profile) = load::from_bytes("seed.xplane.pb", bytes) else { return Vec::new() };
    let answers = analyses::ALL
        .iter()
        .filter_map(|analysis| analysis::run(analysis, &profile, &Scope::default(), &Params::default()).ok());
    answers.filter_map(|report| kept::to_bytes(&report)).collect()
}

/// A module in words.
fn text(proto: &[u8]) -> Option<Vec<u8>> {
    let options = TextOptions { metadata: true, ..TextOptions::LONG };
    Some(Module::decode(proto).ok()?.text(&options).into_bytes())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Each plane of a profile with the first few parts of each list, and the first planes together.
fn slices(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut whole = Space::from(&SpaceView::parse(bytes));
    whole.planes.iter_mut().for_each(shorten);
    let hostnames = whole.hostnames.clone();
    let of_plane = |plane: &Plane| Space {
        planes: vec![plane.clone()],
        hostnames: hostnames.clone(),
        ..Space::default()
    };
    let mut seeds: Vec<Vec<u8>> = whole.planes.iter().map(|plane| of_plane(plane).to_bytes()).collect();
    whole.planes.truncate(KEPT);
    seeds.push(whole.to_bytes());
    seeds
}

/// Keeps the first parts of each list, and the metadata that they point at.
fn shorten(plane: &mut Plane) {
    plane.lines.truncate(KEPT);
    for line in &mut plane.lines {
        line.events.truncate(KEPT);
    }
    let used: Vec<i64> = plane.lines.iter().flat_map(|l| &l.events).map(|e| e.metadata_id).collect();
    let mut others = KEPT;
    plane.event_metadata.retain(|(key, _)| {
        used.contains(key) || {
            others = others.saturating_sub(1);
            others > 0
        }
    });
    // An HLO module would drown the rest; the target `hlo_decode` has them.
    let small = |value: &Value| !matches!(value, Value::Bytes(bytes) if bytes.len() > 4_096);
    for (_, metadata) in &mut plane.event_metadata {
        metadata.stats.retain(|stat| small(&stat.value));
    }
}

/// The messages that a profile carries in a stat of this name: HLO modules, the LLO of kernels.
fn embedded(bytes: &[u8], stat: &[u8]) -> Vec<Vec<u8>> {
    let space = SpaceView::parse(bytes);
    let mut protos = Vec::new();
    for plane in &space.planes {
        let id = plane.stat_metadata.iter().find(|(_, m)| m.name == stat).map(|(key, _)| *key);
        let stats =
            plane.event_metadata.iter().flat_map(|(_, m)| m.stats()).filter(|s| Some(s.metadata_id) == id);
        protos.extend(stats.filter_map(|stat| match stat.value {
            Some(StatValue::Bytes(proto)) => Some(proto.to_owned()),
            _ => None,
        }));
    }
    protos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_small_and_keeps_what_its_events_name() {
        let seeds = slices(&crate::bench::generate::profile(500_000).to_bytes());
        assert_eq!(seeds.len(), 6);
        for seed in &seeds {
            assert!(seed.len() < 20_000, "{} bytes", seed.len());
            let view = SpaceView::parse(seed);
            assert!(view.faults.is_empty());
            for plane in &view.planes {
                for event in plane.lines.iter().flat_map(|line| line.events()) {
                    assert!(plane.event_metadata.iter().any(|(key, _)| *key == event.metadata_id));
                }
            }
        }
    }
}
