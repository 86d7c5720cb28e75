//! `inference_profile`: requests that a model server answered, the batches that it ran them in, the tensors it moved.

mod average;
mod sample;
mod tables;

use haloscope_profile::Profile;
use haloscope_serving::inference;

use super::Tool;
use crate::{Answer, Error, Hosts, Param, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "inference_profile",
    doc: "Requests and batches of a model server: latency and where the time went, by percentile",
    hosts: Hosts::OneOrAll,
    params: &[
        Param {
            id: "request_column",
            doc: "the column whose percentiles choose requests, such as `Device compute` (default Latency)",
        },
        Param {
            id: "batch_column",
            doc: "the column whose percentiles choose batches, such as `Padding amount` (default Latency)",
        },
    ],
    offered: |_| false,
    answer,
};

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let chosen = TOOL.hosts.chosen(profile, params)?;
    let by_request = sample::request_key(params)?;
    let by_batch = sample::batch_key(params)?;
    let mut all = inference::of(profile, &chosen);
    // The name that stands for requests which name no model.
    if let [only] = &mut all.models[..]
        && only.name.is_empty()
    {
        "ALL".clone_into(&mut only.name);
    }
    all.models.sort_by(|a, b| a.name.cmp(&b.name));
    let batching = all.models.iter().any(|m| !m.batches.is_empty());
    let mut answer = vec![tables::models(&all.models, batching)];
    for model in &all.models {
        let requests = sample::rows(&model.requests, by_request);
        answer.push(tables::requests(model, &requests, batching));
        if batching {
            answer.push(tables::batches(model, &sample::rows(&model.batches, by_batch)));
        }
        if !all.patterns.is_empty() {
            answer.push(tables::tensors(model, &all.patterns));
        }
    }
    Answer::json(&answer)
}
