//! Entries of a trace as planes, lines and events of an XSpace.

use std::collections::BTreeMap;

use haloscope_xspace::write::{EncodedLine, Event, EventMetadata, Line, Plane, Stat, StatMetadata, Value};
use rustc_hash::FxHashMap;

use super::entry::{Entry, Loose};
use crate::TraceJson;
use haloscope_report::units::{self, LARGEST_PS};

/// Processes and threads, and bytes in memory: beyond these a file is refused, for no profiler writes such.
const MOST_LINES: usize = 100_000;
const MOST_BYTES: usize = 2 << 30;
/// What a process or thread takes, and what a name, a text or an argument takes beside its words, bytes.
const LINE: usize = 1024;
const ENTRY: usize = 192;
/// Begins without an end that are kept.
const MOST_OPEN: usize = 1_000_000;
/// Texts that are written once and referred to, and the longest of them.
const MOST_TEXTS: usize = 100_000;
const LONGEST_TEXT: usize = 512;
/// Times beyond this (11 days, in microseconds) are counted from the first event: they are since 1970.
const SINCE_EPOCH_US: f64 = 1e12;

/// What is the same each time an op runs: profilers keep it with the name. The JSON repeats it with every event.
const OF_THE_OP: [&str; 12] = [
    "long_name",
    "hlo_category",
    "flops",
    "model_flops",
    "bytes_accessed",
    "tf_op",
    "source",
    "source_stack",
    "deduplicated_name",
    "symbol_id",
    "program_id",
    "hlo_module_id",
];
/// Read from events as well: kernels and CPU ops carry it themselves.
const OF_BOTH: &str = "program_id";
/// Never a number, whatever it looks like.
const TEXTS: [&str; 8] = [
    "long_name",
    "hlo_category",
    "tf_op",
    "source",
    "source_stack",
    "deduplicated_name",
    "hlo_op",
    "hlo_module",
];

/// A trace as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Builder {
    processes: BTreeMap<i64, Process>,
    facts: TraceJson,
    origin_us: Option<f64>,
    lines: usize,
    bytes: usize,
    /// Bytes that it may take in memory.
    most: usize,
    open: usize,
}

#[derive(Debug, Default)]
struct Process {
    name: String,
    rank: i64,
    threads: BTreeMap<i64, Thread>,
    /// Samples of counters.
    counters: EncodedLine,
    metas: Vec<EventMetadata>,
    meta_of: FxHashMap<(String, String), i64>,
    model_flops: bool,
    texts: Vec<StatMetadata>,
    text_of: FxHashMap<String, i64>,
    /// Bytes that names and texts take in memory, roughly.
    weight: usize,
}

#[derive(Debug, Default)]
struct Thread {
    line: EncodedLine,
    name: String,
    rank: i64,
    open: Vec<Begun>,
}

impl Begun {
    /// Bytes that it takes in memory.
    fn weight(&self) -> usize {
        let args = self.args.iter().map(|(key, value)| ENTRY + key.len() + value.text_bytes());
        ENTRY + self.name.len() + args.sum::<usize>()
    }
}

/// An event that has begun.
#[derive(Debug)]
struct Begun {
    start: i64,
    name: String,
    args: Vec<(String, Loose)>,
}

impl Builder {
    /// A trace of which no more is kept than fits into so many bytes of memory, as they are and as what is made of them.
    pub(super) fn new(memory: u64) -> Self {
        // The events are written twice: line by line, and as one.
        let most = usize::try_from(memory / 2).unwrap_or(usize::MAX).min(MOST_BYTES);
        Self { most, ..Self::default() }
    }

    /// True if no event was found.
    pub(super) fn is_empty(&self) -> bool {
        self.facts.events == 0
    }

    /// Why the trace is not read on, if so.
    pub(super) fn refusal(&self) -> Option<String> {
        if self.lines > MOST_LINES {
            return Some(format!("expected a trace, found more than {MOST_LINES} threads in it"));
        }
        let takes = self.bytes.saturating_add(self.lines.saturating_mul(LINE));
        (takes > self.most).then(|| {
            format!(
                "expected a trace, found one whose events and names take more memory than the {} that a file of its size may take; if the file is right, raise the limit with --memory-limit SIZE",
                units::bytes(2.0 * self.most as f64)
            )
        })
    }

