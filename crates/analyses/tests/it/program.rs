//! Compiled programs without a profile: protos, text and dumps.

use std::fs;
use std::path::{Path, PathBuf};

use haloscope_analyses as analyses;
use haloscope_hlo::{Module, TextOptions};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_program::heap::Buffers;
use haloscope_program::program_memory::ProgramMemory;
use haloscope_report::Cell;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::analysis;

use crate::support::{ask, number};

fn proto() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo/decode.v5e.hlo_proto.pb.gz")
}

fn open(path: &Path) -> Profile {
    load::open(&load::find(path).unwrap()).unwrap()
}

fn unpacked(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The module in words, as a dump has it.
fn text() -> String {
    let options = TextOptions { metadata: true, ..TextOptions::LONG };
    Module::decode(&unpacked(&proto())).unwrap().text(&options)
}

/// The column of `inspect`'s table, in words.
fn column(profile: &Profile, id: &str) -> Vec<String> {
    let report = ask(profile, "inspect", &[]);
    let table = report.table("stages").unwrap();
    let at = table.columns.iter().position(|column| column.id == id).unwrap();
    let word = |cell: &Cell| match cell {
        Cell::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    table.rows.iter().map(|row| word(&row[at])).collect()
}

/// A dump of three stages of one module and one of another, among what else a dump holds.
fn dump(folder: &Path) {
    let (bytes, text) = (unpacked(&proto()), text());
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("module_0000.jit_decode.before_optimizations.txt", text.as_bytes());
    write("module_0000.jit_decode.0004.simplify.after_dce.before_cse.txt", text.as_bytes());
    write("module_0000.jit_decode.cl_1.after_optimizations.txt", text.as_bytes());
    write("module_0000.jit_decode.cl_1.after_optimizations.hlo.pb", &bytes);
    write("module_0000.jit_decode.cl_1.after_optimizations-buffer-assignment.txt", b"BufferAssignment:\n");
    write("module_0000.jit_decode.cl_1.debug_options", b"");
    write(
        "module_0012.jit_small.cpu_after_optimizations.txt",
        b"HloModule jit_small\n\nENTRY e {\n  ROOT a = f32[] constant(1)\n}\n",
    );
}

#[test]
fn a_proto_and_its_text_are_one_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("anything.txt");
    fs::write(&path, text()).unwrap();
    let (of_proto, of_text) = (open(&proto()), open(&path));
    for profile in [&of_proto, &of_text] {
        assert!(profile.is_program());
        assert_eq!((profile.modules.len(), profile.modules[0].name.as_str()), (1, "jit_decode"));
    }
    let instructions = |profile: &Profile| number(&ask(profile, "inspect", &[]), "instructions");
    assert!(instructions(&of_proto) > 100.0);
    assert_eq!(instructions(&of_proto), instructions(&of_text));
    assert_eq!(column(&of_proto, "buffers"), ["yes"]);
    assert_eq!(column(&of_text, "buffers"), ["no"]);
    let costs = |profile: &Profile| profile.modules[0].decode(profile).unwrap().costs.total().flops;
    assert_eq!(costs(&of_proto), costs(&of_text));
}

#[test]
fn a_dump_is_its_modules_at_their_last_stage() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let run = load::find(folder.path()).unwrap();
    assert_eq!((run.files.len(), run.chosen_from), (4, 1));
    let profile = open(folder.path());
    let names: Vec<&str> = profile.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["jit_decode", "jit_small"]);
    assert_eq!(
        column(&profile, "stage"),
        [
            "before_optimizations",
            "0004.simplify.after_dce.before_cse",
            "after_optimizations",
            "cpu_after_optimizations"
        ]
    );
    assert_eq!(column(&profile, "used"), ["no", "no", "yes", "yes"]);
    assert_eq!(column(&profile, "form"), ["text", "text", "HloProto", "text"]);
    assert_eq!(column(&profile, "buffers"), ["no", "no", "yes", "no"]);
    // Each stage is a RUN of its own.
    let first = open(&folder.path().join("module_0000.jit_decode.before_optimizations.txt"));
    assert_eq!(column(&first, "stage"), ["before_optimizations"]);
    // One broken stage is said and left out.
    fs::write(
        folder.path().join("module_0012.jit_small.cpu_after_optimizations.txt"),
        "HloModule x\nENTRY {",
    )
    .unwrap();
    let report = ask(&open(folder.path()), "inspect", &[]);
    assert!(
        report
            .quality
            .iter()
            .any(|note| note.id == "damaged_hlo" && note.message.contains("line 2, column 7"))
    );
}

/// A dump of text alone: the module and, beside it, its buffer assignment.
fn text_dump(folder: &Path, name: &str, buffers: &[u8]) {
    let packed = proto().with_file_name(format!("{name}.hlo_proto.pb.gz"));
    let options = TextOptions { metadata: true, ..TextOptions::LONG };
    let text = Module::decode(&unpacked(&packed)).unwrap().text(&options);
    let write = |stage: &str, bytes: &[u8]| {
        fs::write(folder.join(format!("module_0003.jit_{name}.cl_1.{stage}")), bytes).unwrap();
    };
    write("before_optimizations.txt", text.as_bytes());
    write("after_optimizations.txt", text.as_bytes());
    write("after_optimizations-buffer-assignment.txt", buffers);
    write("after_optimizations-memory-usage-report.txt", b"Memory Space: default (color=0)\n");
}

