//! Compute against what was built into the runs: FLOPs utilisation, phases, sums that neither lose nor count twice.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};
use haloscope_xspace::write::Value;

use crate::made::{Made, US, profile};
use crate::support::{
    RUNS, ask, column, has_note, near, number, open, row_of, run_folder, scope, traces, unknown, words,
};

/// The tables that divide all self time.
const WHOLE: [&str; 4] = ["categories", "phases", "layers", "lines"];

fn with(profile: &Profile, id: &str, params: &[(&str, &str)]) -> Result<Report, Error> {
    let mut given = Params::default();
    params.iter().for_each(|(key, value)| given.set(key, value));
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &given)
}

fn total(report: &Report, table: &str, id: &str) -> f64 {
    column(report.table(table).unwrap(), id).iter().sum()
}

fn cell(report: &Report, table: &str, row: &str, id: &str) -> f64 {
    let table = report.table(table).unwrap();
    table.cell(row_of(table, row), id).unwrap().number().unwrap()
}

#[test]
fn each_breakdown_divides_the_same_time() {
    for run in RUNS {
        let Ok(report) = with(&open(run), "compute", &[]) else { continue };
        let ops = ask(&open(run), "ops", &[]);
        let all = number(&ops, "self_time_ps");
        near(number(&report, "self_time_ps"), all, 0.0, run);
        for table in WHOLE {
            near(total(&report, table, "self_ps"), all, 0.0, &format!("{run} {table}"));
            near(total(&report, table, "self_share"), 1.0, 1e-9, &format!("{run} {table}"));
        }
        // Where ops of several streams run at once their times are more than the busy time, and nothing is left of it.
        let busy = number(&report, "busy_ps");
        assert_eq!(unknown(&report, "left_ps"), busy < all, "{run}");
        if !unknown(&report, "left_ps") {
            near(busy - number(&report, "left_ps"), all, 2.0, run);
        }
        // Time beyond the roofline is a part of the time.
        if !unknown(&report, "shortfall_share") {
            assert!((0.0..=1.0).contains(&number(&report, "shortfall_share")), "{run}");
        }
        for (table, shares) in [("coverage", "self_share"), ("groups", "roofline_share")] {
            assert!(column(report.table(table).unwrap(), shares).iter().all(|share| *share >= 0.0), "{run}");
        }
        // FLOPs of loops are those of the ops inside.
        if !unknown(&ops, "flops") {
            let flops = total(&report, "categories", "flops");
            near(flops / number(&ops, "flops"), 1.0, 1e-9, &format!("{run} FLOPs"));
        }
    }
}

#[test]
fn utilisation_is_that_built_in() {
    let Some(folder) = traces("forged") else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(folder.join("truth.json")) else { continue };
        let truth: serde_json::Value = serde_json::from_str(&text).unwrap();
        let name = folder.display().to_string();
        let profile = load::open(&load::find(&folder).unwrap()).unwrap();
        let report = with(&profile, "compute mfu", &[]).unwrap();
        // Over the mean step, idle time included.
        let built_in = truth["model_flops_utilisation"].as_f64().unwrap();
        near(number(&report, "mfu_hlo") / built_in, 1.0, 0.01, &name);
        let a_step = truth["per_device"]["flops_total"].as_f64().unwrap() / truth["steps"].as_f64().unwrap();
        near(number(&report, "flops_per_step") / a_step, 1.0, 0.01, &name);
        compared += 1;
    }
    assert!(compared >= 8);
}

