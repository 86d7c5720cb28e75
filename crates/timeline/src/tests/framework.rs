//! The rows that XProf draws of a TPU's ops, where no line of the profile has them.

use super::*;

/// Ops of a TPU with their framework ops and lines of source: metadata 1 on.
fn tpu(ops: &[(&str, &str, &str)], lines: Vec<WriteLine>) -> WritePlane {
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    let text = |metadata_id, text: &str| Stat { metadata_id, value: Value::Str(text.into()) };
    let meta = |(i, (name, tf_op, source)): (usize, &(&str, &str, &str))| {
        let id = i as i64 + 1;
        let stats = vec![text(1, tf_op), text(2, source), text(3, "fusion")];
        (id, EventMetadata { id, name: (*name).into(), stats, ..Default::default() })
    };
    WritePlane {
        name: "/device:TPU:0".into(),
        lines,
        event_metadata: ops.iter().enumerate().map(meta).collect(),
        stat_metadata: vec![stat(1, "tf_op"), stat(2, "source"), stat(3, "hlo_category")],
        ..Default::default()
    }
}

const OPS: [(&str, &str, &str); 4] = [
    ("dot.1", "jit(f)/layer/dot_general:", "model.py:7"),
    ("add.2", "jit(f)/layer/add:", "model.py:8"),
    ("while.3", "jit(f)/while:", ""),
    ("module", "", ""),
];

fn two_launches() -> Timeline {
    // A loop with two ops, one behind it; then the first op again, in the next launch.
    let ops = line(1, "XLA Ops", &[(3, 0, 50), (1, 0, 20), (2, 20, 30), (2, 50, 10), (1, 100, 20)]);
    let modules = line(2, "XLA Modules", &[(4, 0, 60), (4, 100, 20)]);
    timeline(vec![tpu(&OPS, vec![ops, modules])])
}

fn slices(t: &Timeline, name: &str) -> Vec<(i64, i64, u32, String)> {
    let tracks = &t.tracks().groups[0].tracks;
    let id = tracks.iter().find(|track| track.name == name).unwrap().id;
    let window = t.window(0, 200, MAX_PX, &[LineId(id)]).unwrap();
    let slice = |s: &Slice| (s.start_ps, s.duration_ps, s.depth, window.names[s.name as usize].clone());
    window.tracks[0].slices.iter().map(slice).collect()
}

#[test]
fn scopes_ops_and_source_lie_over_the_ops_of_each_launch() {
    let t = two_launches();
    let names: Vec<_> = t.tracks().groups[0].tracks.iter().map(|track| track.name.as_str()).collect();
    assert_eq!(names, ["XLA Modules", "XLA Ops", "Framework Name Scope", "Framework Ops", "Source code"]);
    let of = |all: &[(i64, i64, u32, &str)]| -> Vec<_> {
        all.iter().map(|(at, long, depth, name)| (*at, *long, *depth, (*name).to_owned())).collect()
    };
    // The loop's own time is that of the ops inside; two launches are two stretches.
    let scopes =
        of(&[(0, 60, 0, "jit(f)"), (100, 20, 0, "jit(f)"), (0, 60, 1, "layer"), (100, 20, 1, "layer")]);
    assert_eq!(slices(&t, "Framework Name Scope"), scopes);
    let ops = of(&[(0, 20, 0, "dot_general"), (20, 40, 0, "add"), (100, 20, 0, "dot_general")]);
    assert_eq!(slices(&t, "Framework Ops"), ops);
    let source = of(&[(0, 20, 0, "model.py:7"), (20, 40, 0, "model.py:8"), (100, 20, 0, "model.py:7")]);
    assert_eq!(slices(&t, "Source code"), source);
}

