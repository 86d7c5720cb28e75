//! The tables of `critical-path`.

use super::measure::Measured;
use crate::critical_path::{NONE, Role, Segment};
use haloscope_report::{Cell, Table, row};
use haloscope_time::account::Class;

/// What a stretch of the path goes to, in words.
pub(super) fn part(class: Class, in_flight: bool) -> &'static str {
    match (class, in_flight) {
        (Class::Communication, true) => "collectives in flight beside ops",
        (Class::Communication, false) => "collectives",
        (Class::HostTransfer, true) => "host transfers in flight beside ops",
        (_, true) => "copies in flight beside ops",
        (Class::Before, false) => "begins later than other devices",
        (class, false) => class.phrase(),
    }
}

pub(super) fn parts(measured: &Measured<'_>) -> Table {
    let mut rows: Vec<(&str, i64, usize)> = Vec::new();
    for segment in &measured.path {
        let (word, length) = (part(segment.class, segment.in_flight), segment.end_ps - segment.start_ps);
        match rows.iter_mut().find(|row| row.0 == word) {
            Some(row) => {
                row.1 += length;
                row.2 += 1;
            }
            None => rows.push((word, length, 1)),
        }
    }
    rows.sort_by_key(|row| (-row.1, row.0));
    let mut table = Vec::new();
    for (word, time, count) in rows {
        let row = row![
            text("part", "Part", "What takes the time on the path.", word),
            duration("time_ps", "Time", "Time on the path. The parts add up to the step.", time),
            share("share", "Share", "Of the step.", share(time, measured)),
            count("segments", "Stretches", "Stretches of the path without a break.", count),
        ];
        table.push(row);
    }
    Table::of("parts", "What takes the time of the critical path", table)
}

fn share(time: i64, measured: &Measured<'_>) -> Option<f64> {
    let step = measured.step_ps();
    (step > 0).then(|| time as f64 / step as f64)
}

/// Time on the path by op: time and stretches.
pub(super) fn on_path(measured: &Measured<'_>) -> Vec<(i64, usize)> {
    let mut all = vec![(0, 0); measured.graph.ops.len()];
    for segment in measured.path.iter().filter(|s| s.op != NONE) {
        let row: &mut (i64, usize) = &mut all[segment.op as usize];
        row.0 += segment.end_ps - segment.start_ps;
        row.1 += 1;
    }
    all
}

pub(super) fn ops(measured: &Measured<'_>) -> Table {
    let graph = &measured.graph;
    let on_path = on_path(measured);
    let mut slack = vec![i64::MAX; graph.ops.len()];
    let mut time = vec![0_i64; graph.ops.len()];
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.op != NONE) {
        let op = node.op as usize;
        slack[op] = slack[op].min(measured.slack.node[at]);
        time[op] = time[op].saturating_add(node.end_ps - node.start_ps);
    }
    for (at, transfer) in graph.transfers.iter().enumerate() {
        let op = graph.nodes[transfer.issued_by as usize].op as usize;
        slack[op] = slack[op].min(measured.slack.transfer[at]);
    }
    let mut order: Vec<usize> = (0..graph.ops.len()).filter(|op| slack[*op] != i64::MAX).collect();
    order.sort_by_key(|op| (-on_path[*op].0, slack[*op], -time[*op], graph.ops[*op].meta.name.as_ref()));
    let mut rows = Vec::new();
    for op in order {
        let (row, (path_ps, count)) = (&graph.ops[op], on_path[op]);
        let row = row![
            text("op", "Op", "The op; for a transfer, the op that starts it.", row.meta.name.as_ref()),
            duration("path_ps", "On the path", "Time on the path.", path_ps),
            share("path_share", "Share", "Time on the path divided by the step.", share(path_ps, measured)),
            count("path_count", "Times", "Stretches of it on the path.", count),
            duration(
                "slack_ps",
                "Slack",
                "How much later every execution may end before the step ends later: the least over its executions. 0 on the path.",
                slack[op]
            ),
            duration(
                "time_ps",
                "Time",
                "Its time in the step, mean over devices: self time, waiting included.",
                time[op] as f64 / graph.devices.len().max(1) as f64
            ),
            text("category", "Category", "HLO category.", Cell::words(&row.meta.category)),
            text(
                "framework_op",
                "Framework op",
                "The framework's scope path.",
                Cell::words(&row.meta.framework_op)
            ),
            text("source", "Source", "Source line.", Cell::words(&row.meta.source)),
            text("module", "Module", "Its program.", Cell::words(&row.module)),
        ];
        rows.push(row);
    }
    Table::of("ops", "Ops on the path, then those nearest to it", rows)
}

