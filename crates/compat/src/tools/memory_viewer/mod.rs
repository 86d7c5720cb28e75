//! `memory_viewer`: what a program needs of a memory, instruction by instruction, and what fills it at the peak.
//!
//! The replay is core's ([`haloscope_program::heap`]); here its buffers get XProf's labels. Two of XProf's ways are kept
//! because its numbers show them: a path into a nested tuple counts by its last step alone, and a tuple is as large as its
//! pointers.

mod labels;
mod shape;
mod timeline;

use haloscope_hlo::{BufferAllocation, Module};
use haloscope_profile::Profile;
use haloscope_program::{
    heap::{Buffer, Buffers},
    program_memory::ProgramMemory,
    scoped_memory,
};

use self::{
    labels::{heap_object, shape_text},
    shape::{Allocation, HeapObject, LogicalBuffer, Span},
};
use super::Tool;
use crate::{
    Answer, Error, Hosts, Param, Params, introsort,
    modules::{self, MODULE_NAME, PROGRAM_ID},
    proto_json::Int64,
};

pub(crate) const TOOL: Tool = Tool {
    id: "memory_viewer",
    doc: "What an HLO module needs of a memory, and what fills it at the peak",
    hosts: Hosts::All,
    params: &[
        MODULE_NAME,
        PROGRAM_ID,
        Param { id: "memory_space", doc: "the memory: 0 main memory, 1 vector memory (TPU); default 0" },
        Param {
            id: "view_memory_allocation_timeline",
            doc: "true for a page that draws which buffer lies where and when; default false",
        },
    ],
    offered: |profile| !profile.modules.is_empty(),
    answer,
};

/// What `module_list` says of a run without modules.
const NO_MODULE: &str = "NO_MODULE";

/// Buffers smaller than this are shown as one.
const SMALL_BYTES: i64 = 16 << 10;

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let as_page = params.flag("view_memory_allocation_timeline")?;
    let memory_space = params.number("memory_space")?.unwrap_or(0);
    if profile.modules.is_empty() && params.get(MODULE_NAME.id) == Some(NO_MODULE) {
        return if as_page { Ok(timeline::page(&[], 0, 0)) } else { Answer::json(&shape::Result::default()) };
    }
    let chosen = modules::chosen(TOOL.id, profile, params)?;
    let module = &modules::decoded(profile, chosen)?.module;
    let mut result = shape::Result {
        module_name: module.name.clone(),
        entry_computation_name: module.computation(module.entry()).name.clone(),
        ..shape::Result::default()
    };
    let Some(buffers) = Buffers::new(module) else {
        return if as_page { Ok(timeline::page(&[], 0, 0)) } else { Answer::json(&result) };
    };
    let view = View { memory: ProgramMemory::new(&buffers, memory_space) };
    if as_page {
        let drawing = timeline::blocks(&view);
        return Ok(timeline::page(&drawing.blocks, drawing.steps, drawing.bytes));
    }
    view.fill(&mut result);
    if memory_space == 1
        && let Some((bytes, name)) = scoped_memory::largest(module, memory_space)
    {
        result.max_scoped_vmem_allocation_mib = mib(bytes);
        result.max_scoped_vmem_instruction_name = name.to_owned();
    }
    Answer::json(&result)
}

/// Bytes in MiB.
fn mib(bytes: i64) -> f64 {
    bytes as f64 / f64::from(1u32 << 20)
}

/// One memory of a module.
struct View<'a, 'm> {
    memory: ProgramMemory<'a, 'm>,
}

/// What fills the memory at the peak.
#[derive(Default)]
struct AtPeak {
    objects: Vec<HeapObject>,
    small_bytes: i64,
    indefinite_bytes: i64,
    /// Buffer ids and the numbers of their colours, sorted.
    colours: Vec<(i64, usize)>,
}