/// Allocations, the bytes of each memory space and what lasts are XLA's own numbers, from protos and from text; only the proto
/// knows the peak of what does not last.
#[test]
fn memory_is_what_xla_counts() {
    for name in
        ["train_step.v5e", "train_step.v5p", "train_step.v6e", "run_scan.v6e", "pallas_attention_scratch.v6e"]
    {
        let folder = tempfile::tempdir().unwrap();
        let beside = |ending: &str| proto().with_file_name(format!("{name}.{ending}"));
        text_dump(folder.path(), name, &unpacked(&beside("buffer-assignment.txt.gz")));
        let expected: serde_json::Value =
            serde_json::from_slice(&fs::read(beside("memory.json")).unwrap()).unwrap();
        let (of_proto, of_text) = (open(&beside("hlo_proto.pb.gz")), open(folder.path()));
        assert_eq!(column(&of_text, "buffers"), ["no", "yes"]);
        let note = |profile: &Profile| {
            let report = ask(profile, "inspect", &[]);
            report.quality.iter().any(|note| note.id == "buffers_from_text")
        };
        assert!(note(&of_text) && !note(&of_proto));
        let mut memories = Vec::new();
        for profile in [&of_proto, &of_text] {
            let module = &profile.modules[0];
            let decoded = module.decode(profile).unwrap();
            let buffers = Buffers::new(&decoded.module).unwrap();
            let values = expected["values"].as_u64().unwrap();
            // Text has no names for what runs inside an asynchronous instruction that is written as one line.
            let unnamed = values - buffers.len() as u64;
            assert!(
                unnamed == 0 || decoded.buffers_file.is_some() && unnamed * 10 < values,
                "{name}: {unnamed}"
            );
            for (space, total) in expected["total_bytes"].as_object().unwrap() {
                let memory = ProgramMemory::new(&buffers, space.parse().unwrap());
                assert_eq!(memory.total_bytes(), total.as_i64().unwrap(), "{name}, space {space}");
            }
            let memory = ProgramMemory::new(&buffers, 0);
            memories.push((memory.lasting_bytes(), memory.peak_bytes(), memory.is_without_trace()));
            assert_eq!(memory.temporary_bytes().is_none(), memory.is_without_trace(), "unknown is not 0");
            let faults = memory.replay.as_ref().map_or(0, |replay| replay.faults);
            assert!(faults == 0 && memory.peak_bytes() <= memory.allocated_bytes(), "{name}");
        }
        let [(lasting, peak, false), (lasting_in_text, partial, is_partial)] = memories[..] else {
            panic!("{name}")
        };
        assert_eq!((lasting, lasting), (lasting_in_text, partial), "{name}");
        // Without temporary memory nothing is missing.
        assert_eq!(is_partial, peak > lasting, "{name}");
        assert_eq!(is_partial, name != "pallas_attention_scratch.v6e");
        for analysis in ["memory peak", "memory attribute"] {
            let says = |profile: &Profile| {
                ask(profile, analysis, &[]).quality.iter().any(|note| note.id == "no_heap_trace")
            };
            assert_eq!((says(&of_proto), says(&of_text)), (false, is_partial), "{name}, {analysis}");
        }
    }
}

#[test]
fn a_damaged_buffer_assignment_is_said_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    text_dump(folder.path(), "decode.v5e", b"BufferAssignment:\nallocation 0: size x:\n");
    let profile = open(folder.path());
    assert_eq!(column(&profile, "buffers"), ["no", "no"]);
    let report = ask(&profile, "inspect", &[]);
    let note = report.quality.iter().find(|note| note.id == "damaged_buffer_assignment").unwrap();
    assert!(note.message.contains("line 2, column 20: expected a size in bytes"), "{}", note.message);
}

/// A profile in or below a folder is what the folder stands for, whatever else is there.
#[test]
fn a_profile_goes_before_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    dump(folder.path());
    let session = folder.path().join("plugins/profile/run");
    fs::create_dir_all(&session).unwrap();
    let profile = crate::support::run_folder("tpu-custom-call");
    let source = load::find(&profile).unwrap().files.remove(0);
    fs::copy(source, session.join("h.xplane.pb")).unwrap();
    assert!(!open(folder.path()).is_program());
}

#[test]
fn questions_about_time_have_no_answer() {
    let profile = open(&proto());
    let is_of_programs = |id: &str| {
        ["inspect", "audit flags", "kernel grid", "kernel stages", "kernel text", "oom"].contains(&id)
            || id.starts_with("hlo ")
            || (id.starts_with("memory ") && id != "memory profile")
    };
    for analysis in analyses::ALL.iter().filter(|analysis| !is_of_programs(analysis.id)) {
        let answer = analysis::run(analysis, &profile, &Scope::default(), &Default::default());
        match answer.map(|report| report.analysis) {
            Err(Error::Nothing(message)) => {
                assert!(message.starts_with("this is a compiled program, not a profile"), "{message}");
            }
            other => panic!("{}: {other:?}", analysis.id),
        }
    }
}

#[test]
fn what_is_no_program_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let error = load::find(&path).and_then(|run| load::open(&run)).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        error.to_string()
    };
    let said = refusal("x.txt", b"HloModule m\nENTRY e {\n  a = f33[] iota()\n}");
    assert!(said.ends_with("line 3, column 7: expected a shape, found \"f33[] iota()\""), "{said}");
    let whole = unpacked(&proto());
    let said = refusal("x.hlo_proto.pb", &whole[..whole.len() / 2]);
    assert!(said.contains("expected an HloProto, found malformed protobuf"), "{said}");
    let said = refusal("x.txt", b"hello");
    assert!(
        said.contains("expected an XSpace protobuf (.xplane.pb), an HLO proto, HLO text or the LLO of an op"),
        "{said}"
    );
    // The name of a profile is a promise.
    let said = refusal("x.xplane.pb", b"HloModule m\nENTRY e {\n  a = f32[] iota()\n}");
    assert!(said.contains("expected an XSpace"), "{said}");
}
