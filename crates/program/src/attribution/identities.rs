//! Sums that must agree: the same bytes, added up in two ways.

use super::{Attribution, Totals};
use crate::heap::is_indefinite;
use haloscope_report::units;

/// Allocations begin at whole units of this many bytes on every backend seen (CPU 16 to 64, GPU 256, TPU up to 512, or a
/// tile of 4096).
const LARGEST_ALIGNMENT_BYTES: i64 = 4096;

/// Two sums of the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What must be equal.
    pub what: &'static str,
    /// One way of adding up.
    pub left_bytes: i64,
    /// The other.
    pub right_bytes: i64,
    /// How far they may differ.
    pub tolerance_bytes: i64,
}

impl Identity {
    /// Left less right.
    #[must_use]
    pub fn difference_bytes(&self) -> i64 {
        self.left_bytes.saturating_sub(self.right_bytes)
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.difference_bytes().saturating_abs() <= self.tolerance_bytes
    }

    /// The identities of an attribution.
    #[must_use]
    pub fn all(attribution: &Attribution<'_, '_>, totals: &Totals) -> Vec<Self> {
        let exact =
            |what, left_bytes, right_bytes| Self { what, left_bytes, right_bytes, tolerance_bytes: 0 };
        let memory = attribution.memory;
        let by_rule = by_rule(attribution);
        let (shapes, padding) = parameter_shapes(attribution);
        let groups = units::sum([
            totals.entry_parameters_bytes,
            totals.temporary_bytes,
            totals.output_bytes,
            totals.constant_bytes,
        ]);
        let parts = units::sum([
            totals.kv_cache_bytes,
            totals.model_parameters_bytes,
            totals.other_carry_bytes,
            totals.other_parameter_bytes,
        ]);
        let of_entry =
            || memory.allocations.iter().filter(|a| !a.is_thread_local && a.entry_parameter.is_some());
        let allocated = units::sum(of_entry().map(|a| a.size_bytes));
        // A parameter that is a tuple has a table of pointers beside its arrays, which is no row.
        let is_row = |(number, index): &(i64, Vec<i64>)| attribution.flow.parameter(*number, index).is_some();
        let tables = of_entry().filter(|a| !a.entry_parameter.as_ref().is_some_and(is_row));
        let tables = units::sum(tables.map(|a| a.size_bytes));
        let arrays = units::sum(attribution.parameters.iter().filter_map(|p| p.bytes));
        let parameters = arrays.saturating_add(tables);
        let mut all = vec![
            exact("groups sum to the peak", groups, memory.peak_bytes()),
            exact("buckets sum to the peak", by_rule, memory.peak_bytes()),
            exact("buckets of parameters sum to the entry parameters", parts, totals.entry_parameters_bytes),
            exact("parameter rows sum to the entry parameters", parameters, totals.entry_parameters_bytes),
            exact("parameter rows sum to the parameters' allocations", parameters, allocated),
            Self {
                what: "parameter rows sum to their shapes within padding",
                left_bytes: arrays,
                right_bytes: shapes,
                tolerance_bytes: padding,
            },
        ];
        // What the heap simulator gave out lies in the temporary allocations: at the peak no more can be alive than they hold.
        let room = memory.allocations.iter().filter(|a| !is_indefinite(a));
        let room = units::sum(room.map(|a| a.size_bytes));
        if memory.replay.is_some() && room > 0 {
            all.push(Self {
                what: "temporaries at the peak fit into their allocations",
                left_bytes: totals.temporary_bytes.min(room),
                right_bytes: totals.temporary_bytes,
                tolerance_bytes: 0,
            });
        }
        all
    }
}

/// Bytes summed rule by rule, as the table of rules shows them.
fn by_rule(attribution: &Attribution<'_, '_>) -> i64 {
    let mut sums = vec![0_i64; attribution.rules.all().len() + 1];
    for buffer in &attribution.buffers {
        let row = buffer.rule.unwrap_or(sums.len() - 1);
        if let Some(sum) = sums.get_mut(row) {
            *sum = sum.saturating_add(buffer.alive.bytes);
        }
    }
    units::sum(sums)
}

/// Bytes of the parameters of this memory by their shapes alone, and how much more their memory may be: tiles that are not
/// full, and where the next allocation may begin.
fn parameter_shapes(attribution: &Attribution<'_, '_>) -> (i64, i64) {
    let (mut bytes, mut room) = (0_i64, 0_i64);
    for (parameter, attributed) in attribution.flow.parameters.iter().zip(&attribution.parameters) {
        if attributed.bytes.is_none() {
            continue;
        }
        let number = |n: Option<u64>| n.and_then(|n| i64::try_from(n).ok());
        let plain = number(parameter.shape.bytes()).unwrap_or(0);
        let padded = number(parameter.shape.padded_bytes()).unwrap_or(plain);
        bytes = bytes.saturating_add(plain);
        room =
            room.saturating_add(padded.saturating_sub(plain).max(0)).saturating_add(LARGEST_ALIGNMENT_BYTES);
    }
    (bytes, room)
}
