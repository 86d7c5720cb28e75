//! Framework ops on the host's threads.
//!
//! An event is one if its name is that of a TensorFlow op or iterator, if it is a stage of an input pipeline, or if its stat
//! `tf_op` names one. Stages have numbers of their own, which XProf looks up among those of event names too: an event
//! whose name's number is that of a stage counts as the stage.

use std::borrow::Cow;

use haloscope_event_groups::framework_op::{Framework, FrameworkOp};
use haloscope_event_groups::{Context, EventType};
use haloscope_profile::{HostId, Line, LineKind, Mark, Plane, PlaneKind, Profile, Source};
use haloscope_report::stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Db, Row};

/// The framework ops of these hosts' threads. Each thread's time is that from its first op to its last.
#[must_use]
pub(crate) fn host_ops<'p>(profile: &'p Profile, hosts: &[HostId]) -> Db<'p> {
    let planes = hosts.iter().flat_map(|&h| profile.planes_of(h).find(|p| p.kind == PlaneKind::Host));
    let mut all = Db::default();
    for plane in planes {
        let names = Names::new(profile, plane);
        let eagerness = Eagerness::new(profile, plane);
        let lines: Vec<&Line> = threads(profile, plane).collect();
        let parts: Vec<Db<'p>> = lines
            .par_iter()
            .map(stop::carried(|line: &&Line| of_thread(profile, plane, line, &names, &eagerness)))
            .collect();
        for part in parts {
            all.merge(part);
        }
    }
    all
}

fn threads<'p>(profile: &'p Profile, plane: &Plane) -> impl Iterator<Item = &'p Line> {
    profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread)
}

/// An op by what its event says.
#[derive(Debug, Clone)]
struct Named<'p> {
    /// The stage of an input pipeline; 0 for other ops.
    stage: u64,
    name: Cow<'p, str>,
    kind: Cow<'p, str>,
}

impl<'p> Named<'p> {
    /// Takes a name of the form `path:Type` apart, if it is one.
    fn parse(full: Cow<'p, str>) -> (Framework, Self) {
        let (framework, path, kind) = {
            let op = FrameworkOp::parse(&full);
            (op.framework, op.path.len(), op.kind.to_owned())
        };
        let name = match full {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..path]),
            Cow::Owned(text) => Cow::Owned(text[..path].to_owned()),
        };
        (framework, Self { stage: 0, name, kind: kind.into() })
    }
}

/// Ops by the number of their stage or, where they are none, of their event's name.
struct Names<'p> {
    of_id: FxHashMap<i64, Named<'p>>,
    stage: Option<i64>,
    framework_op: Option<i64>,
}

impl<'p> Names<'p> {
    fn new(profile: &'p Profile, plane: &'p Plane) -> Self {
        let [stage, category, framework_op] =
            ["_ipl_stage_id", "_ipl_stage_cat", "tf_op"].map(|name| plane.stat_id(name));
        let source = profile.source_of(plane);
        let mut names = Self { of_id: FxHashMap::default(), stage, framework_op };
        let mut seen = vec![false; plane.metas.len()];
        for line in threads(profile, plane) {
            let events = profile.events(line);
            for (index, &meta) in events.metas().iter().enumerate() {
                if events.has(index, Mark::InputStage) {
                    let stat = |id| events.stat(source, index, id);
                    let stage = stat(stage).and_then(|v| v.as_i64());
                    let kind = stat(category).and_then(|v| plane.text(source, v));
                    if let (Some(stage), Some(kind)) = (stage, kind) {
                        let name = meta_name(plane, source, meta);
                        let op = Named { stage: stage as u64, name, kind };
                        names.of_id.entry(stage).or_insert(op);
                    }
                } else if !std::mem::replace(&mut seen[meta as usize], true) {
                    let name = meta_name(plane, source, meta);
                    let (framework, op) = Named::parse(name);
                    if framework != Framework::Unknown {
                        names.of_id.entry(plane.metas[meta as usize].id).or_insert(op);
                    }
                }
            }
        }
        names
    }
}

fn meta_name<'p>(plane: &Plane, source: &'p Source, meta: u32) -> Cow<'p, str> {
    source.text(plane.metas[meta as usize].name)
}

/// An execution of an op.
struct Execution<'p> {
    op: Named<'p>,
    eager: bool,
    start_ps: i64,
    end_ps: i64,
}

/// Which ops were executed eagerly.
struct Eagerness {
    stat: Option<i64>,
    /// Where the events were grouped here: it decides on TensorFlow's ops, whatever they state.
    found: Option<(Context, Vec<bool>)>,
}

impl Eagerness {
    fn new(profile: &Profile, plane: &Plane) -> Self {
        let source = profile.source_of(plane);
        let stat = plane.stat_id("is_eager");
        let types = || plane.metas.iter().map(|meta| EventType::of(&source.text(meta.name)));
        if stat.is_none() && !types().any(|t| t == EventType::EagerExecute) {
            return Self { stat, found: None };
        }
        let context = Some(Context::of(profile, plane.host)).filter(|context| context.found);
        Self {
            stat,
            found: context.map(|context| (context, types().map(|t| t == EventType::TfOp).collect())),
        }
    }

