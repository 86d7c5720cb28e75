//! `check`: runs held against baselines, budgets, claims, wall times and predictions.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Gate, Report, Table};
use haloscope_time::analysis::{self, Params};

use crate::made::{Made, US, profile};
use crate::snapshots::render;
use crate::support::{near, number, open, traces, truth, words};

fn asked(run: &Profile, baseline: Option<&Profile>, given: &[(&str, &str)]) -> Result<Report, Error> {
    let mut params = Params::default();
    given.iter().for_each(|(key, value)| params.set(key, value));
    let check = analyses::find("check").unwrap();
    analysis::run_with(check, run, baseline.as_slice(), &Scope::default(), &params)
}

fn check(run: &str, baseline: Option<&str>, given: &[(&str, &str)]) -> Report {
    asked(&open(run), baseline.map(open).as_ref(), given).unwrap()
}

/// Verdicts of a table by the first cell of the row.
fn verdicts(report: &Report, table: &str) -> Vec<(String, String)> {
    let table = report.table(table).unwrap();
    let text = |row, id| table.cell(row, id).and_then(|c| c.as_text()).unwrap_or_default().to_owned();
    (0..table.rows.len()).map(|row| (text(row, table.columns[0].id), text(row, "verdict"))).collect()
}

fn why(table: &Table, row: usize) -> &str {
    table.cell(row, "why").and_then(|c| c.as_text()).unwrap_or_default()
}

#[test]
fn two_runs_of_one_program_pass_and_a_slower_one_does_not() {
    let same = check("tpu-gate-again", Some("tpu-gate"), &[]);
    assert_eq!((same.gate, words(&same, "verdict")), (Some(Gate::Passed), "passed"));
    assert_eq!(words(&same, "step_verdict"), "unchanged");

    let slower = check("tpu-gate-slower", Some("tpu-gate"), &[]);
    assert_eq!((slower.gate, words(&slower, "verdict")), (Some(Gate::Failed), "regressed"));
    let mean = |name| truth(name)["steps"]["mean_ps"].as_f64().unwrap();
    let built_in = mean("tpu-gate-slower") - mean("tpu-gate");
    near(number(&slower, "step_delta_ps") / built_in, 1.0, 0.01, "the difference");
    assert!(
        number(&slower, "step_delta_low_ps") < built_in && built_in < number(&slower, "step_delta_high_ps")
    );
    let finding = &slower.findings[0];
    assert_eq!(finding.id, "regressed");
    near(finding.speedup.unwrap(), mean("tpu-gate-slower") / mean("tpu-gate"), 1e-3, "speed-up");
    // It may be slower by more than the interval, by less it may not, and of what lies within it nobody can tell.
    let share = number(&slower, "step_delta_share");
    for (tolerance, verdict) in [(share + 0.01, "passed"), (share - 0.01, "regressed"), (share, "unknown")] {
        let report = check("tpu-gate-slower", Some("tpu-gate"), &[("tolerance", &format!("{tolerance}"))]);
        assert_eq!(words(&report, "verdict"), verdict, "{tolerance}");
        let told = why(report.table("budgets").unwrap(), 0).to_owned();
        assert_eq!(
            told.starts_with("Undecided: the interval straddles the 6.6% limit"),
            verdict == "unknown",
            "{told}"
        );
    }
    // The other way round it is a gain.
    let faster = check("tpu-gate", Some("tpu-gate-slower"), &[]);
    assert_eq!((faster.gate, words(&faster, "step_verdict")), (Some(Gate::Passed), "faster"));
}

#[test]
fn what_is_not_comparable_is_neither_passed_nor_failed() {
    let other =
        check("tpu-custom-call", Some("tpu-gate"), &[("budget", "[step_time]\nmax_increase = \"3%\"\n")]);
    assert_eq!((other.gate, words(&other, "verdict")), (Some(Gate::NotComparable), "not comparable"));
    assert!(
        other.findings.iter().any(|f| f.id == "not_comparable" && f.claim.contains("chip")),
        "{:?}",
        other.findings
    );
    assert_eq!(verdicts(&other, "budgets"), [("step_time".to_owned(), "unknown".to_owned())]);
    let anyway = check("tpu-custom-call", Some("tpu-gate"), &[("force", "yes")]);
    assert_ne!(anyway.gate, Some(Gate::NotComparable));
}

