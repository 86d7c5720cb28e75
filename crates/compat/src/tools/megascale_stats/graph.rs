//! Runs, arrows, counters and names of a trace.
//!
//! An arrow leads from a `send` to the transfer from the device that it starts, from the end of that transfer to the
//! `send-done`, and from a `recv` to the transfer to the device that it waits for. XProf starts arrows to the `recv-done`
//! too, which none of them reaches (2.24.2); their numbers are given out here as well.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::trace::{Counter, Slice, Trace, Track, Value, after_device, number};

const TINY_PS: i64 = 1000;
/// Rates above this come from times that cannot be right.
const LARGEST_GBPS: f64 = 200.0;
const HIDDEN_HOW: &str = "If you would like to see them, please add &group_tiny_events=false to the URL.";

/// Completes a trace.
pub(super) fn process(trace: &mut Trace, grouped: bool) {
    for tracks in trace.tpus.values_mut().flat_map(|t| [&mut t.lines, &mut t.graphs]).flatten() {
        for track in tracks {
            track.slices.sort_by_key(|s| (s.start_ps, -s.duration_ps));
        }
    }
    assign_runs(trace);
    if grouped {
        for track in trace.tpus.values_mut().filter_map(|t| t.lines.as_mut()).flatten() {
            if track.name.contains("XLA Ops") || track.name.contains("XLA TraceMe") {
                track.slices = group_tiny(std::mem::take(&mut track.slices));
            }
        }
    }
    for track in trace.tpus.values_mut().filter_map(|t| t.graphs.as_mut()).flatten() {
        mark_last(track);
    }
    connect(trace);
    count(trace);
    for tracks in trace.tpus.values_mut().flat_map(|t| [&mut t.lines, &mut t.graphs]).flatten() {
        tracks.iter_mut().for_each(rename);
    }
}

/// Numbers the executions of programs, and notes on everything else which of them was the last to start.
fn assign_runs(trace: &mut Trace) {
    for tpu in trace.tpus.values_mut() {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for track in tpu.lines.iter_mut().flatten().filter(|t| t.name.contains("XLA Modules")) {
            let mut next = 1;
            for slice in &mut track.slices {
                let run = match slice.uint("run_id") {
                    Some(id) => id as i64,
                    None => {
                        slice.set("run_id", Value::Int(next));
                        next += 1;
                        next - 1
                    }
                };
                slice.run_id = Some(run);
                runs.push((slice.start_ps, run));
            }
        }
        for track in [&mut tpu.lines, &mut tpu.graphs].into_iter().flatten().flatten() {
            if track.name.contains("XLA Modules") {
                continue;
            }
            for slice in &mut track.slices {
                let before = runs.partition_point(|(start, _)| *start <= slice.start_ps);
                if let Some((_, run)) = before.checked_sub(1).and_then(|at| runs.get(at)) {
                    slice.run_id = Some(*run);
                    slice.set("run_id", Value::Int(*run));
                }
            }
        }
    }
}

/// `WORD`, `WORD.` or `WORD.N`, and `WORDN`.
fn is_op(name: &str, word: &str) -> bool {
    let Some(rest) = name.strip_prefix(word) else { return false };
    rest.strip_prefix('.').unwrap_or(rest).bytes().all(|b| b.is_ascii_digit())
}

fn is_transfer(name: &str) -> bool {
    ["send", "recv", "send-done", "recv-done"].iter().any(|word| is_op(name, word))
}

/// One event in place of neighbours of less than a nanosecond that start in the same one.
fn group_tiny(slices: Vec<Slice>) -> Vec<Slice> {
    let tiny = |s: &Slice| s.duration_ps < TINY_PS && !is_transfer(&s.name);
    let mut out: Vec<Slice> = Vec::with_capacity(slices.len());
    let mut group: Vec<Slice> = Vec::new();
    for slice in slices {
        let joins = group.first().is_some_and(|first| {
            tiny(&slice) && first.start_ps / 1000 == slice.start_ps / 1000 && first.run_id == slice.run_id
        });
        if !joins {
            close(&mut out, &mut group);
        }
        if joins || tiny(&slice) {
            group.push(slice);
        } else {
            out.push(slice);
        }
    }
    close(&mut out, &mut group);
    out
}

