//! What a server's own counters say of how it makes batches.

use std::collections::BTreeMap;

use haloscope_xspace::{StatValue, StatView};

use super::Batching;
use haloscope_profile::{HostId, Profile};

const PREFIX: &str = "/tensorflow/serving/batching/";

/// The parameters by model (name and version). There is a snapshot at the start of a capture and one at its end, which counts.
pub(super) fn batching(profile: &Profile, host: HostId, models: &[String]) -> Vec<(String, Batching)> {
    let plane = profile.planes_of(host).find(|p| p.name == "/host:tfstreamz");
    let line = plane.and_then(|p| profile.lines_of(p.id).next());
    let (Some(plane), Some(line)) = (plane, line) else { return Vec::new() };
    let events = profile.events(line);
    if events.len() != 2 {
        return Vec::new();
    }
    let source = profile.source_of(plane);
    let mut by_name: BTreeMap<String, Batching> = BTreeMap::new();
    for StatView { metadata_id, value } in events.stats(source, 1) {
        let name = plane.stat_name(source, metadata_id);
        let Some(parameter) = name.strip_prefix(PREFIX) else { continue };
        let (Some(model), Some(value)) = (model_of(parameter), value) else { continue };
        let batching = by_name.entry(model.to_owned()).or_default();
        let number = || if let StatValue::Int(v) = value { v } else { 0 };
        if parameter.starts_with("num_batch_threads") {
            batching.threads = number();
        } else if parameter.starts_with("batch_timeout_micros") {
            batching.timeout_us = number();
        } else if parameter.starts_with("max_batch_size") {
            batching.max_size = number();
        } else if parameter.starts_with("max_enqueued_batches") {
            batching.max_waiting = number();
        } else if parameter.starts_with("allowed_batch_sizes") {
            batching.allowed_sizes = plane.text(source, value).unwrap_or_default().into_owned();
        }
    }
    let named = |model: &String| {
        let found = by_name.get(without_version(model)?)?;
        Some((model.clone(), found.clone()))
    };
    models.iter().filter_map(named).collect()
}

/// The model in `name{model_name=MODEL, op_name=OP}`.
fn model_of(parameter: &str) -> Option<&str> {
    let labels = parameter.split_once('{')?.1.rsplit_once('}')?.0;
    labels.split(", ").find_map(|label| {
        let (key, value) = label.split_once('=')?;
        (key == "model_name" && !value.contains('=')).then_some(value)
    })
}

/// `MODEL` of `MODEL:VERSION`; `None` for a version that is no number.
fn without_version(model: &str) -> Option<&str> {
    match model.rsplit_once(':') {
        None => Some(model),
        Some((name, version)) => version.trim().parse::<i64>().is_ok().then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_in_labels() {
        assert_eq!(model_of("max_batch_size{model_name=m, op_name=x}"), Some("m"));
        assert_eq!(model_of("max_batch_size{op_name=x, model_name=a/b}"), Some("a/b"));
        assert_eq!(model_of("max_batch_size"), None);
        assert_eq!(model_of("}model_name=m{"), None);
        assert_eq!(
            ["m:1", "m", "m:x", "a:b:2"].map(without_version),
            [Some("m"), Some("m"), None, Some("a:b")]
        );
    }
}
