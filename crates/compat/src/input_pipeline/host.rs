//! What the host did for input: ops of input pipelines by category.

use haloscope_event_groups::framework_op::FrameworkOp;
use haloscope_profile::{EventMeta, HostId, PlaneKind, Profile};

use crate::db::{self, Db, Row};
use crate::gviz::{DataTable, Kind};
use crate::steps::stat::fixed;

/// What an op of an input pipeline does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    /// Sends data to the device.
    Enqueue,
    /// Reads files when asked for.
    DemandedRead,
    /// Reads files ahead.
    AdvancedRead,
    /// Changes data.
    Preprocessing,
    /// Something else.
    Unknown,
}

impl Category {
    /// The category of an op, if it is one of input. Stages of JAX's pipelines state it; of `tf.data` the name tells it.
    fn from_op(name: &str, kind: &str) -> Option<Self> {
        match kind.to_ascii_lowercase().as_str() {
            "enqueue" => return Some(Self::Enqueue),
            "read" => return Some(Self::DemandedRead),
            "preprocessing" => return Some(Self::Preprocessing),
            "unknown" => return Some(Self::Unknown),
            _ => {}
        }
        if kind.starts_with(INFEED) || kind.starts_with("MemcpyHToD") {
            return Some(Self::Enqueue);
        }
        if kind != "Dataset" {
            return None;
        }
        const READERS: [&str; 6] =
            ["::TFRecord", "::TextLine", "::FixedLengthRecord", "::SSTable", "::RecordIO", "::ArrayRecord"];
        const AHEAD: [&str; 5] =
            ["::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap"];
        Some(if !READERS.iter().any(|reader| name.ends_with(reader)) {
            Self::Preprocessing
        } else if AHEAD.iter().any(|stage| name.contains(stage)) {
            Self::AdvancedRead
        } else {
            Self::DemandedRead
        })
    }

    fn label(self) -> &'static str {
        match self {
            Self::Enqueue => "Enqueue",
            Self::DemandedRead => "Demanded file read",
            Self::AdvancedRead => "Advanced file read",
            Self::Preprocessing => "Preprocessing",
            Self::Unknown => "Unknown",
        }
    }
}

/// Time on the host by category, microseconds. Beside enqueueing it is scaled to the time that enqueueing leaves of a
/// step, where that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct InputTimes {
    pub(crate) enqueue: f64,
    pub(crate) demanded_read: f64,
    pub(crate) advanced_read: f64,
    pub(crate) preprocessing: f64,
    pub(crate) unclassified: f64,
}

impl InputTimes {
    /// True if an input pipeline that the profiler knows was at work.
    pub(crate) fn has_pipeline(&self) -> bool {
        self.demanded_read > 0.0 || self.advanced_read > 0.0 || self.preprocessing > 0.0
    }

    /// Time beside enqueueing.
    pub(crate) fn others(&self) -> f64 {
        self.demanded_read + self.advanced_read + self.preprocessing + self.unclassified
    }
}

/// The host's part of the analysis.
#[derive(Debug, Default)]
pub(crate) struct HostInput {
    pub(crate) table: DataTable,
    pub(crate) times: InputTimes,
}

/// Analyses the host's ops. `transfer_share` is the share of a step in which the host sends data to the device, as far as
/// it is known from the steps.
pub(super) fn analyse(profile: &Profile, hosts: &[HostId], transfer_share: f64) -> HostInput {
    let ops = db::host_ops(profile, hosts);
    let has_infeed = ops.rows.iter().any(|op| op.category.starts_with(INFEED));
    let share = if has_infeed { enqueue_share(profile, hosts) } else { None };
    of_ops(&ops, share.unwrap_or(transfer_share))
}

/// The type of TensorFlow ops that send data to a TPU's infeed.
const INFEED: &str = "InfeedEnqueue";

/// The share of the time in which threads enqueue infeed: of each op but a thread's last, over the time to the next one.
fn enqueue_share(profile: &Profile, hosts: &[HostId]) -> Option<f64> {
    let (mut enqueueing, mut all) = (0_i64, 0_i64);
    for host in hosts {
        let Some(plane) = profile.planes_of(*host).find(|p| p.kind == PlaneKind::Host) else { continue };
        let source = profile.source_of(plane);
        let is_infeed = |meta: &EventMeta| {
            let name = source.text(meta.name);
            FrameworkOp::parse(&name).kind.starts_with(INFEED)
        };
        let metas: Vec<bool> = plane.metas.iter().map(is_infeed).collect();
        for line in profile.lines_of(plane.id) {
            let events = profile.events(line);
            let infeed: Vec<_> = events.iter().filter(|e| metas[e.meta as usize]).collect();
            for pair in infeed.windows(2) {
                enqueueing = enqueueing.saturating_add(pair[0].end_ps - pair[0].start_ps);
                all = all.saturating_add(pair[1].start_ps - pair[0].start_ps);
            }
        }
    }
    (all > 0).then(|| enqueueing as f64 / all as f64)
}