fn close(out: &mut Vec<Slice>, group: &mut Vec<Slice>) {
    let Some(first) = group.first().filter(|_| group.len() > 1) else {
        out.append(group);
        return;
    };
    let end = group.iter().map(Slice::end_ps).max().unwrap_or(first.start_ps);
    let mut summary = Slice {
        name: format!("{} events are hidden", group.len()),
        start_ps: first.start_ps,
        duration_ps: end - first.start_ps,
        run_id: first.run_id,
        ..Slice::default()
    };
    let names: Vec<_> = group.iter().map(|s| s.name.as_str()).collect();
    summary.set("description", Value::Text(HIDDEN_HOW.to_owned()));
    summary.set("hidden_events", Value::Text(names.join(", ")));
    out.push(summary);
    group.clear();
}

/// `NAME_DIGITS` at the start of a text, as long as can be: letters, digits and `_.-`.
fn rendezvous(text: &str) -> Option<&str> {
    let word = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b)).count();
    let word = &text[..word];
    word.rmatch_indices('_').find_map(|(at, _)| {
        let digits = word[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && at > 0).then(|| &word[..at + 1 + digits])
    })
}

/// The whole of a name as `device_N_gid_RENDEZVOUS`: what a collective's execution is called.
fn execution(name: &str) -> Option<(&str, &str)> {
    let (device, rest) = after_device(name).filter(|_| name.starts_with("device_"))?;
    Some((device, rendezvous(rest).filter(|found| *found == rest)?))
}

/// Marks the last transfer to and from the device in each execution of a collective.
fn mark_last(track: &mut Track) {
    for i in 0..track.slices.len() {
        if execution(&track.slices[i].name).is_none() {
            continue;
        }
        let end = track.slices[i].end_ps();
        let inside = track.slices[i + 1..].iter().take_while(|s| s.start_ps < end).count();
        for name in ["HostToDevice END", "DeviceToHost END"] {
            let last = track.slices[i + 1..=i + inside].iter_mut().rev().find(|s| s.name == name);
            if let Some(slice) = last {
                slice.set("is_last_instance", Value::Int(1));
            }
        }
    }
}

/// A TPU, a run of a program on it, and a rendezvous in that run.
type Key = (i64, i64, String);

/// Arrows that have started and wait for their other end.
#[derive(Default)]
struct Waiting(FxHashMap<Key, VecDeque<u64>>);

impl Waiting {
    fn start(&mut self, key: &Key, slice: &mut Slice, next: &mut u64) {
        out_of(slice, next);
        self.0.entry(key.clone()).or_default().push_back(*next - 1);
    }

    fn end(&mut self, key: &Key, slice: &mut Slice) {
        if let Some(flow) = self.0.get_mut(key).and_then(VecDeque::pop_front) {
            slice.set("flow_in", Value::Int(flow as i64));
            slice.flows_in.push(flow);
        }
    }
}

/// Starts an arrow.
fn out_of(slice: &mut Slice, next: &mut u64) {
    slice.flows_out.push(*next);
    slice.set("flow_out", Value::Int(*next as i64));
    *next += 1;
}