/// FLOPs of the model as it was built, against what its program computes.
#[test]
fn a_configuration_explains_what_the_program_computes() {
    let Some(folder) = traces("forged/dense_train_v5e16") else { return };
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    let config = "hidden_size = 2048\nnum_hidden_layers = 2\nnum_attention_heads = 16\nintermediate_size = 8192\n\
                  vocab_size = 32000\nhidden_act = \"gelu\"\n";
    let report =
        with(&profile, "compute mfu", &[("global-batch", "32"), ("seq", "2048"), ("config", config)])
            .unwrap();
    // By hand: a layer has 4 x 2048^2 + 2 x 2048 x 8192 = 50,331,648 parameters, the output 65,536,000: N = 166,199,296.
    // Attention, causal: 6 x 2 x 2048 x 2048 = 50,331,648 for a token. 65,536 tokens on 16 devices.
    let flops = 65_536.0 / 16.0 * (6.0 * 166_199_296.0 + 50_331_648.0);
    near(cell(&report, "methods", "config", "flops_per_step"), flops, 1.0, "FLOPs of a step");
    near(number(&report, "device_count"), 16.0, 0.0, "compiled for");
    let seconds = number(&report, "step_time_ps") / 1e12;
    near(number(&report, "mfu_config"), flops / seconds / 197e12, 1e-9, "by configuration");
    // The program computes the forward pass twice and attention in full.
    assert!(cell(&report, "methods", "config", "ratio_to_hlo") < 0.75);
    let methods = report.table("methods").unwrap();
    let why = methods.cell(row_of(methods, "config"), "differs").unwrap().as_text().unwrap();
    assert!(why.contains("rematerialisation") && why.contains("mask"), "{why}");
    // One device only: the model's FLOPs are then all its own, which cannot be, and is said.
    let one = [("global-batch", "32"), ("seq", "2048"), ("config", config), ("devices-count", "1")];
    let one = with(&profile, "compute mfu", &one).unwrap();
    assert!(number(&one, "mfu_config") > 1.0 && has_note(&one, "mfu_above_1"));
}

#[test]
fn phases_of_the_forged_training_step() {
    let Some(folder) = traces("forged/dense_train_v5e16") else { return };
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    let report = with(&profile, "compute", &[]).unwrap();
    let share = |phase| cell(&report, "phases", phase, "self_share");
    // A dense layer that is recomputed: backward is about twice forward, recomputation at most forward.
    assert!(share("recomputation") > 0.1 && share("recomputation") < share("forward"));
    assert!(share("backward") > share("forward") && share("optimiser") < 0.05);
    // TPU's compiler writes all products as convolutions; the model has no convolution.
    let categories = report.table("categories").unwrap();
    assert!(categories.rows.iter().all(|row| row[0].as_text() != Some("convolution")));
    assert!(number(&report, "matmul_share") > 0.5);
    let layers = report.table("layers").unwrap();
    assert_eq!(layers.rows[0][0].as_text(), Some("decoder_layer (all of a loop)"));
}

/// A step of 100 us: forward and backward product, recomputation, a loop around them, an optimiser, an unnamed op.
fn made() -> Profile {
    let mut tpu = Made::tpu(0);
    let mut op = |name: &str, category: &str, path: &str, flops: i64, bytes: i64| {
        let mut stats = vec![
            ("hlo_category", Value::Str(category.into())),
            ("program_id", Value::Uint(7)),
            ("tf_op", Value::Str(path.into())),
            ("source", Value::Str("model.py:1".into())),
        ];
        if flops >= 0 {
            stats.push(("flops", Value::Int(flops)));
            stats.push(("model_flops", Value::Int(flops)));
        }
        if bytes >= 0 {
            stats.push(("bytes_accessed", Value::Int(bytes)));
        }
        tpu.meta(name, &stats)
    };
    // 1.97 GFLOP take 10 us at 197 TFLOP/s.
    let product = "convolution fusion";
    let body = "while/body/closed_call/checkpoint";
    let ops = [
        op("while.1", "while", "jit(step)/jvp()/while", 8_000_000_000, 0),
        op("fusion.1", product, &format!("jit(step)/jvp()/{body}/layer/dot_general:"), 1_970_000_000, 0),
        op(
            "fusion.2",
            product,
            &format!("jit(step)/transpose(jvp())/{body}/rematted_computation/layer/dot_general:"),
            1_970_000_000,
            0,
        ),
        op(
            "fusion.3",
            product,
            &format!("jit(step)/transpose(jvp())/{body}/layer/dot_general:"),
            3_940_000_000,
            0,
        ),
        op("fusion.4", "loop fusion", "jit(step)/optimizer/sub:", 0, 8_190_000),
        op("custom-call.5", "custom-call", "", -1, -1),
    ];
    let places = [(0, 70), (0, 20), (20, 10), (30, 30), (70, 20), (90, 10)];
    let events: Vec<_> = ops.iter().zip(places).map(|(op, (at, long))| (*op, at * US, long * US)).collect();
    tpu.line("XLA Ops", 0, &events);
    let launch = tpu.meta("jit_step(7)", &[]);
    tpu.line("XLA Modules", 0, &[(launch, 0, 100 * US)]);
    let step = tpu.meta("1", &[]);
    tpu.line("Steps", 0, &[(step, 0, 200 * US)]);
    profile(vec![tpu])
}

