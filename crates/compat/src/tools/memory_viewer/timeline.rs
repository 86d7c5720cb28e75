//! Which buffer lies where and when.

use std::fmt::Write;

use haloscope_program::{
    heap::is_indefinite,
    program_memory::{Group, name_of, unpadded_bytes},
};

use super::{
    View,
    labels::{shape_text, source_info},
    shape::Block,
};
use crate::Answer;

/// Width and height of the drawing in points. What would be smaller than a point is not drawn and takes no colour.
const SIDE_POINTS: f64 = 4096.0;

/// Blocks, and how far they reach.
pub(super) struct Drawing {
    pub(super) blocks: Vec<Block>,
    pub(super) steps: usize,
    pub(super) bytes: i64,
}

/// A block for each temporary allocation, and in it one for each buffer that has memory of its own.
pub(super) fn blocks(view: &View<'_, '_>) -> Drawing {
    let temporary: Vec<_> = view.memory.allocations.iter().filter(|a| !is_indefinite(a)).collect();
    let (mut starts, mut bytes, mut steps) = (Vec::new(), 0i64, 0usize);
    for allocation in &temporary {
        if let Some(trace) = view.memory.buffers.trace_of(allocation) {
            starts.push(bytes);
            bytes = bytes.saturating_add(allocation.size_bytes);
            steps = steps.max(trace.events.len());
        }
    }
    let mut drawing = Drawing { blocks: Vec::new(), steps, bytes };
    let Some(replay) = view.memory.replay.as_ref().filter(|_| bytes > 0 && steps > 0) else { return drawing };
    let colours = view.at_peak().colours;
    let colour_of = |id: i64| {
        let at = colours.partition_point(|entry| entry.0 < id);
        colours.get(at).filter(|entry| entry.0 == id).map(|entry| entry.1)
    };
    let is_drawn = |width: usize, height: i64| {
        let (wide, high) = (SIDE_POINTS / steps as f64, SIDE_POINTS / bytes as f64);
        width as f64 * wide >= 1.0 && height as f64 * high >= 1.0
    };
    let mut drawn = 0;
    for (number, allocation) in temporary.iter().enumerate() {
        let start = starts.get(number).copied().unwrap_or(0);
        drawing.blocks.push(Block {
            logical_buffer_id: -1,
            name: Group::of(allocation).name().to_owned(),
            offset: start as f64,
            size: allocation.size_bytes as f64,
            end_step: steps,
            category: Group::of(allocation).name().to_owned(),
            color: "#ffffff".to_owned(),
            ..Block::default()
        });
        drawn += usize::from(is_drawn(steps, allocation.size_bytes));
        for assigned in &allocation.assigned {
            let Some(row) = view.memory.buffers.row(assigned.buffer_id) else { continue };
            let (Some(buffer), Some((from, until))) = (view.memory.buffers.get(row), replay.spans[row])
            else {
                continue;
            };
            let colour = colour_of(buffer.logical.id).unwrap_or(drawn);
            let (size, unpadded) = (buffer.logical.size_bytes, unpadded_bytes(buffer));
            drawing.blocks.push(Block {
                logical_buffer_id: buffer.logical.id as i32,
                name: name_of(buffer),
                offset: start.saturating_add(buffer.offset_bytes) as f64,
                size: size as f64,
                start_step: from,
                end_step: until,
                tf_op_name: buffer.instruction.op_name().unwrap_or_default().to_owned(),
                category: Group::of(buffer.allocation).name().to_owned(),
                source_info: source_info(view.memory.module(), buffer.instruction),
                shape_string: shape_text(buffer),
                unpadded_size: unpadded as f64,
                color: COLOURS[colour % COLOURS.len()].to_owned(),
            });
            drawn += usize::from(is_drawn(until.saturating_sub(from), size));
        }
    }
    drawing
}

/// A page that draws the blocks: time from left to right, addresses from bottom to top. Needs nothing from elsewhere.
pub(super) fn page(blocks: &[Block], steps: usize, bytes: i64) -> Answer {
    if blocks.is_empty() {
        return Answer::html(
            "<html><body style=\"font-family: sans-serif; padding: 20px;\">\
             <h2>No memory allocation timeline available</h2>\
             <p>There is no memory activity data to display for this timeline.</body></html>",
        );
    }
    let mut svg = String::new();
    let (wide, high) = (SIDE_POINTS / steps.max(1) as f64, SIDE_POINTS / bytes.max(1) as f64);
    for block in blocks {
        let (x, width) = (block.start_step as f64 * wide, (block.end_step - block.start_step) as f64 * wide);
        let (y, height) = (SIDE_POINTS - (block.offset + block.size) * high, block.size * high);
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\" \
             stroke=\"#424242\" stroke-width=\"0.5\"><title>{}</title></rect>",
            block.color,
            escape(&tooltip(block))
        );
    }
    Answer::html(format!(
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>Memory allocation timeline</title>\
         <style>body{{margin:0;height:100vh}}svg{{width:100%;height:100%}}rect:hover{{stroke-width:6}}</style></head>\
         <body><svg viewBox=\"0 0 {SIDE_POINTS} {SIDE_POINTS}\" preserveAspectRatio=\"none\">{svg}</svg></body></html>"
    ))
}