    pub(super) fn add(&mut self, entry: Entry) {
        let Loose::Text(phase) = &entry.phase else {
            // JAX's and XProf's lists end in an empty object.
            self.facts.left_out += u64::from(entry.name != Loose::Other);
            return;
        };
        match phase.as_str() {
            "M" => self.name(&entry),
            "X" => self.complete(entry),
            "B" => self.begin(entry),
            "E" => self.end(&entry),
            "i" | "I" | "R" => self.complete(Entry { dur: Loose::Int(0), ..entry }),
            "C" => self.counter(&entry),
            "s" | "t" | "f" => self.facts.flows += 1,
            _ => self.facts.left_out += 1,
        }
    }

    /// Picoseconds from the origin, of microseconds.
    fn time(&mut self, ts: &Loose) -> Option<i64> {
        let us = ts.number()?;
        let origin = *self.origin_us.get_or_insert(if us.abs() > SINCE_EPOCH_US { us.floor() } else { 0.0 });
        self.facts.since_epoch |= origin != 0.0;
        Some(picoseconds(us - origin))
    }

    fn process(&mut self, pid: &Loose) -> &mut Process {
        let id = pid.number().map_or(0, |v| v as i64);
        let lines = &mut self.lines;
        self.processes.entry(id).or_insert_with(|| {
            *lines += 1;
            Process::default()
        })
    }

    fn thread(&mut self, entry: &Entry) -> &mut Thread {
        let (pid, tid) =
            (entry.pid.number().map_or(0, |v| v as i64), entry.tid.number().map_or(0, |v| v as i64));
        self.process(&entry.pid);
        let lines = &mut self.lines;
        self.processes.entry(pid).or_default().threads.entry(tid).or_insert_with(|| {
            *lines += 1;
            Thread::default()
        })
    }

    /// Names of processes and threads, and where they are shown.
    fn name(&mut self, entry: &Entry) {
        let arg = |key: &str| entry.args.0.iter().find(|(k, _)| k == key).map(|(_, v)| v);
        let name = arg("name").map(Loose::words).unwrap_or_default();
        let rank = arg("sort_index").and_then(Loose::number).map_or(0, |v| v as i64);
        self.bytes += name.len();
        match entry.name.words().as_str() {
            "process_name" => self.process(&entry.pid).name = name,
            "process_sort_index" => self.process(&entry.pid).rank = rank,
            "thread_name" => self.thread(entry).name = name,
            "thread_sort_index" => self.thread(entry).rank = rank,
            _ => {}
        }
    }

    fn complete(&mut self, entry: Entry) {
        let (Some(start), Some(dur)) = (self.time(&entry.ts), entry.dur.number()) else {
            self.facts.left_out += 1;
            return;
        };
        let name = entry.name.words();
        self.thread(&entry);
        self.event(&entry.pid, &entry.tid, (start, picoseconds(dur)), name, entry.args.0);
    }

    fn begin(&mut self, entry: Entry) {
        let Some(start) = self.time(&entry.ts).filter(|_| self.open < MOST_OPEN) else {
            self.facts.left_out += 1;
            return;
        };
        self.open += 1;
        let name = entry.name.words();
        let thread = self.thread(&entry);
        let begun = Begun { start, name, args: entry.args.0 };
        let weight = begun.weight();
        thread.open.push(begun);
        self.bytes = self.bytes.saturating_add(weight);
    }

    fn end(&mut self, entry: &Entry) {
        let Some(end) = self.time(&entry.ts) else {
            self.facts.left_out += 1;
            return;
        };
        let Some(begun) = self.thread(entry).open.pop() else {
            self.facts.left_out += 1;
            return;
        };
        self.open -= 1;
        self.bytes = self.bytes.saturating_sub(begun.weight());
        let Begun { start, name, args } = begun;
        self.event(&entry.pid, &entry.tid, (start, end - start), name, args);
    }