    /// The rows of a thread's events that were found to be eager, ascending.
    fn rows(&self, line: &Line) -> Vec<usize> {
        let lane = self.found.as_ref().and_then(|(context, _)| context.lane(line.id));
        let rows =
            lane.into_iter().flat_map(|lane| lane.eager.iter().filter_map(|at| lane.row(*at as usize)));
        let mut rows: Vec<usize> = rows.collect();
        rows.sort_unstable();
        rows
    }
}

fn of_thread<'p>(
    profile: &'p Profile,
    plane: &'p Plane,
    line: &'p Line,
    names: &Names<'p>,
    eagerness: &Eagerness,
) -> Db<'p> {
    let eager_rows = eagerness.rows(line);
    let events = profile.events(line);
    let source = profile.source_of(plane);
    let mut all: Vec<Execution<'p>> = Vec::new();
    for event in events.iter() {
        let stat = |id: Option<i64>| events.stat(source, event.index, id);
        let mut id = plane.metas[event.meta as usize].id;
        if events.has(event.index, Mark::InputStage) {
            id = stat(names.stage).and_then(|v| v.as_i64()).unwrap_or(id);
        }
        let execution = |op, eager| Execution { op, eager, start_ps: event.start_ps, end_ps: event.end_ps };
        if let Some(op) = names.of_id.get(&id) {
            let eager = match &eagerness.found {
                Some((_, is_op)) if is_op[event.meta as usize] => {
                    eager_rows.binary_search(&event.index).is_ok()
                }
                _ => stat(eagerness.stat).and_then(|v| v.as_i64()).is_some_and(|v| v != 0),
            };
            all.push(execution(op.clone(), eager));
        }
        let framework_op = names.framework_op.and_then(|id| stat(Some(id)));
        if let Some(full) = framework_op.and_then(|v| plane.text(source, v)).filter(|t| !t.is_empty()) {
            all.push(execution(Named::parse(full).1, false));
        }
    }
    let span_ps = span_ps(&all);
    let mut db = Db::default();
    for (execution, self_ps) in self_times(&all) {
        let row = Row {
            program_id: execution.op.stage,
            name: execution.op.name.clone(),
            category: execution.op.kind.clone(),
            occurrences: 1,
            time_ps: (execution.end_ps - execution.start_ps).max(0) as u64,
            self_ps,
            eager: execution.eager,
            cores: 1,
            ..Row::default()
        };
        db.op_ps = db.op_ps.saturating_add(self_ps);
        db.add(row);
    }
    db.finish(span_ps)
}

fn span_ps(all: &[Execution<'_>]) -> u64 {
    let first = all.iter().map(|e| e.start_ps).min().unwrap_or(0);
    let last = all.iter().map(|e| e.end_ps).max().unwrap_or(0);
    last.saturating_sub(first).max(0) as u64
}

/// Executions with their time less that of executions directly inside. One that ends after what it began in is lost: the
/// ends are matched from the innermost outward, and what is passed over is forgotten.
fn self_times<'e, 'p>(all: &'e [Execution<'p>]) -> Vec<(&'e Execution<'p>, u64)> {
    let mut moments: Vec<(i64, usize, bool)> = Vec::with_capacity(all.len() * 2);
    for (index, execution) in all.iter().enumerate() {
        moments.push((execution.start_ps, index, true));
        moments.push((execution.end_ps, index, false));
    }
    moments.sort_by_key(|(at, ..)| *at);
    let mut stack: Vec<(usize, i64)> = Vec::new();
    let mut done = Vec::with_capacity(all.len());
    for (at, index, begins) in moments {
        if begins {
            stack.push((index, 0));
            continue;
        }
        let mut inside = None;
        while let Some((top, children)) = stack.pop() {
            if top == index {
                inside = Some(children);
                break;
            }
        }
        let Some(inside) = inside else { continue };
        let length = at - all[index].start_ps;
        if let Some((_, children)) = stack.last_mut() {
            *children = children.saturating_add(length);
        }
        done.push((&all[index], length.saturating_sub(inside).max(0) as u64));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start_ps: i64, end_ps: i64) -> Execution<'static> {
        let op = Named { stage: 0, name: "".into(), kind: "".into() };
        Execution { op, eager: false, start_ps, end_ps }
    }

    #[test]
    fn nested_ones_count_once_and_crossing_ones_are_lost() {
        let all = [run(0, 100), run(10, 40), run(20, 30), run(50, 120)];
        let times = self_times(&all);
        let of = |i: usize| times.iter().find(|(e, _)| std::ptr::eq(*e, &all[i])).map(|(_, own)| *own);
        assert_eq!((of(2), of(1)), (Some(10), Some(20)));
        // The last one is still open when the first ends.
        assert_eq!((of(0), of(3)), (Some(70), None));
    }
}
