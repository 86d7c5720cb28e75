//! Rows that XProf draws above a TPU's ops where the profiler did not write them: the framework's scopes and ops, and the lines of the
//! program, each as long as the ops that it stands for.

use haloscope_event_groups::framework_op::{Framework, FrameworkOp};
use haloscope_profile::{DeviceKind, Event, Events, Line, LineId, LineKind, MetaIdx, Profile};
use haloscope_report::stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::line_ops::LineOps;
use super::op_details::Frame;
use super::texts::{NO_TEXT, Texts};
use super::view::{Piece, View};

/// Runs with more ops than this have no such rows: the rows would take more memory than the ops.
const MOST_OPS: u64 = 2_000_000;
/// A track of more stretches than this, shared among the lines of ops, is left out: what anybody can write as scopes costs no more
/// memory than this.
const MOST_SPANS: usize = 4_000_000;
/// Scopes further in are left out.
const MOST_SCOPES: usize = 40;

/// What such a track shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// The framework's scopes, the outermost at the top.
    Scopes,
    /// The framework's ops.
    FrameworkOps,
    /// File and line.
    Source,
}

impl Shows {
    const ALL: [Self; 3] = [Self::Scopes, Self::FrameworkOps, Self::Source];

    /// As XProf calls the line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scopes => "Framework Name Scope",
            Self::FrameworkOps => "Framework Ops",
            Self::Source => "Source code",
        }
    }
}

/// A track that no line of the profile has.
#[derive(Debug)]
pub(super) struct FrameworkTrack {
    /// Behind those of the lines.
    pub(super) id: LineId,
    /// The line of ops that it is made of.
    pub(super) of: LineId,
    pub(super) shows: Shows,
    rows: Vec<Vec<Span>>,
}

/// One stretch of ops that are about the same thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start_ps: i64,
    pub(super) end_ps: i64,
    /// A number of [`Texts`].
    pub(super) text: u32,
}

/// The tracks of a run, numbered on from its lines.
pub(super) fn of_run(profile: &Profile, texts: &Texts) -> Vec<FrameworkTrack> {
    let lines: Vec<&Line> = profile
        .devices
        .iter()
        .filter(|device| device.kind == DeviceKind::Tpu)
        .flat_map(|device| profile.lines_of(device.plane).filter(|line| line.kind == LineKind::XlaOps))
        .collect();
    if lines.iter().map(|line| line.event_count).sum::<u64>() > MOST_OPS {
        return Vec::new();
    }
    let most = MOST_SPANS / lines.len().max(1);
    let made: Vec<_> =
        lines.par_iter().map(stop::carried(|line: &&Line| rows_of(profile, line, texts, most))).collect();
    let each = lines.iter().zip(made).flat_map(|(line, rows)| {
        Shows::ALL.into_iter().zip(rows).map(|(shows, rows)| (line.id, shows, rows))
    });
    each.filter(|(of, shows, rows)| !rows.is_empty() && !is_recorded(profile, *of, *shows))
        .zip(profile.lines.len() as u32..)
        .map(|((of, shows, rows), id)| FrameworkTrack { id: LineId(id), of, shows, rows })
        .collect()
}

/// Whether the profiler wrote the row itself: then it is a line like others. Some write the line and leave it empty.
fn is_recorded(profile: &Profile, of: LineId, shows: Shows) -> bool {
    let mut beside = profile.lines_of(profile.line(of).plane);
    beside.any(|line| line.name == shows.name() && line.event_count > 0)
}

/// What the ops of one metadata entry are about, as numbers of [`Texts`].
#[derive(Debug, Default, Clone)]
struct About {
    scopes: Vec<u32>,
    /// The whole name, and what is shown of it.
    op: Option<(u32, u32)>,
    source: Option<u32>,
}

impl About {
    fn of(ops: &LineOps<'_>, events: &Events, meta: MetaIdx, texts: &Texts) -> Self {
        let Some((op, _)) = ops.of_meta(events, meta) else { return Self::default() };
        let number = |text: &str| Some(texts.number(text)).filter(|number| *number != NO_TEXT);
        let named = FrameworkOp::parse(&op.tf_op);
        let scoped = matches!(named.framework, Framework::TensorFlow | Framework::Jax);
        Self {
            scopes: named
                .scopes()
                .filter(|scope| scoped && !scope.is_empty())
                .take(MOST_SCOPES)
                .map(|scope| texts.number(scope))
                .collect(),
            op: number(&op.tf_op).zip(number(&named.label())),
            source: number(&op.source),
        }
    }
}