    fn event(
        &mut self,
        pid: &Loose,
        tid: &Loose,
        (start, duration): (i64, i64),
        name: String,
        args: Vec<(String, Loose)>,
    ) {
        self.facts.events += 1;
        let process = self.process(pid);
        let before = process.weight;
        let (meta, stats) = process.meta(name, args);
        let tid = tid.number().map_or(0, |v| v as i64);
        let grown = process.weight - before;
        let Some(thread) = process.threads.get_mut(&tid) else { return };
        let former = thread.line.len();
        thread.line.push(&Event { stats, ..Event::at(meta, start, duration) });
        let grown = grown + thread.line.len() - former;
        self.bytes += grown;
    }

    /// A sample: each number among the arguments is a counter of its own.
    fn counter(&mut self, entry: &Entry) {
        let Some(time) = self.time(&entry.ts) else {
            self.facts.left_out += 1;
            return;
        };
        let name = entry.name.words();
        let numbers = entry.args.0.iter().filter_map(|(key, value)| Some((key, value.number()?)));
        let numbers: Vec<_> = numbers.collect();
        let many = numbers.len() > 1;
        let process = self.process(&entry.pid);
        let before = process.weight + process.counters.len();
        for (key, value) in &numbers {
            let title = if many { format!("{name}: {key}") } else { name.clone() };
            let (meta, _) = process.meta(title, Vec::new());
            let metadata_id = process.text("counter_value");
            let stats = vec![Stat { metadata_id, value: Value::Double(*value) }];
            process.counters.push(&Event { stats, ..Event::at(meta, time, 0) });
        }
        let grown = process.weight + process.counters.len() - before;
        self.bytes += grown;
        self.facts.events += numbers.len() as u64;
        self.facts.left_out += u64::from(numbers.is_empty());
    }

    /// The XSpace, and what is to be said of it; `cut` is why the file was not read to its end.
    pub(super) fn finish(mut self, cut: Option<String>) -> (Vec<u8>, TraceJson) {
        self.facts.cut = cut;
        // What never ended has no length that anybody knows.
        self.facts.left_out += self.open as u64;
        let mut space = Vec::with_capacity(self.bytes.min(MOST_BYTES));
        self.facts.model_flops = self.processes.values().any(|p| p.model_flops);
        let mut processes: Vec<_> = std::mem::take(&mut self.processes).into_iter().collect();
        processes.sort_by_key(|(pid, process)| (process.rank, *pid));
        for (pid, process) in processes {
            process.append_to(pid, &mut space);
        }
        (space, self.facts)
    }
}

impl Process {
    /// The id of a stat's name or of a text that is referred to.
    fn text(&mut self, text: &str) -> i64 {
        if let Some(id) = self.text_of.get(text) {
            return *id;
        }
        let id = self.texts.len() as i64 + 1;
        self.weight += ENTRY + 2 * text.len();
        self.texts.push(StatMetadata { id, name: text.to_owned(), ..StatMetadata::default() });
        self.text_of.insert(text.to_owned(), id);
        id
    }

    /// The metadata of a name, and the stats that are the event's own.
    fn meta(&mut self, name: String, args: Vec<(String, Loose)>) -> (i64, Vec<Stat>) {
        let (of_op, own): (Vec<_>, Vec<_>) =
            args.into_iter().partition(|(k, _)| OF_THE_OP.contains(&k.as_str()));
        // Ops of one name in two programs are two.
        let program = of_op.iter().find(|(k, _)| k == OF_BOTH).map(|(_, v)| v.words()).unwrap_or_default();
        let mut stats: Vec<Stat> = own.into_iter().map(|(k, v)| self.stat(&k, v)).collect();
        let both = of_op.iter().filter(|(k, _)| k == OF_BOTH).cloned();
        stats.extend(both.map(|(k, v)| self.stat(&k, v)));
        let key = (name, program);
        if let Some(id) = self.meta_of.get(&key) {
            return (*id, stats);
        }
        let id = self.metas.len() as i64 + 1;
        let name = key.0.clone();
        self.meta_of.insert(key, id);
        let long = of_op.iter().find(|(k, _)| k == "long_name").map(|(_, v)| v.words());
        let of_op = of_op.into_iter().filter(|(k, _)| k != "long_name");
        let mut shared: Vec<Stat> = of_op.map(|(k, v)| self.stat(&k, v)).collect();
        self.settle_flops(&mut shared);
        let (name, display_name) = long.map_or((name.clone(), String::new()), |long| (long, name));
        // The name stands beside its id too.
        let words: usize = shared.iter().map(|stat| ENTRY + text_bytes(&stat.value)).sum();
        self.weight += 2 * ENTRY + name.len() + 2 * display_name.len().max(name.len()) + words;
        self.metas.push(EventMetadata { id, name, display_name, stats: shared, ..EventMetadata::default() });
        (id, stats)
    }

