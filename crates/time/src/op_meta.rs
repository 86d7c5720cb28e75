//! What the profiler says of an HLO op once, on its metadata: category, FLOPs, bytes, names.

use std::borrow::Cow;

use haloscope_xspace::{StatValue, wire};

use crate::pallas::{Pallas, Stated};

use crate::roofline::Work;
use haloscope_profile::{Plane, Source};

/// What is known of an op. Texts borrow from the profile.
#[derive(Debug, Clone, Default)]
pub struct OpMeta<'a> {
    /// The instruction's name.
    pub name: Cow<'a, str>,
    /// The HLO expression, where the profiler wrote it.
    pub expression: Cow<'a, str>,
    /// `hlo_category`, such as `convolution fusion`.
    pub category: Cow<'a, str>,
    /// The program that the op belongs to.
    pub program_id: Option<u64>,
    /// Its number within the program, which TPU profilers give; 0 stands for the program itself.
    pub symbol_id: Option<u64>,
    /// `tf_op` without the colon that stands where an op type would follow: the framework's scope path.
    pub framework_op: Cow<'a, str>,
    /// `tf_op` as the profiler wrote it: the framework's scope path and, behind the last colon, its op type.
    pub tf_op: Cow<'a, str>,
    /// `source`: file and line.
    pub source: Cow<'a, str>,
    /// `source_stack`: the call stack, one frame a line.
    pub source_stack: Cow<'a, str>,
    /// `deduplicated_name`: what identical ops share.
    pub deduplicated_name: Cow<'a, str>,
    /// `flops` of one execution, as the compiler counts them for the device.
    pub flops: Option<f64>,
    /// `model_flops` of one execution: those of the operation as written.
    pub model_flops: Option<f64>,
    /// `bytes_accessed` of one execution, all memories.
    pub bytes: Option<f64>,
    /// Bytes of one execution read from and written to HBM: [`OpMeta::accesses`] with memory space 1; all bytes where
    /// there are none.
    pub hbm_bytes: Option<f64>,
    /// `memory_access_breakdown`: bytes of one execution by direction and memory.
    pub accesses: Vec<Access>,
    /// True where the FLOPs are not the op's metadata's but means over its events.
    pub flops_from_events: bool,
    /// The same for bytes.
    pub bytes_from_events: bool,
    /// Of a Pallas kernel whose module is in the profile: FLOPs and bytes above are the module's, where it says them, and what
    /// the profiler states stands here.
    pub pallas: Option<Pallas>,
}

/// Bytes that one execution of an op reads from, or writes to, one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// [`Access::READ`], [`Access::WRITE`] or another number of the profiler's.
    pub operation: u64,
    /// [`Access::HBM`], [`Access::CMEM`], [`Access::VMEM`] or another number of the profiler's.
    pub space: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Access {
    /// Operation: read.
    pub const READ: u64 = 1;
    /// Operation: write.
    pub const WRITE: u64 = 2;
    /// Memory space: the device's main memory.
    pub const HBM: u64 = 1;
    /// Memory space: the memory that some chips have between HBM and VMEM.
    pub const CMEM: u64 = 2;
    /// Memory space: the core's vector memory.
    pub const VMEM: u64 = 3;
}

impl<'a> OpMeta<'a> {
    /// FLOPs and bytes as the profiler states them, whatever else is known.
    #[must_use]
    pub fn stated(&self) -> Stated {
        match &self.pallas {
            Some(kernel) => kernel.stated,
            None => Stated { flops: self.flops, model_flops: self.model_flops, bytes: self.bytes },
        }
    }

    /// Work of this op that took `time_ps` picoseconds, to hold against the roofline. Without FLOPs and bytes for the start and
    /// done of asynchronous ops, whose transfer takes another time than theirs.
    #[must_use]
    pub fn work(&self, time_ps: i64, flops: Option<f64>, hbm_bytes: Option<f64>) -> Work {
        let known = !is_asynchronous(&self.category) && !is_async_collective(&self.name);
        let only = |v: Option<f64>| v.filter(|_| known);
        Work { time_ps: time_ps as f64, flops: only(flops), hbm_bytes: only(hbm_bytes) }
    }

