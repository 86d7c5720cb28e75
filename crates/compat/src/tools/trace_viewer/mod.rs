//! `trace_viewer@`: the timeline, as much of it as can be seen; `trace_viewer`: all of it.

mod args;
mod frames;
mod host_data;
mod json;
mod levels;
mod names;
mod order;
mod params;
mod pipeline;
mod proto;
mod serials;
mod tracks;
mod view;
mod whole;

use std::collections::BTreeMap;

use crate::xprof_lines;
use haloscope_event_groups::Context;
use haloscope_profile::Profile;

use crate::{Answer, Error, Hosts, Params, Tool};
use frames::Frames;
use host_data::{HostData, Value};
use params::{Choice, Question};
use tracks::{PER_HOST, Trace};
pub(crate) use whole::WHOLE;

/// The timeline, as much of it as can be seen.
pub(crate) const STREAMING: Tool = Tool {
    id: "trace_viewer@",
    doc: "the timeline, as much of it as can be seen",
    hosts: Hosts::Several,
    params: params::PARAMS,
    offered: |_| true,
    answer: streaming,
};

fn streaming(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let question = Question::read(profile, params)?;
    let contexts: Vec<_> = question
        .hosts
        .iter()
        .map(|host| {
            let context = Context::of(profile, *host);
            let derived = xprof_lines::of_host(profile, *host, &context);
            (*host, context, derived)
        })
        .collect();
    let mut traces: Vec<Trace<'_>> = Vec::new();
    for (place, (host, context, derived)) in (1_u32..).zip(&contexts) {
        let first_pid = place.saturating_mul(PER_HOST);
        traces.push(Trace::new(*host, first_pid, HostData { profile, context, derived }));
    }
    let shown: Vec<_> = traces.iter_mut().map(|trace| view::shown(trace, &question)).collect();
    let parts: Vec<json::Part<'_, '_>> = traces.iter().zip(&shown).collect();
    if let Choice::One { name, .. } = &question.choice
        && shown.iter().flatten().all(|track| track.as_ref().is_some_and(Vec::is_empty))
    {
        return Err(Error::Missing {
            tool: STREAMING.id,
            missing: format!("no event `{name}` at that time"),
            remedy: "ask with the name, start, duration and uid of an event that the timeline shows".into(),
        });
    }
    let spans: Vec<(u64, u64)> = traces.iter().filter_map(view::span).collect();
    let span = spans.iter().map(|s| s.0).min().zip(spans.iter().map(|s| s.1).max());
    let order = if question.pipeline { pipeline::order(&parts) } else { BTreeMap::new() };
    if question.proto {
        return Ok(Answer::bytes(proto::write(
            &parts,
            &json::details(&question, json::any_tpu(&parts)),
            span,
            &order,
        )));
    }
    let frames = collect_frames(&parts, &question);
    let summary = json::Summary { question: &question, span, frames: &frames, order: &order };
    Ok(Answer { content_type: "application/json", body: json::write(&parts, &summary) })
}

/// Long names: of all events of the traces, shown or not; where one event is asked for, its own.
fn collect_frames(parts: &[json::Part<'_, '_>], question: &Question<'_>) -> Frames {
    let mut frames = Frames::default();
    for (trace, shown) in parts {
        if let Choice::One { .. } = question.choice {
            for (track, shown) in trace.tracks.iter().zip(shown.iter()) {
                for at in shown.iter().flatten() {
                    for (name, value) in trace.args(track, *at as usize) {
                        if let Value::Text(text) = value
                            && frames::is_frame(&name)
                        {
                            frames.add(&text);
                        }
                    }
                }
            }
        } else {
            trace.add_frames(&mut frames);
        }
    }
    frames
}