fn tooltip(block: &Block) -> String {
    let mut text = format!("{}\n{} bytes at {}", block.name, block.size, block.offset);
    if block.logical_buffer_id >= 0 {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nbuffer {}\n{}\nwithout padding {} bytes\nevents {} to {}",
            block.logical_buffer_id,
            block.shape_string,
            block.unpadded_size,
            block.start_step,
            block.end_step
        );
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The page's colours for buffers, in the order in which they are given out.
const COLOURS: &[&str] = &[
    "#e91e63", "#2196f3", "#81c784", "#4dd0e1", "#3f51b5", "#e53935", "#ff9100", "#b39ddb", "#90a4ae",
    "#26c6da", "#ad1457", "#03a9f4", "#2196f3", "#c2185b", "#795548", "#f9a825", "#00bfa5", "#880e4f",
    "#d500f9", "#ce93d8", "#ec407a", "#4caf50", "#ff8f00", "#ffca28", "#ab47bc", "#00e5ff", "#ff9800",
    "#40c4ff", "#1e88e5", "#9fa8da", "#bf360c", "#00b8d4", "#f57f17", "#64b5f6", "#e040fb", "#ffab91",
    "#4caf50", "#01579b", "#66bb6a", "#ef9a9a", "#558b2f", "#fb8c00", "#ff4081", "#00e676", "#388e3c",
    "#424242", "#6d4c41", "#c62828", "#616161", "#00897b", "#448aff", "#0d47a1", "#607d8b", "#673ab7",
    "#00c853", "#2e7d32", "#ffa726", "#5e35b1", "#ba68c8", "#8d6e63", "#00bcd4", "#ff6f00", "#f4511e",
    "#ff1744", "#9e9e9e", "#d81b60", "#4a148c", "#26a69a", "#689f38", "#7b1fa2", "#b0bec5", "#304ffe",
    "#f48fb1", "#ffd600", "#ffb74d", "#8bc34a", "#303f9f", "#5d4037", "#80cbc4", "#ffcc80", "#00acc1",
    "#3e2723", "#ff5252", "#ff7043", "#e91e63", "#ea80fc", "#e65100", "#d84315", "#212121", "#ff5722",
    "#1976d2", "#2962ff", "#bdbdbd", "#3949ab", "#69f0ae", "#d50000", "#ffd740", "#c0ca33", "#ff6e40",
    "#00b0ff", "#2979ff", "#e64a19", "#7c4dff", "#607d8b", "#009688", "#ffb300", "#c51162", "#ffc400",
    "#29b6f6", "#3d5afe", "#76ff03", "#cddc39", "#b388ff", "#5c6bc0", "#9e9d24", "#7cb342", "#ef5350",
    "#fdd835", "#ef6c00", "#4fc3f7", "#6200ea", "#004d40", "#ff8a65", "#ffab00", "#80deea", "#0097a7",
    "#7e57c2", "#ff6d00", "#1565c0", "#455a64", "#ffc107", "#4527a0", "#ff5722", "#f44336", "#f57c00",
    "#827717", "#a5d6a7", "#82b1ff", "#9c27b0", "#ff80ab", "#e1bee7", "#78909c", "#311b92", "#00695c",
    "#4e342e", "#3f51b5", "#651fff", "#9e9e9e", "#81d4fa", "#f8bbd0", "#b71c1c", "#0091ea", "#673ab7",
    "#a1887f", "#4db6ac", "#ffa000", "#6a1b9a", "#43a047", "#bcaaa4", "#546e7a", "#aeea00", "#e57373",
    "#ffccbc", "#006064", "#fbc02d", "#ffeb3b", "#8bc34a", "#039be5", "#8e24aa", "#80d8ff", "#009688",
    "#9ccc65", "#512da8", "#ffc107", "#757575", "#0277bd", "#ff3d00", "#33691e", "#03a9f4", "#00838f",
    "#ff8a80", "#283593", "#f50057", "#1a237e", "#90caf9", "#9c27b0", "#aa00ff", "#aed581", "#afb42b",
    "#9575cd", "#d32f2f", "#64dd17", "#f44336", "#795548", "#cddc39", "#ff9e80", "#7986cb", "#dd2c00",
    "#0288d1", "#ff9800", "#263238", "#00796b", "#42a5f5", "#8c9eff", "#1b5e20", "#ffab40", "#536dfe",
    "#00bcd4", "#f06292",
];