#[test]
fn a_made_step_adds_up() {
    let report = with(&made(), "compute", &[]).unwrap();
    let us = |table, row| cell(&report, table, row, "self_ps") / US as f64;
    // The loop's own time is what is left of it: 70 us less 20, 10 and 30.
    assert_eq!((us("categories", "control flow"), us("categories", "matmul")), (10.0, 60.0));
    assert_eq!((us("phases", "forward"), us("phases", "recomputation")), (30.0, 10.0));
    assert_eq!(
        (us("phases", "backward"), us("phases", "optimiser"), us("phases", "unknown")),
        (30.0, 20.0, 10.0)
    );
    // Beyond the roofline: 10 us of fusion.1, none of fusion.2, 10 of fusion.3, 10 of the optimiser (8.19 MB take 10).
    near(number(&report, "shortfall_ps") / US as f64, 30.0, 1e-3, "shortfall");
    near(number(&report, "unknown_flops_share"), 0.1, 1e-9, "custom call");
    near(number(&report, "held_share"), 0.8, 1e-9, "held");
    near(cell(&report, "groups", "model.py:1", "shortfall_ps") / US as f64, 30.0, 1e-3, "group");
    let finding = report.findings.iter().find(|f| f.id == "compute_shortfall").unwrap();
    near(finding.speedup.unwrap(), 1.0 / 0.7, 1e-3, "ceiling");
    // FLOPs of the loop are those of the ops inside: counted once.
    near(total(&report, "categories", "flops"), 7_880_000_000.0, 0.5, "FLOPs");
}

/// Two runs of a program with two layers of experts: each layer multiplies twice forward, and backward twice for the input
/// and twice for the weights.
#[test]
fn layers_of_experts_are_counted_from_their_kernels() {
    let mut tpu = Made::tpu(0);
    let path = |phase: &str| format!("jit(step)/{phase}/moe/gmm:");
    let mut kernel = |name: &str, path: &str| {
        let stats = [
            ("hlo_category", Value::Str("custom-call".into())),
            ("program_id", Value::Uint(7)),
            ("tf_op", Value::Str(path.into())),
        ];
        tpu.meta(name, &stats)
    };
    let forward = kernel("gmm.1", &path("jvp()"));
    let inputs = kernel("gmm.2", &path("transpose(jvp())"));
    let weights = kernel("tgmm.3", "jit(step)/transpose(jvp())/moe/tgmm:");
    let mut events = Vec::new();
    for (index, meta) in [[forward; 4], [inputs; 4], [weights; 4]].concat().repeat(2).into_iter().enumerate()
    {
        events.push((meta, index as i64 * US, US));
    }
    tpu.line("XLA Ops", 0, &events);
    let launch = tpu.meta("jit_step(7)", &[]);
    tpu.line("XLA Modules", 0, &[(launch, 0, 12 * US), (launch, 12 * US, 12 * US)]);
    let report = with(&profile(vec![tpu]), "compute", &[]).unwrap();
    let of = |id| cell(&report, "grouped_matmuls", "jit_step", id);
    assert_eq!((of("plain"), of("transposed")), (8.0, 4.0));
    assert_eq!((of("layers_of_two"), of("forward_passes")), (2.0, 1.0));
    near(of("layers_of_three"), 4.0 / 3.0, 1e-12, "with a gate");
    near(number(&report, "matmul_share"), 1.0, 0.0, "grouped products are products");
    near(cell(&report, "phases", "backward", "self_share"), 2.0 / 3.0, 1e-12, "backward");
    near(number(&report, "unknown_flops_share"), 1.0, 0.0, "nobody counted them");
    assert!(unknown(&report, "shortfall_ps"));
}