/// The text between quotes behind `_xla_host_transfer_rendezvous=`.
fn named_in_op(slice: &Slice) -> Option<String> {
    let rest = slice.text("long_name")?.split("_xla_host_transfer_rendezvous=\"").nth(1)?;
    let (name, _) = rest.split_once('"')?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The number behind an op's name: `send.12`.
fn op_number(name: &str) -> i64 {
    let split = name.split_once('.');
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    split.filter(|(w, n)| word(w) && !n.is_empty()).and_then(|(_, n)| number(n)).unwrap_or(0)
}

fn connect(trace: &mut Trace) {
    let mut next = 1;
    let mut by_op: FxHashMap<(i64, i64, i64), String> = FxHashMap::default();
    let [mut sent, mut fetched, mut asked, mut to_done] = std::array::from_fn(|_| Waiting::default());
    for (tpu, tracks) in trace.tpus.iter_mut().filter_map(|(n, t)| Some((*n, t.lines.as_mut()?))) {
        for slice in tracks.iter_mut().filter(|t| t.name.contains("XLA Ops")).flat_map(|t| &mut t.slices) {
            let sends = is_op(&slice.name, "send");
            let Some(run) = slice.run_id.filter(|_| sends || is_op(&slice.name, "recv")) else { continue };
            let Some(name) = named_in_op(slice) else { continue };
            let key = (tpu, run, name);
            if sends {
                by_op.insert((tpu, run, op_number(&slice.name)), key.2.clone());
                to_done.start(&key, slice, &mut next);
                out_of(slice, &mut next);
                sent.start(&key, slice, &mut next);
            } else {
                out_of(slice, &mut next);
                asked.start(&key, slice, &mut next);
            }
        }
    }
    for (tpu, tracks) in trace.tpus.iter_mut().filter_map(|(n, t)| Some((*n, t.graphs.as_mut()?))) {
        for slice in tracks.iter_mut().flat_map(|t| &mut t.slices) {
            let (from_device, starts) = match slice.name.as_str() {
                "DeviceToHost START" => (true, true),
                "DeviceToHost END" => (true, false),
                "HostToDevice START" => (false, true),
                "HostToDevice END" => (false, false),
                _ => continue,
            };
            let Some(run) = slice.run_id else { continue };
            let name = slice.text("graph_key").and_then(|k| rendezvous(after_device(k)?.1));
            let Some(name) = name.map(str::to_owned) else { continue };
            let key = (tpu, run, name);
            if starts {
                if slice.int("action_index") == Some(0) {
                    if from_device { &mut sent } else { &mut asked }.end(&key, slice);
                }
            } else if slice.int("is_last_instance") == Some(1) {
                if from_device {
                    fetched.start(&key, slice, &mut next);
                } else {
                    // An arrow that leaves at the end of an event leaves the one around it where both end together.
                    slice.duration_ps = (slice.duration_ps - 1000).max(0);
                    out_of(slice, &mut next);
                }
            }
        }
    }
    for (tpu, tracks) in trace.tpus.iter_mut().filter_map(|(n, t)| Some((*n, t.lines.as_mut()?))) {
        for slice in tracks.iter_mut().filter(|t| t.name.contains("XLA Ops")).flat_map(|t| &mut t.slices) {
            let Some(run) = slice.run_id.filter(|_| is_op(&slice.name, "send-done")) else { continue };
            let Some(name) = by_op.get(&(tpu, run, op_number(&slice.name))) else { continue };
            let key = (tpu, run, name.clone());
            to_done.end(&key, slice);
            fetched.end(&key, slice);
        }
    }
}

/// Bytes that go from one slice to another, in a text such as `s1->2d|$c0=100`.
fn crossings(text: &str) -> Vec<i64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let read = |text: &str| -> Option<(i64, i64, i64, usize)> {
        let all = text.len();
        let text = text.strip_prefix('s')?;
        let (from, text) = text.split_at(digits(text));
        let text = text.strip_prefix("->")?;
        let (to, text) = text.split_at(digits(text));
        let text = text.strip_prefix("d|$c")?;
        let channel = digits(text);
        let text = text[channel..].strip_prefix('=').filter(|_| channel > 0)?;
        let (bytes, text) = text.split_at(digits(text));
        Some((from.parse().ok()?, to.parse().ok()?, bytes.parse().ok()?, all - text.len()))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = text[at..].find('s') {
        at += step;
        match read(&text[at..]) {
            Some((from, to, bytes, length)) => {
                at += length;
                found.extend((from != to).then_some(bytes));
            }
            None => at += 1,
        }
    }
    found
}

/// Changes of a counter, by time.
#[derive(Default)]
struct Changes<T>(Vec<(i64, T)>);

impl<T: Copy + Default + std::ops::Neg<Output = T> + std::ops::AddAssign> Changes<T> {
    fn between(&mut self, start_ps: i64, end_ps: i64, value: T) {
        self.0.push((start_ps, value));
        self.0.push((end_ps, -value));
    }

    fn sum(mut self, by_value: impl Fn(&T, &T) -> std::cmp::Ordering) -> Counter<T> {
        self.0.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| by_value(&a.1, &b.1)));
        let mut points: Vec<(i64, T)> = Vec::new();
        let mut now = T::default();
        for (time, change) in self.0 {
            now += change;
            match points.last_mut() {
                Some(last) if last.0 == time => last.1 = now,
                _ => points.push((time, now)),
            }
        }
        Counter { points }
    }
}

