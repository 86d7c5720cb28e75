//! What is known of the op that an event is: how much it did, how near to the peaks, where it stands in the program's source.

use super::label;
use super::line_ops::LineOps;
use haloscope_profile::{Line, LineKind, Peak, Profile, split_label};
use haloscope_time::account::limit_of;
use haloscope_time::hlo_costs::Costs;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::ops::Op;

/// An event's op. Everything is `None` where it is not known, and for events that are no ops.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct OpDetails {
    /// HLO category, as `ops` names it.
    pub category: Option<String>,
    /// Name of the HLO module.
    pub module: Option<String>,
    /// Name of the HLO instruction.
    pub instruction: Option<String>,
    /// The framework's scope path.
    pub op_name: Option<String>,
    /// FLOPs of one execution as counted for the device.
    pub flops: Option<f64>,
    /// Bytes of one execution to and from the device's main memory; all bytes where nobody said what goes where.
    pub bytes: Option<f64>,
    /// FLOP/s of this event. Without for the start and done of asynchronous ops, as for all below.
    pub flop_rate: Option<f64>,
    /// B/s of this event.
    pub byte_rate: Option<f64>,
    /// [`OpDetails::flop_rate`] over the device's peak.
    pub flop_share: Option<f64>,
    /// [`OpDetails::byte_rate`] over the device's peak.
    pub byte_share: Option<f64>,
    /// The nearer limit as `ops` names it: `compute` or `memory`, for collectives and copies `communication`, `memory` or
    /// `transfer`.
    pub bound_by: Option<&'static str>,
    /// The peaks of which the shares are.
    pub peaks: Option<EventPeaks>,
    /// Where it stands in the program's source: the innermost frame, then its callers.
    pub source: Option<Vec<Frame>>,
}

/// The peaks of an event's device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EventPeaks {
    /// FLOP/s.
    pub flops: Option<f64>,
    /// B/s to and from its main memory.
    pub hbm: Option<f64>,
    /// Where they come from: `trace`, `derived` or `table`; both words where they differ.
    pub source: String,
}

/// A place in a program's source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Frame {
    /// File.
    pub file: String,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Function around it.
    pub function: Option<String>,
}

impl OpDetails {
    pub(super) fn of(profile: &Profile, line: &Line, index: usize) -> Self {
        let plane = profile.plane(line.plane);
        let events = profile.events(line);
        let ops = LineOps::of(profile, line);
        let Some((meta, module)) = ops.op(events, index) else {
            let name = label(profile, plane, events.metas()[index]);
            let program = (line.kind == LineKind::XlaModules).then(|| split_label(&name).0.to_owned());
            let frame = python_frame(&name).filter(|_| !plane.kind.is_device());
            return Self { module: program, source: frame.map(|f| vec![f]), ..Self::default() };
        };
        let peaks = ops.device.map(|d| d.peaks).unwrap_or_default();
        let measured = events.on_device_clock(index);
        let time_ps = measured.end_ps - measured.start_ps;
        let op =
            Op { flops: meta.flops, hbm_bytes: meta.hbm_bytes, total_ps: time_ps, meta, ..Op::default() };
        let limits = op.work(time_ps).against(&peaks);
        let meta = &op.meta;
        let bound_by = match limit_of(&op, &peaks) {
            _ if meta.category.is_empty() => limits.bound.map(|bound| bound.word()),
            limit => limit,
        };
        // Kernels that no HLO op launched are ops under their own name.
        let is_hlo = meta.program_id.is_some() || !module.is_empty();
        let costs = ops.device.map(|device| Costs::new(profile, device));
        Self {
            category: known(&meta.category),
            module: known(&module),
            instruction: known(&meta.name).filter(|_| is_hlo),
            op_name: known(&meta.framework_op),
            flops: meta.flops,
            bytes: meta.hbm_bytes,
            flop_rate: limits.flop_rate,
            byte_rate: limits.hbm_rate,
            flop_share: limits.flop_share,
            byte_share: limits.hbm_share,
            bound_by,
            peaks: EventPeaks::of(peaks.flops, peaks.hbm),
            source: stack(meta, costs.as_ref()),
        }
    }
}

impl EventPeaks {
    fn of(flops: Option<Peak>, hbm: Option<Peak>) -> Option<Self> {
        let mut words: Vec<_> = [flops, hbm].into_iter().flatten().map(|peak| peak.source.word()).collect();
        words.dedup();
        let rate = |peak: Option<Peak>| peak.map(|p| p.rate);
        (!words.is_empty()).then(|| Self { flops: rate(flops), hbm: rate(hbm), source: words.join(", ") })
    }
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The stack of an op: that of the module where the profiler embedded it, else what the profiler says beside the op.
fn stack(meta: &OpMeta<'_>, costs: Option<&Costs<'_>>) -> Option<Vec<Frame>> {
    let embedded = meta.program_id.zip(costs).and_then(|(program, costs)| costs.stack(program, &meta.name));
    let embedded = embedded.unwrap_or_default();
    let frames: Vec<Frame> = if embedded.is_empty() {
        let text = if meta.source_stack.is_empty() { &meta.source } else { &meta.source_stack };
        text.lines().filter_map(Frame::parse).collect()
    } else {
        let frame = |f: &haloscope_hlo::SourceFrame<'_>| Frame {
            file: f.file.to_owned(),
            line: u32::try_from(f.location.line).ok().filter(|line| *line > 0),
            function: known(f.function),
        };
        embedded.iter().map(frame).collect()
    };
    (!frames.is_empty()).then_some(frames)
}

impl Frame {
    /// Reads `file:line`, `file:line:column`, either with the function behind, in brackets or not.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let line_at = |colon: usize| {
            let rest = &text[colon + 1..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            Some((colon, rest[..digits].parse().ok()?, &rest[digits..]))
        };
        let Some((end, line, rest)) = text.match_indices(':').find_map(|(colon, _)| line_at(colon)) else {
            return known(text).map(|file| Self { file, line: None, function: None });
        };
        let column = |c: char| c.is_ascii_digit();
        let rest = rest.strip_prefix(':').map_or(rest, |rest| rest.trim_start_matches(column));
        let function = known(rest.trim_matches([' ', '(', ')', '[', ']']));
        known(&text[..end]).map(|file| Self { file, line: Some(line), function })
    }
}

/// The place in a name of the Python tracer's: `$train.py:12 step`.
fn python_frame(name: &str) -> Option<Frame> {
    let frame = Frame::parse(name.strip_prefix('$')?)?;
    frame.line.is_some().then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_source_are_read_in_all_forms() {
        let read = |text: &str| Frame::parse(text).map(|f| (f.file, f.line, f.function));
        let function = Some("step".to_owned());
        assert_eq!(read("a/train.py:12"), Some(("a/train.py".into(), Some(12), None)));
        assert_eq!(read(" a/train.py:12:7"), Some(("a/train.py".into(), Some(12), None)));
        assert_eq!(read("train.py:12:7 (step)"), Some(("train.py".into(), Some(12), function.clone())));
        assert_eq!(read("train.py:12:7[step]"), Some(("train.py".into(), Some(12), function.clone())));
        assert_eq!(read("C:\\my jobs\\t.py:3"), Some(("C:\\my jobs\\t.py".into(), Some(3), None)));
        assert_eq!(read("<string>"), Some(("<string>".into(), None, None)));
        assert_eq!((read(""), read(":12")), (None, None));
        assert_eq!(
            python_frame("$train.py:12 step").map(|f| (f.line, f.function)),
            Some((Some(12), function))
        );
        assert_eq!(python_frame("$builtins len"), None);
    }
}
