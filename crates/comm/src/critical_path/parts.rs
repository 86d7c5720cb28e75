//! What each op is to asynchronous operations and to collectives.

use std::borrow::Cow;

use haloscope_profile::DeviceKind;
use haloscope_time::account::Class;
use haloscope_time::async_parts::{self, Parts};
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

/// The parts of a device's ops, in their order, and the number of places.
pub(super) fn of(kind: DeviceKind, ops: &[(OpMeta<'_>, Cow<'_, str>)]) -> (Vec<Part>, usize) {
    // On a GPU the kernel of a start is the transfer itself, and nothing stands for its done.
    let is_tpu = kind == DeviceKind::Tpu;
    let asynchronous = ops.iter().map(|(op, _)| op).enumerate().filter(|_| is_tpu);
    let linked = Parts::among(ops.len(), asynchronous);
    let part = |((op, _), part): (&(OpMeta<'_>, Cow<'_, str>), &async_parts::Part)| {
        let is_asynchronous = part.opens.is_some() || part.ends;
        let is_join = !is_asynchronous && Class::of(op) == Class::Communication && !is_point_to_point(op);
        Part { opens: part.opens, closes: part.closes, is_join }
    };
    (ops.iter().zip(&linked.of_meta).map(part).collect(), linked.places)
}

/// Sends and receives have no group of which all would wait.
fn is_point_to_point(op: &OpMeta<'_>) -> bool {
    matches!(op.category.as_ref(), "send" | "recv" | "memcpy")
}
