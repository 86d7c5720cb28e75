//! Planes: a device or a host, with the tables that give ids a name.

use std::borrow::Cow;
use std::ops::Range;

use haloscope_xspace::{EventMetadataView, StatValue, Stats};
use rustc_hash::FxHashMap;

use super::{HostId, PlaneId, Source, Span};

/// What a plane holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlaneKind {
    /// `/device:TPU:N`: a TensorCore.
    Tpu,
    /// `/device:TPU:N SparseCore M`.
    SparseCore,
    /// `/device:GPU:N`.
    Gpu,
    /// `/device:CUSTOM:…`, `#Chip…` and other device planes.
    OtherDevice,
    /// `/host:CPU`: threads.
    Host,
    /// `/host:metadata`: HLO modules and versions.
    Metadata,
    /// `Task Environment`: when the capture started and stopped.
    TaskEnvironment,
    /// Other host planes (API calls, Python tracer, scope ranges).
    OtherHost,
}

/// Position of an event metadata entry in [`Plane::metas`].
pub type MetaIdx = u32;

/// Key of a stat's name in a plane. Only comparable within that plane.
pub type StatId = i64;

/// One event metadata entry: what an event's `metadata_id` stands for.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventMeta {
    /// Its key.
    pub id: i64,
    /// `name`; the whole HLO expression on TPU ops.
    pub name: Span,
    /// `display_name`; the instruction's name on TPU ops.
    pub display_name: Span,
    pub(super) body: Span,
}

/// A fact about a plane.
#[derive(Debug, Clone, PartialEq)]
pub enum Stat {
    /// A number.
    Number(f64),
    /// A whole number.
    Int(i64),
    /// Words.
    Text(String),
    /// Bytes of another message.
    Bytes(Span),
}

/// One plane of a file.
#[derive(Debug)]
pub struct Plane {
    /// Its row in [`super::Profile::planes`].
    pub id: PlaneId,
    /// The id that the profiler gave it.
    pub wire_id: i64,
    /// The host it belongs to.
    pub host: HostId,
    /// The file it stands in: a row of [`super::Profile::sources`].
    pub source: usize,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: PlaneKind,
    /// The number behind the last colon of the name, as in `/device:TPU:3`.
    pub ordinal: Option<u32>,
    /// Rows of [`super::Profile::lines`].
    pub lines: Range<usize>,
    /// Event metadata. The first entry is an empty one, for events whose metadata is missing.
    pub metas: Vec<EventMeta>,
    /// Facts about the plane, by name.
    pub stats: Vec<(String, Stat)>,
    pub(super) meta_of: FxHashMap<i64, MetaIdx>,
    pub(super) stat_names: FxHashMap<StatId, Span>,
    pub(super) stat_ids: FxHashMap<Vec<u8>, StatId>,
}

impl PlaneKind {
    /// The kind of a plane with this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        match name {
            _ if numbered("/device:TPU:") => Self::Tpu,
            _ if name.starts_with("/device:TPU:") && name.contains("SparseCore") => Self::SparseCore,
            _ if numbered("/device:GPU:") => Self::Gpu,
            _ if name.starts_with("/device:") || name.starts_with("#Chip") => Self::OtherDevice,
            _ if name.starts_with("/virtualdevice:") => Self::OtherDevice,
            "/host:CPU" => Self::Host,
            "/host:metadata" => Self::Metadata,
            "Task Environment" => Self::TaskEnvironment,
            _ => Self::OtherHost,
        }
    }

    /// True for planes of devices.
    #[must_use]
    pub fn is_device(self) -> bool {
        matches!(self, Self::Tpu | Self::SparseCore | Self::Gpu | Self::OtherDevice)
    }
}

impl Plane {
    /// The row of an event metadata id; 0, the empty entry, if it has none.
    #[inline]
    #[must_use]
    pub fn meta_index(&self, id: i64) -> MetaIdx {
        // Writers number metadata from 1 in file order as a rule; the map is for those that do not.
        match self.metas.get(id as usize) {
            Some(meta) if meta.id == id && id > 0 => id as MetaIdx,
            _ => self.meta_of.get(&id).copied().unwrap_or(0),
        }
    }

    /// The key of a stat name on this plane, if the plane has it.
    #[must_use]
    pub fn stat_id(&self, name: &str) -> Option<StatId> {
        self.stat_ids.get(name.as_bytes()).copied()
    }

    /// The name of a stat key.
    #[must_use]
    pub fn stat_name<'a>(&self, source: &'a Source, id: StatId) -> Cow<'a, str> {
        self.stat_names.get(&id).map_or(Cow::Borrowed(""), |span| source.text(*span))
    }

    /// A fact about the plane.
    #[must_use]
    pub fn stat(&self, name: &str) -> Option<&Stat> {
        self.stats.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The name under which people know an event: its `display_name`, else its `name`.
    #[must_use]
    pub fn meta_label<'a>(&self, source: &'a Source, meta: MetaIdx) -> Cow<'a, str> {
        let meta = &self.metas[meta as usize];
        source.text(if meta.display_name.len > 0 { meta.display_name } else { meta.name })
    }

    /// The stats of an event metadata entry.
    #[must_use]
    pub fn meta_stats<'a>(&self, source: &'a Source, meta: MetaIdx) -> Stats<'a> {
        self.meta_view(source, meta).stats()
    }

    /// An event metadata entry, read again.
    #[must_use]
    pub fn meta_view<'a>(&self, source: &'a Source, meta: MetaIdx) -> EventMetadataView<'a> {
        let span = self.metas[meta as usize].body;
        EventMetadataView::new(source.slice(span), span.at)
    }

    /// The words of a stat: a string, a reference to one, or a compressed one.
    #[must_use]
    pub fn text<'a>(&self, source: &'a Source, value: StatValue<'a>) -> Option<Cow<'a, str>> {
        /// More than any name or expression; less than what a hostile file could ask for.
        const LIMIT: u64 = 64 << 20;
        /// Texts pack to a tenth or so; a short one is unpacked whatever it packs to.
        const TIMES: u64 = 200;
        const SHORT: u64 = 64 << 10;
        match value {
            StatValue::Str(bytes) => Some(String::from_utf8_lossy(bytes)),
            StatValue::Ref(id) => Some(self.stat_name(source, id as i64)),
            StatValue::Compressed(bytes) => {
                let limit = (bytes.len() as u64).saturating_mul(TIMES).clamp(SHORT, LIMIT);
                let text = StatValue::unzip(bytes, limit).ok()?;
                Some(Cow::Owned(String::from_utf8_lossy(&text).into_owned()))
            }
            _ => None,
        }
    }
}

impl Stat {
    /// The number, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(v) => Some(*v),
            Self::Int(v) => Some(*v as f64),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// The words, if it has some.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(v) => Some(v),
            _ => None,
        }
    }
}