#[test]
fn budgets_pass_fail_and_are_unknown() {
    let mean_us = truth("tpu-gate")["steps"]["mean_ps"].as_f64().unwrap() / 1e6;
    let of = |text: String, given: &[(&str, &str)]| {
        check("tpu-gate", None, &[&[("budget", text.as_str())], given].concat())
    };
    let max = |us: f64| format!("[step_time]\nmax = \"{us}us\"\n");
    assert_eq!(of(max(mean_us * 1.001), &[]).gate, Some(Gate::Passed));
    assert_eq!(of(max(mean_us * 0.999), &[]).gate, Some(Gate::Failed));
    // A limit inside of the interval is neither kept nor broken for sure.
    let near_it = of(max(mean_us * 1.0001), &[("confidence", "0.95")]);
    assert_eq!((near_it.gate, words(&near_it, "verdict")), (Some(Gate::Failed), "unknown"));
    assert_eq!(
        of(max(mean_us * 1.0001), &[("confidence", "0.95"), ("unknown", "pass")]).gate,
        Some(Gate::Passed)
    );
    assert_eq!(of(max(mean_us * 1.05), &[("confidence", "0.95")]).gate, Some(Gate::Passed));
    let over = of(max(mean_us * 0.95), &[("confidence", "0.95")]);
    assert_eq!((over.gate, words(&over, "verdict")), (Some(Gate::Failed), "failed"));
    assert_eq!(over.findings[0].id, "over_budget");
    // What the profile lacks does not pass, unless it may.
    let lacking = "[memory-peak.peak_bytes]\nmax = \"12GiB\"\n";
    let report = of(lacking.to_owned(), &[]);
    assert_eq!((report.gate, words(&report, "verdict")), (Some(Gate::Failed), "unknown"));
    assert_eq!(of(format!("{lacking}allow_unknown = true\n"), &[]).gate, Some(Gate::Passed));
    // Nor does a limit that is relative to nothing.
    let relative = of("[step_time]\nmax_increase = \"3%\"\n".to_owned(), &[]);
    assert!(why(relative.table("budgets").unwrap(), 0).contains("--baseline"));
    assert_eq!(relative.gate, Some(Gate::Failed));
}

#[test]
fn relative_budgets_take_the_place_of_the_verdict() {
    let slower = number(&check("tpu-gate-slower", Some("tpu-gate"), &[]), "step_delta_share");
    let of = |share: f64| {
        let text = format!("confidence = 0.95\n[step_time]\nmax_increase = \"{}%\"\n", share * 100.0);
        check("tpu-gate-slower", Some("tpu-gate"), &[("budget", &text)])
    };
    let kept = of(slower + 0.05);
    assert_eq!((kept.gate, kept.table("budgets").unwrap().rows.len()), (Some(Gate::Passed), 1));
    let broken = of(slower - 0.05);
    assert_eq!((broken.gate, words(&broken, "verdict")), (Some(Gate::Failed), "regressed"));
    let undecided = of(slower);
    assert_eq!(words(&undecided, "verdict"), "unknown");
    assert!(why(undecided.table("budgets").unwrap(), 0).starts_with("Undecided: the interval straddles"));
    // Steps against a baseline's steps are asked to be sure without being told so.
    let text = format!("[step_time]\nmax_increase = \"{}%\"\n", slower * 100.0);
    assert_eq!(
        words(&check("tpu-gate-slower", Some("tpu-gate"), &[("budget", &text)]), "verdict"),
        "unknown"
    );
}

#[test]
fn slower_ops_are_told_and_fail_where_that_is_asked() {
    let told = check("tpu-gate-slower", Some("tpu-gate"), &[("tolerance", "20%")]);
    assert_eq!(told.gate, Some(Gate::Passed));
    assert!(number(&told, "ops_slower") >= 1.0);
    assert!(told.findings.iter().any(|f| f.id == "slower_op"), "{:?}", told.findings);
    let asked = check("tpu-gate-slower", Some("tpu-gate"), &[("tolerance", "20%"), ("ops", "yes")]);
    assert_eq!((asked.gate, words(&asked, "verdict")), (Some(Gate::Failed), "regressed"));
    let row = asked.table("budgets").unwrap();
    assert!(why(row, 1).contains("takes longer"), "{}", why(row, 1));
    let same = check("tpu-gate-again", Some("tpu-gate"), &[("ops", "yes")]);
    assert_eq!(number(&same, "ops_slower"), 0.0);
    assert_ne!(words(&same, "verdict"), "regressed");
}

