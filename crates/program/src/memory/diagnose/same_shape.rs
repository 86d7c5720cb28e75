//! Many temporaries of one shape at once.

use std::collections::BTreeMap;

use super::Outcome;
use super::context::{Context, largest, size};
use super::thresholds::{SAME_SHAPE_COUNT, SAME_SHAPE_SHARE};
use crate::attribution::Attributed;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static LEVER: Fix = Fix {
    jax: "one value for each layer or microbatch is kept: scan over layers with jax.checkpoint, save fewer values, or \
          accumulate in place",
    tensorflow: "one value for each layer or microbatch is kept: compute layers again in the backward pass (tf.recompute_grad), save \
                 fewer values, or accumulate in place",
    pytorch: "one value for each layer or microbatch is kept: compute layers again in the backward pass (torch_xla.utils.checkpoint), save fewer values, or accumulate in place",
    any: "one value for each layer or microbatch is kept: compute layers again in the backward pass, save fewer values, or \
          accumulate in place",
};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{SAME_SHAPE_COUNT} or more with {} of the peak", units::share(SAME_SHAPE_SHARE));
    if context.attribution.memory.replay.is_none() {
        return Outcome::unknown(threshold, "the program has no heap simulator trace");
    }
    let mut groups: BTreeMap<String, Vec<&Attributed<'_, '_>>> = BTreeMap::new();
    for buffer in context.temporaries() {
        groups.entry(buffer.shape.to_string()).or_default().push(buffer);
    }
    let bytes_of = |group: &[&Attributed<'_, '_>]| units::sum(group.iter().map(|buffer| buffer.alive.bytes));
    let many = groups.iter().filter(|(_, group)| group.len() >= SAME_SHAPE_COUNT);
    let Some((shape, group)) = many.max_by_key(|(_, group)| bytes_of(group)) else {
        let said = format!("no shape occurs {SAME_SHAPE_COUNT} times among the temporaries at the peak");
        return Outcome::measured(0, Some(0.0), threshold, said, None);
    };
    let bytes = bytes_of(group);
    let share = context.of_peak(bytes);
    let each = units::bytes(bytes as f64 / group.len() as f64);
    let said = format!("{} of {shape}, {each} each", group.len());
    let finding = (share >= SAME_SHAPE_SHARE).then(|| Finding {
        id: "same_shape_buffers",
        severity: Severity::Warning,
        claim: format!("{} temporaries of {shape} are alive at once: {}", group.len(), size(context, bytes)),
        evidence: format!("{each} each: {}", largest(group)),
        ceiling: format!(
            "{} less, if one were alive at a time",
            units::bytes((bytes - bytes / group.len() as i64) as f64)
        ),
        recommendation: context.fix(&LEVER),
        falsifier:
            "they are needed together, for example the weights of several devices that a collective gathers"
                .to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
