//! The answer as JSON, written straight into its bytes.

use std::collections::BTreeMap;

use haloscope_event_groups::{Direction, Link, category_name};

use super::frames::{Frames, is_frame};
use super::host_data::{Arg, Value};
use super::names::{Quoted, micros, quote, six_digits, whole};
use super::params::Question;
use super::tracks::{Row, Trace, Track};
use super::view::{Shown, is_tpu};

/// More samples than these are said to be too many.
const MOST_SAMPLES: usize = 10_000_000;
/// Whole numbers beyond this lose digits in JavaScript and are quoted.
const EXACT: u64 = 1 << 53;

/// A host's trace and which of its events are shown.
pub(super) type Part<'a, 'p> = (&'a Trace<'p>, &'a Shown);

/// What an answer says beside the events.
pub(super) struct Summary<'q> {
    pub(super) question: &'q Question<'q>,
    /// First start and last end of the traces, picoseconds.
    pub(super) span: Option<(u64, u64)>,
    pub(super) frames: &'q Frames,
    /// The order in which processes are shown, where it is not that of their numbers.
    pub(super) order: &'q BTreeMap<u32, u32>,
}

struct Writer<'q> {
    out: Vec<u8>,
    summary: &'q Summary<'q>,
    first: bool,
}

/// The switches of a question and whether they are on, as the page's menu lists them.
pub(super) fn details(question: &Question<'_>, tpu: bool) -> Vec<(&'static str, bool)> {
    let mut details = vec![("mpmd_pipeline_view", question.pipeline)];
    if question.pipeline {
        details.push(("mpmd_single_device_per_stage", false));
    }
    if tpu {
        details.push(("full_dma", question.full_dma));
    }
    details
}

/// True if a process of the traces is a TPU core.
pub(super) fn any_tpu(parts: &[Part<'_, '_>]) -> bool {
    parts.iter().any(|(trace, _)| trace.processes.values().any(|p| is_tpu(&p.name)))
}