pub(super) fn chain(measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    let short = measured.step_ps() / 1000;
    // Rows to be: the segments from..to.
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for (at, segment) in measured.path.iter().enumerate() {
        let joins = |(from, _): &(usize, usize)| {
            let first = &measured.path[*from];
            let same = (first.class, first.in_flight) == (segment.class, segment.in_flight);
            let so_far = segment.start_ps - first.start_ps;
            let is_short = segment.end_ps - segment.start_ps < short;
            first.device == segment.device && (same || is_short || so_far < short)
        };
        match rows.last_mut().filter(|row| joins(row)) {
            Some(row) => row.1 = at + 1,
            None => rows.push((at, at + 1)),
        }
    }
    for (from, to) in rows {
        let segments = &measured.path[from..to];
        let device = segments[0].device;
        let (start, end) = (segments[0].start_ps, segments[segments.len() - 1].end_ps);
        let offset = measured.graph.devices[device as usize].offset_ps;
        let Some(word) = most(segments, |s| Some(part(s.class, s.in_flight))) else { continue };
        let is_op = |s: &Segment| s.op != NONE && part(s.class, s.in_flight) == word;
        let op = most(segments, |s| is_op(s).then_some(s.op));
        let row = row![
            duration(
                "start_ps",
                "Start",
                "From the start of the run, by the device's own clock.",
                start + offset
            ),
            duration("time_ps", "Time", "How long the path stays here.", end - start),
            text("device", "Device", "Where the path is.", measured.name(device)),
            text("part", "Part", "What takes most of the time.", word),
            text(
                "what",
                "Longest op",
                "The op that takes most of it; unknown if none runs.",
                op.map(|op| measured.graph.ops[op as usize].meta.name.as_ref())
            ),
            count(
                "pieces",
                "Pieces",
                "Ops, transfers and gaps in it: neighbours of one kind share a row, and so do those that take less than a thousandth of the step.",
                segments.len()
            ),
        ];
        table.push(row);
    }
    Table::of("chain", "The path, in order", table)
}

/// What most of the time of some segments is, the first of those that tie.
fn most<K: Ord + Copy>(segments: &[Segment], key: impl Fn(&Segment) -> Option<K>) -> Option<K> {
    let mut times: std::collections::BTreeMap<K, i64> = std::collections::BTreeMap::new();
    for segment in segments {
        if let Some(key) = key(segment) {
            *times.entry(key).or_default() += segment.end_ps - segment.start_ps;
        }
    }
    times.into_iter().max_by_key(|(key, time)| (*time, std::cmp::Reverse(*key))).map(|(key, _)| key)
}

pub(super) fn devices(measured: &Measured<'_>) -> Table {
    let graph = &measured.graph;
    let (start, end) = graph.span();
    let mut rows = vec![[0_i64; 4]; graph.devices.len()];
    for segment in &measured.path {
        rows[segment.device as usize][0] += segment.end_ps - segment.start_ps;
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        let row = &mut rows[graph.lanes[node.lane as usize].device as usize];
        let own = graph.lengths.node[at];
        match node.role {
            Role::Gap { .. } if node.class != Class::Overhead => row[3] += own,
            Role::Gap { .. } | Role::Work => row[1] += own,
            Role::Join { .. } | Role::Done { .. } => {
                row[1] += own;
                row[2] += node.end_ps - node.start_ps - own;
            }
        }
    }
    let mut table = Vec::new();
    for (at, device) in graph.devices.iter().enumerate() {
        let [path, work, waiting, idle] = rows[at];
        let row = row![
            text("device", "Device", "Device.", measured.name(at as u32)),
            duration("path_ps", "On the path", "Time in which the path is on this device.", path),
            share("path_share", "Share", "Of the step.", share(path, measured)),
            duration(
                "work_ps",
                "Own time",
                "Time of its ops and of the ends of transfers, without waits for other devices and for transfers; summed over its streams.",
                work
            ),
            duration(
                "waiting_ps",
                "Waits for others",
                "Time in collectives before their last member arrived, and in waits for transfers until those ended.",
                waiting
            ),
            // Of several streams each has gaps of its own.
            duration(
                "idle_ps",
                "Idle",
                "Time without an op; streams that wait for each other are not idle.",
                (!measured.facts.several_lanes).then_some(idle)
            ),
            duration(
                "late_ps",
                "Begins late",
                "Its step begins this long after the first device's.",
                device.start_ps - start
            ),
            duration(
                "early_ps",
                "Ends early",
                "Its step ends this long before the last device's.",
                end - device.end_ps
            ),
            duration(
                "clock_offset_ps",
                "Clock",
                "Its clock against the first device's, measured at the ends of common collectives; subtracted before devices were compared.",
                device.offset_ps
            ),
        ];
        table.push(row);
    }
    Table::of("devices", "Devices", table)
}
