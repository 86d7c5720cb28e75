//! Transfers between a TPU's memory and the host's, from the start of the first op to the end of the last.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::builder::{DerivedEvent, Labels, Piece};
use super::{DerivedEvents, DerivedLine, Detail, OFFLOAD, OFFLOAD_ROWS};
use haloscope_profile::{Plane, Source};

/// Ops that move data, if one end of theirs is in the host's memory.
const MOVES: [&str; 6] = [
    "copy-start",
    "copy-done",
    "dynamic-slice-start",
    "dynamic-slice-done",
    "dynamic-update-slice-start",
    "dynamic-update-slice-done",
];
/// The memory space of the host in an HLO expression.
const HOST_MEMORY: &str = "S(5)";

/// True for metadata of ops that move data to or from the host's memory.
pub(super) fn is_offload(plane: &Plane, source: &Source, row: u32) -> bool {
    let meta = &plane.metas[row as usize];
    if meta.display_name.len == 0 {
        return false;
    }
    let shown = source.text(meta.display_name);
    MOVES.iter().any(|name| shown.contains(name)) && source.text(meta.name).contains(HOST_MEMORY)
}

#[derive(Debug)]
struct Start {
    at_ps: i64,
    shape: Option<String>,
}

#[derive(Debug)]
struct Move {
    label: String,
    start_ps: i64,
    end_ps: i64,
    details: Vec<Detail>,
}

/// Transfers in rows of which each shows one at a time.
#[derive(Debug, Default)]
pub(super) struct Offload {
    open: FxHashMap<String, VecDeque<Start>>,
    rows: Vec<(i64, Vec<Move>)>,
}

/// `offload-copy.3` for `copy-start.3` and `copy-done.3`.
fn label_of(op: &str) -> String {
    let number = if op.contains('.') { op.rsplit('.').next().unwrap_or_default() } else { "0" };
    let end = op.find("-start").or_else(|| op.find("-done")).unwrap_or(op.len());
    format!("offload-{}.{number}", &op[..end])
}

impl Offload {
    /// Notes the start of a transfer or, at its end, the transfer.
    pub(super) fn add(&mut self, plane: &Plane, source: &Source, meta: u32, piece: Piece) {
        let op = source.text(plane.metas[meta as usize].display_name);
        let label = label_of(&op);
        let stat = |name: &str| {
            let id = plane.stat_id(name)?;
            plane.meta_stats(source, meta).find(|s| s.metadata_id == id)?.value
        };
        if op.contains("-start") {
            let shape = stat("shape_with_layout").and_then(|v| plane.text(source, v)).map(|t| t.into_owned());
            self.open.entry(label).or_default().push_back(Start { at_ps: piece.start_ps, shape });
            return;
        }
        if !op.contains("-done") {
            return;
        }
        let Some(start) = self.open.get_mut(&label).and_then(VecDeque::pop_front) else { return };
        let mut details = vec![Detail::Count("_a", 1)];
        if let Some(bytes) = stat("raw_bytes_accessed").and_then(|v| v.as_u64_bits()) {
            details.push(Detail::Count("raw_bytes_accessed", bytes as i64));
        }
        details.extend(start.shape.map(|shape| Detail::Text("shape_with_layout", shape)));
        let moved = Move { label, start_ps: start.at_ps, end_ps: piece.end_ps, details };
        // The row that has been free for longest.
        let free = self.rows.iter().enumerate().filter(|(_, (end, _))| *end <= moved.start_ps);
        // XProf takes the last of rows that are free since the same time.
        let row = free.min_by_key(|(i, (end, _))| (*end, std::cmp::Reverse(*i))).map(|(i, _)| i);
        let row = row.unwrap_or_else(|| {
            if (self.rows.len() as i64) < OFFLOAD_ROWS {
                self.rows.push((moved.end_ps, Vec::new()));
            }
            self.rows.len() - 1
        });
        let (end, moves) = &mut self.rows[row];
        *end = moved.end_ps.max(*end);
        moves.push(moved);
    }

    pub(super) fn into_lines(self, labels: &mut Labels) -> Vec<DerivedLine> {
        let mut lines = Vec::new();
        for (row, (_, moves)) in self.rows.into_iter().enumerate() {
            let name = format!("Host Offload Ops row {row}");
            let mut line = DerivedLine::new(OFFLOAD + row as i64, name, DerivedEvents::default());
            for moved in moves {
                line.events.push(DerivedEvent {
                    start_ps: moved.start_ps,
                    duration_ps: moved.end_ps - moved.start_ps,
                    label: labels.push("", Some(moved.label)),
                    group: None,
                });
                line.details.push(moved.details);
            }
            lines.push(line);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::label_of;

    #[test]
    fn start_and_done_have_one_label() {
        assert_eq!(label_of("copy-start.12"), "offload-copy.12");
        assert_eq!(label_of("copy-done.12"), "offload-copy.12");
        assert_eq!(label_of("dynamic-slice-start"), "offload-dynamic-slice.0");
    }
}
