use haloscope_hlo::{
    AssignedBuffer, BufferAllocation, BufferAssignment, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer,
    Module,
};

use super::*;
use haloscope_report::{Cell, Table};

use HeapEventKind::{Alloc, Free};

const TEXT: &str = r#"HloModule m
ENTRY e {
  p = f32[100] parameter(0), metadata={op_name="params['layer_0']['w']"}
  a = f32[100] negate(p), metadata={op_name="jit(f)/layer_0/mlp/neg" source_file="f.py" source_line=3}
  b = f32[100] negate(a), metadata={op_name="jit(f)/layer_1/mlp/neg;other" source_file="f.py" source_line=3}
  c = f32[100] negate(b)
  ROOT d = f32[100] negate(c)
}
"#;

/// Buffers 1 to 5 of `p`, `a`, `b`, `c` and `d`: 400 bytes of elements, padded to 512, 1024, 2048, 600 and 512. `p` is a
/// parameter, `d` an output, the others are placed by these events.
fn module(events: &[(HeapEventKind, i64)]) -> Module {
    let mut module = Module::read(TEXT.as_bytes()).unwrap();
    let sizes = [("p", 512), ("a", 1024), ("b", 2048), ("c", 600), ("d", 512)];
    let logical = |(number, (name, size_bytes)): (usize, &(&str, i64))| LogicalBuffer {
        id: number as i64 + 1,
        size_bytes: *size_bytes,
        instruction_name: (*name).to_owned(),
        ..LogicalBuffer::default()
    };
    let logical_buffers: Vec<_> = sizes.iter().enumerate().map(logical).collect();
    let allocation = |index: i64, size_bytes: i64, ids: &[i64]| BufferAllocation {
        index,
        size_bytes,
        assigned: ids
            .iter()
            .map(|id| AssignedBuffer { buffer_id: *id, offset_bytes: 0, size_bytes: 1 })
            .collect(),
        ..BufferAllocation::default()
    };
    let mut allocations =
        vec![allocation(0, 512, &[1]), allocation(1, 512, &[5]), allocation(2, 4096, &[2, 3, 4])];
    allocations[0].entry_parameter = Some((0, vec![]));
    allocations[1].maybe_live_out = true;
    let name_of = |id: i64| sizes[(id - 1) as usize].0;
    let event = |(kind, buffer_id): &(HeapEventKind, i64)| HeapEvent {
        kind: *kind,
        buffer_id: *buffer_id,
        computation_name: "e".to_owned(),
        instruction_name: name_of(*buffer_id).to_owned(),
    };
    let trace = HeapTrace { events: events.iter().map(event).collect(), ..HeapTrace::default() };
    module.buffer_assignment =
        Some(BufferAssignment { logical_buffers, allocations, heap_traces: vec![trace] });
    module
}

struct Asked {
    tables: Vec<Table>,
    values: Vec<haloscope_report::Value>,
}

fn ask(module: &Module) -> Asked {
    let buffers = Buffers::new(module).unwrap();
    let memory = ProgramMemory::new(&buffers, 0);
    let rows = buffers::rows(module, &memory);
    let rollups = rollups::all(&rows);
    let identities = rollups::identities(&memory, &rows, &rollups);
    let mut tables = vec![buffers::table(&memory, &rows), identities, spaces(&buffers)];
    tables.extend(rollups);
    tables.push(drawing::of(&memory, &mut Notes::default()).table);
    let about = values::Headline { program: "m", programs: 1, capacity: None, space: 0 };
    Asked { tables, values: values::of(&memory, &rows, &about) }
}

impl Asked {
    fn value(&self, id: &str) -> &Cell {
        &self.values.iter().find(|value| value.id == id).unwrap().value
    }

    fn column(&self, table: &str, column: &str) -> Vec<Cell> {
        let table = self.tables.iter().find(|t| t.id == table).unwrap();
        (0..table.rows.len()).map(|row| table.cell(row, column).unwrap().clone()).collect()
    }
}

fn texts(cells: &[&str]) -> Vec<Cell> {
    cells.iter().map(|text| if text.is_empty() { Cell::Unknown } else { Cell::from(*text) }).collect()
}

fn numbers(cells: &[i64]) -> Vec<Cell> {
    cells.iter().map(|number| Cell::Int(*number)).collect()
}