/// The rows of the three tracks over a line of ops; none of a track with more than `most` stretches.
fn rows_of(profile: &Profile, line: &Line, texts: &Texts, most: usize) -> [Vec<Vec<Span>>; 3] {
    let events = profile.events(line);
    let ops = LineOps::of(profile, line);
    let modules = profile.lines_of(line.plane).find(|other| other.kind == LineKind::XlaModules);
    let launches = modules.map_or(&[][..], |modules| profile.events(modules).starts_ps());
    let mut known: FxHashMap<MetaIdx, About> = FxHashMap::default();
    let [mut scopes, mut framework_ops, mut source] = [most; 3].map(Builder::new);
    for event in events.iter() {
        if holds_next(events, &event) {
            continue;
        }
        let about = known.entry(event.meta).or_insert_with(|| About::of(&ops, events, event.meta, texts));
        // What two launches of a program have alike is no one stretch.
        let launch = launches.partition_point(|start_ps| *start_ps <= event.start_ps);
        scopes.add(&about.scopes, &about.scopes, &event, launch);
        if let Some((name, shown)) = about.op {
            framework_ops.add(&[name], &[shown], &event, launch);
        }
        if let Some(place) = about.source {
            source.add(&[place], &[place], &event, launch);
        }
    }
    [scopes.rows, framework_ops.rows, source.rows]
}

/// Whether the next event lies within this one: the time of loops and calls is that of the ops inside.
fn holds_next(events: &Events, event: &Event) -> bool {
    let next = event.index + 1;
    next < events.len() && {
        let next = events.get(next);
        next.start_ps < event.end_ps && next.end_ps <= event.end_ps
    }
}

/// The rows of a track while they are made.
#[derive(Debug)]
struct Builder {
    rows: Vec<Vec<Span>>,
    /// How many stretches there may still be; `None` once there were too many.
    room: Option<usize>,
    /// What the last op was about, from the outermost.
    open: Vec<u32>,
    launch: usize,
}

impl Builder {
    fn new(most: usize) -> Self {
        Self { rows: Vec::new(), room: Some(most), open: Vec::new(), launch: 0 }
    }

    /// Adds an op. What it is about at each depth goes on from the op before where that, and all around it, is the same.
    fn add(&mut self, about: &[u32], shown: &[u32], event: &Event, launch: usize) {
        let Some(room) = self.room.filter(|_| !about.is_empty()) else { return };
        if room < about.len() {
            (self.room, self.rows) = (None, Vec::new());
            return;
        }
        let mut same = self.launch == launch;
        for (depth, (what, text)) in about.iter().zip(shown).enumerate() {
            same = same && self.open.get(depth) == Some(what);
            if self.rows.len() <= depth {
                self.rows.push(Vec::new());
            }
            let row = &mut self.rows[depth];
            match row.last_mut().filter(|_| same) {
                Some(last) => last.end_ps = last.end_ps.max(event.end_ps),
                None => {
                    row.push(Span { start_ps: event.start_ps, end_ps: event.end_ps, text: *text });
                    self.room = self.room.map(|room| room.saturating_sub(1));
                }
            }
        }
        self.open.clear();
        self.open.extend_from_slice(about);
        self.launch = launch;
    }
}

impl FrameworkTrack {
    /// Number of rows.
    pub(super) fn depth(&self) -> usize {
        self.rows.len()
    }

    /// Number of stretches in all rows.
    pub(super) fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// A stretch by its number, and its row.
    pub(super) fn get(&self, number: usize) -> Option<(Span, usize)> {
        let mut before = 0;
        self.rows.iter().enumerate().find_map(|(depth, row)| {
            let span = row.get(number.checked_sub(before)?);
            before += row.len();
            span.map(|span| (*span, depth))
        })
    }

    /// The texts around a stretch and its own, from the outermost.
    pub(super) fn path(&self, span: &Span, depth: usize) -> Vec<u32> {
        let at = |row: &Vec<Span>| {
            let after = row.partition_point(|one| one.start_ps <= span.start_ps);
            after.checked_sub(1).map(|at| row[at].text)
        };
        self.rows.iter().take(depth + 1).filter_map(at).collect()
    }

    /// The pieces of a view, by row, then by time: [`Piece::meta`] is a number of [`Texts`]. Where several lie within one pixel the
    /// first names them.
    pub(super) fn pieces(&self, view: View) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut before = 0;
        for (depth, row) in self.rows.iter().enumerate() {
            let mut at = row.partition_point(|span| span.end_ps <= view.start_ps);
            while let Some(first) = row.get(at).filter(|span| span.start_ps < view.end_ps) {
                let pixel_end = view.pixel_end(first.start_ps);
                let mut to = at + 1;
                if first.start_ps >= view.start_ps && first.end_ps <= pixel_end {
                    let inside = |span: &Span| span.end_ps <= pixel_end && span.start_ps < view.end_ps;
                    to += row[to..].partition_point(inside);
                }
                let number = (before + at) as u32;
                out.push(Piece {
                    start_ps: first.start_ps,
                    duration_ps: row[to - 1].end_ps - first.start_ps,
                    depth: depth as u32,
                    first: number,
                    longest: number,
                    meta: first.text,
                    count: (to - at) as u32,
                });
                at = to;
            }
            before += row.len();
        }
        out
    }

    /// The place in the program's source that a text of such a track names.
    pub(super) fn place(&self, text: &str) -> Option<Vec<Frame>> {
        let frame = Frame::parse(text).filter(|_| self.shows == Shows::Source);
        frame.map(|frame| vec![frame])
    }
}