#[test]
fn a_stretch_says_its_scopes_and_its_place_in_the_source() {
    let t = two_launches();
    let tracks = &t.tracks().groups[0].tracks;
    let [scopes, _, source] = [2, 3, 4].map(|at| LineId(tracks[at].id));
    let layer = t.event(scopes, 3).unwrap();
    assert_eq!((layer.name.as_str(), layer.start_ps, layer.duration_ps), ("layer", 100, 20));
    assert_eq!(layer.op.op_name.as_deref(), Some("jit(f)/layer"));
    let place = t.event(source, 1).unwrap().op.source.unwrap();
    assert_eq!((place[0].file.as_str(), place[0].line), ("model.py", Some(8)));
    assert!(t.event(scopes, 4).unwrap_err().to_string().contains("there is no event 4"));
    assert!(t.event(LineId(99), 0).is_err());
}

#[test]
fn they_are_no_time_of_their_own() {
    let t = two_launches();
    let all: Vec<LineId> = t.tracks().groups[0].tracks.iter().map(|track| LineId(track.id)).collect();
    let lines = [LineId(1), LineId(0)];
    assert_eq!(t.totals(0, 200, &all, 10).unwrap(), t.totals(0, 200, &lines, 10).unwrap());
    let search = Search::from_words(|key| (key == "q").then_some("dot")).unwrap();
    assert_eq!(t.search(&search, Some(&all)).unwrap(), t.search(&search, Some(&lines)).unwrap());
    assert_eq!(t.flows(FlowsOf::Event(all[2], 0), 10).unwrap().total, 0);
}

#[test]
fn a_window_finds_what_a_look_at_every_stretch_finds() {
    let events: Vec<_> = (0..900).map(|i| (1 + i % 2, i * 10, 10)).collect();
    let t = timeline(vec![tpu(&OPS, vec![line(1, "XLA Ops", &events)])]);
    let tracks = &t.tracks().groups[0].tracks;
    let ops = tracks.iter().find(|track| track.name == "Framework Ops").unwrap();
    assert_eq!((ops.events, ops.depth), (900, 1));
    for (from, to, px) in [(0, 9000, 9), (5, 8995, 100), (4000, 4100, 1000), (8999, 9000, 1)] {
        let window = t.window(from, to, px, &[LineId(ops.id)]).unwrap();
        let found: u32 = window.tracks[0].slices.iter().map(|slice| slice.count).sum();
        let inside = events.iter().filter(|(_, at, long)| *at < to && at + long > from).count();
        assert_eq!(found as usize, inside, "{from}..{to} in {px}");
        assert!(window.tracks[0].slices.len() <= 2 * px as usize + 2);
    }
}

#[test]
fn where_the_profiler_made_such_lines_there_are_no_more() {
    let ops = line(1, "XLA Ops", &[(1, 0, 20)]);
    // Some profilers write a line without events, and lines of other things that they derived.
    let own = line(2, "Framework Ops", &[(2, 0, 20)]);
    let empty = line(3, "Source code", &[]);
    let other = line(4, "TC Overlay", &[(2, 0, 20)]);
    let t = timeline(vec![tpu(&OPS, vec![ops, own, empty, other])]);
    let mut names: Vec<_> = t.tracks().groups[0].tracks.iter().map(|track| track.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Framework Name Scope", "Framework Ops", "Source code", "TC Overlay", "XLA Ops"]);
}

#[test]
fn scopes_without_end_take_no_memory_without_end() {
    // Scopes without a name are none.
    let deep = format!("jit(f)//{}dot:", "s/".repeat(10_000));
    let ops = [("dot.1", deep.as_str(), ""), ("add.2", "jit(f)/add:", "")];
    let events: Vec<_> = (0..400).map(|i| (1 + i % 2, i * 10, 10)).collect();
    let t = timeline(vec![tpu(&ops, vec![line(1, "XLA Ops", &events)])]);
    let tracks = &t.tracks().groups[0].tracks;
    assert_eq!(tracks.iter().map(|track| track.depth).max(), Some(40));
    let all: Vec<LineId> = tracks.iter().map(|track| LineId(track.id)).collect();
    assert!(t.tile(0, 4000, 100, &all, Colour::Category).unwrap().len() < 1 << 20);
}