/// `a`, then `b`; `a` goes, `c` comes: the peak is when `b` comes, at event 1 of 6.
#[test]
fn the_peak_its_place_and_its_parts() {
    let asked = ask(&module(&[(Alloc, 2), (Alloc, 3), (Free, 2), (Alloc, 4), (Free, 3), (Free, 4)]));
    assert_eq!(asked.value("peak_bytes"), &Cell::Int(512 + 512 + 1024 + 2048));
    assert_eq!(asked.value("lasting_bytes"), &Cell::Int(1024));
    assert_eq!(asked.value("temporary_bytes"), &Cell::Int(3072));
    // XProf counts lasting allocations in full here; the padding counts them too.
    assert_eq!(asked.value("peak_unpadded_bytes"), &Cell::Int(1024 + 800));
    assert_eq!(asked.value("padding_bytes"), &Cell::Int(112 + 112 + 624 + 1648));
    assert_eq!(asked.value("peak_event"), &Cell::Int(1));
    assert_eq!(asked.value("peak_instruction"), &Cell::from("b"));
    assert_eq!(asked.value("peak_position"), &Cell::Float(0.2));
    assert_eq!(asked.value("entry_parameter_bytes"), &Cell::Int(512));
    assert_eq!(asked.value("output_bytes"), &Cell::Int(512));
    assert_eq!(asked.value("temporary_allocated_bytes"), &Cell::Int(4096));
    // Nobody knows the device, and no instruction says that it sets VMEM aside: that is not 0.
    for id in ["capacity_bytes", "headroom_bytes", "scoped_vmem_bytes"] {
        assert_eq!(asked.value(id), &Cell::Unknown, "{id}");
    }
    assert_eq!(asked.column("buffers", "instruction"), texts(&["b", "a", "p", "d"]));
    assert_eq!(asked.column("buffers", "from"), texts(&["b", "a", "", ""]));
    // `a` goes before `c` comes, `b` after it.
    assert_eq!(asked.column("buffers", "until"), texts(&["c", "b", "", ""]));
    assert_eq!(asked.column("buffers", "layer"), texts(&["layer 1", "layer 0", "layer 0", ""]));
    assert_eq!(asked.column("buffers", "source"), texts(&["f.py:3", "f.py:3", "", ""]));
}

#[test]
fn every_rollup_sums_to_the_peak() {
    let asked = ask(&module(&[(Alloc, 2), (Alloc, 3), (Free, 2), (Alloc, 4), (Free, 3), (Free, 4)]));
    assert_eq!(asked.column("identities", "holds"), vec![Cell::Flag(true); 8]);
    assert_eq!(asked.column("by_group", "name"), texts(&["Temporary", "Output", "Parameter"]));
    assert_eq!(asked.column("by_group", "bytes"), numbers(&[3072, 512, 512]));
    assert_eq!(asked.column("by_layer", "name"), texts(&["layer 1", "layer 0", ""]));
    assert_eq!(asked.column("by_layer", "bytes"), numbers(&[2048, 1536, 512]));
    let scopes = ["jit(f)/layer_1/mlp", "jit(f)/layer_0/mlp", "", "params['layer_0']"];
    assert_eq!(asked.column("by_scope", "name"), texts(&scopes));
    assert_eq!(asked.column("by_source", "bytes"), numbers(&[3072, 1024]));
    assert_eq!(asked.column("by_opcode", "buffers"), numbers(&[3, 1]));
}

/// `b` takes over the memory of `a`: it is alive under its own name, with the bytes of `a`.
#[test]
fn memory_that_is_shared_counts_once() {
    let share = HeapEventKind::ShareWith { canonical_buffer_id: 2 };
    let asked = ask(&module(&[(Alloc, 2), (Free, 2), (share, 3), (Alloc, 4), (Free, 3), (Free, 4)]));
    assert_eq!(asked.value("temporary_bytes"), &Cell::Int(1024 + 600));
    assert_eq!(asked.column("buffers", "instruction"), texts(&["b", "c", "p", "d"]));
    assert_eq!(asked.column("buffers", "bytes"), numbers(&[1024, 600, 512, 512]));
    assert_eq!(asked.column("identities", "holds"), vec![Cell::Flag(true); 8]);
}

/// What is never freed is there to the end: no instruction gives it back.
#[test]
fn what_is_not_freed_has_no_end() {
    let asked = ask(&module(&[(Alloc, 2), (Alloc, 3), (Free, 3)]));
    assert_eq!(asked.column("buffers", "until"), texts(&["b", "", "", ""]));
    assert_eq!(
        asked.column("buffers", "until_event"),
        vec![Cell::Int(2), Cell::Int(2), Cell::Unknown, Cell::Unknown]
    );
    assert_eq!(asked.column("allocations", "is_at_peak"), vec![Cell::Flag(true); 2]);
}

#[test]
fn a_program_without_temporary_buffers() {
    let mut module = module(&[]);
    let assignment = module.buffer_assignment.as_mut().unwrap();
    assignment.heap_traces.clear();
    assignment.allocations.truncate(2);
    let asked = ask(&module);
    assert_eq!(asked.value("peak_bytes"), &Cell::Int(1024));
    for id in ["peak_event", "peak_instruction", "peak_position"] {
        assert_eq!(asked.value(id), &Cell::Unknown, "{id}");
    }
    assert_eq!(asked.column("spaces", "peak_bytes"), numbers(&[1024]));
    let said = nothing_in("m", 1, &Buffers::new(&module).unwrap()).to_string();
    assert!(said.contains("keeps nothing in vmem; it keeps something in hbm"), "{said}");
}