fn count(trace: &mut Trace) {
    let [mut rx, mut tx, mut collectives, mut payload] = std::array::from_fn(|_| Changes::<i64>::default());
    let [mut rx_rate, mut tx_rate] = std::array::from_fn(|_| Changes::<f64>::default());
    let slices = trace.tpus.values().filter_map(|t| t.graphs.as_ref()).flatten().flat_map(|t| &t.slices);
    for slice in slices {
        let end = slice.end_ps();
        let (latency_ns, bytes, rate) = match slice.name.as_str() {
            "NetworkReceive END" => {
                let us = slice.uint("network_transport_latency_us");
                (us.map(|us| (us as i64).saturating_mul(1000)), &mut rx, &mut rx_rate)
            }
            "NetworkSend END" => (slice.int("action_duration_ns"), &mut tx, &mut tx_rate),
            name => {
                if execution(name).is_some() {
                    collectives.between(slice.start_ps, end, 1);
                    if let Some(size) = slice.int("input_size") {
                        payload.between(slice.start_ps, end, size);
                    }
                }
                continue;
            }
        };
        let (Some(ns), Some(sizes)) = (latency_ns, slice.text("buffer_sizes")) else { continue };
        for size in crossings(sizes) {
            let start = end.saturating_sub(ns.saturating_mul(1000));
            bytes.between(start, end, size);
            let gbps = size as f64 * 8.0 / ns as f64;
            if ns > 0 && gbps <= LARGEST_GBPS {
                rate.between(start, end, gbps);
            }
        }
    }
    trace.rx_bytes = rx.sum(i64::cmp);
    trace.tx_bytes = tx.sum(i64::cmp);
    trace.rx_gbps = rx_rate.sum(f64::total_cmp);
    trace.tx_gbps = tx_rate.sum(f64::total_cmp);
    trace.collectives = collectives.sum(i64::cmp);
    trace.payload = payload.sum(i64::cmp);
}

fn rename(track: &mut Track) {
    if let Some((device, name)) = execution(&track.name) {
        track.name = format!("{name} ({device})");
        return;
    }
    let place = match track.name.as_str() {
        "Steps" => 1,
        "XLA Modules" => 2,
        "XLA Ops" => 3,
        "XLA TraceMe" => 4,
        _ => return,
    };
    track.name = format!("{place}. {}", track.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ops() {
        assert!(
            is_op("send", "send")
                && is_op("send.", "send")
                && is_op("send.42", "send")
                && is_op("send4", "send")
        );
        assert!(
            !is_op("send-done.4", "send") && !is_op("send.x", "send") && is_op("send-done.4", "send-done")
        );
        assert_eq!([op_number("send-done.42"), op_number("send"), op_number("a1.2")], [42, 0, 0]);
    }

    #[test]
    fn rendezvous_of_executions() {
        assert_eq!(rendezvous("op_name.123_0$l4^i7"), Some("op_name.123_0"));
        assert_eq!(rendezvous("name_12x"), Some("name_12"));
        assert_eq!(rendezvous("name"), None);
        assert_eq!(rendezvous("_1"), None);
        assert_eq!(execution("device_3_gid_name_0"), Some(("3", "name_0")));
        assert_eq!(execution("device_3_gid_name_0 "), None);
    }

    #[test]
    fn transfers_within_a_slice_do_not_count() {
        assert_eq!(crossings("s1->2d|$c0=100;s1->1d|$c1=7 s3->4d|$c12=5"), [100, 5]);
        assert_eq!(crossings("ss1->2d|$c=1 s1->2d|$c0=x"), [0; 0]);
    }
}
