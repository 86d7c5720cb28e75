//! What each op is to asynchronous operations and to collectives.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use haloscope_profile::DeviceKind;
use haloscope_time::account::Class;
use haloscope_time::async_parts::{is_part, operands};
use haloscope_time::op_meta::OpMeta;

/// What an op is to an asynchronous operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// The place in which it leaves itself open.
    pub(super) opens: Option<usize>,
    /// The place of the op that it waits for or goes on with.
    pub(super) closes: Option<usize>,
    /// It is a collective that all members leave together.
    pub(super) is_join: bool,
}

/// The parts of a device's ops, in their order, and the number of places. A done closes the op that its expression names, or
/// else the one of its own name with `-start`.
pub(super) fn of(kind: DeviceKind, ops: &[(OpMeta<'_>, Cow<'_, str>)]) -> (Vec<Part>, usize) {
    let mut places: FxHashMap<(Option<u64>, &str), usize> = FxHashMap::default();
    let mut parts = vec![Part::default(); ops.len()];
    // On a GPU the kernel of a start is the transfer itself, and nothing stands for its done.
    let is_tpu = kind == DeviceKind::Tpu;
    for (part, (op, _)) in parts.iter_mut().zip(ops) {
        let opens = is_tpu && (is_part(op, "-start") || is_part(op, "-update"));
        if opens {
            let next = places.len();
            part.opens = Some(*places.entry((op.program_id, &op.name)).or_insert(next));
        }
        let is_asynchronous = opens || (is_tpu && is_part(op, "-done"));
        part.is_join = !is_asynchronous && Class::of(op) == Class::Communication && !is_point_to_point(op);
    }
    for (part, (op, _)) in parts.iter_mut().zip(ops) {
        if is_tpu && (is_part(op, "-done") || is_part(op, "-update")) {
            let place = |name: &str| places.get(&(op.program_id, name)).copied();
            let named = operands(&op.expression).find_map(place);
            part.closes = named.or_else(|| place(&op.name.replacen("-done", "-start", 1)));
        }
    }
    (parts, places.len())
}

/// Sends and receives have no group of which all would wait.
fn is_point_to_point(op: &OpMeta<'_>) -> bool {
    matches!(op.category.as_ref(), "send" | "recv" | "memcpy")
}