    /// Reads an event metadata entry of a TPU plane.
    #[must_use]
    pub fn read(plane: &Plane, source: &'a Source, meta: u32, ids: &MetaIds) -> Self {
        let entry = &plane.metas[meta as usize];
        let mut op = Self { name: plane.meta_label(source, meta), ..Self::default() };
        if entry.display_name.len > 0 {
            op.expression = source.text(entry.name);
        }
        for stat in plane.meta_stats(source, meta) {
            let (id, Some(value)) = (Some(stat.metadata_id), stat.value) else { continue };
            let text = || plane.text(source, value).unwrap_or_default();
            if id == ids.category {
                op.category = text();
            } else if id == ids.program_id {
                op.program_id = value.as_u64_bits();
            } else if id == ids.symbol_id {
                op.symbol_id = value.as_u64_bits();
            } else if id == ids.framework_op {
                op.tf_op = text();
                op.framework_op = without_colon(op.tf_op.clone());
            } else if id == ids.source {
                op.source = text();
            } else if id == ids.source_stack {
                op.source_stack = text();
            } else if id == ids.deduplicated_name {
                op.deduplicated_name = text();
            } else if id == ids.flops {
                op.flops = value.as_f64();
            } else if id == ids.model_flops {
                op.model_flops = value.as_f64();
            } else if id == ids.bytes {
                op.bytes = value.as_f64();
            } else if id == ids.breakdown
                && let StatValue::Bytes(bytes) = value
            {
                op.accesses = accesses(bytes);
            }
        }
        op.hbm_bytes = hbm_bytes(&op.accesses).or(op.bytes);
        op
    }

    /// The category alone of an event metadata entry of a TPU plane.
    #[must_use]
    pub fn read_category(plane: &Plane, source: &'a Source, meta: u32, ids: &MetaIds) -> Cow<'a, str> {
        let Some(id) = ids.category else { return Cow::default() };
        let stats = plane.meta_stats(source, meta).filter(|stat| stat.metadata_id == id);
        let text = stats.filter_map(|stat| stat.value).last().and_then(|value| plane.text(source, value));
        text.unwrap_or_default()
    }

    /// The same with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> OpMeta<'static> {
        OpMeta {
            name: owned(self.name),
            expression: owned(self.expression),
            category: owned(self.category),
            framework_op: owned(self.framework_op),
            tf_op: owned(self.tf_op),
            source: owned(self.source),
            source_stack: owned(self.source_stack),
            deduplicated_name: owned(self.deduplicated_name),
            ..self
        }
    }

    /// The same with texts borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> OpMeta<'_> {
        let Self { name, expression, category, framework_op, tf_op, source, source_stack, .. } = self;
        OpMeta {
            name: Cow::Borrowed(name),
            expression: Cow::Borrowed(expression),
            category: Cow::Borrowed(category),
            program_id: self.program_id,
            symbol_id: self.symbol_id,
            framework_op: Cow::Borrowed(framework_op),
            tf_op: Cow::Borrowed(tf_op),
            source: Cow::Borrowed(source),
            source_stack: Cow::Borrowed(source_stack),
            deduplicated_name: Cow::Borrowed(&self.deduplicated_name),
            flops: self.flops,
            model_flops: self.model_flops,
            bytes: self.bytes,
            hbm_bytes: self.hbm_bytes,
            accesses: self.accesses.clone(),
            flops_from_events: self.flops_from_events,
            bytes_from_events: self.bytes_from_events,
            pallas: self.pallas.clone(),
        }
    }
}

/// A text that borrows from nothing.
pub(super) fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// Without the colon that stands where an op type would follow.
fn without_colon(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(t) => Cow::Borrowed(t.trim_end_matches(':')),
        Cow::Owned(t) => Cow::Owned(t.trim_end_matches(':').to_owned()),
    }
}

/// Keys of the stats that [`OpMeta`] reads, on one plane.
#[derive(Debug, Clone, Copy, Default)]
pub struct MetaIds {
    category: Option<i64>,
    program_id: Option<i64>,
    symbol_id: Option<i64>,
    framework_op: Option<i64>,
    source: Option<i64>,
    source_stack: Option<i64>,
    deduplicated_name: Option<i64>,
    pub(super) flops: Option<i64>,
    pub(super) model_flops: Option<i64>,
    pub(super) bytes: Option<i64>,
    breakdown: Option<i64>,
}

impl MetaIds {
    /// The keys on a plane.
    #[must_use]
    pub fn of(plane: &Plane) -> Self {
        Self {
            category: plane.stat_id("hlo_category"),
            program_id: plane.stat_id("program_id"),
            symbol_id: plane.stat_id("symbol_id"),
            framework_op: plane.stat_id("tf_op"),
            source: plane.stat_id("source"),
            source_stack: plane.stat_id("source_stack"),
            deduplicated_name: plane.stat_id("deduplicated_name"),
            flops: plane.stat_id("flops"),
            model_flops: plane.stat_id("model_flops"),
            bytes: plane.stat_id("bytes_accessed"),
            breakdown: plane.stat_id("memory_access_breakdown"),
        }
    }
}

