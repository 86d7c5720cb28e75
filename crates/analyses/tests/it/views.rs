//! Trees and tables of the same ops say the same.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Node, Report, Tree};
use haloscope_time::analysis::{self, Params};

use crate::support::{RUNS, ask, column, near, number, open, row_of, scope};

const GROUPINGS: [&str; 4] = ["program", "category", "provenance", "source"];

fn asked(profile: &Profile, id: &str, words: &[(&str, &str)], scope: &Scope) -> Option<Report> {
    let mut params = Params::default();
    words.iter().for_each(|(key, value)| params.set(key, value));
    analysis::run(analyses::find(id).unwrap(), profile, scope, &params).ok()
}

fn cell(tree: &Tree, node: &Node, id: &str) -> Option<f64> {
    node.values[tree.column(id).unwrap()].number()
}

/// Sums of the children are the parent's, all the way down.
fn adds_up(tree: &Tree, node: &Node) {
    if node.children.is_empty() {
        return;
    }
    for id in ["self_ps", "occurrences", "ops"] {
        let sum: f64 = node.children.iter().filter_map(|child| cell(tree, child, id)).sum();
        assert_eq!(Some(sum), cell(tree, node, id), "{id} of {}", node.label);
    }
    for id in ["share", "flops", "hbm_bytes", "bytes_accessed"] {
        let parts: Vec<f64> = node.children.iter().filter_map(|child| cell(tree, child, id)).collect();
        let Some(whole) = cell(tree, node, id) else {
            // What is unknown of the whole is unknown of each part, but for loops, whose FLOPs are those of the ops inside.
            continue;
        };
        near(parts.iter().sum(), whole, 1e-9 * whole.abs().max(1.0), id);
    }
    node.children.iter().for_each(|child| adds_up(tree, child));
}

#[test]
fn children_of_an_op_profile_add_up_to_their_parent() {
    let mut trees = 0;
    for run in RUNS {
        let profile = open(run);
        for by in GROUPINGS {
            for idle in ["exclude", "include"] {
                let Some(report) =
                    asked(&profile, "op-profile", &[("by", by), ("idle", idle)], &Scope::default())
                else {
                    continue;
                };
                let tree = report.tree("profile").unwrap();
                let [root] = tree.nodes.as_slice() else { panic!("one root") };
                adds_up_to_its_ops(tree, root);
                let idle_ps = report.value("idle_ps").and_then(|v| v.value.number()).unwrap_or(0.0);
                let whole = cell(tree, root, "self_ps").unwrap();
                assert_eq!(whole, number(&report, "self_time_ps") + idle_ps, "{run} {by}");
                trees += 1;
            }
        }
    }
    assert!(trees >= 40, "{trees}");
}

fn adds_up_to_its_ops(tree: &Tree, root: &Node) {
    adds_up(tree, root);
    let mut ops = 0.0;
    tree.walk(&mut |at| {
        let is_op = at.node.values[tree.column("kind").unwrap()].as_text() == Some("op");
        ops += f64::from(u8::from(is_op));
        assert_eq!(is_op || at.node.label == "idle", at.node.children.is_empty(), "{}", at.node.label);
    });
    assert_eq!(Some(ops), cell(tree, root, "ops"));
}

#[test]
fn an_op_profile_has_the_sums_of_ops() {
    for run in ["tpu-train", "gpu-train", "cpu-train"] {
        let profile = open(run);
        for words in [&[][..], &[("steps", "2-3")]] {
            let within = scope(words);
            let profile_of = asked(&profile, "op-profile", &[("by", "category")], &within).unwrap();
            let ops = asked(&profile, "ops", &[("by", "category")], &within).unwrap();
            let (tree, table) = (profile_of.tree("profile").unwrap(), ops.table("ops").unwrap());
            let root = &tree.nodes[0];
            assert_eq!(root.children.len(), table.rows.len());
            for child in &root.children {
                let row = row_of(table, &child.label);
                for id in [
                    "self_ps",
                    "flops",
                    "hbm_bytes",
                    "occurrences",
                    "flop_share_of_peak",
                    "hbm_share_of_peak",
                ] {
                    assert_eq!(
                        cell(tree, child, id),
                        table.cell(row, id).unwrap().number(),
                        "{run} {} {id}",
                        child.label
                    );
                }
            }
        }
    }
}