#[test]
fn methods_side_by_side() {
    let profile = made();
    let plain = with(&profile, "compute mfu", &[]).unwrap();
    // 7.88 GFLOP in a step of 200 us (40 us at the peak): idle time counts.
    near(number(&plain, "mfu_hlo"), 0.2, 1e-9, "HLO");
    near(number(&plain, "step_time_ps"), 200.0 * US as f64, 0.0, "step");
    assert!(
        unknown(&plain, "mfu_formula") && unknown(&plain, "mfu_config") && unknown(&plain, "mfu_counters")
    );
    assert!(plain.findings.iter().any(|finding| finding.id == "low_mfu"));
    let stated = [("global-batch", "4"), ("seq", "100"), ("flops-per-token", "14.775M")];
    let formula = with(&profile, "compute mfu", &stated).unwrap();
    // 400 tokens of 14.775 MFLOP: 5.91 GFLOP, three quarters of what ran; a quarter was computed twice.
    near(number(&formula, "mfu_formula"), 0.15, 1e-9, "formula");
    near(cell(&formula, "methods", "formula", "ratio_to_hlo"), 0.75, 1e-9, "ratio");
    assert_eq!(words(&formula, "mfu_method"), "formula");
    let methods = formula.table("methods").unwrap();
    let why = methods.cell(row_of(methods, "formula"), "differs").unwrap().as_text().unwrap();
    assert!(why.contains("25.0% of its FLOPs a second time") && why.contains("no FLOP count"), "{why}");
    assert!(formula.findings.iter().any(|finding| finding.id == "mfu_methods_disagree"));
    assert!(plain.findings.iter().all(|finding| finding.id != "mfu_methods_disagree"));
    let peak = with(&profile, "compute mfu", &[("peak", "394T")]).unwrap();
    near(number(&peak, "mfu_hlo"), 0.1, 1e-9, "half of a peak twice as high");
    assert!(words(&peak, "peak_name").contains("--peak"));
    // As many devices as asked for share the tokens.
    let two = with(&profile, "compute mfu", &[&stated[..], &[("devices-count", "2")]].concat()).unwrap();
    near(number(&two, "mfu_formula"), 0.075, 1e-9, "two devices");
}

#[test]
fn what_is_not_said_is_asked_for() {
    let profile = made();
    let error = |params: &[(&str, &str)]| match with(&profile, "compute mfu", params) {
        Err(error @ Error::Usage(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(error(&[("global-batch", "4")]).contains("--seq, --flops-per-token or --config"));
    assert!(error(&[("config", "{\"hidden_size\": 8}")]).contains("num_hidden_layers"));
    assert!(error(&[("mode", "play")]).contains("train"));
}

#[test]
fn a_cpu_has_no_known_peak() {
    let profile = open("cpu-train");
    let report = with(&profile, "compute mfu", &[]).unwrap();
    assert!(unknown(&report, "mfu") && unknown(&report, "mfu_hlo") && has_note(&report, "missing_peaks"));
    assert!(number(&report, "flops_per_step") > 0.0);
    assert!(report.findings.is_empty());
    let stated = with(&profile, "compute mfu", &[("peak", "100G")]).unwrap();
    assert!(number(&stated, "mfu_hlo") > 0.0);
    let compute = with(&profile, "compute", &[]).unwrap();
    assert!(unknown(&compute, "shortfall_ps") && number(&compute, "matmul_share") > 0.3);
    let coverage = compute.table("coverage").unwrap();
    assert!(coverage.rows.iter().any(|row| row[0].as_text() == Some("peaks not known")));
}

#[test]
fn real_runs_of_each_kind() {
    let Some(real) = traces("real") else { return };
    for name in ["v6e-pallas-matmul", "v6e-four-chips", "cpu-jax-train", "mi300-attention", "t4-keras-a"] {
        let profile = load::open(&load::find(&real.join(name)).unwrap()).unwrap();
        let report = with(&profile, "compute", &[]).unwrap();
        for table in WHOLE {
            near(total(&report, table, "self_ps"), number(&report, "self_time_ps"), 0.0, name);
        }
        let mfu = with(&profile, "compute mfu", &[]).unwrap();
        assert_eq!(
            unknown(&mfu, "mfu_hlo"),
            unknown(&mfu, "flops_per_step") || unknown(&mfu, "peak_flop_rate")
        );
    }
}

#[test]
fn a_part_of_a_run_is_a_part_of_the_answer() {
    let profile = open("tpu-train");
    let analysis = analyses::find("compute").unwrap();
    let of = |words: &[(&str, &str)]| {
        analysis::run(analysis, &profile, &scope(words), &Params::default()).unwrap()
    };
    let (all, two) = (of(&[]), of(&[("steps", "2-3")]));
    assert!(number(&two, "self_time_ps") < number(&all, "self_time_ps") / 2.0);
    assert!(run_folder("tpu-train").is_dir());
}