fn of_ops(ops: &Db<'_>, share: f64) -> HostInput {
    let sorted = ops.sorted().into_iter();
    let input: Vec<(&Row<'_>, Category)> =
        sorted.filter_map(|op| Some((op, Category::from_op(&op.name, &op.category)?))).collect();
    let all_ps: u64 = input.iter().map(|(op, _)| op.self_ps).sum();
    let mut table = table();
    for (op, category) in &input {
        let part = |ps: u64| if all_ps > 0 { ps as f64 / all_ps as f64 } else { 0.0 };
        table.row([
            (&*op.name).into(),
            (op.occurrences as f64).into(),
            (op.time_ps as f64 / 1e9).into(),
            part(op.time_ps).into(),
            (op.self_ps as f64 / 1e9).into(),
            part(op.self_ps).into(),
            category.label().into(),
        ]);
    }
    let times = times(&input, share.min(1.0));
    for (key, us) in [
        ("enqueue_us", times.enqueue),
        ("demanded_file_read_us", times.demanded_read),
        ("advanced_file_read_us", times.advanced_read),
        ("preprocessing_us", times.preprocessing),
        ("unclassified_nonequeue_us", times.unclassified),
    ] {
        table.prop(key, fixed(us, 3));
    }
    HostInput { table, times }
}

fn table() -> DataTable {
    DataTable::new(&[
        ("opName", Kind::String, "Input Op"),
        ("count", Kind::Number, "Count"),
        ("timeInMs", Kind::Number, "Total Time (in ms)"),
        ("timeInPercent", Kind::Number, "Total Time (as % of total input-processing time)"),
        ("selfTimeInMs", Kind::Number, "Total Self Time (in ms)"),
        ("selfTimeInPercent", Kind::Number, "Total Self Time (as % of total input-processing time)"),
        ("category", Kind::String, "Category"),
    ])
}

fn times(input: &[(&Row<'_>, Category)], share: f64) -> InputTimes {
    let of = |wanted| -> f64 {
        let ps = input.iter().filter(|(_, c)| *c == wanted).map(|(op, _)| op.self_ps as f64 / 1e6);
        ps.fold(0.0, |a, b| a + b)
    };
    let enqueue = of(Category::Enqueue);
    let parts = [Category::DemandedRead, Category::AdvancedRead, Category::Preprocessing].map(of);
    let total = parts[0] + parts[1] + parts[2];
    let others = if share == 0.0 { total } else { enqueue * (1.0 - share) / share };
    let scaled = parts.map(|part| if total > 0.0 { others * part / total } else { 0.0 });
    InputTimes {
        enqueue,
        demanded_read: scaled[0],
        advanced_read: scaled[1],
        preprocessing: scaled[2],
        unclassified: (others - scaled[0] - scaled[1] - scaled[2]).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_of_ops() {
        assert_eq!(
            Category::from_op("Iterator::Model::Prefetch::TFRecord", "Dataset"),
            Some(Category::AdvancedRead)
        );
        assert_eq!(Category::from_op("Iterator::Model::TFRecord", "Dataset"), Some(Category::DemandedRead));
        assert_eq!(Category::from_op("Iterator::Model::Map", "Dataset"), Some(Category::Preprocessing));
        assert_eq!(Category::from_op("ArrayRecordDataSource::Read", "READ"), Some(Category::DemandedRead));
        assert_eq!(Category::from_op("queue/enqueue", "InfeedEnqueueTuple"), Some(Category::Enqueue));
        assert_eq!(Category::from_op("model/MatMul", "MatMul"), None);
    }

    #[test]
    fn times_are_scaled_to_what_enqueueing_leaves() {
        let db = |ops: &[(&'static str, &'static str, u64)]| {
            let mut db = Db::default();
            for (name, category, us) in ops {
                let ps = us * 1_000_000;
                let (name, category) = ((*name).into(), (*category).into());
                db.add(Row { name, category, occurrences: 1, time_ps: ps, self_ps: ps, ..Row::default() });
            }
            db
        };
        let ops = [("a", "enqueue", 10), ("b", "read", 30), ("c", "preprocessing", 10), ("d", "MatMul", 99)];
        let all = of_ops(&db(&ops), 0.0).times;
        assert_eq!((all.enqueue, all.demanded_read, all.preprocessing), (10.0, 30.0, 10.0));
        let scaled = of_ops(&db(&ops), 0.2).times;
        assert_eq!((scaled.demanded_read, scaled.preprocessing, scaled.unclassified), (30.0, 10.0, 0.0));
        let half = of_ops(&db(&ops), 0.5).times;
        assert_eq!((half.demanded_read, half.preprocessing), (7.5, 2.5));
        let unclassified = of_ops(&db(&ops[..1]), 0.2).times;
        assert_eq!((unclassified.unclassified, unclassified.has_pipeline()), (40.0, false));
    }
}
