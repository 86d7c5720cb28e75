//! Links: the arrows of a timeline, from the event that causes to the one that is caused.

use super::connect::{kind, mix};
use super::facts::Facts;

/// Which end of an arrow an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Neither, which a damaged file may say.
    None,
    /// The arrow ends here.
    In,
    /// The arrow starts here.
    Out,
    /// One ends and one starts here.
    Through,
}

/// An event's end of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// What the ends have in common; 52 bits, which every reader of JSON keeps.
    pub id: u64,
    /// Which end it is.
    pub direction: Direction,
    /// What kind of context is passed, as the profiler numbers them; 0 for none in particular.
    pub category: u8,
    /// True for an event that goes on beside others of its line.
    pub is_async: bool,
}

/// Bits of [`Link::id`].
const ID_BITS: u64 = (1 << 52) - 1;

impl Link {
    /// The link of an event with these facts. An event shows one only: what it consumes before what it produces, before a
    /// GPU launch, before what the profiler drew.
    pub(super) fn of(facts: &Facts, host: u64, is_host_plane: bool) -> Option<Self> {
        let link = |parts: &[u64], direction, category: i64| Self {
            id: mix(parts) & ID_BITS,
            direction,
            category: category as u8,
            is_async: facts.is_async,
        };
        let context = |number: i64| if (0..=kind::LAST).contains(&number) { number } else { 0 };
        let passed = |kind: Option<i64>, id: Option<u64>, direction| {
            let kind = context(kind?);
            Some(link(&[host, id?, kind as u64], direction, kind))
        };
        passed(facts.consumer_type, facts.consumer_id, Direction::In)
            .or_else(|| passed(facts.producer_type, facts.producer_id, Direction::Out))
            .or_else(|| {
                let direction = if is_host_plane { Direction::Out } else { Direction::In };
                Some(link(&[host, facts.correlation_id?], direction, kind::GPU_LAUNCH))
            })
            .or_else(|| Self::drawn(facts))
    }

    /// The link that the profiler drew: two bits of direction, 56 of id, 6 of kind.
    pub(super) fn drawn(facts: &Facts) -> Option<Self> {
        let bits = facts.flow?;
        let direction =
            [Direction::None, Direction::In, Direction::Out, Direction::Through][(bits & 3) as usize];
        let id = (bits >> 2) & ((1 << 56) - 1);
        let category = (bits >> 58) as u8;
        let category = if i64::from(category) > kind::LAST { 0 } else { category };
        Some(Self { id: id & ID_BITS, direction, category, is_async: facts.is_async })
    }
}

/// How the profiler's page calls a kind of context; empty for those without a name.
#[must_use]
pub fn category_name(category: u8) -> &'static str {
    const NAMES: [&str; 18] = [
        "",
        "",
        "tf_exec",
        "tfrt_exec",
        "batch_sched",
        "PjRt",
        "as_batch_sched",
        "tfrt_rt",
        "tpu_embed",
        "gpu_launch",
        "batcher",
        "tpu_stream",
        "tpu_launch",
        "pathways_exec",
        "pjrt_library_call",
        "threadpool_event",
        "jax_serving",
        "sparsecore_offload",
    ];
    NAMES.get(usize::from(category)).copied().unwrap_or_default()
}
