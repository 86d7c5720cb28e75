//! Programs as text, as graphs, searched, and held against one another.

use std::path::{Path, PathBuf};

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};

use crate::support::{column, has_note, number, traces, unknown, words};

fn program(name: &str) -> Profile {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo");
    open(&folder.join(format!("{name}.hlo_proto.pb.gz")))
}

fn open(path: &Path) -> Profile {
    load::open(&load::find(path).unwrap()).unwrap()
}

fn of_text(text: &str) -> Profile {
    load::from_bytes("module.txt", text.as_bytes().to_vec()).unwrap()
}

fn try_ask(
    id: &str,
    profile: &Profile,
    other: Option<&Profile>,
    params: &[(&str, &str)],
) -> Result<Report, Error> {
    let mut given = Params::default();
    for (key, value) in params {
        given.set(key, value);
    }
    let analysis = analyses::find(id).unwrap();
    analysis::run_with(analysis, profile, other.as_slice(), &Scope::default(), &given)
}

fn ask(id: &str, profile: &Profile, params: &[(&str, &str)]) -> Report {
    try_ask(id, profile, None, params).unwrap()
}

fn diff(a: &Profile, b: &Profile) -> Report {
    try_ask("hlo diff", a, Some(b), &[]).unwrap()
}

fn texts<'t>(table: &'t Table, id: &str) -> Vec<&'t str> {
    (0..table.rows.len()).filter_map(|row| table.cell(row, id)?.as_text()).collect()
}

const SMALL: &str = "HloModule small

