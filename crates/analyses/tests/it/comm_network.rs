//! Who talks to whom and how fast: groups, axes, bandwidth, sizes of messages, late members.

use haloscope_analyses as analyses;
use haloscope_comm::group_lists::{Groups, Source};
use haloscope_comm::mesh::{Mesh, axes_of};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};
use haloscope_time::op_meta::OpMeta;

use crate::support::{RUNS, ask, has_note, near, number, open, scope, traces, unknown, words};

fn forged(name: &str) -> Option<Profile> {
    let folder = traces(&format!("forged/{name}"))?;
    Some(load::open(&load::find(&folder).unwrap()).unwrap())
}

/// The answer with parameters of the analysis.
fn with(profile: &Profile, params: &[(&str, &str)]) -> Report {
    let mut given = Params::default();
    params.iter().for_each(|(id, value)| given.set(id, value));
    analysis::run(analyses::find("comm").unwrap(), profile, &scope(&[]), &given).unwrap()
}

fn text(table: &Table, row: usize, column: &str) -> String {
    table.cell(row, column).and_then(Cell::as_text).unwrap_or_default().to_owned()
}

fn cell(table: &Table, row: usize, column: &str) -> Option<f64> {
    table.cell(row, column).unwrap().number()
}

/// The rows whose cell in a column says this.
fn rows(table: &Table, column: &str, is: &str) -> Vec<usize> {
    (0..table.rows.len()).filter(|row| text(table, *row, column) == is).collect()
}

/// What holds of every profile.
fn check(report: &Report, what: &str) {
    let exposed = number(report, "exposed_ps_per_step");
    let parts = ["waiting_ps_per_step", "transfer_ps_per_step", "waiting_unknown_ps_per_step"];
    let parts = parts.map(|id| report.value(id).and_then(|value| value.value.number()));
    assert!(parts.iter().flatten().all(|ps| *ps >= 0.0), "{what}: {parts:?}");
    let Some(axes) = report.table("axes") else {
        near(exposed, 0.0, 0.0, what);
        return;
    };
    for row in 0..axes.rows.len() {
        let rate = |id: &str| cell(axes, row, id);
        if let (Some(bus), Some(transfer)) = (rate("bus_rate"), rate("transfer_rate")) {
            assert!(transfer >= 0.5 * bus, "{what} row {row}: {transfer} under {bus}");
        }
        assert_eq!(rate("utilization").is_some(), rate("peak_rate").is_some() && rate("bus_rate").is_some());
        assert!(rate("utilization").is_none_or(|share| (0.0..=1.0).contains(&share)), "{what} row {row}");
    }
    // However executions are grouped, there are as many.
    let count = |id: &str| -> f64 {
        let table = report.table(id).unwrap();
        (0..table.rows.len()).filter_map(|row| cell(table, row, "count")).sum()
    };
    for table in ["groups", "sizes", "axes"] {
        near(count(table), count("kinds"), 0.0, &format!("{what} {table}"));
    }
}

#[test]
fn tables_hold_the_same_executions_on_every_run() {
    for run in RUNS {
        check(&ask(&open(run), "comm", &[]), run);
    }
    for name in ["dense_train_v5e16", "decode_v5e4", "moe_v5p4", "straggler_v6e32", "pallas_attn_A_bq128"] {
        let Some(profile) = forged(name) else { return };
        check(&ask(&profile, "comm", &[]), name);
    }
}

#[test]
fn both_axes_of_a_mesh_come_out() {
    let Some(profile) = forged("dense_train_v5e16") else { return };
    let report = ask(&profile, "comm", &[]);
    let groups = report.table("groups").unwrap();
    for (axis, first) in [("axis_0", "{0,4,8,12} "), ("axis_1", "{0,1,2,3} ")] {
        let own = rows(groups, "axes", axis);
        assert!(!own.is_empty(), "{axis}");
        for row in own {
            assert_eq!((cell(groups, row, "size"), cell(groups, row, "group_count")), (Some(4.0), Some(4.0)));
            assert!(text(groups, row, "groups").starts_with(first));
            assert_eq!(groups.cell(row, "physical"), Some(&Cell::Unknown));
        }
    }
    // Named by who asks; libtpu put each axis of the mesh along one of the slice, whose links are two of four.
    let asked = [("mesh", "fsdp=4,tp=4"), ("topology", "4x4")];
    let report = with(&profile, &asked);
    let groups = report.table("groups").unwrap();
    for (axis, physical) in [("fsdp", "y"), ("tp", "x")] {
        let own = rows(groups, "axes", axis);
        assert!(
            !own.is_empty() && own.iter().all(|row| text(groups, *row, "physical") == physical),
            "{axis}"
        );
    }
    let axes = report.table("axes").unwrap();
    let reduce = rows(axes, "axes", "tp").into_iter().find(|row| text(axes, *row, "kind") == "all-reduce");
    let reduce = reduce.unwrap();
    assert_eq!(cell(axes, reduce, "peak_rate"), Some(100e9));
    // Built with 90 GB/s along an axis: the large ones come near it.
    near(cell(axes, reduce, "bus_rate").unwrap(), 88e9, 2e9, "bus bandwidth of all-reduces along tp");
}