/// The whole answer.
pub(super) fn write(parts: &[Part<'_, '_>], summary: &Summary<'_>) -> Vec<u8> {
    let count = |kind: fn(Row) -> bool| -> usize {
        let rows = parts.iter().flat_map(|(trace, shown)| trace.tracks.iter().zip(shown.iter()));
        rows.filter(|(t, _)| kind(t.row)).map(|(t, shown)| shown.as_ref().map_or(t.len(), Vec::len)).sum()
    };
    let events = count(|_| true);
    let mut to = Writer { out: Vec::with_capacity(events * 150 + 4096), summary, first: true };
    to.text(
        r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true}, "codeLink":"","useNewBackend": false,"#,
    );
    if summary.question.pipeline {
        to.text(r#""mpmdPipelineView": true,"#);
    }
    to.details(any_tpu(parts));
    to.text(&format!(r#""returnedEventsSize":{events},"filteredByVisibility":true,"#));
    let (start, end) = summary.span.unwrap_or_default();
    let ms = |ps: u64| six_digits(ps as f64 / 1e9);
    to.text(&format!(r#""fullTimespan":[{},{}],"#, ms(start), ms(end)));
    to.stack_frames();
    to.text(r#""traceEvents":["#);
    for (trace, _) in parts {
        to.processes(trace);
    }
    for (trace, shown) in parts {
        let mut quoted = Quoted::new(&trace.names);
        for (track, shown) in trace.tracks.iter().zip(shown.iter()) {
            to.track(trace, track, shown.as_deref(), &mut quoted);
        }
    }
    let samples = count(|row| row == Row::Counter);
    let message = if samples == MOST_SAMPLES {
        format!("Only {MOST_SAMPLES} counter events are shown. Zoom in or pan to see more.")
    } else {
        String::new()
    };
    to.text(&format!(r#"], "showCounterMessage": "{message}" ,"totalCounterEvents":{samples}}}"#));
    to.out
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }

    fn details(&mut self, tpu: bool) {
        self.text(r#""details":["#);
        for (number, (name, on)) in details(self.summary.question, tpu).into_iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            self.text(&format!(r#"{comma}{{"name":"{name}","value":{on}}}"#));
        }
        self.text("],");
    }

    fn stack_frames(&mut self) {
        self.text(r#""stackFrames":{"#);
        for (number, text) in (1..).zip(self.summary.frames.iter()) {
            if number > 1 {
                self.out.push(b',');
            }
            self.text(&format!(r#""{number}":{{"name":"#));
            quote(text, &mut self.out);
            self.out.push(b'}');
        }
        self.text("},");
    }

    fn processes(&mut self, trace: &Trace<'_>) {
        for (pid, process) in &trace.processes {
            self.comma();
            self.text(r#"{"args":{"name":"#);
            quote(&process.name, &mut self.out);
            let threads = process.threads.len();
            self.text(&format!(
                r#"}},"name":"process_name","ph":"M","pid":{pid},"thread_count":{threads}}}"#
            ));
            // In a pipeline's order, if there is any, processes without a place stay as they come.
            let index = match self.summary.order.get(pid) {
                None if self.summary.question.pipeline => None,
                place => Some(place.unwrap_or(pid)),
            };
            if let Some(index) = index {
                let head = format!(r#",{{"args":{{"sort_index":{index}}}"#);
                self.text(&format!(r#"{head},"name":"process_sort_index","ph":"M","pid":{pid}}}"#));
            }
            for (tid, name) in &process.threads {
                self.text(r#",{"args":{"name":"#);
                quote(name, &mut self.out);
                self.text(&format!(r#"}},"name":"thread_name","ph":"M","pid":{pid},"tid":{tid}}}"#));
                let index = format!(r#","name":"thread_sort_index","ph":"M","pid":{pid},"tid":{tid}}}"#);
                self.text(&format!(r#",{{"args":{{"sort_index":{tid}}}{index}"#));
            }
        }
    }

    fn track<'p>(
        &mut self,
        trace: &Trace<'p>,
        track: &Track<'p>,
        shown: Option<&[u32]>,
        quoted: &mut Quoted,
    ) {
        let head = match track.row {
            Row::Thread(tid) => format!(r#"{{"pid":{},"tid":{tid},"name":"#, track.pid),
            Row::Channel | Row::Counter => format!(r#"{{"pid":{},"name":"#, track.pid),
        };
        if track.row == Row::Counter {
            self.samples(trace, track, shown, &head);
            return;
        }
        let mut event = |at: usize| {
            let link = track.link(at);
            self.comma();
            self.out.extend_from_slice(head.as_bytes());
            quoted.write(&trace.names, track.name(at), &mut self.out);
            self.out.extend_from_slice(b",\"ts\":");
            micros(track.start(at), &mut self.out);
            if track.row == Row::Channel {
                self.channel_event(trace, track, at, link, &head, quoted);
                return;
            }
            self.out.extend_from_slice(b",\"dur\":");
            micros(track.duration(at).max(1), &mut self.out);
            if let Some(link) = link {
                self.out.extend_from_slice(b",\"bind_id\":");
                whole(link.id, &mut self.out);
                let category = category_name(link.category);
                if !category.is_empty() {
                    self.text(&format!(r#","cat":"{category}""#));
                }
                self.text(match link.direction {
                    Direction::None => "",
                    Direction::In => r#","flow_in":true"#,
                    Direction::Out => r#","flow_out":true"#,
                    Direction::Through => r#","flow_in":true,"flow_out":true"#,
                });
            }
            self.out.extend_from_slice(b",\"ph\":\"X\"");
            self.args(trace, track, at);
            self.out.push(b'}');
        };
        match shown {
            Some(shown) => shown.iter().for_each(|at| event(*at as usize)),
            None => (0..track.len()).for_each(event),
        }
    }

    /// The rest of an asynchronous event; of one that begins and ends here, its end too.
    fn channel_event<'p>(
        &mut self,
        trace: &Trace<'p>,
        track: &Track<'p>,
        at: usize,
        link: Option<&Link>,
        head: &str,
        quoted: &mut Quoted,
    ) {
        let Some(link) = link else {
            self.out.push(b'}');
            return;
        };
        let tail = format!(r#","id":{},"cat":"{}""#, link.id, category_name(link.category));
        self.text(&tail);
        self.text(match link.direction {
            Direction::None => "",
            Direction::Out | Direction::Through => r#","ph":"b""#,
            Direction::In => r#","ph":"e""#,
        });
        self.args(trace, track, at);
        self.out.push(b'}');
        if link.direction == Direction::Through {
            self.out.push(b',');
            self.text(head);
            quoted.write(&trace.names, track.name(at), &mut self.out);
            self.text(",\"ts\":");
            micros(track.start(at).wrapping_add(track.duration(at)), &mut self.out);
            self.text(&tail);
            self.text(r#","ph":"e""#);
            if let Some(group) = track.group(at) {
                self.text(&format!(r#","args":{{"group_id":{group}}}"#));
            }
            self.serial(track, at);
            self.out.push(b'}');
        }
    }

    fn serial(&mut self, track: &Track<'_>, at: usize) {
        let serial = track.serial.of(at);
        if serial > 0 {
            self.out.extend_from_slice(b",\"z\":");
            whole(u64::from(serial), &mut self.out);
        }
    }

    fn args<'p>(&mut self, trace: &Trace<'p>, track: &Track<'p>, at: usize) {
        self.out.extend_from_slice(b",\"args\":{");
        if let Some(group) = track.group(at) {
            self.out.extend_from_slice(b"\"group_id\":");
            whole(u64::from(group), &mut self.out);
            if !self.summary.question.with_args() {
                self.out.push(b',');
            }
        }
        let mut frame = None;
        if self.summary.question.with_args() {
            let mut first = track.group(at).is_none();
            for arg in trace.args(track, at) {
                self.arg(arg, &mut first, &mut frame);
            }
        } else {
            self.out.extend_from_slice(b"\"uid\":");
            whole(u64::from(track.serial.of(at)), &mut self.out);
        }
        self.out.push(b'}');
        if let Some(frame) = frame {
            self.text(&format!(r#","sf":{frame}"#));
        }
        self.serial(track, at);
    }

    fn arg(&mut self, (name, value): Arg<'_>, first: &mut bool, frame: &mut Option<usize>) {
        // Drawn rather than told.
        if matches!(&*name, "flow" | "group_id" | "_a") && matches!(value, Value::Int(_) | Value::Uint(_)) {
            return;
        }
        if let Value::Text(text) = &value
            && frame.is_none()
            && is_frame(&name)
            && let Some(number) = self.summary.frames.number(text)
        {
            *frame = Some(number);
            return;
        }
        if value == Value::Opaque {
            return;
        }
        if !std::mem::take(first) {
            self.out.push(b',');
        }
        quote(&name, &mut self.out);
        self.out.push(b':');
        match value {
            Value::Text(text) => quote(&text, &mut self.out),
            Value::Int(v) if v.unsigned_abs() > EXACT => self.text(&format!("\"{v}\"")),
            Value::Int(v) => self.text(&v.to_string()),
            Value::Uint(v) if v > EXACT => self.text(&format!("\"{v}\"")),
            Value::Uint(v) => whole(v, &mut self.out),
            Value::Double(v) => self.double(&name, v),
            Value::Opaque => {}
        }
    }

    fn double(&mut self, name: &str, value: f64) {
        if value.is_nan() {
            self.text(r#""NaN""#);
        } else if value.is_infinite() {
            self.text(r#""Infinity""#);
        } else if name.ends_with("(util %)") || name.ends_with(" (MB/sec)") {
            self.text(&format!("{value:.2}"));
        } else {
            self.text(&format!("{value}"));
        }
    }

    fn samples<'p>(&mut self, trace: &Trace<'p>, track: &Track<'p>, shown: Option<&[u32]>, head: &str) {
        let all: Vec<u32>;
        let shown = match shown {
            Some(shown) => shown,
            None => {
                all = (0..track.len() as u32).collect();
                &all
            }
        };
        let Some(first) = shown.first() else { return };
        self.comma();
        self.text(head);
        quote(trace.names.get(track.name(*first as usize)), &mut self.out);
        self.text(r#","ph":"C""#);
        for (number, at) in shown.iter().enumerate() {
            let args = trace.args(track, *at as usize);
            let args: Vec<_> = args
                .into_iter()
                .filter(|(name, value)| {
                    !matches!(&**name, "flow" | "group_id" | "_a") && *value != Value::Opaque
                })
                .collect();
            if number == 0 {
                if let Some((name, _)) = args.first() {
                    self.text(r#","event_stats":"#);
                    quote(name, &mut self.out);
                }
                self.text(r#","entries":["#);
            }
            if args.is_empty() {
                continue;
            }
            if self.out.last() != Some(&b'[') {
                self.out.push(b',');
            }
            self.out.push(b'[');
            micros(track.start(*at as usize), &mut self.out);
            for (name, value) in args {
                self.out.push(b',');
                match value {
                    Value::Text(text) => quote(&text, &mut self.out),
                    Value::Int(v) => self.text(&v.to_string()),
                    Value::Uint(v) => whole(v, &mut self.out),
                    Value::Double(v) => self.double(&name, v),
                    Value::Opaque => {}
                }
            }
            self.out.push(b']');
        }
        self.text("]}");
    }
}