impl<'m> View<'_, 'm> {
    fn at_peak(&self) -> AtPeak {
        let mut peak = AtPeak::default();
        for buffer in self.memory.lasting_buffers() {
            peak.indefinite_bytes += buffer.allocation.size_bytes;
            // In other memories the compiler leaves such allocations out.
            if self.memory.memory_space == 0 {
                peak.add(self.memory.module(), buffer);
            }
        }
        let held = self.memory.replay.iter().flat_map(|replay| &replay.held_at_peak);
        for buffer in held.filter_map(|held| self.memory.buffers.get(held.user)) {
            peak.add(self.memory.module(), buffer);
        }
        if peak.small_bytes != 0 {
            peak.objects.push(HeapObject {
                numbered: peak.objects.len(),
                label: format!("small (<{SMALL_BYTES} bytes)"),
                logical_buffer_id: -1,
                logical_buffer_size_mib: mib(peak.small_bytes),
                ..HeapObject::default()
            });
        }
        peak.colours.sort_unstable();
        peak
    }

    fn fill(&self, result: &mut shape::Result) {
        let peak = self.at_peak();
        let mut order: Vec<usize> = (0..peak.objects.len()).collect();
        let size = |row: usize| peak.objects[row].logical_buffer_size_mib;
        introsort::sort(&mut order, |a, b| size(*a) > size(*b));
        let mut places = vec![0; order.len()];
        for (place, row) in order.iter().enumerate() {
            places[*row] = place;
        }
        result.max_heap_by_size = order.iter().map(|row| peak.objects[*row].clone()).collect();
        result.max_heap_to_by_size = places;
        result.by_size_to_max_heap = order;

        let lasting = mib(peak.indefinite_bytes);
        let replay = self.memory.replay.as_ref();
        let sizes = |bytes: &[i64]| bytes.iter().map(|b| mib(*b) + lasting).collect();
        result.heap_sizes = replay.map(|r| sizes(&r.in_use_bytes)).unwrap_or_default();
        result.unpadded_heap_sizes = replay.map(|r| sizes(&r.unpadded_in_use_bytes)).unwrap_or_default();
        let names =
            self.memory.trace.iter().flat_map(|trace| &trace.events).map(|e| e.instruction_name.clone());
        result.hlo_instruction_names = names.chain(self.memory.trace.map(|_| String::new())).collect();
        result.peak_heap_mib = mib(replay.map_or(0, |r| r.peak_bytes)) + lasting;
        result.peak_unpadded_heap_mib = mib(replay.map_or(0, |r| r.peak_unpadded_bytes)) + lasting;
        result.peak_heap_size_position = replay.map_or(0, |r| r.peak_event);
        if let Some(replay) = replay {
            for (row, span) in replay.spans.iter().enumerate().filter(|(row, _)| replay.is_seen[*row]) {
                if let (Some((start, limit)), Some(buffer)) = (*span, self.memory.buffers.get(row)) {
                    result.logical_buffer_spans.insert(buffer.logical.id as i32, Span { start, limit });
                }
            }
        }
        self.note_allocations(result);
        result.buffer_blocks = timeline::blocks(self).blocks;
        result.max_heap = peak.objects;
    }

    fn note_allocations(&self, result: &mut shape::Result) {
        let total = |is_meant: &dyn Fn(&BufferAllocation) -> bool| {
            mib(self.memory.allocations.iter().filter(|a| is_meant(a)).map(|a| a.size_bytes).sum())
        };
        result.entry_computation_parameters_mib = total(&|a| a.entry_parameter.is_some());
        result.non_reusable_mib = total(&|a| !is_reusable(a));
        result.maybe_live_out_mib = total(&|a| a.maybe_live_out);
        result.total_buffer_allocation_mib = total(&|a| !a.is_thread_local);
        result.indefinite_buffer_allocation_mib = mib(self.memory.lasting().map(|a| a.size_bytes).sum());
        result.indefinite_lifetimes = self.memory.lasting().map(|a| self.allocation(a)).collect();
    }

    fn allocation(&self, allocation: &BufferAllocation) -> Allocation {
        let logical_buffers: Vec<LogicalBuffer> = allocation
            .assigned
            .iter()
            .map(|assigned| {
                let buffer =
                    self.memory.buffers.row(assigned.buffer_id).and_then(|row| self.memory.buffers.get(row));
                LogicalBuffer {
                    id: Int64(assigned.buffer_id),
                    shape: buffer.map(shape_text).unwrap_or_default(),
                    size_mib: mib(assigned.size_bytes),
                    hlo_name: buffer.map(|b| b.instruction.name.clone()).unwrap_or_default(),
                    shape_index: buffer
                        .map(|b| b.logical.shape_index.iter().map(|i| Int64(*i)).collect())
                        .unwrap_or_default(),
                }
            })
            .collect();
        let common = logical_buffers.first().map(|b| b.shape.clone()).unwrap_or_default();
        let is_common = logical_buffers.iter().all(|b| b.shape == common);
        let attributes = [
            (allocation.entry_parameter.is_some(), "entry computation parameter"),
            (allocation.maybe_live_out, "may-be live out"),
            (is_reusable(allocation), "reusable"),
        ];
        Allocation {
            id: Int64(allocation.index),
            size_mib: mib(allocation.size_bytes),
            attributes: attributes.into_iter().filter(|a| a.0).map(|a| a.1).collect(),
            common_shape: if is_common { common } else { String::new() },
            logical_buffers,
        }
    }
}

impl AtPeak {
    fn add(&mut self, module: &Module, buffer: &Buffer<'_>) {
        if buffer.logical.size_bytes < SMALL_BYTES {
            self.small_bytes += buffer.logical.size_bytes;
        } else {
            let number = self.objects.len();
            self.colours.push((buffer.logical.id, number));
            self.objects.push(heap_object(module, buffer, number));
        }
    }
}

fn is_reusable(allocation: &BufferAllocation) -> bool {
    !allocation.is_thread_local && !allocation.is_tuple
}
