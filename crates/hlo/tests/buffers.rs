//! Buffer assignments against what XLA says of the same compilation in words: its `-buffer-assignment.txt` and
//! `-memory-usage-report.txt` (`fixtures/compile.py` keeps the one, and the numbers of both).
#![expect(clippy::unwrap_used, clippy::panic, reason = "it is test code")]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haloscope_hlo::{BufferAllocation, BufferAssignment, LogicalBuffer, Module};
use serde_json::Value;

/// Programs that were compiled for TPUs, by name.
fn programs() -> Vec<String> {
    let folder = fixtures();
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".memory.json")?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    for chip in ["v5e", "v5p", "v6e"] {
        assert!(names.contains(&format!("train_step.{chip}")), "{names:?}");
    }
    names
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo")
}

fn module(name: &str) -> Module {
    Module::decode(&common::gunzip(&fixtures().join(format!("{name}.hlo_proto.pb.gz")))).unwrap()
}

fn words(name: &str) -> String {
    let packed = fixtures().join(format!("{name}.buffer-assignment.txt.gz"));
    String::from_utf8(common::gunzip(&packed)).unwrap()
}

fn numbers(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixtures().join(format!("{name}.memory.json"))).unwrap())
        .unwrap()
}

fn read(name: &str) -> BufferAssignment {
    let text = words(name);
    assert!(BufferAssignment::is_text(text.as_bytes()), "{name}");
    BufferAssignment::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Number, bytes and memory space of each allocation; bytes by memory space; values with their bytes and offsets.
#[test]
fn proto_and_words_are_what_xla_counts() {
    for name in programs() {
        let expected = numbers(&name);
        for (form, assignment) in
            [("proto", module(&name).buffer_assignment.unwrap()), ("words", read(&name))]
        {
            let mut allocations: Vec<[i64; 3]> =
                assignment.allocations.iter().map(|a| [a.index, a.size_bytes, a.memory_space]).collect();
            allocations.sort_unstable();
            assert_eq!(serde_json::json!(allocations), expected["allocations"], "{name}, {form}");
            let mut totals: BTreeMap<String, i64> = BTreeMap::new();
            for allocation in &assignment.allocations {
                *totals.entry(allocation.memory_space.to_string()).or_default() += allocation.size_bytes;
            }
            assert_eq!(serde_json::json!(totals), expected["total_bytes"], "{name}, {form}");
            let values = || assignment.allocations.iter().flat_map(|a| &a.assigned);
            assert_eq!(values().count() as i64, expected["values"].as_i64().unwrap(), "{name}, {form}");
            assert_eq!(
                (values().map(|v| v.size_bytes).sum::<i64>(), values().map(|v| v.offset_bytes).sum::<i64>()),
                (
                    expected["value_bytes"].as_i64().unwrap(),
                    expected["value_offsets_bytes"].as_i64().unwrap()
                ),
                "{name}, {form}"
            );
        }
    }
}

/// What JAX's `memory_analysis` makes of the same: arguments and outputs, those that alias, and temporary memory in whole pages.
#[test]
fn sums_are_those_of_memory_analysis() {
    const PAGE_BYTES: i64 = 16 << 10;
    for name in programs() {
        let summary = std::fs::read_to_string(fixtures().join(format!("{name}.json"))).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let expected = |key: &str| summary["memory_analysis"][key].as_i64().unwrap();
        let assignment = read(&name);
        let sum = |is_meant: &dyn Fn(&BufferAllocation) -> bool| -> i64 {
            let all = assignment.allocations.iter().filter(|a| a.memory_space == 0 && is_meant(a));
            all.map(|a| a.size_bytes).sum()
        };
        let is_parameter = |a: &BufferAllocation| a.entry_parameter.is_some();
        assert_eq!(sum(&is_parameter), expected("argument_size_in_bytes"), "{name}");
        assert_eq!(sum(&|a| a.maybe_live_out), expected("output_size_in_bytes"), "{name}");
        let aliased = sum(&|a| a.is_parameter_aliased_with_output);
        assert_eq!(aliased, expected("alias_size_in_bytes"), "{name}");
        let temporary =
            sum(&|a| !(is_parameter(a) || a.maybe_live_out || a.is_constant || a.is_thread_local));
        let pages = (temporary + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        assert_eq!(pages, expected("temp_size_in_bytes"), "{name}");
    }
}

/// All that both forms say is the same: the proto without its heap traces and with names in place of ids.
#[test]
fn words_say_what_the_proto_says() {
    for name in programs() {
        let module = module(&name);
        let mut proto = module.buffer_assignment.clone().unwrap();
        let has_history = proto.heap_traces.iter().any(|trace| !trace.events.is_empty());
        assert_eq!(has_history, !name.contains("scratch"), "{name}");
        proto.heap_traces.clear();
        for buffer in &mut proto.logical_buffers {
            let id = buffer.instruction_id.take().and_then(|id| module.instruction_by_id(id));
            buffer.instruction_name = module.instruction(id.unwrap()).name.clone();
        }
        let of_tuple = |buffer: &LogicalBuffer| {
            let index = module.instruction_by_name(&buffer.instruction_name).unwrap();
            module.instruction(index).shape.is_tuple()
        };
        assert!(proto.logical_buffers.iter().all(|b| of_tuple(b) || b.shape_index.is_empty()), "{name}");
        proto.logical_buffers.sort_by_key(|buffer| buffer.id);
        let read = read(&name);
        assert_eq!(read.allocations.len(), proto.allocations.len(), "{name}");
        proto.allocations.sort_by_key(|a| a.index);
        // Of temporary memory that holds tuples among others the words do not say that the compiler flagged it.
        for (read, proto) in read.allocations.iter().zip(&mut proto.allocations) {
            let is_temporary = !proto.maybe_live_out && proto.entry_parameter.is_none();
            proto.is_tuple &= read.is_tuple || !is_temporary;
        }
        for (read, proto) in read.allocations.iter().zip(&proto.allocations) {
            assert_eq!(read, proto, "{name}");
        }
        for (read, proto) in read.logical_buffers.iter().zip(&proto.logical_buffers) {
            assert_eq!(read, proto, "{name}");
        }
        assert_eq!(read, proto, "{name}");
        assert_eq!(read.is_without_heap_traces(), !name.contains("scratch"), "{name}");
    }
}

/// A prefix, a changed byte, long lines and many of them: an answer in time that grows as the text does, or an error.
#[test]
fn hostile_words() {
    let text = words("convolution.v5e");
    for length in 0..text.len() {
        if let Some(prefix) = text.get(..length) {
            let _ = BufferAssignment::parse(prefix);
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..4_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut damaged = text.clone().into_bytes();
        let at = state as usize % damaged.len();
        damaged[at] = b"{}()<>|@,:= -9x\n\xc3"[(state >> 40) as usize % 17];
        let _ = BufferAssignment::parse(&String::from_utf8_lossy(&damaged));
    }
    let start = Instant::now();
    for long in [
        format!("allocation 0: size 4{}:", ", {|".repeat(300_000)),
        format!(
            "allocation 0: size 4, parameter 1, shape |f32[]| at ShapeIndex {{{}}}:",
            "1,".repeat(300_000)
        ),
        format!("allocation 0: size 4:\n value: <1 {}> (size=4", " @{".repeat(300_000)),
        "allocation 0: size 4:\n value: <1 a @0> (size=9223372036854775807,offset=9223372036854775807): (\n"
            .repeat(20_000),
    ] {
        let _ = BufferAssignment::parse(&format!("BufferAssignment:\n{long}"));
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