#[test]
fn several_runs_of_a_baseline_count_with_what_they_differ_by() {
    let (run, a, b) = (open("tpu-gate-slower"), open("tpu-gate"), open("tpu-gate-again"));
    let params = Params::default();
    let asked = |run: &Profile, baselines: &[&Profile]| {
        analysis::run_with(analyses::find("check").unwrap(), run, baselines, &Scope::default(), &params)
            .unwrap()
    };
    let two = asked(&run, &[&a, &b]);
    assert_eq!((words(&two, "verdict"), number(&two, "baseline_runs")), ("regressed", 2.0));
    assert_eq!(number(&two, "baseline_steps"), number(&asked(&run, &[&a]), "baseline_steps") * 2.0);
    // Runs that differ as much as these leave nothing to say of one that lies between them.
    let apart = asked(&b, &[&a, &run]);
    assert_eq!(words(&apart, "verdict"), "unknown");
    assert!(why(apart.table("budgets").unwrap(), 0).contains("their difference counts"));
}

#[test]
fn metrics_and_limits_that_do_not_exist_are_errors() {
    let error = |key: &str, text: &str| match asked(&open("tpu-gate"), None, &[(key, text)]) {
        Err(Error::Usage(message)) => message,
        other => panic!("{text}: {:?}", other.map(|r| r.gate)),
    };
    assert!(error("budget", "[step_tyme]\nmax = \"1ms\"\n").contains("step_time_p50"));
    assert!(error("budget", "[comm.exposed]\nmax = \"1ms\"\n").contains("exposed_ps_per_step"));
    assert!(error("budget", "[check.passed]\nmax = 1\n").contains("not an analysis of one run"));
    assert!(error("budget", "[bound_by]\nmax = 1\n").contains("not a number"));
    assert!(error("budget", "[step_time]\nmax = \"3GiB\"\n").contains("85ms"));
    assert!(error("claim", "latency").contains("latency<=0.71ms"));
    assert!(error("claim", "latency<=7").contains("85ms"));
    assert!(error("floor", "7").contains("--floor"));
    assert!(error("kernel", "(").contains("--kernel"));
    assert!(error("expect", "(").contains("--expect"));
    assert!(error("confidence", "95").contains("0.95"));
    assert!(error("wall", "{}").contains("no wall time"));
}

#[test]
fn claims_and_floors() {
    let latency = {
        let report = check("tpu-gate", None, &[]);
        let metrics = report.table("metrics").unwrap();
        let row = metrics.rows.iter().position(|r| r[0].as_text() == Some("latency")).unwrap();
        metrics.cell(row, "value").unwrap().number().unwrap() / 1e6
    };
    let of = |claim: String, given: &[(&str, &str)]| {
        check("tpu-gate", None, &[&[("claim", claim.as_str())], given].concat())
    };
    assert_eq!(of(format!("latency<={}us", latency * 1.01), &[]).gate, Some(Gate::Passed));
    assert_eq!(of(format!("latency<{}us", latency * 0.99), &[]).gate, Some(Gate::Failed));
    assert_eq!(of("roofline.regime==memory; step_count>=10".into(), &[]).gate, Some(Gate::Failed));
    assert_eq!(of("roofline.regime==compute; step_count>=10".into(), &[]).gate, Some(Gate::Passed));
    // True, and yet not possible.
    let floor = format!("{}us", latency * 2.0);
    let report = of(format!("latency<={}us", latency * 3.0), &[("floor", &floor)]);
    let claims = report.table("claims").unwrap();
    assert_eq!(report.gate, Some(Gate::Failed));
    assert!(why(claims, 1).contains("impossible"), "{}", why(claims, 1));
    // A claim of what nobody can reach.
    let report = of(format!("latency<={latency}us"), &[("floor", &floor)]);
    assert!(why(report.table("claims").unwrap(), 0).contains("impossible"));
}

/// Five launches of a kernel of 100 us, whose author counted what takes 150 us at the peak of a v5e: it skips a part.
fn over_counted(category: &str) -> Profile {
    let mut core = Made::tpu(0);
    let kernel = core.op("flash", category, 29_550_000_000, 8_000_000);
    let program = core.meta("jit_attend(7)", &[]);
    let at = |n: i64| n * 120 * US;
    core.line("XLA Modules", 0, &[0, 1, 2, 3, 4].map(|n| (program, at(n), 101 * US)));
    core.line("XLA Ops", 0, &[0, 1, 2, 3, 4].map(|n| (kernel, at(n), 100 * US)));
    profile(vec![core])
}

