//! What slices are coloured by: the category, the program or the time class of the op that an event is.

use std::sync::{OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::label;
use super::line_ops::LineOps;
use super::texts::{NO_TEXT, Texts};
use haloscope_event_groups::framework_op::{Framework, FrameworkOp};
use haloscope_profile::{Events, Line, LineKind, Mark, MetaIdx, Peaks, Plane, Profile, split_label};
use haloscope_time::account::limit_of;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_readers::{EventNames, EventOps};
use haloscope_time::ops::Op;

/// The category of a host's work on input.
const INPUT: &str = "input";

/// What slices are coloured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The HLO category as `ops` names it; on host threads the sort of event, where its name says it.
    Category,
    /// The HLO module.
    Module,
    /// The class of time as `overview` and `steps` have them.
    Class,
}

impl Colour {
    /// The words of all.
    pub const WORDS: [&str; 3] = ["category", "module", "class"];

    /// The colour of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "category" => Some(Self::Category),
            "module" => Some(Self::Module),
            "class" => Some(Self::Class),
            _ => None,
        }
    }
}

/// What is known of an op or event for colouring it.
/// Numbers of [`Texts`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    category: u32,
    module: u32,
    class: u32,
}

impl Default for Paint {
    fn default() -> Self {
        Self { category: NO_TEXT, module: NO_TEXT, class: NO_TEXT }
    }
}

impl Paint {
    /// The number of the text that a slice is coloured by, or [`NO_TEXT`].
    pub(super) fn get(self, colour: Colour) -> u32 {
        match colour {
            Colour::Category => self.category,
            Colour::Module => self.module,
            Colour::Class => self.class,
        }
    }

    /// Of an op and the name of its program.
    fn of_op(meta: OpMeta<'_>, module: &str, peaks: &Peaks, texts: &Texts) -> Self {
        // The class is a matter of the ratio of FLOPs to bytes: that of one execution is that of all.
        let op = Op { flops: meta.flops, hbm_bytes: meta.hbm_bytes, total_ps: 1, meta, ..Op::default() };
        Self {
            category: texts.number(&op.meta.category),
            module: texts.number(module),
            class: texts.number(limit_of(&op, peaks).unwrap_or("unknown")),
        }
    }

    fn of_category(category: &str, texts: &Texts) -> Self {
        Self { category: texts.number(category), ..Self::default() }
    }
}

/// The paints of a run, found when a slice first needs them.
#[derive(Debug)]
pub(super) struct Colours {
    planes: Vec<OnceLock<PlanePaints>>,
}

/// Paints by the op's program and name.
type OfOps = FxHashMap<Option<u64>, FxHashMap<Box<str>, Paint>>;

/// By metadata row, and where events name their ops themselves by program and name.
#[derive(Debug)]
struct PlanePaints {
    of_meta: Vec<OnceLock<Paint>>,
    of_op: RwLock<OfOps>,
}

impl Colours {
    pub(super) fn of(profile: &Profile) -> Self {
        Self { planes: profile.planes.iter().map(|_| OnceLock::new()).collect() }
    }

    /// What finds the paints of a line's events.
    pub(super) fn painter<'c>(
        &'c self,
        profile: &'c Profile,
        line: &'c Line,
        texts: &'c Texts,
    ) -> Painter<'c> {
        let plane = profile.plane(line.plane);
        let paints = self.planes[line.plane.index()].get_or_init(|| PlanePaints {
            of_meta: plane.metas.iter().map(|_| OnceLock::new()).collect(),
            of_op: RwLock::default(),
        });
        Painter {
            profile,
            plane,
            line,
            texts,
            events: profile.events(line),
            paints,
            ops: LineOps::of(profile, line),
        }
    }
}

/// Finds the paints of a line's events.
pub(super) struct Painter<'c> {
    profile: &'c Profile,
    plane: &'c Plane,
    line: &'c Line,
    texts: &'c Texts,
    events: &'c Events,
    paints: &'c PlanePaints,
    ops: LineOps<'c>,
}

impl<'c> Painter<'c> {
    /// Whether all events of a metadata row have the same paint.
    pub(super) fn is_by_meta(&self) -> bool {
        self.plane.kind.is_device() && !self.ops.differ_within_meta()
    }

    /// The paint of an event.
    pub(super) fn of(&self, event: usize) -> Paint {
        if let Some((ops, names)) = self.ops.names(self.events, event) {
            return self.of_op(ops, names);
        }
        if !self.is_by_meta() && self.events.has(event, Mark::Step) {
            return Paint::of_category("step", self.texts);
        }
        if !self.is_by_meta() && self.events.has(event, Mark::InputStage) {
            return Paint::of_category(INPUT, self.texts);
        }
        self.by_meta(self.events.metas()[event])
    }

    /// The paint of events with this metadata, where it says so.
    #[inline]
    pub(super) fn by_meta(&self, meta: MetaIdx) -> Paint {
        *self.paints.of_meta[meta as usize].get_or_init(|| self.of_meta(meta))
    }

    fn of_op(&self, ops: &EventOps<'c>, names: EventNames<'c>) -> Paint {
        let of_op = self.paints.of_op.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(paint) = of_op.get(&names.program_id).and_then(|ops| ops.get(&*names.op)) {
            return *paint;
        }
        drop(of_op);
        let (program_id, name) = (names.program_id, Box::from(&*names.op));
        let (meta, module) = ops.op(names);
        let paint = Paint::of_op(meta, &module, &self.peaks(), self.texts);
        let mut of_op = self.paints.of_op.write().unwrap_or_else(PoisonError::into_inner);
        of_op.entry(program_id).or_default().insert(name, paint);
        paint
    }

    fn peaks(&self) -> Peaks {
        self.ops.device.map(|d| d.peaks).unwrap_or_default()
    }

    fn of_meta(&self, meta: MetaIdx) -> Paint {
        if self.line.kind == LineKind::XlaModules {
            let label = label(self.profile, self.plane, meta);
            return Paint { module: self.texts.number(split_label(&label).0), ..Paint::default() };
        }
        if self.plane.kind.is_device() {
            let op = self.ops.of_meta(self.events, meta);
            return op
                .map(|(op, module)| Paint::of_op(op, &module, &self.peaks(), self.texts))
                .unwrap_or_default();
        }
        Paint::of_category(self.host_category(meta).unwrap_or_default(), self.texts)
    }

    /// What an event that is no op is by its name.
    fn host_category(&self, meta: MetaIdx) -> Option<&'static str> {
        let name = label(self.profile, self.plane, meta);
        // The Python tracer begins names with a dollar sign: `$train.py:12 step`.
        if name.starts_with('$') {
            return Some("python");
        }
        match FrameworkOp::parse(&name).framework {
            Framework::TfData => Some(INPUT),
            Framework::TensorFlow => Some("TensorFlow op"),
            Framework::Jax => Some("JAX op"),
            Framework::Copy => Some("memcpy"),
            Framework::Unknown => None,
        }
    }
}