    /// XProf leaves out the FLOPs that the compiler counts for the device, and keeps those of the operation as written. Ops
    /// without either would count as ops without FLOPs, which is wrong by more.
    fn settle_flops(&mut self, stats: &mut Vec<Stat>) {
        let (flops, model) = (self.text("flops"), self.text("model_flops"));
        let of_model = stats.iter().find(|s| s.metadata_id == model).map(|s| s.value.clone());
        if let Some(value) = of_model
            && !stats.iter().any(|s| s.metadata_id == flops)
        {
            self.model_flops = true;
            stats.push(Stat { metadata_id: flops, value });
        }
    }

    fn stat(&mut self, key: &str, value: Loose) -> Stat {
        let metadata_id = self.text(key);
        let value = match value {
            Loose::Int(v) => Value::Int(v),
            Loose::Uint(v) => Value::Uint(v),
            Loose::Float(v) => Value::Double(v),
            Loose::Flag(v) => Value::Int(i64::from(v)),
            Loose::Text(text) => number(key, &text).unwrap_or_else(|| {
                let is_short = text.len() <= LONGEST_TEXT && self.texts.len() < MOST_TEXTS;
                if is_short { Value::Ref(self.text(&text) as u64) } else { Value::Str(text) }
            }),
            Loose::Other => Value::Str(String::new()),
        };
        Stat { metadata_id, value }
    }

    fn append_to(mut self, pid: i64, space: &mut Vec<u8>) {
        let name =
            if self.name.is_empty() { format!("process {pid}") } else { std::mem::take(&mut self.name) };
        // Of several hosts in one file the host's name stands in front.
        let plane =
            ["/device:", "/host:"].iter().find_map(|kind| name.find(kind).map(|at| name[at..].to_owned()));
        let mut threads: Vec<_> = self.threads.into_iter().filter(|(_, t)| !t.line.is_empty()).collect();
        threads.sort_by_key(|(tid, thread)| (thread.rank, *tid));
        let line = |(tid, mut thread): (i64, Thread)| {
            let name = if thread.name.is_empty() { format!("thread {tid}") } else { thread.name };
            thread.line.head = Line { display_id: thread.rank, ..Line::new(tid, &name) };
            thread.line
        };
        let mut lines: Vec<EncodedLine> = threads.into_iter().map(line).collect();
        if !self.counters.is_empty() {
            self.counters.head = Line::new(i64::MAX, "_counters_");
            lines.push(self.counters);
        }
        if lines.is_empty() {
            return;
        }
        let plane = Plane {
            id: pid,
            name: plane.unwrap_or(name),
            event_metadata: self.metas.into_iter().map(|m| (m.id, m)).collect(),
            stat_metadata: self.texts.into_iter().map(|t| (t.id, t)).collect(),
            ..Plane::default()
        };
        plane.append_to(&lines, space);
    }
}

/// Bytes of a text.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Str(text) => text.len(),
        _ => 0,
    }
}

/// Picoseconds of microseconds, cut to what is believed.
fn picoseconds(us: f64) -> i64 {
    // A cast from a float saturates.
    ((us * 1e6).round() as i64).clamp(-LARGEST_PS, LARGEST_PS)
}

/// The number that a text is: XProf and JAX write all of them as texts.
fn number(key: &str, text: &str) -> Option<Value> {
    if TEXTS.contains(&key) || !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return None;
    }
    if let Ok(int) = text.parse::<i64>() {
        // Not `007`, which is a name.
        return (int.to_string() == text).then_some(Value::Int(int));
    }
    if let Ok(uint) = text.parse::<u64>() {
        return (uint.to_string() == text).then_some(Value::Uint(uint));
    }
    text.parse::<f64>().ok().filter(|v| v.is_finite()).map(Value::Double)
}