/// The entries of a `memory_access_breakdown`: repeated field 1 of {1 operation type, 2 memory space, 3 bytes}. None of
/// a malformed one.
fn accesses(message: &[u8]) -> Vec<Access> {
    let mut all = Vec::new();
    for entry in wire::Fields::new(message, 0).filter(|f| f.number == 1) {
        let wire::Value::Bytes(body) = entry.value else { return Vec::new() };
        let mut access = Access { operation: 0, space: 0, bytes: 0 };
        for field in wire::Fields::new(body, 0) {
            if let wire::Value::Varint(v) = field.value {
                match field.number {
                    1 => access.operation = v,
                    2 => access.space = v,
                    3 => access.bytes = v,
                    _ => {}
                }
            }
        }
        all.push(access);
    }
    all
}

/// Bytes to and from HBM; `None` where nobody said what goes where.
fn hbm_bytes(accesses: &[Access]) -> Option<f64> {
    let hbm = accesses.iter().filter(|a| a.space == Access::HBM).map(|a| a.bytes as f64);
    // Not `sum`, which gives -0 where there is nothing to add.
    (!accesses.is_empty()).then(|| hbm.fold(0.0, |total, bytes| total + bytes))
}

/// True for categories whose events contain other ops: their FLOPs and bytes are those of the ops inside.
#[must_use]
pub fn is_container(category: &str) -> bool {
    matches!(category, "while" | "call" | "conditional")
}

/// True for the start and done of asynchronous operations. The transfer goes on between them, so that its bytes have
/// nothing to do with their time: neither says how near a limit is.
#[must_use]
pub fn is_asynchronous(category: &str) -> bool {
    ["-start", "-done", "-update"].iter().any(|end| category.ends_with(end))
}

/// True for the fusions in which TPU's compiler begins a collective (`async-collective-start`) and waits for its end
/// (`async-collective-done`); their category is `custom fusion`.
#[must_use]
pub fn is_async_collective(name: &str) -> bool {
    name.starts_with("async-collective-start") || name.starts_with("async-collective-done")
}

/// True for collective operations between devices, whatever their form (start, done, fusion, asynchronous wrapper).
#[must_use]
pub fn is_collective(category: &str, name: &str) -> bool {
    const KINDS: [&str; 10] = [
        "all-reduce",
        "all-reduce-scatter",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-permute",
        "collective-broadcast",
        "send",
        "recv",
    ];
    if is_async_collective(name) {
        return true;
    }
    if category.starts_with("async-") {
        // An asynchronous wrapper is named after the op that it wraps: `all-gather-start.3`.
        return KINDS.iter().any(|kind| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-')));
    }
    let base = category.trim_end_matches(" fusion");
    let base = base.strip_suffix("-start").or_else(|| base.strip_suffix("-done")).unwrap_or(base);
    KINDS.contains(&base) || category == "collective kernel"
}

/// True for categories in which the device waits for, or moves data to and from, the host. Off-duty in XProf's terms.
#[must_use]
pub fn is_off_duty(category: &str) -> bool {
    let base = category.strip_suffix("-done").unwrap_or(category);
    matches!(base, "infeed" | "outfeed" | "host send" | "host recv" | "megacore fusion" | "async")
        && category != "async"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_categories() {
        assert!(is_collective("all-reduce", "") && is_collective("all-reduce fusion", ""));
        assert!(is_collective("collective-permute-done", "") && !is_collective("reduce", "reduce.1"));
        assert!(
            is_collective("async-done", "all-gather-done.2") && !is_collective("async-done", "slice-done.2")
        );
        assert!(is_collective("custom fusion", "async-collective-done.1"));
        assert!(is_off_duty("async-done") && !is_off_duty("async-start") && !is_off_duty("copy-done"));
        assert!(is_off_duty("infeed") && is_off_duty("host recv-done"));
        assert!(is_container("while") && !is_container("fusion"));
    }

    #[test]
    fn hbm_bytes_are_those_of_space_1() {
        // Two entries: read 128 from HBM, write 64 to VMEM.
        let message = [10, 7, 8, 1, 16, 1, 24, 0x80, 1, 10, 6, 8, 2, 16, 3, 24, 64];
        let all = accesses(&message);
        assert_eq!(all[1], Access { operation: Access::WRITE, space: Access::VMEM, bytes: 64 });
        assert_eq!(hbm_bytes(&all), Some(128.0));
        assert_eq!(hbm_bytes(&accesses(&[])), None);
    }
}