#[test]
fn a_wrong_mesh_is_refused_or_said() {
    let profile = open("tpu-train");
    let report = with(&profile, &[("mesh", "a=2")]);
    assert!(has_note(&report, "mesh_too_small"));
    let groups = report.table("groups").unwrap();
    assert!((0..groups.rows.len()).any(|row| text(groups, row, "axes") == "stride 2 x 2"));
}

#[test]
fn the_fixture_has_two_axes_of_two() {
    let profile = open("tpu-train");
    let report = with(&profile, &[("mesh", "data=2,model=2")]);
    let groups = report.table("groups").unwrap();
    for (axis, members) in [("data", "{0,2} {1,3}"), ("model", "{0,1} {2,3}")] {
        let own = rows(groups, "axes", axis);
        assert!(!own.is_empty() && own.iter().all(|row| text(groups, *row, "groups") == members), "{axis}");
        assert!(own.iter().all(|row| text(groups, *row, "source") == "program"));
    }
}

#[test]
fn experts_exchange_over_four_chips() {
    let Some(profile) = forged("moe_v5p4") else { return };
    let report = ask(&profile, "comm", &[]);
    let axes = report.table("axes").unwrap();
    let exchange = *rows(axes, "kind", "all-to-all").first().unwrap();
    assert_eq!(cell(axes, exchange, "size"), Some(4.0));
    let (algorithm, bus) = (cell(axes, exchange, "algorithm_rate"), cell(axes, exchange, "bus_rate"));
    near(bus.unwrap() / algorithm.unwrap(), 0.75, 1e-9, "all-to-all");
    // Waiting left out it is what the links were built with: 180 GB/s along an axis, less the way.
    near(cell(axes, exchange, "transfer_rate").unwrap(), 175e9, 6e9, "transfer only");
    assert!(unknown(&report, "last_device"));
}

#[test]
fn the_slow_host_comes_last() {
    let Some(profile) = forged("straggler_v6e32") else { return };
    let report = ask(&profile, "comm", &[]);
    assert!(words(&report, "last_device").starts_with("gke-v6e-32-worker-5/"));
    near(number(&report, "last_caused_ps_per_step"), 4.5e9, 0.15e9, "others wait for it");
    let parts = number(&report, "waiting_ps_per_step") + number(&report, "transfer_ps_per_step");
    near(parts, number(&report, "exposed_ps_per_step"), 1.0, "waiting and transfer are what is exposed");
    assert!(number(&report, "waiting_ps_per_step") > 0.85 * parts);
    let skew = report.table("skew").unwrap();
    let own = rows(skew, "host", "gke-v6e-32-worker-5");
    assert_eq!(own.len(), 1);
    assert_eq!(cell(skew, own[0], "last"), cell(skew, own[0], "shared"));
    let finding = report.findings.iter().find(|f| f.id == "late_member").unwrap();
    assert!(
        finding.speedup.is_some_and(|s| (s - 17.96 / (17.96 - 4.56)).abs() < 0.02),
        "{:?}",
        finding.speedup
    );
    // With one host left out nobody can tell; with the slow one left out nobody is late.
    let rest = "gke-v6e-32-worker-0,gke-v6e-32-worker-1,gke-v6e-32-worker-2";
    let report = ask(&profile, "comm", &[("hosts", rest)]);
    assert!(unknown(&report, "last_device"));
}

#[test]
fn nobody_is_late_on_a_clean_run() {
    let Some(profile) = forged("dense_train_v5e16") else { return };
    let report = ask(&profile, "comm", &[]);
    assert!(unknown(&report, "last_device"));
    assert_eq!(words(&report, "balance"), "balanced");
    let ours = ["late_member", "imbalanced_communication", "small_messages", "slow_links"];
    let fired: Vec<_> = report.findings.iter().map(|f| f.id).filter(|id| ours.contains(id)).collect();
    assert!(fired.is_empty(), "{fired:?}");
}

/// The groups of all collectives of a program.
fn of_program(name: &str) -> Option<Vec<Groups>> {
    let packed = std::fs::read(traces("hlo")?.join(name)).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut bytes).unwrap();
    let module = haloscope_hlo::Module::read(&bytes).unwrap();
    let of = |name: &str| {
        Groups::of(Some(&module), &OpMeta { name: name.to_owned().into(), ..OpMeta::default() }, None)
    };
    let all = module.instructions().filter(|(_, i)| i.opcode.is_collective());
    Some(all.map(|(_, i)| of(&i.name).unwrap_or_else(|| panic!("{}", i.name))).collect())
}

#[test]
fn groups_of_real_programs() {
    for (name, size) in [
        ("maxtext-train-step.h100-4.after_optimizations.hlo.pb.gz", 4),
        ("llama3-8b-train-step.v6e-8.after_optimizations.txt.gz", 8),
    ] {
        let Some(all) = of_program(name) else { return };
        assert!(all.len() > 10, "{name}: {}", all.len());
        for groups in &all {
            assert_eq!((groups.size, groups.source), (Some(size), Source::Program), "{name}");
            assert_eq!(groups.lists, [(0..size as i64).collect::<Vec<i64>>()]);
            assert_eq!(axes_of(groups, Mesh::of_groups(&all).as_ref()), format!("stride 1 x {size}"));
        }
    }
}