#[test]
fn lines_and_calls_of_the_source_share_the_time() {
    for run in ["tpu-train", "cpu-train"] {
        let report = ask(&open(run), "source", &[]);
        let all = number(&report, "self_time_ps");
        let known = all * (1.0 - number(&report, "time_without_source_share"));
        for table in ["files", "lines"] {
            let table = report.table(table).unwrap();
            near(column(table, "self_ps").iter().sum(), known, 1e-9 * all, run);
            assert!(column(table, "total_ps").iter().all(|ps| *ps <= all));
        }
        let tree = report.tree("calls").unwrap();
        let mut own = 0.0;
        tree.walk(&mut |at| {
            let total = cell(tree, at.node, "total_ps").unwrap();
            let self_ps = cell(tree, at.node, "self_ps").unwrap();
            let inside: f64 = at.node.children.iter().filter_map(|c| cell(tree, c, "total_ps")).sum();
            assert_eq!(total, self_ps + inside, "{}", at.node.label);
            own += self_ps;
        });
        near(own, known, 1e-9 * all, run);
    }
}

#[test]
fn a_file_narrows_the_lines() {
    let profile = open("tpu-train");
    let of = |file| asked(&profile, "source", &[("file", file)], &Scope::default()).unwrap();
    let (all, some, none) = (of(""), of("compile"), of("absent.py"));
    assert_eq!(all.table("lines").unwrap().rows.len(), some.table("lines").unwrap().rows.len());
    assert!(none.table("lines").unwrap().rows.is_empty() && none.tree("calls").unwrap().is_empty());
    assert_eq!(none.table("files").unwrap().rows.len(), all.table("files").unwrap().rows.len());
}

#[test]
fn kernels_are_the_ops_that_are_kernels() {
    // The kernels of this run are all that its streams hold, but for copies between host and device.
    let profile = open("gpu-train");
    let kernels = ask(&profile, "kernels", &[]);
    let ops = asked(&profile, "ops", &[("by", "category")], &Scope::default()).unwrap();
    let table = ops.table("ops").unwrap();
    let row = row_of(table, "memcpy");
    let copies = table.cell(row, "self_ps").unwrap().number().unwrap();
    let all = number(&ops, "self_time_ps");
    assert_eq!(number(&kernels, "time_ps"), all - copies);
    near(number(&kernels, "share_of_ops"), (all - copies) / all, 1e-12, "share of ops");
    let of = kernels.table("kernels").unwrap();
    assert_eq!(column(of, "total_ps").iter().sum::<f64>(), all - copies);
    assert_eq!(column(of, "occurrences").iter().sum::<f64>(), number(&kernels, "occurrences"));
    let by_length = kernels.table("durations").unwrap();
    assert_eq!(column(by_length, "total_ps").iter().sum::<f64>(), all - copies);
    for row in 0..of.rows.len() {
        let cell = |id| of.cell(row, id).unwrap().number().unwrap();
        assert!(cell("min_ps") <= cell("mean_ps") && cell("mean_ps") <= cell("max_ps"));
    }
    assert_eq!(of.cell(0, "shared_bytes"), Some(&Cell::Int(0)));
}

#[test]
fn a_scope_cuts_kernels_where_they_start() {
    let profile = open("gpu-train");
    let steps: f64 = (0..8)
        .map(|step| {
            let within = scope(&[("steps", &step.to_string())]);
            asked(&profile, "kernels", &[], &within).map_or(0.0, |r| number(&r, "occurrences"))
        })
        .sum();
    let all = number(&ask(&profile, "kernels", &[]), "occurrences");
    assert!(steps > 0.0 && steps <= all, "{steps} of {all}");
    let none = asked(&profile, "kernels", &[], &scope(&[("modules", "no_such_module")]));
    assert!(none.is_none());
    let one = asked(&profile, "kernels", &[], &scope(&[("modules", "jit_convolution")])).unwrap();
    assert!(number(&one, "occurrences") < all);
    let custom = ask(&open("tpu-custom-call"), "kernels", &[]);
    let table = custom.table("kernels").unwrap();
    assert_eq!(table.cell(0, "what").unwrap().as_text(), Some("tpu_custom_call"));
    assert_eq!(table.cell(0, "grid"), Some(&Cell::Unknown));
}