body {
  a = f32[8]{0} parameter(0)
  b = f32[8]{0} parameter(1)
  ROOT c = f32[8]{0} add(a, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0), metadata={op_name=\"x\"}
  y = f32[8]{0} exponential(x), metadata={op_name=\"jit(f)/layer_2/exp\" source_file=\"f.py\" source_line=7}
  z = f32[8]{0} fusion(x, y), kind=kLoop, calls=body, metadata={op_name=\"jit(f)/layer_2/add\"}
  ROOT t = (f32[8]{0}) tuple(z)
}
";

#[test]
fn text_is_a_run_again() {
    for form in ["long", "short"] {
        let profile = program("decode.v5e");
        let report = ask("hlo text", &profile, &[("form", form)]);
        assert_eq!(words(&report, "module"), "jit_decode");
        let text = &report.texts[0].text;
        assert_eq!(number(&report, "lines"), text.lines().count() as f64);
        let again = ask("hlo text", &of_text(text), &[("form", form)]);
        assert_eq!(again.texts[0].text, *text, "{form}");
        assert_eq!(number(&again, "instructions"), number(&report, "instructions"));
    }
}

#[test]
fn parts_of_a_text() {
    let profile = of_text(SMALL);
    let one = ask("hlo text", &profile, &[("instruction", "%c"), ("form", "short")]);
    assert_eq!(one.texts[0].text, "c = f32[8]{0} add(a, b)\n");
    let body = ask("hlo text", &profile, &[("computation", "body"), ("form", "short")]);
    assert_eq!(body.texts[0].text.lines().count(), 5);
    let error = try_ask("hlo text", &profile, None, &[("computation", "bodi")]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("no computation `bodi` in `small`; similar: body"), "{error}");
}

#[test]
fn a_graph_around_an_instruction() {
    let profile = of_text(SMALL);
    let report = ask("hlo graph", &profile, &[("node", "z"), ("radius", "1")]);
    let nodes = report.table("nodes").unwrap();
    assert_eq!(texts(nodes, "name"), ["z", "x", "y", "c", "t"]);
    assert_eq!(column(nodes, "distance"), [0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(nodes.cell(0, "centre"), Some(&Cell::Flag(true)));
    assert_eq!(nodes.cell(0, "children"), Some(&Cell::Int(3)));
    assert_eq!(nodes.cell(0, "layer").and_then(Cell::as_text), Some("layer 2"));
    assert_eq!(nodes.cell(2, "source").and_then(Cell::as_text), Some("f.py:7"));
    assert_eq!(nodes.cell(3, "parent").and_then(Cell::as_text), Some("z"));
    assert_eq!(nodes.cell(3, "fused"), Some(&Cell::Flag(true)));
    assert_eq!(nodes.cell(0, "self_ps"), Some(&Cell::Unknown), "nothing was measured");
    let edges = report.table("edges").unwrap();
    let lines: Vec<String> = (0..edges.rows.len())
        .map(|row| {
            let word = |id| edges.cell(row, id).and_then(Cell::as_text).unwrap_or_default();
            format!("{} {} {}", word("from"), word("kind"), word("to"))
        })
        .collect();
    assert_eq!(lines, ["x data z", "y data z", "c call z", "x data y", "z data t"]);
    // Without a name, the result is in the middle.
    assert_eq!(words(&ask("hlo graph", &profile, &[]), "node"), "t");
    let cut = ask("hlo graph", &profile, &[("limit", "2")]);
    assert!(has_note(&cut, "nodes_left_out") && number(&cut, "nodes") == 2.0);
}

#[test]
fn a_path_and_none() {
    let profile = of_text(SMALL);
    let path =
        |direction| ask("hlo graph", &profile, &[("node", "x"), ("to", "t"), ("direction", direction)]);
    let found = path("users");
    assert_eq!(texts(found.table("nodes").unwrap(), "name"), ["x", "z", "t"]);
    assert_eq!(number(&found, "path_steps"), 2.0);
    let none = path("operands");
    assert!(unknown(&none, "path_steps") && number(&none, "nodes") == 2.0);
    let error = try_ask("hlo graph", &profile, None, &[("node", "zz")]).unwrap_err();
    assert!(error.to_string().contains("similar: "), "{error}");
}

#[test]
fn measured_times_stand_on_their_instructions() {
    let profile = crate::support::open("cpu-train");
    let ops = crate::support::ask(&profile, "ops", &[]);
    let table = ops.table("ops").unwrap();
    let module = table.cell(0, "program_id").and_then(Cell::as_text).unwrap();
    let name = table.cell(0, "name").and_then(Cell::as_text).unwrap();
    let report = ask("hlo graph", &profile, &[("module", module), ("node", name), ("radius", "1")]);
    let nodes = report.table("nodes").unwrap();
    for id in ["self_ps", "total_ps", "occurrences"] {
        assert_eq!(nodes.cell(0, id), table.cell(0, id), "{id}");
    }
}

#[test]
fn searches() {
    let profile = of_text(SMALL);
    let names = |params: &[(&str, &str)]| {
        let report = ask("hlo search", &profile, params);
        let table = report.table("instructions").unwrap();
        texts(table, "name").iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[("query", "LAYER_2"), ("in", "op-name")]), ["y", "z"]);
    assert_eq!(names(&[("query", "/^[ab]$/"), ("in", "name")]), ["a", "b"]);
    assert_eq!(names(&[("query", "calls=BODY"), ("in", "text")]), ["z"]);
    assert_eq!(names(&[("opcode", "add,tuple")]), ["c", "t"]);
    assert_eq!(names(&[("shape", "f32[8]"), ("opcode", "fusion")]), ["z"]);
    assert_eq!(names(&[("min-bytes", "33")]), [""; 0]);
    assert_eq!(names(&[("min-bytes", "32")]).len(), 7);
    let cut = ask("hlo search", &profile, &[("limit", "2")]);
    assert_eq!((number(&cut, "matches"), cut.tables[0].rows.len()), (7.0, 2));
    let error = try_ask("hlo search", &profile, None, &[("query", "/(/")]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    // Of four hosts with one program each, one is looked at.
    if let Some(folder) = traces("forged/dense_train_v5e16") {
        let report = ask("hlo search", &open(&folder), &[("opcode", "all-gather,all-gather-start")]);
        assert!(number(&report, "copies") > 0.0 && number(&report, "matches") > 0.0);
    }
}

#[test]
fn no_difference_is_said_plainly() {
    let profile = program("train_step.v5e");
    let report = ask("hlo diff", &profile, &[]);
    assert_eq!(words(&report, "difference"), "none");
    assert!(report.texts[0].text.starts_with("no difference"), "{}", report.texts[0].text);
    assert_eq!(report.table("changes").unwrap().rows.len(), 0);
    let renamed = SMALL.replace("y", "w").replace("bodw", "inner").replace("lawer", "layer");
    let renamed = renamed.replace("f.pw", "f.py");
    let report = diff(&of_text(SMALL), &of_text(&renamed));
    assert_eq!(words(&report, "difference"), "names only");
    assert_eq!((number(&report, "renamed"), number(&report, "matched")), (1.0, 7.0));
}

#[test]
fn a_copy_that_came_new() {
    let with_copy = SMALL
        .replace("  z = ", "  q = f32[8]{0:T(256)} copy(y)\n  z = ")
        .replace("fusion(x, y)", "fusion(x, q)");
    let report = diff(&of_text(SMALL), &of_text(&with_copy));
    assert_eq!(words(&report, "difference"), "program");
    for (id, expected) in [
        ("added", 1.0),
        ("changed", 1.0),
        ("removed", 0.0),
        ("added_copies", 1.0),
        ("added_relayouts", 1.0),
        ("added_copy_bytes", 32.0),
    ] {
        assert_eq!(number(&report, id), expected, "{id}");
    }
    assert!(unknown(&report, "buffers_grown"), "a text has no buffer assignment");
    let changes = report.table("changes").unwrap();
    assert_eq!(texts(changes, "kind"), ["added", "changed"]);
    let text = &report.texts[0].text;
    assert!(text.contains("\n+ q = f32[8]{0:T(256)} copy(y)\n"), "{text}");
    assert!(text.contains("\n- z = f32[8]{0} fusion(x, y), calls=body"), "{text}");
    assert!(text.contains("\n+ z = f32[8]{0} fusion(x, q), calls=body"), "{text}");
}

#[test]
fn stages_of_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    let write = |stage: &str, text: &str| {
        std::fs::write(folder.path().join(format!("module_0001.small.{stage}.txt")), text).unwrap();
    };
    write("before_optimizations", SMALL);
    write("0003.pass.after_a.before_b", &SMALL.replace("exponential", "tanh"));
    write("after_optimizations", &SMALL.replace("exponential", "negate"));
    let profile = open(folder.path());
    let counts = |params: &[(&str, &str)]| {
        let report = ask("hlo diff", &profile, params);
        let text = |id| words(&report, id).to_owned();
        (text("module_a"), text("module_b"), number(&report, "added"))
    };
    let label = |stage: &str| format!("small@{stage}");
    assert_eq!(counts(&[]), (label("before_optimizations"), label("after_optimizations"), 1.0));
    let pass = label("0003.pass.after_a.before_b");
    assert_eq!(counts(&[("module", &pass)]), (pass.clone(), label("after_optimizations"), 1.0));
    assert_eq!(
        counts(&[("module", "small@before_optimizations"), ("to", &pass)]),
        (label("before_optimizations"), pass.clone(), 1.0)
    );
}

/// Recompiled with other choices: extra relayouts, and everything renamed.
#[test]
fn relayouts_of_a_regressed_run_are_found() {
    let Some(folder) = traces("forged") else { return };
    let a = open(&folder.join("dense_train_v5e16"));
    let b = open(&folder.join("dense_train_v5e16_regressed"));
    let report = diff(&a, &b);
    for value in &report.values {
        println!("{} = {:?}", value.id, value.value);
    }
    println!("{}", report.texts[0].text);
    assert_eq!(words(&report, "difference"), "program");
    let (matched, all) = (number(&report, "matched"), number(&report, "instructions_a"));
    assert!(matched > 0.9 * all, "{matched} of {all}");
    assert!(number(&report, "added_copies") + number(&report, "added_relayouts") > 0.0);
}