#[test]
fn what_is_faster_than_its_counted_work_is_not_shown() {
    let claim = [("claim", "latency<=110us")];
    for (category, said) in
        [("custom-call", "its author stated"), ("convolution fusion", "the compiler counted")]
    {
        let run = over_counted(category);
        let report = asked(&run, None, &claim).unwrap();
        // The claim itself holds, but nobody can tell whether what was timed is the work.
        assert_eq!((report.gate, words(&report, "verdict")), (Some(Gate::Failed), "unknown"));
        let rows = verdicts(&report, "claims");
        assert_eq!(rows.iter().map(|r| r.1.as_str()).collect::<Vec<_>>(), ["pass", "unknown"]);
        let finding = report.findings.iter().find(|f| f.id == "faster_than_possible").unwrap();
        assert!(finding.evidence.contains(said), "{}", finding.evidence);
        let allowed = asked(&run, None, &[claim[0], ("unknown", "pass")]).unwrap();
        assert_eq!(allowed.gate, Some(Gate::Passed));
    }
    // Work that takes its time is above its floor.
    let report = check("tpu-custom-call", None, &[("claim", "latency<=1ms")]);
    assert_eq!(report.gate, Some(Gate::Passed));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn latency_is_that_of_the_program_or_of_the_kernel_that_is_named() {
    let run = over_counted("custom-call");
    let value = |kernel: &str| {
        let report = asked(&run, None, &[("claim", "latency<=1ms"), ("kernel", kernel)]).unwrap();
        report.table("claims").unwrap().cell(0, "value").unwrap().number().unwrap()
    };
    near(value(""), 101e6, 0.0, "program");
    near(value("^fla"), 100e6, 0.0, "kernel");
}

#[test]
fn predictions_are_looked_for_in_what_was_compiled_and_in_what_ran() {
    let report = check("tpu-custom-call", None, &[("expect", "tpu_custom_call; tanh; tpu_custum_call")]);
    let rows = verdicts(&report, "expected");
    let verdicts: Vec<&str> = rows.iter().map(|(_, verdict)| verdict.as_str()).collect();
    assert_eq!(verdicts, ["pass", "pass", "fail"]);
    let table = report.table("expected").unwrap();
    assert!(why(table, 2).contains("tpu_custom_call"), "{}", why(table, 2));
    // Five launches of one kernel.
    assert_eq!(table.cell(0, "executions").unwrap().number(), Some(5.0));
    // A GPU's kernels have names of their own, which no instruction has.
    let gpu = open("gpu-train");
    let kernels =
        analysis::run(analyses::find("kernels").unwrap(), &gpu, &Scope::default(), &Params::default())
            .unwrap();
    let name = kernels.table("kernels").unwrap().rows[0][0].as_text().unwrap().to_owned();
    let pattern: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '.' }).collect();
    let report = asked(&gpu, None, &[("expect", &pattern)]).unwrap();
    assert_eq!(report.gate, Some(Gate::Passed), "{name}");
}

#[test]
fn nothing_asked_is_no_gate() {
    let report = check("tpu-gate", None, &[]);
    assert_eq!((report.gate, words(&report, "verdict")), (None, "nothing asked"));
    assert!(report.quality.iter().any(|note| note.id == "nothing_asked"));
    assert!(report.table("metrics").is_some_and(|table| table.rows.len() > 5));
}

#[test]
fn reports_of_checks() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        let slower = asked(&open("tpu-gate-slower"), Some(&open("tpu-gate")), &[]);
        insta::assert_snapshot!("tpu-gate-slower.check-baseline", render(slower));
        let all = [
            ("budget", "confidence = 0.95\n[step_time]\nmax = \"1ms\"\n[latency]\nmax = \"1us\"\n[idle_share]\nmin = 0.1\n"),
            ("claim", "latency<=1ms; roofline.regime==compute"),
            ("floor", "1us"),
            ("wall", "{\"p50_us\": 80.0, \"baseline\": {\"p50_us\": 81.0}}"),
            ("expect", "convolution; flash_attention"),
        ];
        let asked = asked(&open("tpu-gate-again"), Some(&open("tpu-gate")), &all);
        insta::assert_snapshot!("tpu-gate-again.check-all", render(asked));
    });
}

#[test]
fn the_forged_pair_regressed() {
    let Some(folder) = traces("forged") else { return };
    let of = |name: &str| load::open(&load::find(&folder.join(name)).unwrap()).unwrap();
    let (a, b) = (of("dense_train_v5e16"), of("dense_train_v5e16_regressed"));
    let report = asked(&b, Some(&a), &[]).unwrap();
    assert_eq!((report.gate, words(&report, "verdict")), (Some(Gate::Failed), "regressed"));
    near(number(&report, "step_delta_ps") / 1e9, 5.03, 0.05, "ms that a step got slower");
    let same = asked(&a, Some(&a), &[]).unwrap();
    assert_eq!(same.gate, Some(Gate::Passed));
}
